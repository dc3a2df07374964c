//! Exports of the internal layers for the tests in `tests/`. Not part of the public interface: they change with the
//! library.

/// The constants of the C header.
pub mod capi {
    pub use crate::capi::constants::{Constant, Family, families};
}

/// Traced computations and what applies them.
pub mod computation {
    pub use crate::computation::{
        Computation, branch, case, reduce_window, reduce_with, scan, scatter, select_and_scatter, sort, while_loop,
    };
}

/// Devices and tensor handles.
pub mod device {
    pub use crate::device::{Device, TensorHandle, release};
}

/// The constants of a program.
pub mod emit {
    pub use crate::emit::PackedScalars;
}

/// The traits of an engine, and the engines.
pub mod engine {
    pub use crate::engine::{
        Buffer, Engine, EngineKind, EngineOptions, Executable, Execution, HostCopy, Memory, Partitions, ProgramMemory,
        ShardedBuffer, Signature, references, start,
    };
}

/// Environments.
pub mod env {
    pub use crate::env::{DeviceKind, Environment, EnvironmentOptions};
}

/// Errors.
pub mod error {
    pub use crate::error::{Code, Error, Result};
}

/// Programs of others.
pub mod import {
    pub use crate::import::{Memory, Program, Wanted, describe, import, read};
}

/// Evaluation of programs on host arrays.
pub mod interpret {
    pub use crate::interpret::run;
}

/// Operation codes, traces and programs.
pub mod ir {
    pub use crate::ir::{
        Attributes, BinaryFunction, BinaryOp, Body, CompareOp, DimensionNumbers, FftOp, GradientMemory, Instruction,
        NodeId, Op, Program, ReduceOp, Request, ScatterOp, SpecialOp, Trace, Transposition, UnaryFunction, UnaryOp,
        Window, decode, take_body, take_closed_body,
    };
}

/// Programs as StableHLO.
pub mod lower {
    pub use crate::lower::{Module, lower_body, lower_body_with_calls};
}

/// Meshes, shardings and pieces.
pub mod mesh {
    pub use crate::mesh::{Mesh, MeshAxes, Placement, Sharding, Split, take_piece};
}

/// Counters.
pub mod metrics {
    pub use crate::metrics::Counter;
}

/// Modules of MLIR.
pub mod mlir {
    pub use crate::mlir::{Module, Version, bytecode, jax_file, text};
}

/// Host arrays.
pub mod native {
    pub use crate::native::{Array, Triangle, convert, stack};
}

/// Operations.
pub mod ops {
    pub use crate::ops::{
        COMPOSED, Composed, Definition, control, creation, definition, elementwise, evaluate, indexing, linalg, mesh,
        nn, random, reduction, rules, shape, sorting,
    };
}

/// Steps, transfers and saves.
pub mod sync {
    pub use crate::sync::{
        Piece, from_host, from_host_sharded, load, mark_step, piece, read, save_async, sharding_of, step_tensors, sync,
        to_device, write,
    };
}

/// Recording of operations, values and metadata of tensors.
pub mod tensor {
    pub use crate::tensor::{
        Recorded, assign, create, numbered, placeholder, placeholder_like, record, record_in_place, record_list,
        record_optional, shard, snapshot, ty,
    };
}

/// Derivatives and batching of programs.
pub mod transform {
    pub use crate::transform::{
        Checkpoint, Differentiated, Transformer, Wanted, batched, gradients_of, jvp, pull_back, vjp, with_room,
    };
}

/// Dtypes and shapes.
pub mod types {
    pub use crate::types::{DType, Kind, Scalar, ScalarValue, SharedBytes, TensorType, integer_limits};
}
