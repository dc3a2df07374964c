//! The kernel of `lxla_debug_print`: writes a text with the values of its inputs to standard error.

use base::error;
use base::error::Result;
use base::types::{DType, Kind, TensorType};
use engine::host_calls::{HostCall, HostInput};
use engine::kernels::{Kernel, NewKernel};
use std::io::Write;
use std::sync::{Arc, OnceLock};

/// Place of a value in a format.
const PLACE: &str = "{}";
/// Maximum number of elements of a tensor that are written.
const MOST_ELEMENTS: usize = 100;

/// Returns the kernel.
pub fn debug_print() -> &'static Arc<Kernel> {
    static KERNEL: OnceLock<Arc<Kernel>> = OnceLock::new();
    KERNEL.get_or_init(|| {
        // The empty name cannot be registered.
        let new = NewKernel { target: "debug_print", key: b"", is_named: true, ordered: true, has_effects: true };
        Kernel::new(new, Box::new(|_: &str, call: &mut HostCall| print(call)))
    })
}

/// Returns an error unless a format has a place for each of `values` values.
pub fn check_format(format: &str, values: usize) -> Result<()> {
    let places = format.matches(PLACE).count();
    if places == values {
        return Ok(());
    }
    Err(error!(InvalidArgument, "format: it has {places} places {PLACE} for {values} tensors"))
}

fn print(call: &mut HostCall) -> Result<()> {
    let mut text = String::new();
    let mut values = call.inputs.iter();
    for (i, part) in call.text.split(PLACE).enumerate() {
        if let (1.., Some(value)) = (i, if i > 0 { values.next() } else { None }) {
            text.push_str(&written(value)?);
        }
        text.push_str(part);
    }
    text.push('\n');
    // One write, so that lines of several threads do not mix. It is not an error if standard error is closed.
    let _ = std::io::stderr().write_all(text.as_bytes());
    Ok(())
}

/// Writes an array as `[[1, 2], [3, 4]]`; one of many elements, as its type and the first ones.
fn written(input: &HostInput) -> Result<String> {
    let size = input.dtype.size_bytes();
    let count = input.bytes.len() / size;
    let elements: Vec<String> = input
        .bytes
        .chunks_exact(size)
        .take(MOST_ELEMENTS)
        .map(|bytes| element(input.dtype, bytes))
        .collect::<Result<_>>()?;
    if count > MOST_ELEMENTS {
        return Ok(format!("{} [{}, ...]", TensorType::new(input.dtype, input.dims), elements.join(", ")));
    }
    if count == 0 {
        return Ok(TensorType::new(input.dtype, input.dims).to_string());
    }
    let mut parts = elements;
    for &dim in input.dims.iter().rev() {
        parts = parts.chunks(dim as usize).map(|row| format!("[{}]", row.join(", "))).collect();
    }
    Ok(parts.remove(0))
}

fn element(dtype: DType, bytes: &[u8]) -> Result<String> {
    let array = native::Array::from_bytes(&TensorType::new(dtype, &[]), bytes)?;
    Ok(match dtype.wide().kind() {
        Kind::Pred => (bytes[0] != 0).to_string(),
        Kind::Float | Kind::Float8 => native::convert(&array, DType::F64)?.elements::<f64>()[0].to_string(),
        Kind::Signed => native::convert(&array, DType::S64)?.elements::<i64>()[0].to_string(),
        Kind::Unsigned | Kind::Subbyte => native::convert(&array, DType::U64)?.elements::<u64>()[0].to_string(),
        Kind::Complex => {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            format!("({}, {})", element(dtype.real(), re)?, element(dtype.real(), im)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_written_by_rows() {
        let text = |dtype, dims: &[i64], bytes: &[u8]| written(&HostInput { dtype, dims, bytes }).unwrap();
        let floats = [1.0f32, -2.5, f32::INFINITY, 4.0];
        assert_eq!(text(DType::F32, &[2, 2], bytemuck::cast_slice(&floats)), "[[1, -2.5], [inf, 4]]");
        assert_eq!(text(DType::Pred, &[], &[1]), "true");
        assert_eq!(text(DType::S8, &[1], &[255]), "[-1]");
        assert_eq!(text(DType::U8, &[0, 3], &[]), "u8[0,3]");
        assert_eq!(text(DType::C64, &[], bytemuck::cast_slice(&floats[..2])), "(1, -2.5)");
        assert!(text(DType::U8, &[200], &[7; 200]).ends_with("7, ...]"));
        assert!(check_format("a {} b {}", 2).is_ok() && check_format("{}", 0).is_err());
    }
}
