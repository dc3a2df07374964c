//! Programs on meshes of the plugin, whose arguments are split at random. `shard_maps.rs` has those with collectives.

use crate::common::{Random, number};
use crate::devices::{Devices, is_on_mesh, random_sharding};
use crate::programs::f64s;
use crate::{arrays, check, each, gradient, run};
use ir::{Body, FftOp, NodeId, Trace, UnaryOp, take_closed_body};
use lowering::transform::{self, Checkpoint, Transformer};
use mesh::{Mesh, MeshAxes, Sharding, Split};
use ops::{elementwise, linalg};
use std::sync::Arc;

/// Meshes on which the programs run.
pub const MESHES: [&str; 4] = ["a=2,b=3", "a=4", "a=2,b=2,c=2", "a=2,b=4"];

impl Devices {
    /// Runs a body on arguments that are split, and checks the results against those on one device. A body without an
    /// operation of a mesh is not run.
    pub fn check(&self, what: &str, mesh: &Arc<Mesh>, body: &Arc<Body>, random: &mut Random, want: &Arc<Body>) {
        let inputs = arrays(random, body.parameters());
        let shardings: Vec<Sharding> =
            inputs.iter().map(|input| random_sharding(random, &mesh.axes, &input.ty().dims)).collect();
        if is_on_mesh(body) {
            let got = self.run(mesh, body, &inputs, &shardings).unwrap();
            let texts: Vec<String> = shardings.iter().map(|sharding| sharding.text(&mesh.axes)).collect();
            check(&format!("{what} on {}, split by {texts:?}", mesh.axes), &got, &run(want, &inputs), 1e-7);
        }
    }
}

/// The body with random constraints on its parameters and results.
fn constrained(body: &Arc<Body>, axes: &MeshAxes, random: &mut Random) -> Arc<Body> {
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = body.parameters().iter().map(|ty| trace.parameter(ty.clone())).collect();
    let arguments: Vec<NodeId> = parameters.iter().map(|&id| placed(&mut trace, id, axes, random)).collect();
    let results = trace.replay(body, &arguments).unwrap();
    let results: Vec<NodeId> = results.iter().map(|&id| placed(&mut trace, id, axes, random)).collect();
    take_closed_body(&trace, &parameters, &[], &results).unwrap()
}

/// Records a value with a random constraint.
fn placed(trace: &mut Trace, id: NodeId, axes: &MeshAxes, random: &mut Random) -> NodeId {
    let sharding = random_sharding(random, axes, &trace.ty(id).dims);
    ops::mesh::sharding_constraint(trace, id, axes, &sharding).unwrap()
}

#[test]
fn transformed_programs_agree_on_meshes() {
    let devices = Devices::start(&MESHES);
    each(number("LXLA_TRANSFORM_MESH_PROGRAMS", 10), 3, |body, random| {
        let mesh = devices.any(random);
        let body = constrained(body, &mesh.axes, random);
        let backward = gradient(&body, Checkpoint::SaveNone);
        let (axes, out) = (vec![0; backward.parameters().len()], vec![0; backward.results().len()]);
        let batched = transform::batched(&Transformer::default(), &backward, &axes, &out, 2).unwrap();
        for (what, made) in [("the gradient", &backward), ("vmap of the gradient", &batched)] {
            devices.check(what, mesh, made, random, made);
        }
    });
}

#[test]
fn fourier_transforms_between_collectives_run() {
    let devices = Devices::start(&MESHES);
    let mesh = &devices.meshes[0];
    let mut random = Random(0);
    let mut trace = Trace::new();
    let x = trace.parameter(f64s(&[6, 3]));
    let split = Sharding::new(vec![Split::from_slice(&[0]), Split::from_slice(&[1])]);
    let mut last = x;
    for _ in 0..2 {
        let part = ops::mesh::sharding_constraint(&mut trace, last, &mesh.axes, &split).unwrap();
        let complex = elementwise::complex(&mut trace, part, part).unwrap();
        let transformed = linalg::fft(&mut trace, FftOp::Fft, complex, &[3]).unwrap();
        let real = elementwise::real(&mut trace, transformed).unwrap();
        last = elementwise::unary(&mut trace, UnaryOp::Negate, real).unwrap();
    }
    let body = take_closed_body(&trace, &[x], &[], &[last]).unwrap();
    devices.check("the transforms", mesh, &body, &mut random, &body);
}
