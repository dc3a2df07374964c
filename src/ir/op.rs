//! The operations. Numbers of the inner enums are those of the C constants, and frozen.

use crate::error;
use crate::error::{Error, Result};

/// An enum whose members carry consecutive numbers of C constants, with their names in StableHLO or in the documentation.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident, $argument:literal, $constants:literal, { $($member:ident = $number:literal => $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum $name { $($member = $number),* }

        impl $name {
            /// Every member, in the order of its number.
            pub const ALL: &[$name] = &[$($name::$member),*];

            /// The member with this number of the C ABI.
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

            /// Its name in StableHLO, or in the documentation if StableHLO has no such operation.
            pub fn name(self) -> &'static str {
                match self { $($name::$member => $text),* }
            }
        }
    };
}

pub(crate) use numbered;

numbered! {
    /// Elementwise, of one operand.
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
    /// Elementwise, of two operands.
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
    /// Comparisons, giving pred.
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
    /// Of two elements.
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
    /// How what is scattered meets what is there.
    ScatterOp, "op", "LXLA_SCATTER_*", {
        Copy = 1 => "copy",
        Sum = 2 => "add",
        Product = 3 => "multiply",
        Max = 4 => "maximum",
        Min = 5 => "minimum",
    }
}

numbered! {
    /// Fourier transforms: of complex numbers, of reals, and their inverses.
    FftOp, "op", "LXLA_FFT_*", {
        Fft = 1 => "FFT",
        Ifft = 2 => "IFFT",
        Rfft = 3 => "RFFT",
        Irfft = 4 => "IRFFT",
    }
}

numbered! {
    /// In which form the matrix of a triangular system stands in it.
    Transposition, "transpose_a", "LXLA_TRANSPOSE_*", {
        NoTranspose = 1 => "NO_TRANSPOSE",
        Transpose = 2 => "TRANSPOSE",
        Adjoint = 3 => "ADJOINT",
    }
}

/// What a node of an operation consists of, besides its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    operands: Option<usize>,
    bodies: usize,
    counts_bodies: bool,
    has_scalar: bool,
    has_attributes: bool,
    has_results: bool,
    is_elementwise: bool,
}

impl Form {
    const NOTHING: Form = Form {
        operands: None,
        bodies: 0,
        counts_bodies: false,
        has_scalar: false,
        has_attributes: false,
        has_results: false,
        is_elementwise: false,
    };

    const fn of(operands: usize) -> Form {
        Form { operands: Some(operands), ..Form::NOTHING }
    }

    /// The number of operands is up to the node.
    const fn of_any() -> Form {
        Form::NOTHING
    }

    const fn scalar(self) -> Form {
        Form { has_scalar: true, ..self }
    }

    const fn attributes(self) -> Form {
        Form { has_attributes: true, ..self }
    }

    const fn elementwise(self) -> Form {
        Form { is_elementwise: true, ..self }
    }

    const fn results(self) -> Form {
        Form { has_results: true, ..self }
    }

    /// What applies traced computations has several results.
    const fn bodies(self, bodies: usize) -> Form {
        Form { bodies, has_results: true, ..self }
    }

    /// It applies as many traced computations as the first attribute says.
    const fn counted_bodies(self) -> Form {
        Form { counts_bodies: true, has_attributes: true, has_results: true, ..self }
    }
}

/// The operations, each with its number in a program's words and its form.
macro_rules! operations {
    (
        families { $($(#[$family_doc:meta])* $family:ident($Member:ident) = $family_code:literal: $family_form:expr;)* }
        single { $($(#[$doc:meta])* $single:ident = $code:literal: $form:expr;)* }
    ) => {
        /// An operation of a node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Op {
            $($(#[$family_doc])* $family($Member),)*
            $($(#[$doc])* $single,)*
        }

        impl Op {
            /// A number that is different for different operations: what a program's bytes hold.
            pub fn code(self) -> u32 {
                match self {
                    $(Op::$family(member) => $family_code << 8 | member as u32,)*
                    $(Op::$single => $code << 8,)*
                }
            }

            /// The operation of a code that [`Op::code`] gave.
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

            /// Every operation.
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
        /// An elementwise operation of one operand.
        Unary(UnaryOp) = 3: Form::of(1).elementwise();
        /// An elementwise operation of two operands, which broadcast and promote.
        Binary(BinaryOp) = 4: Form::of(2).elementwise();
        /// tensor (op) scalar.
        BinaryScalar(BinaryOp) = 5: Form::of(1).scalar().elementwise();
        /// scalar (op) tensor.
        ScalarBinary(BinaryOp) = 6: Form::of(1).scalar().elementwise();
        /// A comparison of two operands, which broadcast and promote.
        Compare(CompareOp) = 7: Form::of(2).elementwise();
        /// Over the axes in the attributes; the node's shape says whether they are kept as 1.
        Reduce(ReduceOp) = 13: Form::of(1).attributes();
    }
    single {
        /// Device data; a parameter of whatever program uses it.
        Leaf = 0: Form::of(0);
        /// One scalar in every element.
        Full = 1: Form::of(0).scalar();
        /// 0, 1, 2, ... along one axis (attribute).
        Iota = 2: Form::of(0).attributes();
        /// pred ? a : b, all three broadcast.
        Select = 8: Form::of(3).elementwise();
        /// To the node's dtype.
        Convert = 9: Form::of(1).elementwise();
        /// To the node's shape, elements in row-major order.
        Reshape = 10: Form::of(1);
        /// To the node's shape, by NumPy's rules.
        BroadcastTo = 11: Form::of(1);
        /// Axis i of the result is axis `attribute[i]` of the operand.
        Transpose = 12: Form::of(1).attributes();
        /// NumPy's matmul.
        Matmul = 14: Form::of(2);
        /// Starts, then limits, then strides, in the attributes.
        Slice = 15: Form::of(1).attributes();
        /// Along the axis in the attributes; any number of operands.
        Concatenate = 16: Form::of_any().attributes();
        /// Of the node's shape, out of the first operand, from where the other operands (one scalar an axis) say.
        DynamicSlice = 17: Form::of_any();
        /// The first operand with the second one written over it, from where the other operands say.
        DynamicUpdateSlice = 18: Form::of_any();
        /// Slices of the first operand along the axis in the attributes, at the indices in the second.
        Take = 19: Form::of(2).attributes();
        /// The first operand with the second, a scalar, around it: low, then high, then interior, in the attributes.
        Pad = 20: Form::of(2).attributes();
        /// A traced computation (the body), applied to arguments, then captures.
        Call = 21: Form::of_any().bodies(1);
        /// While the first body gives true, the second one is applied. Attributes: how many values are carried, how many
        /// captures the first body has. Operands: start values, captures of the first body, of the second.
        While = 22: Form::of_any().attributes().bodies(2);
        /// The first body or the second, as the first operand says. Attributes: how many arguments, how many captures the
        /// first body has. Operands: pred, arguments, captures of the first body, of the second.
        If = 23: Form::of_any().attributes().bodies(2);
        /// The body over the leading axis of stacked arrays. Attributes: how many values are carried, how many arrays, how
        /// many times, whether from the end. Operands: start values, arrays, captures.
        Scan = 24: Form::of_any().attributes().bodies(1);
        /// The result with the number in the attributes, of the operand, which has several.
        Result = 25: Form::of(1).attributes();
        /// x, but at least min and at most max: the operands, in the order min, x, max.
        Clamp = 26: Form::of(3).elementwise();
        /// A complex number of two reals.
        Complex = 27: Form::of(2).elementwise();
        /// The real part.
        Real = 28: Form::of(1).elementwise();
        /// The imaginary part.
        Imag = 29: Form::of(1).elementwise();
        /// The bits as elements of the node's dtype; the last axis comes or goes where the widths differ.
        BitcastConvert = 30: Form::of(1);
        /// Rounded to so many bits of exponent and of mantissa.
        ReducePrecision = 31: Form::of(1).attributes().elementwise();
        /// Backwards along the axes in the attributes.
        Reverse = 32: Form::of(1).attributes();
        /// A product over chosen axes.
        DotGeneral = 33: Form::of(2).attributes();
        /// Windows of the first operand times the second.
        Convolution = 34: Form::of(2).attributes();
        /// Slices of the first operand, from where the second says.
        Gather = 35: Form::of(2).attributes();
        /// Arrays, with slices of others combined into them. Operands: arrays, indices, updates, captures of the body.
        Scatter = 36: Form::of_any().attributes().bodies(1);
        /// Arrays, sorted together along an axis. Operands: arrays, captures of the body.
        Sort = 37: Form::of_any().attributes().bodies(1);
        /// Arrays, reduced together. Operands: arrays, what to start from, captures of the body.
        ReduceWith = 38: Form::of_any().attributes().bodies(1);
        /// Arrays, reduced together window by window. Operands: arrays, what to start from, captures of the body.
        ReduceWindow = 39: Form::of_any().attributes().bodies(1);
        /// Values, combined into what the first body selects of each window. Operands: array, values, what to start from.
        SelectAndScatter = 40: Form::of_any().attributes().bodies(2);
        /// A triangular factor.
        Cholesky = 44: Form::of(1).attributes();
        /// The solution of a triangular system.
        TriangularSolve = 45: Form::of(2).attributes();
        /// A Fourier transform.
        Fft = 46: Form::of(1).attributes();
        /// The next state of a generator, and random bits.
        RngBitGenerator = 47: Form::of(1).attributes().results();
        /// The operands, none of which is computed before the others are needed.
        OptimizationBarrier = 48: Form::of_any().results();
        /// What the plugin knows under a name.
        CustomCall = 49: Form::of_any().attributes().results();
        /// The body that the first operand numbers. Attributes: how many bodies, how many arguments, how many captures each
        /// body has. Operands: index, arguments, captures of each body.
        Case = 50: Form::of_any().counted_bodies();
        /// Random bits of a key, each of its place alone.
        RandomBits = 51: Form::of(1);
        /// Where the first so many elements of an order are along the last axis. Attributes: how many, whether the greatest.
        TopK = 52: Form::of(1).attributes();
    }
}

impl Op {
    /// Whether it holds a scalar: a hole of the program.
    #[inline]
    pub fn has_scalar(self) -> bool {
        self.form().has_scalar
    }

    /// Whether it has integer attributes.
    #[inline]
    pub fn has_attributes(self) -> bool {
        self.form().has_attributes
    }

    /// How many traced computations it applies, with these attributes.
    #[inline]
    pub fn body_count(self, attributes: &[i64]) -> usize {
        let form = self.form();
        if form.counts_bodies { attributes[0] as usize } else { form.bodies }
    }

    /// Whether it has several results, each of which is a node of its own.
    #[inline]
    pub fn has_results(self) -> bool {
        self.form().has_results
    }

    /// How many operands it has; none if that is up to the node.
    #[inline]
    pub fn arity(self) -> Option<usize> {
        self.form().operands
    }

    /// Whether each element of the result comes from the operands' elements at the same place, so that the result may be
    /// written over an operand of its shape.
    #[inline]
    pub fn is_elementwise(self) -> bool {
        self.form().is_elementwise
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
