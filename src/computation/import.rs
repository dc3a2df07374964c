//! Computations that are imported from programs of others.

use super::Computation;
use crate::device::Device;
use base::error::Result;
use base::types::TensorType;
use ir::Op;
use programs::import::{self, Memory, Wanted};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the bytes of a file.
pub type ReadFile = fn(&Path) -> Result<Memory>;

/// Imports the program in a file, or in a folder of PyTorch/XLA.
pub fn import_file(device: &'static Device, path: &Path, wanted: Wanted, read_file: ReadFile) -> Result<Computation> {
    if !path.is_dir() {
        return import(device, read_file(path)?, wanted);
    }
    let (program, wanted) = import::read_folder(path, wanted, read_file)?;
    let imported = import::import(&program.module, &wanted)?;
    Computation::of_constants(device, imported.body, imported.constants)
}

/// Describes the program in a file, or in a folder of PyTorch/XLA, as JSON.
pub fn describe_file(path: &Path, read_file: ReadFile) -> Result<String> {
    match path.is_dir() {
        true => import::describe(&import::read_folder(path, Wanted::default(), read_file)?.0),
        false => describe(read_file(path)?),
    }
}

/// Imports a program. `device` is where its constants are kept: cpu.
pub fn import(device: &'static Device, memory: Memory, wanted: Wanted) -> Result<Computation> {
    let program = import::read(memory)?;
    // A file of jax.export describes the parameters of `main`, not those of its other functions.
    let is_main = wanted.function.as_deref().is_none_or(|name| name == "main");
    let unused = if is_main { program.unused() } else { Vec::new() };
    let wanted = Wanted { platform: program.platform(), unused, ..wanted };
    let imported = import::import(&program.module, &wanted)?;
    Computation::of_constants(device, imported.body, imported.constants)
}

/// Describes a program as JSON.
pub fn describe(memory: Memory) -> Result<String> {
    import::describe(&import::read(memory)?)
}

impl Computation {
    /// Describes the computation as JSON.
    pub fn describe(&self) -> String {
        let types = |types: &[TensorType]| -> Vec<Value> {
            types.iter().map(|ty| json!({"dtype": ty.dtype.to_string(), "dims": ty.dims.to_vec()})).collect()
        };
        let mut operations: BTreeMap<&str, usize> = BTreeMap::new();
        for value in self.body().decode().0.iter().filter(|value| !matches!(value.op, Op::Leaf | Op::Result)) {
            let name = match value.op {
                Op::Unary(op) => op.name(),
                Op::Binary(op) | Op::BinaryScalar(op) | Op::ScalarBinary(op) => op.name(),
                op => ops::definition(op).name,
            };
            *operations.entry(name).or_default() += 1;
        }
        json!({
            "parameters": types(self.parameters()),
            "results": types(self.results()),
            "captured": types(self.body().captures()),
            "operations": operations,
        })
        .to_string()
    }
}
