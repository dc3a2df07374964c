//! Tensors, by their handles: recording of operations on them, gradients of pending ones, values and metadata.

mod derivatives;
mod mixing;
mod operands;
mod record;
mod recording;
mod values;

pub use derivatives::{checkpoint_name, gradients, stop_gradient};
pub use mixing::brought;
pub use operands::numbered;
pub use record::{create, record, record_in_place, record_list, record_optional};
pub use recording::{Recorded, State, finish_all, to_record};
pub use values::*;
