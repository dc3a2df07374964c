//! The error function and its kin.
//!
//! All of them come from two approximations, made by interpolating the true function (in 60 digits) at Chebyshev nodes: of
//! `erf(x) / x` by a polynomial of `x^2`, for `|x| < 1`; and of `(1 + 2a) e^(a^2) erfc(a)`, for `a` from 0 on, by a polynomial
//! of `(a - 3) / (a + 3)`, the form that M. Shepherd and J. Laframboise found (Chebyshev Approximation of (1 + 2x)exp(x^2)erfc x
//! in 0 <= x < infinity, Mathematics of Computation 36, 1981). They are off by less than 1.4e-9 in f32 and 9e-18 in f64.

use super::definition::Composed;
use super::formula::{Formula, in_wide};
use super::refuse;
use crate::error;
use crate::error::{Error, Result};
use crate::ir::{BinaryOp, CompareOp, NodeId, Trace, UnaryOp, numbered};
use crate::types::{DType, Kind};

numbered! {
    /// Functions that StableHLO has no operation for.
    SpecialOp, "op", "LXLA_SPECIAL_*", {
        Erf = 1 => "erf",
        Erfc = 2 => "erfc",
    }
}

/// One of [`SpecialOp`].
pub const SPECIAL: Composed = Composed { name: "special", function: "lxla_special", dtypes: "" };

/// A function of a float.
pub fn special(trace: &mut Trace, op: SpecialOp, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    if ty.dtype.kind() != Kind::Float {
        return Err(refuse(op.name(), "x", &ty, "floats"));
    }
    in_wide(trace, x, |f, x| match op {
        SpecialOp::Erf => erf(f, x),
        SpecialOp::Erfc => erfc(f, x),
    })
}

/// Near 0 by its own polynomial; beyond 1 there is nothing to lose in the difference.
fn erf(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let coefficients: &[f64] = if f.trace.node(x).dtype == DType::F64 { &NEAR_F64 } else { &NEAR_F32 };
    let square = f.multiply(x, x)?;
    let slope = f.polynomial(square, coefficients)?;
    let near = f.multiply(x, slope)?;

    let size = f.unary(UnaryOp::Abs, x)?;
    let tail = gaussian_tail(f, size, 1.0)?;
    let rest = f.of(1.0, BinaryOp::Subtract, tail)?;
    let sign = f.unary(UnaryOp::Sign, x)?;
    let far = f.multiply(rest, sign)?;
    let is_near = f.compare(CompareOp::Lt, size, 1.0)?;
    f.select(is_near, near, far)
}

fn erfc(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let size = f.unary(UnaryOp::Abs, x)?;
    let tail = gaussian_tail(f, size, 1.0)?;
    let other = f.of(2.0, BinaryOp::Subtract, tail)?;
    let is_negative = f.compare(CompareOp::Lt, x, 0.0)?;
    f.select(is_negative, other, tail)
}

/// The share of the standard normal distribution below `x`.
pub fn normal_below(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let size = f.unary(UnaryOp::Abs, x)?;
    let both = gaussian_tail(f, size, 0.5)?;
    let tail = f.times(both, 0.5)?;
    let rest = f.of(1.0, BinaryOp::Subtract, tail)?;
    let is_negative = f.compare(CompareOp::Lt, x, 0.0)?;
    f.select(is_negative, tail, rest)
}

/// `erfc(sqrt(scale) a)` for `a` that are not negative, as `e^(-scale a^2)` times what changes slowly. The square would lose
/// the bits that the exponential needs, so it is taken of `a` rounded to sixteenths, which is exact, and the rest is a factor of its own.
/// XLA makes one exponential of a product of two, with the bits lost: there stands something between them.
fn gaussian_tail(f: &mut Formula, a: NodeId, scale: f64) -> Result<NodeId> {
    let double = f.trace.node(a).dtype == DType::F64;
    let (end, coefficients): (f64, &[f64]) = if double { (END_F64, &TAIL_F64) } else { (END_F32, &TAIL_F32) };
    let a = f.at_most(a, end / scale.sqrt())?;

    let z = f.times(a, scale.sqrt())?;
    let (above, below) = (f.plus(z, -3.0)?, f.plus(z, 3.0)?);
    let place = f.divide(above, below)?;
    let numerator = f.polynomial(place, coefficients)?;
    let twice = f.times(z, 2.0)?;
    let denominator = f.plus(twice, 1.0)?;
    let slow = f.divide(numerator, denominator)?;

    let sixteenths = f.times(a, 16.0)?;
    let whole = f.unary(UnaryOp::RoundNearestEven, sixteenths)?;
    let coarse = f.times(whole, 1.0 / 16.0)?;
    let (square, sum, rest) = (f.multiply(coarse, coarse)?, f.add(a, coarse)?, f.subtract(a, coarse)?);
    let product = f.multiply(rest, sum)?;
    let (large, small) = (f.times(square, -scale)?, f.times(product, -scale)?);
    let (large, small) = (f.exp(large)?, f.exp(small)?);
    let first = f.multiply(large, slow)?;
    f.multiply(first, small)
}

/// Beyond it, `e^(-a^2)` is 0.
const END_F32: f64 = 11.0;
const END_F64: f64 = 28.0;

const TAIL_F32: [f64; 12] = [
    1.253008059,
    -1.356211087e-1,
    -4.756240441e-2,
    1.296452434e-1,
    -1.192713771e-1,
    6.830799958e-2,
    -2.378773599e-2,
    2.520801146e-3,
    1.943095161e-3,
    -7.303181188e-4,
    -1.65138855e-4,
    4.188165159e-5,
];
const TAIL_F64: [f64; 25] = [
    1.25300805826972965,
    -1.35621106124581148e-1,
    -4.75622943534508855e-2,
    1.29645158702756906e-1,
    -1.19273663415294119e-1,
    6.83080273441397187e-2,
    -2.37705149191233026e-2,
    2.52939181293073676e-3,
    1.88869036600939534e-3,
    -7.79832238979364842e-4,
    -1.05159850071856077e-4,
    1.25099141924106972e-4,
    4.94969287305881637e-6,
    -2.00997193363507269e-5,
    -7.31999491630090834e-7,
    3.4701893684386099e-6,
    3.57406895284777952e-7,
    -6.12865843597634207e-7,
    -1.41615047065642396e-7,
    9.78444445687152394e-8,
    4.10212523426945252e-8,
    -1.0890349506249294e-8,
    -7.63688256208753142e-9,
    3.48375209473144483e-10,
    5.77451405947232864e-10,
];
const NEAR_F32: [f64; 7] =
    [1.128379166, -3.761262667e-1, 1.128359472e-1, -2.685421201e-2, 5.189087423e-3, -8.016864287e-4, 7.875875063e-5];
const NEAR_F64: [f64; 12] = [
    1.12837916709551257,
    -3.76126389031835404e-1,
    1.12837916709450063e-1,
    -2.68661706432377704e-2,
    5.22397760711642273e-3,
    -8.54832597538969208e-4,
    1.20552949048397079e-4,
    -1.49247369074196603e-5,
    1.64474247033173624e-6,
    -1.62084838018717059e-7,
    1.37200645467776856e-8,
    -7.79589882700214224e-10,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_data::{DeviceData, State};
    use crate::types::TensorType;

    #[test]
    fn only_floats_are_taken() {
        let mut trace = Trace::new();
        let x = trace.leaf(&DeviceData::new(TensorType::new(DType::S32, &[2]), State::Placeholder));
        let e = special(&mut trace, SpecialOp::Erf, x).unwrap_err();
        assert!(e.message.contains("x: erf takes floats, not s32[2]"), "{e}");
    }
}
