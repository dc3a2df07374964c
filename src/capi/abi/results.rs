//! Output lists of tensors.

use super::arguments::slice_mut;
use crate::capi::types::lxla_tensor;
use crate::device::TensorHandle;
use crate::error;
use crate::error::Result;

/// A caller's list of outputs, validated before the call has any effect, and written only on success.
pub struct Results<'a> {
    name: &'static str,
    places: &'a mut [lxla_tensor],
}

impl Results<'_> {
    /// Wraps the `n` outputs at `start`; an error that names the argument if it is NULL.
    pub unsafe fn at<'a>(name: &'static str, start: *mut lxla_tensor, n: usize) -> Result<Results<'a>> {
        // SAFETY: the caller's promise, see `capi`.
        Ok(Results { name, places: unsafe { slice_mut(name, start, n)? } })
    }

    /// Returns an error that names the argument unless the list has `wanted` entries; `count` is the name of the
    /// length argument.
    pub fn check(&self, count: usize, wanted: usize) -> Result<()> {
        if self.places.len() != wanted {
            return Err(error!(InvalidArgument, "{}: {count} given; want {wanted}", self.name));
        }
        Ok(())
    }

    /// Writes the handles.
    pub fn set(&mut self, tensors: &[TensorHandle]) {
        self.places.iter_mut().zip(tensors).for_each(|(place, &tensor)| *place = tensor.into());
    }
}
