//! NumPy's einsum, recorded as several operations. Two tensors are contracted at a time, greedily: first the pair with
//! the smallest difference between the size of the product and the sizes of the pair.

mod equation;

use crate::definition::Composed;
use crate::elementwise::binary::binary;
use crate::elementwise::convert::convert;
use crate::linalg::dot_general::{DotAxes, dot_general};
use crate::reduction::reduce::reduce;
use crate::shape::axes::{reshape, transpose};
use crate::shape::slicing::slice;
use base::error;
use base::error::Result;
use base::types::{DType, TensorType, element_count};
use equation::{Equation, Index};
use ir::{BinaryOp, NodeId, ReduceOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] =
    &[Composed { name: "einsum", function: "lxla_einsum", dtypes: "integers, floats, 8-bit floats, complex numbers" }];

/// Records the einsum of an equation.
pub fn einsum(trace: &mut Trace, equation: &str, tensors: &[NodeId]) -> Result<NodeId> {
    evaluate(trace, equation, tensors).map_err(|e| e.context(format_args!("equation \"{equation}\"")))
}

/// A tensor with an index for each of its axes.
#[derive(Clone)]
struct Factor {
    node: NodeId,
    indices: Vec<Index>,
}

fn evaluate(trace: &mut Trace, text: &str, tensors: &[NodeId]) -> Result<NodeId> {
    let types: Vec<TensorType> = tensors.iter().map(|&id| trace.ty(id)).collect();
    let ranks: Vec<usize> = types.iter().map(|ty| ty.dims.len()).collect();
    let equation = Equation::parse(text, &ranks)?;
    let dtype = common_dtype(&types)?;
    let sizes = sizes(&equation, &types)?;
    let dims: Vec<i64> = equation.output.iter().map(|&index| size(&sizes, index)).collect();
    element_count(&dims).map_err(|e| e.context("its result"))?;
    let mut factors = Vec::with_capacity(tensors.len());
    for (&node, indices) in tensors.iter().zip(equation.operands) {
        let node = convert(trace, node, dtype);
        let distinct = diagonals(trace, Factor { node, indices })?;
        factors.push(without_ones(trace, distinct, &sizes)?);
    }
    while factors.len() > 1 {
        let (i, j) = next_pair(&factors, &equation.output, &sizes);
        let (right, left) = (factors.remove(j), factors.remove(i));
        let needed = |index: &Index| {
            equation.output.contains(index) || factors.iter().any(|factor| factor.indices.contains(index))
        };
        let product = contract(trace, left, right, needed)?;
        factors.insert(i, product);
    }
    let last = factors.remove(0);
    let sum = summed(trace, last, |index| equation.output.contains(index))?;
    Ok(ordered(trace, sum, &equation.output)?.node)
}

fn common_dtype(types: &[TensorType]) -> Result<DType> {
    let mut dtype = types[0].dtype;
    for (i, ty) in types.iter().enumerate() {
        dtype = dtype.promote(ty.dtype).map_err(|e| e.context(format_args!("tensors[{i}] is {ty}")))?;
    }
    if dtype == DType::Pred {
        return Err(error!(InvalidArgument, "tensors[0] is {}; einsum takes numbers", types[0]));
    }
    Ok(dtype)
}

/// Returns the size of each index. Between tensors, size 1 broadcasts to any size, as in NumPy; within one tensor, all
/// axes of an index have the same size.
fn sizes(equation: &Equation, types: &[TensorType]) -> Result<Vec<(Index, i64)>> {
    let mut sizes: Vec<(Index, i64, usize)> = Vec::new();
    for (i, (indices, ty)) in equation.operands.iter().zip(types).enumerate() {
        for (axis, (&index, &size)) in indices.iter().zip(&ty.dims).enumerate() {
            let differs = |other: i64, whose: usize| {
                error!(
                    InvalidArgument,
                    "{index} is {size} in tensors[{i}], which is {ty}, and {other} in tensors[{whose}]"
                )
            };
            if let Some(earlier) = indices[..axis].iter().position(|&other| other == index)
                && ty.dims[earlier] != size
            {
                return Err(differs(ty.dims[earlier], i));
            }
            match sizes.iter_mut().find(|known| known.0 == index) {
                None => sizes.push((index, size, i)),
                Some(known) if known.1 == 1 => (known.1, known.2) = (size, i),
                Some(known) if size != 1 && size != known.1 => return Err(differs(known.1, known.2)),
                Some(_) => {}
            }
        }
    }
    Ok(sizes.into_iter().map(|(index, size, _)| (index, size)).collect())
}

fn size(sizes: &[(Index, i64)], index: Index) -> i64 {
    sizes.iter().find(|known| known.0 == index).map_or(1, |known| known.1)
}

/// Records the diagonals of axes that share an index, so that each index of the factor occurs once.
fn diagonals(trace: &mut Trace, mut factor: Factor) -> Result<Factor> {
    while let Some((first, second)) = repeated(&factor.indices) {
        factor = diagonal(trace, factor, first, second)?;
    }
    Ok(factor)
}

/// Returns the first two axes that share an index; None if there are none.
fn repeated(indices: &[Index]) -> Option<(usize, usize)> {
    (1..indices.len()).find_map(|second| {
        let first = indices[..second].iter().position(|&index| index == indices[second])?;
        Some((first, second))
    })
}

/// Records the diagonal of two axes of equal size, by merging them into one axis and slicing it with a stride: nothing
/// is computed.
fn diagonal(trace: &mut Trace, factor: Factor, first: usize, second: usize) -> Result<Factor> {
    let rank = factor.indices.len();
    let others = (0..rank).filter(|&axis| axis != first && axis != second);
    let order: Vec<usize> = others.chain([first, second]).collect();
    let indices: Vec<Index> = order[..rank - 1].iter().map(|&axis| factor.indices[axis]).collect();
    let order: Vec<i64> = order.into_iter().map(|axis| axis as i64).collect();
    let moved = transpose(trace, factor.node, &order)?;
    let mut dims = trace.ty(moved).dims;
    let size = dims.pop().expect("a tensor with two axes");
    dims[rank - 2] = size * size;
    let line = reshape(trace, moved, &dims)?;
    let mut strides = vec![1; rank - 1];
    strides[rank - 2] = size + 1;
    let node = slice(trace, line, &vec![0; rank - 1], &dims, &strides)?;
    Ok(Factor { node, indices })
}

/// Removes the axes of size 1 whose index is larger in another tensor; they broadcast.
fn without_ones(trace: &mut Trace, factor: Factor, sizes: &[(Index, i64)]) -> Result<Factor> {
    let dims = trace.ty(factor.node).dims;
    let stays = |axis: &usize| dims[*axis] == size(sizes, factor.indices[*axis]);
    let kept: Vec<usize> = (0..dims.len()).filter(stays).collect();
    let node = reshape(trace, factor.node, &kept.iter().map(|&axis| dims[axis]).collect::<Vec<i64>>())?;
    Ok(Factor { node, indices: kept.into_iter().map(|axis| factor.indices[axis]).collect() })
}

/// Returns the first pair of factors with the smallest difference between the size of their product and their own
/// sizes.
fn next_pair(factors: &[Factor], output: &[Index], sizes: &[(Index, i64)]) -> (usize, usize) {
    let elements = |indices: &mut dyn Iterator<Item = Index>| indices.map(|i| size(sizes, i) as f64).product::<f64>();
    let mut best = (f64::INFINITY, (0, 1));
    for j in 1..factors.len() {
        for i in 0..j {
            let (left, right) = (&factors[i].indices, &factors[j].indices);
            let others = || factors.iter().enumerate().filter(|(k, _)| *k != i && *k != j);
            let is_left =
                |index: &Index| output.contains(index) || others().any(|(_, factor)| factor.indices.contains(index));
            let union = left.iter().chain(right.iter().filter(|index| !left.contains(index)));
            let product = elements(&mut union.copied().filter(is_left));
            let own = elements(&mut left.iter().copied()) + elements(&mut right.iter().copied());
            if product - own < best.0 {
                best = (product - own, (i, j));
            }
        }
    }
    best.1
}

/// Records the product of two factors, summed over the indices that neither the other factors nor the output contain.
fn contract(trace: &mut Trace, left: Factor, right: Factor, needed: impl Fn(&Index) -> bool) -> Result<Factor> {
    let left = summed(trace, left, |index| needed(index) || right.indices.contains(index))?;
    let right = summed(trace, right, |index| needed(index) || left.indices.contains(index))?;
    let shared: Vec<Index> = left.indices.iter().copied().filter(|index| right.indices.contains(index)).collect();
    let (batching, contracting): (Vec<Index>, Vec<Index>) = shared.iter().partition(|index| needed(index));
    let own = |factor: &Factor| factor.indices.iter().copied().filter(|index| !shared.contains(index)).collect();
    let (left_own, right_own): (Vec<Index>, Vec<Index>) = (own(&left), own(&right));
    let indices = [&batching[..], &left_own, &right_own].concat();
    let node = if contracting.is_empty() {
        let left = ordered(trace, left, &[&batching[..], &left_own].concat())?;
        let right = ordered(trace, right, &[&batching[..], &right_own].concat())?;
        let left = with_ones(trace, left, &indices)?;
        let right = with_ones(trace, right, &indices)?;
        binary(trace, BinaryOp::Multiply, left, right)?
    } else {
        let axes = DotAxes {
            lhs_batching: &axes_of(&left, &batching),
            rhs_batching: &axes_of(&right, &batching),
            lhs_contracting: &axes_of(&left, &contracting),
            rhs_contracting: &axes_of(&right, &contracting),
        };
        dot_general(trace, left.node, right.node, &axes, None)?
    };
    Ok(Factor { node, indices })
}

fn axes_of(factor: &Factor, wanted: &[Index]) -> Vec<i64> {
    let axis = |index: &Index| factor.indices.iter().position(|own| own == index).expect("an index of the factor");
    wanted.iter().map(|index| axis(index) as i64).collect()
}

/// Records the sum over the indices that are not kept.
fn summed(trace: &mut Trace, factor: Factor, kept: impl Fn(&Index) -> bool) -> Result<Factor> {
    let (indices, others): (Vec<Index>, Vec<Index>) = factor.indices.iter().partition(|index| kept(index));
    let node = reduce(trace, ReduceOp::Sum, factor.node, &axes_of(&factor, &others), false)?;
    Ok(Factor { node, indices })
}

/// Records a transpose of the axes to another order.
fn ordered(trace: &mut Trace, factor: Factor, order: &[Index]) -> Result<Factor> {
    let node = transpose(trace, factor.node, &axes_of(&factor, order))?;
    Ok(Factor { node, indices: order.to_vec() })
}

/// Inserts axes of size 1 for the indices of `all` that the factor lacks; its own indices must be in the order of
/// `all`.
fn with_ones(trace: &mut Trace, factor: Factor, all: &[Index]) -> Result<NodeId> {
    let own = trace.ty(factor.node).dims;
    let size = |index: &Index| factor.indices.iter().position(|known| known == index).map_or(1, |axis| own[axis]);
    reshape(trace, factor.node, &all.iter().map(size).collect::<Vec<i64>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::Op;

    fn ops(equation: &str, shapes: &[&[i64]]) -> (Vec<i64>, Vec<Op>) {
        let mut trace = Trace::new();
        let leaf = |dims: &&[i64]| trace.parameter(TensorType::new(DType::F32, dims));
        let tensors: Vec<NodeId> = shapes.iter().map(leaf).collect();
        let result = einsum(&mut trace, equation, &tensors).unwrap();
        let recorded = (tensors.len() as u32..trace.len() as u32).map(|id| trace.node(NodeId(id)).op);
        (trace.ty(result).dims.to_vec(), recorded.collect())
    }

    #[test]
    fn products_are_what_they_should_be_and_nothing_more() {
        use Op::*;
        let sum = Reduce(ReduceOp::Sum);
        let multiply = Binary(BinaryOp::Multiply);
        assert_eq!(ops("ij,jk->ik", &[&[2, 3], &[3, 4]]), (vec![2, 4], vec![DotGeneral]));
        assert_eq!(ops("bij,bjk->bik", &[&[5, 2, 3], &[5, 3, 4]]), (vec![5, 2, 4], vec![DotGeneral]));
        assert_eq!(ops("ij,jk->ki", &[&[2, 3], &[3, 4]]), (vec![4, 2], vec![DotGeneral, Transpose]));
        assert_eq!(ops("ij->ij", &[&[2, 3]]), (vec![2, 3], vec![]));
        assert_eq!(ops("ij->j", &[&[2, 3]]), (vec![3], vec![sum]));
        assert_eq!(ops("i,i->i", &[&[2], &[2]]), (vec![2], vec![multiply]));
        assert_eq!(ops("i,j->ij", &[&[2], &[3]]), (vec![2, 3], vec![Reshape, Reshape, multiply]));
        assert_eq!(ops("ii", &[&[3, 3]]), (vec![], vec![Reshape, Slice, sum]));
        assert_eq!(ops("iij->j", &[&[3, 3, 2]]), (vec![2], vec![Transpose, Reshape, Slice, sum]));
        assert_eq!(ops("ij,j->i", &[&[2, 1], &[4]]).0, [2]);
        assert_eq!(ops("...ij,...jk", &[&[7, 1, 2, 3], &[5, 3, 4]]).0, [7, 5, 2, 4]);
    }

    #[test]
    fn any_indices_may_repeat_in_a_tensor() {
        // Each repetition of an index takes one diagonal, wherever its axes are; of size 0, that is the axis itself.
        let slices = |equation: &str, shape: &[i64]| {
            let (dims, recorded) = ops(equation, &[shape]);
            (dims, recorded.iter().filter(|&&op| op == Op::Slice).count())
        };
        assert_eq!(slices("ijij->ij", &[2, 3, 2, 3]), (vec![2, 3], 2));
        assert_eq!(slices("ijji->ij", &[2, 3, 3, 2]), (vec![2, 3], 2));
        assert_eq!(slices("iiijj->j", &[2, 2, 2, 3, 3]), (vec![3], 3));
        assert_eq!(slices("iijjkk", &[2, 2, 3, 3, 4, 4]), (vec![], 3));
        assert_eq!(slices("ijkijk->kji", &[2, 3, 4, 2, 3, 4]), (vec![4, 3, 2], 3));
        assert_eq!(slices("i...ij->j...", &[2, 5, 2, 3]), (vec![3, 5], 1));
        assert_eq!(slices("ijij->ji", &[0, 1, 0, 1]), (vec![1, 0], 1));
        let large = 1 << 25;
        assert_eq!(slices("ijji->", &[large, 0, 0, large]), (vec![], 1));
    }

    #[test]
    fn small_products_come_first() {
        // The vector makes the second matrix small before the product with the first one.
        let (dims, recorded) = ops("ij,jk,k->i", &[&[100, 100], &[100, 100], &[100]]);
        assert_eq!((dims, recorded), (vec![100], vec![Op::DotGeneral; 2]));
    }

    #[test]
    fn errors_quote_the_equation() {
        let mut trace = Trace::new();
        let mut leaf = |dtype, dims: &[i64]| trace.parameter(TensorType::new(dtype, dims));
        let (x, y) = (leaf(DType::F32, &[2, 3]), leaf(DType::F32, &[4, 5]));
        let pred = leaf(DType::Pred, &[2]);
        let mut message =
            |equation, tensors: &[NodeId]| einsum(&mut trace, equation, tensors).unwrap_err().message.to_string();
        assert_eq!(
            message("ij,jk", &[x, y]),
            "equation \"ij,jk\": 'j' is 4 in tensors[1], which is f32[4,5], and 3 in tensors[0]"
        );
        assert_eq!(
            message("ii", &[x]),
            "equation \"ii\": 'i' is 3 in tensors[0], which is f32[2,3], and 2 in tensors[0]"
        );
        assert!(message("...,...", &[x, y]).contains("axis -2 of '...' is 4 in tensors[1]"));
        assert!(message("i", &[pred]).contains("einsum takes numbers"));
        let square = trace.parameter(TensorType::new(DType::F32, &[2, 3, 3, 2]));
        assert_eq!(
            &*einsum(&mut trace, "ijij->ij", &[square]).unwrap_err().message,
            "equation \"ijij->ij\": 'i' is 3 in tensors[0], which is f32[2,3,3,2], and 2 in tensors[0]"
        );
        let long = trace.parameter(TensorType::new(DType::F32, &[1 << 40]));
        let message = &einsum(&mut trace, "i,j", &[long, long]).unwrap_err().message;
        assert!(
            message.starts_with("equation \"i,j\": its result: dims: [1099511627776, 1099511627776] has"),
            "{message}"
        );
    }
}
