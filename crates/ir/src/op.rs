//! The operations, and the form of their nodes.

use super::members::{BinaryFunction, BinaryOp, CompareOp, ReduceOp, SpecialOp, UnaryFunction, UnaryOp};

/// Traits of an operation: the parts of its nodes. One small number, so that [`Op::traits`] compiles to a table: the
/// number of operands in bits 0 to 3, the number of bodies in bits 4 and 5, and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OpTraits(u16);

impl OpTraits {
    /// Number of operands that stands for any number.
    const ANY: u16 = 15;
    const COUNTS_BODIES: u16 = 1 << 6;
    const SCALAR: u16 = 1 << 7;
    const ATTRIBUTES: u16 = 1 << 8;
    const RESULTS: u16 = 1 << 9;

    const fn of(operands: u16) -> OpTraits {
        OpTraits(operands)
    }

    /// Variable number of operands.
    const fn of_any() -> OpTraits {
        OpTraits(OpTraits::ANY)
    }

    const fn scalar(self) -> OpTraits {
        OpTraits(self.0 | OpTraits::SCALAR)
    }

    const fn attributes(self) -> OpTraits {
        OpTraits(self.0 | OpTraits::ATTRIBUTES)
    }

    const fn results(self) -> OpTraits {
        OpTraits(self.0 | OpTraits::RESULTS)
    }

    /// An operation that applies traced computations has a list of results.
    const fn bodies(self, bodies: u16) -> OpTraits {
        OpTraits(self.0 | bodies << 4 | OpTraits::RESULTS)
    }

    /// The number of applied computations is the first word of the attributes.
    const fn counted_bodies(self) -> OpTraits {
        OpTraits(self.0 | OpTraits::COUNTS_BODIES | OpTraits::ATTRIBUTES | OpTraits::RESULTS)
    }

    const fn has(self, flag: u16) -> bool {
        self.0 & flag != 0
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
            const fn traits(self) -> OpTraits {
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
        Unary(UnaryOp) = 3: OpTraits::of(1);
        /// Elementwise operation with two operands, which are broadcast and promoted.
        Binary(BinaryOp) = 4: OpTraits::of(2);
        /// Elementwise operation: tensor (op) scalar.
        BinaryScalar(BinaryOp) = 5: OpTraits::of(1).scalar();
        /// Elementwise operation: scalar (op) tensor.
        ScalarBinary(BinaryOp) = 6: OpTraits::of(1).scalar();
        /// Comparison of two operands, which are broadcast and promoted.
        Compare(CompareOp) = 7: OpTraits::of(2);
        /// Elementwise function of one operand, a float or complex.
        UnaryFunction(UnaryFunction) = 53: OpTraits::of(1);
        /// Elementwise function of two operands of one dtype, floats or complex, which are broadcast.
        BinaryFunction(BinaryFunction) = 54: OpTraits::of(2);
        /// Special function of one float operand.
        Special(SpecialOp) = 55: OpTraits::of(1);
        /// Reduction over the axes in the attributes. The node's shape determines whether they are kept with size 1.
        Reduce(ReduceOp) = 13: OpTraits::of(1).attributes();
        /// Reduction of the values of a group of devices, elementwise, whose result every device of the group gets.
        /// Attributes: mesh, axes of the mesh that the devices of a group differ on.
        AllReduce(ReduceOp) = 56: OpTraits::of(1).attributes();
        /// Reduction of the values of a group of devices, of which each device gets one piece. Attributes: mesh, axes
        /// of the mesh, axis that is split.
        ReduceScatter(ReduceOp) = 57: OpTraits::of(1).attributes();
    }
    single {
        /// Device data; a parameter of every program that uses it.
        Leaf = 0: OpTraits::of(0);
        /// Array filled with one scalar.
        Full = 1: OpTraits::of(0).scalar();
        /// Values 0, 1, 2, ... along one axis (attribute).
        Iota = 2: OpTraits::of(0).attributes();
        /// Elementwise selection: pred ? a : b. All three operands are broadcast.
        Select = 8: OpTraits::of(3);
        /// Conversion to the node's dtype.
        Convert = 9: OpTraits::of(1);
        /// Reshape to the node's shape, with elements in row-major order.
        Reshape = 10: OpTraits::of(1);
        /// Broadcast to the node's shape, with NumPy's rules.
        BroadcastTo = 11: OpTraits::of(1);
        /// Permutation of axes: axis i of the result is axis `attribute[i]` of the operand.
        Transpose = 12: OpTraits::of(1).attributes();
        /// Matrix product with the semantics of NumPy's matmul.
        Matmul = 14: OpTraits::of(2);
        /// Static slice. Attributes: starts, limits, strides.
        Slice = 15: OpTraits::of(1).attributes();
        /// Concatenation of any number of operands along the axis in the attributes.
        Concatenate = 16: OpTraits::of_any().attributes();
        /// Slice with the node's shape of the first operand. The other operands are the start indices, one scalar per
        /// axis.
        DynamicSlice = 17: OpTraits::of_any();
        /// The first operand, with a slice replaced by the second. The other operands are the start indices, one scalar
        /// per axis.
        DynamicUpdateSlice = 18: OpTraits::of_any();
        /// Slices of the first operand along the axis in the attributes, at the indices in the second.
        Take = 19: OpTraits::of(2).attributes();
        /// The first operand, padded with the scalar in the second. Attributes: low, high and interior padding.
        Pad = 20: OpTraits::of(2).attributes();
        /// Application of a traced computation (the body). Operands: arguments, captures.
        Call = 21: OpTraits::of_any().bodies(1);
        /// While loop: applies the second body while the first returns true. Attributes: number of carried values,
        /// number of captures of the first body. Operands: initial values, captures of the first body, captures of the
        /// second.
        While = 22: OpTraits::of_any().attributes().bodies(2);
        /// Conditional: applies the first body if the first operand is true, and the second otherwise. Attributes:
        /// number of arguments, number of captures of the first body. Operands: pred, arguments, captures of the first
        /// body, captures of the second.
        If = 23: OpTraits::of_any().attributes().bodies(2);
        /// Scan: applies the body along the leading axis of stacked arrays. Attributes: number of carried values,
        /// number of arrays, number of iterations, whether to iterate in reverse. Operands: initial values, arrays,
        /// captures.
        Scan = 24: OpTraits::of_any().attributes().bodies(1);
        /// One result of the operand, which is an operation with several results. Attribute: its index.
        Result = 25: OpTraits::of(1).attributes();
        /// Elementwise clamp of x to the range from min to max. Operands: min, x, max.
        Clamp = 26: OpTraits::of(3);
        /// Complex number from a real and an imaginary part.
        Complex = 27: OpTraits::of(2);
        /// Real part of a complex number.
        Real = 28: OpTraits::of(1);
        /// Imaginary part of a complex number.
        Imag = 29: OpTraits::of(1);
        /// Reinterpretation of the bits as the node's dtype. The last axis is added or removed if the widths differ.
        BitcastConvert = 30: OpTraits::of(1);
        /// Rounding to the numbers of exponent and mantissa bits in the attributes.
        ReducePrecision = 31: OpTraits::of(1).attributes();
        /// Reversal of the axes in the attributes.
        Reverse = 32: OpTraits::of(1).attributes();
        /// Dot product with contracting and batching axes.
        DotGeneral = 33: OpTraits::of(2).attributes();
        /// Convolution of the first operand with the kernel in the second.
        Convolution = 34: OpTraits::of(2).attributes();
        /// Gather: slices of the first operand, at the start indices in the second.
        Gather = 35: OpTraits::of(2).attributes();
        /// Scatter: combines slices into arrays with the body. Operands: arrays, indices, updates, captures of the
        /// body.
        Scatter = 36: OpTraits::of_any().attributes().bodies(1);
        /// Joint sort of several arrays along an axis. Operands: arrays, captures of the body.
        Sort = 37: OpTraits::of_any().attributes().bodies(1);
        /// Joint reduction of several arrays with the body. Operands: arrays, initial values, captures of the body.
        ReduceWith = 38: OpTraits::of_any().attributes().bodies(1);
        /// Joint reduction of several arrays over windows. Operands: arrays, initial values, captures of the body.
        ReduceWindow = 39: OpTraits::of_any().attributes().bodies(1);
        /// Selects one element of each window with the first body, and combines the source values into the selected
        /// positions with the second. Operands: array, source values, initial value.
        SelectAndScatter = 40: OpTraits::of_any().attributes().bodies(2);
        /// The operand, whose derivative is zero.
        StopGradient = 41: OpTraits::of(1);
        /// The operand, with a name by which a checkpoint policy saves it.
        CheckpointName = 42: OpTraits::of(1).attributes();
        /// Application of a computation with custom rules. The bodies are the computation and its rules; one of them is
        /// applied. Operands: arguments, captures of each body.
        Custom = 43: OpTraits::of_any().counted_bodies();
        /// Cholesky factor of a matrix.
        Cholesky = 44: OpTraits::of(1).attributes();
        /// Solution of a triangular system.
        TriangularSolve = 45: OpTraits::of(2).attributes();
        /// Fourier transform.
        Fft = 46: OpTraits::of(1).attributes();
        /// Random bit generator. Results: the next state, and random bits.
        RngBitGenerator = 47: OpTraits::of(1).attributes().results();
        /// Returns its operands unchanged, and makes all of them available before any result is used. XLA does not move
        /// computations across it.
        OptimizationBarrier = 48: OpTraits::of_any().results();
        /// Call of a function that is registered with the plugin by name.
        CustomCall = 49: OpTraits::of_any().attributes().results();
        /// Case: applies the body selected by the first operand. Attributes: number of captures of each body, number
        /// of arguments. Operands: index, arguments, captures of each body.
        Case = 50: OpTraits::of_any().counted_bodies();
        /// Random bits from a key. Each element depends only on the key and its position.
        RandomBits = 51: OpTraits::of(1);
        /// Indices of the k largest (or smallest) elements along the last axis. Attributes: k, whether the largest are
        /// selected.
        TopK = 52: OpTraits::of(1).attributes();
        /// The operand, constrained to a sharding over the devices of a mesh. Attributes: mesh, sharding.
        ShardingConstraint = 58: OpTraits::of(1).attributes();
        /// Application of a traced computation by each device of a mesh to its pieces of the operands. Attributes:
        /// mesh, shardings of the arguments, shardings of the results. Operands: arguments, then captures, which are
        /// replicated.
        ShardMap = 59: OpTraits::of_any().attributes().bodies(1);
        /// Concatenation of the values of a group of devices. Attributes: mesh, axes of the mesh, axis.
        AllGather = 60: OpTraits::of(1).attributes();
        /// Exchange of pieces between the devices of a group. Attributes: mesh, axes of the mesh, axis that is split,
        /// axis along which the received pieces are concatenated.
        AllToAll = 61: OpTraits::of(1).attributes();
        /// The value of another device, along one axis of the mesh. Attributes: mesh, axis of the mesh, pairs of a
        /// source and a target.
        CollectivePermute = 62: OpTraits::of(1).attributes();
        /// Position of the device along axes of the mesh. Attributes: mesh, axes of the mesh.
        AxisIndex = 63: OpTraits::of(0).attributes();
        /// Call of a kernel of the caller. The first word of the attributes says whether it has effects. The body is
        /// not applied; it holds the kernel.
        Kernel = 80: OpTraits::of_any().attributes().bodies(1);
        /// QR factors of matrices. Attribute: whether the orthogonal factor is square.
        Qr = 70: OpTraits::of(1).attributes().results();
        /// LU factors of matrices. Results: both factors in one matrix, pivots, permutation.
        Lu = 71: OpTraits::of(1).results();
        /// Singular values of matrices. Attributes: whether with vectors, whether these are square matrices. Results:
        /// u, values, vh; without vectors the values.
        Svd = 72: OpTraits::of(1).attributes().results();
        /// Eigenvalues and eigenvectors of Hermitian matrices. Attribute: whether the lower triangle is read.
        Eigh = 73: OpTraits::of(1).attributes().results();
        /// Eigenvalues and eigenvectors of square matrices, complex numbers.
        Eig = 74: OpTraits::of(1).results();
        /// Pseudoinverse of matrices. Attribute: relative tolerance.
        Pinv = 75: OpTraits::of(1).attributes();
        /// LDL factors of symmetric or Hermitian matrices. Attribute: whether they are Hermitian. Results: both factors
        /// in one matrix, pivots.
        Ldl = 76: OpTraits::of(1).attributes().results();
        /// Solution of systems. Operands: the results of an [`Op::Ldl`] with the same attribute, right-hand sides.
        LdlSolve = 77: OpTraits::of(3).attributes();
        /// Solution of systems. Operands: both factors in one matrix and the permutation of an [`Op::Lu`] of square
        /// matrices, right-hand sides.
        LuSolve = 78: OpTraits::of(3);
        /// Inverse of matrices. Operands: as of [`Op::LuSolve`], without right-hand sides.
        LuInverse = 79: OpTraits::of(2);
        /// Schur form of square matrices. Results: t, z.
        Schur = 81: OpTraits::of(1).results();
    }
}

impl Op {
    /// Whether the operation has a scalar, which is a scalar slot of the program.
    #[inline]
    pub fn has_scalar(self) -> bool {
        self.traits().has(OpTraits::SCALAR)
    }

    /// Whether the operation has attributes.
    #[inline]
    pub fn has_attributes(self) -> bool {
        self.traits().has(OpTraits::ATTRIBUTES)
    }

    /// Number of traced computations that the operation applies with these encoded attributes.
    #[inline]
    pub fn body_count(self, words: &[i64]) -> usize {
        let form = self.traits();
        if form.has(OpTraits::COUNTS_BODIES) { words[0] as usize } else { (form.0 >> 4 & 3) as usize }
    }

    /// Whether the operation has a list of results, each of which is a node of its own.
    #[inline]
    pub fn has_results(self) -> bool {
        self.traits().has(OpTraits::RESULTS)
    }

    /// Whether the operation exchanges values between the devices of a mesh, or depends on the device. Only the body of
    /// a [`Op::ShardMap`] may have it.
    pub fn is_collective(self) -> bool {
        matches!(
            self,
            Op::AllReduce(_)
                | Op::ReduceScatter(_)
                | Op::AllGather
                | Op::AllToAll
                | Op::CollectivePermute
                | Op::AxisIndex
        )
    }

    /// Whether the operation constrains the sharding of whole arrays on a mesh. The body of a [`Op::ShardMap`] has
    /// pieces, and may not contain it.
    pub fn is_sharding(self) -> bool {
        matches!(self, Op::ShardingConstraint | Op::ShardMap)
    }

    /// Number of operands; None if it varies between nodes.
    #[inline]
    pub fn arity(self) -> Option<usize> {
        let operands = self.traits().0 & OpTraits::ANY;
        (operands != OpTraits::ANY).then_some(operands as usize)
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
}
