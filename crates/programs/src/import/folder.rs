//! Folders that PyTorch/XLA's `save_as_stablehlo` writes: a function in `functions/NAME.bytecode`, described by
//! `functions/NAME.meta` (JSON), whose parameters are inputs of the model, its parameters and buffers (`data/`) and
//! its constants (`constants/`), the last two as NumPy files.

use super::file::{Memory, Program, read};
use super::manifest::{is_exported, read_exported};
use super::program::Wanted;
use super::weights::Weights;
use base::error;
use base::error::{Error, Result, quoted};
use base::io::{open_npy, read_json};
use std::path::{Path, PathBuf};

/// Reads a folder of PyTorch/XLA or of an export: its program, and for each parameter whether it is an input or a
/// weight. `read_file` reads the bytes of a file.
pub fn read_folder(
    folder: &Path,
    wanted: Wanted,
    read_file: impl Fn(&Path) -> Result<Memory>,
) -> Result<(Program, Wanted)> {
    if is_exported(folder) {
        return read_exported(folder, wanted, read_file);
    }
    let meta = meta_of(folder, wanted.function.as_deref())?;
    let described = read_json(&meta)?;
    let program = read(read_file(&meta.with_extension("bytecode"))?)?;
    let wrong = |what: &str| -> Error { error!(InvalidArgument, "{}: {what}", quoted(&meta.to_string_lossy())) };
    let locations = described["input_locations"].as_array().ok_or_else(|| wrong("no list input_locations"))?;
    let counted = Weights::new(&program.module, None, locations.len());
    let mut weights = counted.map_err(|e| wrong(&format!("input_locations: {}", e.message)))?;
    let mut order = Vec::new();
    for (i, location) in locations.iter().enumerate() {
        let position = || {
            let position = location["position"].as_u64().and_then(|position| usize::try_from(position).ok());
            position.ok_or_else(|| wrong(&format!("input_locations[{i}] has no position")))
        };
        let path = match location["type_"].as_str() {
            Some("input_arg") => {
                order.push(position()?);
                continue;
            }
            Some("parameter") => {
                let name = location["name"].as_str().filter(|name| is_file_name(name));
                folder.join("data").join(name.ok_or_else(|| wrong(&format!("input_locations[{i}] has no name")))?)
            }
            Some("constant") => folder.join("constants").join(position()?.to_string()),
            _ => return Err(wrong(&format!("input_locations[{i}] is of no known type"))),
        };
        let file = open_npy(&path)?;
        let (place, ty) = (file.place(), file.ty().clone());
        weights
            .add(i, place, &ty, || file.read())
            .map_err(|e| e.context(format_args!("{}, argument {i}", quoted(&path.to_string_lossy()))))?;
    }
    // The function of a folder is `main` of its program.
    Ok((program, Wanted { function: None, constants: weights.finish(), order: Some(order), ..wanted }))
}

/// Whether a name is that of a file in a folder, and of nothing outside.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

/// Returns the file that describes the wanted function, or the only function of a folder.
fn meta_of(folder: &Path, function: Option<&str>) -> Result<PathBuf> {
    let functions = folder.join("functions");
    let shown = quoted(&folder.to_string_lossy());
    if let Some(name) = function {
        let path = functions.join(format!("{name}.meta"));
        return match is_file_name(name) && path.is_file() {
            true => Ok(path),
            false => {
                Err(error!(InvalidArgument, "options.function: the folder {shown} has no function {}", quoted(name)))
            }
        };
    }
    let entries = std::fs::read_dir(&functions).map_err(|e| {
        error!(
            NotFound,
            "path: {shown} is not a folder of PyTorch/XLA (functions: {e}) or of an export (manifest.json)"
        )
    })?;
    let is_meta = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "meta");
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_meta).collect();
    found.sort();
    match &found[..] {
        [only] => Ok(only.clone()),
        [] => Err(error!(NotFound, "path: {shown} has no functions/*.meta; want a folder of PyTorch/XLA")),
        several => {
            let names: Vec<String> = several
                .iter()
                .filter_map(|path| path.file_stem().map(|name| quoted(&name.to_string_lossy())))
                .collect();
            Err(error!(InvalidArgument, "options.function: none given; the folder {shown} has {}", names.join(", ")))
        }
    }
}
