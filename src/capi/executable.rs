//! Chapter Executables: computations compiled as objects.

use super::abi::guard::{guard, guard_into};
use super::abi::options;
use super::abi::pointers::{Bytes, BytesMut, In, List, Out, OutList, OwnedText, Text};
use super::abi::references::References;
use super::abi::results::check_count;
use super::abi::types::{
    lxla_computation, lxla_device, lxla_env, lxla_executable, lxla_executable_options, lxla_status, lxla_tensor,
};
use super::computation::computation_of;
use super::device::{kept_device, kind_of};
use super::tensor::handles;
use crate::computation::Executable;
use crate::env::DeviceKind;
use base::error;
use base::error::Result;
use std::path::Path;
use std::sync::Arc;

/// Handles of all executables.
static EXECUTABLES: References<Executable> = References::new("executable");

fn executable_of(executable: lxla_executable) -> Result<Arc<Executable>> {
    EXECUTABLES.get("executable", executable.id)
}

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_executable_options_init(options: Out<lxla_executable_options>) -> lxla_status {
    guard("lxla_executable_options_init", || options::init(options))
}

/// Compiles a computation for a device of its environment: xla:N, or cpu, where runs evaluate it without a plugin:
/// nothing is compiled, but elementwise operations of floats of one shape become one function. UNSPECIFIED is xla:0. Pending captured values are computed, and copied to the device, once;
/// what the caller changes later changes no executable. The computation may be released. `options` may be NULL.
///
/// The program is compiled whole, for its sizes, and loaded from the disk cache if that has it. It stays in memory as
/// long as the executable, whatever else is compiled.
///
/// On the device of a mesh, the program is compiled for these shardings: a parameter has the sharding of the first
/// `lxla_sharding_constraint` on it in the computation, and is replicated without one; captured values of the mesh keep
/// theirs, and others are replicated.
///
/// INVALID_ARGUMENT if an index of `options.donated` is none of a parameter, or is given twice, and for a computation
/// with operations of another mesh. UNIMPLEMENTED for a computation that calls a kernel with effects.
/// FAILED_PRECONDITION if a captured value is a placeholder, or while the thread traces.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_executable_compile(
    f: lxla_computation,
    device: lxla_device,
    options: In<lxla_executable_options>,
    out_executable: Out<lxla_executable>,
) -> lxla_status {
    guard_into("lxla_executable_compile", out_executable.named("out_executable"), || {
        let f = computation_of("f", f)?;
        let given = options::read(options)?;
        let donated = given.donated.get("options.donated", given.n_donated)?;
        let (env, _) = f.home().ok_or_else(|| error!(FailedPrecondition, "f: its environment was released"))?;
        let kept = kept_device(lxla_env { id: env }, specified(device)?)?;
        let executable = Executable::compile(&f, kept.device, donated)?;
        Ok(lxla_executable { id: EXECUTABLES.insert(Arc::new(executable)) })
    })
}

/// Device of an executable: xla:0 if the caller names none.
fn specified(device: lxla_device) -> Result<lxla_device> {
    Ok(match kind_of(device)? {
        DeviceKind::Unspecified => lxla_device { kind: super::constants::LXLA_DEVICE_XLA, ..device },
        _ => device,
    })
}

/// Adds one reference.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_executable_retain(executable: lxla_executable) -> lxla_status {
    guard("lxla_executable_retain", || EXECUTABLES.retain(executable.id))
}

/// Removes one reference. Runs in flight end, and results stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_executable_release(executable: lxla_executable) -> lxla_status {
    guard("lxla_executable_release", || EXECUTABLES.release(executable.id))
}

/// Runs an executable on tensors of its device, one for each parameter, of the same dtype and shape. Pending inputs are
/// computed first, as by `lxla_sync`. The results are new tensors; on an XLA device they are in flight when the call
/// returns, on cpu they are computed. Records nothing: derivatives do not pass through a run. The options
/// `check_nonfinite` and `dynamic_sizes` do not apply to it.
///
/// A donated input has no value after the run, and its buffer is a result's or is freed: reading the tensor is
/// FAILED_PRECONDITION, with the name of the executable. It keeps its value if anything else holds it: another tensor,
/// another input, a computation, a pending operation, an alias, a read or run in flight; after a run that failed
/// without consuming it; and on cpu, where runs consume nothing.
///
/// INVALID_ARGUMENT, with the input, for another number of inputs or results, another dtype, shape or sharding, or a
/// tensor of another device. FAILED_PRECONDITION for a placeholder, for an input that was lost, while the thread traces, and if
/// the environment was released.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_executable_run(
    executable: lxla_executable,
    inputs: List<lxla_tensor>,
    n_inputs: usize,
    out_tensors: OutList<lxla_tensor>,
    n_outputs: usize,
) -> lxla_status {
    guard_into("lxla_executable_run", out_tensors.list("out_tensors", n_outputs), || {
        let executable = executable_of(executable)?;
        check_count("n_inputs", n_inputs, executable.parameters().len())?;
        check_count("n_outputs", n_outputs, executable.results().len())?;
        executable.run(&handles("inputs", inputs, n_inputs)?)
    })
}

/// Runs an executable on row-major host memory, and waits: copies the inputs to the device, runs, and copies the
/// results to `outputs`, which are written only if the run succeeds. pred has a byte for each element, 0 or 1. Any
/// number of threads run one executable at once. Neither inputs nor outputs need an alignment; an output may be an
/// input. A pointer to 0 bytes may be NULL.
///
/// INVALID_ARGUMENT, with the index, if a size is not the size of the parameter's or result's type in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_executable_run_host(
    executable: lxla_executable,
    inputs: List<Bytes>,
    input_sizes: List<usize>,
    n_inputs: usize,
    outputs: List<BytesMut>,
    output_sizes: List<usize>,
    n_outputs: usize,
) -> lxla_status {
    guard("lxla_executable_run_host", || {
        let executable = executable_of(executable)?;
        check_count("n_inputs", n_inputs, executable.parameters().len())?;
        check_count("n_outputs", n_outputs, executable.results().len())?;
        let inputs = inputs.get("inputs", n_inputs)?;
        let input_sizes = input_sizes.get("input_sizes", n_inputs)?;
        outputs.get("outputs", n_outputs)?;
        let output_sizes = output_sizes.get("output_sizes", n_outputs)?;
        executable.check_sizes(input_sizes, output_sizes)?;
        outputs.check_each("outputs", output_sizes)?;
        let given = inputs.iter().zip(input_sizes).enumerate();
        let given = given.map(|(i, (bytes, &size))| bytes.get(format_args!("inputs[{i}]"), size));
        let results = executable.run_host(&given.collect::<Result<Vec<_>>>()?)?;
        outputs.write_each("outputs", output_sizes, |i, place| results.read(i, place))
    })
}

/// Writes an executable to a file, whole or not at all: a new file appears, durably, or what was there stays. The file
/// has the program as portable StableHLO, the compiled code if the plugin can serialize it, and the captured values,
/// which are copied to the host. Neither group nor others can write to a new file. Symbolic links are followed.
///
/// On a mesh, the file also states the axes of the mesh and the shardings of the parameters and the captured values.
///
/// UNIMPLEMENTED for a program that calls kernels, which no file holds. NOT_FOUND if the folder is missing;
/// RESOURCE_EXHAUSTED if the disk is full.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_executable_save(executable: lxla_executable, path: Text) -> lxla_status {
    guard("lxla_executable_save", || {
        let (executable, path) = (executable_of(executable)?, path.get("path")?);
        executable.save(Path::new(path))
    })
}

/// Loads an executable that `lxla_executable_save` wrote, for a device: xla:N, cpu, a mesh, or UNSPECIFIED, which is
/// xla:0; it need not be the device that it was compiled for. An executable of a mesh is for meshes with the same axes,
/// on any devices; an executable of one device is replicated on a mesh. Nothing is compiled if the code in the file was
/// made by this version of the library, for this plugin with these options and devices, and for this processor.
/// Otherwise the program in the file is compiled: the counter `ExecutableRecompiled` counts it, and a warning in the log
/// says why.
///
/// The code is machine code: it is used only if the file belongs to this user or to root, and neither group nor others
/// can write to it. Load files only from people whose programs you would run.
///
/// INVALID_ARGUMENT, with the path, if the file is not an executable of this version of the format, or is for a mesh with
/// other axes; DATA_LOSS if it is damaged; FAILED_PRECONDITION while the thread traces.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_executable_load(
    env: lxla_env,
    device: lxla_device,
    path: Text,
    out_executable: Out<lxla_executable>,
) -> lxla_status {
    guard_into("lxla_executable_load", out_executable.named("out_executable"), || {
        let (path, kept) = (path.get("path")?, kept_device(env, specified(device)?)?);
        let executable = Executable::load(kept.device, Path::new(path))?;
        Ok(lxla_executable { id: EXECUTABLES.insert(Arc::new(executable)) })
    })
}

/// Describes an executable as a JSON object: `name`, as in messages; `device`; `parameters`, `results` and `captured`,
/// each a list of objects with `dtype` and `dims`, parameters also with `donated`; the number of `operations`; on an
/// XLA device `compile`, with the `number` in `lxla_compile_log_json`, the `nanoseconds` that it took, and whether it
/// came `from_disk`, and `memory`, as in lxla_memory_stats (0 where the plugin does not report it); on cpu, both are null;
/// `cost`, what one run takes: `flops`, operations on elements, and `bytes_accessed`, bytes read and written, with the
/// `source` of both: "plugin", its estimate for the compiled program, or "counted", the sums over the operations of the
/// computation, where a loop without a known number of iterations counts once and branches as the largest. The caller
/// frees the text with `lxla_string_free`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_executable_describe(executable: lxla_executable, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_executable_describe", out_json.named("out_json"), || {
        OwnedText::new(executable_of(executable)?.describe())
    })
}
