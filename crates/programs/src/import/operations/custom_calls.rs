//! Custom calls: targets of frontends that the library has operations for.

use super::super::importer::Applied;
use super::reduction::windows_of;
use super::{Call, Results, applied, chlo, factorizations, kernels, sharding, sorting, threefry};
use base::error;
use base::error::{Result, quoted};
use base::types::{DType, Dims, TensorType};
use mlir::Attribute;

/// `stablehlo.custom_call`.
pub fn custom_call(call: Call) -> Result<Results> {
    let target = call.attributes.optional_text("call_target_name")?.unwrap_or_default();
    if let Some(kernel) = call.importer.kernels.get(target).cloned() {
        return kernels::call(call, &kernel);
    }
    match target {
        "shape_assertion" => shape_assertion(call),
        "Sharding" | "annotate_device_placement" | "LayoutConstraint" | "xla.sdy.FuncResultSharding" => {
            sharding::annotation(call)
        }
        "SPMDFullToShardShape"
        | "SPMDShardToFullShape"
        | "xla.sdy.GlobalToLocalShape"
        | "xla.sdy.LocalToGlobalShape" => sharding::parts(call),
        "Qr" => factorizations::geqrf(call),
        "ProductOfElementaryHouseholderReflectors" => factorizations::orgqr(call),
        "Eigh" => factorizations::eigh_of_xla(call),
        "LuDecomposition" => factorizations::lu_of_xla(call),
        "cu_lu_pivots_to_permutation" | "hip_lu_pivots_to_permutation" => factorizations::pivots_to_permutation(call),
        "ApproxTopK" | "stablehlo.dynamic_approx_top_k" => approx_top_k(call),
        "mhlo.topk" => top_k(call),
        "stablehlo.dynamic_top_k" => dynamic_top_k(call),
        "stablehlo.dynamic_reduce_window" => dynamic_reduce_window(call),
        "stablehlo.dynamic_rng_bit_generator" => dynamic_rng_bit_generator(call),
        "cu_threefry2x32_ffi" | "hip_threefry2x32_ffi" => threefry::threefry2x32(call),
        _ => match (target.strip_prefix("mhlo."), factorizations::routine(target)) {
            (Some(name), _) => chlo::record(name, call).map_err(|e| e.context(quoted(target))),
            (None, Some(routine)) => factorizations::record(routine, call).map_err(|e| e.context(quoted(target))),
            (None, None) => Err(error!(
                Unimplemented,
                "target {} is not supported; a kernel of this name can be registered by lxla_kernel_register",
                quoted(target)
            )),
        },
    }
}

/// The function that a call names as its computation.
fn called<'m>(call: &Call<'_, 'm>) -> Result<&'m str> {
    match call.attributes.get("called_computations") {
        Some(Attribute::Array(list)) => match &list[..] {
            [Attribute::Symbol(parts)] if parts.len() == 1 => Ok(&parts[0]),
            other => Err(error!(InvalidArgument, "attribute called_computations: {} given; want one", other.len())),
        },
        _ => Err(error!(InvalidArgument, "attribute called_computations: want a list with one function")),
    }
}

/// Imports the computation of a call, which is applied to scalars of these dtypes.
fn computation(call: &mut Call, dtypes: &[DType]) -> Result<Applied> {
    let name = called(call)?;
    let types: Vec<TensorType> = dtypes.iter().map(|&dtype| TensorType::new(dtype, &[])).collect();
    call.importer.applied_function(name, &types)
}

/// `shape_assertion`: a condition on the shapes, which are known here. The message refers to further operands by
/// `{0}`, `{1}`, ...
fn shape_assertion(mut call: Call) -> Result<Results> {
    let ([holds], shown) = call.at_least()?;
    let Some(value) = call.importer.known.value(&call.importer.trace, holds) else {
        return Err(error!(Unimplemented, "an assertion depends on data; want one on shapes"));
    };
    if value.bytes().iter().all(|&byte| byte != 0) {
        return Ok(Results::new());
    }
    let mut message = call.attributes.optional_text("error_message")?.unwrap_or("a shape does not fit").to_string();
    for (i, &operand) in shown.iter().enumerate() {
        let sizes = call.sizes(operand)?;
        let text = sizes.iter().map(i64::to_string).collect::<Vec<String>>().join(", ");
        message = message.replace(&format!("{{{i}}}"), &text);
    }
    Err(error!(InvalidArgument, "{message}"))
}

/// `mhlo.topk`: the largest or smallest elements of the last axis, and their indices.
fn top_k(call: Call) -> Result<Results> {
    let config = call
        .config(&["mhlo.attributes", "backend_config", "mhlo.backend_config"])
        .ok_or_else(|| error!(InvalidArgument, "attribute mhlo.attributes: want a dictionary"))?;
    let (k, largest) = (config.integer("k")?, config.bool("largest", true)?);
    chlo::top_k_of(call, k, largest)
}

/// `stablehlo.dynamic_top_k`, whose second operand is k.
fn dynamic_top_k(mut call: Call) -> Result<Results> {
    let [_, k] = call.exactly()?;
    match call.sizes(k)?[..] {
        [k] => chlo::top_k_of(call, k, true),
        ref other => Err(error!(InvalidArgument, "{} numbers; want one", other.len())),
    }
}

/// `ApproxTopK`, without an approximation: all elements are sorted.
fn approx_top_k(mut call: Call) -> Result<Results> {
    let config = call.wanted_config()?;
    let is_dynamic = call.attributes.optional_text("call_target_name")? == Some("stablehlo.dynamic_approx_top_k");
    // Behind the operands are the shapes of the results, if these are free.
    let shapes = call.attributes.optional_integers("indices_of_shape_operands")?.unwrap_or_default().len();
    let operands = &call.operands[..call.operands.len().saturating_sub(shapes)];
    let (given, last) = operands.split_at(operands.len().saturating_sub(usize::from(is_dynamic)));
    let (arrays, _) = given.split_at(given.len() / 2);
    let Some(&first) = arrays.first() else { return Err(error!(InvalidArgument, "0 operands; want at least 2")) };
    let (ty, axis) = (call.ty(first), config.integer("reduction_dim")?);
    let count = call.stated(0)?.dims.get(usize::try_from(axis).unwrap_or(usize::MAX)).copied();
    let count = match last {
        [k] => call.sizes(*k)?.first().copied(),
        _ => count,
    };
    let count = count.filter(|count| (0..=ty.dims.get(axis as usize).copied().unwrap_or(0)).contains(count));
    let count = count.ok_or_else(|| error!(InvalidArgument, "attribute reduction_dim: {axis} given; {ty}"))?;
    let dtypes: Vec<DType> = arrays.iter().flat_map(|&array| [call.ty(array).dtype; 2]).collect();
    let order = computation(&mut call, &dtypes)?;
    let sorted = ops::sorting::sort(call.trace(), &applied(&order), arrays, axis, true)?;
    sorted.iter().map(|&array| ops::shape::slice_axis(call.trace(), array, axis, 0, count, 1)).collect()
}

/// `stablehlo.dynamic_reduce_window`: arrays, initial values, then the lists of the windows.
fn dynamic_reduce_window(mut call: Call) -> Result<Results> {
    let Some(count) = call.operands.len().checked_sub(5).map(|rest| rest / 2).filter(|&count| count > 0) else {
        return Err(error!(InvalidArgument, "{} operands; want at least 7", call.operands.len()));
    };
    let (arrays, inits) = (&call.operands[..count], &call.operands[count..2 * count]);
    let rank = call.ty(arrays[0]).dims.len();
    let lists: Vec<Vec<i64>> =
        call.operands[2 * count..].iter().map(|&list| call.sizes(list)).collect::<Result<_>>()?;
    let [sizes, strides, base_dilations, dilations, padding] = &lists[..] else {
        return Err(error!(InvalidArgument, "{} lists; want 5", lists.len()));
    };
    if lists[..4].iter().any(|list| list.len() != rank) || padding.len() != 2 * rank {
        return Err(error!(InvalidArgument, "lists of the windows do not fit the rank {rank}"));
    }
    let windows = windows_of([sizes, strides, base_dilations, dilations], padding);
    let dtypes: Vec<DType> = call.operands[..2 * count].iter().map(|&operand| call.ty(operand).dtype).collect();
    let body = super::reducers::reducer(computation(&mut call, &dtypes)?)?;
    ops::reduction::reduce_window(call.trace(), &applied(&body), arrays, inits, &windows).map(Results::from_vec)
}

/// `stablehlo.dynamic_rng_bit_generator`, whose second operand is the shape of the bits.
fn dynamic_rng_bit_generator(mut call: Call) -> Result<Results> {
    let [state, sizes] = call.exactly()?;
    let ty = TensorType { dtype: call.stated_dtype(1)?, dims: Dims::from_vec(call.sizes(sizes)?) };
    sorting::random_bits(&mut call, state, &ty)
}
