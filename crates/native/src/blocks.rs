//! Evaluation of a function block by block, so that the intermediate results of its operations stay in the cache.

use super::array::Array;
use super::element::by_width;
use base::error::Result;
use base::types::TensorType;

/// Number of elements of a block: several blocks fit in the L1 cache, and an operation on one takes several times as
/// long as the call.
pub const BLOCK: usize = 4096;

/// Number of elements from which several threads work: the functions take some nanoseconds an element.
const PARALLEL: usize = 1 << 16;

/// Evaluates an elementwise function of vectors of one length, which is that of the vector type `ty`. `function` gets
/// vectors of a length of at most [`BLOCK`], and that length; it returns one of it.
pub fn in_blocks(
    ty: &TensorType,
    operands: &[Array],
    function: &(dyn Fn(&[Array], i64) -> Result<Array> + Sync),
) -> Result<Array> {
    let count = ty.elements();
    if count <= BLOCK {
        return function(operands, count as i64);
    }
    let piece = if count < PARALLEL { usize::MAX } else { 4 * BLOCK };
    by_width!(ty.dtype, T => Array::try_write_pieces::<T>(ty, piece, &|range, out| {
        let end = range.end;
        for start in range.step_by(BLOCK) {
            let length = BLOCK.min(end - start);
            let parts = operands.iter().map(|x| part(x, start, length)).collect::<Result<Vec<Array>>>()?;
            out.copy(function(&parts, length as i64)?.elements());
        }
        Ok(())
    }))
}

/// A part of a vector.
fn part(x: &Array, start: usize, length: usize) -> Result<Array> {
    let ty = TensorType::new(x.ty().dtype, &[length as i64]);
    by_width!(ty.dtype, T => Array::write::<T>(&ty, |out| out.copy(&x.elements()[start..][..length])))
}

#[cfg(test)]
mod tests {
    use super::super::binary;
    use super::super::elementwise::Source;
    use super::*;
    use crate::testing::counted;
    use base::error;
    use base::error::Code;
    use ir::BinaryOp;

    #[test]
    fn blocks_are_put_together_in_order() {
        for count in [1, BLOCK, BLOCK + 1, PARALLEL + 5] {
            let x = counted(&[count as i64]);
            let sum = |parts: &[Array], _: i64| {
                binary(BinaryOp::Add, parts[0].ty(), Source::Array(&parts[0]), Source::Array(&parts[1]))
            };
            let made = in_blocks(x.ty(), &[x.clone(), x.clone()], &sum).unwrap();
            let twice: Vec<i32> = x.elements::<i32>().iter().map(|x| 2 * x).collect();
            assert_eq!(made.elements::<i32>(), twice);
        }
    }

    #[test]
    fn a_failure_of_a_block_is_that_of_the_whole() {
        let x = counted(&[3 * BLOCK as i64]);
        let fails = |parts: &[Array], _: i64| match parts[0].elements::<i32>().contains(&(2 * BLOCK as i32)) {
            true => Err(error!(ResourceExhausted, "no memory")),
            false => Ok(parts[0].clone()),
        };
        assert_eq!(in_blocks(x.ty(), std::slice::from_ref(&x), &fails).unwrap_err().code, Code::ResourceExhausted);
    }
}
