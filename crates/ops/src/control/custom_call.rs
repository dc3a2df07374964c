//! Custom calls: calls of a target that the plugin implements, identified by name.

use crate::control::custom_targets;
use crate::definition::EvalContext;
use crate::emit::{Emitter, emit, mlir, row_major, string};
use base::error;
use base::error::Result;
use base::types::{TensorType, element_count};
use ir::{NodeId, Op, Trace, attributes, members, numbered};
use native::Array;

numbered! {
    /// Calling convention of a target. The numbers are StableHLO's.
    ApiVersion, "api_version", "LXLA_CUSTOM_CALL_*", {
        /// The target receives pointers to its buffers, and cannot report an error.
        Original = 1 => "ORIGINAL",
        /// As ORIGINAL, and the target reports a status.
        StatusReturning = 2 => "STATUS_RETURNING",
        /// As STATUS_RETURNING, with one signature for all platforms.
        StatusReturningUnified = 3 => "STATUS_RETURNING_UNIFIED",
        /// Typed buffers and attributes, through XLA's foreign function interface.
        TypedFfi = 4 => "TYPED_FFI",
    }
}

members!(ApiVersion);

attributes! {
    /// Attributes of a custom call.
    pub struct CustomCall {
        /// Name of the target in the plugin.
        pub target: String,
        /// Configuration passed to the target: text, or for [`ApiVersion::TypedFfi`] a dictionary in MLIR syntax.
        pub backend_config: String,
        /// Calling convention of the target.
        pub api_version: ApiVersion,
        /// If true, XLA must not remove the call or merge it with an equal one.
        pub has_side_effect: bool,
        /// Types of the results.
        pub results: Vec<TensorType>,
    }
}

/// Records a custom call.
pub fn custom_call(trace: &mut Trace, call: &CustomCall, operands: &[NodeId]) -> Result<Vec<NodeId>> {
    if call.target.is_empty() {
        return Err(error!(InvalidArgument, "target: it is empty"));
    }
    if call.results.is_empty() {
        return Err(error!(InvalidArgument, "n_results: 0 given; want at least 1"));
    }
    call.results.iter().try_for_each(|ty| element_count(&ty.dims).map(drop))?;
    let config = call.backend_config.trim();
    let is_dictionary = config.starts_with('{') && config.ends_with('}');
    if call.api_version == ApiVersion::TypedFfi && !config.is_empty() && !is_dictionary {
        return Err(error!(
            InvalidArgument,
            "backend_config: \"{config}\" given; the typed FFI wants a dictionary, such as {{lower = true, n = 3 : i64}}"
        ));
    }
    let types: Vec<TensorType> = operands.iter().map(|&id| trace.ty(id)).collect();
    custom_targets::check(&call.target, &types, &call.results)?;
    let is_text = call.api_version != ApiVersion::TypedFfi;
    let text = is_text.then_some(&*call.backend_config);
    custom_targets::check_config(&call.target, text, &call.backend_config, &types)?;
    // Shardy reads the configuration of a sharding as text, whatever it is, and ends the process at a dictionary.
    let of_sharding = (call.target == "Sharding" && !is_text).then(|| CustomCall {
        api_version: ApiVersion::Original,
        backend_config: String::new(),
        ..call.clone()
    });
    let call = of_sharding.as_ref().unwrap_or(call);
    Ok(trace.application(Op::CustomCall, operands, call, &[], &call.results))
}

/// Writes the StableHLO of a custom call. It states the layouts, since XLA would choose others: the target gets
/// row-major arrays.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let call: CustomCall = value.attributes();
    let config = match call.api_version {
        ApiVersion::TypedFfi if call.backend_config.trim().is_empty() => "{}".to_string(),
        ApiVersion::TypedFfi => call.backend_config,
        _ => string(&call.backend_config),
    };
    let (names, types) = e.listed(&value.operands);
    let operands: Vec<&TensorType> = value.operands.iter().map(|&operand| &e.values[operand].ty).collect();
    let results: Vec<&TensorType> = call.results.iter().collect();
    let result_types: Vec<String> = call.results.iter().map(mlir).collect();
    emit!(
        e,
        "    {name}:{} = \"stablehlo.custom_call\"({}) <{{call_target_name = {}, backend_config = {config}, api_version = {} : i32, has_side_effect = {}, operand_layouts = {}, result_layouts = {}}}> : ({}) -> ({})",
        results.len(),
        names.join(", "),
        string(&call.target),
        call.api_version as i32,
        call.has_side_effect,
        row_major(&operands),
        row_major(&results),
        types.join(", "),
        result_types.join(", ")
    );
}

pub(super) fn refuse_native(cx: &EvalContext) -> Result<Vec<Array>> {
    let CustomCall { target, .. } = cx.attributes();
    Err(error!(Unimplemented, "target: {target} is called by XLA only; custom calls are not supported on cpu tensors"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;

    #[test]
    fn layouts_are_row_major() {
        let (matrix, scalar) = (TensorType::new(DType::F32, &[2, 3]), TensorType::new(DType::F32, &[]));
        assert_eq!(row_major(&[&matrix, &scalar]), "[dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]");
    }
}
