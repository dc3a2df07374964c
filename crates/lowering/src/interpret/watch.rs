//! Search for the first operation that makes a NaN or an infinity out of finite operands.

use base::error::Result;
use base::label::Label;
use base::types::{DType, Kind, Scalar, TensorType};
use ir::{Instruction, Op};
use native::{Array, convert, text_of};
use ops::operation_name;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Number of the first elements of an operand that are shown.
const SHOWN: usize = 8;

/// The first operation found while programs are evaluated.
#[derive(Default)]
pub struct Watch(Mutex<Option<NonFinite>>);

/// An operation that made a NaN or an infinity out of finite operands.
pub struct NonFinite {
    /// Name of the operation.
    pub operation: &'static str,
    /// Label of the operation.
    pub label: Label,
    /// Type of the result.
    ty: TensorType,
    /// Flat index of the first element that is not finite, and its value.
    at: usize,
    value: String,
    operands: Vec<Value>,
}

impl Watch {
    /// The operation that was found, if any.
    pub fn found(self) -> Option<NonFinite> {
        self.0.into_inner()
    }

    /// Looks at the results of an operation. Constants are passed over, and calls, loops, branches and scans, in whose
    /// bodies each operation is looked at.
    pub(super) fn look(
        &self,
        value: &Instruction,
        scalar: Option<Scalar>,
        operands: &[&Array],
        results: &[Array],
    ) -> Result<()> {
        if self.0.lock().is_some() || operands.is_empty() || is_looked_into(value.op) {
            return Ok(());
        }
        for result in results {
            let Some(at) = first_nonfinite(result)? else { continue };
            let scalar = scalar.map(array_of_scalar).transpose()?;
            for operand in operands.iter().copied().chain(&scalar) {
                if first_nonfinite(operand)?.is_some() {
                    return Ok(());
                }
            }
            *self.0.lock() = Some(NonFinite {
                operation: operation_name(value.op),
                label: value.label,
                ty: result.ty().clone(),
                at,
                value: element(result, at),
                operands: operands_shown(value.op, operands, scalar.as_ref(), (result.ty(), at)),
            });
            return Ok(());
        }
        Ok(())
    }
}

/// Whether each operation of the bodies that an operation applies is looked at.
fn is_looked_into(op: Op) -> bool {
    matches!(op, Op::Call | Op::While | Op::If | Op::Scan | Op::Custom | Op::Case | Op::ShardMap)
}

impl NonFinite {
    /// A message that names the operation, its label and its values.
    pub fn text(&self) -> String {
        let index: Vec<String> = index_of(&self.ty, self.at).iter().map(i64::to_string).collect();
        format!(
            "{}{} makes {} at [{}] of {} out of finite operands: {}",
            self.operation,
            self.label.suffix(),
            self.value,
            index.join(","),
            self.ty,
            Value::Array(self.operands.clone())
        )
    }

    /// The operation, its label, and its values.
    pub fn json(&self) -> Value {
        json!({
            "operation": self.operation,
            "label": self.label.path(),
            "type": self.ty.to_string(),
            "index": index_of(&self.ty, self.at),
            "value": self.value,
            "operands": self.operands,
        })
    }
}

/// Flat index of the first element that is NaN or infinite; None if all are finite.
pub fn first_nonfinite(x: &Array) -> Result<Option<usize>> {
    first_nonfinite_of(x.ty(), x.bytes())
}

/// Like [`first_nonfinite`], of the row-major bytes of a type.
pub fn first_nonfinite_of(ty: &TensorType, bytes: &[u8]) -> Result<Option<usize>> {
    Ok(match ty.dtype {
        DType::F16 => position(bytes, |part| u16::from_ne_bytes(part) & 0x7c00 == 0x7c00),
        DType::BF16 => position(bytes, |part| u16::from_ne_bytes(part) & 0x7f80 == 0x7f80),
        DType::F32 => position(bytes, |part| !f32::from_ne_bytes(part).is_finite()),
        DType::F64 => position(bytes, |part| !f64::from_ne_bytes(part).is_finite()),
        DType::C64 => position(bytes, |part| !f32::from_ne_bytes(part).is_finite()).map(|at| at / 2),
        DType::C128 => position(bytes, |part| !f64::from_ne_bytes(part).is_finite()).map(|at| at / 2),
        _ if ty.dtype.kind() == Kind::Float8 => {
            let wide = convert(&Array::from_bytes(ty, bytes)?, DType::F32)?;
            position(wide.bytes(), |part| !f32::from_ne_bytes(part).is_finite())
        }
        _ => None,
    })
}

/// Number of the first part of N bytes for which `is_it` is true.
fn position<const N: usize>(bytes: &[u8], is_it: impl Fn([u8; N]) -> bool) -> Option<usize> {
    bytes.chunks_exact(N).position(|part| is_it(part.try_into().expect("N bytes")))
}

/// A scalar as an array without axes.
pub fn array_of_scalar(scalar: Scalar) -> Result<Array> {
    let ty = TensorType::new(scalar.dtype(), &[]);
    Array::from_bytes(&ty, &scalar.bits().to_le_bytes()[..ty.size_bytes()])
}

/// Index by axis of the element at a flat index.
pub fn index_of(ty: &TensorType, at: usize) -> Vec<i64> {
    let mut rest = at as i64;
    let mut index: Vec<i64> = Vec::with_capacity(ty.dims.len());
    for &dim in ty.dims.iter().rev() {
        index.push(rest % dim);
        rest /= dim;
    }
    index.reverse();
    index
}

/// The element at a flat index, in decimal.
pub fn element(x: &Array, at: usize) -> String {
    let size = x.ty().dtype.size_bytes();
    text_of(Scalar::from_bytes(x.ty().dtype, &x.bytes()[at * size..(at + 1) * size]))
}

/// Describes the operands of an operation, in their order: with the scalar in its place, and the names of the header.
pub fn operands_shown(
    op: Op,
    operands: &[&Array],
    scalar: Option<&Array>,
    (result, at): (&TensorType, usize),
) -> Vec<Value> {
    let before = scalar.filter(|_| matches!(op, Op::ScalarBinary(_)));
    let after = scalar.filter(|_| before.is_none());
    let all: Vec<&Array> = before.into_iter().chain(operands.iter().copied()).chain(after).collect();
    let is_binary = matches!(op, Op::Binary(_) | Op::BinaryScalar(_) | Op::ScalarBinary(_) | Op::BinaryFunction(_));
    let name = |i: usize| match (is_binary, all.len()) {
        (true, _) => ["lhs", "rhs"][i].to_string(),
        (false, 1) => "x".to_string(),
        _ => format!("operand {i}"),
    };
    let described = |(i, operand): (usize, &&Array)| {
        let mut described = shown(operand, result, at);
        described["name"] = name(i).into();
        described
    };
    all.iter().enumerate().map(described).collect()
}

/// Type and first elements of an operand; also its element at the place of the result's, if it has the result's shape.
fn shown(x: &Array, result: &TensorType, at: usize) -> Value {
    let count = x.ty().elements();
    let first: Vec<String> = (0..count.min(SHOWN)).map(|i| element(x, i)).collect();
    let mut shown = json!({"type": x.ty().to_string(), "first": first});
    if x.ty().dims == result.dims || count == 1 {
        shown["value"] = element(x, if count == 1 { 0 } else { at }).into();
    }
    shown
}
