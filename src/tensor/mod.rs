//! Tensors, by their handles: recording of operations on them, gradients of pending ones, values and metadata.

mod derivatives;
mod kernels;
mod mesh;
mod mixing;
mod operands;
mod record;
mod results;
mod values;

pub use derivatives::gradients;
pub use kernels::apply_kernel;
pub use mesh::{create_on_mesh, record_collective, record_on_mesh, shard};
pub use mixing::brought;
pub use operands::numbered;
pub use record::{record, record_in_place, record_known, record_known_in_place, record_list, record_optional};
pub use results::{Locked, Recorded, create, finish_all, to_record};
pub use values::{
    TensorState, assign, place, placeholder, placeholder_like, requires_grad, set_dynamic, set_requires_grad, snapshot,
    state, ty,
};
