//! select_and_scatter: combines values into the element that is selected in each window over an array.

use crate::control::apply::Applied;
use crate::control::regions::{begin, check_scalars, combining, each, end, scalar, written_out};
use crate::definition::EvalContext;
use crate::emit::{Emitter, emit, mlir};
use crate::indexing::dimension_numbers::{self, SCATTER};
use crate::infer::places_dtype;
use crate::reduction::windows::{infer, text};
use base::error;
use base::error::Result;
use ir::{Body, DimensionNumbers, NodeId, Op, Trace, Window, attributes};
use native::{self, Array};

use crate::shape::axes::broadcast_to;
use crate::shape::slicing::pad;
use base::types::{DType, TensorType};
use std::sync::Arc;

attributes! {
    /// Attributes of `select_and_scatter`.
    pub struct SelectAndScatterAttributes {
        /// Windows, one for each axis.
        pub windows: Vec<Window>,
    }
}

/// Records an array of the shape of `x`, filled with `init`, with each element of `source` combined into the position
/// of the element that is selected in its window.
pub fn select_and_scatter(
    trace: &mut Trace,
    select: &Applied,
    combiner: &Applied,
    x: NodeId,
    source: NodeId,
    init: NodeId,
    windows: &[Window],
) -> Result<NodeId> {
    let (ty, from, start) = (trace.ty(x), trace.ty(source), trace.ty(init));
    let dtype = ty.dtype;
    check_scalars("select", select, &[dtype; 2], &[DType::Pred])?;
    check_scalars("combiner", combiner, &[dtype; 2], &[dtype])?;
    for (name, applied) in [("select", select), ("combiner", combiner)] {
        if !applied.captures.is_empty() {
            let captured = applied.captures.len();
            return Err(error!(
                InvalidArgument,
                "{name}: it captured {captured} values; want a computation without captured values"
            ));
        }
    }
    if start != TensorType::new(dtype, &[]) {
        return Err(error!(InvalidArgument, "init: it is {start}; x is {ty}, and wants {dtype}[]"));
    }
    if ty.dims.is_empty() {
        return Err(error!(InvalidArgument, "x: it is {ty}; want at least one axis"));
    }
    if windows.iter().any(|window| window.base_dilation != 1 || window.dilation != 1) {
        return Err(error!(InvalidArgument, "base_dilations, window_dilations: want 1 on every axis"));
    }
    let (windows, dims) = infer(&ty, windows)?;
    let wanted = TensorType { dtype, dims };
    if from != wanted {
        return Err(error!(InvalidArgument, "source: it is {from}; the windows over x, {ty}, are {wanted}"));
    }
    if ty.elements() == 0 {
        return Ok(x);
    }
    if wanted.elements() == 0 {
        return broadcast_to(trace, init, &ty.dims);
    }
    if windows.iter().any(Window::cuts) {
        return around_cuts(trace, [select, combiner], x, source, init, &windows);
    }
    let bodies = [select.body, combiner.body];
    let attributes = SelectAndScatterAttributes { windows };
    Ok(trace.application(Op::SelectAndScatter, &[x, source, init], &attributes, &bodies, &[ty])[0])
}

/// Records a select_and_scatter with negative padding: slices `x` first, and pads the result with `init`. XLA's
/// simplifier crashes on windows of one element with negative padding.
fn around_cuts(
    trace: &mut Trace,
    [select, combiner]: [&Applied; 2],
    x: NodeId,
    source: NodeId,
    init: NodeId,
    windows: &[Window],
) -> Result<NodeId> {
    let dims = trace.ty(x).dims;
    let low: Vec<i64> = windows.iter().map(|window| window.low.min(0)).collect();
    let high: Vec<i64> = windows.iter().map(|window| window.high.min(0)).collect();
    if let Some(axis) = (0..dims.len()).find(|&axis| dims[axis] + low[axis] + high[axis] < 0) {
        return Err(error!(
            InvalidArgument,
            "low, high: {} and {} remove more elements than axis {axis} of {} has",
            windows[axis].low,
            windows[axis].high,
            trace.ty(x)
        ));
    }
    let none = vec![0; dims.len()];
    let left = pad(trace, x, init, &low, &high, &none)?;
    let plain: Vec<Window> =
        windows.iter().map(|window| Window { low: window.low.max(0), high: window.high.max(0), ..*window }).collect();
    let inner = select_and_scatter(trace, select, combiner, left, source, init, &plain)?;
    let opposite = |cut: Vec<i64>| cut.into_iter().map(|by| -by).collect::<Vec<i64>>();
    pad(trace, inner, init, &opposite(low), &opposite(high), &none)
}

pub(super) fn native_select_and_scatter(cx: &EvalContext) -> Result<Vec<Array>> {
    let SelectAndScatterAttributes { windows } = cx.attributes();
    let [x, source, init] = [0, 1, 2].map(|i| cx.operands[i]);
    let (select, combine) = (each(cx, 0, &[]), each(cx, 1, &[]));
    Ok(vec![native::select_and_scatter(&windows, x, source, init, &select, &combine)?])
}

/// Writes a reduce_window that finds the position of the selected element of each window, and a scatter to these
/// positions. For StableHLO's own select_and_scatter, XLA's CPU backend compares the elements of a window in an order
/// that depends on the shape, so that different ones of several equal elements are selected. Here two elements are
/// always compared in the order of their positions.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let SelectAndScatterAttributes { windows } = value.attributes();
    let [x, source, init] = [0, 1, 2].map(|i| value.operands[i]);
    let (ty, source_ty) = (e.values[x].ty.clone(), e.values[source].ty.clone());
    let place = scalar(places_dtype(ty.elements() as i64));
    let selected = selected_places(e, at, &windows, &value.bodies[0], &place);

    let (places_ty, count) =
        (mlir(&TensorType { dtype: place.dtype, dims: source_ty.dims.clone() }), source_ty.elements());
    let row = |dtype: DType, length: usize| TensorType::new(dtype, &[length as i64]);
    let (places, updates) = (e.temporary(), e.temporary());
    let places_row = mlir(&row(place.dtype, count));
    let (updates_row, all) = (mlir(&row(ty.dtype, count)), row(ty.dtype, ty.elements()));
    emit!(e, "    {places} = stablehlo.reshape {selected} : ({places_ty}) -> {places_row}");
    emit!(e, "    {updates} = stablehlo.reshape {} : ({}) -> {updates_row}", e.name(source), mlir(&source_ty));
    let start = e.cast(init, &all);
    let one_by_one = DimensionNumbers {
        collapsed_dims: vec![0],
        index_map: vec![0],
        index_vector_dim: 1,
        ..DimensionNumbers::default()
    };
    let attributes = format!("scatter_dimension_numbers = {}", dimension_numbers::text(&SCATTER, &one_by_one));
    let scattered = e.temporary();
    begin(e, &format!("{scattered}:1"), "scatter", &[start, places, updates], &attributes);
    combining(e, at, &value.bodies[1]);
    end(e, &[mlir(&all), places_row, updates_row], &[mlir(&all)]);
    let shaped = mlir(&ty);
    // The `:1` lets users refer to this single result by index, as to the results of operations with several.
    emit!(e, "    {}:1 = \"stablehlo.reshape\"({scattered}#0) : ({}) -> {shaped}", e.name_of(at), mlir(&all));
}

/// Writes, for each window, the position of the selected element in the flattened array; -1 if the window has only
/// padding.
fn selected_places(e: &mut Emitter, at: usize, windows: &[Window], select: &Arc<Body>, place: &TensorType) -> String {
    let value = e.instruction(at);
    let x = value.operands[0];
    let ty = e.values[x].ty.clone();
    let dims =
        |dtype: DType, of: usize| mlir(&TensorType { dtype, dims: e.values[value.operands[of]].ty.dims.clone() });
    let (values_text, places_text) = (mlir(&ty), dims(place.dtype, 0));
    let results = [dims(ty.dtype, 1), dims(place.dtype, 1)];
    let (counted, places) = (e.temporary(), e.temporary());
    let row = mlir(&TensorType::new(place.dtype, &[ty.elements() as i64]));
    emit!(e, "    {counted} = stablehlo.iota dim = 0 : {row}");
    emit!(e, "    {places} = stablehlo.reshape {counted} : ({row}) -> {places_text}");
    let nowhere = e.constant(place, u128::MAX >> (128 - 8 * place.dtype.size_bytes()));
    let operands = [e.name(x), places, e.name(value.operands[2]), nowhere];
    let selected = e.temporary();
    begin(e, &format!("{selected}:2"), "reduce_window", &operands, &text(windows));
    preferring(e, at, select, &scalar(ty.dtype), place);
    let (element, number) = (mlir(&scalar(ty.dtype)), mlir(place));
    end(e, &[values_text, places_text, element, number], &results);
    format!("{selected}#1")
}

/// Writes the region that selects one of two elements with their positions. The element at the lower position is passed
/// to the body first.
fn preferring(e: &mut Emitter, at: usize, select: &Arc<Body>, element: &TensorType, place: &TensorType) {
    let (element, place) = (mlir(element), mlir(place));
    let [a, i, b, j] = [0, 1, 2, 3].map(|n| format!("%in{at}_{n}"));
    emit!(e, "    ^bb0({a}: {element}, {i}: {place}, {b}: {element}, {j}: {place}):");
    let [in_order, first, second, fits, is_nothing, takes_a, result, number] = [(); 8].map(|()| e.temporary());
    let choose = |e: &mut Emitter, name: &str, pred: &str, a: &str, b: &str, ty: &str| {
        emit!(e, "    {name} = stablehlo.select {pred}, {a}, {b} : tensor<i1>, {ty}");
    };
    emit!(e, "    {in_order} = stablehlo.compare LE, {i}, {j}, SIGNED : ({place}, {place}) -> tensor<i1>");
    choose(e, &first, &in_order, &a, &b, &element);
    choose(e, &second, &in_order, &b, &a, &element);
    let stays = written_out(e, &format!("%next{at}"), select, &[first, second]).remove(0);
    emit!(
        e,
        "    {fits} = stablehlo.compare EQ, {stays}, {in_order}, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>"
    );
    // Padding is marked by negative positions.
    emit!(e, "    {is_nothing} = stablehlo.constant dense<0> : {place}");
    let [a_is, b_is, with_b] = [(); 3].map(|()| e.temporary());
    for (is, number) in [(&a_is, &i), (&b_is, &j)] {
        emit!(e, "    {is} = stablehlo.compare GE, {number}, {is_nothing}, SIGNED : ({place}, {place}) -> tensor<i1>");
    }
    emit!(e, "    {with_b} = stablehlo.and {fits}, {a_is} : tensor<i1>");
    choose(e, &takes_a, &b_is, &with_b, &a_is, "tensor<i1>");
    choose(e, &result, &takes_a, &a, &b, &element);
    choose(e, &number, &takes_a, &i, &j, &place);
    emit!(e, "    stablehlo.return {result}, {number} : {element}, {place}");
}
