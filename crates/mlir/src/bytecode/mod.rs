//! Reader of MLIR bytecode: portable artifacts of StableHLO (VHLO of every version up to 1.20.0) and StableHLO's own
//! bytecode. What is not valid is an error that names a byte of the file; reading takes no more time and memory than a
//! small multiple of the file's size.

mod attributes;
mod bytes;
mod codes;
mod decode;
mod dense;
mod forms;
mod ir;
mod numbers;
mod operations;
mod quant;
mod reader;
mod sections;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod types;
mod upgrade;
mod writer;

use super::{Module, Version};
use base::error;
use base::error::Result;
use forms::Dialect;
use sections::File;
use std::sync::Arc;
use tables::Tables;
pub use writer::write;

/// Whether a file is MLIR bytecode, judged by its first bytes.
pub fn is_bytecode(file: &[u8]) -> bool {
    file.starts_with(sections::MAGIC)
}

/// Reads a module. Its large constants stay where they are in `owner`.
pub fn read(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Result<Module> {
    let bytes = (*owner).as_ref();
    let file = File::read(bytes, owner.clone())?;
    let producer = file.producer.clone();
    let has_vhlo = file.dialects.iter().any(|&(dialect, _)| dialect == Dialect::Vhlo);
    let version = upgrade::version(&producer).filter(|_| has_vhlo);
    if let Some(version) = version
        && Version(version.0, version.1, 0) > upgrade::NEWEST
    {
        return Err(error!(
            Unimplemented,
            "MLIR bytecode: the artifact has VHLO {version}, the library reads versions up to {}",
            upgrade::NEWEST
        ));
    }
    let (mut block, types) = ir::read(Tables::read(file)?)?;
    let (Some(mut module), true) = (block.operations.pop(), block.operations.is_empty()) else {
        return Err(error!(InvalidArgument, "MLIR bytecode: a module was expected, not several operations or none"));
    };
    let body = module.regions.first_mut().and_then(|region| region.blocks.first_mut());
    let operations = body.map(|body| std::mem::take(&mut body.operations)).unwrap_or_default();
    match &*module.name {
        "builtin.module" => Ok(Module { producer, version, attributes: module.attributes, operations, types }),
        other => Err(error!(InvalidArgument, "MLIR bytecode: a module was expected, not {other}")),
    }
}
