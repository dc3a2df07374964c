//! Numbers that programs compute from sizes. Sizes are known when a program is imported.

use super::super::arguments::Value;

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
        "ceil" => |values| one_float(values, |value| whole(value.ceil())),
        "floor" => |values| one_float(values, |value| whole(value.floor())),
        "trunc" | "torch.sym_int" => |values| one_float(values, |value| whole(value.trunc())),
        "torch.sym_float" => |values| one_float(values, Value::Float),
        "torch.sym_max" => |values| arithmetic(values, |a, b| Some(a.max(b)), f64::max),
        "torch.sym_min" => |values| arithmetic(values, |a, b| Some(a.min(b)), f64::min),
        "torch.sym_not" => |values| match values {
            [Value::Bool(value)] => Some(Value::Bool(!value)),
            _ => None,
        },
        _ => return None,
    })
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
        assert_eq!(int("_operator.mul", 3, -5), -15);
        let ge = symbolic("_operator.ge").unwrap();
        assert!(matches!(ge(&[Value::Int(2), Value::Float(2.0)]), Some(Value::Bool(true))));
        assert!(symbolic("_operator.floordiv").unwrap()(&[Value::Int(1), Value::Int(0)]).is_none());
        assert!(symbolic("_operator.mul").unwrap()(&[Value::Int(i64::MAX), Value::Int(2)]).is_none());
        assert!(symbolic("mul").is_none() && symbolic("add.Tensor").is_none());
    }
}
