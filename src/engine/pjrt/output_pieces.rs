//! How the outputs of a partitioned program are divided: as its text states, or as XLA's partitioner chose.

use super::api::{self, Args, call, function};
use super::executable::PjrtExecutable;
use super::sys;
use crate::allocation::zeroed_bytes;
use crate::engine::{Executable, Partitions};
use crate::error;
use crate::error::{Code, Error, Result};
use crate::mesh::{MeshAxes, Sharding, module_of_hlo_with_config};
use crate::types::TensorType;

/// Returns the sharding of each output, and the type of its pieces. UNIMPLEMENTED if XLA chose a sharding that whole
/// mesh axes cannot express.
pub fn find(executable: &PjrtExecutable, partitions: &Partitions) -> Result<(Vec<Sharding>, Vec<TensorType>)> {
    let outputs = &executable.signature().outputs;
    let shardings = shardings(executable, partitions, outputs)?;
    let mut types = Vec::with_capacity(outputs.len());
    for (i, (ty, sharding)) in outputs.iter().zip(&shardings).enumerate() {
        let dims = sharding.piece_dims(&format!("output {i}"), &partitions.mesh.axes, &ty.dims);
        let is_stated = partitions.outputs[i].is_some();
        let dims = dims.map_err(|error| if is_stated { error } else { inexpressible(&[i], Some(&error)) })?;
        types.push(TensorType::new(ty.dtype, &dims));
    }
    match check(executable, &types) {
        Err(error) if error.code == Code::Unimplemented => {}
        other => other?,
    }
    Ok((shardings, types))
}

fn shardings(executable: &PjrtExecutable, partitions: &Partitions, outputs: &[TensorType]) -> Result<Vec<Sharding>> {
    let open: Vec<usize> = (0..outputs.len()).filter(|&i| partitions.outputs[i].is_none()).collect();
    let chosen = match open.is_empty() {
        true => Vec::new(),
        false => {
            let ranks: Vec<usize> = outputs.iter().map(|ty| ty.dims.len()).collect();
            chosen(executable, &partitions.mesh.axes, &ranks)?.ok_or_else(|| inexpressible(&open, None))?
        }
    };
    let of = |(i, stated): (usize, &Option<Sharding>)| stated.clone().unwrap_or_else(|| chosen[i].clone());
    Ok(partitions.outputs.iter().enumerate().map(of).collect())
}

/// Error about outputs whose shardings are unknown.
#[cold]
fn inexpressible(outputs: &[usize], cause: Option<&Error>) -> Error {
    let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    error!(
        Unimplemented,
        "the shardings that XLA chose for the outputs {outputs:?} cannot be expressed by the axes of the mesh{cause}; \
         they must be stated"
    )
}

/// Reads the shardings of the outputs from the optimized program. None if it has none, or some that whole mesh axes
/// cannot express.
fn chosen(executable: &PjrtExecutable, axes: &MeshAxes, ranks: &[usize]) -> Result<Option<Vec<Sharding>>> {
    let api = executable.client().api;
    executable.with_unloaded(|raw| {
        let format = "hlo";
        let mut program = Args::<sys::PJRT_Program>::new(api);
        program.format = format.as_ptr().cast();
        program.format_size = format.len();
        let mut args = Args::<sys::PJRT_Executable_OptimizedProgram_Args>::new(api);
        args.executable = raw;
        args.program = program.as_mut_ptr();
        // The first call returns the size of the code, the second one writes the code.
        call!(api, PJRT_Executable_OptimizedProgram, args)?;
        let mut code = zeroed_bytes(program.code_size)?;
        program.code = code.as_mut_ptr().cast();
        args.program = program.as_mut_ptr();
        call!(api, PJRT_Executable_OptimizedProgram, args)?;
        // SAFETY: the plugin set pointer and length of the format to a text that lives as long as the executable.
        let format = unsafe { api::text(program.format, program.format_size) };
        let module = match format.as_str() {
            "hlo" => &code[..],
            "hlo_with_config" => module_of_hlo_with_config(&code)?,
            other => return Err(error!(Unimplemented, "the plugin returns an optimized program as {other:?}")),
        };
        Sharding::of_hlo(module, axes, ranks)
    })
}

/// Checks that the plugin's outputs have the shapes of the pieces: a buffer of another size must not be read as one.
fn check(executable: &PjrtExecutable, types: &[TensorType]) -> Result<()> {
    let api = executable.client().api;
    executable.with_unloaded(|raw| {
        let mut args = Args::<sys::PJRT_Executable_OutputDimensions_Args>::new(api);
        args.executable = raw;
        call!(api, PJRT_Executable_OutputDimensions, args)?;
        if args.num_outputs != types.len() {
            return Err(error!(Internal, "the executable has shapes of {} outputs", args.num_outputs));
        }
        for (i, (ty, dims)) in types.iter().zip(shapes(&args)).enumerate() {
            if *dims != ty.dims[..] {
                return Err(error!(Internal, "pieces of output {i} have the shape {dims:?}; want {ty}"));
            }
        }
        Ok(())
    })
}

/// Shapes that the plugin returned. They live as long as the executable that it was asked about.
fn shapes(args: &sys::PJRT_Executable_OutputDimensions_Args) -> Vec<&[i64]> {
    // SAFETY: the plugin returned the rank of each output, and a list of the sizes of all their axes.
    let (ranks, mut dims) = unsafe {
        let ranks = list(args.dim_sizes, args.num_outputs);
        (ranks, list(args.dims, ranks.iter().sum()))
    };
    let mut shapes = Vec::with_capacity(ranks.len());
    for &rank in ranks {
        let (shape, rest) = dims.split_at(rank);
        shapes.push(shape);
        dims = rest;
    }
    shapes
}

/// A list that a plugin returned as pointer and length; an empty one may be null.
///
/// # Safety
/// `start` points to `length` elements that live as long as the result is used, or `length` is 0.
unsafe fn list<'a, T>(start: *const T, length: usize) -> &'a [T] {
    match length {
        0 => &[],
        // SAFETY: guaranteed by the caller.
        _ => unsafe { std::slice::from_raw_parts(start, length) },
    }
}
