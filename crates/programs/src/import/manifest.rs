//! Folders that `lxla_computation_export` writes: a program, the captured values of its computation, and a manifest
//! that says what they are.

use super::file::{Memory, Program, read};
use super::program::Wanted;
use super::weights::Weights;
use base::error;
use base::error::{Error, Result, quoted};
use base::io::{open_tensors, read_json};
use base::types::{DType, TensorType, element_count};
use serde_json::{Value, json};
use std::path::Path;

/// Names of the files of a folder.
pub const PROGRAM: &str = "program.mlirbc";
/// See [`PROGRAM`].
pub const CAPTURED: &str = "captured.safetensors";
/// See [`PROGRAM`].
pub const MANIFEST: &str = "manifest.json";

/// Value of the key `format` of a manifest.
const FORMAT: &str = "lazyxla.export";

/// Version of the format that is written, and the newest that is read.
const FORMAT_VERSION: u64 = 1;

/// A value with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Name: unique among the parameters, the results or the captured values.
    pub name: String,
    /// Dtype and shape.
    pub ty: TensorType,
}

/// Contents of a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Version of the StableHLO of the program.
    pub stablehlo_version: String,
    /// Parameters of the computation, which are the first ones of `main`.
    pub parameters: Vec<Named>,
    /// Results.
    pub results: Vec<Named>,
    /// Captured values, the other parameters of `main`, by their names in the file of them.
    pub captured: Vec<Named>,
}

impl Manifest {
    /// Writes the manifest as JSON.
    pub fn written(&self) -> String {
        let listed = |values: &[Named]| -> Vec<Value> {
            let described = |Named { name, ty }: &Named| json!({"name": name, "dtype": ty.dtype.to_string(), "dims": ty.dims.to_vec()});
            values.iter().map(described).collect()
        };
        let manifest = json!({
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "lazyxla_version": env!("CARGO_PKG_VERSION"),
            "stablehlo_version": self.stablehlo_version,
            "parameters": listed(&self.parameters),
            "results": listed(&self.results),
            "captured": listed(&self.captured),
        });
        format!("{manifest:#}\n")
    }

    /// Reads a manifest.
    fn parsed(json: &Value) -> Result<Manifest> {
        if json["format"] != FORMAT {
            return Err(error!(InvalidArgument, "format: {} given; want {FORMAT:?}", json["format"]));
        }
        match json["format_version"].as_u64() {
            Some(1..=FORMAT_VERSION) => {}
            _ => {
                let given = &json["format_version"];
                return Err(error!(Unimplemented, "format_version: {given} given; want at most {FORMAT_VERSION}"));
            }
        }
        let listed = |key: &str| -> Result<Vec<Named>> {
            let list = json[key].as_array().ok_or_else(|| error!(InvalidArgument, "{key}: no list"))?;
            let named = |(i, value): (usize, &Value)| {
                named(value).ok_or_else(|| error!(InvalidArgument, "{key}[{i}]: {value} given; want name, dtype, dims"))
            };
            list.iter().enumerate().map(named).collect()
        };
        Ok(Manifest {
            stablehlo_version: json["stablehlo_version"].as_str().unwrap_or_default().to_string(),
            parameters: listed("parameters")?,
            results: listed("results")?,
            captured: listed("captured")?,
        })
    }
}

fn named(value: &Value) -> Option<Named> {
    let dtype = value["dtype"].as_str()?;
    let dtype = DType::ALL.into_iter().find(|known| known.to_string() == dtype)?;
    let dims = value["dims"].as_array()?.iter().map(Value::as_i64).collect::<Option<Vec<i64>>>()?;
    element_count(&dims).ok()?;
    Some(Named { name: value["name"].as_str()?.to_string(), ty: TensorType::new(dtype, &dims) })
}

/// Whether a folder is one that `lxla_computation_export` wrote.
pub fn is_exported(folder: &Path) -> bool {
    folder.join(MANIFEST).exists()
}

/// Whether the manifest of a folder says that `lxla_computation_export` wrote it, in any version of the format.
pub fn is_written(folder: &Path) -> bool {
    read_json(&folder.join(MANIFEST)).is_ok_and(|json| json["format"] == FORMAT)
}

/// Reads a folder: its program, and for each parameter whether it is an input or a weight. `read_file` reads the bytes
/// of a file.
pub fn read_exported(
    folder: &Path,
    wanted: Wanted,
    read_file: impl Fn(&Path) -> Result<Memory>,
) -> Result<(Program, Wanted)> {
    let path = folder.join(MANIFEST);
    let wrong = |e: Error| e.context(quoted(&path.to_string_lossy()));
    let manifest = Manifest::parsed(&read_json(&path)?).map_err(wrong)?;
    if let Some(function) = wanted.function.as_deref().filter(|&function| function != "main") {
        let function = quoted(function);
        return Err(error!(
            InvalidArgument,
            "options.function: {function} given; the folder of an export has main only"
        ));
    }
    let program = read(read_file(&folder.join(PROGRAM))?)?;
    let listed = manifest.parameters.len() + manifest.captured.len();
    let mut weights = Weights::new(&program.module, wanted.function.as_deref(), listed).map_err(wrong)?;
    if manifest.captured.is_empty() {
        return Ok((program, wanted));
    }
    let mut stored = open_tensors(&folder.join(CAPTURED))?;
    for (i, Named { name, ty }) in manifest.captured.iter().enumerate() {
        let named = |e: Error| wrong(e.context(format_args!("captured value {}", quoted(name))));
        let there = stored.type_of(name)?;
        // Dtypes that safetensors lacks are stored as bytes.
        if there != *ty && (there.dtype != DType::U8 || there.size_bytes() != ty.size_bytes()) {
            return Err(named(error!(InvalidArgument, "{there} stored; the manifest says {ty}")));
        }
        weights.add(manifest.parameters.len() + i, name, ty, || stored.read(name)).map_err(named)?;
    }
    Ok((program, Wanted { constants: weights.finish(), ..wanted }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    #[test]
    fn manifests_are_written_and_read() {
        let named = |name: &str, dtype, dims: &[i64]| Named { name: name.into(), ty: TensorType::new(dtype, dims) };
        let manifest = Manifest {
            stablehlo_version: "1.5.0".into(),
            parameters: vec![named("x \"é", DType::F32, &[2, 0])],
            results: vec![named("y", DType::F8E4M3, &[])],
            captured: vec![named("0", DType::C128, &[3])],
        };
        let text = manifest.written();
        let parsed = |text: &str| Manifest::parsed(&serde_json::from_str(text).unwrap());
        assert_eq!(parsed(&text).unwrap(), manifest);
        let refused = |from: &str, to: &str| parsed(&text.replace(from, to)).unwrap_err();
        assert_eq!(refused("\"format_version\": 1", "\"format_version\": 2").code, Code::Unimplemented);
        assert!(refused("lazyxla.export", "other").message.contains("format: \"other\" given"));
        assert!(refused("c128", "c129").message.contains("captured[0]"));
        assert!(refused("\"captured\"", "\"other\"").message.contains("captured: no list"));
    }
}
