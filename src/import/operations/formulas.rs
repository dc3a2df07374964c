//! Formulas of special functions, which become the library's functions. JAX exports the complementary error function (a
//! part of GELU), the logarithm of the gamma function and others as approximations for parts of their domains, and
//! selections between them. A derivative of such a formula is NaN wherever an approximation that is not selected
//! overflows, as that of erfc near 0; the function has a derivative of its own.
//!
//! A formula is recognized by its values, whoever wrote it: a part of the program between one operand and one result,
//! of elementwise operations and constants, that has the function's value at each place of a table.

use crate::error::Result;
use crate::ir::{BinaryOp, NodeId, Op, SpecialOp, Trace, UnaryFunction, UnaryOp};
use crate::native;
use crate::native::Array;
use crate::ops;
use crate::types::{DType, Scalar, ScalarValue, TensorType};
use rustc_hash::FxHashMap;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

/// Values of a function: operands, which are numbers of f32, and results. They are SciPy's.
type Table = &'static [(f64, f64)];

/// Records a function of the library.
type Record = fn(&mut Trace, NodeId) -> Result<NodeId>;

/// Number of operations of the formulas that are looked for.
const OPERATIONS: std::ops::RangeInclusive<usize> = 20..=300;

/// The functions that exporters write as formulas.
const FUNCTIONS: &[(Table, Record)] = &[
    (ERFC, |trace, x| ops::elementwise::special(trace, SpecialOp::Erfc, x)),
    (ERF_INV, |trace, x| ops::elementwise::unary_function(trace, UnaryFunction::ErfInv, x)),
    (LGAMMA, |trace, x| ops::elementwise::unary_function(trace, UnaryFunction::Lgamma, x)),
    (DIGAMMA, |trace, x| ops::elementwise::unary_function(trace, UnaryFunction::Digamma, x)),
    (BESSEL_I1E, |trace, x| ops::elementwise::unary_function(trace, UnaryFunction::BesselI1e, x)),
];

/// Returns the function whose formula ends with `root`; `root` if it ends none.
pub fn recognized(trace: &mut Trace, root: NodeId) -> Result<NodeId> {
    let node = trace.node(root);
    if !matches!(node.dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16) {
        return Ok(root);
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
    let Some(formula) = Formula::ending(trace, root) else { return Ok(root) };
    match FUNCTIONS.iter().find(|(table, _)| formula.has_values(trace, table)) {
        Some((_, record)) => record(trace, formula.x),
        None => Ok(root),
    }
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

/// Elementwise operations between one operand and one result.
struct Formula {
    x: NodeId,
    /// In the order in which they are computed; the last one is the result.
    operations: Vec<NodeId>,
}

impl Formula {
    /// Finds the operations from which a result follows and the one operand of them all; None if there are several
    /// operands, or other operations between.
    fn ending(trace: &Trace, root: NodeId) -> Option<Formula> {
        let mut open = BinaryHeap::from([root.0]);
        let mut operations = Vec::new();
        // Operands have smaller numbers than the operations that use them.
        while let Some(id) = open.pop() {
            while open.peek() == Some(&id) {
                open.pop();
            }
            let (id, node) = (NodeId(id), trace.node(NodeId(id)));
            if open.is_empty() && operations.len() >= *OPERATIONS.start() {
                operations.reverse();
                return Some(Formula { x: id, operations });
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

    /// Whether the formula has the values of a table.
    fn has_values(&self, trace: &Trace, table: &[(f64, f64)]) -> bool {
        let dtype = trace.node(self.x).dtype;
        let ty = |dtype: DType| TensorType::new(dtype, &[table.len() as i64]);
        let operands: Vec<u8> = table.iter().flat_map(|(x, _)| x.to_le_bytes()).collect();
        let wide = Array::from_bytes(&ty(DType::F64), &operands).and_then(|x| native::convert(&x, dtype));
        let Some(values) = wide.ok().and_then(|x| self.values(trace, &x, &ty)) else { return false };
        let tolerance = match dtype {
            DType::F64 => 1e-9,
            DType::F32 => 5e-5,
            _ => return false,
        };
        let is_near = |(value, &(_, wanted)): (&f64, &(f64, f64))| {
            let unit = if wanted == 0.0 { 1.0 } else { wanted.abs() };
            (value - wanted).abs() <= tolerance * unit
        };
        values.len() == table.len() && values.iter().zip(table).all(is_near)
    }

    /// The values of the formula at a list of operands.
    fn values(&self, trace: &Trace, x: &Array, ty: &dyn Fn(DType) -> TensorType) -> Option<Vec<f64>> {
        let mut known: FxHashMap<NodeId, Array> = FxHashMap::default();
        known.insert(self.x, x.clone());
        let mut last = None;
        for &id in &self.operations {
            let node = trace.node(id);
            for &operand in trace.operands(node) {
                if let Entry::Vacant(place) = known.entry(operand) {
                    let scalar = splat(trace, operand)?;
                    place.insert(native::full(&ty(scalar.dtype()), scalar).ok()?);
                }
            }
            let operands: Vec<&Array> = trace.operands(node).iter().map(|operand| &known[operand]).collect();
            let made =
                ops::evaluate(node.op, &ty(node.dtype), trace.words(node), trace.scalar(node), &operands).ok()?;
            last = Some(id);
            known.insert(id, made);
        }
        let result = native::convert(&known[&last?], DType::F64).ok()?;
        Some(result.elements::<f64>().to_vec())
    }
}

#[rustfmt::skip]
const ERFC: Table = &[
    (-8.0, 2.0),
    (-3.5, 1.9999992569016276),
    (-1.25, 1.9229001282564582),
    (-0.875, 1.7840750610598595),
    (-0.25, 1.276326390168237),
    (-0.0009765625, 1.0011019324300718),
    (0.0, 1.0),
    (0.0009765625, 0.9988980675699282),
    (0.125, 0.8596837951986662),
    (0.5, 0.4795001221869535),
    (0.9375, 0.18489759896560032),
    (1.0625, 0.13294173056504724),
    (1.5, 0.03389485352468927),
    (1.9375, 0.0061431936047867996),
    (2.25, 0.0014627165866811515),
    (3.0, 2.2090496998585445e-05),
    (4.5, 1.9661604415428878e-10),
    (6.0, 2.1519736712498913e-17),
    (8.0, 1.1224297172982928e-29),
];
#[rustfmt::skip]
const ERF_INV: Table = &[
    (-0.99609375, -2.0404520146056093),
    (-0.875, -1.084787040069283),
    (-0.5, -0.4769362762044699),
    (-0.0625, -0.05544594877278202),
    (0.0, 0.0),
    (0.0009765625, 0.0008654561979671376),
    (0.25, 0.2253120550121781),
    (0.625, 0.6273073477885589),
    (0.9375, 1.3171503349861307),
    (0.9990234375, 2.3314677736219473),
];
#[rustfmt::skip]
const LGAMMA: Table = &[
    (-6.75, -6.534154920186611),
    (-2.5, -0.05624371649767401),
    (-0.375, 1.3416587485006666),
    (0.0625, 2.7396316219462036),
    (0.25, 1.2880225246980774),
    (0.5, 0.5723649429247),
    (0.75, 0.20328095143129538),
    (1.0, 0.0),
    (1.5, -0.12078223763524526),
    (2.0, 0.0),
    (2.25, 0.1248717148923966),
    (3.0, 0.6931471805599453),
    (4.5, 2.4537365708424423),
    (10.0, 12.801827480081469),
    (100.0, 359.1342053695754),
    (4096.0, 29970.330294677326),
];
#[rustfmt::skip]
const DIGAMMA: Table = &[
    (-6.75, -1.1598010908954473),
    (-2.5, 1.1031566406452433),
    (-0.375, 1.2139579020901),
    (0.0625, -16.478853490060104),
    (0.25, -4.2274535333762655),
    (0.5, -1.9635100260214235),
    (0.75, -1.0858608797864722),
    (1.0, -0.5772156649015329),
    (1.5, 0.03648997397857652),
    (2.0, 0.42278433509846713),
    (2.25, 0.5725464666237347),
    (3.0, 0.9227843350984671),
    (4.5, 1.388870926359529),
    (10.0, 2.251752589066721),
    (100.0, 4.600161852738088),
    (4096.0, 8.317644091439789),
];
#[rustfmt::skip]
const BESSEL_I1E: Table = &[
    (-20.0, -0.08750622218328867),
    (-9.0, -0.1272249839358912),
    (-2.5, -0.20658464953126654),
    (-0.5, -0.15642080318487173),
    (0.0, 0.0),
    (0.25, 0.0981126286973682),
    (1.0, 0.2079104153497085),
    (4.0, 0.1787508395024353),
    (7.5, 0.13804121154855414),
    (8.5, 0.13054935509459586),
    (30.0, 0.07191633059864755),
    (512.0, 0.0176180033159533),
];
