//! Conversions to another dtype, rounded once and safe from XLA's simplifier. XLA converts f64 and integers of 32 and 64
//! bits to narrow floats by way of f32, and rounds twice. Here the number in f32 is rounded to odd: toward 0, with the
//! last bit set if anything was lost. Rounding it again gives the nearest narrow float (Boldo and Melquiond, "Emulation of
//! FMA and correctly rounded sums", 2008).

use super::emitter::Emitter;
use super::{emit, mlir};
use base::types::{DType, Kind, TensorType};
use ir::Op;

impl Emitter<'_> {
    /// Converts the value at `position` to a dtype. The result gets this name.
    pub fn convert_value(&mut self, name: &str, position: usize, dtype: DType) {
        let (x, from) = (self.name(position), self.values[position].ty.clone());
        if !self.loses_rounding(position, dtype) {
            return self.convert_into(name, &x, &from, dtype);
        }
        let wide = self.convert(&x, &from, dtype);
        let ty = TensorType { dtype, dims: from.dims };
        emit!(self, "    {name} = stablehlo.reduce_precision {wide}, format = e8m7 : {}", mlir(&ty));
    }

    /// Whether XLA may drop the rounding of the bf16 at `position` when a sum reads its conversion to f32. XLA computes
    /// bf16 in f32; its CPU backend passes the conversions to bf16 and back to YNNPACK together with a sum, and YNNPACK
    /// drops both.
    fn loses_rounding(&self, position: usize, dtype: DType) -> bool {
        let value = self.instruction(position);
        let is_computed = value.op != Op::Leaf || self.is_called;
        self.platform == "cpu" && value.ty.dtype == DType::BF16 && dtype == DType::F32 && is_computed
    }

    /// Converts `x`, of type `from`, to a dtype. Returns the name of the result.
    pub fn convert(&mut self, x: &str, from: &TensorType, dtype: DType) -> String {
        let made = self.temporary();
        self.convert_into(&made, x, from, dtype);
        made
    }

    /// Converts `x`, of type `from`, to a dtype. The result gets this name.
    pub fn convert_into(&mut self, name: &str, x: &str, from: &TensorType, dtype: DType) {
        let (x, from) = if rounds_twice(from.dtype, dtype) {
            self.in_odd_f32(x, from)
        } else if from.dtype == DType::Pred && matches!(dtype.kind(), Kind::Float | Kind::Float8 | Kind::Complex) {
            self.as_integers(x, from)
        } else {
            (x.to_string(), from.clone())
        };
        let to = TensorType { dtype, dims: from.dims.clone() };
        emit!(self, "    {name} = stablehlo.convert {x} : ({}) -> {}", mlir(&from), mlir(&to));
    }

    /// Converts preds to u8. XLA makes a selection between x and 0 of a product of x and the conversion of a pred, which
    /// loses infinities, NaN and the sign of 0.
    fn as_integers(&mut self, x: &str, preds: &TensorType) -> (String, TensorType) {
        let bytes = TensorType { dtype: DType::U8, dims: preds.dims.clone() };
        (self.changed("convert", x, preds, &bytes), bytes)
    }

    /// Converts a value to f32, rounded to odd. Returns its name and type.
    fn in_odd_f32(&mut self, x: &str, from: &TensorType) -> (String, TensorType) {
        let of = |dtype| TensorType { dtype, dims: from.dims.clone() };
        let f64s = of(DType::F64);
        let exact = match from.dtype {
            DType::F64 => x.to_string(),
            DType::S64 | DType::U64 => {
                let few_bits = self.in_53_bits(x, from);
                self.changed("convert", &few_bits, from, &f64s)
            }
            _ => self.changed("convert", x, from, &f64s),
        };
        let bits = self.odd_f32_bits(&exact, &of(DType::U64));
        (self.changed("bitcast_convert", &bits, &of(DType::U32), &of(DType::F32)), of(DType::F32))
    }

    /// Rounds integers of 64 bits to odd multiples of 2^11, where they are so large that f64 might not hold them.
    fn in_53_bits(&mut self, x: &str, ty: &TensorType) -> String {
        let c = |e: &mut Self, number: i64| e.constant(ty, number as u64 as u128);
        let (low_bits, zero, unit) = (c(self, 0x7FF), c(self, 0), c(self, 0x800));
        let low = self.op("and", [x, &low_bits], ty);
        let high = self.op("subtract", [x, &low], ty);
        let is_exact = self.compared("EQ", [&low, &zero], ty);
        let sticky = self.chosen(&is_exact, [&zero, &unit], ty);
        let odd = self.op("or", [&high, &sticky], ty);
        let (least, most) = (c(self, if ty.dtype == DType::S64 { -(1 << 48) } else { 0 }), c(self, 1 << 48));
        let inside = self.temporary();
        self.elementwise(&inside, "clamp", &[&least, x, &most], ty);
        let is_small = self.compared("EQ", [&inside, x], ty);
        self.chosen(&is_small, [x, &odd], ty)
    }

    /// Bits of the odd f32 of an f64, by operations on integers: XLA's floats flush subnormal numbers to 0.
    fn odd_f32_bits(&mut self, x: &str, words: &TensorType) -> String {
        const INFINITY: u128 = 0x7FF << 52;
        // Exponent field of the least normal f32, in f64.
        const LEAST: u128 = 1023 - 126;
        let floats = TensorType { dtype: DType::F64, dims: words.dims.clone() };
        let halves = TensorType { dtype: DType::U32, dims: words.dims.clone() };
        let c = |e: &mut Self, bits: u128| e.constant(words, bits);
        let bits = self.changed("bitcast_convert", x, &floats, words);
        let (all, digits, one) = (c(self, u128::from(u64::MAX >> 1)), c(self, (1 << 52) - 1), c(self, 1));
        let (n52, n29, n23, n63, n32) = (c(self, 52), c(self, 29), c(self, 23), c(self, 63), c(self, 32));
        let size = self.op("and", [&bits, &all], words);
        let exponent = self.op("shift_right_logical", [&size, &n52], words);
        let fraction = self.op("and", [&size, &digits], words);
        let is_normal = self.op("minimum", [&exponent, &one], words);
        let leading = self.op("shift_left", [&is_normal, &n52], words);
        let significand = self.op("or", [&fraction, &leading], words);
        // An f32 has 29 bits less, and a subnormal one loses more.
        let least = c(self, LEAST);
        let below = self.op("minimum", [&exponent, &least], words);
        let missing = self.op("subtract", [&least, &below], words);
        let shift = self.op("add", [&missing, &n29], words);
        let shift = self.op("minimum", [&shift, &n63], words);
        let kept = self.op("shift_right_logical", [&significand, &shift], words);
        let back = self.op("shift_left", [&kept, &shift], words);
        let is_lossy = self.compared("NE", [&back, &significand], words);
        let preds = TensorType { dtype: DType::Pred, dims: words.dims.clone() };
        let sticky = self.changed("convert", &is_lossy, &preds, words);
        let above = self.op("maximum", [&exponent, &least], words);
        let above = self.op("subtract", [&above, &least], words);
        let field = self.op("shift_left", [&above, &n23], words);
        let finite = self.op("add", [&field, &kept], words);
        let finite = self.op("or", [&finite, &sticky], words);
        let (max, infinity, nan) = (c(self, 0x7F7F_FFFF), c(self, 0x7F80_0000), c(self, 0x7FC0_0000));
        let finite = self.op("minimum", [&finite, &max], words);
        let end = c(self, INFINITY);
        let is_nan = self.compared("GT", [&size, &end], words);
        let is_finite = self.compared("LT", [&size, &end], words);
        let special = self.chosen(&is_nan, [&nan, &infinity], words);
        let unsigned = self.chosen(&is_finite, [&finite, &special], words);
        let (high, sign_bit) = (self.op("shift_right_logical", [&bits, &n32], words), c(self, 1 << 31));
        let sign = self.op("and", [&high, &sign_bit], words);
        let signed = self.op("or", [&sign, &unsigned], words);
        self.changed("convert", &signed, words, &halves)
    }

    fn op(&mut self, op: &str, operands: [&str; 2], ty: &TensorType) -> String {
        let name = self.temporary();
        self.elementwise(&name, op, &operands, ty);
        name
    }

    fn changed(&mut self, op: &str, x: &str, from: &TensorType, to: &TensorType) -> String {
        let name = self.temporary();
        self.changing(&name, op, &[x], from, to);
        name
    }

    fn compared(&mut self, direction: &str, [a, b]: [&str; 2], ty: &TensorType) -> String {
        let (name, text) = (self.temporary(), mlir(ty));
        let preds = TensorType { dtype: DType::Pred, dims: ty.dims.clone() };
        emit!(self, "    {name} = stablehlo.compare {direction}, {a}, {b} : ({text}, {text}) -> {}", mlir(&preds));
        name
    }

    fn chosen(&mut self, pred: &str, choices: [&str; 2], ty: &TensorType) -> String {
        let name = self.temporary();
        self.choose(&name, pred, choices, ty);
        name
    }
}

/// Whether XLA rounds numbers of one dtype to f32 and then to the other, and both may lose bits. All integers that f16
/// has are exact in f32; the scale format `f8e8m0fnu` reaches beyond all integers.
fn rounds_twice(from: DType, to: DType) -> bool {
    match from {
        DType::F64 => matches!(to, DType::F16 | DType::BF16) || to.is_float8(),
        DType::S32 | DType::U32 | DType::S64 | DType::U64 => matches!(to, DType::BF16 | DType::F8E8M0FNU),
        _ => false,
    }
}
