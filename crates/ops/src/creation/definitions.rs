//! Definitions of constants and ranges.

use super::{constants, masking_rules};
use crate::definition::{Definition, Native};
use crate::masking::Masking;
use crate::rules::Derivative;

/// Definition of `full`: `value` in every element.
pub const FULL: Definition = Definition {
    name: "full",
    stablehlo: "constant",
    function: "lxla_tensor_full",
    dtypes: "all",
    lower: |e, at| e.scalar(&e.name_of(at), &e.instruction(at).ty),
    native: Native::One(|cx| native::full(cx.ty, cx.scalar()?)),
    derivative: Derivative::Zero,
    masking: Masking::Rule(masking_rules::full),
    ..Definition::DEFAULT
};

/// Definition of `iota`: 0, 1, 2, ... along an axis.
pub const IOTA: Definition = Definition {
    name: "iota",
    stablehlo: "iota",
    function: "lxla_iota",
    dtypes: "integers, floats and complex numbers",
    lower: constants::lower_iota,
    native: Native::One(constants::native_iota),
    derivative: Derivative::Zero,
    masking: Masking::Rule(masking_rules::iota),
    ..Definition::DEFAULT
};
