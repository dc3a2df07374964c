//! The angle of a point.

use crate::emit::{Emitter, emit, mlir};
use crate::ops::elementwise::builder::Steps;
use crate::types::{DType, TensorType};

/// `atan2(y, x)`.
///
/// A version of XLA's simplifier writes an arc tangent for it where `x` is a constant 1, also one that is the result of
/// other constants, and its CPU backend gives other memory for the arc tangent of some 60 and more elements:
/// `lammps-jax-pjrt-cpu` 0.11.2 does, `xla-cpu-pjrt` 0.0.1 and `fastatomstruct-xla-cpu` 2026.6.23 do not. So `x` passes
/// through an operation that changes nothing, which the simplifier does not see; LLVM does, and leaves it out. This can
/// go with the support of that plugin.
pub fn arc_tangent(s: &mut Steps, y: &str, x: &str) -> String {
    let name = s.e.temporary();
    named(s, &name, y, x);
    name
}

fn named(s: &mut Steps, name: &str, y: &str, x: &str) {
    let x = if s.e.platform == "cpu" { s.disguised(x, y) } else { x.to_string() };
    let ty = mlir(s.ty());
    emit!(s.e, "    {name} = stablehlo.atan2 {y}, {x} : {ty}");
}

/// `name` is `atan2(y, x)`; of 16-bit floats in f32, rounded once.
pub fn atan2(e: &mut Emitter, name: &str, y: &str, x: &str, ty: &TensorType) {
    if !matches!(ty.dtype, DType::F16 | DType::BF16) {
        return named(&mut Steps::of(e, ty), name, y, x);
    }
    let wide = TensorType { dtype: DType::F32, dims: ty.dims.clone() };
    let (from, to) = (mlir(ty), mlir(&wide));
    let [y, x] = [y, x].map(|value| {
        let name = e.temporary();
        emit!(e, "    {name} = stablehlo.convert {value} : ({from}) -> {to}");
        name
    });
    let angle = arc_tangent(&mut Steps::of(e, &wide), &y, &x);
    emit!(e, "    {name} = stablehlo.convert {angle} : ({to}) -> {from}");
}
