//! Hash of a program's cache key that is stable across processes: the version of this library, a hash of its sources,
//! the engine's fingerprint, then the program's encoding, mark (its precision), constants and donors, each list
//! preceded by its length. (The in-memory cache compares whole keys.)

use crate::cache::{Lookup, Variant};
use crate::device::Shared;
use base::error::Result;
use base::types::{Encoding, Scalar};
use ir::{Precision, Program};
use lowering::lower::Layout;
use std::borrow::Cow;

/// Encoding that identifies a program in the cache, with the layout that it is partitioned by, and the precision of its
/// products.
pub fn encoding<'a>(program: &'a Program, layout: Option<&Layout>, precision: Precision) -> Cow<'a, Encoding> {
    let encoding = match layout {
        None => Cow::Borrowed(program.encoding()),
        Some(layout) => Cow::Owned(Encoding::new(layout.key(program.words()))),
    };
    match precision {
        Precision::HIGHEST => encoding,
        other => Cow::Owned(encoding.marked(other.number().into())),
    }
}

/// Returns a hasher that already contains everything except the program.
pub fn hasher(shared: &Shared) -> Result<blake3::Hasher> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    // A different build may lower an operation differently; a cached executable would compute the old build's results.
    hasher.update(env!("LXLA_SOURCE_HASH").as_bytes());
    hasher.update(&shared.runtime().engine.fingerprint()?);
    Ok(hasher)
}

/// Adds one program, in the variant in which it is compiled.
pub fn add(hasher: &mut blake3::Hasher, lookup: &Lookup, variant: &Variant) {
    let mut list = |length: usize, bytes: &[u8]| {
        hasher.update(&(length as u64).to_le_bytes());
        hasher.update(bytes);
    };
    let words: Vec<u8> = lookup.encoding.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    list(lookup.encoding.words().len(), &words);
    list(0, &lookup.encoding.mark().to_le_bytes());
    let hole = |(scalar, &varying): (&Scalar, &bool)| {
        let bits = if varying { 0 } else { scalar.bits() };
        [&[u8::from(varying), scalar.dtype() as u8][..], &bits.to_le_bytes()].concat()
    };
    let holes: Vec<u8> = lookup.scalars.iter().zip(&*variant.varying).flat_map(hole).collect();
    list(lookup.scalars.len(), &holes);
    let donors: Vec<u8> = variant.donors.iter().flat_map(|&donor| (donor as u64).to_le_bytes()).collect();
    list(variant.donors.len(), &donors);
}
