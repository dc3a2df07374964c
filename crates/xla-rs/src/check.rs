//! Checks the linked XLA before it is used: a build of another version may link and still compute nonsense, and the
//! crate cannot pass the compile options that keep XLA from computing wrong numbers. The environment variable
//! `LXLA_PLUGIN_CHECK` is `refuse` (the default), `warn` (log an error and use the engine) or `off`.

use crate::buffer::XlaRsBuffer;
use crate::{CRATE, Client, error, failed};
use base::error::Result;
use base::log::{Level, log};
use base::types::{DType, TensorType};
use base::variables::text as variable;
use engine::Buffer;
use std::sync::Arc;
use xla::{ElementType, PjRtLoadedExecutable, XlaBuilder, XlaOp};

/// Options that every program needs, and what XLA does without them. The crate compiles with those in `XLA_FLAGS`.
const FLAGS: [(&str, &str); 3] = [
    ("--xla_cpu_enable_fast_min_max=false", "maximum and minimum lose NaN"),
    ("--xla_allow_excess_precision=false", "16-bit intermediates are not rounded"),
    ("--xla_cpu_use_fusion_emitters=false", "several scatters in one program give wrong numbers"),
];

/// Returns FAILED_PRECONDITION unless `given`, the content of `XLA_FLAGS`, has all of [`FLAGS`].
pub(super) fn flags(given: &str) -> Result<()> {
    let mode = variable("LXLA_PLUGIN_CHECK").unwrap_or_default();
    let given: Vec<&str> = given.split_whitespace().collect();
    let Some((_, without)) = FLAGS.iter().find(|(flag, _)| !given.contains(flag)) else { return Ok(()) };
    let all = FLAGS.map(|(flag, _)| flag).join(" ");
    let text =
        format!("the engine xla-rs: XLA_FLAGS is {:?}, with which {without}; want it to have {all}", given.join(" "));
    match mode.as_str() {
        "off" => Ok(()),
        "warn" => {
            log(Level::Error, || text);
            Ok(())
        }
        _ => Err(error!(FailedPrecondition, "{text}, or LXLA_PLUGIN_CHECK=warn to use it all the same")),
    }
}

/// Sizes of the product `x[ROWS, SIZE] * w[SIZE, SIZE]`: large enough for library kernels that cache packed weights.
const ROWS: usize = 32;
const SIZE: usize = 128;

/// Runs small programs on small integers, which every device adds and multiplies exactly. Returns FAILED_PRECONDITION
/// if products of a weight that is updated in place are wrong, or the update leaves the old weight alive.
pub(super) fn run(client: &Arc<Client>) -> Result<()> {
    let wrong = |what: &str| {
        error!(
            FailedPrecondition,
            "the engine xla-rs: {what}; XLA_EXTENSION_DIR may have been of another version than {CRATE} wants"
        )
    };
    let product = compile(client, &[&[ROWS, SIZE], &[SIZE, SIZE]], false, |p| p[0].dot(&p[1]))?;
    let update = compile(client, &[&[SIZE, SIZE]], true, |p| p[0].add_(&p[0]))?;
    let x: Vec<f32> = (0..ROWS * SIZE).map(|i| ((i * 7) % 5) as f32 - 2.0).collect();
    let mut w: Vec<f32> = (0..SIZE * SIZE).map(|i| ((i * 5) % 7) as f32 - 3.0).collect();
    let x_buffer = put(client, &[ROWS, SIZE], &x)?;
    let mut weight = put(client, &[SIZE, SIZE], &w)?;
    for _ in 0..3 {
        let made = once(client, &product, &[&x_buffer, &weight], &[ROWS, SIZE])?;
        let mut got = vec![0f32; ROWS * SIZE];
        made.read(bytemuck::cast_slice_mut(&mut got))?;
        if got != times(&x, &w) {
            return Err(wrong("it computes wrong products"));
        }
        let next = once(client, &update, &[&weight], &[SIZE, SIZE])?;
        if !weight.is_lost() {
            return Err(wrong("it does not consume what is donated"));
        }
        weight = next;
        w.iter_mut().for_each(|value| *value *= 2.0);
    }
    Ok(())
}

fn f32s(dims: &[usize]) -> TensorType {
    TensorType::new(DType::F32, &dims.iter().map(|&dim| dim as i64).collect::<Vec<_>>())
}

fn put(client: &Arc<Client>, dims: &[usize], values: &[f32]) -> Result<XlaRsBuffer> {
    XlaRsBuffer::from_host(client, &f32s(dims), bytemuck::cast_slice(values))
}

/// Compiles a function with one result, which takes the memory of the first parameter if `in_place`.
fn compile(
    client: &Client,
    parameters: &[&[usize]],
    in_place: bool,
    function: impl FnOnce(&[XlaOp]) -> xla::Result<XlaOp>,
) -> Result<PjRtLoadedExecutable> {
    let builder = XlaBuilder::new("check");
    let parameter = |(number, dims): (usize, &&[usize])| {
        let dims: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
        builder.parameter(number as i64, ElementType::F32, &dims, &format!("p{number}"))
    };
    let parameters = parameters.iter().enumerate().map(parameter).collect::<xla::Result<Vec<XlaOp>>>();
    let root = parameters.and_then(|parameters| builder.tuple(&[function(&parameters)?])).map_err(failed)?;
    if in_place {
        builder.setup_alias(0, 0);
    }
    builder.build(&root).and_then(|computation| client.inner.compile(&computation)).map_err(failed)
}

fn once(
    client: &Arc<Client>,
    program: &PjRtLoadedExecutable,
    arguments: &[&XlaRsBuffer],
    dims: &[usize],
) -> Result<XlaRsBuffer> {
    let arguments: Vec<&xla::PjRtBuffer> = arguments.iter().map(|buffer| buffer.inner()).collect();
    let made = program.execute_b(&arguments).map_err(failed)?.into_iter().flatten().next();
    let made = made.ok_or_else(|| error!(Internal, "xla-rs: a program has no output"))?;
    Ok(XlaRsBuffer::new(client, made, f32s(dims)))
}

/// The exact product.
fn times(x: &[f32], w: &[f32]) -> Vec<f32> {
    let at = |i: usize| (0..SIZE).map(|k| x[i / SIZE * SIZE + k] * w[k * SIZE + i % SIZE]).sum();
    (0..ROWS * SIZE).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    #[test]
    fn flags_that_are_missing_are_named() {
        let all = FLAGS.map(|(flag, _)| flag).join("  ");
        assert!(flags(&format!("--xla_dump_to=x {all}")).is_ok());
        let refused = flags("--xla_cpu_enable_fast_min_max=false").unwrap_err();
        assert_eq!(refused.code, Code::FailedPrecondition);
        assert!(refused.message.contains("16-bit") && refused.message.contains("fusion_emitters=false"), "{refused}");
        assert!(flags("").unwrap_err().message.contains("lose NaN"));
    }
}
