//! Building blocks with which operations build computations with the crate `xla`: its `XlaBuilder`, and instructions
//! that the builder lacks.

mod graph;
mod link;
mod named;
mod site;
mod steps;
mod unlinked;
mod wire;

pub use graph::{Building, Graph, apply, inline};
pub use link::Link;
pub use named::Named;
pub use site::Site;
pub use wire::Message;

pub use crate::engine::{element_type, failed};
