//! Definitions of control flow, barriers, custom rules and custom calls.

use super::apply::{ScanAttributes, WhileAttributes};
use super::{
    barrier, batch, custom, custom_call, custom_rules, derivative, evaluate, kernel, loop_derivative, lower,
    masking_rules,
};
use crate::definition::{Definition, InPlace, Native};
use crate::masking::Masking;
use crate::rules::{Batching, Derivative};

/// Definition of `call`: applies a body to arguments, followed by its captures.
pub const CALL: Definition = Definition {
    name: "call",
    stablehlo: "func.call",
    function: "lxla_computation_call",
    dtypes: "all",
    lower: lower::call,
    native: Native::Several(evaluate::call),
    derivative: Derivative::Several { jvp: derivative::jvp_of_call, vjp: derivative::vjp_of_call },
    batching: Batching::Several(batch::call),
    masking: Masking::Rule(masking_rules::call),
    ..Definition::DEFAULT
};

/// Definition of `while`: a loop with a condition.
pub const WHILE: Definition = Definition {
    name: "while",
    stablehlo: "while",
    function: "lxla_while",
    dtypes: "all",
    lower: lower::while_loop,
    native: Native::Several(evaluate::while_loop),
    in_place: InPlace::Results(|value| value.attributes::<WhileAttributes>().carried),
    derivative: Derivative::Several { jvp: loop_derivative::jvp_of_while, vjp: loop_derivative::vjp_of_while },
    batching: Batching::Several(batch::while_loop),
    masking: Masking::Rule(masking_rules::loops),
    ..Definition::DEFAULT
};

/// Definition of `cond`: applies one of two bodies.
pub const IF: Definition = Definition {
    name: "cond",
    stablehlo: "if",
    function: "lxla_cond",
    dtypes: "all",
    lower: lower::branch,
    native: Native::Several(evaluate::branch),
    derivative: Derivative::Several { jvp: derivative::jvp_of_branches, vjp: derivative::vjp_of_branches },
    batching: Batching::Several(batch::branches),
    masking: Masking::Rule(masking_rules::branches),
    ..Definition::DEFAULT
};

/// Definition of `scan`: a loop over slices.
pub const SCAN: Definition = Definition {
    name: "scan",
    stablehlo: "while",
    function: "lxla_scan",
    dtypes: "all",
    lower: lower::scan,
    native: Native::Several(evaluate::scan),
    in_place: InPlace::Results(|value| value.attributes::<ScanAttributes>().carried),
    first_result: 1,
    derivative: Derivative::Several { jvp: loop_derivative::jvp_of_scan, vjp: loop_derivative::vjp_of_scan },
    batching: Batching::Several(batch::scan),
    masking: Masking::OfAttributes(masking_rules::scan),
    ..Definition::DEFAULT
};

/// Definition of `case`: applies one of several bodies.
pub const CASE: Definition = Definition {
    name: "case",
    stablehlo: "case",
    function: "lxla_case",
    dtypes: "all; index integers",
    lower: lower::case,
    native: Native::Several(evaluate::case),
    derivative: Derivative::Several { jvp: derivative::jvp_of_branches, vjp: derivative::vjp_of_branches },
    batching: Batching::Several(batch::branches),
    masking: Masking::Rule(masking_rules::branches),
    ..Definition::DEFAULT
};

/// Definition of `optimization_barrier`: returns its operands unchanged.
pub const OPTIMIZATION_BARRIER: Definition = Definition {
    name: "optimization_barrier",
    stablehlo: "optimization_barrier",
    function: "lxla_optimization_barrier",
    dtypes: "all",
    lower: barrier::lower,
    native: Native::Several(|cx| Ok(cx.arrays(0..cx.operands.len()))),
    in_place: InPlace::Results(|value| value.operands.len()),
    derivative: Derivative::Several { jvp: derivative::jvp_of_barrier, vjp: derivative::vjp_of_barrier },
    batching: Batching::Several(batch::barrier),
    masking: Masking::Rule(masking_rules::barrier),
    ..Definition::DEFAULT
};

/// Definition of `stop_gradient`: returns its operand, which derivatives treat as a constant.
pub const STOP_GRADIENT: Definition = Definition {
    name: "stop_gradient",
    function: "lxla_stop_gradient",
    dtypes: "all",
    lower: custom::identity,
    native: Native::One(|cx| Ok(cx.operands[0].clone())),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Zero,
    batching: Batching::Elementwise,
    masking: Masking::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `checkpoint_name`: returns its operand; a checkpoint policy can save it by this name.
pub const CHECKPOINT_NAME: Definition = Definition {
    name: "checkpoint_name",
    function: "lxla_checkpoint_name",
    derivative: Derivative::Linear {
        jvp: |_, _, tangent| Ok(Some(tangent)),
        vjp: |_, _, cotangent| Ok(Some(cotangent)),
    },
    ..STOP_GRADIENT
};

/// Definition of a computation with custom rules.
pub const CUSTOM: Definition = Definition {
    name: "computation_with_rule",
    stablehlo: "func.call",
    function: "lxla_computation_with_vjp",
    dtypes: "all",
    lower: custom::lower_custom,
    native: Native::Several(custom::native_custom),
    derivative: Derivative::Several { jvp: custom_rules::jvp, vjp: custom_rules::vjp },
    batching: Batching::Several(custom_rules::batched),
    masking: Masking::Rule(masking_rules::custom),
    ..Definition::DEFAULT
};

/// Definition of `custom_call`: calls a target that the plugin implements. Its attributes are a
/// [`CustomCall`](custom_call::CustomCall).
pub const CUSTOM_CALL: Definition = Definition {
    name: "custom_call",
    stablehlo: "custom_call",
    function: "lxla_custom_call",
    dtypes: "all",
    lower: custom_call::lower,
    native: Native::Several(custom_call::refuse_native),
    ..Definition::DEFAULT
};

/// Definition of `kernel`: calls a kernel of the caller.
pub const KERNEL: Definition = Definition {
    name: "kernel",
    stablehlo: "custom_call",
    function: "lxla_kernel_apply",
    dtypes: "all",
    lower: kernel::lower,
    native: Native::Several(kernel::evaluate),
    whole: |_, _| true,
    derivative: Derivative::Several { jvp: kernel::jvp, vjp: kernel::vjp },
    ..Definition::DEFAULT
};
