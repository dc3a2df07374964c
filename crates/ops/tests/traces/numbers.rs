//! Value numbers: equal operations on equal values have one.

use base::types::DType;
use base::types::{ScalarValue, TensorType};
use ir::{BinaryOp, UnaryOp};
use ir::{NodeId, Op, Trace};
use ops::elementwise;

#[test]
fn equal_operations_on_equal_values_have_one_number() {
    let mut t = Trace::new();
    let ty = TensorType::new(DType::F32, &[2]);
    let (a, b) = (t.parameter(ty.clone()), t.parameter(ty.clone()));
    let mut squared = |x, by: f64| {
        let tanh = elementwise::unary(&mut t, UnaryOp::Tanh, x).unwrap();
        let square = elementwise::binary(&mut t, BinaryOp::Multiply, tanh, tanh).unwrap();
        elementwise::binary_scalar(&mut t, BinaryOp::Multiply, square, ScalarValue::Float(by), false).unwrap()
    };
    let all = [squared(a, 2.0), squared(a, 2.0), squared(a, 3.0), squared(b, 2.0)];
    let sums = [(); 2].map(|()| t.application(Op::OptimizationBarrier, &[a], &(), &[], std::slice::from_ref(&ty))[0]);
    let again = t.result(t.operands(t.node(sums[0]))[0], 0, &ty);
    let numbers = t.value_numbers();
    let number = |id: NodeId| numbers[id.0 as usize];
    assert_eq!(number(all[0]), number(all[1]));
    assert_ne!(number(all[0]), number(all[2]));
    assert_ne!(number(all[0]), number(all[3]));
    assert_ne!(number(a), number(b));
    // Equal results of one application have one number; results of two applications have two.
    assert_eq!(number(sums[0]), number(again));
    assert_ne!(number(sums[0]), number(sums[1]));
}
