//! Evaluation of a function, block by block.

use super::super::array::Array;
use super::super::element::Element;
use super::super::writer::Writer;
use super::lane::{self, Lane};
use super::polynomial::polynomial;
use super::step::{Class, Place, Step, Work};
use crate::allocation::filled;
use crate::error::{Error, Result};
use crate::types::TensorType;
use parking_lot::Mutex;
use std::ops::Range;

/// Number of 64-bit words of a register: several registers fit in the L1 cache, and a short step on one takes a few
/// times as long as its call.
const WORDS: usize = 512;

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
    pub(super) result: Option<Place>,
    pub(super) class: Class,
}

/// The registers, the block of elements that they hold, and where its result is written.
struct Block<'a, 'w, O> {
    inputs: &'a [Array],
    registers: Vec<Vec<u64>>,
    range: Range<usize>,
    result: Option<&'a mut Writer<'w, O>>,
}

impl<O: Element> Block<'_, '_, O> {
    /// The elements of a value.
    fn of<A: Element>(&self, place: Place) -> &[A] {
        match place {
            Place::Input(number) => &self.inputs[number].elements()[self.range.clone()],
            Place::Register(register) => &bytemuck::cast_slice(&self.registers[register])[..self.range.len()],
        }
    }

    /// Lets `fill` write the elements of a register, or those of the result.
    fn write<A: Element>(&mut self, register: usize, fill: impl FnOnce(&Self, &mut Writer<A>)) {
        if register == self.registers.len() {
            let result = self.result.take().expect("one step writes the result");
            result.write_as(self.range.len(), |out| fill(self, out));
            self.result = Some(result);
            return;
        }
        let mut words = std::mem::take(&mut self.registers[register]);
        let mut out = Writer::over(&mut bytemuck::cast_slice_mut(&mut words)[..self.range.len()]);
        fill(self, &mut out);
        out.finish();
        self.registers[register] = words;
    }
}

impl<T: Lane> Fused<T> {
    pub(super) fn is_repeated(&self, register: usize) -> bool {
        self.repeated.iter().any(|(repeated, _)| *repeated == register)
    }

    /// Evaluates the function of vectors with as many elements as the vector type `ty`. Inputs that were declared as
    /// single in [`super::Builder::input`] have one element.
    pub fn evaluate(&self, ty: &TensorType, inputs: &[Array]) -> Result<Array> {
        match self.class {
            Class::Float => self.evaluate_as::<T>(ty, inputs),
            Class::Integer { .. } => self.evaluate_as::<T::Bits>(ty, inputs),
            Class::Mask | Class::Pred => self.evaluate_as::<u8>(ty, inputs),
        }
    }

    fn evaluate_as<O: Element>(&self, ty: &TensorType, inputs: &[Array]) -> Result<Array> {
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let fill = |range: Range<usize>, out: &mut Writer<O>| {
            if let Err(error) = self.fill(inputs, range, out) {
                *failure.lock() = Some(error);
                out.repeat(O::zeroed(), out.remaining());
            }
        };
        let made = match ty.elements() {
            count if self.steps.len() < MANY_STEPS || count < PARALLEL => Array::write_elementwise(ty, &fill),
            _ => Array::write_pieces(ty, PIECE, &fill),
        };
        match failure.into_inner() {
            Some(error) => Err(error),
            None => made,
        }
    }

    /// Writes the result for a range of elements.
    fn fill<O: Element>(&self, inputs: &[Array], range: Range<usize>, out: &mut Writer<O>) -> Result<()> {
        let lanes = (WORDS * size_of::<u64>() / size_of::<T>()).min(range.len());
        let words = (lanes * size_of::<T>()).div_ceil(size_of::<u64>());
        let registers = (0..self.registers).map(|_| filled(0u64, words, "the blocks of a function"));
        let mut block =
            Block { inputs, registers: registers.collect::<Result<_>>()?, range: 0..lanes, result: Some(out) };
        for (register, work) in &self.repeated {
            let value = match work {
                Work::Single(number) => inputs[*number].elements::<T>()[0],
                Work::Constant(bits) => T::of_bits(*bits),
                _ => unreachable!("constants and single elements are repeated"),
            };
            block.write(*register, |_, out| out.repeat(value, lanes));
        }
        for start in range.clone().step_by(lanes.max(1)) {
            block.range = start..range.end.min(start + lanes);
            self.steps.iter().for_each(|step| step.run(&mut block));
            if let Some(place) = self.result {
                let out = block.result.take().expect("no step writes it");
                out.copy(block.of(place));
                block.result = Some(out);
            }
        }
        Ok(())
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
            Work::Input(_) | Work::Single(_) | Work::Constant(_) => unreachable!("they are no steps"),
        }
    }
}
