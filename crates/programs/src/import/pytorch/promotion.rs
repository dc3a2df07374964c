//! ATen's promotion of dtypes. The kind decides first (bool, integer, float, complex). Within a kind, tensors with axes
//! decide before tensors of rank 0, and these before numbers.

use base::error;
use base::error::Result;
use base::types::{DType, Kind};

/// An operand, as far as promotion is concerned.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A tensor with axes.
    Tensor(DType),
    /// A tensor of rank 0.
    Scalar(DType),
    /// A number, by the dtype that PyTorch gives it: pred, s64, f32 or c64.
    Number(DType),
}

/// Rank of a kind: bool, integer, float, complex.
fn rank(dtype: DType) -> u8 {
    match dtype.kind() {
        Kind::Pred => 0,
        Kind::Signed | Kind::Unsigned => 1,
        Kind::Float | Kind::Float8 | Kind::Subbyte => 2,
        Kind::Complex => 3,
    }
}

/// Returns the dtype in which PyTorch computes with these operands.
pub fn promoted(operands: &[Operand]) -> Result<DType> {
    let (mut tensors, mut scalars, mut numbers) = (None, None, None);
    for operand in operands {
        let (level, dtype) = match *operand {
            Operand::Tensor(dtype) => (&mut tensors, dtype),
            Operand::Scalar(dtype) => (&mut scalars, dtype),
            Operand::Number(dtype) => (&mut numbers, dtype),
        };
        *level = Some(level.map_or(Ok(dtype), |before| join(before, dtype))?);
    }
    let combined = over(tensors, scalars)?;
    let combined = over(combined, numbers)?;
    combined.ok_or_else(|| error!(InvalidArgument, "there are no operands"))
}

/// The dtype of a level of operands over the dtype of a lower level, which decides only by a higher kind.
fn over(higher: Option<DType>, lower: Option<DType>) -> Result<Option<DType>> {
    let (Some(higher), Some(lower)) = (higher, lower) else { return Ok(higher.or(lower)) };
    Ok(Some(match (rank(higher), rank(lower)) {
        (h, l) if h >= l => higher,
        // A complex number beside a float tensor has the tensor's precision.
        (2, 3) => complex_of(higher),
        _ => join(higher, lower)?,
    }))
}

fn complex_of(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::C128 } else { DType::C64 }
}

/// The common dtype of two dtypes (`torch.promote_types`).
pub fn join(a: DType, b: DType) -> Result<DType> {
    if a == b {
        return Ok(a);
    }
    let (low, high) = if rank(a) <= rank(b) { (a, b) } else { (b, a) };
    let refused = || error!(Unimplemented, "a common dtype of {a} and {b}");
    if rank(low) < rank(high) {
        return match (rank(low), rank(high)) {
            (2, 3) if low == DType::F64 => Ok(DType::C128),
            (2, 3) if !low.has_arithmetic() => Err(refused()),
            _ => Ok(high),
        };
    }
    match rank(low) {
        1 => joined_integers(a, b).ok_or_else(refused),
        2 if !a.has_arithmetic() || !b.has_arithmetic() => Err(refused()),
        2 if [a, b].contains(&DType::F64) => Ok(DType::F64),
        // f32 with a narrower one, and f16 with bf16.
        2 => Ok(DType::F32),
        _ => Ok(DType::C128),
    }
}

fn joined_integers(a: DType, b: DType) -> Option<DType> {
    const SIGNED: [DType; 4] = [DType::S8, DType::S16, DType::S32, DType::S64];
    let width = |dtype: DType| SIGNED.iter().position(|&signed| signed == dtype);
    match (width(a), width(b)) {
        (Some(a), Some(b)) => Some(SIGNED[a.max(b)]),
        (Some(signed), None) if b == DType::U8 => Some(SIGNED[signed.max(1)]),
        (None, Some(signed)) if a == DType::U8 => Some(SIGNED[signed.max(1)]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Operand::{Number, Scalar, Tensor};
    use super::*;
    use base::types::DType::*;

    #[test]
    fn dtypes_are_those_of_pytorch() {
        for (operands, wanted) in [
            (vec![Tensor(F32), Tensor(F64)], F64),
            (vec![Tensor(F16), Tensor(BF16)], F32),
            (vec![Tensor(S32), Scalar(S64)], S32),
            (vec![Tensor(S32), Number(F32)], F32),
            (vec![Tensor(S64), Scalar(F64)], F64),
            (vec![Tensor(BF16), Scalar(F32)], BF16),
            (vec![Tensor(BF16), Tensor(F32)], F32),
            (vec![Tensor(U8), Number(S64)], U8),
            (vec![Tensor(Pred), Number(S64)], S64),
            (vec![Scalar(Pred), Number(F32)], F32),
            (vec![Tensor(U8), Tensor(S8)], S16),
            (vec![Tensor(U8), Tensor(S64)], S64),
            (vec![Tensor(F64), Number(C64)], C128),
            (vec![Tensor(F16), Number(F32)], F16),
            (vec![Tensor(C64), Tensor(F64)], C128),
            (vec![Tensor(C64), Scalar(F64)], C64),
            (vec![Scalar(F64), Scalar(F32)], F64),
            (vec![Scalar(F64), Tensor(F32)], F32),
            (vec![Number(S64), Number(F32)], F32),
        ] {
            assert_eq!(promoted(&operands).unwrap(), wanted, "{operands:?}");
        }
        assert!(promoted(&[Tensor(U16), Tensor(S32)]).is_err());
        assert!(promoted(&[]).is_err());
    }
}
