//! The table of operations: the definition of each one.

use super::cutting::{cut_chains, note_length};
use super::definition::{Composed, Definition, EvalContext, Native};
use super::folding::keep_constants;
use super::rules::{Derivative, is_differentiable};
use super::simplifier::keep_apart;
use super::{control, creation, elementwise, indexing, linalg, mesh, nn, random, reduction, shape, sorting};
use crate::emit::{Emitter, Extent, Lowering};
use base::error;
use base::error::Result;
use base::threads;
use base::types::{DType, Scalar, TensorType};
use engine::host_calls::{self, HostCall, HostFunction, HostInput, HostOutput};
use engine::kernels::call_kernel;
use ir::Op;
use native::Array;

/// Composed operations, recorded as several others, listed by the file that records them.
pub const COMPOSED: &[&[Composed]] = &[
    nn::activation::COMPOSED,
    sorting::top_k::COMPOSED,
    elementwise::functions::erf::COMPOSED,
    elementwise::total_order::COMPOSED,
    nn::normalize::COMPOSED,
    nn::attention::COMPOSED,
    nn::rotary::COMPOSED,
    reduction::statistics::COMPOSED,
    shape::rearrange::COMPOSED,
    creation::masks::COMPOSED,
    creation::ranges::COMPOSED,
    nn::batch_norm::COMPOSED,
    linalg::einsum::COMPOSED,
    linalg::norm::COMPOSED,
    linalg::ragged::COMPOSED,
    random::continuous::COMPOSED,
    random::discrete::COMPOSED,
    random::poisson::COMPOSED,
    random::gamma::COMPOSED,
    linalg::determinant::COMPOSED,
    linalg::systems::COMPOSED,
    linalg::tridiagonal::COMPOSED,
    random::distributions::COMPOSED,
    sorting::sort::COMPOSED,
    reduction::reduce_with::COMPOSED,
    reduction::windows::COMPOSED,
    reduction::cumulative::COMPOSED,
    indexing::along::COMPOSED,
    indexing::advanced::COMPOSED,
    indexing::segment::COMPOSED,
    indexing::selection::COMPOSED,
    sorting::unique::COMPOSED,
];

/// Name of an operation; of a family, that of its member.
pub fn operation_name(op: Op) -> &'static str {
    match op {
        Op::Leaf => "parameter",
        Op::Result => "result",
        Op::Unary(member) => member.name(),
        Op::UnaryFunction(member) => member.name(),
        Op::Binary(member) | Op::BinaryScalar(member) | Op::ScalarBinary(member) => member.name(),
        Op::BinaryFunction(member) => member.name(),
        Op::Special(member) => member.name(),
        _ => definition(op).name,
    }
}

/// Whether a tangent of an operand of the operation can reach a result of this dtype: false for integers, and for
/// operations whose derivative is zero. The dtype of an operation with a list of results does not matter.
pub fn passes_tangents(op: Op, dtype: DType) -> bool {
    op.has_results() || is_differentiable(dtype) && !matches!(definition(op).derivative, Derivative::Zero)
}

/// Returns the definition of an operation.
#[inline]
pub fn definition(op: Op) -> &'static Definition {
    match op {
        Op::Leaf | Op::Result => &Definition::DEFAULT,
        Op::UnaryFunction(_) => &elementwise::definitions::UNARY_FUNCTION,
        Op::BinaryFunction(_) => &elementwise::definitions::BINARY_FUNCTION,
        Op::Special(_) => &elementwise::definitions::SPECIAL_FUNCTION,
        Op::Full => &creation::definitions::FULL,
        Op::Iota => &creation::definitions::IOTA,
        Op::Unary(_) => &elementwise::definitions::UNARY,
        Op::Binary(_) => &elementwise::definitions::BINARY,
        Op::BinaryScalar(_) => &elementwise::definitions::BINARY_SCALAR,
        Op::ScalarBinary(_) => &elementwise::definitions::SCALAR_BINARY,
        Op::Compare(_) => &elementwise::definitions::COMPARE,
        Op::Select => &elementwise::definitions::SELECT,
        Op::Convert => &elementwise::definitions::CONVERT,
        Op::Reshape => &shape::definitions::RESHAPE,
        Op::BroadcastTo => &shape::definitions::BROADCAST_TO,
        Op::Transpose => &shape::definitions::TRANSPOSE,
        Op::Reduce(_) => &reduction::definitions::REDUCE,
        Op::Matmul => &linalg::definitions::MATMUL,
        Op::Slice => &shape::definitions::SLICE,
        Op::Concatenate => &shape::definitions::CONCATENATE,
        Op::Pad => &shape::definitions::PAD,
        Op::DynamicSlice => &indexing::definitions::DYNAMIC_SLICE,
        Op::DynamicUpdateSlice => &indexing::definitions::DYNAMIC_UPDATE_SLICE,
        Op::Take => &indexing::definitions::TAKE,
        Op::Call => &control::definitions::CALL,
        Op::While => &control::definitions::WHILE,
        Op::If => &control::definitions::IF,
        Op::Scan => &control::definitions::SCAN,
        Op::DotGeneral => &linalg::definitions::DOT_GENERAL,
        Op::Convolution => &nn::definitions::CONVOLUTION,
        Op::Cholesky => &linalg::definitions::CHOLESKY,
        Op::TriangularSolve => &linalg::definitions::TRIANGULAR_SOLVE,
        Op::Fft => &linalg::definitions::FFT,
        Op::Case => &control::definitions::CASE,
        Op::Clamp => &elementwise::definitions::CLAMP,
        Op::Complex => &elementwise::definitions::COMPLEX,
        Op::Real => &elementwise::definitions::REAL,
        Op::Imag => &elementwise::definitions::IMAG,
        Op::BitcastConvert => &elementwise::definitions::BITCAST_CONVERT,
        Op::ReducePrecision => &elementwise::definitions::REDUCE_PRECISION,
        Op::Reverse => &shape::definitions::REVERSE,
        Op::RngBitGenerator => &random::definitions::RNG_BIT_GENERATOR,
        Op::RandomBits => &random::definitions::RANDOM_BITS,
        Op::OptimizationBarrier => &control::definitions::OPTIMIZATION_BARRIER,
        Op::StopGradient => &control::definitions::STOP_GRADIENT,
        Op::CheckpointName => &control::definitions::CHECKPOINT_NAME,
        Op::Custom => &control::definitions::CUSTOM,
        Op::CustomCall => &control::definitions::CUSTOM_CALL,
        Op::Kernel => &control::definitions::KERNEL,
        Op::Gather => &indexing::definitions::GATHER,
        Op::Scatter => &indexing::definitions::SCATTER,
        Op::Sort => &sorting::definitions::SORT,
        Op::ReduceWith => &reduction::definitions::REDUCE_WITH,
        Op::ReduceWindow => &reduction::definitions::REDUCE_WINDOW,
        Op::SelectAndScatter => &reduction::definitions::SELECT_AND_SCATTER,
        Op::TopK => &sorting::definitions::TOP_K,
        Op::ShardingConstraint => &mesh::definitions::SHARDING_CONSTRAINT,
        Op::ShardMap => &mesh::definitions::SHARD_MAP,
        Op::AllReduce(_) => &mesh::definitions::ALL_REDUCE,
        Op::AllGather => &mesh::definitions::ALL_GATHER,
        Op::ReduceScatter(_) => &mesh::definitions::REDUCE_SCATTER,
        Op::AllToAll => &mesh::definitions::ALL_TO_ALL,
        Op::CollectivePermute => &mesh::definitions::COLLECTIVE_PERMUTE,
        Op::AxisIndex => &mesh::definitions::AXIS_INDEX,
        Op::Qr => &linalg::decomposition_definitions::QR,
        Op::Lu => &linalg::decomposition_definitions::LU,
        Op::Svd => &linalg::decomposition_definitions::SVD,
        Op::Eigh => &linalg::decomposition_definitions::EIGH,
        Op::Eig => &linalg::decomposition_definitions::EIG,
        Op::Schur => &linalg::decomposition_definitions::SCHUR,
        Op::Pinv => &linalg::decomposition_definitions::PINV,
        Op::Ldl => &linalg::decomposition_definitions::LDL,
        Op::LdlSolve => &linalg::decomposition_definitions::LDL_SOLVE,
        Op::LuSolve => &linalg::decomposition_definitions::LU_SOLVE,
        Op::LuInverse => &linalg::decomposition_definitions::LU_INVERSE,
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
    cut_chains(emitter, position);
    keep_apart(emitter, position);
    keep_constants(emitter, position, |op| self::definition(op).is_elementwise());
    let start = emitter.text.bytes();
    (definition.lower)(emitter, position);
    note_length(emitter, position, start);
}

/// Provides the functions that compiled programs call.
pub fn provide_host_functions() {
    host_calls::provide(HostFunction::Operation, |call| threads::limited_by_all(|| evaluate_called(call)));
    host_calls::provide(HostFunction::Kernel, call_kernel);
}

/// Evaluates the operation that a compiled program calls ([`host_call::lower_native`]). The arrays are copied: they are
/// the engine's, and are valid during the call only.
///
/// [`host_call::lower_native`]: crate::host_call::lower_native
fn evaluate_called(call: &mut HostCall) -> Result<()> {
    let (&code, words) = call.words.split_first().ok_or_else(|| error!(Internal, "no operation is named"))?;
    let op = u32::try_from(code).ok().and_then(Op::from_code);
    let op = op.ok_or_else(|| error!(Internal, "{code} is not an operation of this version"))?;
    let array = |input: &HostInput| Array::from_bytes(&TensorType::new(input.dtype, input.dims), input.bytes);
    let arrays: Vec<Array> = call.inputs.iter().map(array).collect::<Result<_>>()?;
    let operands: Vec<&Array> = arrays.iter().collect();
    let first = call.outputs.first().ok_or_else(|| error!(Internal, "{op:?} without results"))?;
    let ty = TensorType::new(first.dtype, first.dims);
    let made = match definition(op).native {
        Native::Several(native) => {
            let apply = |_: usize, _: &[Array]| Err(error!(Internal, "{op:?} applies nothing"));
            let cx = EvalContext {
                op,
                ty: &ty,
                words,
                scalar: None,
                operands: &operands,
                bodies: &[],
                apply: &apply,
                apply_each: &apply,
            };
            native(&cx)?
        }
        _ => vec![evaluate(op, &ty, words, None, &operands)?],
    };
    let is_result = |(made, output): (&Array, &HostOutput)| {
        made.ty().dtype == output.dtype && made.ty().dims[..] == *output.dims && made.size_bytes() == output.bytes.len()
    };
    if made.len() != call.outputs.len() || !made.iter().zip(call.outputs.iter()).all(is_result) {
        return Err(error!(Internal, "{op:?} has other results than its lowering says"));
    }
    made.iter().zip(call.outputs.iter_mut()).for_each(|(made, output)| output.bytes.copy_from_slice(made.bytes()));
    Ok(())
}

/// Evaluates an operation with one result that applies no body. `ty` is its inferred type; encoded attributes, scalar
/// and operands are those of the node.
pub fn evaluate(op: Op, ty: &TensorType, words: &[i64], scalar: Option<Scalar>, operands: &[&Array]) -> Result<Array> {
    let apply = |_: usize, _: &[Array]| Err(error!(Internal, "{op:?} applies nothing"));
    let cx = EvalContext { op, ty, words, scalar, operands, bodies: &[], apply: &apply, apply_each: &apply };
    let fits = op.arity().is_none_or(|arity| arity == operands.len());
    let definition = definition(op);
    match &definition.native {
        Native::One(native) if fits => cx.one(*native),
        Native::OnMeshes => Err(definition.on_meshes_only()),
        _ => Err(error!(
            Internal,
            "{op:?} of {} arrays is not an operation with one array as its result",
            operands.len()
        )),
    }
}
