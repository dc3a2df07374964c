//! Attributes of Shardy, whose older versions write them as text.

use super::reader::{Reader, integer, record};
use crate::error::Result;
use crate::mlir::Attribute;

/// Reads an attribute. Fields have the names of the dialect's definition.
pub fn attribute(reader: &mut Reader) -> Result<Attribute> {
    let code = reader.varint()?;
    let (name, fields): (&str, &[(&str, Field)]) = match code {
        0 => ("manual_axes", &[("value", Field::List)]),
        1 => ("mesh_axis", &[("name", Field::String), ("size", Field::Integer)]),
        2 => ("mesh", &[("axes", Field::List), ("device_ids", Field::Integers)]),
        3 => ("sub_axis_info", &[("pre_size", Field::Integer), ("size", Field::Integer)]),
        4 => ("axis_ref", &[("name", Field::String), ("sub_axis_info", Field::Optional)]),
        5 => {
            ("dimension_sharding", &[("axes", Field::List), ("is_closed", Field::Bool), ("priority", Field::Priority)])
        }
        6 => ("sharding", &SHARDING[..3]),
        15 => ("sharding", &SHARDING[..4]),
        17 => ("sharding", &SHARDING),
        7 | 16 => ("sharding_per_value", &[("shardings", Field::List)]),
        8 => ("dim_mapping", &[("factor_indices", Field::Integers)]),
        9 => ("tensor_mapping", &[("dim_mappings", Field::List)]),
        10 => ("op_sharding_rule", &OP_SHARDING_RULE),
        11 => ("axis_ref_list", &[("value", Field::List)]),
        12 => ("list_of_axis_ref_lists", &[("value", Field::List)]),
        13 => ("all_to_all_param", &[("axes", Field::List), ("src_dim", Field::Integer), ("tgt_dim", Field::Integer)]),
        14 => ("all_to_all_param_list", &[("value", Field::List)]),
        _ => return Err(reader.unimplemented(format_args!("attribute {code} of sdy"))),
    };
    let mut values = Vec::with_capacity(fields.len());
    for &(name, field) in fields {
        if let Some(value) = read(reader, field)? {
            values.push((name, value));
        }
    }
    Ok(record(&format!("sdy.{name}"), values))
}

/// How a field is encoded.
#[derive(Clone, Copy)]
enum Field {
    Attribute,
    Optional,
    List,
    String,
    Integer,
    Integers,
    Bool,
    /// An integer with a flag whether it is present.
    Priority,
}

/// The fields of a sharding; the last ones are newer.
const SHARDING: [(&str, Field); 5] = [
    ("mesh_or_ref", Field::Attribute),
    ("dim_shardings", Field::List),
    ("replicated_axes", Field::List),
    ("unreduced_axes", Field::List),
    ("reduction_op", Field::Integer),
];

const OP_SHARDING_RULE: [(&str, Field); 8] = [
    ("factor_sizes", Field::Integers),
    ("operand_mappings", Field::List),
    ("result_mappings", Field::List),
    ("reduction_factors", Field::Integers),
    ("need_replication_factors", Field::Integers),
    ("permutation_factors", Field::Integers),
    ("blocked_propagation_factors", Field::Integers),
    ("is_custom_rule", Field::Bool),
];

/// Reads a field; None if it is absent.
fn read(reader: &mut Reader, field: Field) -> Result<Option<Attribute>> {
    Ok(Some(match field {
        Field::Attribute => reader.attribute()?,
        Field::Optional => return reader.optional_attribute(),
        Field::List => reader.array()?,
        Field::String => reader.string()?,
        Field::Integer => reader.integer_attribute()?,
        Field::Integers => reader.integers_attribute()?,
        Field::Bool => Attribute::Bool(reader.bool()?),
        Field::Priority => match reader.cursor().flagged()? {
            (_, false) => return Ok(None),
            (value, true) => integer(value as i64),
        },
    }))
}
