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

pub const LXLA_SCATTER_COPY: i32 = 1;
pub const LXLA_SCATTER_SUM: i32 = 2;
pub const LXLA_SCATTER_PRODUCT: i32 = 3;
pub const LXLA_SCATTER_MAX: i32 = 4;
pub const LXLA_SCATTER_MIN: i32 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::ir::{BinaryOp, CompareOp, ReduceOp, ScatterOp, UnaryOp};
    use crate::types::DType;

    #[test]
    fn constants_are_the_enums_numbers() {
        assert_eq!(LXLA_RESOURCE_EXHAUSTED, Code::ResourceExhausted as i32);
        assert_eq!(LXLA_FORKED, Code::Forked as i32);
        assert_eq!(LXLA_DTYPE_C128, DType::C128 as i32);
        assert_eq!(LXLA_DTYPE_BF16, DType::BF16 as i32);
        assert_eq!(LXLA_BINARY_SHIFT_RIGHT_LOGICAL, BinaryOp::ShiftRightLogical as i32);
        assert_eq!(LXLA_BINARY_MAXIMUM, BinaryOp::Maximum as i32);
        assert_eq!(LXLA_UNARY_IS_FINITE, UnaryOp::IsFinite as i32);
        assert_eq!(LXLA_UNARY_TANH, UnaryOp::Tanh as i32);
        assert_eq!(LXLA_COMPARE_LT, CompareOp::Lt as i32);
        assert_eq!(LXLA_REDUCE_ANY, ReduceOp::Any as i32);
        assert_eq!(LXLA_SCATTER_MIN, ScatterOp::Min as i32);
    }
}
