//! Checks a plugin's results before it is used: a plugin that computes wrong numbers is rejected, because they might go
//! unnoticed in a training run. Small programs run once per combination of plugin file, processor and flags; a success
//! is remembered across processes. All values are small integers, which every device adds and multiplies exactly.
//!
//! The environment variable `LXLA_PLUGIN_CHECK` is `refuse` (the default), `warn` (log an error and use the plugin) or
//! `off`.

use super::remembered::Facts;
use crate::{Buffer, Engine, Executable, Signature, cpu, references};
use base::error;
use base::error::{Code, Error, Result};
use base::log::{Level, log};
use base::types::{DType, TensorType};
use base::variables;
use std::path::Path;
use std::sync::Arc;

/// Version of the programs below.
const VERSION: u8 = 1;

/// Sizes of the product `x[ROWS, SIZE] * w[SIZE, SIZE]`: large enough for library kernels that cache packed weights.
const ROWS: usize = 64;
const SIZE: usize = 512;

/// Computes `x * w`. The weight is only read, so that a kernel may cache it in another layout.
const PRODUCT: &str = "module @check_product { \
    func.func public @main(%x: tensor<64x512xf32>, %w: tensor<512x512xf32>) -> tensor<64x512xf32> { \
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : \
    (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32> return %y : tensor<64x512xf32> } }";

/// Computes `w + w` in place, over `w`.
const UPDATE: &str = "module @check_update { \
    func.func public @main(%w: tensor<512x512xf32> {tf.aliasing_output = 0 : i32}) -> tensor<512x512xf32> { \
    %y = stablehlo.add %w, %w : tensor<512x512xf32> return %y : tensor<512x512xf32> } }";

/// Computes products, sums along each axis, and maxima of two matrices, one of which has a NaN as its last element.
const ARITHMETIC: &str = "module @check_arithmetic { \
    func.func public @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) \
      -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) { \
    %zero = stablehlo.constant dense<0.0> : tensor<f32> \
    %product = stablehlo.multiply %a, %a : tensor<64x64xf32> \
    %rows = stablehlo.reduce(%product init: %zero) applies stablehlo.add across dimensions = [1] : \
      (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32> \
    %columns = stablehlo.reduce(%product init: %zero) applies stablehlo.add across dimensions = [0] : \
      (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32> \
    %largest = stablehlo.maximum %b, %a : tensor<64x64xf32> \
    return %product, %rows, %columns, %largest : \
      tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32> } }";

/// Runs the checks unless they are off or are known to pass. `subject` returns bytes that differ whenever the plugin or
/// its options do.
pub fn run_once(engine: &dyn Engine, path: &Path, subject: impl FnOnce() -> Result<Vec<u8>>) -> Result<()> {
    let mode = variables::text("LXLA_PLUGIN_CHECK").unwrap_or_default();
    if mode == "off" {
        return Ok(());
    }
    // The subject has the hash of the plugin's file, which is not needed if nothing can be remembered.
    let known = Facts::of_user().and_then(|facts| Some((facts, name_of(&subject().ok()?))));
    if let Some((facts, name)) = &known
        && facts.get(name).is_some()
    {
        return Ok(());
    }
    match run(engine) {
        Ok(()) => known.iter().for_each(|(facts, name)| facts.put(name, b"passed")),
        Err(error) if error.code != Code::DataLoss => {
            // A program that cannot be compiled or run produces no wrong numbers; actual programs will report the
            // error.
            log(Level::Warning, || format!("plugin {}: its numbers could not be checked: {error}", path.display()));
        }
        Err(error) => {
            let text = format!("plugin {}: it computes wrong numbers here: {}", path.display(), error.message);
            if mode != "warn" {
                let way_out = "use another plugin, or set LXLA_PLUGIN_CHECK=warn to use this one all the same";
                return Err(Error::new(Code::FailedPrecondition, format!("{text}; {way_out}")));
            }
            log(Level::Error, || text);
        }
    }
    Ok(())
}

fn name_of(subject: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[VERSION]).update(cpu::features().as_bytes()).update(&[0]).update(subject);
    format!("check-{}", &hasher.finalize().to_hex()[..32])
}

/// Runs all checks. Returns DATA_LOSS if a number is wrong, and another error if the checks could not be run.
fn run(engine: &dyn Engine) -> Result<()> {
    check_arithmetic(engine)?;
    check_products_of_changing_weights(engine)
}

fn f32s(dims: &[usize]) -> TensorType {
    TensorType::new(DType::F32, &dims.iter().map(|&dim| dim as i64).collect::<Vec<_>>())
}

fn compile(
    engine: &dyn Engine,
    text: &str,
    parameters: &[TensorType],
    outputs: &[TensorType],
    donors: &[usize],
) -> Result<Arc<dyn Executable>> {
    let (parameters, outputs, donors) = (parameters.to_vec(), outputs.to_vec(), donors.to_vec());
    let signature = Signature { parameters, outputs, donors, partitions: None };
    engine.compile(text, signature, &())
}

fn put(engine: &dyn Engine, dims: &[usize], values: &[f32]) -> Result<Arc<dyn Buffer>> {
    engine.transfer_to_device(0, &f32s(dims), bytemuck::cast_slice(values))
}

/// Returns DATA_LOSS with the first element that differs from `want`.
fn compare(about: &str, buffer: &dyn Buffer, want: &[f32]) -> Result<()> {
    let mut got = vec![0f32; want.len()];
    buffer.read(bytemuck::cast_slice_mut(&mut got))?;
    let same = |(got, want): (&f32, &f32)| got == want || got.is_nan() && want.is_nan();
    match got.iter().zip(want).position(|pair| !same(pair)) {
        None => Ok(()),
        Some(i) => Err(error!(DataLoss, "{about}: element {i} of {} is {}, want {}", want.len(), got[i], want[i])),
    }
}

fn check_arithmetic(engine: &dyn Engine) -> Result<()> {
    const N: usize = 64;
    let (matrix, vector) = (f32s(&[N, N]), f32s(&[N]));
    let outputs = [matrix.clone(), vector.clone(), vector, matrix.clone()];
    let executable = compile(engine, ARITHMETIC, &[matrix.clone(), matrix], &outputs, &[])?;
    let a: Vec<f32> = (0..N * N).map(|i| ((i * 7) % 11) as f32 - 5.0).collect();
    let mut b: Vec<f32> = (0..N * N).map(|i| ((i * 5) % 13) as f32 - 6.0).collect();
    b[N * N - 1] = f32::NAN;
    let inputs = [put(engine, &[N, N], &a)?, put(engine, &[N, N], &b)?];
    let run = executable.execute(0, &references(&inputs), &[])?;
    let product: Vec<f32> = a.iter().map(|a| a * a).collect();
    let rows: Vec<f32> = product.chunks(N).map(|row| row.iter().sum()).collect();
    let columns: Vec<f32> = (0..N).map(|j| product.iter().skip(j).step_by(N).sum()).collect();
    let largest: Vec<f32> = a.iter().zip(&b).map(|(a, b)| if b.is_nan() { f32::NAN } else { a.max(*b) }).collect();
    compare("multiply of f32[64,64]", &*run.outputs[0], &product)?;
    compare("sum of f32[64,64] over axis 1", &*run.outputs[1], &rows)?;
    compare("sum of f32[64,64] over axis 0", &*run.outputs[2], &columns)?;
    compare("maximum of f32[64,64] with a NaN", &*run.outputs[3], &largest)
}

/// Multiplies with a weight, then with the weight after in-place updates, then with new weights at addresses that were
/// just freed. A plugin that identifies packed weights by address returns the first product again.
fn check_products_of_changing_weights(engine: &dyn Engine) -> Result<()> {
    let (left, right) = (f32s(&[ROWS, SIZE]), f32s(&[SIZE, SIZE]));
    let product = compile(engine, PRODUCT, &[left.clone(), right.clone()], &[left], &[])?;
    let update = compile(engine, UPDATE, std::slice::from_ref(&right), std::slice::from_ref(&right), &[0])?;
    let x: Vec<f32> = (0..ROWS * SIZE).map(|i| x_at(i / SIZE, i % SIZE) as f32).collect();
    let w: Vec<f32> = (0..SIZE * SIZE).map(|i| w_at(i / SIZE, i % SIZE) as f32).collect();
    let want = expected_product();
    let x = put(engine, &[ROWS, SIZE], &x)?;
    let scaled = |values: &[f32], factor: f32| values.iter().map(|value| value * factor).collect::<Vec<f32>>();
    let compare_product = |about: &str, weight: &Arc<dyn Buffer>, factor: f32| {
        let run = product.execute(0, &[&*x, &**weight], &[])?;
        compare(about, &*run.outputs[0], &scaled(&want, factor))
    };
    let mut weight = put(engine, &[SIZE, SIZE], &w)?;
    compare_product("f32[64,512] times f32[512,512]", &weight, 1.0)?;
    for factor in [2.0, 4.0] {
        weight = update.execute(0, &[&*weight], &[])?.outputs.remove(0);
        compare_product("f32[64,512] times f32[512,512] after an update in place", &weight, factor)?;
    }
    for factor in [3.0, 5.0] {
        drop(weight);
        weight = put(engine, &[SIZE, SIZE], &scaled(&w, factor))?;
        compare_product("f32[64,512] times f32[512,512] that was freed and made again", &weight, factor)?;
    }
    Ok(())
}

fn x_at(row: usize, k: usize) -> i32 {
    ((row * 7 + k * 3) % 5) as i32 - 2
}

fn w_at(k: usize, column: usize) -> i32 {
    ((k * 5 + column * 11) % 7) as i32 - 3
}

/// The exact product. It depends only on the row modulo 5 and the column modulo 7.
fn expected_product() -> Vec<f32> {
    let at = |row: usize, column: usize| (0..SIZE).map(|k| x_at(row, k) * w_at(k, column)).sum::<i32>() as f32;
    let period: Vec<Vec<f32>> = (0..5).map(|row| (0..7).map(|column| at(row, column)).collect()).collect();
    (0..ROWS * SIZE).map(|i| period[i / SIZE % 5][i % SIZE % 7]).collect()
}
