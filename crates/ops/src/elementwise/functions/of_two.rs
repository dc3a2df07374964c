//! Elementwise functions of two operands without a StableHLO operation: the formulas for floats, which are one node
//! (`body.rs`), and the operations recorded for other dtypes. At NaN, infinities, zeros and integer divisors of
//! 0, lazy and eager results are those of NumPy.

use crate::creation::constants::constant;
use crate::elementwise::binary::scalar_operand;
use crate::elementwise::formula::{Expr, Term, record, widened};
use crate::elementwise::functions::{division, igamma, next_after, zeta};
use crate::elementwise::signs::signbit;
use crate::infer::{common_dims, common_dtype, typed};
use base::error;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::{BinaryFunction, NodeId, Op, Trace};
use std::f64::consts::{LN_2, PI};

/// Records a function of two tensors, with broadcasting and type promotion. 8-bit and 16-bit floats are computed in f32
/// and rounded once.
pub fn binary_function(trace: &mut Trace, function: BinaryFunction, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    let (l, r) = (trace.ty(lhs), trace.ty(rhs));
    let dtype = common_dtype(&l, &r)?;
    check(function, dtype).map_err(|e| e.context(format_args!("lhs is {l} and rhs is {r}")))?;
    common_dims(&l, &r)?;
    if function == BinaryFunction::Copysign && dtype.is_float8() {
        return copysign_of_8_bits(trace, lhs, rhs);
    }
    // Functions of bits are computed in the operands' dtype.
    let is_of_bits = matches!(function, BinaryFunction::Copysign | BinaryFunction::NextAfter);
    let computed_in = if is_of_bits { dtype } else { widened(dtype) };
    record(trace, [lhs, rhs], |operands| {
        let [a, b] = operands.map(|x| x.convert(computed_in));
        let result = match function {
            BinaryFunction::FloorDivide if dtype.is_integer() => division::integer_floor_divide(a, b),
            BinaryFunction::Modulo if dtype.is_integer() => division::integer_modulo(a, b),
            _ => a.apply_with(b, |trace, a, b| {
                let dims = common_dims(&trace.ty(a), &trace.ty(b))?;
                Ok(typed(trace, Op::BinaryFunction(function), &TensorType { dtype: computed_in, dims }, &[a, b]))
            }),
        };
        result.convert(dtype)
    })
}

impl<'f> Expr<'f> {
    /// Records an elementwise function by [`binary_function`].
    pub(crate) fn function_with(self, function: BinaryFunction, other: impl Term<'f>) -> Expr<'f> {
        self.apply_with(other.beside(self), |trace, a, b| binary_function(trace, function, a, b))
    }
}

/// The formula of a function of two floats of one dtype: f32 or f64, and for functions of bits also f16 and bf16.
pub(crate) fn formula<'f>(function: BinaryFunction, a: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    match function {
        BinaryFunction::FloorDivide => division::floor_divide(a, b),
        BinaryFunction::Modulo => division::modulo(a, b),
        BinaryFunction::Copysign => a.with_sign_of(b),
        BinaryFunction::Hypot => a.complex(b).abs(),
        BinaryFunction::Logaddexp if a.dtype().kind() == Kind::Complex => complex_logaddexp(a, b),
        BinaryFunction::Logaddexp => logaddexp(a, b),
        BinaryFunction::NextAfter => next_after::next_after(a, b),
        BinaryFunction::Polygamma => zeta::polygamma(a, b),
        BinaryFunction::Zeta => zeta::zeta(a, b),
        BinaryFunction::Igamma => igamma::igamma(a, b),
        BinaryFunction::Igammac => igamma::igammac(a, b),
        BinaryFunction::IgammaGradA => igamma::igamma_grad_a(a, b),
    }
}

/// Records a function of a tensor and a scalar, which is converted to the tensor's dtype.
pub(crate) fn binary_function_scalar(
    trace: &mut Trace,
    function: BinaryFunction,
    x: NodeId,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    check(function, dtype)?;
    let scalar = constant(trace, &[], scalar_operand(dtype, scalar)?);
    let (lhs, rhs) = if scalar_on_left { (scalar, x) } else { (x, scalar) };
    binary_function(trace, function, lhs, rhs)
}

/// Returns an error unless `function` supports `dtype`.
fn check(function: BinaryFunction, dtype: DType) -> Result<()> {
    let (takes_integers, wanted) = match function {
        BinaryFunction::FloorDivide | BinaryFunction::Modulo => (true, "integers and floats"),
        BinaryFunction::NextAfter => (false, "floats of 16 bits or more"),
        BinaryFunction::Logaddexp if dtype.kind() == Kind::Complex => return Ok(()),
        BinaryFunction::Logaddexp => (false, "floats and complex numbers"),
        _ => (false, "floats"),
    };
    let is_unknown = function == BinaryFunction::NextAfter && dtype.is_float8();
    if (dtype.is_float() && !is_unknown) || (takes_integers && dtype.is_integer()) {
        return Ok(());
    }
    Err(error!(InvalidArgument, "{} takes {wanted}, not {dtype}", function.name()))
}

/// `max(a, b) + log(1 + e^-|a - b|)`; `a + log 2` where a = b, infinities included.
fn logaddexp<'f>(a: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    let sum = a.max(b) + (-(a - b).abs()).exp().log_plus_one();
    a.eq(b).select(a + LN_2, sum)
}

/// `a + log(1 + e^(b - a))`, where `a` has the larger real part; its imaginary part is between -pi and pi. Where both
/// real parts are the same infinity, `a`.
fn complex_logaddexp<'f>(a: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    let is_less = a.real().lt(b.real());
    let (large, small) = (is_less.select(b, a), is_less.select(a, b));
    let (re, im) = (large.real(), large.imag());
    let is_same = re.is_infinite() & re.eq(small.real());
    let difference = is_same.select(0.0, small.real() - re).complex(small.imag() - im);
    let more = difference.exp().log_plus_one();
    let angle = im + more.imag();
    let turns = (angle * (0.5 / PI)).round();
    let angle = angle.abs().le(PI).select(angle, angle - turns * (2.0 * PI));
    is_same.select(re, re + more.real()).complex(is_same.select(im, angle))
}

/// Records copysign of 8-bit floats by negation in f32 rather than by bits: in some of these dtypes, the code of -0 is
/// NaN.
fn copysign_of_8_bits(trace: &mut Trace, x: NodeId, y: NodeId) -> Result<NodeId> {
    record(trace, [x, y], |[x, y]| {
        let size = x.convert(DType::F32).abs();
        y.apply(signbit).select(-size, size).convert(x.dtype())
    })
}
