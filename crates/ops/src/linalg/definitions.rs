//! Definitions of matrix products, factorizations and Fourier transforms.

use super::factorization::{self, CholeskyAttributes};
use super::{batch, derivative, dot_general, fourier, masking_rules, matmul};
use crate::definition::{Definition, Native};
use crate::masking::Masking;
use crate::rules::{Batching, Derivative};

/// Definition of `matmul`, NumPy's matrix product.
pub const MATMUL: Definition = Definition {
    name: "matmul",
    stablehlo: "dot_general",
    function: "lxla_matmul",
    dtypes: "integers, floats, 8-bit floats, complex numbers",
    lower: matmul::lower,
    native: Native::One(|cx| native::matmul(cx.ty, cx.operands[0], cx.operands[1])),
    derivative: Derivative::Linear { jvp: derivative::matmul_jvp, vjp: derivative::matmul_vjp },
    batching: Batching::Expanded,
    expand: Some(derivative::expand_matmul),
    masking: Masking::Rule(masking_rules::matmul),
    ..Definition::DEFAULT
};

/// Definition of `dot_general`.
pub const DOT_GENERAL: Definition = Definition {
    name: "dot_general",
    stablehlo: "dot_general",
    function: "lxla_dot_general",
    dtypes: "integers, floats, 8-bit floats, complex numbers",
    lower: dot_general::lower,
    native: Native::One(dot_general::native_dot_general),
    derivative: Derivative::Linear { jvp: derivative::dot_general_jvp, vjp: derivative::dot_general_vjp },
    batching: Batching::Rule(batch::dot_general),
    masking: Masking::Rule(masking_rules::dot_general),
    ..Definition::DEFAULT
};

/// Definition of `cholesky`.
pub const CHOLESKY: Definition = Definition {
    name: "cholesky",
    stablehlo: "cholesky",
    function: "lxla_cholesky",
    dtypes: "floats, 8-bit floats, complex numbers",
    lower: factorization::lower_cholesky,
    native: Native::One(|cx| native::cholesky(cx.ty, cx.attributes::<CholeskyAttributes>().lower, cx.operands[0])),
    derivative: Derivative::Jvp(derivative::cholesky_jvp),
    batching: Batching::Rule(batch::cholesky),
    ..Definition::DEFAULT
};

/// Definition of `triangular_solve`. Its attributes are a [`Triangle`](native::Triangle).
pub const TRIANGULAR_SOLVE: Definition = Definition {
    name: "triangular_solve",
    stablehlo: "triangular_solve",
    function: "lxla_triangular_solve",
    dtypes: "floats, 8-bit floats, complex numbers",
    lower: factorization::lower_triangular_solve,
    // XLA cannot partition calls of this process.
    whole: |e, _| e.calls_host,
    native: Native::One(factorization::native_triangular_solve),
    derivative: Derivative::Linear { jvp: derivative::triangular_solve_jvp, vjp: derivative::triangular_solve_vjp },
    batching: Batching::Rule(batch::triangular_solve),
    ..Definition::DEFAULT
};

/// Definition of `fft`.
pub const FFT: Definition = Definition {
    name: "fft",
    stablehlo: "fft",
    function: "lxla_fft",
    dtypes: "complex numbers; RFFT f32 and f64",
    lower: fourier::lower,
    // XLA's partitioner splits no batch axis, and ends the process (fft_handler.cc:117) where the last axis has one
    // element.
    whole: |_, _| true,
    native: Native::One(fourier::native_fft),
    derivative: Derivative::Linear { jvp: derivative::fft_jvp, vjp: derivative::fft_vjp },
    batching: Batching::Rule(batch::fft),
    masking: Masking::Rule(masking_rules::fft),
    ..Definition::DEFAULT
};
