//! Chapter Operations, fourth part: functions of one float that are made of several operations.

use super::arguments::out;
use super::guard::guard;
use super::types::*;
use crate::ops::{ActivationOp, SpecialOp};
use crate::tensor;

/// Records an activation, one of `LXLA_ACTIVATION_*`, of floats; RELU and RELU6 take integers, too. GELU is x times the share
/// of the normal distribution below x; GELU_TANH its approximation by the hyperbolic tangent; ELU has alpha 1. Each has its
/// limit at -infinity (SILU, GELU, MISH and HARD_SWISH 0). f16 and bf16 are computed in f32, and rounded once. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_activation(op: i32, x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_activation", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::activation(ActivationOp::from_number(op)?, x.into())?.into())
    })
}

/// Records a function of floats, one of `LXLA_SPECIAL_*`: ERF the error function, ERFC 1 less that, accurate where it is small.
/// f16 and bf16 are computed in f32, and rounded once. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_special(op: i32, x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_special", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::special(SpecialOp::from_number(op)?, x.into())?.into())
    })
}
