//! Runs the cases of the operations of a table, and reports all that fail.

use crate::case::{Case, Made};
use crate::common::{Random, difference, number};
use crate::devices::{Devices, is_on_mesh};
use ir::NodeId;
use lowering::interpret;
use lowering::lower::lower_body;
use mesh::Mesh;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const MESHES: [&str; 7] = ["a=2", "a=3", "a=4", "a=2,b=2", "a=2,b=3", "a=2,b=4", "a=2,b=2,c=2"];
/// Maximum number of failures that the last message lists.
const MOST_LISTED: usize = 20;

/// An operation: its name, the weight of its cases, and the function that records it with what it draws.
pub type Operation = (&'static str, u64, fn(&mut Case) -> Vec<NodeId>);

/// Runs all cases of the operations. Panics at the end if some fail.
pub fn sweep(operations: &[Operation]) {
    let only = std::env::var("LXLA_MESH_SWEEP_OPERATION").ok();
    let devices = Devices::start(&MESHES);
    let (first, count) = (number("LXLA_MESH_SWEEP_SEED", 0), number("LXLA_MESH_SWEEP_CASES", 4));
    let (mut failures, mut ran) = (Vec::new(), 0);
    for &(name, weight, record) in operations {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        for seed in first..first + count * weight {
            ran += 1;
            if let Err(failure) = run(&devices, name, seed, record) {
                failures.push(failure);
            }
        }
    }
    let listed: Vec<String> = failures.iter().take(MOST_LISTED).cloned().collect();
    assert!(failures.is_empty(), "{} of {ran} cases fail:\n{}", failures.len(), listed.join("\n"));
}

/// Runs one case. The error is one line; the details are printed.
fn run(devices: &Devices, name: &str, seed: u64, record: impl FnOnce(&mut Case) -> Vec<NodeId>) -> Result<(), String> {
    let mut random = Random(seed_of(name, seed));
    let mesh = devices.any(&mut random);
    let mut case = Case::new(&mut random, &mesh.axes);
    let what = format!("{name}, seed {seed}, on {}", mesh.axes);
    // The message of the panic is printed by then.
    let results = catch_unwind(AssertUnwindSafe(|| record(&mut case)))
        .map_err(|_| format!("{what}: recording the operation panics"))?;
    let made = case.made(&results);
    if std::env::var_os("LXLA_MESH_SWEEP_VERBOSE").is_some() {
        // Not by a macro: the test harness keeps what macros print until the end of the test.
        writeln!(std::io::stderr(), "{what}:{}", made.text).expect("standard error is open");
    }
    compare(devices, mesh, &made).map_err(|failure| {
        println!("{what}:{}\n{failure}\n{}", made.text, lower_body(&made.body).unwrap());
        format!("{what}: {}", failure.lines().next().unwrap_or_default())
    })
}

/// Runs the body of a case on the mesh, and compares the results with those of native evaluation.
fn compare(devices: &Devices, mesh: &Arc<Mesh>, made: &Made) -> Result<(), String> {
    let Made { body, inputs, shardings, tolerance, .. } = made;
    if !is_on_mesh(body) {
        return Ok(());
    }
    let want = interpret::run(body.program(), body.scalars(), inputs).map_err(|e| format!("natively: {e}"))?;
    let got = devices.run(mesh, body, inputs, shardings).map_err(|e| format!("on the mesh: {e}"))?;
    difference(&got, &want, *tolerance).map_or(Ok(()), Err)
}

/// The state of the random numbers of a case, by the hash of the operation's name (FNV-1a) and the seed.
fn seed_of(name: &str, seed: u64) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325, step);
    hash.wrapping_add(seed.wrapping_mul(0xD134_2543_DE82_EF95))
}
