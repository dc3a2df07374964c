//! Definitions of convolutions.

use super::{convolution, convolution_rules, masking_rules};
use crate::definition::{Definition, Native};
use crate::masking::Masking;
use crate::rules::{Batching, Derivative};

/// Definition of `convolution`.
pub const CONVOLUTION: Definition = Definition {
    name: "convolution",
    stablehlo: "convolution",
    function: "lxla_convolution",
    dtypes: "integers, floats, 8-bit floats, complex numbers",
    lower: convolution::lower,
    // XLA's partitioner computes wrong numbers with groups and with negative padding, and where spatial axes are split,
    // or the summed features together with other axes. `|_, _| true` here makes every device compute all of them whole.
    whole: |e, at| convolution::is_irregular(e.instruction(at)),
    open: |e, at| Some(convolution::open_axes(&e.instruction(at).attributes())),
    native: Native::One(convolution::native_convolution),
    derivative: Derivative::Linear { jvp: convolution_rules::jvp, vjp: convolution_rules::vjp },
    batching: Batching::Rule(convolution_rules::batch),
    masking: Masking::Rule(masking_rules::convolution),
    ..Definition::DEFAULT
};
