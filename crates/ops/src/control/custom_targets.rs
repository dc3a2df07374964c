//! Custom call targets that belong to XLA. XLA's passes rewrite and expand these, and assume that XLA itself made the
//! calls: unexpected operands, results or settings crash the process (a failed CHECK, an access out of bounds). They
//! are refused, except for those whose signatures are checked here.

use base::error;
use base::error::{Result, quoted};
use base::types::{DType, TensorType};

/// Targets known to XLA's passes: exact names here, prefixes in `OWN_PREFIXES`. Taken from XLA's sources and from
/// strings in the plugins; they include passes for devices other than CPUs, since a plugin may have those.
const OWN: [&str; 28] = [
    "AggregateToTopK", "AllocateBuffer", "ApproxTopK", "CreateBuffer", "InspectSharding", "LayoutConstraint",
    "LuDecomposition", "MoveToDevice", "MoveToHost", "PadToStatic", "PartialReduce", "Pin", "PinToDevice",
    "PinToDeviceSram", "ResizeBilinear", "ResizeBilinearGrad", "ResizeNearest", "ResizeNearestGrad", "SetBound",
    "SetDimensionSize", "SliceToDynamic", "TopK", "TopKUnique", "Unpin", "X64Combine", "annotate_device_placement",
    "inspect_sharding", "shape_assertion",
];
/// Targets that match `OWN_PREFIXES`, but that XLA offers to frontends: a Triton kernel, whose module is its backend
/// configuration.
const OFFERED: [&str; 1] = ["__gpu$xla.gpu.triton"];
const OWN_PREFIXES: [&str; 9] = ["__", "SPMD", "X64", "chlo.", "mhlo.", "sdy.", "stablehlo.", "vhlo.", "xla."];

/// Returns an error for a target that belongs to XLA, unless it is callable and its operands and results match XLA's
/// signature.
pub fn check(target: &str, operands: &[TensorType], results: &[TensorType]) -> Result<()> {
    let fits = match target {
        "Sharding" => matches!((operands, results), ([x], [y]) if x == y),
        "Qr" => is_qr(operands, results),
        "Eigh" => is_eigh(operands, results),
        "ProductOfElementaryHouseholderReflectors" => is_product(operands, results),
        _ if OFFERED.contains(&target) => return Ok(()),
        _ if OWN.contains(&target) || OWN_PREFIXES.iter().any(|prefix| target.starts_with(prefix)) => {
            return Err(error!(InvalidArgument, "target: {target} is internal to XLA and cannot be called"));
        }
        _ => return Ok(()),
    };
    if fits {
        return Ok(());
    }
    let wanted = match target {
        "Sharding" => "one operand, and one result of its type",
        "Qr" => "f32 or f64 [..., m, n]; gives the same and [..., min(m, n)]",
        "Eigh" => "f32 or f64 [..., n, n]; gives the same and [..., n]",
        _ => "f32 or f64 [..., m, n] with n at most m and [..., k] with k at most n; gives the first's type",
    };
    let listed = |types: &[TensorType]| types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(", ");
    Err(error!(
        InvalidArgument,
        "target: {target} takes {wanted}; operands are {}, results {}",
        listed(operands),
        listed(results)
    ))
}

/// Returns an error for a configuration with which XLA's expansion of the target fails or ends the process. `text` is
/// the configuration of the calling conventions with `api_version` 1 to 3, or None for the dictionary `given` of the
/// typed FFI. The others of XLA's targets do not read theirs.
pub fn check_config(target: &str, text: Option<&str>, given: &str, operands: &[TensorType]) -> Result<()> {
    let wanted = match target {
        "Eigh" if !text.is_some_and(is_eigh_config) => {
            "\"LOWER,SORT,ITERATIONS,TOLERANCE\", such as \"1,1,100,1e-6\", with api_version 1 to 3"
        }
        "Sharding" if !text.map_or_else(|| is_empty_dictionary(given), |text| is_sharding_config(text, operands)) => {
            "none, or \"unspecified_dims=[0,1]\" of the operand's axes with api_version 1 to 3"
        }
        _ => return Ok(()),
    };
    let with = if text.is_none() { " with api_version 4" } else { "" };
    Err(error!(InvalidArgument, "backend_config: {} given{with}; {target} takes {wanted}", quoted(given)))
}

/// Whether a text is Eigh's configuration: two flags, the maximum number of sweeps, and the tolerance.
fn is_eigh_config(text: &str) -> bool {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [lower, sort, sweeps, tolerance] = fields[..] else { return false };
    let is_flag = |field: &str| matches!(field, "0" | "1");
    is_flag(lower)
        && is_flag(sort)
        && sweeps.parse::<i32>().is_ok_and(|sweeps| sweeps >= 0)
        && tolerance.parse::<f32>().is_ok_and(|tolerance| tolerance.is_finite() && tolerance >= 0.0)
}

/// Whether a text is empty or lists axes of the operand whose sharding is left open.
fn is_sharding_config(text: &str, operands: &[TensorType]) -> bool {
    let rank = operands.first().map_or(0, |x| x.dims.len());
    let axes = text.strip_prefix("unspecified_dims=[").and_then(|rest| rest.strip_suffix(']'));
    let is_axis = |axis: &str| axis.trim().parse::<usize>().is_ok_and(|axis| axis < rank);
    text.is_empty() || axes.is_some_and(|axes| axes.split(',').all(is_axis))
}

/// Whether a configuration of the typed FFI has no entries.
pub fn is_empty_dictionary(config: &str) -> bool {
    let config = config.trim();
    let inside = config.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    config.is_empty() || inside.is_some_and(|inside| inside.trim().is_empty())
}

/// Batch dims, rows and columns of a batch of f32 or f64 matrices; None for other types and if there are no elements.
fn matrices(ty: &TensorType) -> Option<(&[i64], i64, i64)> {
    let is_float = matches!(ty.dtype, DType::F32 | DType::F64);
    match &ty.dims[..] {
        [batch @ .., rows, columns] if is_float && ty.elements() > 0 => Some((batch, *rows, *columns)),
        _ => None,
    }
}

/// True if `ty` is a vector of `length` elements for each matrix of the batch.
fn is_vectors(ty: &TensorType, of: &TensorType, batch: &[i64], length: i64) -> bool {
    ty.dtype == of.dtype && ty.dims[..] == [batch, &[length]].concat()
}

fn is_qr(operands: &[TensorType], results: &[TensorType]) -> bool {
    let ([x], [packed, taus]) = (operands, results) else { return false };
    matrices(x).is_some_and(|(batch, m, n)| packed == x && is_vectors(taus, x, batch, m.min(n)))
}

fn is_eigh(operands: &[TensorType], results: &[TensorType]) -> bool {
    let ([x], [vectors, values]) = (operands, results) else { return false };
    matrices(x).is_some_and(|(batch, m, n)| m == n && vectors == x && is_vectors(values, x, batch, n))
}

fn is_product(operands: &[TensorType], results: &[TensorType]) -> bool {
    let ([x, taus], [q]) = (operands, results) else { return false };
    let length = taus.dims.last().copied().unwrap_or(0);
    matrices(x).is_some_and(|(batch, m, n)| {
        n <= m && (1..=n).contains(&length) && q == x && is_vectors(taus, x, batch, length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(target: &str, operands: &[TensorType], results: &[TensorType]) -> Result<()> {
        check(target, operands, results)
    }

    #[test]
    fn xlas_own_are_refused_by_name_and_others_are_the_plugins_affair() {
        let x = [TensorType::new(DType::F32, &[4])];
        for target in ["TopK", "__onednn$matmul", "xla.sdy.FuncResultSharding", "SPMDFullToShardShape", "mhlo.topk"] {
            let e = checked(target, &x, &x).unwrap_err();
            assert!(e.message.contains(target), "{e}");
        }
        for target in ["lapack_sgetrf_ffi", "my_target", "Topk", "_x", "__gpu$xla.gpu.triton"] {
            checked(target, &x, &x).unwrap();
        }
    }

    #[test]
    fn decompositions_take_what_they_are_for() {
        let ty = TensorType::new;
        let (tall, wide, square) = (ty(DType::F32, &[5, 3, 2]), ty(DType::F32, &[2, 3]), ty(DType::F64, &[3, 3]));
        let ok = |target, operands: &[TensorType], results: &[TensorType]| checked(target, operands, results).is_ok();
        assert!(ok("Qr", std::slice::from_ref(&tall), &[tall.clone(), ty(DType::F32, &[5, 2])]));
        assert!(ok("Qr", std::slice::from_ref(&wide), &[wide.clone(), ty(DType::F32, &[2])]));
        assert!(!ok("Qr", std::slice::from_ref(&wide), &[wide.clone(), ty(DType::F32, &[3])]));
        assert!(!ok("Qr", std::slice::from_ref(&wide), std::slice::from_ref(&wide)));
        assert!(!ok("Qr", &[ty(DType::S32, &[2, 2])], &[ty(DType::S32, &[2, 2]), ty(DType::S32, &[2])]));
        assert!(!ok("Qr", &[ty(DType::F32, &[0, 2])], &[ty(DType::F32, &[0, 2]), ty(DType::F32, &[0])]));
        assert!(ok("Eigh", std::slice::from_ref(&square), &[square.clone(), ty(DType::F64, &[3])]));
        assert!(!ok("Eigh", std::slice::from_ref(&wide), &[wide.clone(), ty(DType::F32, &[3])]));
        let reflectors = "ProductOfElementaryHouseholderReflectors";
        assert!(ok(reflectors, &[tall.clone(), ty(DType::F32, &[5, 2])], std::slice::from_ref(&tall)));
        assert!(!ok(reflectors, &[wide.clone(), ty(DType::F32, &[2])], std::slice::from_ref(&wide)));
        assert!(!ok(reflectors, std::slice::from_ref(&tall), std::slice::from_ref(&tall)));
        assert!(ok("Sharding", std::slice::from_ref(&square), std::slice::from_ref(&square)));
        assert!(!ok("Sharding", &[square.clone(), square.clone()], &[square]));
    }

    #[test]
    fn configurations_are_checked() {
        let x = [TensorType::new(DType::F32, &[3, 3])];
        let ok = |target, text: Option<&str>, given: &str| check_config(target, text, given, &x).is_ok();
        let text = |target, config: &str| ok(target, Some(config), config);
        for config in ["1,1,100,1e-6", "0,0,0,0", " 1 , 1 ,15, .5", "1,0,2147483647,1e-30"] {
            assert!(text("Eigh", config), "{config}");
            assert!(!ok("Eigh", None, config), "{config}");
        }
        for config in [
            "", "1,100,1e-6", "1,1,100,1e-6,", "2,1,100,1e-6", "1,-1,100,1e-6", "1,1,-1,1e-6", "1,1,2147483648,1e-6",
            "1,1,1e2,1e-6", "1,1,100,nan", "1,1,100,inf", "1,1,100,1e39", "1,1,100,-1", "1,1,100,1e-6f",
            "true,true,100,1e-6",
        ] {
            assert!(!text("Eigh", config), "{config}");
        }
        for config in ["", "unspecified_dims=[0]", "unspecified_dims=[1, 0]"] {
            assert!(text("Sharding", config), "{config}");
        }
        for config in [
            "x", "unspecified_dims=", "unspecified_dims=[]", "unspecified_dims=[2]", "unspecified_dims=[-1]",
            "unspecified_dims=[0];", "{}",
        ] {
            assert!(!text("Sharding", config), "{config}");
        }
        assert!(ok("Sharding", None, "") && ok("Sharding", None, " { } ") && !ok("Sharding", None, "{a = 1 : i64}"));
        assert!(text("Qr", "anything") && text("my_target", "anything"));
        let message = check_config("Eigh", None, "", &x).unwrap_err().message.to_string();
        assert!(message.starts_with("backend_config: \"\" given with api_version 4; Eigh takes"), "{message}");
    }
}
