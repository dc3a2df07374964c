//! Special functions, and functions of pairs of numbers.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::elementwise::{number_like, scaled};
use base::error;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType, broadcast};
use ir::{BinaryFunction, BinaryOp, CompareOp, NodeId, ReduceOp, SpecialOp, Trace, UnaryFunction, UnaryOp, take_body};
use ops::control::{Applied, stop_gradient, while_loop};
use ops::creation::full;
use ops::elementwise::formula::{Expr, in_wide, record};
use ops::elementwise::{
    binary, binary_function, compare, compare_scalar, convert, select, special, unary, unary_function,
};
use ops::reduction::reduce;
use ops::shape::broadcast_to;

pub(super) const TABLE: &[Operator] = &[
    operator(&["i0.default"], "self", |call| of(call, |trace, x| grown(trace, x, UnaryFunction::BesselI0e))),
    operator(&["special_i0e.default"], "self", |call| function(call, UnaryFunction::BesselI0e)),
    operator(&["special_i1.default"], "self", |call| of(call, |trace, x| grown(trace, x, UnaryFunction::BesselI1e))),
    operator(&["special_i1e.default"], "self", |call| function(call, UnaryFunction::BesselI1e)),
    operator(&["special_modified_bessel_i0.default"], "self", |call| {
        of(call, |trace, x| grown(trace, x, UnaryFunction::BesselI0e))
    }),
    operator(&["special_modified_bessel_i1.default"], "self", |call| {
        of(call, |trace, x| grown(trace, x, UnaryFunction::BesselI1e))
    }),
    operator(&["special_modified_bessel_k0.default"], "self", |call| function(call, UnaryFunction::BesselK0)),
    operator(&["special_modified_bessel_k1.default"], "self", |call| function(call, UnaryFunction::BesselK1)),
    operator(&["special_scaled_modified_bessel_k0.default"], "x", |call| named(call, "x", UnaryFunction::BesselK0e)),
    operator(&["special_scaled_modified_bessel_k1.default"], "x", |call| named(call, "x", UnaryFunction::BesselK1e)),
    operator(&["special_bessel_j0.default"], "self", |call| function(call, UnaryFunction::BesselJ0)),
    operator(&["special_bessel_j1.default"], "self", |call| function(call, UnaryFunction::BesselJ1)),
    operator(&["special_bessel_y0.default"], "self", |call| function(call, UnaryFunction::BesselY0)),
    operator(&["special_bessel_y1.default"], "self", |call| function(call, UnaryFunction::BesselY1)),
    operator(&["special_airy_ai.default"], "x", |call| named(call, "x", UnaryFunction::AiryAi)),
    operator(&["polygamma.default"], "n self", |call| {
        let (n, x) = (call.int("n")?, call.floats("self")?);
        let trace = call.trace();
        let made = match n {
            0 => unary_function(trace, UnaryFunction::Digamma, x)?,
            1 => unary_function(trace, UnaryFunction::Trigamma, x)?,
            _ => {
                let order = number_like(trace, x, n as f64)?;
                binary_function(trace, BinaryFunction::Polygamma, order, x)?
            }
        };
        Ok(call.made(made))
    }),
    operator(
        &["special_zeta.default", "special_zeta.self_scalar", "special_zeta.other_scalar"],
        "self other",
        |call| two(call, true, |trace, a, b| binary_function(trace, BinaryFunction::Zeta, a, b)),
    ),
    operator(&["igamma.default"], "self other", |call| incomplete_gamma(call, BinaryFunction::Igamma)),
    operator(&["igammac.default"], "self other", |call| incomplete_gamma(call, BinaryFunction::Igammac)),
    operator(&["mvlgamma.default"], "self p", multivariate_log_gamma),
    operator(&["special_ndtr.default"], "self", |call| of(call, |trace, x| special(trace, SpecialOp::NormalCdf, x))),
    operator(&["special_log_ndtr.default"], "self", |call| of(call, |trace, x| in_wide(trace, x, log_ndtr))),
    operator(&["special_ndtri.default"], "self", |call| of(call, |trace, x| in_wide(trace, x, ndtri))),
    operator(&["special_erfcx.default"], "self", |call| of(call, |trace, x| special(trace, SpecialOp::Erfcx, x))),
    operator(&["special_entr.default"], "self", |call| {
        of(call, |trace, x| {
            in_wide(trace, x, |x| {
                let inside = x.gt(0.0).select(x, 1.0);
                let positive = x.gt(0.0).select(-x * inside.log(), x);
                x.lt(0.0).select(f64::NEG_INFINITY, positive)
            })
        })
    }),
    operator(&["sinc.default"], "self", |call| {
        of(call, |trace, x| {
            in_wide(trace, x, |x| {
                let angle = x.eq(0.0).select(1.0, x) * std::f64::consts::PI;
                x.eq(0.0).select(1.0, angle.sin() / angle)
            })
        })
    }),
    operator(&["special_spherical_bessel_j0.default"], "x", |call| {
        let x = call.floats("x")?;
        let made = in_wide(call.trace(), x, |x| {
            let inner = x.eq(0.0).select(1.0, x);
            x.eq(0.0).select(1.0, x.is_infinite().select(0.0, inner.sin() / inner))
        })?;
        Ok(call.made(made))
    }),
    operator(&["logaddexp2.default"], "self other", |call| {
        two(call, true, |trace, a, b| {
            let [a, b] = [scaled(trace, a, std::f64::consts::LN_2)?, scaled(trace, b, std::f64::consts::LN_2)?];
            let sum = binary_function(trace, BinaryFunction::Logaddexp, a, b)?;
            scaled(trace, sum, std::f64::consts::LOG2_E)
        })
    }),
    operator(&["nextafter.default"], "self other", |call| {
        two(call, true, |trace, a, b| binary_function(trace, BinaryFunction::NextAfter, a, b))
    }),
    operator(&["fmax.default"], "self other", |call| number_of_two(call, BinaryOp::Maximum)),
    operator(&["fmin.default"], "self other", |call| number_of_two(call, BinaryOp::Minimum)),
    operator(
        &["float_power.Tensor_Tensor", "float_power.Tensor_Scalar", "float_power.Scalar"],
        "self exponent",
        |call| {
            let [a, b] = call.promoted(["self", "exponent"], true)?;
            let wide = if call.dtype_of(a).kind() == Kind::Complex { DType::C128 } else { DType::F64 };
            let trace = call.trace();
            let (a, b) = (convert(trace, a, wide), convert(trace, b, wide));
            let made = binary(trace, BinaryOp::Power, a, b)?;
            Ok(call.made(made))
        },
    ),
    operator(&["isclose.default"], "self other rtol=1e-05 atol=1e-08 equal_nan=false", is_close),
    operator(&["round.decimals"], "self decimals=0", |call| {
        let decimals = call.int("decimals")?;
        call.refuse_unless("decimals", decimals.unsigned_abs() <= 30)?;
        of(call, |trace, x| {
            // PyTorch multiplies or divides by the positive power of 10, which is exact.
            let power = 10f64.powi(decimals.unsigned_abs() as i32);
            record(trace, [x], |[x]| match decimals {
                0 => x.round(),
                1.. => (x * power).round() / power,
                _ => (x / power).round() * power,
            })
        })
    }),
    operator(&["gcd.default"], "self other", |call| two(call, false, divisor)),
    operator(&["lcm.default"], "self other", |call| {
        two(call, false, |trace, a, b| {
            let divisor = divisor(trace, a, b)?;
            record(trace, [a, b, divisor], |[a, b, divisor]| (a / divisor.eq(0).select(1, divisor) * b).abs())
        })
    }),
    operator(&["ldexp.Tensor"], "self other", |call| {
        two(call, true, |trace, a, b| {
            let two = number_like(trace, b, 2.0)?;
            let power = binary(trace, BinaryOp::Power, two, b)?;
            binary(trace, BinaryOp::Multiply, a, power)
        })
    }),
    operator(&["frexp.Tensor"], "self", fraction_and_exponent),
    operator(&["angle.default"], "self", |call| {
        let x = call.floats("self")?;
        let trace = call.trace();
        let made = if trace.node(x).dtype.kind() == Kind::Complex {
            record(trace, [x], |[x]| x.imag().atan2(x.real()))?
        } else {
            let fixed = stop_gradient(trace, x)?;
            record(trace, [fixed], |[x]| x.ne(x).select(x, x.lt(0.0).select(x.number(std::f64::consts::PI), 0.0)))?
        };
        Ok(call.made(made))
    }),
    operator(&["isneginf.default"], "self", |call| is_number(call, f64::NEG_INFINITY)),
    operator(&["isposinf.default"], "self", |call| is_number(call, f64::INFINITY)),
    operator(&["isreal.default"], "self", |call| {
        let x = call.tensor("self")?;
        let trace = call.trace();
        let made = match trace.node(x).dtype.kind() {
            Kind::Complex => record(trace, [x], |[x]| x.imag().eq(0.0))?,
            _ => {
                let ty = trace.ty(x);
                let ty = TensorType { dtype: DType::Pred, dims: ty.dims };
                full(trace, &ty, ScalarValue::Signed(1))?
            }
        };
        Ok(call.made(made))
    }),
];

fn of<'p>(call: &mut Call<'_, 'p>, record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>) -> Result<Value<'p>> {
    let x = call.floats("self")?;
    let made = record(call.trace(), x)?;
    Ok(call.made(made))
}

fn function<'p>(call: &mut Call<'_, 'p>, function: UnaryFunction) -> Result<Value<'p>> {
    named(call, "self", function)
}

fn named<'p>(call: &mut Call<'_, 'p>, name: &str, function: UnaryFunction) -> Result<Value<'p>> {
    let x = call.floats(name)?;
    let made = unary_function(call.trace(), function, x)?;
    Ok(call.made(made))
}

fn two<'p>(
    call: &mut Call<'_, 'p>,
    floats: bool,
    record: impl FnOnce(&mut Trace, NodeId, NodeId) -> Result<NodeId>,
) -> Result<Value<'p>> {
    let [a, b] = call.promoted(["self", "other"], floats)?;
    let made = record(call.trace(), a, b)?;
    Ok(call.made(made))
}

/// A Bessel function of which `scaled` is the product with `exp(-|x|)`.
fn grown(trace: &mut Trace, x: NodeId, scaled: UnaryFunction) -> Result<NodeId> {
    in_wide(trace, x, |x| x.apply(|trace, x| unary_function(trace, scaled, x)) * x.abs().exp())
}

/// An incomplete gamma function, which PyTorch differentiates by its second argument only.
fn incomplete_gamma<'p>(call: &mut Call<'_, 'p>, function: BinaryFunction) -> Result<Value<'p>> {
    two(call, true, |trace, a, x| {
        let a = stop_gradient(trace, a)?;
        binary_function(trace, function, a, x)
    })
}

/// The logarithm of the multivariate gamma function of dimension `p`.
fn multivariate_log_gamma<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let p = call.int("p")?;
    call.refuse_unless("p", (1..=1 << 10).contains(&p))?;
    of(call, |trace, x| {
        in_wide(trace, x, |x| {
            let constant = (p * (p - 1)) as f64 / 4.0 * std::f64::consts::PI.ln();
            (1..p).map(|j| lgamma(x - j as f64 / 2.0)).fold(lgamma(x) + constant, |sum, part| sum + part)
        })
    })
}

fn lgamma(x: Expr) -> Expr {
    x.apply(|trace, x| unary_function(trace, UnaryFunction::Lgamma, x))
}

/// The logarithm of the normal distribution: by the scaled complement of the error function below -1.
fn log_ndtr(x: Expr) -> Expr {
    let t = x * std::f64::consts::FRAC_1_SQRT_2;
    let is_low = x.lt(-1.0);
    let (low, high) = (is_low.select(t, -1.0), is_low.select(0.0, t));
    let of_low = (erfcx(-low) * 0.5).log() - low * low;
    let of_high = (high.apply(|trace, x| special(trace, SpecialOp::Erfc, x)) * -0.5).log_plus_one();
    is_low.select(of_low, of_high)
}

fn erfcx(x: Expr) -> Expr {
    x.apply(|trace, x| special(trace, SpecialOp::Erfcx, x))
}

/// The quantile of the normal distribution. In the tails, Newton's method finds the root of [`log_ndtr`] minus the
/// logarithm of the probability, whose derivative has no cancellation.
fn ndtri(p: Expr) -> Expr {
    use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};
    let fixed = p.apply(stop_gradient);
    let is_high = fixed.gt(0.5);
    let tail = is_high.select(-fixed + 1.0, fixed);
    let is_tail = tail.lt(0.1) & tail.gt(0.0);
    let inside =
        (is_tail.select(0.5, fixed) * 2.0 - 1.0).apply(|trace, x| unary_function(trace, UnaryFunction::ErfInv, x));
    let tail = is_tail.select(tail, 0.05);
    let log = tail.log();
    let mut x = -(log * -2.0).sqrt();
    x = x + (x * x * (2.0 * PI)).log() / (x * -2.0);
    for _ in 0..4 {
        let scaled = erfcx(x * -FRAC_1_SQRT_2);
        let difference = (scaled * 0.5).log() - x * x * 0.5 - log;
        x = x - difference * scaled * (PI / 2.0).sqrt();
    }
    let value = is_tail.select(is_high.select(-x, x), inside * SQRT_2);
    // The derivative is the inverse of the density.
    let slope = (value * value * 0.5).exp() * (2.0 * PI).sqrt();
    let fixed_slope = slope.apply(stop_gradient);
    let change = value.is_finite().select((p - fixed) * fixed_slope, 0.0);
    value.apply(stop_gradient) + change
}

/// The larger or the smaller of two numbers; NaN only if both are NaN.
fn number_of_two<'p>(call: &mut Call<'_, 'p>, op: BinaryOp) -> Result<Value<'p>> {
    two(call, false, |trace, a, b| {
        if !trace.node(a).dtype.is_float() {
            return binary(trace, op, a, b);
        }
        let is_nan = [compare(trace, CompareOp::Ne, a, a)?, compare(trace, CompareOp::Ne, b, b)?];
        let is_first = compare(trace, if op == BinaryOp::Maximum { CompareOp::Ge } else { CompareOp::Le }, a, b)?;
        let larger = select(trace, is_first, a, b)?;
        let not_second = select(trace, is_nan[1], a, larger)?;
        select(trace, is_nan[0], b, not_second)
    })
}

fn is_close<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let [a, b] = call.promoted(["self", "other"], false)?;
    let (rtol, atol, equal_nan) = (call.float("rtol")?, call.float("atol")?, call.bool("equal_nan")?);
    let trace = call.trace();
    let equal = compare(trace, CompareOp::Eq, a, b)?;
    let dtype = trace.node(a).dtype;
    if dtype == DType::Pred {
        return Ok(call.made(equal));
    }
    let wide = if dtype.is_integer() { DType::F64 } else { dtype };
    let (x, y) = (convert(trace, a, wide), convert(trace, b, wide));
    let near = record(trace, [x, y], |[x, y]| {
        let difference = (x - y).abs();
        difference.le(y.abs() * rtol + atol) & difference.is_finite()
    })?;
    let mut made = binary(trace, BinaryOp::Or, equal, near)?;
    if equal_nan && dtype.is_float() {
        let both = record(trace, [a, b], |[a, b]| a.ne(a) & b.ne(b))?;
        made = binary(trace, BinaryOp::Or, made, both)?;
    }
    Ok(call.made(made))
}

/// The greatest common divisor, by Euclid's algorithm.
fn divisor(trace: &mut Trace, a: NodeId, b: NodeId) -> Result<NodeId> {
    let ty = trace.ty(a);
    if !ty.dtype.is_integer() {
        return Err(error!(InvalidArgument, "divisors of {ty}; want integers"));
    }
    let dims = broadcast(&ty.dims, &trace.ty(b).dims);
    let dims = dims.ok_or_else(|| error!(InvalidArgument, "sizes {ty} and {} do not broadcast", trace.ty(b)))?;
    let ty = TensorType { dtype: ty.dtype, dims };
    let mut inner = Trace::new();
    let carried = [inner.parameter(ty.clone()), inner.parameter(ty.clone())];
    let goes_on = record(&mut inner, carried, |[_, b]| b.ne(0).apply(any))?;
    let condition = take_body(&inner, &carried, &[goes_on])?.0;
    let mut inner = Trace::new();
    let carried = [inner.parameter(ty.clone()), inner.parameter(ty.clone())];
    let next = record(&mut inner, carried, |[a, b]| b.eq(0).select(a, b))?;
    let rest = record(&mut inner, carried, |[a, b]| {
        let divisor = b.eq(0).select(1, b);
        b.eq(0).select(0, a - a / divisor * divisor)
    })?;
    let body = take_body(&inner, &carried, &[next, rest])?.0;
    let mut init = [a, b];
    for node in &mut init {
        let wide = broadcast_to(trace, *node, &ty.dims)?;
        *node = unary(trace, UnaryOp::Abs, wide)?;
    }
    let [condition, body] = [&condition, &body].map(|body| Applied { body, captures: &[] });
    Ok(while_loop(trace, &condition, &body, &init)?[0])
}

/// Moves the exponent field of an f64 to its bits.
fn shifted(field: Expr) -> Expr {
    field.apply(|trace, field| {
        let by = full(trace, &TensorType::new(DType::S64, &[]), ScalarValue::Signed(52))?;
        binary(trace, BinaryOp::ShiftLeft, field, by)
    })
}

fn any(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let axes: Vec<i64> = (0..trace.ty(x).dims.len() as i64).collect();
    if axes.is_empty() { Ok(x) } else { reduce(trace, ReduceOp::Any, x, &axes, false) }
}

/// Fractions of at least 1/2 and less than 1, and the exponents of 2.
fn fraction_and_exponent<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.floats("self")?;
    let trace = call.trace();
    let dtype = trace.node(x).dtype;
    let fixed = stop_gradient(trace, x)?;
    let exponent = record(trace, [fixed], |[x]| {
        // The exponent field of 1/2 is 1022 in f64. Subnormal numbers are multiplied by 2^64 first.
        let x = x.convert(DType::F64);
        let is_small = x.abs().lt(f64::MIN_POSITIVE);
        let field = is_small.select(x * 2f64.powi(64), x).abs().bits(DType::S64).shift_right_arithmetic(52) - 1022;
        (x.eq(0.0) | !x.is_finite()).select(0, is_small.select(field - 64, field))
    })?;
    // Two factors: the power of 2 itself may overflow f64.
    let first = record(trace, [exponent], |[exponent]| exponent.shift_right_arithmetic(1))?;
    let second = record(trace, [exponent, first], |[exponent, first]| exponent - first)?;
    let first = record(trace, [first], |[by]| shifted(-by + 1023).bits(DType::F64))?;
    let second = record(trace, [second], |[by]| shifted(-by + 1023).bits(DType::F64))?;
    let made = record(trace, [x, first, second], |[x, first, second]| {
        (x.convert(DType::F64) * first * second).convert(dtype)
    })?;
    let exponent = convert(trace, exponent, DType::S32);
    Ok(Value::List(vec![call.made(made), call.made(exponent)]))
}

fn is_number<'p>(call: &mut Call<'_, 'p>, number: f64) -> Result<Value<'p>> {
    let x = call.floats("self")?;
    let made = compare_scalar(call.trace(), CompareOp::Eq, x, ScalarValue::Float(number), false)?;
    Ok(call.made(made))
}
