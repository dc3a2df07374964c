//! The programs that a sync would run as a graph in the language DOT, grouped by labels.

use super::inspect::plan_of;
use super::plan::{Plan, RunArgument};
use crate::device::TensorHandle;
use base::error::Result;
use base::label::Label;
use base::types::Scalar;
use ir::{Instruction, Op};
use native::text_of;
use ops::operation_name;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Returns the graph of what a sync of these tensors would run.
pub fn graph_dot(tensors: &[TensorHandle]) -> Result<String> {
    let (_, plan) = plan_of(tensors)?;
    let mut graph = Graph::default();
    graph.add_plan(&plan);
    Ok(graph.text())
}

/// Nodes and edges in DOT, and the groups of the nodes.
#[derive(Default)]
struct Graph {
    /// Statements of the nodes of each group.
    groups: Vec<Group>,
    /// Numbers of the groups by label.
    numbers: FxHashMap<Label, usize>,
    edges: String,
}

struct Group {
    label: Label,
    nodes: String,
    children: Vec<usize>,
}

impl Graph {
    fn add_plan(&mut self, plan: &Plan) {
        self.group(Label::NONE);
        // Names of the nodes of outputs, by number.
        let mut outputs: FxHashMap<usize, String> = FxHashMap::default();
        for (number, run) in plan.runs.iter().enumerate() {
            let (values, results) = run.stage.program.decode();
            let (mut arguments, mut scalars) = (run.arguments.iter().enumerate(), run.scalars.iter());
            let mut names: Vec<String> = Vec::with_capacity(values.len());
            for (position, value) in values.iter().enumerate() {
                let own = format!("r{number}_v{position}");
                let name = match value.op {
                    Op::Result => names[value.operands[0]].clone(),
                    Op::Leaf => match arguments.next() {
                        Some((_, RunArgument::Output(made))) => outputs[made].clone(),
                        Some((index, RunArgument::Data(_))) => {
                            self.node(Label::NONE, &own, &format!("parameter {index}\n{}", value.ty), "shape=ellipse");
                            own
                        }
                        None => own,
                    },
                    op => {
                        let scalar = if op.has_scalar() { scalars.next() } else { None };
                        let style = if is_output(&values, &results, position) { "peripheries=2" } else { "" };
                        self.node(value.label, &own, &described(value, scalar), style);
                        for &operand in &value.operands {
                            let _ = writeln!(self.edges, "  {} -> {own};", names[operand]);
                        }
                        own
                    }
                };
                names.push(name);
            }
            let made = results.iter().enumerate();
            outputs.extend(made.map(|(i, &at)| (run.stage.first_output + i, names[at].clone())));
        }
    }

    fn node(&mut self, label: Label, name: &str, text: &str, style: &str) {
        let group = self.group(label);
        let _ = writeln!(self.groups[group].nodes, "  {name} [label={} {style}];", quoted(text));
    }

    /// Number of the group of a label, which is made with the groups around it.
    fn group(&mut self, label: Label) -> usize {
        if let Some(&known) = self.numbers.get(&label) {
            return known;
        }
        let parent = (!label.is_none()).then(|| self.group(label.parent()));
        let number = self.groups.len();
        self.groups.push(Group { label, nodes: String::new(), children: Vec::new() });
        self.numbers.insert(label, number);
        if let Some(parent) = parent {
            self.groups[parent].children.push(number);
        }
        number
    }

    fn text(&self) -> String {
        let mut text = "digraph lazyxla {\n  node [shape=box];\n".to_string();
        self.write(0, &mut text);
        text + &self.edges + "}\n"
    }

    /// Writes a group and those within it. A label has at most 256 names.
    fn write(&self, number: usize, text: &mut String) {
        let group = &self.groups[number];
        if number > 0 {
            let _ = writeln!(text, "  subgraph cluster_{number} {{\n  label={};", quoted(group.label.name()));
        }
        text.push_str(&group.nodes);
        group.children.iter().for_each(|&child| self.write(child, text));
        if number > 0 {
            text.push_str("  }\n");
        }
    }
}

/// Whether a value, or one of its results, is an output of the program.
fn is_output(values: &[Instruction], outputs: &[usize], position: usize) -> bool {
    let is_of = |&output: &usize| values[output].op == Op::Result && values[output].operands[0] == position;
    outputs.contains(&position) || values[position].op.has_results() && outputs.iter().any(is_of)
}

/// Operation, scalar, type and computations of an instruction.
fn described(value: &Instruction, scalar: Option<&Scalar>) -> String {
    let name = operation_name(value.op);
    let mut text = match (scalar, value.op) {
        // As it is written: 1.0 divide x, and x divide 1.0.
        (Some(&scalar), Op::ScalarBinary(_)) => format!("{} {name}", text_of(scalar)),
        (Some(&scalar), _) => format!("{name} {}", text_of(scalar)),
        (None, _) => name.to_string(),
    };
    if value.op.has_results() {
        for body in &value.bodies {
            let _ = write!(text, "\n{}: {} operations", body.name(), body.weight());
        }
    } else {
        let _ = write!(text, "\n{}", value.ty);
    }
    text
}

/// Quotes a string of DOT. Line breaks are `\n`; other control characters become spaces.
fn quoted(text: &str) -> String {
    let mut out = "\"".to_string();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
