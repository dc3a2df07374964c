//! Formulas of special functions, which become the library's functions. JAX exports the complementary error function (a
//! part of GELU), the logarithm of the gamma function and others as approximations for parts of their domains, and
//! selections between them. A derivative of such a formula is NaN wherever an approximation that is not selected
//! overflows, as that of erfc near 0; the function has a derivative of its own.
//!
//! A formula is recognized if it has the same operations on the same constants as StableHLO's expansion of the
//! operation of CHLO, which exporters write. One that differs in any way is imported as it is; but the logarithm in
//! `select(p, -n, select(q, log(n), r))` is that of 1 where it is not selected, whatever `n`, `q` and `r` are.

use super::numbers;
use crate::error::Result;
use crate::ir::{BinaryOp, Body, CompareOp, NodeId, Op, SpecialOp, Trace, UnaryFunction, UnaryOp};
use crate::ops;
use crate::types::{DType, Scalar, ScalarValue};
use rustc_hash::FxHashMap;
use std::collections::BinaryHeap;

/// Numbers of operations that the formulas have.
const OPERATIONS: std::ops::RangeInclusive<usize> = 20..=300;

/// Fingerprints of the formulas in f32 and in f64, as JAX 0.10.2 writes them (`tests/data/mlir/formulas.mlirbc`), and the
/// functions that they compute.
const FORMULAS: &[([u64; 2], Function)] = &[
    ([0x451d34aca85cad7a, 0x656edeb2b719f9e1], Function::Erfc),
    ([0x45f3e993eef8a693, 0x34c36ac41783b921], Function::Of(UnaryFunction::ErfInv)),
    ([0x409e1de43083e811, 0xff8de7ae4e1ed0db], Function::Of(UnaryFunction::Lgamma)),
    ([0x3229e6abec49772f, 0x2ad2905c310bbf12], Function::Of(UnaryFunction::Digamma)),
    ([0xac67055542e3c05e, 0x542782f0d6297663], Function::Of(UnaryFunction::BesselI0e)),
    ([0x1c4f64eb9539fef8, 0x5e72c2bc84c496bc], Function::Of(UnaryFunction::BesselI1e)),
];

/// Functions that exporters write as formulas.
#[derive(Clone, Copy)]
enum Function {
    Erfc,
    Of(UnaryFunction),
}

/// Returns the function whose formula ends with `root`; `root` if it ends none.
pub fn recognized(trace: &mut Trace, root: NodeId) -> Result<NodeId> {
    let node = trace.node(root);
    if !matches!(node.dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16) {
        return Ok(root);
    }
    if let Some(parts) = parts_of_square(trace, root) {
        return numbers::real_part_of_square(trace, parts);
    }
    if let Some(tail) = tail_of_logarithm(trace, root) {
        return tail.recorded(trace);
    }
    let is_sign = |&operand: &NodeId| trace.node(operand).op == Op::Unary(UnaryOp::Sign);
    let ends_approximations = match node.op {
        Op::Select => true,
        // The sign of an odd function.
        Op::Binary(BinaryOp::Multiply) => trace.operands(node).iter().any(is_sign),
        Op::Binary(BinaryOp::Divide) | Op::ScalarBinary(BinaryOp::Divide) => {
            return match logistic(trace, root) {
                Some(x) => ops::elementwise::unary(trace, UnaryOp::Logistic, x),
                None => Ok(root),
            };
        }
        _ => false,
    };
    if !ends_approximations {
        return Ok(root);
    }
    match function_of(trace, root) {
        Some((Function::Erfc, x)) => ops::elementwise::special(trace, SpecialOp::Erfc, x),
        Some((Function::Of(function), x)) => ops::elementwise::unary_function(trace, function, x),
        None => Ok(root),
    }
}

/// Returns x and y of `select(is_finite(x) & |x| == |y|, 0, (x - y) (x + y))`, the real part of the square of a complex
/// number. The derivative of the 0 is not that of the square.
fn parts_of_square(trace: &Trace, root: NodeId) -> Option<[NodeId; 2]> {
    let operands = |id: NodeId, op: Op| {
        let node = trace.node(id);
        (node.op == op).then(|| trace.operands(node))
    };
    let &[pred, zero, product] = operands(root, Op::Select)? else { return None };
    let &[difference, sum] = operands(product, Op::Binary(BinaryOp::Multiply))? else { return None };
    let parts = operands(difference, Op::Binary(BinaryOp::Subtract))?;
    let &[x, y] = parts else { return None };
    let &[finite, equal] = operands(pred, Op::Binary(BinaryOp::And))? else { return None };
    let &[size_of_x, size_of_y] = operands(equal, Op::Compare(CompareOp::Eq))? else { return None };
    let is_square = operands(sum, Op::Binary(BinaryOp::Add))? == parts
        && operands(finite, Op::Unary(UnaryOp::IsFinite))? == [x]
        && operands(size_of_x, Op::Unary(UnaryOp::Abs))? == [x]
        && operands(size_of_y, Op::Unary(UnaryOp::Abs))? == [y]
        && splat(trace, zero)?.bits() == Scalar::new(trace.node(zero).dtype, ScalarValue::Float(0.0)).ok()?.bits();
    is_square.then_some([x, y])
}

/// `select(pred, -n, select(inner, log(n), other))`, as `log_ndtr` of JAX ends: where `pred` holds, n may be 0, and the
/// derivative of its logarithm, which is not selected there, is 0 / 0.
struct Tail {
    pred: NodeId,
    negated: NodeId,
    n: NodeId,
    inner: NodeId,
    other: NodeId,
}

fn tail_of_logarithm(trace: &Trace, root: NodeId) -> Option<Tail> {
    let operand = |id: NodeId, op: UnaryOp| {
        let node = trace.node(id);
        (node.op == Op::Unary(op)).then(|| trace.operands(node)[0])
    };
    let [pred, negated, rest] = selection(trace, root)?;
    let n = operand(negated, UnaryOp::Negate)?;
    let [inner, logarithm, other] = selection(trace, rest)?;
    (operand(logarithm, UnaryOp::Log)? == n).then_some(Tail { pred, negated, n, inner, other })
}

impl Tail {
    /// Records it with the logarithm of 1 where `pred` holds.
    fn recorded(&self, trace: &mut Trace) -> Result<NodeId> {
        let ty = trace.ty(self.n);
        let one = ops::creation::full(trace, &ty, ScalarValue::Float(1.0))?;
        let n = ops::elementwise::select(trace, self.pred, one, self.n)?;
        let logarithm = ops::elementwise::unary(trace, UnaryOp::Log, n)?;
        let rest = ops::elementwise::select(trace, self.inner, logarithm, self.other)?;
        ops::elementwise::select(trace, self.pred, self.negated, rest)
    }
}

/// Returns the operands of a selection. It may be a function of its own, which JAX makes of `jax.numpy.where`.
fn selection(trace: &Trace, id: NodeId) -> Option<[NodeId; 3]> {
    let node = trace.node(id);
    let node = match node.op {
        Op::Result => trace.node(trace.operands(node)[0]),
        _ => node,
    };
    let is_selection = |body: &Body| {
        let (values, results) = body.decode();
        let operands = values.last().map(|last| (last.op, &last.operands[..]));
        values.len() == 4 && results == [3] && operands == Some((Op::Select, &[0, 1, 2]))
    };
    match node.op {
        Op::Select => {}
        Op::Call if trace.bodies(node).all(|body| body.weight() == 1 && is_selection(body)) => {}
        _ => return None,
    }
    trace.operands(node).try_into().ok()
}

/// Returns the operand of `1 / (1 + exp(-x))`, whose derivative is NaN where the exponential overflows.
fn logistic(trace: &Trace, root: NodeId) -> Option<NodeId> {
    let of_one = |id: NodeId, op: BinaryOp, one_is_first: bool| {
        let node = trace.node(id);
        let is_one =
            |scalar: Scalar| Scalar::new(scalar.dtype(), ScalarValue::Float(1.0)).is_ok_and(|one| one == scalar);
        match (node.op, trace.operands(node)) {
            (Op::Binary(found), &[a, b]) if found == op => {
                if splat(trace, a).is_some_and(is_one) {
                    return Some(b);
                }
                (!one_is_first && splat(trace, b).is_some_and(is_one)).then_some(a)
            }
            (Op::ScalarBinary(found), &[x]) if found == op => trace.scalar(node).is_some_and(is_one).then_some(x),
            (Op::BinaryScalar(found), &[x]) if found == op && !one_is_first => {
                trace.scalar(node).is_some_and(is_one).then_some(x)
            }
            _ => None,
        }
    };
    let of = |id: NodeId, op: UnaryOp| {
        let node = trace.node(id);
        if node.op == Op::Unary(op) { Some(trace.operands(node)[0]) } else { None }
    };
    let sum = of_one(root, BinaryOp::Divide, true)?;
    let exponential = of_one(sum, BinaryOp::Add, false)?;
    of(of(exponential, UnaryOp::Exponential)?, UnaryOp::Negate)
}

/// Returns the scalar that is in every element of a node.
fn splat(trace: &Trace, mut id: NodeId) -> Option<Scalar> {
    loop {
        let node = trace.node(id);
        match node.op {
            Op::Full => return trace.scalar(node),
            Op::BroadcastTo | Op::Reshape => id = trace.operands(node)[0],
            _ => return None,
        }
    }
}

/// Finds the function whose formula ends with `root`, and its operand: a node through which everything passes that reaches
/// `root`, apart from constants.
fn function_of(trace: &Trace, root: NodeId) -> Option<(Function, NodeId)> {
    let mut open = BinaryHeap::from([root.0]);
    let mut operations = Vec::new();
    // Operands have smaller numbers than the operations that use them.
    while let Some(id) = open.pop() {
        while open.peek() == Some(&id) {
            open.pop();
        }
        let (id, node) = (NodeId(id), trace.node(NodeId(id)));
        if open.is_empty() && operations.len() >= *OPERATIONS.start() {
            let fingerprint = fingerprint(trace, id, &operations);
            if let Some((_, function)) = FORMULAS.iter().find(|(known, _)| known.contains(&fingerprint)) {
                return Some((*function, id));
            }
        }
        if operations.len() == *OPERATIONS.end() || !ops::definition(node.op).is_elementwise() {
            return None;
        }
        operations.push(id);
        let operands = trace.operands(node).iter().filter(|&&operand| splat(trace, operand).is_none());
        open.extend(operands.map(|operand| operand.0));
    }
    None
}

/// Returns a hash of operations between the operand `x` and the result, which comes first: of their kinds, dtypes,
/// attributes and constants, in whatever order they were recorded.
fn fingerprint(trace: &Trace, x: NodeId, operations: &[NodeId]) -> u64 {
    let constant = |scalar: Scalar| hash(&[format!("{}", scalar.dtype()).as_bytes(), &scalar.bits().to_le_bytes()]);
    let mut known: FxHashMap<NodeId, [u8; 8]> = FxHashMap::default();
    known.insert(x, hash(&[format!("x {}", trace.node(x).dtype).as_bytes()]));
    for &id in operations.iter().rev() {
        let node = trace.node(id);
        let kind = format!("{:?} {}", node.op, node.dtype);
        let words: Vec<u8> = trace.words(node).iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut parts = vec![hash(&[kind.as_bytes()]), hash(&[&words])];
        parts.extend(trace.scalar(node).map(constant));
        parts.extend(trace.operands(node).iter().map(|operand| match known.get(operand) {
            Some(hash) => *hash,
            None => splat(trace, *operand).map_or([0; 8], constant),
        }));
        known.insert(id, hash(&[&parts.concat()]));
    }
    u64::from_le_bytes(operations.first().map_or([0; 8], |root| known[root]))
}

/// Returns 64 bits of the hash of texts.
fn hash(texts: &[&[u8]]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text);
    }
    let hash = hasher.finalize();
    std::array::from_fn(|i| hash.as_bytes()[i])
}
