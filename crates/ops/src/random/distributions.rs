//! Random numbers from a key, recorded as several operations. A key is `u32[2]`. With THREE_FRY, bits, splits and
//! uniform numbers are those of `jax.random` with the same key (`threefry2x32`, `jax_threefry_partitionable`). With
//! PHILOX, the bits are those of [`rng_bit_generator`] from the state {key, 0, 0}, in which the key's first word is the
//! high one, and splits and distributions are derived from the bits as with THREE_FRY.

use crate::creation::constants::full;
use crate::definition::Composed;
use crate::elementwise::binary::binary_scalar;
use crate::elementwise::bits::bitcast_convert;
use crate::elementwise::compare_select::compare;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::record;
use crate::elementwise::functions::erf_inv::erf_inv_inside;
use crate::infer::typed;
use crate::random::rng::{RngAlgorithm, rng_bit_generator, unsigned};
use crate::shape::axes::{reshape, reverse};
use crate::shape::slicing::{pad, slice};
use base::error;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType, element_count};
use half::{bf16, f16};
use ir::{BinaryOp, CompareOp, NodeId, Op, Trace};
use std::f64::consts::SQRT_2;

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "random_uniform", function: "lxla_random_uniform", dtypes: "floats" },
    Composed { name: "random_normal", function: "lxla_random_normal", dtypes: "floats, 8-bit floats" },
    Composed { name: "random_bernoulli", function: "lxla_random_bernoulli", dtypes: "gives pred" },
    Composed { name: "random_split", function: "lxla_random_split", dtypes: "u32 keys" },
];

/// Records random integers, uniform over all values of the dtype.
pub fn random_bits(trace: &mut Trace, algorithm: RngAlgorithm, key: NodeId, ty: &TensorType) -> Result<NodeId> {
    check_key(trace, key)?;
    if !ty.dtype.is_integer() {
        return Err(error!(InvalidArgument, "dtype: {} given; want integers", ty.dtype));
    }
    if element_count(&ty.dims)? == 0 {
        return full(trace, ty, ScalarValue::Unsigned(0));
    }
    match algorithm {
        RngAlgorithm::ThreeFry => {
            let bits = TensorType { dtype: unsigned(ty.dtype)?, dims: ty.dims.clone() };
            let bits = typed(trace, Op::RandomBits, &bits, &[key]);
            bitcast_convert(trace, bits, ty.dtype)
        }
        RngAlgorithm::Philox => {
            let state = philox_state(trace, key)?;
            rng_bit_generator(trace, algorithm, state, ty).map(|[_, bits]| bits)
        }
    }
}

/// Records `n` new keys, one in each row.
pub fn random_split(trace: &mut Trace, algorithm: RngAlgorithm, key: NodeId, n: i64) -> Result<NodeId> {
    let bits = random_bits(trace, algorithm, key, &TensorType::new(DType::U64, &[n]))?;
    let words = bitcast_convert(trace, bits, DType::U32)?;
    reverse(trace, words, &[1])
}

/// Records `n` new keys, a node for each.
pub(super) fn keys_of(trace: &mut Trace, algorithm: RngAlgorithm, key: NodeId, n: i64) -> Result<Vec<NodeId>> {
    let keys = random_split(trace, algorithm, key, n)?;
    let mut row = |i| {
        let row = slice(trace, keys, &[i, 0], &[i + 1, 2], &[1, 1])?;
        reshape(trace, row, &[2])
    };
    (0..n).map(&mut row).collect()
}

/// Records uniform random floats in [`low`, `high`).
pub fn random_uniform(
    trace: &mut Trace,
    algorithm: RngAlgorithm,
    key: NodeId,
    ty: &TensorType,
    low: f64,
    high: f64,
) -> Result<NodeId> {
    check_key(trace, key)?;
    check_float(ty)?;
    let interval = Interval::new(ty.dtype, low, high)?;
    let unit = unit_interval(trace, algorithm, key, ty)?;
    interval.stretch(trace, unit)
}

/// Records random floats of the standard normal distribution.
pub fn random_normal(trace: &mut Trace, algorithm: RngAlgorithm, key: NodeId, ty: &TensorType) -> Result<NodeId> {
    if !ty.dtype.is_float() {
        return Err(error!(InvalidArgument, "dtype: {} given; want floats", ty.dtype));
    }
    // With fewer bits there would be few distinct values, and none in the tails.
    let dtype = if ty.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let wide = TensorType { dtype, dims: ty.dims.clone() };
    let uniform = random_uniform(trace, algorithm, key, &wide, above_minus_one(dtype), 1.0)?;
    record(trace, [uniform], |[x]| (erf_inv_inside(x) * SQRT_2).convert(ty.dtype))
}

/// Records normal floats, f32 or f64, of random bits of their width.
pub(super) fn normal_of_bits(trace: &mut Trace, bits: NodeId, dtype: DType) -> Result<NodeId> {
    let unit = unit_of_bits(trace, bits, dtype)?;
    let uniform = Interval::new(dtype, above_minus_one(dtype), 1.0)?.stretch(trace, unit)?;
    record(trace, [uniform], |[x]| erf_inv_inside(x) * SQRT_2)
}

/// The next f32 or f64 above -1.
fn above_minus_one(dtype: DType) -> f64 {
    if dtype == DType::F64 { (-1f64).next_up() } else { (-1f32).next_up().into() }
}

/// Records random preds that are true with a given probability.
pub fn random_bernoulli(
    trace: &mut Trace,
    algorithm: RngAlgorithm,
    key: NodeId,
    probability: f64,
    dims: &[i64],
) -> Result<NodeId> {
    check_key(trace, key)?;
    if !(0.0..=1.0).contains(&probability) {
        return Err(error!(InvalidArgument, "p: {probability} given; want 0 to 1"));
    }
    let uniform = random_uniform(trace, algorithm, key, &TensorType::new(DType::F32, dims), 0.0, 1.0)?;
    let probability = full(trace, &TensorType::new(DType::F32, &[]), ScalarValue::Float(probability))?;
    compare(trace, CompareOp::Lt, uniform, probability)
}

/// Returns an error unless `key` is a key.
pub(super) fn check_key(trace: &Trace, key: NodeId) -> Result<()> {
    let ty = trace.ty(key);
    if ty != TensorType::new(DType::U32, &[2]) {
        return Err(error!(InvalidArgument, "key: it is {ty}; want u32[2]"));
    }
    Ok(())
}

fn check_float(ty: &TensorType) -> Result<()> {
    if ty.dtype.kind() != Kind::Float {
        return Err(error!(InvalidArgument, "dtype: {} given; want floats", ty.dtype));
    }
    Ok(())
}

/// Records the Philox state {key, 0, 0}.
fn philox_state(trace: &mut Trace, key: NodeId) -> Result<NodeId> {
    let low_first = reverse(trace, key, &[0])?;
    let number = bitcast_convert(trace, low_first, DType::U64)?;
    let row = reshape(trace, number, &[1])?;
    let zero = full(trace, &TensorType::new(DType::U64, &[]), ScalarValue::Unsigned(0))?;
    pad(trace, row, zero, &[0], &[2], &[0])
}

/// Records uniform multiples of the ulp of 1 in [0, 1): random bits become the mantissa of a float in [1, 2), from
/// which 1 is subtracted, which is exact.
fn unit_interval(trace: &mut Trace, algorithm: RngAlgorithm, key: NodeId, ty: &TensorType) -> Result<NodeId> {
    let drawn = if ty.dtype == DType::BF16 { DType::U8 } else { ty.dtype.bits() };
    let bits = random_bits(trace, algorithm, key, &TensorType { dtype: drawn, dims: ty.dims.clone() })?;
    unit_of_bits(trace, bits, ty.dtype)
}

/// Records the uniform floats in [0, 1) of random bits.
pub(super) fn unit_of_bits(trace: &mut Trace, bits: NodeId, dtype: DType) -> Result<NodeId> {
    // Number of bits that are discarded, and the bits of 1.
    let (unused, one) = match dtype {
        DType::F16 => (6, u64::from(f16::ONE.to_bits())),
        DType::BF16 => (1, u64::from(bf16::ONE.to_bits())),
        DType::F32 => (9, u64::from(1f32.to_bits())),
        _ => (12, 1f64.to_bits()),
    };
    let bits = convert(trace, bits, unsigned(dtype)?);
    let mantissa = binary_scalar(trace, BinaryOp::ShiftRightLogical, bits, ScalarValue::Unsigned(unused), false)?;
    let number = binary_scalar(trace, BinaryOp::Or, mantissa, ScalarValue::Unsigned(one), false)?;
    let float = bitcast_convert(trace, number, dtype)?;
    scalar(trace, BinaryOp::Subtract, float, 1.0)
}

fn scalar(trace: &mut Trace, op: BinaryOp, x: NodeId, value: f64) -> Result<NodeId> {
    binary_scalar(trace, op, x, ScalarValue::Float(value), false)
}

/// Bounds of a uniform distribution, rounded to its dtype.
struct Interval {
    low: f64,
    high: f64,
    /// `high - low`, rounded to the dtype.
    span: f64,
    /// Largest float below `high`.
    below: f64,
}

impl Interval {
    fn new(dtype: DType, low: f64, high: f64) -> Result<Interval> {
        let (low_given, high_given) = (low, high);
        let (low, high, span, below) = match dtype {
            DType::F16 => {
                let (low, high) = (f16::from_f64_const(low), f16::from_f64_const(high));
                let below = f16::from_bits(one_less(high.to_bits().into(), 15) as u16);
                let span = f16::from_f32_const(high.to_f32() - low.to_f32());
                (low.to_f64(), high.to_f64(), span.to_f64(), below.to_f64())
            }
            DType::BF16 => {
                let (low, high) = (bf16::from_f64_const(low), bf16::from_f64_const(high));
                let below = bf16::from_bits(one_less(high.to_bits().into(), 15) as u16);
                let span = bf16::from_f32_const(high.to_f32() - low.to_f32());
                (low.to_f64(), high.to_f64(), span.to_f64(), below.to_f64())
            }
            DType::F32 => {
                let (low, high) = (low as f32, high as f32);
                (low.into(), high.into(), (high - low).into(), high.next_down().into())
            }
            _ => (low, high, high - low, high.next_down()),
        };
        if !low.is_finite() || !high.is_finite() || !span.is_finite() || low >= high {
            return Err(error!(
                InvalidArgument,
                "low, high: {low_given:?} and {high_given:?} in {dtype}; want low < high, and their distance finite"
            ));
        }
        Ok(Interval { low, high, span, below })
    }

    /// Records numbers in the interval from numbers in [0, 1). Some processors would fuse the product and the sum, and
    /// round once: a minimum without effect between them makes all of them round twice. The last minimum corrects sums
    /// that are rounded up to `high`.
    fn stretch(&self, trace: &mut Trace, unit: NodeId) -> Result<NodeId> {
        if (self.low, self.span) == (0.0, 1.0) {
            return Ok(unit);
        }
        let product = scalar(trace, BinaryOp::Multiply, unit, self.span)?;
        if self.low == 0.0 {
            return Ok(product);
        }
        let product = scalar(trace, BinaryOp::Minimum, product, self.span)?;
        let sum = scalar(trace, BinaryOp::Add, product, self.low)?;
        // Sums near 0 are exact.
        if self.high == 0.0 { Ok(sum) } else { scalar(trace, BinaryOp::Minimum, sum, self.below) }
    }
}

/// Bits of the next lower float. `sign` is the number of the sign bit; the float is not 0.
fn one_less(bits: u64, sign: u32) -> u64 {
    if bits >> sign & 1 == 1 { bits + 1 } else { bits.wrapping_sub(1) }
}
