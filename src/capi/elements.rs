//! Chapter Operations, third part: bounds, complex numbers, bits, order, barriers, calls of what a plugin knows.

use super::arguments::{axes_of, optional_text, out, ranked, slice, slice_mut, text};
use super::guard::guard;
use super::tensor::handles;
use super::types::*;
use crate::error;
use crate::error::Result;
use crate::ops::{ApiVersion, CustomCall};
use crate::tensor;
use crate::types::{DType, TensorType};
use std::ffi::c_char;

/// Records x, but at least `min` and at most `max`, as NumPy's clip: all three broadcast and promote to one dtype. Where
/// min is greater than max, the result is max; NaN in any of them gives NaN. Not of complex numbers. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_clamp(
    min: lxla_tensor,
    x: lxla_tensor,
    max: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_clamp", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::clamp(min.into(), x.into(), max.into())?.into())
    })
}

/// Records the complex numbers of two parts, which broadcast and promote: c64 of f32, c128 of f64. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_complex(
    real: lxla_tensor,
    imag: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_complex", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::complex(real.into(), imag.into())?.into())
    })
}

/// Records the real part: f32 of c64, f64 of c128. Any other dtype is its own. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_real(x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_real", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::real(x.into())?.into())
    })
}

/// Records the imaginary part: f32 of c64, f64 of c128. Of any other dtype, zeros of x's dtype and shape. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_imag(x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_imag", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::imag(x.into())?.into())
    })
}

/// Records the bits of x as elements of another dtype. With a narrower one, the result has one axis more: the parts of each
/// element, the low bits first. With a wider one, x's last axis has as many elements as make one, and goes. Between integers
/// and floats; pred and complex numbers are INVALID_ARGUMENT, unless the dtype is x's own. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_bitcast_convert(x: lxla_tensor, dtype: i32, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_bitcast_convert", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::bitcast_convert(x.into(), DType::from_number(dtype)?)?.into())
    })
}

/// Records the floats of x, rounded to the nearest number of a format with `exponent_bits` (at least 1) and `mantissa_bits` (at
/// least 0; the leading 1 is not among them); dtype and shape stay. Ties go to the even one, which without a mantissa is that
/// whose exponent is even as the dtype writes it. What is too large is infinite, and NaN stays NaN. With fewer bits of
/// exponent than the dtype has, what is too small to be normal in the format is 0 of its sign. Bits that the dtype does not
/// have change nothing. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reduce_precision(
    x: lxla_tensor,
    exponent_bits: i32,
    mantissa_bits: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reduce_precision", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::reduce_precision(x.into(), exponent_bits, mantissa_bits)?.into())
    })
}

/// Records x backwards along `n_axes` axes (negative: from the end), each once, or along all axes if `axes` is NULL: the same
/// as `lxla_flip`. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reverse(
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reverse", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::reverse(x.into(), &over)?.into())
    })
}

/// Records `n` tensors (at least 1) of one device as they are: what is computed of the results is not merged with what is
/// computed of the tensors, and not before all of them are computed. A checkpoint passes through it what the second
/// computation starts from, with a tensor that the backward pass has only when it gets there: else XLA would keep what the
/// first one computed. It costs nothing, but on CPUs, where XLA takes barriers away, a copy of each tensor. Gives `n` tensors,
/// one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_optimization_barrier(
    tensors: *const lxla_tensor,
    n: usize,
    out_tensors: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_optimization_barrier", || {
        // SAFETY: the caller's promise, see `capi`.
        let (tensors, places) = unsafe { (handles("tensors", tensors, n)?, slice_mut("out_tensors", out_tensors, n)?) };
        let results = tensor::optimization_barrier(&tensors)?;
        places.iter_mut().zip(results).for_each(|(place, tensor)| *place = tensor.into());
        Ok(())
    })
}

/// Fills options with the defaults. `options->struct_size` is set by the caller before, and at most that many bytes are
/// written. INVALID_ARGUMENT if it is too small to hold itself. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_custom_call_options_init(options: *mut lxla_custom_call_options) -> lxla_status {
    guard("lxla_custom_call_options_init", || {
        // SAFETY: the caller's promise, see `capi`.
        unsafe { out("options", options)? };
        // SAFETY: checked just now; only the first field is read, which the caller has set.
        let size = unsafe { (&raw const (*options).struct_size).read() };
        check_struct_size(size)?;
        let defaults = size.min(size_of::<lxla_custom_call_options>()) - size_of::<usize>();
        // SAFETY: the caller says that the struct is `size` bytes long; all defaults are zero.
        unsafe { options.cast::<u8>().add(size_of::<usize>()).write_bytes(0, defaults) };
        Ok(())
    })
}

/// Records a call of what the device's plugin knows under the name `target`, for `n_operands` tensors (at least 1) of one
/// device: what it computes and what it takes is the plugin's affair. It sees row-major arrays. Result i has dtype
/// `dtypes[i]` and rank `ranks[i]`; `dims` has the sizes of all results, one result after another. NULL options are the
/// defaults. Like any other operation, it runs when its results are needed, and as often as a program that needs them runs.
/// Targets that are XLA's own (`TopK`, `SliceToDynamic`, names that begin with `__`, `xla.`, `SPMD`, ...) are refused: its passes
/// end the process where such a call is not as XLA writes it. Of those that expand on every device `Qr`, `Eigh` and
/// `ProductOfElementaryHouseholderReflectors` are taken, with f32 or f64 matrices and results of the shapes that they have; and
/// `Sharding`, with one operand and a result of its type. `__gpu$xla.gpu.triton`, by which XLA runs a Triton kernel, is passed
/// on as it is. A target that the plugin does not know is an error of the step or sync that compiles it, which then has changed
/// nothing.
/// Native tensors have no plugin: UNIMPLEMENTED. Gives `n_results` tensors (at least 1), one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_custom_call(
    target: *const c_char,
    operands: *const lxla_tensor,
    n_operands: usize,
    dtypes: *const i32,
    ranks: *const usize,
    dims: *const i64,
    n_results: usize,
    options: *const lxla_custom_call_options,
    out_results: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_custom_call", || {
        // SAFETY: the caller's promise, see `capi`.
        let (target, operands, results, options, places) = unsafe {
            (
                text("target", target)?,
                handles("operands", operands, n_operands)?,
                tensor_types(dtypes, ranks, dims, n_results)?,
                read_options(options)?,
                slice_mut("out_results", out_results, n_results)?,
            )
        };
        let call = CustomCall { target: target.to_string(), results, ..options };
        let results = tensor::custom_call(&call, &operands)?;
        places.iter_mut().zip(results).for_each(|(place, tensor)| *place = tensor.into());
        Ok(())
    })
}

/// Types, of which the sizes stand in one list.
unsafe fn tensor_types(dtypes: *const i32, ranks: *const usize, dims: *const i64, n: usize) -> Result<Vec<TensorType>> {
    // SAFETY: the caller's promise.
    let (dtypes, ranks) = unsafe { (slice("dtypes", dtypes, n)?, slice("ranks", ranks, n)?) };
    let mut start = dims;
    let mut types = Vec::with_capacity(n);
    for (&dtype, &rank) in dtypes.iter().zip(ranks) {
        // SAFETY: the caller's promise: the list goes on for as many as this rank says.
        let own = unsafe { ranked("dims", start, rank)? };
        types.push(TensorType::new(DType::from_number(dtype)?, own));
        start = start.wrapping_add(rank);
    }
    Ok(types)
}

fn check_struct_size(size: usize) -> Result<()> {
    if size < size_of::<usize>() {
        return Err(error!(
            InvalidArgument,
            "options: struct_size is {size}; set it to sizeof(lxla_custom_call_options), {}",
            size_of::<lxla_custom_call_options>()
        ));
    }
    Ok(())
}

/// What the caller's options say, without target and results; what its struct is too short for is the default.
unsafe fn read_options(options: *const lxla_custom_call_options) -> Result<CustomCall> {
    // SAFETY: zero is a value of every field.
    let mut given: lxla_custom_call_options = unsafe { std::mem::zeroed() };
    if !options.is_null() {
        // SAFETY: not null; only the first field is read, which the caller has set.
        let size = unsafe { (&raw const (*options).struct_size).read_unaligned() };
        check_struct_size(size)?;
        let known = size.min(size_of::<lxla_custom_call_options>());
        // SAFETY: the caller says that its struct is `size` bytes long, and ours has room for `known`.
        unsafe { std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut given).cast::<u8>(), known) };
    }
    // SAFETY: the caller's promise, see `capi`.
    let backend_config = unsafe { optional_text("options.backend_config", given.backend_config)? };
    let api_version = match given.api_version {
        0 => ApiVersion::TypedFfi,
        number => ApiVersion::from_number(number).map_err(|e| e.context("options"))?,
    };
    let has_side_effect = match given.has_side_effect {
        0 | 2 => false,
        1 => true,
        other => return Err(error!(InvalidArgument, "options.has_side_effect: {other} given; want 0, 1 or 2")),
    };
    let backend_config = backend_config.unwrap_or_default().to_string();
    Ok(CustomCall { target: String::new(), backend_config, api_version, has_side_effect, results: Vec::new() })
}
