//! Construction of a function: its steps in order, without those that nothing uses, and a register for each result.

use super::super::integer::Integer;
use super::lane::{self, Lane, WithScalar};
use super::run::{Fused, FusedAll};
use super::step::{Class, Location, Step, Work};
use base::types::{DType, Kind, Scalar};
use ir::{BinaryFunction, BinaryOp, CompareOp, UnaryFunction, UnaryOp};
use smallvec::SmallVec;

/// Maximum number of coefficients of a polynomial in one step. Building a polynomial takes memory in proportion to the
/// square of their number.
const MOST_COEFFICIENTS: usize = 64;

/// Maximum number of values of a function, which bounds the memory of its registers.
const MOST_VALUES: usize = 4096;

/// A value of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    index: usize,
    class: Class,
}

/// Structure of a value, by which a later operation can include the value's work in its own step.
enum Form<T> {
    None,
    /// The polynomial in a value with these coefficients, the highest power first.
    Sum(usize, Vec<T>),
    /// Such a polynomial, times the value.
    Product(usize, Vec<T>),
    /// The magnitude of a value.
    Magnitude(usize),
    /// The comparison of a value with a constant.
    Test(CompareOp, usize, T),
    /// A value with the elements at or below a constant replaced by another constant.
    Raised(usize, T, T),
    /// The comparison of two integers.
    IntegerTest(CompareOp, bool, [usize; 2]),
}

struct Node<T: Lane> {
    work: Work<T>,
    operands: SmallVec<[usize; 3]>,
    form: Form<T>,
}

/// Builds a function operation by operation. Methods return None for operations and dtypes that steps do not support.
pub struct Builder<T: Lane> {
    nodes: Vec<Node<T>>,
    constants: Vec<(u64, usize)>,
}

impl<T: Lane> Default for Builder<T> {
    fn default() -> Builder<T> {
        Builder { nodes: Vec::new(), constants: Vec::new() }
    }
}

impl<T: Lane> Builder<T> {
    fn class(dtype: DType) -> Option<Class> {
        let has_width = dtype.size_bytes() == size_of::<T>();
        match dtype.kind() {
            Kind::Pred => Some(Class::Mask),
            Kind::Float if has_width => Some(Class::Float),
            Kind::Signed if has_width => Some(Class::Integer { signed: true }),
            Kind::Unsigned if has_width => Some(Class::Integer { signed: false }),
            _ => None,
        }
    }

    fn push(&mut self, class: Class, work: Work<T>, operands: &[Value]) -> Option<Value> {
        if self.nodes.len() == MOST_VALUES {
            return None;
        }
        let operands = operands.iter().map(|value| value.index).collect();
        self.nodes.push(Node { work, operands, form: Form::None });
        Some(Value { index: self.nodes.len() - 1, class })
    }

    /// The input array with this number. `is_single` says that it has a single element, which is repeated.
    pub fn input(&mut self, number: usize, dtype: DType, is_single: bool) -> Option<Value> {
        let class = Self::class(dtype)?;
        match class {
            Class::Mask if is_single => None,
            Class::Mask => {
                let preds = self.push(class, Work::Input(number), &[])?;
                self.push(class, Work::OfPreds, &[preds])
            }
            _ if is_single => self.push(class, Work::Single(number), &[]),
            _ => self.push(class, Work::Input(number), &[]),
        }
    }

    /// A scalar, repeated.
    pub fn constant(&mut self, scalar: &Scalar) -> Option<Value> {
        let class = Self::class(scalar.dtype())?;
        let bits = scalar.bits() as u64;
        let bits = if class == Class::Mask && bits != 0 { u64::MAX } else { bits };
        self.repeated(class, bits)
    }

    fn repeated(&mut self, class: Class, bits: u64) -> Option<Value> {
        if let Some(&(_, index)) = self.constants.iter().find(|(known, _)| *known == bits) {
            return Some(Value { index, class });
        }
        let value = self.push(class, Work::Constant(bits), &[])?;
        self.constants.push((bits, value.index));
        Some(value)
    }

    /// The value of a repeated float.
    fn scalar_of(&self, value: Value) -> Option<T> {
        match self.nodes[value.index].work {
            Work::Constant(bits) if value.class == Class::Float => Some(T::of_bits(bits)),
            _ => None,
        }
    }

    /// Adds an operation of one operand; None if no step computes it.
    pub fn unary(&mut self, op: UnaryOp, x: Value) -> Option<Value> {
        match (op, x.class) {
            (UnaryOp::IsFinite, Class::Float) => self.push(Class::Mask, Work::ToBits(lane::is_finite::<T>), &[x]),
            (_, Class::Float) => {
                let made = self.push(Class::Float, Work::Map(lane::map(op)?), &[x])?;
                if op == UnaryOp::Abs {
                    self.nodes[made.index].form = Form::Magnitude(x.index);
                }
                Some(made)
            }
            (UnaryOp::Negate, class @ Class::Integer { .. }) => {
                let zero = self.repeated(class, 0)?;
                self.binary(BinaryOp::Subtract, zero, x)
            }
            (UnaryOp::Not, class) => self.push(class, Work::MapBits(lane::inverted), &[x]),
            _ => None,
        }
    }

    /// A function that has a kernel of its own.
    pub fn function_of_one(&mut self, function: UnaryFunction, x: Value) -> Option<Value> {
        if x.class != Class::Float {
            return None;
        }
        self.push(Class::Float, Work::Map(T::of_one(function)?), &[x])
    }

    /// A function that has a kernel of its own.
    pub fn function_of_two(&mut self, function: BinaryFunction, a: Value, b: Value) -> Option<Value> {
        if [a, b].iter().any(|value| value.class != Class::Float) {
            return None;
        }
        self.push(Class::Float, Work::Zip(T::of_two(function)?), &[a, b])
    }

    /// Adds an operation of two operands of one dtype; None if no step computes it.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Option<Value> {
        let class = a.class;
        if b.class != class {
            return None;
        }
        match class {
            Class::Float => match (self.scalar_of(a), self.scalar_of(b)) {
                (None, Some(scalar)) => self.float_with(op, a, scalar, b, false),
                (Some(scalar), None) => self.float_with(op, b, scalar, a, true),
                _ => {
                    let made = self.push(class, Work::Zip(lane::zip(op)?), &[a, b])?;
                    self.nodes[made.index].form = self.form_of_product(op, a, b);
                    Some(made)
                }
            },
            Class::Integer { signed } => self.push(class, Work::ZipBits(T::Bits::arithmetic(op, signed)?), &[a, b]),
            Class::Mask if matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) => {
                self.push(class, Work::ZipBits(T::Bits::arithmetic(op, false)?), &[a, b])
            }
            Class::Mask | Class::Pred => None,
        }
    }

    /// Adds an operation of an operand and a scalar, which is the left operand if `on_left`; None if no step computes it.
    pub fn binary_scalar(&mut self, op: BinaryOp, x: Value, scalar: &Scalar, on_left: bool) -> Option<Value> {
        let constant = self.constant(scalar)?;
        if on_left { self.binary(op, constant, x) } else { self.binary(op, x, constant) }
    }

    /// Records `x (op) scalar`, or with `on_left` the opposite; `constant` is the same scalar, repeated.
    fn float_with(&mut self, op: BinaryOp, x: Value, scalar: T, constant: Value, on_left: bool) -> Option<Value> {
        let Some(work) = lane::with_scalar::<T>(op, on_left) else {
            let operands = if on_left { [constant, x] } else { [x, constant] };
            return self.push(Class::Float, Work::Zip(lane::zip(op)?), &operands);
        };
        if op == BinaryOp::Multiply {
            let made = self.push(Class::Float, Work::WithScalar(work, scalar), &[x])?;
            self.nodes[made.index].form = Form::Product(x.index, vec![scalar]);
            return Some(made);
        }
        if let (BinaryOp::Add, Form::Product(variable, coefficients)) = (op, &self.nodes[x.index].form) {
            let variable = Value { index: *variable, class: Class::Float };
            let coefficients = [coefficients, &[scalar][..]].concat();
            let made = self.push(Class::Float, Work::Polynomial(coefficients.clone()), &[variable])?;
            self.nodes[made.index].form = Form::Sum(variable.index, coefficients);
            return Some(made);
        }
        self.push(Class::Float, Work::WithScalar(work, scalar), &[x])
    }

    /// The product of a polynomial and its variable is a part of the next polynomial.
    fn form_of_product(&self, op: BinaryOp, a: Value, b: Value) -> Form<T> {
        let of = |sum: Value, x: Value| match &self.nodes[sum.index].form {
            Form::Sum(variable, coefficients) if *variable == x.index && coefficients.len() < MOST_COEFFICIENTS => {
                Some(Form::Product(x.index, coefficients.clone()))
            }
            _ => None,
        };
        if op == BinaryOp::Multiply { of(a, b).or_else(|| of(b, a)).unwrap_or(Form::None) } else { Form::None }
    }

    /// Adds a comparison of two operands; None if no step computes it.
    pub fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Option<Value> {
        match (a.class, b.class) {
            (Class::Float, Class::Float) => match (self.scalar_of(a), self.scalar_of(b)) {
                (_, Some(scalar)) => self.test_scalar(op, a, scalar),
                (Some(scalar), None) => self.test_scalar(swapped(op), b, scalar),
                _ => self.push(Class::Mask, Work::Test(lane::test::<T>(op)), &[a, b]),
            },
            (Class::Integer { signed }, Class::Integer { signed: other }) if signed == other => {
                let made = self.push(Class::Mask, Work::ZipBits(T::integer_test(op, signed)), &[a, b])?;
                self.nodes[made.index].form = Form::IntegerTest(op, signed, [a.index, b.index]);
                Some(made)
            }
            (Class::Mask, Class::Mask) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                self.push(Class::Mask, Work::ZipBits(T::integer_test(op, false)), &[a, b])
            }
            _ => None,
        }
    }

    fn test_scalar(&mut self, op: CompareOp, x: Value, scalar: T) -> Option<Value> {
        let made = self.push(Class::Mask, Work::TestScalar(lane::test_scalar::<T>(op), scalar), &[x])?;
        self.nodes[made.index].form = Form::Test(op, x.index, scalar);
        Some(made)
    }

    /// Adds a selection of `a` where `pred` is true and `b` elsewhere; None if no step computes it.
    pub fn select(&mut self, pred: Value, a: Value, b: Value) -> Option<Value> {
        if pred.class != Class::Mask || a.class != b.class {
            return None;
        }
        let Form::Test(op, x, scalar) = self.nodes[pred.index].form else {
            return self.push(a.class, Work::Select, &[pred, a, b]);
        };
        let x = Value { index: x, class: Class::Float };
        match (self.scalar_of(a), self.scalar_of(b)) {
            (Some(by), _) if b == x => self.replace(op, x, scalar, by),
            (_, Some(by)) if a == x => {
                self.push(x.class, Work::Replace(lane::replace(op, true), scalar, by.bits()), &[x])
            }
            _ => self.push(a.class, Work::SelectIf(lane::select_if::<T>(op), scalar), &[x, a, b]),
        }
    }

    /// Replaces the elements of `x` for which a comparison with `scalar` holds by `by`.
    fn replace(&mut self, op: CompareOp, x: Value, scalar: T, by: T) -> Option<Value> {
        if let (CompareOp::Ge, Form::Raised(of, least, low)) = (op, &self.nodes[x.index].form) {
            let low = if *low >= scalar { by } else { *low };
            let (of, bounds) = (Value { index: *of, ..x }, [(*least, low), (scalar, by)]);
            return self.push(x.class, Work::Clip(bounds), &[of]);
        }
        let made = self.push(x.class, Work::Replace(lane::replace(op, false), scalar, by.bits()), &[x])?;
        if op == CompareOp::Le {
            self.nodes[made.index].form = Form::Raised(x.index, scalar, by);
        }
        Some(made)
    }

    /// Adds a conversion to a dtype; None if no step computes it.
    pub fn convert(&mut self, x: Value, dtype: DType) -> Option<Value> {
        let class = Self::class(dtype)?;
        match (x.class, class) {
            (from, to) if from == to => Some(x),
            (Class::Integer { .. }, Class::Integer { .. }) => Some(Value { class, ..x }),
            (Class::Integer { signed }, Class::Float) => {
                self.push(class, Work::OfIntegers(T::of_integers(signed)), &[x])
            }
            (Class::Float, Class::Integer { signed }) => self.push(class, Work::ToBits(T::to_integers(signed)?), &[x]),
            (Class::Float, Class::Mask) => self.test_scalar(CompareOp::Ne, x, T::ZERO),
            _ => None,
        }
    }

    /// The same bits as another type of this width.
    pub fn bitcast(&mut self, x: Value, dtype: DType) -> Option<Value> {
        let class = Self::class(dtype)?;
        if (x.class == Class::Mask) != (class == Class::Mask) {
            return None;
        }
        Some(Value { class, ..x })
    }

    /// Records predicates as bytes: a comparison writes them itself.
    fn preds(&mut self, masks: Value) -> Option<Value> {
        let value = |index: usize| Value { index, class: masks.class };
        let is_zero = |index: usize| matches!(self.nodes[index].work, Work::Constant(0));
        match self.nodes[masks.index].form {
            Form::IntegerTest(CompareOp::Lt, true, [x, zero]) if is_zero(zero) => {
                self.push(Class::Pred, Work::SignBits, &[value(x)])
            }
            Form::Test(op, x, scalar) => {
                let (kernel, of) = match (op, &self.nodes[x].form) {
                    (CompareOp::Eq, Form::Magnitude(of)) => (lane::magnitude_is::<T> as WithScalar<T, u8>, *of),
                    _ => (lane::test_scalar_to_preds::<T>(op), x),
                };
                self.push(Class::Pred, Work::TestScalarToPreds(kernel, scalar), &[value(of)])
            }
            Form::IntegerTest(op, signed, [a, b]) => {
                let operands = if matches!(op, CompareOp::Gt | CompareOp::Ge) { [b, a] } else { [a, b] };
                let kernel = T::Bits::comparison(op, signed);
                self.push(Class::Pred, Work::TestIntegersToPreds(kernel), &operands.map(value))
            }
            _ => self.push(Class::Pred, Work::ToPreds, &[masks]),
        }
    }

    /// The function with this value as its result.
    pub fn finish(mut self, result: Value) -> Option<Fused<T>> {
        let result = if result.class == Class::Mask { self.preds(result)? } else { result };
        let (mut made, locations) = self.arranged(&[result], true);
        made.class = result.class;
        let location = locations[result.index].expect("the result is used");
        made.result = (location != Location::Register(made.registers)).then_some(location);
        Some(made)
    }

    /// The function of several results, which are floats; None if one of them is not.
    pub fn finish_all(self, results: &[Value]) -> Option<FusedAll<T>> {
        if results.iter().any(|result| result.class != Class::Float) {
            return None;
        }
        let (function, locations) = self.arranged(results, false);
        let results = results.iter().map(|result| locations[result.index].expect("the result is used")).collect();
        Some(FusedAll { function, results })
    }

    /// Returns the steps in order, with a register for each value that they write, and the locations of all values that
    /// are used. With `writes_result`, the only result is written beyond all registers unless it is repeated.
    fn arranged(self, results: &[Value], writes_result: bool) -> (Fused<T>, Vec<Option<Location>>) {
        let last_uses = self.last_uses(results);
        let (steps, repeated) = (Vec::new(), Vec::new());
        let mut made = Fused { steps, repeated, registers: 0, result: None, class: Class::Float };
        let (mut locations, mut free) = (Vec::with_capacity(self.nodes.len()), Vec::new());
        for (index, node) in self.nodes.into_iter().enumerate() {
            if last_uses[index].is_none() {
                locations.push(None);
                continue;
            }
            let is_repeated = matches!(node.work, Work::Constant(_) | Work::Single(_));
            let register = match node.work {
                Work::Input(number) => {
                    locations.push(Some(Location::Input(number)));
                    continue;
                }
                _ if is_repeated => None,
                _ => free.pop(),
            };
            let is_last = writes_result && index == results[0].index && !is_repeated;
            let register = match register {
                _ if is_last => made.registers,
                Some(register) => register,
                None => {
                    made.registers += 1;
                    made.registers - 1
                }
            };
            locations.push(Some(Location::Register(register)));
            if is_repeated {
                made.repeated.push((register, node.work));
                continue;
            }
            let location = |&operand: &usize| locations[operand].expect("an operand comes before its use");
            let operands: SmallVec<[Location; 3]> = node.operands.iter().map(location).collect();
            // A value that is both operands of its last use is freed once.
            for (i, &operand) in node.operands.iter().enumerate() {
                if last_uses[operand] == Some(index) && !node.operands[..i].contains(&operand) {
                    free.extend(operands[i].register().filter(|register| !made.is_repeated(*register)));
                }
            }
            made.steps.push(Step { work: node.work, operands, to: register });
        }
        (made, locations)
    }

    /// The last value that uses each value: None if it is not needed, and beyond all values for the results.
    fn last_uses(&self, results: &[Value]) -> Vec<Option<usize>> {
        let mut last_uses: Vec<Option<usize>> = vec![None; self.nodes.len()];
        results.iter().for_each(|result| last_uses[result.index] = Some(usize::MAX));
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if last_uses[index].is_some() {
                node.operands.iter().for_each(|&operand| last_uses[operand] = last_uses[operand].max(Some(index)));
            }
        }
        last_uses
    }
}

/// The comparison with the operands exchanged.
fn swapped(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Ge => CompareOp::Le,
        same => same,
    }
}
