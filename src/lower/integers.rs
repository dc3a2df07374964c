//! Division and power of integers, spelt out where XLA's own would end the process or give a wrong number.

use super::function::Emitter;
use super::text::mlir;
use crate::ir::BinaryOp;
use crate::types::{DType, Kind, TensorType};
use std::fmt::Write;

/// The dtype's text, and its all-ones: the greatest unsigned number, or -1.
fn all_ones(ty: &TensorType) -> u128 {
    u128::MAX >> (128 - 8 * ty.dtype.size_bytes() as u32)
}

impl Emitter<'_> {
    /// What XLA computes without a trap: x / 0 is -1, x % 0 is x, and the lowest value divided by -1 is itself, with nothing
    /// left. Said in the text, since XLA folds constants with the processor's division, which ends the process.
    pub(super) fn integer_division(&mut self, name: &str, op: BinaryOp, lhs: &str, rhs: &str, ty: &TensorType) {
        let text = mlir(ty);
        let pred = mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() });
        let signed = ty.dtype.kind() == Kind::Signed;
        let kind = if signed { "SIGNED" } else { "UNSIGNED" };
        let (zero, one, ones) = (self.constant(ty, 0), self.constant(ty, 1), self.constant(ty, all_ones(ty)));
        let (by_zero, divisor) = (self.temporary(), self.temporary());
        emit!(self, "    {by_zero} = stablehlo.compare EQ, {rhs}, {zero}, {kind} : ({text}, {text}) -> {pred}");
        emit!(self, "    {divisor} = stablehlo.select {by_zero}, {one}, {rhs} : {pred}, {text}");
        let result = self.temporary();
        if signed {
            let (by_ones, safe, plain) = (self.temporary(), self.temporary(), self.temporary());
            emit!(self, "    {by_ones} = stablehlo.compare EQ, {rhs}, {ones}, {kind} : ({text}, {text}) -> {pred}");
            emit!(self, "    {safe} = stablehlo.select {by_ones}, {one}, {divisor} : {pred}, {text}");
            emit!(self, "    {plain} = stablehlo.{} {lhs}, {safe} : {text}", op.name());
            let by_ones_result = if op == BinaryOp::Divide {
                let negated = self.temporary();
                emit!(self, "    {negated} = stablehlo.negate {lhs} : {text}");
                negated
            } else {
                zero
            };
            emit!(self, "    {result} = stablehlo.select {by_ones}, {by_ones_result}, {plain} : {pred}, {text}");
        } else {
            emit!(self, "    {result} = stablehlo.{} {lhs}, {divisor} : {text}", op.name());
        }
        let by_zero_result = if op == BinaryOp::Divide { ones.as_str() } else { lhs };
        emit!(self, "    {name} = stablehlo.select {by_zero}, {by_zero_result}, {result} : {pred}, {text}");
    }

    /// By repeated squaring, all bits of the exponent: XLA's looks at the lowest few only (6 of 64), so that 0 to the power
    /// of 64 is 1. To a negative power: 0, but for 1 and -1, which stay what they are or alternate.
    pub(super) fn integer_power(&mut self, name: &str, lhs: &str, rhs: &str, ty: &TensorType) {
        let signed = ty.dtype.kind() == Kind::Signed;
        let (text, zero, one) = (mlir(ty), self.constant(ty, 0), self.constant(ty, 1));
        if !signed {
            return self.squarings(name, lhs, rhs, ty, (&zero, &one));
        }
        let (negative, exponent, positive_result) = (self.temporary(), self.temporary(), self.temporary());
        let pred = mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() });
        let ones = self.constant(ty, all_ones(ty));
        emit!(self, "    {negative} = stablehlo.compare LT, {rhs}, {zero}, SIGNED : ({text}, {text}) -> {pred}");
        emit!(self, "    {exponent} = stablehlo.select {negative}, {zero}, {rhs} : {pred}, {text}");
        self.squarings(&positive_result, lhs, &exponent, ty, (&zero, &one));

        let (is_one, is_minus_one, last_bit, is_odd) =
            (self.temporary(), self.temporary(), self.temporary(), self.temporary());
        let (alternating, of_minus_one, inverse) = (self.temporary(), self.temporary(), self.temporary());
        emit!(self, "    {is_one} = stablehlo.compare EQ, {lhs}, {one}, SIGNED : ({text}, {text}) -> {pred}");
        emit!(self, "    {is_minus_one} = stablehlo.compare EQ, {lhs}, {ones}, SIGNED : ({text}, {text}) -> {pred}");
        emit!(self, "    {last_bit} = stablehlo.and {rhs}, {one} : {text}");
        emit!(self, "    {is_odd} = stablehlo.compare EQ, {last_bit}, {one}, SIGNED : ({text}, {text}) -> {pred}");
        emit!(self, "    {alternating} = stablehlo.select {is_odd}, {ones}, {one} : {pred}, {text}");
        emit!(self, "    {of_minus_one} = stablehlo.select {is_minus_one}, {alternating}, {zero} : {pred}, {text}");
        emit!(self, "    {inverse} = stablehlo.select {is_one}, {one}, {of_minus_one} : {pred}, {text}");
        emit!(self, "    {name} = stablehlo.select {negative}, {inverse}, {positive_result} : {pred}, {text}");
    }

    /// As long as a bit of any exponent is left.
    fn squarings(&mut self, name: &str, base: &str, exponent: &str, ty: &TensorType, (zero, one): (&str, &str)) {
        let text = mlir(ty);
        let pred = mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() });
        let own = name.replace('%', "%power_");
        let (product, square, rest) = (format!("{own}_p"), format!("{own}_s"), format!("{own}_e"));
        let (loops, left, any, none) = (self.temporary(), self.temporary(), self.temporary(), self.temporary());
        emit!(
            self,
            "    {loops}:3 = stablehlo.while({product} = {one}, {square} = {base}, {rest} = {exponent}) : {text}, {text}, {text}\n    cond {{"
        );
        emit!(self, "    {left} = stablehlo.compare NE, {rest}, {zero} : ({text}, {text}) -> {pred}");
        let axes: Vec<usize> = (0..ty.dims.len()).collect();
        emit!(self, "    {none} = stablehlo.constant dense<false> : tensor<i1>");
        emit!(
            self,
            "    {any} = stablehlo.reduce({left} init: {none}) applies stablehlo.or across dimensions = {axes:?} : ({pred}, tensor<i1>) -> tensor<i1>"
        );
        emit!(self, "    stablehlo.return {any} : tensor<i1>\n    }} do {{");
        let (bit, is_odd, times, next) = (self.temporary(), self.temporary(), self.temporary(), self.temporary());
        let (squared, halved) = (self.temporary(), self.temporary());
        emit!(self, "    {bit} = stablehlo.and {rest}, {one} : {text}");
        emit!(self, "    {is_odd} = stablehlo.compare EQ, {bit}, {one} : ({text}, {text}) -> {pred}");
        emit!(self, "    {times} = stablehlo.multiply {product}, {square} : {text}");
        emit!(self, "    {next} = stablehlo.select {is_odd}, {times}, {product} : {pred}, {text}");
        emit!(self, "    {squared} = stablehlo.multiply {square}, {square} : {text}");
        emit!(self, "    {halved} = stablehlo.shift_right_logical {rest}, {one} : {text}");
        emit!(self, "    stablehlo.return {next}, {squared}, {halved} : {text}, {text}, {text}\n    }}");
        emit!(self, "    {name} = stablehlo.add {loops}#0, {zero} : {text}");
    }
}
