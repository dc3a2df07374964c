//! atan2.

use crate::emit::Emitter;
use crate::ops::elementwise::builder::Steps;
use crate::types::{DType, TensorType};

/// Writes `atan2(y, x)` and returns its name.
///
/// One version of XLA's algebraic simplifier replaces atan2 by an arc tangent if `x` is a constant 1, also one that
/// results from folding constants, and its CPU backend then returns unrelated memory for about 60 or more elements.
/// `lammps-jax-pjrt-cpu` 0.11.2 is affected; `xla-cpu-pjrt` 0.0.1 and `fastatomstruct-xla-cpu` 2026.6.23 are not. So
/// `x` passes through an identity that the simplifier cannot fold; LLVM removes it. Remove this workaround when that
/// plugin is no longer supported.
pub fn arc_tangent(s: &mut Steps, y: &str, x: &str) -> String {
    let name = s.e.temporary();
    named(s, &name, y, x);
    name
}

fn named(s: &mut Steps, name: &str, y: &str, x: &str) {
    let x = if s.e.platform == "cpu" { s.disguised(x, y) } else { x.to_string() };
    let ty = s.ty().clone();
    s.e.elementwise(name, "atan2", &[y, &x], &ty);
}

/// Writes `name = atan2(y, x)`. Computes 16-bit floats in f32 and rounds once.
pub fn atan2(e: &mut Emitter, name: &str, y: &str, x: &str, ty: &TensorType) {
    if !matches!(ty.dtype, DType::F16 | DType::BF16) {
        return named(&mut Steps::of(e, ty), name, y, x);
    }
    let wide = TensorType { dtype: DType::F32, dims: ty.dims.clone() };
    let [y, x] = [y, x].map(|value| {
        let name = e.temporary();
        e.changing(&name, "convert", &[value], ty, &wide);
        name
    });
    let angle = arc_tangent(&mut Steps::of(e, &wide), &y, &x);
    e.changing(name, "convert", &[&angle], &wide, ty);
}
