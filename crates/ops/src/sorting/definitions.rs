//! Definitions of sorts.

use super::top_k::{self, TopKAttributes};
use super::{masking_rules, sort, sort_rules};
use crate::definition::{Definition, Native};
use crate::masking::Masking;
use crate::rules::{Batching, Derivative};

/// Definition of `sort`: arrays, sorted jointly.
pub const SORT: Definition = Definition {
    name: "sort",
    stablehlo: "sort",
    function: "lxla_sort",
    dtypes: "all",
    lower: sort::lower,
    native: Native::Several(sort::native_sort),
    derivative: Derivative::Several { jvp: sort_rules::jvp, vjp: sort_rules::vjp },
    batching: Batching::Several(sort_rules::batch),
    masking: Masking::Rule(masking_rules::sorted),
    ..Definition::DEFAULT
};

/// Definition of `top_k`: indices of the k largest (or smallest) elements along the last axis.
pub const TOP_K: Definition = Definition {
    name: "top_k",
    stablehlo: "sort",
    function: "lxla_topk",
    dtypes: "all",
    lower: top_k::lower,
    native: Native::One(|cx| {
        let TopKAttributes { k, largest } = cx.attributes();
        native::top_k(cx.ty, cx.operands[0], k as usize, largest)
    }),
    derivative: Derivative::Zero,
    batching: Batching::Rule(top_k::batch),
    masking: Masking::Rule(masking_rules::top_k),
    ..Definition::DEFAULT
};
