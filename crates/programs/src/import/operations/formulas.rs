//! Formulas of special functions, which become the library's functions. JAX exports the complementary error function (a
//! part of GELU), the logarithm of the gamma function and others as approximations for parts of their domains, and
//! selections between them. A derivative of such a formula is NaN wherever an approximation that is not selected
//! overflows, as that of erfc near 0; the function has a derivative of its own. Formulas of complex numbers select
//! constants on the axes and where the parts have one size, as the imaginary part of exp does on the real axis: the
//! derivative of a constant is 0.
//!
//! A formula is recognized if it has the same operations on the same constants as StableHLO's expansion of the
//! operation of CHLO, which exporters write. One that differs in any way is imported as it is; but the logarithm in
//! `select(p, -n, select(q, log(n), r))` is that of 1 where it is not selected, whatever `n`, `q` and `r` are.

use super::numbers;
use base::error::Result;
use base::types::{DType, Kind, Scalar, ScalarValue};
use ir::{BinaryOp, Body, CompareOp, NodeId, Op, SpecialOp, Trace, UnaryFunction, UnaryOp};
use ops::nn::ActivationOp;
use rustc_hash::FxHashMap;
use std::collections::BinaryHeap;

/// Numbers of operations that the formulas of floats and those of complex numbers have.
const OPERATIONS: std::ops::RangeInclusive<usize> = 20..=300;
const COMPLEX_OPERATIONS: std::ops::RangeInclusive<usize> = 12..=120;

/// Fingerprints of the formulas in f32 and in f64, or in c64 and in c128, as JAX 0.10.2 writes them
/// (`formulas.mlirbc` and `complex_formulas.mlirbc` in `tests/data/mlir`), and the functions that they compute.
const FORMULAS: &[([u64; 2], Function)] = &[
    ([0x451d34aca85cad7a, 0x656edeb2b719f9e1], Function::Erfc),
    ([0x45f3e993eef8a693, 0x34c36ac41783b921], Function::Of(UnaryFunction::ErfInv)),
    ([0x409e1de43083e811, 0xff8de7ae4e1ed0db], Function::Of(UnaryFunction::Lgamma)),
    ([0x3229e6abec49772f, 0x2ad2905c310bbf12], Function::Of(UnaryFunction::Digamma)),
    ([0xac67055542e3c05e, 0x542782f0d6297663], Function::Of(UnaryFunction::BesselI0e)),
    ([0x1c4f64eb9539fef8, 0x5e72c2bc84c496bc], Function::Of(UnaryFunction::BesselI1e)),
    ([0xa7f3543c64a19007, 0x6c5156430c7f18c3], Function::Operation(UnaryOp::Sqrt)),
    ([0x509b7d0c68c2de35, 0x7d2831763aea3c65], Function::Operation(UnaryOp::Log)),
    ([0x2ef6262c43f8dfe3, 0xc3f7f1d0c9c6e535], Function::Operation(UnaryOp::LogPlusOne)),
    ([0xa0445763fc388882, 0x086df7dc735af621], Function::Operation(UnaryOp::Exponential)),
    ([0xce26d0243c53b723, 0xe8cca3b350d37278], Function::Operation(UnaryOp::Sine)),
    ([0xd5a34c8e2e960e5a, 0x199197773c252306], Function::Operation(UnaryOp::Cosine)),
    ([0x7f2cb9f4ccb7442a, 0xf4e64a425776c5c4], Function::Of(UnaryFunction::Atan)),
];

/// Functions that exporters write as formulas.
#[derive(Clone, Copy)]
enum Function {
    Erfc,
    Operation(UnaryOp),
    Of(UnaryFunction),
}

/// Returns the function whose formula ends with `root`; `root` if it ends none.
pub fn recognized(trace: &mut Trace, root: NodeId) -> Result<NodeId> {
    let node = trace.node(root);
    let is_complex = node.dtype.kind() == Kind::Complex;
    if !is_complex && !matches!(node.dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16) {
        return Ok(root);
    }
    if matches!(node.op, Op::Binary(BinaryOp::Divide) | Op::ScalarBinary(BinaryOp::Divide)) {
        return match logistic(trace, root) {
            Some(x) => ops::elementwise::unary(trace, UnaryOp::Logistic, x),
            None => Ok(root),
        };
    }
    if let Some(product) = product_at_0(trace, root) {
        return numbers::product_at_0(trace, product);
    }
    if is_complex {
        return if matches!(node.op, Op::Complex | Op::Select) { function_at(trace, root) } else { Ok(root) };
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
        _ => false,
    };
    if !ends_approximations {
        return Ok(root);
    }
    function_at(trace, root)
}

/// Records the function whose formula ends with `root`; returns `root` if it ends none.
fn function_at(trace: &mut Trace, root: NodeId) -> Result<NodeId> {
    match function_of(trace, root) {
        Some((Function::Erfc, x)) => ops::elementwise::special(trace, SpecialOp::Erfc, x),
        Some((Function::Of(function), x)) => ops::elementwise::unary_function(trace, function, x),
        Some((Function::Operation(op), x)) => ops::elementwise::unary(trace, op, x),
        None => Ok(root),
    }
}

/// Returns the activation function of which JAX exports calls under this name, which may end in `_` and a number. JAX
/// defines its derivative as 0 at 0 and at 6, where the derivative of the exported maxima and minima is 1/2.
pub fn activation_named(function: &str) -> Option<ActivationOp> {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = function.rsplit_once('_').filter(|(_, number)| is_number(number)).map_or(function, |(name, _)| name);
    [ActivationOp::Relu, ActivationOp::Relu6].into_iter().find(|op| op.name() == name)
}

/// Records an activation function of `x` in place of `root`, if `root` is its formula; otherwise returns `root`.
pub fn activation(trace: &mut Trace, op: ActivationOp, x: NodeId, root: NodeId) -> Result<NodeId> {
    let bounded = |id: NodeId, by: BinaryOp, bound: f64| {
        let node = trace.node(id);
        let is_bound = |scalar: Scalar| {
            Scalar::new(scalar.dtype(), ScalarValue::Float(bound)).is_ok_and(|bound| bound.bits() == scalar.bits())
        };
        match (node.op, trace.operands(node)) {
            (Op::Binary(found), &[value, limit]) if found == by => {
                splat(trace, limit).is_some_and(is_bound).then_some(value)
            }
            (Op::BinaryScalar(found), &[value]) if found == by => {
                trace.scalar(node).is_some_and(is_bound).then_some(value)
            }
            _ => None,
        }
    };
    let positive = if op == ActivationOp::Relu { Some(root) } else { bounded(root, BinaryOp::Minimum, 6.0) };
    match positive.and_then(|positive| bounded(positive, BinaryOp::Maximum, 0.0)) {
        Some(operand) if operand == x => ops::nn::activation(trace, op, x),
        _ => Ok(root),
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

/// Returns the operands and g of `select((x != 0) | (y != y), x g, 0)`, as JAX writes x log(y) and x log1p(y). The
/// derivative of the 0 by x is not that of the product.
fn product_at_0(trace: &Trace, root: NodeId) -> Option<[NodeId; 4]> {
    let operands = |id: NodeId, op: Op| {
        let node = trace.node(id);
        (node.op == op).then(|| trace.operands(node))
    };
    let is_0 = |id: NodeId| splat(trace, id).is_some_and(|scalar| scalar.bits() == 0);
    let [pred, product, zero] = selection(trace, root)?;
    let &[x, g] = operands(product, Op::Binary(BinaryOp::Multiply))? else { return None };
    let &[differs, is_nan] = operands(pred, Op::Binary(BinaryOp::Or))? else { return None };
    let &[compared, bound] = operands(differs, Op::Compare(CompareOp::Ne))? else { return None };
    let &[y, same] = operands(is_nan, Op::Compare(CompareOp::Ne))? else { return None };
    (compared == x && y == same && is_0(bound) && is_0(zero)).then_some([pred, product, zero, g])
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
    let sizes = if trace.node(root).dtype.kind() == Kind::Complex { COMPLEX_OPERATIONS } else { OPERATIONS };
    let mut open = BinaryHeap::from([root.0]);
    let mut operations = Vec::new();
    // Operands have smaller numbers than the operations that use them.
    while let Some(id) = open.pop() {
        while open.peek() == Some(&id) {
            open.pop();
        }
        let (id, node) = (NodeId(id), trace.node(NodeId(id)));
        if open.is_empty() && operations.len() >= *sizes.start() {
            let fingerprint = fingerprint(trace, id, &operations);
            if let Some((_, function)) = FORMULAS.iter().find(|(known, _)| known.contains(&fingerprint)) {
                return Some((*function, id));
            }
        }
        if operations.len() == *sizes.end() || !ops::definition(node.op).is_elementwise() {
            return None;
        }
        operations.push(id);
        let operands = trace.operands(node).iter().filter(|&&operand| constant(trace, operand, CONSTANT).is_none());
        open.extend(operands.map(|operand| operand.0));
    }
    None
}

/// Returns a hash of operations between the operand `x` and the result, which comes first: of their kinds, dtypes,
/// attributes and constants, in whatever order they were recorded.
fn fingerprint(trace: &Trace, x: NodeId, operations: &[NodeId]) -> u64 {
    let mut known: FxHashMap<NodeId, [u8; 8]> = FxHashMap::default();
    known.insert(x, hash(&[format!("x {}", trace.node(x).dtype).as_bytes()]));
    for &id in operations.iter().rev() {
        let operands = trace.operands(trace.node(id)).iter();
        let operands = operands.map(|operand| match known.get(operand) {
            Some(hash) => *hash,
            None => constant(trace, *operand, CONSTANT).unwrap_or_default(),
        });
        let operands: Vec<[u8; 8]> = operands.collect();
        known.insert(id, operation(trace, id, &operands));
    }
    u64::from_le_bytes(operations.first().map_or([0; 8], |root| known[root]))
}

/// Largest depth of operations on constants alone. A program can share these between formulas.
const CONSTANT: usize = 3;

/// Returns the hash of a value that depends on constants alone, by operations of at most this depth.
fn constant(trace: &Trace, id: NodeId, depth: usize) -> Option<[u8; 8]> {
    if let Some(scalar) = splat(trace, id) {
        return Some(scalar_hash(scalar));
    }
    let node = trace.node(id);
    let operands = trace.operands(node);
    if depth == 0 || operands.is_empty() || !ops::definition(node.op).is_elementwise() {
        return None;
    }
    let operands: Option<Vec<[u8; 8]>> = operands.iter().map(|&operand| constant(trace, operand, depth - 1)).collect();
    Some(operation(trace, id, &operands?))
}

fn scalar_hash(scalar: Scalar) -> [u8; 8] {
    hash(&[format!("{}", scalar.dtype()).as_bytes(), &scalar.bits().to_le_bytes()])
}

/// Returns the hash of an operation on operands with these hashes.
fn operation(trace: &Trace, id: NodeId, operands: &[[u8; 8]]) -> [u8; 8] {
    let node = trace.node(id);
    let kind = format!("{:?} {}", node.op, node.dtype);
    let words: Vec<u8> = trace.words(node).iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut parts = vec![hash(&[kind.as_bytes()]), hash(&[&words])];
    parts.extend(trace.scalar(node).map(scalar_hash));
    parts.extend(operands);
    hash(&[&parts.concat()])
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
