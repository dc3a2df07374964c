//! Integer division and power, written as other operations where XLA's own would crash the process or return wrong
//! results.

use crate::emit::{Emitter, emit, mlir};
use base::types::{DType, Kind, TensorType};
use ir::BinaryOp;

/// Bits of an integer with all bits set, in the dtype's width: the largest unsigned value, or -1.
fn all_ones(ty: &TensorType) -> u128 {
    u128::MAX >> (128 - 8 * ty.dtype.size_bytes() as u32)
}

/// Writes integer division or remainder, as XLA computes them without a trap: x / 0 has all bits set (-1), x % 0 is x,
/// the lowest value divided by -1 is itself with remainder 0. The cases are explicit in the StableHLO, since XLA folds
/// constants with the processor's division, whose trap would end the process.
pub fn integer_division(e: &mut Emitter, name: &str, op: BinaryOp, lhs: &str, rhs: &str, ty: &TensorType) {
    let text = mlir(ty);
    let pred = mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() });
    let signed = ty.dtype.kind() == Kind::Signed;
    let kind = if signed { "SIGNED" } else { "UNSIGNED" };
    let (zero, one, ones) = (e.constant(ty, 0), e.constant(ty, 1), e.constant(ty, all_ones(ty)));
    let (by_zero, divisor) = (e.temporary(), e.temporary());
    emit!(e, "    {by_zero} = stablehlo.compare EQ, {rhs}, {zero}, {kind} : ({text}, {text}) -> {pred}");
    emit!(e, "    {divisor} = stablehlo.select {by_zero}, {one}, {rhs} : {pred}, {text}");
    let result = e.temporary();
    if signed {
        let (by_ones, safe, plain) = (e.temporary(), e.temporary(), e.temporary());
        emit!(e, "    {by_ones} = stablehlo.compare EQ, {rhs}, {ones}, {kind} : ({text}, {text}) -> {pred}");
        emit!(e, "    {safe} = stablehlo.select {by_ones}, {one}, {divisor} : {pred}, {text}");
        emit!(e, "    {plain} = stablehlo.{} {lhs}, {safe} : {text}", op.name());
        let by_ones_result = if op == BinaryOp::Divide {
            let negated = e.temporary();
            emit!(e, "    {negated} = stablehlo.negate {lhs} : {text}");
            negated
        } else {
            zero
        };
        emit!(e, "    {result} = stablehlo.select {by_ones}, {by_ones_result}, {plain} : {pred}, {text}");
    } else {
        emit!(e, "    {result} = stablehlo.{} {lhs}, {divisor} : {text}", op.name());
    }
    let by_zero_result = if op == BinaryOp::Divide { ones.as_str() } else { lhs };
    emit!(e, "    {name} = stablehlo.select {by_zero}, {by_zero_result}, {result} : {pred}, {text}");
}

/// Writes integer power by repeated squaring over all bits of the exponent; XLA's own reads only its lowest bits (6 of
/// 64), so that 0 to the power of 64 would be 1. For negative exponents the result is 0, except that base 1 gives 1,
/// and base -1 alternates between 1 and -1.
pub fn integer_power(e: &mut Emitter, name: &str, lhs: &str, rhs: &str, ty: &TensorType) {
    let signed = ty.dtype.kind() == Kind::Signed;
    let (text, zero, one) = (mlir(ty), e.constant(ty, 0), e.constant(ty, 1));
    if !signed {
        return squarings(e, name, lhs, rhs, ty, (&zero, &one));
    }
    let (negative, exponent, positive_result) = (e.temporary(), e.temporary(), e.temporary());
    let pred = mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() });
    let ones = e.constant(ty, all_ones(ty));
    emit!(e, "    {negative} = stablehlo.compare LT, {rhs}, {zero}, SIGNED : ({text}, {text}) -> {pred}");
    emit!(e, "    {exponent} = stablehlo.select {negative}, {zero}, {rhs} : {pred}, {text}");
    squarings(e, &positive_result, lhs, &exponent, ty, (&zero, &one));

    let (is_one, is_minus_one, last_bit, is_odd) = (e.temporary(), e.temporary(), e.temporary(), e.temporary());
    let (alternating, of_minus_one, inverse) = (e.temporary(), e.temporary(), e.temporary());
    emit!(e, "    {is_one} = stablehlo.compare EQ, {lhs}, {one}, SIGNED : ({text}, {text}) -> {pred}");
    emit!(e, "    {is_minus_one} = stablehlo.compare EQ, {lhs}, {ones}, SIGNED : ({text}, {text}) -> {pred}");
    emit!(e, "    {last_bit} = stablehlo.and {rhs}, {one} : {text}");
    emit!(e, "    {is_odd} = stablehlo.compare EQ, {last_bit}, {one}, SIGNED : ({text}, {text}) -> {pred}");
    emit!(e, "    {alternating} = stablehlo.select {is_odd}, {ones}, {one} : {pred}, {text}");
    emit!(e, "    {of_minus_one} = stablehlo.select {is_minus_one}, {alternating}, {zero} : {pred}, {text}");
    emit!(e, "    {inverse} = stablehlo.select {is_one}, {one}, {of_minus_one} : {pred}, {text}");
    emit!(e, "    {name} = stablehlo.select {negative}, {inverse}, {positive_result} : {pred}, {text}");
}

/// Writes the loop of repeated squaring, which ends when no exponent has bits left.
fn squarings(e: &mut Emitter, name: &str, base: &str, exponent: &str, ty: &TensorType, (zero, one): (&str, &str)) {
    let text = mlir(ty);
    let pred = mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() });
    let own = name.replace('%', "%power_");
    let (product, square, rest) = (format!("{own}_p"), format!("{own}_s"), format!("{own}_e"));
    let (loops, left, any, none) = (e.temporary(), e.temporary(), e.temporary(), e.temporary());
    emit!(
        e,
        "    {loops}:3 = stablehlo.while({product} = {one}, {square} = {base}, {rest} = {exponent}) : {text}, {text}, {text}\n    cond {{"
    );
    emit!(e, "    {left} = stablehlo.compare NE, {rest}, {zero} : ({text}, {text}) -> {pred}");
    let axes: Vec<usize> = (0..ty.dims.len()).collect();
    emit!(e, "    {none} = stablehlo.constant dense<false> : tensor<i1>");
    emit!(
        e,
        "    {any} = stablehlo.reduce({left} init: {none}) applies stablehlo.or across dimensions = {axes:?} : ({pred}, tensor<i1>) -> tensor<i1>"
    );
    emit!(e, "    stablehlo.return {any} : tensor<i1>\n    }} do {{");
    let (bit, is_odd, times, next) = (e.temporary(), e.temporary(), e.temporary(), e.temporary());
    let (squared, halved) = (e.temporary(), e.temporary());
    emit!(e, "    {bit} = stablehlo.and {rest}, {one} : {text}");
    emit!(e, "    {is_odd} = stablehlo.compare EQ, {bit}, {one} : ({text}, {text}) -> {pred}");
    emit!(e, "    {times} = stablehlo.multiply {product}, {square} : {text}");
    emit!(e, "    {next} = stablehlo.select {is_odd}, {times}, {product} : {pred}, {text}");
    emit!(e, "    {squared} = stablehlo.multiply {square}, {square} : {text}");
    emit!(e, "    {halved} = stablehlo.shift_right_logical {rest}, {one} : {text}");
    emit!(e, "    stablehlo.return {next}, {squared}, {halved} : {text}, {text}, {text}\n    }}");
    emit!(e, "    {name} = stablehlo.add {loops}#0, {zero} : {text}");
}
