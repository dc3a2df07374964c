//! Elementwise instructions, by their names in StableHLO, and reductions.

use super::site::Site;
use super::wire::Message;
use crate::engine::{element_type, failed};
use crate::error::Result;
use crate::ir::{CompareOp, ReduceOp};
use crate::types::{DType, TensorType};
use xla::{XlaBuilder, XlaOp};

/// Numbers of the fields of `HloInstructionProto`.
mod field {
    pub const COMPARISON_DIRECTION: u64 = 63;
    pub const COMPARISON_TYPE: u64 = 72;
}

impl Site<'_> {
    /// Reduces an array of a dtype over axes, with the initial value of these bits.
    pub fn reduce(&self, op: ReduceOp, x: &XlaOp, dtype: DType, axes: &[i64], init: u128) -> Result<XlaOp> {
        let (builder, element) = (XlaBuilder::new(op.name()), element_type(dtype));
        let [a, b] = [(0, "a"), (1, "b")].map(|(number, name)| builder.parameter(number, element, &[], name));
        let (a, b) = (a.map_err(failed)?, b.map_err(failed)?);
        let combined = match op {
            ReduceOp::Sum => a.add_(&b),
            ReduceOp::Product => a.mul_(&b),
            ReduceOp::Max => a.max(&b),
            ReduceOp::Min => a.min(&b),
            ReduceOp::All => a.and(&b),
            ReduceOp::Any => a.or(&b),
        };
        let computation = combined.and_then(|combined| combined.build()).map_err(failed)?;
        x.reduce(self.constant(&TensorType::new(dtype, &[]), init)?, computation, axes, false).map_err(failed)
    }

    /// Adds an elementwise instruction with a result of this type: XlaBuilder's, or, where it has none, HLO's.
    pub fn step(&self, op: &str, operands: &[&XlaOp], ty: &TensorType) -> Result<XlaOp> {
        // XLA combines a minimum of a maximum into a clamp, which its CPU backend does not have for preds.
        let op = match (op, ty.dtype) {
            ("maximum", DType::Pred) => "or",
            ("minimum", DType::Pred) => "and",
            _ => op,
        };
        let made = match operands {
            [x] => unary(op, x),
            [a, b] => binary(op, a, b),
            _ => None,
        };
        match made {
            Some(made) => made.map_err(failed),
            None => {
                let operands: Vec<XlaOp> = operands.iter().map(|&operand| operand.clone()).collect();
                self.raw(&op.replace('_', "-"), &operands, ty, Message::new())
            }
        }
    }

    /// Adds a comparison.
    pub fn compare(&self, op: CompareOp, a: &XlaOp, b: &XlaOp) -> Result<XlaOp> {
        match op {
            CompareOp::Eq => a.eq(b),
            CompareOp::Ne => a.ne(b),
            CompareOp::Ge => a.ge(b),
            CompareOp::Gt => a.gt(b),
            CompareOp::Le => a.le(b),
            CompareOp::Lt => a.lt(b),
        }
        .map_err(failed)
    }

    /// Adds a comparison in the total order of floats, which XlaBuilder lacks. The operands have these dims.
    pub fn compare_total(&self, op: CompareOp, a: &XlaOp, b: &XlaOp, dims: &[i64]) -> Result<XlaOp> {
        let attributes = Message::new()
            .content(field::COMPARISON_DIRECTION, op.name().as_bytes())
            .content(field::COMPARISON_TYPE, b"TOTALORDER");
        self.raw("compare", &[a.clone(), b.clone()], &TensorType::new(DType::Pred, dims), attributes)
    }

    /// Adds `pred ? on_true : on_false`; all have the same dims.
    pub fn select(&self, pred: &XlaOp, on_true: &XlaOp, on_false: &XlaOp) -> Result<XlaOp> {
        pred.select(on_true, on_false).map_err(failed)
    }

    /// Adds a reinterpretation of the bits, which XlaBuilder lacks.
    pub fn bitcast(&self, x: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
        self.raw("bitcast-convert", std::slice::from_ref(x), ty, Message::new())
    }
}

fn unary(op: &str, x: &XlaOp) -> Option<xla::Result<XlaOp>> {
    Some(match op {
        "negate" => x.neg(),
        "abs" => x.abs(),
        "sign" => x.sign(),
        "exponential" => x.exp(),
        "exponential_minus_one" => x.expm1(),
        "log" => x.log(),
        "log_plus_one" => x.log1p(),
        "logistic" => x.logistic(),
        "tanh" => x.tanh(),
        "sqrt" => x.sqrt(),
        "rsqrt" => x.rsqrt(),
        "cbrt" => x.cbrt(),
        "sine" => x.sin(),
        "cosine" => x.cos(),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "round_nearest_afz" => x.round(),
        "not" => x.not(),
        "count_leading_zeros" => x.clz(),
        "is_finite" => x.is_finite(),
        "real" => x.real(),
        "imag" => x.imag(),
        _ => return None,
    })
}

fn binary(op: &str, a: &XlaOp, b: &XlaOp) -> Option<xla::Result<XlaOp>> {
    Some(match op {
        "add" => a.add_(b),
        "subtract" => a.sub_(b),
        "multiply" => a.mul_(b),
        "divide" => a.div_(b),
        "remainder" => a.rem_(b),
        "power" => a.pow(b),
        "maximum" => a.max(b),
        "minimum" => a.min(b),
        "atan2" => a.atan2(b),
        "and" => a.and(b),
        "or" => a.or(b),
        "xor" => a.xor(b),
        _ => return None,
    })
}
