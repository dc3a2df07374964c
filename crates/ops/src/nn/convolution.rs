//! Convolutions with any number of spatial axes.

use crate::creation::constants::nothing;
use crate::definition::{EvalContext, OpenAxes};
use crate::elementwise::wide;
use crate::emit::{Emitter, emit, mlir};
use crate::infer::{self, distinct_axes};
use crate::linalg::dot_general::{factor_dtype, product_dtype};
use crate::linalg::precision::levels;
use crate::shape::slicing::{ConcatenateAttributes, PadAttributes};
use base::error;
use base::error::Result;
use base::types::{Axes, DType, Dims, TensorType, element_count};
use ir::{Instruction, Level, NodeId, Op, Precision, Trace, attributes};
use native::{self, Array, WindowAxis};

/// Window and dimension numbers of a convolution. Window lists have one entry for each spatial axis, dimension lists
/// two more.
#[derive(Clone, Copy, Default)]
pub struct ConvolutionOptions<'a> {
    /// Strides between windows; default 1.
    pub window_strides: Option<&'a [i64]>,
    /// Zeros before the first element; default 0.
    pub padding_low: Option<&'a [i64]>,
    /// Zeros after the last element; default 0.
    pub padding_high: Option<&'a [i64]>,
    /// Dilation of lhs; default 1.
    pub lhs_dilation: Option<&'a [i64]>,
    /// Dilation of the kernel; default 1.
    pub rhs_dilation: Option<&'a [i64]>,
    /// 1 where the kernel is reversed; default 0.
    pub window_reversal: Option<&'a [i64]>,
    /// Batch, feature and spatial axes of lhs; by default in that order.
    pub lhs_dimensions: Option<&'a [i64]>,
    /// Output feature, input feature and spatial axes of the kernel; by default in that order.
    pub rhs_dimensions: Option<&'a [i64]>,
    /// Batch, feature and spatial axes of the result; by default in that order.
    pub out_dimensions: Option<&'a [i64]>,
    /// Number of feature groups (feature_group_count).
    pub feature_groups: i64,
    /// Number of batch groups (batch_group_count).
    pub batch_groups: i64,
    /// Whether the features that are summed are the batch of another convolution, of which this is a derivative. On a
    /// mesh, they may be split then, instead of the batch.
    pub sums_batch: bool,
    /// Dtype of the computation and the result; by default the operands' common dtype.
    pub dtype: Option<DType>,
    /// Precision; None: the environment's.
    pub precision: Option<Precision>,
}

/// Records a convolution of lhs with the kernel rhs.
pub fn convolution(trace: &mut Trace, lhs: NodeId, rhs: NodeId, options: &ConvolutionOptions) -> Result<NodeId> {
    if wide::is_any(trace, &[lhs, rhs]) {
        return wide::product(trace, [lhs, rhs], options.dtype, |trace, [lhs, rhs], dtype| {
            convolution(trace, lhs, rhs, &ConvolutionOptions { dtype, ..*options })
        });
    }
    let (attributes, ty) = infer(&trace.ty(lhs), &trace.ty(rhs), options)?;
    if ty.elements() == 0 {
        // XLA refuses negative padding of more elements than there are.
        return nothing(trace, &ty);
    }
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::Convolution, ty.dtype, shape, &[lhs, rhs], &attributes))
}

/// Returns the attributes, with defaults filled in, and the result type.
fn infer(
    lhs: &TensorType,
    rhs: &TensorType,
    options: &ConvolutionOptions,
) -> Result<(ConvolutionAttributes, TensorType)> {
    let dtype = product_dtype("convolution", lhs, rhs, options.dtype)?;
    let rank = lhs.dims.len();
    if rank < 2 || rhs.dims.len() != rank {
        return Err(error!(
            InvalidArgument,
            "lhs is {lhs} and rhs is {rhs}: convolution takes operands of one rank, at least 2"
        ));
    }
    let spatial = rank - 2;
    let list = |name: &str, given: Option<&[i64]>, default: i64| match given {
        None => Ok(vec![default; spatial]),
        Some(given) if given.len() == spatial => Ok(given.to_vec()),
        Some(given) => {
            Err(error!(InvalidArgument, "{name}: {} given; lhs is {lhs}, with {spatial} spatial axes", given.len()))
        }
    };
    let mut attributes = ConvolutionAttributes {
        strides: list("window_strides", options.window_strides, 1)?,
        low: list("padding_low", options.padding_low, 0)?,
        high: list("padding_high", options.padding_high, 0)?,
        lhs_dilation: list("lhs_dilation", options.lhs_dilation, 1)?,
        rhs_dilation: list("rhs_dilation", options.rhs_dilation, 1)?,
        reversal: list("window_reversal", options.window_reversal, 0)?,
        lhs: dimensions("lhs_dimensions", options.lhs_dimensions, rank)?,
        rhs: dimensions("rhs_dimensions", options.rhs_dimensions, rank)?,
        out: dimensions("out_dimensions", options.out_dimensions, rank)?,
        groups: [options.feature_groups, options.batch_groups],
        sums_batch: options.sums_batch,
        precision: options.precision,
    };
    attributes.check_values()?;
    let size = |ty: &TensorType, axes: &[i64], i: usize| ty.dims[axes[i] as usize];
    let [batch, features] = check_groups(lhs, rhs, &attributes)?;
    let mut dims = Dims::from_elem(0, rank);
    dims[attributes.out[0] as usize] = batch;
    dims[attributes.out[1] as usize] = features;
    for axis in 0..spatial {
        let sizes = [size(lhs, &attributes.lhs, 2 + axis), size(rhs, &attributes.rhs, 2 + axis)];
        if sizes[1] < 1 {
            return Err(error!(
                InvalidArgument,
                "rhs: it is {rhs}; a kernel has at least 1 element on each spatial axis"
            ));
        }
        let windows = attributes.fit_windows(axis, sizes).ok_or_else(|| {
            error!(
                InvalidArgument,
                "padding_low, padding_high, lhs_dilation, rhs_dilation: on spatial axis {axis} of lhs, which is {lhs}, they leave no shape"
            )
        })?;
        dims[attributes.out[2 + axis] as usize] = windows;
    }
    if element_count(&dims)? > 0 {
        attributes.check_extents(lhs, rhs)?;
    }
    Ok((attributes, TensorType { dtype, dims }))
}

/// Normalizes a list of all axes of a tensor, each once; by default they are in order.
fn dimensions(name: &str, given: Option<&[i64]>, rank: usize) -> Result<Vec<i64>> {
    match given {
        None => Ok((0..rank as i64).collect()),
        Some(given) if given.len() == rank => distinct_axes(name, given, rank).map(Axes::into_vec),
        Some(given) => {
            Err(error!(InvalidArgument, "{name}: {} given; want {rank}, 2 more than spatial axes", given.len()))
        }
    }
}

/// Checks the group counts and returns the result's batch size and number of features.
fn check_groups(lhs: &TensorType, rhs: &TensorType, attributes: &ConvolutionAttributes) -> Result<[i64; 2]> {
    let [feature_groups, batch_groups] = attributes.groups;
    for (name, groups) in [("feature_group_count", feature_groups), ("batch_group_count", batch_groups)] {
        if groups < 1 {
            return Err(error!(InvalidArgument, "{name}: {groups} given; want at least 1"));
        }
    }
    if feature_groups > 1 && batch_groups > 1 {
        return Err(error!(
            InvalidArgument,
            "feature_group_count, batch_group_count: {feature_groups} and {batch_groups} given; one of them must be 1"
        ));
    }
    let [batch, features] = [0, 1].map(|i| lhs.dims[attributes.lhs[i] as usize]);
    let [out_features, in_features] = [0, 1].map(|i| rhs.dims[attributes.rhs[i] as usize]);
    if in_features.checked_mul(feature_groups) != Some(features) {
        return Err(error!(
            InvalidArgument,
            "feature_group_count: lhs is {lhs}, with {features} features, and rhs is {rhs}, which takes {in_features} in each of {feature_groups} groups"
        ));
    }
    if out_features % feature_groups != 0 || out_features % batch_groups != 0 {
        let name = if feature_groups > 1 { "feature_group_count" } else { "batch_group_count" };
        return Err(error!(
            InvalidArgument,
            "{name}: {} given; rhs ({rhs}) has {out_features} output features, want a divisor of that number",
            feature_groups.max(batch_groups)
        ));
    }
    if batch % batch_groups != 0 {
        return Err(error!(
            InvalidArgument,
            "batch_group_count: {batch_groups} given; the batch of lhs ({lhs}) is {batch}, want a divisor of it"
        ));
    }
    Ok([batch / batch_groups, out_features])
}

attributes! {
    /// Attributes of `convolution`. The first six lists have one entry for each spatial axis, the next three two more.
    pub struct ConvolutionAttributes {
        /// Strides between windows.
        pub strides: Vec<i64>,
        /// Zeros before the first element of lhs.
        pub low: Vec<i64>,
        /// Zeros after the last element of lhs.
        pub high: Vec<i64>,
        /// Dilation of lhs.
        pub lhs_dilation: Vec<i64>,
        /// Dilation of the kernel.
        pub rhs_dilation: Vec<i64>,
        /// 1 where the kernel is reversed, otherwise 0.
        pub reversal: Vec<i64>,
        /// Batch, feature and spatial axes of lhs.
        pub lhs: Vec<i64>,
        /// Output feature, input feature and spatial axes of the kernel.
        pub rhs: Vec<i64>,
        /// Batch, feature and spatial axes of the result.
        pub out: Vec<i64>,
        /// Numbers of feature groups and of batch groups.
        pub groups: [i64; 2],
        /// Whether the summed features, rather than the batch, may be split over a mesh.
        pub sums_batch: bool,
        /// Precision; None: the environment's.
        pub precision: Option<Precision>,
    }
}

/// Size of an axis of `count` elements with this distance between them. None if it overflows.
fn spread(count: i64, step: i64) -> Option<i64> {
    if count == 0 { Some(0) } else { (count - 1).checked_mul(step)?.checked_add(1) }
}

impl ConvolutionAttributes {
    fn check_values(&self) -> Result<()> {
        let positive = [
            ("window_strides", &self.strides),
            ("lhs_dilation", &self.lhs_dilation),
            ("rhs_dilation", &self.rhs_dilation),
        ];
        for (name, list) in positive {
            if let Some(axis) = list.iter().position(|&value| value < 1) {
                return Err(error!(InvalidArgument, "{name}: {name}[{axis}] is {}; want at least 1", list[axis]));
            }
        }
        if let Some(axis) = self.reversal.iter().position(|value| !(0..=1).contains(value)) {
            let given = self.reversal[axis];
            return Err(error!(InvalidArgument, "window_reversal: window_reversal[{axis}] is {given}; want 0 or 1"));
        }
        Ok(())
    }

    /// Returns the number of windows on a spatial axis, for these numbers of lhs elements and kernel taps. Dilations
    /// without an effect become 1 and strides are capped, since large values would overflow XLA's arithmetic.
    fn fit_windows(&mut self, axis: usize, [elements, taps]: [i64; 2]) -> Option<i64> {
        if elements <= 1 {
            self.lhs_dilation[axis] = 1;
        }
        if taps <= 1 {
            self.rhs_dilation[axis] = 1;
        }
        let padded =
            spread(elements, self.lhs_dilation[axis])?.checked_add(self.high[axis])?.checked_add(self.low[axis])?;
        let window = spread(taps, self.rhs_dilation[axis])?;
        self.strides[axis] = self.strides[axis].min(padded.max(1));
        Some(if padded < window { 0 } else { (padded - window) / self.strides[axis] + 1 })
    }

    /// Returns an error if lhs or the kernel, dilated and padded, has more elements than an array can have.
    fn check_extents(&self, lhs: &TensorType, rhs: &TensorType) -> Result<()> {
        let extents = |ty: &TensorType, axes: &[i64], extent: &dyn Fn(usize, i64) -> Option<i64>| {
            let spatial = |axis: usize| axes[2..].iter().position(|&spatial| spatial as usize == axis);
            let of = |(axis, &dim): (usize, &i64)| spatial(axis).map_or(Some(dim), |i| extent(i, dim));
            ty.dims.iter().enumerate().map(of).collect::<Vec<Option<i64>>>()
        };
        let padded = extents(lhs, &self.lhs, &|i, dim| {
            spread(dim, self.lhs_dilation[i])?.checked_add(self.low[i].max(0))?.checked_add(self.high[i].max(0))
        });
        infer::check_extents("padding_low, padding_high, lhs_dilation", lhs, padded.into_iter())?;
        let dilated = extents(rhs, &self.rhs, &|i, dim| spread(dim, self.rhs_dilation[i]));
        infer::check_extents("rhs_dilation", rhs, dilated.into_iter())
    }
}

/// Whether XLA's partitioner is wrong whatever is split: with groups, and with negative padding.
pub(super) fn is_irregular(value: &Instruction) -> bool {
    let attributes: ConvolutionAttributes = value.attributes();
    attributes.groups != [1, 1] || attributes.low.iter().chain(&attributes.high).any(|&padding| padding < 0)
}

/// Axes that may be split: the batch and the output features, of which each device computes some; or the features that
/// are summed, over which the devices' results are added up. A derivative by a kernel sums over the batch.
pub(super) fn open_axes(attributes: &ConvolutionAttributes) -> OpenAxes {
    let axis = |axes: &[i64], i: usize| vec![axes[i] as usize];
    let ConvolutionAttributes { lhs, rhs, out, .. } = attributes;
    match attributes.sums_batch {
        true => OpenAxes { operands: vec![axis(lhs, 1), axis(rhs, 1)], results: vec![] },
        false => {
            OpenAxes { operands: vec![axis(lhs, 0), axis(rhs, 0)], results: [axis(out, 0), axis(out, 1)].concat() }
        }
    }
}

pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let dtype = factor_dtype(e.promoted(&value.operands), value.ty.dtype);
    let [mut l_ty, r_ty] = [0, 1].map(|i| TensorType { dtype, dims: e.values[value.operands[i]].ty.dims.clone() });
    let mut lhs = e.cast(value.operands[0], &l_ty);
    let mut attributes: ConvolutionAttributes = value.attributes();
    let pads_below_zero = attributes.low.iter().chain(&attributes.high).any(|&padding| padding < 0);
    let is_apart = reads_padding_only(e, at, &attributes);
    if pads_below_zero || looks_like_groups(&l_ty, &r_ty, &attributes) || is_apart {
        lhs = padded(e, lhs, &mut l_ty, &mut attributes);
    }
    if is_apart {
        let kept = e.temporary();
        emit!(e, "    {kept} = stablehlo.optimization_barrier {lhs} : {}", mlir(&l_ty));
        lhs = kept;
    }
    let rhs = e.cast(value.operands[1], &r_ty);
    let rhs = reversed(e, rhs, &r_ty, &attributes);
    let pads: Vec<[i64; 2]> = attributes.low.iter().zip(&attributes.high).map(|(&low, &high)| [low, high]).collect();
    let [feature_groups, batch_groups] = attributes.groups;
    // Without spatial axes, StableHLO's parser wants no lists.
    let windows = if pads.is_empty() {
        String::new()
    } else {
        format!(
            "stride = {:?}, pad = {pads:?}, lhs_dilate = {:?}, rhs_dilate = {:?}",
            attributes.strides, attributes.lhs_dilation, attributes.rhs_dilation
        )
    };
    let [left, right] = levels(e, attributes.precision, dtype, value.ty.dtype).map(Level::keyword);
    emit!(
        e,
        "    {name} = stablehlo.convolution({lhs}, {rhs}) dim_numbers = {}x{}->{}, window = {{{windows}}} {{feature_group_count = {feature_groups} : i64, batch_group_count = {batch_groups} : i64, precision_config = [#stablehlo<precision {left}>, #stablehlo<precision {right}>]}} : ({}, {}) -> {}",
        letters(&attributes.lhs, ["b", "f"]),
        letters(&attributes.rhs, ["o", "i"]),
        letters(&attributes.out, ["b", "f"]),
        mlir(&l_ty),
        mlir(&r_ty),
        mlir(&value.ty)
    );
}

/// Returns whether XLA may mistake a spatial axis for one of groups: lhs is dilated by the size k of the kernel, the
/// stride is k - 1, and nothing is padded, but lhs has not k elements. XLA exchanges the operands of a convolution whose
/// kernel is larger than lhs, keeps the window of such an axis, and then a check ends the process.
fn looks_like_groups(lhs: &TensorType, rhs: &TensorType, attributes: &ConvolutionAttributes) -> bool {
    (0..attributes.strides.len()).any(|i| {
        let [elements, taps] =
            [(lhs, &attributes.lhs), (rhs, &attributes.rhs)].map(|(ty, axes)| ty.dims[axes[2 + i] as usize]);
        attributes.lhs_dilation[i] == taps
            && attributes.strides[i] == taps - 1
            && attributes.rhs_dilation[i] == 1
            && [attributes.low[i], attributes.high[i]] == [0, 0]
            && elements != taps
    })
}

/// Returns whether all windows end before the first element of lhs along some axis: in their padding, or, if lhs is a
/// pad or a concatenation, in its padding or its first part. XLA makes these padding of the windows, and YNNPACK ends
/// the process if they read nothing else.
fn reads_padding_only(e: &Emitter, at: usize, attributes: &ConvolutionAttributes) -> bool {
    let value = e.instruction(at);
    let [lhs, rhs] = [0, 1].map(|i| e.instruction(value.operands[i]));
    let before = |axis: usize| match lhs.op {
        Op::Pad => lhs.attributes::<PadAttributes>().low[axis],
        Op::Concatenate if lhs.attributes::<ConcatenateAttributes>().axis == axis => {
            e.instruction(lhs.operands[0]).ty.dims[axis]
        }
        _ => 0,
    };
    (0..attributes.strides.len()).any(|i| {
        let [windows, taps] =
            [(value, &attributes.out), (rhs, &attributes.rhs)].map(|(of, axes)| of.ty.dims[axes[2 + i] as usize]);
        let last = (windows - 1).saturating_mul(attributes.strides[i]);
        let end = last.saturating_add((taps - 1).saturating_mul(attributes.rhs_dilation[i]));
        end < attributes.low[i].saturating_add(before(attributes.lhs[2 + i] as usize))
    })
}

/// Writes the padding and dilation of lhs as a separate operation, and removes them from the attributes: XLA's CPU
/// backend reads outside of the operand where the padding of a convolution is negative on one side.
fn padded(e: &mut Emitter, lhs: String, ty: &mut TensorType, attributes: &mut ConvolutionAttributes) -> String {
    let rank = ty.dims.len();
    let (mut low, mut high, mut interior) = (vec![0; rank], vec![0; rank], vec![0; rank]);
    let from = mlir(ty);
    for (i, &axis) in attributes.lhs[2..].iter().enumerate() {
        let axis = axis as usize;
        (low[axis], high[axis]) = (attributes.low[i], attributes.high[i]);
        interior[axis] = attributes.lhs_dilation[i] - 1;
        let dilated = if ty.dims[axis] == 0 { 0 } else { (ty.dims[axis] - 1) * attributes.lhs_dilation[i] + 1 };
        ty.dims[axis] = dilated + low[axis] + high[axis];
        (attributes.low[i], attributes.high[i], attributes.lhs_dilation[i]) = (0, 0, 1);
    }
    let element = TensorType::new(ty.dtype, &[]);
    let (zero, made) = (e.constant(&element, 0), e.temporary());
    emit!(
        e,
        "    {made} = stablehlo.pad {lhs}, {zero}, low = {low:?}, high = {high:?}, interior = {interior:?} : ({from}, {}) -> {}",
        mlir(&element),
        mlir(ty)
    );
    made
}

/// Writes the kernel, reversed along the axes that have the reversal flag. XLA ignores reversal in the window when it
/// rewrites a convolution as a product, which it does where the kernel is as large as its operand.
fn reversed(e: &mut Emitter, kernel: String, ty: &TensorType, attributes: &ConvolutionAttributes) -> String {
    let spatial = attributes.rhs[2..].iter().zip(&attributes.reversal);
    let axes: Vec<i64> = spatial.filter(|&(_, &reversal)| reversal == 1).map(|(&axis, _)| axis).collect();
    if axes.is_empty() {
        return kernel;
    }
    let backwards = e.temporary();
    emit!(e, "    {backwards} = stablehlo.reverse {kernel}, dims = {axes:?} : {}", mlir(ty));
    backwards
}

/// Writes the dimension numbers of one tensor, such as `[b, 0, 1, f]`.
fn letters(axes: &[i64], first: [&str; 2]) -> String {
    let mut names = vec![String::new(); axes.len()];
    for (i, &axis) in axes.iter().enumerate() {
        names[axis as usize] = if i < 2 { first[i].to_string() } else { (i - 2).to_string() };
    }
    format!("[{}]", names.join(", "))
}

pub(super) fn native_convolution(cx: &EvalContext) -> Result<Array> {
    let attributes: ConvolutionAttributes = cx.attributes();
    let lhs = in_order(cx.operands[0], &attributes.lhs)?;
    let rhs = in_order(cx.operands[1], &attributes.rhs)?;
    let axes: Vec<WindowAxis> = (0..attributes.strides.len())
        .map(|i| WindowAxis {
            stride: attributes.strides[i],
            low: attributes.low[i],
            input_dilation: attributes.lhs_dilation[i],
            kernel_dilation: attributes.rhs_dilation[i],
            reversed: attributes.reversal[i] == 1,
        })
        .collect();
    let dims = attributes.out.iter().map(|&axis| cx.ty.dims[axis as usize]).collect();
    let plain = TensorType { dtype: cx.ty.dtype, dims };
    let result = native::convolution(&plain, &lhs, &rhs, &axes, attributes.groups)?;
    let mut back = vec![0; attributes.out.len()];
    attributes.out.iter().enumerate().for_each(|(i, &axis)| back[axis as usize] = i as i64);
    in_order(&result, &back)
}

/// Transposes an array so that its axes are in this order.
fn in_order(x: &Array, axes: &[i64]) -> Result<Array> {
    if axes.is_sorted() {
        return Ok(x.clone());
    }
    let dims = axes.iter().map(|&axis| x.ty().dims[axis as usize]).collect();
    native::transpose(&TensorType { dtype: x.ty().dtype, dims }, axes, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(dims: &[i64]) -> TensorType {
        TensorType::new(DType::F32, dims)
    }

    fn plain<'a>() -> ConvolutionOptions<'a> {
        ConvolutionOptions { feature_groups: 1, batch_groups: 1, ..ConvolutionOptions::default() }
    }

    #[test]
    fn shapes_follow_windows_groups_and_dimensions() {
        let dims = |lhs: &[i64], rhs: &[i64], options: &ConvolutionOptions| {
            infer(&f32s(lhs), &f32s(rhs), options).unwrap().1.dims.to_vec()
        };
        assert_eq!(dims(&[2, 3, 8, 8], &[5, 3, 3, 3], &plain()), [2, 5, 6, 6]);
        assert_eq!(dims(&[2, 3], &[5, 3], &plain()), [2, 5]);
        let same = ConvolutionOptions { padding_low: Some(&[1]), padding_high: Some(&[1]), ..plain() };
        assert_eq!(dims(&[2, 3, 8], &[5, 3, 3], &same), [2, 5, 8]);
        let strided = ConvolutionOptions { window_strides: Some(&[i64::MAX]), ..plain() };
        assert_eq!(dims(&[2, 3, 8], &[5, 3, 3], &strided), [2, 5, 1]);
        let dilated = ConvolutionOptions { lhs_dilation: Some(&[3]), rhs_dilation: Some(&[2]), ..plain() };
        assert_eq!(dims(&[2, 3, 8], &[5, 3, 3], &dilated), [2, 5, 18]);
        assert_eq!(dims(&[2, 3, 8], &[5, 3, 9], &plain()), [2, 5, 0]);
        let groups = ConvolutionOptions { feature_groups: 3, ..plain() };
        assert_eq!(dims(&[2, 3, 8], &[6, 1, 1], &groups), [2, 6, 8]);
        let images = ConvolutionOptions { batch_groups: 2, ..plain() };
        assert_eq!(dims(&[4, 3, 8], &[6, 3, 1], &images), [2, 6, 8]);
        let last = ConvolutionOptions {
            lhs_dimensions: Some(&[0, -1, 1, 2]),
            rhs_dimensions: Some(&[3, 2, 0, 1]),
            out_dimensions: Some(&[0, 3, 1, 2]),
            ..plain()
        };
        assert_eq!(dims(&[2, 8, 9, 3], &[3, 3, 3, 5], &last), [2, 6, 7, 5]);
    }

    #[test]
    fn letters_are_in_the_order_of_the_axes() {
        assert_eq!(letters(&[0, 3, 1, 2], ["b", "f"]), "[b, 0, 1, f]");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let message = |options: ConvolutionOptions, words: &str| {
            let text = infer(&f32s(&[4, 3, 8]), &f32s(&[6, 3, 3]), &options).unwrap_err().message.to_string();
            assert!(text.contains(words), "{text}");
        };
        message(
            ConvolutionOptions { window_strides: Some(&[]), ..plain() },
            "window_strides: 0 given; lhs is f32[4,3,8]",
        );
        message(ConvolutionOptions { lhs_dilation: Some(&[0]), ..plain() }, "lhs_dilation[0] is 0; want at least 1");
        message(ConvolutionOptions { window_reversal: Some(&[2]), ..plain() }, "window_reversal[0] is 2; want 0 or 1");
        message(
            ConvolutionOptions { feature_groups: 3, ..plain() },
            "rhs is f32[6,3,3], which takes 3 in each of 3 groups",
        );
        message(ConvolutionOptions { batch_groups: 5, ..plain() }, "6 output features");
        message(
            ConvolutionOptions { batch_groups: 3, ..plain() },
            "batch_group_count: 3 given; the batch of lhs (f32[4,3,8]) is 4, want a divisor of it",
        );
        message(ConvolutionOptions { batch_groups: 0, ..plain() }, "batch_group_count: 0 given; want at least 1");
        message(ConvolutionOptions { batch_groups: 2, feature_groups: 3, ..plain() }, "one of them must be 1");
        message(ConvolutionOptions { padding_low: Some(&[i64::MAX]), ..plain() }, "leave no shape");
        message(
            ConvolutionOptions { out_dimensions: Some(&[0, 1, 1]), ..plain() },
            "out_dimensions: axis 1 is given twice",
        );
        message(ConvolutionOptions { rhs_dimensions: Some(&[0, 1]), ..plain() }, "rhs_dimensions: 2 given; want 3");
        assert!(infer(&f32s(&[4, 3, 8]), &f32s(&[6, 3, 0]), &plain()).is_err());
        assert!(infer(&f32s(&[4]), &f32s(&[6]), &plain()).is_err());
    }
}
