//! Functions of floats and complex numbers, spelt out where XLA's own lose bits: more than a few units in the last place.

use crate::emit::{Emitter, emit, mlir};
use crate::ir::UnaryOp;
use crate::types::{DType, Kind, Scalar, ScalarValue, TensorType};

/// `name` is the function of `x`, which is of this type.
pub fn function(e: &mut Emitter, name: &str, op: UnaryOp, x: &str, ty: &TensorType) {
    match (op, ty.dtype) {
        (UnaryOp::Cbrt, _) => cube_root(e, name, x, ty),
        (UnaryOp::LogPlusOne, DType::F64) => log_plus_one(e, name, x, ty),
        (UnaryOp::Sine, dtype) if dtype.kind() == Kind::Complex => complex_sine(e, name, x, ty),
        _ => emit!(e, "    {name} = stablehlo.{} {x} : {}", op.name(), mlir(ty)),
    }
}

/// Whether 16-bit floats are computed in f32 and rounded once. XLA rounds some of these after each of their steps: the
/// logistic function of f16 -11.09 would be 0.
pub fn is_wide(op: UnaryOp) -> bool {
    use UnaryOp::*;
    match op {
        Exponential | ExponentialMinusOne | Log | LogPlusOne | Logistic | Tanh | Sqrt | Rsqrt | Cbrt | Sine
        | Cosine | Tan => true,
        Negate | Abs | Sign | Floor | Ceil | RoundNearestEven | RoundNearestAfz | Not | Popcnt | CountLeadingZeros
        | IsFinite => false,
    }
}

/// Operations that are written one after the other.
struct Steps<'a, 'b> {
    e: &'a mut Emitter<'b>,
    ty: String,
    pred: String,
    element: TensorType,
}

impl<'a, 'b> Steps<'a, 'b> {
    fn of(e: &'a mut Emitter<'b>, ty: &TensorType) -> Steps<'a, 'b> {
        let pred = TensorType { dtype: DType::Pred, dims: ty.dims.clone() };
        Steps { e, ty: mlir(ty), pred: mlir(&pred), element: ty.clone() }
    }

    fn step(&mut self, op: &str, operands: &[&str]) -> String {
        let name = self.e.temporary();
        emit!(self.e, "    {name} = stablehlo.{op} {} : {}", operands.join(", "), self.ty);
        name
    }

    fn constant(&mut self, value: f64) -> String {
        self.scalar(ScalarValue::Float(value))
    }

    fn scalar(&mut self, value: ScalarValue) -> String {
        let scalar = Scalar::new(self.element.dtype, value).expect("floats take constants");
        self.e.constant(&self.element.clone(), scalar.bits())
    }

    fn is_finite(&mut self, x: &str) -> String {
        let name = self.e.temporary();
        emit!(self.e, "    {name} = stablehlo.is_finite {x} : ({}) -> {}", self.ty, self.pred);
        name
    }

    fn compare(&mut self, how: &str, a: &str, b: &str) -> String {
        let name = self.e.temporary();
        emit!(self.e, "    {name} = stablehlo.compare {how}, {a}, {b}, FLOAT : ({0}, {0}) -> {1}", self.ty, self.pred);
        name
    }

    fn select(&mut self, name: &str, pred: &str, on_true: &str, on_false: &str) {
        emit!(self.e, "    {name} = stablehlo.select {pred}, {on_true}, {on_false} : {}, {}", self.pred, self.ty);
    }
}

/// XLA's on a CPU is a power of a third, which is off by 14 units in f32 and by 119 in f64: one step of Newton's method
/// takes that away. Where the step is none, at 0 and infinity, it stays as it is.
fn cube_root(e: &mut Emitter, name: &str, x: &str, ty: &TensorType) {
    let mut s = Steps::of(e, ty);
    let near = s.step("cbrt", &[x]);
    let square = s.step("multiply", &[&near, &near]);
    let other = s.step("divide", &[x, &square]);
    let difference = s.step("subtract", &[&near, &other]);
    let third = s.constant(1.0 / 3.0);
    let correction = s.step("multiply", &[&difference, &third]);
    let better = s.step("subtract", &[&near, &correction]);
    let is_finite = s.is_finite(&correction);
    s.select(name, &is_finite, &better, &near);
}

/// XLA's in f64 is off by 122 units just before it turns to the logarithm of the sum, at 0.41; it does so earlier here.
fn log_plus_one(e: &mut Emitter, name: &str, x: &str, ty: &TensorType) {
    let mut s = Steps::of(e, ty);
    let (one, quarter) = (s.constant(1.0), s.constant(0.25));
    let sum = s.step("add", &[x, &one]);
    let far = s.step("log", &[&sum]);
    let near = s.step("log_plus_one", &[x]);
    let size = s.step("abs", &[x]);
    let is_near = s.compare("LT", &size, &quarter);
    s.select(name, &is_near, &near, &far);
}

/// `sin a cosh b + i cos a sinh b`. XLA takes the hyperbolic sine for a difference of exponentials, of which little is left
/// near 0: 3000 units of error at 1e-4. Differences of what they have beyond 1 keep all bits.
fn complex_sine(e: &mut Emitter, name: &str, x: &str, ty: &TensorType) {
    let part = TensorType { dtype: ty.dtype.real(), dims: ty.dims.clone() };
    let (whole, parts) = (mlir(ty), mlir(&part));
    let (a, b) = (e.temporary(), e.temporary());
    emit!(e, "    {a} = stablehlo.real {x} : ({whole}) -> {parts}");
    emit!(e, "    {b} = stablehlo.imag {x} : ({whole}) -> {parts}");
    let mut s = Steps::of(e, &part);
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
    emit!(e, "    {name} = stablehlo.complex {re}, {im} : ({parts}, {parts}) -> {whole}");
}

/// 0 to the power of 0 is 1, of what has a positive real part 0, of anything else no number, as in NumPy: XLA's takes the
/// logarithm of 0.
pub fn complex_power(e: &mut Emitter, name: &str, base: &str, exponent: &str, ty: &TensorType) {
    let part = TensorType { dtype: ty.dtype.real(), dims: ty.dims.clone() };
    let (whole, parts) = (mlir(ty), mlir(&part));
    let re = e.temporary();
    emit!(e, "    {re} = stablehlo.real {exponent} : ({whole}) -> {parts}");
    let mut of_part = Steps::of(e, &part);
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
