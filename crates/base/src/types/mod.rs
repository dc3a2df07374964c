//! Types of tensors: dtypes, shapes, and scalars of a dtype.

mod dtype;
mod encoding;
pub mod float8;
mod lattice;
mod limits;
mod memory;
mod scalar;
mod shape;

pub use dtype::{DType, Kind};
pub use encoding::Encoding;
pub use limits::{FloatLimits, IntegerLimits, float_limits, integer_limits};
pub use memory::SharedBytes;
pub use scalar::{Scalar, ScalarValue};
pub use shape::{
    Axes, Dims, MAX_RANK, TensorType, broadcast, check_rank, count, dims_of, element_count, normalize_axis,
};
