//! Executables are saved to files, and loaded.

use super::compile::Executable;
use super::stored::{MAGIC, StoredCode, StoredLayout, read};
use crate::device::Device;
use base::error;
use base::error::{Error, Result, quoted};
use base::io::{io_error, open_regular, read_stated, replace_durably, user};
use mlir::bytecode;
use native::Array;
use programs::export::Exported;
use std::fs::Metadata;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

impl Executable {
    /// Writes the executable to a file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        if self.body.kernels().any {
            return Err(error!(Unimplemented, "executable: it calls kernels of this process, which no file holds"));
        }
        let captured = self.captured_arrays()?;
        let names = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect();
        let exported = Exported {
            body: self.body.clone(),
            captured: captured.clone(),
            precision: self.precision,
            parameter_names: names("arg", self.parameters().len()),
            result_names: names("result", self.results().len()),
        };
        let program = bytecode::write(&exported.module()?, None)?;
        let code = self.code_to_store()?.unwrap_or_else(|| StoredCode { key: [0; 32], arguments: 0, bytes: [].into() });
        let StoredCode { key, arguments, bytes: code } = code;
        let donated: Vec<u64> = (0..).zip(&self.donated).filter(|(_, donated)| **donated).map(|(i, _)| i).collect();
        let layout = self.layout().map(|layout| StoredLayout::text(&layout.mesh.axes, &layout.parameters));
        let layout = layout.unwrap_or_default().into_bytes();
        let sizes = [self.parameters().len(), arguments, donated.len(), layout.len(), program.len(), code.len()];
        let numbers = sizes.into_iter().map(|size| size as u64).chain(donated);
        let numbers: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        let mut parts = vec![&key[..], &numbers, &layout, &program, &code];
        parts.extend(captured.iter().map(Array::bytes));
        let mut hasher = blake3::Hasher::new();
        for part in &parts {
            hasher.update(part);
        }
        let hash = hasher.finalize();
        let whole = [&MAGIC[..], hash.as_bytes()].into_iter().chain(parts);
        let written = replace_durably(path, |file| {
            // Code that others could change would not be loaded.
            let mode = file.metadata()?.permissions().mode();
            file.set_permissions(PermissionsExt::from_mode(mode & !0o022))?;
            { whole }.try_for_each(|part| file.write_all(part))
        });
        written.map_err(|e| io_error(path, &e))
    }

    /// Loads an executable for a device. The code of the file is used if it was compiled for this plugin and processor,
    /// and nobody but this user and root can have written it.
    pub fn load(device: &'static Device, path: &Path) -> Result<Executable> {
        let named = |e: Error| e.context(format_args!("path: {}", quoted(&path.to_string_lossy())));
        let (mut file, metadata) = open_regular(path).map_err(|e| io_error(path, &e))?;
        let bytes = read_stated(path, &mut file, metadata.len(), |_| Ok(()))?;
        let stored = read(&bytes).map_err(named)?;
        drop(bytes);
        Executable::of_stored(device, stored, distrust(&metadata)).map_err(named)
    }
}

/// Why code of a file must not run, if others can have written it.
fn distrust(metadata: &Metadata) -> Option<String> {
    let (owner, mode) = (metadata.uid(), metadata.permissions().mode() & 0o777);
    if owner != user() && owner != 0 {
        return Some(format!("the file belongs to user {owner}; this process runs as user {}", user()));
    }
    (mode & 0o022 != 0).then(|| format!("others can write to the file (mode {mode:o})"))
}
