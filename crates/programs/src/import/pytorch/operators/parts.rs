//! Parts of an axis: views of them, and tensors with other parts. Bounds are numbers, or numbers that the program
//! computes, as in `cache[:, position]`.

use super::super::arguments::{Number, Value};
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::super::tensors::{Sight, View};
use super::shapes::sizes;
use base::error;
use base::error::Result;
use base::types::ScalarValue;
use ir::{CompareOp, NodeId, Trace};
use ops::elementwise::formula::record;
use ops::elementwise::{compare_scalar, select as chosen};

pub(super) const TABLE: &[Operator] = &[
    operator(&["slice.Tensor"], "self dim=0 start=none end=none step=1", |call| {
        let view = sliced(call)?;
        call.viewed("self", view, Sight::Certain)
    }),
    operator(&["narrow.default"], "self dim start length", narrow),
    operator(&["select.int"], "self dim index", |call| {
        let view = selected(call)?;
        call.viewed("self", view, Sight::Certain)
    }),
    operator(&["slice_scatter.default"], "self src dim=0 start=none end=none step=1", |call| {
        let view = sliced(call)?;
        with_part(call, &view)
    }),
    operator(&["select_scatter.default"], "self src dim index", |call| {
        let view = selected(call)?;
        with_part(call, &view)
    }),
    operator(
        &["split.Tensor", "split.sizes", "split_with_sizes.default"],
        "self split_size=none split_sizes=none dim=0",
        split,
    ),
    operator(&["chunk.default"], "self chunks dim=0", chunk),
    operator(&["unbind.int"], "self dim=0", unbind),
];

/// A bound of a slice, clamped to the axis. Negative bounds count from the end.
fn bound(value: i64, size: i64) -> i64 {
    (if value < 0 { value.saturating_add(size) } else { value }).clamp(0, size)
}

/// Records an index of an axis of `size` elements. Negative indices count from the end.
fn place(trace: &mut Trace, number: Number, size: i64) -> Result<NodeId> {
    let at = number.record(trace)?;
    let is_negative = compare_scalar(trace, CompareOp::Lt, at, ScalarValue::Signed(0), false)?;
    let from_end = record(trace, [at], |[at]| at + size)?;
    chosen(trace, is_negative, from_end, at)
}

/// The axis `dim` and its size.
pub(super) fn axis_of(call: &mut Call) -> Result<(usize, i64)> {
    let dims = sizes(call)?;
    let axis = call.axis("dim", dims.len())?;
    let size = dims.get(axis).ok_or_else(|| error!(InvalidArgument, "a part of a tensor of rank 0"))?;
    Ok((axis, *size))
}

/// A view of `size` elements of an axis, from a computed start. A start outside of the axis is clamped, as by
/// `dynamic_slice`.
fn part(call: &mut Call, axis: usize, start: Number, size: i64, keeps_axis: bool) -> Result<View> {
    let (_, whole) = axis_of(call)?;
    if size > whole {
        return Err(error!(InvalidArgument, "{size} elements of an axis of {whole}"));
    }
    let start = place(call.trace(), start, whole)?;
    Ok(View::Part { axis, start, size, keeps_axis })
}

/// The view of `slice`.
fn sliced(call: &mut Call) -> Result<View> {
    let (axis, size) = axis_of(call)?;
    let step = call.int("step")?;
    if step < 1 {
        return Err(error!(InvalidArgument, "step {step}; want at least 1"));
    }
    if let Value::Computed(start) = *call.value("start")
        && step == 1
        && let Some(length) = call.computed("end").and_then(|end| end.above(start))
    {
        return part(call, axis, start, length.max(0), true);
    }
    let start = bound(call.optional_int("start")?.unwrap_or(0), size);
    let stop = bound(call.optional_int("end")?.unwrap_or(i64::MAX), size).max(start);
    Ok(View::Sliced { axis, start, stop, step })
}

fn narrow<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (axis, size) = axis_of(call)?;
    let length = call.int("length")?;
    let view = match call.computed("start") {
        Some(start) => part(call, axis, start, length.max(0), true)?,
        None => {
            let start = bound(call.int("start")?, size);
            View::Sliced { axis, start, stop: bound(start.saturating_add(length), size), step: 1 }
        }
    };
    call.viewed("self", view, Sight::Certain)
}

/// The view of `select`.
fn selected(call: &mut Call) -> Result<View> {
    let (axis, size) = axis_of(call)?;
    if let Some(index) = call.computed("index") {
        return part(call, axis, index, 1, false);
    }
    let index = call.int("index")?;
    let index = if index < 0 { index + size } else { index };
    if !(0..size).contains(&index) {
        return Err(error!(InvalidArgument, "index {index} of an axis of {size} elements"));
    }
    Ok(View::Selected { axis, index })
}

/// The tensor `self` with `src` in the place of a view.
fn with_part<'p>(call: &mut Call<'_, 'p>, view: &View) -> Result<Value<'p>> {
    let (x, source) = (call.tensor("self")?, call.tensor("src")?);
    let made = view.put(call.trace(), x, source)?;
    Ok(call.made(made))
}

/// Views of parts of an axis.
fn parts<'p>(call: &mut Call<'_, 'p>, axis: usize, sizes: &[i64]) -> Result<Value<'p>> {
    let (mut start, mut made) = (0, Vec::new());
    for &size in sizes {
        let stop = start + size;
        made.push(call.viewed("self", View::Sliced { axis, start, stop, step: 1 }, Sight::Certain)?);
        start = stop;
    }
    Ok(Value::List(made))
}

/// An operator may have this many results: a small file can ask for many.
const MOST_PARTS: i64 = 1 << 16;

fn check_parts(count: i64) -> Result<()> {
    match count <= MOST_PARTS {
        true => Ok(()),
        false => Err(error!(Unimplemented, "{count} results; want at most {MOST_PARTS}")),
    }
}

/// The sizes of parts of `each` elements.
fn equal_parts(size: i64, each: i64) -> Result<Vec<i64>> {
    let each = each.max(1);
    let count = if size > 0 { (size - 1) / each + 1 } else { 1 };
    check_parts(count)?;
    Ok((0..count).map(|part| each.min(size - part * each)).collect())
}

fn split<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let dims = sizes(call)?;
    let axis = call.axis("dim", dims.len())?;
    let given = match call.value("split_size") {
        Value::None => call.value("split_sizes"),
        given => given,
    };
    let parts_of = match given {
        Value::Int(each) => equal_parts(dims[axis], *each)?,
        _ if matches!(call.value("split_size"), Value::None) => call.ints("split_sizes")?,
        _ => call.ints("split_size")?,
    };
    if parts_of.iter().any(|&part| part < 0) || parts_of.iter().sum::<i64>() != dims[axis] {
        return Err(error!(InvalidArgument, "parts {parts_of:?} of an axis of {} elements", dims[axis]));
    }
    parts(call, axis, &parts_of)
}

fn chunk<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let dims = sizes(call)?;
    let axis = call.axis("dim", dims.len())?;
    let chunks = call.int("chunks")?.max(1);
    if dims[axis] == 0 {
        check_parts(chunks)?;
        return parts(call, axis, &vec![0; chunks as usize]);
    }
    let each = (dims[axis] - 1) / chunks + 1;
    parts(call, axis, &equal_parts(dims[axis], each)?)
}

fn unbind<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let dims = sizes(call)?;
    let axis = call.axis("dim", dims.len())?;
    check_parts(dims[axis])?;
    let one = |index| call.viewed("self", View::Selected { axis, index }, Sight::Certain);
    (0..dims[axis]).map(one).collect::<Result<Vec<Value>>>().map(Value::List)
}
