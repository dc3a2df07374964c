//! Elementwise operations.

use super::action::Action;
use super::twin::{Outcome, Pair, Twin, World, exact};
use super::values::{ANY, dtype, is_floating, range};
use crate::record::{self, binary, binary_in_place, binary_scalar, binary_scalar_in_place, compare, on};
use crate::scratch::Scratch;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue};
use ir::{BinaryFunction, BinaryOp, CompareOp, NodeId, UnaryFunction, UnaryOp};
use lazyxla::device::TensorHandle;
use lazyxla::tensor::record_optional;
use ops::control;
use ops::elementwise::{self, Side, UnaryMember};
use ops::nn::{self, ActivationOp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Elementwise {
    Unary,
    Binary,
    BinaryInPlace,
    Scalar,
    ScalarInPlace,
    Compare,
    CompareScalar,
    Select,
    Convert,
    Clamp,
    ClampScalars,
    SelectScalars,
    Division,
    Activation,
    Complex,
    Real,
    Imag,
    Bitcast,
    ReducePrecision,
    Barrier,
}

/// Operations that are exact on whole numbers, floats included.
pub const EXACT: [BinaryOp; 5] =
    [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Maximum, BinaryOp::Minimum];
/// Some of these are errors for some dtypes.
const UNARY: [UnaryMember; 18] = [
    UnaryMember::Operation(UnaryOp::Negate),
    UnaryMember::Operation(UnaryOp::Abs),
    UnaryMember::Operation(UnaryOp::Sign),
    UnaryMember::Operation(UnaryOp::Floor),
    UnaryMember::Operation(UnaryOp::Ceil),
    UnaryMember::Operation(UnaryOp::RoundNearestEven),
    UnaryMember::Operation(UnaryOp::RoundNearestAfz),
    UnaryMember::Operation(UnaryOp::IsFinite),
    UnaryMember::Operation(UnaryOp::Not),
    UnaryMember::Operation(UnaryOp::Popcnt),
    UnaryMember::Operation(UnaryOp::CountLeadingZeros),
    UnaryMember::Operation(UnaryOp::Exponential),
    UnaryMember::Operation(UnaryOp::Sqrt),
    UnaryMember::Function(UnaryFunction::IsNan),
    UnaryMember::Function(UnaryFunction::IsInf),
    UnaryMember::Function(UnaryFunction::Signbit),
    UnaryMember::Function(UnaryFunction::Trunc),
    UnaryMember::Function(UnaryFunction::Conj),
];

impl Elementwise {
    pub const TABLE: &[(usize, Elementwise)] = &[
        (9, Elementwise::Unary),
        (20, Elementwise::Binary),
        (18, Elementwise::BinaryInPlace),
        (9, Elementwise::Scalar),
        (18, Elementwise::ScalarInPlace),
        (3, Elementwise::Compare),
        (2, Elementwise::CompareScalar),
        (3, Elementwise::Select),
        (6, Elementwise::Convert),
        (2, Elementwise::Clamp),
        (2, Elementwise::ClampScalars),
        (2, Elementwise::SelectScalars),
        (3, Elementwise::Division),
        (1, Elementwise::Activation),
        (3, Elementwise::Complex),
        (2, Elementwise::Real),
        (2, Elementwise::Imag),
        (3, Elementwise::Bitcast),
        (2, Elementwise::ReducePrecision),
        (2, Elementwise::Barrier),
    ];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        match self {
            Elementwise::Barrier => {
                let b = twin.pick(action.tensors[1]).unwrap_or(a);
                let bounds = [a.bound, b.bound];
                let act =
                    |world: World| on([world.of(a), world.of(b)], |t, list| control::optimization_barrier(t, &list));
                twin.several(act, |i, _| Some(bounds[i]))
            }
            Elementwise::Select => select(twin, action, a),
            Elementwise::SelectScalars => select_scalars(twin, action, a),
            Elementwise::Bitcast => bitcast(twin, a, dtype(action.numbers[0])),
            _ if !a.is_whole() => Ok(()),
            Elementwise::Division => division(twin, action, a),
            Elementwise::Binary | Elementwise::BinaryInPlace => self.binary(twin, action, a),
            Elementwise::Scalar | Elementwise::ScalarInPlace => self.scalar(twin, action, a),
            Elementwise::Compare | Elementwise::Complex | Elementwise::Clamp => self.of_several(twin, action, a),
            _ => self.of_one(twin, action, a),
        }
    }

    fn of_one(self, twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
        let [choice, more, ..] = action.numbers;
        match self {
            Elementwise::Unary => unary(twin, a, choice),
            Elementwise::CompareScalar => {
                let (op, value) = (member(CompareOp::ALL, choice), ScalarValue::Signed(i64::from(more % 8) - 3));
                twin.computed(1.0, |world| {
                    on([world.of(a)], |t, [x]| elementwise::compare_scalar(t, op, x, value, more >= 128))
                })
            }
            Elementwise::Activation => {
                let op = member(&[ActivationOp::Relu, ActivationOp::Relu6], choice);
                twin.computed(a.bound.max(6.0), |world| on([world.of(a)], |t, [x]| nn::activation(t, op, x)))
            }
            Elementwise::ClampScalars => {
                let bound = |number: u8| (number < 192).then_some(ScalarValue::Signed(i64::from(number % 7) - 3));
                twin.computed(a.bound.max(3.0), |world| {
                    on([world.of(a)], |t, [x]| elementwise::clamp_scalars(t, bound(choice), x, bound(more)))
                })
            }
            Elementwise::Real => twin.computed(a.bound, |world| on([world.of(a)], |t, [x]| elementwise::real(t, x))),
            Elementwise::Imag => twin.computed(a.bound, |world| on([world.of(a)], |t, [x]| elementwise::imag(t, x))),
            Elementwise::ReducePrecision => {
                // With this many exponent bits no value overflows or becomes denormal.
                let (exponent, mantissa) = (8 + i64::from(choice % 4), i64::from(more % 12));
                twin.computed(2.0 * a.bound, |world| {
                    on([world.of(a)], |t, [x]| elementwise::reduce_precision(t, x, exponent, mantissa))
                })
            }
            _ => convert(twin, a, dtype(choice)),
        }
    }

    fn binary(self, twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
        let b = twin.pick_like(action.tensors[1], a);
        let dtypes = [a.dtype(), b.dtype()];
        let op = chosen(action.numbers[0], dtypes.into_iter().any(is_floating));
        let bound = bound(op, dtypes[0].promote(dtypes[1]).unwrap_or(dtypes[0]), a.bound, b.bound);
        if !b.is_whole() {
            return Ok(());
        }
        if let Elementwise::Binary = self {
            return twin.computed(bound, |world| binary(op, world.of(a), world.of(b)));
        }
        match exact(bound, dtypes[0]) {
            Some(bound) => twin.in_place(a, bound, |world| binary_in_place(op, world.of(a), world.of(b))),
            None => Ok(()),
        }
    }

    fn scalar(self, twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
        let [choice, value, left, _] = action.numbers;
        let (dtype, left) = (a.dtype(), left < 64);
        let op = chosen(choice, is_floating(dtype));
        let value = i64::from(value % 7) - 3;
        let bound = bound(op, dtype, a.bound, 3.0);
        let value = ScalarValue::Signed(value);
        if let Elementwise::Scalar = self {
            return twin.computed(bound, |world| binary_scalar(op, world.of(a), value, left));
        }
        match exact(bound, dtype) {
            Some(bound) => twin.in_place(a, bound, |world| binary_scalar_in_place(op, world.of(a), value, left)),
            None => Ok(()),
        }
    }

    fn of_several(self, twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
        let (b, c) = (twin.pick_like(action.tensors[1], a), twin.pick_like(action.tensors[2], a));
        if !b.is_whole() || !c.is_whole() {
            return Ok(());
        }
        match self {
            Elementwise::Compare => {
                let op = member(CompareOp::ALL, action.numbers[0]);
                twin.computed(1.0, |world| compare(op, world.of(a), world.of(b)))
            }
            Elementwise::Complex => twin.computed(a.bound.max(b.bound), |world| {
                on([world.of(a), world.of(b)], |t, [a, b]| elementwise::complex(t, a, b))
            }),
            _ => {
                let bound = a.bound.max(b.bound).max(c.bound);
                let operands = |world: World| [a, b, c].map(|pair| world.of(pair));
                twin.computed(bound, |world| on(operands(world), |t, [a, b, c]| elementwise::clamp(t, a, b, c)))
            }
        }
    }
}

fn member<T: Copy>(list: &[T], choice: u8) -> T {
    list[choice as usize % list.len()]
}

/// Chooses an operation; for floats one that is exact.
fn chosen(choice: u8, floats: bool) -> BinaryOp {
    if floats { member(&EXACT, choice) } else { member(BinaryOp::ALL, choice) }
}

/// Bound of the result for operands with these bounds.
pub fn bound(op: BinaryOp, dtype: DType, a: f64, b: f64) -> f64 {
    match (op, dtype.kind()) {
        (BinaryOp::Maximum | BinaryOp::Minimum, _) => a.max(b),
        (BinaryOp::Subtract, Kind::Unsigned) => ANY,
        (BinaryOp::Add | BinaryOp::Subtract, _) => a + b,
        (BinaryOp::Multiply, Kind::Complex) => 2.0 * a * b,
        (BinaryOp::Multiply, _) => a * b,
        _ => ANY,
    }
}

fn unary(twin: &mut Twin, a: Pair, choice: u8) -> Outcome {
    use UnaryMember::{Function, Operation};
    let member = member(&UNARY, choice);
    let is_inexact = match (a.dtype().wide().kind(), member) {
        (Kind::Complex, Operation(op)) => {
            !matches!(op, UnaryOp::Negate | UnaryOp::Floor | UnaryOp::Not | UnaryOp::IsFinite)
        }
        // Zeros may have either sign.
        (Kind::Float | Kind::Float8, Function(UnaryFunction::Signbit)) => true,
        (Kind::Float | Kind::Float8, Operation(op)) => matches!(op, UnaryOp::Exponential | UnaryOp::Sqrt),
        _ => false,
    };
    if is_inexact {
        return Ok(());
    }
    let bound = match member {
        Operation(UnaryOp::Sign | UnaryOp::IsFinite) => 1.0,
        Function(UnaryFunction::IsNan | UnaryFunction::IsInf | UnaryFunction::Signbit) => 1.0,
        Operation(UnaryOp::Popcnt | UnaryOp::CountLeadingZeros) => 64.0,
        _ if is_floating(a.dtype()) => a.bound,
        _ => ANY,
    };
    twin.computed(bound, |world| crate::record::unary(member, world.of(a)))
}

/// Divides integers by each other, also by 0, and whole floats by nonzero scalars.
fn division(twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
    let [choice, value, left, _] = action.numbers;
    let function = member(&[BinaryFunction::FloorDivide, BinaryFunction::Modulo], choice);
    if is_floating(a.dtype()) {
        let by = ScalarValue::Signed([1, 2, 3, -1, -2, -3][value as usize % 6]);
        return twin.computed(a.bound + 3.0, |world| binary_scalar(function, world.of(a), by, false));
    }
    if left < 128 {
        let by = ScalarValue::Signed(i64::from(value % 7) - 3);
        return twin.computed(ANY, |world| binary_scalar(function, world.of(a), by, left < 64));
    }
    let b = twin.pick_like(action.tensors[1], a);
    if !b.is_whole() || is_floating(b.dtype()) {
        return Ok(());
    }
    twin.computed(ANY, |world| binary(function, world.of(a), world.of(b)))
}

/// Selects with a scalar for one or both branches.
fn select_scalars(twin: &mut Twin, action: &Action, pred: Pair) -> Outcome {
    let pred = twin.pick_where(action.tensors[0], |pair| pair.dtype() == DType::Pred).unwrap_or(pred);
    let Some(b) = twin.pick(action.tensors[1]) else { return Ok(()) };
    let [which, value, ..] = action.numbers;
    let scalar = Side::Scalar(b.dtype(), ScalarValue::Signed(i64::from(value % 3)));
    let act = |world: World| {
        let x = Some(world.of(b));
        let [on_true, on_false] = [[None, x], [x, None], [None, None]][which as usize % 3];
        let tensors = [("on_true", on_true), ("on_false", on_false)];
        record_optional([("pred", world.of(pred))], tensors, |t, [pred], nodes| {
            let side = |node: Option<NodeId>| node.map_or(scalar, Side::Tensor);
            elementwise::select_sides(t, pred, [side(nodes[0]), side(nodes[1])])
        })
    };
    twin.moved(b.bound.max(2.0), act)
}

/// Conversions of values that do not fit are left out: their results depend on the plugin.
fn convert(twin: &mut Twin, a: Pair, to: DType) -> Outcome {
    let from = a.dtype();
    let is_too_large = a.bound >= range(to);
    if is_floating(from) && to.wide().is_integer() {
        return match to.wide().kind() {
            _ if is_too_large => Ok(()),
            Kind::Signed => twin.computed(a.bound, |world| converted(world.of(a), to)),
            _ if from.kind() == Kind::Complex => Ok(()),
            _ => twin.computed(a.bound, |world| converted(positive(world.of(a))?.0, to)),
        };
    }
    // Conversions between integers wrap around.
    let wraps = to.wide().kind() == Kind::Unsigned || (to.wide().is_integer() && is_too_large);
    twin.computed(if wraps { ANY } else { a.bound }, |world| converted(world.of(a), to))
}

fn converted(x: TensorHandle, to: DType) -> Result<TensorHandle> {
    on([x], |t, [x]| Ok(elementwise::convert(t, x, to)))
}

/// Returns a tensor's absolute values, and the scratch that keeps them alive.
fn positive(x: TensorHandle) -> Result<(TensorHandle, Scratch)> {
    let mut scratch = Scratch::default();
    let positive = scratch.keep(crate::record::unary(UnaryOp::Abs, x)?);
    Ok((positive, scratch))
}

/// Bitcasts of floats are of their absolute values, since zeros may have either sign.
fn bitcast(twin: &mut Twin, a: Pair, to: DType) -> Outcome {
    let cast = |x: TensorHandle| on([x], |t, [x]| elementwise::bitcast_convert(t, x, to));
    if !is_floating(a.dtype()) || a.dtype() == to {
        return twin.moved(if a.dtype() == to { a.bound } else { ANY }, |world| cast(world.of(a)));
    }
    if !a.is_whole() || a.dtype().kind() == Kind::Complex {
        return Ok(());
    }
    twin.moved(ANY, |world| cast(positive(world.of(a))?.0))
}

fn select(twin: &mut Twin, action: &Action, pred: Pair) -> Outcome {
    let pred = match action.numbers[0] % 8 {
        0 => pred,
        _ => twin.pick_where(action.tensors[0], |pair| pair.dtype() == DType::Pred).unwrap_or(pred),
    };
    let Some(b) = twin.pick(action.tensors[1]) else { return Ok(()) };
    let c = twin.pick_like(action.tensors[2], b);
    let act = |world: World| record::select(world.of(pred), world.of(b), world.of(c));
    let bound = b.bound.max(c.bound);
    if b.dtype() == c.dtype() {
        return twin.moved(bound, act);
    }
    if b.is_whole() && c.is_whole() { twin.computed(bound, act) } else { Ok(()) }
}
