//! Writes a computation as a file of `jax.export`, with its backward pass on demand.

use super::program::Exported;
use base::error;
use base::error::Result;
use base::types::TensorType;
use lowering::transform::{self, Transformer};
use mlir::jax_file::{self, Part, Tree, Value};
use mlir::{Attribute, Module, Version, bytecode};
use ops::rules::is_differentiable;

/// Platforms on which JAX may call the function. Exported programs use only operations that all of them have.
const PLATFORMS: [&str; 4] = ["cpu", "cuda", "rocm", "tpu"];

/// Name of the function in JAX's messages.
const NAME: &str = "lazyxla";

/// Returns the bytes of the file.
pub fn file(exported: &Exported, version: Option<Version>, has_vjp: bool) -> Result<Vec<u8>> {
    let values = |types: &[TensorType]| types.iter().map(value).collect::<Result<_>>();
    let module = exported.closed_module()?;
    let devices = devices(&module)?;
    let artifact = Part::new(bytecode::write(&module, version)?);
    let body = &exported.body;
    let mut function = described(NAME, artifact, values(body.parameters())?, values(body.results())?);
    function.devices = devices;
    if let [_] = body.results() {
        function.result_tree = Tree::Leaf;
    }
    if has_vjp {
        let backward = backward_pass(exported, version)?;
        function.vjp = Some(Box::new(jax_file::Exported { devices, ..backward }));
    }
    jax_file::write(&function)
}

/// Returns the number of devices of a module: those of its mesh. Its constraints and manual computations are in the
/// module; JAX places parameters and results as its caller says.
fn devices(module: &Module) -> Result<u32> {
    match module.attributes.get("mhlo.num_partitions") {
        Some(Attribute::Integer(count, _)) => u32::try_from(*count).ok(),
        _ => None,
    }
    .ok_or_else(|| error!(Internal, "the module does not state its number of devices"))
}

fn value(ty: &TensorType) -> Result<Value> {
    Value::new(Some(ty.dtype), &ty.dims)
}

/// Describes the cotangent of a value: float0 for integers.
fn cotangent(ty: &TensorType) -> Result<Value> {
    Value::new(Some(ty.dtype).filter(|&dtype| is_differentiable(dtype)), &ty.dims)
}

/// Returns the backward pass, as JAX calls it: with the parameters, then the cotangents of the results.
fn backward_pass(exported: &Exported, version: Option<Version>) -> Result<jax_file::Exported> {
    let primal = &exported.body;
    let body = transform::with_room([primal], || transform::pulled_back(&Transformer::default(), primal))
        .map_err(|e| e.context("options.vjp_order"))?;
    let named = |names: &[String]| -> Vec<String> { names.iter().map(|name| format!("cotangent of {name}")).collect() };
    let backward = Exported {
        body,
        captured: exported.captured.clone(),
        parameter_names: [exported.parameter_names.clone(), named(&exported.result_names)].concat(),
        result_names: named(&exported.parameter_names),
        precision: exported.precision,
    };
    let artifact = Part::new(bytecode::write(&backward.closed_module()?, version)?);
    let parameters = primal.parameters().iter().map(value).chain(primal.results().iter().map(cotangent));
    let results = primal.parameters().iter().map(cotangent);
    Ok(described(&format!("{NAME}_vjp"), artifact, parameters.collect::<Result<_>>()?, results.collect::<Result<_>>()?))
}

/// Describes a function of positional parameters with an artifact.
fn described(name: &str, artifact: Part, parameters: Vec<Value>, results: Vec<Value>) -> jax_file::Exported {
    let mut made = jax_file::Exported::new(name, &PLATFORMS, parameters, results, artifact);
    // `main` takes the number of the platform first, as of every function for several platforms.
    made.uses_global_constants = true;
    made
}
