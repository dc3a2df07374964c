//! Writer of portable artifacts: MLIR bytecode of VHLO. What a target version has, and with which attributes, follows
//! StableHLO's `StablehloLegalizeToVhlo.cpp` and `VhloToVersion.cpp`.

mod assembly;
mod attributes;
mod casts;
mod defaults;
mod entries;
mod file;
mod operations;
mod pool;
mod side;
#[cfg(test)]
mod tests;
mod types;
mod versions;
mod words;

use super::upgrade::NEWEST;
use crate::{Module, Version};
use base::error;
use base::error::Result;
use operations::Writer;

/// The oldest version that is written.
const OLDEST: Version = Version(0, 9, 0);

/// Returns a module as a portable artifact for readers of a version of StableHLO; None stands for the oldest version
/// that has all operations, attributes and types of the module.
pub fn write(module: &Module, version: Option<Version>) -> Result<Vec<u8>> {
    if let Some(wanted) = version
        && !(OLDEST..=NEWEST).contains(&Version(wanted.0, wanted.1, 0))
    {
        return Err(error!(
            InvalidArgument,
            "MLIR bytecode: StableHLO {wanted} was asked for; versions from {OLDEST} to {NEWEST} are written"
        ));
    }
    let mut target = version.unwrap_or(OLDEST);
    loop {
        let mut writer = Writer::new(module, target, format(target));
        let operations = writer.module()?;
        match (writer.entries.needed.take(), version) {
            (None, _) => {
                let producer = format!("StableHLO_v{target}");
                return Ok(file::file(&writer.entries.pool, &operations, format(target), &producer));
            }
            (Some((needed, what)), Some(_)) => {
                return Err(error!(
                    InvalidArgument,
                    "MLIR bytecode: {what} needs StableHLO {needed}, but {target} was asked for"
                ));
            }
            (Some((needed, _)), None) => target = needed,
        }
    }
}

/// Returns the version of the bytecode format that readers of a version of StableHLO have.
fn format(target: Version) -> u64 {
    match target {
        Version(0, ..10, _) => 0,
        Version(0, ..12, _) => 1,
        Version(0, ..14, _) => 3,
        Version(0, ..15, _) => 4,
        _ => 6,
    }
}
