//! The operations. The numbers of the inner enums are those of the C constants, and are frozen.

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
                    "{}: {number} is no {} constant ({} to {})",
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

/// Traits of an operation: the parts of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    operands: Option<usize>,
    bodies: usize,
    counts_bodies: bool,
    has_scalar: bool,
    has_attributes: bool,
    has_results: bool,
}

impl Form {
    const NOTHING: Form = Form {
        operands: None,
        bodies: 0,
        counts_bodies: false,
        has_scalar: false,
        has_attributes: false,
        has_results: false,
    };

    const fn of(operands: usize) -> Form {
        Form { operands: Some(operands), ..Form::NOTHING }
    }

    /// Variable number of operands.
    const fn of_any() -> Form {
        Form::NOTHING
    }

    const fn scalar(self) -> Form {
        Form { has_scalar: true, ..self }
    }

    const fn attributes(self) -> Form {
        Form { has_attributes: true, ..self }
    }

    const fn results(self) -> Form {
        Form { has_results: true, ..self }
    }

    /// An operation that applies traced computations has a list of results.
    const fn bodies(self, bodies: usize) -> Form {
        Form { bodies, has_results: true, ..self }
    }

    /// The number of applied computations is the first word of the attributes.
    const fn counted_bodies(self) -> Form {
        Form { counts_bodies: true, has_attributes: true, has_results: true, ..self }
    }
}

/// Defines the operations, each with its code in a program's encoding and its traits.
macro_rules! operations {
    (
        families { $($(#[$family_doc:meta])* $family:ident($Member:ident) = $family_code:literal: $family_form:expr;)* }
        single { $($(#[$doc:meta])* $single:ident = $code:literal: $form:expr;)* }
    ) => {
        /// Operation of a node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Op {
            $($(#[$family_doc])* $family($Member),)*
            $($(#[$doc])* $single,)*
        }

        impl Op {
            /// Unique number of the operation, used in the encoding of programs.
            pub fn code(self) -> u32 {
                match self {
                    $(Op::$family(member) => $family_code << 8 | member as u32,)*
                    $(Op::$single => $code << 8,)*
                }
            }

            /// Inverse of [`Op::code`]. Returns None for an unknown code.
            pub fn from_code(code: u32) -> Option<Op> {
                let member = (code & 0xFF) as i32;
                match code >> 8 {
                    $($family_code => $Member::from_number(member).ok().map(Op::$family),)*
                    $($code => Some(Op::$single),)*
                    _ => None,
                }
            }

            #[inline]
            const fn form(self) -> Form {
                match self {
                    $(Op::$family(_) => $family_form,)*
                    $(Op::$single => $form,)*
                }
            }

            /// All operations.
            pub fn all() -> Vec<Op> {
                let mut all = vec![$(Op::$single),*];
                $(all.extend($Member::ALL.iter().map(|&member| Op::$family(member)));)*
                all
            }
        }
    };
}

operations! {
    families {
        /// Elementwise operation with one operand.
        Unary(UnaryOp) = 3: Form::of(1);
        /// Elementwise operation with two operands, which are broadcast and promoted.
        Binary(BinaryOp) = 4: Form::of(2);
        /// Elementwise operation: tensor (op) scalar.
        BinaryScalar(BinaryOp) = 5: Form::of(1).scalar();
        /// Elementwise operation: scalar (op) tensor.
        ScalarBinary(BinaryOp) = 6: Form::of(1).scalar();
        /// Comparison of two operands, which are broadcast and promoted.
        Compare(CompareOp) = 7: Form::of(2);
        /// Elementwise function of one float operand.
        UnaryFunction(UnaryFunction) = 53: Form::of(1);
        /// Elementwise function of two float operands of one dtype, which are broadcast.
        BinaryFunction(BinaryFunction) = 54: Form::of(2);
        /// Special function of one float operand.
        Special(SpecialOp) = 55: Form::of(1);
        /// Reduction over the axes in the attributes. The node's shape determines whether they are kept with size 1.
        Reduce(ReduceOp) = 13: Form::of(1).attributes();
    }
    single {
        /// Device data; a parameter of every program that uses it.
        Leaf = 0: Form::of(0);
        /// Array filled with one scalar.
        Full = 1: Form::of(0).scalar();
        /// Values 0, 1, 2, ... along one axis (attribute).
        Iota = 2: Form::of(0).attributes();
        /// Elementwise selection: pred ? a : b. All three operands are broadcast.
        Select = 8: Form::of(3);
        /// Conversion to the node's dtype.
        Convert = 9: Form::of(1);
        /// Reshape to the node's shape, with elements in row-major order.
        Reshape = 10: Form::of(1);
        /// Broadcast to the node's shape, with NumPy's rules.
        BroadcastTo = 11: Form::of(1);
        /// Permutation of axes: axis i of the result is axis `attribute[i]` of the operand.
        Transpose = 12: Form::of(1).attributes();
        /// Matrix product with the semantics of NumPy's matmul.
        Matmul = 14: Form::of(2);
        /// Static slice. Attributes: starts, limits, strides.
        Slice = 15: Form::of(1).attributes();
        /// Concatenation of any number of operands along the axis in the attributes.
        Concatenate = 16: Form::of_any().attributes();
        /// Slice with the node's shape of the first operand. The other operands are the start indices, one scalar per
        /// axis.
        DynamicSlice = 17: Form::of_any();
        /// The first operand, with a slice replaced by the second. The other operands are the start indices, one scalar
        /// per axis.
        DynamicUpdateSlice = 18: Form::of_any();
        /// Slices of the first operand along the axis in the attributes, at the indices in the second.
        Take = 19: Form::of(2).attributes();
        /// The first operand, padded with the scalar in the second. Attributes: low, high and interior padding.
        Pad = 20: Form::of(2).attributes();
        /// Application of a traced computation (the body). Operands: arguments, captures.
        Call = 21: Form::of_any().bodies(1);
        /// While loop: applies the second body while the first returns true. Attributes: number of carried values,
        /// number of captures of the first body. Operands: initial values, captures of the first body, captures of the
        /// second.
        While = 22: Form::of_any().attributes().bodies(2);
        /// Conditional: applies the first body if the first operand is true, and the second otherwise. Attributes:
        /// number of arguments, number of captures of the first body. Operands: pred, arguments, captures of the first
        /// body, captures of the second.
        If = 23: Form::of_any().attributes().bodies(2);
        /// Scan: applies the body along the leading axis of stacked arrays. Attributes: number of carried values,
        /// number of arrays, number of iterations, whether to iterate in reverse. Operands: initial values, arrays,
        /// captures.
        Scan = 24: Form::of_any().attributes().bodies(1);
        /// One result of the operand, which is an operation with several results. Attribute: its index.
        Result = 25: Form::of(1).attributes();
        /// Elementwise clamp of x to the range from min to max. Operands: min, x, max.
        Clamp = 26: Form::of(3);
        /// Complex number from a real and an imaginary part.
        Complex = 27: Form::of(2);
        /// Real part of a complex number.
        Real = 28: Form::of(1);
        /// Imaginary part of a complex number.
        Imag = 29: Form::of(1);
        /// Reinterpretation of the bits as the node's dtype. The last axis is added or removed if the widths differ.
        BitcastConvert = 30: Form::of(1);
        /// Rounding to the numbers of exponent and mantissa bits in the attributes.
        ReducePrecision = 31: Form::of(1).attributes();
        /// Reversal of the axes in the attributes.
        Reverse = 32: Form::of(1).attributes();
        /// Dot product with contracting and batching axes.
        DotGeneral = 33: Form::of(2).attributes();
        /// Convolution of the first operand with the kernel in the second.
        Convolution = 34: Form::of(2).attributes();
        /// Gather: slices of the first operand, at the start indices in the second.
        Gather = 35: Form::of(2).attributes();
        /// Scatter: combines slices into arrays with the body. Operands: arrays, indices, updates, captures of the
        /// body.
        Scatter = 36: Form::of_any().attributes().bodies(1);
        /// Joint sort of several arrays along an axis. Operands: arrays, captures of the body.
        Sort = 37: Form::of_any().attributes().bodies(1);
        /// Joint reduction of several arrays with the body. Operands: arrays, initial values, captures of the body.
        ReduceWith = 38: Form::of_any().attributes().bodies(1);
        /// Joint reduction of several arrays over windows. Operands: arrays, initial values, captures of the body.
        ReduceWindow = 39: Form::of_any().attributes().bodies(1);
        /// Selects one element of each window with the first body, and combines the source values into the selected
        /// positions with the second. Operands: array, source values, initial value.
        SelectAndScatter = 40: Form::of_any().attributes().bodies(2);
        /// The operand, whose derivative is zero.
        StopGradient = 41: Form::of(1);
        /// The operand, with a name by which a checkpoint policy saves it.
        CheckpointName = 42: Form::of(1).attributes();
        /// Application of a computation with a derivative of the caller's. The bodies are the computation and its
        /// rules; one of them is applied. Operands: arguments, captures of each body.
        Custom = 43: Form::of_any().counted_bodies();
        /// Cholesky factor of a matrix.
        Cholesky = 44: Form::of(1).attributes();
        /// Solution of a triangular system.
        TriangularSolve = 45: Form::of(2).attributes();
        /// Fourier transform.
        Fft = 46: Form::of(1).attributes();
        /// Random bit generator. Results: the next state, and random bits.
        RngBitGenerator = 47: Form::of(1).attributes().results();
        /// Returns its operands unchanged, and makes all of them available before any result is used. XLA does not move
        /// computations across it.
        OptimizationBarrier = 48: Form::of_any().results();
        /// Call of a function that is registered with the plugin by name.
        CustomCall = 49: Form::of_any().attributes().results();
        /// Case: applies the body selected by the first operand. Attributes: number of captures of each body, number
        /// of arguments. Operands: index, arguments, captures of each body.
        Case = 50: Form::of_any().counted_bodies();
        /// Random bits from a key. Each element depends only on the key and its position.
        RandomBits = 51: Form::of(1);
        /// Indices of the k largest (or smallest) elements along the last axis. Attributes: k, whether the largest are
        /// selected.
        TopK = 52: Form::of(1).attributes();
    }
}

impl Op {
    /// Whether the operation has a scalar, which is a scalar slot of the program.
    #[inline]
    pub fn has_scalar(self) -> bool {
        self.form().has_scalar
    }

    /// Whether the operation has attributes.
    #[inline]
    pub fn has_attributes(self) -> bool {
        self.form().has_attributes
    }

    /// Number of traced computations that the operation applies with these encoded attributes.
    #[inline]
    pub fn body_count(self, words: &[i64]) -> usize {
        let form = self.form();
        if form.counts_bodies { words[0] as usize } else { form.bodies }
    }

    /// Whether the operation has a list of results, each of which is a node of its own.
    #[inline]
    pub fn has_results(self) -> bool {
        self.form().has_results
    }

    /// Number of operands; None if it varies between nodes.
    #[inline]
    pub fn arity(self) -> Option<usize> {
        self.form().operands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_different_and_come_back() {
        let all = Op::all();
        let mut codes: Vec<u32> = all.iter().map(|op| op.code()).collect();
        for op in &all {
            assert_eq!(Op::from_code(op.code()), Some(*op));
        }
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), all.len());
        assert_eq!(Op::from_code(0xFFFF), None);
    }

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
