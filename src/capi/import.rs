//! Chapter Programs in: computations from programs that others exported.

use super::abi::arguments::{check_rank, optional_text};
use super::abi::guard::{guard, guard_into};
use super::abi::options;
use super::abi::pointers::{Bytes, In, Out, OwnedText, Text};
use super::abi::program::{program_file, with_bytes};
use super::abi::types::{lxla_computation, lxla_device, lxla_env, lxla_import_options, lxla_status};
use super::computation::{computation_of, new_computation};
use super::constants::LXLA_DEVICE_UNSPECIFIED;
use super::device::{KeptDevice, kept_device};
use super::meshes::resolve_mesh;
use crate::computation;
use crate::env;
use base::error;
use base::error::Result;
use base::types::Dims;
use programs::import::Wanted;
use std::path::Path;

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_import_options_init(options: Out<lxla_import_options>) -> lxla_status {
    guard("lxla_import_options_init", || options::init(options))
}

/// Reads the options of an import.
fn wanted(given: In<lxla_import_options>) -> Result<Wanted> {
    let given = options::read(given)?;
    let function = optional_text("options.function", given.function)?.map(str::to_string);
    let mesh = match given.mesh.id {
        0 => None,
        _ => Some(resolve_mesh("options.mesh", given.mesh)?.mesh.axes.clone()),
    };
    if given.n_parameters == 0 {
        return Ok(Wanted { function, mesh, ..Wanted::default() });
    }
    let ranks = given.ranks.get("options.ranks", given.n_parameters)?;
    let mut total = 0usize;
    for (i, &rank) in ranks.iter().enumerate() {
        check_rank(rank).map_err(|e| e.context(format_args!("options.ranks[{i}]")))?;
        total += rank;
    }
    let mut dims = given.dims.get("options.dims", total)?;
    let mut shapes = Vec::with_capacity(ranks.len());
    for &rank in ranks {
        let (shape, rest) = dims.split_at(rank);
        shapes.push(Dims::from_slice(shape));
        dims = rest;
    }
    if let Some(negative) = shapes.iter().flatten().find(|&&size| size < 0) {
        return Err(error!(InvalidArgument, "options.dims: {negative} given; want sizes of at least 0"));
    }
    Ok(Wanted { function, shapes: Some(shapes), mesh, ..Wanted::default() })
}

/// Imports a function of a program as a computation. `module` has `size` bytes, which are not read after the call and
/// are recognized by their content: StableHLO text (MLIR's pretty or generic form), MLIR bytecode (StableHLO, or VHLO,
/// the portable artifacts of StableHLO 0.9.0 to 1.20.0), the file of `jax.export(...).serialize()`, or an archive of
/// `torch.export.save` (`.pt2`, of PyTorch 2.4 and of 2.6 and newer).
///
/// The body of the computation consists of this library's operations. So it is called, scanned, differentiated,
/// batched, cached and evaluated on cpu (without a plugin) like a computation that was traced. Constants of the module
/// whose elements are not all equal are captured values: `lxla_computation_captured` returns them,
/// `lxla_computation_lift` makes them parameters, and calls copy them to the device of the arguments once. Private
/// functions become calls, composites the library's own operation or their decomposition. Of a program for several
/// platforms, the branches for `cpu` are imported. Parameters of a file of jax.export are those of the exported
/// function in the order of its leaves, unused ones included.
///
/// A custom call whose target is the name of a kernel that is registered in `env` (`lxla_kernel_register`) becomes a
/// call of the kernel, with the call's configuration as `attributes_json`: a dictionary as a JSON object (arrays as
/// lists in lists), a text as it is. Kernels come before the library's own operations. Calls with effects, and arrays
/// that are not row-major, are UNIMPLEMENTED.
///
/// With free sizes (`?`) in the types of the module, `options` has to give the shapes of all parameters, within the
/// bounds that a type states. Sizes that the program computes from them are evaluated, and the body is that of these
/// static shapes. `options` may be NULL.
///
/// With `options.mesh`, shardings in the program become constraints on that mesh, and manual computations (`shard_map`
/// of JAX) a `lxla_shard_map`: the computation is called with tensors on a mesh with these axes. The mesh has the axes
/// of the program's own mesh (`lxla_module_describe` lists them), with equal sizes; on further axes nothing is split.
/// Without a mesh, and on a mesh of one device, shardings are ignored, and manual computations over axes whose sizes
/// have the product 1 are computed by the one device.
///
/// Of a program of PyTorch, the parameters are the user's inputs that are tensors, in order; numbers, texts and None
/// have the values with which the program was exported. Parameters, buffers and constants of the model are captured
/// values in the order of the file, tied ones once; `lxla_computation_describe` names them. Results are the user's
/// outputs that are tensors, then the new values of what the program changes (buffers, inputs): the call itself changes
/// nothing. If the program draws random numbers, it has one more parameter, the last: a key of two u32. Equal keys give
/// equal numbers, which are not PyTorch's. `options.function` is the name of a program in the archive; NULL: the only
/// one, or `model`. Values and derivatives are PyTorch's, also where this library's own operations differ
/// (docs/import.md). UNIMPLEMENTED for operators that are not supported, all of which the message lists with their
/// number and the module of the first, before anything is recorded.
///
/// INVALID_ARGUMENT, with the line or the byte, if the module is malformed; if two functions or meshes of it have one
/// name; if the mesh lacks an axis of the program; if a size is free and no shapes are given (the message lists the
/// parameters), or a size that is given exceeds its bound; if an assertion on shapes in the program does not hold (its
/// message). UNIMPLEMENTED, with the operation, its location and the reason, for what is not supported: quantized
/// types, tokens, sizes that depend on data, custom calls that are neither known nor kernels, versions newer than
/// 1.20.0; for manual computations on several devices without a mesh, and collectives whose groups of devices are not
/// those of axes of the mesh.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_import(
    env: lxla_env,
    module: Bytes,
    size: usize,
    options: In<lxla_import_options>,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_import", out_computation.named("out_computation"), || {
        let wanted = Wanted { kernels: env::resolve(env.id)?.kernels(), ..wanted(options)? };
        let cpu = cpu_of(env)?;
        let made = with_bytes(module, size, |memory| computation::import(cpu.device, memory, wanted));
        made.map(new_computation)
    })
}

/// Like `lxla_computation_import`, from a file, or from a folder that PyTorch/XLA's `save_as_stablehlo` wrote. Of a
/// folder, `options.function` is the name of a file in `functions/`; NULL: the only one. Its parameters and constants
/// (`data/`, `constants/`) become captured values, the inputs of the model parameters in their order.
/// INVALID_ARGUMENT if a NumPy file does not fit the program.
///
/// No file is read beyond the size that it states: files that are not regular, that have more bytes than their size
/// says (they grow, or are files of `/proc`) or whose first bytes are not of a program, and JSON files of more than
/// 16 MiB, are INVALID_ARGUMENT.
///
/// A large file is mapped into memory during the call, so that its constants are copied once. No process may truncate
/// or overwrite it in this time: the calling process could be killed (SIGBUS), or values be mixed. Replacing the file
/// by renaming another one, as exports of this library do, is safe.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_import_file(
    env: lxla_env,
    path: Text,
    options: In<lxla_import_options>,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_import_file", out_computation.named("out_computation"), || {
        let path = path.get("path")?;
        let wanted = Wanted { kernels: env::resolve(env.id)?.kernels(), ..wanted(options)? };
        computation::import_file(cpu_of(env)?.device, Path::new(path), wanted, program_file).map(new_computation)
    })
}

/// Returns the device on which constants are kept: cpu, or xla:0 if the environment has no eager tensors.
fn cpu_of(env: lxla_env) -> Result<KeptDevice> {
    kept_device(env, lxla_device { kind: LXLA_DEVICE_UNSPECIFIED, ordinal: 0 })
}

/// Describes a program of one of the forms that `lxla_computation_import` reads, as a JSON object:
///
/// - `producer`: what the file says of its writer, or null. `stablehlo_version`: version of a portable artifact, or
///   null.
/// - `functions`: each with `name`, `public`, `parameters` and `results`. Each of these has `dtype` (null if the
///   library has none for it) and `dims` (-1 for a free size), or `type` if it is not a tensor; `bounds`, if the type
///   has bounds of free sizes: the largest size of each axis (-1 for an axis without a bound); `donated`; and `name`,
///   if the file names it or says its place in the caller's structure.
/// - `meshes`: the program's meshes that have axes, each with `name` and `axes` (`name` and `size`): what
///   `options.mesh` has to have.
///   Elements of a tuple are listed as parameters or results of their own, without `name`, and `donated` is false.
/// - `operations`: the number of operations by name, without those that make tuples or take them apart.
/// - `unsupported`: operations that cannot be imported, each with `operation`, `reason`, `location` (of the first)
///   and `count`. Errors that depend on operands, such as sizes that depend on data, are found by the import only.
/// - `jax`, for a file of jax.export: `name`, `calling_convention`, `platforms`, `devices`, `kept` (places of the
///   parameters that `main` has), and `parameters` and `results` of the exported function, each with `dtype` (JAX's name,
///   such as `key<fry>`, if the library has none), `dims` (texts: a free size is an expression of symbols) and `path`,
///   its place in the caller's structure.
/// - for a program of PyTorch: `schema_version`; `captured`, the parameters, buffers and constants of the model, each
///   with `name`, `kind`, `trainable`, `dtype` and `dims`; `symbols`, the free sizes by name with `min` and `max` (null
///   for no bound); and of the parameters `sizes` (texts: a free size is its symbol). Weights are not read.
///
/// The caller frees the text with `lxla_string_free`. Errors as of `lxla_computation_import`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_module_describe(module: Bytes, size: usize, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_module_describe", out_json.named("out_json"), || {
        OwnedText::new(with_bytes(module, size, computation::describe)?)
    })
}

/// Like `lxla_module_describe`, of a file, or of a folder of PyTorch/XLA with one function. As with
/// `lxla_computation_import_file`, a large file is mapped into memory during the call, and no process may truncate or
/// overwrite it in this time: the calling process could be killed (SIGBUS).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_module_describe_file(path: Text, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_module_describe_file", out_json.named("out_json"), || {
        let path = path.get("path")?;
        OwnedText::new(computation::describe_file(Path::new(path), program_file)?)
    })
}

/// Describes a computation as a JSON object: `parameters` and `results`, each with `dtype` and `dims`; `captured`, the
/// same of its captured values; `operations`, the number of operations of its body by name; and `precisions`, the number
/// of its products and convolutions that state a precision, by what they state (`matmul_precision` of
/// `lxla_env_set_option`; both levels if the operands have different ones). If it was imported from a program of PyTorch,
/// parameters, results and captured values also have `name` and `kind` (`input`, `parameter`, `buffer`, `constant`,
/// `output` or `key`); captured values `trainable`, true for floating parameters by which PyTorch computes gradients; a
/// new value `updates`, the name of what it replaces; and a gradient that is an output `gradient_of`. They stay after
/// `lxla_computation_lift`. The caller frees the text with `lxla_string_free`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_describe(computation: lxla_computation, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_computation_describe", out_json.named("out_json"), || {
        OwnedText::new(computation_of("computation", computation)?.describe())
    })
}
