//! The library's functions on arrays: products, factorizations, Fourier transforms, neural networks, random numbers.

use crate::array::Array;
use crate::dtype::Code;
use crate::functions::{Axes, add, handles, list, one};
use crate::sys::*;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::ffi::CString;

#[pyfunction]
fn matmul(py: Python<'_>, x1: &Array, x2: &Array) -> PyResult<Array> {
    crate::operators::matmul(py, x1, x2)
}

/// The dot_general of StableHLO: pairs of batch axes, pairs of axes that are summed over.
#[pyfunction]
fn dot_general(
    py: Python<'_>,
    x1: &Array,
    x2: &Array,
    batch: (Vec<i64>, Vec<i64>),
    sum: (Vec<i64>, Vec<i64>),
) -> PyResult<Array> {
    if batch.0.len() != batch.1.len() || sum.0.len() != sum.1.len() {
        return Err(PyValueError::new_err("axes of the two arrays come in pairs"));
    }
    let (a, b) = (x1.operand(), x2.operand());
    one!(py, |out| {
        let (batch_a, batch_b, n_batch) = (batch.0.as_ptr(), batch.1.as_ptr(), batch.0.len());
        lxla_dot_general(a, b, batch_a, batch_b, n_batch, sum.0.as_ptr(), sum.1.as_ptr(), sum.0.len(), 0, out)
    })
}

#[pyfunction]
fn einsum(py: Python<'_>, equation: &str, arrays: Vec<PyRef<'_, Array>>) -> PyResult<Array> {
    let (equation, of) = (CString::new(equation)?, handles(&arrays));
    one!(py, |out| lxla_einsum(equation.as_ptr(), of.as_ptr(), of.len(), out))
}

#[pyfunction]
fn cholesky(py: Python<'_>, x: &Array, lower: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_cholesky(x, lower.into(), out))
}

/// `transpose` is 1 for a, 2 for its transpose, 3 for its adjoint.
#[pyfunction]
fn triangular_solve(
    py: Python<'_>,
    a: &Array,
    b: &Array,
    lower: bool,
    unit_diagonal: bool,
    transpose: i32,
) -> PyResult<Array> {
    let (a, b) = (a.operand(), b.operand());
    one!(py, |out| lxla_triangular_solve(a, b, 1, lower.into(), unit_diagonal.into(), transpose, out))
}

#[pyfunction]
fn norm(py: Python<'_>, x: &Array, ord: f64, axes: Axes, keepdims: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| {
        let (axes, n) = list(&axes);
        lxla_norm(x, ord, axes, n, keepdims.into(), out)
    })
}

#[pyfunction]
fn fft(py: Python<'_>, op: i32, x: &Array, lengths: Vec<i64>) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_fft(op, x, lengths.as_ptr(), lengths.len(), out))
}

#[pyfunction]
fn qr(py: Python<'_>, x: &Array, full: bool) -> PyResult<[Array; 2]> {
    let x = x.operand();
    // SAFETY: writable outputs.
    Array::several(py, move |[q, r]| unsafe { lxla_qr(x, full.into(), q, r) })
}

#[pyfunction]
fn lu(py: Python<'_>, x: &Array) -> PyResult<[Array; 3]> {
    let x = x.operand();
    // SAFETY: writable outputs.
    Array::several(py, move |[lu, pivots, permutation]| unsafe { lxla_lu(x, lu, pivots, permutation) })
}

#[pyfunction]
fn svd(py: Python<'_>, x: &Array, full: bool) -> PyResult<[Array; 3]> {
    let x = x.operand();
    // SAFETY: writable outputs.
    Array::several(py, move |[u, s, vh]| unsafe { lxla_svd(x, full.into(), u, s, vh) })
}

#[pyfunction]
fn eigh(py: Python<'_>, x: &Array, lower: bool) -> PyResult<[Array; 2]> {
    let x = x.operand();
    // SAFETY: writable outputs.
    Array::several(py, move |[values, vectors]| unsafe { lxla_eigh(x, lower.into(), values, vectors) })
}

#[pyfunction]
fn eig(py: Python<'_>, x: &Array) -> PyResult<[Array; 2]> {
    let x = x.operand();
    // SAFETY: writable outputs.
    Array::several(py, move |[values, vectors]| unsafe { lxla_eig(x, values, vectors) })
}

#[pyfunction]
fn schur(py: Python<'_>, x: &Array, complex_form: bool) -> PyResult<[Array; 2]> {
    let x = x.operand();
    // SAFETY: writable outputs.
    Array::several(py, move |[t, z]| unsafe { lxla_schur(x, complex_form.into(), t, z) })
}

#[pyfunction]
fn slogdet(py: Python<'_>, x: &Array) -> PyResult<[Array; 2]> {
    let x = x.operand();
    // SAFETY: writable outputs.
    Array::several(py, move |[sign, log]| unsafe { lxla_slogdet(x, sign, log) })
}

#[pyfunction]
fn singular_values(py: Python<'_>, x: &Array) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_singular_values(x, out))
}

#[pyfunction]
fn solve(py: Python<'_>, a: &Array, b: &Array) -> PyResult<Array> {
    let (a, b) = (a.operand(), b.operand());
    one!(py, |out| lxla_solve(a, b, out))
}

#[pyfunction]
fn tridiagonal_solve(py: Python<'_>, lower: &Array, diagonal: &Array, upper: &Array, b: &Array) -> PyResult<Array> {
    let (lower, diagonal, upper, b) = (lower.operand(), diagonal.operand(), upper.operand(), b.operand());
    one!(py, |out| lxla_tridiagonal_solve(lower, diagonal, upper, b, out))
}

#[pyfunction]
fn lstsq(py: Python<'_>, a: &Array, b: &Array, rtol: f64) -> PyResult<Array> {
    let (a, b) = (a.operand(), b.operand());
    one!(py, |out| lxla_lstsq(a, b, rtol, out))
}

#[pyfunction]
fn inverse(py: Python<'_>, x: &Array) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_inverse(x, out))
}

#[pyfunction]
fn determinant(py: Python<'_>, x: &Array) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_determinant(x, out))
}

#[pyfunction]
fn pinv(py: Python<'_>, x: &Array, rtol: f64) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_pinv(x, rtol, out))
}

#[pyfunction]
fn matrix_rank(py: Python<'_>, x: &Array, rtol: f64) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_matrix_rank(x, rtol, out))
}

#[pyfunction]
fn matrix_power(py: Python<'_>, x: &Array, n: i64) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_matrix_power(x, n, out))
}

#[pyfunction]
fn matrix_exponential(py: Python<'_>, x: &Array) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_matrix_exponential(x, out))
}

#[pyfunction]
fn activation(py: Python<'_>, op: i32, x: &Array) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| lxla_activation(op, x, out))
}

/// The softmax along an axis, or with `log` its logarithm.
#[pyfunction]
fn softmax(py: Python<'_>, x: &Array, axis: i64, log: bool) -> PyResult<Array> {
    let x = x.operand();
    one!(py, |out| if log { lxla_log_softmax(x, axis, out) } else { lxla_softmax(x, axis, out) })
}

#[pyfunction]
fn layer_norm(
    py: Python<'_>,
    x: &Array,
    axes: Axes,
    scale: Option<PyRef<'_, Array>>,
    offset: Option<PyRef<'_, Array>>,
    epsilon: f64,
) -> PyResult<Array> {
    let of = |array: &Option<PyRef<'_, Array>>| array.as_ref().map_or(lxla_tensor { id: 0 }, |array| array.operand());
    let (x, scale, offset) = (x.operand(), of(&scale), of(&offset));
    one!(py, |out| {
        let (axes, n) = list(&axes);
        lxla_layer_norm(x, axes, n, scale, offset, epsilon, out)
    })
}

#[pyfunction]
fn rms_norm(py: Python<'_>, x: &Array, weight: Option<&Array>, epsilon: f64) -> PyResult<Array> {
    let (x, weight) = (x.operand(), weight.map_or(lxla_tensor { id: 0 }, Array::operand));
    one!(py, |out| lxla_rms_norm(x, weight, epsilon, out))
}

#[pyfunction]
fn rotary_embedding(py: Python<'_>, x: &Array, cosines: &Array, sines: &Array, interleaved: bool) -> PyResult<Array> {
    let (x, cosines, sines) = (x.operand(), cosines.operand(), sines.operand());
    one!(py, |out| lxla_rotary_embedding(x, cosines, sines, interleaved.into(), out))
}

/// A scale of 0 is 1 / sqrt(width).
#[pyfunction]
fn attention(
    py: Python<'_>,
    query: &Array,
    key: &Array,
    value: &Array,
    mask: Option<&Array>,
    scale: f64,
    causal: bool,
) -> PyResult<Array> {
    let (query, key, value) = (query.operand(), key.operand(), value.operand());
    let mask = mask.map_or(lxla_tensor { id: 0 }, Array::operand);
    one!(py, |out| {
        let causal = if causal { LXLA_ON } else { LXLA_OFF };
        let options = lxla_attention_options { struct_size: size_of::<lxla_attention_options>(), scale, causal };
        lxla_attention(query, key, value, mask, &options, out)
    })
}

#[pyfunction]
fn random_split(py: Python<'_>, key: &Array, n: usize) -> PyResult<Array> {
    let key = key.operand();
    one!(py, |out| lxla_random_split(LXLA_RNG_THREE_FRY, key, n, out))
}

#[pyfunction]
fn random_bits(py: Python<'_>, key: &Array, shape: Vec<i64>, dtype: Code) -> PyResult<Array> {
    let key = key.operand();
    one!(py, |out| lxla_random_bits(LXLA_RNG_THREE_FRY, key, dtype.0, shape.as_ptr(), shape.len(), out))
}

#[pyfunction]
fn random_uniform(py: Python<'_>, key: &Array, shape: Vec<i64>, dtype: Code, low: f64, high: f64) -> PyResult<Array> {
    let key = key.operand();
    one!(py, |out| {
        lxla_random_uniform(LXLA_RNG_THREE_FRY, key, dtype.0, shape.as_ptr(), shape.len(), low, high, out)
    })
}

/// Random floats of a distribution without parameters: "normal", "exponential", "gumbel" or "laplace".
#[pyfunction]
fn random_floats(py: Python<'_>, name: &str, key: &Array, shape: Vec<i64>, dtype: Code) -> PyResult<Array> {
    let function = match name {
        "normal" => lxla_random_normal,
        "exponential" => lxla_random_exponential,
        "gumbel" => lxla_random_gumbel,
        "laplace" => lxla_random_laplace,
        _ => return Err(PyValueError::new_err(format!("there is no distribution {name:?}"))),
    };
    let key = key.operand();
    one!(py, |out| function(LXLA_RNG_THREE_FRY, key, dtype.0, shape.as_ptr(), shape.len(), out))
}

#[pyfunction]
fn random_truncated_normal(
    py: Python<'_>,
    key: &Array,
    shape: Vec<i64>,
    dtype: Code,
    lower: f64,
    upper: f64,
) -> PyResult<Array> {
    let key = key.operand();
    one!(py, |out| {
        let (dims, rank) = (shape.as_ptr(), shape.len());
        lxla_random_truncated_normal(LXLA_RNG_THREE_FRY, key, dtype.0, dims, rank, lower, upper, out)
    })
}

#[pyfunction]
fn random_bernoulli(py: Python<'_>, key: &Array, p: f64, shape: Vec<i64>) -> PyResult<Array> {
    let key = key.operand();
    one!(py, |out| lxla_random_bernoulli(LXLA_RNG_THREE_FRY, key, p, shape.as_ptr(), shape.len(), out))
}

#[pyfunction]
fn random_categorical(py: Python<'_>, key: &Array, logits: &Array, axis: i64, shape: Vec<i64>) -> PyResult<Array> {
    let (key, logits) = (key.operand(), logits.operand());
    one!(py, |out| {
        let (dims, rank) = (shape.as_ptr(), shape.len());
        lxla_random_categorical(LXLA_RNG_THREE_FRY, key, logits, axis, dims, rank, LXLA_DTYPE_S64, out)
    })
}

#[pyfunction]
fn random_integers(py: Python<'_>, key: &Array, low: i64, high: i64, shape: Vec<i64>, dtype: Code) -> PyResult<Array> {
    let (key, dtype) = (key.operand(), dtype.0);
    one!(py, |out| {
        let (dims, rank) = (shape.as_ptr(), shape.len());
        lxla_random_integers(LXLA_RNG_THREE_FRY, key, dtype, dims, rank, low, high, out)
    })
}

#[pyfunction]
fn random_choice(
    py: Python<'_>,
    key: &Array,
    x: &Array,
    axis: i64,
    shape: Vec<i64>,
    replace: bool,
    probabilities: Option<&Array>,
) -> PyResult<Array> {
    let (key, x) = (key.operand(), x.operand());
    let weights = probabilities.map_or(lxla_tensor { id: 0 }, Array::operand);
    one!(py, |out| {
        let (dims, rank) = (shape.as_ptr(), shape.len());
        lxla_random_choice(LXLA_RNG_THREE_FRY, key, x, axis, dims, rank, replace.into(), weights, out)
    })
}

#[pyfunction]
fn random_poisson(py: Python<'_>, key: &Array, rate: &Array, shape: Vec<i64>, dtype: Code) -> PyResult<Array> {
    let (key, rate, dtype) = (key.operand(), rate.operand(), dtype.0);
    one!(py, |out| lxla_random_poisson(LXLA_RNG_THREE_FRY, key, rate, dtype, shape.as_ptr(), shape.len(), out))
}

#[pyfunction]
fn random_gamma(py: Python<'_>, key: &Array, alpha: &Array, shape: Vec<i64>) -> PyResult<Array> {
    let (key, alpha) = (key.operand(), alpha.operand());
    one!(py, |out| lxla_random_gamma(LXLA_RNG_THREE_FRY, key, alpha, shape.as_ptr(), shape.len(), out))
}

#[pyfunction]
fn random_beta(py: Python<'_>, key: &Array, a: &Array, b: &Array, shape: Vec<i64>) -> PyResult<Array> {
    let (key, a, b) = (key.operand(), a.operand(), b.operand());
    one!(py, |out| lxla_random_beta(LXLA_RNG_THREE_FRY, key, a, b, shape.as_ptr(), shape.len(), out))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(
        module, matmul, dot_general, einsum, cholesky, triangular_solve, norm, fft, qr, lu, svd, eigh, eig, schur,
        slogdet
    );
    add!(
        module, singular_values, solve, tridiagonal_solve, lstsq, inverse, determinant, pinv, matrix_rank, matrix_power
    );
    add!(module, matrix_exponential, activation, softmax, layer_norm, rms_norm, rotary_embedding, attention);
    add!(module, random_split, random_bits, random_uniform);
    add!(module, random_floats, random_truncated_normal, random_bernoulli, random_categorical);
    add!(module, random_integers, random_choice, random_poisson, random_gamma, random_beta);
    Ok(())
}
