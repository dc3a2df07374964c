//! Extension module of the Python package `lazyxla`: the array type, and the library's functions on arrays. It calls
//! the shared library through its C ABI, as any other client does.

mod array;
mod computation;
mod device;
mod distinct;
mod dlpack;
mod dtype;
mod error;
mod executable;
mod files;
mod functions;
mod host;
mod index;
mod index_set;
mod interrupt;
mod linear;
mod masks;
mod mesh;
mod nn;
mod operators;
mod scalar;
mod signature;
mod sys;
mod texts;
mod told;
mod trace;
mod tree;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<array::Array>()?;
    module.add_class::<dtype::DType>()?;
    module.add_class::<device::Device>()?;
    module.add_class::<computation::Computation>()?;
    for (name, value) in dtype::all(module.py())? {
        module.add(name, value)?;
    }
    device::register(module)?;
    distinct::register(module)?;
    dtype::register(module)?;
    host::register(module)?;
    dlpack::register(module)?;
    functions::register(module)?;
    index_set::register(module)?;
    masks::register(module)?;
    linear::register(module)?;
    nn::register(module)?;
    files::register(module)?;
    mesh::register(module)?;
    signature::register(module)?;
    told::register(module)?;
    trace::register(module)?;
    tree::register(module)?;
    computation::register(module)?;
    executable::register(module)
}
