//! Converts arguments to the types of the library.

use super::pointers::{In, List, Text};
use super::types::{lxla_scalar, lxla_tensor};
use crate::capi::constants::{LXLA_OFF, LXLA_ON};
use crate::tensor;
use base::error;
use base::error::Result;
use base::types::{DType, Kind, MAX_RANK, ScalarValue, TensorType, element_count};
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// Returns the `length` elements of a list, or None if it is NULL.
pub fn optional_slice<'a, T>(name: &str, list: List<'a, T>, length: usize) -> Result<Option<&'a [T]>> {
    if list.is_null() { Ok(None) } else { list.get(name, length).map(Some) }
}

/// Returns a list with one entry per axis.
pub fn ranked<'a>(name: &str, list: List<'a, i64>, rank: usize) -> Result<&'a [i64]> {
    check_rank(rank)?;
    list.get(name, rank)
}

/// Returns an error if `rank` is more than the library supports.
pub fn check_rank(rank: usize) -> Result<()> {
    if rank > MAX_RANK {
        return Err(error!(InvalidArgument, "rank: {rank} given; want at most {MAX_RANK}"));
    }
    Ok(())
}

/// Returns a list with one entry per axis, or None if it is NULL.
pub fn optional_ranked<'a>(name: &str, list: List<'a, i64>, rank: usize) -> Result<Option<&'a [i64]>> {
    if list.is_null() { Ok(None) } else { ranked(name, list, rank).map(Some) }
}

/// Returns a list with one entry per axis, or `default` for every axis if it is NULL.
pub fn ranked_or<'a>(name: &str, list: List<'a, i64>, rank: usize, default: i64) -> Result<Cow<'a, [i64]>> {
    check_rank(rank)?;
    let given = optional_ranked(name, list, rank)?;
    Ok(given.map_or_else(|| Cow::Owned(vec![default; rank]), Cow::Borrowed))
}

/// Returns the listed axes of `x`: none for a list of length 0, all for NULL with length 0.
pub fn axes_of<'a>(x: lxla_tensor, axes: List<'a, i64>, n_axes: usize) -> Result<Cow<'a, [i64]>> {
    if axes.is_null() && n_axes == 0 {
        // An invalid handle is reported by the operation, under its argument name there.
        let rank = tensor::ty(x.into()).map_or(0, |ty| ty.dims.len());
        return Ok((0..rank as i64).collect());
    }
    ranked("axes", axes, n_axes).map(Cow::Borrowed)
}

/// Returns the time at which a wait of so many milliseconds ends.
pub fn deadline(name: &str, milliseconds: i64) -> Result<Instant> {
    /// Longer waits are as good as endless, and an `Instant` may overflow.
    const MOST_MILLISECONDS: u64 = 1 << 40;
    let wait = u64::try_from(milliseconds)
        .map_err(|_| error!(InvalidArgument, "{name}: {milliseconds} given; want 0 or more milliseconds"))?;
    Ok(Instant::now() + Duration::from_millis(wait.min(MOST_MILLISECONDS)))
}

/// Returns the dtype and value of a required scalar.
pub fn scalar(name: &str, scalar: In<lxla_scalar>) -> Result<(DType, ScalarValue)> {
    let scalar = scalar.get(name)?;
    let dtype = DType::from_number(scalar.dtype).map_err(|e| e.context(name))?;
    // SAFETY: every bit pattern is a value of every member, and the caller set the one that the dtype selects.
    let value = unsafe {
        match dtype.wide().kind() {
            Kind::Float | Kind::Float8 => ScalarValue::Float(scalar.value.f),
            Kind::Signed => ScalarValue::Signed(scalar.value.i),
            Kind::Unsigned | Kind::Pred | Kind::Subbyte => ScalarValue::Unsigned(scalar.value.u),
            Kind::Complex => ScalarValue::Complex(scalar.value.c[0], scalar.value.c[1]),
        }
    };
    Ok((dtype, value))
}

/// Returns the value of a scalar, or None if it is NULL.
pub fn optional_scalar(name: &str, given: In<lxla_scalar>) -> Result<Option<ScalarValue>> {
    if given.is_null() { Ok(None) } else { scalar(name, given).map(|(_, value)| Some(value)) }
}

/// Returns a tensor type from a dtype and a shape.
pub fn tensor_type(dtype: i32, dims: List<i64>, rank: usize) -> Result<TensorType> {
    let dtype = DType::from_number(dtype)?;
    let dims = ranked("dims", dims, rank)?;
    element_count(dims)?;
    Ok(TensorType::new(dtype, dims))
}

/// Converts a flag, 0 or 1.
pub fn flag(name: &str, value: i32) -> Result<bool> {
    match value {
        0 | 1 => Ok(value == 1),
        _ => Err(error!(InvalidArgument, "{name}: {value} given; want 0 or 1")),
    }
}

/// Converts a switch of an options struct: None for 0, the default.
pub fn switch(name: &str, value: i32) -> Result<Option<bool>> {
    match value {
        0 => Ok(None),
        LXLA_ON => Ok(Some(true)),
        LXLA_OFF => Ok(Some(false)),
        _ => Err(error!(
            InvalidArgument,
            "{name}: {value} given; want LXLA_ON ({LXLA_ON}), LXLA_OFF ({LXLA_OFF}), or 0 for the default"
        )),
    }
}

/// Returns a string, or None if it is NULL.
pub fn optional_text<'a>(name: &str, text: Text<'a>) -> Result<Option<&'a str>> {
    if text.is_null() { Ok(None) } else { text.get(name).map(Some) }
}

/// Returns the strings of a list; errors name the list and the index.
pub fn texts<'a>(name: &str, list: List<'a, Text<'a>>, length: usize) -> Result<Vec<&'a str>> {
    let list = list.get(name, length)?;
    list.iter().enumerate().map(|(i, text)| text.get(&format!("{name}[{i}]"))).collect()
}

/// Converts a dtype, or returns None for 0.
pub fn optional_dtype(number: i32) -> Result<Option<DType>> {
    if number == 0 { Ok(None) } else { DType::from_number(number).map(Some) }
}

/// Converts the `index_dtype` argument.
pub fn index_dtype_of(number: i32) -> Result<DType> {
    DType::from_number(number).map_err(|e| e.context("index_dtype"))
}
