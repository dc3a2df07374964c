//! Initialization of memory from front to back, each element once.

use super::element::Element;
use super::wide::{wide, widest};
use std::mem::MaybeUninit;
use std::ops::{BitAnd, BitOr, Not};

/// Initializes slots from the front. `written` is increased only here, and only after the slots are initialized, so
/// that [`Writer::finish`] proves that none was left out.
pub struct Writer<'a, T> {
    slots: &'a mut [MaybeUninit<T>],
    /// Number of initialized slots at the front.
    written: usize,
}

/// Elements among which [`Writer::choose`] chooses.
pub trait Side<T> {
    /// True if at least `count` elements are left.
    fn has(&self, count: usize) -> bool;
    /// The elements in order.
    fn all(&self) -> impl Iterator<Item = T>;
}

/// The same element for all places.
pub struct One<T>(pub T);

impl<T: Copy> Side<T> for &[T] {
    fn has(&self, count: usize) -> bool {
        self.len() == count
    }

    #[inline(always)]
    fn all(&self) -> impl Iterator<Item = T> {
        self.iter().copied()
    }
}

impl<T: Copy> Side<T> for One<T> {
    fn has(&self, _: usize) -> bool {
        true
    }

    #[inline(always)]
    fn all(&self) -> impl Iterator<Item = T> {
        std::iter::repeat(self.0)
    }
}

impl<'a, T: Element> Writer<'a, T> {
    /// Creates a writer for slots of which none is initialized.
    pub fn new(slots: &'a mut [MaybeUninit<T>]) -> Writer<'a, T> {
        Writer { slots, written: 0 }
    }

    /// Creates a writer that replaces elements. What it does not write keeps its value.
    pub fn over(elements: &'a mut [T]) -> Writer<'a, T> {
        // SAFETY: `MaybeUninit<T>` has the layout of `T`. Writers write initialized elements only.
        let slots = unsafe { &mut *(std::ptr::from_mut(elements) as *mut [MaybeUninit<T>]) };
        Writer::new(slots)
    }

    /// Number of slots that are not yet initialized.
    pub fn remaining(&self) -> usize {
        self.slots.len() - self.written
    }

    /// Returns the elements. Panics unless all slots are initialized.
    pub fn finish(self) -> &'a mut [T] {
        assert_eq!(self.written, self.slots.len(), "elements written, and elements of the array");
        // SAFETY: all slots are initialized.
        unsafe { assume_written(self.slots) }
    }

    #[inline(always)]
    fn next(&mut self, count: usize) -> &mut [MaybeUninit<T>] {
        &mut self.slots[self.written..][..count]
    }

    // The closures are `move`. If they captured `f` by reference, LLVM would assume that each write may change the
    // values that `f` captured, and would not vectorize the loops.

    /// Writes `f` of each element.
    #[inline(always)]
    pub fn map<A: Copy>(&mut self, x: &[A], f: impl Fn(A) -> T) {
        let out = self.next(x.len());
        wide(
            #[inline(always)]
            move || {
                for (out, &x) in out.iter_mut().zip(x) {
                    out.write(f(x));
                }
            },
        );
        self.written += x.len();
    }

    /// Like [`Writer::map`], for an `f` that takes longer than moving its elements.
    #[inline(always)]
    pub fn compute<A: Copy>(&mut self, x: &[A], f: impl Fn(A) -> T) {
        let out = self.next(x.len());
        widest(
            #[inline(always)]
            move || {
                for (out, &x) in out.iter_mut().zip(x) {
                    out.write(f(x));
                }
            },
        );
        self.written += x.len();
    }

    /// Writes `f` of each pair of elements. Panics unless both slices have the same length.
    #[inline(always)]
    pub fn zip<A: Copy, B: Copy>(&mut self, a: &[A], b: &[B], f: impl Fn(A, B) -> T) {
        assert_eq!(a.len(), b.len(), "elements of the operands");
        let out = self.next(a.len());
        wide(
            #[inline(always)]
            move || {
                for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
                    out.write(f(a, b));
                }
            },
        );
        self.written += a.len();
    }

    /// Like [`Writer::zip`], for an `f` that takes longer than moving its elements.
    #[inline(always)]
    pub fn compute_two<A: Copy, B: Copy>(&mut self, a: &[A], b: &[B], f: impl Fn(A, B) -> T) {
        assert_eq!(a.len(), b.len(), "elements of the operands");
        let out = self.next(a.len());
        widest(
            #[inline(always)]
            move || {
                for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
                    out.write(f(a, b));
                }
            },
        );
        self.written += a.len();
    }

    /// Like [`Writer::compute_two`] with three operands.
    #[inline(always)]
    pub fn compute_three<A: Copy, B: Copy>(&mut self, a: &[A], b: &[B], c: &[B], f: impl Fn(A, B, B) -> T) {
        assert!(a.len() == b.len() && a.len() == c.len(), "elements of the operands");
        let out = self.next(a.len());
        widest(
            #[inline(always)]
            move || {
                for (out, ((&a, &b), &c)) in out.iter_mut().zip(a.iter().zip(b).zip(c)) {
                    out.write(f(a, b, c));
                }
            },
        );
        self.written += a.len();
    }

    /// Writes the element of `a` where `pred` is not 0, else that of `b`. Panics unless all slices have the same
    /// length. The bits of both are combined by a mask: LLVM compiles a choice between two elements to a branch.
    pub fn choose(&mut self, pred: &[u8], a: impl Side<T>, b: impl Side<T>)
    where
        T: BitAnd<Output = T> + BitOr<Output = T> + Not<Output = T>,
    {
        assert!(a.has(pred.len()) && b.has(pred.len()), "elements of the operands");
        let out = self.next(pred.len());
        wide(
            #[inline(always)]
            || {
                for (out, ((&pred, a), b)) in out.iter_mut().zip(pred.iter().zip(a.all()).zip(b.all())) {
                    let mask = if pred != 0 { !T::zeroed() } else { T::zeroed() };
                    out.write((a & mask) | (b & !mask));
                }
            },
        );
        self.written += pred.len();
    }

    /// Writes `f(0)`, `f(1)`, ..., `f(count - 1)`.
    #[inline(always)]
    pub fn generate(&mut self, count: usize, mut f: impl FnMut(usize) -> T) {
        for (i, out) in self.next(count).iter_mut().enumerate() {
            out.write(f(i));
        }
        self.written += count;
    }

    /// Writes `count` copies of a value.
    pub fn repeat(&mut self, value: T, count: usize) {
        self.repeat_mut(value, count);
    }

    /// Writes `count` copies of a value and returns them for modification.
    pub fn repeat_mut(&mut self, value: T, count: usize) -> &mut [T] {
        self.next(count).fill(MaybeUninit::new(value));
        self.just_written(count)
    }

    /// Writes copies of all elements.
    pub fn copy(&mut self, x: &[T]) {
        self.copy_mut(x);
    }

    /// Writes copies of all elements and returns them for modification.
    pub fn copy_mut(&mut self, x: &[T]) -> &mut [T] {
        self.next(x.len()).copy_from_slice(as_slots(x));
        self.just_written(x.len())
    }

    /// Lets `fill` write the bits of the next `count` elements as those of another type of the same layout. Panics
    /// unless it writes all of them.
    pub fn write_as<A: Element>(&mut self, count: usize, fill: impl FnOnce(&mut Writer<A>)) {
        assert_eq!((size_of::<A>(), align_of::<A>()), (size_of::<T>(), align_of::<T>()), "layout of the elements");
        let slots = self.next(count);
        // SAFETY: the types have the same layout, and all bits are values of an `Element`.
        let slots = unsafe { &mut *(std::ptr::from_mut(slots) as *mut [MaybeUninit<A>]) };
        let mut out = Writer::new(slots);
        fill(&mut out);
        out.finish();
        self.written += count;
    }

    /// Marks the next `count` slots as initialized and returns them.
    fn just_written(&mut self, count: usize) -> &mut [T] {
        let start = self.written;
        self.written += count;
        // SAFETY: the callers have initialized these slots.
        unsafe { assume_written(&mut self.slots[start..start + count]) }
    }
}

/// # Safety
/// All slots are initialized.
unsafe fn assume_written<T>(slots: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: `MaybeUninit<T>` has the layout of `T`, and the caller guarantees that all slots are initialized.
    unsafe { &mut *(std::ptr::from_mut(slots) as *mut [T]) }
}

fn as_slots<T: Copy>(x: &[T]) -> &[MaybeUninit<T>] {
    // SAFETY: `MaybeUninit<T>` has the layout of `T`, and a shared reference does not allow uninitialized values to be
    // written.
    unsafe { &*(std::ptr::from_ref(x) as *const [MaybeUninit<T>]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_comes_in_order() {
        let mut slots = [MaybeUninit::<i32>::uninit(); 11];
        let mut writer = Writer::new(&mut slots);
        writer.map(&[1i16, 2], |x| i32::from(x) * 10);
        writer.zip(&[1, 2], &[3u8, 4], |a: i32, b| a + i32::from(b));
        writer.choose(&[1, 0], &[7, 7][..], One(8));
        writer.generate(2, |i| i as i32);
        writer.repeat_mut(9, 2)[1] = 5;
        assert_eq!(writer.remaining(), 1);
        writer.write_as(1, |writer: &mut Writer<u32>| writer.copy(&[6]));
        assert_eq!(writer.finish(), [10, 20, 4, 6, 7, 8, 0, 1, 9, 5, 6]);
    }

    #[test]
    #[should_panic]
    fn there_is_no_writing_beyond_the_end() {
        let mut slots = [MaybeUninit::<u8>::uninit(); 3];
        Writer::new(&mut slots).repeat(0, 4);
    }
}
