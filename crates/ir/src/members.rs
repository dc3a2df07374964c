//! Members of families of operations, and other numbered choices. Their numbers are those of the C constants, and are
//! frozen; the constants, with their documentation, are written from here.

/// An enum whose members are constants of the C header.
pub trait Numbered {
    /// All members, ordered by number: name in Rust, number, and documentation (a line of the header).
    const CONSTANTS: &'static [(&'static str, i32, &'static str)];
}

/// Defines an enum whose members have the consecutive numbers of C constants, with their names in StableHLO or in the
/// documentation. The documentation of a member is that of its constant.
#[macro_export]
macro_rules! numbered {
    (
        $(#[$doc:meta])* $name:ident, $argument:literal, $constants:literal,
        { $($(#[doc = $about:literal])* $member:ident = $number:literal => $text:literal),* $(,)? }
    ) => {
        $(#[$doc])*
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum $name { $($(#[doc = $about])* $member = $number),* }

        impl $crate::Numbered for $name {
            const CONSTANTS: &'static [(&'static str, i32, &'static str)] =
                &[$((stringify!($member), $number, concat!($($about),*))),*];
        }

        impl $name {
            /// All members, ordered by number.
            pub const ALL: &[$name] = &[$($name::$member),*];

            /// Returns the member with this number in the C ABI.
            #[inline]
            pub fn from_number(number: i32) -> ::base::error::Result<$name> {
                match $name::ALL.get((number as usize).wrapping_sub($name::ALL[0] as usize)) {
                    Some(&member) => Ok(member),
                    None => Err($name::no_such(number)),
                }
            }

            #[cold]
            fn no_such(number: i32) -> ::base::error::Error {
                ::base::error!(
                    InvalidArgument,
                    "{}: {number} is not an {} constant (valid: {} to {})",
                    $argument,
                    $constants,
                    $name::ALL[0] as u8,
                    $name::ALL[$name::ALL.len() - 1] as u8
                )
            }

            /// Name in StableHLO, or in the documentation if StableHLO has no such operation.
            pub fn name(self) -> &'static str {
                match self { $($name::$member => $text),* }
            }
        }
    };
}

numbered! {
    /// Elementwise operations with one operand.
    UnaryOp, "op", "LXLA_UNARY_*", {
        /// -x.
        Negate = 1 => "negate",
        /// |x|; the magnitude for complex numbers.
        Abs = 2 => "abs",
        /// -1, 0 or 1 by the sign of x; x / |x| for complex numbers.
        Sign = 3 => "sign",
        /// e^x.
        Exponential = 4 => "exponential",
        /// e^x - 1, accurate near 0.
        ExponentialMinusOne = 5 => "exponential_minus_one",
        /// Natural logarithm of x.
        Log = 6 => "log",
        /// log(1 + x), accurate near 0.
        LogPlusOne = 7 => "log_plus_one",
        /// 1 / (1 + e^-x).
        Logistic = 8 => "logistic",
        /// Hyperbolic tangent of x.
        Tanh = 9 => "tanh",
        /// Square root of x.
        Sqrt = 10 => "sqrt",
        /// 1 / sqrt(x).
        Rsqrt = 11 => "rsqrt",
        /// Cube root of x.
        Cbrt = 12 => "cbrt",
        /// Sine of x, in radians.
        Sine = 13 => "sine",
        /// Cosine of x, in radians.
        Cosine = 14 => "cosine",
        /// Tangent of x, in radians.
        Tan = 15 => "tan",
        /// Largest integer not greater than x.
        Floor = 16 => "floor",
        /// Smallest integer not less than x.
        Ceil = 17 => "ceil",
        /// Nearest integer; ties to even.
        RoundNearestEven = 18 => "round_nearest_even",
        /// Nearest integer; ties away from 0.
        RoundNearestAfz = 19 => "round_nearest_afz",
        /// ~x: bitwise for integers, logical for pred.
        Not = 20 => "not",
        /// Number of bits that are 1.
        Popcnt = 21 => "popcnt",
        /// Number of leading bits that are 0.
        CountLeadingZeros = 22 => "count_leading_zeros",
        /// True if x is neither infinite nor NaN.
        IsFinite = 23 => "is_finite",
    }
}

numbered! {
    /// Elementwise functions of one operand without a StableHLO operation.
    UnaryFunction, "op", "LXLA_UNARY_*", {
        /// True if x is NaN.
        IsNan = 24 => "is_nan",
        /// True if x is infinite.
        IsInf = 25 => "is_inf",
        /// True if the sign bit of x is set.
        Signbit = 26 => "signbit",
        /// x rounded toward 0.
        Trunc = 27 => "trunc",
        /// Base-2 logarithm of x.
        Log2 = 28 => "log2",
        /// Base-10 logarithm of x.
        Log10 = 29 => "log10",
        /// Complex conjugate of x.
        Conj = 30 => "conj",
        /// Hyperbolic sine.
        Sinh = 31 => "sinh",
        /// Hyperbolic cosine.
        Cosh = 32 => "cosh",
        /// Inverse sine; for reals from -pi/2 to pi/2, NaN outside [-1, 1].
        Asin = 33 => "asin",
        /// Inverse cosine; for reals from 0 to pi, NaN outside [-1, 1].
        Acos = 34 => "acos",
        /// Inverse tangent; for reals from -pi/2 to pi/2.
        Atan = 35 => "atan",
        /// Inverse hyperbolic sine.
        Asinh = 36 => "asinh",
        /// Inverse hyperbolic cosine; for reals below 1 NaN.
        Acosh = 37 => "acosh",
        /// Inverse hyperbolic tangent; infinite at -1 and 1, for reals beyond them NaN.
        Atanh = 38 => "atanh",
        /// Logarithm of |gamma(x)|; infinite at 0 and negative integers.
        Lgamma = 39 => "lgamma",
        /// Derivative of lgamma; NaN at negative integers, -infinity at 0, infinity at -0.
        Digamma = 40 => "digamma",
        /// Inverse error function; infinite at -1 and 1, NaN outside [-1, 1].
        ErfInv = 41 => "erf_inv",
        /// e^-|x| times the modified Bessel function of the first kind of order 1.
        BesselI1e = 42 => "bessel_i1e",
        /// e^-|x| times the modified Bessel function of the first kind of order 0.
        BesselI0e = 43 => "bessel_i0e",
        /// Derivative of digamma; infinite at 0 and negative integers.
        Trigamma = 44 => "trigamma",
        /// Bessel function of the first kind of order 0.
        BesselJ0 = 45 => "bessel_j0",
        /// Bessel function of the first kind of order 1.
        BesselJ1 = 46 => "bessel_j1",
        /// Bessel function of the second kind of order 0; -infinity at 0, NaN below.
        BesselY0 = 47 => "bessel_y0",
        /// Bessel function of the second kind of order 1; -infinity at 0, NaN below.
        BesselY1 = 48 => "bessel_y1",
        /// Modified Bessel function of the second kind of order 0; NaN for negative x.
        BesselK0 = 49 => "bessel_k0",
        /// Modified Bessel function of the second kind of order 1; NaN for negative x.
        BesselK1 = 50 => "bessel_k1",
        /// e^x times the modified Bessel function of the second kind of order 0.
        BesselK0e = 51 => "bessel_k0e",
        /// e^x times the modified Bessel function of the second kind of order 1.
        BesselK1e = 52 => "bessel_k1e",
        /// Airy function Ai, the solution of y'' = x y that falls for large x.
        AiryAi = 53 => "airy_ai",
        /// Derivative of the Airy function Ai.
        AiryAiPrime = 54 => "airy_ai_prime",
        /// Airy function Bi, the solution of y'' = x y that grows for large x.
        AiryBi = 55 => "airy_bi",
        /// Derivative of the Airy function Bi.
        AiryBiPrime = 56 => "airy_bi_prime",
    }
}

numbered! {
    /// Elementwise operations with two operands.
    BinaryOp, "op", "LXLA_BINARY_*", {
        /// lhs + rhs. Integers wrap.
        Add = 1 => "add",
        /// lhs - rhs. Integers wrap.
        Subtract = 2 => "subtract",
        /// lhs * rhs. Integers wrap.
        Multiply = 3 => "multiply",
        /// lhs / rhs. Integers truncate toward 0.
        Divide = 4 => "divide",
        /// lhs - rhs * trunc(lhs / rhs), with the sign of lhs: fmod and `%` of C.
        Remainder = 5 => "remainder",
        /// lhs raised to the power rhs.
        Power = 6 => "power",
        /// max(lhs, rhs); NaN if either is NaN; logical or for pred.
        Maximum = 7 => "maximum",
        /// min(lhs, rhs); NaN if either is NaN; logical and for pred.
        Minimum = 8 => "minimum",
        /// atan2(lhs, rhs): angle of the point (x = rhs, y = lhs) in radians.
        Atan2 = 9 => "atan2",
        /// lhs & rhs: bitwise for integers, logical for pred.
        And = 10 => "and",
        /// lhs | rhs: bitwise for integers, logical for pred.
        Or = 11 => "or",
        /// lhs ^ rhs: bitwise for integers, logical for pred.
        Xor = 12 => "xor",
        /// lhs << rhs; 0 if rhs is at least the width of the dtype.
        ShiftLeft = 13 => "shift_left",
        /// lhs >> rhs, filled with copies of the top bit.
        ShiftRightArithmetic = 14 => "shift_right_arithmetic",
        /// lhs >> rhs, filled with zeros; 0 if rhs >= the width of the dtype.
        ShiftRightLogical = 15 => "shift_right_logical",
    }
}

numbered! {
    /// Elementwise functions of two operands without a StableHLO operation.
    BinaryFunction, "op", "LXLA_BINARY_*", {
        /// floor(lhs / rhs).
        FloorDivide = 16 => "floor_divide",
        /// lhs - rhs * floor(lhs / rhs), with the sign of rhs: `%` of Python.
        Modulo = 17 => "modulo",
        /// |lhs| with the sign bit of rhs.
        Copysign = 18 => "copysign",
        /// sqrt(lhs^2 + rhs^2) without intermediate overflow.
        Hypot = 19 => "hypot",
        /// log(e^lhs + e^rhs) without intermediate overflow.
        Logaddexp = 20 => "logaddexp",
        /// The next float after lhs in the direction of rhs.
        NextAfter = 21 => "next_after",
        /// Derivative of order lhs of digamma at rhs.
        Polygamma = 22 => "polygamma",
        /// Hurwitz zeta function: the sum of (rhs + k)^-lhs over all k >= 0.
        Zeta = 23 => "zeta",
        /// Regularized lower incomplete gamma function P(a = lhs, x = rhs).
        Igamma = 24 => "igamma",
        /// Regularized upper incomplete gamma function Q(a = lhs, x = rhs), 1 - P.
        Igammac = 25 => "igammac",
        /// Derivative of P(a = lhs, x = rhs) by a.
        IgammaGradA = 26 => "igamma_grad_a",
    }
}

numbered! {
    /// Special functions without a StableHLO operation.
    SpecialOp, "op", "LXLA_SPECIAL_*", {
        /// Error function: erf(x).
        Erf = 1 => "erf",
        /// Complementary error function: 1 - erf(x), accurate for large x.
        Erfc = 2 => "erfc",
        /// Cumulative distribution function of the standard normal distribution.
        NormalCdf = 3 => "normal_cdf",
        /// Scaled complementary error function: e^(x^2) (1 - erf(x)).
        Erfcx = 4 => "erfcx",
    }
}

numbered! {
    /// Comparisons. The result is pred.
    CompareOp, "op", "LXLA_COMPARE_*", {
        /// lhs == rhs.
        Eq = 1 => "EQ",
        /// lhs != rhs.
        Ne = 2 => "NE",
        /// lhs >= rhs.
        Ge = 3 => "GE",
        /// lhs > rhs.
        Gt = 4 => "GT",
        /// lhs <= rhs.
        Le = 5 => "LE",
        /// lhs < rhs.
        Lt = 6 => "LT",
    }
}

numbered! {
    /// Reductions over axes.
    ReduceOp, "op", "LXLA_REDUCE_*", {
        /// Sum.
        Sum = 1 => "add",
        /// Product.
        Product = 2 => "multiply",
        /// Largest element.
        Max = 3 => "maximum",
        /// Smallest element.
        Min = 4 => "minimum",
        /// Logical and, of pred.
        All = 5 => "and",
        /// Logical or, of pred.
        Any = 6 => "or",
    }
}

impl ReduceOp {
    /// The operation that combines two elements.
    pub fn binary(self) -> BinaryOp {
        match self {
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Product => BinaryOp::Multiply,
            ReduceOp::Max => BinaryOp::Maximum,
            ReduceOp::Min => BinaryOp::Minimum,
            ReduceOp::All => BinaryOp::And,
            ReduceOp::Any => BinaryOp::Or,
        }
    }
}

numbered! {
    /// Combination of an update with the existing element in a scatter.
    ScatterOp, "op", "LXLA_SCATTER_*", {
        /// The update replaces the element.
        Copy = 1 => "copy",
        /// The update is added to the element.
        Sum = 2 => "add",
        /// The element is multiplied by the update.
        Product = 3 => "multiply",
        /// The larger of element and update.
        Max = 4 => "maximum",
        /// The smaller of element and update.
        Min = 5 => "minimum",
    }
}

numbered! {
    /// Fourier transforms of complex and real arrays, and their inverses.
    FftOp, "op", "LXLA_FFT_*", {
        /// Forward transform, complex to complex.
        Fft = 1 => "FFT",
        /// Inverse transform, complex to complex.
        Ifft = 2 => "IFFT",
        /// Forward transform, real to complex.
        Rfft = 3 => "RFFT",
        /// Inverse transform, complex to real.
        Irfft = 4 => "IRFFT",
    }
}

numbered! {
    /// Transposition applied to the triangular operand.
    Transposition, "transpose_a", "LXLA_TRANSPOSE_*", {
        /// op(a) = a.
        NoTranspose = 1 => "NO_TRANSPOSE",
        /// op(a) = transpose of a.
        Transpose = 2 => "TRANSPOSE",
        /// op(a) = conjugate transpose of a.
        Adjoint = 3 => "ADJOINT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_checked() {
        assert_eq!(BinaryOp::from_number(1).unwrap(), BinaryOp::Add);
        assert_eq!(BinaryOp::from_number(15).unwrap(), BinaryOp::ShiftRightLogical);
        assert_eq!(UnaryOp::from_number(23).unwrap(), UnaryOp::IsFinite);
        for bad in [0, 16, -1, i32::MAX, i32::MIN] {
            assert!(BinaryOp::from_number(bad).is_err());
        }
    }
}
