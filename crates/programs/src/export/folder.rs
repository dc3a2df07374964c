//! Writes a computation as a folder: a portable artifact, the captured values, a manifest.

use super::program::Exported;
use crate::import::manifest::{CAPTURED, MANIFEST, Manifest, Named, PROGRAM, is_written};
use base::error::Result;
use base::io::{self, About, Entry, Metadata, check_type, replace_folder, write_durably};
use base::types::{DType, TensorType};
use mlir::{Version, bytecode};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Writes the folder whole or not at all.
pub fn write(exported: &Exported, version: Option<Version>, path: &Path) -> Result<()> {
    let artifact = bytecode::write(&exported.module()?, version)?;
    // Reading the artifact back checks it, and gives the version that was chosen.
    let stablehlo_version = bytecode::read(Arc::new(artifact.clone()))?.version;
    let captured = exported.captured.iter().enumerate();
    let manifest = Manifest {
        stablehlo_version: stablehlo_version.map(|version| version.to_string()).unwrap_or_default(),
        parameters: exported.parameters(),
        results: exported.results(),
        captured: captured.map(|(i, array)| Named { name: i.to_string(), ty: array.ty().clone() }).collect(),
    };
    replace_folder(path, &[PROGRAM, CAPTURED, MANIFEST], is_written, |folder| {
        write_durably(&folder.join(PROGRAM), &artifact)?;
        write_captured(exported, &manifest, &folder.join(CAPTURED))?;
        write_durably(&folder.join(MANIFEST), manifest.written().as_bytes())
    })
}

/// Writes the captured values. Those of dtypes that safetensors lacks are stored as bytes.
fn write_captured(exported: &Exported, manifest: &Manifest, path: &Path) -> Result<()> {
    let stored = |Named { name, ty }: &Named| match check_type(name, ty) {
        Ok(()) => ty.clone(),
        Err(_) => TensorType::new(DType::U8, &[ty.size_bytes() as i64]),
    };
    let types: Vec<TensorType> = manifest.captured.iter().map(stored).collect();
    let named = manifest.captured.iter().zip(&types);
    let entries: Vec<Entry> = named.map(|(Named { name, .. }, ty)| Entry { name, ty }).collect();
    let mut content = |index: usize, put: &mut dyn FnMut(&[u8]) -> Result<()>| put(exported.captured[index].bytes());
    io::write(path, &entries, &Metadata::Given(&About::new()), &mut content, &AtomicU64::new(0))
}
