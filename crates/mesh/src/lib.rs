//! Meshes: devices arranged along named axes, and the division of arrays among them.
//!
//! A position is the index of a device in its mesh, row-major over the axes (XLA's partition id). An ordinal is the
//! number N of a device xla:N of the engine. A [`Sharding`] lists, for each axis of a tensor, the mesh axes that split
//! it. Devices that differ only on the other mesh axes hold the same piece.
//!
//! This layer computes with names, sizes and bytes only. It has no buffers and calls no plugin.
//!
//! It uses `base`.

mod axes;
mod draw;
mod hlo;
mod named;
mod pieces;
mod placement;
mod sharding;
#[cfg(test)]
mod testing;
mod tile_text;
mod tiles;

pub use axes::MeshAxes;
pub use draw::picture;
pub use hlo::module_of_hlo_with_config;
pub use pieces::{put_piece, take_piece};
pub use placement::{Mesh, Placement};
pub use sharding::{Sharding, Split};
