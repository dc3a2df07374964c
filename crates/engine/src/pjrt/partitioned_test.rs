//! Tests of partitioned programs with the real CPU plugin.

use super::start;
use crate::{Buffer, Engine, EngineOptions, Executable, Partitions, ShardedBuffer, Signature};
use base::error::Code;
use base::types::{DType, TensorType};
use mesh::{Mesh, MeshAxes, Placement, Sharding, take_piece};
use std::sync::Arc;

fn engine() -> Arc<dyn Engine> {
    engine_with(4)
}

fn engine_with(device_count: usize) -> Arc<dyn Engine> {
    start(EngineOptions { device_count, ..Default::default() }).expect("run `make plugin` first")
}

fn f32s(dims: &[i64]) -> TensorType {
    TensorType::new(DType::F32, dims)
}

/// The mesh `x=2,y=2` of these devices.
fn square(ordinals: &[i32]) -> Arc<Mesh> {
    let axes = MeshAxes::new(&["x", "y"], &[2, 2]).unwrap();
    Arc::new(Mesh::new(axes, Some(ordinals), 4).unwrap())
}

fn sharding(mesh: &Mesh, text: &str, rank: usize) -> Sharding {
    Sharding::parse("sharding", text, &mesh.axes, rank).unwrap()
}

/// The attribute that states a sharding.
fn attribute(mesh: &Mesh, text: &str, rank: usize) -> String {
    format!("sdy.sharding = #sdy.sharding{}", sharding(mesh, text, rank).sdy(&mesh.axes))
}

/// A module for this mesh with the function `@main` that follows.
fn module(mesh: &Mesh, main: &str) -> String {
    let partitions = mesh.ordinals.len();
    format!(
        "module @m attributes {{mhlo.num_partitions = {partitions} : i32, mhlo.num_replicas = 1 : i32}} {{ \
         sdy.mesh @mesh = {} func.func public @main{main} }}",
        mesh.axes.sdy()
    )
}

/// Puts the numbers 0, 1, 2, ... on a mesh.
fn put(engine: &dyn Engine, mesh: &Arc<Mesh>, text: &str, dims: &[i64]) -> Arc<dyn Buffer> {
    let ty = f32s(dims);
    let whole: Vec<u8> = (0..ty.elements()).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let sharding = sharding(mesh, text, dims.len());
    let piece_dims = sharding.piece_dims("sharding", &mesh.axes, dims).unwrap();
    let piece_type = f32s(&piece_dims);
    let piece = |(position, &ordinal): (usize, &usize)| {
        let mut piece = vec![0; piece_type.size_bytes()];
        let offsets = sharding.offsets(&mesh.axes, position, &piece_dims);
        take_piece(&whole, dims, 4, &offsets, &piece_dims, &mut piece);
        engine.transfer_to_device(ordinal, &piece_type, &piece).unwrap()
    };
    let pieces = mesh.ordinals.iter().enumerate().map(piece).collect();
    let placement = Placement { mesh: mesh.clone(), sharding: sharding.clone() };
    ShardedBuffer::new(ty, placement, pieces).unwrap()
}

fn read(buffer: &dyn Buffer) -> Vec<f32> {
    let mut bytes = vec![0; buffer.tensor_type().size_bytes()];
    buffer.read(&mut bytes).unwrap();
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// A program of one array `4 x 4`, sharded by x and y, with three outputs: the array times two, the sum of the array,
/// and the array times two sharded in another way.
fn compile(engine: &dyn Engine, mesh: &Arc<Mesh>) -> Arc<dyn Executable> {
    engine.compile(&text(mesh), signature(mesh), &()).unwrap()
}

fn text(mesh: &Mesh) -> String {
    let (given, stated) = (attribute(mesh, "x,y", 2), attribute(mesh, "-,x", 2));
    let main = format!(
        "(%a: tensor<4x4xf32> {{{given}}}) -> (tensor<4x4xf32>, tensor<f32>, tensor<4x4xf32> {{{stated}}}) {{ \
         %zero = stablehlo.constant dense<0.0> : tensor<f32> \
         %twice = stablehlo.add %a, %a : tensor<4x4xf32> \
         %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : \
         (tensor<4x4xf32>, tensor<f32>) -> tensor<f32> \
         %thrice = stablehlo.add %twice, %a : tensor<4x4xf32> \
         return %twice, %sum, %thrice : tensor<4x4xf32>, tensor<f32>, tensor<4x4xf32> }}"
    );
    module(mesh, &main)
}

fn signature(mesh: &Arc<Mesh>) -> Signature {
    let array = f32s(&[4, 4]);
    Signature {
        parameters: vec![array.clone()],
        outputs: vec![array.clone(), f32s(&[]), array],
        donors: vec![],
        partitions: Some(Partitions {
            mesh: mesh.clone(),
            parameters: vec![sharding(mesh, "x,y", 2)],
            outputs: vec![None, None, Some(sharding(mesh, "-,x", 2))],
        }),
    }
}

fn check_run(engine: &dyn Engine, executable: &dyn Executable, mesh: &Arc<Mesh>) {
    let numbers: Vec<f32> = (0..16).map(|i| i as f32).collect();
    let times = |factor: f32| numbers.iter().map(|number| number * factor).collect::<Vec<f32>>();
    let shardings = executable.output_shardings();
    assert_eq!(shardings.len(), 3);
    assert_eq!(shardings[1], Sharding::replicated(0));
    assert_eq!(shardings[2], sharding(mesh, "-,x", 2));
    let argument = put(engine, mesh, "x,y", &[4, 4]);
    let run = executable.execute(0, &[&*argument], &[]).unwrap();
    assert!(run.consumed.is_empty());
    for (output, wanted) in run.outputs.iter().zip([times(2.0), vec![120.0], times(3.0)]) {
        assert_eq!(read(&**output), wanted);
    }
    for (output, sharding) in run.outputs.iter().zip(shardings) {
        let placement = output.placement().unwrap();
        assert_eq!((&placement.mesh, &placement.sharding), (mesh, sharding));
    }
    let pieces = run.outputs[1].as_any().downcast_ref::<ShardedBuffer>().unwrap().pieces();
    assert_eq!(pieces.iter().map(|piece| piece.device()).collect::<Vec<_>>(), mesh.ordinals);
}

#[test]
fn outputs_are_divided_as_stated_or_as_xla_chose() {
    let engine = engine();
    for ordinals in [[0, 1, 2, 3], [3, 1, 0, 2]] {
        let mesh = square(&ordinals);
        let executable = compile(&*engine, &mesh);
        check_run(&*engine, &*executable, &mesh);
        assert_eq!(executable.memory().unwrap().arguments, 16, "of one device");
    }
    for device in 0..4 {
        engine.wait(device).unwrap();
    }
}

#[test]
fn a_serialized_program_runs_on_its_mesh() {
    let engine = engine();
    let mesh = square(&[3, 1, 0, 2]);
    let bytes = compile(&*engine, &mesh).serialize().unwrap();
    let loaded = engine.deserialize(&bytes, signature(&mesh)).unwrap();
    check_run(&*engine, &*loaded, &mesh);
}

#[test]
fn a_mesh_of_one_device_needs_no_partitioner() {
    let engine = engine();
    let axes = MeshAxes::new(&["x"], &[1]).unwrap();
    let mesh = Arc::new(Mesh::new(axes, Some(&[2]), 4).unwrap());
    let (sharded, array) = (attribute(&mesh, "x", 1), f32s(&[2]));
    let main = format!(
        "(%a: tensor<2xf32> {{{sharded}}}) -> tensor<2xf32> {{ %0 = stablehlo.add %a, %a : tensor<2xf32> \
         return %0 : tensor<2xf32> }}"
    );
    let partitions = Partitions { mesh: mesh.clone(), parameters: vec![sharding(&mesh, "x", 1)], outputs: vec![None] };
    let (parameters, outputs) = (vec![array.clone()], vec![array]);
    let signature = Signature { parameters, outputs, donors: vec![], partitions: Some(partitions) };
    let executable = engine.compile(&module(&mesh, &main), signature, &()).unwrap();
    assert_eq!(executable.output_shardings(), [Sharding::replicated(1)]);
    let run = executable.execute(0, &[&*put(&*engine, &mesh, "x", &[2])], &[]).unwrap();
    assert_eq!(read(&*run.outputs[0]), [0.0, 2.0]);
    assert_eq!(run.outputs[0].device(), 2);
}

/// A program that adds two arrays `4 x 4` over the first one.
fn compile_sum(engine: &dyn Engine, mesh: &Arc<Mesh>) -> Arc<dyn Executable> {
    let sharded = attribute(mesh, "x,y", 2);
    let main = format!(
        "(%a: tensor<4x4xf32> {{{sharded}, tf.aliasing_output = 0 : i32}}, %b: tensor<4x4xf32> {{{sharded}}}) \
         -> (tensor<4x4xf32> {{{sharded}}}) {{ %0 = stablehlo.add %a, %b : tensor<4x4xf32> \
         return %0 : tensor<4x4xf32> }}"
    );
    let (array, xy) = (f32s(&[4, 4]), sharding(mesh, "x,y", 2));
    let partitions =
        Partitions { mesh: mesh.clone(), parameters: vec![xy.clone(), xy.clone()], outputs: vec![Some(xy)] };
    let (parameters, outputs) = (vec![array.clone(), array.clone()], vec![array]);
    let signature = Signature { parameters, outputs, donors: vec![0], partitions: Some(partitions) };
    engine.compile(&module(mesh, &main), signature, &()).unwrap()
}

#[test]
fn donors_on_a_mesh_are_consumed_unless_kept_and_bytes_are_counted() {
    let engine = engine();
    let mesh = square(&[0, 1, 2, 3]);
    let executable = compile_sum(&*engine, &mesh);
    assert_eq!(executable.memory().unwrap().aliases, 16);
    let before = engine.memory().live;
    let live = || engine.memory().live - before;
    let (a, b) = (put(&*engine, &mesh, "x,y", &[4, 4]), put(&*engine, &mesh, "x,y", &[4, 4]));
    assert_eq!(live(), 128);
    let kept = executable.execute(0, &[&*a, &*b], &[0]).unwrap();
    assert!(kept.consumed.is_empty() && !a.is_deleted());
    assert_eq!(live(), 192);
    drop(kept);
    let run = executable.execute(0, &[&*a, &*b], &[]).unwrap();
    assert_eq!(run.consumed, [0]);
    assert!(a.is_deleted() && !b.is_deleted());
    assert_eq!(live(), 128);
    let refused = executable.execute(0, &[&*a, &*b], &[]).err().unwrap();
    assert_eq!(refused.code, Code::InvalidArgument);
    assert!(refused.message.contains("argument 0 was consumed"), "{refused}");
    let twice = executable.execute(0, &[&*b, &*b], &[]).err().unwrap();
    assert!(twice.message.contains("arguments 0 and 1"), "{twice}");
    assert!(executable.execute(0, &[&*b, &*b], &[0]).is_ok() && !b.is_deleted());
    drop((a, b));
    assert_eq!(live(), 64);
    assert_eq!(read(&*run.outputs[0])[15], 30.0);
}

#[test]
fn arguments_that_are_not_as_compiled_are_refused() {
    let engine = engine();
    let mesh = square(&[0, 1, 2, 3]);
    let executable = compile(&*engine, &mesh);
    let refused = |argument: &Arc<dyn Buffer>| {
        let refused = executable.execute(0, &[&**argument], &[]).err().unwrap();
        assert_eq!(refused.code, Code::InvalidArgument);
        refused.message.to_string()
    };
    let wanted = "the program takes it sharded \"x,y\" on the mesh x=2,y=2 of devices [0, 1, 2, 3]";
    let other = put(&*engine, &mesh, "y,-", &[4, 4]);
    let given = "argument 0 is sharded \"y,-\" on the mesh x=2,y=2 of devices [0, 1, 2, 3]";
    assert_eq!(refused(&other), format!("{given}; {wanted}"));
    let elsewhere = put(&*engine, &square(&[1, 0, 2, 3]), "x,y", &[4, 4]);
    assert!(refused(&elsewhere).contains("of devices [1, 0, 2, 3]; "));
    let local = engine.transfer_to_device(1, &f32s(&[4, 4]), &[0; 64]).unwrap();
    assert_eq!(refused(&local), format!("argument 0 is on device 1; {wanted}"));
    let small = put(&*engine, &mesh, "x,y", &[2, 2]);
    assert!(refused(&small).contains("f32[2,2]"));
    assert_eq!(executable.execute(0, &[], &[]).err().unwrap().code, Code::InvalidArgument);
    let foreign = put(&*self::engine(), &mesh, "x,y", &[4, 4]);
    assert_eq!(refused(&foreign), "argument 0 is of another engine");
}

#[test]
fn partitions_for_more_devices_than_there_are_are_refused() {
    let engine = engine_with(2);
    let mesh = square(&[0, 1, 2, 3]);
    let refused = engine.compile(&text(&mesh), signature(&mesh), &()).err().unwrap();
    assert_eq!(refused.code, Code::InvalidArgument);
    assert!(engine.deserialize(&[], signature(&mesh)).err().unwrap().message.contains("device 2"));
}
