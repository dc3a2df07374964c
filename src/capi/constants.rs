//! Constants of the C header. `tests/header` writes them, with their documentation, from the families here; their
//! numbers are frozen. Those of families of operations come from the enums of `ir` and `ops`.

use crate::tensor::TensorState;
use base::error::Code;
use base::types::DType;
use ir::{
    BinaryFunction, BinaryOp, CompareOp, FftOp, Numbered, ReduceOp, ScatterOp, SpecialOp, Transposition, UnaryFunction,
    UnaryOp,
};
use ops::control::ApiVersion;
use ops::nn::ActivationOp;
use ops::random::RngAlgorithm;

/// Constants that have a prefix in common, in the header before the functions of a chapter.
pub struct Family {
    /// File of `src/capi` with the chapter.
    pub chapter: &'static str,
    /// Prefix of the names.
    pub prefix: &'static str,
    /// Title of the family: a comment line in the header.
    pub title: &'static str,
    /// The constants, ordered by number.
    pub constants: Vec<Constant>,
}

/// A constant of the header.
#[derive(Clone)]
pub struct Constant {
    /// Name without the family's prefix.
    pub name: String,
    /// Number.
    pub number: i32,
    /// Documentation, one line.
    pub about: &'static str,
}

/// All families, in the header's order.
pub fn families() -> Vec<Family> {
    let family = |chapter, prefix, title, constants| Family { chapter, prefix, title, constants };
    vec![
        family("library", "LXLA_", "Status codes. Codes 1 to 16 are those of absl and PJRT.", listed("LXLA_", STATUS)),
        family("dtypes", "LXLA_DTYPE_", "Dtypes, with the numbers of PJRT.", listed("LXLA_DTYPE_", DTYPE)),
        family("dtypes", "LXLA_KIND_", "Kinds of dtypes.", listed("LXLA_KIND_", KIND)),
        family(
            "environment",
            "LXLA_",
            "Switches in structs of options; 0 selects the default.",
            listed("LXLA_", SWITCH),
        ),
        family(
            "environment",
            "LXLA_MIXED_",
            "Policies of operations on tensors of different devices.",
            listed("LXLA_MIXED_", MIXED),
        ),
        family("device", "LXLA_DEVICE_", "Kinds of devices.", listed("LXLA_DEVICE_", DEVICE)),
        family("tensor", "LXLA_STATE_", "States of the value of a tensor.", listed("LXLA_STATE_", STATE)),
        family(
            "elementwise",
            "LXLA_UNARY_",
            "Operations of lxla_unary.",
            members(&[UnaryOp::CONSTANTS, UnaryFunction::CONSTANTS]),
        ),
        family(
            "elementwise",
            "LXLA_BINARY_",
            "Operations of lxla_binary.",
            members(&[BinaryOp::CONSTANTS, BinaryFunction::CONSTANTS]),
        ),
        family("elementwise", "LXLA_COMPARE_", "Comparisons of lxla_compare.", members(&[CompareOp::CONSTANTS])),
        family("elementwise", "LXLA_SPECIAL_", "Functions of lxla_special.", members(&[SpecialOp::CONSTANTS])),
        family(
            "indexing",
            "LXLA_SCATTER_",
            "Combinations of an update with an element.",
            members(&[ScatterOp::CONSTANTS]),
        ),
        family("reduction", "LXLA_REDUCE_", "Reductions.", members(&[ReduceOp::CONSTANTS])),
        family(
            "linalg",
            "LXLA_TRANSPOSE_",
            "Transpositions of lxla_triangular_solve.",
            members(&[Transposition::CONSTANTS]),
        ),
        family("linalg", "LXLA_FFT_", "Transforms of lxla_fft.", members(&[FftOp::CONSTANTS])),
        family("nn", "LXLA_ACTIVATION_", "Functions of lxla_activation.", members(&[ActivationOp::CONSTANTS])),
        family("random", "LXLA_RNG_", "Random bit generators.", members(&[RngAlgorithm::CONSTANTS])),
        family(
            "control",
            "LXLA_CUSTOM_CALL_",
            "Calling conventions of lxla_custom_call.",
            members(&[ApiVersion::CONSTANTS]),
        ),
        family("transform", "LXLA_CHECKPOINT_", "Checkpoint policies.", listed("LXLA_CHECKPOINT_", CHECKPOINT)),
        family("export", "LXLA_EXPORT_", "Forms of exported computations.", listed("LXLA_EXPORT_", EXPORT)),
    ]
}

/// A row of a list: name in Rust, number, documentation.
type Row = (&'static str, i32, &'static str);

/// Constants of this file: their names have the prefix.
fn listed(prefix: &str, rows: &[Row]) -> Vec<Constant> {
    let name = |name: &str| name.strip_prefix(prefix).expect("the prefix of the family").to_string();
    rows.iter().map(|&(full, number, about)| Constant { name: name(full), number, about }).collect()
}

/// Constants of enums: `ShiftLeft` is `SHIFT_LEFT`.
fn members(enums: &[&[Row]]) -> Vec<Constant> {
    let upper = |name: &str| {
        let separated = name.chars().enumerate().flat_map(|(at, letter)| {
            let separator = (at > 0 && letter.is_ascii_uppercase()).then_some('_');
            separator.into_iter().chain([letter.to_ascii_uppercase()])
        });
        separated.collect::<String>()
    };
    enums.concat().iter().map(|&(name, number, about)| Constant { name: upper(name), number, about }).collect()
}

/// Defines constants, and a list of their rows.
macro_rules! constants {
    ($list:ident, { $(#[doc = $about:literal] $name:ident = $number:expr,)* }) => {
        $(
            #[doc = $about]
            pub const $name: i32 = $number;
        )*

        const $list: &[Row] = &[$((stringify!($name), $name, $about)),*];
    };
}

constants! {
    STATUS, {
        /// Success.
        LXLA_OK = 0,
        /// The operation was cancelled.
        LXLA_CANCELLED = Code::Cancelled as i32,
        /// Unknown error.
        LXLA_UNKNOWN = Code::Unknown as i32,
        /// An argument is invalid, regardless of the state of the library.
        LXLA_INVALID_ARGUMENT = Code::InvalidArgument as i32,
        /// The operation did not complete in time.
        LXLA_DEADLINE_EXCEEDED = Code::DeadlineExceeded as i32,
        /// A requested file, name or other entity was not found.
        LXLA_NOT_FOUND = Code::NotFound as i32,
        /// The entity to be created already exists.
        LXLA_ALREADY_EXISTS = Code::AlreadyExists as i32,
        /// The caller lacks the permission for the operation.
        LXLA_PERMISSION_DENIED = Code::PermissionDenied as i32,
        /// Memory or another resource is exhausted.
        LXLA_RESOURCE_EXHAUSTED = Code::ResourceExhausted as i32,
        /// The operation is not allowed in the current state.
        LXLA_FAILED_PRECONDITION = Code::FailedPrecondition as i32,
        /// The operation was aborted.
        LXLA_ABORTED = Code::Aborted as i32,
        /// A position is outside the valid range.
        LXLA_OUT_OF_RANGE = Code::OutOfRange as i32,
        /// The operation is not implemented by the library or the plugin.
        LXLA_UNIMPLEMENTED = Code::Unimplemented as i32,
        /// Internal error of the library or the plugin.
        LXLA_INTERNAL = Code::Internal as i32,
        /// A service is currently unavailable.
        LXLA_UNAVAILABLE = Code::Unavailable as i32,
        /// Data is lost or corrupted.
        LXLA_DATA_LOSS = Code::DataLoss as i32,
        /// The caller could not be authenticated.
        LXLA_UNAUTHENTICATED = Code::Unauthenticated as i32,
        /// A handle is 0, stale, foreign or was released.
        LXLA_INVALID_HANDLE = Code::InvalidHandle as i32,
        /// A required pointer is NULL.
        LXLA_NULL_ARGUMENT = Code::NullArgument as i32,
        /// Internal error: a panic was caught at the ABI boundary.
        LXLA_PANIC = Code::Panic as i32,
        /// The process is a child of fork(); the library works in the parent only.
        LXLA_FORKED = Code::Forked as i32,
    }
}

constants! {
    SWITCH, {
        /// The option is on.
        LXLA_ON = 1,
        /// The option is off.
        LXLA_OFF = 2,
    }
}

constants! {
    MIXED, {
        /// The operation fails with INVALID_ARGUMENT.
        LXLA_MIXED_ERROR = 1,
        /// The operands are copied to the device of the operation.
        LXLA_MIXED_COPY = 2,
        /// The default: cpu tensors with one element are scalar constants; others fail.
        LXLA_MIXED_SCALAR = 3,
    }
}

constants! {
    DEVICE, {
        /// None given: cpu for new tensors; every XLA device for steps and waits.
        LXLA_DEVICE_UNSPECIFIED = 0,
        /// Host memory; operations are eager.
        LXLA_DEVICE_CPU = 1,
        /// A PJRT device; operations are lazy.
        LXLA_DEVICE_XLA = 2,
        /// A mesh, by its number in the environment; see `lxla_mesh_device`.
        LXLA_DEVICE_MESH = 3,
    }
}

constants! {
    DTYPE, {
        /// Boolean, stored as one byte, 0 or 1.
        LXLA_DTYPE_PRED = DType::Pred as i32,
        /// 8-bit signed integer.
        LXLA_DTYPE_S8 = DType::S8 as i32,
        /// 16-bit signed integer.
        LXLA_DTYPE_S16 = DType::S16 as i32,
        /// 32-bit signed integer.
        LXLA_DTYPE_S32 = DType::S32 as i32,
        /// 64-bit signed integer.
        LXLA_DTYPE_S64 = DType::S64 as i32,
        /// 8-bit unsigned integer.
        LXLA_DTYPE_U8 = DType::U8 as i32,
        /// 16-bit unsigned integer.
        LXLA_DTYPE_U16 = DType::U16 as i32,
        /// 32-bit unsigned integer.
        LXLA_DTYPE_U32 = DType::U32 as i32,
        /// 64-bit unsigned integer.
        LXLA_DTYPE_U64 = DType::U64 as i32,
        /// IEEE binary16 float.
        LXLA_DTYPE_F16 = DType::F16 as i32,
        /// IEEE binary32 float.
        LXLA_DTYPE_F32 = DType::F32 as i32,
        /// IEEE binary64 float.
        LXLA_DTYPE_F64 = DType::F64 as i32,
        /// bfloat16: 8 exponent bits, 7 mantissa bits.
        LXLA_DTYPE_BF16 = DType::BF16 as i32,
        /// Complex number of two f32.
        LXLA_DTYPE_C64 = DType::C64 as i32,
        /// Complex number of two f64.
        LXLA_DTYPE_C128 = DType::C128 as i32,
        /// 8-bit float: 5 exponent bits, 2 mantissa bits, with infinities and NaN.
        LXLA_DTYPE_F8E5M2 = DType::F8E5M2 as i32,
        /// 8-bit float: 4 exponent bits, 3 mantissa bits, with NaN, without infinities.
        LXLA_DTYPE_F8E4M3FN = DType::F8E4M3FN as i32,
        /// 8 bits: 4 of exponent (bias 11), 3 of mantissa; NaN, no infinity, no -0.
        LXLA_DTYPE_F8E4M3B11FNUZ = DType::F8E4M3B11FNUZ as i32,
        /// 8 bits: 5 of exponent (bias 16), 2 of mantissa; NaN, no infinity, no -0.
        LXLA_DTYPE_F8E5M2FNUZ = DType::F8E5M2FNUZ as i32,
        /// 8 bits: 4 of exponent (bias 8), 3 of mantissa; NaN, no infinity, no -0.
        LXLA_DTYPE_F8E4M3FNUZ = DType::F8E4M3FNUZ as i32,
        /// 4-bit signed integer. For types of 2 and 4 bits, see `lxla_dtype_size`.
        LXLA_DTYPE_S4 = DType::S4 as i32,
        /// 4-bit unsigned integer.
        LXLA_DTYPE_U4 = DType::U4 as i32,
        /// 2-bit signed integer.
        LXLA_DTYPE_S2 = DType::S2 as i32,
        /// 2-bit unsigned integer.
        LXLA_DTYPE_U2 = DType::U2 as i32,
        /// 8-bit float: 4 exponent bits, 3 mantissa bits, with infinities and NaN.
        LXLA_DTYPE_F8E4M3 = DType::F8E4M3 as i32,
        /// 8-bit float: 3 exponent bits, 4 mantissa bits, with infinities and NaN.
        LXLA_DTYPE_F8E3M4 = DType::F8E3M4 as i32,
        /// 8-bit float: 8 exponent bits, no mantissa, no sign: powers of 2, and NaN.
        LXLA_DTYPE_F8E8M0FNU = DType::F8E8M0FNU as i32,
        /// 4-bit float: 2 exponent bits, 1 mantissa bit; at most 6, no infinity, no NaN.
        LXLA_DTYPE_F4E2M1FN = DType::F4E2M1FN as i32,
    }
}

constants! {
    KIND, {
        /// Boolean.
        LXLA_KIND_PRED = 1,
        /// Signed integers.
        LXLA_KIND_SIGNED = 2,
        /// Unsigned integers.
        LXLA_KIND_UNSIGNED = 3,
        /// Floats, including those of 8 and 4 bits.
        LXLA_KIND_FLOAT = 4,
        /// Complex numbers.
        LXLA_KIND_COMPLEX = 5,
    }
}

constants! {
    STATE, {
        /// The value is recorded, and not yet computed.
        LXLA_STATE_PENDING = TensorState::Pending as i32,
        /// The value is on the device, or its computation is in flight.
        LXLA_STATE_READY = TensorState::Ready as i32,
        /// The tensor is a placeholder and has no value.
        LXLA_STATE_PLACEHOLDER = TensorState::Placeholder as i32,
        /// The value is an array in host memory (an eager tensor).
        LXLA_STATE_NATIVE = TensorState::Native as i32,
        /// The value is lost; reading it returns the error.
        LXLA_STATE_FAILED = TensorState::Failed as i32,
    }
}

constants! {
    EXPORT, {
        /// A folder: a portable artifact, the captured values, a manifest.
        LXLA_EXPORT_FOLDER = 1,
        /// A file of StableHLO text.
        LXLA_EXPORT_TEXT = 2,
        /// A file that `jax.export.deserialize` reads.
        LXLA_EXPORT_JAX = 3,
    }
}

constants! {
    CHECKPOINT, {
        /// Saves every value that the backward pass reads.
        LXLA_CHECKPOINT_SAVE_ALL = 1,
        /// Saves parameters only, and computes all else again.
        LXLA_CHECKPOINT_SAVE_NONE = 2,
        /// Saves parameters and the results of dot products and convolutions.
        LXLA_CHECKPOINT_SAVE_DOTS = 3,
        /// Saves parameters and the values with the names in `saved_names`.
        LXLA_CHECKPOINT_SAVE_NAMED = 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_whole_and_documented() {
        let families = families();
        let count = |prefix: &str| families.iter().find(|of| of.prefix == prefix).unwrap().constants.len();
        assert_eq!((count("LXLA_"), count("LXLA_DTYPE_")), (Code::ALL.len() + 1, DType::ALL.len()));
        for Family { prefix, constants, .. } in &families {
            assert!(constants.is_sorted_by(|a, b| a.number < b.number), "{prefix}");
            for Constant { name, about, .. } in constants {
                assert!(about.trim().len() > 2 && about.ends_with('.'), "{prefix}{name}: {about:?}");
            }
        }
    }
}
