//! Attributes and types of VHLO.

use super::builtin;
use super::dense;
use super::quant;
use super::reader::{Reader, record};
use super::stablehlo::{self, keywords};
use super::upgrade;
use crate::error::Result;
use crate::mlir::{Attribute, Dictionary, Type};

/// Reads an attribute.
pub fn attribute(reader: &mut Reader) -> Result<Attribute> {
    let place = *reader.cursor();
    let code = reader.varint()?;
    match code {
        1 => reader.array(),
        2 => match reader.varint()? {
            value @ 0..=1 => Ok(Attribute::Bool(value == 1)),
            value => Err(reader.error(format_args!("a truth value is 0 or 1, not {value}"))),
        },
        3 => reader.keyword(&keywords::COMPARISON_DIRECTION),
        4 => reader.keyword(&keywords::COMPARISON_TYPE),
        5 => reader.keyword(&upgrade::API_VERSIONS),
        6 => {
            let entries = reader.list(|reader| Ok((reader.name()?, reader.attribute()?)))?;
            Ok(Attribute::Dictionary(Dictionary(entries.into())))
        }
        7 => reader.keyword(&keywords::FFT_TYPE),
        8 => {
            let element = reader.element()?;
            Ok(Attribute::Float(reader.float(&element)?, element))
        }
        9 => {
            let element = reader.element()?;
            Ok(Attribute::Integer(reader.integer(&element)?, element))
        }
        10 => stablehlo::output_operand_alias(reader),
        11 => reader.keyword(&keywords::PRECISION),
        12 => reader.keyword(&keywords::RNG_ALGORITHM),
        13 => reader.keyword(&keywords::RNG_DISTRIBUTION),
        14 => reader.string(),
        15 => {
            let ty = reader.ty()?;
            let content = reader.cursor().blob()?;
            dense::dense(reader, ty, content)
        }
        16 => reader.keyword(&keywords::TRANSPOSE),
        17 => reader.type_attribute(),
        18 => Ok(record("stablehlo.bounds", [("bounds", reader.integers_attribute()?)])),
        19 => reader.keyword(&keywords::RESULT_ACCURACY_MODE),
        20 => stablehlo::result_accuracy(reader),
        21 => stablehlo::sub_axis_info(reader),
        22 => {
            let name = reader.attribute()?;
            let split = if reader.varint()? == 0 { None } else { Some(reader.attribute()?) };
            Ok(stablehlo::axis_ref(name, split))
        }
        23 => {
            // A mesh is given by its name or itself.
            let mesh = match reader.attribute()? {
                Attribute::String(name) => Attribute::Symbol([reader.tables().name(&name)].into()),
                mesh => mesh,
            };
            Ok(record("stablehlo.replica_group_mesh_axes", [("mesh", mesh), ("axes", reader.attribute()?)]))
        }
        24 => {
            let name = reader.attribute()?;
            Ok(record("stablehlo.mesh_axis", [("name", name), ("size", reader.integer_attribute()?)]))
        }
        25 => {
            let axes = reader.attribute()?;
            Ok(stablehlo::mesh(axes, reader.optional_attribute()?))
        }
        _ => Err(upgrade::unknown(place, format_args!("attribute {code}"))),
    }
}

/// Element types by their codes; empty for codes of other types.
const ELEMENTS: [&str; 41] = [
    "i1",
    "",
    "bf16",
    "f16",
    "f32",
    "f64",
    "f8E4M3FN",
    "f8E5M2",
    "",
    "index",
    "i4",
    "i8",
    "i16",
    "i32",
    "i64",
    "ui4",
    "ui8",
    "ui16",
    "ui32",
    "ui64",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "f8E4M3FNUZ",
    "f8E5M2FNUZ",
    "f8E4M3B11FNUZ",
    "",
    "i2",
    "ui2",
    "",
    "tf32",
    "f8E4M3",
    "f8E3M4",
    "f4E2M1FN",
    "f6E2M3FN",
    "f6E3M2FN",
    "f8E8M0FNU",
];

/// Reads a type.
pub fn ty(reader: &mut Reader) -> Result<Type> {
    let place = *reader.cursor();
    let code = reader.varint()?;
    if let Some(element) = builtin::element_of_code(&ELEMENTS, code) {
        return Ok(Type::Scalar(element));
    }
    match code {
        1 => builtin::complex(reader),
        8 => Ok(Type::Function { inputs: reader.types()?, results: reader.types()? }),
        20 => builtin::tensor(reader, false),
        21 => builtin::tensor(reader, true),
        22 => Ok(Type::Token),
        23 => Ok(Type::Tuple(reader.types()?)),
        24 => quant::uniform(reader),
        25 => builtin::unranked(reader, "tensor"),
        26 => Ok(Type::Other("!shape.witness".into())),
        30 => quant::uniform_by_axis(reader),
        33 => Ok(Type::None),
        41 => builtin::shaped(reader, "memref"),
        42 => stablehlo::future(reader),
        _ => Err(upgrade::unknown(place, format_args!("type {code}"))),
    }
}
