//! Creates sites, and applies derivative rules to them: elementwise, linear and transposed rules follow from one
//! function of the definition.

use super::Transformer;
use base::error::Result;
use base::types::Scalar;
use ir::{Instruction, NodeId, Trace, Words};
use ops::rules::{Derivative, Factor, Forward, Nodes, Site, Tangent, no_derivative};
use ops::tangents::{add_tangents, indices, scaled, to_operand, to_result, transposed};
use ops::{definition, operation_name};
use smallvec::SmallVec;

/// Cotangents of the operands of a site.
pub type Gradients = SmallVec<[Tangent; 4]>;

/// Returns the site of a node of the trace.
pub fn of_node<'a>(
    transformer: &'a Transformer,
    trace: &'a mut Trace,
    node: NodeId,
    results: impl Into<SmallVec<[Tangent; 1]>>,
) -> Site<'a> {
    let found = *trace.node(node);
    Site {
        node,
        op: found.op,
        ty: trace.ty(node),
        operands: Nodes::from_slice(trace.operands(&found)),
        results: results.into(),
        words: Words::from_slice(trace.words(&found)),
        scalar: trace.scalar(&found),
        bodies: trace.bodies(&found).cloned().collect(),
        transforms: transformer,
        trace,
    }
}

/// Returns the site of an instruction that is to be recorded on these operands.
pub fn of_instruction<'a>(
    transformer: &'a Transformer,
    trace: &'a mut Trace,
    value: &Instruction,
    scalar: Option<Scalar>,
    operands: Vec<NodeId>,
) -> Site<'a> {
    Site {
        trace,
        node: NodeId(u32::MAX),
        op: value.op,
        ty: value.ty.clone(),
        operands: operands.into(),
        results: SmallVec::new(),
        words: value.words.clone(),
        scalar,
        bodies: value.bodies.clone(),
        transforms: transformer,
    }
}

/// Records the tangents of a site's results. At least one operand has a tangent.
pub fn forward(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let found = definition(site.op);
    let one = |tangent| Ok(Forward { results: None, tangents: vec![tangent] });
    match found.derivative {
        Derivative::Zero => Ok(Forward { results: None, tangents: vec![None; site.results.len()] }),
        Derivative::Elementwise(partial) => {
            let ty = site.ty.clone();
            let mut sum = None;
            for (operand, tangent) in tangents.iter().enumerate() {
                let Some(tangent) = *tangent else { continue };
                let factor = partial(site, operand)?;
                if matches!(factor, Factor::Zero) {
                    continue;
                }
                let tangent = to_result(site.trace, tangent, &ty)?;
                let term = scaled(site.trace, tangent, &factor)?;
                sum = add_tangents(site.trace, sum, term)?;
            }
            one(sum)
        }
        Derivative::Linear { jvp, .. } => {
            let mut sum = None;
            for (operand, tangent) in tangents.iter().enumerate() {
                let Some(tangent) = *tangent else { continue };
                let term = jvp(site, operand, tangent)?;
                sum = add_tangents(site.trace, sum, term)?;
            }
            one(sum)
        }
        Derivative::Jvp(jvp) => one(jvp(site, tangents)?),
        Derivative::Several { jvp, .. } => jvp(site, tangents),
        Derivative::Expanded | Derivative::Missing => Err(no_derivative(operation_name(site.op))),
    }
}

/// Records the cotangents of the wanted operands of a site. At least one result has a cotangent.
pub fn backward(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Gradients> {
    let found = definition(site.op);
    let mut gradients = Gradients::from_elem(None, site.operands.len());
    match found.derivative {
        Derivative::Zero => {}
        Derivative::Elementwise(partial) => {
            let cotangent = cotangents[0].expect("the cotangent of the only result");
            for operand in indices(wanted) {
                let factor = partial(site, operand)?;
                if let Some(term) = scaled(site.trace, cotangent, &factor)? {
                    let ty = site.operand_ty(operand);
                    gradients[operand] = Some(to_operand(site.trace, term, &ty)?);
                }
            }
        }
        Derivative::Linear { vjp, .. } => {
            let cotangent = cotangents[0].expect("the cotangent of the only result");
            for operand in indices(wanted) {
                gradients[operand] = vjp(site, operand, cotangent)?;
            }
        }
        Derivative::Jvp(jvp) => {
            let cotangent = cotangents[0].expect("the cotangent of the only result");
            return transposed(site, cotangent, wanted, jvp).map(Gradients::from_vec);
        }
        Derivative::Expanded => {
            let cotangent = cotangents[0].expect("the cotangent of the only result");
            let expand = found.expand.expect("an expanded operation says how");
            let first = NodeId(site.trace.len() as u32);
            let result = expand(site)?;
            let inputs: Vec<NodeId> = indices(wanted).map(|operand| site.operands[operand]).collect();
            let transforms = site.transforms;
            let mut found = transforms.vjp_since(site.trace, &[(result, cotangent)], &inputs, first)?.into_iter();
            for operand in indices(wanted) {
                gradients[operand] = found.next().expect("one for each input");
            }
            deduplicate(site, wanted, &mut gradients);
        }
        Derivative::Several { vjp, .. } => return vjp(site, cotangents, wanted).map(Gradients::from_vec),
        Derivative::Missing => return Err(no_derivative(operation_name(site.op))),
    }
    Ok(gradients)
}

/// For an operand that occurs several times, keeps only the first cotangent: the rule returns the whole sum for each
/// occurrence, and the caller would add them up.
fn deduplicate(site: &Site, wanted: &[bool], gradients: &mut [Option<NodeId>]) {
    for (operand, gradient) in gradients.iter_mut().enumerate() {
        if (0..operand).any(|before| wanted[before] && site.operands[before] == site.operands[operand]) {
            *gradient = None;
        }
    }
}
