//! The operations. Numbers of the inner enums are those of the C constants, and frozen.

use crate::error;
use crate::error::{Error, Result};

/// An enum whose members carry the numbers 1, 2, 3, ... of C constants, with their names in StableHLO.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident, $constants:literal, { $($member:ident = $number:literal => $text:literal),* $(,)? }) => {
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
                match $name::ALL.get((number as usize).wrapping_sub(1)) {
                    Some(&member) => Ok(member),
                    None => Err($name::no_such(number)),
                }
            }

            #[cold]
            fn no_such(number: i32) -> Error {
                error!(
                    InvalidArgument,
                    "op: {number} is no {} constant (1 to {})", $constants, $name::ALL.len()
                )
            }

            /// Its StableHLO name.
            pub fn name(self) -> &'static str {
                match self { $($name::$member => $text),* }
            }
        }
    };
}

numbered! {
    /// Elementwise, of one operand.
    UnaryOp, "LXLA_UNARY_*", {
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
    BinaryOp, "LXLA_BINARY_*", {
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
    CompareOp, "LXLA_COMPARE_*", {
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
    ReduceOp, "LXLA_REDUCE_*", {
        Sum = 1 => "add",
        Product = 2 => "multiply",
        Max = 3 => "maximum",
        Min = 4 => "minimum",
        All = 5 => "and",
        Any = 6 => "or",
    }
}

/// An operation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Device data; a parameter of whatever program uses it.
    Leaf,
    /// One scalar in every element.
    Full,
    /// 0, 1, 2, ... along one axis (attribute).
    Iota,
    /// An elementwise operation of one operand.
    Unary(UnaryOp),
    /// An elementwise operation of two operands, which broadcast and promote.
    Binary(BinaryOp),
    /// tensor (op) scalar.
    BinaryScalar(BinaryOp),
    /// scalar (op) tensor.
    ScalarBinary(BinaryOp),
    /// A comparison of two operands, which broadcast and promote.
    Compare(CompareOp),
    /// pred ? a : b, all three broadcast.
    Select,
    /// To the node's dtype.
    Convert,
    /// To the node's shape, elements in row-major order.
    Reshape,
    /// To the node's shape, by NumPy's rules.
    BroadcastTo,
    /// Axis i of the result is axis `attribute[i]` of the operand.
    Transpose,
    /// Over the axes in the attributes; the node's shape says whether they are kept as 1.
    Reduce(ReduceOp),
    /// NumPy's matmul.
    Matmul,
    /// Starts, then limits, then strides, in the attributes.
    Slice,
    /// Along the axis in the attributes; any number of operands.
    Concatenate,
    /// Of the node's shape, out of the first operand, from where the other operands (one scalar an axis) say.
    DynamicSlice,
    /// The first operand with the second one written over it, from where the other operands say.
    DynamicUpdateSlice,
    /// Slices of the first operand along the axis in the attributes, at the indices in the second.
    Take,
    /// The first operand with the second, a scalar, around it: low, then high, then interior, in the attributes.
    Pad,
    /// A traced computation (the body), applied to arguments, then captures. It has several results.
    Call,
    /// While the first body gives true, the second one is applied. Attributes: how many values are carried, how many
    /// captures the first body has. Operands: start values, captures of the first body, of the second.
    While,
    /// The first body or the second, as the first operand says. Attributes: how many arguments, how many captures the first
    /// body has. Operands: pred, arguments, captures of the first body, of the second.
    If,
    /// The body over the leading axis of stacked arrays. Attributes: how many values are carried, how many arrays, how many
    /// times, whether from the end. Operands: start values, arrays, captures.
    Scan,
    /// The result with the number in the attributes, of the operand, which has several.
    Result,
}

impl Op {
    /// A number that is different for different operations: what a program's bytes hold.
    pub fn code(self) -> u32 {
        let (family, member) = match self {
            Op::Leaf => (0, 0),
            Op::Full => (1, 0),
            Op::Iota => (2, 0),
            Op::Unary(op) => (3, op as u32),
            Op::Binary(op) => (4, op as u32),
            Op::BinaryScalar(op) => (5, op as u32),
            Op::ScalarBinary(op) => (6, op as u32),
            Op::Compare(op) => (7, op as u32),
            Op::Select => (8, 0),
            Op::Convert => (9, 0),
            Op::Reshape => (10, 0),
            Op::BroadcastTo => (11, 0),
            Op::Transpose => (12, 0),
            Op::Reduce(op) => (13, op as u32),
            Op::Matmul => (14, 0),
            Op::Slice => (15, 0),
            Op::Concatenate => (16, 0),
            Op::DynamicSlice => (17, 0),
            Op::DynamicUpdateSlice => (18, 0),
            Op::Take => (19, 0),
            Op::Pad => (20, 0),
            Op::Call => (21, 0),
            Op::While => (22, 0),
            Op::If => (23, 0),
            Op::Scan => (24, 0),
            Op::Result => (25, 0),
        };
        family << 8 | member
    }

    /// The operation of a code that [`Op::code`] gave.
    pub fn from_code(code: u32) -> Option<Op> {
        let member = (code & 0xFF) as i32;
        Some(match code >> 8 {
            0 => Op::Leaf,
            1 => Op::Full,
            2 => Op::Iota,
            3 => Op::Unary(UnaryOp::from_number(member).ok()?),
            4 => Op::Binary(BinaryOp::from_number(member).ok()?),
            5 => Op::BinaryScalar(BinaryOp::from_number(member).ok()?),
            6 => Op::ScalarBinary(BinaryOp::from_number(member).ok()?),
            7 => Op::Compare(CompareOp::from_number(member).ok()?),
            8 => Op::Select,
            9 => Op::Convert,
            10 => Op::Reshape,
            11 => Op::BroadcastTo,
            12 => Op::Transpose,
            13 => Op::Reduce(ReduceOp::from_number(member).ok()?),
            14 => Op::Matmul,
            15 => Op::Slice,
            16 => Op::Concatenate,
            17 => Op::DynamicSlice,
            18 => Op::DynamicUpdateSlice,
            19 => Op::Take,
            20 => Op::Pad,
            21 => Op::Call,
            22 => Op::While,
            23 => Op::If,
            24 => Op::Scan,
            25 => Op::Result,
            _ => return None,
        })
    }

    /// Whether it holds a scalar: a hole of the program.
    pub fn has_scalar(self) -> bool {
        matches!(self, Op::Full | Op::BinaryScalar(_) | Op::ScalarBinary(_))
    }

    /// Whether it has integer attributes.
    pub fn has_attributes(self) -> bool {
        use Op::*;
        matches!(self, Iota | Transpose | Reduce(_) | Slice | Concatenate | Take | Pad | While | If | Scan | Result)
    }

    /// How many traced computations it applies.
    pub fn body_count(self) -> usize {
        match self {
            Op::Call | Op::Scan => 1,
            Op::While | Op::If => 2,
            _ => 0,
        }
    }

    /// Whether it has several results, each of which is a node of its own.
    pub fn has_results(self) -> bool {
        self.body_count() > 0
    }

    /// How many operands it has; none if that is up to the node.
    pub fn arity(self) -> Option<usize> {
        match self {
            Op::Leaf | Op::Full | Op::Iota => Some(0),
            Op::Binary(_) | Op::Compare(_) | Op::Matmul | Op::Take | Op::Pad => Some(2),
            Op::Select => Some(3),
            Op::Concatenate | Op::DynamicSlice | Op::DynamicUpdateSlice => None,
            Op::Call | Op::While | Op::If | Op::Scan => None,
            _ => Some(1),
        }
    }

    /// Whether each element of the result comes from the operands' elements at the same place, so that the result may be
    /// written over an operand of its shape.
    pub fn is_elementwise(self) -> bool {
        matches!(
            self,
            Op::Unary(_)
                | Op::Binary(_)
                | Op::BinaryScalar(_)
                | Op::ScalarBinary(_)
                | Op::Compare(_)
                | Op::Select
                | Op::Convert
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_different_and_come_back() {
        let mut all = vec![
            Op::Leaf,
            Op::Full,
            Op::Iota,
            Op::Select,
            Op::Convert,
            Op::Reshape,
            Op::BroadcastTo,
            Op::Transpose,
            Op::Matmul,
            Op::Slice,
            Op::Concatenate,
            Op::DynamicSlice,
            Op::DynamicUpdateSlice,
            Op::Take,
            Op::Pad,
            Op::Call,
            Op::While,
            Op::If,
            Op::Scan,
            Op::Result,
        ];
        all.extend(UnaryOp::ALL.iter().map(|&op| Op::Unary(op)));
        for &op in BinaryOp::ALL {
            all.extend([Op::Binary(op), Op::BinaryScalar(op), Op::ScalarBinary(op)]);
        }
        all.extend(CompareOp::ALL.iter().map(|&op| Op::Compare(op)));
        all.extend(ReduceOp::ALL.iter().map(|&op| Op::Reduce(op)));
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
