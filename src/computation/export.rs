//! Computations that are exported as programs for others.

use super::Computation;
use crate::device::release;
use crate::sync::to_array;
use base::error;
use base::error::{Result, quoted};
use base::types::TensorType;
use mlir::Version;
use native::Array;
use programs::export::{self, Exported, Format};
use std::path::Path;

/// Options of an export.
pub struct ExportOptions {
    /// Form of the export.
    pub format: Format,
    /// Version of the StableHLO of an artifact; None for the oldest one that has all operations.
    pub version: Option<Version>,
    /// Names of the parameters; None for `arg0`, `arg1`, ...
    pub parameter_names: Option<Vec<String>>,
    /// Names of the results; None for `result0`, `result1`, ...
    pub result_names: Option<Vec<String>>,
}

impl Computation {
    /// Writes the computation to a file or a folder.
    pub fn export(&self, options: ExportOptions, path: &Path) -> Result<()> {
        let ExportOptions { format, version, parameter_names, result_names } = options;
        if format == Format::StablehloText && version.is_some() {
            return Err(error!(
                InvalidArgument,
                "options.stablehlo_version: given for a text, which has no version; want NULL"
            ));
        }
        if self.body().kernels().any {
            return Err(error!(Unimplemented, "computation: it calls kernels of this process, which no file holds"));
        }
        let parameter_names = names("parameter_names", "arg", parameter_names, self.parameters())?;
        let result_names = names("result_names", "result", result_names, self.results())?;
        let captured = (0..self.captured()).map(|i| self.captured_array(i)).collect::<Result<_>>()?;
        let precision = self.precision();
        let exported = Exported { body: self.body().clone(), captured, parameter_names, result_names, precision };
        export::export(&exported, format, version, path)
    }

    /// Returns the value captured at `index`, in host memory.
    pub(super) fn captured_array(&self, index: usize) -> Result<Array> {
        let handle = self.capture(index)?;
        let array = to_array(handle).map(|(array, _)| array).map_err(|e| e.context(format_args!("captured[{index}]")));
        release(handle)?;
        array
    }
}

/// Checks names, or makes them.
fn names(argument: &str, default: &str, given: Option<Vec<String>>, types: &[TensorType]) -> Result<Vec<String>> {
    let Some(names) = given else { return Ok((0..types.len()).map(|i| format!("{default}{i}")).collect()) };
    if names.len() != types.len() {
        let (given, wanted) = (names.len(), types.len());
        return Err(error!(InvalidArgument, "options.n_{argument}: {given} given; want {wanted}, or 0"));
    }
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(error!(InvalidArgument, "options.{argument}: {} is given twice", quoted(pair[0]))),
        None => Ok(names),
    }
}
