//! Chapter Programs out: computations written for others.

use super::abi::arguments::{flag, optional_text, texts};
use super::abi::guard::guard;
use super::abi::options;
use super::abi::pointers::{In, List, Out, Text};
use super::abi::types::{lxla_computation, lxla_export_options, lxla_status};
use super::computation::computation_of;
use super::constants::{LXLA_EXPORT_FOLDER, LXLA_EXPORT_JAX, LXLA_EXPORT_TEXT};
use crate::computation::ExportOptions;
use base::error;
use base::error::{Result, quoted};
use mlir::Version;
use programs::export::Format;
use std::path::Path;

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_export_options_init(options: Out<lxla_export_options>) -> lxla_status {
    guard("lxla_export_options_init", || options::init(options))
}

/// Reads the options of an export.
fn wanted(given: In<lxla_export_options>) -> Result<ExportOptions> {
    let given = options::read(given)?;
    let has_vjp = flag("options.vjp_order", given.vjp_order)?;
    let format = match given.format {
        0 | LXLA_EXPORT_FOLDER => Format::Folder,
        LXLA_EXPORT_TEXT => Format::StablehloText,
        LXLA_EXPORT_JAX => Format::Jax { has_vjp },
        other => {
            return Err(error!(
                InvalidArgument,
                "options.format: {other} is not an LXLA_EXPORT_* constant (valid: 1 to 3)"
            ));
        }
    };
    if has_vjp && given.format != LXLA_EXPORT_JAX {
        return Err(error!(InvalidArgument, "options.vjp_order: 1 given; only LXLA_EXPORT_JAX has a backward pass"));
    }
    let version = optional_text("options.stablehlo_version", given.stablehlo_version)?;
    Ok(ExportOptions {
        format,
        version: version.map(version_of).transpose()?,
        parameter_names: names("options.parameter_names", given.parameter_names, given.n_parameter_names)?,
        result_names: names("options.result_names", given.result_names, given.n_result_names)?,
    })
}

/// Reads `1.5.0`.
fn version_of(text: &str) -> Result<Version> {
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers: Option<Vec<u32>> = text.split('.').map(|part| Some(part).filter(is_number)?.parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[major, minor, patch]) => Ok(Version(major, minor, patch)),
        _ => Err(error!(
            InvalidArgument,
            "options.stablehlo_version: {} given; want three numbers, such as \"1.5.0\"",
            quoted(text)
        )),
    }
}

/// Copies a list of names; None if it is empty.
fn names(argument: &str, list: List<Text>, n: usize) -> Result<Option<Vec<String>>> {
    if n == 0 {
        return Ok(None);
    }
    Ok(Some(texts(argument, list, n)?.into_iter().map(str::to_string).collect()))
}

/// Writes a computation to `path`, whole or not at all: a file or a folder appears, durably, or what was there stays.
///
/// - `LXLA_EXPORT_FOLDER`: `program.mlirbc`, a portable artifact of StableHLO whose `main` takes the parameters, then the
///   captured values; `captured.safetensors` with these under the names 0, 1, ... (values of dtypes that safetensors
///   lacks as bytes, u8); `manifest.json`: the version, and name, dtype and dims of parameters, results and captured
///   values. A folder that is empty, or that an export wrote and that has no other files, is replaced, any other is
///   ALREADY_EXISTS. Of exports to one folder at once, also by several processes, the last one to end wins.
/// - `LXLA_EXPORT_TEXT`: StableHLO text, in which the captured values are constants.
/// - `LXLA_EXPORT_JAX`: a file that `jax.export.deserialize` reads, in which the captured values are constants. Its
///   function takes the parameters as positional arguments and returns one array, or a tuple. With `vjp_order` 1, JAX
///   differentiates it by the parameters, by the derivatives of this library. The function of a computation of a mesh
///   has its shardings and collectives, and is called for as many devices; JAX's caller places parameters and results.
///
/// `lxla_computation_import_file` reads each of them again. Pending captured values are computed, and copied to the
/// host. The names of parameters and results are attributes of `main` (`jax.arg_info`, `jax.result_info`), which
/// `lxla_module_describe` shows. `options` may be NULL.
///
/// INVALID_ARGUMENT, with the operation, if the version lacks one; if names have the wrong number or one is given
/// twice; if `path` ends with no name. NOT_FOUND if the folder around `path` is missing. UNIMPLEMENTED, with the
/// reason, for a computation that calls kernels, which no file holds. RESOURCE_EXHAUSTED if the disk is full.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_export(
    computation: lxla_computation,
    options: In<lxla_export_options>,
    path: Text,
) -> lxla_status {
    guard("lxla_computation_export", || {
        let (computation, path) = (computation_of("computation", computation)?, path.get("path")?);
        computation.export(wanted(options)?, Path::new(path))
    })
}
