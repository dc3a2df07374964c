//! Import of programs of other frameworks, and export of programs to them.
//!
//! | module | contents |
//! |---|---|
//! | [`export`] | programs for others: StableHLO text, folders with captured values, files of `jax.export` |
//! | [`import`] | programs of others: functions of a module recorded as operations |
//!
//! It uses `base`, `ir`, `lowering`, `mesh`, `mlir`, `native` and `ops`.

pub mod export;
pub mod import;
