//! Tensors, by their handles: recording of operations on them, gradients of pending ones, values and metadata.

mod derivatives;
mod elementwise;
mod mesh;
mod mixing;
mod operands;
mod record;
mod recording;
mod reduction;
mod values;

pub use derivatives::gradients;
pub use elementwise::{binary, binary_in_place, binary_scalar, binary_scalar_in_place, compare, select, unary};
pub use mesh::{create_on_mesh, record_collective, record_on_mesh, shard};
pub use mixing::brought;
pub use operands::numbered;
pub use record::{record, record_list, record_optional};
pub use recording::{Recorded, create, finish_all, to_record};
pub use reduction::reduce;
pub use values::{
    TensorState, assign, place, placeholder, placeholder_like, requires_grad, set_requires_grad, snapshot, state, ty,
};
