//! Evaluation of a function, block by block.

use super::super::array::{Array, elementwise_piece};
use super::super::element::Element;
use super::super::writer::Writer;
use super::lane::{self, Lane};
use super::polynomial::polynomial;
use super::step::{Class, Location, Step, Work};
use base::error;
use base::error::Result;
use base::types::TensorType;
use bytemuck::{Pod, Zeroable};
use smallvec::SmallVec;
use std::cell::Cell;
use std::ops::{Deref, DerefMut, Range};

/// Size of a register: several registers fit in the L1 cache, and a short step on one takes a few times as long as its
/// call.
const BYTES: usize = 4096;

/// A line of the cache: registers consist of whole ones, so that a vector of 64 bytes is in one line.
#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Memory of all registers. A thread keeps the memory of its last function for the next function.
struct Lines {
    memory: Vec<Line>,
    /// Lines of the registers, the first ones of the memory.
    size: usize,
}

/// Largest number of lines that a thread keeps: 256 KiB.
const KEPT: usize = 1 << 12;

thread_local! {
    static SPARE: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Number of steps from which several threads share a result of [`PARALLEL`] elements; fewer are bound by memory.
const MANY_STEPS: usize = 16;
const PARALLEL: usize = 1 << 16;
const PIECE: usize = 1 << 14;

/// A function that is evaluated as a list of steps.
pub struct Fused<T: Lane> {
    pub(super) steps: Vec<Step<T>>,
    /// Registers that are filled once.
    pub(super) repeated: Vec<(usize, Work<T>)>,
    /// Number of registers. A step that writes the register with this number writes the result.
    pub(super) registers: usize,
    /// The value that is the result, if no step writes it.
    pub(super) result: Option<Location>,
    pub(super) class: Class,
}

/// A function of several results, which are floats. One thread evaluates it.
pub struct FusedAll<T: Lane> {
    /// Its steps, none of which writes a result.
    pub(super) function: Fused<T>,
    /// The register or input that holds each result, after the steps have run on a block.
    pub(super) results: Vec<Location>,
}

/// The registers, the block of elements that they hold, and where its result is written.
struct Block<'a, 'w, O> {
    inputs: &'a [&'a Array],
    lines: Lines,
    /// Number of lines of a register.
    each: usize,
    range: Range<usize>,
    result: &'a mut Writer<'w, O>,
}

/// What a step reads: the inputs, and the registers before and after the one that it writes.
struct Values<'a> {
    inputs: &'a [&'a Array],
    before: &'a [Line],
    after: &'a [Line],
    each: usize,
    range: Range<usize>,
}

impl<'a> Values<'a> {
    /// The elements of a value.
    fn of<A: Element>(&self, location: Location) -> &'a [A] {
        let register = match location {
            Location::Input(number) => return &self.inputs[number].elements()[self.range.clone()],
            Location::Register(register) => register * self.each,
        };
        let lines = match register.checked_sub(self.before.len()) {
            None => &self.before[register..][..self.each],
            Some(beyond) => &self.after[beyond - self.each..][..self.each],
        };
        &bytemuck::cast_slice(lines)[..self.range.len()]
    }
}

impl<'a, O: Element> Block<'a, '_, O> {
    /// Lets `fill` write the elements of a register, or those of the result.
    fn write<A: Element>(&mut self, register: usize, fill: impl FnOnce(&Values, &mut Writer<A>)) {
        let (inputs, each, range) = (self.inputs, self.each, self.range.clone());
        let count = range.len();
        let (before, rest) = self.lines.split_at_mut(register * each);
        if rest.is_empty() {
            let values = Values { inputs, before, after: &[], each, range };
            return self.result.write_as(count, |out| fill(&values, out));
        }
        let (own, after) = rest.split_at_mut(each);
        let mut out = Writer::over(&mut bytemuck::cast_slice_mut(own)[..count]);
        fill(&Values { inputs, before, after, each, range }, &mut out);
        out.finish();
    }
}

impl Lines {
    /// Memory of `count` registers of `each` lines. Each is written before it is read.
    fn new(count: usize, each: usize) -> Result<Lines> {
        let size = count * each;
        let mut memory = SPARE.try_with(Cell::take).unwrap_or_default();
        if memory.len() < size {
            memory.try_reserve_exact(size - memory.len()).map_err(|_| {
                error!(
                    ResourceExhausted,
                    "no host memory for the blocks of a function: {} bytes",
                    size * size_of::<Line>()
                )
            })?;
            memory.resize(size, Line::zeroed());
        }
        Ok(Lines { memory, size })
    }
}

impl Deref for Lines {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.memory[..self.size]
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [Line] {
        &mut self.memory[..self.size]
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if self.memory.len() <= KEPT {
            let memory = std::mem::take(&mut self.memory);
            // A thread that ends keeps none.
            let _ = SPARE.try_with(|spare| spare.set(memory));
        }
    }
}

impl<T: Lane> Fused<T> {
    pub(super) fn is_repeated(&self, register: usize) -> bool {
        self.repeated.iter().any(|(repeated, _)| *repeated == register)
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Evaluates the function of arrays with as many elements as `ty`, the type of the result. Inputs that were
    /// declared as single in [`super::Builder::input`] have one element.
    pub fn evaluate(&self, ty: &TensorType, inputs: &[&Array]) -> Result<Array> {
        match self.class {
            Class::Float => self.evaluate_as::<T>(ty, inputs),
            Class::Integer { .. } => self.evaluate_as::<T::Bits>(ty, inputs),
            Class::Mask | Class::Pred => self.evaluate_as::<u8>(ty, inputs),
        }
    }

    fn evaluate_as<O: Element>(&self, ty: &TensorType, inputs: &[&Array]) -> Result<Array> {
        let piece = match ty.elements() {
            count if self.steps.len() < MANY_STEPS || count < PARALLEL => elementwise_piece::<O>(ty),
            _ => PIECE,
        };
        Array::try_write_pieces::<O>(ty, piece, &|range, out| self.fill(inputs, range, out))
    }

    /// Writes the result for a range of elements.
    fn fill<O: Element>(&self, inputs: &[&Array], range: Range<usize>, out: &mut Writer<O>) -> Result<()> {
        let mut block = self.block(inputs, range.len(), out)?;
        let lanes = block.range.len();
        for start in range.clone().step_by(lanes) {
            block.range = start..range.end.min(start + lanes);
            self.steps.iter().for_each(|step| step.run(&mut block));
            if let Some(location) = self.result {
                block.write(self.registers, |from, out: &mut Writer<O>| out.copy(from.of(location)));
            }
        }
        Ok(())
    }
}

impl<T: Lane> Fused<T> {
    /// Returns registers for a range of this many elements, those that repeat a value filled.
    fn block<'a, 'w, O: Element>(
        &self,
        inputs: &'a [&'a Array],
        count: usize,
        result: &'a mut Writer<'w, O>,
    ) -> Result<Block<'a, 'w, O>> {
        let lanes = (BYTES / size_of::<T>()).min(count).max(1);
        let each = (lanes * size_of::<T>()).div_ceil(size_of::<Line>());
        let lines = Lines::new(self.registers, each)?;
        let mut block = Block { inputs, lines, each, range: 0..lanes, result };
        for (register, work) in &self.repeated {
            let value = match work {
                Work::Single(number) => inputs[*number].elements::<T>()[0],
                Work::Constant(bits) => T::of_bits(*bits),
                _ => unreachable!("constants and single elements are repeated"),
            };
            block.write(*register, |_, out| out.repeat(value, lanes));
        }
        Ok(block)
    }
}

impl<T: Lane> FusedAll<T> {
    /// Evaluates the function of arrays with as many elements as each of `types`, the types of the results. Inputs that
    /// were declared as single in [`super::Builder::input`] have one element.
    pub fn evaluate(&self, types: &[TensorType], inputs: &[&Array]) -> Result<Vec<Array>> {
        let count = types[0].elements();
        Array::write_several(types, |parts| {
            let mut parts: SmallVec<[&mut [T]; 8]> = parts.into_iter().map(bytemuck::cast_slice_mut).collect();
            let mut nothing = Writer::<T>::over(&mut []);
            let mut block = self.function.block(inputs, count, &mut nothing)?;
            let lanes = block.range.len();
            for start in (0..count).step_by(lanes) {
                block.range = start..count.min(start + lanes);
                self.function.steps.iter().for_each(|step| step.run(&mut block));
                let range = block.range.clone();
                let values =
                    Values { inputs, before: &block.lines, after: &[], each: block.each, range: range.clone() };
                for (part, &location) in parts.iter_mut().zip(&self.results) {
                    part[range.clone()].copy_from_slice(values.of(location));
                }
            }
            Ok(())
        })
    }
}

impl<T: Lane> Step<T> {
    fn run<O: Element>(&self, block: &mut Block<'_, '_, O>) {
        let at = |i: usize| self.operands[i];
        let to = self.to;
        match &self.work {
            Work::Map(kernel) => block.write(to, |from, out| kernel(from.of(at(0)), out)),
            Work::MapBits(kernel) => block.write(to, |from, out| kernel(from.of(at(0)), out)),
            Work::Zip(kernel) => block.write(to, |from, out| kernel(from.of(at(0)), from.of(at(1)), out)),
            Work::ZipBits(kernel) => block.write(to, |from, out| kernel(from.of(at(0)), from.of(at(1)), out)),
            Work::WithScalar(kernel, scalar) => block.write(to, |from, out| kernel(from.of(at(0)), *scalar, out)),
            Work::Polynomial(coefficients) => {
                block.write(to, |from, out| polynomial::<T>(from.of(at(0)), coefficients, out));
            }
            Work::Test(kernel) => block.write(to, |from, out| kernel(from.of(at(0)), from.of(at(1)), out)),
            Work::TestScalar(kernel, scalar) => block.write(to, |from, out| kernel(from.of(at(0)), *scalar, out)),
            Work::ToBits(kernel) => block.write(to, |from, out| kernel(from.of(at(0)), out)),
            Work::Select => block.write(to, |from, out| {
                lane::select::<T::Bits>(from.of(at(0)), from.of(at(1)), from.of(at(2)), out);
            }),
            Work::SelectIf(kernel, scalar) => block.write(to, |from, out| {
                kernel(from.of(at(0)), *scalar, [from.of(at(1)), from.of(at(2))], out);
            }),
            Work::Replace(kernel, scalar, by) => {
                block.write(to, |from, out| kernel(from.of(at(0)), from.of(at(0)), *scalar, *by, out));
            }
            Work::Clip(bounds) => {
                block.write(to, |from, out| lane::clip::<T>(from.of(at(0)), from.of(at(0)), *bounds, out));
            }
            Work::SignBits => block.write(to, |from, out| lane::sign_bits::<T::Bits>(from.of(at(0)), out)),
            Work::OfIntegers(kernel) => block.write(to, |from, out| kernel(from.of(at(0)), out)),
            Work::OfPreds => block.write(to, |from, out| lane::of_preds::<T>(from.of(at(0)), out)),
            Work::ToPreds => block.write(to, |from, out| lane::to_preds::<T::Bits>(from.of(at(0)), out)),
            Work::TestScalarToPreds(kernel, scalar) => {
                block.write(to, |from, out| kernel(from.of(at(0)), *scalar, out));
            }
            Work::TestIntegersToPreds(kernel) => {
                block.write(to, |from, out| kernel(from.of(at(0)), from.of(at(1)), out));
            }
            Work::Input(_) | Work::Single(_) | Work::Constant(_) => unreachable!("they are not steps"),
        }
    }
}
