//! Calls, loops and branches, with sizes and scalars that change in their bodies.

use crate::harness::{check, input};
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, ReduceOp, Trace, take_closed_body};
use ops::control::{self, Applied, CustomKind};
use ops::{creation, elementwise, reduction, shape};
use std::sync::Arc;

const F32: DType = DType::F32;
const S32: DType = DType::S32;

/// A body of parameters and captures of these types.
fn body(
    parameters: &[TensorType],
    captures: &[TensorType],
    record: impl FnOnce(&mut Trace, &[NodeId], &[NodeId]) -> Result<Vec<NodeId>>,
) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = parameters.iter().map(|ty| trace.parameter(ty.clone())).collect();
    let captures: Vec<NodeId> = captures.iter().map(|ty| trace.parameter(ty.clone())).collect();
    let results = record(&mut trace, &parameters, &captures)?;
    take_closed_body(&trace, &parameters, &captures, &results)
}

fn ty(dtype: DType, dims: &[i64]) -> TensorType {
    TensorType::new(dtype, dims)
}

/// The mean of the elements along the first axis, times the number of elements: a scalar and a size that change.
fn scaled_mean(t: &mut Trace, x: NodeId, n: i64) -> Result<NodeId> {
    let sum = reduction::reduce(t, ReduceOp::Sum, x, &[0], true)?;
    elementwise::binary_scalar(t, BinaryOp::Multiply, sum, ScalarValue::Signed(n), false)
}

#[test]
fn calls() {
    check("call", &[9, 6], &|t, n| {
        let (x, y) = (input(t, F32, &[n[0], n[1]]), input(t, F32, &[n[1]]));
        let called = body(&[ty(F32, &[n[0], n[1]])], &[ty(F32, &[n[1]])], |t, p, c| {
            let mean = scaled_mean(t, p[0], n[0])?;
            Ok(vec![elementwise::binary(t, BinaryOp::Add, mean, c[0])?, p[0]])
        })?;
        let applied = Applied { body: &called, captures: &[y] };
        let made = control::call(t, &applied, &[x])?;
        let again = control::custom_call_of(t, CustomKind::Plain, &[Applied { body: &called, captures: &[y] }], &[x])?;
        let passed = control::optimization_barrier(t, &[made[0], again[0]])?;
        let stopped = control::stop_gradient(t, passed[0])?;
        let named = control::checkpoint_name(t, passed[1], "name")?;
        Ok((vec![x, y], vec![made[0], again[0], stopped, named]))
    });
}

#[test]
fn scans() {
    for reverse in [false, true] {
        check("scan", &[9, 6], &|t, n| {
            let (x, start) = (input(t, F32, &[n[0], 2, n[1]]), input(t, F32, &[2]));
            let bias = input(t, F32, &[n[1]]);
            let step = body(&[ty(F32, &[2]), ty(F32, &[2, n[1]])], &[ty(F32, &[n[1]])], |t, p, c| {
                let row = elementwise::binary(t, BinaryOp::Add, p[1], c[0])?;
                let sum = reduction::reduce(t, ReduceOp::Sum, row, &[1], false)?;
                let sum = elementwise::binary_scalar(t, BinaryOp::Add, sum, ScalarValue::Signed(n[1]), false)?;
                let next = elementwise::binary(t, BinaryOp::Maximum, sum, p[0])?;
                Ok(vec![next, sum, row])
            })?;
            let applied = Applied { body: &step, captures: &[bias] };
            let made = control::scan(t, &applied, &[start], &[x], n[0], reverse)?;
            Ok((vec![x, start, bias], made))
        });
    }
    // The carried value begins uniform, and gets the layout of two merged axes.
    check("scan of merged axes", &[9, 6], &|t, n| {
        let x = input(t, F32, &[3, n[0], n[1]]);
        let merged = shape::reshape(t, x, &[3, n[0] * n[1]])?;
        let zero = creation::full(t, &ty(F32, &[n[0] * n[1]]), ScalarValue::Signed(0))?;
        let row = ty(F32, &[n[0] * n[1]]);
        let step =
            body(&[row.clone(), row], &[], |t, p, _| Ok(vec![elementwise::binary(t, BinaryOp::Add, p[0], p[1])?]))?;
        let applied = Applied { body: &step, captures: &[] };
        let made = control::scan(t, &applied, &[zero], &[merged], 3, false)?;
        let total = reduction::reduce(t, ReduceOp::Sum, made[0], &[0], false)?;
        Ok((vec![x], vec![made[0], total]))
    });
}

#[test]
fn whiles() {
    check("while", &[9, 6], &|t, n| {
        let (x, start) = (input(t, F32, &[n[0], n[1]]), input(t, F32, &[n[1]]));
        let counter = creation::full(t, &ty(S32, &[]), ScalarValue::Signed(0))?;
        let carried = [ty(S32, &[]), ty(F32, &[n[1]])];
        let condition = body(&carried, &[], |t, p, _| {
            let most = reduction::reduce(t, ReduceOp::Max, p[1], &[0], false)?;
            let small = elementwise::compare_scalar(t, CompareOp::Lt, most, ScalarValue::Signed(50), false)?;
            let few = elementwise::compare_scalar(t, CompareOp::Lt, p[0], ScalarValue::Signed(n[0]), false)?;
            Ok(vec![elementwise::binary(t, BinaryOp::And, small, few)?])
        })?;
        let step = body(&carried, &[ty(F32, &[n[0], n[1]])], |t, p, c| {
            let mean = scaled_mean(t, c[0], 2)?;
            let mean = shape::reshape(t, mean, &[n[1]])?;
            let next = elementwise::binary_scalar(t, BinaryOp::Add, p[0], ScalarValue::Signed(1), false)?;
            Ok(vec![next, elementwise::binary(t, BinaryOp::Add, p[1], mean)?])
        })?;
        let condition = Applied { body: &condition, captures: &[] };
        let made = control::while_loop(t, &condition, &Applied { body: &step, captures: &[x] }, &[counter, start])?;
        Ok((vec![x, start], made))
    });
}

#[test]
fn branches() {
    check("branches", &[9, 6], &|t, n| {
        let (x, y) = (input(t, F32, &[n[0], n[1]]), input(t, F32, &[n[1]]));
        let (pred, number) = (input(t, DType::Pred, &[]), input(t, S32, &[]));
        let argument = ty(F32, &[n[0], n[1]]);
        let sum = body(std::slice::from_ref(&argument), &[], |t, p, _| {
            let mean = scaled_mean(t, p[0], n[1])?;
            Ok(vec![shape::reshape(t, mean, &[n[1]])?])
        })?;
        let given = body(std::slice::from_ref(&argument), &[ty(F32, &[n[1]])], |_, _, c| Ok(vec![c[0]]))?;
        let same = body(&[argument], &[], |t, _, _| {
            Ok(vec![creation::full(t, &ty(F32, &[n[1]]), ScalarValue::Signed(n[0]))?])
        })?;
        let [sum, same] = [&sum, &same].map(|body| Applied { body, captures: &[] });
        let given = Applied { body: &given, captures: &[y] };
        let one = control::branch(t, pred, &sum, &given, &[x])?;
        let all = [sum, given, same];
        let other = control::case(t, number, &all, &[x])?;
        let total = reduction::reduce(t, ReduceOp::Sum, other[0], &[0], false)?;
        Ok((vec![x, y, pred, number], vec![one[0], other[0], total]))
    });
}

#[test]
fn loops_in_loops() {
    check("nested", &[9, 6], &|t, n| {
        let (x, start) = (input(t, F32, &[3, n[0], n[1]]), input(t, F32, &[]));
        let row = ty(F32, &[n[1]]);
        // A size and a scalar pass through both bodies.
        let inner = body(&[ty(F32, &[]), row.clone()], &[], |t, p, _| {
            let mean = reduction::reduce(t, ReduceOp::Sum, p[1], &[0], false)?;
            let more = elementwise::binary_scalar(t, BinaryOp::Add, mean, ScalarValue::Signed(n[1]), false)?;
            let next = elementwise::binary(t, BinaryOp::Maximum, more, p[0])?;
            Ok(vec![next, next])
        })?;
        let outer = body(&[ty(F32, &[]), ty(F32, &[n[0], n[1]])], &[], |t, p, _| {
            let applied = Applied { body: &inner, captures: &[] };
            let made = control::scan(t, &applied, &[p[0]], &[p[1]], n[0], true)?;
            Ok(vec![made[0], made[1]])
        })?;
        let made = control::scan(t, &Applied { body: &outer, captures: &[] }, &[start], &[x], 3, false)?;
        Ok((vec![x, start], made))
    });
    check("branch in a scan", &[9, 6], &|t, n| {
        let (x, start) = (input(t, S32, &[n[0], n[1]]), input(t, S32, &[n[1]]));
        let row = ty(S32, &[n[1]]);
        let up = body(std::slice::from_ref(&row), &[], |t, p, _| {
            Ok(vec![elementwise::binary_scalar(t, BinaryOp::Add, p[0], ScalarValue::Signed(n[0]), false)?])
        })?;
        let sum = body(std::slice::from_ref(&row), &[], |t, p, _| {
            let sum = reduction::reduce(t, ReduceOp::Sum, p[0], &[0], true)?;
            Ok(vec![shape::broadcast_to(t, sum, &[n[1]])?])
        })?;
        let step = body(&[row.clone(), row], &[], |t, p, _| {
            let first = shape::slice(t, p[1], &[0], &[1], &[1])?;
            let first = shape::reshape(t, first, &[])?;
            let all = [Applied { body: &up, captures: &[] }, Applied { body: &sum, captures: &[] }];
            let made = control::case(t, first, &all, &[p[0]])?;
            Ok(vec![made[0], made[0]])
        })?;
        let made = control::scan(t, &Applied { body: &step, captures: &[] }, &[start], &[x], n[0], false)?;
        Ok((vec![x, start], made))
    });
}

#[test]
fn batches_of_loops() {
    check("batched while", &[9], &|t, n| {
        let x = input(t, S32, &[n[0]]);
        let scalar = ty(S32, &[]);
        let condition = body(std::slice::from_ref(&scalar), &[], |t, p, _| {
            Ok(vec![elementwise::compare_scalar(t, CompareOp::Lt, p[0], ScalarValue::Signed(40), false)?])
        })?;
        let step = body(std::slice::from_ref(&scalar), &[], |t, p, _| {
            Ok(vec![elementwise::binary_scalar(t, BinaryOp::Add, p[0], ScalarValue::Signed(7), false)?])
        })?;
        let one = body(&[scalar], &[], |t, p, _| {
            let condition = Applied { body: &condition, captures: &[] };
            control::while_loop(t, &condition, &Applied { body: &step, captures: &[] }, p)
        })?;
        let all = lowering::transform::batched(&Default::default(), &one, &[0], &[0], n[0])?;
        let made = control::call(t, &Applied { body: &all, captures: &[] }, &[x])?;
        Ok((vec![x], made))
    });
}

/// Beyond the length of a scan, slices are padding, of which a loop might never end.
#[test]
fn a_loop_in_a_scan_of_a_changing_length_is_refused() {
    let refusal = crate::harness::refusal(&[9], &|t, n| {
        let (x, start) = (input(t, S32, &[n[0]]), input(t, S32, &[]));
        let scalar = ty(S32, &[]);
        let condition = body(std::slice::from_ref(&scalar), &[], |t, p, _| {
            Ok(vec![elementwise::compare_scalar(t, CompareOp::Ne, p[0], ScalarValue::Signed(0), false)?])
        })?;
        let step = body(std::slice::from_ref(&scalar), &[], |t, p, _| {
            Ok(vec![elementwise::binary_scalar(t, BinaryOp::Divide, p[0], ScalarValue::Signed(2), false)?])
        })?;
        let outer = body(&[scalar.clone(), scalar], &[], |t, p, _| {
            let condition = Applied { body: &condition, captures: &[] };
            control::while_loop(t, &condition, &Applied { body: &step, captures: &[] }, &p[1..])
        })?;
        let made = control::scan(t, &Applied { body: &outer, captures: &[] }, &[start], &[x], n[0], false)?;
        Ok((vec![x, start], made))
    });
    assert!(refusal.operation == "scan" && refusal.reason.contains("might not end"), "{refusal:?}");
}
