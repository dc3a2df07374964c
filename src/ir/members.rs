//! Members of families of operations, and other numbered choices. Their numbers are those of the C constants, and are
//! frozen.

use crate::error;
use crate::error::{Error, Result};

/// Defines an enum whose members have the consecutive numbers of C constants, with their names in StableHLO or in the
/// documentation.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident, $argument:literal, $constants:literal, { $($member:ident = $number:literal => $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum $name { $($member = $number),* }

        impl $name {
            /// All members, ordered by number.
            pub const ALL: &[$name] = &[$($name::$member),*];

            /// Returns the member with this number in the C ABI.
            #[inline]
            pub fn from_number(number: i32) -> Result<$name> {
                match $name::ALL.get((number as usize).wrapping_sub($name::ALL[0] as usize)) {
                    Some(&member) => Ok(member),
                    None => Err($name::no_such(number)),
                }
            }

            #[cold]
            fn no_such(number: i32) -> Error {
                error!(
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

pub(crate) use numbered;

numbered! {
    /// Elementwise operations with one operand.
    UnaryOp, "op", "LXLA_UNARY_*", {
        Negate = 1 => "negate",
        Abs = 2 => "abs",
        Sign = 3 => "sign",
        Exponential = 4 => "exponential",
        ExponentialMinusOne = 5 => "exponential_minus_one",
        Log = 6 => "log",
        LogPlusOne = 7 => "log_plus_one",
        Logistic = 8 => "logistic",
        Tanh = 9 => "tanh",
        Sqrt = 10 => "sqrt",
        Rsqrt = 11 => "rsqrt",
        Cbrt = 12 => "cbrt",
        Sine = 13 => "sine",
        Cosine = 14 => "cosine",
        Tan = 15 => "tan",
        Floor = 16 => "floor",
        Ceil = 17 => "ceil",
        RoundNearestEven = 18 => "round_nearest_even",
        RoundNearestAfz = 19 => "round_nearest_afz",
        Not = 20 => "not",
        Popcnt = 21 => "popcnt",
        CountLeadingZeros = 22 => "count_leading_zeros",
        IsFinite = 23 => "is_finite",
    }
}

numbered! {
    /// Elementwise functions of one operand without a StableHLO operation.
    UnaryFunction, "op", "LXLA_UNARY_*", {
        IsNan = 24 => "is_nan",
        IsInf = 25 => "is_inf",
        Signbit = 26 => "signbit",
        Trunc = 27 => "trunc",
        Log2 = 28 => "log2",
        Log10 = 29 => "log10",
        Conj = 30 => "conj",
        Sinh = 31 => "sinh",
        Cosh = 32 => "cosh",
        Asin = 33 => "asin",
        Acos = 34 => "acos",
        Atan = 35 => "atan",
        Asinh = 36 => "asinh",
        Acosh = 37 => "acosh",
        Atanh = 38 => "atanh",
        Lgamma = 39 => "lgamma",
        Digamma = 40 => "digamma",
        ErfInv = 41 => "erf_inv",
        BesselI1e = 42 => "bessel_i1e",
        BesselI0e = 43 => "bessel_i0e",
        Trigamma = 44 => "trigamma",
    }
}

numbered! {
    /// Elementwise operations with two operands.
    BinaryOp, "op", "LXLA_BINARY_*", {
        Add = 1 => "add",
        Subtract = 2 => "subtract",
        Multiply = 3 => "multiply",
        Divide = 4 => "divide",
        Remainder = 5 => "remainder",
        Power = 6 => "power",
        Maximum = 7 => "maximum",
        Minimum = 8 => "minimum",
        Atan2 = 9 => "atan2",
        And = 10 => "and",
        Or = 11 => "or",
        Xor = 12 => "xor",
        ShiftLeft = 13 => "shift_left",
        ShiftRightArithmetic = 14 => "shift_right_arithmetic",
        ShiftRightLogical = 15 => "shift_right_logical",
    }
}

numbered! {
    /// Elementwise functions of two operands without a StableHLO operation.
    BinaryFunction, "op", "LXLA_BINARY_*", {
        FloorDivide = 16 => "floor_divide",
        Modulo = 17 => "modulo",
        Copysign = 18 => "copysign",
        Hypot = 19 => "hypot",
        Logaddexp = 20 => "logaddexp",
        NextAfter = 21 => "next_after",
        Polygamma = 22 => "polygamma",
        Zeta = 23 => "zeta",
    }
}

numbered! {
    /// Special functions without a StableHLO operation.
    SpecialOp, "op", "LXLA_SPECIAL_*", {
        Erf = 1 => "erf",
        Erfc = 2 => "erfc",
        NormalCdf = 3 => "normal_cdf",
    }
}

numbered! {
    /// Comparisons. The result is pred.
    CompareOp, "op", "LXLA_COMPARE_*", {
        Eq = 1 => "EQ",
        Ne = 2 => "NE",
        Ge = 3 => "GE",
        Gt = 4 => "GT",
        Le = 5 => "LE",
        Lt = 6 => "LT",
    }
}

numbered! {
    /// Reductions over axes.
    ReduceOp, "op", "LXLA_REDUCE_*", {
        Sum = 1 => "add",
        Product = 2 => "multiply",
        Max = 3 => "maximum",
        Min = 4 => "minimum",
        All = 5 => "and",
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
        Copy = 1 => "copy",
        Sum = 2 => "add",
        Product = 3 => "multiply",
        Max = 4 => "maximum",
        Min = 5 => "minimum",
    }
}

numbered! {
    /// Fourier transforms of complex and real arrays, and their inverses.
    FftOp, "op", "LXLA_FFT_*", {
        Fft = 1 => "FFT",
        Ifft = 2 => "IFFT",
        Rfft = 3 => "RFFT",
        Irfft = 4 => "IRFFT",
    }
}

numbered! {
    /// Transposition applied to the triangular operand.
    Transposition, "transpose_a", "LXLA_TRANSPOSE_*", {
        NoTranspose = 1 => "NO_TRANSPOSE",
        Transpose = 2 => "TRANSPOSE",
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
