//! Operations of meshes, without an engine: what inference refuses, the text of the lowering, the structure of
//! derivatives and batches.

use base::error::{Code, Error};
use base::types::{DType, ScalarValue, TensorType};
use ir::{self, BinaryOp, Body, DimensionNumbers, FftOp, NodeId, Op, ReduceOp, ScatterOp, Trace, UnaryOp, take_body};
use lowering::interpret;
use lowering::lower::lower_body;
use lowering::transform::{Differentiated, Transformer, Wanted, batched, jvp, vjp};
use mesh::{MeshAxes, Sharding};
use native::Array;
use ops::control::{self, Applied};
use ops::mesh::{
    AllReduceAttributes, AllToAllAttributes, AlongAttributes, CollectivePermuteAttributes, ShardMapAttributes,
    ShardingConstraintAttributes,
};
use ops::nn::{self, ConvolutionOptions};
use ops::{creation, elementwise, indexing, linalg, reduction, shape};
use std::sync::Arc;

/// 2 times 4 devices.
fn mesh() -> MeshAxes {
    MeshAxes::new(&["data", "model"], &[2, 4]).unwrap()
}

const DATA: usize = 0;
const MODEL: usize = 1;

fn f32s(dims: &[i64]) -> TensorType {
    TensorType::new(DType::F32, dims)
}

fn split(text: &str, rank: usize) -> Sharding {
    Sharding::parse("sharding", text, &mesh(), rank).unwrap()
}

/// The computation of one array.
fn of_one(ty: &TensorType, record: impl FnOnce(&mut Trace, NodeId) -> NodeId) -> Arc<Body> {
    let mut trace = Trace::new();
    let x = trace.parameter(ty.clone());
    let result = record(&mut trace, x);
    take_body(&trace, &[x], &[result]).unwrap().0
}

/// The computation of one array in which every device applies a body to its piece.
fn mapped(inner: &Arc<Body>, ty: &TensorType, from: &str, to: &str) -> Arc<Body> {
    let applied = Applied { body: inner, captures: &[] };
    let (input, output) = (split(from, ty.dims.len()), split(to, inner.results()[0].dims.len()));
    of_one(ty, |trace, x| ops::mesh::shard_map(trace, &applied, &mesh(), &[input], &[x], &[output]).unwrap()[0])
}

fn gradient(body: &Arc<Body>) -> Differentiated {
    vjp(&Transformer::default(), body, &Wanted { parameters: &[0], captures: false }).unwrap()
}

/// All operations of a body and of the bodies that it applies, with their encoded attributes.
fn operations(body: &Body) -> Vec<(Op, Vec<i64>)> {
    let mut found = Vec::new();
    for value in body.decode().0 {
        found.push((value.op, value.words.to_vec()));
        value.bodies.iter().for_each(|inner| found.extend(operations(inner)));
    }
    found
}

/// Attributes of the operations of a kind.
fn attributes<A: ir::Attributes>(body: &Body, op: Op) -> Vec<A> {
    operations(body).iter().filter(|(known, _)| *known == op).map(|(_, words)| ir::decode(words)).collect()
}

fn assert_text(text: &str, wanted: &str) {
    assert!(text.contains(wanted), "{text}\nlacks\n{wanted}");
}

fn assert_refused<T>(result: Result<T, Error>, words: &str) {
    let Err(error) = result else { panic!("accepted; want a refusal with {words:?}") };
    assert_eq!(error.code, Code::InvalidArgument, "{error}");
    assert!(error.message.contains(words), "{error}; want {words:?}");
}

const CHANNEL: &str = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
const BY_DATA: &str = "replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>";
const BY_MODEL: &str = "replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>";

#[test]
fn a_shard_map_is_a_manual_computation_that_calls_its_body() {
    let inner = of_one(&f32s(&[4, 2]), |t, x| ops::mesh::all_reduce(t, ReduceOp::Sum, x, &mesh(), &[MODEL]).unwrap());
    let outer = mapped(&inner, &f32s(&[8, 8]), "data,model", "data,-");
    assert_eq!(outer.results(), [f32s(&[8, 2])]);
    let text = lower_body(&outer).unwrap();
    assert_text(
        &text,
        "%v1:1 = sdy.manual_computation(%v0) in_shardings=[<@mesh, [{\"data\"}, {\"model\"}]>] \
         out_shardings=[<@mesh, [{\"data\"}, {}]>] manual_axes={\"data\", \"model\"} (%in1_0: tensor<4x2xf32>) {",
    );
    assert_text(&text, &format!("%next1:1 = func.call @{}_pieces(%in1_0) : (tensor<4x2xf32>)", inner.name()));
    assert_text(&text, "sdy.return %next1#0 : tensor<4x2xf32>\n    } : (tensor<8x8xf32>) -> (tensor<8x2xf32>)");
}

#[test]
fn a_reduction_over_devices_is_written_as_jax_writes_it() {
    let reduced = |op, ty: &TensorType, axes: &[usize]| {
        lower_body(&of_one(ty, |t, x| ops::mesh::all_reduce(t, op, x, &mesh(), axes).unwrap())).unwrap()
    };
    let text = reduced(ReduceOp::Sum, &f32s(&[4, 2]), &[DATA]);
    assert_text(&text, &format!("\"stablehlo.all_reduce\"(%v0) <{{{CHANNEL}, {BY_DATA}, use_global_device_ids}}>"));
    assert_text(
        &text,
        "({\n    ^bb0(%lhs1: tensor<f32>, %rhs1: tensor<f32>):\n    \
         %both1 = stablehlo.add %lhs1, %rhs1 : tensor<f32>\n    \
         stablehlo.return %both1 : tensor<f32>\n    }) : (tensor<4x2xf32>) -> tensor<4x2xf32>",
    );
    // The first axis is the major one of the group.
    let text = reduced(ReduceOp::Max, &f32s(&[]), &[MODEL, DATA]);
    assert_text(&text, "replica_groups = dense<[[0, 4, 1, 5, 2, 6, 3, 7]]> : tensor<1x8xi64>");
    assert_text(&text, "stablehlo.maximum");
    let pred = TensorType::new(DType::Pred, &[3]);
    assert_text(&reduced(ReduceOp::All, &pred, &[DATA]), "stablehlo.and %lhs1, %rhs1 : tensor<i1>");
    assert_text(&reduced(ReduceOp::Any, &pred, &[DATA]), "stablehlo.or %lhs1, %rhs1 : tensor<i1>");
}

#[test]
fn other_collectives_are_written_as_jax_writes_them() {
    let text = |record: fn(&mut Trace, NodeId) -> NodeId| lower_body(&of_one(&f32s(&[4, 8]), record)).unwrap();
    assert_text(
        &text(|t, x| ops::mesh::all_gather(t, x, &mesh(), &[DATA], -1).unwrap()),
        &format!(
            "\"stablehlo.all_gather\"(%v0) <{{all_gather_dim = 1 : i64, {CHANNEL}, {BY_DATA}, \
             use_global_device_ids}}>\n    : (tensor<4x8xf32>) -> tensor<4x16xf32>"
        ),
    );
    assert_text(
        &text(|t, x| ops::mesh::reduce_scatter(t, ReduceOp::Sum, x, &mesh(), &[MODEL], 1).unwrap()),
        &format!(
            "\"stablehlo.reduce_scatter\"(%v0) <{{{CHANNEL}, {BY_MODEL}, scatter_dimension = 1 : i64, \
             use_global_device_ids}}>"
        ),
    );
    assert_text(
        &text(|t, x| ops::mesh::all_to_all(t, x, &mesh(), &[MODEL], 1, 0).unwrap()),
        &format!(
            "\"stablehlo.all_to_all\"(%v0) <{{{CHANNEL}, concat_dimension = 0 : i64, {BY_MODEL}, \
             split_count = 4 : i64, split_dimension = 1 : i64}}>\n    : (tensor<4x8xf32>) -> tensor<16x2xf32>"
        ),
    );
    assert_text(
        &text(|t, x| ops::mesh::collective_permute(t, x, &mesh(), MODEL, &[(0, 1), (1, 2)]).unwrap()),
        &format!(
            "\"stablehlo.collective_permute\"(%v0) <{{{CHANNEL}, source_target_pairs = \
             dense<[[0, 1], [1, 2], [4, 5], [5, 6]]> : tensor<4x2xi64>}}> : (tensor<4x8xf32>) -> tensor<4x8xf32>"
        ),
    );
    let index = text(|t, x| {
        let index = ops::mesh::axis_index(t, &mesh(), &[MODEL, DATA]).unwrap();
        let index = elementwise::convert(t, index, DType::F32);
        elementwise::binary(t, BinaryOp::Add, x, index).unwrap()
    });
    assert_text(&index, "stablehlo.partition_id : tensor<ui32>");
    assert_eq!((index.matches("stablehlo.remainder").count(), index.matches("stablehlo.multiply").count()), (2, 1));
    assert_text(&index, ": (tensor<ui32>) -> tensor<i32>");
}

#[test]
fn a_constraint_keeps_the_type_and_is_left_out_on_one_device() {
    let body =
        of_one(&f32s(&[4, 8]), |t, x| ops::mesh::sharding_constraint(t, x, &mesh(), &split("model,data", 2)).unwrap());
    assert_text(
        &lower_body(&body).unwrap(),
        "%v1 = sdy.sharding_constraint %v0 <@mesh, [{\"model\"}, {\"data\"}]> : tensor<4x8xf32>",
    );
    let one = MeshAxes::new(&["data"], &[1]).unwrap();
    let by_data = Sharding::parse("sharding", "data", &one, 1).unwrap();
    let body = of_one(&f32s(&[3]), |t, x| ops::mesh::sharding_constraint(t, x, &one, &by_data).unwrap());
    assert_text(&lower_body(&body).unwrap(), "return %v0 : tensor<3xf32>");
    // The values are the operand's.
    let array = Array::from_bytes(&f32s(&[3]), &[7; 12]).unwrap();
    let results = interpret::run(body.program(), body.scalars(), std::slice::from_ref(&array)).unwrap();
    assert_eq!(results[0].bytes(), array.bytes());
}

#[test]
fn on_one_device_a_shard_map_is_a_call_and_a_collective_is_nothing() {
    let one = MeshAxes::new(&["data"], &[1]).unwrap();
    let inner = of_one(&f32s(&[3]), |t, x| {
        let all = ops::mesh::all_gather(t, x, &one, &[0], 0).unwrap();
        let sum = ops::mesh::all_reduce(t, ReduceOp::Sum, all, &one, &[0]).unwrap();
        assert_eq!((all, sum), (x, x));
        elementwise::unary(t, UnaryOp::Negate, sum).unwrap()
    });
    assert!(!inner.has_collectives());
    let by_data = [Sharding::parse("sharding", "data", &one, 1).unwrap()];
    let applied = Applied { body: &inner, captures: &[] };
    let outer =
        of_one(&f32s(&[3]), |t, x| ops::mesh::shard_map(t, &applied, &one, &by_data, &[x], &by_data).unwrap()[0]);
    let text = lower_body(&outer).unwrap();
    assert_text(&text, &format!("%v1:1 = func.call @{}(%v0)", inner.name()));
    assert!(!text.contains("manual_computation"), "{text}");
}

/// StableHLO of a computation of f32[8,4,16] on the mesh.
fn text_on_mesh(record: impl FnOnce(&mut Trace, NodeId) -> NodeId) -> String {
    lower_body(&of_one(&f32s(&[8, 4, 16]), |t, x| {
        let x = ops::mesh::sharding_constraint(t, x, &mesh(), &split("data,-,-", 3)).unwrap();
        record(t, x)
    }))
    .unwrap()
}

#[test]
fn operations_that_xla_splits_wrongly_along_some_axes_are_constrained() {
    let options = |padding: &'static [i64]| ConvolutionOptions {
        padding_low: Some(padding),
        feature_groups: 1,
        batch_groups: 1,
        ..ConvolutionOptions::default()
    };
    let convolved = |padding: &'static [i64]| {
        text_on_mesh(|t, x| {
            let kernel = creation::full(t, &f32s(&[2, 4, 3]), ScalarValue::Float(1.0)).unwrap();
            nn::convolution(t, x, kernel, &options(padding)).unwrap()
        })
    };
    // The batch and the output features may be split, and the features that are summed may not.
    let text = convolved(&[0]);
    assert_text(&text, "sdy.sharding_constraint %v1 <@mesh, [{?}, {}, {}]> : tensor<8x4x16xf32>");
    assert_text(&text, "<@mesh, [{?}, {}, {}]> : tensor<2x4x3xf32>");
    assert_text(&text, "<@mesh, [{?}, {?}, {}]> : tensor<8x2x14xf32>");
    let text = convolved(&[-1]);
    assert_text(&text, "sdy.manual_computation");
    assert!(!text.contains("{?}"), "{text}");
    // The derivative by the kernel sums over the batch.
    let made = gradient(&of_one(&f32s(&[2, 4, 3]), |t, kernel| {
        let x = creation::full(t, &f32s(&[8, 4, 16]), ScalarValue::Float(1.0)).unwrap();
        let y = nn::convolution(t, x, kernel, &options(&[0])).unwrap();
        ops::mesh::sharding_constraint(t, y, &mesh(), &split("data,-,-", 3)).unwrap()
    }));
    let text = lower_body(&made.backward).unwrap();
    assert_text(&text, "<@mesh, [{?}, {}, {}]> : tensor<8x4x16xf32>");
    assert_text(&text, "<@mesh, [{?}, {}, {}]> : tensor<8x2x14xf32>");
    assert_text(&text, "<@mesh, [{}, {}, {}]> : tensor<2x4x3xf32>");
    // Axes that are not reduced, or have no padding.
    let text = text_on_mesh(|t, x| reduction::arg_extreme(t, x, 1, false, true, DType::S32).unwrap());
    assert_text(&text, "<@mesh, [{?}, {}, {?}]> : tensor<8x4x16xf32>");
    assert_text(&text, "<@mesh, [{?}, {}, {?}]> : tensor<8x4x16xi32>");
    let zero = ScalarValue::Float(0.0);
    // A pad that removes elements is a slice and a pad without negative padding, which XLA splits as they are.
    let text = text_on_mesh(|t, x| shape::pad_scalar(t, x, zero, &[0, 0, -1], &[0, 1, 0], &[0; 3]).unwrap());
    assert_text(&text, "stablehlo.slice");
    assert_text(&text, "low = [0, 0, 0], high = [0, 1, 0]");
    assert!(!text.contains("sdy.manual_computation") && !text.contains("{?}"), "{text}");
    let text = text_on_mesh(|t, x| shape::pad_scalar(t, x, zero, &[0; 3], &[0; 3], &[0, 0, 1]).unwrap());
    assert_text(&text, "<@mesh, [{?}, {?}, {}]> : tensor<8x4x16xf32>");
    assert_text(&text, "<@mesh, [{?}, {?}, {}]> : tensor<8x4x31xf32>");
}

#[test]
fn windows_scatters_gathers_and_fourier_transforms_are_split_along_safe_axes() {
    let text = text_on_mesh(|t, x| reduction::cumulative(t, ReduceOp::Sum, x, 2, false).unwrap());
    assert_text(&text, "<@mesh, [{?}, {?}, {}]> : tensor<8x4x16xf32>");
    let text = text_on_mesh(|t, x| {
        let indices = creation::iota(t, &TensorType::new(DType::S32, &[8, 4, 2]), 2).unwrap();
        let updates = creation::full(t, &f32s(&[8, 4, 2]), ScalarValue::Float(1.0)).unwrap();
        indexing::scatter_along(t, ScatterOp::Sum, x, indices, updates, 2).unwrap()
    });
    assert_text(&text, "<@mesh, [{?}, {?}, {}]> : tensor<8x4x16xf32>");
    assert_text(&text, "<@mesh, [{?}, {?}, {}]> : tensor<8x4x2xi32>");
    let gathered = |size: i64| {
        text_on_mesh(|t, x| {
            let indices = creation::iota(t, &TensorType::new(DType::S32, &[5]), 0).unwrap();
            let numbers = DimensionNumbers {
                window_dims: vec![1, 2, 3],
                index_map: vec![2],
                index_vector_dim: 1,
                ..DimensionNumbers::default()
            };
            indexing::gather(t, x, indices, &numbers, &[8, 4, size], false).unwrap()
        })
    };
    let (one, part) = (gathered(1), gathered(3));
    assert!(!one.contains("sdy.manual_computation"), "{one}");
    assert_text(&one, "stablehlo.constant dense<15> : tensor<i32>");
    assert_text(&one, "stablehlo.clamp");
    assert_text(&part, "sdy.manual_computation");
    let text = text_on_mesh(|t, x| {
        let z = elementwise::complex(t, x, x).unwrap();
        linalg::fft(t, FftOp::Fft, z, &[16]).unwrap()
    });
    assert_text(&text, "sdy.manual_computation");
    assert_eq!(text.matches("stablehlo.custom_call @LayoutConstraint").count(), 2);
}

#[test]
fn starts_of_long_axes_are_clamped_in_s64() {
    let ty = TensorType::new(DType::U8, &[3_000_000_000]);
    let text = lower_body(&of_one(&ty, |t, x| {
        let x = ops::mesh::sharding_constraint(t, x, &mesh(), &split("data", 1)).unwrap();
        let start = creation::full(t, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(7)).unwrap();
        indexing::dynamic_slice(t, x, &[start], &[2]).unwrap()
    }))
    .unwrap();
    assert_text(&text, "stablehlo.constant dense<2999999998> : tensor<i64>");
    let text = lower_body(&of_one(&ty, |t, x| {
        let x = ops::mesh::sharding_constraint(t, x, &mesh(), &split("data", 1)).unwrap();
        let indices = creation::full(t, &TensorType::new(DType::S32, &[4]), ScalarValue::Signed(7)).unwrap();
        let numbers = DimensionNumbers {
            collapsed_dims: vec![0],
            index_map: vec![0],
            index_vector_dim: 1,
            ..DimensionNumbers::default()
        };
        indexing::gather(t, x, indices, &numbers, &[1], false).unwrap()
    }))
    .unwrap();
    assert_text(&text, "stablehlo.constant dense<2999999999> : tensor<i64>");
}

#[test]
fn captures_are_given_whole_to_every_device() {
    let mut inner = Trace::new();
    let (x, weight) = (inner.parameter(f32s(&[4])), inner.parameter(f32s(&[])));
    let product = elementwise::binary(&mut inner, BinaryOp::Multiply, x, weight).unwrap();
    let (body, captures) = take_body(&inner, &[x], &[product]).unwrap();
    assert_eq!(captures, [weight]);
    let mut trace = Trace::new();
    let (x, weight) = (trace.parameter(f32s(&[8])), trace.parameter(f32s(&[])));
    let applied = Applied { body: &body, captures: &[weight] };
    let by_data = [split("data", 1)];
    let result = ops::mesh::shard_map(&mut trace, &applied, &mesh(), &by_data, &[x], &by_data).unwrap()[0];
    let outer = take_body(&trace, &[x, weight], &[result]).unwrap().0;
    assert_text(&lower_body(&outer).unwrap(), "in_shardings=[<@mesh, [{\"data\"}]>, <@mesh, []>]");
    // The gradient of a capture is the sum over all devices.
    let wanted = Wanted { parameters: &[1], captures: false };
    let made = vjp(&Transformer::default(), &outer, &wanted).unwrap();
    let sums = attributes::<AllReduceAttributes>(&made.backward, Op::AllReduce(ReduceOp::Sum));
    assert_eq!(sums.iter().map(|sum| sum.axes.clone()).collect::<Vec<_>>(), [vec![DATA, MODEL]]);
}

#[test]
fn shard_map_refuses_what_does_not_fit() {
    let inner = of_one(&f32s(&[4]), |t, x| elementwise::unary(t, UnaryOp::Negate, x).unwrap());
    let run = |body: &Arc<Body>, dims: &[i64], ins: &[Sharding], outs: &[Sharding]| {
        let mut trace = Trace::new();
        let x = trace.parameter(f32s(dims));
        ops::mesh::shard_map(&mut trace, &Applied { body, captures: &[] }, &mesh(), ins, &[x], outs).map(|_| ())
    };
    let by_data = [split("data", 1)];
    run(&inner, &[8], &by_data, &by_data).unwrap();
    assert_refused(run(&inner, &[8], &[], &by_data), "in_shardings: 0 given; body has 1 parameters");
    assert_refused(run(&inner, &[8], &by_data, &[]), "out_shardings: 0 given; body has 1 results");
    assert_refused(run(&inner, &[8, 1], &by_data, &by_data), "in_shardings[0]: 1 entries given; args[0] is f32[8,1]");
    assert_refused(run(&inner, &[8], &by_data, &[split("", 0)]), "out_shardings[0]: 0 entries given");
    assert_refused(run(&inner, &[7], &by_data, &by_data), "args[0]");
    assert_refused(run(&inner, &[16], &by_data, &by_data), "args[0] is f32[16], in pieces f32[8] by \"data\"");
    let nested = mapped(&inner, &f32s(&[8]), "data", "data");
    assert!(nested.has_shardings() && !nested.has_collectives());
    assert_refused(run(&nested, &[16], &by_data, &by_data), "a sharding constraint or a shard_map");
    let other = MeshAxes::new(&["data"], &[2]).unwrap();
    let elsewhere = of_one(&f32s(&[4]), |t, x| ops::mesh::all_reduce(t, ReduceOp::Sum, x, &other, &[0]).unwrap());
    assert_refused(run(&elsewhere, &[8], &by_data, &by_data), "its collectives are for the mesh data=2");
}

#[test]
fn collectives_refuse_what_does_not_fit() {
    let mut trace = Trace::new();
    let x = trace.parameter(f32s(&[6, 4]));
    let t = &mut trace;
    assert_refused(ops::mesh::all_reduce(t, ReduceOp::All, x, &mesh(), &[DATA]), "pred");
    assert_refused(
        ops::mesh::all_reduce(t, ReduceOp::Sum, x, &mesh(), &[DATA, DATA]),
        "axes: axis data is given twice",
    );
    assert_refused(
        ops::mesh::all_gather(t, x, &mesh(), &[2], 0),
        "axes: axis 2 given; the mesh data=2,model=4 has 2 axes",
    );
    assert_refused(ops::mesh::all_gather(t, x, &mesh(), &[DATA], 2), "axis: axis 2 is out of range");
    let uneven = "axis: x is f32[6,4]; axis 0, of size 6, has no 4 equal pieces, one for each device along model";
    assert_refused(ops::mesh::reduce_scatter(t, ReduceOp::Sum, x, &mesh(), &[MODEL], 0), uneven);
    assert_refused(ops::mesh::all_to_all(t, x, &mesh(), &[MODEL], 0, 1), "split_axis: x is f32[6,4]");
    let mut permute = |pairs: &[(i64, i64)]| ops::mesh::collective_permute(t, x, &mesh(), MODEL, pairs);
    assert_refused(permute(&[(0, 1), (1, 4)]), "the target of pairs[1] is 4; axis model has the positions 0 to 3");
    assert_refused(permute(&[(-1, 1)]), "the source of pairs[0] is -1");
    assert_refused(permute(&[(0, 1), (2, 1)]), "1 is the target of pairs[0] and of pairs[1]");
    assert_refused(permute(&[(3, 1), (3, 2)]), "3 is the source of pairs[0] and of pairs[1]");
    let zeros = permute(&[]).unwrap();
    assert_eq!((trace.node(zeros).op, trace.ty(zeros)), (Op::Full, f32s(&[6, 4])));
    let short = Sharding::parse("sharding", "data", &mesh(), 1).unwrap();
    assert_refused(ops::mesh::sharding_constraint(&mut trace, x, &mesh(), &short), "sharding: 1 entries given");
    assert_refused(ops::mesh::sharding_constraint(&mut trace, x, &mesh(), &split("model,-", 2)), "x");
}

#[test]
fn nothing_is_evaluated_on_the_host() {
    let ty = f32s(&[4]);
    let inner = of_one(&ty, |t, x| ops::mesh::all_reduce(t, ReduceOp::Sum, x, &mesh(), &[MODEL]).unwrap());
    let outer = mapped(&inner, &f32s(&[4]), "-", "-");
    for (body, name) in [(&inner, "all_reduce"), (&outer, "shard_map")] {
        let array = Array::from_bytes(&ty, &[0; 16]).unwrap();
        let Err(error) = interpret::run(body.program(), body.scalars(), &[array]) else { panic!("{name} ran") };
        assert_eq!(error.code, Code::Unimplemented);
        assert!(error.message.starts_with(name), "{error}");
    }
}

#[test]
fn bodies_know_whether_they_are_for_one_device_of_a_mesh() {
    let inner = of_one(&f32s(&[4]), |t, x| ops::mesh::all_reduce(t, ReduceOp::Sum, x, &mesh(), &[MODEL]).unwrap());
    let call = of_one(&f32s(&[4]), |t, x| control::call(t, &Applied { body: &inner, captures: &[] }, &[x]).unwrap()[0]);
    let outer = mapped(&call, &f32s(&[8]), "data", "data");
    let plain = of_one(&f32s(&[4]), |t, x| elementwise::unary(t, UnaryOp::Negate, x).unwrap());
    let flags = |body: &Body| (body.has_collectives(), body.has_shardings());
    assert_eq!(
        [&inner, &call, &outer, &plain].map(|body| flags(body)),
        [(true, false), (true, false), (false, true), (false, false)]
    );
    for (body, wanted) in [(&call, Some(mesh())), (&outer, Some(mesh())), (&plain, None)] {
        assert_eq!(ops::mesh::mesh_of(&body.decode().0), wanted);
    }
    // The collective itself is found, also in bodies that bodies apply; a shard_map gives it a value.
    for (body, wanted) in [(&inner, Some(Op::AllReduce(ReduceOp::Sum))), (&outer, None), (&plain, None)] {
        let call = of_one(&body.parameters()[0], |t, x| {
            let applied = Applied { body, captures: &[] };
            control::call(t, &applied, &[x]).unwrap()[0]
        });
        assert_eq!([body, &call].map(|body| ops::mesh::collective_in([body].into_iter())), [wanted, wanted]);
    }
}

#[test]
fn the_transpose_of_a_sum_is_a_sum_and_cotangents_of_copies_are_shared() {
    let inner = of_one(&f32s(&[4, 2]), |t, x| ops::mesh::all_reduce(t, ReduceOp::Sum, x, &mesh(), &[MODEL]).unwrap());
    // The result is the same along `model`, so each of 4 devices gets a quarter of its cotangent. The argument has a
    // piece on every device, so nothing is summed at the boundary.
    let made = gradient(&mapped(&inner, &f32s(&[8, 8]), "data,model", "data,-"));
    let sums = attributes::<AllReduceAttributes>(&made.backward, Op::AllReduce(ReduceOp::Sum));
    assert_eq!(sums.iter().map(|sum| &sum.axes[..]).collect::<Vec<_>>(), [&[MODEL]]);
    let divisions =
        operations(&made.backward).iter().filter(|(op, _)| *op == Op::BinaryScalar(BinaryOp::Divide)).count();
    assert_eq!((divisions, made.residuals), (1, 0));
    assert_eq!(made.backward.results(), [f32s(&[8, 8])]);

    // An argument that every device holds: its cotangent is the sum over all of them.
    let inner = of_one(&f32s(&[4, 2]), |t, x| elementwise::unary(t, UnaryOp::Negate, x).unwrap());
    let made = gradient(&mapped(&inner, &f32s(&[4, 2]), "", "data,model"));
    let sums = attributes::<AllReduceAttributes>(&made.backward, Op::AllReduce(ReduceOp::Sum));
    assert_eq!(sums.iter().map(|sum| &sum.axes[..]).collect::<Vec<_>>(), [&[DATA, MODEL]]);
    let maps = attributes::<ShardMapAttributes>(&made.backward, Op::ShardMap);
    assert_eq!((&maps[0].inputs[..], &maps[0].outputs[..]), (&[split("data,model", 2)][..], &[split("", 2)][..]));
}

#[test]
fn residuals_are_rows_of_an_array_that_is_split_over_all_devices() {
    let inner = of_one(&f32s(&[4, 2]), |t, x| {
        let y = elementwise::unary(t, UnaryOp::Exponential, x).unwrap();
        elementwise::unary(t, UnaryOp::Sine, y).unwrap()
    });
    let made = gradient(&mapped(&inner, &f32s(&[8, 8]), "data,model", "data,model"));
    assert!(made.forward.results().contains(&f32s(&[8, 4, 2])), "{:?}", made.forward.results());
    let maps = attributes::<ShardMapAttributes>(&made.forward, Op::ShardMap);
    assert_eq!(maps[0].outputs[1], split("data+model,-,-", 3));
    // The gradient can be differentiated again.
    let again = gradient(&made.backward);
    assert!(!again.backward.results().is_empty());
}

#[test]
fn collectives_are_transposed_to_each_other() {
    let back = |record: fn(&mut Trace, NodeId) -> NodeId| gradient(&of_one(&f32s(&[4, 8]), record)).backward;
    let made = back(|t, x| ops::mesh::all_gather(t, x, &mesh(), &[DATA], 1).unwrap());
    let scatters = attributes::<AlongAttributes>(&made, Op::ReduceScatter(ReduceOp::Sum));
    assert_eq!((scatters[0].axes.as_slice(), scatters[0].axis), (&[DATA][..], 1));
    let made = back(|t, x| ops::mesh::reduce_scatter(t, ReduceOp::Sum, x, &mesh(), &[MODEL], 0).unwrap());
    let gathers = attributes::<AlongAttributes>(&made, Op::AllGather);
    assert_eq!((gathers[0].axes.as_slice(), gathers[0].axis), (&[MODEL][..], 0));
    let made = back(|t, x| ops::mesh::all_to_all(t, x, &mesh(), &[MODEL], 1, 0).unwrap());
    let exchanges = attributes::<AllToAllAttributes>(&made, Op::AllToAll);
    assert_eq!((exchanges[0].split_axis, exchanges[0].concat_axis), (0, 1));
    let made = back(|t, x| ops::mesh::collective_permute(t, x, &mesh(), MODEL, &[(0, 1), (1, 3)]).unwrap());
    let permutes = attributes::<CollectivePermuteAttributes>(&made, Op::CollectivePermute);
    assert_eq!(permutes[0].pairs, [[1, 0], [3, 1]]);
    let made = back(|t, x| ops::mesh::sharding_constraint(t, x, &mesh(), &split("data,model", 2)).unwrap());
    let constraints = attributes::<ShardingConstraintAttributes>(&made, Op::ShardingConstraint);
    assert_eq!(constraints[0].sharding, split("data,model", 2));
    // A maximum counts its ties in the forward pass, and sums the cotangents in the backward pass.
    let maximum = of_one(&f32s(&[2]), |t, x| ops::mesh::all_reduce(t, ReduceOp::Max, x, &mesh(), &[MODEL]).unwrap());
    let made = gradient(&maximum);
    let sums = |body: &Body| attributes::<AllReduceAttributes>(body, Op::AllReduce(ReduceOp::Sum)).len();
    assert_eq!((sums(&made.forward), sums(&made.backward)), (1, 1));
    let product =
        of_one(&f32s(&[2]), |t, x| ops::mesh::all_reduce(t, ReduceOp::Product, x, &mesh(), &[MODEL]).unwrap());
    let refused = vjp(&Transformer::default(), &product, &Wanted { parameters: &[0], captures: false });
    assert!(refused.is_err_and(|error| error.code == Code::Unimplemented && error.message.contains("by a product")));
}

#[test]
fn tangents_are_split_as_their_values() {
    let inner = of_one(&f32s(&[4, 2]), |t, x| ops::mesh::all_reduce(t, ReduceOp::Sum, x, &mesh(), &[MODEL]).unwrap());
    let outer = mapped(&inner, &f32s(&[8, 8]), "data,model", "data,-");
    let made = jvp(&Transformer::default(), &outer, &[0]).unwrap();
    assert_eq!(made.results(), [f32s(&[8, 2]), f32s(&[8, 2])]);
    let maps = attributes::<ShardMapAttributes>(&made, Op::ShardMap);
    assert_eq!(maps.len(), 1);
    assert_eq!(maps[0].inputs, vec![split("data,model", 2); 2]);
    assert_eq!(maps[0].outputs, vec![split("data,-", 2); 2]);
}

#[test]
fn a_batch_is_an_axis_that_is_not_split() {
    let inner = of_one(&f32s(&[4, 2]), |t, x| ops::mesh::all_gather(t, x, &mesh(), &[MODEL], 1).unwrap());
    let outer = mapped(&inner, &f32s(&[8, 8]), "data,model", "data,-");
    let made = batched(&Transformer::default(), &outer, &[0], &[0], 3).unwrap();
    assert_eq!((made.parameters(), made.results()), (&[f32s(&[3, 8, 8])][..], &[f32s(&[3, 8, 8])][..]));
    let maps = attributes::<ShardMapAttributes>(&made, Op::ShardMap);
    assert_eq!(
        (&maps[0].inputs[..], &maps[0].outputs[..]),
        (&[split("-,data,model", 3)][..], &[split("-,data,-", 3)][..])
    );
    assert_eq!(attributes::<AlongAttributes>(&made, Op::AllGather)[0].axis, 2);
    let body =
        of_one(&f32s(&[4, 8]), |t, x| ops::mesh::sharding_constraint(t, x, &mesh(), &split("model,data", 2)).unwrap());
    let made = batched(&Transformer::default(), &body, &[1], &[0], 3).unwrap();
    let constraints = attributes::<ShardingConstraintAttributes>(&made, Op::ShardingConstraint);
    assert_eq!(constraints[0].sharding, split("-,model,data", 3));
}
