//! Derivatives of reductions over windows. The maximum or minimum of a window passes its cotangent to the first of the
//! tied elements.

use super::derivative::{has_varying_results, largest_with_index, of_first, of_only};
use super::reduce_with::worst;
use super::select_and_scatter::SelectAndScatterAttributes;
use super::windows::ReduceWindowAttributes;
use crate::control::apply::Applied;
use crate::control::bodies::{self, combiner};
use crate::creation::constants::{constant, full, iota};
use crate::elementwise::binary::binary;
use crate::elementwise::compare_select::{compare, compare_scalar, select};
use crate::elementwise::convert::convert;
use crate::indexing::dynamic::take;
use crate::infer::places_dtype;
use crate::reduction::select_and_scatter::select_and_scatter;
use crate::reduction::windows::reduce_window;
use crate::rules::{Forward, Site, no_derivative};
use crate::shape::axes::{broadcast_to, reshape};
use crate::shape::rearrange::slice_axis;
use crate::shape::slicing::pad_scalar;
use crate::tangents::{add_tangents, expanded, sum, sum_dtype, transposed, zeros};
use base::error::Result;
use base::types::{DType, Dims, ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, Trace, Window, take_body};
use std::sync::Arc;

/// Tangents of `reduce_window`.
pub fn jvp_of_reduce_window(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    if !has_varying_results(site) {
        return Ok(of_first(site, None));
    }
    let tangent = tangent_of_reduce_window(site, tangents)?;
    Ok(of_first(site, tangent))
}

fn tangent_of_reduce_window(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Option<NodeId>> {
    let ReduceWindowAttributes { windows } = site.attributes();
    match combiner(&site.bodies[0]) {
        Some(BinaryOp::Add) => {
            let of_x = tangents[0].map(|tangent| window_sum(site.trace, tangent, &windows)).transpose()?;
            let Some(of_init) = tangents[1] else { return Ok(of_x) };
            let dims = window_counts(&site.operand_ty(0), &windows);
            let of_init = broadcast_to(site.trace, of_init, &dims)?;
            add_tangents(site.trace, of_x, Some(of_init))
        }
        Some(BinaryOp::Multiply) => expanded(site, tangents, cumulative_product).map(|(_, tangent)| tangent),
        Some(op) => tangent_of_extreme(site, tangents, &windows, op == BinaryOp::Maximum),
        None => match largest_with_index(&site.bodies[0]) {
            Some(largest) => tangent_of_extreme(site, tangents, &windows, largest),
            None => Err(no_derivative("reduce_window")),
        },
    }
}

/// Cotangents of `reduce_window`.
pub fn vjp_of_reduce_window(
    site: &mut Site,
    cotangents: &[Option<NodeId>],
    wanted: &[bool],
) -> Result<Vec<Option<NodeId>>> {
    let cotangent = of_only(cotangents).ok_or_else(|| no_derivative("reduce_window"))?;
    if combiner(&site.bodies[0]) != Some(BinaryOp::Add) {
        return transposed(site, cotangent, wanted, tangent_of_reduce_window);
    }
    let ReduceWindowAttributes { windows } = site.attributes();
    let x = site.operand_ty(0);
    let mut gradients = vec![None; wanted.len()];
    if wanted[0] && x.elements() > 0 && site.trace.ty(cotangent).elements() > 0 {
        gradients[0] = Some(spread_over_windows(site.trace, cotangent, &x, &windows)?);
    }
    if wanted[1] {
        gradients[1] = Some(sum_of_all(site.trace, cotangent)?);
    }
    Ok(gradients)
}

fn sum_of_all(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let axes: Vec<i64> = (0..trace.ty(x).dims.len() as i64).collect();
    sum(trace, x, &axes, false)
}

fn window_counts(x: &TensorType, windows: &[Window]) -> Dims {
    let count = |(window, &dim): (&Window, &i64)| window.count(dim).expect("inference counted them");
    windows.iter().zip(&x.dims).map(count).collect()
}

/// Records the sums of windows from 0, summed in [`sum_dtype`].
fn window_sum(trace: &mut Trace, x: NodeId, windows: &[Window]) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let wide = sum_dtype(dtype);
    let body = bodies::combine(BinaryOp::Add, wide)?;
    let zero = zeros(trace, &TensorType::new(wide, &[]))?;
    let x = convert(trace, x, wide);
    let sums = reduce_window(trace, &Applied { body: &body, captures: &[] }, &[x], &[zero], windows)?[0];
    Ok(convert(trace, sums, dtype))
}

/// Records the transpose of [`window_sum`] over an array of type `x`: each element gets the sum of the cotangents of
/// the windows that contain it. Strides and base dilations are exchanged.
fn spread_over_windows(trace: &mut Trace, cotangent: NodeId, x: &TensorType, windows: &[Window]) -> Result<NodeId> {
    if let Some(Some(_)) = cumulated(x, windows) {
        // The cumulative sum in the other direction, which takes one pass.
        let turned: Vec<Window> =
            windows.iter().map(|window| Window { low: window.high, high: window.low, ..*window }).collect();
        let wide = convert(trace, cotangent, sum_dtype(x.dtype));
        let sums = window_sum(trace, wide, &turned)?;
        return Ok(convert(trace, sums, x.dtype));
    }
    let wide = convert(trace, cotangent, sum_dtype(x.dtype));
    let swapped = turned(x, &trace.ty(wide).dims, windows);
    let sums = if is_mostly_padding(x, &trace.ty(wide).dims, &swapped) {
        window_sum(trace, wide, &swapped)?
    } else {
        // A padding of its own is faster: XLA's CPU backend checks the bounds of padded windows for each element.
        let of = |field: fn(&Window) -> i64| swapped.iter().map(field).collect::<Vec<i64>>();
        let (low, high, between) = (of(|w| w.low), of(|w| w.high), of(|w| w.base_dilation - 1));
        let padded = pad_scalar(trace, wide, ScalarValue::Signed(0), &low, &high, &between)?;
        let plain = swapped.iter().map(|window| Window { low: 0, high: 0, base_dilation: 1, ..*window });
        window_sum(trace, padded, &plain.collect::<Vec<Window>>())?
    };
    Ok(convert(trace, sums, x.dtype))
}

/// Returns windows over the cotangents, one for each element of `x`: the window of an element has the cotangents of all
/// `windows` that contain the element. `counts` is the number of `windows` along each axis.
fn turned(x: &TensorType, counts: &[i64], windows: &[Window]) -> Vec<Window> {
    let dilated = |count: i64, step: i64| (count - 1) * step + 1;
    let turned = |((window, &dim), &count): ((&Window, &i64), &i64)| {
        let span = dilated(window.size, window.dilation);
        let low = span - window.low - 1;
        let high = dilated(dim, window.base_dilation) + span - 1 - dilated(count, window.stride) - low;
        Window { stride: window.base_dilation, base_dilation: window.stride, low, high, ..*window }
    };
    windows.iter().zip(&x.dims).zip(counts).map(turned).collect()
}

/// Whether padding would give the cotangents more than 8 times as many elements as they and `x` have.
fn is_mostly_padding(x: &TensorType, counts: &[i64], windows: &[Window]) -> bool {
    let padded: f64 =
        windows.iter().zip(counts).map(|(window, &count)| window.padded(count).unwrap_or(0) as f64).product();
    let elements = x.elements() as f64 + counts.iter().map(|&count| count as f64).product::<f64>();
    padded > 65536.0 + 8.0 * elements
}

/// Recognizes a cumulative reduction: returns the axis, and whether it starts at the end of the axis; without an axis
/// if every window has one element.
fn cumulated(x: &TensorType, windows: &[Window]) -> Option<Option<(usize, bool)>> {
    let mut others = (0..windows.len()).filter(|&axis| windows[axis] != Window::ONE);
    let Some(axis) = others.next() else { return Some(None) };
    let count = x.dims[axis];
    let of = |low: i64, high: i64| Window { size: count, low, high, ..Window::ONE };
    let reverse = windows[axis] == of(0, count - 1);
    let is_known = others.next().is_none() && (reverse || windows[axis] == of(count - 1, 0));
    is_known.then_some(Some((axis, reverse)))
}

/// Records a cumulative product in a logarithmic number of steps: products of each element with the one 1, 2, 4, ...
/// positions before it.
fn cumulative_product(site: &mut Site) -> Result<NodeId> {
    let ReduceWindowAttributes { windows } = site.attributes();
    let ty = site.operand_ty(0);
    let known = cumulated(&ty, &windows).ok_or_else(|| no_derivative("reduce_window of products"))?;
    let (mut products, init) = (site.operands[0], site.operands[1]);
    let trace = &mut *site.trace;
    if let Some((axis, reverse)) = known {
        let count = ty.dims[axis];
        let none = vec![0; ty.dims.len()];
        let mut distance = 1;
        while distance < count {
            let mut edge = none.clone();
            edge[axis] = distance;
            let (start, stop) = if reverse { (distance, count) } else { (0, count - distance) };
            let (low, high) = if reverse { (&none, &edge) } else { (&edge, &none) };
            let others = slice_axis(trace, products, axis as i64, start, stop, 1)?;
            let moved = pad_scalar(trace, others, ScalarValue::Signed(1), low, high, &none)?;
            products = binary(trace, BinaryOp::Multiply, products, moved)?;
            distance *= 2;
        }
    }
    binary(trace, BinaryOp::Multiply, products, init)
}

/// For each window, the position of one element of an array.
struct Places {
    /// Positions in the flattened array; 0 for a window without an element.
    at: NodeId,
    /// False for windows without an element.
    exists: NodeId,
}

impl Places {
    /// Reduces windows over `x` and the positions of its elements. The body takes an element, its position, another
    /// element and its position. Padding has positions outside of the array.
    fn find(
        trace: &mut Trace,
        body: &Arc<Body>,
        x: NodeId,
        init: NodeId,
        nowhere: NodeId,
        windows: &[Window],
    ) -> Result<Places> {
        let ty = trace.ty(x);
        let (dtype, count) = (trace.node(nowhere).dtype, ty.elements() as i64);
        let counted = iota(trace, &TensorType::new(dtype, &[count]), 0)?;
        let positions = reshape(trace, counted, &ty.dims)?;
        let applied = Applied { body, captures: &[] };
        let found = reduce_window(trace, &applied, &[x, positions], &[init, nowhere], windows)?[1];
        let is_at_start = compare_scalar(trace, CompareOp::Ge, found, ScalarValue::Signed(0), false)?;
        let is_before_end = compare_scalar(trace, CompareOp::Lt, found, ScalarValue::Signed(count), false)?;
        let exists = binary(trace, BinaryOp::And, is_at_start, is_before_end)?;
        let first = zeros(trace, &TensorType::new(dtype, &[]))?;
        Ok(Places { at: select(trace, exists, found, first)?, exists })
    }

    /// Records the elements of `x` at the places; 0 for windows without one.
    fn take(&self, trace: &mut Trace, x: NodeId) -> Result<NodeId> {
        let ty = trace.ty(x);
        let flat = reshape(trace, x, &[ty.elements() as i64])?;
        let taken = take(trace, flat, self.at, 0)?;
        let zero = zeros(trace, &TensorType::new(ty.dtype, &[]))?;
        select(trace, self.exists, taken, zero)
    }
}

/// Records the tangent of the maximum or minimum of windows: the tangent of the first element that is the extreme; 0
/// where the extreme is the initial value.
fn tangent_of_extreme(
    site: &mut Site,
    tangents: &[Option<NodeId>],
    windows: &[Window],
    largest: bool,
) -> Result<Option<NodeId>> {
    let arrays = site.bodies[0].results().len();
    if tangents[arrays].is_some() {
        return Err(no_derivative("reduce_window from an initial value that varies"));
    }
    let Some(tangent) = tangents[0] else { return Ok(None) };
    let (mut x, mut init) = (site.operands[0], site.operands[arrays]);
    let trace = &mut *site.trace;
    let ty = trace.ty(x);
    if ty.elements() == 0 {
        return Ok(None);
    }
    if !ty.dtype.has_arithmetic() {
        (x, init) = (convert(trace, x, DType::F32), convert(trace, init, DType::F32));
    }
    let place = places_dtype(ty.elements() as i64);
    let body = bodies::extreme(trace.node(x).dtype, place, largest)?;
    // The initial value loses against an equal element, because its position is the largest.
    let nowhere = constant(trace, &[], worst(place, false));
    let places = Places::find(trace, &body, x, init, nowhere, windows)?;
    places.take(trace, tangent).map(Some)
}

/// Tangents of `select_and_scatter`. The array whose elements are selected has tangent zero: the result only jumps with
/// it.
pub fn jvp_of_select_and_scatter(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let SelectAndScatterAttributes { windows } = site.attributes();
    let (x, init) = (site.operands[0], site.operands[2]);
    if tangents[1].is_none() && tangents[2].is_none() {
        return Ok(of_first(site, None));
    }
    check_sum(site)?;
    let ty = site.trace.ty(init);
    let of_init = match tangents[2] {
        Some(of_init) => of_init,
        None => zeros(site.trace, &ty)?,
    };
    let tangent = match tangents[1] {
        Some(of_source) => {
            let bodies = site.bodies.clone();
            let [select, combine] = [0, 1].map(|i| Applied { body: &bodies[i], captures: &[] });
            select_and_scatter(site.trace, &select, &combine, x, of_source, of_init, &windows)?
        }
        None => {
            let dims = site.operand_ty(0).dims;
            broadcast_to(site.trace, of_init, &dims)?
        }
    };
    Ok(of_first(site, Some(tangent)))
}

/// Cotangents of `select_and_scatter`. The cotangent of a source element is that of the result at the position selected
/// in its window.
pub fn vjp_of_select_and_scatter(
    site: &mut Site,
    cotangents: &[Option<NodeId>],
    wanted: &[bool],
) -> Result<Vec<Option<NodeId>>> {
    let SelectAndScatterAttributes { windows } = site.attributes();
    if !wanted[1] && !wanted[2] {
        return Ok(vec![None; wanted.len()]);
    }
    check_sum(site)?;
    let cotangent = of_only(cotangents).ok_or_else(|| no_derivative("select_and_scatter"))?;
    let (x, init) = (site.operands[0], site.operands[2]);
    let mut gradients = vec![None; wanted.len()];
    if wanted[1] {
        let ty = site.operand_ty(0);
        let place = places_dtype(ty.elements() as i64);
        let body = preferring(&site.bodies[0], ty.dtype, place)?;
        let nowhere = full(site.trace, &TensorType::new(place, &[]), ScalarValue::Signed(-1))?;
        let places = Places::find(site.trace, &body, x, init, nowhere, &windows)?;
        gradients[1] = Some(places.take(site.trace, cotangent)?);
    }
    if wanted[2] {
        gradients[2] = Some(sum_of_all(site.trace, cotangent)?);
    }
    Ok(gradients)
}

fn check_sum(site: &Site) -> Result<()> {
    match combiner(&site.bodies[1]) {
        Some(BinaryOp::Add) => Ok(()),
        _ => Err(no_derivative("select_and_scatter by another combiner than a sum")),
    }
}

/// Returns the reducer of elements and their positions that selects as `select_and_scatter` does: `selection` is passed
/// the element at the lower position first, and padding (at negative positions) is selected only if there is no
/// element.
fn preferring(selection: &Body, dtype: DType, place: DType) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let t = &mut trace;
    let [a, i, b, j] = [dtype, place, dtype, place].map(|dtype| t.parameter(TensorType::new(dtype, &[])));
    let in_order = compare(t, CompareOp::Le, i, j)?;
    let (first, second) = (select(t, in_order, a, b)?, select(t, in_order, b, a)?);
    let stays = t.replay(selection, &[first, second])?[0];
    let fits = compare(t, CompareOp::Eq, stays, in_order)?;
    let a_is = compare_scalar(t, CompareOp::Ge, i, ScalarValue::Signed(0), false)?;
    let b_is = compare_scalar(t, CompareOp::Ge, j, ScalarValue::Signed(0), false)?;
    let with_b = binary(t, BinaryOp::And, fits, a_is)?;
    let takes_a = select(t, b_is, with_b, a_is)?;
    let results = [select(t, takes_a, a, b)?, select(t, takes_a, i, j)?];
    Ok(take_body(&trace, &[a, i, b, j], &results)?.0)
}
