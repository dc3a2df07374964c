//! Lowers one function to StableHLO.

use crate::emit::{Emitter, emit, mlir};
use crate::ir::Op;

/// Returns the text of the function. `attribute` returns the attributes of the parameter at a position.
pub fn function(mut e: Emitter, name: &str, results: &[usize], attribute: impl Fn(usize) -> String) -> String {
    let parameters = (0..e.values.len()).filter(|&i| e.values[i].op == Op::Leaf);
    let mut arguments: Vec<String> =
        parameters.map(|i| format!("{}: {}{}", e.name(i), mlir(&e.values[i].ty), attribute(i))).collect();
    arguments.extend(e.packs.iter().enumerate().map(|(i, pack)| format!("%pack{i}: {}", mlir(&pack.ty()))));
    let types: Vec<String> = results.iter().map(|&i| mlir(&e.values[i].ty)).collect();
    emit!(e, "  func.func {name}({}) -> ({}) {{", arguments.join(", "), types.join(", "));
    e.lower_all();
    let names: Vec<String> = results.iter().map(|&i| e.name(i)).collect();
    let colon = if results.is_empty() { "" } else { " : " };
    emit!(e, "    return {}{colon}{}", names.join(", "), types.join(", "));
    emit!(e, "  }}");
    e.text
}
