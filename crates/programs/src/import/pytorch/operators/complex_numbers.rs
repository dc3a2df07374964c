//! Complex numbers, and further functions of one use.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::super::tensors::{Sight, View};
use base::error::Result;
use base::types::{DType, Kind};
use ir::{NodeId, ReduceOp, Trace};
use ops::elementwise::convert;
use ops::elementwise::formula::record;
use ops::reduction::reduce;

pub(super) const TABLE: &[Operator] = &[
    operator(&["real.default"], "self", |call| part(call, 0)),
    operator(&["imag.default"], "self", |call| part(call, 1)),
    operator(&["complex.default"], "real imag", |call| {
        let [re, im] = call.promoted(["real", "imag"], true)?;
        let made = record(call.trace(), [re, im], |[re, im]| re.complex(im))?;
        Ok(call.made(made))
    }),
    operator(&["polar.default"], "abs angle", |call| {
        let [size, angle] = call.promoted(["abs", "angle"], true)?;
        let made =
            record(call.trace(), [size, angle], |[size, angle]| (size * angle.cos()).complex(size * angle.sin()))?;
        Ok(call.made(made))
    }),
    operator(&["conj.default", "_conj.default", "conj_physical.default", "_conj_physical.default"], "self", |call| {
        let x = call.tensor("self")?;
        if call.dtype_of(x).kind() != Kind::Complex {
            return call.viewed("self", View::Alias, Sight::Certain);
        }
        let made = record(call.trace(), [x], |[x]| x.real().complex(-x.imag()))?;
        Ok(call.made(made))
    }),
    operator(&["resolve_conj.default", "resolve_neg.default"], "self", |call| {
        call.viewed("self", View::Alias, Sight::Certain)
    }),
    operator(&["_is_all_true.default"], "self", |call| truth(call, ReduceOp::All)),
    operator(&["_is_any_true.default"], "self", |call| truth(call, ReduceOp::Any)),
    operator(&["_weight_norm.default"], "v g dim=0", |call| {
        let [made, _] = weight_norm(call)?;
        Ok(call.made(made))
    }),
    operator(&["_weight_norm_interface.default"], "v g dim=0", |call| {
        let made = weight_norm(call)?;
        Ok(Value::List(made.map(|node| call.made(node)).into()))
    }),
];

/// The real or the imaginary part, through which programs write. A real tensor is its own real part.
fn part<'p>(call: &mut Call<'_, 'p>, index: i64) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    if call.dtype_of(x).kind() != Kind::Complex {
        return call.viewed("self", View::Alias, Sight::Certain);
    }
    let (id, axis) = (call.id("self")?, call.dims(x).len());
    let tensors = &mut call.recorder.tensors;
    let pairs = tensors.view(id, View::Real, Sight::Certain);
    Ok(Value::Tensor(tensors.view(pairs, View::Selected { axis, index }, Sight::Certain)))
}

fn truth<'p>(call: &mut Call<'_, 'p>, op: ReduceOp) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let axes: Vec<i64> = (0..call.dims(x).len() as i64).collect();
    let trace = call.trace();
    let x = convert(trace, x, DType::Pred);
    let made = if axes.is_empty() { x } else { reduce(trace, op, x, &axes, false)? };
    Ok(call.made(made))
}

/// A weight whose slices have the norms `g`, and the norms before.
fn weight_norm(call: &mut Call) -> Result<[NodeId; 2]> {
    let (v, g, axis) = (call.tensor("v")?, call.tensor("g")?, call.int("dim")?);
    let rank = call.dims(v).len();
    let kept = if axis == -1 { None } else { Some(call.axis("dim", rank)? as i64) };
    let axes: Vec<i64> = (0..rank as i64).filter(|&axis| Some(axis) != kept).collect();
    let trace: &mut Trace = call.trace();
    let squares = record(trace, [v], |[v]| v * v)?;
    let sum = reduce(trace, ReduceOp::Sum, squares, &axes, true)?;
    let size = record(trace, [sum], |[sum]| sum.sqrt())?;
    let made = record(trace, [v, g, size], |[v, g, size]| v * (g / size))?;
    Ok([made, size])
}
