//! Passes over programs: lowering to StableHLO, evaluation on host arrays, differentiation, batching and masking.
//!
//! | module | contents |
//! |---|---|
//! | [`transform`] | derivatives, batching and masking of programs, by the rules of the operations |
//! | [`lower`], [`interpret`] | lowering of a program to StableHLO; evaluation of a program on host arrays |
//! | [`cost`] | number of operations and bytes of a program |
//!
//! It uses `base`, `ir`, `native`, `engine`, `mesh` and `ops`. `lower` and `interpret` do not use `transform`, nor each other.

pub mod cost;
pub mod interpret;
pub mod lower;
pub mod transform;
