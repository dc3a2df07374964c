//! Definitions of dynamic slices, gather and scatter.

use super::dynamic::{self, TakeAttributes};
use super::gather::{self, GatherAttributes};
use super::{batch, derivative, gather_masking_rules, masking_rules, scatter, scatter_derivative};
use crate::definition::{Definition, InPlace, Native};
use crate::masking::Masking;
use crate::rules::{Batching, Derivative};

/// Definition of `dynamic_slice`: a slice of the first operand, at the start indices in the others.
pub const DYNAMIC_SLICE: Definition = Definition {
    name: "dynamic_slice",
    stablehlo: "dynamic_slice",
    function: "lxla_dynamic_slice",
    dtypes: "all",
    lower: dynamic::lower_dynamic_slice,
    native: Native::One(|cx| native::dynamic_slice(cx.ty, cx.operands[0], &cx.operands[1..])),
    derivative: Derivative::Linear { jvp: derivative::jvp_of_slice, vjp: derivative::vjp_of_slice },
    batching: Batching::Rule(batch::batch_of_slice),
    masking: Masking::Rule(masking_rules::slice_at),
    ..Definition::DEFAULT
};

/// Definition of `dynamic_update_slice`: the first operand with the second written over it, at the start indices in the
/// others.
pub const DYNAMIC_UPDATE_SLICE: Definition = Definition {
    name: "dynamic_update_slice",
    stablehlo: "dynamic_update_slice",
    function: "lxla_dynamic_update_slice",
    dtypes: "all",
    lower: dynamic::lower_dynamic_update_slice,
    native: Native::One(|cx| native::dynamic_update_slice(cx.operands[0], cx.operands[1], &cx.operands[2..])),
    in_place: InPlace::First,
    // `Several` passes all tangents at once, so that the tangent is a single update, which can run in place too.
    derivative: Derivative::Several { jvp: derivative::jvp_of_update, vjp: derivative::vjp_of_update },
    batching: Batching::Rule(batch::batch_of_update),
    masking: Masking::Rule(masking_rules::update_at),
    ..Definition::DEFAULT
};

/// Definition of `take`: slices of the first operand at the indices in the second.
pub const TAKE: Definition = Definition {
    name: "take",
    stablehlo: "gather",
    function: "lxla_take",
    dtypes: "all; indices integers",
    lower: dynamic::lower_take,
    native: Native::One(|cx| {
        let TakeAttributes { axis } = cx.attributes();
        native::take(cx.ty, axis, cx.operands[0], cx.operands[1])
    }),
    derivative: Derivative::Linear { jvp: derivative::jvp_of_take, vjp: derivative::vjp_of_take },
    batching: Batching::Rule(batch::batch_of_take),
    masking: Masking::Rule(masking_rules::taken),
    ..Definition::DEFAULT
};

/// Definition of `gather`: slices of the first operand at the indices in the second.
pub const GATHER: Definition = Definition {
    name: "gather",
    stablehlo: "gather",
    function: "lxla_gather",
    dtypes: "all; indices integers",
    lower: gather::lower,
    whole: gather::is_hard_to_split,
    native: Native::One(|cx| {
        let GatherAttributes { numbers, .. } = cx.attributes();
        native::gather(cx.ty, &numbers, cx.operands[0], cx.operands[1])
    }),
    derivative: Derivative::Linear { jvp: derivative::jvp_of_gather, vjp: derivative::vjp_of_gather },
    batching: Batching::Rule(batch::batch_of_gather),
    masking: Masking::OfAttributes(gather_masking_rules::gathered),
    ..Definition::DEFAULT
};

/// Definition of `scatter`: arrays with slices of updates combined into them.
pub const SCATTER: Definition = Definition {
    name: "scatter",
    stablehlo: "scatter",
    function: "lxla_scatter",
    dtypes: "all; indices integers",
    lower: scatter::lower,
    whole: scatter::is_hard_to_split,
    // With batching axes, XLA's partitioner loses updates where other axes are split, too.
    open: scatter::open_axes,
    native: Native::Several(scatter::native_scatter),
    in_place: InPlace::Results(|value| value.bodies[0].results().len()),
    derivative: Derivative::Several { jvp: scatter_derivative::jvp, vjp: scatter_derivative::vjp },
    batching: Batching::Several(batch::batch_of_scatter),
    masking: Masking::Rule(gather_masking_rules::scattered),
    ..Definition::DEFAULT
};
