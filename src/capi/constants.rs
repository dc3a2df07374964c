//! Constants of the C header. Their values are frozen. A test compares them with the enums of the library.
#![allow(missing_docs)]

/// Success.
pub const LXLA_OK: i32 = 0;
/// The operation was cancelled.
pub const LXLA_CANCELLED: i32 = 1;
/// Unknown error.
pub const LXLA_UNKNOWN: i32 = 2;
/// An argument is invalid, regardless of the state of the library.
pub const LXLA_INVALID_ARGUMENT: i32 = 3;
/// The operation did not complete in time.
pub const LXLA_DEADLINE_EXCEEDED: i32 = 4;
/// A requested file, name or other entity was not found.
pub const LXLA_NOT_FOUND: i32 = 5;
/// The entity to be created already exists.
pub const LXLA_ALREADY_EXISTS: i32 = 6;
/// The caller lacks the permission for the operation.
pub const LXLA_PERMISSION_DENIED: i32 = 7;
/// Memory or another resource is exhausted.
pub const LXLA_RESOURCE_EXHAUSTED: i32 = 8;
/// The operation is not allowed in the current state.
pub const LXLA_FAILED_PRECONDITION: i32 = 9;
/// The operation was aborted.
pub const LXLA_ABORTED: i32 = 10;
/// A position is outside the valid range.
pub const LXLA_OUT_OF_RANGE: i32 = 11;
/// The operation is not implemented by the library or the plugin.
pub const LXLA_UNIMPLEMENTED: i32 = 12;
/// Internal error of the library or the plugin.
pub const LXLA_INTERNAL: i32 = 13;
/// A service is currently unavailable.
pub const LXLA_UNAVAILABLE: i32 = 14;
/// Data is lost or corrupted.
pub const LXLA_DATA_LOSS: i32 = 15;
/// The caller could not be authenticated.
pub const LXLA_UNAUTHENTICATED: i32 = 16;
/// A handle is 0, stale, foreign or was released.
pub const LXLA_INVALID_HANDLE: i32 = 64;
/// A required pointer is NULL.
pub const LXLA_NULL_ARGUMENT: i32 = 65;
/// Internal error: a panic was caught at the ABI boundary.
pub const LXLA_PANIC: i32 = 66;
/// The process is a child of fork(); the library works in the parent only.
pub const LXLA_FORKED: i32 = 67;

/// No device specified: cpu for new tensors; every XLA device for steps and waits.
pub const LXLA_DEVICE_UNSPECIFIED: i32 = 0;
/// Host memory; operations are eager.
pub const LXLA_DEVICE_CPU: i32 = 1;
/// A PJRT device; operations are lazy.
pub const LXLA_DEVICE_XLA: i32 = 2;
/// A mesh, by its number in the environment; see `lxla_mesh_device`.
pub const LXLA_DEVICE_MESH: i32 = 3;

/// Boolean, stored as one byte, 0 or 1.
pub const LXLA_DTYPE_PRED: i32 = 1;
/// 8-bit signed integer.
pub const LXLA_DTYPE_S8: i32 = 2;
/// 16-bit signed integer.
pub const LXLA_DTYPE_S16: i32 = 3;
/// 32-bit signed integer.
pub const LXLA_DTYPE_S32: i32 = 4;
/// 64-bit signed integer.
pub const LXLA_DTYPE_S64: i32 = 5;
/// 8-bit unsigned integer.
pub const LXLA_DTYPE_U8: i32 = 6;
/// 16-bit unsigned integer.
pub const LXLA_DTYPE_U16: i32 = 7;
/// 32-bit unsigned integer.
pub const LXLA_DTYPE_U32: i32 = 8;
/// 64-bit unsigned integer.
pub const LXLA_DTYPE_U64: i32 = 9;
/// IEEE binary16 float.
pub const LXLA_DTYPE_F16: i32 = 10;
/// IEEE binary32 float.
pub const LXLA_DTYPE_F32: i32 = 11;
/// IEEE binary64 float.
pub const LXLA_DTYPE_F64: i32 = 12;
/// bfloat16: 8 exponent bits, 7 mantissa bits.
pub const LXLA_DTYPE_BF16: i32 = 13;
/// Complex number of two f32.
pub const LXLA_DTYPE_C64: i32 = 14;
/// Complex number of two f64.
pub const LXLA_DTYPE_C128: i32 = 15;
/// 8-bit float: 5 exponent bits, 2 mantissa bits, with infinities and NaN.
pub const LXLA_DTYPE_F8E5M2: i32 = 16;
/// 8-bit float: 4 exponent bits, 3 mantissa bits, with NaN, without infinities.
pub const LXLA_DTYPE_F8E4M3FN: i32 = 17;
/// 8-bit float: 4 exponent bits (bias 11), 3 mantissa bits, with NaN, without infinities and -0.
pub const LXLA_DTYPE_F8E4M3B11FNUZ: i32 = 18;
/// 8-bit float: 5 exponent bits (bias 16), 2 mantissa bits, with NaN, without infinities and -0.
pub const LXLA_DTYPE_F8E5M2FNUZ: i32 = 19;
/// 8-bit float: 4 exponent bits (bias 8), 3 mantissa bits, with NaN, without infinities and -0.
pub const LXLA_DTYPE_F8E4M3FNUZ: i32 = 20;
/// 8-bit float: 4 exponent bits, 3 mantissa bits, with infinities and NaN.
pub const LXLA_DTYPE_F8E4M3: i32 = 26;
/// 8-bit float: 3 exponent bits, 4 mantissa bits, with infinities and NaN.
pub const LXLA_DTYPE_F8E3M4: i32 = 27;
/// 8-bit float: 8 exponent bits, no mantissa, no sign: powers of 2, and NaN.
pub const LXLA_DTYPE_F8E8M0FNU: i32 = 28;

/// Boolean.
pub const LXLA_KIND_PRED: i32 = 1;
/// Signed integers.
pub const LXLA_KIND_SIGNED: i32 = 2;
/// Unsigned integers.
pub const LXLA_KIND_UNSIGNED: i32 = 3;
/// Floats, including 8-bit floats.
pub const LXLA_KIND_FLOAT: i32 = 4;
/// Complex numbers.
pub const LXLA_KIND_COMPLEX: i32 = 5;

/// The value is recorded, and not yet computed.
pub const LXLA_STATE_PENDING: i32 = 1;
/// The value is on the device, or its computation is in flight.
pub const LXLA_STATE_READY: i32 = 2;
/// The tensor is a placeholder and has no value.
pub const LXLA_STATE_PLACEHOLDER: i32 = 3;
/// The value is an array in host memory (an eager tensor).
pub const LXLA_STATE_NATIVE: i32 = 4;
/// The value is lost; reading it returns the error.
pub const LXLA_STATE_FAILED: i32 = 5;

/// lhs + rhs. Integers wrap.
pub const LXLA_BINARY_ADD: i32 = 1;
/// lhs - rhs. Integers wrap.
pub const LXLA_BINARY_SUBTRACT: i32 = 2;
/// lhs * rhs. Integers wrap.
pub const LXLA_BINARY_MULTIPLY: i32 = 3;
/// lhs / rhs. Integers truncate toward 0.
pub const LXLA_BINARY_DIVIDE: i32 = 4;
/// lhs - rhs * trunc(lhs / rhs), with the sign of lhs: fmod and `%` of C.
pub const LXLA_BINARY_REMAINDER: i32 = 5;
/// lhs raised to the power rhs.
pub const LXLA_BINARY_POWER: i32 = 6;
/// max(lhs, rhs); NaN if either is NaN; logical or for pred.
pub const LXLA_BINARY_MAXIMUM: i32 = 7;
/// min(lhs, rhs); NaN if either is NaN; logical and for pred.
pub const LXLA_BINARY_MINIMUM: i32 = 8;
/// atan2(lhs, rhs): angle of the point (x = rhs, y = lhs) in radians.
pub const LXLA_BINARY_ATAN2: i32 = 9;
/// lhs & rhs: bitwise for integers, logical for pred.
pub const LXLA_BINARY_AND: i32 = 10;
/// lhs | rhs: bitwise for integers, logical for pred.
pub const LXLA_BINARY_OR: i32 = 11;
/// lhs ^ rhs: bitwise for integers, logical for pred.
pub const LXLA_BINARY_XOR: i32 = 12;
/// lhs << rhs; 0 if rhs is at least the width of the dtype.
pub const LXLA_BINARY_SHIFT_LEFT: i32 = 13;
/// lhs >> rhs, filled with copies of the top bit.
pub const LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC: i32 = 14;
/// lhs >> rhs, filled with zeros; 0 if rhs is at least the width of the dtype.
pub const LXLA_BINARY_SHIFT_RIGHT_LOGICAL: i32 = 15;
/// floor(lhs / rhs).
pub const LXLA_BINARY_FLOOR_DIVIDE: i32 = 16;
/// lhs - rhs * floor(lhs / rhs), with the sign of rhs: `%` of Python.
pub const LXLA_BINARY_MODULO: i32 = 17;
/// |lhs| with the sign bit of rhs.
pub const LXLA_BINARY_COPYSIGN: i32 = 18;
/// sqrt(lhs^2 + rhs^2) without intermediate overflow.
pub const LXLA_BINARY_HYPOT: i32 = 19;
/// log(e^lhs + e^rhs) without intermediate overflow.
pub const LXLA_BINARY_LOGADDEXP: i32 = 20;
/// The next float after lhs in the direction of rhs.
pub const LXLA_BINARY_NEXT_AFTER: i32 = 21;
/// Derivative of order lhs of digamma at rhs; NaN unless lhs is an integer of at least 0 with a finite factorial.
pub const LXLA_BINARY_POLYGAMMA: i32 = 22;
/// Hurwitz zeta function: the sum of (rhs + k)^-lhs over all k >= 0.
pub const LXLA_BINARY_ZETA: i32 = 23;

/// -x.
pub const LXLA_UNARY_NEGATE: i32 = 1;
/// |x|; the magnitude for complex numbers.
pub const LXLA_UNARY_ABS: i32 = 2;
/// -1, 0 or 1 by the sign of x; x / |x| for complex numbers.
pub const LXLA_UNARY_SIGN: i32 = 3;
/// e^x.
pub const LXLA_UNARY_EXPONENTIAL: i32 = 4;
/// e^x - 1, accurate near 0.
pub const LXLA_UNARY_EXPONENTIAL_MINUS_ONE: i32 = 5;
/// Natural logarithm of x.
pub const LXLA_UNARY_LOG: i32 = 6;
/// log(1 + x), accurate near 0.
pub const LXLA_UNARY_LOG_PLUS_ONE: i32 = 7;
/// 1 / (1 + e^-x).
pub const LXLA_UNARY_LOGISTIC: i32 = 8;
/// Hyperbolic tangent of x.
pub const LXLA_UNARY_TANH: i32 = 9;
/// Square root of x.
pub const LXLA_UNARY_SQRT: i32 = 10;
/// 1 / sqrt(x).
pub const LXLA_UNARY_RSQRT: i32 = 11;
/// Cube root of x.
pub const LXLA_UNARY_CBRT: i32 = 12;
/// Sine of x, in radians.
pub const LXLA_UNARY_SINE: i32 = 13;
/// Cosine of x, in radians.
pub const LXLA_UNARY_COSINE: i32 = 14;
/// Tangent of x, in radians.
pub const LXLA_UNARY_TAN: i32 = 15;
/// Largest integer not greater than x.
pub const LXLA_UNARY_FLOOR: i32 = 16;
/// Smallest integer not less than x.
pub const LXLA_UNARY_CEIL: i32 = 17;
/// Nearest integer; ties to even.
pub const LXLA_UNARY_ROUND_NEAREST_EVEN: i32 = 18;
/// Nearest integer; ties away from 0.
pub const LXLA_UNARY_ROUND_NEAREST_AFZ: i32 = 19;
/// ~x: bitwise for integers, logical for pred.
pub const LXLA_UNARY_NOT: i32 = 20;
/// Number of bits that are 1.
pub const LXLA_UNARY_POPCNT: i32 = 21;
/// Number of leading bits that are 0.
pub const LXLA_UNARY_COUNT_LEADING_ZEROS: i32 = 22;
/// True if x is neither infinite nor NaN.
pub const LXLA_UNARY_IS_FINITE: i32 = 23;
/// True if x is NaN.
pub const LXLA_UNARY_IS_NAN: i32 = 24;
/// True if x is infinite.
pub const LXLA_UNARY_IS_INF: i32 = 25;
/// True if the sign bit of x is set.
pub const LXLA_UNARY_SIGNBIT: i32 = 26;
/// x rounded toward 0.
pub const LXLA_UNARY_TRUNC: i32 = 27;
/// Base-2 logarithm of x.
pub const LXLA_UNARY_LOG2: i32 = 28;
/// Base-10 logarithm of x.
pub const LXLA_UNARY_LOG10: i32 = 29;
/// Complex conjugate of x.
pub const LXLA_UNARY_CONJ: i32 = 30;
/// Hyperbolic sine.
pub const LXLA_UNARY_SINH: i32 = 31;
/// Hyperbolic cosine.
pub const LXLA_UNARY_COSH: i32 = 32;
/// Inverse sine, from -pi/2 to pi/2; NaN outside [-1, 1].
pub const LXLA_UNARY_ASIN: i32 = 33;
/// Inverse cosine, from 0 to pi; NaN outside [-1, 1].
pub const LXLA_UNARY_ACOS: i32 = 34;
/// Inverse tangent, from -pi/2 to pi/2.
pub const LXLA_UNARY_ATAN: i32 = 35;
/// Inverse hyperbolic sine.
pub const LXLA_UNARY_ASINH: i32 = 36;
/// Inverse hyperbolic cosine; NaN below 1.
pub const LXLA_UNARY_ACOSH: i32 = 37;
/// Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside [-1, 1].
pub const LXLA_UNARY_ATANH: i32 = 38;
/// Logarithm of the magnitude of the gamma function; infinite at 0 and negative integers.
pub const LXLA_UNARY_LGAMMA: i32 = 39;
/// Derivative of lgamma; NaN at negative integers, and infinite at 0 with the opposite sign of the zero.
pub const LXLA_UNARY_DIGAMMA: i32 = 40;
/// Inverse error function; infinite at -1 and 1, NaN outside [-1, 1].
pub const LXLA_UNARY_ERF_INV: i32 = 41;
/// e^-|x| times the modified Bessel function of the first kind of order 1.
pub const LXLA_UNARY_BESSEL_I1E: i32 = 42;
/// e^-|x| times the modified Bessel function of the first kind of order 0.
pub const LXLA_UNARY_BESSEL_I0E: i32 = 43;
/// Derivative of digamma; infinite at 0 and negative integers.
pub const LXLA_UNARY_TRIGAMMA: i32 = 44;

/// lhs == rhs.
pub const LXLA_COMPARE_EQ: i32 = 1;
/// lhs != rhs.
pub const LXLA_COMPARE_NE: i32 = 2;
/// lhs >= rhs.
pub const LXLA_COMPARE_GE: i32 = 3;
/// lhs > rhs.
pub const LXLA_COMPARE_GT: i32 = 4;
/// lhs <= rhs.
pub const LXLA_COMPARE_LE: i32 = 5;
/// lhs < rhs.
pub const LXLA_COMPARE_LT: i32 = 6;

/// Sum.
pub const LXLA_REDUCE_SUM: i32 = 1;
/// Product.
pub const LXLA_REDUCE_PRODUCT: i32 = 2;
/// Largest element.
pub const LXLA_REDUCE_MAX: i32 = 3;
/// Smallest element.
pub const LXLA_REDUCE_MIN: i32 = 4;
/// Logical and, of pred.
pub const LXLA_REDUCE_ALL: i32 = 5;
/// Logical or, of pred.
pub const LXLA_REDUCE_ANY: i32 = 6;

/// Forward transform, complex to complex.
pub const LXLA_FFT_FFT: i32 = 1;
/// Inverse transform, complex to complex.
pub const LXLA_FFT_IFFT: i32 = 2;
/// Forward transform, real to complex.
pub const LXLA_FFT_RFFT: i32 = 3;
/// Inverse transform, complex to real.
pub const LXLA_FFT_IRFFT: i32 = 4;

/// op(a) = a.
pub const LXLA_TRANSPOSE_NO_TRANSPOSE: i32 = 1;
/// op(a) = transpose of a.
pub const LXLA_TRANSPOSE_TRANSPOSE: i32 = 2;
/// op(a) = conjugate transpose of a.
pub const LXLA_TRANSPOSE_ADJOINT: i32 = 3;
/// Threefry 2x32 with 20 rounds.
pub const LXLA_RNG_THREE_FRY: i32 = 1;
/// Philox 4x32 with 10 rounds.
pub const LXLA_RNG_PHILOX: i32 = 2;

/// The target receives pointers to its buffers, and cannot report an error.
pub const LXLA_CUSTOM_CALL_ORIGINAL: i32 = 1;
/// As ORIGINAL, and the target reports a status.
pub const LXLA_CUSTOM_CALL_STATUS_RETURNING: i32 = 2;
/// As STATUS_RETURNING, with one signature for CPU and other platforms.
pub const LXLA_CUSTOM_CALL_STATUS_RETURNING_UNIFIED: i32 = 3;
/// The target receives typed buffers and attributes through XLA's foreign function interface.
pub const LXLA_CUSTOM_CALL_TYPED_FFI: i32 = 4;

/// Saves every value that the backward pass reads.
pub const LXLA_CHECKPOINT_SAVE_ALL: i32 = 1;
/// Saves parameters only, and computes all else again.
pub const LXLA_CHECKPOINT_SAVE_NONE: i32 = 2;
/// Saves parameters and the results of dot products and convolutions.
pub const LXLA_CHECKPOINT_SAVE_DOTS: i32 = 3;
/// Saves parameters and the values with the names in `saved_names`.
pub const LXLA_CHECKPOINT_SAVE_NAMED: i32 = 4;

/// max(x, 0).
pub const LXLA_ACTIVATION_RELU: i32 = 1;
/// x * Phi(x), with Phi the cumulative distribution function of the standard normal distribution.
pub const LXLA_ACTIVATION_GELU: i32 = 2;
/// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.
pub const LXLA_ACTIVATION_GELU_TANH: i32 = 3;
/// x / (1 + e^-x).
pub const LXLA_ACTIVATION_SILU: i32 = 4;
/// min(max(x, 0), 6).
pub const LXLA_ACTIVATION_RELU6: i32 = 5;
/// x if x > 0, else e^x - 1.
pub const LXLA_ACTIVATION_ELU: i32 = 6;
/// 1.0507009873554805 * (x if x > 0, else 1.6732632423543772 * (e^x - 1)).
pub const LXLA_ACTIVATION_SELU: i32 = 7;
/// log(1 + e^x).
pub const LXLA_ACTIVATION_SOFTPLUS: i32 = 8;
/// x * tanh(log(1 + e^x)).
pub const LXLA_ACTIVATION_MISH: i32 = 9;
/// -log(1 + e^-x).
pub const LXLA_ACTIVATION_LOG_SIGMOID: i32 = 10;
/// min(max(x + 3, 0), 6) / 6.
pub const LXLA_ACTIVATION_HARD_SIGMOID: i32 = 11;
/// x * min(max(x + 3, 0), 6) / 6.
pub const LXLA_ACTIVATION_HARD_SWISH: i32 = 12;

/// Error function: erf(x).
pub const LXLA_SPECIAL_ERF: i32 = 1;
/// Complementary error function: 1 - erf(x), accurate for large x.
pub const LXLA_SPECIAL_ERFC: i32 = 2;
/// Cumulative distribution function of the standard normal distribution.
pub const LXLA_SPECIAL_NORMAL_CDF: i32 = 3;
/// The update replaces the element.
pub const LXLA_SCATTER_COPY: i32 = 1;
/// The update is added to the element.
pub const LXLA_SCATTER_SUM: i32 = 2;
/// The element is multiplied by the update.
pub const LXLA_SCATTER_PRODUCT: i32 = 3;
/// The larger of element and update.
pub const LXLA_SCATTER_MAX: i32 = 4;
/// The smaller of element and update.
pub const LXLA_SCATTER_MIN: i32 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::ir::{BinaryOp, CompareOp, FftOp, ReduceOp, ScatterOp, Transposition, UnaryOp};
    use crate::ops::{ActivationOp, BinaryFunction, SpecialOp, UnaryFunction};
    use crate::ops::{ApiVersion, RngAlgorithm};
    use crate::types::DType;
    use std::collections::HashMap;

    /// All constants of this file.
    fn constants() -> HashMap<&'static str, i32> {
        let constant = |line: &'static str| {
            let (name, value) = line.strip_prefix("pub const ")?.split_once(": i32 = ")?;
            Some((name, value.strip_suffix(';')?.parse().ok()?))
        };
        include_str!("constants.rs").lines().filter_map(constant).collect()
    }

    /// Members of a numbered enum: the names that they have as constants, without the family's, and their numbers.
    macro_rules! members {
        ($($name:ident),*) => {
            [$($name::ALL.iter().map(|&member| (upper(&format!("{member:?}")), member as i32)).collect::<Vec<_>>()),*].concat()
        };
    }

    /// Writes `ShiftLeft` as `SHIFT_LEFT`.
    fn upper(name: &str) -> String {
        let is_start = |(at, letter): (usize, char)| at > 0 && letter.is_ascii_uppercase();
        name.chars().enumerate().fold(String::new(), |text, (at, letter)| {
            let separator = if is_start((at, letter)) { "_" } else { "" };
            text + separator + &letter.to_ascii_uppercase().to_string()
        })
    }

    #[test]
    fn families_of_constants_are_their_enums() {
        let constants = constants();
        let families: [(&str, Vec<(String, i32)>); 9] = [
            ("LXLA_UNARY_", members!(UnaryOp, UnaryFunction)),
            ("LXLA_BINARY_", members!(BinaryOp, BinaryFunction)),
            ("LXLA_SPECIAL_", members!(SpecialOp)),
            ("LXLA_COMPARE_", members!(CompareOp)),
            ("LXLA_REDUCE_", members!(ReduceOp)),
            ("LXLA_SCATTER_", members!(ScatterOp)),
            ("LXLA_FFT_", members!(FftOp)),
            ("LXLA_TRANSPOSE_", members!(Transposition)),
            ("LXLA_ACTIVATION_", members!(ActivationOp)),
        ];
        for (family, mut members) in families {
            let known =
                constants.iter().filter_map(|(name, &value)| Some((name.strip_prefix(family)?.to_string(), value)));
            let mut known: Vec<(String, i32)> = known.collect();
            known.sort();
            members.sort();
            assert_eq!(known, members, "{family}");
        }
    }

    #[test]
    fn constants_are_the_enums_numbers() {
        assert_eq!(LXLA_RESOURCE_EXHAUSTED, Code::ResourceExhausted as i32);
        assert_eq!(LXLA_FORKED, Code::Forked as i32);
        assert_eq!(LXLA_DTYPE_C128, DType::C128 as i32);
        assert_eq!(LXLA_DTYPE_F8E5M2, DType::F8E5M2 as i32);
        assert_eq!(LXLA_DTYPE_F8E4M3, DType::F8E4M3 as i32);
        assert_eq!(LXLA_DTYPE_F8E8M0FNU, DType::F8E8M0FNU as i32);
        assert_eq!(LXLA_DTYPE_BF16, DType::BF16 as i32);
        assert_eq!(LXLA_RNG_PHILOX, RngAlgorithm::Philox as i32);
        assert_eq!(LXLA_CUSTOM_CALL_TYPED_FFI, ApiVersion::TypedFfi as i32);
    }
}
