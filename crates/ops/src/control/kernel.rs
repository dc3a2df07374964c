//! Calls of the callers' kernels.

use crate::control::debug_print::debug_print;
use crate::creation;
use crate::definition::EvalContext;
use crate::elementwise::convert::convert;
use crate::emit::Emitter;
use crate::host_call::{self, Called};
use crate::rules::{Forward, Site, Tangent, is_differentiable};
use base::error;
use base::error::{Code, Error, Result};
use base::types::{DType, ScalarValue, TensorType, element_count};
use engine::host_calls::{HostCall, HostFunction, HostInput, HostOutput};
use engine::kernels::Kernel;
use ir::{Body, NodeId, Op, Trace, attributes, take_closed_body};
use native::Array;
use std::sync::Arc;

attributes! {
    /// Attributes of a kernel's call. `Trace::has_effects` and `Body` read the first word.
    pub struct KernelAttributes {
        /// Whether XLA must neither remove the call nor merge it with an equal one.
        pub has_effects: bool,
        /// Name of the kernel.
        pub target: String,
        /// Number of the kernel.
        pub number: i64,
        /// Attributes for the kernel.
        pub json: String,
        /// Number of operands that the kernel gets. Others are results of calls that come before.
        pub inputs: usize,
        /// Types of the results that the kernel writes. A call with effects has one more, of type [`done`].
        pub results: Vec<TensorType>,
    }
}

/// Type of the last result of a call with effects: a zero, which says that the call has ended.
pub fn done() -> TensorType {
    TensorType::new(DType::S32, &[])
}

/// Whether a node makes calls that keep the order of recording. Those in bodies count as such.
pub fn is_ordered(trace: &Trace, id: NodeId) -> bool {
    let node = trace.node(id);
    let kernel = || trace.bodies(node).next().and_then(|body| body.held()).cloned().and_then(Kernel::of_held);
    trace.has_effects(node) && (node.op != Op::Kernel || kernel().is_none_or(|kernel| kernel.ordered))
}

/// Records a call of a kernel. `after` is the last result of a call that must come before.
pub fn kernel(
    trace: &mut Trace,
    kernel: &Arc<Kernel>,
    operands: &[NodeId],
    after: Option<NodeId>,
    results: &[TensorType],
    json: &str,
) -> Result<Vec<NodeId>> {
    results.iter().try_for_each(|ty| element_count(&ty.dims).map(drop))?;
    let has_effects = kernel.has_effects;
    if results.is_empty() && !has_effects {
        let wanted = "a call without outputs is dropped; want 1 or more, or a kernel with the options ordered (LXLA_ON) or pure (LXLA_OFF)";
        return Err(error!(InvalidArgument, "n_outputs: 0 given; {wanted}"));
    }
    let attributes = KernelAttributes {
        has_effects,
        target: kernel.target.clone(),
        number: kernel.number,
        json: json.to_string(),
        inputs: operands.len(),
        results: results.to_vec(),
    };
    let holder = holder(kernel)?;
    // Kernels take no types of 2 and 4 bits. What is printed is the same in their wide type.
    let is_printed = Arc::ptr_eq(kernel, debug_print());
    let given = |&x: &NodeId| match trace.node(x).dtype {
        dtype if is_printed && dtype.is_subbyte() => convert(trace, x, dtype.wide()),
        _ => x,
    };
    let operands: Vec<NodeId> = operands.iter().map(given).chain(after).collect();
    let all = with_done(&attributes);
    Ok(trace.application(Op::Kernel, &operands, &attributes, &[&holder], &all))
}

/// Types of all results of a call.
fn with_done(attributes: &KernelAttributes) -> Vec<TensorType> {
    attributes.results.iter().cloned().chain(attributes.has_effects.then(done)).collect()
}

/// A body that keeps the kernel alive, and whose digest is the kernel's number.
fn holder(kernel: &Arc<Kernel>) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let number =
        creation::constants::full(&mut trace, &TensorType::new(DType::S64, &[]), ScalarValue::Signed(kernel.number))?;
    let body = take_closed_body(&trace, &[], &[], &[number])?;
    Ok(Body::holding(body, kernel.clone(), !kernel.is_named))
}

/// Words that the kernel's call gets.
fn words(attributes: &KernelAttributes) -> [i64; 3] {
    [attributes.number, attributes.inputs as i64, attributes.results.len() as i64]
}

/// Writes a call of the kernel.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let attributes: KernelAttributes = e.instruction(at).attributes();
    let words = words(&attributes);
    let called = Called {
        function: HostFunction::Kernel,
        words: &words,
        text: &attributes.json,
        has_side_effect: attributes.has_effects,
    };
    host_call::lower_call(e, at, &called, &with_done(&attributes));
}

/// Calls the kernel with arrays of the host.
pub(super) fn evaluate(cx: &EvalContext) -> Result<Vec<Array>> {
    let attributes: KernelAttributes = cx.attributes();
    let held = cx.bodies.first().and_then(|body| body.held()).cloned();
    let kernel = held.and_then(Kernel::of_held).ok_or_else(|| error!(Internal, "a call without its kernel"))?;
    let inputs: Vec<HostInput> = cx
        .operands
        .iter()
        .map(|array| HostInput { dtype: array.ty().dtype, dims: &array.ty().dims, bytes: array.bytes() })
        .collect();
    let types = with_done(&attributes);
    Array::write_several(&types, |memory| {
        let outputs = types.iter().zip(memory);
        let mut outputs: Vec<HostOutput> =
            outputs.map(|(ty, bytes)| HostOutput { dtype: ty.dtype, dims: &ty.dims, bytes }).collect();
        kernel.call(&mut HostCall {
            words: &words(&attributes),
            text: &attributes.json,
            inputs: &inputs,
            outputs: &mut outputs,
        })
    })
}

/// The error of a derivative, which only rules of a computation around the kernel can give.
fn no_derivative(site: &Site) -> Error {
    let KernelAttributes { target, .. } = ir::decode(&site.words);
    Error::new(
        Code::Unimplemented,
        format!(
            "kernel {target} has no derivative; give a computation that applies it rules by lxla_computation_with_vjp \
             or lxla_computation_with_jvp"
        ),
    )
}

/// Number of results of a call without floating or complex ones, which has no tangents; None if it has one.
fn without_tangents(site: &Site) -> Option<usize> {
    let types = with_done(&ir::decode(&site.words));
    (!types.iter().any(|ty| is_differentiable(ty.dtype))).then_some(types.len())
}

pub(super) fn jvp(site: &mut Site, _: &[Tangent]) -> Result<Forward> {
    let results = without_tangents(site).ok_or_else(|| no_derivative(site))?;
    Ok(Forward { results: None, tangents: vec![None; results] })
}

pub(super) fn vjp(site: &mut Site, _: &[Tangent], wanted: &[bool]) -> Result<Vec<Tangent>> {
    without_tangents(site).ok_or_else(|| no_derivative(site))?;
    Ok(vec![None; wanted.len()])
}
