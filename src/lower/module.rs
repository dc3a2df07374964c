//! Lowers a program to a module: its `main`, and one function for each traced computation that it applies, directly or
//! indirectly.

use super::aliasing::{Donation, pair};
use super::function;
use crate::emit::{Emitter, Pack, gather};
use crate::engine::Signature;
use crate::ir::{Body, Op, Program};
use crate::ops;
use crate::types::{Scalar, TensorType};
use std::sync::Arc;

/// Input of an engine's compiler, and the parameters that each run passes in addition to those of the program.
pub struct Module {
    /// StableHLO text of the module.
    pub text: String,
    /// Signature of `main`: the program's parameters in order, then one vector for each pack.
    pub signature: Signature,
    /// Program that was lowered.
    pub program: Program,
    /// Scalars of the program. Those in packs are not part of the text.
    pub scalars: Vec<Scalar>,
    /// Scalars that are passed as parameters, packed into one vector for each dtype.
    pub packs: Vec<Pack>,
}

/// Lowers `program`. `scalars` are written as constants, except those that are `varying`, which become parameters.
/// `donors` are ascending indices of parameters, and `platform` is the compilation target.
pub fn lower(program: &Program, scalars: &[Scalar], varying: &[bool], donors: &[usize], platform: &str) -> Module {
    let (values, outputs) = program.decode();
    let parameters: Vec<usize> = (0..values.len()).filter(|&i| values[i].op == Op::Leaf).collect();
    let packs = gather(scalars, varying);

    let donor_positions: Vec<usize> = donors.iter().map(|&i| parameters[i]).collect();
    let donations = pair(&values, &outputs, &donor_positions);
    let attribute = |position: usize| match donor_positions.binary_search(&position).map(|i| donations[i]) {
        Ok(Donation::Output(i)) => format!(" {{tf.aliasing_output = {i} : i32}}"),
        Ok(Donation::Any) => " {jax.buffer_donor = true}".to_string(),
        Err(_) => String::new(),
    };
    let emitter = Emitter::new(&values, scalars, &packs, platform, ops::LOWERING);
    let main = function::function(emitter, "public @main", &outputs, attribute);
    let text = module(main, program.bodies(), platform);

    let mut types: Vec<TensorType> = parameters.iter().map(|&i| values[i].ty.clone()).collect();
    types.extend(packs.iter().map(Pack::ty));
    let signature = Signature {
        parameters: types,
        outputs: outputs.iter().map(|&i| values[i].ty.clone()).collect(),
        donors: donors.to_vec(),
    };
    Module { text, signature, program: program.clone(), scalars: scalars.to_vec(), packs }
}

/// Lowers a traced computation as a module of its own, for any platform. `main` takes the parameters, then the
/// captures.
pub fn lower_body(body: &Body) -> String {
    module(function(body, "public @main", ""), body.program().bodies(), "")
}

/// Returns `main`, followed by one function for each body that is needed, directly or indirectly.
fn module(main: String, needed: &[Arc<Body>], platform: &str) -> String {
    let mut bodies = needed.to_vec();
    let mut next = 0;
    let mut text =
        "module @lazyxla attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n".to_string();
    text.push_str(&main);
    while next < bodies.len() {
        let body = bodies[next].clone();
        for inner in body.program().bodies() {
            if !bodies.contains(inner) {
                bodies.push(inner.clone());
            }
        }
        text.push_str(&function(&body, &format!("private @{}", body.name()), platform));
        next += 1;
    }
    text.push_str("}\n");
    text
}

fn function(body: &Body, name: &str, platform: &str) -> String {
    let (values, results) = body.decode();
    let emitter = Emitter::new(&values, body.scalars(), &[], platform, ops::LOWERING);
    function::function(emitter, name, &results, |_| String::new())
}
