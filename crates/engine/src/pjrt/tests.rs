//! Tests of the engine with the real CPU plugin below the C ABI, for cases that a C program cannot provoke.

use super::buffer::PjrtBuffer;
use super::client::MOST_IN_FLIGHT;
use super::start;
use crate::{Engine, EngineOptions, KeyValueStore, Processes, Signature};
use base::error::{Code, Result};
use base::types::{DType, TensorType};
use std::sync::Arc;
use std::time::Duration;

fn engine(devices: usize) -> Arc<dyn Engine> {
    start(EngineOptions { device_count: devices, ..Default::default() }).expect("run `make plugin` first")
}

fn f32s(dims: &[i64]) -> TensorType {
    TensorType::new(DType::F32, dims)
}

const DOUBLE: &str = "module @m { func.func public @main(%a: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2xf32> \
    { %0 = stablehlo.add %a, %a : tensor<2xf32> return %0 : tensor<2xf32> } }";

fn signature() -> Signature {
    Signature { parameters: vec![f32s(&[2])], outputs: vec![f32s(&[2])], donors: vec![0], partitions: None }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn d12_an_argument_of_another_type_shape_device_or_number_is_refused_by_us() {
    let engine = engine(2);
    let executable = engine.compile(DOUBLE, signature(), &()).unwrap();
    let good = engine.transfer_to_device(0, &f32s(&[2]), &bytes(&[1.0, 2.0])).unwrap();
    let dtype = engine.transfer_to_device(0, &TensorType::new(DType::S32, &[2]), &[0; 8]).unwrap();
    let shape = engine.transfer_to_device(0, &f32s(&[1, 2]), &[0; 8]).unwrap();
    let device = engine.transfer_to_device(1, &f32s(&[2]), &[0; 8]).unwrap();
    for (argument, words) in [(dtype, "s32[2]"), (shape, "f32[1,2]"), (device, "device 1")] {
        let refused = executable.execute(0, &[&*argument], &[]).err().unwrap();
        assert_eq!(refused.code, Code::InvalidArgument);
        assert!(refused.message.contains(words), "{refused}");
    }
    assert_eq!(executable.execute(0, &[], &[]).err().unwrap().code, Code::InvalidArgument);
    assert!(!good.is_deleted());
    assert!(executable.execute(0, &[&*good], &[]).is_ok());
}

#[test]
fn donors_are_consumed_unless_kept_and_bytes_are_counted() {
    let engine = engine(1);
    let executable = engine.compile(DOUBLE, signature(), &()).unwrap();
    let before = engine.memory().live;
    let a = engine.transfer_to_device(0, &f32s(&[2]), &bytes(&[1.0, 2.0])).unwrap();
    let kept = executable.execute(0, &[&*a], &[0]).unwrap();
    assert!(kept.consumed.is_empty() && !a.is_deleted());
    assert_eq!(engine.memory().live - before, 16);
    let run = executable.execute(0, &[&*a], &[]).unwrap();
    assert_eq!(run.consumed, [0]);
    assert!(a.is_deleted());
    assert_eq!(engine.memory().live - before, 16);
    drop((kept, a));
    assert_eq!(engine.memory().live - before, 8);
    let mut out = [0; 8];
    run.outputs[0].read(&mut out).unwrap();
    assert_eq!(out.to_vec(), bytes(&[2.0, 4.0]));
}

const SLOW: &str = "module @m { func.func public @main(%a: tensor<512x512xf32> {tf.aliasing_output = 0 : i32}) \
    -> tensor<512x512xf32> { %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] \
    : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> return %0 : tensor<512x512xf32> } }";

#[test]
fn the_number_of_runs_in_flight_is_bounded() {
    let engine = engine(1);
    let ty = f32s(&[512, 512]);
    let types = vec![ty.clone()];
    let signature = Signature { parameters: types.clone(), outputs: types, donors: vec![0], partitions: None };
    let executable = engine.compile(SLOW, signature, &()).unwrap();
    let mut last = engine.transfer_to_device(0, &ty, &vec![0; ty.size_bytes()]).unwrap();
    let mut most = 0;
    for _ in 0..3 * MOST_IN_FLIGHT {
        last = executable.execute(0, &[&*last], &[]).unwrap().outputs.remove(0);
        most = last.as_any().downcast_ref::<PjrtBuffer>().unwrap().client().in_flight_count(0).max(most);
    }
    // The last one that was added may wait for the oldest.
    assert_eq!(most, MOST_IN_FLIGHT + 1);
    engine.wait(0).unwrap();
}

#[test]
fn one_executable_runs_on_every_device() {
    let engine = engine(3);
    assert_eq!(engine.device_count(), 3);
    let executable = engine.compile(DOUBLE, signature(), &()).unwrap();
    for device in 0..3 {
        let value = device as f32;
        let a = engine.transfer_to_device(device, &f32s(&[2]), &bytes(&[value, 1.0])).unwrap();
        let run = executable.execute(device, &[&*a], &[]).unwrap();
        let mut out = [0; 8];
        run.outputs[0].read(&mut out).unwrap();
        assert_eq!(out.to_vec(), bytes(&[2.0 * value, 2.0]));
        assert_eq!(run.outputs[0].device(), device);
    }
}

#[test]
fn a_transposed_layout_reads_row_major() {
    let engine = engine(1);
    // The layout attribute makes the output column-major in memory.
    let text = "module @m { func.func public @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}) \
        { return %a : tensor<2x3xf32> } }";
    let types = vec![f32s(&[2, 3])];
    let signature = Signature { parameters: types.clone(), outputs: types, donors: vec![], partitions: None };
    let executable = engine.compile(text, signature, &()).unwrap();
    let values = bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let a = engine.transfer_to_device(0, &f32s(&[2, 3]), &values).unwrap();
    let run = executable.execute(0, &[&*a], &[]).unwrap();
    let mut out = vec![0; 24];
    run.outputs[0].read(&mut out).unwrap();
    assert_eq!(out, values);
}

#[test]
fn an_executable_that_gives_another_number_of_outputs_is_refused() {
    let engine = engine(1);
    let wrong = Signature { outputs: vec![], ..signature() };
    assert_eq!(engine.compile(DOUBLE, wrong, &()).err().unwrap().code, Code::Internal);
    let broken = engine.compile("module { not mlir }", signature(), &()).err().unwrap();
    assert!(!broken.message.is_empty(), "the plugin's words are kept");
}

struct NoStore;

impl KeyValueStore for NoStore {
    fn get(&self, _key: &[u8], _timeout: Duration) -> Result<Vec<u8>> {
        panic!("a CPU plugin gets no values")
    }

    fn try_get(&self, _key: &[u8]) -> Result<Option<Vec<u8>>> {
        panic!("a CPU plugin gets no values")
    }

    fn put(&self, _key: &[u8], _value: &[u8]) -> Result<()> {
        panic!("a CPU plugin puts no values")
    }
}

#[test]
fn a_plugin_that_knows_no_processes_starts_all_the_same() {
    let of = |id: i32| {
        let processes = Some(Processes { id, count: 2, store: Arc::new(NoStore) });
        start(EngineOptions { device_count: 2, processes, ..Default::default() })
    };
    let engine = of(1).unwrap();
    assert_eq!((engine.device_count(), engine.process_index()), (2, 0));
    assert_eq!(of(2).err().unwrap().code, Code::InvalidArgument);
}
