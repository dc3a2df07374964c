//! The table: every operation with its definition.

use super::definition::{Call, Composed, Definition, Native};
use super::{
    activation, advanced, barrier, binary, bits, choice, clamp, complex, control, convert, convolution, creation,
    custom_call, dot_general, fourier, gather, indexing, linear_algebra, masks, matmul, normalize, random_bits, ranges,
    rearrange, reduce, reduce_with, rng, scatter, select_and_scatter, selection, shape, slicing, sort, special,
    statistics, top_k, unary, windows,
};
use crate::emit::Emitter;
use crate::error;
use crate::error::Result;
use crate::ir::Op;
use crate::native::Array;
use crate::types::{Scalar, TensorType};

/// Leaves are given, and results are parts: there is nothing to do for them.
const GIVEN: Definition =
    Definition { name: "", stablehlo: "", function: "", dtypes: "", lower: |_, _| {}, native: Native::Nothing };

/// Operations that are recorded as several others.
pub const COMPOSED: &[Composed] = &[
    activation::ACTIVATION,
    top_k::TOP_K_TOTAL_ORDER,
    special::SPECIAL,
    normalize::SOFTMAX,
    normalize::LOG_SOFTMAX,
    normalize::LAYER_NORM,
    statistics::MEAN,
    statistics::VARIANCE,
    statistics::STANDARD_DEVIATION,
    statistics::LOGSUMEXP,
    rearrange::SQUEEZE,
    rearrange::EXPAND_DIMS,
    rearrange::STACK,
    rearrange::SPLIT,
    rearrange::SLICE_AXIS,
    rearrange::FLIP,
    rearrange::ROLL,
    rearrange::TILE,
    rearrange::REPEAT,
    masks::TRIL,
    masks::TRIU,
    masks::EYE,
    masks::ONE_HOT,
    ranges::ARANGE,
    ranges::LINSPACE,
    Composed { name: "batch_norm_training", function: "lxla_batch_norm_training", dtypes: "floats, 8-bit floats" },
    Composed { name: "batch_norm_inference", function: "lxla_batch_norm_inference", dtypes: "floats, 8-bit floats" },
    Composed { name: "batch_norm_grad", function: "lxla_batch_norm_grad", dtypes: "floats, 8-bit floats" },
    Composed { name: "einsum", function: "lxla_einsum", dtypes: "integers, floats, 8-bit floats, complex numbers" },
    Composed { name: "norm", function: "lxla_norm", dtypes: "floats, 8-bit floats, complex numbers" },
    Composed { name: "random_uniform", function: "lxla_random_uniform", dtypes: "floats" },
    Composed { name: "random_normal", function: "lxla_random_normal", dtypes: "floats, 8-bit floats" },
    Composed { name: "random_bernoulli", function: "lxla_random_bernoulli", dtypes: "gives pred" },
    Composed { name: "random_split", function: "lxla_random_split", dtypes: "u32 keys" },
    Composed { name: "sort_along", function: "lxla_sort_along", dtypes: "all" },
    Composed { name: "argsort", function: "lxla_argsort", dtypes: "all" },
    Composed { name: "argmax", function: "lxla_argmax", dtypes: "all but complex numbers" },
    Composed { name: "argmin", function: "lxla_argmin", dtypes: "all but complex numbers" },
    Composed { name: "cumulative", function: "lxla_cumulative", dtypes: "as its reduction" },
    Composed { name: "take_along_axis", function: "lxla_take_along_axis", dtypes: "all; indices integers" },
    Composed { name: "scatter_along", function: "lxla_scatter_along", dtypes: "all; indices integers" },
    Composed { name: "index_add", function: "lxla_index_add", dtypes: "numbers; indices integers" },
    Composed { name: "index_copy", function: "lxla_index_copy", dtypes: "all; indices integers" },
    advanced::INDEX,
    advanced::INDEX_PUT,
    advanced::SLICE_ASSIGN,
    selection::NONZERO,
    selection::MASK_SELECT,
    selection::UNIQUE,
    selection::SEARCHSORTED,
];

/// What an operation is.
#[inline]
pub fn definition(op: Op) -> &'static Definition {
    match op {
        Op::Leaf | Op::Result => &GIVEN,
        Op::Full => &creation::FULL,
        Op::Iota => &creation::IOTA,
        Op::Unary(_) => &unary::UNARY,
        Op::Binary(_) => &binary::BINARY,
        Op::BinaryScalar(_) => &binary::BINARY_SCALAR,
        Op::ScalarBinary(_) => &binary::SCALAR_BINARY,
        Op::Compare(_) => &choice::COMPARE,
        Op::Select => &choice::SELECT,
        Op::Convert => &convert::CONVERT,
        Op::Reshape => &shape::RESHAPE,
        Op::BroadcastTo => &shape::BROADCAST_TO,
        Op::Transpose => &shape::TRANSPOSE,
        Op::Reduce(_) => &reduce::REDUCE,
        Op::Matmul => &matmul::MATMUL,
        Op::Slice => &slicing::SLICE,
        Op::Concatenate => &slicing::CONCATENATE,
        Op::Pad => &slicing::PAD,
        Op::DynamicSlice => &indexing::DYNAMIC_SLICE,
        Op::DynamicUpdateSlice => &indexing::DYNAMIC_UPDATE_SLICE,
        Op::Take => &indexing::TAKE,
        Op::Call => &control::CALL,
        Op::While => &control::WHILE,
        Op::If => &control::IF,
        Op::Scan => &control::SCAN,
        Op::DotGeneral => &dot_general::DOT_GENERAL,
        Op::Convolution => &convolution::CONVOLUTION,
        Op::Cholesky => &linear_algebra::CHOLESKY,
        Op::TriangularSolve => &linear_algebra::TRIANGULAR_SOLVE,
        Op::Fft => &fourier::FFT,
        Op::Case => &control::CASE,
        Op::Clamp => &clamp::CLAMP,
        Op::Complex => &complex::COMPLEX,
        Op::Real => &complex::REAL,
        Op::Imag => &complex::IMAG,
        Op::BitcastConvert => &bits::BITCAST_CONVERT,
        Op::ReducePrecision => &bits::REDUCE_PRECISION,
        Op::Reverse => &shape::REVERSE,
        Op::RngBitGenerator => &rng::RNG_BIT_GENERATOR,
        Op::RandomBits => &random_bits::RANDOM_BITS,
        Op::OptimizationBarrier => &barrier::OPTIMIZATION_BARRIER,
        Op::CustomCall => &custom_call::CUSTOM_CALL,
        Op::Gather => &gather::GATHER,
        Op::Scatter => &scatter::SCATTER,
        Op::Sort => &sort::SORT,
        Op::ReduceWith => &reduce_with::REDUCE_WITH,
        Op::ReduceWindow => &windows::REDUCE_WINDOW,
        Op::SelectAndScatter => &select_and_scatter::SELECT_AND_SCATTER,
        Op::TopK => &top_k::TOP_K,
    }
}

/// Writes the StableHLO of the value at a position.
pub fn lower(emitter: &mut Emitter, position: usize) {
    (definition(emitter.instruction(position).op).lower)(emitter, position);
}

/// The result of an operation that has one and applies nothing. `ty` is the type that inference gave for it; attributes,
/// scalar and operands are those of the node.
pub fn evaluate(
    op: Op,
    ty: &TensorType,
    attributes: &[i64],
    scalar: Option<Scalar>,
    operands: &[&Array],
) -> Result<Array> {
    let apply = |_: usize, _: &[Array]| Err(error!(Internal, "{op:?} applies nothing"));
    let call = Call { op, ty, attributes, scalar, operands, bodies: &[], apply: &apply, apply_each: &apply };
    let fits = op.arity().is_none_or(|arity| arity == operands.len());
    match &definition(op).native {
        Native::One(native) if fits => call.one(*native),
        _ => Err(error!(Internal, "{op:?} of {} arrays is no operation with one array as its result", operands.len())),
    }
}
