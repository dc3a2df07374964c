//! Functions of complex numbers, spelt out where XLA's own lose bits, or give no number or the other side of a cut where C
//! (ISO/IEC 9899:2018, annex G) and NumPy give a number.

use super::steps::Steps;
use crate::emit::{Emitter, emit, mlir};
use crate::ir::UnaryOp;
use crate::types::{ScalarValue, TensorType};

/// `name` is the function of `x`, which is of this type.
pub fn function(e: &mut Emitter, name: &str, op: UnaryOp, x: &str, ty: &TensorType) {
    match op {
        UnaryOp::Sine => sine(e, name, x, ty),
        UnaryOp::Sqrt => root(e, name, x, ty),
        UnaryOp::Log | UnaryOp::LogPlusOne => logarithm(e, name, op, x, ty),
        _ => emit!(e, "    {name} = stablehlo.{} {x} : {}", op.name(), mlir(ty)),
    }
}

/// The type of the parts.
fn part(ty: &TensorType) -> TensorType {
    TensorType { dtype: ty.dtype.real(), dims: ty.dims.clone() }
}

/// Real and imaginary part.
fn parts(e: &mut Emitter, x: &str, ty: &TensorType) -> [String; 2] {
    let (whole, part) = (mlir(ty), mlir(&part(ty)));
    ["real", "imag"].map(|which| {
        let name = e.temporary();
        emit!(e, "    {name} = stablehlo.{which} {x} : ({whole}) -> {part}");
        name
    })
}

fn join(e: &mut Emitter, name: &str, re: &str, im: &str, ty: &TensorType) {
    let (whole, part) = (mlir(ty), mlir(&part(ty)));
    emit!(e, "    {name} = stablehlo.complex {re}, {im} : ({part}, {part}) -> {whole}");
}

/// Infinite where a part is, also beside NaN, where XLA has NaN. `name` is of the parts' type.
pub fn magnitude(e: &mut Emitter, name: &str, x: &str, ty: &TensorType) {
    let (whole, part_ty, size) = (mlir(ty), part(ty), e.temporary());
    emit!(e, "    {size} = stablehlo.abs {x} : ({whole}) -> {}", mlir(&part_ty));
    let [re, im] = parts(e, x, ty);
    infinite_where_a_part_is(&mut Steps::of(e, &part_ty), name, [&re, &im], &size);
}

/// `otherwise`, where both parts are finite or NaN.
fn infinite_where_a_part_is(s: &mut Steps, name: &str, parts: [&str; 2], otherwise: &str) {
    let sizes = parts.map(|part| s.step("abs", &[part]));
    let [re, im] = sizes.each_ref().map(|size| s.is_infinite(size));
    let any = s.either(&re, &im);
    let infinity = s.constant(f64::INFINITY);
    s.select(name, &any, &infinity, otherwise);
}

/// The real part is infinite where a part of `x` is.
fn logarithm(e: &mut Emitter, name: &str, op: UnaryOp, x: &str, ty: &TensorType) {
    let log = e.temporary();
    emit!(e, "    {log} = stablehlo.{} {x} : {}", op.name(), mlir(ty));
    let ([a, b], [re, im], better) = (parts(e, x, ty), parts(e, &log, ty), e.temporary());
    infinite_where_a_part_is(&mut Steps::of(e, &part(ty)), &better, [&a, &b], &re);
    join(e, name, &better, &im, ty);
}

/// The root of what is below the cut is below, too: XLA takes -1 - 0i for -1 + 0i. Beside infinities it gives NaN.
fn root(e: &mut Emitter, name: &str, x: &str, ty: &TensorType) {
    let near = e.temporary();
    emit!(e, "    {near} = stablehlo.sqrt {x} : {}", mlir(ty));
    let ([a, b], [re, im]) = (parts(e, x, ty), parts(e, &near, ty));
    let mut s = Steps::of(e, &part(ty));
    let (infinity, low) = (s.constant(f64::INFINITY), s.constant(f64::NEG_INFINITY));
    let size = s.step("abs", &[&b]);
    let (is_tall, is_wide, is_low) = (s.is_infinite(&size), s.is_infinite(&a), s.compare("EQ", &a, &low));
    let grows = s.either(&is_tall, &is_wide);
    let above = s.either(&is_tall, &is_low);
    let (right, height) = (s.e.temporary(), s.e.temporary());
    s.select(&right, &grows, &infinity, &re);
    s.select(&height, &above, &infinity, &im);
    let signed = s.with_sign_of(&height, &b);
    join(e, name, &right, &signed, ty);
}

/// `sin a cosh b + i cos a sinh b`. XLA takes the hyperbolic sine for a difference of exponentials, of which little is left
/// near 0: 3000 units of error at 1e-4. Differences of what they have beyond 1 keep all bits.
fn sine(e: &mut Emitter, name: &str, x: &str, ty: &TensorType) {
    let [a, b] = parts(e, x, ty);
    let mut s = Steps::of(e, &part(ty));
    let (half, one) = (s.constant(0.5), s.constant(1.0));
    let minus_b = s.step("negate", &[&b]);
    let up = s.step("exponential_minus_one", &[&b]);
    let down = s.step("exponential_minus_one", &[&minus_b]);
    let (sum, difference) = (s.step("add", &[&up, &down]), s.step("subtract", &[&up, &down]));
    let beyond_one = s.step("multiply", &[&sum, &half]);
    let cosh = s.step("add", &[&beyond_one, &one]);
    let sinh = s.step("multiply", &[&difference, &half]);
    let (sine, cosine) = (s.step("sine", &[&a]), s.step("cosine", &[&a]));
    let (re, im) = (s.step("multiply", &[&sine, &cosh]), s.step("multiply", &[&cosine, &sinh]));
    join(e, name, &re, &im, ty);
}

/// 0 to the power of 0 is 1, of what has a positive real part 0, of anything else no number, as in NumPy: XLA's takes the
/// logarithm of 0.
pub fn power(e: &mut Emitter, name: &str, base: &str, exponent: &str, ty: &TensorType) {
    let [re, _] = parts(e, exponent, ty);
    let mut of_part = Steps::of(e, &part(ty));
    let zero_part = of_part.constant(0.0);
    let grows = of_part.compare("GT", &re, &zero_part);
    let mut s = Steps::of(e, ty);
    let (zero, one, nan) = (s.constant(0.0), s.constant(1.0), s.scalar(ScalarValue::Complex(f64::NAN, f64::NAN)));
    let (is_zero, is_one) = (s.compare("EQ", base, &zero), s.compare("EQ", exponent, &zero));
    let (of_zero, at_zero) = (s.e.temporary(), s.e.temporary());
    s.select(&of_zero, &grows, &zero, &nan);
    s.select(&at_zero, &is_one, &one, &of_zero);
    let power = s.step("power", &[base, exponent]);
    s.select(name, &is_zero, &at_zero, &power);
}
