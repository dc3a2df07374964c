//! Order statistics, counts of elements and running extremes.

use super::super::arguments::Value;
use super::super::call::{Call, scalar};
use super::super::operator::{Operator, operator};
use super::compositions::{node_of, record as another};
use super::elementwise::number_like;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace, UnaryFunction};
use ops::creation::{full, iota};
use ops::elementwise::formula::record;
use ops::elementwise::{binary, compare, convert, select, unary_function};
use ops::indexing::{segment_reduce, take_along_axis};
use ops::reduction::{arg_extreme, cumulative, reduce};
use ops::shape::{expand_dims, reshape, slice_axis, squeeze, transpose};
use ops::sorting::{argsort, searchsorted};

pub(super) const TABLE: &[Operator] = &[
    operator(&["quantile.default", "quantile.scalar"], QUANTILE, |call| quantile(call, false)),
    operator(&["nanquantile.default", "nanquantile.scalar"], QUANTILE, |call| quantile(call, true)),
    operator(&["nansum.default"], "self dim=none keepdim=false dtype=none", |call| {
        let x = without_nan(call)?;
        let named = ["dim", "keepdim", "dtype"].map(|name| (name, call.value(name).clone()));
        another(call, "sum.dim_IntList", [("self", x)].into_iter().chain(named))
    }),
    operator(&["nanmean.default"], "self dim=none keepdim=false dtype=none", |call| {
        let x = call.tensor("self")?;
        let (axes, keep) = (call.axes("dim", call.dims(x).len())?, call.bool("keepdim")?);
        let total = without_nan(call)?;
        let total = node_of(call, &total)?;
        let dtype = call.dtype("dtype")?.unwrap_or(call.dtype_of(x));
        let trace = call.trace();
        let is_number = compare(trace, CompareOp::Eq, x, x)?;
        let counted = convert(trace, is_number, dtype);
        let total = convert(trace, total, dtype);
        let (total, count) = (sum_over(trace, total, &axes, keep)?, sum_over(trace, counted, &axes, keep)?);
        let made = binary(trace, BinaryOp::Divide, total, count)?;
        Ok(call.made(made))
    }),
    operator(&["aminmax.default"], "self dim=none keepdim=false", |call| {
        let dim = match call.value("dim") {
            Value::None => Value::List(Vec::new()),
            dim => Value::List(vec![dim.clone()]),
        };
        let given = [("self", call.value("self").clone()), ("dim", dim), ("keepdim", call.value("keepdim").clone())];
        let least = another(call, "amin.default", given.clone())?;
        Ok(Value::List(vec![least, another(call, "amax.default", given)?]))
    }),
    operator(&["median.default"], "self", |call| middle_of_all(call, false)),
    operator(&["nanmedian.default"], "self", |call| middle_of_all(call, true)),
    operator(&["median.dim"], "self dim keepdim=false", |call| ordered(call, |rows| rows.middle(false))),
    operator(&["nanmedian.dim"], "self dim keepdim=false", |call| ordered(call, |rows| rows.middle(true))),
    operator(&["kthvalue.default"], "self k dim=-1 keepdim=false", |call| {
        let k = call.int("k")?;
        ordered(call, |rows| {
            if !(1..=rows.count).contains(&k) {
                return Err(error!(InvalidArgument, "k is {k}; want 1 to {}", rows.count));
            }
            rows.place(k - 1)
        })
    }),
    operator(&["mode.default"], "self dim=-1 keepdim=false", |call| ordered(call, |rows| rows.most_frequent())),
    operator(&["msort.default"], "self", |call| {
        let given = [("self", call.value("self").clone()), ("dim", Value::Int(0))];
        match another(call, "sort.default", given)? {
            Value::List(mut made) => Ok(made.swap_remove(0)),
            other => Ok(other),
        }
    }),
    operator(&["cummax.default"], "self dim", |call| running_extreme(call, ReduceOp::Max)),
    operator(&["cummin.default"], "self dim", |call| running_extreme(call, ReduceOp::Min)),
    operator(
        &["searchsorted.Tensor", "searchsorted.Scalar"],
        "sorted_sequence self out_int32=false right=false side=none sorter=none",
        |call| searched(call, "sorted_sequence"),
    ),
    operator(&["bucketize.Tensor", "bucketize.Scalar"], "self boundaries out_int32=false right=false", |call| {
        searched(call, "boundaries")
    }),
    operator(&["histc.default"], "self bins=100 min=0 max=0", histogram),
    operator(&["bincount.default"], "self weights=none minlength=0", counts),
    operator(&["isin.Tensor_Tensor"], "elements test_elements assume_unique=false invert=false", |call| {
        is_in(call, "elements", "test_elements")
    }),
    operator(&["isin.Tensor_Scalar"], "elements test_element assume_unique=false invert=false", |call| {
        is_in(call, "elements", "test_element")
    }),
    operator(&["isin.Scalar_Tensor"], "element test_elements assume_unique=false invert=false", |call| {
        is_in(call, "element", "test_elements")
    }),
];

const QUANTILE: &str = "self q dim=none keepdim=false interpolation='linear'";

fn sum_over(trace: &mut Trace, x: NodeId, axes: &[i64], keep: bool) -> Result<NodeId> {
    if axes.is_empty() { Ok(x) } else { reduce(trace, ReduceOp::Sum, x, axes, keep) }
}

/// The tensor `self` with 0 in place of NaN.
fn without_nan<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    if !call.dtype_of(x).is_float() {
        return Ok(call.value("self").clone());
    }
    let trace = call.trace();
    let is_nan = unary_function(trace, UnaryFunction::IsNan, x)?;
    let zero = number_like(trace, x, 0.0)?;
    let made = select(trace, is_nan, zero, x)?;
    Ok(call.made(made))
}

/// Rows of a tensor along an axis, sorted in ascending order with NaN last.
struct Rows<'t> {
    trace: &'t mut Trace,
    /// The rows, along the last axis.
    rows: NodeId,
    /// Index in the row for each sorted position.
    order: NodeId,
    /// Sorted rows.
    sorted: NodeId,
    /// Number of elements of a row.
    count: i64,
}

impl<'t> Rows<'t> {
    fn new(trace: &'t mut Trace, rows: NodeId) -> Result<Rows<'t>> {
        let dims = trace.ty(rows).dims;
        let (last, count) = (dims.len() as i64 - 1, dims[dims.len() - 1]);
        if count == 0 {
            return Err(error!(InvalidArgument, "an axis of 0 elements; want at least 1"));
        }
        let order = argsort(trace, rows, last, false, true, DType::S64)?;
        let sorted = take_along_axis(trace, rows, order, last)?;
        Ok(Rows { trace, rows, order, sorted, count })
    }

    fn last(&self) -> i64 {
        self.trace.ty(self.rows).dims.len() as i64 - 1
    }

    /// Records the same sorted position for all rows.
    fn place(&mut self, place: i64) -> Result<NodeId> {
        let mut dims = self.trace.ty(self.rows).dims;
        *dims.last_mut().expect("rows have an axis") = 1;
        full(self.trace, &TensorType { dtype: DType::S64, dims }, ScalarValue::Signed(place))
    }

    /// Records the number of elements of each row that are not NaN.
    fn numbers(&mut self) -> Result<NodeId> {
        let is_number = compare(self.trace, CompareOp::Eq, self.rows, self.rows)?;
        let counted = convert(self.trace, is_number, DType::S64);
        let last = self.last();
        reduce(self.trace, ReduceOp::Sum, counted, &[last], true)
    }

    /// Records the sorted position of the lower median. The median of a row with NaN is NaN, unless `without_nan`.
    fn middle(&mut self, without_nan: bool) -> Result<NodeId> {
        if !self.trace.node(self.rows).dtype.is_float() {
            return self.place((self.count - 1) / 2);
        }
        let (numbers, count) = (self.numbers()?, self.count);
        record(self.trace, [numbers], |[numbers]| match without_nan {
            true => ((numbers - 1) / 2).max(0),
            false => numbers.lt(count).select(numbers, (count - 1) / 2),
        })
    }

    /// Records the last sorted position of the most frequent element, of the least one if several are.
    fn most_frequent(&mut self) -> Result<NodeId> {
        let (last, count, sorted) = (self.last(), self.count, self.sorted);
        let trace = &mut *self.trace;
        let dims = trace.ty(sorted).dims;
        let places = iota(trace, &TensorType { dtype: DType::S64, dims }, last)?;
        let zero = full(trace, &trace.ty(places), ScalarValue::Signed(0))?;
        let starts = if count > 1 {
            let (after, before) =
                (slice_axis(trace, sorted, last, 1, count, 1)?, slice_axis(trace, sorted, last, 0, count - 1, 1)?);
            let differs = compare(trace, CompareOp::Ne, after, before)?;
            let first = slice_axis(trace, zero, last, 0, 1, 1)?;
            let first = convert(trace, first, DType::Pred);
            let differs = ops::shape::concatenate(trace, &[first, differs], last)?;
            select(trace, differs, places, zero)?
        } else {
            zero
        };
        let starts = cumulative(trace, ReduceOp::Max, starts, last, false)?;
        let lengths = binary(trace, BinaryOp::Subtract, places, starts)?;
        arg_extreme(trace, lengths, last, true, true, DType::S64)
    }

    /// Records the elements at sorted positions, and their indices in the rows.
    fn at(&mut self, places: NodeId) -> Result<[NodeId; 2]> {
        let last = self.last();
        let at = take_along_axis(self.trace, self.order, places, last)?;
        Ok([take_along_axis(self.trace, self.rows, at, last)?, at])
    }
}

/// Moves an axis to the end. A tensor of rank 0 is a row of one element.
fn axis_last(trace: &mut Trace, x: NodeId, axis: usize) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len();
    if rank == 0 {
        return reshape(trace, x, &[1]);
    }
    let order: Vec<i64> = (0..rank).filter(|&other| other != axis).chain([axis]).map(|axis| axis as i64).collect();
    transpose(trace, x, &order)
}

/// Selects an element of each row along an axis by its sorted position. Returns the elements and their indices.
fn ordered<'p>(call: &mut Call<'_, 'p>, place: impl FnOnce(&mut Rows) -> Result<NodeId>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let rank = call.dims(x).len();
    let (axis, keep) = (call.axis("dim", rank)?, call.bool("keepdim")?);
    let trace = call.trace();
    let rows = axis_last(trace, x, axis)?;
    let mut rows = Rows::new(trace, rows)?;
    let place = place(&mut rows)?;
    let found = rows.at(place)?;
    let made = found.into_iter().map(|node| {
        let node = squeeze(call.trace(), node, &[-1])?;
        let node = if keep && rank > 0 { expand_dims(call.trace(), node, &[axis as i64])? } else { node };
        Ok(call.made(node))
    });
    made.collect::<Result<Vec<Value>>>().map(Value::List)
}

/// The lower median of all elements. Elements that equal it share its gradient.
fn middle_of_all<'p>(call: &mut Call<'_, 'p>, without_nan: bool) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let count = call.dims(x).iter().product();
    let trace = call.trace();
    let flat = reshape(trace, x, &[count])?;
    let fixed = ops::control::stop_gradient(trace, flat)?;
    let mut rows = Rows::new(trace, fixed)?;
    let place = rows.middle(without_nan)?;
    let [median, _] = rows.at(place)?;
    if !trace.node(x).dtype.is_float() {
        let made = reshape(trace, median, &[])?;
        return Ok(call.made(made));
    }
    let is_nan = unary_function(trace, UnaryFunction::IsNan, fixed)?;
    let found = record(trace, [flat, fixed, median, is_nan], |[flat, fixed, median, is_nan]| {
        let equals = fixed.eq(median) | (is_nan & median.ne(median));
        let share = (equals & fixed.is_finite()).select(flat - fixed, 0.0).reduce(ReduceOp::Sum, &[0], true);
        let count = equals.convert(fixed.dtype()).reduce(ReduceOp::Sum, &[0], true);
        // `share` is 0, and carries the gradient to the elements that equal the median.
        median.is_finite().select(median + share / count, median)
    })?;
    let made = reshape(trace, found, &[])?;
    Ok(call.made(made))
}

/// Records quantiles, by one number or by a list of numbers, which is the first axis of the result.
fn quantile<'p>(call: &mut Call<'_, 'p>, without_nan: bool) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let (dtype, rank) = (call.dtype_of(x), call.dims(x).len());
    let q = match call.value("q") {
        Value::Tensor(_) => call.tensor("q")?,
        _ => {
            let q = call.float("q")?;
            scalar(call.trace(), dtype, ScalarValue::Float(q))?
        }
    };
    let (keep, interpolation) = (call.bool("keepdim")?, call.text("interpolation")?);
    let axis = match call.value("dim") {
        Value::None => None,
        _ => Some(call.axis("dim", rank)?),
    };
    let listed = call.dims(q);
    let count = listed.iter().product::<i64>();
    let dims = call.dims(x);
    let trace = call.trace();
    let rows = match axis {
        Some(axis) => axis_last(trace, x, axis)?,
        None => reshape(trace, x, &[dims.iter().product()])?,
    };
    let q = reshape(trace, q, &[count])?;
    let mut rows = Rows::new(trace, rows)?;
    let numbers = rows.numbers()?;
    let found = interpolated(&mut rows, q, numbers, interpolation, without_nan)?;
    // The axis of `q` comes first.
    let found_rank = trace.ty(found).dims.len();
    let order: Vec<i64> = [found_rank - 1].into_iter().chain(0..found_rank - 1).map(|axis| axis as i64).collect();
    let mut made = transpose(trace, found, &order)?;
    if keep {
        made = match axis {
            Some(axis) if rank > 0 => expand_dims(trace, made, &[axis as i64 + 1])?,
            _ => reshape(trace, made, &[&[count][..], &vec![1; rank]].concat())?,
        };
    }
    if listed.is_empty() {
        made = squeeze(trace, made, &[0])?;
    }
    Ok(call.made(made))
}

/// The quantiles of rows, along a new last axis in place of the row.
fn interpolated(rows: &mut Rows, q: NodeId, numbers: NodeId, by: &str, without_nan: bool) -> Result<NodeId> {
    let (last, size) = (rows.last(), rows.count);
    let (trace, sorted) = (&mut *rows.trace, rows.sorted);
    let dtype = trace.node(sorted).dtype;
    let ranks = record(trace, [q, numbers], |[q, numbers]| match without_nan {
        true => (q * (numbers.convert(dtype) - 1.0)).max(0.0),
        false => q * (size - 1) as f64 + numbers.convert(dtype) * 0.0,
    })?;
    let ranks = record(trace, [ranks], |[ranks]| match by {
        "lower" => ranks.floor(),
        "higher" => -(-ranks).floor(),
        "nearest" => ranks.round(),
        _ => ranks,
    })?;
    let (below, above) = (
        record(trace, [ranks], |[ranks]| ranks.floor().convert(DType::S64))?,
        record(trace, [ranks], |[ranks]| (-(-ranks).floor()).convert(DType::S64))?,
    );
    let low = take_along_axis(trace, sorted, below, last)?;
    let high = take_along_axis(trace, sorted, above, last)?;
    record(trace, [low, high, ranks, numbers], |[low, high, ranks, numbers]| {
        let weight = if by == "midpoint" { ranks * 0.0 + 0.5 } else { ranks - ranks.floor() };
        let difference = high - low;
        let between = weight.lt(0.5).select(low + weight * difference, high - difference * (-weight + 1.0));
        let inside = low.eq(high).select(low, between);
        if without_nan { inside } else { numbers.lt(size).select(f64::NAN, inside) }
    })
}

/// Cumulative maximum or minimum, and the last index at which it occurs.
fn running_extreme<'p>(call: &mut Call<'_, 'p>, op: ReduceOp) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let rank = call.dims(x).len();
    let axis = call.axis("dim", rank)? as i64;
    if rank == 0 {
        let first = scalar(call.trace(), DType::S64, ScalarValue::Signed(0))?;
        return Ok(Value::List(vec![call.made(x), call.made(first)]));
    }
    let trace = call.trace();
    let wide = if trace.node(x).dtype == DType::Pred { convert(trace, x, DType::U8) } else { x };
    let extremes = cumulative(trace, op, wide, axis, false)?;
    let places = iota(trace, &TensorType { dtype: DType::S64, dims: trace.ty(x).dims }, axis)?;
    let hits =
        record(trace, [wide, extremes, places], |[x, extremes, places]| (x.eq(extremes) | x.ne(x)).select(places, 0))?;
    let index = cumulative(trace, ReduceOp::Max, hits, axis, false)?;
    let value = take_along_axis(trace, x, index, axis)?;
    Ok(Value::List(vec![call.made(value), call.made(index)]))
}

/// Places of values in sorted rows.
fn searched<'p>(call: &mut Call<'_, 'p>, sorted: &'static str) -> Result<Value<'p>> {
    let [mut rows, values] = call.promoted([sorted, "self"], false)?;
    let mut right = call.bool("right")?;
    if call.has("side") && !matches!(call.value("side"), Value::None) {
        right = call.text("side")? == "right";
    }
    if call.has("sorter")
        && let Some(sorter) = call.optional_tensor("sorter")?
    {
        let last = call.dims(rows).len() as i64 - 1;
        rows = take_along_axis(call.trace(), rows, sorter, last)?;
    }
    let dtype = if call.bool("out_int32")? { DType::S32 } else { DType::S64 };
    let made = searchsorted(call.trace(), rows, values, right, dtype)?;
    Ok(call.made(made))
}

/// Counts the elements in `bins` equal parts of the range from `min` to `max`. If both are equal, the range is from the
/// least element to the largest.
fn histogram<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let (bins, least, most) = (call.int("bins")?, call.float("min")?, call.float("max")?);
    if !(1..=1 << 24).contains(&bins) {
        return Err(error!(InvalidArgument, "bins is {bins}; want 1 to 2^24"));
    }
    let count: i64 = call.dims(x).iter().product();
    let trace = call.trace();
    let flat = reshape(trace, x, &[count])?;
    let ends = if least == most && count > 0 {
        [reduce(trace, ReduceOp::Min, flat, &[0], false)?, reduce(trace, ReduceOp::Max, flat, &[0], false)?]
    } else {
        [number_like(trace, flat, least)?, number_like(trace, flat, most)?]
    };
    let ends = record_ends(trace, ends)?;
    let place = record(trace, [flat, ends[0], ends[1]], |[x, low, high]| {
        let place = ((x - low) * ((high - low).number(bins as f64) / (high - low))).floor().convert(DType::S64);
        let inside = x.ge(low) & x.le(high);
        inside.select(place.max(0).min(bins - 1), bins)
    })?;
    let dtype = trace.node(x).dtype;
    let ones = full(trace, &TensorType::new(dtype, &[count]), ScalarValue::Signed(1))?;
    let counts = segment_reduce(trace, ReduceOp::Sum, ones, place, bins + 1)?;
    let made = slice_axis(trace, counts, 0, 0, bins, 1)?;
    Ok(call.made(made))
}

/// Counts each number below `minlength`, or sums their weights. In PyTorch, larger numbers make the result longer; here
/// they are not counted, since the size of the result would depend on data.
fn counts<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, weights, count) = (call.tensor("self")?, call.optional_tensor("weights")?, call.int("minlength")?);
    if count < 1 {
        return Err(error!(Unimplemented, "counts without minlength: their number depends on data"));
    }
    let size = call.dims(x).iter().product();
    let trace = call.trace();
    let places = convert(trace, x, DType::S64);
    let places = reshape(trace, places, &[size])?;
    let each = match weights {
        // Weights of f32 are summed in f32, all others in f64.
        Some(weights) if matches!(trace.node(weights).dtype, DType::F32 | DType::F64) => weights,
        Some(weights) => convert(trace, weights, DType::F64),
        None => full(trace, &TensorType::new(DType::S64, &[size]), ScalarValue::Signed(1))?,
    };
    let made = segment_reduce(trace, ReduceOp::Sum, each, places, count)?;
    Ok(call.made(made))
}

/// Records the ends of a range. If they are equal, they are moved apart by 1 each.
fn record_ends(trace: &mut Trace, [low, high]: [NodeId; 2]) -> Result<[NodeId; 2]> {
    Ok([
        record(trace, [low, high], |[low, high]| low.eq(high).select(low - 1.0, low))?,
        record(trace, [low, high], |[low, high]| low.eq(high).select(high + 1.0, high))?,
    ])
}

/// Whether each element occurs among others, by binary search in the sorted others.
fn is_in<'p>(call: &mut Call<'_, 'p>, elements: &'static str, others: &'static str) -> Result<Value<'p>> {
    let [x, others] = call.promoted([elements, others], false)?;
    let invert = call.bool("invert")?;
    let (dims, count) = (call.dims(x), call.dims(others).iter().product::<i64>());
    let trace = call.trace();
    let no = full(trace, &TensorType::new(DType::Pred, &dims), ScalarValue::Signed(i64::from(invert)))?;
    if count == 0 {
        return Ok(call.made(no));
    }
    let [x, others] = [x, others].map(|node| match trace.node(node).dtype {
        DType::Pred => convert(trace, node, DType::U8),
        _ => node,
    });
    let flat = reshape(trace, others, &[count])?;
    let sorted = ops::sorting::sort_along(trace, flat, 0, false, true)?;
    let at = searchsorted(trace, sorted, x, false, DType::S64)?;
    let at = record(trace, [at], |[at]| at.min(count - 1))?;
    let nearest = ops::indexing::take(trace, sorted, at, 0)?;
    let op = if invert { CompareOp::Ne } else { CompareOp::Eq };
    let made = compare(trace, op, nearest, x)?;
    Ok(call.made(made))
}
