//! Custom calls of targets that are kernels of the environment.

use super::{Call, Results};
use crate::import::attributes::array_of;
use crate::import::sizes::integers_of;
use base::error;
use base::error::{Result, quoted};
use base::types::{DType, TensorType, element_count};
use engine::kernels::Kernel;
use ir::NodeId;
use mlir::{Attribute, Data, Dense, Dictionary, Element, Type};
use serde_json::{Map, Number, Value};
use std::sync::Arc;

/// Maximum number of values of JSON that the attributes of a call become.
const MOST_VALUES: usize = 1 << 16;

/// Records a call of a kernel.
pub fn call(mut call: Call, kernel: &Arc<Kernel>) -> Result<Results> {
    let target = quoted(&kernel.target);
    if kernel.has_effects || call.attributes.bool("has_side_effect", false)? {
        return Err(error!(
            Unimplemented,
            "kernel {target}: calls with effects are not imported (ordered or not pure, has_side_effect of the program)"
        ));
    }
    let results: Vec<TensorType> =
        (0..call.operation.results.len()).map(|i| call.stated_type(i)).collect::<Result<_>>()?;
    let operands: Vec<TensorType> = call.operands.iter().map(|&operand| call.ty(operand)).collect();
    for (name, types) in [("operand_layouts", &operands), ("result_layouts", &results)] {
        check_layouts(&call, name, types).map_err(|e| e.context(format_args!("kernel {target}")))?;
    }
    let json = attributes(&call)?;
    let operands: &[NodeId] = call.operands;
    ops::control::kernel(call.trace(), kernel, operands, None, &results, &json).map(Results::from_vec)
}

/// UNIMPLEMENTED unless arrays are row-major, as kernels get them.
fn check_layouts(call: &Call, name: &str, types: &[TensorType]) -> Result<()> {
    let Some(Attribute::Array(layouts)) = call.attributes.get(name) else { return Ok(()) };
    for (layout, ty) in layouts.iter().zip(types) {
        let order = match layout {
            Attribute::Dense(dense) => {
                let array = array_of(&as_s64(dense))?;
                integers_of(array.ty().dtype, array.bytes())?
            }
            Attribute::Integers(order) => order.to_vec(),
            _ => return Err(error!(InvalidArgument, "attribute {name}: want lists of axes")),
        };
        let is_row_major = order.iter().copied().eq((0..ty.dims.len() as i64).rev());
        if !is_row_major {
            return Err(error!(Unimplemented, "attribute {name}: {order:?} given for {ty}; want row-major arrays"));
        }
    }
    Ok(())
}

/// A list of axes, whose elements have the type `index`, as one of s64.
fn as_s64(dense: &Dense) -> Dense {
    let ty = match &*dense.ty {
        Type::Tensor(shape) if shape.element == Element::Index => {
            let mut shape = shape.clone();
            shape.element = Element::DType(DType::S64);
            Arc::new(Type::Tensor(shape))
        }
        _ => dense.ty.clone(),
    };
    Dense { ty, data: dense.data.clone() }
}

/// The attributes of a call for the kernel: its configuration as JSON, or the text of an older form of calls.
fn attributes(call: &Call) -> Result<String> {
    let mut left = MOST_VALUES;
    match call.config(&["backend_config", "mhlo.backend_config"]) {
        Some(dictionary) => Ok(object(dictionary.0, &mut left)?.to_string()),
        None => Ok(call.attributes.optional_text("backend_config")?.unwrap_or_default().to_string()),
    }
}

/// Counts values of JSON before they are made: attributes are shared, and a small file can name one often.
fn spend(left: &mut usize, values: usize) -> Result<()> {
    *left = left.checked_sub(values).ok_or_else(|| {
        error!(Unimplemented, "the configuration has more than {MOST_VALUES} values, with those of dense attributes")
    })?;
    Ok(())
}

fn object(dictionary: &Dictionary, left: &mut usize) -> Result<Value> {
    let entry = |(name, attribute): &(Arc<str>, Attribute)| -> Result<(String, Value)> {
        let value = json(attribute, left).map_err(|e| e.context(format_args!("attribute {}", quoted(name))))?;
        Ok((name.to_string(), value))
    };
    dictionary.0.iter().map(entry).collect::<Result<Map<String, Value>>>().map(Value::Object)
}

/// The value of an attribute as JSON.
fn json(attribute: &Attribute, left: &mut usize) -> Result<Value> {
    spend(left, 1)?;
    Ok(match attribute {
        Attribute::Unit => Value::Null,
        Attribute::Bool(value) => Value::Bool(*value),
        Attribute::Integer(value, element) => integer(*value, element),
        Attribute::Float(value, _) => float(*value)?,
        Attribute::String(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => {
                spend(left, text.len() / size_of::<Value>())?;
                Value::String(text.to_string())
            }
            Err(_) => return Err(error!(Unimplemented, "it is not UTF-8, which JSON has to be")),
        },
        Attribute::Array(list) => list.iter().map(|one| json(one, left)).collect::<Result<Vec<Value>>>()?.into(),
        Attribute::Integers(list) => {
            spend(left, list.len())?;
            list.to_vec().into()
        }
        Attribute::Numbers(list) => elements(&Dense::of_numbers(list), left)?,
        Attribute::Dictionary(dictionary) => object(dictionary, left)?,
        Attribute::Dense(dense) => elements(dense, left)?,
        Attribute::Enum(keyword) => Value::String(keyword.to_string()),
        _ => return Err(error!(Unimplemented, "want a number, a text, a list or a dictionary")),
    })
}

fn integer(value: i64, element: &Element) -> Value {
    match element {
        Element::DType(DType::Pred) => Value::Bool(value != 0),
        Element::DType(DType::U64) => (value as u64).into(),
        _ => value.into(),
    }
}

fn float(value: f64) -> Result<Value> {
    let number = Number::from_f64(value);
    number.map(Value::Number).ok_or_else(|| error!(Unimplemented, "{value} given, which is not a number in JSON"))
}

/// The elements of a dense attribute as lists in lists, one level for each axis.
fn elements(dense: &Dense, left: &mut usize) -> Result<Value> {
    let Type::Tensor(shape) = &*dense.ty else { return Err(error!(Unimplemented, "{} given", dense.ty)) };
    let count = element_count(&shape.dims)?;
    // Each axis has as many lists as the axes before it have places, also if the array has no elements.
    let mut lists = 1_usize;
    for &size in &shape.dims {
        lists = lists.saturating_mul(usize::try_from(size).unwrap_or(0));
        spend(left, lists)?;
    }
    let array = array_of(dense)?;
    let dtype = array.ty().dtype;
    let mut values: Vec<Value> = if dtype.is_integer() || dtype == DType::Pred {
        let element = Element::DType(dtype);
        integers_of(dtype, array.bytes())?.into_iter().map(|value| integer(value, &element)).collect()
    } else if dtype.is_float() || dtype.is_float8() {
        let wide = native::convert(&array, DType::F64)?;
        wide.elements::<f64>().iter().map(|&value| float(value)).collect::<Result<_>>()?
    } else {
        return Err(error!(Unimplemented, "{} given; want integers or floats", dense.ty));
    };
    if matches!(dense.data, Data::Splat(_)) {
        values = values.first().map_or_else(Vec::new, |value| vec![value.clone(); count]);
    }
    let mut rest = values.into_iter();
    Ok(nested(&shape.dims, &mut rest))
}

fn nested(dims: &[i64], values: &mut impl Iterator<Item = Value>) -> Value {
    match dims {
        [] => values.next().unwrap_or(Value::Null),
        [size, inner @ ..] => (0..*size).map(|_| nested(inner, values)).collect::<Vec<Value>>().into(),
    }
}
