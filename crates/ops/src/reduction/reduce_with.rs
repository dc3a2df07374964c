//! Reductions by a traced computation, argmax and argmin.

use crate::control::apply::Applied;
use crate::control::bodies;
use crate::control::regions::{
    begin, check_alike, check_scalars, each, end, pass, passed, reducing, restore_results, spread,
};
use crate::creation::constants::{constant, full, iota};
use crate::definition::{Composed, EvalContext, OpenAxes};
use crate::emit::{Emitter, Reducer, identity, mlir};
use crate::infer::{check_index_dtype, distinct_axes};
use base::error;
use base::error::Result;
use ir::{Instruction, NodeId, Op, ReduceOp, Trace, attributes};
use native::{self, Array};

use crate::shape::axes::reshape;
use crate::sorting::sort::{check_ordered, key};
use base::types::{Axes, DType, Dims, Kind, Scalar, ScalarValue, TensorType, normalize_axis};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "argmax", function: "lxla_argmax", dtypes: "all but complex numbers" },
    Composed { name: "argmin", function: "lxla_argmin", dtypes: "all but complex numbers" },
];

attributes! {
    /// Attributes of `reduce_with`.
    pub struct ReduceWithAttributes {
        /// Axes that are reduced, ascending.
        pub axes: Axes,
    }
}

/// Records a joint reduction of `arrays` over axes. The body takes an accumulator for each array, then an element of
/// each.
pub fn reduce_with(
    trace: &mut Trace,
    body: &Applied,
    arrays: &[NodeId],
    inits: &[NodeId],
    axes: &[i64],
) -> Result<Vec<NodeId>> {
    let types = check_alike(trace, "inputs", arrays)?;
    check_reducer(trace, body, &types, inits)?;
    let mut axes = distinct_axes("axes", axes, types[0].dims.len())?;
    if axes.is_empty() {
        return Ok(arrays.to_vec());
    }
    axes.sort_unstable();
    let operands = [arrays, inits, body.captures].concat();
    let results: Vec<TensorType> = types.iter().map(|ty| without(ty, &axes)).collect();
    Ok(trace.application(Op::ReduceWith, &operands, &ReduceWithAttributes { axes }, &[body.body], &results))
}

/// Returns an error unless the body combines elements of the arrays, and `inits` are scalars of their dtypes.
pub(crate) fn check_reducer(trace: &Trace, body: &Applied, arrays: &[TensorType], inits: &[NodeId]) -> Result<()> {
    for (i, ty) in arrays.iter().enumerate() {
        let (given, wanted) = (inits.get(i).map(|&init| trace.ty(init)), TensorType::new(ty.dtype, &[]));
        if given.as_ref() != Some(&wanted) {
            let given = given.map_or("not there".to_string(), |ty| ty.to_string());
            return Err(error!(InvalidArgument, "inits: inits[{i}] is {given}; inputs[{i}] is {ty}, want {wanted}"));
        }
    }
    let dtypes: Vec<DType> = arrays.iter().map(|ty| ty.dtype).collect();
    check_scalars("body", body, &[&dtypes[..], &dtypes].concat(), &dtypes)
}

fn without(ty: &TensorType, axes: &[i64]) -> TensorType {
    let kept = (0..ty.dims.len()).filter(|&axis| !axes.contains(&(axis as i64)));
    TensorType { dtype: ty.dtype, dims: kept.map(|axis| ty.dims[axis]).collect() }
}

/// Records argmax or argmin along an axis: the index of the first NaN if there is one, and of the first of equal
/// elements.
pub fn arg_extreme(
    trace: &mut Trace,
    x: NodeId,
    axis: i64,
    keep_dims: bool,
    largest: bool,
    index_dtype: DType,
) -> Result<NodeId> {
    let ty = trace.ty(x);
    check_ordered(if largest { "argmax" } else { "argmin" }, "x", &ty)?;
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    check_index_dtype(index_dtype, ty.dims[axis])?;
    let mut kept: Dims = ty.dims.clone();
    kept[axis] = 1;
    let left = without(&ty, &[axis as i64]).dims;
    let wanted = if keep_dims { &kept } else { &left };
    if TensorType::new(index_dtype, wanted).elements() == 0 {
        return full(trace, &TensorType::new(index_dtype, wanted), ScalarValue::Unsigned(0));
    }
    if ty.dims[axis] == 0 {
        return Err(error!(InvalidArgument, "x: it is {ty}, and has no element on axis {axis}"));
    }
    let indices = iota(trace, &TensorType { dtype: index_dtype, dims: ty.dims.clone() }, axis as i64)?;
    let key = key(trace, x);
    let dtype = trace.node(key).dtype;
    let inits = [worst(dtype, largest), worst(index_dtype, false)].map(|scalar| constant(trace, &[], scalar));
    let body = bodies::extreme(dtype, index_dtype, largest)?;
    let applied = Applied { body: &body, captures: &[] };
    let found = reduce_with(trace, &applied, &[key, indices], &inits, &[axis as i64])?[1];
    reshape(trace, found, wanted)
}

/// Initial value: the largest value for argmin, and the smallest for argmax.
pub(crate) fn worst(dtype: DType, largest: bool) -> Scalar {
    if dtype == DType::Pred {
        return Scalar::from_bytes(dtype, &[u8::from(!largest)]);
    }
    let bits = identity(if largest { ReduceOp::Max } else { ReduceOp::Min }, dtype);
    Scalar::from_bytes(dtype, &bits.to_le_bytes()[..dtype.size_bytes()])
}

pub(super) fn native_reduce_with(cx: &EvalContext) -> Result<Vec<Array>> {
    let ReduceWithAttributes { axes } = cx.attributes();
    let body = &cx.bodies[0];
    let count = body.results().len();
    if let ([axis], [x, indices, init, index]) = (&axes[..], cx.operands)
        && count == 2
        && x.ty().dtype.has_arithmetic()
        && x.ty().dtype.kind() != Kind::Complex
        && indices.ty().dtype.is_integer()
    {
        let (axis, inits) = (*axis as usize, [*init, *index]);
        for largest in [true, false] {
            if **body == *bodies::extreme(x.ty().dtype, indices.ty().dtype, largest)? {
                let are_left_out = indices.ty().elements() == 0 && x.ty().elements() > 0;
                let found = match are_left_out {
                    true => native::extreme_place(axis, largest, x, inits),
                    false => native::extreme(axis, largest, x, indices, inits),
                };
                return found.map(Vec::from);
            }
        }
    }
    let captures = cx.arrays(2 * count..cx.operands.len());
    native::reduce_with(&axes, &cx.arrays(0..count), &cx.arrays(count..2 * count), &each(cx, 0, &captures))
}

/// Whether the operation is an argmax or argmin of an array of this dtype whose indices, its second operand, count along
/// the given axis. The evaluation takes an empty array of indices then.
pub fn counts_along(value: &Instruction, x: DType, indices: DType, axis: i64) -> Result<bool> {
    let is_one = value.op == Op::ReduceWith && value.operands.len() == 4 && value.bodies.len() == 1;
    if !is_one || !x.has_arithmetic() || x.kind() == Kind::Complex || !indices.is_integer() {
        return Ok(false);
    }
    let ReduceWithAttributes { axes } = value.attributes();
    let body = &*value.bodies[0];
    let is = |largest| bodies::extreme(x, indices, largest).map(|extreme| *body == *extreme);
    Ok(axes[..] == [axis] && (is(true)? || is(false)?))
}

/// Axes that may be split: those that are not reduced.
pub(super) fn open_axes(e: &Emitter, at: usize) -> OpenAxes {
    let value = e.instruction(at);
    let ReduceWithAttributes { axes } = value.attributes();
    let rank = e.values[value.operands[0]].ty.dims.len();
    let kept: Vec<usize> = (0..rank).filter(|&axis| !axes.contains(&(axis as i64))).collect();
    let arrays = value.bodies[0].results().len();
    OpenAxes { results: (0..kept.len()).collect(), operands: vec![kept; arrays] }
}

/// Writes the StableHLO of a reduction by a body. Captures are broadcast and reduced into themselves, as additional
/// arrays.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let body = &value.bodies[0];
    let types = e.values[value.operands[0]].ty.clone();
    let ReduceWithAttributes { axes } = value.attributes();
    let listed: Vec<String> = axes.iter().map(i64::to_string).collect();
    let attributes = format!("dimensions = array<i64: {}>", listed.join(", "));
    let (names, operand_types) = operands(e, at);
    let (values, dims) = (passed(body), without(&types, &axes).dims);
    let results: Vec<String> =
        values.iter().map(|value| mlir(&TensorType { dtype: value.as_dtype, dims: dims.clone() })).collect();
    begin(e, &format!("{}:{}", e.name_of(at), results.len()), "reduce", &names, &attributes);
    reducing(e, at, body, Reducer::Other);
    end(e, &operand_types, &results);
    restore_results(e, at, &values, &dims);
}

/// Operands of a reduction in StableHLO's order, as they are passed: arrays and broadcast captures, then the initial
/// value of each.
pub(crate) fn operands(e: &mut Emitter, at: usize) -> (Vec<String>, Vec<String>) {
    let value = e.instruction(at);
    let count = value.bodies[0].results().len();
    let dims = e.values[value.operands[0]].ty.dims.clone();
    let captures = &value.operands[2 * count..];
    let parts = [
        e.listed(&value.operands[..count]),
        spread(e, captures, &dims),
        e.listed(&value.operands[count..2 * count]),
        e.listed(captures),
    ];
    let (names, types): (Vec<Vec<String>>, Vec<Vec<String>>) = parts.into_iter().unzip();
    let (mut names, mut types, values) = (names.concat(), types.concat(), passed(&value.bodies[0]));
    let (arrays, inits) = names.split_at_mut(values.len());
    let (array_types, init_types) = types.split_at_mut(values.len());
    pass(e, &values, arrays, array_types, &dims);
    pass(e, &values, inits, init_types, &[]);
    (names, types)
}
