//! Output arguments: a single value, several values, or a list of tensors. All are validated before the call has any
//! effect, and written only on success.

use super::arguments::{Out, optional_out, out, slice_mut};
use crate::capi::types::lxla_tensor;
use crate::device::{TensorHandle, release};
use crate::error;
use crate::error::Result;

/// Output arguments of a function that returns values of type `V`.
pub trait Outputs<V> {
    /// Returns an error that names the argument if one of the outputs cannot be written.
    fn check(&self) -> Result<()>;

    /// Writes the values.
    fn set(self, values: V) -> Result<()>;
}

/// A required output argument.
pub struct Output<T> {
    name: &'static str,
    pointer: *mut T,
}

/// Names a required output argument, which is validated later.
#[inline]
pub unsafe fn output<T>(name: &'static str, pointer: *mut T) -> Output<T> {
    Output { name, pointer }
}

impl<T> Output<T> {
    #[inline]
    fn checked(&self) -> Result<Out<T>> {
        // SAFETY: `output` was given the caller's promise.
        unsafe { out(self.name, self.pointer) }
    }
}

impl<T: From<V>, V> Outputs<V> for Output<T> {
    #[inline]
    fn check(&self) -> Result<()> {
        self.checked()?;
        Ok(())
    }

    #[inline]
    fn set(self, value: V) -> Result<()> {
        self.checked()?.set(value.into())
    }
}

impl<O: Outputs<V>, V, const N: usize> Outputs<[V; N]> for [O; N] {
    fn check(&self) -> Result<()> {
        self.iter().try_for_each(|output| output.check())
    }

    fn set(self, values: [V; N]) -> Result<()> {
        self.into_iter().zip(values).try_for_each(|(output, value)| output.set(value))
    }
}

impl<A: Outputs<V>, B: Outputs<W>, V, W> Outputs<(V, W)> for (A, B) {
    fn check(&self) -> Result<()> {
        self.0.check()?;
        self.1.check()
    }

    fn set(self, values: (V, W)) -> Result<()> {
        self.0.set(values.0)?;
        self.1.set(values.1)
    }
}

/// An output tensor that the caller leaves out by NULL.
pub struct OptionalOutput {
    name: &'static str,
    pointer: *mut lxla_tensor,
}

/// Names an optional output tensor, which is validated later.
pub unsafe fn optional_output(name: &'static str, pointer: *mut lxla_tensor) -> OptionalOutput {
    OptionalOutput { name, pointer }
}

impl OptionalOutput {
    /// Whether the caller wants the output.
    pub fn is_wanted(&self) -> bool {
        !self.pointer.is_null()
    }

    fn checked(&self) -> Result<Option<Out<lxla_tensor>>> {
        // SAFETY: `optional_output` was given the caller's promise.
        unsafe { optional_out(self.name, self.pointer) }
    }
}

/// Releases a tensor for which the caller passed NULL.
impl Outputs<Option<TensorHandle>> for OptionalOutput {
    fn check(&self) -> Result<()> {
        self.checked()?;
        Ok(())
    }

    fn set(self, tensor: Option<TensorHandle>) -> Result<()> {
        match (self.checked()?, tensor) {
            (Some(output), Some(tensor)) => output.set(tensor.into()),
            (None, Some(tensor)) => release(tensor),
            (_, None) => Ok(()),
        }
    }
}

/// A list of output tensors.
pub struct OutputTensors {
    name: &'static str,
    start: *mut lxla_tensor,
    n: usize,
}

/// Names a list of `n` output tensors, which is validated later.
pub unsafe fn output_tensors(name: &'static str, start: *mut lxla_tensor, n: usize) -> OutputTensors {
    OutputTensors { name, start, n }
}

impl OutputTensors {
    fn checked<'a>(&self) -> Result<&'a mut [lxla_tensor]> {
        // SAFETY: `output_tensors` was given the caller's promise.
        unsafe { slice_mut(self.name, self.start, self.n) }
    }
}

impl Outputs<Vec<TensorHandle>> for OutputTensors {
    fn check(&self) -> Result<()> {
        self.checked()?;
        Ok(())
    }

    fn set(self, tensors: Vec<TensorHandle>) -> Result<()> {
        self.checked()?.iter_mut().zip(tensors).for_each(|(output, tensor)| *output = tensor.into());
        Ok(())
    }
}

/// Returns an error that names a list of outputs unless it has `wanted` entries.
pub fn check_count(name: &str, given: usize, wanted: usize) -> Result<()> {
    if given != wanted {
        return Err(error!(InvalidArgument, "{name}: {given} given; want {wanted}"));
    }
    Ok(())
}
