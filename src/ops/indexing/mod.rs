//! Reads and writes at computed indices: gather, scatter, masks, NumPy's advanced indexing.

pub mod advanced;
pub mod along;
pub mod batch;
pub mod bounds;
pub mod derivative;
pub mod dimension_numbers;
pub mod dynamic;
pub mod gather;
pub mod scatter;
pub mod scatter_derivative;
pub mod selection;
