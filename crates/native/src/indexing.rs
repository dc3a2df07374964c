//! Operations that read or write at computed indices.

use super::array::Array;
use super::element::{Element, by_width};
use super::shape::{gather, scatter};
use super::walk::{Walk, strides};
use base::error::Result;
use base::types::{DType, TensorType};

/// Slice with the shape of `ty`. Start indices are clamped so that it lies within `x`.
pub fn dynamic_slice(ty: &TensorType, x: &Array, starts: &[&Array]) -> Result<Array> {
    let start = place(&x.ty().dims, &ty.dims, starts);
    let steps = strides(&x.ty().dims);
    let walk = Walk::new(ty.dims.iter().zip(steps).map(|(&size, step)| (size as usize, [step])));
    gather(ty, x, start, &walk)
}

/// Copy of `x` with a slice overwritten by `update`. Start indices are clamped so that the slice lies within `x`.
pub fn dynamic_update_slice(x: &Array, update: &Array, starts: &[&Array]) -> Result<Array> {
    let (ty, part) = (x.ty(), update.ty());
    let start = place(&ty.dims, &part.dims, starts);
    let steps = strides(&part.dims).into_iter().zip(strides(&ty.dims));
    let walk = Walk::new(part.dims.iter().zip(steps).map(|(&size, (from, to))| (size as usize, [from, to])));
    by_width!(ty.dtype, T => Array::write::<T>(ty, |out| {
        scatter(update.elements(), 0, out.copy_mut(x.elements()), start, &walk);
    }))
}

/// Offset of the first element of a slice of shape `part` in an array of shape `dims`.
fn place(dims: &[i64], part: &[i64], starts: &[&Array]) -> usize {
    let steps = strides(dims);
    let start = |axis: usize| clamped(integers(starts[axis])(0), dims[axis] - part[axis]);
    (0..dims.len()).map(|axis| start(axis) * steps[axis]).sum()
}

fn clamped(index: i128, last: i64) -> usize {
    index.clamp(0, last.into()) as usize
}

/// The only element of an integer or pred array of one element.
pub fn integer(x: &Array) -> i128 {
    integers(x)(0)
}

/// Returns a function that reads the element of an integer or pred array at an offset.
pub fn integers(x: &Array) -> impl Fn(usize) -> i128 + '_ {
    let (dtype, size, bytes) = (x.ty().dtype, x.ty().dtype.size_bytes(), x.bytes());
    move |i| {
        let bytes = &bytes[i * size..][..size];
        match dtype {
            DType::S8 => i128::from(bytemuck::pod_read_unaligned::<i8>(bytes)),
            DType::S16 => i128::from(bytemuck::pod_read_unaligned::<i16>(bytes)),
            DType::S32 => i128::from(bytemuck::pod_read_unaligned::<i32>(bytes)),
            DType::S64 => i128::from(bytemuck::pod_read_unaligned::<i64>(bytes)),
            DType::U16 => i128::from(bytemuck::pod_read_unaligned::<u16>(bytes)),
            DType::U32 => i128::from(bytemuck::pod_read_unaligned::<u32>(bytes)),
            DType::U64 => i128::from(bytemuck::pod_read_unaligned::<u64>(bytes)),
            _ => i128::from(bytes[0]),
        }
    }
}

/// Number of indices that are read at a time: their offsets stay in the processor's cache.
const AT_ONCE: usize = 1024;

/// Takes slices of `x` along `axis`. Negative indices count from the end; indices out of bounds are clamped.
pub fn take(ty: &TensorType, axis: usize, x: &Array, indices: &Array) -> Result<Array> {
    let dims = &x.ty().dims;
    let before: i64 = dims[..axis].iter().product();
    let after = dims[axis + 1..].iter().product::<i64>() as usize;
    let (size, count) = (dims[axis], indices.ty().elements());
    by_width!(ty.dtype, T => Array::write::<T>(ty, |out| {
        let (x, mut offsets) = (x.elements::<T>(), [0; AT_ONCE]);
        for i in 0..before as usize {
            let x = &x[i * size as usize * after..][..size as usize * after];
            for start in (0..count).step_by(AT_ONCE) {
                let offsets = &mut offsets[..AT_ONCE.min(count - start)];
                write_offsets(offsets, indices, start, size, after);
                match after {
                    1 => out.generate(offsets.len(), |i| x[offsets[i]]),
                    _ => offsets.iter().for_each(|&offset| out.copy(&x[offset..][..after])),
                }
            }
        }
    }))
}

/// Writes the offsets of the slices, of `after` elements each, that the indices from `start` on take from an axis.
fn write_offsets(offsets: &mut [usize], indices: &Array, start: usize, size: i64, after: usize) {
    fn write<I: Element>(out: &mut [usize], indices: &Array, start: usize, offset: impl Fn(I) -> usize) {
        let indices = &indices.elements::<I>()[start..][..out.len()];
        out.iter_mut().zip(indices).for_each(|(out, &index)| *out = offset(index));
    }
    let signed = |index: i64| (if index < 0 { index + size } else { index }).clamp(0, size - 1) as usize * after;
    let unsigned = |index: u64| index.min(size as u64 - 1) as usize * after;
    match indices.ty().dtype {
        DType::S8 => write(offsets, indices, start, |index: i8| signed(index.into())),
        DType::S16 => write(offsets, indices, start, |index: i16| signed(index.into())),
        DType::S32 => write(offsets, indices, start, |index: i32| signed(index.into())),
        DType::S64 => write(offsets, indices, start, signed),
        DType::U16 => write(offsets, indices, start, |index: u16| unsigned(index.into())),
        DType::U32 => write(offsets, indices, start, |index: u32| unsigned(index.into())),
        DType::U64 => write(offsets, indices, start, unsigned),
        _ => write(offsets, indices, start, |index: u8| unsigned(index.into())),
    }
}
