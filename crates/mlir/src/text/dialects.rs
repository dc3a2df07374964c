//! Reads attributes of StableHLO, CHLO and VHLO.

use super::super::{Attribute, Dictionary, Element, FREE, Record};
use super::attributes::integers;
use super::lexer::Token;
use super::parser::Parser;
use base::error::{Result, quoted};
use base::types::DType;
use std::sync::Arc;

/// Enumerations, by the names of their attributes.
const ENUMERATIONS: &[&str] = &[
    "api_version", "comparison_direction", "comparison_type", "custom_call_api_version", "fft_type", "precision",
    "propagation_direction", "result_accuracy_mode", "rng_algorithm", "rng_distribution", "transpose",
];

/// What a field holds if the text leaves it out.
#[derive(Clone, Copy)]
enum Absent {
    /// An empty list.
    Empty,
    /// 0.
    Zero,
    /// 0.0.
    ZeroFloat,
    /// The field has to be given.
    Error,
    /// The field is left out.
    Out,
}
use Absent::{Empty, Error, Out, Zero, ZeroFloat};

type Fields = &'static [(&'static str, Absent)];

const GATHER: Fields = &[
    ("offset_dims", Empty),
    ("collapsed_slice_dims", Empty),
    ("operand_batching_dims", Empty),
    ("start_indices_batching_dims", Empty),
    ("start_index_map", Empty),
    ("index_vector_dim", Zero),
];

const SCATTER: Fields = &[
    ("update_window_dims", Empty),
    ("inserted_window_dims", Empty),
    ("input_batching_dims", Empty),
    ("scatter_indices_batching_dims", Empty),
    ("scatter_dims_to_operand_dims", Empty),
    ("index_vector_dim", Zero),
];

const DOT: Fields = &[
    ("lhs_batching_dimensions", Empty),
    ("rhs_batching_dimensions", Empty),
    ("lhs_contracting_dimensions", Empty),
    ("rhs_contracting_dimensions", Empty),
];

const RAGGED_DOT: Fields = &[
    ("lhs_batching_dimensions", Empty),
    ("rhs_batching_dimensions", Empty),
    ("lhs_contracting_dimensions", Empty),
    ("rhs_contracting_dimensions", Empty),
    ("lhs_ragged_dimensions", Empty),
    ("rhs_group_dimensions", Empty),
];

const DOT_ALGORITHM: Fields = &[
    ("lhs_precision_type", Error),
    ("rhs_precision_type", Error),
    ("accumulation_type", Error),
    ("lhs_component_count", Error),
    ("rhs_component_count", Error),
    ("num_primitive_operations", Error),
    ("allow_imprecise_accumulation", Error),
];

const CONVOLUTION: Fields = &[
    ("input_batch_dimension", Zero),
    ("input_feature_dimension", Zero),
    ("input_spatial_dimensions", Empty),
    ("kernel_input_feature_dimension", Zero),
    ("kernel_output_feature_dimension", Zero),
    ("kernel_spatial_dimensions", Empty),
    ("output_batch_dimension", Zero),
    ("output_feature_dimension", Zero),
    ("output_spatial_dimensions", Empty),
];

const RESULT_ACCURACY: Fields = &[("atol", ZeroFloat), ("rtol", ZeroFloat), ("ulps", Zero), ("mode", Error)];

const OUTPUT_OPERAND_ALIAS: Fields =
    &[("output_tuple_indices", Empty), ("operand_index", Error), ("operand_tuple_indices", Empty)];

/// Returns the fields of an attribute; None if it has no fields or they are not known.
fn fields(name: &str) -> Option<Fields> {
    Some(match name {
        "gather" => GATHER,
        "scatter" => SCATTER,
        "dot" => DOT,
        "ragged_dot" => RAGGED_DOT,
        "dot_algorithm" => DOT_ALGORITHM,
        "channel_handle" => &[("handle", Error), ("type", Error)],
        "output_operand_alias" => OUTPUT_OPERAND_ALIAS,
        "result_accuracy" => RESULT_ACCURACY,
        "axis_ref" => &[("name", Error), ("sub_axis_info", Out)],
        "replica_group_mesh_axes" => &[("mesh", Error), ("axes", Error)],
        _ => return None,
    })
}

impl<'t> Parser<'t> {
    /// Reads an attribute of a dialect: `#dialect.name<...>` or `#dialect<name ...>`.
    pub fn dialect_attribute(&mut self, name: &'t str, has_body: bool) -> Result<Attribute> {
        let start = self.start;
        self.bump()?;
        let wrapped = !name.contains('.');
        let (dialect, name) = match name.split_once('.') {
            Some(parts) => parts,
            None => {
                self.expect('<')?;
                (name, self.word("the name of an attribute")?)
            }
        };
        let known = match dialect {
            "stablehlo" | "chlo" => self.stablehlo_attribute(name)?,
            "vhlo" => self.vhlo_attribute(name.trim_end_matches("_v1"))?,
            "sdy" => self.sdy_attribute(name)?,
            _ => None,
        };
        let Some(attribute) = known else {
            if wrapped {
                self.seek(start + 1 + dialect.len())?;
            }
            if wrapped || has_body && self.is('<') {
                self.skip_body()?;
            }
            return Ok(self.other_attribute(start));
        };
        if wrapped {
            self.expect('>')?;
        }
        Ok(attribute)
    }

    /// Reads the rest of an attribute of StableHLO after its name; None if the name is not known.
    fn stablehlo_attribute(&mut self, name: &str) -> Result<Option<Attribute>> {
        if ENUMERATIONS.contains(&name) {
            return self.enumeration().map(Some);
        }
        match name {
            "bounds" => {
                let bounds = self.list('<', '>', |p| if p.take('?')? { Ok(FREE) } else { p.integer("a bound") })?;
                let bounds = Attribute::Integers(bounds.into());
                Ok(Some(record("stablehlo.bounds", vec![("bounds".into(), bounds)])))
            }
            "type_extensions" => self.type_extensions().map(Some),
            "conv" => {
                self.expect('<')?;
                self.convolution_dimensions('>').map(Some)
            }
            _ => match fields(name) {
                Some(fields) if self.is('<') => self.record(name, fields).map(Some),
                _ => Ok(None),
            },
        }
    }

    /// Reads the rest of an attribute of VHLO after its name, as the attribute of StableHLO that it stands for.
    fn vhlo_attribute(&mut self, name: &str) -> Result<Option<Attribute>> {
        match name {
            "array" => {
                self.expect('<')?;
                let items = self.list('[', ']', Self::attribute)?;
                self.expect('>')?;
                Ok(Some(Attribute::Array(items.into())))
            }
            "dict" => self.vhlo_dictionary().map(Some),
            "bool" | "float" | "integer" | "string" | "tensor" | "type" => {
                self.expect('<')?;
                let value = self.attribute()?;
                self.expect('>')?;
                Ok(Some(value))
            }
            _ => self.stablehlo_attribute(name),
        }
    }

    /// Reads `<bounds = [3, ?]>`.
    fn type_extensions(&mut self) -> Result<Attribute> {
        self.expect('<')?;
        self.expect_word("bounds")?;
        self.expect('=')?;
        let bounds = integers(&self.integers("a bound")?);
        self.expect('>')?;
        Ok(record("stablehlo.bounds", vec![("bounds".into(), bounds)]))
    }

    /// Reads `<{#vhlo.string_v1<"name"> = value}>`.
    fn vhlo_dictionary(&mut self) -> Result<Attribute> {
        self.expect('<')?;
        let entries = self.list('{', '}', |p| {
            let start = p.start;
            let Attribute::String(name) = p.attribute()? else {
                return Err(p.refuse_at(start, "expected the name of an attribute"));
            };
            let name = String::from_utf8_lossy(&name);
            p.expect('=')?;
            Ok((p.name(&name), p.attribute()?))
        })?;
        self.expect('>')?;
        Ok(Attribute::Dictionary(Dictionary(entries.into())))
    }

    /// Reads `EQ` or `<EQ>`.
    pub fn enumeration(&mut self) -> Result<Attribute> {
        let enclosed = self.take('<')?;
        let case = self.case()?;
        if enclosed {
            self.expect('>')?;
        }
        Ok(case)
    }

    /// Reads a case of an enumeration: its keyword, or a whole attribute.
    pub fn case(&mut self) -> Result<Attribute> {
        if matches!(self.token, Token::Hash(_)) {
            return self.attribute();
        }
        let case = self.word("a case of an enumeration")?;
        Ok(Attribute::Enum(self.name(case)))
    }

    /// Reads `<a = 1, b = [2]>`.
    fn record(&mut self, name: &str, fields: Fields) -> Result<Attribute> {
        self.expect('<')?;
        let values = self.record_fields(fields, '>')?;
        Ok(record(&format!("stablehlo.{name}"), values))
    }

    /// Reads the fields of a record and the sign after them, and adds those that the text leaves out.
    fn record_fields(&mut self, fields: Fields, close: char) -> Result<Vec<(Arc<str>, Attribute)>> {
        let start = self.start;
        let mut given: Vec<Option<Attribute>> = vec![None; fields.len()];
        while !self.take(close)? {
            let name_at = self.start;
            let name = self.word("the name of a field")?;
            let Some(index) = fields.iter().position(|(known, _)| *known == name) else {
                let known: Vec<_> = fields.iter().map(|(known, _)| *known).collect();
                return Err(self.refuse_at(name_at, format!("expected one of {known:?}, found {}", quoted(name))));
            };
            self.expect('=')?;
            if given[index].replace(self.field()?).is_some() {
                return Err(self.refuse_at(name_at, format!("the field {name:?} is given twice")));
            }
            if !self.take(',')? && !self.is(close) {
                return Err(self.expected(&format!("{:?}", close.to_string())));
            }
        }
        let mut values = Vec::new();
        for (&(name, absent), given) in fields.iter().zip(given) {
            let value = match (given, absent) {
                (Some(value), _) => value,
                (None, Empty) => Attribute::Integers([].into()),
                (None, Zero) => Attribute::Integer(0, Element::DType(DType::S64)),
                (None, ZeroFloat) => Attribute::Float(0.0, Element::DType(DType::F64)),
                (None, Out) => continue,
                (None, Error) => return Err(self.refuse_at(start, format!("the field {name:?} is missing"))),
            };
            values.push((self.name(name), value));
        }
        Ok(values)
    }

    /// Reads the value of a field: a list of sizes or indices, `(1)2` of a part of an axis, or any attribute.
    fn field(&mut self) -> Result<Attribute> {
        let next = self.after().trim_start();
        if self.is('[') && next.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '?' | ']')) {
            return Ok(integers(&self.integers("an index")?));
        }
        if self.is('(') && next.starts_with(|c: char| c.is_ascii_digit()) {
            return self.part_of_axis("stablehlo");
        }
        self.attribute()
    }

    /// Reads `(1)2`, which is 2 devices of an axis after 1 before them.
    pub fn part_of_axis(&mut self, dialect: &str) -> Result<Attribute> {
        self.expect('(')?;
        let before = self.index("a size")?;
        self.expect(')')?;
        let size = self.index("a size")?;
        Ok(record(&format!("{dialect}.sub_axis_info"), vec![("pre_size".into(), before), ("size".into(), size)]))
    }

    /// Reads an integer as an attribute of type i64.
    pub fn index(&mut self, what: &str) -> Result<Attribute> {
        Ok(Attribute::Integer(self.integer(what)?, Element::DType(DType::S64)))
    }

    /// Reads `<lhs_precision_type = f32, ...>`.
    pub fn dot_algorithm(&mut self) -> Result<Attribute> {
        self.record("dot_algorithm", DOT_ALGORITHM)
    }

    /// Reads `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]` and the sign after it, or `raw` and all fields.
    pub fn convolution_dimensions(&mut self, close: char) -> Result<Attribute> {
        if self.take_word("raw")? {
            return Ok(record("stablehlo.conv", self.record_fields(CONVOLUTION, close)?));
        }
        let input = self.roles(["b", "f"])?;
        self.expect_word("x")?;
        let kernel = self.roles(["i", "o"])?;
        self.expect_arrow()?;
        let values = input.into_iter().chain(kernel).chain(self.roles(["b", "f"])?);
        self.expect(close)?;
        let names = CONVOLUTION.iter().map(|(name, _)| Arc::from(*name));
        Ok(record("stablehlo.conv", names.zip(values).collect()))
    }

    /// Reads `[b, 0, 1, f]`, the roles of the axes of a tensor; returns the axes of the two given roles, and those of
    /// the spatial dimensions in their order.
    fn roles(&mut self, roles: [&str; 2]) -> Result<[Attribute; 3]> {
        let start = self.start;
        let given = self.list('[', ']', |p| match p.token {
            Token::Word(word) | Token::Integer(word) => p.bump().map(|()| word),
            _ => Err(p.expected("the role of an axis")),
        })?;
        if given.len() < 2 || given.len() > 64 {
            return Err(self.refuse_at(start, format!("{} axes where 2 to 64 are expected", given.len())));
        }
        let axis = |role: &str| {
            let mut axes = given.iter().enumerate().filter(|(_, word)| **word == role);
            axes.next().filter(|_| axes.next().is_none()).map(|(axis, _)| axis as i64)
        };
        let spatial: Option<Vec<i64>> = (0..given.len() - 2).map(|i| axis(&i.to_string())).collect();
        match (axis(roles[0]), axis(roles[1]), spatial) {
            (Some(first), Some(second), Some(spatial)) => {
                let index = |axis| Attribute::Integer(axis, Element::DType(DType::S64));
                Ok([index(first), index(second), Attribute::Integers(spatial.into())])
            }
            _ => {
                Err(self
                    .refuse_at(start, format!("expected {roles:?} and the spatial dimensions 0, 1, ..., once each")))
            }
        }
    }
}

/// Creates an attribute with fields.
pub fn record(name: &str, fields: Vec<(Arc<str>, Attribute)>) -> Attribute {
    Attribute::Record(Record { name: name.into(), fields: Dictionary(fields.into()) }.into())
}
