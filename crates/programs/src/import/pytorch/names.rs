//! Names and kinds of parameters, captured values and results, for the description of a computation.

use super::arguments::dtype_of;
use base::types::DType;
use lazyxla_pytorch::{Argument, Input, InputKind, OutputKind, Program, Size};
use serde_json::{Map, Value as Json};

/// Fields that the description of a computation gets for each value: name, kind and others.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Fields of the parameters, in order.
    pub parameters: Vec<Map<String, Json>>,
    /// Fields of the captured values, in order.
    pub captured: Vec<Map<String, Json>>,
    /// Of the results.
    pub results: Vec<Map<String, Json>>,
}

impl Names {
    /// The names after captured values became parameters.
    pub fn lifted(&self) -> Names {
        let parameters = self.parameters.iter().chain(&self.captured).cloned().collect();
        Names { parameters, captured: Vec::new(), results: self.results.clone() }
    }
}

/// Fields of a description.
pub fn entry<const N: usize>(fields: [(&str, Json); N]) -> Map<String, Json> {
    fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// Describes a captured value.
pub fn described_input(program: &Program, input: &Input) -> Map<String, Json> {
    let kind = match input.kind {
        InputKind::Parameter => "parameter",
        InputKind::Buffer => "buffer",
        InputKind::Constant => "constant",
        InputKind::User | InputKind::Fixed => "input",
    };
    let mut described = entry([("name", input.name.as_str().into()), ("kind", kind.into())]);
    if let Some(stored) = program.stored.get(&input.name) {
        let is_trainable = input.kind == InputKind::Parameter && stored.requires_grad && stored.element.is_float();
        described.insert("trainable".into(), is_trainable.into());
    }
    described
}

/// Describes a result.
pub fn described(kind: &OutputKind, argument: &Argument) -> Map<String, Json> {
    let name = match argument {
        Argument::Tensor(name) => name.as_str(),
        _ => "",
    };
    match kind {
        OutputKind::User | OutputKind::Loss => entry([("name", name.into()), ("kind", "output".into())]),
        OutputKind::Gradient(of) => {
            entry([("name", name.into()), ("kind", "output".into()), ("gradient_of", of.as_str().into())])
        }
        OutputKind::Changed(of) => {
            entry([("name", of.as_str().into()), ("kind", "output".into()), ("updates", of.as_str().into())])
        }
    }
}

/// The user's inputs that are tensors, with their sizes.
pub fn user_tensors(program: &Program) -> impl Iterator<Item = (&str, Option<DType>, &[Size])> {
    let tensor = |input: &'_ Input| match (&input.kind, &input.argument) {
        (InputKind::User, Argument::Tensor(name)) => Some(name.clone()),
        _ => None,
    };
    program.inputs.iter().filter_map(move |input| {
        let name = tensor(input)?;
        let (name, meta) = program.graph.tensors.get_key_value(&name)?;
        Some((name.as_str(), meta.element.map(dtype_of), &meta.sizes[..]))
    })
}
