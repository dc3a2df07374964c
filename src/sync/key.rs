//! The key of a program as a hash that is the same in every process: the version of this library, a hash of its sources, the
//! engine's fingerprint, then words, constants and donors, each list behind its length. (In memory, keys are compared whole.)

use crate::cache::{Lookup, Variant};
use crate::device::Shared;
use crate::error::Result;
use crate::types::Scalar;

/// A hash that has taken in everything but programs.
pub fn hasher(shared: &Shared) -> Result<blake3::Hasher> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    // An operation may lower to another text in another build: its executables would give the numbers of the old one.
    hasher.update(env!("LXLA_SOURCE_HASH").as_bytes());
    hasher.update(&shared.runtime().engine.fingerprint()?);
    Ok(hasher)
}

/// Takes in one program, as it is compiled.
pub fn add(hasher: &mut blake3::Hasher, lookup: &Lookup, variant: &Variant) {
    let mut list = |length: usize, bytes: &[u8]| {
        hasher.update(&(length as u64).to_le_bytes());
        hasher.update(bytes);
    };
    let words: Vec<u8> = lookup.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    list(lookup.words.len(), &words);
    let hole = |(scalar, &varying): (&Scalar, &bool)| {
        let bits = if varying { 0 } else { scalar.bits() };
        [&[u8::from(varying), scalar.dtype() as u8][..], &bits.to_le_bytes()].concat()
    };
    let holes: Vec<u8> = lookup.scalars.iter().zip(&*variant.varying).flat_map(hole).collect();
    list(lookup.scalars.len(), &holes);
    let donors: Vec<u8> = variant.donors.iter().flat_map(|&donor| (donor as u64).to_le_bytes()).collect();
    list(variant.donors.len(), &donors);
}
