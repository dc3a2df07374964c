//! Operators that are not supported.

use super::operators;
use super::walk::refusal;
use base::error;
use base::error::Error;
use lazyxla_pytorch::{Argument, Graph, Node};
use std::collections::BTreeMap;

/// Calls `visit` for each node of a graph, and of the graphs within it.
pub fn visit<'g>(graph: &'g Graph, visit_node: &mut impl FnMut(&'g Node)) {
    let mut open = vec![graph];
    while let Some(graph) = open.pop() {
        for node in &graph.nodes {
            visit_node(node);
            open.extend(node.inputs.iter().filter_map(|input| match &input.argument {
                Argument::Graph(graph) => Some(&**graph),
                _ => None,
            }));
        }
    }
}

/// An operator that is not supported.
pub struct Refused {
    /// Operator and overload, such as `aten.nonzero.default`.
    pub name: String,
    /// Why it is not supported.
    pub reason: String,
    /// The module of the first node.
    pub module: String,
    /// How often it occurs.
    pub count: usize,
}

/// Lists the operators of a graph that are not supported.
pub fn refused(graph: &Graph) -> Vec<Refused> {
    let mut found: BTreeMap<&str, Refused> = BTreeMap::new();
    visit(graph, &mut |node| {
        let Some(e) = refusal(node) else { return };
        let name = operators::display_name(&node.target);
        let first =
            || Refused { name: name.to_string(), reason: e.message.to_string(), module: node.module.clone(), count: 0 };
        found.entry(name).or_insert_with(first).count += 1;
    });
    found.into_values().collect()
}

/// Returns an error that lists all operators that are not supported; None if there are none.
pub fn unsupported(graph: &Graph) -> Option<Error> {
    const MOST: usize = 50;
    let all = refused(graph);
    if all.is_empty() {
        return None;
    }
    let listed = all.iter().take(MOST).map(|refused| {
        let at =
            if refused.module.is_empty() { String::new() } else { format!(", first in module {:?}", refused.module) };
        format!("{} ({} times{at}): {}", refused.name, refused.count, refused.reason)
    });
    let listed = listed.collect::<Vec<String>>().join("; ");
    let more = if all.len() > MOST { format!("; and {} more", all.len() - MOST) } else { String::new() };
    let advice = "; `program.run_decompositions()` before `torch.export.save` replaces some operators by others";
    Some(error!(
        Unimplemented,
        "the program has {} operators that are not supported: {listed}{more}{advice}",
        all.len()
    ))
}
