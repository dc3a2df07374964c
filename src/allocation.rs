//! Fallible allocations, for sizes that come from a caller, a file or a shape. Exhausted memory is an error here, while
//! `Vec` aborts the process.

use crate::error;
use crate::error::Result;
use std::fmt::Display;
use std::hint::black_box;

/// Number of bytes below which [`probe`] does not test: as in any program, there is memory for small things.
const LEAST_PROBED: usize = 1 << 20;

/// Bytes that have to be left beside those that are tested for. An allocation of so many is a mapping of its own, which
/// costs two system calls and no memory, and does not change how the system's allocator treats others (glibc adapts to
/// sizes up to 32 MB).
const RESERVE: usize = 33 << 20;

/// Creates an empty vector with capacity for `count` elements. If there is no memory, returns RESOURCE_EXHAUSTED with a
/// message that has the number of bytes and `purpose`.
pub fn with_room<T>(count: usize, purpose: impl Display) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| {
        let bytes = count as u128 * size_of::<T>() as u128;
        error!(ResourceExhausted, "no host memory for {purpose}: {bytes} bytes")
    })?;
    Ok(list)
}

/// Vector of `count` clones of `value`; fails like [`with_room`].
pub fn filled<T: Clone>(value: T, count: usize, purpose: impl Display) -> Result<Vec<T>> {
    let mut list = with_room(count, purpose)?;
    list.resize(count, value);
    Ok(list)
}

/// Copy of a slice; fails like [`with_room`].
pub fn copied<T: Clone>(elements: &[T], purpose: impl Display) -> Result<Vec<T>> {
    let mut list = with_room(elements.len(), purpose)?;
    list.extend_from_slice(elements);
    Ok(list)
}

/// Collects an iterator of known length; fails like [`with_room`].
pub fn collected<T>(elements: impl ExactSizeIterator<Item = T>, purpose: impl Display) -> Result<Vec<T>> {
    let mut list = with_room(elements.len(), purpose)?;
    list.extend(elements);
    Ok(list)
}

/// Allocates `size` zeroed bytes without touching their pages; RESOURCE_EXHAUSTED if that is not possible.
pub fn zeroed_bytes(size: usize) -> Result<Vec<u8>> {
    // A system that overcommits would grant more and kill the process when the memory is used.
    let promised = size as u64 <= memory_of_machine();
    let bytes = if promised { bytemuck::allocation::try_zeroed_vec(size).ok() } else { None };
    bytes.ok_or_else(|| error!(ResourceExhausted, "no host memory for {size} bytes"))
}

/// Returns RESOURCE_EXHAUSTED unless `bytes` of memory, and a reserve, can be allocated: they are allocated as a test,
/// and freed. For work that takes many small allocations in proportion to something from outside, through lists, hash
/// maps or crates that abort the process without memory. What other threads allocate meanwhile is not counted.
pub fn probe(bytes: usize, purpose: impl Display) -> Result<()> {
    if bytes < LEAST_PROBED {
        return Ok(());
    }
    let exhausted = || error!(ResourceExhausted, "no host memory for {purpose}: {bytes} bytes");
    if bytes as u64 > memory_of_machine() {
        return Err(exhausted());
    }
    let mut test: Vec<u8> = Vec::new();
    test.try_reserve_exact(bytes + RESERVE).map_err(|_| exhausted())?;
    // The compiler may not remove an allocation that it cannot see through.
    drop(black_box(test));
    Ok(())
}

/// Bytes of memory and swap of the machine; `u64::MAX` if the system does not report them.
fn memory_of_machine() -> u64 {
    let info = rustix::system::sysinfo();
    match u64::from(info.mem_unit).saturating_mul(info.totalram.saturating_add(info.totalswap)) {
        0 => u64::MAX,
        bytes => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn exhausted_memory_is_an_error_that_tells_the_bytes() {
        let e = filled(0u64, 1 << 58, "a test").unwrap_err();
        assert_eq!(e.code, Code::ResourceExhausted);
        assert!(e.message.contains("a test") && e.message.contains(&(1u64 << 61).to_string()), "{e}");
        assert!(with_room::<u64>(usize::MAX, "a test").is_err());
        assert_eq!(copied(&[1, 2], "a test").unwrap(), [1, 2]);
        assert_eq!(collected(0..3, "a test").unwrap(), [0, 1, 2]);
        assert!(probe(1 << 61, "a test").unwrap_err().message.contains(&(1u64 << 61).to_string()));
        assert!(probe(0, "a test").is_ok() && probe(1 << 21, "a test").is_ok());
    }
}
