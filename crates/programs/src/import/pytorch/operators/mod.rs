//! The table of operators: an operator is one entry with its overloads, its arguments with their defaults, and the
//! function that records it. In-place overloads, whose names end in `_`, have the entry of the others: the recorder
//! writes the result. Operators with several names have the entry of one.

mod activations;
mod attention;
mod clamping;
mod combining;
mod complex_numbers;
mod compositions;
mod convolution;
mod creation;
mod diagonals;
mod distances;
mod elementwise;
mod extremes;
mod fourier;
mod functions;
mod indexing;
mod integrals;
mod losses;
mod matrices;
mod names;
mod normalization;
mod parts;
mod pooling;
mod products;
mod random;
mod rearrangements;
mod recurrent;
mod reductions;
mod resizing;
mod sampling;
mod shapes;
mod solvers;
mod special;
mod statistics;
mod symbolic;
mod windows;

pub use symbolic::{computed, symbolic};

use super::operator::Operator;
use base::error::quoted;
use lazyxla_pytorch::Node;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

const TABLES: [&[Operator]; 33] = [
    activations::TABLE,
    attention::TABLE,
    convolution::TABLE,
    sampling::TABLE,
    matrices::TABLE,
    fourier::TABLE,
    extremes::TABLE,
    diagonals::TABLE,
    complex_numbers::TABLE,
    clamping::TABLE,
    combining::TABLE,
    compositions::TABLE,
    creation::TABLE,
    distances::TABLE,
    elementwise::TABLE,
    functions::TABLE,
    indexing::TABLE,
    integrals::TABLE,
    losses::TABLE,
    normalization::TABLE,
    parts::TABLE,
    pooling::TABLE,
    products::TABLE,
    random::TABLE,
    rearrangements::TABLE,
    recurrent::TABLE,
    reductions::TABLE,
    resizing::TABLE,
    shapes::TABLE,
    special::TABLE,
    solvers::TABLE,
    statistics::TABLE,
    windows::TABLE,
];

/// Checks of what the exporter knew, and annotations: they change no value.
const IGNORED: [&str; 6] = [
    "_linalg_check_errors.default",
    "_assert_tensor_metadata.default",
    "_assert_scalar.default",
    "_assert_async.msg",
    "sym_constrain_range_for_size.default",
    "sym_constrain_range.default",
];

/// Returns the entry of an overload. An in-place overload without an entry has the entry of the operator whose result it
/// writes; another name of an operator has the entry of the operator.
pub fn find(name: &str) -> Option<&'static Operator> {
    let plain = |base: &str, overload: &str| {
        let base = names::canonical(base);
        // The other names of some operators have only the overload `default`.
        let others: &[&str] = if overload == "default" { &["int", "Tensor"] } else { &[] };
        [overload].iter().chain(others).find_map(|overload| entry(&format!("{base}.{overload}")))
    };
    entry(name).or_else(|| {
        let (base, overload) = name.split_once('.')?;
        let functional = if is_in_place(name) { base.strip_suffix('_') } else { None };
        plain(functional.unwrap_or(base), overload)
    })
}

/// Returns the entry that lists an overload.
fn entry(name: &str) -> Option<&'static Operator> {
    static FOUND: OnceLock<FxHashMap<&'static str, &'static Operator>> = OnceLock::new();
    let all = || TABLES.iter().flat_map(|table| table.iter());
    let by_name = || all().flat_map(|operator| operator.names.iter().map(move |&name| (name, operator))).collect();
    FOUND.get_or_init(by_name).get(name).copied()
}

/// The name of an operator in the table: `add.Tensor` of `torch.ops.aten.add.Tensor`.
pub fn short_name(target: &str) -> &str {
    let name = display_name(target);
    name.strip_prefix("aten.").unwrap_or(name)
}

/// The name of an operator in messages: `aten.add.Tensor`.
pub fn display_name(target: &str) -> &str {
    target.strip_prefix("torch.ops.").unwrap_or(target)
}

/// A node as messages name it: its operator, its name and the module that it comes from.
pub fn described(node: &Node) -> String {
    let mut text = display_name(&node.target).to_string();
    if !node.name.is_empty() {
        text.push_str(&format!(", node {}", quoted(&node.name)));
    }
    if !node.module.is_empty() {
        text.push_str(&format!(", in module {}", quoted(&node.module)));
    }
    text
}

/// Whether an operator changes no value.
pub fn is_ignored(name: &str) -> bool {
    IGNORED.contains(&name)
}

/// Whether an operator changes how its first argument is seen or differentiated, not its elements: the argument's name
/// stands for the result from there on.
pub fn is_seen_otherwise(name: &str) -> bool {
    const ALL: [&str; 7] = ["detach_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"];
    name.split('.').next().is_some_and(|base| ALL.contains(&base))
}

/// Whether the name of an operator is an in-place one.
fn is_in_place(name: &str) -> bool {
    let base = name.split('.').next().unwrap_or(name);
    base.ends_with('_') && !base.starts_with("__")
}

/// Whether an operator writes its first argument.
pub fn writes(name: &str) -> bool {
    is_in_place(name) && !is_seen_otherwise(name)
}

/// Why an operator that the table lacks is not supported.
pub fn reason(name: &str) -> &'static str {
    const BY_DATA: [&str; 5] = ["nonzero", "unique", "masked_select", "unique_dim", "unique2"];
    let base = name.split('.').next().unwrap_or(name).trim_start_matches('_');
    match () {
        () if BY_DATA.iter().any(|known| known.trim_start_matches('_') == base) => {
            "the size of its result depends on data"
        }
        () if name == "higher_order.wrap_with_autocast" => "the casts of autocast regions are not in the file",
        () => "the library has no such operator",
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::{Value, signature};
    use super::*;

    #[test]
    fn names_are_unique_and_arguments_well_formed() {
        let mut seen = std::collections::BTreeSet::new();
        for operator in TABLES.iter().flat_map(|table| table.iter()) {
            for name in operator.names {
                assert!(seen.insert(*name), "{name} twice");
                assert!(name.contains('.'), "{name} has no overload");
                assert!(!is_in_place(name) || operator.arguments.starts_with("self"), "{name}");
            }
            for (name, default) in signature(operator.arguments) {
                assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{name}");
                assert!(!matches!(default, Some(Value::Float(value)) if value.is_nan()), "{}", operator.arguments);
            }
        }
        assert!(seen.len() > 300, "{}", seen.len());
        assert!(writes("add_.Tensor") && !writes("__and__.Tensor") && !writes("add.Tensor") && !writes("squeeze_.dim"));
        let same = |a: &str, b: &str| std::ptr::eq(find(a).unwrap(), find(b).unwrap());
        assert!(same("add_.Tensor", "add.Tensor") && same("multiply_.Tensor", "mul.Tensor"));
        assert!(same("arccos.default", "acos.default") && find("arccos_.Tensor").is_none());
    }
}
