//! Numbers that programs compute from sizes, which are known when a program is imported, and from elements of tensors,
//! which are not.

use super::super::arguments::{self, Value};
use super::super::promotion::join;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryFunction, BinaryOp, CompareOp, NodeId, Trace};
use ops::creation::full;
use ops::elementwise::formula::{Expr, record};
use ops::elementwise::{binary, binary_function, compare, compare_scalar, convert, select};

/// Computes an operator of numbers; None for arguments that it does not take.
type Compute = fn(&[Value]) -> Option<Value<'static>>;

/// A number.
#[derive(Clone, Copy)]
enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    fn of(value: &Value) -> Option<Number> {
        match value {
            Value::Int(value) => Some(Number::Int(*value)),
            Value::Bool(value) => Some(Number::Int((*value).into())),
            Value::Float(value) => Some(Number::Float(*value)),
            _ => None,
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

fn two(values: &[Value]) -> Option<(Number, Number)> {
    let [a, b] = values else { return None };
    Number::of(a).zip(Number::of(b))
}

fn arithmetic(
    values: &[Value],
    ints: fn(i64, i64) -> Option<i64>,
    floats: fn(f64, f64) -> f64,
) -> Option<Value<'static>> {
    Some(match two(values)? {
        (Number::Int(a), Number::Int(b)) => Value::Int(ints(a, b)?),
        (a, b) => Value::Float(floats(a.float(), b.float())),
    })
}

fn compared(values: &[Value], holds: fn(std::cmp::Ordering) -> bool) -> Option<Value<'static>> {
    let ordering = match two(values)? {
        (Number::Int(a), Number::Int(b)) => a.cmp(&b),
        (a, b) => a.float().partial_cmp(&b.float())?,
    };
    Some(Value::Bool(holds(ordering)))
}

fn logical(values: &[Value], of: fn(bool, bool) -> bool) -> Option<Value<'static>> {
    match values {
        [Value::Bool(a), Value::Bool(b)] => Some(Value::Bool(of(*a, *b))),
        _ => None,
    }
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn modulo(a: i64, b: i64) -> Option<i64> {
    let rest = a.checked_rem(b)?;
    Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
}

fn one_float(values: &[Value], of: fn(f64) -> Value<'static>) -> Option<Value<'static>> {
    let [value] = values else { return None };
    Number::of(value).map(|value| of(value.float()))
}

/// A float that is whole, as an integer.
fn whole(value: f64) -> Value<'static> {
    if value.is_finite() && value.abs() < 9e15 { Value::Int(value as i64) } else { Value::Float(value) }
}

/// Returns the function of an operator of numbers.
pub fn symbolic(name: &str) -> Option<Compute> {
    let name = name
        .strip_prefix("_operator.")
        .or_else(|| name.strip_prefix("math."))
        .unwrap_or_else(|| if name.starts_with("sym_") || name.starts_with("torch.sym_") { name } else { "" });
    Some(match name {
        "add" => |values| arithmetic(values, i64::checked_add, |a, b| a + b),
        "sub" => |values| arithmetic(values, i64::checked_sub, |a, b| a - b),
        "mul" => |values| arithmetic(values, i64::checked_mul, |a, b| a * b),
        "floordiv" => |values| arithmetic(values, floor_div, |a, b| (a / b).floor()),
        "mod" => |values| match two(values)? {
            (Number::Int(a), Number::Int(b)) => modulo(a, b).map(Value::Int),
            _ => None,
        },
        "pow" => |values| match two(values)? {
            (Number::Int(a), Number::Int(b @ 0..)) => a.checked_pow(b.try_into().ok()?).map(Value::Int),
            (a, b) => Some(Value::Float(a.float().powf(b.float()))),
        },
        "truediv" => |values| two(values).map(|(a, b)| Value::Float(a.float() / b.float())),
        "neg" => |values| match values {
            [Value::Int(value)] => value.checked_neg().map(Value::Int),
            [Value::Float(value)] => Some(Value::Float(-value)),
            _ => None,
        },
        "eq" => |values| compared(values, std::cmp::Ordering::is_eq),
        "ne" => |values| compared(values, std::cmp::Ordering::is_ne),
        "ge" => |values| compared(values, std::cmp::Ordering::is_ge),
        "gt" => |values| compared(values, std::cmp::Ordering::is_gt),
        "le" => |values| compared(values, std::cmp::Ordering::is_le),
        "lt" => |values| compared(values, std::cmp::Ordering::is_lt),
        "and_" => |values| logical(values, |a, b| a && b),
        "or_" => |values| logical(values, |a, b| a || b),
        "ceil" => |values| one_float(values, |value| whole(value.ceil())),
        "floor" => |values| one_float(values, |value| whole(value.floor())),
        "trunc" | "torch.sym_int" => |values| one_float(values, |value| whole(value.trunc())),
        "torch.sym_float" => |values| one_float(values, Value::Float),
        "torch.sym_max" => |values| arithmetic(values, |a, b| Some(a.max(b)), f64::max),
        "torch.sym_min" => |values| arithmetic(values, |a, b| Some(a.min(b)), f64::min),
        "torch.sym_ite" => |values| match values {
            [Value::Bool(holds), Value::Int(yes), Value::Int(no)] => Some(Value::Int(if *holds { *yes } else { *no })),
            _ => None,
        },
        "torch.sym_not" => |values| match values {
            [Value::Bool(value)] => Some(Value::Bool(!value)),
            _ => None,
        },
        _ => return None,
    })
}

/// Records an operator of numbers of which some depend on data; None if it is not supported for them. Integers are s64
/// and floats are f64, as in Python.
pub fn computed<'p>(trace: &mut Trace, name: &str, values: &[Value<'p>]) -> Result<Option<Value<'p>>> {
    use Value::{Computed, Int};
    let name =
        ["_operator.", "math.", "torch.sym_"].iter().find_map(|module| name.strip_prefix(module)).unwrap_or(name);
    match (name, values) {
        ("add", [Computed(number), Int(more)] | [Int(more), Computed(number)]) => return moved(trace, *number, *more),
        ("sub", [Computed(number), Int(less)]) => return moved(trace, *number, less.wrapping_neg()),
        ("sub", [Computed(a), Computed(b)]) if a.above(*b).is_some() => return Ok(a.above(*b).map(Int)),
        _ => {}
    }
    let nodes = values.iter().map(|value| recorded(trace, value)).collect::<Result<Option<Vec<NodeId>>>>()?;
    let Some(nodes) = nodes else { return Ok(None) };
    let node = match nodes[..] {
        [x] => of_one(trace, name, x)?,
        [a, b] => of_two(trace, name, a, b)?,
        [holds, yes, no] if name == "ite" => {
            let [yes, no] = alike(trace, yes, no)?;
            Some(select(trace, holds, yes, no)?)
        }
        _ => None,
    };
    Ok(node.map(|node| Computed(arguments::Number::of(node))))
}

fn of_one(trace: &mut Trace, name: &str, x: NodeId) -> Result<Option<NodeId>> {
    let rounded = |trace: &mut Trace, function: fn(Expr) -> Expr| {
        let x = convert(trace, x, DType::F64);
        record(trace, [x], |[x]| function(x).convert(DType::S64))
    };
    match name {
        "neg" => record(trace, [x], |[x]| -x),
        "not" => compare_scalar(trace, CompareOp::Eq, x, ScalarValue::Signed(0), false),
        "float" => Ok(convert(trace, x, DType::F64)),
        // A conversion drops the fraction.
        "trunc" | "int" => Ok(convert(trace, x, DType::S64)),
        "floor" => rounded(trace, |x| x.floor()),
        "ceil" => rounded(trace, |x| -(-x).floor()),
        _ => return Ok(None),
    }
    .map(Some)
}

fn of_two(trace: &mut Trace, name: &str, a: NodeId, b: NodeId) -> Result<Option<NodeId>> {
    let [mut a, mut b] = alike(trace, a, b)?;
    if name == "truediv" {
        [a, b] = [a, b].map(|node| convert(trace, node, DType::F64));
    }
    let arithmetic = |trace: &mut Trace, op| binary(trace, op, a, b);
    let comparison = |trace: &mut Trace, op| compare(trace, op, a, b);
    match name {
        "add" => arithmetic(trace, BinaryOp::Add),
        "sub" => arithmetic(trace, BinaryOp::Subtract),
        "mul" => arithmetic(trace, BinaryOp::Multiply),
        "truediv" => arithmetic(trace, BinaryOp::Divide),
        "pow" => arithmetic(trace, BinaryOp::Power),
        "max" => arithmetic(trace, BinaryOp::Maximum),
        "min" => arithmetic(trace, BinaryOp::Minimum),
        "and_" => arithmetic(trace, BinaryOp::And),
        "or_" => arithmetic(trace, BinaryOp::Or),
        "floordiv" => binary_function(trace, BinaryFunction::FloorDivide, a, b),
        "mod" => binary_function(trace, BinaryFunction::Modulo, a, b),
        "eq" => comparison(trace, CompareOp::Eq),
        "ne" => comparison(trace, CompareOp::Ne),
        "ge" => comparison(trace, CompareOp::Ge),
        "gt" => comparison(trace, CompareOp::Gt),
        "le" => comparison(trace, CompareOp::Le),
        "lt" => comparison(trace, CompareOp::Lt),
        _ => return Ok(None),
    }
    .map(Some)
}

/// A computed number plus an integer, which is kept apart, so that the difference of two such numbers is known.
fn moved<'p>(trace: &mut Trace, number: arguments::Number, by: i64) -> Result<Option<Value<'p>>> {
    if !trace.node(number.node).dtype.is_integer() {
        let sum = arguments::Number { plus: by, ..number }.record(trace)?;
        return Ok(Some(Value::Computed(arguments::Number::of(sum))));
    }
    let plus = number.plus.checked_add(by);
    Ok(plus.map(|plus| Value::Computed(arguments::Number { plus, ..number })))
}

/// Records a number as a tensor of rank 0; None for other values.
fn recorded(trace: &mut Trace, value: &Value) -> Result<Option<NodeId>> {
    let (dtype, value) = match *value {
        Value::Computed(number) => return number.record(trace).map(Some),
        Value::Int(value) => (DType::S64, ScalarValue::Signed(value)),
        Value::Bool(value) => (DType::Pred, ScalarValue::Signed(value.into())),
        Value::Float(value) => (DType::F64, ScalarValue::Float(value)),
        _ => return Ok(None),
    };
    full(trace, &TensorType::new(dtype, &[]), value).map(Some)
}

/// Converts two numbers to their common dtype.
fn alike(trace: &mut Trace, a: NodeId, b: NodeId) -> Result<[NodeId; 2]> {
    // Python converts bools to integers, and integers to floats.
    let dtype = join(trace.node(a).dtype, trace.node(b).dtype)?;
    Ok([a, b].map(|node| convert(trace, node, dtype)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_computed_as_in_python() {
        let int = |name: &str, a: i64, b: i64| match symbolic(name).unwrap()(&[Value::Int(a), Value::Int(b)]) {
            Some(Value::Int(value)) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!((int("_operator.floordiv", -7, 2), int("_operator.floordiv", 7, 2)), (-4, 3));
        assert_eq!((int("_operator.mod", -7, 2), int("_operator.mod", 7, -2)), (1, -1));
        assert_eq!((int("_operator.mul", 3, -5), int("_operator.pow", -3, 3)), (-15, -27));
        let ge = symbolic("_operator.ge").unwrap();
        assert!(matches!(ge(&[Value::Int(2), Value::Float(2.0)]), Some(Value::Bool(true))));
        assert!(symbolic("_operator.floordiv").unwrap()(&[Value::Int(1), Value::Int(0)]).is_none());
        assert!(symbolic("_operator.mul").unwrap()(&[Value::Int(i64::MAX), Value::Int(2)]).is_none());
        assert!(symbolic("_operator.pow").unwrap()(&[Value::Int(2), Value::Int(63)]).is_none());
        assert!(symbolic("mul").is_none() && symbolic("add.Tensor").is_none());
    }
}
