//! The devices of the plugin with meshes, on which bodies run with arguments that are split. `tests/transforms`
//! includes this file too.

use crate::common::Random;
use base::error::Result;
use base::types::TensorType;
use engine::{self, Buffer, Engine, EngineOptions, Partitions, ShardedBuffer, Signature};
use ir::Body;
use lowering::lower::lower_body_with_calls;
use mesh::{Mesh, MeshAxes, Placement, Sharding, Split, take_piece};
use native::Array;
use std::sync::Arc;

/// Number of devices of the plugin.
const DEVICES: usize = 8;

/// A plugin with meshes of its devices.
pub struct Devices {
    engine: Arc<dyn Engine>,
    pub meshes: Vec<Arc<Mesh>>,
}

impl Devices {
    /// Starts the plugin, with these meshes.
    pub fn start(meshes: &[&str]) -> Devices {
        let engine = engine::start(EngineOptions { device_count: DEVICES, ..Default::default() }).unwrap();
        let mesh = |text: &&str| Arc::new(Mesh::new(text.parse().unwrap(), None, DEVICES).unwrap());
        Devices { engine, meshes: meshes.iter().map(mesh).collect() }
    }

    pub fn any(&self, random: &mut Random) -> &Arc<Mesh> {
        &self.meshes[random.below(self.meshes.len())]
    }

    /// Runs a body, which has an operation of the mesh, on arguments that are split. Every device gets whole results.
    pub fn run(
        &self,
        mesh: &Arc<Mesh>,
        body: &Arc<Body>,
        inputs: &[Array],
        shardings: &[Sharding],
    ) -> Result<Vec<Array>> {
        let whole: Vec<Sharding> = body.results().iter().map(|ty| Sharding::replicated(ty.dims.len())).collect();
        let text = stated(&lower_body_with_calls(body).unwrap(), &mesh.axes, shardings, &whole);
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
        let executable = self.engine.compile(&text, signature, &())?;
        let pairs = inputs.iter().zip(shardings);
        let sent: Vec<Arc<dyn Buffer>> =
            pairs.map(|(input, sharding)| self.send(mesh, input, sharding)).collect::<Result<_>>()?;
        let outputs = executable.execute(0, &engine::references(&sent), &[])?.outputs;
        let read = |output: &Arc<dyn Buffer>| {
            let mut bytes = vec![0; output.tensor_type().size_bytes()];
            output.read(&mut bytes)?;
            Array::from_bytes(output.tensor_type(), &bytes)
        };
        outputs.iter().map(read).collect()
    }

    /// Sends each device its piece of an array.
    fn send(&self, mesh: &Arc<Mesh>, array: &Array, sharding: &Sharding) -> Result<Arc<dyn Buffer>> {
        let ty = array.ty();
        let piece = TensorType::new(ty.dtype, &sharding.piece_dims("argument", &mesh.axes, &ty.dims)?);
        let mut pieces = Vec::new();
        for (position, &ordinal) in mesh.ordinals.iter().enumerate() {
            let offsets = sharding.offsets(&mesh.axes, position, &piece.dims);
            let mut bytes = vec![0; piece.size_bytes()];
            take_piece(array.bytes(), &ty.dims, ty.dtype.size_bytes(), &offsets, &piece.dims, &mut bytes);
            pieces.push(self.engine.transfer_to_device(ordinal, &piece, &bytes)?);
        }
        let placement = Placement { mesh: mesh.clone(), sharding: sharding.clone() };
        let buffer = ShardedBuffer::new(ty.clone(), placement, pieces)?;
        Ok(buffer)
    }
}

/// Whether a body has an operation of a mesh. The text of any other body declares no mesh, and runs on one device.
pub fn is_on_mesh(body: &Body) -> bool {
    ops::mesh::mesh_of(&body.decode().0).is_some()
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
