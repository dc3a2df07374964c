//! Operations that read or write at computed indices.

use super::array::Array;
use super::element::by_width;
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

/// Takes slices of `x` along `axis`. Negative indices count from the end; indices out of bounds are clamped.
pub fn take(ty: &TensorType, axis: usize, x: &Array, indices: &Array) -> Result<Array> {
    let dims = &x.ty().dims;
    let before: i64 = dims[..axis].iter().product();
    let after = dims[axis + 1..].iter().product::<i64>() as usize;
    let size = dims[axis];
    let index = integers(indices);
    let places: Vec<usize> = (0..indices.ty().elements())
        .map(|i| {
            let index = index(i);
            clamped(if index < 0 { index + i128::from(size) } else { index }, size - 1) * after
        })
        .collect();
    by_width!(ty.dtype, T => Array::write::<T>(ty, |out| {
        let x = x.elements::<T>();
        for i in 0..before as usize {
            let x = &x[i * size as usize * after..];
            match after {
                1 => out.generate(places.len(), |i| x[places[i]]),
                _ => places.iter().for_each(|&place| out.copy(&x[place..][..after])),
            }
        }
    }))
}
