//! Conversion of StableHLO text to a computation of the crate.

use crate::failed;
use base::error::{Code, Error, Result};
use std::ffi::{c_char, c_int};
use xla::{HloModuleProto, XlaComputation};

unsafe extern "C" {
    /// See `stablehlo.cc`.
    fn lazyxla_stablehlo_to_hlo(text: *const c_char, size: usize, bytes: *mut *mut c_char, count: *mut usize) -> c_int;
    fn lazyxla_free(bytes: *mut c_char);
}

/// Parses a module. The result of the computation is the tuple of the outputs, also if it is one.
pub fn computation(text: &str) -> Result<XlaComputation> {
    let (mut bytes, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: the text is `size` bytes long, and the outputs are variables of this function.
    let code = unsafe { lazyxla_stablehlo_to_hlo(text.as_ptr().cast(), text.len(), &mut bytes, &mut count) };
    let converted = Converted { bytes, count };
    if code == 0 {
        let parsed = HloModuleProto::parse_proto(converted.bytes(), true).map_err(failed)?;
        return Ok(XlaComputation::from_proto(&parsed));
    }
    let code = Code::from_number(code).unwrap_or(Code::Internal);
    let message = String::from_utf8_lossy(converted.bytes());
    Err(Error::new(code, format!("xla-rs: StableHLO to HLO: {message}")))
}

/// Bytes from malloc; none if the pointer is null.
struct Converted {
    bytes: *mut c_char,
    count: usize,
}

impl Converted {
    fn bytes(&self) -> &[u8] {
        if self.bytes.is_null() {
            return &[];
        }
        // SAFETY: the C++ function wrote `count` bytes there, which are freed when this is dropped.
        unsafe { std::slice::from_raw_parts(self.bytes.cast(), self.count) }
    }
}

impl Drop for Converted {
    fn drop(&mut self) {
        // SAFETY: from malloc, or null.
        unsafe { lazyxla_free(self.bytes) };
    }
}
