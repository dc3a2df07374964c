//! Immutable host memory with shared ownership.

/// Bytes that neither move nor change while the value is alive: the memory of an eager array, of a buffer on a device
/// that computes in host memory, or of an array of another library.
///
/// # Safety
/// `bytes` returns the same, initialized and unchanging bytes on every call, until the value is dropped.
pub unsafe trait SharedBytes: Send + Sync {
    /// Returns the bytes.
    fn bytes(&self) -> &[u8];
}
