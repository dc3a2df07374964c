//! Computations that are imported from programs of others.

use super::Computation;
use crate::device::Device;
use base::error::Result;
use base::types::TensorType;
use ir::{Instruction, Op, Precision};
use ops::linalg::DotGeneralAttributes;
use ops::nn::ConvolutionAttributes;
use programs::import::{self, Memory, Wanted};
use serde_json::{Map, Value, json};
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
    if import::is_pytorch((*memory).as_ref()) {
        let made = import::pytorch::import((*memory).as_ref(), &wanted)?;
        return Ok(Computation::of_constants(device, made.body, made.constants)?.named(made.names));
    }
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
    match import::is_pytorch((*memory).as_ref()) {
        true => import::pytorch::describe((*memory).as_ref()),
        false => import::describe(&import::read(memory)?),
    }
}

/// The precision that an operation states; None if it states none, or has none.
fn stated_precision(value: &Instruction) -> Option<Precision> {
    match value.op {
        Op::DotGeneral => value.attributes::<DotGeneralAttributes>().precision,
        Op::Convolution => value.attributes::<ConvolutionAttributes>().precision,
        _ => None,
    }
}

impl Computation {
    /// Describes the computation as JSON.
    pub fn describe(&self) -> String {
        let names = self.names();
        let types = |types: &[TensorType], names: Option<&[Map<String, Value>]>| -> Vec<Value> {
            let one = |(i, ty): (usize, &TensorType)| {
                let mut described = names.and_then(|names| names.get(i)).cloned().unwrap_or_default();
                described.insert("dtype".into(), ty.dtype.to_string().into());
                described.insert("dims".into(), ty.dims.to_vec().into());
                described.into()
            };
            types.iter().enumerate().map(one).collect()
        };
        let mut operations: BTreeMap<&str, usize> = BTreeMap::new();
        let mut precisions: BTreeMap<String, usize> = BTreeMap::new();
        for value in self.body().decode().0.iter().filter(|value| !matches!(value.op, Op::Leaf | Op::Result)) {
            let name = match value.op {
                Op::Unary(op) => op.name(),
                Op::Binary(op) | Op::BinaryScalar(op) | Op::ScalarBinary(op) => op.name(),
                op => ops::definition(op).name,
            };
            *operations.entry(name).or_default() += 1;
            if let Some(precision) = stated_precision(value) {
                *precisions.entry(precision.to_string()).or_default() += 1;
            }
        }
        json!({
            "parameters": types(self.parameters(), names.map(|names| &names.parameters[..])),
            "results": types(self.results(), names.map(|names| &names.results[..])),
            "captured": types(self.body().captures(), names.map(|names| &names.captured[..])),
            "operations": operations,
            "precisions": precisions,
        })
        .to_string()
    }
}
