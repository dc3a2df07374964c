//! The table of operations: the definition of each one.

use super::definition::{Call, Composed, Definition, Native};
use super::{control, creation, elementwise, indexing, linalg, mesh, nn, random, reduction, shape, sorting};
use crate::emit::{Emitter, Extent, Lowering};
use crate::error;
use crate::error::Result;
use crate::ir::Op;
use crate::native::Array;
use crate::types::{Scalar, TensorType};

/// Composed operations, recorded as several others, listed by the file that records them.
pub const COMPOSED: &[&[Composed]] = &[
    nn::activation::COMPOSED,
    sorting::top_k::COMPOSED,
    elementwise::functions::erf::COMPOSED,
    elementwise::total_order::COMPOSED,
    nn::normalize::COMPOSED,
    reduction::statistics::COMPOSED,
    shape::rearrange::COMPOSED,
    creation::masks::COMPOSED,
    creation::ranges::COMPOSED,
    nn::batch_norm::COMPOSED,
    linalg::einsum::COMPOSED,
    linalg::norm::COMPOSED,
    random::distributions::COMPOSED,
    sorting::sort::COMPOSED,
    reduction::reduce_with::COMPOSED,
    reduction::windows::COMPOSED,
    indexing::along::COMPOSED,
    indexing::advanced::COMPOSED,
    indexing::selection::COMPOSED,
    sorting::unique::COMPOSED,
];

/// Returns the definition of an operation.
#[inline]
pub fn definition(op: Op) -> &'static Definition {
    match op {
        Op::Leaf | Op::Result => &Definition::DEFAULT,
        Op::UnaryFunction(_) => &elementwise::functions::definition::UNARY_FUNCTION,
        Op::BinaryFunction(_) => &elementwise::functions::definition::BINARY_FUNCTION,
        Op::Special(_) => &elementwise::functions::definition::SPECIAL_FUNCTION,
        Op::Full => &creation::constants::FULL,
        Op::Iota => &creation::constants::IOTA,
        Op::Unary(_) => &elementwise::unary::UNARY,
        Op::Binary(_) => &elementwise::binary::BINARY,
        Op::BinaryScalar(_) => &elementwise::binary::BINARY_SCALAR,
        Op::ScalarBinary(_) => &elementwise::binary::SCALAR_BINARY,
        Op::Compare(_) => &elementwise::compare_select::COMPARE,
        Op::Select => &elementwise::compare_select::SELECT,
        Op::Convert => &elementwise::convert::CONVERT,
        Op::Reshape => &shape::axes::RESHAPE,
        Op::BroadcastTo => &shape::axes::BROADCAST_TO,
        Op::Transpose => &shape::axes::TRANSPOSE,
        Op::Reduce(_) => &reduction::reduce::REDUCE,
        Op::Matmul => &linalg::matmul::MATMUL,
        Op::Slice => &shape::slicing::SLICE,
        Op::Concatenate => &shape::slicing::CONCATENATE,
        Op::Pad => &shape::slicing::PAD,
        Op::DynamicSlice => &indexing::dynamic::DYNAMIC_SLICE,
        Op::DynamicUpdateSlice => &indexing::dynamic::DYNAMIC_UPDATE_SLICE,
        Op::Take => &indexing::dynamic::TAKE,
        Op::Call => &control::apply::CALL,
        Op::While => &control::apply::WHILE,
        Op::If => &control::apply::IF,
        Op::Scan => &control::apply::SCAN,
        Op::DotGeneral => &linalg::dot_general::DOT_GENERAL,
        Op::Convolution => &nn::convolution::CONVOLUTION,
        Op::Cholesky => &linalg::factorization::CHOLESKY,
        Op::TriangularSolve => &linalg::factorization::TRIANGULAR_SOLVE,
        Op::Fft => &linalg::fourier::FFT,
        Op::Case => &control::apply::CASE,
        Op::Clamp => &elementwise::clamp::CLAMP,
        Op::Complex => &elementwise::complex::COMPLEX,
        Op::Real => &elementwise::complex::REAL,
        Op::Imag => &elementwise::complex::IMAG,
        Op::BitcastConvert => &elementwise::bits::BITCAST_CONVERT,
        Op::ReducePrecision => &elementwise::bits::REDUCE_PRECISION,
        Op::Reverse => &shape::axes::REVERSE,
        Op::RngBitGenerator => &random::rng::RNG_BIT_GENERATOR,
        Op::RandomBits => &random::random_bits::RANDOM_BITS,
        Op::OptimizationBarrier => &control::barrier::OPTIMIZATION_BARRIER,
        Op::StopGradient => &control::custom::STOP_GRADIENT,
        Op::CheckpointName => &control::custom::CHECKPOINT_NAME,
        Op::Custom => &control::custom::CUSTOM,
        Op::CustomCall => &control::custom_call::CUSTOM_CALL,
        Op::Gather => &indexing::gather::GATHER,
        Op::Scatter => &indexing::scatter::SCATTER,
        Op::Sort => &sorting::sort::SORT,
        Op::ReduceWith => &reduction::reduce_with::REDUCE_WITH,
        Op::ReduceWindow => &reduction::windows::REDUCE_WINDOW,
        Op::SelectAndScatter => &reduction::select_and_scatter::SELECT_AND_SCATTER,
        Op::TopK => &sorting::top_k::TOP_K,
        Op::ShardingConstraint => &mesh::constraint::SHARDING_CONSTRAINT,
        Op::ShardMap => &mesh::shard_map::SHARD_MAP,
        Op::AllReduce(_) => &mesh::collectives::ALL_REDUCE,
        Op::AllGather => &mesh::collectives::ALL_GATHER,
        Op::ReduceScatter(_) => &mesh::collectives::REDUCE_SCATTER,
        Op::AllToAll => &mesh::collectives::ALL_TO_ALL,
        Op::CollectivePermute => &mesh::permute::COLLECTIVE_PERMUTE,
        Op::AxisIndex => &mesh::permute::AXIS_INDEX,
    }
}

/// Lowering of instructions by the table.
pub const LOWERING: Lowering = Lowering { instruction: lower, first_result: |op| definition(op).first_result };

/// Writes the StableHLO of the instruction at a position.
fn lower(emitter: &mut Emitter, position: usize) {
    let instruction = emitter.instruction(position);
    let definition = definition(instruction.op);
    // XLA refuses manual computations of arrays without elements, of which nothing can be split.
    if let Extent::Whole(axes) = emitter.extent
        && instruction.operands.iter().any(|&i| emitter.values[i].ty.elements() > 0)
    {
        if (definition.whole)(emitter, position) {
            return mesh::whole::lower(emitter, position, axes);
        }
        if let Some(open) = (definition.open)(emitter, position) {
            return mesh::open::lower(emitter, position, axes, &open);
        }
    }
    (definition.lower)(emitter, position);
}

/// Evaluates an operation with one result that applies no body. `ty` is its inferred type; encoded attributes, scalar
/// and operands are those of the node.
pub fn evaluate(op: Op, ty: &TensorType, words: &[i64], scalar: Option<Scalar>, operands: &[&Array]) -> Result<Array> {
    let apply = |_: usize, _: &[Array]| Err(error!(Internal, "{op:?} applies nothing"));
    let call = Call { op, ty, words, scalar, operands, bodies: &[], apply: &apply, apply_each: &apply };
    let fits = op.arity().is_none_or(|arity| arity == operands.len());
    match &definition(op).native {
        Native::One(native) if fits => call.one(*native),
        _ => Err(error!(
            Internal,
            "{op:?} of {} arrays is not an operation with one array as its result",
            operands.len()
        )),
    }
}
