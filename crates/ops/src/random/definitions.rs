//! Definitions of random bits.

use super::{masking_rules, random_bits, rng};
use crate::definition::{Definition, Native};
use crate::masking::Masking;
use crate::rules::{Batching, Derivative, no_cotangents, no_tangents};

/// Definition of `rng_bit_generator`.
pub const RNG_BIT_GENERATOR: Definition = Definition {
    name: "rng_bit_generator",
    stablehlo: "rng_bit_generator",
    function: "lxla_rng_bit_generator",
    dtypes: "integers and floats; state u64",
    lower: rng::lower,
    native: Native::Several(rng::native_bits),
    derivative: Derivative::Several { jvp: no_tangents, vjp: no_cotangents },
    ..Definition::DEFAULT
};

/// Definition of `random_bits`: unsigned integers from a key `u32[2]`, or from each row of keys `u32[...,2]`.
pub const RANDOM_BITS: Definition = Definition {
    name: "random_bits",
    stablehlo: "xor",
    function: "lxla_random_bits",
    dtypes: "integers; key u32",
    lower: random_bits::lower,
    native: Native::One(|cx| native::random_bits(cx.ty, cx.operands[0])),
    derivative: Derivative::Zero,
    batching: Batching::Rule(random_bits::batched),
    masking: Masking::Rule(masking_rules::random_bits),
    ..Definition::DEFAULT
};
