//! Export of computations: bodies become programs for others, as StableHLO text, folders with the captured values, or
//! files of `jax.export`.
//!
//! `program` makes the text and the module of a body, `folder` and `jax` write them.

mod folder;
mod jax;
mod program;

use base::error::Result;
use base::io::write_durably;
use mlir::Version;
pub use program::Exported;
use std::path::Path;

/// Form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A folder: a portable artifact, the captured values, a manifest.
    Folder,
    /// StableHLO text.
    StablehloText,
    /// A file of `jax.export`, with the backward pass or without.
    Jax {
        /// Whether the file has the backward pass.
        has_vjp: bool,
    },
}

/// Writes a computation. `version` is that of the StableHLO of an artifact; None for the oldest one that has all
/// operations.
pub fn export(exported: &Exported, format: Format, version: Option<Version>, path: &Path) -> Result<()> {
    match format {
        Format::Folder => folder::write(exported, version, path),
        Format::StablehloText => write_durably(path, exported.text()?.as_bytes()),
        Format::Jax { has_vjp } => write_durably(path, &jax::file(exported, version, has_vjp)?),
    }
}
