//! Chapter Kernels: functions of the caller in programs.

use super::abi::arguments::{optional_text, switch};
use super::abi::guard::{guard, guard_into};
use super::abi::kernel::CallersKernel;
use super::abi::options;
use super::abi::pointers::{In, List, Out, OutList, Text};
use super::abi::types::{lxla_env, lxla_kernel_fn, lxla_kernel_options, lxla_status, lxla_tensor};
use super::control::tensor_types;
use super::tensor::handles;
use crate::env;
use crate::tensor::apply_kernel;
use base::error;
use base::error::{Result, quoted};
use engine::kernels::{Kernel, NewKernel};
use ops::control;
use std::ffi::c_void;

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_kernel_options_init(options: Out<lxla_kernel_options>) -> lxla_status {
    guard("lxla_kernel_options_init", || options::init(options))
}

/// Registers a kernel in an environment under the name `target`: `fn`, which `lxla_kernel_apply` records calls of.
/// `user` is passed to it. ALREADY_EXISTS if the name is registered; INVALID_ARGUMENT if it is empty. See
/// `lxla_kernel_fn` for what a kernel may do. After an error, `destroy` is not called.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_kernel_register(
    env: lxla_env,
    target: Text,
    fn_: lxla_kernel_fn,
    user: *mut c_void,
    options: In<lxla_kernel_options>,
) -> lxla_status {
    guard("lxla_kernel_register", || {
        let environment = env::resolve(env.id)?;
        let target = target.get("target")?;
        if target.is_empty() {
            return Err(error!(InvalidArgument, "target: it is empty"));
        }
        environment.add_kernel(target, || {
            let (properties, function) = read(fn_, user, options)?;
            let key = target.as_bytes();
            let kernel = Kernel::new(NewKernel { target, key, is_named: true, ..properties }, function);
            kernel.take();
            Ok(kernel)
        })
    })
}

/// Removes a kernel's name: it cannot be applied any more. Calls that are recorded, and computations that apply it,
/// keep it; its `destroy` is called when none is left. NOT_FOUND for a name that is not registered.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_kernel_unregister(env: lxla_env, target: Text) -> lxla_status {
    guard("lxla_kernel_unregister", || {
        let target = target.get("target")?;
        let found = env::resolve(env.id)?.remove_kernel(target);
        found.map(drop).ok_or_else(|| error!(NotFound, "target: no kernel {} is registered", quoted(target)))
    })
}

/// Records a call of a kernel of the environment with `n_inputs` tensors (at least 1) of one device, which gives
/// `n_outputs` tensors. Output i has dtype `dtypes[i]` and rank `ranks[i]`; `dims` is the concatenation of the sizes of
/// all outputs. `attributes_json` is passed to the kernel; NULL: an empty string. The library does not read it.
///
/// On `cpu`, the kernel is called now, unless an input waits for a placeholder. On XLA devices it is called by the
/// program, on threads of the plugin, with the program's own buffers, which are not copied. If it fails, the step or
/// sync that runs it fails with its message, and all values are as before: a program with kernels consumes no donors,
/// and is awaited.
///
/// Kernels have no derivatives of their own; `lxla_computation_with_vjp` and `lxla_computation_with_jvp` give a
/// computation that applies one its rules. Batching calls it for each element of the batch, or by the rule of
/// `lxla_computation_with_vmap`. On a mesh, every device calls it with whole arrays.
///
/// NOT_FOUND if no kernel has this name. UNIMPLEMENTED if the device's plugin cannot call functions of this process.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_kernel_apply(
    env: lxla_env,
    target: Text,
    inputs: List<lxla_tensor>,
    n_inputs: usize,
    dtypes: List<i32>,
    ranks: List<usize>,
    dims: List<i64>,
    n_outputs: usize,
    attributes_json: Text,
    out_tensors: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_kernel_apply", out_tensors.list("out_tensors", n_outputs), || {
        let target = target.get("target")?;
        let kernel = env::resolve(env.id)?.kernel(target);
        let kernel = kernel.ok_or_else(|| error!(NotFound, "target: no kernel {} is registered", quoted(target)))?;
        let inputs = handles("inputs", inputs, n_inputs)?;
        let results = tensor_types(dtypes, ranks, dims, n_outputs)?;
        let json = optional_text("attributes_json", attributes_json)?.unwrap_or_default();
        apply_kernel(&kernel, &inputs, &results, json)
    })
}

/// As `lxla_kernel_apply`, with a function instead of a name. Calls with equal `fn` and `user` are of one kernel, with
/// the options of the first one, as long as one of them is needed: `destroy` is called once, when none is. Programs
/// with such calls are not kept on disk.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_host_call(
    env: lxla_env,
    fn_: lxla_kernel_fn,
    user: *mut c_void,
    options: In<lxla_kernel_options>,
    inputs: List<lxla_tensor>,
    n_inputs: usize,
    dtypes: List<i32>,
    ranks: List<usize>,
    dims: List<i64>,
    n_outputs: usize,
    out_tensors: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_host_call", out_tensors.list("out_tensors", n_outputs), || {
        env::resolve(env.id)?;
        let inputs = handles("inputs", inputs, n_inputs)?;
        let results = tensor_types(dtypes, ranks, dims, n_outputs)?;
        let (properties, function) = read(fn_, user, options)?;
        let key = [b"\0", &function.key()[..]].concat();
        let kernel = Kernel::of_key_or_new(NewKernel { key: &key, ..properties }, function);
        let made = apply_kernel(&kernel, &inputs, &results, "")?;
        kernel.take();
        Ok(made)
    })
}

/// Reads the options of a kernel. Returns its properties without name and key, and its function.
fn read(
    function: lxla_kernel_fn,
    user: *mut c_void,
    options: In<lxla_kernel_options>,
) -> Result<(NewKernel<'static>, Box<CallersKernel>)> {
    let given = options::read(options)?;
    let ordered = switch("options.ordered", given.ordered)?.unwrap_or(false);
    let has_effects = ordered || !switch("options.pure", given.pure)?.unwrap_or(true);
    let function = CallersKernel::new(function, user, given.destroy)?;
    Ok((NewKernel { target: "host_call", key: &[], is_named: false, ordered, has_effects }, function))
}

/// Records the printing of a text to standard error, with a line break: each `{}` of `format` is replaced by the values
/// of the next of the `n` tensors (at least 1), which are on one device. Every print is made once, in the order of
/// recording among the prints and the ordered kernels of the device: by the next step, and in loops and computations
/// wherever it depends on a parameter of the computation. Of a tensor of more than 100 elements, the first ones are
/// printed. INVALID_ARGUMENT if the numbers of places and tensors differ.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_debug_print(format: Text, tensors: List<lxla_tensor>, n: usize) -> lxla_status {
    guard("lxla_debug_print", || {
        let (format, tensors) = (format.get("format")?, handles("tensors", tensors, n)?);
        control::check_format(format, n)?;
        apply_kernel(control::debug_print(), &tensors, &[], format).map(drop)
    })
}
