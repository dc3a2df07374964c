//! Records applications of traced computations: calls, loops, branches and scans. Argument types are checked here. If a
//! result of a call is one of its arguments unchanged, that argument's node is returned.

use base::error;
use base::error::Result;
use ir::{Body, NodeId, Op, Trace, attributes};

use crate::creation::constants::nothing;

use base::types::{DType, Dims, TensorType, element_count};
use std::sync::Arc;

attributes! {
    /// Attributes of `while`.
    pub struct WhileAttributes {
        /// Number of carried values.
        pub carried: usize,
        /// Number of captures of the condition.
        pub captured_by_condition: usize,
    }

    /// Attributes of `cond`.
    pub struct IfAttributes {
        /// Number of arguments.
        pub arguments: usize,
        /// Number of captures of the first body.
        pub captured_by_true: usize,
    }

    /// Attributes of `case`. The first word is the number of bodies, which [`Op::body_count`] reads.
    pub struct CaseAttributes {
        /// Number of captures of each body.
        pub captured: Vec<usize>,
        /// Number of arguments.
        pub arguments: usize,
    }

    /// Attributes of `scan`.
    pub struct ScanAttributes {
        /// Number of carried values.
        pub carried: usize,
        /// Number of arrays that are read slice by slice.
        pub arrays: usize,
        /// Number of iterations.
        pub length: i64,
        /// Whether the iterations go from the last slice to the first.
        pub reverse: bool,
    }
}

/// A body, with the nodes of its captured values.
pub struct Applied<'a> {
    /// The body to apply.
    pub body: &'a Arc<Body>,
    /// One node for each capture, in order.
    pub captures: &'a [NodeId],
}

/// Records the application of a body to arguments.
pub fn call(trace: &mut Trace, applied: &Applied, arguments: &[NodeId]) -> Result<Vec<NodeId>> {
    check_arguments(trace, "args", arguments, applied.body.parameters(), "the computation")?;
    let operands = [arguments, applied.captures].concat();
    let body = applied.body;
    let through: Vec<Option<NodeId>> =
        (0..body.results().len()).map(|i| body.passed_through(i).map(|parameter| operands[parameter])).collect();
    if let Some(all) = through.iter().copied().collect::<Option<Vec<NodeId>>>() {
        return Ok(all);
    }
    let made = trace.application(Op::Call, &operands, &(), &[body], body.results());
    Ok(through.into_iter().zip(made).map(|(through, made)| through.unwrap_or(made)).collect())
}

/// Records the operations of a body on arguments: the values of a [`call`], without one.
pub fn inline(trace: &mut Trace, applied: &Applied, arguments: &[NodeId]) -> Result<Vec<NodeId>> {
    check_arguments(trace, "args", arguments, applied.body.parameters(), "the computation")?;
    trace.replay(applied.body, &[arguments, applied.captures].concat())
}

/// Records a loop: applies `body` to the loop-carried values, initially `init`, while `condition` returns true for
/// them.
pub fn while_loop(trace: &mut Trace, condition: &Applied, body: &Applied, init: &[NodeId]) -> Result<Vec<NodeId>> {
    check_loop(trace, condition, body, init)?;
    let operands = [init, condition.captures, body.captures].concat();
    let attributes = WhileAttributes { carried: init.len(), captured_by_condition: condition.captures.len() };
    Ok(trace.application(Op::While, &operands, &attributes, &[condition.body, body.body], body.body.results()))
}

/// Returns an error unless the computations of a loop fit each other and the initial values.
pub(super) fn check_loop(trace: &Trace, condition: &Applied, body: &Applied, init: &[NodeId]) -> Result<()> {
    check_arguments(trace, "init", init, condition.body.parameters(), "cond")?;
    check_arguments(trace, "init", init, body.body.parameters(), "body")?;
    match condition.body.results() {
        [only] if *only == TensorType::new(DType::Pred, &[]) => {}
        other => return Err(error!(InvalidArgument, "cond: it gives {}; want pred[]", listed(other))),
    }
    check_types("body: its results", body.body.results(), "the values that it carries", body.body.parameters())
}

/// Records the application of `on_true` or `on_false` to arguments, selected by `pred`.
pub fn branch(
    trace: &mut Trace,
    pred: NodeId,
    on_true: &Applied,
    on_false: &Applied,
    arguments: &[NodeId],
) -> Result<Vec<NodeId>> {
    let ty = trace.ty(pred);
    if ty != TensorType::new(DType::Pred, &[]) {
        return Err(error!(InvalidArgument, "pred: it is {ty}; want pred[]"));
    }
    check_arguments(trace, "args", arguments, on_true.body.parameters(), "on_true")?;
    check_arguments(trace, "args", arguments, on_false.body.parameters(), "on_false")?;
    check_types("on_false: its results", on_false.body.results(), "those of on_true", on_true.body.results())?;
    let operands = [&[pred], arguments, on_true.captures, on_false.captures].concat();
    let attributes = IfAttributes { arguments: arguments.len(), captured_by_true: on_true.captures.len() };
    let bodies = [on_true.body, on_false.body];
    Ok(trace.application(Op::If, &operands, &attributes, &bodies, on_true.body.results()))
}

/// Records the application of branch `index` to arguments; of the last branch, if `index` is out of range.
pub fn case(trace: &mut Trace, index: NodeId, branches: &[Applied], arguments: &[NodeId]) -> Result<Vec<NodeId>> {
    let ty = trace.ty(index);
    if !ty.dtype.is_integer() || !ty.dims.is_empty() {
        return Err(error!(InvalidArgument, "index: it is {ty}; want an integer scalar"));
    }
    let [first, others @ ..] = branches else {
        return Err(error!(InvalidArgument, "n_branches: 0 given; want at least 1"));
    };
    for (i, branch) in branches.iter().enumerate() {
        check_arguments(trace, "args", arguments, branch.body.parameters(), &format!("branches[{i}]"))?;
        let what = format!("branches[{i}]: its results");
        check_types(&what, branch.body.results(), "those of branches[0]", first.body.results())?;
    }
    if others.is_empty() {
        return call(trace, first, arguments);
    }
    let mut operands = [&[index], arguments].concat();
    branches.iter().for_each(|branch| operands.extend_from_slice(branch.captures));
    let captured = branches.iter().map(|branch| branch.captures.len()).collect();
    let attributes = CaseAttributes { captured, arguments: arguments.len() };
    let bodies: Vec<&Arc<Body>> = branches.iter().map(|branch| branch.body).collect();
    Ok(trace.application(Op::Case, &operands, &attributes, &bodies, first.body.results()))
}

/// Records a scan: applies `body` `length` times, to the carried values and to one slice of each array. Returns the
/// final carried values, then the other results, stacked.
pub fn scan(
    trace: &mut Trace,
    body: &Applied,
    init: &[NodeId],
    arrays: &[NodeId],
    length: i64,
    reverse: bool,
) -> Result<Vec<NodeId>> {
    let (parameters, results) = (body.body.parameters(), body.body.results());
    let carried = init.len();
    let wanted = parameters.len();
    if carried + arrays.len() != wanted {
        return Err(error!(
            InvalidArgument,
            "init, xs: {carried} and {} given; body takes {wanted} parameters",
            arrays.len()
        ));
    }
    check_arguments(trace, "init", init, &parameters[..carried], "body")?;
    if results.len() < carried {
        return Err(error!(InvalidArgument, "body: it gives {} results; it carries {carried}", results.len()));
    }
    check_types("body: its first results", &results[..carried], "what it carries", &parameters[..carried])?;
    let length = scan_length(trace, arrays, length)?;
    for (i, (&array, slice)) in arrays.iter().zip(&parameters[carried..]).enumerate() {
        let (ty, wanted) = (trace.ty(array), stacked(slice, length));
        if ty != wanted {
            return Err(error!(
                InvalidArgument,
                "xs: xs[{i}] is {ty}; body's parameter {} is {slice}, and {length} of them are {wanted}",
                carried + i
            ));
        }
    }
    let mut types = results[..carried].to_vec();
    types.extend(results[carried..].iter().map(|ty| stacked(ty, length)));
    types.iter().try_for_each(|ty| element_count(&ty.dims).map(drop))?;
    if length == 0 {
        let stacks: Vec<NodeId> = types[carried..].iter().map(|ty| nothing(trace, ty)).collect::<Result<_>>()?;
        return Ok([init, &stacks].concat());
    }
    let operands = [init, arrays, body.captures].concat();
    let attributes = ScanAttributes { carried, arrays: arrays.len(), length, reverse };
    Ok(trace.application(Op::Scan, &operands, &attributes, &[body.body], &types))
}

/// Returns the number of slices, `length`; an error if it is negative or an array has another number of slices.
fn scan_length(trace: &Trace, arrays: &[NodeId], length: i64) -> Result<i64> {
    for (i, &array) in arrays.iter().enumerate() {
        let ty = trace.ty(array);
        match ty.dims.first() {
            Some(&slices) if slices == length => {}
            _ => return Err(error!(InvalidArgument, "xs: xs[{i}] is {ty}; want {length} slices (length)")),
        }
    }
    if length < 0 {
        return Err(error!(InvalidArgument, "length: {length} given; want at least 0"));
    }
    Ok(length)
}

/// Type of `length` stacked slices.
fn stacked(slice: &TensorType, length: i64) -> TensorType {
    let mut dims = Dims::from_slice(&[length]);
    dims.extend_from_slice(&slice.dims);
    TensorType { dtype: slice.dtype, dims }
}

fn check_arguments(trace: &Trace, name: &str, nodes: &[NodeId], wanted: &[TensorType], whose: &str) -> Result<()> {
    if nodes.len() != wanted.len() {
        return Err(error!(
            InvalidArgument,
            "{name}: {} given; {whose} takes {} parameters",
            nodes.len(),
            wanted.len()
        ));
    }
    for (i, (&node, wanted)) in nodes.iter().zip(wanted).enumerate() {
        let ty = trace.ty(node);
        if ty != *wanted {
            return Err(error!(InvalidArgument, "{name}: {name}[{i}] is {ty}; {whose}'s parameter {i} is {wanted}"));
        }
    }
    Ok(())
}

/// Returns an error unless two lists of types are equal.
pub(crate) fn check_types(what: &str, types: &[TensorType], whose: &str, wanted: &[TensorType]) -> Result<()> {
    if types != wanted {
        return Err(error!(InvalidArgument, "{what} are {}; {whose} are {}", listed(types), listed(wanted)));
    }
    Ok(())
}

fn listed(types: &[TensorType]) -> String {
    if types.is_empty() {
        return "none".to_string();
    }
    types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(", ")
}
