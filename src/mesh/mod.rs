//! Meshes: devices arranged along named axes, and how arrays are divided among them.
//!
//! A position is the index of a device in its mesh, row-major over the axes; it is XLA's partition id. An ordinal is
//! the number N of the engine's device xla:N at a position. A [`Sharding`] says by which mesh axes each axis of a tensor
//! is split. Devices that differ only on other mesh axes hold the same piece.
//!
//! This layer computes with names, sizes and bytes only. It has no buffers and calls no plugin.

mod axes;
mod draw;
mod hlo;
mod named;
mod pieces;
mod placement;
mod proto;
mod sharding;
#[cfg(test)]
mod testing;
mod tiles;

pub use axes::MeshAxes;
pub use draw::picture;
pub use hlo::module_of_hlo_with_config;
pub use pieces::{put_piece, take_piece};
pub use placement::{Mesh, Placement};
pub use sharding::{Sharding, Split};
