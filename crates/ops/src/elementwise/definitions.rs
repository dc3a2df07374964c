//! Definitions of elementwise operations.

use super::functions::{body, derivative as of_functions};
use super::{binary, bits, clamp, compare_select, complex, convert, derivative, lower, masking_rules, unary};
use crate::definition::{Definition, InPlace, Native};
use crate::masking::Masking;
use crate::rules::{Batching, Derivative};
use native::Source;

/// Definition of the functions in [`UnaryFunction`](ir::UnaryFunction) that have a formula.
pub const UNARY_FUNCTION: Definition = Definition {
    name: "unary_function",
    function: "lxla_unary",
    lower: body::lower,
    native: Native::Formula,
    in_place: InPlace::Elementwise,
    derivative: Derivative::Elementwise(of_functions::unary_factor),
    batching: Batching::Elementwise,
    expand: Some(body::expand),
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of the functions in [`BinaryFunction`](ir::BinaryFunction) of floats.
pub const BINARY_FUNCTION: Definition = Definition {
    name: "binary_function",
    function: "lxla_binary",
    derivative: Derivative::Elementwise(of_functions::binary_factor),
    ..UNARY_FUNCTION
};

/// Definition of the functions in [`SpecialOp`](ir::SpecialOp).
pub const SPECIAL_FUNCTION: Definition = Definition {
    name: "special_function",
    function: "lxla_special",
    derivative: Derivative::Elementwise(of_functions::special_factor),
    ..UNARY_FUNCTION
};

/// Definition of the operations in [`UnaryOp`](ir::UnaryOp).
pub const UNARY: Definition = Definition {
    name: "unary",
    function: "lxla_unary",
    lower: lower::unary,
    native: Native::One(|cx| native::unary(unary::member(cx), cx.ty, cx.operands[0])),
    in_place: InPlace::Elementwise,
    derivative: derivative::UNARY,
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `binary`: two tensors, with broadcasting and type promotion.
pub const BINARY: Definition = Definition {
    name: "binary",
    function: "lxla_binary",
    lower: lower::binary,
    native: Native::One(binary::native_of_two),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Elementwise(derivative::binary_factor),
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `binary_scalar`: the operand on the right is a scalar.
pub const BINARY_SCALAR: Definition = Definition {
    name: "binary_scalar",
    function: "lxla_binary_scalar",
    lower: lower::binary_with_scalar,
    native: Native::One(|cx| {
        native::binary(binary::member(cx), cx.ty, Source::Array(cx.operands[0]), Source::Scalar(cx.scalar()?))
    }),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Elementwise(derivative::scalar_factor),
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `scalar_binary`: the operand on the left is a scalar.
pub const SCALAR_BINARY: Definition = Definition {
    name: "scalar_binary",
    function: "lxla_binary_with_scalar",
    native: Native::One(|cx| {
        native::binary(binary::member(cx), cx.ty, Source::Scalar(cx.scalar()?), Source::Array(cx.operands[0]))
    }),
    ..BINARY_SCALAR
};

/// Definition of `compare`; the direction is a [`CompareOp`](ir::CompareOp).
pub const COMPARE: Definition = Definition {
    name: "compare",
    stablehlo: "compare",
    function: "lxla_compare",
    dtypes: "all; complex numbers EQ and NE only",
    lower: compare_select::lower_compare,
    native: Native::One(compare_select::native_compare),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Zero,
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `select`: `pred ? a : b`.
pub const SELECT: Definition = Definition {
    name: "select",
    stablehlo: "select",
    function: "lxla_select",
    dtypes: "all",
    lower: compare_select::lower_select,
    native: Native::One(|cx| native::select(cx.ty, cx.operands[0], cx.operands[1], cx.operands[2])),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Elementwise(derivative::select_factor),
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `convert`: converts to the node's dtype.
pub const CONVERT: Definition = Definition {
    name: "convert",
    stablehlo: "convert",
    function: "lxla_convert",
    dtypes: "all",
    lower: convert::lower,
    native: Native::One(|cx| native::convert(cx.operands[0], cx.ty.dtype)),
    in_place: InPlace::Elementwise,
    derivative: derivative::CONVERT,
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `clamp`. Operands: min, x, max.
pub const CLAMP: Definition = Definition {
    name: "clamp",
    stablehlo: "clamp",
    function: "lxla_clamp",
    dtypes: "pred, integers, floats, 8-bit floats",
    lower: clamp::lower,
    native: Native::One(clamp::native_clamp),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Expanded,
    expand: Some(derivative::expand_clamp),
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `complex`. Operands: real part, imaginary part.
pub const COMPLEX: Definition = Definition {
    name: "complex",
    stablehlo: "complex",
    function: "lxla_complex",
    dtypes: "f32 and f64",
    lower: complex::lower_complex,
    native: Native::One(complex::native_complex),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Linear { jvp: derivative::complex_linear_jvp, vjp: derivative::complex_linear_vjp },
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `real`: the real part of complex numbers.
pub const REAL: Definition = Definition {
    name: "real",
    stablehlo: "real",
    function: "lxla_real",
    dtypes: "all",
    lower: |e, at| e.one_operand(at, "real", ""),
    native: Native::One(|cx| native::real(cx.ty, cx.operands[0])),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Linear { jvp: derivative::part_jvp, vjp: derivative::part_vjp },
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `imag`: the imaginary part of complex numbers.
pub const IMAG: Definition = Definition {
    name: "imag",
    stablehlo: "imag",
    function: "lxla_imag",
    dtypes: "all",
    lower: |e, at| e.one_operand(at, "imag", ""),
    native: Native::One(|cx| native::imag(cx.ty, cx.operands[0])),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Linear { jvp: derivative::part_jvp, vjp: derivative::part_vjp },
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `bitcast_convert`: the operand's bits as elements of the node's dtype.
pub const BITCAST_CONVERT: Definition = Definition {
    name: "bitcast_convert",
    stablehlo: "bitcast_convert",
    function: "lxla_bitcast_convert",
    dtypes: "integers, floats, complex numbers, types of 2 and 4 bits",
    lower: bits::lower_bitcast,
    native: Native::One(bits::native_bitcast),
    derivative: Derivative::Linear { jvp: derivative::no_bits, vjp: derivative::no_bits },
    batching: Batching::Rule(bits::batch_bitcast),
    masking: Masking::Rule(masking_rules::bitcast),
    ..Definition::DEFAULT
};

/// Definition of `reduce_precision`.
pub const REDUCE_PRECISION: Definition = Definition {
    name: "reduce_precision",
    stablehlo: "reduce_precision",
    function: "lxla_reduce_precision",
    dtypes: "floats, 8-bit floats",
    lower: bits::lower_reduce_precision,
    native: Native::One(bits::native_reduce_precision),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Linear { jvp: derivative::straight_through, vjp: derivative::straight_through },
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};
