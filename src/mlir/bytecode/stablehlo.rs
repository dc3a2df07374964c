//! Attributes and types of StableHLO and CHLO.

use super::reader::{Reader, record};
use crate::error::Result;
use crate::mlir::{Attribute, Element, Type};
use crate::types::DType;

/// Keywords of enumerations, by their numbers; empty for numbers without a case.
pub mod keywords {
    pub const COMPARISON_DIRECTION: [&str; 6] = ["EQ", "NE", "GE", "GT", "LE", "LT"];
    pub const COMPARISON_TYPE: [&str; 5] = ["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"];
    pub const FFT_TYPE: [&str; 4] = ["FFT", "IFFT", "RFFT", "IRFFT"];
    pub const PRECISION: [&str; 3] = ["DEFAULT", "HIGH", "HIGHEST"];
    pub const RNG_ALGORITHM: [&str; 3] = ["DEFAULT", "THREE_FRY", "PHILOX"];
    pub const RNG_DISTRIBUTION: [&str; 3] = ["", "UNIFORM", "NORMAL"];
    pub const TRANSPOSE: [&str; 4] = ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
    pub const RESULT_ACCURACY_MODE: [&str; 3] = ["DEFAULT", "HIGHEST", "TOLERANCE"];
}

/// Reads an attribute of StableHLO. Fields have the names of the attributes of VHLO that they become.
pub fn attribute(reader: &mut Reader) -> Result<Attribute> {
    let code = reader.varint()?;
    match code {
        1 => integers(reader, "stablehlo.channel_handle", ["channel_id", "channel_type"]),
        2 => reader.keyword(&keywords::COMPARISON_DIRECTION),
        3 => reader.keyword(&keywords::COMPARISON_TYPE),
        4 => {
            let fields = [
                "input_batch_dimension",
                "input_feature_dimension",
                "input_spatial_dimensions[]",
                "kernel_input_feature_dimension",
                "kernel_output_feature_dimension",
                "kernel_spatial_dimensions[]",
                "output_batch_dimension",
                "output_feature_dimension",
                "output_spatial_dimensions[]",
            ];
            integers(reader, "stablehlo.conv", fields)
        }
        5 => {
            let fields = [
                "lhs_batching_dimensions[]",
                "rhs_batching_dimensions[]",
                "lhs_contracting_dimensions[]",
                "rhs_contracting_dimensions[]",
            ];
            integers(reader, "stablehlo.dot", fields)
        }
        6 => reader.keyword(&keywords::FFT_TYPE),
        7 => {
            let fields = [
                "offset_dims[]",
                "collapsed_slice_dims[]",
                "operand_batching_dims[]",
                "start_indices_batching_dims[]",
                "start_index_map[]",
                "index_vector_dim",
            ];
            integers(reader, "stablehlo.gather", fields)
        }
        8 => reader.keyword(&keywords::PRECISION),
        9 => reader.keyword(&keywords::RNG_ALGORITHM),
        10 => reader.keyword(&keywords::RNG_DISTRIBUTION),
        11 => {
            let fields = [
                "update_window_dims[]",
                "inserted_window_dims[]",
                "input_batching_dims[]",
                "scatter_indices_batching_dims[]",
                "scatter_dims_to_operand_dims[]",
                "index_vector_dim",
            ];
            integers(reader, "stablehlo.scatter", fields)
        }
        12 => reader.keyword(&keywords::TRANSPOSE),
        13 => Ok(record("stablehlo.bounds", [("bounds", reader.integers_attribute()?)])),
        14 => output_operand_alias(reader),
        15 => dot_algorithm(reader),
        16 => reader.keyword(&keywords::RESULT_ACCURACY_MODE),
        17 => result_accuracy(reader),
        18 => {
            let mesh = reader.attribute()?;
            Ok(record("stablehlo.replica_group_mesh_axes", [("mesh", mesh), ("axes", reader.array()?)]))
        }
        19 => sub_axis_info(reader),
        20 => {
            let name = reader.string()?;
            let split = if reader.bool()? { Some(reader.attribute()?) } else { None };
            Ok(axis_ref(name, split))
        }
        21 => {
            let name = reader.string()?;
            Ok(record("stablehlo.mesh_axis", [("name", name), ("size", reader.integer_attribute()?)]))
        }
        22 => {
            let axes = reader.attribute()?;
            let devices = if reader.bool()? { Some(reader.attribute()?) } else { None };
            Ok(mesh(axes, devices))
        }
        _ => Err(reader.unimplemented(format_args!("attribute {code} of StableHLO"))),
    }
}

/// Reads an attribute of CHLO.
pub fn chlo_attribute(reader: &mut Reader) -> Result<Attribute> {
    match reader.varint()? {
        0 => reader.keyword(&keywords::COMPARISON_DIRECTION),
        1 => reader.keyword(&keywords::COMPARISON_TYPE),
        code => Err(reader.unimplemented(format_args!("attribute {code} of CHLO"))),
    }
}

/// Reads an attribute whose fields are integers, or lists of them where the name ends with `[]`.
fn integers<const N: usize>(reader: &mut Reader, name: &str, fields: [&'static str; N]) -> Result<Attribute> {
    let mut values = Vec::with_capacity(N);
    for field in fields {
        values.push(match field.strip_suffix("[]") {
            Some(field) => (field, reader.integers_attribute()?),
            None => (field, reader.integer_attribute()?),
        });
    }
    Ok(record(name, values))
}

/// Reads which result of a custom call uses the memory of which operand.
pub fn output_operand_alias(reader: &mut Reader) -> Result<Attribute> {
    let fields = ["output_tuple_indices[]", "operand_index", "operand_tuple_indices[]"];
    integers(reader, "stablehlo.output_operand_alias", fields)
}

/// Reads the algorithm of a matrix product.
fn dot_algorithm(reader: &mut Reader) -> Result<Attribute> {
    let fields = [
        ("lhs_precision_type", reader.type_attribute()?),
        ("rhs_precision_type", reader.type_attribute()?),
        ("accumulation_type", reader.type_attribute()?),
        ("lhs_component_count", reader.integer_attribute()?),
        ("rhs_component_count", reader.integer_attribute()?),
        ("num_primitive_operations", reader.integer_attribute()?),
        ("allow_imprecise_accumulation", Attribute::Bool(reader.bool()?)),
    ];
    Ok(record("stablehlo.dot_algorithm", fields))
}

/// Reads the accuracy that is asked of an operation.
pub fn result_accuracy(reader: &mut Reader) -> Result<Attribute> {
    let double = |value| Attribute::Float(value, Element::DType(DType::F64));
    let fields = [
        ("atol", double(reader.double()?)),
        ("rtol", double(reader.double()?)),
        ("ulps", reader.integer_attribute()?),
        ("mode", reader.attribute()?),
    ];
    Ok(record("stablehlo.result_accuracy", fields))
}

/// Reads a part of an axis of a mesh.
pub fn sub_axis_info(reader: &mut Reader) -> Result<Attribute> {
    integers(reader, "stablehlo.sub_axis_info", ["pre_size", "size"])
}

/// Creates a reference to an axis of a mesh, or a part of it.
pub fn axis_ref(name: Attribute, split: Option<Attribute>) -> Attribute {
    record("stablehlo.axis_ref", [("name", name)].into_iter().chain(split.map(|split| ("sub_axis_info", split))))
}

/// Creates a mesh, with the order of its devices if it is not ascending.
pub fn mesh(axes: Attribute, devices: Option<Attribute>) -> Attribute {
    record("stablehlo.mesh", [("axes", axes)].into_iter().chain(devices.map(|devices| ("device_ids", devices))))
}

/// Reads a type of StableHLO.
pub fn ty(reader: &mut Reader) -> Result<Type> {
    match reader.varint()? {
        0 => Ok(Type::Token),
        1 => future(reader),
        code => Err(reader.unimplemented(format_args!("type {code} of StableHLO"))),
    }
}

/// Reads the type of results of an asynchronous operation, which is kept as text.
pub fn future(reader: &mut Reader) -> Result<Type> {
    let mut text = String::from("!stablehlo.future<");
    for (i, ty) in reader.types()?.iter().enumerate() {
        text += if i == 0 { "" } else { ", " };
        match &**ty {
            Type::Tensor(_) | Type::Token | Type::Scalar(_) => text += &ty.to_string(),
            _ => return Err(reader.unimplemented("a future of something other than tensors")),
        }
        if text.len() > reader.most_text() {
            break;
        }
    }
    reader.other_type(text + ">")
}
