//! The sweeps of the portable decompositions, evaluated.

use base::types::{DType, TensorType};
use ir::Trace;
use ir::take_closed_body;
use lowering::interpret;
use native::Array;
use ops::linalg::swept;

#[test]
fn a_matrix_that_needs_more_sweeps_is_nan_and_the_others_are_not() {
    let mut trace = Trace::new();
    let ty = TensorType::new(DType::F64, &[2, 4, 2]);
    let halves = [(); 2].map(|()| trace.parameter(ty.clone()));
    let made = swept(&mut trace, halves, 4, 1).unwrap();
    let body = take_closed_body(&trace, &halves, &[], &made).unwrap();
    // The first matrix is diagonal; columns of the second are not orthogonal.
    let left: [f64; 16] = [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 2.0, 0.0, 1.0, 1.0];
    let right: [f64; 16] = [0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 4.0, 5.0, 1.0, 0.0, 2.0, 1.0, 7.0, 2.0, 3.0];
    let given = [left, right].map(|half| Array::from_bytes(&ty, bytemuck::cast_slice(&half)).unwrap());
    for half in interpret::run(body.program(), body.scalars(), &given).unwrap() {
        let half = half.elements::<f64>();
        assert!(half[..8].iter().all(|x| x.is_finite()) && half[8..].iter().all(|x| x.is_nan()), "{half:?}");
    }
}
