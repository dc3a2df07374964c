//! Masking: records a template, whose sizes change, as one program at the bounds of the sizes. Arrays have padding, and
//! the rules of the operations keep it away from valid elements.

use base::label::Label;
use base::stack::SHALLOW;
use base::types::{Scalar, TensorType, element_count};
use ir::sizes::{Axes, Factor, Form, Scope, SizedValue, Template};
use ir::{NodeId, Op, Program, take_program};
use ops::masking::{
    Factors, Given, Made, Masking, Outcome, Padded, PaddedSite, Recorder, Unmasked, canonical, described, refused,
};
use ops::{definition, operation_name, padding};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A masked template.
#[derive(Clone, Debug)]
pub struct Masked {
    /// An ordinary program, at the bounds. Parameter `i` is leaf `i` of the template.
    pub program: Program,
    /// Sources of its scalar slots, in order.
    pub scalars: Vec<ScalarSource>,
    /// Layouts of the parameters.
    pub parameters: Vec<Axes>,
    /// Layouts of the outputs.
    pub outputs: Vec<Axes>,
}

/// The source of a scalar of a masked program.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarSource {
    /// A scalar of the template, by number.
    Given(usize),
    /// A size or another number that sizes give, in s32.
    Size(Form),
    /// A constant that masking adds, or of a body that is recorded in place.
    Constant(Scalar),
}

/// Why a template is not masked.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Name of the operation that has no rule, or whose rule does not cover it.
    pub operation: &'static str,
    /// Label of the operation.
    pub label: Label,
    /// The reason.
    pub reason: String,
}

/// Masks a template, with these bounds of its variables: for all sizes up to the bounds for which the template is legal,
/// the valid elements of the outputs are those of its program, whatever the padding of the parameters holds.
pub fn mask(template: &Template, bounds: &[i64]) -> Result<Masked, Refusal> {
    masked(template, bounds).map_err(|Unmasked { at, reason }| {
        let (operation, label) = at.unwrap_or(("program", Label::default()));
        Refusal { operation, label, reason }
    })
}

fn masked(template: &Template, bounds: &[i64]) -> Outcome<Masked> {
    if bounds.len() != template.variables {
        return Err(refused(format!("{} bounds for {} variables", bounds.len(), template.variables)));
    }
    let bodies = template.main.values.iter().flat_map(|value| &value.instruction.bodies);
    if bodies.map(|body| body.depth()).max().unwrap_or(0) > SHALLOW {
        return Err(refused(format!("computations are nested in more than {SHALLOW} others")));
    }
    let mut recorder = Recorder::new(bounds, false);
    let mut arguments = Vec::new();
    for value in template.main.values.iter().filter(|value| value.instruction.op == Op::Leaf) {
        let ty = TensorType { dtype: value.instruction.ty.dtype, dims: recorder.dims(&value.dims)? };
        let node = recorder.trace.parameter(ty);
        let layouts = value.dims.iter().map(|dim| recorder.simple(dim).map(Some)).collect::<Outcome<_>>()?;
        arguments.push(padded(&recorder, Made { node, layouts }, value)?);
    }
    let results = walk(&mut recorder, &template.main, &arguments)?;
    let parameters: Vec<NodeId> = arguments.iter().map(|argument| argument.node).collect();
    let nodes: Vec<NodeId> = results.iter().map(|result| result.node).collect();
    let (program, slots) = take_program(&recorder.trace, &parameters, &nodes)?;
    Ok(Masked {
        program,
        scalars: sources(&recorder, &slots)?,
        parameters: arguments.iter().map(|argument| axes(&recorder, argument)).collect::<Outcome<_>>()?,
        outputs: results.iter().map(|result| axes(&recorder, result)).collect::<Outcome<_>>()?,
    })
}

/// Sources of the scalars of these nodes.
fn sources(recorder: &Recorder, slots: &[NodeId]) -> Outcome<Vec<ScalarSource>> {
    let given: FxHashMap<u32, &Given> = recorder.given.iter().map(|(given, node)| (node.0, given)).collect();
    let source = |node: &NodeId| match given.get(&node.0) {
        Some(Given::Scalar(number)) => Ok(ScalarSource::Given(*number)),
        Some(Given::Size(form)) => Ok(ScalarSource::Size(form.clone())),
        None => {
            let scalar = recorder.trace.scalar(recorder.trace.node(*node));
            scalar.map(ScalarSource::Constant).ok_or_else(|| refused("a slot without a scalar"))
        }
    };
    slots.iter().map(source).collect()
}

/// Layouts of the axes of a parameter or an output.
fn axes(recorder: &Recorder, value: &Padded) -> Outcome<Axes> {
    let mut axes = Axes::new();
    for (layout, dim) in value.layouts.iter().zip(&value.dims) {
        let mut factors = match layout {
            Some(factors) => factors.clone(),
            None => recorder.simple(dim)?,
        };
        check(recorder, dim, &factors, recorder.at_bounds(dim)?)?;
        if factors.is_empty() {
            factors.push(Factor { size: Form::constant(1), bound: 1 });
        }
        axes.push(factors);
    }
    Ok(axes)
}

/// Values of a scope, by position.
struct Known {
    values: Vec<Option<Padded>>,
    /// Results of operations with several.
    several: FxHashMap<usize, Vec<Made>>,
    /// Nodes of operations with several results that are recorded as they are.
    whole: FxHashMap<usize, NodeId>,
}

/// Records the values of a scope on arguments. Returns its results.
fn walk(recorder: &mut Recorder, scope: &Scope, arguments: &[Padded]) -> Outcome<Vec<Padded>> {
    let mut known = Known { values: Vec::new(), several: FxHashMap::default(), whole: FxHashMap::default() };
    let mut arguments = arguments.iter();
    let outer = recorder.trace.label();
    for (position, value) in scope.values.iter().enumerate() {
        recorder.trace.check_room()?;
        recorder.trace.set_label(value.instruction.label.or(outer));
        let made = match value.instruction.op {
            Op::Leaf => argument(value, arguments.next()),
            Op::Result => result(recorder, value, &known),
            _ => operation(recorder, value, position, &mut known),
        };
        let made = made.map_err(|Unmasked { at, reason }| {
            let here = (operation_name(value.instruction.op), recorder.trace.label());
            Unmasked { at: at.or(Some(here)), reason }
        })?;
        known.values.push(made);
    }
    recorder.trace.set_label(outer);
    let output = |&position: &usize| known.values[position].clone().ok_or_else(|| refused("an output without a value"));
    scope.outputs.iter().map(output).collect()
}

/// An argument for a parameter or a capture.
fn argument(value: &SizedValue, given: Option<&Padded>) -> Outcome<Option<Padded>> {
    match given {
        Some(given) if given.dims == value.dims => Ok(Some(given.clone())),
        Some(given) => Err(refused(format!("an argument of {:?} for a parameter of {:?}", given.dims, value.dims))),
        None => Err(refused("a parameter without an argument")),
    }
}

/// A result of an operation with several.
fn result(recorder: &mut Recorder, value: &SizedValue, known: &Known) -> Outcome<Option<Padded>> {
    let (application, number) = (value.instruction.operands[0], value.instruction.attributes::<usize>());
    if let Some(&node) = known.whole.get(&application) {
        let node = recorder.trace.record_again(&value.instruction, &[node], None);
        return padded(recorder, Made { node, layouts: vec![None; value.dims.len()] }, value).map(Some);
    }
    let made = known.several.get(&application).and_then(|results| results.get(number));
    let made = made.ok_or_else(|| refused("a result that its operation does not have"))?;
    padded(recorder, made.clone(), value).map(Some)
}

/// Records an operation. Its value is None if it has several results.
fn operation(
    recorder: &mut Recorder,
    value: &SizedValue,
    position: usize,
    known: &mut Known,
) -> Outcome<Option<Padded>> {
    let operand = |&operand: &usize| known.values[operand].clone().ok_or_else(|| refused("an operand without a value"));
    let operands: Vec<Padded> = value.instruction.operands.iter().map(operand).collect::<Outcome<_>>()?;
    let op = value.instruction.op;
    if is_excluded(value) {
        return Err(refused("it is not masked"));
    }
    if is_constant(value, &operands) {
        let nodes: Vec<NodeId> = operands.iter().map(|operand| operand.node).collect();
        if op.has_results() {
            let node = recorder.trace.record_again(&value.instruction, &nodes, None);
            known.whole.insert(position, node);
            return Ok(None);
        }
        let mut site = PaddedSite { recorder, value, operands, walk };
        let node = site.record(&nodes)?;
        return padded(recorder, Made { node, layouts: vec![None; value.dims.len()] }, value).map(Some);
    }
    let changes = value.words.iter().any(|word| word.as_constant().is_none());
    let mut site = PaddedSite { recorder, value, operands, walk };
    let made = match definition(op).masking {
        Masking::Missing => return Err(refused("it has no rule for sizes that change")),
        Masking::Elementwise | Masking::Rule(_) if changes => return Err(refused("its attributes change")),
        Masking::Elementwise => padding::elementwise(&mut site)?,
        Masking::Rule(rule) | Masking::OfAttributes(rule) => rule(&mut site)?,
    };
    if op.has_results() {
        known.several.insert(position, made);
        return Ok(None);
    }
    let [made] = <[Made; 1]>::try_from(made).map_err(|_| refused("a rule with several results"))?;
    padded(recorder, made, value).map(Some)
}

/// Whether an operation is refused even if nothing changes: it has effects, or runs on a mesh.
fn is_excluded(value: &SizedValue) -> bool {
    let instruction = &value.instruction;
    let is_foreign = matches!(instruction.op, Op::Kernel | Op::CustomCall | Op::ShardingConstraint | Op::ShardMap);
    let in_body =
        instruction.bodies.iter().any(|body| body.kernels().any || body.has_collectives() || body.has_shardings());
    is_foreign
        || instruction.op.is_collective()
        || in_body
        || value.bodies.iter().any(|scope| scope.values.iter().any(is_excluded))
}

/// Whether neither an operation nor its operands change.
fn is_constant(value: &SizedValue, operands: &[Padded]) -> bool {
    let are_constant = |forms: &[Form]| forms.iter().all(|form| form.as_constant().is_some());
    are_constant(&value.dims)
        && are_constant(&value.words)
        && operands.iter().all(|operand| are_constant(&operand.dims))
        && !value.bodies.iter().any(|scope| scope.changes)
}

/// Checks what was recorded for a value: its dtype, its dimensions at the bounds, and that the factors of each axis have
/// the value's dimension as their product.
fn padded(recorder: &Recorder, made: Made, value: &SizedValue) -> Outcome<Padded> {
    let ty = recorder.trace.ty(made.node);
    if ty.dtype != value.instruction.ty.dtype {
        return Err(refused(format!("{} in place of {}", ty.dtype, value.instruction.ty.dtype)));
    }
    if ty.dims != recorder.dims(&value.dims)? || made.layouts.len() != value.dims.len() {
        return Err(refused(format!("{ty} in place of {:?}", value.dims)));
    }
    element_count(&ty.dims)?;
    let mut layouts = Vec::with_capacity(made.layouts.len());
    for ((layout, form), &bound) in made.layouts.into_iter().zip(&value.dims).zip(&ty.dims) {
        layouts.push(match layout {
            // Elements that are all equal fit any layout, but have to be enough.
            None if form.as_constant().is_none() => {
                check(recorder, form, &recorder.simple(form)?, bound)?;
                None
            }
            None => Some(recorder.simple(form)?),
            Some(factors) => Some(checked(recorder, form, factors, bound)?),
        });
    }
    Ok(Padded { node: made.node, layouts, dims: SmallVec::from(&value.dims[..]) })
}

fn checked(recorder: &Recorder, form: &Form, factors: Factors, bound: i64) -> Outcome<Factors> {
    let factors = canonical(factors);
    check(recorder, form, &factors, bound)?;
    Ok(factors)
}

/// Returns an error unless an axis of this size and bound has these factors, and none grows when a size decreases.
fn check(recorder: &Recorder, form: &Form, factors: &[Factor], bound: i64) -> Outcome<()> {
    let (mut size, mut memory) = (Some(Form::constant(1)), Some(1i64));
    for factor in factors {
        size = size.and_then(|size| size.times(&factor.size));
        memory = memory.and_then(|memory| memory.checked_mul(factor.bound));
        let is_bounded = factor.size.at(recorder.bounds) == Some(factor.bound) && factor.bound >= 0;
        if !is_bounded || !factor.size.is_largest_at(recorder.bounds) {
            return Err(refused(format!("an axis of {}, which the bounds do not bound", described(factors))));
        }
    }
    if size.as_ref() != Some(form) || memory != Some(bound) {
        return Err(refused(format!("an axis of {} in place of {form} of {bound}", described(factors))));
    }
    if form.as_constant().is_some() && factors.iter().any(|factor| factor.size.as_constant().is_none()) {
        return Err(refused("an axis of constant size with padding"));
    }
    if bound > i64::from(i32::MAX) {
        return Err(refused(format!("an axis of {bound} elements, more than s32 counts")));
    }
    Ok(())
}
