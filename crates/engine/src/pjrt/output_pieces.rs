//! Shardings of the outputs of a partitioned program: those that its text states, and those that XLA's partitioner
//! chose.

use super::api::{self, Args, call, function};
use super::loaded::Loaded;
use super::sys;
use crate::Partitions;
use base::allocation::zeroed_bytes;
use base::error;
use base::error::{Code, Result};
use base::types::TensorType;
use mesh::{MeshAxes, Sharding, module_of_hlo_with_config};

/// Shardings of the outputs of a program, and the types of their pieces.
pub struct Outputs {
    /// Sharding of each output.
    pub shardings: Vec<Sharding>,
    /// Type of the pieces of each output.
    pub pieces: Vec<TensorType>,
    /// Outputs whose sharding is unknown, see
    /// [`Executable::unknown_outputs`](crate::Executable::unknown_outputs); replicated in `shardings`.
    pub unknown: Vec<usize>,
}

/// Returns the shardings of the outputs and the types of their pieces.
pub fn find(loaded: &Loaded, partitions: &Partitions) -> Result<Outputs> {
    let outputs = &loaded.signature().outputs;
    let axes = &partitions.mesh.axes;
    let chosen = match partitions.outputs.contains(&None) {
        true => {
            let ranks: Vec<usize> = outputs.iter().map(|ty| ty.dims.len()).collect();
            chosen(loaded, axes, &ranks)?
        }
        false => vec![None; outputs.len()],
    };
    let mut found = Outputs { shardings: Vec::new(), pieces: Vec::new(), unknown: Vec::new() };
    for (i, (ty, chosen)) in outputs.iter().zip(chosen).enumerate() {
        let replicated = || Sharding::replicated(ty.dims.len());
        let sharding = match (&partitions.outputs[i], chosen) {
            // XLA does not divide arrays without elements.
            _ if ty.elements() == 0 => replicated(),
            (Some(stated), _) => stated.clone(),
            (None, Some(chosen)) if chosen.piece_dims("output", axes, &ty.dims).is_ok() => chosen,
            (None, _) => {
                found.unknown.push(i);
                replicated()
            }
        };
        let dims = sharding.piece_dims(&format!("output {i}"), axes, &ty.dims)?;
        found.pieces.push(TensorType::new(ty.dtype, &dims));
        found.shardings.push(sharding);
    }
    match check(loaded, &found) {
        Err(error) if error.code == Code::Unimplemented => {}
        other => other?,
    }
    Ok(found)
}

/// Reads the shardings of the outputs from the optimized program. None for those that whole mesh axes cannot express.
fn chosen(loaded: &Loaded, axes: &MeshAxes, ranks: &[usize]) -> Result<Vec<Option<Sharding>>> {
    let api = loaded.client().api;
    loaded.with_unloaded(|raw| {
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
            "hlo" => Ok(&code[..]),
            "hlo_with_config" => module_of_hlo_with_config(&code),
            other => return Err(error!(Unimplemented, "the plugin returns an optimized program as {other:?}")),
        };
        let chosen = module.and_then(|module| Sharding::of_hlo(module, axes, ranks));
        chosen.map_err(|e| e.context("the HLO module of the plugin cannot be read"))
    })
}

/// Checks that the plugin's outputs have the shapes of the pieces: a buffer of another size must not be read as one.
fn check(loaded: &Loaded, outputs: &Outputs) -> Result<()> {
    let api = loaded.client().api;
    loaded.with_unloaded(|raw| {
        let mut args = Args::<sys::PJRT_Executable_OutputDimensions_Args>::new(api);
        args.executable = raw;
        call!(api, PJRT_Executable_OutputDimensions, args)?;
        if args.num_outputs != outputs.pieces.len() {
            return Err(error!(Internal, "the executable has shapes of {} outputs", args.num_outputs));
        }
        for (i, (ty, dims)) in outputs.pieces.iter().zip(shapes(&args)).enumerate() {
            if *dims != ty.dims[..] && ty.elements() > 0 && !outputs.unknown.contains(&i) {
                return Err(error!(Internal, "pieces of output {i} have the shape {dims:?}; want {ty}"));
            }
        }
        Ok(())
    })
}

/// Shapes returned by the plugin, which live as long as the executable.
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
