// Types of the constants of lazyxla.h. Written by `make header`; do not edit.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
//
// With lazyxla.hpp, a constant such as LXLA_DTYPE_F32 has the type of its family. It converts to int32_t, as functions
// of lazyxla.h take it, and the functions of the wrapper take it in its own place only.
#ifndef LAZYXLA_CONSTANTS_HPP
#define LAZYXLA_CONSTANTS_HPP

#include "../lazyxla.h"

namespace lazyxla {

/// Dtypes, with the numbers of PJRT.
enum Dtype : int32_t {
  DTYPE_PRED = 1,  ///< Boolean, stored as one byte, 0 or 1.
  DTYPE_S8 = 2,  ///< 8-bit signed integer.
  DTYPE_S16 = 3,  ///< 16-bit signed integer.
  DTYPE_S32 = 4,  ///< 32-bit signed integer.
  DTYPE_S64 = 5,  ///< 64-bit signed integer.
  DTYPE_U8 = 6,  ///< 8-bit unsigned integer.
  DTYPE_U16 = 7,  ///< 16-bit unsigned integer.
  DTYPE_U32 = 8,  ///< 32-bit unsigned integer.
  DTYPE_U64 = 9,  ///< 64-bit unsigned integer.
  DTYPE_F16 = 10,  ///< IEEE binary16 float.
  DTYPE_F32 = 11,  ///< IEEE binary32 float.
  DTYPE_F64 = 12,  ///< IEEE binary64 float.
  DTYPE_BF16 = 13,  ///< bfloat16: 8 exponent bits, 7 mantissa bits.
  DTYPE_C64 = 14,  ///< Complex number of two f32.
  DTYPE_C128 = 15,  ///< Complex number of two f64.
  DTYPE_F8E5M2 = 16,  ///< 8-bit float: 5 exponent bits, 2 mantissa bits, with infinities and NaN.
  DTYPE_F8E4M3FN = 17,  ///< 8-bit float: 4 exponent bits, 3 mantissa bits, with NaN, without infinities.
  DTYPE_F8E4M3B11FNUZ = 18,  ///< 8 bits: 4 of exponent (bias 11), 3 of mantissa; NaN, no infinity, no -0.
  DTYPE_F8E5M2FNUZ = 19,  ///< 8 bits: 5 of exponent (bias 16), 2 of mantissa; NaN, no infinity, no -0.
  DTYPE_F8E4M3FNUZ = 20,  ///< 8 bits: 4 of exponent (bias 8), 3 of mantissa; NaN, no infinity, no -0.
  DTYPE_S4 = 21,  ///< 4-bit signed integer. For types of 2 and 4 bits, see `lxla_dtype_size`.
  DTYPE_U4 = 22,  ///< 4-bit unsigned integer.
  DTYPE_S2 = 24,  ///< 2-bit signed integer.
  DTYPE_U2 = 25,  ///< 2-bit unsigned integer.
  DTYPE_F8E4M3 = 26,  ///< 8-bit float: 4 exponent bits, 3 mantissa bits, with infinities and NaN.
  DTYPE_F8E3M4 = 27,  ///< 8-bit float: 3 exponent bits, 4 mantissa bits, with infinities and NaN.
  DTYPE_F8E8M0FNU = 28,  ///< 8-bit float: 8 exponent bits, no mantissa, no sign: powers of 2, and NaN.
  DTYPE_F4E2M1FN = 29,  ///< 4-bit float: 2 exponent bits, 1 mantissa bit; at most 6, no infinity, no NaN.
};

/// Kinds of dtypes.
enum DtypeKind : int32_t {
  KIND_PRED = 1,  ///< Boolean.
  KIND_SIGNED = 2,  ///< Signed integers.
  KIND_UNSIGNED = 3,  ///< Unsigned integers.
  KIND_FLOAT = 4,  ///< Floats, including those of 8 and 4 bits.
  KIND_COMPLEX = 5,  ///< Complex numbers.
};

/// Policies of operations on tensors of different devices.
enum MixedDevicePolicy : int32_t {
  MIXED_ERROR = 1,  ///< The operation fails with INVALID_ARGUMENT.
  MIXED_COPY = 2,  ///< The operands are copied to the device of the operation.
  MIXED_SCALAR = 3,  ///< The default: cpu tensors with one element are scalar constants; others fail.
};

/// Kinds of devices.
enum DeviceKind : int32_t {
  DEVICE_UNSPECIFIED = 0,  ///< None given: cpu for new tensors; every XLA device for steps and waits.
  DEVICE_CPU = 1,  ///< Host memory; operations are eager.
  DEVICE_XLA = 2,  ///< A PJRT device; operations are lazy.
  DEVICE_MESH = 3,  ///< A mesh, by its number in the environment; see `lxla_mesh_device`.
};

/// States of the value of a tensor.
enum State : int32_t {
  STATE_PENDING = 1,  ///< The value is recorded, and not yet computed.
  STATE_READY = 2,  ///< The value is on the device, or its computation is in flight.
  STATE_PLACEHOLDER = 3,  ///< The tensor is a placeholder and has no value.
  STATE_NATIVE = 4,  ///< The value is an array in host memory (an eager tensor).
  STATE_FAILED = 5,  ///< The value is lost; reading it returns the error.
};

/// Operations of lxla_unary.
enum UnaryOp : int32_t {
  UNARY_NEGATE = 1,  ///< -x.
  UNARY_ABS = 2,  ///< |x|; the magnitude for complex numbers.
  UNARY_SIGN = 3,  ///< -1, 0 or 1 by the sign of x; x / |x| for complex numbers.
  UNARY_EXPONENTIAL = 4,  ///< e^x.
  UNARY_EXPONENTIAL_MINUS_ONE = 5,  ///< e^x - 1, accurate near 0.
  UNARY_LOG = 6,  ///< Natural logarithm of x.
  UNARY_LOG_PLUS_ONE = 7,  ///< log(1 + x), accurate near 0.
  UNARY_LOGISTIC = 8,  ///< 1 / (1 + e^-x).
  UNARY_TANH = 9,  ///< Hyperbolic tangent of x.
  UNARY_SQRT = 10,  ///< Square root of x.
  UNARY_RSQRT = 11,  ///< 1 / sqrt(x).
  UNARY_CBRT = 12,  ///< Cube root of x.
  UNARY_SINE = 13,  ///< Sine of x, in radians.
  UNARY_COSINE = 14,  ///< Cosine of x, in radians.
  UNARY_TAN = 15,  ///< Tangent of x, in radians.
  UNARY_FLOOR = 16,  ///< Largest integer not greater than x.
  UNARY_CEIL = 17,  ///< Smallest integer not less than x.
  UNARY_ROUND_NEAREST_EVEN = 18,  ///< Nearest integer; ties to even.
  UNARY_ROUND_NEAREST_AFZ = 19,  ///< Nearest integer; ties away from 0.
  UNARY_NOT = 20,  ///< ~x: bitwise for integers, logical for pred.
  UNARY_POPCNT = 21,  ///< Number of bits that are 1.
  UNARY_COUNT_LEADING_ZEROS = 22,  ///< Number of leading bits that are 0.
  UNARY_IS_FINITE = 23,  ///< True if x is neither infinite nor NaN.
  UNARY_IS_NAN = 24,  ///< True if x is NaN.
  UNARY_IS_INF = 25,  ///< True if x is infinite.
  UNARY_SIGNBIT = 26,  ///< True if the sign bit of x is set.
  UNARY_TRUNC = 27,  ///< x rounded toward 0.
  UNARY_LOG2 = 28,  ///< Base-2 logarithm of x.
  UNARY_LOG10 = 29,  ///< Base-10 logarithm of x.
  UNARY_CONJ = 30,  ///< Complex conjugate of x.
  UNARY_SINH = 31,  ///< Hyperbolic sine.
  UNARY_COSH = 32,  ///< Hyperbolic cosine.
  UNARY_ASIN = 33,  ///< Inverse sine; for reals from -pi/2 to pi/2, NaN outside [-1, 1].
  UNARY_ACOS = 34,  ///< Inverse cosine; for reals from 0 to pi, NaN outside [-1, 1].
  UNARY_ATAN = 35,  ///< Inverse tangent; for reals from -pi/2 to pi/2.
  UNARY_ASINH = 36,  ///< Inverse hyperbolic sine.
  UNARY_ACOSH = 37,  ///< Inverse hyperbolic cosine; for reals below 1 NaN.
  UNARY_ATANH = 38,  ///< Inverse hyperbolic tangent; infinite at -1 and 1, for reals beyond them NaN.
  UNARY_LGAMMA = 39,  ///< Logarithm of |gamma(x)|; infinite at 0 and negative integers.
  UNARY_DIGAMMA = 40,  ///< Derivative of lgamma; NaN at negative integers, -infinity at 0, infinity at -0.
  UNARY_ERF_INV = 41,  ///< Inverse error function; infinite at -1 and 1, NaN outside [-1, 1].
  UNARY_BESSEL_I1E = 42,  ///< e^-|x| times the modified Bessel function of the first kind of order 1.
  UNARY_BESSEL_I0E = 43,  ///< e^-|x| times the modified Bessel function of the first kind of order 0.
  UNARY_TRIGAMMA = 44,  ///< Derivative of digamma; infinite at 0 and negative integers.
  UNARY_BESSEL_J0 = 45,  ///< Bessel function of the first kind of order 0.
  UNARY_BESSEL_J1 = 46,  ///< Bessel function of the first kind of order 1.
  UNARY_BESSEL_Y0 = 47,  ///< Bessel function of the second kind of order 0; -infinity at 0, NaN below.
  UNARY_BESSEL_Y1 = 48,  ///< Bessel function of the second kind of order 1; -infinity at 0, NaN below.
  UNARY_BESSEL_K0 = 49,  ///< Modified Bessel function of the second kind of order 0; NaN for negative x.
  UNARY_BESSEL_K1 = 50,  ///< Modified Bessel function of the second kind of order 1; NaN for negative x.
  UNARY_BESSEL_K0E = 51,  ///< e^x times the modified Bessel function of the second kind of order 0.
  UNARY_BESSEL_K1E = 52,  ///< e^x times the modified Bessel function of the second kind of order 1.
  UNARY_AIRY_AI = 53,  ///< Airy function Ai, the solution of y'' = x y that falls for large x.
  UNARY_AIRY_AI_PRIME = 54,  ///< Derivative of the Airy function Ai.
  UNARY_AIRY_BI = 55,  ///< Airy function Bi, the solution of y'' = x y that grows for large x.
  UNARY_AIRY_BI_PRIME = 56,  ///< Derivative of the Airy function Bi.
};

/// Operations of lxla_binary.
enum BinaryOp : int32_t {
  BINARY_ADD = 1,  ///< lhs + rhs. Integers wrap.
  BINARY_SUBTRACT = 2,  ///< lhs - rhs. Integers wrap.
  BINARY_MULTIPLY = 3,  ///< lhs * rhs. Integers wrap.
  BINARY_DIVIDE = 4,  ///< lhs / rhs. Integers truncate toward 0.
  BINARY_REMAINDER = 5,  ///< lhs - rhs * trunc(lhs / rhs), with the sign of lhs: fmod and `%` of C.
  BINARY_POWER = 6,  ///< lhs raised to the power rhs.
  BINARY_MAXIMUM = 7,  ///< max(lhs, rhs); NaN if either is NaN; logical or for pred.
  BINARY_MINIMUM = 8,  ///< min(lhs, rhs); NaN if either is NaN; logical and for pred.
  BINARY_ATAN2 = 9,  ///< atan2(lhs, rhs): angle of the point (x = rhs, y = lhs) in radians.
  BINARY_AND = 10,  ///< lhs & rhs: bitwise for integers, logical for pred.
  BINARY_OR = 11,  ///< lhs | rhs: bitwise for integers, logical for pred.
  BINARY_XOR = 12,  ///< lhs ^ rhs: bitwise for integers, logical for pred.
  BINARY_SHIFT_LEFT = 13,  ///< lhs << rhs; 0 if rhs is at least the width of the dtype.
  BINARY_SHIFT_RIGHT_ARITHMETIC = 14,  ///< lhs >> rhs, filled with copies of the top bit.
  BINARY_SHIFT_RIGHT_LOGICAL = 15,  ///< lhs >> rhs, filled with zeros; 0 if rhs >= the width of the dtype.
  BINARY_FLOOR_DIVIDE = 16,  ///< floor(lhs / rhs).
  BINARY_MODULO = 17,  ///< lhs - rhs * floor(lhs / rhs), with the sign of rhs: `%` of Python.
  BINARY_COPYSIGN = 18,  ///< |lhs| with the sign bit of rhs.
  BINARY_HYPOT = 19,  ///< sqrt(lhs^2 + rhs^2) without intermediate overflow.
  BINARY_LOGADDEXP = 20,  ///< log(e^lhs + e^rhs) without intermediate overflow.
  BINARY_NEXT_AFTER = 21,  ///< The next float after lhs in the direction of rhs.
  BINARY_POLYGAMMA = 22,  ///< Derivative of order lhs of digamma at rhs.
  BINARY_ZETA = 23,  ///< Hurwitz zeta function: the sum of (rhs + k)^-lhs over all k >= 0.
  BINARY_IGAMMA = 24,  ///< Regularized lower incomplete gamma function P(a = lhs, x = rhs).
  BINARY_IGAMMAC = 25,  ///< Regularized upper incomplete gamma function Q(a = lhs, x = rhs), 1 - P.
  BINARY_IGAMMA_GRAD_A = 26,  ///< Derivative of P(a = lhs, x = rhs) by a.
};

/// Comparisons of lxla_compare.
enum CompareOp : int32_t {
  COMPARE_EQ = 1,  ///< lhs == rhs.
  COMPARE_NE = 2,  ///< lhs != rhs.
  COMPARE_GE = 3,  ///< lhs >= rhs.
  COMPARE_GT = 4,  ///< lhs > rhs.
  COMPARE_LE = 5,  ///< lhs <= rhs.
  COMPARE_LT = 6,  ///< lhs < rhs.
};

/// Functions of lxla_special.
enum SpecialOp : int32_t {
  SPECIAL_ERF = 1,  ///< Error function: erf(x).
  SPECIAL_ERFC = 2,  ///< Complementary error function: 1 - erf(x), accurate for large x.
  SPECIAL_NORMAL_CDF = 3,  ///< Cumulative distribution function of the standard normal distribution.
  SPECIAL_ERFCX = 4,  ///< Scaled complementary error function: e^(x^2) (1 - erf(x)).
};

/// Combinations of an update with an element.
enum ScatterOp : int32_t {
  SCATTER_COPY = 1,  ///< The update replaces the element.
  SCATTER_SUM = 2,  ///< The update is added to the element.
  SCATTER_PRODUCT = 3,  ///< The element is multiplied by the update.
  SCATTER_MAX = 4,  ///< The larger of element and update.
  SCATTER_MIN = 5,  ///< The smaller of element and update.
};

/// Reductions.
enum ReduceOp : int32_t {
  REDUCE_SUM = 1,  ///< Sum.
  REDUCE_PRODUCT = 2,  ///< Product.
  REDUCE_MAX = 3,  ///< Largest element.
  REDUCE_MIN = 4,  ///< Smallest element.
  REDUCE_ALL = 5,  ///< Logical and, of pred.
  REDUCE_ANY = 6,  ///< Logical or, of pred.
};

/// Transpositions of lxla_triangular_solve.
enum Transposition : int32_t {
  TRANSPOSE_NO_TRANSPOSE = 1,  ///< op(a) = a.
  TRANSPOSE_TRANSPOSE = 2,  ///< op(a) = transpose of a.
  TRANSPOSE_ADJOINT = 3,  ///< op(a) = conjugate transpose of a.
};

/// Transforms of lxla_fft.
enum FftOp : int32_t {
  FFT_FFT = 1,  ///< Forward transform, complex to complex.
  FFT_IFFT = 2,  ///< Inverse transform, complex to complex.
  FFT_RFFT = 3,  ///< Forward transform, real to complex.
  FFT_IRFFT = 4,  ///< Inverse transform, complex to real.
};

/// Functions of lxla_activation.
enum ActivationOp : int32_t {
  ACTIVATION_RELU = 1,  ///< max(x, 0).
  ACTIVATION_GELU = 2,  ///< x * Phi(x), with Phi the cumulative standard normal distribution.
  ACTIVATION_GELU_TANH = 3,  ///< x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.
  ACTIVATION_SILU = 4,  ///< x / (1 + e^-x).
  ACTIVATION_RELU6 = 5,  ///< min(max(x, 0), 6).
  ACTIVATION_ELU = 6,  ///< x if x > 0, else e^x - 1.
  ACTIVATION_SELU = 7,  ///< 1.0507009873554805 * (x if x > 0, else 1.6732632423543772 * (e^x - 1)).
  ACTIVATION_SOFTPLUS = 8,  ///< log(1 + e^x).
  ACTIVATION_MISH = 9,  ///< x * tanh(log(1 + e^x)).
  ACTIVATION_LOG_SIGMOID = 10,  ///< -log(1 + e^-x).
  ACTIVATION_HARD_SIGMOID = 11,  ///< min(max(x + 3, 0), 6) / 6.
  ACTIVATION_HARD_SWISH = 12,  ///< x * min(max(x + 3, 0), 6) / 6.
};

/// Random bit generators.
enum RngAlgorithm : int32_t {
  RNG_THREE_FRY = 1,  ///< Threefry 2x32 with 20 rounds.
  RNG_PHILOX = 2,  ///< Philox 4x32 with 10 rounds.
};

/// Calling conventions of lxla_custom_call.
enum CustomCallVersion : int32_t {
  CUSTOM_CALL_ORIGINAL = 1,  ///< The target receives pointers to its buffers, and cannot report an error.
  CUSTOM_CALL_STATUS_RETURNING = 2,  ///< As ORIGINAL, and the target reports a status.
  CUSTOM_CALL_STATUS_RETURNING_UNIFIED = 3,  ///< As STATUS_RETURNING, with one signature for all platforms.
  CUSTOM_CALL_TYPED_FFI = 4,  ///< Typed buffers and attributes, through XLA's foreign function interface.
};

/// Checkpoint policies.
enum CheckpointPolicy : int32_t {
  CHECKPOINT_SAVE_ALL = 1,  ///< Saves every value that the backward pass reads.
  CHECKPOINT_SAVE_NONE = 2,  ///< Saves parameters only, and computes all else again.
  CHECKPOINT_SAVE_DOTS = 3,  ///< Saves parameters and the results of dot products and convolutions.
  CHECKPOINT_SAVE_NAMED = 4,  ///< Saves parameters and the values with the names in `saved_names`.
};

/// Forms of exported computations.
enum ExportFormat : int32_t {
  EXPORT_FOLDER = 1,  ///< A folder: a portable artifact, the captured values, a manifest.
  EXPORT_TEXT = 2,  ///< A file of StableHLO text.
  EXPORT_JAX = 3,  ///< A file that `jax.export.deserialize` reads.
};

}  // namespace lazyxla

#undef LXLA_DTYPE_PRED
#define LXLA_DTYPE_PRED ::lazyxla::DTYPE_PRED
#undef LXLA_DTYPE_S8
#define LXLA_DTYPE_S8 ::lazyxla::DTYPE_S8
#undef LXLA_DTYPE_S16
#define LXLA_DTYPE_S16 ::lazyxla::DTYPE_S16
#undef LXLA_DTYPE_S32
#define LXLA_DTYPE_S32 ::lazyxla::DTYPE_S32
#undef LXLA_DTYPE_S64
#define LXLA_DTYPE_S64 ::lazyxla::DTYPE_S64
#undef LXLA_DTYPE_U8
#define LXLA_DTYPE_U8 ::lazyxla::DTYPE_U8
#undef LXLA_DTYPE_U16
#define LXLA_DTYPE_U16 ::lazyxla::DTYPE_U16
#undef LXLA_DTYPE_U32
#define LXLA_DTYPE_U32 ::lazyxla::DTYPE_U32
#undef LXLA_DTYPE_U64
#define LXLA_DTYPE_U64 ::lazyxla::DTYPE_U64
#undef LXLA_DTYPE_F16
#define LXLA_DTYPE_F16 ::lazyxla::DTYPE_F16
#undef LXLA_DTYPE_F32
#define LXLA_DTYPE_F32 ::lazyxla::DTYPE_F32
#undef LXLA_DTYPE_F64
#define LXLA_DTYPE_F64 ::lazyxla::DTYPE_F64
#undef LXLA_DTYPE_BF16
#define LXLA_DTYPE_BF16 ::lazyxla::DTYPE_BF16
#undef LXLA_DTYPE_C64
#define LXLA_DTYPE_C64 ::lazyxla::DTYPE_C64
#undef LXLA_DTYPE_C128
#define LXLA_DTYPE_C128 ::lazyxla::DTYPE_C128
#undef LXLA_DTYPE_F8E5M2
#define LXLA_DTYPE_F8E5M2 ::lazyxla::DTYPE_F8E5M2
#undef LXLA_DTYPE_F8E4M3FN
#define LXLA_DTYPE_F8E4M3FN ::lazyxla::DTYPE_F8E4M3FN
#undef LXLA_DTYPE_F8E4M3B11FNUZ
#define LXLA_DTYPE_F8E4M3B11FNUZ ::lazyxla::DTYPE_F8E4M3B11FNUZ
#undef LXLA_DTYPE_F8E5M2FNUZ
#define LXLA_DTYPE_F8E5M2FNUZ ::lazyxla::DTYPE_F8E5M2FNUZ
#undef LXLA_DTYPE_F8E4M3FNUZ
#define LXLA_DTYPE_F8E4M3FNUZ ::lazyxla::DTYPE_F8E4M3FNUZ
#undef LXLA_DTYPE_S4
#define LXLA_DTYPE_S4 ::lazyxla::DTYPE_S4
#undef LXLA_DTYPE_U4
#define LXLA_DTYPE_U4 ::lazyxla::DTYPE_U4
#undef LXLA_DTYPE_S2
#define LXLA_DTYPE_S2 ::lazyxla::DTYPE_S2
#undef LXLA_DTYPE_U2
#define LXLA_DTYPE_U2 ::lazyxla::DTYPE_U2
#undef LXLA_DTYPE_F8E4M3
#define LXLA_DTYPE_F8E4M3 ::lazyxla::DTYPE_F8E4M3
#undef LXLA_DTYPE_F8E3M4
#define LXLA_DTYPE_F8E3M4 ::lazyxla::DTYPE_F8E3M4
#undef LXLA_DTYPE_F8E8M0FNU
#define LXLA_DTYPE_F8E8M0FNU ::lazyxla::DTYPE_F8E8M0FNU
#undef LXLA_DTYPE_F4E2M1FN
#define LXLA_DTYPE_F4E2M1FN ::lazyxla::DTYPE_F4E2M1FN
#undef LXLA_KIND_PRED
#define LXLA_KIND_PRED ::lazyxla::KIND_PRED
#undef LXLA_KIND_SIGNED
#define LXLA_KIND_SIGNED ::lazyxla::KIND_SIGNED
#undef LXLA_KIND_UNSIGNED
#define LXLA_KIND_UNSIGNED ::lazyxla::KIND_UNSIGNED
#undef LXLA_KIND_FLOAT
#define LXLA_KIND_FLOAT ::lazyxla::KIND_FLOAT
#undef LXLA_KIND_COMPLEX
#define LXLA_KIND_COMPLEX ::lazyxla::KIND_COMPLEX
#undef LXLA_MIXED_ERROR
#define LXLA_MIXED_ERROR ::lazyxla::MIXED_ERROR
#undef LXLA_MIXED_COPY
#define LXLA_MIXED_COPY ::lazyxla::MIXED_COPY
#undef LXLA_MIXED_SCALAR
#define LXLA_MIXED_SCALAR ::lazyxla::MIXED_SCALAR
#undef LXLA_DEVICE_UNSPECIFIED
#define LXLA_DEVICE_UNSPECIFIED ::lazyxla::DEVICE_UNSPECIFIED
#undef LXLA_DEVICE_CPU
#define LXLA_DEVICE_CPU ::lazyxla::DEVICE_CPU
#undef LXLA_DEVICE_XLA
#define LXLA_DEVICE_XLA ::lazyxla::DEVICE_XLA
#undef LXLA_DEVICE_MESH
#define LXLA_DEVICE_MESH ::lazyxla::DEVICE_MESH
#undef LXLA_STATE_PENDING
#define LXLA_STATE_PENDING ::lazyxla::STATE_PENDING
#undef LXLA_STATE_READY
#define LXLA_STATE_READY ::lazyxla::STATE_READY
#undef LXLA_STATE_PLACEHOLDER
#define LXLA_STATE_PLACEHOLDER ::lazyxla::STATE_PLACEHOLDER
#undef LXLA_STATE_NATIVE
#define LXLA_STATE_NATIVE ::lazyxla::STATE_NATIVE
#undef LXLA_STATE_FAILED
#define LXLA_STATE_FAILED ::lazyxla::STATE_FAILED
#undef LXLA_UNARY_NEGATE
#define LXLA_UNARY_NEGATE ::lazyxla::UNARY_NEGATE
#undef LXLA_UNARY_ABS
#define LXLA_UNARY_ABS ::lazyxla::UNARY_ABS
#undef LXLA_UNARY_SIGN
#define LXLA_UNARY_SIGN ::lazyxla::UNARY_SIGN
#undef LXLA_UNARY_EXPONENTIAL
#define LXLA_UNARY_EXPONENTIAL ::lazyxla::UNARY_EXPONENTIAL
#undef LXLA_UNARY_EXPONENTIAL_MINUS_ONE
#define LXLA_UNARY_EXPONENTIAL_MINUS_ONE ::lazyxla::UNARY_EXPONENTIAL_MINUS_ONE
#undef LXLA_UNARY_LOG
#define LXLA_UNARY_LOG ::lazyxla::UNARY_LOG
#undef LXLA_UNARY_LOG_PLUS_ONE
#define LXLA_UNARY_LOG_PLUS_ONE ::lazyxla::UNARY_LOG_PLUS_ONE
#undef LXLA_UNARY_LOGISTIC
#define LXLA_UNARY_LOGISTIC ::lazyxla::UNARY_LOGISTIC
#undef LXLA_UNARY_TANH
#define LXLA_UNARY_TANH ::lazyxla::UNARY_TANH
#undef LXLA_UNARY_SQRT
#define LXLA_UNARY_SQRT ::lazyxla::UNARY_SQRT
#undef LXLA_UNARY_RSQRT
#define LXLA_UNARY_RSQRT ::lazyxla::UNARY_RSQRT
#undef LXLA_UNARY_CBRT
#define LXLA_UNARY_CBRT ::lazyxla::UNARY_CBRT
#undef LXLA_UNARY_SINE
#define LXLA_UNARY_SINE ::lazyxla::UNARY_SINE
#undef LXLA_UNARY_COSINE
#define LXLA_UNARY_COSINE ::lazyxla::UNARY_COSINE
#undef LXLA_UNARY_TAN
#define LXLA_UNARY_TAN ::lazyxla::UNARY_TAN
#undef LXLA_UNARY_FLOOR
#define LXLA_UNARY_FLOOR ::lazyxla::UNARY_FLOOR
#undef LXLA_UNARY_CEIL
#define LXLA_UNARY_CEIL ::lazyxla::UNARY_CEIL
#undef LXLA_UNARY_ROUND_NEAREST_EVEN
#define LXLA_UNARY_ROUND_NEAREST_EVEN ::lazyxla::UNARY_ROUND_NEAREST_EVEN
#undef LXLA_UNARY_ROUND_NEAREST_AFZ
#define LXLA_UNARY_ROUND_NEAREST_AFZ ::lazyxla::UNARY_ROUND_NEAREST_AFZ
#undef LXLA_UNARY_NOT
#define LXLA_UNARY_NOT ::lazyxla::UNARY_NOT
#undef LXLA_UNARY_POPCNT
#define LXLA_UNARY_POPCNT ::lazyxla::UNARY_POPCNT
#undef LXLA_UNARY_COUNT_LEADING_ZEROS
#define LXLA_UNARY_COUNT_LEADING_ZEROS ::lazyxla::UNARY_COUNT_LEADING_ZEROS
#undef LXLA_UNARY_IS_FINITE
#define LXLA_UNARY_IS_FINITE ::lazyxla::UNARY_IS_FINITE
#undef LXLA_UNARY_IS_NAN
#define LXLA_UNARY_IS_NAN ::lazyxla::UNARY_IS_NAN
#undef LXLA_UNARY_IS_INF
#define LXLA_UNARY_IS_INF ::lazyxla::UNARY_IS_INF
#undef LXLA_UNARY_SIGNBIT
#define LXLA_UNARY_SIGNBIT ::lazyxla::UNARY_SIGNBIT
#undef LXLA_UNARY_TRUNC
#define LXLA_UNARY_TRUNC ::lazyxla::UNARY_TRUNC
#undef LXLA_UNARY_LOG2
#define LXLA_UNARY_LOG2 ::lazyxla::UNARY_LOG2
#undef LXLA_UNARY_LOG10
#define LXLA_UNARY_LOG10 ::lazyxla::UNARY_LOG10
#undef LXLA_UNARY_CONJ
#define LXLA_UNARY_CONJ ::lazyxla::UNARY_CONJ
#undef LXLA_UNARY_SINH
#define LXLA_UNARY_SINH ::lazyxla::UNARY_SINH
#undef LXLA_UNARY_COSH
#define LXLA_UNARY_COSH ::lazyxla::UNARY_COSH
#undef LXLA_UNARY_ASIN
#define LXLA_UNARY_ASIN ::lazyxla::UNARY_ASIN
#undef LXLA_UNARY_ACOS
#define LXLA_UNARY_ACOS ::lazyxla::UNARY_ACOS
#undef LXLA_UNARY_ATAN
#define LXLA_UNARY_ATAN ::lazyxla::UNARY_ATAN
#undef LXLA_UNARY_ASINH
#define LXLA_UNARY_ASINH ::lazyxla::UNARY_ASINH
#undef LXLA_UNARY_ACOSH
#define LXLA_UNARY_ACOSH ::lazyxla::UNARY_ACOSH
#undef LXLA_UNARY_ATANH
#define LXLA_UNARY_ATANH ::lazyxla::UNARY_ATANH
#undef LXLA_UNARY_LGAMMA
#define LXLA_UNARY_LGAMMA ::lazyxla::UNARY_LGAMMA
#undef LXLA_UNARY_DIGAMMA
#define LXLA_UNARY_DIGAMMA ::lazyxla::UNARY_DIGAMMA
#undef LXLA_UNARY_ERF_INV
#define LXLA_UNARY_ERF_INV ::lazyxla::UNARY_ERF_INV
#undef LXLA_UNARY_BESSEL_I1E
#define LXLA_UNARY_BESSEL_I1E ::lazyxla::UNARY_BESSEL_I1E
#undef LXLA_UNARY_BESSEL_I0E
#define LXLA_UNARY_BESSEL_I0E ::lazyxla::UNARY_BESSEL_I0E
#undef LXLA_UNARY_TRIGAMMA
#define LXLA_UNARY_TRIGAMMA ::lazyxla::UNARY_TRIGAMMA
#undef LXLA_UNARY_BESSEL_J0
#define LXLA_UNARY_BESSEL_J0 ::lazyxla::UNARY_BESSEL_J0
#undef LXLA_UNARY_BESSEL_J1
#define LXLA_UNARY_BESSEL_J1 ::lazyxla::UNARY_BESSEL_J1
#undef LXLA_UNARY_BESSEL_Y0
#define LXLA_UNARY_BESSEL_Y0 ::lazyxla::UNARY_BESSEL_Y0
#undef LXLA_UNARY_BESSEL_Y1
#define LXLA_UNARY_BESSEL_Y1 ::lazyxla::UNARY_BESSEL_Y1
#undef LXLA_UNARY_BESSEL_K0
#define LXLA_UNARY_BESSEL_K0 ::lazyxla::UNARY_BESSEL_K0
#undef LXLA_UNARY_BESSEL_K1
#define LXLA_UNARY_BESSEL_K1 ::lazyxla::UNARY_BESSEL_K1
#undef LXLA_UNARY_BESSEL_K0E
#define LXLA_UNARY_BESSEL_K0E ::lazyxla::UNARY_BESSEL_K0E
#undef LXLA_UNARY_BESSEL_K1E
#define LXLA_UNARY_BESSEL_K1E ::lazyxla::UNARY_BESSEL_K1E
#undef LXLA_UNARY_AIRY_AI
#define LXLA_UNARY_AIRY_AI ::lazyxla::UNARY_AIRY_AI
#undef LXLA_UNARY_AIRY_AI_PRIME
#define LXLA_UNARY_AIRY_AI_PRIME ::lazyxla::UNARY_AIRY_AI_PRIME
#undef LXLA_UNARY_AIRY_BI
#define LXLA_UNARY_AIRY_BI ::lazyxla::UNARY_AIRY_BI
#undef LXLA_UNARY_AIRY_BI_PRIME
#define LXLA_UNARY_AIRY_BI_PRIME ::lazyxla::UNARY_AIRY_BI_PRIME
#undef LXLA_BINARY_ADD
#define LXLA_BINARY_ADD ::lazyxla::BINARY_ADD
#undef LXLA_BINARY_SUBTRACT
#define LXLA_BINARY_SUBTRACT ::lazyxla::BINARY_SUBTRACT
#undef LXLA_BINARY_MULTIPLY
#define LXLA_BINARY_MULTIPLY ::lazyxla::BINARY_MULTIPLY
#undef LXLA_BINARY_DIVIDE
#define LXLA_BINARY_DIVIDE ::lazyxla::BINARY_DIVIDE
#undef LXLA_BINARY_REMAINDER
#define LXLA_BINARY_REMAINDER ::lazyxla::BINARY_REMAINDER
#undef LXLA_BINARY_POWER
#define LXLA_BINARY_POWER ::lazyxla::BINARY_POWER
#undef LXLA_BINARY_MAXIMUM
#define LXLA_BINARY_MAXIMUM ::lazyxla::BINARY_MAXIMUM
#undef LXLA_BINARY_MINIMUM
#define LXLA_BINARY_MINIMUM ::lazyxla::BINARY_MINIMUM
#undef LXLA_BINARY_ATAN2
#define LXLA_BINARY_ATAN2 ::lazyxla::BINARY_ATAN2
#undef LXLA_BINARY_AND
#define LXLA_BINARY_AND ::lazyxla::BINARY_AND
#undef LXLA_BINARY_OR
#define LXLA_BINARY_OR ::lazyxla::BINARY_OR
#undef LXLA_BINARY_XOR
#define LXLA_BINARY_XOR ::lazyxla::BINARY_XOR
#undef LXLA_BINARY_SHIFT_LEFT
#define LXLA_BINARY_SHIFT_LEFT ::lazyxla::BINARY_SHIFT_LEFT
#undef LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC
#define LXLA_BINARY_SHIFT_RIGHT_ARITHMETIC ::lazyxla::BINARY_SHIFT_RIGHT_ARITHMETIC
#undef LXLA_BINARY_SHIFT_RIGHT_LOGICAL
#define LXLA_BINARY_SHIFT_RIGHT_LOGICAL ::lazyxla::BINARY_SHIFT_RIGHT_LOGICAL
#undef LXLA_BINARY_FLOOR_DIVIDE
#define LXLA_BINARY_FLOOR_DIVIDE ::lazyxla::BINARY_FLOOR_DIVIDE
#undef LXLA_BINARY_MODULO
#define LXLA_BINARY_MODULO ::lazyxla::BINARY_MODULO
#undef LXLA_BINARY_COPYSIGN
#define LXLA_BINARY_COPYSIGN ::lazyxla::BINARY_COPYSIGN
#undef LXLA_BINARY_HYPOT
#define LXLA_BINARY_HYPOT ::lazyxla::BINARY_HYPOT
#undef LXLA_BINARY_LOGADDEXP
#define LXLA_BINARY_LOGADDEXP ::lazyxla::BINARY_LOGADDEXP
#undef LXLA_BINARY_NEXT_AFTER
#define LXLA_BINARY_NEXT_AFTER ::lazyxla::BINARY_NEXT_AFTER
#undef LXLA_BINARY_POLYGAMMA
#define LXLA_BINARY_POLYGAMMA ::lazyxla::BINARY_POLYGAMMA
#undef LXLA_BINARY_ZETA
#define LXLA_BINARY_ZETA ::lazyxla::BINARY_ZETA
#undef LXLA_BINARY_IGAMMA
#define LXLA_BINARY_IGAMMA ::lazyxla::BINARY_IGAMMA
#undef LXLA_BINARY_IGAMMAC
#define LXLA_BINARY_IGAMMAC ::lazyxla::BINARY_IGAMMAC
#undef LXLA_BINARY_IGAMMA_GRAD_A
#define LXLA_BINARY_IGAMMA_GRAD_A ::lazyxla::BINARY_IGAMMA_GRAD_A
#undef LXLA_COMPARE_EQ
#define LXLA_COMPARE_EQ ::lazyxla::COMPARE_EQ
#undef LXLA_COMPARE_NE
#define LXLA_COMPARE_NE ::lazyxla::COMPARE_NE
#undef LXLA_COMPARE_GE
#define LXLA_COMPARE_GE ::lazyxla::COMPARE_GE
#undef LXLA_COMPARE_GT
#define LXLA_COMPARE_GT ::lazyxla::COMPARE_GT
#undef LXLA_COMPARE_LE
#define LXLA_COMPARE_LE ::lazyxla::COMPARE_LE
#undef LXLA_COMPARE_LT
#define LXLA_COMPARE_LT ::lazyxla::COMPARE_LT
#undef LXLA_SPECIAL_ERF
#define LXLA_SPECIAL_ERF ::lazyxla::SPECIAL_ERF
#undef LXLA_SPECIAL_ERFC
#define LXLA_SPECIAL_ERFC ::lazyxla::SPECIAL_ERFC
#undef LXLA_SPECIAL_NORMAL_CDF
#define LXLA_SPECIAL_NORMAL_CDF ::lazyxla::SPECIAL_NORMAL_CDF
#undef LXLA_SPECIAL_ERFCX
#define LXLA_SPECIAL_ERFCX ::lazyxla::SPECIAL_ERFCX
#undef LXLA_SCATTER_COPY
#define LXLA_SCATTER_COPY ::lazyxla::SCATTER_COPY
#undef LXLA_SCATTER_SUM
#define LXLA_SCATTER_SUM ::lazyxla::SCATTER_SUM
#undef LXLA_SCATTER_PRODUCT
#define LXLA_SCATTER_PRODUCT ::lazyxla::SCATTER_PRODUCT
#undef LXLA_SCATTER_MAX
#define LXLA_SCATTER_MAX ::lazyxla::SCATTER_MAX
#undef LXLA_SCATTER_MIN
#define LXLA_SCATTER_MIN ::lazyxla::SCATTER_MIN
#undef LXLA_REDUCE_SUM
#define LXLA_REDUCE_SUM ::lazyxla::REDUCE_SUM
#undef LXLA_REDUCE_PRODUCT
#define LXLA_REDUCE_PRODUCT ::lazyxla::REDUCE_PRODUCT
#undef LXLA_REDUCE_MAX
#define LXLA_REDUCE_MAX ::lazyxla::REDUCE_MAX
#undef LXLA_REDUCE_MIN
#define LXLA_REDUCE_MIN ::lazyxla::REDUCE_MIN
#undef LXLA_REDUCE_ALL
#define LXLA_REDUCE_ALL ::lazyxla::REDUCE_ALL
#undef LXLA_REDUCE_ANY
#define LXLA_REDUCE_ANY ::lazyxla::REDUCE_ANY
#undef LXLA_TRANSPOSE_NO_TRANSPOSE
#define LXLA_TRANSPOSE_NO_TRANSPOSE ::lazyxla::TRANSPOSE_NO_TRANSPOSE
#undef LXLA_TRANSPOSE_TRANSPOSE
#define LXLA_TRANSPOSE_TRANSPOSE ::lazyxla::TRANSPOSE_TRANSPOSE
#undef LXLA_TRANSPOSE_ADJOINT
#define LXLA_TRANSPOSE_ADJOINT ::lazyxla::TRANSPOSE_ADJOINT
#undef LXLA_FFT_FFT
#define LXLA_FFT_FFT ::lazyxla::FFT_FFT
#undef LXLA_FFT_IFFT
#define LXLA_FFT_IFFT ::lazyxla::FFT_IFFT
#undef LXLA_FFT_RFFT
#define LXLA_FFT_RFFT ::lazyxla::FFT_RFFT
#undef LXLA_FFT_IRFFT
#define LXLA_FFT_IRFFT ::lazyxla::FFT_IRFFT
#undef LXLA_ACTIVATION_RELU
#define LXLA_ACTIVATION_RELU ::lazyxla::ACTIVATION_RELU
#undef LXLA_ACTIVATION_GELU
#define LXLA_ACTIVATION_GELU ::lazyxla::ACTIVATION_GELU
#undef LXLA_ACTIVATION_GELU_TANH
#define LXLA_ACTIVATION_GELU_TANH ::lazyxla::ACTIVATION_GELU_TANH
#undef LXLA_ACTIVATION_SILU
#define LXLA_ACTIVATION_SILU ::lazyxla::ACTIVATION_SILU
#undef LXLA_ACTIVATION_RELU6
#define LXLA_ACTIVATION_RELU6 ::lazyxla::ACTIVATION_RELU6
#undef LXLA_ACTIVATION_ELU
#define LXLA_ACTIVATION_ELU ::lazyxla::ACTIVATION_ELU
#undef LXLA_ACTIVATION_SELU
#define LXLA_ACTIVATION_SELU ::lazyxla::ACTIVATION_SELU
#undef LXLA_ACTIVATION_SOFTPLUS
#define LXLA_ACTIVATION_SOFTPLUS ::lazyxla::ACTIVATION_SOFTPLUS
#undef LXLA_ACTIVATION_MISH
#define LXLA_ACTIVATION_MISH ::lazyxla::ACTIVATION_MISH
#undef LXLA_ACTIVATION_LOG_SIGMOID
#define LXLA_ACTIVATION_LOG_SIGMOID ::lazyxla::ACTIVATION_LOG_SIGMOID
#undef LXLA_ACTIVATION_HARD_SIGMOID
#define LXLA_ACTIVATION_HARD_SIGMOID ::lazyxla::ACTIVATION_HARD_SIGMOID
#undef LXLA_ACTIVATION_HARD_SWISH
#define LXLA_ACTIVATION_HARD_SWISH ::lazyxla::ACTIVATION_HARD_SWISH
#undef LXLA_RNG_THREE_FRY
#define LXLA_RNG_THREE_FRY ::lazyxla::RNG_THREE_FRY
#undef LXLA_RNG_PHILOX
#define LXLA_RNG_PHILOX ::lazyxla::RNG_PHILOX
#undef LXLA_CUSTOM_CALL_ORIGINAL
#define LXLA_CUSTOM_CALL_ORIGINAL ::lazyxla::CUSTOM_CALL_ORIGINAL
#undef LXLA_CUSTOM_CALL_STATUS_RETURNING
#define LXLA_CUSTOM_CALL_STATUS_RETURNING ::lazyxla::CUSTOM_CALL_STATUS_RETURNING
#undef LXLA_CUSTOM_CALL_STATUS_RETURNING_UNIFIED
#define LXLA_CUSTOM_CALL_STATUS_RETURNING_UNIFIED ::lazyxla::CUSTOM_CALL_STATUS_RETURNING_UNIFIED
#undef LXLA_CUSTOM_CALL_TYPED_FFI
#define LXLA_CUSTOM_CALL_TYPED_FFI ::lazyxla::CUSTOM_CALL_TYPED_FFI
#undef LXLA_CHECKPOINT_SAVE_ALL
#define LXLA_CHECKPOINT_SAVE_ALL ::lazyxla::CHECKPOINT_SAVE_ALL
#undef LXLA_CHECKPOINT_SAVE_NONE
#define LXLA_CHECKPOINT_SAVE_NONE ::lazyxla::CHECKPOINT_SAVE_NONE
#undef LXLA_CHECKPOINT_SAVE_DOTS
#define LXLA_CHECKPOINT_SAVE_DOTS ::lazyxla::CHECKPOINT_SAVE_DOTS
#undef LXLA_CHECKPOINT_SAVE_NAMED
#define LXLA_CHECKPOINT_SAVE_NAMED ::lazyxla::CHECKPOINT_SAVE_NAMED
#undef LXLA_EXPORT_FOLDER
#define LXLA_EXPORT_FOLDER ::lazyxla::EXPORT_FOLDER
#undef LXLA_EXPORT_TEXT
#define LXLA_EXPORT_TEXT ::lazyxla::EXPORT_TEXT
#undef LXLA_EXPORT_JAX
#define LXLA_EXPORT_JAX ::lazyxla::EXPORT_JAX

#endif  // LAZYXLA_CONSTANTS_HPP
