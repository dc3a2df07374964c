//! Reductions of windows over arrays by a traced computation, and cumulative reductions.

use crate::control::apply::Applied;
use crate::control::bodies;
use crate::control::regions::{begin, check_alike, each, end, passed, reducing, restore_results};
use crate::creation::constants::{constant, nothing};
use crate::definition::{Composed, EvalContext, OpenAxes};
use crate::elementwise::convert::convert;
use crate::elementwise::wide;
use crate::emit::{Emitter, Reducer, identity, mlir};
use crate::infer::check_extents;
use crate::reduction::reduce;
use crate::reduction::reduce_with::{check_reducer, operands};
use crate::shape::axes::broadcast_to;
use crate::shape::slicing::slice;
use base::error;
use base::error::Result;
use base::types::{DType, Dims, Scalar, TensorType, element_count, normalize_axis};
use ir::{BinaryOp, Body, NodeId, Op, ReduceOp, Trace, Window, attributes};
use native::{self, Array};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] =
    &[Composed { name: "cumulative", function: "lxla_cumulative", dtypes: "as its reduction" }];

attributes! {
    /// Attributes of `reduce_window`.
    pub struct ReduceWindowAttributes {
        /// Windows, one for each axis.
        pub windows: Vec<Window>,
    }
}

/// Whether XLA's partitioner may end the process: with several arrays, whose shardings may differ, and with dilation.
pub(super) fn is_hard_to_split(e: &Emitter, at: usize) -> bool {
    let value = e.instruction(at);
    let ReduceWindowAttributes { windows } = value.attributes();
    value.bodies[0].results().len() > 1 || windows.iter().any(|window| window.base_dilation != 1)
}

/// Axes that may be split: those whose windows are single elements (size and stride 1, no padding, no dilation).
pub(super) fn open_axes(e: &Emitter, at: usize) -> OpenAxes {
    let value = e.instruction(at);
    let ReduceWindowAttributes { windows } = value.attributes();
    let open: Vec<usize> = (0..windows.len()).filter(|&axis| windows[axis] == Window::ONE).collect();
    OpenAxes { operands: vec![open.clone()], results: open }
}

/// Records a joint reduction of `arrays`, window by window. `windows` has one entry for each axis.
pub fn reduce_window(
    trace: &mut Trace,
    body: &Applied,
    arrays: &[NodeId],
    inits: &[NodeId],
    windows: &[Window],
) -> Result<Vec<NodeId>> {
    let types = check_alike(trace, "inputs", arrays)?;
    check_reducer(trace, body, &types, inits)?;
    let (windows, dims) = infer(&types[0], windows)?;
    if windows.is_empty() {
        return Ok(arrays.to_vec());
    }
    if dims.contains(&0) {
        let empty = |ty: &TensorType| nothing(trace, &TensorType { dtype: ty.dtype, dims: dims.clone() });
        return types.iter().map(empty).collect();
    }
    if windows.iter().any(Window::cuts) {
        return of_kept_elements(trace, body, arrays, inits, &windows, &dims);
    }
    let operands = [arrays, inits, body.captures].concat();
    let results: Vec<TensorType> = types.iter().map(|ty| TensorType { dtype: ty.dtype, dims: dims.clone() }).collect();
    Ok(trace.application(Op::ReduceWindow, &operands, &ReduceWindowAttributes { windows }, &[body.body], &results))
}

/// Records a reduce_window whose padding removes elements, as a reduce_window of the other elements: XLA's simplifier
/// crashes on windows of one element with negative padding. `dims` is the number of windows along each axis.
fn of_kept_elements(
    trace: &mut Trace,
    body: &Applied,
    arrays: &[NodeId],
    inits: &[NodeId],
    windows: &[Window],
    dims: &[i64],
) -> Result<Vec<NodeId>> {
    let from = trace.ty(arrays[0]).dims;
    // Elements that lie outside of the padded array, at the start and at the end.
    let removed = |padding: i64, window: &Window| {
        let places = i128::from(padding.min(0).unsigned_abs());
        (places + i128::from(window.base_dilation) - 1) / i128::from(window.base_dilation)
    };
    let (mut starts, mut limits, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for (window, &dim) in windows.iter().zip(&from) {
        let [start, end] = [window.low, window.high].map(|padding| removed(padding, window));
        if start + end >= i128::from(dim) {
            return inits.iter().map(|&init| broadcast_to(trace, init, dims)).collect();
        }
        let [start, end] = [start as i64, end as i64];
        let of = |padding: i64, removed: i64| padding + removed * window.base_dilation;
        starts.push(start);
        limits.push(dim - end);
        left.push(Window { low: of(window.low, start), high: of(window.high, end), ..*window });
    }
    let steps = vec![1; from.len()];
    let cut = arrays.iter().map(|&x| slice(trace, x, &starts, &limits, &steps)).collect::<Result<Vec<NodeId>>>()?;
    reduce_window(trace, body, &cut, inits, &left)
}

/// Returns the windows, without ineffective dilations and with strides capped (larger ones might overflow XLA's
/// arithmetic), and the number of windows on each axis.
pub(crate) fn infer(x: &TensorType, windows: &[Window]) -> Result<(Vec<Window>, Dims)> {
    if windows.len() != x.dims.len() {
        return Err(error!(
            InvalidArgument,
            "rank: {} given; the array is {x}, of rank {}",
            windows.len(),
            x.dims.len()
        ));
    }
    let mut dims = Dims::new();
    let mut plain = Vec::with_capacity(windows.len());
    for (axis, (window, &dim)) in windows.iter().zip(&x.dims).enumerate() {
        let least = [
            ("window_dimensions", window.size),
            ("strides", window.stride),
            ("base_dilations", window.base_dilation),
            ("window_dilations", window.dilation),
        ];
        if let Some((name, given)) = least.into_iter().find(|(_, given)| *given < 1) {
            return Err(error!(InvalidArgument, "{name}: {name}[{axis}] is {given}; want at least 1"));
        }
        let mut window = *window;
        if window.size == 1 {
            window.dilation = 1;
        }
        if dim < 2 {
            window.base_dilation = 1;
        }
        let Some(count) = window.count(dim) else {
            return Err(error!(
                InvalidArgument,
                "low, high: {} and {} on axis {axis} of {x} give an invalid size", window.low, window.high
            ));
        };
        // A stride that ends exactly after the last element has the same effect as any greater one.
        let room = window.padded(dim).zip(window.span()).map_or(0, |(padded, span)| padded.saturating_sub(span));
        window.stride = window.stride.min(room.max(0) + 1);
        dims.push(count);
        plain.push(window);
    }
    if element_count(&dims)? > 0 {
        let extents = plain.iter().zip(&x.dims).map(|(window, &dim)| window.extent(dim));
        check_extents("window_dimensions, base_dilations, window_dilations, low, high", x, extents)?;
    }
    Ok((plain, dims))
}

/// Records the cumulative reduction of `x` along an axis, from its start, or with `reverse` from its end.
pub fn cumulative(trace: &mut Trace, op: ReduceOp, x: NodeId, axis: i64, reverse: bool) -> Result<NodeId> {
    if wide::is_any(trace, &[x]) {
        return wide::in_wide(trace, [x], |trace, [x]| cumulative(trace, op, x, axis, reverse));
    }
    let x = reduce::counted(trace, op, x);
    let ty = trace.ty(x);
    reduce::check(op, &ty)?;
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    if ty.dims[axis] < 2 || ty.elements() == 0 {
        return Ok(x);
    }
    let dtype = reduce::accumulator(op, ty.dtype);
    let bits = identity(op, dtype).to_le_bytes();
    let init = constant(trace, &[], Scalar::from_bytes(dtype, &bits[..dtype.size_bytes()]));
    let before = ty.dims[axis] - 1;
    let edges = if reverse { (0, before) } else { (before, 0) };
    let mut windows = vec![Window::ONE; ty.dims.len()];
    windows[axis] = Window { size: ty.dims[axis], low: edges.0, high: edges.1, ..Window::ONE };
    let body = bodies::combine(op.binary(), dtype)?;
    let applied = Applied { body: &body, captures: &[] };
    let wide = convert(trace, x, dtype);
    let made = reduce_window(trace, &applied, &[wide], &[init], &windows)?[0];
    Ok(convert(trace, made, ty.dtype))
}

/// The axis and the direction of windows that reach from one end of the axis to each of its elements.
fn cumulative_axis(windows: &[Window], x: &TensorType) -> Option<(usize, bool)> {
    let mut wide = (0..windows.len()).filter(|&axis| windows[axis] != Window::ONE);
    let (axis, None) = (wide.next()?, wide.next()) else { return None };
    let size = x.dims[axis];
    let up_to = Window { size, low: size - 1, ..Window::ONE };
    let from = Window { size, high: size - 1, ..Window::ONE };
    if windows[axis] == up_to { Some((axis, false)) } else { (windows[axis] == from).then_some((axis, true)) }
}

/// The operation of a body that combines two elements by a reduction's.
fn combining_op(body: &Body, dtype: DType) -> Result<Option<BinaryOp>> {
    for op in [ReduceOp::Sum, ReduceOp::Product, ReduceOp::Max, ReduceOp::Min, ReduceOp::All, ReduceOp::Any] {
        if reduce::check(op, &TensorType::new(dtype, &[])).is_ok() && *body == *bodies::combine(op.binary(), dtype)? {
            return Ok(Some(op.binary()));
        }
    }
    Ok(None)
}

pub(super) fn native_reduce_window(cx: &EvalContext) -> Result<Vec<Array>> {
    let count = cx.bodies[0].results().len();
    let captures = cx.arrays(2 * count..cx.operands.len());
    let ReduceWindowAttributes { windows } = cx.attributes();
    if let [x, init] = cx.operands
        && let Some((axis, reverse)) = cumulative_axis(&windows, x.ty())
        && let Some(op) = combining_op(&cx.bodies[0], x.ty().dtype)?
        && let Some(made) = native::cumulative(op, axis, reverse, x, init)?
    {
        return Ok(vec![made]);
    }
    native::reduce_window(
        &counts(cx.operands[0].ty(), &windows),
        &windows,
        &cx.arrays(0..count),
        &cx.arrays(count..2 * count),
        &each(cx, 0, &captures),
    )
}

/// Number of windows on each axis.
pub(super) fn counts(x: &TensorType, windows: &[Window]) -> Dims {
    let count = |(window, &dim): (&Window, &i64)| window.count(dim).expect("inference counted them");
    windows.iter().zip(&x.dims).map(count).collect()
}

pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let body = &value.bodies[0];
    let ReduceWindowAttributes { windows } = value.attributes();
    let dims = counts(&e.values[value.operands[0]].ty, &windows);
    let (names, types) = operands(e, at);
    let values = passed(body);
    let results: Vec<String> =
        values.iter().map(|value| mlir(&TensorType { dtype: value.as_dtype, dims: dims.clone() })).collect();
    begin(e, &format!("{}:{}", e.name_of(at), results.len()), "reduce_window", &names, &text(&windows));
    let are_adjacent = windows.iter().all(|window| window.size == 1 || window.size == window.stride);
    reducing(e, at, body, if are_adjacent { Reducer::OfAdjacentWindows } else { Reducer::Other });
    end(e, &types, &results);
    restore_results(e, at, &values, &dims);
}

/// Writes windows as attributes of a reduce_window.
pub(crate) fn text(windows: &[Window]) -> String {
    let padding: Vec<String> = windows.iter().map(|window| format!("[{}, {}]", window.low, window.high)).collect();
    format!(
        "window_dimensions = {}, window_strides = {}, base_dilations = {}, window_dilations = {}, padding = dense<[{}]> : tensor<{}x2xi64>",
        array_text(windows, |window| window.size),
        array_text(windows, |window| window.stride),
        array_text(windows, |window| window.base_dilation),
        array_text(windows, |window| window.dilation),
        padding.join(", "),
        windows.len()
    )
}

fn array_text(windows: &[Window], field: impl Fn(&Window) -> i64) -> String {
    let fields: Vec<String> = windows.iter().map(|window| field(window).to_string()).collect();
    format!("array<i64: {}>", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;

    #[test]
    fn windows_that_do_not_fit_are_named() {
        let x = TensorType::new(DType::F32, &[5, 7]);
        let with = |window: Window| infer(&x, &[Window::ONE, window]);
        assert_eq!(with(Window { size: 3, stride: 2, ..Window::ONE }).unwrap().1.to_vec(), [5, 3]);
        for (window, words) in [
            (Window { size: 0, ..Window::ONE }, "window_dimensions[1] is 0; want at least 1"),
            (Window { stride: -1, ..Window::ONE }, "strides[1] is -1"),
            (Window { base_dilation: 0, ..Window::ONE }, "base_dilations[1] is 0"),
            (Window { dilation: 0, ..Window::ONE }, "window_dilations[1] is 0"),
            (Window { low: -8, ..Window::ONE }, "low, high: -8 and 0 on axis 1 of f32[5,7] give an invalid size"),
            (Window { high: i64::MAX, ..Window::ONE }, "give an invalid size"),
        ] {
            let said = with(window).unwrap_err().message.clone();
            assert!(said.contains(words), "{said}");
        }
        assert!(infer(&x, &[Window::ONE]).unwrap_err().message.contains("rank: 1 given"));
    }

    #[test]
    fn steps_beyond_the_end_are_not_kept() {
        let x = TensorType::new(DType::F32, &[1]);
        let far = Window { stride: i64::MAX, base_dilation: i64::MAX, dilation: i64::MAX, ..Window::ONE };
        assert_eq!(infer(&x, &[far]).unwrap().0, [Window::ONE]);
        let wide = TensorType::new(DType::F32, &[4]);
        let (windows, dims) = infer(&wide, &[Window { size: 2, stride: i64::MAX, ..Window::ONE }]).unwrap();
        assert_eq!((windows[0].stride, windows[0].count(4), dims.to_vec()), (3, Some(1), vec![1]));
    }
}
