//! Chapter Products.

use super::arguments::{out, ranked, slice, text};
use super::guard::guard;
use super::options;
use super::tensor::handles;
use super::types::*;
use crate::error::Result;
use crate::ops::{ConvolutionOptions, DotAxes};
use crate::tensor;
use crate::types::DType;
use std::ffi::c_char;

/// Records a product of two tensors, as StableHLO's dot_general: `n_batching` axes of each (negative: from the end) are
/// batches, `n_contracting` axes of each are summed over; axes that stand at the same place in two lists belong together and
/// are of one size. The result has the batch axes, then the other axes of lhs, then those of rhs.
///
/// `dtype` 0: the operands' common dtype. Another one, to which that promotes (f32 for bf16, s32 for s8), is what the
/// product is computed and given in. f16 and bf16 are summed up in f32 and rounded once, f32 is multiplied in full precision
/// on every device, integers wrap; pred is refused. A sum over nothing is 0. Gives one reference. Any thread.
///
/// Floats: the error of an element is at most about as many units in the last place of the sum of the products' absolute
/// values as there are products, and most often 1 or 2; in which order they are added is up to the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_dot_general(
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    lhs_batching: *const i64,
    rhs_batching: *const i64,
    n_batching: usize,
    lhs_contracting: *const i64,
    rhs_contracting: *const i64,
    n_contracting: usize,
    dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_dot_general", || {
        // SAFETY: the caller's promise, see `capi`.
        let (axes, place) = unsafe {
            let axes = DotAxes {
                lhs_batching: ranked("lhs_batching", lhs_batching, n_batching)?,
                rhs_batching: ranked("rhs_batching", rhs_batching, n_batching)?,
                lhs_contracting: ranked("lhs_contracting", lhs_contracting, n_contracting)?,
                rhs_contracting: ranked("rhs_contracting", rhs_contracting, n_contracting)?,
            };
            (axes, out("out_tensor", out_tensor)?)
        };
        place.set(tensor::dot_general(lhs.into(), rhs.into(), &axes, optional_dtype(dtype)?)?.into())
    })
}

fn optional_dtype(number: i32) -> Result<Option<DType>> {
    if number == 0 { Ok(None) } else { DType::from_number(number).map(Some) }
}

/// Records the sum of products of `n` tensors (at least 1) that an equation in NumPy's notation describes: "ij,jk->ik" is a
/// matrix product, "ii->i" a diagonal, "...ij->...ji" a transposition of the last two axes. An index that does not stand
/// behind the arrow is summed over. Without an arrow the result has the ellipses' axes, then the indices that stand once, in
/// alphabetical order. Ellipses broadcast, and 1 goes with any size of an index in other tensors; spaces are skipped.
///
/// dtypes promote to one, in which all is computed (not pred). Three and more tensors are multiplied two at a time, small
/// results first; f16 and bf16 are rounded after each product. Precision is that of `lxla_dot_general`. INVALID_ARGUMENT
/// quotes the equation. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_einsum(
    equation: *const c_char,
    tensors: *const lxla_tensor,
    n: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_einsum", || {
        // SAFETY: the caller's promise, see `capi`.
        let (equation, tensors, place) =
            unsafe { (text("equation", equation)?, handles("tensors", tensors, n)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::einsum(equation, &tensors)?.into())
    })
}

/// Fills options with the defaults. `options->struct_size` is set by the caller before, and at most that many bytes are
/// written. INVALID_ARGUMENT if it is too small to hold itself. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_convolution_options_init(options: *mut lxla_convolution_options) -> lxla_status {
    guard("lxla_convolution_options_init", || {
        // SAFETY: the caller's promise, see `capi`.
        unsafe { options::init(options) }
    })
}

/// Records a convolution as neural networks have it, the cross-correlation of lhs with the kernel rhs, over any number of
/// spatial axes (the operands' rank - 2). NULL options are the defaults: windows next to each other without padding, lhs
/// batch x feature x spatial axes (NCHW), rhs output feature x input feature x spatial axes (OIHW), result as lhs.
///
/// On each spatial axis the padded and dilated input of size p has (p - w) / stride + 1 windows of the dilated kernel's size
/// w, and none if p < w. lhs has as many features as rhs has input features times `feature_group_count`. Gradients are
/// convolutions, too, with dilations, reversal and other dimensions. dtypes and precision are those of `lxla_dot_general`.
/// Where an infinity or NaN of rhs meets padding or a gap of a dilation, it counts as NaN or not at all, as the device has
/// it. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_convolution(
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    options: *const lxla_convolution_options,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_convolution", || {
        // SAFETY: the caller's promise, see `capi`.
        let (given, place) = unsafe { (options::read(options)?, out("out_tensor", out_tensor)?) };
        let spatial = given.spatial_rank;
        let reversal = if given.window_reversal.is_null() {
            None
        } else {
            // SAFETY: the caller's promise, see `capi`.
            let list = unsafe { slice("options.window_reversal", given.window_reversal, spatial)? };
            Some(list.iter().map(|&value| value.into()).collect::<Vec<i64>>())
        };
        // SAFETY: the caller's promise, see `capi`.
        let options = unsafe {
            ConvolutionOptions {
                window_strides: optional("options.window_strides", given.window_strides, spatial)?,
                padding_low: optional("options.padding_low", given.padding_low, spatial)?,
                padding_high: optional("options.padding_high", given.padding_high, spatial)?,
                lhs_dilation: optional("options.lhs_dilation", given.lhs_dilation, spatial)?,
                rhs_dilation: optional("options.rhs_dilation", given.rhs_dilation, spatial)?,
                window_reversal: reversal.as_deref(),
                lhs_dimensions: optional("options.lhs_dimensions", given.lhs_dimensions, spatial.saturating_add(2))?,
                rhs_dimensions: optional("options.rhs_dimensions", given.rhs_dimensions, spatial.saturating_add(2))?,
                out_dimensions: optional("options.out_dimensions", given.out_dimensions, spatial.saturating_add(2))?,
                feature_groups: or_one(given.feature_group_count),
                batch_groups: or_one(given.batch_group_count),
                dtype: optional_dtype(given.dtype)?,
            }
        };
        place.set(tensor::convolution(lhs.into(), rhs.into(), &options)?.into())
    })
}

fn or_one(count: i64) -> i64 {
    if count == 0 { 1 } else { count }
}

/// A list, or none if it is null.
unsafe fn optional<'a>(name: &str, start: *const i64, length: usize) -> Result<Option<&'a [i64]>> {
    // SAFETY: the caller's promise, see `capi`.
    if start.is_null() { Ok(None) } else { unsafe { ranked(name, start, length) }.map(Some) }
}
