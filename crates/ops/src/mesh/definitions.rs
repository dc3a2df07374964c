//! Definitions of sharding constraints, `shard_map` and collectives.

use super::{collective_rules, collectives, constraint, permute, shard_map, shard_map_rules};
use crate::definition::{Definition, InPlace, Native};
use crate::rules::{Batching, Derivative};

/// Definition of `sharding_constraint`: returns the operand with this sharding.
pub const SHARDING_CONSTRAINT: Definition = Definition {
    name: "sharding_constraint",
    stablehlo: "sdy.sharding_constraint",
    function: "lxla_sharding_constraint",
    dtypes: "all",
    lower: constraint::lower,
    native: Native::One(|cx| Ok(cx.operands[0].clone())),
    in_place: InPlace::Elementwise,
    // Tangents and cotangents are placed as the value.
    derivative: Derivative::Linear {
        jvp: |site, _, tangent| constraint::constrained(site, tangent).map(Some),
        vjp: |site, _, cotangent| constraint::constrained(site, cotangent).map(Some),
    },
    batching: Batching::Rule(constraint::batch),
    ..Definition::DEFAULT
};

/// Definition of `shard_map`.
pub const SHARD_MAP: Definition = Definition {
    name: "shard_map",
    stablehlo: "sdy.manual_computation",
    function: "lxla_shard_map",
    dtypes: "all",
    lower: shard_map::lower,
    native: Native::OnMeshes,
    derivative: Derivative::Several { jvp: shard_map_rules::jvp, vjp: shard_map_rules::vjp },
    batching: Batching::Several(shard_map_rules::batch),
    ..Definition::DEFAULT
};

/// Definition of `all_reduce`: every device of a group gets the reduction of the group's values.
pub const ALL_REDUCE: Definition = Definition {
    name: "all_reduce",
    stablehlo: "all_reduce",
    function: "lxla_all_reduce",
    dtypes: "as lxla_reduce",
    lower: collectives::lower_all_reduce,
    native: Native::OnMeshes,
    derivative: Derivative::Linear {
        jvp: collective_rules::jvp_of_all_reduce,
        vjp: collective_rules::vjp_of_all_reduce,
    },
    batching: Batching::Rule(collective_rules::batch_all_reduce),
    ..Definition::DEFAULT
};

/// Definition of `all_gather`: every device of a group gets the concatenation of the group's values.
pub const ALL_GATHER: Definition = Definition {
    name: "all_gather",
    stablehlo: "all_gather",
    function: "lxla_all_gather",
    dtypes: "all",
    lower: collectives::lower_all_gather,
    native: Native::OnMeshes,
    derivative: Derivative::Linear {
        jvp: collective_rules::jvp_of_all_gather,
        vjp: collective_rules::vjp_of_all_gather,
    },
    batching: Batching::Rule(collective_rules::batch_all_gather),
    ..Definition::DEFAULT
};

/// Definition of `reduce_scatter`: each device of a group gets one piece of the reduction of the group's values.
pub const REDUCE_SCATTER: Definition = Definition {
    name: "reduce_scatter",
    stablehlo: "reduce_scatter",
    function: "lxla_reduce_scatter",
    dtypes: "as lxla_reduce",
    lower: collectives::lower_reduce_scatter,
    native: Native::OnMeshes,
    derivative: Derivative::Linear {
        jvp: collective_rules::jvp_of_reduce_scatter,
        vjp: collective_rules::vjp_of_reduce_scatter,
    },
    batching: Batching::Rule(collective_rules::batch_reduce_scatter),
    ..Definition::DEFAULT
};

/// Definition of `all_to_all`: each device of a group gets one piece of every value of the group, concatenated.
pub const ALL_TO_ALL: Definition = Definition {
    name: "all_to_all",
    stablehlo: "all_to_all",
    function: "lxla_all_to_all",
    dtypes: "all",
    lower: collectives::lower_all_to_all,
    native: Native::OnMeshes,
    derivative: Derivative::Linear {
        jvp: collective_rules::jvp_of_all_to_all,
        vjp: collective_rules::vjp_of_all_to_all,
    },
    batching: Batching::Rule(collective_rules::batch_all_to_all),
    ..Definition::DEFAULT
};

/// Definition of `collective_permute`: a target gets the value of its source, and other devices get zeros.
pub const COLLECTIVE_PERMUTE: Definition = Definition {
    name: "collective_permute",
    stablehlo: "collective_permute",
    function: "lxla_collective_permute",
    dtypes: "all",
    lower: permute::lower_permute,
    native: Native::OnMeshes,
    derivative: Derivative::Linear { jvp: collective_rules::jvp_of_permute, vjp: collective_rules::vjp_of_permute },
    batching: Batching::Rule(collective_rules::batch_permute),
    ..Definition::DEFAULT
};

/// Definition of `axis_index`: the position of the device along axes of the mesh.
pub const AXIS_INDEX: Definition = Definition {
    name: "axis_index",
    stablehlo: "partition_id",
    function: "lxla_axis_index",
    dtypes: "gives s32",
    lower: permute::lower_index,
    native: Native::OnMeshes,
    derivative: Derivative::Zero,
    ..Definition::DEFAULT
};
