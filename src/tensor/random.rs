//! Records random numbers, by tensor handles.

use super::operands::operands;
use super::recording::{finish, finish_all};
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ir::{NodeId, Trace};
use crate::ops;
use crate::ops::RngAlgorithm;
use crate::types::TensorType;

/// Records an operation whose only operand is a key.
fn of_key(key: TensorHandle, record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>) -> Result<TensorHandle> {
    let (mut state, [key]) = operands([("key", key)])?;
    let id = record(&mut state.trace, key)?;
    finish(state, id)
}

/// Records the next state of a generator, and random bits.
pub fn rng_bit_generator(algorithm: RngAlgorithm, state: TensorHandle, ty: &TensorType) -> Result<Vec<TensorHandle>> {
    let (mut device, [node]) = operands([("state", state)])?;
    let results = ops::rng_bit_generator(&mut device.trace, algorithm, node, ty)?;
    finish_all(device, &results)
}

/// Records random integers, uniform over all values of the dtype.
pub fn random_bits(algorithm: RngAlgorithm, key: TensorHandle, ty: &TensorType) -> Result<TensorHandle> {
    of_key(key, |trace, key| ops::random_bits(trace, algorithm, key, ty))
}

/// Records `n` new keys derived from a key.
pub fn random_split(algorithm: RngAlgorithm, key: TensorHandle, n: i64) -> Result<TensorHandle> {
    of_key(key, |trace, key| ops::random_split(trace, algorithm, key, n))
}

/// Records random floats, uniform over an interval.
pub fn random_uniform(
    algorithm: RngAlgorithm,
    key: TensorHandle,
    ty: &TensorType,
    low: f64,
    high: f64,
) -> Result<TensorHandle> {
    of_key(key, |trace, key| ops::random_uniform(trace, algorithm, key, ty, low, high))
}

/// Records random floats of the standard normal distribution.
pub fn random_normal(algorithm: RngAlgorithm, key: TensorHandle, ty: &TensorType) -> Result<TensorHandle> {
    of_key(key, |trace, key| ops::random_normal(trace, algorithm, key, ty))
}

/// Records random booleans, each true with probability `p`.
pub fn random_bernoulli(algorithm: RngAlgorithm, key: TensorHandle, p: f64, dims: &[i64]) -> Result<TensorHandle> {
    of_key(key, |trace, key| ops::random_bernoulli(trace, algorithm, key, p, dims))
}
