//! An array in memory for a larger one: programs for a bound compute with buffers of the bound, whose elements behind
//! the array's own have no meaning. Outside of such programs the buffer is the array.

use super::{Buffer, HostCopy, Tell};
use base::allocation::zeroed_bytes;
use base::error;
use base::error::{Error, Result};
use base::types::{DType, Dims, SharedBytes, TensorType};
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// A digit of a position along an axis: the number of its values, and the number for which there is memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// Number of values of the array.
    pub size: i64,
    /// Number of values in memory; at least `size`.
    pub bound: i64,
}

/// Layout of an array in the memory of a larger array, in row-major order. A position along an axis is split into digits,
/// of which the last one varies fastest: one digit for a plain axis, several for an axis that merges several padded axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Padding {
    /// Digits of each axis.
    pub axes: Vec<SmallVec<[Digit; 1]>>,
}

impl Padding {
    /// Dimensions of the array.
    pub fn sizes(&self) -> Dims {
        self.axes.iter().map(|digits| digits.iter().map(|digit| digit.size).product()).collect()
    }

    /// Dimensions in memory.
    pub fn bounds(&self) -> Dims {
        self.axes.iter().map(|digits| digits.iter().map(|digit| digit.bound).product()).collect()
    }

    /// Whether the array fills the memory.
    pub fn is_none(&self) -> bool {
        self.axes.iter().flatten().all(|digit| digit.size == digit.bound)
    }

    /// Whether the elements of the array are the first ones in memory.
    fn is_at_the_start(&self) -> bool {
        let mut digits = self.axes.iter().flatten().skip_while(|digit| digit.bound == 1);
        digits.next();
        digits.all(|digit| digit.size == digit.bound)
    }

    /// Returns the elements of the array, which are scattered in the memory of the larger one.
    fn cut(&self, dtype: DType, padded: &[u8]) -> Result<Vec<u8>> {
        let mut array = zeroed_bytes(TensorType::new(dtype, &self.sizes()).size_bytes())?;
        self.cut_into(dtype, padded, &mut array);
        Ok(array)
    }

    fn cut_into(&self, dtype: DType, padded: &[u8], array: &mut [u8]) {
        self.each_run(dtype.size_bytes(), |inside, outside, bytes| {
            array[inside..inside + bytes].copy_from_slice(&padded[outside..outside + bytes]);
        });
    }

    /// Returns the memory of the larger array with these elements; the other ones are 0.
    pub fn padded(&self, dtype: DType, array: &[u8]) -> Result<Vec<u8>> {
        let mut padded = zeroed_bytes(TensorType::new(dtype, &self.bounds()).size_bytes())?;
        self.each_run(dtype.size_bytes(), |inside, outside, bytes| {
            padded[outside..outside + bytes].copy_from_slice(&array[inside..inside + bytes]);
        });
        Ok(padded)
    }

    /// Calls `copy` for each longest run of bytes that is contiguous in both arrays, with its offset in the array, its
    /// offset in the memory of the larger one, and its length.
    fn each_run(&self, element: usize, mut copy: impl FnMut(usize, usize, usize)) {
        let digits: Vec<Digit> = self.axes.iter().flatten().copied().collect();
        if digits.iter().any(|digit| digit.size == 0) {
            return;
        }
        // A run covers the last digit that is padded, and all digits after it.
        let cut = digits.iter().rposition(|digit| digit.size != digit.bound).unwrap_or(0);
        let product = |sizes: &mut dyn Iterator<Item = i64>| sizes.product::<i64>() as usize;
        let run = element * product(&mut digits[cut.min(digits.len())..].iter().map(|digit| digit.size));
        let mut strides = vec![element; digits.len()];
        for digit in (1..digits.len()).rev() {
            strides[digit - 1] = strides[digit] * digits[digit].bound as usize;
        }
        let mut index = vec![0; cut];
        let mut outside = 0;
        for start in 0..product(&mut digits[..cut].iter().map(|digit| digit.size)) {
            copy(start * run, outside, run);
            for digit in (0..cut).rev() {
                index[digit] += 1;
                outside += strides[digit];
                if index[digit] < digits[digit].size {
                    break;
                }
                outside -= strides[digit] * digits[digit].size as usize;
                index[digit] = 0;
            }
        }
    }
}

/// A buffer of a larger array that holds an array.
pub struct PaddedBuffer {
    ty: TensorType,
    padding: Padding,
    memory: Arc<dyn Buffer>,
}

impl PaddedBuffer {
    /// Creates the array of type `ty` in this memory. INTERNAL if the types are not as the padding says.
    pub fn new(ty: TensorType, padding: Padding, memory: Arc<dyn Buffer>) -> Result<Arc<PaddedBuffer>> {
        let bound = TensorType::new(ty.dtype, &padding.bounds());
        if padding.sizes() != ty.dims || *memory.tensor_type() != bound {
            return Err(error!(Internal, "{ty} is not in memory of {} by {padding:?}", memory.tensor_type()));
        }
        Ok(Arc::new(PaddedBuffer { ty, padding, memory }))
    }

    /// Layout of the array in the memory.
    pub fn padding(&self) -> &Padding {
        &self.padding
    }

    /// Buffer of the larger array.
    pub fn memory(&self) -> &Arc<dyn Buffer> {
        &self.memory
    }
}

/// Returns the content of a buffer, row-major. Waits for it. Does not copy it if it is in host memory.
pub fn with_content<T>(buffer: &Arc<dyn Buffer>, work: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    match buffer.clone().share()? {
        Some(memory) => work(memory.bytes()),
        None => work(buffer.clone().start_host_copy()?.bytes()?),
    }
}

impl Buffer for PaddedBuffer {
    fn tensor_type(&self) -> &TensorType {
        &self.ty
    }

    fn device(&self) -> usize {
        self.memory.device()
    }

    fn is_deleted(&self) -> bool {
        self.memory.is_deleted()
    }

    fn is_ready_by(&self, deadline: Instant) -> bool {
        self.memory.is_ready_by(deadline)
    }

    fn failure(&self) -> Option<Error> {
        self.memory.failure()
    }

    fn when_ready(&self, tell: Tell) {
        self.memory.when_ready(tell);
    }

    fn read(&self, destination: &mut [u8]) -> Result<()> {
        if destination.len() != self.ty.size_bytes() {
            return Err(error!(Internal, "read of {} into {} bytes", self.ty, destination.len()));
        }
        with_content(&self.memory, |padded| {
            self.padding.cut_into(self.ty.dtype, padded, destination);
            Ok(())
        })
    }

    fn start_host_copy(self: Arc<Self>) -> Result<Box<dyn HostCopy>> {
        let copy = self.memory.clone().start_host_copy()?;
        Ok(Box::new(Cut { buffer: self, copy, array: None }))
    }

    fn share(self: Arc<Self>) -> Result<Option<Arc<dyn SharedBytes>>> {
        let Some(memory) = self.memory.clone().share()? else { return Ok(None) };
        if self.padding.is_at_the_start() {
            return Ok(Some(Arc::new(Start { memory, bytes: self.ty.size_bytes() })));
        }
        let array = self.padding.cut(self.ty.dtype, memory.bytes())?;
        Ok(Some(Arc::new(Copied(array))))
    }

    fn copy_to_device(&self, device: usize) -> Result<Arc<dyn Buffer>> {
        let memory = self.memory.copy_to_device(device)?;
        Ok(PaddedBuffer::new(self.ty.clone(), self.padding.clone(), memory)?)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The first bytes of shared memory.
struct Start {
    memory: Arc<dyn SharedBytes>,
    bytes: usize,
}

// SAFETY: a part of the memory, which upholds the contract.
unsafe impl SharedBytes for Start {
    fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[..self.bytes]
    }
}

/// The array, cut out of memory in which it is scattered.
struct Copied(Vec<u8>);

// SAFETY: nothing changes the bytes, which live as long as the value.
unsafe impl SharedBytes for Copied {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A copy of the larger array in flight, and then the array.
struct Cut {
    buffer: Arc<PaddedBuffer>,
    copy: Box<dyn HostCopy>,
    array: Option<Vec<u8>>,
}

impl HostCopy for Cut {
    fn bytes(&mut self) -> Result<&[u8]> {
        if self.array.is_none() {
            let PaddedBuffer { ty, padding, .. } = &*self.buffer;
            self.array = Some(padding.cut(ty.dtype, self.copy.bytes()?)?);
        }
        Ok(self.array.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padding(axes: &[&[(i64, i64)]]) -> Padding {
        let digits = |axis: &&[(i64, i64)]| axis.iter().map(|&(size, bound)| Digit { size, bound }).collect();
        Padding { axes: axes.iter().map(digits).collect() }
    }

    /// Cuts the numbers of the memory's positions out, and compares them with those that the digits name.
    fn check(axes: &[&[(i64, i64)]]) -> Vec<u8> {
        let padding = padding(axes);
        let bound: i64 = padding.bounds().iter().product();
        let memory: Vec<u8> = (0..bound as u8).collect();
        let array = padding.cut(DType::U8, &memory).unwrap();
        assert!(memory.starts_with(&array) || !padding.is_at_the_start());
        assert_eq!(array.len() as i64, padding.sizes().iter().product::<i64>());
        let mut positions = vec![0i64];
        for digit in padding.axes.iter().flatten() {
            let longer = |&position: &i64| (0..digit.size).map(move |value| position * digit.bound + value);
            positions = positions.iter().flat_map(longer).collect();
        }
        assert_eq!(array.iter().map(|&byte| i64::from(byte)).collect::<Vec<_>>(), positions);
        let back = padding.padded(DType::U8, &array).unwrap();
        assert_eq!((back.len() as i64, padding.cut(DType::U8, &back).unwrap()), (bound, array.clone()));
        array
    }

    #[test]
    fn elements_lie_where_the_digits_say() {
        assert_eq!(check(&[&[(2, 3)], &[(2, 4)]]), [0, 1, 4, 5]);
        assert_eq!(check(&[&[(2, 3), (2, 4)]]), [0, 1, 4, 5]);
        check(&[&[(3, 3)], &[(4, 5)]]);
        check(&[&[(2, 5)], &[(4, 4)]]);
        check(&[&[(1, 2)], &[(2, 3), (3, 3)], &[(1, 4)]]);
        check(&[&[(5, 5)]]);
        check(&[]);
        assert_eq!(check(&[&[(0, 5)], &[(3, 3)]]), [0; 0]);
        assert!(padding(&[&[(1, 1)], &[(2, 5), (4, 4)], &[(3, 3)]]).is_at_the_start());
        assert!(!padding(&[&[(2, 2)], &[(2, 5)]]).is_at_the_start() && padding(&[]).is_at_the_start());
    }
}
