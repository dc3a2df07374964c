//! Fallible allocations, for sizes that come from a caller, a file or a shape. Exhausted memory is an error here, while
//! `Vec` aborts the process.

use crate::error;
use crate::error::Result;
use std::fmt::Display;
use std::hint::black_box;

/// Number of bytes below which [`probe`] does not test: as in any program, there is memory for small things.
const LEAST_PROBED: usize = 1 << 20;

/// Number of bytes below which it is not asked how much memory is available: that takes some 30 microseconds.
const LARGE: u128 = 1 << 27;

/// Bytes that have to be left beside those that are tested for. An allocation of so many is a mapping of its own, which
/// costs two system calls and no memory, and does not change how the system's allocator treats others (glibc adapts to
/// sizes up to 32 MB).
const RESERVE: usize = 33 << 20;

/// Creates an empty vector with capacity for `count` elements. If there is no memory, returns RESOURCE_EXHAUSTED with a
/// message that has the number of bytes and `purpose`.
pub fn with_room<T>(count: usize, purpose: impl Display) -> Result<Vec<T>> {
    let bytes = count as u128 * size_of::<T>() as u128;
    let mut list = Vec::new();
    if !is_available(bytes) || list.try_reserve_exact(count).is_err() {
        return Err(error!(ResourceExhausted, "no host memory for {purpose}: {bytes} bytes"));
    }
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
    let bytes = if is_available(size as u128) { bytemuck::allocation::try_zeroed_vec(size).ok() } else { None };
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
    if !is_available(bytes as u128) {
        return Err(exhausted());
    }
    let mut test: Vec<u8> = Vec::new();
    test.try_reserve_exact(bytes + RESERVE).map_err(|_| exhausted())?;
    // The compiler may not remove an allocation that it cannot see through.
    drop(black_box(test));
    Ok(())
}

/// Whether there is memory for so many bytes now. A system that overcommits grants more, and kills the process when the
/// memory is used.
fn is_available(bytes: u128) -> bool {
    bytes < LARGE || bytes <= u128::from(available())
}

/// Bytes of memory and swap that the process may still use; `u64::MAX` if the system does not report them.
fn available() -> u64 {
    let of_machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let kilobytes = |name| number_of(&text, name);
        Some(kilobytes("MemAvailable:")?.saturating_add(kilobytes("SwapFree:").unwrap_or(0)).saturating_mul(1024))
    });
    of_machine.unwrap_or(u64::MAX).min(available_in_group().unwrap_or(u64::MAX))
}

/// Bytes of memory that the limit of the control group (version 2), such as a container, leaves. None without a limit.
fn available_in_group() -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok();
    let limit: u64 = read("max")?.trim().parse().ok()?;
    let used: u64 = read("current")?.trim().parse().ok()?;
    // Pages of files can be dropped.
    let of_files = read("stat").and_then(|text| number_of(&text, "inactive_file")).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(of_files)))
}

/// The number behind a name at the start of a line.
fn number_of(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
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
        let more = available().saturating_add(1 << 30) as usize;
        assert!(more == usize::MAX || zeroed_bytes(more).is_err(), "more than is available");
        assert!(more == usize::MAX || with_room::<u8>(more, "a test").is_err());
        assert!(probe(0, "a test").is_ok() && probe(1 << 21, "a test").is_ok());
    }
}
