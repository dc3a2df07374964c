//! Recording operations that look into elements or stand around whole tensors: bounds, complex numbers, bits, order,
//! barriers, calls of what a plugin knows.

use super::operands::{numbered, operand_list, operands};
use super::recording::{finish, finish_all};
use crate::device::TensorHandle;
use crate::error;
use crate::error::Result;
use crate::ops::{self, CustomCall};
use crate::types::{DType, ScalarValue};

/// `x`, but at least `min`, and at most `max`.
pub fn clamp(min: TensorHandle, x: TensorHandle, max: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [min, x, max]) = operands([("min", min), ("x", x), ("max", max)])?;
    let id = ops::clamp(&mut state.trace, min, x, max)?;
    finish(state, id)
}

/// `x`, but at least and at most these scalars, if they are given.
pub fn clamp_with_scalars(min: Option<ScalarValue>, x: TensorHandle, max: Option<ScalarValue>) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::clamp_scalars(&mut state.trace, min, x, max)?;
    finish(state, id)
}

/// Complex numbers of their parts.
pub fn complex(real: TensorHandle, imag: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [real, imag]) = operands([("real", real), ("imag", imag)])?;
    let id = ops::complex(&mut state.trace, real, imag)?;
    finish(state, id)
}

/// The real part.
pub fn real(x: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::real(&mut state.trace, x)?;
    finish(state, id)
}

/// The imaginary part.
pub fn imag(x: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::imag(&mut state.trace, x)?;
    finish(state, id)
}

/// The bits as elements of another dtype.
pub fn bitcast_convert(x: TensorHandle, dtype: DType) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::bitcast_convert(&mut state.trace, x, dtype)?;
    finish(state, id)
}

/// Each element rounded to a format with so many bits.
pub fn reduce_precision(x: TensorHandle, exponent_bits: i32, mantissa_bits: i32) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::reduce_precision(&mut state.trace, x, exponent_bits.into(), mantissa_bits.into())?;
    finish(state, id)
}

/// Backwards along some axes.
pub fn reverse(x: TensorHandle, axes: &[i64]) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::reverse(&mut state.trace, x, axes)?;
    finish(state, id)
}

/// The same values, none of which is known before all are computed.
pub fn optimization_barrier(tensors: &[TensorHandle]) -> Result<Vec<TensorHandle>> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let (mut state, nodes) = operand_list(numbered("tensors", tensors))?;
    let results = ops::optimization_barrier(&mut state.trace, &nodes)?;
    finish_all(state, &results)
}

/// Calls what the plugin knows under a name.
pub fn custom_call(call: &CustomCall, operands: &[TensorHandle]) -> Result<Vec<TensorHandle>> {
    if operands.is_empty() {
        return Err(error!(InvalidArgument, "n_operands: 0 given; want at least 1, which says on what device it runs"));
    }
    let (mut state, nodes) = operand_list(numbered("operands", operands))?;
    let results = ops::custom_call(&mut state.trace, call, &nodes)?;
    finish_all(state, &results)
}
