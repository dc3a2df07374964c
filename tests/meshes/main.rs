//! Single operations on small meshes: operands that are split at random, random attributes, and results that are split
//! at random, against native evaluation. `sweep.rs` runs the cases, `case.rs` draws them, and the other files have the
//! operations by subject. XLA's partitioner computed wrong numbers here that random programs did not find, whose shapes
//! seldom allow results to be split.
//!
//! - `LXLA_MESH_SWEEP_CASES`: number of cases of each operation, times its weight.
//! - `LXLA_MESH_SWEEP_SEED`: the first seed. An operation and a seed determine a case.
//! - `LXLA_MESH_SWEEP_OPERATION`: the only operation that runs, by its name in the tables.
//! - `LXLA_MESH_SWEEP_VERBOSE`: if set, each case is printed before it runs, for failures that end the process.

mod case;
mod common;
mod devices;
mod sweep;
mod sweep_control;
mod sweep_elementwise;
mod sweep_indexing;
mod sweep_indexing_gather;
mod sweep_linalg;
mod sweep_linalg_factors;
mod sweep_nn;
mod sweep_random;
mod sweep_reduction;
mod sweep_reduction_windows;
mod sweep_shape;
mod sweep_sorting;
