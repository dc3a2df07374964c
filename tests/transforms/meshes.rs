//! Programs on meshes of the plugin, whose arguments are split at random. `shard_maps.rs` has those with collectives.

use crate::programs::{Random, f64s};
use crate::{arrays, check, each, gradient, number, run};
use lazyxla::testing::engine::{self, Buffer, Engine, EngineOptions, Partitions, ShardedBuffer, Signature};
use lazyxla::testing::ir::{Body, FftOp, NodeId, Trace, UnaryOp, take_closed_body};
use lazyxla::testing::lower::lower_body;
use lazyxla::testing::mesh::{Mesh, MeshAxes, Placement, Sharding, Split, take_piece};
use lazyxla::testing::native::Array;
use lazyxla::testing::ops;
use lazyxla::testing::transform::{self, Checkpoint, Transformer};
use lazyxla::testing::types::TensorType;
use std::sync::Arc;

/// Number of devices of the plugin.
const DEVICES: usize = 8;
const MESHES: [&str; 4] = ["a=2,b=3", "a=4", "a=2,b=2,c=2", "a=2,b=4"];

/// A plugin with meshes of its devices.
pub struct Devices {
    engine: Arc<dyn Engine>,
    meshes: Vec<Arc<Mesh>>,
}

impl Devices {
    pub fn start() -> Devices {
        let engine = engine::start(EngineOptions { device_count: DEVICES, ..Default::default() }).unwrap();
        let mesh = |text: &str| Arc::new(Mesh::new(text.parse().unwrap(), None, DEVICES).unwrap());
        Devices { engine, meshes: MESHES.into_iter().map(mesh).collect() }
    }

    pub fn any(&self, random: &mut Random) -> &Arc<Mesh> {
        &self.meshes[random.below(self.meshes.len())]
    }

    /// Runs a body on arguments that are split, and checks the results against those on one device. A body without an
    /// operation of a mesh is not run.
    pub fn check(&self, what: &str, mesh: &Arc<Mesh>, body: &Arc<Body>, random: &mut Random, want: &Arc<Body>) {
        let inputs = arrays(random, body.parameters());
        let shardings: Vec<Sharding> =
            inputs.iter().map(|input| random_sharding(random, &mesh.axes, &input.ty().dims)).collect();
        if let Some(got) = self.run(mesh, body, &inputs, &shardings) {
            let texts: Vec<String> = shardings.iter().map(|sharding| sharding.text(&mesh.axes)).collect();
            check(&format!("{what} on {}, split by {texts:?}", mesh.axes), &got, &run(want, &inputs), 1e-7);
        }
    }

    fn run(&self, mesh: &Arc<Mesh>, body: &Arc<Body>, inputs: &[Array], shardings: &[Sharding]) -> Option<Vec<Array>> {
        ops::mesh_of(&body.decode().0)?;
        let whole: Vec<Sharding> = body.results().iter().map(|ty| Sharding::replicated(ty.dims.len())).collect();
        let text = stated(&lower_body(body), &mesh.axes, shardings, &whole);
        let partitions = Partitions {
            mesh: mesh.clone(),
            parameters: shardings.to_vec(),
            outputs: whole.into_iter().map(Some).collect(),
        };
        let signature = Signature {
            parameters: body.parameters().to_vec(),
            outputs: body.results().to_vec(),
            donors: Vec::new(),
            partitions: Some(partitions),
        };
        let executable = self.engine.compile(&text, signature, &()).unwrap();
        let pairs = inputs.iter().zip(shardings);
        let sent: Vec<Arc<dyn Buffer>> = pairs.map(|(input, sharding)| self.send(mesh, input, sharding)).collect();
        let outputs = executable.execute(0, &engine::references(&sent), &[]).unwrap().outputs;
        let read = |output: &Arc<dyn Buffer>| {
            let mut bytes = vec![0; output.tensor_type().size_bytes()];
            output.read(&mut bytes).unwrap();
            Array::from_bytes(output.tensor_type(), &bytes).unwrap()
        };
        Some(outputs.iter().map(read).collect())
    }

    /// Sends each device its piece of an array.
    fn send(&self, mesh: &Arc<Mesh>, array: &Array, sharding: &Sharding) -> Arc<dyn Buffer> {
        let ty = array.ty();
        let piece = TensorType::new(ty.dtype, &sharding.piece_dims("argument", &mesh.axes, &ty.dims).unwrap());
        let mut pieces = Vec::new();
        for (position, &ordinal) in mesh.ordinals.iter().enumerate() {
            let offsets = sharding.offsets(&mesh.axes, position, &piece.dims);
            let mut bytes = vec![0; piece.size_bytes()];
            take_piece(array.bytes(), &ty.dims, ty.dtype.size_bytes(), &offsets, &piece.dims, &mut bytes);
            pieces.push(self.engine.transfer_to_device(ordinal, &piece, &bytes).unwrap());
        }
        let placement = Placement { mesh: mesh.clone(), sharding: sharding.clone() };
        ShardedBuffer::new(ty.clone(), placement, pieces).unwrap()
    }
}

/// Adds the shardings of the parameters and the results to the main function of a module.
fn stated(text: &str, axes: &MeshAxes, parameters: &[Sharding], results: &[Sharding]) -> String {
    let (before, rest) = text.split_once("func.func public @main(").expect("a main function");
    let (line, after) = rest.split_once('\n').expect("a body");
    let (given, made) = line.split_once(") -> (").expect("types of results");
    let made = made.strip_suffix(") {").expect("the end of the line");
    let with = |list: &str, shardings: &[Sharding]| {
        let one = |(value, sharding): (&str, &Sharding)| {
            format!("{value} {{sdy.sharding = #sdy.sharding{}}}", sharding.sdy(axes))
        };
        list.split(", ").zip(shardings).map(one).collect::<Vec<String>>().join(", ")
    };
    let (given, made) = (with(given, parameters), with(made, results));
    format!("{before}func.func public @main({given}) -> ({made}) {{\n{after}")
}

/// Returns a random sharding: each mesh axis splits a tensor axis whose pieces it divides evenly, or none.
pub fn random_sharding(random: &mut Random, axes: &MeshAxes, dims: &[i64]) -> Sharding {
    let mut pieces = dims.to_vec();
    let mut splits = vec![Split::new(); dims.len()];
    for (number, axis) in axes.axes().iter().enumerate() {
        let size = axis.size as i64;
        let fitting: Vec<usize> = (0..dims.len()).filter(|&i| pieces[i] % size == 0).collect();
        if let Some(&i) = fitting.get(random.below(fitting.len() + 1)) {
            splits[i].push(number as u8);
            pieces[i] /= size;
        }
    }
    Sharding::new(splits)
}

/// The body with random constraints on its parameters and results.
fn constrained(body: &Arc<Body>, axes: &MeshAxes, random: &mut Random) -> Arc<Body> {
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = body.parameters().iter().map(|ty| trace.parameter(ty.clone())).collect();
    let arguments: Vec<NodeId> = parameters.iter().map(|&id| placed(&mut trace, id, axes, random)).collect();
    let results = trace.replay(body, &arguments);
    let results: Vec<NodeId> = results.iter().map(|&id| placed(&mut trace, id, axes, random)).collect();
    take_closed_body(&trace, &parameters, &[], &results)
}

/// Records a value with a random constraint.
fn placed(trace: &mut Trace, id: NodeId, axes: &MeshAxes, random: &mut Random) -> NodeId {
    let sharding = random_sharding(random, axes, &trace.ty(id).dims);
    ops::sharding_constraint(trace, id, axes, &sharding).unwrap()
}

#[test]
fn transformed_programs_agree_on_meshes() {
    let devices = Devices::start();
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
    let devices = Devices::start();
    let mesh = &devices.meshes[0];
    let mut random = Random(0);
    let mut trace = Trace::new();
    let x = trace.parameter(f64s(&[6, 3]));
    let split = Sharding::new(vec![Split::from_slice(&[0]), Split::from_slice(&[1])]);
    let mut last = x;
    for _ in 0..2 {
        let part = ops::sharding_constraint(&mut trace, last, &mesh.axes, &split).unwrap();
        let complex = ops::complex(&mut trace, part, part).unwrap();
        let transformed = ops::fft(&mut trace, FftOp::Fft, complex, &[3]).unwrap();
        let real = ops::real(&mut trace, transformed).unwrap();
        last = ops::unary(&mut trace, UnaryOp::Negate, real).unwrap();
    }
    let body = take_closed_body(&trace, &[x], &[], &[last]);
    devices.check("the transforms", mesh, &body, &mut random, &body);
}
