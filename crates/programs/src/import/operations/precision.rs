//! Precision of products and convolutions.

use crate::import::attributes::Attributes;
use base::error;
use base::error::Result;
use ir::{ALGORITHMS, Level, Precision};
use mlir::{Attribute, Element, Type};

/// Returns the precision that a product or a convolution states; None if it states none, and the environment chooses.
/// An algorithm that the library does not know is computed in full precision, as are algorithms of 8-bit floats.
pub fn precision_of(attributes: Attributes) -> Result<Option<Precision>> {
    if attributes.get("lhs_precision_type").is_some() {
        return algorithm(attributes).map(Some);
    }
    let levels = match attributes.get("precision_config") {
        None => return Ok(None),
        Some(Attribute::Array(levels)) => levels.iter().map(level).collect::<Option<Vec<Level>>>(),
        Some(_) => None,
    };
    match levels.as_deref() {
        Some([]) => Ok(None),
        Some([both]) => Ok(Some(Precision::Levels([*both; 2]))),
        Some([lhs, rhs]) => Ok(Some(Precision::Levels([*lhs, *rhs]))),
        _ => Err(error!(
            InvalidArgument,
            "attribute precision_config: want two of DEFAULT, HIGH and HIGHEST, one for each operand"
        )),
    }
}

fn level(attribute: &Attribute) -> Option<Level> {
    let Attribute::Enum(keyword) = attribute else { return None };
    Level::ALL.into_iter().find(|level| level.keyword() == &**keyword)
}

/// The algorithm with these parts.
fn algorithm(attributes: Attributes) -> Result<Precision> {
    let [lhs, rhs, sums] =
        ["lhs_precision_type", "rhs_precision_type", "accumulation_type"].map(|name| match attributes.get(name) {
            Some(Attribute::Type(ty)) => Ok(type_name(ty)),
            _ => Err(error!(InvalidArgument, "attribute algorithm: {name} is missing or no type")),
        });
    let (lhs, rhs, sums) = (lhs?, rhs?, sums?);
    let counts = [attributes.integer("lhs_component_count")?, attributes.integer("rhs_component_count")?];
    let operations = attributes.integer("num_primitive_operations")?;
    let is_imprecise = attributes.bool("allow_imprecise_accumulation", false)?;
    let known = ALGORITHMS.iter().find(|known| {
        known.operands == lhs && known.operands == rhs && known.sums == sums && known.operations == operations
    });
    Ok(match known {
        Some(known) if counts == [1, 1] && !is_imprecise => Precision::Algorithm(known),
        _ => Precision::HIGHEST,
    })
}

fn type_name(ty: &Type) -> String {
    match ty {
        Type::Scalar(Element::DType(dtype)) => dtype.to_string(),
        Type::Scalar(Element::Other(text)) => text.to_string(),
        other => other.to_string(),
    }
}
