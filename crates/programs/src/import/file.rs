//! Recognizes the bytes of a program by their content, and reads them.

use super::functions::check_names;
use base::error;
use base::error::{Error, Result};
use base::types::DType;
use lazyxla_pytorch as reader;
use mlir::jax_file::{self, Exported};
use mlir::{FREE, Module, TensorShape, bytecode, text};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Whether bytes are of a file of PyTorch: an archive, which may hold a program, or tensors that `torch.save` wrote.
pub fn is_pytorch(bytes: &[u8]) -> bool {
    reader::is_archive(bytes) || reader::is_legacy_save(bytes)
}

/// Memory of a program.
pub type Memory = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A program that was read.
pub struct Program {
    /// The module.
    pub module: Module,
    /// Contents of the file of `jax.export` that held the module; None for any other form.
    pub exported: Option<Exported>,
}

/// Reads a program: StableHLO text, MLIR bytecode, or a file of `jax.export`.
pub fn read(memory: Memory) -> Result<Program> {
    let program = parsed(memory)?;
    check_names(&program.module)?;
    Ok(program)
}

fn parsed(memory: Memory) -> Result<Program> {
    let bytes = (*memory).as_ref();
    if bytecode::is_bytecode(bytes) {
        return Ok(Program { module: bytecode::read(memory)?, exported: None });
    }
    if bytes.is_empty() {
        return Err(error!(InvalidArgument, "it is empty; want StableHLO text, MLIR bytecode or a file of jax.export"));
    }
    if !is_text(bytes) {
        let exported = jax_file::read(memory.clone()).map_err(unrecognized)?;
        let module = bytecode::read(Arc::new(exported.artifact.clone()))?;
        return Ok(Program { module, exported: Some(exported) });
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|e| unrecognized(error!(InvalidArgument, "no UTF-8 at byte {}", e.valid_up_to())))?;
    Ok(Program { module: text::read(text)?, exported: None })
}

/// Whether a program is StableHLO text, by its first bytes.
pub fn is_text(bytes: &[u8]) -> bool {
    // Text has no zeros; the offsets at the start of a flatbuffers file do.
    !bytecode::is_bytecode(bytes) && !bytes[..bytes.len().min(START_BYTES as usize)].contains(&0)
}

/// Number of the first bytes by which the form of a program is recognized.
pub const START_BYTES: u64 = 64;

/// Returns an error if the first bytes of a file of `size` bytes are not of a program of any form, so that the file
/// need not be read.
pub fn check_start(bytes: &[u8], size: u64) -> Result<()> {
    match bytecode::is_bytecode(bytes) || is_text(bytes) || is_pytorch(bytes) {
        true => Ok(()),
        false => jax_file::check_start(bytes, size).map_err(unrecognized),
    }
}

fn unrecognized(e: Error) -> Error {
    e.context(
        "neither StableHLO text, nor MLIR bytecode, nor a file of jax.export, nor an archive of torch.export.save",
    )
}

impl Program {
    /// Returns the number of the platform whose branches are imported: the CPU's if the program is for CPUs, since
    /// these branches compute by portable operations; otherwise the first one's.
    pub fn platform(&self) -> i32 {
        let platforms = self.exported.as_ref().map_or(&[][..], |exported| &exported.platforms);
        platforms.iter().position(|name| name == "cpu").unwrap_or(0) as i32
    }

    /// Returns the parameters of the exported function that `main` does not have, with their places among all.
    pub fn unused(&self) -> Vec<(usize, TensorShape)> {
        let Some(exported) = &self.exported else { return Vec::new() };
        let kept: FxHashSet<usize> = exported.kept.iter().copied().collect();
        let all = exported.parameters.iter().enumerate();
        all.filter(|(i, _)| !kept.contains(i)).map(|(i, value)| (i, shape(value))).collect()
    }
}

/// The shape of a parameter of an exported function. A key of random numbers has an axis of its words.
fn shape(value: &jax_file::Value) -> TensorShape {
    let key_words = match value.dtype {
        "key<fry>" => Some(2),
        "key<rbg>" | "key<unsafe_rbg>" => Some(4),
        _ => None,
    };
    let dims = value.dims.iter().map(|dim| dim.parse().unwrap_or(FREE)).chain(key_words).collect();
    let element = match &value.element {
        Some(element) => element.clone(),
        None if key_words.is_some() => mlir::Element::DType(DType::U32),
        // The tangent of an integer: a value without content.
        None => mlir::Element::DType(DType::Pred),
    };
    TensorShape::new(element, dims)
}
