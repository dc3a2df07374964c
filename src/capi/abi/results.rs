//! Output arguments: a single value, several values, or a list. All are validated before the call has any effect, and
//! written only on success.

use super::options::{Options, check_size};
use super::pointers::{CheckedOut, Out, OutList};
use super::types::lxla_tensor;
use crate::device::{TensorHandle, release};
use base::error;
use base::error::Result;

/// Output arguments of a function that returns values of type `V`.
pub trait Outputs<V> {
    /// Returns an error that names the argument if one of the outputs cannot be written.
    fn check(&self) -> Result<()>;

    /// Writes the values.
    fn set(self, values: V) -> Result<()>;
}

impl<'a, T> Out<'a, T> {
    /// A required output with the name of its argument.
    #[inline]
    pub fn named(self, name: &'static str) -> Output<'a, T> {
        Output { name, place: self }
    }

    /// A struct with `struct_size`, of which as many bytes are written.
    pub fn versioned(self, name: &'static str) -> VersionedOutput<'a, T> {
        VersionedOutput { name, place: self }
    }
}

impl<'a, T> OutList<'a, T> {
    /// A list of `n` outputs. `n` must be the argument that the header documents as their number.
    #[inline]
    pub fn list(self, name: &'static str, n: usize) -> OutputList<'a, T> {
        OutputList { name, start: self, n }
    }
}

impl<'a> Out<'a, lxla_tensor> {
    /// An output tensor that the caller leaves out by NULL.
    pub fn optional(self, name: &'static str) -> OptionalOutput<'a> {
        OptionalOutput { name, place: self }
    }
}

/// A required output argument.
pub struct Output<'a, T> {
    name: &'static str,
    place: Out<'a, T>,
}

impl<T: From<V>, V> Outputs<V> for Output<'_, T> {
    #[inline]
    fn check(&self) -> Result<()> {
        self.place.checked(self.name)?;
        Ok(())
    }

    #[inline]
    fn set(self, value: V) -> Result<()> {
        self.place.set(self.name, value.into())
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
pub struct OptionalOutput<'a> {
    name: &'static str,
    place: Out<'a, lxla_tensor>,
}

impl OptionalOutput<'_> {
    /// Whether the caller wants the output.
    pub fn is_wanted(&self) -> bool {
        !self.place.is_null()
    }
}

/// Releases a tensor for which the caller passed NULL.
impl Outputs<Option<TensorHandle>> for OptionalOutput<'_> {
    fn check(&self) -> Result<()> {
        self.place.checked_if_given(self.name)?;
        Ok(())
    }

    fn set(self, tensor: Option<TensorHandle>) -> Result<()> {
        match (self.place.checked_if_given(self.name)?, tensor) {
            (Some(place), Some(tensor)) => place.fill([tensor.into()]),
            (None, Some(tensor)) => release(tensor)?,
            (_, None) => {}
        }
        Ok(())
    }
}

/// A list of outputs.
pub struct OutputList<'a, T> {
    name: &'static str,
    start: OutList<'a, T>,
    n: usize,
}

impl<'a, T> OutputList<'a, T> {
    fn checked(&self) -> Result<CheckedOut<'a, T>> {
        self.start.checked_list(self.name, self.n)
    }
}

impl<T: From<L::Item>, L: IntoIterator> Outputs<L> for OutputList<'_, T> {
    fn check(&self) -> Result<()> {
        self.checked()?;
        Ok(())
    }

    fn set(self, values: L) -> Result<()> {
        self.checked()?.fill(values.into_iter().map(T::from));
        Ok(())
    }
}

/// A struct of which `struct_size` bytes are written, as the caller set it.
pub struct VersionedOutput<'a, T> {
    name: &'static str,
    place: Out<'a, T>,
}

impl<T: Options> VersionedOutput<'_, T> {
    /// Returns the caller's `struct_size`.
    fn size(&self) -> Result<usize> {
        self.place.checked(self.name)?;
        // SAFETY: checked just now; only the first field is read, which the caller has set.
        let size = unsafe { self.place.address().cast::<usize>().read() };
        check_size::<T>(self.name, size)?;
        Ok(size)
    }
}

/// Keeps the caller's `struct_size`.
impl<T: Options> Outputs<T> for VersionedOutput<'_, T> {
    fn check(&self) -> Result<()> {
        self.size()?;
        Ok(())
    }

    fn set(self, value: T) -> Result<()> {
        let (head, known) = (size_of::<usize>(), self.size()?.min(size_of::<T>()));
        let (from, to) = ((&raw const value).cast::<u8>(), self.place.address().cast::<u8>());
        // SAFETY: the caller promises that its struct has `struct_size` bytes, and the source has at least `known`.
        unsafe { std::ptr::copy_nonoverlapping(from.add(head), to.add(head), known - head) };
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
