//! Products of matrices.

use super::super::arguments::Value;
use super::super::call::{Call, scalar};
use super::super::operator::{Operator, operator};
use base::error;
use base::error::Result;
use base::types::DType;
use ir::{BinaryOp, NodeId, ReduceOp};
use ops::elementwise::{binary, convert};
use ops::linalg::{DotAxes, dot_general, einsum, matmul};
use ops::reduction::reduce;
use ops::shape::{expand_dims, reshape};

pub(super) const TABLE: &[Operator] = &[
    operator(&["linear.default"], "input weight bias=none", |call| {
        let (x, weight, bias) = (call.tensor("input")?, call.tensor("weight")?, call.optional_tensor("bias")?);
        let made = linear(call, x, weight, bias)?;
        Ok(call.made(made))
    }),
    operator(&["matmul.default"], "self other", |call| product(call, "self", "other")),
    operator(&["mm.default", "bmm.default"], "self mat2", |call| product(call, "self", "mat2")),
    operator(&["mv.default"], "self vec", |call| product(call, "self", "vec")),
    operator(&["dot.default"], "self tensor", |call| product(call, "self", "tensor")),
    operator(&["addmm.default"], "self mat1 mat2 beta=1 alpha=1", |call| added(call, "mat1", "mat2")),
    operator(&["baddbmm.default"], "self batch1 batch2 beta=1 alpha=1", |call| added(call, "batch1", "batch2")),
    operator(&["addmv.default"], "self mat vec beta=1 alpha=1", |call| added(call, "mat", "vec")),
    operator(&["addbmm.default"], "self batch1 batch2 beta=1 alpha=1", |call| {
        let (a, b) = (call.tensor("batch1")?, call.tensor("batch2")?);
        let products = multiplied(call, a, b)?;
        let sum = reduce(call.trace(), ReduceOp::Sum, products, &[0], false)?;
        combined(call, sum)
    }),
    operator(&["addr.default"], "self vec1 vec2 beta=1 alpha=1", |call| {
        let [a, b] = call.promoted(["vec1", "vec2"], false)?;
        let rows: i64 = call.dims(a).iter().product();
        let column = reshape(call.trace(), a, &[rows, 1])?;
        let product = binary(call.trace(), BinaryOp::Multiply, column, b)?;
        combined(call, product)
    }),
    operator(&["bilinear.default"], "input1 input2 weight bias=none", |call| {
        let (a, b, weight) = (call.tensor("input1")?, call.tensor("input2")?, call.tensor("weight")?);
        let bias = call.optional_tensor("bias")?;
        let trace = call.trace();
        let mut made = einsum(trace, "...i,oij,...j->...o", &[a, weight, b])?;
        if let Some(bias) = bias {
            made = binary(trace, BinaryOp::Add, made, bias)?;
        }
        Ok(call.made(made))
    }),
    operator(&["_trilinear.default"], "i1 i2 i3 expand1 expand2 expand3 sumdim unroll_dim=1", |call| {
        let mut product = None;
        for (name, expand) in [("i1", "expand1"), ("i2", "expand2"), ("i3", "expand3")] {
            let (x, axes) = (call.tensor(name)?, call.ints(expand)?);
            let trace = call.trace();
            let wide = axes.iter().try_fold(x, |x, &axis| expand_dims(trace, x, &[axis]))?;
            product = Some(match product {
                None => wide,
                Some(product) => binary(trace, BinaryOp::Multiply, product, wide)?,
            });
        }
        let (product, axes) = (product.expect("three factors"), call.ints("sumdim")?);
        let made = reduce(call.trace(), ReduceOp::Sum, product, &axes, false)?;
        Ok(call.made(made))
    }),
    operator(&["outer.default", "ger.default"], "self vec2", |call| {
        let [a, b] = call.promoted(["self", "vec2"], false)?;
        let rows: i64 = call.dims(a).iter().product();
        let column = reshape(call.trace(), a, &[rows, 1])?;
        let made = binary(call.trace(), BinaryOp::Multiply, column, b)?;
        Ok(call.made(made))
    }),
    operator(&["einsum.default"], "equation tensors path=none", |call| {
        let (equation, tensors) = (call.text("equation")?, call.tensors("tensors")?);
        let made = einsum(call.trace(), equation, &tensors)?;
        Ok(call.made(made))
    }),
];

/// Records `x weight^T + bias`.
pub fn linear(call: &mut Call, x: NodeId, weight: NodeId, bias: Option<NodeId>) -> Result<NodeId> {
    let (rank, of_weight) = (call.dims(x).len(), call.dims(weight).len());
    if rank == 0 || !(1..=2).contains(&of_weight) {
        return Err(error!(Unimplemented, "an input of {rank} axes and a weight of {of_weight}"));
    }
    let axes = DotAxes {
        lhs_batching: &[],
        rhs_batching: &[],
        lhs_contracting: &[rank as i64 - 1],
        rhs_contracting: &[of_weight as i64 - 1],
    };
    let trace = call.trace();
    let made = dot_general(trace, x, weight, &axes, None)?;
    match bias {
        Some(bias) => binary(trace, BinaryOp::Add, made, bias),
        None => Ok(made),
    }
}

fn product<'p>(call: &mut Call<'_, 'p>, a: &str, b: &str) -> Result<Value<'p>> {
    let (a, b) = (call.tensor(a)?, call.tensor(b)?);
    let made = multiplied(call, a, b)?;
    Ok(call.made(made))
}

/// Records a product of matrices of one dtype.
pub fn multiplied(call: &mut Call, a: NodeId, b: NodeId) -> Result<NodeId> {
    let (of_a, of_b) = (call.dtype_of(a), call.dtype_of(b));
    if of_a != of_b || of_a == DType::Pred {
        return Err(error!(InvalidArgument, "a product of {of_a} and {of_b}"));
    }
    let made = matmul(call.trace(), a, b)?;
    Ok(convert(call.trace(), made, of_a))
}

/// `beta self + alpha (a b)`.
fn added<'p>(call: &mut Call<'_, 'p>, a: &str, b: &str) -> Result<Value<'p>> {
    let (a, b) = (call.tensor(a)?, call.tensor(b)?);
    let product = multiplied(call, a, b)?;
    combined(call, product)
}

/// `beta self + alpha product`. A `beta` of 0 takes nothing of `self`, not even NaN.
fn combined<'p>(call: &mut Call<'_, 'p>, product: NodeId) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let (beta, alpha) = (call.number("beta")?.1, call.number("alpha")?.1);
    let mut made = product;
    let dtype = call.dtype_of(made);
    let trace = call.trace();
    if alpha.real() != Some(1.0) {
        let alpha = scalar(trace, dtype, alpha)?;
        made = binary(trace, BinaryOp::Multiply, made, alpha)?;
    }
    if beta.real() != Some(0.0) {
        let mut x = convert(trace, x, dtype);
        if beta.real() != Some(1.0) {
            let beta = scalar(trace, dtype, beta)?;
            x = binary(trace, BinaryOp::Multiply, x, beta)?;
        }
        made = binary(trace, BinaryOp::Add, made, x)?;
    } else {
        let dims = trace.ty(made).dims;
        let wide = base::types::broadcast(&dims, &trace.ty(x).dims).unwrap_or(dims);
        made = ops::shape::broadcast_to(trace, made, &wide)?;
    }
    Ok(call.made(made))
}
