//! Drivers of elementwise kernels: they broadcast, convert 16-bit floats and use several threads.

use super::array::Array;
use super::element::{Element, element};
use super::half_floats::Half;
use super::shape::broadcast_to;
use super::walk::Walk;
use super::writer::Writer;
use base::error::Result;
use base::types::{Scalar, TensorType};
use std::mem::MaybeUninit;
use std::ops::Range;

/// A loop over one operand.
pub type Kernel1<A, O> = fn(&[A], &mut Writer<O>);

/// A loop over two operands of the same length.
pub type Kernel2<A, O> = fn(&[A], &[A], &mut Writer<O>);

/// Like [`Kernel2`], as a closure.
type Pairwise<'a, A, O> = dyn Fn(&[A], &[A], &mut Writer<O>) + Sync + 'a;

/// Number of elements that are widened or repeated at a time; a block stays in the L1 cache.
const BLOCK: usize = 256;

/// A broadcast operand is read in place if its rows have at least this many elements; otherwise it is expanded first.
const LONG_ROW: usize = 32;

/// An operand of an elementwise operation.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// An array whose shape broadcasts to that of the result.
    Array(&'a Array),
    /// A scalar, used for every element.
    Scalar(Scalar),
}

/// An operand as the kernels take it.
#[derive(Clone, Copy)]
enum Operand<'a, A> {
    /// One element for each element of the result.
    All(&'a [A]),
    /// The same element for all elements of the result.
    One(A),
}

impl<'a, A: Element> Operand<'a, A> {
    /// Returns None if the operand must be broadcast along some axes only.
    fn of(source: Source<'a>, elements: usize) -> Option<Operand<'a, A>> {
        match source {
            Source::Scalar(scalar) => Some(Operand::One(element(&scalar))),
            Source::Array(x) => match x.elements::<A>() {
                all if all.len() == elements => Some(Operand::All(all)),
                [one] => Some(Operand::One(*one)),
                _ => None,
            },
        }
    }

    fn part(self, range: Range<usize>) -> Operand<'a, A> {
        match self {
            Operand::All(all) => Operand::All(&all[range]),
            one => one,
        }
    }
}

/// Applies a kernel with one operand to a whole array.
pub fn map<A: Element, O: Element>(ty: &TensorType, x: &Array, kernel: Kernel1<A, O>) -> Result<Array> {
    let x = x.elements::<A>();
    if x.len() <= BLOCK {
        return Array::write(ty, |out| kernel(x, out));
    }
    Array::write_elementwise(ty, &|range, out| kernel(&x[range], out))
}

/// Applies a function to each element.
pub fn each<A: Element, O: Element>(ty: &TensorType, x: &Array, f: &(impl Fn(A) -> O + Sync)) -> Result<Array> {
    let x = x.elements::<A>();
    Array::write_elementwise(ty, &|range, out| out.map(&x[range], f))
}

/// Like [`map`] for 16-bit floats, with a kernel on f32.
pub fn map_half<H: Half>(ty: &TensorType, x: &Array, kernel: Kernel1<f32, f32>) -> Result<Array> {
    let x = x.elements::<H>();
    Array::write_elementwise(ty, &|range, out: &mut Writer<H>| {
        for x in x[range].chunks(BLOCK) {
            let mut wide = [0.0; BLOCK];
            H::widen(x, &mut wide[..x.len()]);
            narrowed(x.len(), out, |out| kernel(&wide[..x.len()], out));
        }
    })
}

/// Like [`map`] for a kernel whose f32 results are rounded to 16 bits.
pub fn map_to_half<A: Element, H: Half>(ty: &TensorType, x: &Array, kernel: Kernel1<A, f32>) -> Result<Array> {
    let x = x.elements::<A>();
    Array::write_elementwise(ty, &|range, out: &mut Writer<H>| {
        for x in x[range].chunks(BLOCK) {
            narrowed(x.len(), out, |out| kernel(x, out));
        }
    })
}

/// Applies a kernel with two operands, which broadcast to `ty`.
pub fn zip<A: Element, O: Element>(ty: &TensorType, a: Source, b: Source, kernel: Kernel2<A, O>) -> Result<Array> {
    drive(ty, a, b, &kernel)
}

/// Like [`zip`] for 16-bit floats, with a kernel that takes f32; its results are not converted.
pub fn zip_wide<H: Half, O: Element>(ty: &TensorType, a: Source, b: Source, kernel: Kernel2<f32, O>) -> Result<Array> {
    drive::<H, O>(ty, a, b, &|a, b, out| widened(a, b, |a, b| kernel(a, b, out)))
}

/// Like [`zip_wide`], with the results rounded to 16 bits.
pub fn zip_half<H: Half>(ty: &TensorType, a: Source, b: Source, kernel: Kernel2<f32, f32>) -> Result<Array> {
    drive::<H, H>(ty, a, b, &|a, b, out| widened(a, b, |a, b| narrowed(a.len(), out, |out| kernel(a, b, out))))
}

/// Converts both operands to f32 block by block, and calls `then` for each block.
fn widened<H: Half>(a: &[H], b: &[H], mut then: impl FnMut(&[f32], &[f32])) {
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let (mut wide_a, mut wide_b) = ([0.0; BLOCK], [0.0; BLOCK]);
        H::widen(a, &mut wide_a[..a.len()]);
        H::widen(b, &mut wide_b[..b.len()]);
        then(&wide_a[..a.len()], &wide_b[..b.len()]);
    }
}

/// Lets `write` produce `count` f32 results (at most one block), and writes them rounded to 16 bits.
fn narrowed<H: Half>(count: usize, out: &mut Writer<H>, write: impl FnOnce(&mut Writer<f32>)) {
    let mut slots = [MaybeUninit::uninit(); BLOCK];
    let mut results = Writer::new(&mut slots[..count]);
    write(&mut results);
    H::narrow(results.finish(), out);
}

fn drive<A: Element, O: Element>(ty: &TensorType, a: Source, b: Source, kernel: &Pairwise<A, O>) -> Result<Array> {
    let count = ty.elements();
    if let (Source::Array(a), Source::Array(b)) = (a, b) {
        let (a, b) = (a.elements::<A>(), b.elements::<A>());
        // The common case of small arrays, without the closure and the ranges of pieces.
        if count <= BLOCK && a.len() == count && b.len() == count {
            return Array::write(ty, |out| kernel(a, b, out));
        }
    }
    match (Operand::of(a, count), Operand::of(b, count), a, b) {
        (Some(a), Some(b), ..) => Array::write_elementwise(ty, &|range, out| {
            let count = range.len();
            pair(a.part(range.clone()), b.part(range), count, kernel, out);
        }),
        (_, _, Source::Array(a), Source::Array(b)) => by_rows(ty, a, b, kernel),
        _ => unreachable!("the operand that a scalar meets has the result's shape"),
    }
}

/// Applies a kernel row by row to arrays of which at least one is broadcast along some axes only.
fn by_rows<A: Element, O: Element>(ty: &TensorType, a: &Array, b: &Array, kernel: &Pairwise<A, O>) -> Result<Array> {
    let walk = Walk::broadcasts(&ty.dims, [&a.ty().dims, &b.ty().dims]);
    let (all_a, all_b) = (a.elements::<A>(), b.elements::<A>());
    let (row, [step_a, step_b]) = (walk.row(), walk.steps());
    if row < LONG_ROW {
        let wide = |x: &Array| broadcast_to(x, &TensorType { dtype: x.ty().dtype, dims: ty.dims.clone() });
        let (a, b) = (wide(a)?, wide(b)?);
        let (a, b) = (a.elements::<A>(), b.elements::<A>());
        return Array::write_elementwise(ty, &|range, out| kernel(&a[range.clone()], &b[range], out));
    }
    Array::write(ty, |out| {
        walk.each_row(|[a, b]| {
            pair(along(all_a, a, step_a, row), along(all_b, b, step_b, row), row, kernel, out);
        });
    })
}

/// A row of a broadcast operand.
fn along<A: Element>(all: &[A], start: usize, step: usize, row: usize) -> Operand<'_, A> {
    if step == 0 { Operand::One(all[start]) } else { Operand::All(&all[start..start + row]) }
}

/// Applies a kernel to two operands. Kernels take slices only, so a single element is repeated, a block at a time.
fn pair<A: Element, O: Element>(
    a: Operand<A>,
    b: Operand<A>,
    count: usize,
    kernel: &Pairwise<A, O>,
    out: &mut Writer<O>,
) {
    match (a, b) {
        (Operand::All(a), Operand::All(b)) => kernel(a, b, out),
        (Operand::All(a), Operand::One(b)) => repeated(b, count, |range, b| kernel(&a[range], b, out)),
        (Operand::One(a), Operand::All(b)) => repeated(a, count, |range, a| kernel(a, &b[range], out)),
        (Operand::One(a), Operand::One(b)) => {
            repeated(a, count, |_, a| repeated(b, a.len(), |range, b| kernel(&a[range], b, out)));
        }
    }
}

/// Calls `then` for consecutive ranges of `0..count`, with as many copies of `one` as the range has elements.
#[inline]
fn repeated<A: Element>(one: A, count: usize, mut then: impl FnMut(Range<usize>, &[A])) {
    if count <= 16 {
        return then(0..count, &[one; 16][..count]);
    }
    let block = [one; BLOCK];
    let mut start = 0;
    while start < count {
        let end = count.min(start + BLOCK);
        then(start..end, &block[..end - start]);
        start = end;
    }
}
