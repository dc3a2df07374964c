//! What an action needs on its way: tensors that end with it, and small computations.

use lazyxla::computation::Computation;
use lazyxla::device::{self, Device, TensorHandle};
use lazyxla::error::Result;
use lazyxla::tensor;
use lazyxla::types::{DType, ScalarValue, TensorType};

/// Tensors that end with this.
#[derive(Default)]
pub struct Scratch(Vec<TensorHandle>);

impl Scratch {
    pub fn keep(&mut self, tensor: TensorHandle) -> TensorHandle {
        self.0.push(tensor);
        tensor
    }

    /// One number, without axes.
    pub fn scalar(&mut self, device: &'static Device, dtype: DType, value: i64) -> Result<TensorHandle> {
        self.value(device, dtype, ScalarValue::Signed(value))
    }

    /// The same of any value.
    pub fn value(&mut self, device: &'static Device, dtype: DType, value: ScalarValue) -> Result<TensorHandle> {
        Ok(self.keep(tensor::full(device, &TensorType::new(dtype, &[]), value)?))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for &tensor in &self.0 {
            let _ = device::release(tensor);
        }
    }
}

/// What one result of a computation is, of its parameters.
pub type Recorded<'a> = &'a dyn Fn(&[TensorHandle]) -> Result<TensorHandle>;

/// A computation of parameters of these types.
pub fn traced(device: &'static Device, parameters: &[TensorType], results: &[Recorded]) -> Result<Computation> {
    let mut scratch = Scratch::default();
    let mut given = Vec::new();
    for ty in parameters {
        given.push(scratch.keep(tensor::placeholder(device, ty.clone(), false)?));
    }
    let mut made = Vec::new();
    for result in results {
        made.push(scratch.keep(result(&given)?));
    }
    Computation::trace(&given, &made)
}

/// The same of two scalars of a dtype.
pub fn of_two_scalars(
    device: &'static Device,
    dtype: DType,
    result: impl Fn(TensorHandle, TensorHandle) -> Result<TensorHandle>,
) -> Result<Computation> {
    let scalar = TensorType::new(dtype, &[]);
    traced(device, &[scalar.clone(), scalar], &[&|p| result(p[0], p[1])])
}
