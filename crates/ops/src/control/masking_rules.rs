//! Masking of applications of traced computations. Calls are recorded in place; bodies of loops and branches are
//! masked, and take sizes and scalars that change as further captures.

use super::apply::{
    Applied, CaseAttributes, IfAttributes, ScanAttributes, WhileAttributes, branch, case as case_of, scan as scan_of,
    while_loop,
};
use super::barrier::optimization_barrier;
use super::custom::{CustomAttributes, taken};
use crate::creation::constants::iota;
use crate::elementwise::compare_select::{compare, select};
use crate::masking::{Layout, Made, Outcome, Padded, PaddedSite, Recorder, merged, refused};
use base::types::{DType, TensorType};
use ir::sizes::{Form, Scope};
use ir::{Body, CompareOp, NodeId, Op, take_closed_body};
use smallvec::SmallVec;
use std::sync::Arc;

/// A parameter of a body: the type of its value, and where it is valid.
#[derive(Clone)]
struct Parameter {
    dtype: DType,
    dims: SmallVec<[Form; 4]>,
    layouts: Vec<Layout>,
}

/// A body that is masked, with its captures.
struct MaskedBody {
    body: Arc<Body>,
    captures: Vec<NodeId>,
    results: Vec<Padded>,
}

impl MaskedBody {
    fn applied(&self) -> Applied<'_> {
        Applied { body: &self.body, captures: &self.captures }
    }
}

/// Results of a body that is being masked, given its parameters and its results.
type Finish<'f> = &'f dyn Fn(&mut Recorder, &[Padded], &[Padded]) -> Outcome<Vec<NodeId>>;

impl<'s> PaddedSite<'s, '_> {
    /// A body of the operation.
    fn scope(&self, number: usize) -> Outcome<&'s Scope> {
        self.value.bodies.get(number).ok_or_else(|| refused("it has fewer computations"))
    }

    /// The operands in a range as parameters of a body.
    fn parameters(&self, range: std::ops::Range<usize>) -> Vec<Parameter> {
        let of = |operand: &Padded| Parameter {
            dtype: self.recorder.trace.node(operand.node).dtype,
            dims: operand.dims.clone(),
            layouts: operand.layouts.clone(),
        };
        self.operands[range].iter().map(of).collect()
    }

    /// Masks a body. The operands in `captured` are its captures; parameters beyond those of the scope are for `finish`
    /// alone.
    fn body(
        &mut self,
        number: usize,
        explicit: &[Parameter],
        further: &[Parameter],
        captured: std::ops::Range<usize>,
        finish: Finish,
    ) -> Outcome<MaskedBody> {
        let scope = self.scope(number)?;
        let mut inner = Recorder::new(self.recorder.bounds, true);
        let mut leaves = Vec::new();
        for parameter in explicit.iter().chain(further).chain(&self.parameters(captured.clone())) {
            let ty = TensorType { dtype: parameter.dtype, dims: inner.dims(&parameter.dims)? };
            let node = inner.trace.parameter(ty);
            leaves.push(Padded { node, layouts: parameter.layouts.clone(), dims: parameter.dims.clone() });
        }
        let own = explicit.len() + further.len();
        let arguments = [&leaves[..explicit.len()], &leaves[own..]].concat();
        let results = (self.walk)(&mut inner, scope, &arguments)?;
        let nodes = finish(&mut inner, &leaves, &results)?;
        let mut captures: Vec<NodeId> = self.operands[captured].iter().map(|operand| operand.node).collect();
        let mut inside: Vec<NodeId> = leaves[own..].iter().map(|leaf| leaf.node).collect();
        for (given, node) in std::mem::take(&mut inner.given) {
            captures.push(self.recorder.given(given, inner.trace.node(node).dtype)?);
            inside.push(node);
        }
        let parameters: Vec<NodeId> = leaves[..own].iter().map(|leaf| leaf.node).collect();
        let body = take_closed_body(&inner.trace, &parameters, &inside, &nodes)?;
        Ok(MaskedBody { body, captures, results })
    }
}

/// The results as they are.
fn unchanged(_: &mut Recorder, _: &[Padded], results: &[Padded]) -> Outcome<Vec<NodeId>> {
    Ok(results.iter().map(|result| result.node).collect())
}

/// Results with these layouts.
fn made(nodes: Vec<NodeId>, layouts: Vec<Vec<Layout>>) -> Outcome<Vec<Made>> {
    Ok(nodes.into_iter().zip(layouts).map(|(node, layouts)| Made { node, layouts }).collect())
}

fn as_made(results: Vec<Padded>) -> Outcome<Vec<Made>> {
    Ok(results.into_iter().map(|Padded { node, layouts, .. }| Made { node, layouts }).collect())
}

/// Masks `call`: the computation is recorded in place.
pub(super) fn call(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let scope = site.scope(0)?;
    as_made((site.walk)(site.recorder, scope, &site.operands)?)
}

/// Masks a computation with custom rules: the applied body is recorded in place.
pub(super) fn custom(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let attributes: CustomAttributes = site.attributes();
    let positions = taken(&attributes, site.operands.len());
    let arguments: Vec<Padded> = positions.into_iter().map(|position| site.operands[position].clone()).collect();
    let scope = site.scope(attributes.applied)?;
    as_made((site.walk)(site.recorder, scope, &arguments)?)
}

/// Masks `optimization_barrier`.
pub(super) fn barrier(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let nodes = site.nodes();
    let passed = optimization_barrier(&mut site.recorder.trace, &nodes)?;
    made(passed, site.operands.iter().map(|operand| operand.layouts.clone()).collect())
}

/// Layouts of what a loop carries, after an iteration with these results; and whether they are those before it.
fn carried_on(carried: &mut [Parameter], results: &[Padded]) -> Outcome<bool> {
    let mut same = true;
    for (parameter, result) in carried.iter_mut().zip(results) {
        for (layout, other) in parameter.layouts.iter_mut().zip(&result.layouts) {
            let both = merged(layout, other)?;
            same &= both == *layout;
            *layout = both;
        }
    }
    Ok(same)
}

/// Masks `while`.
pub(super) fn loops(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let WhileAttributes { carried, captured_by_condition } = site.attributes();
    let captures = carried + captured_by_condition;
    let mut parameters = site.parameters(0..carried);
    let step = loop {
        let step = site.body(1, &parameters, &[], captures..site.operands.len(), &unchanged)?;
        if carried_on(&mut parameters, &step.results)? {
            break step;
        }
    };
    let condition = site.body(0, &parameters, &[], carried..captures, &unchanged)?;
    let init = site.nodes()[..carried].to_vec();
    let nodes = while_loop(&mut site.recorder.trace, &condition.applied(), &step.applied(), &init)?;
    made(nodes, parameters.into_iter().map(|parameter| parameter.layouts).collect())
}

/// Masks `scan`. With a length that changes, it runs to the bound, and iterations beyond the length carry their values
/// on.
pub(super) fn scan(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let ScanAttributes { carried, arrays, length: bound, reverse } = site.attributes_at_bounds()?;
    let length = site.value.words[2].clone();
    if [0, 1, 3].iter().any(|&word| site.value.words[word].as_constant().is_none()) {
        return Err(refused("its attributes change"));
    }
    let changes = length.as_constant().is_none();
    if changes && has_loop(site.scope(0)?) {
        return Err(refused("a loop in a scan whose length changes, which might not end beyond it"));
    }
    let rows = site.recorder.simple(&length)?;
    let mut slices = site.parameters(carried..carried + arrays);
    for slice in &mut slices {
        merged(&slice.layouts.remove(0), &Some(rows.clone()))?;
        slice.dims.remove(0);
    }
    let place = Parameter { dtype: DType::S32, dims: SmallVec::new(), layouts: Vec::new() };
    let further = if changes { vec![place] } else { Vec::new() };
    let keep = |inner: &mut Recorder, leaves: &[Padded], results: &[Padded]| {
        kept_beyond(inner, leaves, results, [carried, carried + arrays], &length)
    };
    let finish: Finish = if changes { &keep } else { &unchanged };
    let mut parameters = site.parameters(0..carried);
    let step = loop {
        let explicit = [&parameters[..], &slices].concat();
        let step = site.body(0, &explicit, &further, carried + arrays..site.operands.len(), finish)?;
        if carried_on(&mut parameters, &step.results[..carried])? {
            break step;
        }
    };
    let nodes = site.nodes();
    let mut read = nodes[carried..carried + arrays].to_vec();
    if changes {
        read.push(iota(&mut site.recorder.trace, &TensorType::new(DType::S32, &[bound]), 0)?);
    }
    let nodes = scan_of(&mut site.recorder.trace, &step.applied(), &nodes[..carried], &read, bound, reverse)?;
    let mut layouts: Vec<Vec<Layout>> = parameters.into_iter().map(|parameter| parameter.layouts).collect();
    for stacked in &step.results[carried..] {
        layouts.push([&[Some(rows.clone())], &stacked.layouts[..]].concat());
    }
    made(nodes, layouts)
}

/// Whether a scope has a loop that ends by a condition.
fn has_loop(scope: &Scope) -> bool {
    scope.values.iter().any(|value| value.instruction.op == Op::While || value.bodies.iter().any(has_loop))
}

/// Records the results of an iteration: beyond the length, the first ones are the values that were carried into it. The
/// leaf behind the parameters, at `ends[1]`, is the number of the iteration.
fn kept_beyond(
    inner: &mut Recorder,
    leaves: &[Padded],
    results: &[Padded],
    ends: [usize; 2],
    length: &Form,
) -> Outcome<Vec<NodeId>> {
    let size = inner.size(length)?;
    let is_within = compare(&mut inner.trace, CompareOp::Lt, leaves[ends[1]].node, size)?;
    let mut nodes: Vec<NodeId> = results.iter().map(|result| result.node).collect();
    for (node, leaf) in nodes.iter_mut().zip(&leaves[..ends[0]]) {
        if *node != leaf.node {
            *node = select(&mut inner.trace, is_within, *node, leaf.node)?;
        }
    }
    Ok(nodes)
}

/// Masks `cond` and `case`: results have the layouts of all branches.
pub(super) fn branches(site: &mut PaddedSite) -> Outcome<Vec<Made>> {
    let (arguments, captured) = match site.value.instruction.op {
        Op::If => {
            let IfAttributes { arguments, captured_by_true } = site.attributes();
            let rest = site.operands.len().saturating_sub(1 + arguments + captured_by_true);
            (arguments, vec![captured_by_true, rest])
        }
        _ => {
            let CaseAttributes { captured, arguments } = site.attributes();
            (arguments, captured)
        }
    };
    let parameters = site.parameters(1..1 + arguments);
    let mut start = 1 + arguments;
    let mut bodies = Vec::with_capacity(captured.len());
    let mut layouts: Vec<Vec<Layout>> = Vec::new();
    for (number, count) in captured.into_iter().enumerate() {
        let body = site.body(number, &parameters, &[], start..start + count, &unchanged)?;
        start += count;
        if number == 0 {
            layouts = body.results.iter().map(|result| result.layouts.clone()).collect();
        }
        for (layouts, result) in layouts.iter_mut().zip(&body.results) {
            for (layout, other) in layouts.iter_mut().zip(&result.layouts) {
                *layout = merged(layout, other)?;
            }
        }
        bodies.push(body);
    }
    let nodes = site.nodes();
    let (selector, arguments) = (nodes[0], &nodes[1..1 + arguments]);
    let trace = &mut site.recorder.trace;
    let results = match (&bodies[..], site.value.instruction.op) {
        ([on_true, on_false], Op::If) => branch(trace, selector, &on_true.applied(), &on_false.applied(), arguments)?,
        _ => {
            let applied: Vec<Applied> = bodies.iter().map(MaskedBody::applied).collect();
            case_of(trace, selector, &applied, arguments)?
        }
    };
    made(results, layouts)
}
