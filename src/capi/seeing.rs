//! Chapter Seeing: labels of what is recorded, and where time, compiles and NaNs come from.

use super::abi::guard::{guard, guard_into};
use super::abi::pointers::{List, Out, OwnedText, Text};
use super::abi::types::{lxla_env, lxla_status, lxla_tensor};
use super::tensor::some_handles;
use crate::{env, label, sync};

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
    guard("lxla_label_push", || label::push(name.get("name")?))
}

/// Removes the name that the calling thread pushed last. FAILED_PRECONDITION if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_label_pop() -> lxla_status {
    guard("lxla_label_pop", label::pop)
}

/// Returns the compiles of the environment as a JSON object: `count`, and in `compiles` the last 1024 of them, the
/// oldest first. Each has
///
/// - `number`, from 1; `device`; `operations`; `nanoseconds`; `from_disk`, whether it was found in the disk cache; and
///   `argument_bytes`, `output_bytes`, `alias_bytes`, `temp_bytes` and `code_bytes`, as `lxla_compiled_memory`.
/// - `cause`: `first`, the first program; `new_program`, other operations than before; `shape`, `dtype`, `constant`,
///   the first operation that differs has another shape, another dtype, or another constant or attribute, such as an
///   axis or an offset; `scalar_became_parameter`, a scalar changed for the first time, and can change freely from now
///   on (avoided by `lxla_tensor_varying_scalar`); `donors`, other buffers may be consumed; `sharding`, the program is
///   divided differently over a mesh; `evicted`, the program left the cache (`cache_capacity`) since it was compiled.
/// - `nearest`: the number of the compile with which it was compared, among the last 64; null for the first.
/// - `difference`: `operation` and `label` of the first operation that differs, null if it is none; `value` and
///   `before`, what it is and what it was.
///
/// With the environment variable `LXLA_LOG_COMPILES=1`, each compile is also written as one line to the log callback,
/// with level 3, or to stderr if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_compile_log_json(env: lxla_env, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_compile_log_json", out_json.named("out_json"), || {
        OwnedText::new(env::resolve(env.id)?.compile_log_json())
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

/// Finds where NaNs and infinities come from: evaluates natively, operation by operation, what a sync of these tensors
/// (at least 1) would run, and returns the first operation that makes a NaN or an infinity out of finite operands, also
/// in computations that are called, scanned or chosen. The tensors stay pending. As JSON:
///
/// - `found`: null if there is none, else `operation`, `label`, `type`, `index` and `value` of the first element that
///   is not finite; and `operands`, in each its `type`, its `first` 8 elements, and, if it has the shape of the result
///   or one element, its `value` at that place. The scalar of an operation is its last operand. The label of a
///   cotangent is that of its operation followed by `gradient`.
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
