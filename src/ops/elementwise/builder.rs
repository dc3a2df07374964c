//! Builder for lowerings that write several elementwise StableHLO operations.

use crate::emit::{Emitter, emit, mlir};
use crate::ops::elementwise::fold_barrier::unsigned;
use crate::types::{DType, Scalar, ScalarValue, TensorType};

/// Names of the real and the imaginary part.
pub type Parts = [String; 2];

/// Writes elementwise operations on values of one type, and returns the names of their results.
pub struct Steps<'a, 'b> {
    pub e: &'a mut Emitter<'b>,
    ty: String,
    pred: String,
    element: TensorType,
}

impl<'a, 'b> Steps<'a, 'b> {
    pub fn of(e: &'a mut Emitter<'b>, ty: &TensorType) -> Steps<'a, 'b> {
        let pred = TensorType { dtype: DType::Pred, dims: ty.dims.clone() };
        Steps { e, ty: mlir(ty), pred: mlir(&pred), element: ty.clone() }
    }

    pub fn step(&mut self, op: &str, operands: &[&str]) -> String {
        let name = self.e.temporary();
        emit!(self.e, "    {name} = stablehlo.{op} {} : {}", operands.join(", "), self.ty);
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
        emit!(self.e, "    {name} = stablehlo.is_finite {x} : ({}) -> {}", self.ty, self.pred);
        name
    }

    pub fn compare(&mut self, how: &str, a: &str, b: &str) -> String {
        let name = self.e.temporary();
        emit!(self.e, "    {name} = stablehlo.compare {how}, {a}, {b}, FLOAT : ({0}, {0}) -> {1}", self.ty, self.pred);
        name
    }

    pub fn select(&mut self, name: &str, pred: &str, on_true: &str, on_false: &str) {
        emit!(self.e, "    {name} = stablehlo.select {pred}, {on_true}, {on_false} : {}, {}", self.pred, self.ty);
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
        let wide = unsigned(&self.element);
        let (float, bits, past) = (&self.ty, mlir(&wide), (8 * wide.dtype.size_bytes()).ilog2() + 1);
        let e = &mut *self.e;
        let [x_bits, other_bits] = [x, other].map(|value| {
            let name = e.temporary();
            emit!(e, "    {name} = stablehlo.bitcast_convert {value} : ({float}) -> {bits}");
            name
        });
        let (leading, zero, same, name) = (e.temporary(), e.temporary(), e.temporary(), e.temporary());
        let shift = e.constant(&wide, past.into());
        emit!(e, "    {leading} = stablehlo.count_leading_zeros {other_bits} : {bits}");
        emit!(e, "    {zero} = stablehlo.shift_right_logical {leading}, {shift} : {bits}");
        emit!(e, "    {same} = stablehlo.or {x_bits}, {zero} : {bits}");
        emit!(e, "    {name} = stablehlo.bitcast_convert {same} : ({bits}) -> {float}");
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
        emit!(self.e, "    {name} = stablehlo.and {a}, {b} : {}", self.pred);
        name
    }

    pub fn not(&mut self, a: &str) -> String {
        let name = self.e.temporary();
        emit!(self.e, "    {name} = stablehlo.not {a} : {}", self.pred);
        name
    }

    pub fn either(&mut self, a: &str, b: &str) -> String {
        let name = self.e.temporary();
        emit!(self.e, "    {name} = stablehlo.or {a}, {b} : {}", self.pred);
        name
    }

    /// Writes copysign: the magnitude of `size` with the sign bit of `sign`, including the sign of -0.
    pub fn with_sign_of(&mut self, size: &str, sign: &str) -> String {
        let is_double = self.element.dtype == DType::F64;
        let bits =
            TensorType { dtype: if is_double { DType::U64 } else { DType::U32 }, dims: self.element.dims.clone() };
        let (text, top) = (mlir(&bits), 1u128 << (if is_double { 63 } else { 31 }));
        let (high, others) = (self.e.constant(&bits, top), self.e.constant(&bits, top - 1));
        let kept = |e: &mut Emitter, x: &str, mask: &str, ty: &str| {
            let (cast, part) = (e.temporary(), e.temporary());
            emit!(e, "    {cast} = stablehlo.bitcast_convert {x} : ({ty}) -> {text}");
            emit!(e, "    {part} = stablehlo.and {cast}, {mask} : {text}");
            part
        };
        let (size, sign) = (kept(self.e, size, &others, &self.ty), kept(self.e, sign, &high, &self.ty));
        let (all, name) = (self.e.temporary(), self.e.temporary());
        emit!(self.e, "    {all} = stablehlo.or {size}, {sign} : {text}");
        emit!(self.e, "    {name} = stablehlo.bitcast_convert {all} : ({text}) -> {}", self.ty);
        name
    }
}
