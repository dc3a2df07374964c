//! Helpers of actions: temporary tensors and small computations.

use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use lazyxla::computation::Computation;
use lazyxla::device::{self, Device, TensorHandle};
use lazyxla::tensor;
use ops::creation;

/// Tensors that are released on drop.
#[derive(Default)]
pub struct Scratch(Vec<TensorHandle>);

impl Scratch {
    pub fn keep(&mut self, tensor: TensorHandle) -> TensorHandle {
        self.0.push(tensor);
        tensor
    }

    /// Creates a scalar from an integer.
    pub fn scalar(&mut self, device: &'static Device, dtype: DType, value: i64) -> Result<TensorHandle> {
        self.value(device, dtype, ScalarValue::Signed(value))
    }

    /// Creates a scalar from any value.
    pub fn value(&mut self, device: &'static Device, dtype: DType, value: ScalarValue) -> Result<TensorHandle> {
        Ok(self.keep(tensor::create(device, |t| creation::full(t, &TensorType::new(dtype, &[]), value))?))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for &tensor in &self.0 {
            let _ = device::release(tensor);
        }
    }
}

/// Records one result of a computation from its parameters.
pub type Recorded<'a> = &'a dyn Fn(&[TensorHandle]) -> Result<TensorHandle>;

/// Traces a computation of parameters of these types.
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

/// Traces a computation of two scalars of a dtype.
pub fn of_two_scalars(
    device: &'static Device,
    dtype: DType,
    result: impl Fn(TensorHandle, TensorHandle) -> Result<TensorHandle>,
) -> Result<Computation> {
    let scalar = TensorType::new(dtype, &[]);
    traced(device, &[scalar.clone(), scalar], &[&|p| result(p[0], p[1])])
}
