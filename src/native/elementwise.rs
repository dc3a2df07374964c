//! The drivers of elementwise kernels.

use super::array::Array;
use super::element::{Element, element};
use super::halves::Half;
use super::movement::broadcast_to;
use super::walk::Walk;
use super::writer::Writer;
use crate::error::Result;
use crate::types::{Scalar, TensorType};
use std::mem::MaybeUninit;
use std::ops::Range;

/// A loop over one operand.
pub type Kernel1<A, O> = fn(&[A], &mut Writer<O>);

/// A loop over two operands, which are as long.
pub type Kernel2<A, O> = fn(&[A], &[A], &mut Writer<O>);

/// The same, with what it needs besides.
type Pairwise<'a, A, O> = dyn Fn(&[A], &[A], &mut Writer<O>) + Sync + 'a;

/// How many elements are handled at a time where they are widened or repeated: they stay in the fastest cache.
const BLOCK: usize = 256;

/// From which length of its rows on an array is broadcast without being written out.
const LONG_ROW: usize = 32;

/// What an operation is given.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Of a shape that broadcasts to the result's.
    Array(&'a Array),
    /// For every element.
    Scalar(Scalar),
}

/// An operand as a kernel meets it.
#[derive(Clone, Copy)]
enum Operand<'a, A> {
    /// One element for each of the result.
    All(&'a [A]),
    /// One element for all of the result.
    One(A),
}

impl<'a, A: Element> Operand<'a, A> {
    /// The operand, unless it has to be broadcast along some axes only.
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

/// A kernel of one operand on a whole array.
pub fn map<A: Element, O: Element>(ty: &TensorType, x: &Array, kernel: Kernel1<A, O>) -> Result<Array> {
    let x = x.elements::<A>();
    Array::write_elementwise(ty, &|range, out| kernel(&x[range], out))
}

/// A function of every element.
pub fn each<A: Element, O: Element>(ty: &TensorType, x: &Array, f: &(impl Fn(A) -> O + Sync)) -> Result<Array> {
    let x = x.elements::<A>();
    Array::write_elementwise(ty, &|range, out| out.map(&x[range], f))
}

/// A kernel for floats of 16 bits, of which the kernel sees f32.
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

/// The same for a kernel whose results are rounded to 16 bits.
pub fn map_to_half<A: Element, H: Half>(ty: &TensorType, x: &Array, kernel: Kernel1<A, f32>) -> Result<Array> {
    let x = x.elements::<A>();
    Array::write_elementwise(ty, &|range, out: &mut Writer<H>| {
        for x in x[range].chunks(BLOCK) {
            narrowed(x.len(), out, |out| kernel(x, out));
        }
    })
}

/// A kernel of two operands, which broadcast to `ty`.
pub fn zip<A: Element, O: Element>(ty: &TensorType, a: Source, b: Source, kernel: Kernel2<A, O>) -> Result<Array> {
    drive(ty, a, b, &kernel)
}

/// The same for floats of 16 bits, of which the kernel sees f32; results are left as they are.
pub fn zip_wide<H: Half, O: Element>(ty: &TensorType, a: Source, b: Source, kernel: Kernel2<f32, O>) -> Result<Array> {
    drive::<H, O>(ty, a, b, &|a, b, out| widened(a, b, |a, b| kernel(a, b, out)))
}

/// The same, with results rounded to 16 bits.
pub fn zip_half<H: Half>(ty: &TensorType, a: Source, b: Source, kernel: Kernel2<f32, f32>) -> Result<Array> {
    drive::<H, H>(ty, a, b, &|a, b, out| widened(a, b, |a, b| narrowed(a.len(), out, |out| kernel(a, b, out))))
}

/// Calls `then` with block after block of both, as f32.
fn widened<H: Half>(a: &[H], b: &[H], mut then: impl FnMut(&[f32], &[f32])) {
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let (mut wide_a, mut wide_b) = ([0.0; BLOCK], [0.0; BLOCK]);
        H::widen(a, &mut wide_a[..a.len()]);
        H::widen(b, &mut wide_b[..b.len()]);
        then(&wide_a[..a.len()], &wide_b[..b.len()]);
    }
}

/// Has `count` results written, at most a block, and writes them rounded to 16 bits.
fn narrowed<H: Half>(count: usize, out: &mut Writer<H>, write: impl FnOnce(&mut Writer<f32>)) {
    let mut slots = [MaybeUninit::uninit(); BLOCK];
    let mut results = Writer::new(&mut slots[..count]);
    write(&mut results);
    H::narrow(results.finish(), out);
}

fn drive<A: Element, O: Element>(ty: &TensorType, a: Source, b: Source, kernel: &Pairwise<A, O>) -> Result<Array> {
    let count = ty.elements();
    match (Operand::of(a, count), Operand::of(b, count), a, b) {
        (Some(a), Some(b), ..) => Array::write_elementwise(ty, &|range, out| {
            let count = range.len();
            pair(a.part(range.clone()), b.part(range), count, kernel, out);
        }),
        (_, _, Source::Array(a), Source::Array(b)) => by_rows(ty, a, b, kernel),
        _ => unreachable!("the operand that a scalar meets has the result's shape"),
    }
}

/// Arrays of which at least one is broadcast along some axes.
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

/// A row of an operand that is broadcast.
fn along<A: Element>(all: &[A], start: usize, step: usize, row: usize) -> Operand<'_, A> {
    if step == 0 { Operand::One(all[start]) } else { Operand::All(&all[start..start + row]) }
}

/// Applies a kernel, which knows slices only: one element is repeated as often as a block needs.
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

/// Calls `then` with range after range of `count`, and as many copies of `one`.
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
