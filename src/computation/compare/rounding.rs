//! How operations round: which errors a correct device may make.

use base::types::Kind;
use ir::{BinaryOp, Body, Instruction, Op, ReduceOp};
use native::Array;
use ops::reduction::ReduceWindowAttributes;

/// How an operation rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounding {
    /// Each element by itself.
    Element,
    /// Each element is a sum.
    Sum,
    /// Each element is a sum, and the elements of the first input only say where terms are added.
    Selected,
    /// Each element combines at most this many elements, in an order that the device chooses.
    Fold(usize),
    /// Errors are in proportion to the largest element of a matrix, of which there are this many.
    Norm(usize),
    /// Not known: the caller's code.
    Kernel,
}

/// How an operation on these inputs, each given once, rounds.
pub fn rounding(value: &Instruction, inputs: &[Array]) -> Rounding {
    let elements = |input: Option<&Array>| input.map_or(1, |input| input.ty().elements());
    let most = inputs.iter().map(|input| input.ty().elements()).max().unwrap_or(1);
    let reduced = || elements(inputs.first()) / value.ty.elements().max(1);
    match value.op {
        Op::Matmul | Op::DotGeneral | Op::Convolution | Op::Reduce(ReduceOp::Sum) => Rounding::Sum,
        Op::Reduce(ReduceOp::Product) => Rounding::Fold(reduced()),
        Op::ReduceWith => of_body(&value.bodies[0], reduced),
        Op::ReduceWindow => of_body(&value.bodies[0], || {
            let ReduceWindowAttributes { windows } = value.attributes();
            windows.iter().map(|window| window.size.max(1) as usize).fold(1, usize::saturating_mul)
        }),
        // A place gets at most one element of each update, and there are no more updates than indices.
        Op::Scatter => of_body(&value.bodies[0], || {
            let is_index = |input: &&Array| matches!(input.ty().dtype.kind(), Kind::Signed | Kind::Unsigned);
            1 + inputs.iter().filter(is_index).map(|input| elements(Some(input))).max().unwrap_or(most)
        }),
        Op::SelectAndScatter => match of_body(&value.bodies[1], || most) {
            Rounding::Sum => Rounding::Selected,
            other => other,
        },
        Op::Fft => Rounding::Norm(1),
        Op::Cholesky
        | Op::TriangularSolve
        | Op::Qr
        | Op::Lu
        | Op::Ldl
        | Op::LdlSolve
        | Op::LuSolve
        | Op::LuInverse
        | Op::Svd
        | Op::Eigh
        | Op::Eig
        | Op::Schur
        | Op::Pinv => {
            let dims = inputs.first().map_or(&[][..], |input| &input.ty().dims);
            let batch = &dims[..dims.len().saturating_sub(2)];
            Rounding::Norm(batch.iter().product::<i64>().max(1) as usize)
        }
        Op::Kernel | Op::CustomCall => Rounding::Kernel,
        _ => Rounding::Element,
    }
}

/// How an operation rounds that combines as many elements as `terms` says with a body.
fn of_body(body: &Body, terms: impl FnOnce() -> usize) -> Rounding {
    let (values, _) = body.decode();
    let each = |known: fn(Op) -> bool| values.iter().all(|value| known(value.op));
    if each(is_exact) {
        return Rounding::Element;
    }
    match each(|op| matches!(op, Op::Leaf | Op::Binary(BinaryOp::Add))) {
        true => Rounding::Sum,
        false => Rounding::Fold(terms()),
    }
}

/// Whether an operation of a body returns one of its operands, or no float.
fn is_exact(op: Op) -> bool {
    matches!(
        op,
        Op::Leaf | Op::Select | Op::Compare(_) | Op::Binary(BinaryOp::Maximum | BinaryOp::Minimum) | Op::StopGradient
    )
}

/// Whether a result of an operation is a matrix of eigenvectors or singular vectors, or belongs to a Schur form. These
/// are not unique: vectors may be multiplied by numbers of magnitude 1, and vectors of equal values by a unitary matrix;
/// eigenvalues of a Schur form have any order.
pub fn is_vectors(op: Op, result: &Array, inputs: &[Array]) -> bool {
    let rank = |array: &Array| array.ty().dims.len();
    matches!(op, Op::Eigh | Op::Eig | Op::Svd | Op::Schur)
        && inputs.first().is_some_and(|input| rank(input) == rank(result))
}
