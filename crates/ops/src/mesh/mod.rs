//! Mesh operations: sharding constraints, `shard_map` (a computation that every device of a mesh applies to its
//! pieces), and the collectives in such a computation.

pub(super) mod attributes;
pub(super) mod collective_rules;
pub(super) mod collectives;
pub(super) mod constraint;
pub(super) mod definitions;
pub(super) mod open;
pub(super) mod permute;
pub(super) mod shard_map;
pub(super) mod shard_map_rules;
pub(super) mod whole;

pub use attributes::{collective_in, mesh_of};
pub use collectives::{
    AllReduceAttributes, AllToAllAttributes, AlongAttributes, all_gather, all_reduce, all_to_all, reduce_scatter,
};
pub use constraint::{ShardingConstraintAttributes, sharding_constraint, stated_sharding};
pub use permute::{AxisIndexAttributes, CollectivePermuteAttributes, axis_index, collective_permute};
pub use shard_map::{ShardMapAttributes, shard_map};
