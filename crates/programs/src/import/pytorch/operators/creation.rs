//! New tensors.

use super::super::arguments::Value;
use super::super::call::{Call, beside};
use super::super::operator::{Operator, operator};
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ops::creation::{arange, eye, full, linspace};
use ops::elementwise::convert;
use ops::elementwise::formula::record;

pub(super) const TABLE: &[Operator] = &[
    operator(
        &["zeros.default", "empty.memory_format"],
        "size dtype=none layout=none device=none pin_memory=none memory_format=none",
        |call| filled(call, ScalarValue::Signed(0)),
    ),
    operator(
        &["empty_permuted.default"],
        "size physical_layout dtype=none layout=none device=none pin_memory=none",
        |call| filled(call, ScalarValue::Signed(0)),
    ),
    operator(&["ones.default"], "size dtype=none layout=none device=none pin_memory=none", |call| {
        filled(call, ScalarValue::Signed(1))
    }),
    operator(&["full.default"], "size fill_value dtype=none layout=none device=none pin_memory=none", |call| {
        let (dtype, value) = call.number("fill_value")?;
        let (dtype, size) = (call.dtype("dtype")?.unwrap_or(dtype), call.ints("size")?);
        made(call, dtype, &size, value)
    }),
    operator(&["scalar_tensor.default"], "s dtype=none layout=none device=none pin_memory=none", |call| {
        let dtype = call.dtype("dtype")?.unwrap_or(DType::F32);
        if let Some(number) = call.computed("s") {
            let node = number.record(call.trace())?;
            let node = convert(call.trace(), node, dtype);
            return Ok(call.made(node));
        }
        let (_, value) = call.number("s")?;
        made(call, dtype, &[], beside(value, dtype))
    }),
    operator(&["zeros_like.default", "empty_like.default"], LIKE, |call| filled_like(call, ScalarValue::Signed(0))),
    operator(&["ones_like.default"], LIKE, |call| filled_like(call, ScalarValue::Signed(1))),
    operator(
        &["full_like.default"],
        "self fill_value dtype=none layout=none device=none pin_memory=none memory_format=none",
        |call| {
            let value = call.number("fill_value")?.1;
            filled_like(call, value)
        },
    ),
    operator(&["new_zeros.default", "new_empty.default"], NEW, |call| new_filled(call, ScalarValue::Signed(0))),
    operator(&["new_ones.default"], NEW, |call| new_filled(call, ScalarValue::Signed(1))),
    operator(
        &["new_full.default"],
        "self size fill_value dtype=none layout=none device=none pin_memory=none",
        |call| {
            let value = call.number("fill_value")?.1;
            new_filled(call, value)
        },
    ),
    operator(&["fill.Scalar"], "self value", |call| {
        let value = call.number("value")?.1;
        filled_like(call, value)
    }),
    operator(&["fill.Tensor"], "self value", |call| {
        let (x, value) = (call.tensor("self")?, call.tensor("value")?);
        let ty = call.ty(x);
        let value = convert(call.trace(), value, ty.dtype);
        let made = ops::shape::broadcast_to(call.trace(), value, &ty.dims)?;
        Ok(call.made(made))
    }),
    operator(
        &["logspace.default"],
        "start end steps base=10.0 dtype=none layout=none device=none pin_memory=none",
        |call| {
            let ends = [call.number("start")?.1, call.number("end")?.1];
            let (dtype, steps) = (call.dtype("dtype")?.unwrap_or(DType::F32), call.int("steps")?);
            let base = call.float("base")?;
            let trace = call.trace();
            let powers = linspace(trace, DType::F64, ends, steps, true)?;
            let made = record(trace, [powers], |[powers]| powers.number(base).power(powers))?;
            let made = convert(trace, made, dtype);
            Ok(call.made(made))
        },
    ),
    operator(&["zero.default"], "self", |call| filled_like(call, ScalarValue::Signed(0))),
    operator(&["arange.default"], "end dtype=none layout=none device=none pin_memory=none", counted),
    operator(&["arange.start"], "start end dtype=none layout=none device=none pin_memory=none", counted),
    operator(&["arange.start_step"], "start end step=1 dtype=none layout=none device=none pin_memory=none", counted),
    operator(&["linspace.default"], "start end steps dtype=none layout=none device=none pin_memory=none", |call| {
        let ends = [call.number("start")?.1, call.number("end")?.1];
        let (dtype, steps) = (call.dtype("dtype")?.unwrap_or(DType::F32), call.int("steps")?);
        let trace = call.trace();
        // Integers are the floats without their fractions.
        let made = linspace(trace, if dtype.is_integer() { DType::F64 } else { dtype }, ends, steps, true)?;
        let made = convert(trace, made, dtype);
        Ok(call.made(made))
    }),
    operator(&["eye.default", "eye.m"], "n m=none dtype=none layout=none device=none pin_memory=none", |call| {
        let rows = call.int("n")?;
        let columns = call.optional_int("m")?.unwrap_or(rows);
        let dtype = call.dtype("dtype")?.unwrap_or(DType::F32);
        let made = eye(call.trace(), dtype, rows, columns, 0)?;
        Ok(call.made(made))
    }),
];

const LIKE: &str = "self dtype=none layout=none device=none pin_memory=none memory_format=none";
const NEW: &str = "self size dtype=none layout=none device=none pin_memory=none";

fn made<'p>(call: &mut Call<'_, 'p>, dtype: DType, dims: &[i64], value: ScalarValue) -> Result<Value<'p>> {
    // As PyTorch, a number for bools is true unless it is 0.
    let value = match (dtype, value.real()) {
        (DType::Pred, Some(real)) => ScalarValue::Signed((real != 0.0).into()),
        // A float for integers loses its fraction.
        (dtype, Some(real)) if dtype.is_integer() && matches!(value, ScalarValue::Float(_)) && real.is_finite() => {
            ScalarValue::Signed(real as i64)
        }
        _ => value,
    };
    let node = full(call.trace(), &TensorType::new(dtype, dims), value)?;
    Ok(call.made(node))
}

fn filled<'p>(call: &mut Call<'_, 'p>, value: ScalarValue) -> Result<Value<'p>> {
    let (dtype, size) = (call.dtype("dtype")?.unwrap_or(DType::F32), call.ints("size")?);
    made(call, dtype, &size, value)
}

fn filled_like<'p>(call: &mut Call<'_, 'p>, value: ScalarValue) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let (dtype, size) = (call.dtype("dtype")?.unwrap_or(call.dtype_of(x)), call.dims(x));
    made(call, dtype, &size, value)
}

fn new_filled<'p>(call: &mut Call<'_, 'p>, value: ScalarValue) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let (dtype, size) = (call.dtype("dtype")?.unwrap_or(call.dtype_of(x)), call.ints("size")?);
    made(call, dtype, &size, value)
}

fn counted<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let or = |name: &str, default: i64| match call.has(name) {
        true => call.number(name),
        false => Ok((DType::S64, ScalarValue::Signed(default))),
    };
    let bounds = [or("start", 0)?, call.number("end")?, or("step", 1)?];
    let is_float = bounds.iter().any(|(dtype, _)| dtype.is_float());
    let own = if is_float { DType::F32 } else { DType::S64 };
    let dtype = call.dtype("dtype")?.unwrap_or(own);
    let node = arange(call.trace(), dtype, bounds.map(|(_, value)| value))?;
    Ok(call.made(node))
}
