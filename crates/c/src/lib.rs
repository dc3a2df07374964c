//! The shared library `liblazyxla.so`: exports the functions of the C API that the crate `lazyxla` defines in `capi`.

extern crate lazyxla as _;
