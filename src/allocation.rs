//! Allocations whose size comes from outside: a caller, a file, a shape. Where memory is exhausted they are errors, and do
//! not end the process as `Vec`'s own do.

use crate::error;
use crate::error::Result;
use std::fmt::Display;

/// An empty list with room for `count` elements; RESOURCE_EXHAUSTED with the bytes asked for, and `purpose`.
pub fn with_room<T>(count: usize, purpose: impl Display) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| {
        let bytes = count as u128 * size_of::<T>() as u128;
        error!(ResourceExhausted, "no host memory for {purpose}: {bytes} bytes")
    })?;
    Ok(list)
}

/// `count` times `value`.
pub fn filled<T: Clone>(value: T, count: usize, purpose: impl Display) -> Result<Vec<T>> {
    let mut list = with_room(count, purpose)?;
    list.resize(count, value);
    Ok(list)
}

/// A copy of a slice.
pub fn copied<T: Clone>(elements: &[T], purpose: impl Display) -> Result<Vec<T>> {
    let mut list = with_room(elements.len(), purpose)?;
    list.extend_from_slice(elements);
    Ok(list)
}

/// What an iterator of a known length gives.
pub fn collected<T>(elements: impl ExactSizeIterator<Item = T>, purpose: impl Display) -> Result<Vec<T>> {
    let mut list = with_room(elements.len(), purpose)?;
    list.extend(elements);
    Ok(list)
}

/// `size` zeroed bytes, of which no page is touched; RESOURCE_EXHAUSTED if they cannot be had.
pub fn zeroed_bytes(size: usize) -> Result<Vec<u8>> {
    // A system that overcommits grants more, and ends the process once it is used.
    let promised = size as u64 <= memory_of_machine();
    let bytes = if promised { bytemuck::allocation::try_zeroed_vec(size).ok() } else { None };
    bytes.ok_or_else(|| error!(ResourceExhausted, "{size} bytes of the host's memory cannot be had"))
}

/// Bytes of memory and swap; `u64::MAX` if the system does not say.
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
    }
}
