//! The constants of the header. Their numbers are frozen.
//! A test compares them with the enums that they stand for.
#![allow(missing_docs)]

/// Success.
pub const LXLA_OK: i32 = 0;
/// The operation was cancelled.
pub const LXLA_CANCELLED: i32 = 1;
/// An error of unknown kind.
pub const LXLA_UNKNOWN: i32 = 2;
/// An argument is wrong, whatever the state of things.
pub const LXLA_INVALID_ARGUMENT: i32 = 3;
/// It took too long.
pub const LXLA_DEADLINE_EXCEEDED: i32 = 4;
/// What was named is not there.
pub const LXLA_NOT_FOUND: i32 = 5;
/// What was to be made is there already.
pub const LXLA_ALREADY_EXISTS: i32 = 6;
/// It is not allowed.
pub const LXLA_PERMISSION_DENIED: i32 = 7;
/// Memory or another resource ran out.
pub const LXLA_RESOURCE_EXHAUSTED: i32 = 8;
/// The state of things does not allow it.
pub const LXLA_FAILED_PRECONDITION: i32 = 9;
/// It was given up.
pub const LXLA_ABORTED: i32 = 10;
/// A position is outside its range.
pub const LXLA_OUT_OF_RANGE: i32 = 11;
/// It is not implemented, here or in the plugin.
pub const LXLA_UNIMPLEMENTED: i32 = 12;
/// A defect of the library or the plugin.
pub const LXLA_INTERNAL: i32 = 13;
/// A service is not there now.
pub const LXLA_UNAVAILABLE: i32 = 14;
/// Data is lost or damaged.
pub const LXLA_DATA_LOSS: i32 = 15;
/// Who asks is not known.
pub const LXLA_UNAUTHENTICATED: i32 = 16;
/// A handle is 0, stale, foreign, or was released.
pub const LXLA_INVALID_HANDLE: i32 = 64;
/// A pointer is NULL that may not be.
pub const LXLA_NULL_ARGUMENT: i32 = 65;
/// A defect of the library was caught at its boundary.
pub const LXLA_PANIC: i32 = 66;
/// The process was forked; the library works in the parent only.
pub const LXLA_FORKED: i32 = 67;

/// No device named.
pub const LXLA_DEVICE_UNSPECIFIED: i32 = 0;
/// Native host memory; operations run at once.
pub const LXLA_DEVICE_CPU: i32 = 1;
/// A PJRT device; operations are recorded.
pub const LXLA_DEVICE_XLA: i32 = 2;

pub const LXLA_DTYPE_PRED: i32 = 1;
pub const LXLA_DTYPE_S8: i32 = 2;
pub const LXLA_DTYPE_S16: i32 = 3;
pub const LXLA_DTYPE_S32: i32 = 4;
pub const LXLA_DTYPE_S64: i32 = 5;
pub const LXLA_DTYPE_U8: i32 = 6;
pub const LXLA_DTYPE_U16: i32 = 7;
pub const LXLA_DTYPE_U32: i32 = 8;
pub const LXLA_DTYPE_U64: i32 = 9;
pub const LXLA_DTYPE_F16: i32 = 10;
pub const LXLA_DTYPE_F32: i32 = 11;
pub const LXLA_DTYPE_F64: i32 = 12;
pub const LXLA_DTYPE_BF16: i32 = 13;
pub const LXLA_DTYPE_C64: i32 = 14;
pub const LXLA_DTYPE_C128: i32 = 15;
pub const LXLA_DTYPE_F8E5M2: i32 = 16;
pub const LXLA_DTYPE_F8E4M3FN: i32 = 17;
pub const LXLA_DTYPE_F8E4M3B11FNUZ: i32 = 18;
pub const LXLA_DTYPE_F8E5M2FNUZ: i32 = 19;
pub const LXLA_DTYPE_F8E4M3FNUZ: i32 = 20;
pub const LXLA_DTYPE_F8E4M3: i32 = 26;
pub const LXLA_DTYPE_F8E3M4: i32 = 27;
pub const LXLA_DTYPE_F8E8M0FNU: i32 = 28;

/// True or false.
pub const LXLA_KIND_PRED: i32 = 1;
/// Signed integers.
pub const LXLA_KIND_SIGNED: i32 = 2;
/// Unsigned integers.
pub const LXLA_KIND_UNSIGNED: i32 = 3;
/// Floats, those of 8 bits among them.
pub const LXLA_KIND_FLOAT: i32 = 4;
/// Complex numbers.
pub const LXLA_KIND_COMPLEX: i32 = 5;

/// Recorded, not run.
pub const LXLA_STATE_PENDING: i32 = 1;
/// It has its value, or a run that makes it is under way.
pub const LXLA_STATE_READY: i32 = 2;
/// It has no value and stands for one.
pub const LXLA_STATE_PLACEHOLDER: i32 = 3;
/// An array in host memory.
pub const LXLA_STATE_NATIVE: i32 = 4;
/// Its value is lost; reading it says why.
pub const LXLA_STATE_FAILED: i32 = 5;

pub const LXLA_BINARY_ADD: i32 = 1;
pub const LXLA_BINARY_SUBTRACT: i32 = 2;
pub const LXLA_BINARY_MULTIPLY: i32 = 3;
pub const LXLA_BINARY_DIVIDE: i32 = 4;
pub const LXLA_BINARY_REMAINDER: i32 = 5;
pub const LXLA_BINARY_POWER: i32 = 6;
pub const LXLA_BINARY_MAXIMUM: i32 = 7;
pub const LXLA_BINARY_MINIMUM: i32 = 8;
pub const LXLA_BINARY_ATAN2: i32 = 9;
pub const LXLA_BINARY_AND: i32 = 10;
pub const LXLA_BINARY_OR: i32 = 11;
pub const LXLA_BINARY_XOR: i32 = 12;
pub const LXLA_BINARY_SHIFT_LEFT: i32 = 13;
pub const LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC: i32 = 14;
pub const LXLA_BINARY_SHIFT_RIGHT_LOGICAL: i32 = 15;
/// The quotient, rounded down.
pub const LXLA_BINARY_FLOOR_DIVIDE: i32 = 16;
/// Remainder of FLOOR_DIVIDE; it has the divisor's sign.
pub const LXLA_BINARY_MODULO: i32 = 17;
pub const LXLA_BINARY_COPYSIGN: i32 = 18;
pub const LXLA_BINARY_HYPOT: i32 = 19;
/// log(e^lhs + e^rhs).
pub const LXLA_BINARY_LOGADDEXP: i32 = 20;

pub const LXLA_UNARY_NEGATE: i32 = 1;
pub const LXLA_UNARY_ABS: i32 = 2;
pub const LXLA_UNARY_SIGN: i32 = 3;
pub const LXLA_UNARY_EXPONENTIAL: i32 = 4;
pub const LXLA_UNARY_EXPONENTIAL_MINUS_ONE: i32 = 5;
pub const LXLA_UNARY_LOG: i32 = 6;
pub const LXLA_UNARY_LOG_PLUS_ONE: i32 = 7;
pub const LXLA_UNARY_LOGISTIC: i32 = 8;
pub const LXLA_UNARY_TANH: i32 = 9;
pub const LXLA_UNARY_SQRT: i32 = 10;
pub const LXLA_UNARY_RSQRT: i32 = 11;
pub const LXLA_UNARY_CBRT: i32 = 12;
pub const LXLA_UNARY_SINE: i32 = 13;
pub const LXLA_UNARY_COSINE: i32 = 14;
pub const LXLA_UNARY_TAN: i32 = 15;
pub const LXLA_UNARY_FLOOR: i32 = 16;
pub const LXLA_UNARY_CEIL: i32 = 17;
pub const LXLA_UNARY_ROUND_NEAREST_EVEN: i32 = 18;
pub const LXLA_UNARY_ROUND_NEAREST_AFZ: i32 = 19;
pub const LXLA_UNARY_NOT: i32 = 20;
pub const LXLA_UNARY_POPCNT: i32 = 21;
pub const LXLA_UNARY_COUNT_LEADING_ZEROS: i32 = 22;
pub const LXLA_UNARY_IS_FINITE: i32 = 23;
pub const LXLA_UNARY_IS_NAN: i32 = 24;
pub const LXLA_UNARY_IS_INF: i32 = 25;
pub const LXLA_UNARY_SIGNBIT: i32 = 26;
/// The integer next to it on the side of 0.
pub const LXLA_UNARY_TRUNC: i32 = 27;
pub const LXLA_UNARY_LOG2: i32 = 28;
pub const LXLA_UNARY_LOG10: i32 = 29;
/// The complex conjugate.
pub const LXLA_UNARY_CONJ: i32 = 30;

pub const LXLA_COMPARE_EQ: i32 = 1;
pub const LXLA_COMPARE_NE: i32 = 2;
pub const LXLA_COMPARE_GE: i32 = 3;
pub const LXLA_COMPARE_GT: i32 = 4;
pub const LXLA_COMPARE_LE: i32 = 5;
pub const LXLA_COMPARE_LT: i32 = 6;

pub const LXLA_REDUCE_SUM: i32 = 1;
pub const LXLA_REDUCE_PRODUCT: i32 = 2;
pub const LXLA_REDUCE_MAX: i32 = 3;
pub const LXLA_REDUCE_MIN: i32 = 4;
pub const LXLA_REDUCE_ALL: i32 = 5;
pub const LXLA_REDUCE_ANY: i32 = 6;

/// Of complex numbers.
pub const LXLA_FFT_FFT: i32 = 1;
/// The inverse of FFT.
pub const LXLA_FFT_IFFT: i32 = 2;
/// Of reals.
pub const LXLA_FFT_RFFT: i32 = 3;
/// The inverse of RFFT.
pub const LXLA_FFT_IRFFT: i32 = 4;

/// The matrix as it is.
pub const LXLA_TRANSPOSE_NO_TRANSPOSE: i32 = 1;
/// Transposed.
pub const LXLA_TRANSPOSE_TRANSPOSE: i32 = 2;
/// Transposed and conjugated.
pub const LXLA_TRANSPOSE_ADJOINT: i32 = 3;
/// Threefry 2x32, of 20 rounds.
pub const LXLA_RNG_THREE_FRY: i32 = 1;
/// Philox 4x32, of 10 rounds.
pub const LXLA_RNG_PHILOX: i32 = 2;

/// The target gets pointers to its data, and cannot fail.
pub const LXLA_CUSTOM_CALL_ORIGINAL: i32 = 1;
/// It says whether it failed.
pub const LXLA_CUSTOM_CALL_STATUS_RETURNING: i32 = 2;
/// The same, with one signature for CPUs and others.
pub const LXLA_CUSTOM_CALL_STATUS_RETURNING_UNIFIED: i32 = 3;
/// It gets typed buffers and attributes: XLA's foreign function interface.
pub const LXLA_CUSTOM_CALL_TYPED_FFI: i32 = 4;
pub const LXLA_ACTIVATION_RELU: i32 = 1;
pub const LXLA_ACTIVATION_GELU: i32 = 2;
pub const LXLA_ACTIVATION_GELU_TANH: i32 = 3;
pub const LXLA_ACTIVATION_SILU: i32 = 4;
pub const LXLA_ACTIVATION_RELU6: i32 = 5;
pub const LXLA_ACTIVATION_ELU: i32 = 6;
pub const LXLA_ACTIVATION_SELU: i32 = 7;
pub const LXLA_ACTIVATION_SOFTPLUS: i32 = 8;
pub const LXLA_ACTIVATION_MISH: i32 = 9;
pub const LXLA_ACTIVATION_LOG_SIGMOID: i32 = 10;
pub const LXLA_ACTIVATION_HARD_SIGMOID: i32 = 11;
pub const LXLA_ACTIVATION_HARD_SWISH: i32 = 12;

/// The error function.
pub const LXLA_SPECIAL_ERF: i32 = 1;
/// 1 less the error function.
pub const LXLA_SPECIAL_ERFC: i32 = 2;
pub const LXLA_SCATTER_COPY: i32 = 1;
pub const LXLA_SCATTER_SUM: i32 = 2;
pub const LXLA_SCATTER_PRODUCT: i32 = 3;
pub const LXLA_SCATTER_MAX: i32 = 4;
pub const LXLA_SCATTER_MIN: i32 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::ir::{BinaryOp, CompareOp, FftOp, ReduceOp, ScatterOp, Transposition, UnaryOp};
    use crate::ops::{ActivationOp, BinaryFunction, SpecialOp, UnaryFunction};
    use crate::ops::{ApiVersion, RngAlgorithm};
    use crate::types::DType;

    #[test]
    fn constants_are_the_enums_numbers() {
        assert_eq!(LXLA_RESOURCE_EXHAUSTED, Code::ResourceExhausted as i32);
        assert_eq!(LXLA_FORKED, Code::Forked as i32);
        assert_eq!(LXLA_DTYPE_C128, DType::C128 as i32);
        assert_eq!(LXLA_DTYPE_F8E5M2, DType::F8E5M2 as i32);
        assert_eq!(LXLA_DTYPE_F8E4M3, DType::F8E4M3 as i32);
        assert_eq!(LXLA_DTYPE_F8E8M0FNU, DType::F8E8M0FNU as i32);
        assert_eq!(LXLA_DTYPE_BF16, DType::BF16 as i32);
        assert_eq!(LXLA_BINARY_SHIFT_RIGHT_LOGICAL, BinaryOp::ShiftRightLogical as i32);
        assert_eq!(LXLA_BINARY_MAXIMUM, BinaryOp::Maximum as i32);
        assert_eq!(LXLA_UNARY_IS_FINITE, UnaryOp::IsFinite as i32);
        assert_eq!(LXLA_UNARY_IS_NAN, UnaryFunction::IsNan as i32);
        assert_eq!(LXLA_UNARY_CONJ, UnaryFunction::Conj as i32);
        assert_eq!(LXLA_BINARY_FLOOR_DIVIDE, BinaryFunction::FloorDivide as i32);
        assert_eq!(LXLA_BINARY_LOGADDEXP, BinaryFunction::Logaddexp as i32);
        assert_eq!(LXLA_UNARY_TANH, UnaryOp::Tanh as i32);
        assert_eq!(LXLA_COMPARE_LT, CompareOp::Lt as i32);
        assert_eq!(LXLA_REDUCE_ANY, ReduceOp::Any as i32);
        assert_eq!(LXLA_FFT_IRFFT, FftOp::Irfft as i32);
        assert_eq!(LXLA_TRANSPOSE_ADJOINT, Transposition::Adjoint as i32);
        assert_eq!(LXLA_RNG_PHILOX, RngAlgorithm::Philox as i32);
        assert_eq!(LXLA_CUSTOM_CALL_TYPED_FFI, ApiVersion::TypedFfi as i32);
        assert_eq!(LXLA_ACTIVATION_SILU, ActivationOp::Silu as i32);
        assert_eq!(LXLA_ACTIVATION_HARD_SWISH, ActivationOp::HardSwish as i32);
        assert_eq!(LXLA_SPECIAL_ERFC, SpecialOp::Erfc as i32);
        assert_eq!(LXLA_SCATTER_MIN, ScatterOp::Min as i32);
    }
}
