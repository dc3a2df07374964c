//! Chapter Seeing: labels of what is recorded, and where time, compiles and NaNs come from.

use super::abi::guard::{guard, guard_into};
use super::abi::pointers::{List, Out, OwnedText, Text};
use super::abi::types::{lxla_computation, lxla_device, lxla_env, lxla_status, lxla_tensor};
use super::computation::computation_of;
use super::constants::{LXLA_DEVICE_UNSPECIFIED, LXLA_DEVICE_XLA};
use super::device::kept_device;
use super::tensor::{handles, some_handles};
use crate::{computation, env, report, sync};
use base::error;
use base::label;
use std::path::Path;

/// Gives what the calling thread records a name, below the names that it has pushed before: the names of a model, a
/// layer and an operation make the label `model/layer0/attention`. Labels are locations in the StableHLO text, and are
/// named in error messages, in the compile log and in everything else of this chapter; they change neither values nor
/// the keys of programs. Recording with labels costs a few nanoseconds for each operation.
///
/// The recorded operations keep their labels in traced computations. Operations of an imported module have the names of
/// their locations, cotangents the label of their operation followed by `gradient`. Where equal computations or
/// programs were recorded under several labels, those of one of them are shown.
///
/// `name` has 1 to 1024 bytes of UTF-8, else INVALID_ARGUMENT. RESOURCE_EXHAUSTED, and nothing is pushed, if the thread
/// has 256 names, or the process has used 1048576 distinct labels or 64 MiB of names: each is kept, so that a name
/// should not be a number that never comes again.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_label_push(name: Text) -> lxla_status {
    guard("lxla_label_push", || {
        label::push(name.get("name")?)?;
        if label::is_watched() {
            timeline::label_pushed();
        }
        Ok(())
    })
}

/// Removes the name that the calling thread pushed last. FAILED_PRECONDITION if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_label_pop() -> lxla_status {
    guard("lxla_label_pop", || {
        let popped = label::pop()?;
        if label::is_watched() {
            timeline::label_popped(popped);
        }
        Ok(())
    })
}

/// Returns the compiles of the environment as a JSON object: `count`, and in `compiles` the last 1024 of them, the
/// oldest first. Each has
///
/// - `number`, from 1; `device`; `operations`; `nanoseconds`; `from_disk`, whether it was found in the disk cache; and
///   `argument_bytes`, `output_bytes`, `alias_bytes`, `temp_bytes` and `code_bytes`, as `lxla_compiled_memory`.
/// - `cause`: `first`, the first program; `new_program`, other operations than before; `shape`, `dtype`, `constant`,
///   the first operation that differs has another shape, another dtype, or another constant or attribute, such as an
///   axis or an offset; `scalar_became_parameter`, a scalar changed for the first time, and can change freely from now
///   on (avoided by `lxla_tensor_varying_scalar` and `lxla_binary_with_varying_scalar`); `donors`, other buffers may be
///   consumed; `sharding`, the program is divided differently over a mesh; `evicted`, the program left the cache
///   (`cache_capacity`) since it was compiled; `size_became_dynamic`, the program serves sizes up to bounds (option
///   `dynamic_sizes`).
/// - `dynamic_axes`, of such a program: a list of `parameter`, `axis`, `size` (a formula of the variables n0, n1, ...)
///   and `bound`. `dynamic_refused`, of a program that is compiled for its sizes although they change: `operation`, the
///   one that cannot be computed for bounds, its `label`, and the `reason`.
/// - `nearest`: the number of the compile with which it was compared, among the last 64; null for the first.
/// - `difference`: `operation` and `label` of the first operation that differs, null if it is none; `value` and
///   `before`, what it is and what it was. A parameter has the label of the first labelled operation that depends on it.
///
/// With the environment variable `LXLA_LOG_COMPILES=1`, each compile is also written as one line to the log callback,
/// with level 3, or to stderr if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_compile_log_json(env: lxla_env, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_compile_log_json", out_json.named("out_json"), || {
        OwnedText::new(env::resolve(env.id)?.compile_log().to_string())
    })
}

/// Writes events of the environment from now on to a file, as a Chrome trace, which Perfetto (ui.perfetto.dev) and
/// chrome://tracing open: one JSON array, of which each line is one event. The closing bracket is written when the trace
/// or the process ends. Times are in microseconds since the environment was created. Threads and XLA devices are rows; the events of a row nest.
///
/// - `record`: a thread records operations, until it syncs, reads, or changes its label; not one event for each.
/// - `label`: from `lxla_label_push` to `lxla_label_pop`.
/// - `step`: a `step` (`MarkStep`) or `sync`. In it `plan`: `plan` makes the programs, `look up` finds them in the
///   cache, `lower` writes their StableHLO; `compile`: `compile` (`UncachedCompile`) and `load`
///   (`PersistentCacheHit`); `execute`: hands one run of a program to its devices (`ExecuteComputation`).
/// - `run`, on the row of a device: from the start of the run, which is at the earliest the end of the run before, to
///   its end. An arrow leads to it from its `execute`.
/// - `transfer`: `to device`, `from device`, `copy`, with `bytes`; `share` where no bytes are copied. `save`: writes a
///   file. `wait`: waits for a device.
///
/// `args` has the `label` that the labelled operations of the program have in common, else that of the thread, and
/// the `program`, by its `number` in `lxla_compile_log_json`.
///
/// If the plugin has a profiler (PJRT's profiler extension: CUDA, ROCm, TPUs; not CPUs), its profile is recorded from
/// here on, or from the start of the engine, with the options that JAX uses. `lxla_trace_stop` adds its events as
/// `plugin`: a process for each plane (`plugin /device:GPU:0`), a row for each of its lines, further rows where events
/// overlap, and in `args` the statistics that XLA has noted, such as `hlo_op` and `hlo_module`. The whole profile is
/// written to the file `path` + `.xplane.pb`, which XProf and TensorBoard read. A plugin records one profile at a time,
/// of all environments of the process that use it: a trace that is started while another records the profile has none.
/// Until the stop, the plugin holds the profile in memory, as much as it limits itself to. This function, and the first
/// use of a device while a trace is written, wait up to 60 s for the plugin's profiler to start; if it does not, the
/// trace has no profile. The profile of an earlier trace with this `path` is removed when one starts.
///
/// `path` names a file that is created or replaced; NOT_FOUND if its folder is missing, INVALID_ARGUMENT if it is not a
/// regular file. ALREADY_EXISTS if the environment is writing a trace, or another environment writes one to this file.
/// The file is written in pieces of 64 KiB, at least once a second while there are events, and at the end of the
/// process. If a write fails, the program goes on, and `lxla_trace_stop` returns the error.
///
/// An event takes about a microsecond, and memory is bounded. While no trace is written, nothing is measured.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_trace_start(env: lxla_env, path: Text) -> lxla_status {
    guard("lxla_trace_start", || {
        let path = path.get("path")?;
        env::resolve(env.id)?.start_trace(Path::new(path))
    })
}

/// Ends the trace of the environment. Waits, for at most 60 seconds, until the runs on its devices have ended. Spans of
/// threads that have not ended are left out, except for labels and recording, which end now. Returns the first error
/// of a write, such as RESOURCE_EXHAUSTED for a full disk; the file then has the whole events before it.
/// FAILED_PRECONDITION if no trace is written, or another thread is ending it. The last release of the environment ends
/// its trace, too.
///
/// Then collects the plugin's profile, if one is recorded, while other threads go on. If the profiler fails, or does not
/// answer within 60 seconds, the trace is written without the profile: a warning in the log and a note in the trace
/// (`note`) say why, and the call returns LXLA_OK. The trace has at most 256 MiB of the profile, texts of up to 400
/// bytes, and none of the statistics that begin with `_`; a warning says how many events are left out.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_trace_stop(env: lxla_env) -> lxla_status {
    guard("lxla_trace_stop", || env::resolve(env.id)?.stop_trace())
}

/// Writes a report of the environment to the file `path`: one HTML page that needs no network and opens in any current
/// browser. It shows
///
/// - the steps and syncs by the programs that they run, with their number and the time from one to the next;
/// - a timeline of the last 20,000 events, if the option `timeline` is on;
/// - the compiles with their causes, as `lxla_compile_log_json`;
/// - the compiled programs in memory: operations, runs, time, bytes of arguments, results and temporaries, and their
///   graphs, drawn and folded by labels. All graphs together have at most 50000 operations; the programs that ran for
///   the longest time come first;
/// - the counters, as `lxla_env_metrics_json`;
/// - the live tensors with the largest values: label, shape, dtype, bytes.
///
/// The page has the data as JSON in its element `data`; the form of the JSON is not part of the ABI. The time of a
/// program is that of the plugin's execute calls: a plugin that works asynchronously returns before the device has
/// ended. Runs nothing and waits for nothing; other threads may record and step meanwhile.
///
/// The write is whole or not at all, and durable, as saves are: on error, a file that was there stays as it was.
/// NOT_FOUND if the folder around `path` is missing; INVALID_ARGUMENT if `path` ends with no name of a file, or is a
/// folder; PERMISSION_DENIED; RESOURCE_EXHAUSTED if the disk is full.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_report(env: lxla_env, path: Text) -> lxla_status {
    guard("lxla_report", || {
        let env = env::resolve(env.id)?;
        report::write(&env, Path::new(path.get("path")?))
    })
}

/// Returns what a sync of these tensors (at least 1) would run as a graph in the language DOT of Graphviz, and runs
/// nothing: a box for each operation, with its scalar and the type of its result, in a cluster for each label; an
/// ellipse for each parameter; a double frame for each output. Computations that an operation applies are named with
/// their number of operations. The tensors must be lazy and on one device.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_graph_dot(tensors: List<lxla_tensor>, n: usize, out_text: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_graph_dot", out_text.named("out_text"), || {
        sync::graph_dot(&some_handles(tensors, n)?).and_then(OwnedText::new)
    })
}

/// Returns the live tensors of the environment, by label and size, as a JSON object:
///
/// - `bytes`, `buffers`: of all values that live tensors have in memory. Tensors with one value count once, those that
///   are pending not at all; on a mesh, the whole array counts once.
/// - `labels`: for each `device` and `label` of the operation that computed the values (null without one, and for
///   values from the host), `bytes` and `buffers` now, and `peak_bytes`: the most that the live tensors of the label
///   had at the end of a step or sync while the option `timeline` is on or a trace is written, since the later of the
///   time when that began last and `lxla_env_metrics_reset`; else null. The largest first. Beyond 1000 peaks, those of
///   labels without live tensors are forgotten at the end of a step.
/// - `largest`: the 1000 largest values, with `device`, `type`, `bytes`, `label`, and `made_by`: the step, sync or copy
///   that made it, null for values from the host.
///
/// `lxla_compile_log_json` has the memory that a program needs while it runs (`temp_bytes`); the counters `LiveBytes`
/// and `PeakLiveBytes` have the bytes of all buffers on devices.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_live_tensors_json(env: lxla_env, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_live_tensors_json", out_json.named("out_json"), || {
        OwnedText::new(env::resolve(env.id)?.live_tensors_json())
    })
}

/// Finds where NaNs and infinities come from: evaluates natively, operation by operation, what a sync of these tensors
/// (at least 1) would run, and returns the first operation that makes a NaN or an infinity out of finite operands, also
/// in computations that are called, scanned or chosen. The tensors stay pending. As JSON:
///
/// - `found`: null if there is none, else `operation`, `label`, `type`, `index` and `value` of the first element that
///   is not finite; and `operands` in their order, in each its `name` (`x`, `lhs` and `rhs`, else `operand 0` and so
///   on), its `type`, its `first` 8 elements, and, if it has the shape of the result or one element, its `value` at that
///   place. A number is an operand, too: that of 1 / x is `lhs`. The label of a cotangent is that of its operation
///   followed by `gradient`.
/// - `nonfinite_inputs`: the number of values computed earlier, on which these depend, that are not finite themselves.
///
/// The values are those of the native evaluation, which may differ from those of the device by rounding. Needs host
/// memory for the inputs and all values of a program that are in use at one time. FAILED_PRECONDITION if none of the
/// tensors is pending (their operands are not kept), or if they depend on a placeholder; UNIMPLEMENTED for operations
/// that only XLA has. The tensors must be lazy and on one device.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_find_nonfinite(tensors: List<lxla_tensor>, n: usize, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_find_nonfinite", out_json.named("out_json"), || {
        sync::find_nonfinite(&some_handles(tensors, n)?).and_then(OwnedText::new)
    })
}

/// Finds the operation whose value is wrong on an XLA device: runs the computation there and natively, with these
/// arguments, and returns a JSON object:
///
/// - `found`: the first operation, in the order of the program, whose results on the device differ by more than
///   rounding from those of its native evaluation with the operands that the device computed; so it is the culprit,
///   not a consequence of one. null if there is none. Else `operation`, `label`, `type`; the `index` of the element
///   that differs most, with its values `device` and `native`; `difference`, null if one of them is not finite; `ulps`,
///   the same in units in the last place of the native value (null for integers); `rounding`, the same in units of
///   the element's scale (null if the values have to be equal); `differing`, the number of elements beyond the
///   tolerance; `operands`, as in `lxla_find_nonfinite`; and `inside`, the loops, branches and scans around it, the
///   outermost first: `operation`, `label`, `body` (0: the condition of a loop, or the first branch) and `iteration`,
///   from 0.
/// - `results`: for each result of the computation, compiled as a whole as a call of it is, `index`, `type`, the number
///   of `differing` elements and the `largest` difference: rounding accumulates in it. null if an operation cannot be
///   evaluated natively.
/// - `compared`: how many operations were compared. `largest_within`: the largest difference within the tolerance, in
///   units of the scale. `not_compared`: names of operations that only XLA has, and of decompositions with other
///   vectors than natively, which may be as right: eigenvectors and singular vectors are not unique.
/// - `accumulated`: loops and scans with other results than natively in whose bodies no operation differs by itself.
///
/// The scale of an element is the error that one rounding of the result and of each operand makes. That of a sum, also
/// in products of matrices and convolutions, is an ulp of the sum of the magnitudes of its terms, times the square root
/// of their number, because devices add in another order; that of transforms, factorizations and solutions is the
/// largest of a matrix, times the square root of its size, so that it grows with the condition. Integers, indices and
/// moved elements have the scale 0, apart from what rounded operands change. Differences below the smallest normal
/// number are none. `tolerance` is in units of the scale, greater than 0; 0: 32, and 4 for 8-bit and 16-bit floats.
///
/// `device` is an XLA device of `env`; UNSPECIFIED is xla:0. `args` (one for each parameter, of its dtype and shape)
/// may be on any device and pending; they are computed and copied, as are captured values, and stay as they are. The
/// device runs the computation twice: as a whole, and in programs of up to 400 operations and 256 MiB of values that
/// return all their values. Calls are inlined there; bodies of loops, branches and scans are run by themselves, once
/// for each iteration, if the results differ. XLA fuses operations differently in each: a wrong value that only one
/// fusion has may be in `results` without being found.
///
/// INVALID_ARGUMENT if the device is cpu or a mesh, args do not fit the parameters, or the tolerance is negative or not
/// finite. FAILED_PRECONDITION if an argument is a placeholder. UNIMPLEMENTED for computations with operations of a
/// mesh, or with kernels that have effects; other kernels are called again for each evaluation.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_compare(
    env: lxla_env,
    device: lxla_device,
    computation: lxla_computation,
    args: List<lxla_tensor>,
    n_args: usize,
    tolerance: f64,
    out_json: Out<OwnedText>,
) -> lxla_status {
    guard_into("lxla_computation_compare", out_json.named("out_json"), || {
        let f = computation_of("computation", computation)?;
        let args = handles("args", args, n_args)?;
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            return Err(error!(InvalidArgument, "tolerance: {tolerance} given; want a positive number, or 0"));
        }
        let kind = if device.kind == LXLA_DEVICE_UNSPECIFIED { LXLA_DEVICE_XLA } else { device.kind };
        let kept = kept_device(env, lxla_device { kind, ..device })?;
        let tolerance = Some(tolerance).filter(|&tolerance| tolerance > 0.0);
        computation::compare(&f, kept.device, &args, tolerance).and_then(OwnedText::new)
    })
}
