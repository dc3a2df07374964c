//! Builder for lowerings that write several elementwise StableHLO operations.

use crate::emit::Emitter;
use crate::ops::elementwise::fold_barrier::unsigned;
use crate::types::{DType, Scalar, ScalarValue, TensorType};

/// Names of the real and the imaginary part.
pub type Parts = [String; 2];

/// Writes elementwise operations on values of one type, and returns the names of their results.
pub struct Steps<'a, 'b> {
    pub e: &'a mut Emitter<'b>,
    pred: TensorType,
    element: TensorType,
}

impl<'a, 'b> Steps<'a, 'b> {
    pub fn of(e: &'a mut Emitter<'b>, ty: &TensorType) -> Steps<'a, 'b> {
        let pred = TensorType { dtype: DType::Pred, dims: ty.dims.clone() };
        Steps { e, pred, element: ty.clone() }
    }

    pub fn step(&mut self, op: &str, operands: &[&str]) -> String {
        let name = self.e.temporary();
        self.e.elementwise(&name, op, operands, &self.element);
        name
    }

    pub fn constant(&mut self, value: f64) -> String {
        self.scalar(ScalarValue::Float(value))
    }

    pub fn scalar(&mut self, value: ScalarValue) -> String {
        let scalar = Scalar::new(self.element.dtype, value).expect("floats take constants");
        self.e.constant(&self.element.clone(), scalar.bits())
    }

    pub fn is_finite(&mut self, x: &str) -> String {
        let name = self.e.temporary();
        self.e.changing(&name, "is_finite", &[x], &self.element, &self.pred);
        name
    }

    pub fn compare(&mut self, how: &str, a: &str, b: &str) -> String {
        let name = self.e.temporary();
        self.e.compare_floats(&name, how, [a, b], &self.element);
        name
    }

    pub fn select(&mut self, name: &str, pred: &str, on_true: &str, on_false: &str) {
        self.e.choose(name, pred, [on_true, on_false], &self.element);
    }

    /// Writes the mask of elements equal to positive infinity.
    pub fn is_infinite(&mut self, x: &str) -> String {
        let infinity = self.constant(f64::INFINITY);
        self.compare("EQ", x, &infinity)
    }

    /// Writes the mask of elements where either value is infinite, of either sign.
    pub fn any_infinite(&mut self, numbers: &[String; 2]) -> String {
        let [first, second] = numbers.each_ref().map(|number| {
            let size = self.step("abs", &[number]);
            self.is_infinite(&size)
        });
        self.either(&first, &second)
    }

    /// Dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.element.dtype
    }

    /// Type of the values.
    pub fn ty(&self) -> &TensorType {
        &self.element
    }

    /// Writes an identity of `x` that XLA's simplifier cannot fold: the bits of `x`, OR-ed with the leading zero count
    /// of `other` shifted right by more than its width, which is always 0. LLVM recognizes and removes it.
    pub fn disguised(&mut self, x: &str, other: &str) -> String {
        let (own, wide) = (&self.element, unsigned(&self.element));
        let past = (8 * wide.dtype.size_bytes()).ilog2() + 1;
        let e = &mut *self.e;
        let [x_bits, other_bits] = [x, other].map(|value| {
            let name = e.temporary();
            e.changing(&name, "bitcast_convert", &[value], own, &wide);
            name
        });
        let (leading, zero, same, name) = (e.temporary(), e.temporary(), e.temporary(), e.temporary());
        let shift = e.constant(&wide, past.into());
        e.elementwise(&leading, "count_leading_zeros", &[&other_bits], &wide);
        e.elementwise(&zero, "shift_right_logical", &[&leading, &shift], &wide);
        e.elementwise(&same, "or", &[&x_bits, &zero], &wide);
        e.changing(&name, "bitcast_convert", &[&same], &wide, own);
        name
    }

    pub fn times(&mut self, x: &str, factor: f64) -> String {
        let factor = self.constant(factor);
        self.step("multiply", &[x, &factor])
    }

    pub fn compare_with(&mut self, how: &str, x: &str, value: f64) -> String {
        let value = self.constant(value);
        self.compare(how, x, &value)
    }

    /// Writes a select with a temporary name, which it returns.
    pub fn choose(&mut self, pred: &str, on_true: &str, on_false: &str) -> String {
        let name = self.e.temporary();
        self.select(&name, pred, on_true, on_false);
        name
    }

    pub fn both(&mut self, a: &str, b: &str) -> String {
        let name = self.e.temporary();
        self.e.elementwise(&name, "and", &[a, b], &self.pred);
        name
    }

    pub fn not(&mut self, a: &str) -> String {
        let name = self.e.temporary();
        self.e.elementwise(&name, "not", &[a], &self.pred);
        name
    }

    pub fn either(&mut self, a: &str, b: &str) -> String {
        let name = self.e.temporary();
        self.e.elementwise(&name, "or", &[a, b], &self.pred);
        name
    }

    /// Writes copysign: the magnitude of `size` with the sign bit of `sign`, including the sign of -0.
    pub fn with_sign_of(&mut self, size: &str, sign: &str) -> String {
        let is_double = self.element.dtype == DType::F64;
        let bits =
            TensorType { dtype: if is_double { DType::U64 } else { DType::U32 }, dims: self.element.dims.clone() };
        let top = 1u128 << (if is_double { 63 } else { 31 });
        let (high, others) = (self.e.constant(&bits, top), self.e.constant(&bits, top - 1));
        let kept = |e: &mut Emitter, x: &str, mask: &str, ty: &TensorType| {
            let (cast, part) = (e.temporary(), e.temporary());
            e.changing(&cast, "bitcast_convert", &[x], ty, &bits);
            e.elementwise(&part, "and", &[&cast, mask], &bits);
            part
        };
        let (size, sign) = (kept(self.e, size, &others, &self.element), kept(self.e, sign, &high, &self.element));
        let (all, name) = (self.e.temporary(), self.e.temporary());
        self.e.elementwise(&all, "or", &[&size, &sign], &bits);
        self.e.changing(&name, "bitcast_convert", &[&all], &bits, &self.element);
        name
    }
}
