//! Tensor contractions over given axes.

use crate::definition::EvalContext;
use crate::elementwise::wide;
use crate::emit::Emitter;
use crate::infer::{common_dtype, distinct_axes};
use crate::linalg::narrow;
use crate::linalg::product::{Factor, product};
use base::error;
use base::error::Result;
use ir::{NodeId, Op, Precision, Trace, attributes};
use native::{self, Array};

use base::types::{DType, Dims, TensorType, element_count};

attributes! {
    /// Attributes of `dot_general`. Axes at the same position of the lhs and rhs lists are paired.
    pub struct DotGeneralAttributes {
        /// Batching axes of lhs.
        pub lhs_batching: Vec<i64>,
        /// Batching axes of rhs.
        pub rhs_batching: Vec<i64>,
        /// Contracting axes of lhs.
        pub lhs_contracting: Vec<i64>,
        /// Contracting axes of rhs.
        pub rhs_contracting: Vec<i64>,
        /// Precision; None: the environment's.
        pub precision: Option<Precision>,
    }
}

/// Dimension numbers of a dot_general. Axes at the same position of the lhs and rhs lists are paired.
pub struct DotAxes<'a> {
    /// Batching axes of lhs.
    pub lhs_batching: &'a [i64],
    /// Batching axes of rhs.
    pub rhs_batching: &'a [i64],
    /// Contracting axes of lhs.
    pub lhs_contracting: &'a [i64],
    /// Contracting axes of rhs.
    pub rhs_contracting: &'a [i64],
}

impl DotAxes<'_> {
    /// No axes: the outer product.
    pub const NONE: DotAxes<'static> =
        DotAxes { lhs_batching: &[], rhs_batching: &[], lhs_contracting: &[], rhs_contracting: &[] };
}

/// Records a dot_general in the operands' common dtype, or in a wider `dtype`. The result has the batching axes, then
/// the remaining axes of lhs, then the remaining axes of rhs. The environment chooses the precision.
pub fn dot_general(
    trace: &mut Trace,
    lhs: NodeId,
    rhs: NodeId,
    axes: &DotAxes,
    dtype: Option<DType>,
) -> Result<NodeId> {
    dot_general_with(trace, lhs, rhs, axes, dtype, None)
}

/// Like [`dot_general`], with a precision that the caller states.
pub fn dot_general_with(
    trace: &mut Trace,
    lhs: NodeId,
    rhs: NodeId,
    axes: &DotAxes,
    dtype: Option<DType>,
    precision: Option<Precision>,
) -> Result<NodeId> {
    if wide::is_any(trace, &[lhs, rhs]) {
        return wide::product(trace, [lhs, rhs], dtype, |trace, [lhs, rhs], dtype| {
            dot_general_with(trace, lhs, rhs, axes, dtype, precision)
        });
    }
    let (mut attributes, ty) = infer(&trace.ty(lhs), &trace.ty(rhs), axes, dtype)?;
    attributes.precision = precision;
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::DotGeneral, ty.dtype, shape, &[lhs, rhs], &attributes))
}

/// Returns the attributes, with normalized axes, and the result type.
fn infer(
    lhs: &TensorType,
    rhs: &TensorType,
    axes: &DotAxes,
    dtype: Option<DType>,
) -> Result<(DotGeneralAttributes, TensorType)> {
    let dtype = product_dtype("dot_general", lhs, rhs, dtype)?;
    let batches = axes.lhs_batching.len();
    let of = |names: &str, ty: &TensorType, batching: &[i64], contracting: &[i64]| {
        let all = distinct_axes(names, &[batching, contracting].concat(), ty.dims.len());
        all.map_err(|e| e.context(format_args!("lhs is {lhs} and rhs is {rhs}")))
    };
    let left = of("lhs_batching, lhs_contracting", lhs, axes.lhs_batching, axes.lhs_contracting)?;
    let right = of("rhs_batching, rhs_contracting", rhs, axes.rhs_batching, axes.rhs_contracting)?;
    for (place, (&l, &r)) in left.iter().zip(&right).enumerate() {
        let sizes = (lhs.dims[l as usize], rhs.dims[r as usize]);
        if sizes.0 != sizes.1 {
            let lists = if place < batches { "lhs_batching, rhs_batching" } else { "lhs_contracting, rhs_contracting" };
            return Err(error!(
                InvalidArgument,
                "{lists}: lhs is {lhs} and rhs is {rhs}; axis {l} of lhs is {} and axis {r} of rhs is {}",
                sizes.0,
                sizes.1
            ));
        }
    }
    let free = |ty: &TensorType, taken: &[i64]| {
        let is_free = |axis: &usize| !taken.contains(&(*axis as i64));
        (0..ty.dims.len()).filter(is_free).map(|axis| ty.dims[axis]).collect::<Dims>()
    };
    let mut dims: Dims = left[..batches].iter().map(|&axis| lhs.dims[axis as usize]).collect();
    dims.extend(free(lhs, &left));
    dims.extend(free(rhs, &right));
    element_count(&dims)?;
    let attributes = DotGeneralAttributes {
        lhs_batching: left[..batches].to_vec(),
        rhs_batching: right[..batches].to_vec(),
        lhs_contracting: left[batches..].to_vec(),
        rhs_contracting: right[batches..].to_vec(),
        precision: None,
    };
    Ok((attributes, TensorType { dtype, dims }))
}

/// Returns the dtype in which a product is computed and returned: the operands' common dtype, or `wanted`, if the
/// common dtype promotes to it.
pub(crate) fn product_dtype(name: &str, lhs: &TensorType, rhs: &TensorType, wanted: Option<DType>) -> Result<DType> {
    let common = common_dtype(lhs, rhs)?;
    if common == DType::Pred {
        return Err(error!(InvalidArgument, "lhs is {lhs} and rhs is {rhs}: {name} takes numbers"));
    }
    match wanted {
        Some(wanted) if common.promote(wanted).ok() != Some(wanted) => Err(error!(
            InvalidArgument,
            "dtype: {wanted} given; lhs is {lhs} and rhs is {rhs}, and {common} does not promote to it"
        )),
        wanted => Ok(wanted.unwrap_or(common)),
    }
}

/// Dtype of the operands that are passed to XLA for a product in `dtype`. If that is f32 and the operands are f16 or
/// bf16, or s32 and the operands are s8 or u8, they are passed unchanged and widened within the product, as matrix
/// units do; otherwise they are widened before, so that nothing is lost.
pub(crate) fn factor_dtype(common: DType, dtype: DType) -> DType {
    match (common, dtype) {
        (DType::F16 | DType::BF16, DType::F32) | (DType::S8 | DType::U8, DType::S32) => common,
        _ => dtype,
    }
}

pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let dtype = factor_dtype(e.promoted(&value.operands), value.ty.dtype);
    let [l_ty, r_ty] = [0, 1].map(|i| TensorType { dtype, dims: e.values[value.operands[i]].ty.dims.clone() });
    let DotGeneralAttributes { lhs_batching, rhs_batching, lhs_contracting, rhs_contracting, precision } =
        value.attributes();
    let leading = (0..l_ty.dims.len() as i64 - 1).collect::<Vec<_>>();
    let contracts_rows = lhs_batching.is_empty() && lhs_contracting == leading && rhs_contracting == leading;
    if contracts_rows && narrow::is_narrow(e, dtype, &l_ty.dims, &r_ty.dims) {
        return narrow::product(e, &name, [value.operands[0], value.operands[1]], &value.ty, precision);
    }
    let lhs = e.cast(value.operands[0], &l_ty);
    let rhs = e.cast(value.operands[1], &r_ty);
    let lhs = Factor { name: &lhs, ty: &l_ty, batching: &lhs_batching, contracting: &lhs_contracting };
    let rhs = Factor { name: &rhs, ty: &r_ty, batching: &rhs_batching, contracting: &rhs_contracting };
    product(e, &name, [value.operands[0], value.operands[1]], [&lhs, &rhs], &value.ty, precision);
}

pub(super) fn native_dot_general(cx: &EvalContext) -> Result<Array> {
    let attributes: DotGeneralAttributes = cx.attributes();
    let batching: [&[i64]; 2] = [&attributes.lhs_batching, &attributes.rhs_batching];
    let contracting: [&[i64]; 2] = [&attributes.lhs_contracting, &attributes.rhs_contracting];
    native::dot_general(cx.ty, cx.operands[0], cx.operands[1], batching, contracting)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes<'a>(batching: [&'a [i64]; 2], contracting: [&'a [i64]; 2]) -> DotAxes<'a> {
        DotAxes {
            lhs_batching: batching[0],
            rhs_batching: batching[1],
            lhs_contracting: contracting[0],
            rhs_contracting: contracting[1],
        }
    }

    fn lists(attributes: DotGeneralAttributes) -> [Vec<i64>; 4] {
        let DotGeneralAttributes { lhs_batching, rhs_batching, lhs_contracting, rhs_contracting, .. } = attributes;
        [lhs_batching, rhs_batching, lhs_contracting, rhs_contracting]
    }

    #[test]
    fn batches_come_first_and_axes_are_normalized() {
        let (l, r) = (TensorType::new(DType::BF16, &[2, 3, 4]), TensorType::new(DType::BF16, &[4, 5, 2]));
        let (attributes, ty) = infer(&l, &r, &axes([&[0], &[-1]], [&[2], &[0]]), Some(DType::F32)).unwrap();
        assert_eq!(ty, TensorType::new(DType::F32, &[2, 3, 5]));
        assert_eq!(lists(attributes), [[0], [2], [2], [0]]);
        let (attributes, ty) = infer(&l, &r, &axes([&[]; 2], [&[]; 2]), None).unwrap();
        assert_eq!(ty, TensorType::new(DType::BF16, &[2, 3, 4, 4, 5, 2]));
        assert_eq!(lists(attributes), [[0i64; 0]; 4]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let (l, r) = (TensorType::new(DType::S8, &[2, 3]), TensorType::new(DType::U8, &[3, 4]));
        let message = |batching, contracting, dtype| {
            infer(&l, &r, &axes(batching, contracting), dtype).unwrap_err().message.to_string()
        };
        let text = message([&[]; 2], [&[0], &[0]], None);
        assert!(text.contains("lhs_contracting, rhs_contracting: lhs is s8[2,3]"), "{text}");
        assert!(text.contains("axis 0 of lhs is 2 and axis 0 of rhs is 3"), "{text}");
        let text = message([&[1], &[0]], [&[-1], &[1]], None);
        assert!(text.contains("lhs_batching, lhs_contracting: axis -1 is given twice"), "{text}");
        let text = message([&[]; 2], [&[1], &[0]], Some(DType::F32));
        assert!(text.contains("dtype: f32 given") && text.contains("s16 does not promote to it"), "{text}");
        assert!(infer(&l, &r, &axes([&[]; 2], [&[1], &[0]]), Some(DType::S64)).is_ok());
    }
}
