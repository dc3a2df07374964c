//! Exponentials of square matrices, by balancing, scaling and squaring (Higham, 2005).

use super::balancing::{any, balancing, norm_1, scaled};
use super::decomposition::Matrices;
use super::systems::solve;
use crate::control::Applied;
use crate::control::loops::{body, repeat_while};
use crate::control::while_bounded;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, Formula, record, widened};
use base::error::Result;
use base::types::DType;
use ir::{NodeId, Trace};

/// Largest number of squarings. Matrices that need more have NaN as their result.
const SQUARINGS: i64 = 40;

/// Coefficients of the Padé approximants of order 7 and 13, and the largest 1-norms for which they hold in f32 and f64.
const PADE_7: [f64; 8] = [17_297_280.0, 8_648_640.0, 1_995_840.0, 277_200.0, 25_200.0, 1512.0, 56.0, 1.0];
const NORM_7: f64 = 3.925_724_783_138_66;
const PADE_13: [f64; 14] = [
    64_764_752_532_480_000.0, 32_382_376_266_240_000.0, 7_771_770_303_897_600.0, 1_187_353_796_428_800.0,
    129_060_195_264_000.0, 10_559_470_521_600.0, 670_442_572_800.0, 33_522_128_640.0, 1_323_241_920.0, 40_840_800.0,
    960_960.0, 16_380.0, 182.0, 1.0,
];
const NORM_13: f64 = 5.371_920_351_148_152;

/// Records the exponentials of square matrices.
pub fn matrix_exponential(trace: &mut Trace, a: NodeId) -> Result<NodeId> {
    let of = Matrices::square("matrix_exponential", "a", &trace.ty(a))?;
    if trace.ty(a).elements() == 0 {
        return Ok(a);
    }
    let wide = convert(trace, a, widened(of.dtype));
    let limit = if widened(of.dtype).real() == DType::F64 { NORM_13 } else { NORM_7 };
    let factors = balancing(trace, wide, limit)?;
    let balanced = record(trace, [wide, factors[0], factors[1]], |[a, first, second]| scaled(a, [first, second]))?;
    let [scale, halvings, is_over] = halved(trace, balanced, limit)?;
    let f = Formula::new(trace);
    let [a, scale] = [balanced, scale].map(|id| f.operand(id));
    let small = a * scale.convert(a.dtype());
    let [even, odd] = if a.is_double() { pade_13(small) } else { pade_7(small) };
    let [numerator, denominator] = f.finish_all([even + odd, even - odd])?;
    let quotient = solve(trace, denominator, numerator)?;
    let power = squared(trace, quotient, halvings)?;
    record(trace, [power, is_over, factors[0], factors[1]], |[power, is_over, first, second]| {
        let back = [first, second].map(|factor| factor.number(1.0) / factor);
        is_over.select(f64::NAN, scaled(power, back)).convert(of.dtype)
    })
}

/// Records for each matrix the power of 1/2 that brings its 1-norm below the limit of the approximant, the exponent, and
/// whether that would be above the limit.
fn halved(trace: &mut Trace, a: NodeId, limit: f64) -> Result<[NodeId; 3]> {
    let f = Formula::new(trace);
    let norm = norm_1(f.operand(a));
    let dims = norm.ty().dims;
    let [one, zero] = [1.0, 0.0].map(|value| norm.number(value).broadcast(&dims));
    let first = f.finish_all([norm, one, zero])?;
    let goes_on = |trace: &mut Trace, state: &[NodeId], _: &[NodeId]| {
        record(trace, [state[0], state[2]], |[norm, halvings]| any(norm.gt(limit) & halvings.lt(SQUARINGS as f64)))
    };
    let last = repeat_while(trace, &first, &[], goes_on, |trace, state, _| {
        let f = Formula::new(trace);
        let [norm, scale, halvings] = [0, 1, 2].map(|i| f.operand(state[i]));
        let is_large = norm.gt(limit);
        let [norm, scale] = [norm, scale].map(|x| is_large.select(x * 0.5, x));
        f.finish_list(&[norm, scale, is_large.select(halvings + 1.0, halvings)])
    })?;
    let is_over = record(trace, [last[0]], |[norm]| norm.gt(limit))?;
    Ok([last[1], last[2], is_over])
}

/// Records each matrix squared as often as its number says.
fn squared(trace: &mut Trace, a: NodeId, times: NodeId) -> Result<NodeId> {
    let types = [trace.ty(a), trace.ty(times)];
    let goes_on =
        body(&types, &[], |trace, state, _| Ok(vec![record(trace, [state[1]], |[left]| any(left.gt(0.0)))?]))?;
    let square = body(&types, &[], |trace, state, _| {
        let f = Formula::new(trace);
        let [made, left] = [0, 1].map(|i| f.operand(state[i]));
        // A product that is not used must not overflow: its derivative would be NaN.
        let used = left.gt(0.0);
        let root = used.select(made, 0.0);
        f.finish_list(&[used.select(root.at(root), made), left - 1.0])
    })?;
    let applied = |body| Applied { body, captures: &[] };
    Ok(while_bounded(trace, &applied(&goes_on), &applied(&square), &[a, times], SQUARINGS)?[0])
}

/// Even and odd part of the numerator of order 7, divided so that both parts of a zero matrix are exact.
fn pade_7(a: Expr) -> [Expr; 2] {
    let (b, one, square) = (PADE_7.map(|b| b / PADE_7[0]), a.identity(), a.at(a));
    let fourth = square.at(square);
    let sixth = fourth.at(square);
    let odd = a.at(sixth * b[7] + fourth * b[5] + square * b[3] + one * b[1]);
    [sixth * b[6] + fourth * b[4] + square * b[2] + one * b[0], odd]
}

/// Even and odd part of the numerator of order 13, divided as [`pade_7`].
fn pade_13(a: Expr) -> [Expr; 2] {
    let (b, one, square) = (PADE_13.map(|b| b / PADE_13[0]), a.identity(), a.at(a));
    let fourth = square.at(square);
    let sixth = fourth.at(square);
    let high = |i: usize| sixth.at(sixth * b[12 + i] + fourth * b[10 + i] + square * b[8 + i]);
    let low = |i: usize| sixth * b[6 + i] + fourth * b[4 + i] + square * b[2 + i] + one * b[i];
    [high(0) + low(0), a.at(high(1) + low(1))]
}
