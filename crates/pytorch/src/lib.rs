//! Reads the archives that `torch.export.save` writes (`.pt2`), without Python: a program as a typed graph, and its
//! weights as ranges of the file. Nothing in a file is run, and all sizes that it states are checked.
//!
//! | file | contents |
//! |---|---|
//! | `archive.rs` | the entries of the zip file |
//! | `layout.rs` | where the layouts of PyTorch 2.4 to 2.15 keep program and weights; other files of PyTorch |
//! | `json.rs` | JSON with the bare infinities that PyTorch 2.6 writes |
//! | `schema.rs`, `graph.rs` | the program of an archive as JSON, read into the types of `program.rs` |
//! | `program.rs` | a program |
//! | `stored.rs` | a weight: its dtype, sizes and strides, and its bytes in the file |
//! | `weights.rs` | the configurations of weights that are raw storages |
//! | `pickle.rs` | the pickled weights of PyTorch 2.4 to 2.8: tensors, storages and dictionaries, nothing else |

mod archive;
mod error;
mod graph;
mod json;
mod layout;
mod pickle;
mod program;
mod schema;
mod stored;
#[cfg(test)]
mod tests;
mod weights;

pub use error::{Error, Result};
pub use layout::{is_archive, is_legacy_save, read};
pub use program::{
    Argument, Graph, Input, InputKind, Named, Node, Output, OutputKind, Program, Size, Symbolic, Symbols, TensorMeta,
};
pub use stored::{Element, Stored};
