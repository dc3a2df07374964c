//! Loops and branches that apply computations of random signatures, right and wrong ones.

use crate::both::{Both, Operand};
use crate::draw::Draw;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{Body, NodeId, Trace, take_body};
use lazyxla_xla_rs::element_type;
use ops::control::{self, Applied};
use ops::creation;
use std::fmt;
use std::sync::Arc;
use xla::{Shape, XlaBuilder, XlaComputation, XlaOp};

/// Types of the parameters and of the results of a computation. A result is the first parameter of its type, or a
/// constant if there is none.
struct Signature {
    parameters: Vec<TensorType>,
    results: Vec<TensorType>,
}

/// Whether a computation in a builder has its single parameter, or its single result, as an array. Otherwise it has a
/// tuple.
#[derive(Clone, Copy)]
struct Bare {
    parameter: bool,
    result: bool,
}

impl Signature {
    /// Index of the parameter that is a result of this type.
    fn source(&self, ty: &TensorType) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter == ty)
    }

    /// Traces the computation.
    fn body(&self) -> Result<Arc<Body>> {
        let mut trace = Trace::new();
        let parameters: Vec<NodeId> = self.parameters.iter().map(|ty| trace.parameter(ty.clone())).collect();
        let mut results = Vec::new();
        for ty in &self.results {
            results.push(match self.source(ty) {
                Some(index) => parameters[index],
                // f8e8m0fnu has no 0.
                None => creation::full(&mut trace, ty, ScalarValue::Signed(1))?,
            });
        }
        Ok(take_body(&trace, &parameters, &results).unwrap().0)
    }

    /// Builds the computation.
    fn computation(&self, bare: Bare) -> xla::Result<XlaComputation> {
        let builder = XlaBuilder::new("computation");
        let shape = |ty: &TensorType| Shape::array_with_type(element_type(ty.dtype), ty.dims.to_vec());
        let shapes: Vec<Shape> = self.parameters.iter().map(shape).collect();
        let given = if bare.parameter {
            vec![builder.parameter_s(0, &shapes[0], "parameter")?]
        } else {
            let tuple = builder.parameter_s(0, &Shape::tuple(shapes), "parameters")?;
            let element = |index: usize| tuple.get_tuple_element(index as i64);
            (0..self.parameters.len()).map(element).collect::<xla::Result<Vec<XlaOp>>>()?
        };
        let mut results = Vec::new();
        for ty in &self.results {
            results.push(match self.source(ty) {
                Some(index) => given[index].clone(),
                None => builder.zero(element_type(ty.dtype))?.broadcast(&ty.dims)?,
            });
        }
        // The crate builds the computation of the last operation, whichever it is called on.
        if bare.result { results[0].reshape(&self.results[0].dims)?.build() } else { builder.tuple(&results)?.build() }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let listed = |types: &[TensorType]| types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(" ");
        write!(f, "({}) -> ({})", listed(&self.parameters), listed(&self.results))
    }
}

/// A list of types.
fn types(draw: &mut Draw, least: i64, most: i64) -> Vec<TensorType> {
    (0..draw.between(least, most)).map(|_| draw.ty()).collect()
}

/// A list that mostly equals another one, and is empty only if that is.
fn variant(draw: &mut Draw, types: &[TensorType]) -> Vec<TensorType> {
    let mut all: Vec<TensorType> =
        types.iter().map(|ty| if draw.one_in(24) { draw.like(ty) } else { ty.clone() }).collect();
    match draw.below(32) {
        0 => all.push(draw.ty()),
        1 if all.len() > 1 => drop(all.pop()),
        _ => {}
    }
    all
}

/// The type of a predicate, mostly `pred[]`.
fn predicate(draw: &mut Draw) -> TensorType {
    let scalar = TensorType::new(DType::Pred, &[]);
    if draw.one_in(10) { draw.like(&scalar) } else { scalar }
}

fn operands(both: &mut Both, types: &[TensorType]) -> Vec<Operand> {
    types.iter().map(|ty| both.operand(ty)).collect()
}

/// The operands of a computation: an array, or a tuple.
fn gathered(both: &Both, operands: &[Operand], is_bare: bool) -> xla::Result<XlaOp> {
    if is_bare {
        return Ok(operands[0].op.clone());
    }
    let all: Vec<XlaOp> = operands.iter().map(|operand| operand.op.clone()).collect();
    both.builder.tuple(&all)
}

fn nodes(operands: &[Operand]) -> Vec<NodeId> {
    operands.iter().map(|operand| operand.node).collect()
}

/// True in one case of two, if each list has one type.
fn is_bare(draw: &mut Draw, lists: &[&[TensorType]]) -> bool {
    lists.iter().all(|types| types.len() == 1) && draw.one_in(2)
}

pub fn while_loop(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let carried = types(draw, 1, 3);
    let init = variant(draw, &carried);
    let mut verdict = vec![predicate(draw)];
    if draw.one_in(24) {
        verdict.push(predicate(draw));
    }
    let condition = Signature { parameters: variant(draw, &carried), results: verdict };
    let body = Signature { parameters: variant(draw, &carried), results: variant(draw, &carried) };
    let bare = is_bare(draw, &[&init, &condition.parameters, &body.parameters, &body.results]);
    both.arguments = format!("condition {condition} body {body}, arrays: {bare}");
    let init = operands(&mut both, &init);
    both.ours(|trace| {
        let (condition, body) = (condition.body()?, body.body()?);
        let condition = Applied { body: &condition, captures: &[] };
        let body = Applied { body: &body, captures: &[] };
        control::while_loop(trace, &condition, &body, &nodes(&init))
    });
    let of_condition = Bare { parameter: bare, result: condition.results.len() == 1 };
    let made = condition.computation(of_condition).and_then(|condition| {
        let body = body.computation(Bare { parameter: bare, result: bare })?;
        XlaOp::while_(condition, body, gathered(&both, &init, bare)?)
    });
    both.theirs(made);
    both
}

/// XLA's branches have an operand each, here both have the same ones.
pub fn conditional(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let pred = both.operand(&predicate(draw));
    let (taken, given) = (types(draw, 0, 3), types(draw, 1, 3));
    let arguments = variant(draw, &taken);
    let [on_true, on_false] =
        [0, 1].map(|_| Signature { parameters: variant(draw, &taken), results: variant(draw, &given) });
    let bare = Bare {
        parameter: is_bare(draw, &[&arguments, &on_true.parameters, &on_false.parameters]),
        result: is_bare(draw, &[&on_true.results, &on_false.results]),
    };
    both.arguments = format!("on true {on_true} on false {on_false}, arrays: {} {}", bare.parameter, bare.result);
    let arguments = operands(&mut both, &arguments);
    both.ours(|trace| {
        let (on_true, on_false) = (on_true.body()?, on_false.body()?);
        let on_true = Applied { body: &on_true, captures: &[] };
        let on_false = Applied { body: &on_false, captures: &[] };
        control::branch(trace, pred.node, &on_true, &on_false, &nodes(&arguments))
    });
    let made = gathered(&both, &arguments, bare.parameter).and_then(|argument| {
        let (on_true, on_false) = (on_true.computation(bare)?, on_false.computation(bare)?);
        pred.op.conditional(argument.clone(), on_true, argument, on_false)
    });
    both.theirs(made);
    both
}
