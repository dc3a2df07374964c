//! Operations of meshes: sharding constraints, computations that every device of a mesh applies to its pieces
//! (`shard_map`), and the collectives between the devices in such a computation.

pub mod attributes;
pub mod collective_rules;
pub mod collectives;
pub mod constraint;
pub mod open;
pub mod permute;
pub mod shard_map;
pub mod shard_map_rules;
pub mod whole;
