//! The library's functions of neural networks with windows and statistics: convolutions, pools, batch normalization.

use crate::array::Array;
use crate::computation::Computation;
use crate::functions::{add, one};
use crate::sys::*;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A convolution over `strides.len()` spatial axes; `dimensions` are the axes of x, the kernel and the result, each as
/// many and two more.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the library, one by one")]
fn convolution(
    py: Python<'_>,
    x: &Array,
    kernel: &Array,
    strides: Vec<i64>,
    low: Vec<i64>,
    high: Vec<i64>,
    input_dilation: Vec<i64>,
    kernel_dilation: Vec<i64>,
    dimensions: [Vec<i64>; 3],
    groups: i64,
) -> PyResult<Array> {
    let rank = strides.len();
    let lists = [&low, &high, &input_dilation, &kernel_dilation];
    if lists.iter().any(|list| list.len() != rank) || dimensions.iter().any(|list| list.len() != rank + 2) {
        return Err(PyValueError::new_err(format!("options of a convolution are for {rank} spatial axes")));
    }
    let (x, kernel) = (x.operand(), kernel.operand());
    Array::detached(py, move |out| {
        // SAFETY: zeros are valid fields.
        let mut options: lxla_convolution_options = unsafe { std::mem::zeroed() };
        options.struct_size = size_of::<lxla_convolution_options>();
        options.spatial_rank = rank;
        (options.window_strides, options.feature_group_count) = (strides.as_ptr(), groups);
        (options.padding_low, options.padding_high) = (low.as_ptr(), high.as_ptr());
        (options.lhs_dilation, options.rhs_dilation) = (input_dilation.as_ptr(), kernel_dilation.as_ptr());
        let [of_x, of_kernel, of_result] = &dimensions;
        (options.lhs_dimensions, options.rhs_dimensions) = (of_x.as_ptr(), of_kernel.as_ptr());
        options.out_dimensions = of_result.as_ptr();
        // SAFETY: the lists have the lengths of the rank, and live until the call has returned; a writable output.
        unsafe { lxla_convolution(x, kernel, &options, out) }
    })
}

/// The elements in each window of x, combined by a computation of two scalars; padding is `init`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of the library, one by one")]
fn reduce_window(
    py: Python<'_>,
    body: &Computation,
    x: &Array,
    init: &Array,
    window: Vec<i64>,
    strides: Vec<i64>,
    low: Vec<i64>,
    high: Vec<i64>,
) -> PyResult<Array> {
    let rank = x.dims()?.len();
    if [&window, &strides, &low, &high].iter().any(|list| list.len() != rank) {
        return Err(PyValueError::new_err(format!(
            "options of windows are lists of {rank} numbers, one for each axis"
        )));
    }
    let (body, x, init) = (body.handle, x.operand(), init.operand());
    Array::detached(py, move |out| {
        let options = lxla_window_options {
            struct_size: size_of::<lxla_window_options>(),
            rank,
            window_dimensions: window.as_ptr(),
            strides: strides.as_ptr(),
            base_dilations: std::ptr::null(),
            window_dilations: std::ptr::null(),
            low: low.as_ptr(),
            high: high.as_ptr(),
        };
        // SAFETY: one input, and lists of its rank that live until the call has returned; a writable output.
        unsafe { lxla_reduce_window(body, &x, &init, 1, &options, out) }
    })
}

/// The normalized x, and the mean and variance of each feature.
#[pyfunction]
fn batch_norm_training(
    py: Python<'_>,
    x: &Array,
    scale: &Array,
    offset: &Array,
    epsilon: f64,
    axis: i64,
) -> PyResult<[Array; 3]> {
    let (x, scale, offset) = (x.operand(), scale.operand(), offset.operand());
    Array::several(py, move |[out, mean, variance]| {
        // SAFETY: writable outputs.
        unsafe { lxla_batch_norm_training(x, scale, offset, epsilon, axis, out, mean, variance) }
    })
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the operands of the library, one by one")]
fn batch_norm_inference(
    py: Python<'_>,
    x: &Array,
    scale: &Array,
    offset: &Array,
    mean: &Array,
    variance: &Array,
    epsilon: f64,
    axis: i64,
) -> PyResult<Array> {
    let (x, scale, offset) = (x.operand(), scale.operand(), offset.operand());
    let (mean, variance) = (mean.operand(), variance.operand());
    one!(py, |out| lxla_batch_norm_inference(x, scale, offset, mean, variance, epsilon, axis, out))
}

/// The parts of x along an axis, of the given sizes.
#[pyfunction]
fn split(py: Python<'_>, x: &Array, sizes: Vec<i64>, axis: i64) -> PyResult<Vec<Array>> {
    let (x, mut out) = (x.operand(), vec![lxla_tensor { id: 0 }; sizes.len()]);
    let space = &mut out;
    crate::device::check_detached(py, move || {
        // SAFETY: two lists of one length.
        unsafe { lxla_split(x, sizes.as_ptr(), sizes.len(), axis, space.as_mut_ptr()) }
    })?;
    Ok(out.into_iter().map(Array::sized).collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, convolution, reduce_window, batch_norm_training, batch_norm_inference, split);
    Ok(())
}
