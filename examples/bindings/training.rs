//! Linear regression in Rust: the gradient of a traced loss, steps that update the weights in place, an error.
use lazyxla::*;

const ROWS: usize = 8;
const DEVICE: sys::lxla_device = sys::lxla_device { kind: DEVICE_XLA, ordinal: 0 };
const ENV: Env = Env::NULL;

fn tensor(dims: &[i64], values: &[f32]) -> Result<Tensor> {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
    tensor_from_host(&ENV, DEVICE, DTYPE_F32, dims, &bytes)
}

fn values(x: &Tensor) -> Result<Vec<f32>> {
    let (_, rank, dims) = tensor_info(x, 64)?;
    let mut bytes = vec![0; 4 * dims[..rank].iter().product::<i64>() as usize];
    tensor_read(x, &mut bytes)?;
    Ok(bytes.chunks(4).map(|x| f32::from_ne_bytes(x.try_into().unwrap())).collect())
}

/// Traces the mean square of x w - target as a function of w, x and target.
fn loss_of(x: &Tensor, target: &Tensor, weights: &Tensor) -> Result<Computation> {
    let [w, x, target] = [weights, x, target].map(tensor_placeholder_like);
    let (w, x, target) = (w?, x?, target?);
    let error = binary(BINARY_SUBTRACT, &matmul(&x, &w)?, &target)?;
    let loss = mean(&binary(BINARY_MULTIPLY, &error, &error)?, None, false)?;
    computation_trace(&[&w, &x, &target], &[&loss])
}

fn main() -> Result<()> {
    let points: Vec<f32> = (0..ROWS).map(|i| i as f32 / ROWS as f32).collect();
    let x = tensor(&[ROWS as i64, 2], &points.iter().flat_map(|p| [1., *p]).collect::<Vec<f32>>())?;
    let target = tensor(&[ROWS as i64, 1], &points.iter().map(|p| 3. - 2. * p).collect::<Vec<f32>>())?;
    let weights = tensor(&[2, 1], &[0., 0.])?;
    let options = sys::lxla_vjp_options { wrt: &0, n_wrt: 1, ..Default::default() };
    let step = computation_value_and_grad(&loss_of(&x, &target, &weights)?, Some(&options))?;
    let (mut first, mut last) = (f32::NAN, f32::NAN);
    for i in 0..400 {
        let results = computation_call(&step, &[&weights, &x, &target], 2)?;
        binary_inplace(BINARY_SUBTRACT, &weights, &binary_scalar(BINARY_MULTIPLY, &results[1], 0.5)?)?;
        mark_step(&ENV, DEVICE, false)?;
        last = values(&results[0])?[0];
        first = if i == 0 { last } else { first };
    }
    let learned = values(&weights)?;
    println!("loss {first} to {last:.1e}; weights {:.3} {:.3}", learned[0], learned[1]);
    assert!(last < 1e-6 && (learned[0] - 3.).abs() < 1e-3 && (learned[1] + 2.).abs() < 2e-3);

    let error = binary(BINARY_ADD, &x, &tensor(&[3], &[1., 2., 3.])?).unwrap_err();
    assert!(error.status == INVALID_ARGUMENT && error.message.contains("lxla_binary"), "{error}");
    let error = gather(&x, &target, &sys::lxla_gather_options::default()).unwrap_err();
    assert_eq!(error.status, INVALID_ARGUMENT, "{error}");
    let error = roll(&x, &[1, 2], &[0]).unwrap_err();
    assert_eq!(error.message, "INVALID_ARGUMENT: shifts, axes: different lengths");
    // C reads as many elements as another list says.
    let (dtypes, ranks) = ([DTYPE_F32, DTYPE_F32], [2, 1]);
    let error = custom_call("target", &[&x], &dtypes, &ranks, &[8, 2], None).unwrap_err();
    assert_eq!(error.message, "INVALID_ARGUMENT: dims: 2 elements given; want 3, the sum of ranks");
    let error = kernel_apply(&ENV, "target", &[&x], &dtypes, &ranks, &[8, 2, 1, 1], None).unwrap_err();
    assert_eq!(error.message, "INVALID_ARGUMENT: dims: 4 elements given; want 3, the sum of ranks");
    let error = custom_call("target", &[&x], &dtypes, &[usize::MAX, 4], &[8, 2, 1], None).unwrap_err();
    assert_eq!((error.status, error.message.contains("dims: 3 elements given")), (INVALID_ARGUMENT, true), "{error}");
    let error = mesh_create(&ENV, &["x", "y"], &[2, 2], Some(&[0, 1])).unwrap_err();
    assert_eq!(error.message, "INVALID_ARGUMENT: ordinals: 2 elements given; want 4, the product of axis_sizes");
    let error = mesh_create(&ENV, &["x", "y"], &[i64::MAX, i64::MAX], Some(&[0])).unwrap_err();
    assert_eq!(
        (error.status, error.message.contains("ordinals: 1 elements given")),
        (INVALID_ARGUMENT, true),
        "{error}"
    );
    let error = kernel_apply(&ENV, "target", &[&x], &dtypes, &ranks, &[8, 2, 1], None).unwrap_err();
    assert_eq!(error.status, NOT_FOUND, "{error}");
    let error = collective_permute(&x, "x", &[0, 1, 2]).unwrap_err();
    assert_eq!(error.message, "INVALID_ARGUMENT: pairs: 3 elements given; want a multiple of 2");
    mesh_create(&ENV, &["x"], &[1], Some(&[0]))?;
    mesh_create(&ENV, &["x"], &[1], None)?;
    assert_eq!(reduce(REDUCE_SUM, &x, Some(&[]), false).and_then(|x| tensor_rank(&x))?, 2);
    assert!(stablehlo(&[&binary(BINARY_ADD, &x, &x)?])?.contains("stablehlo.add"));
    Ok(())
}
