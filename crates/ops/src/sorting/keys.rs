//! StableHLO of sort keys: floats with one zero and one NaN.

use crate::elementwise::fold_barrier::unsigned;
use crate::emit::{Emitter, emit, mlir};
use base::types::{DType, TensorType};

/// Writes floats with every zero replaced by 0, and every NaN by one NaN, whose sign is `negative`.
pub(crate) fn canonical(e: &mut Emitter, x: &str, ty: &TensorType, negative_nan: bool) -> String {
    let (text, pred) = (mlir(ty), mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() }));
    let is_zero = is_zero(e, x, ty, &pred);
    let zero = e.constant(ty, 0);
    let nan = e.constant(ty, nan_bits(ty.dtype, negative_nan));
    let [one_zero, is_nan, result] = [(); 3].map(|()| e.temporary());
    emit!(e, "    {one_zero} = stablehlo.select {is_zero}, {zero}, {x} : {pred}, {text}");
    emit!(e, "    {is_nan} = stablehlo.compare NE, {x}, {x}, FLOAT : ({text}, {text}) -> {pred}");
    emit!(e, "    {result} = stablehlo.select {is_nan}, {nan}, {one_zero} : {pred}, {text}");
    result
}

/// Writes whether floats are 0. XLA's CPU backend treats some denormal numbers as 0 in comparisons and others not,
/// depending on how it compiles them, so on cpu the bits without the sign are compared.
fn is_zero(e: &mut Emitter, x: &str, ty: &TensorType, pred: &str) -> String {
    let (text, result) = (mlir(ty), e.temporary());
    if e.platform != "cpu" {
        let zero = e.constant(ty, 0);
        emit!(e, "    {result} = stablehlo.compare EQ, {x}, {zero}, FLOAT : ({text}, {text}) -> {pred}");
        return result;
    }
    let bits_ty = unsigned(ty);
    let (bits, size, zero, bits_text) = (e.temporary(), e.temporary(), e.constant(&bits_ty, 0), mlir(&bits_ty));
    emit!(e, "    {bits} = stablehlo.bitcast_convert {x} : ({text}) -> {bits_text}");
    emit!(e, "    {size} = stablehlo.add {bits}, {bits} : {bits_text}");
    emit!(e, "    {result} = stablehlo.compare EQ, {size}, {zero}, UNSIGNED : ({bits_text}, {bits_text}) -> {pred}");
    result
}

/// Bits of the quiet NaN with only the required bits set.
pub(super) fn nan_bits(dtype: DType, negative: bool) -> u128 {
    let positive = match dtype {
        DType::F16 => 0x7E00,
        DType::BF16 => 0x7FC0,
        DType::F32 => 0x7FC0_0000,
        _ => 0x7FF8_0000_0000_0000,
    };
    positive | u128::from(negative) << (8 * dtype.size_bytes() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::literal;

    #[test]
    fn nan_is_written_with_every_bit() {
        assert_eq!(literal(DType::F32, nan_bits(DType::F32, false)), "0x7FC00000");
        assert_eq!(literal(DType::BF16, nan_bits(DType::BF16, true)), "0xFFC0");
        assert_eq!(literal(DType::F64, nan_bits(DType::F64, true)), "0xFFF8000000000000");
        assert!(half::f16::from_bits(nan_bits(DType::F16, false) as u16).is_nan());
    }
}
