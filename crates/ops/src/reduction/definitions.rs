//! Definitions of reductions.

use super::{batch, derivative, masking_rules, reduce, reduce_with, select_and_scatter, window_derivative, windows};
use crate::definition::{Definition, Native};
use crate::masking::Masking;
use crate::rules::{Batching, Derivative};

/// Definition of the reductions in [`ReduceOp`](ir::ReduceOp).
pub const REDUCE: Definition = Definition {
    name: "reduce",
    stablehlo: "reduce",
    function: "lxla_reduce",
    lower: reduce::lower,
    native: Native::One(reduce::native_reduce),
    derivative: Derivative::Linear { jvp: derivative::jvp_of_reduce, vjp: derivative::vjp_of_reduce },
    batching: Batching::Rule(batch::reduce),
    masking: Masking::Rule(masking_rules::reduce),
    ..Definition::DEFAULT
};

/// Definition of `reduce_with`: arrays, reduced jointly over axes.
pub const REDUCE_WITH: Definition = Definition {
    name: "reduce_with",
    stablehlo: "reduce",
    function: "lxla_reduce_with",
    dtypes: "all",
    lower: reduce_with::lower,
    // XLA reduces over devices by an all-reduce with the combiner, which plugins do not have for every combiner.
    // `whole: |_, _| true` here makes every device compute all reductions whole.
    open: |e, at| Some(reduce_with::open_axes(e, at)),
    native: Native::Several(reduce_with::native_reduce_with),
    derivative: Derivative::Several { jvp: derivative::jvp_of_reduce_with, vjp: derivative::vjp_of_reduce_with },
    batching: Batching::Several(batch::reduce_with),
    masking: Masking::Rule(masking_rules::reduced_with),
    ..Definition::DEFAULT
};

/// Definition of `reduce_window`: arrays, reduced jointly window by window.
pub const REDUCE_WINDOW: Definition = Definition {
    name: "reduce_window",
    stablehlo: "reduce_window",
    function: "lxla_reduce_window",
    dtypes: "all",
    lower: windows::lower,
    whole: windows::is_hard_to_split,
    // XLA's partitioner computes wrong numbers where an axis with padding is split.
    open: |e, at| Some(windows::open_axes(e, at)),
    native: Native::Several(windows::native_reduce_window),
    derivative: Derivative::Several {
        jvp: window_derivative::jvp_of_reduce_window,
        vjp: window_derivative::vjp_of_reduce_window,
    },
    batching: Batching::Several(batch::reduce_window),
    masking: Masking::OfAttributes(masking_rules::reduced_windows),
    ..Definition::DEFAULT
};

/// Definition of `select_and_scatter`: values combined into the element that is selected in each window.
pub const SELECT_AND_SCATTER: Definition = Definition {
    name: "select_and_scatter",
    stablehlo: "select_and_scatter",
    function: "lxla_select_and_scatter",
    dtypes: "all",
    lower: select_and_scatter::lower,
    // The partitioner of the plugin with API 0.106 adds some elements twice (a vector of 8, split in 4).
    whole: |_, _| true,
    native: Native::Several(select_and_scatter::native_select_and_scatter),
    derivative: Derivative::Several {
        jvp: window_derivative::jvp_of_select_and_scatter,
        vjp: window_derivative::vjp_of_select_and_scatter,
    },
    batching: Batching::Several(batch::select_and_scatter),
    masking: Masking::Rule(masking_rules::selected),
    ..Definition::DEFAULT
};
