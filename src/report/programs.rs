//! The compiled programs of an environment, and the steps that run them.

use super::graphs::Graphs;
use crate::device::{Compiled, Kind};
use crate::env::Environment;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::sync::Arc;

/// Number of programs that are listed: those that ran for the longest time.
const LISTED: usize = 1000;

/// Returns the programs in memory, and their graphs.
pub fn collect(environment: &Environment) -> (Value, Value) {
    let mut programs = environment.programs();
    let count = programs.len();
    programs.sort_by_key(|program| {
        let (runs, nanoseconds) = program.usage.get();
        (Reverse((nanoseconds, runs)), program.known.number)
    });
    programs.truncate(LISTED);
    let mut graphs = Graphs::default();
    let listed: Vec<Value> = programs.iter().map(|program| entry(program, &mut graphs)).collect();
    (json!({ "count": count, "listed": listed }), graphs.document())
}

fn entry(program: &Arc<Compiled>, graphs: &mut Graphs) -> Value {
    let known = &program.known;
    let (runs, nanoseconds) = program.usage.get();
    let words: &[u32] = known.compiled.encoding.words();
    let key = blake3::hash(bytemuck::cast_slice(words));
    json!({
        "number": known.number,
        "key": &key.to_hex()[..16],
        "operations": known.operations(),
        "parameters": known.parameters(),
        "scalars": known.compiled.varying.len(),
        "scalar_parameters": known.compiled.varying.iter().filter(|&&varies| varies).count(),
        "donors": known.compiled.donors.len(),
        "runs": runs,
        "nanoseconds": nanoseconds,
        "compile_nanoseconds": known.cost.nanoseconds,
        "from_disk": known.cost.is_from_disk,
        "argument_bytes": program.memory.arguments,
        "output_bytes": program.memory.outputs,
        "alias_bytes": program.memory.aliases,
        "temp_bytes": program.memory.temporaries,
        "code_bytes": program.memory.code,
        "graph": graphs.add(&known.compiled.program, &known.compiled.scalars, &known.compiled.varying),
    })
}

/// Returns the kinds of steps and syncs that ran: each with `kind`, `device`, `programs` (the numbers of their
/// compiles), `count`, and `nanoseconds` from the end of the first one to the end of the last one.
pub fn steps(environment: &Environment) -> Value {
    let kind = |kind: Kind| match kind {
        Kind::Step => "step",
        Kind::Sync => "sync",
    };
    let steps = environment.ran().into_iter().map(|ran| {
        json!({
            "kind": kind(ran.kind),
            "device": ran.place.to_string(),
            "programs": ran.programs.to_vec(),
            "count": ran.count,
            "nanoseconds": (ran.last - ran.first).as_nanos() as u64,
        })
    });
    steps.collect()
}
