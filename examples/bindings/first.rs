//! README.md's first program in Rust: a tensor that is updated in place a hundred times, by one compiled program.
use lazyxla::*;

fn main() -> Result<()> {
    let (env, device) = (Env::NULL, sys::lxla_device { kind: DEVICE_XLA, ordinal: 0 });
    let start: Vec<u8> = [1f32, 2., 3.].iter().flat_map(|x| x.to_ne_bytes()).collect();
    let x = tensor_from_host(&env, device, DTYPE_F32, &[3], &start)?;
    for _ in 0..100 {
        binary_scalar_inplace(BINARY_MULTIPLY, &x, 0.5)?;
        binary_scalar_inplace(BINARY_ADD, &x, 1.)?;
        mark_step(&env, device, false)?;
    }
    let old = tensor_snapshot(&x)?;
    binary_scalar_inplace(BINARY_MULTIPLY, &x, 100.)?;
    let mut bytes = [0; 12];
    tensor_read(&binary(BINARY_SUBTRACT, &x, &old)?, &mut bytes)?;
    let values: Vec<String> = bytes.chunks(4).map(|x| f32::from_ne_bytes(x.try_into().unwrap()).to_string()).collect();
    println!("{}", values.join(" "));
    Ok(())
}
