//! Random programs, differentiated and batched. Natively:
//! - jvp and vjp agree by the identity <cotangent, jvp(tangent)> = <vjp(cotangent), tangent>, also those of the
//!   gradient (second order);
//! - all checkpoint policies give the same gradients;
//! - vmap gives what one call for each element of the batch gives, also vmap of the gradient.
//!
//! `shared.rs` counts the bodies that transformations derive.
//!
//! - the text of programs, gradients and batches is imported to the same values (`written.rs`).
//!
//! On the plugin, the gradient and the batched program give what they give natively: on one device, and on meshes, with
//! arguments that are split at random (`meshes.rs`). Programs of `shard_map` with collectives give on meshes what the
//! same programs without collectives give natively (`shard_maps.rs`).
//!
//! `LXLA_TRANSFORM_PROGRAMS`, `LXLA_TRANSFORM_PLUGIN_PROGRAMS` and `LXLA_TRANSFORM_MESH_PROGRAMS` set the number of
//! programs, `LXLA_TRANSFORM_SEED` the first seed.

#[path = "../meshes/common.rs"]
mod common;
#[path = "../meshes/devices.rs"]
mod devices;
mod meshes;
mod nested;
mod programs;
mod repeated;
mod shard_maps;
mod shared;
mod written;

use base::types::TensorType;
use common::{Random, difference, number};
use engine::{self, EngineOptions, Signature};
use ir::Body;
use lowering::interpret;
use lowering::lower::lower_body;
use lowering::transform::{self, Checkpoint, Transformer, Wanted};
use native::Array;
use programs::computation;
use std::sync::Arc;

fn array(random: &mut Random, ty: &TensorType) -> Array {
    let values: Vec<f64> = (0..ty.elements()).map(|_| random.unit() * 3.0 - 1.5).collect();
    Array::from_bytes(ty, bytemuck::cast_slice(&values)).unwrap()
}

fn arrays<'a>(random: &mut Random, types: impl IntoIterator<Item = &'a TensorType>) -> Vec<Array> {
    types.into_iter().map(|ty| array(random, ty)).collect()
}

fn run(body: &Body, inputs: &[Array]) -> Vec<Array> {
    interpret::run(body.program(), body.scalars(), inputs).unwrap()
}

fn numbers(arrays: &[Array]) -> impl Iterator<Item = f64> + '_ {
    arrays.iter().flat_map(|array| array.elements::<f64>().iter().copied())
}

fn inner(a: &[Array], b: &[Array]) -> (f64, f64) {
    let products = numbers(a).zip(numbers(b)).map(|(a, b)| a * b);
    products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()))
}

/// Panics unless the values are equal but for rounding.
fn check(what: &str, got: &[Array], want: &[Array], tolerance: f64) {
    if let Some(difference) = difference(got, want, tolerance) {
        panic!("{what}: {difference}");
    }
}

fn all(types: &[TensorType]) -> Vec<usize> {
    (0..types.len()).collect()
}

fn wanted(parameters: &[usize]) -> Wanted<'_> {
    Wanted { parameters, captures: false }
}

/// The computation of parameters and cotangents to gradients.
fn gradient(body: &Arc<Body>, policy: Checkpoint) -> Arc<Body> {
    use ir::{NodeId, Trace, take_closed_body};
    let transformer = Transformer::new(policy);
    let made = transform::vjp(&transformer, body, &wanted(&all(body.parameters()))).unwrap();
    let mut trace = Trace::new();
    let mut leaves =
        |types: &[TensorType]| -> Vec<NodeId> { types.iter().map(|ty| trace.parameter(ty.clone())).collect() };
    let (parameters, cotangents) = (leaves(body.parameters()), leaves(body.results()));
    let passed = trace.replay(&made.forward, &parameters).unwrap().split_off(body.results().len());
    let gradients = trace.replay(&made.backward, &[&passed[..], &cotangents].concat()).unwrap();
    take_closed_body(&trace, &[&parameters[..], &cotangents].concat(), &[], &gradients).unwrap()
}

/// Checks jvp against vjp. Returns false if a value is not finite.
fn check_identity(what: &str, body: &Arc<Body>, random: &mut Random) -> bool {
    let inputs = arrays(random, body.parameters());
    let tangents = arrays(random, body.parameters());
    let cotangents = arrays(random, body.results());
    let jvp = transform::jvp(&Transformer::default(), body, &all(body.parameters())).unwrap();
    let pushed = run(&jvp, &[&inputs[..], &tangents].concat()).split_off(body.results().len());
    let gradients = run(&gradient(body, Checkpoint::SaveAll), &[&inputs[..], &cotangents].concat());
    if !numbers(&pushed).chain(numbers(&gradients)).all(f64::is_finite) {
        return false;
    }
    let ((left, size), (right, other)) = (inner(&cotangents, &pushed), inner(&gradients, &tangents));
    assert!((left - right).abs() <= 1e-8 * (1.0 + size + other), "{what}: <c, jvp> is {left}, <vjp, t> is {right}");
    true
}

/// Checks vmap against one call for each element.
fn check_batch(what: &str, body: &Arc<Body>, random: &mut Random) {
    let size = 1 + random.below(3) as i64;
    let axes: Vec<i64> = body.parameters().iter().map(|ty| random.below(ty.dims.len() + 2) as i64 - 1).collect();
    let out = vec![0; body.results().len()];
    let batched = transform::batched(&Transformer::default(), body, &axes, &out, size).unwrap();
    let inputs = arrays(random, batched.parameters());
    let got = run(&batched, &inputs);
    let mut rows: Vec<Vec<Array>> = vec![Vec::new(); body.results().len()];
    for row in 0..size {
        let own: Vec<Array> = inputs
            .iter()
            .zip(&axes)
            .map(|(array, &axis)| if axis < 0 { array.clone() } else { sliced(array, axis as usize, row as usize) })
            .collect();
        run(body, &own).into_iter().zip(&mut rows).for_each(|(array, rows)| rows.push(array));
    }
    let want: Vec<Array> = rows.iter().map(|rows| native::stack(rows).unwrap()).collect();
    check(&format!("{what} over {axes:?}"), &got, &want, 1e-9);
}

/// One slice of an array along an axis.
fn sliced(array: &Array, axis: usize, row: usize) -> Array {
    let dims = array.ty().dims.to_vec();
    let (before, after): (i64, i64) = (dims[..axis].iter().product(), dims[axis + 1..].iter().product());
    let all = array.elements::<f64>();
    let mut values = Vec::new();
    for outer in 0..before as usize {
        let start = (outer * dims[axis] as usize + row) * after as usize;
        values.extend_from_slice(&all[start..start + after as usize]);
    }
    let mut rest = dims;
    rest.remove(axis);
    Array::from_bytes(&programs::f64s(&rest), bytemuck::cast_slice(&values)).unwrap()
}

/// First stream of the programs that run on the plugin, which rounds otherwise.
const ON_PLUGIN: u64 = 2;

/// Runs `check` for each of several programs, and names the seed of one that panics.
fn each(count: u64, stream: u64, check: impl Fn(&Arc<Body>, &mut Random)) {
    let first = number("LXLA_TRANSFORM_SEED", 0);
    for seed in first..first + count {
        let mut random = Random(seed << 8 | stream);
        let length = 4 + random.below(12);
        let body = computation(&mut random, length, 2, stream >= ON_PLUGIN);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&body, &mut random)));
        if let Err(panic) = outcome {
            println!("seed {seed} of stream {stream}:\n{}", lower_body(&body).unwrap());
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn derivatives_of_random_programs_agree() {
    let finite = std::cell::Cell::new(0);
    let count = number("LXLA_TRANSFORM_PROGRAMS", 250);
    each(count, 0, |body, random| {
        finite.set(finite.get() + u64::from(check_identity("first order", body, random)));
        let backward = gradient(body, Checkpoint::SaveAll);
        check_identity("second order", &backward, random);
        let inputs = arrays(random, backward.parameters());
        let want = run(&backward, &inputs);
        for policy in [Checkpoint::SaveNone, Checkpoint::SaveDots, Checkpoint::SaveNamed(vec!["kept".to_string()])] {
            let what = format!("{policy:?}");
            check(&what, &run(&gradient(body, policy), &inputs), &want, 1e-12);
        }
    });
    assert!(finite.get() > count * 9 / 10, "{} of {count} programs are finite: the test proves little", finite.get());
}

#[test]
fn batches_of_random_programs_agree() {
    each(number("LXLA_TRANSFORM_PROGRAMS", 250), 1, |body, random| {
        check_batch("vmap", body, random);
        check_batch("vmap of the gradient", &gradient(body, Checkpoint::SaveAll), random);
        let transformer = Transformer::default();
        let axes = vec![0; body.parameters().len()];
        let batched = transform::batched(&transformer, body, &axes, &vec![0; body.results().len()], 2).unwrap();
        check_identity("gradient of vmap", &batched, random);
    });
}

#[test]
fn transformed_programs_agree_on_the_plugin() {
    let engine = engine::start(EngineOptions { device_count: 1, ..Default::default() }).unwrap();
    each(number("LXLA_TRANSFORM_PLUGIN_PROGRAMS", 20), 2, |body, random| {
        let backward = gradient(body, Checkpoint::SaveNone);
        let axes = vec![0; backward.parameters().len()];
        let out = vec![0; backward.results().len()];
        let batched = transform::batched(&Transformer::default(), &backward, &axes, &out, 2).unwrap();
        for (what, made) in [("the gradient", &backward), ("vmap of the gradient", &batched)] {
            let inputs = arrays(random, made.parameters());
            let signature = Signature {
                parameters: made.parameters().to_vec(),
                outputs: made.results().to_vec(),
                donors: Vec::new(),
                partitions: None,
            };
            let executable = engine.compile(&lower_body(made).unwrap(), signature, &()).unwrap();
            let sent: Vec<_> =
                inputs.iter().map(|array| engine.transfer_to_device(0, array.ty(), array.bytes()).unwrap()).collect();
            let outputs = executable.execute(0, &engine::references(&sent), &[]).unwrap().outputs;
            let got: Vec<Array> = outputs
                .iter()
                .map(|output| {
                    let ty = output.tensor_type().clone();
                    let mut bytes = vec![0; ty.size_bytes()];
                    output.read(&mut bytes).unwrap();
                    Array::from_bytes(&ty, &bytes).unwrap()
                })
                .collect();
            check(what, &got, &run(made, &inputs), 1e-7);
        }
    });
}
