//! Remembered results of inference. Two kinds of operations are remembered: those whose result type depends on the
//! types of their operands alone, and those with one operand whose result type and attributes depend on the operand's
//! type and on integer arguments, such as axes. A training step repeats the same few combinations, and shapes of a
//! trace are interned, so that a lookup compares some integers where inference builds shapes.

use crate::op::Op;
use base::types::DType;

/// Maximum number of operands of an operation that is remembered.
const MOST_OPERANDS: usize = 3;

/// Maximum number of arguments in the list of an operation that is remembered.
const MOST_ARGUMENTS: usize = 4;

/// Maximum number of words of its attributes: a list of axes is preceded by its length.
const MOST_WORDS: usize = 1 + MOST_ARGUMENTS;

/// Number of entries of each table. An inference replaces the one whose hash is the same.
const ENTRIES: usize = 128;

/// Dtype of a node, and number of its shape in the trace.
pub type Type = (DType, u32);

#[derive(Clone, Copy)]
struct Inference {
    op: Op,
    operands: [Option<Type>; MOST_OPERANDS],
    result: Type,
}

/// Integer arguments of an operation, as the caller gives them.
#[derive(Clone, Copy, Default)]
pub struct Arguments<'a> {
    /// A list: axes, or dimensions.
    pub list: &'a [i64],
    /// A flag; false for an operation that has none.
    pub flag: bool,
}

/// [`Arguments`] that are remembered: the list is padded with zeros.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    list: [i64; MOST_ARGUMENTS],
    length: u8,
    flag: bool,
}

/// Result type and encoded attributes of an operation with arguments.
#[derive(Clone, Copy)]
struct Detailed {
    op: Op,
    operand: Type,
    arguments: Key,
    result: Type,
    words: [i64; MOST_WORDS],
    word_count: u8,
}

/// Results by operation, types of the operands, and arguments. Both tables are empty until the first result is
/// remembered.
#[derive(Default)]
pub struct Inferences {
    plain: Vec<Option<Inference>>,
    detailed: Vec<Option<Detailed>>,
}

impl Inferences {
    /// Result type of an operation on operands of these types, if it was remembered.
    #[inline]
    pub fn get<const N: usize>(&self, op: Op, operands: [Type; N]) -> Option<Type> {
        let operands = padded(operands);
        let entry = self.plain.get(index(op, operands))?.as_ref()?;
        (entry.op == op && entry.operands == operands).then_some(entry.result)
    }

    /// Remembers the result type of an operation.
    pub fn insert<const N: usize>(&mut self, op: Op, operands: [Type; N], result: Type) {
        let operands = padded(operands);
        if self.plain.is_empty() {
            self.plain.resize(ENTRIES, None);
        }
        self.plain[index(op, operands)] = Some(Inference { op, operands, result });
    }

    /// Result type and encoded attributes of an operation with these arguments, if they were remembered.
    #[inline]
    pub fn get_detailed(&self, op: Op, operand: Type, arguments: Arguments) -> Option<(Type, &[i64])> {
        let arguments = Key::new(arguments)?;
        let entry = self.detailed.get(detailed_index(op, operand, &arguments))?.as_ref()?;
        let is_known = entry.op == op && entry.operand == operand && entry.arguments == arguments;
        is_known.then(|| (entry.result, &entry.words[..entry.word_count.into()]))
    }

    /// Remembers the result type and the encoded attributes of an operation with these arguments, unless there are too
    /// many arguments or words.
    pub fn insert_detailed(&mut self, op: Op, operand: Type, arguments: Arguments, result: Type, given: &[i64]) {
        let Some(arguments) = Key::new(arguments).filter(|_| given.len() <= MOST_WORDS) else { return };
        if self.detailed.is_empty() {
            self.detailed.resize(ENTRIES, None);
        }
        let mut words = [0; MOST_WORDS];
        words[..given.len()].copy_from_slice(given);
        let word_count = given.len() as u8;
        self.detailed[detailed_index(op, operand, &arguments)] =
            Some(Detailed { op, operand, arguments, result, words, word_count });
    }
}

impl Key {
    /// None if the list is too long to be remembered.
    #[inline]
    fn new(arguments: Arguments) -> Option<Key> {
        // Element by element: a copy of variable length costs a call.
        let list = match *arguments.list {
            [] => [0; 4],
            [a] => [a, 0, 0, 0],
            [a, b] => [a, b, 0, 0],
            [a, b, c] => [a, b, c, 0],
            [a, b, c, d] => [a, b, c, d],
            _ => return None,
        };
        Some(Key { list, length: arguments.list.len() as u8, flag: arguments.flag })
    }
}

#[inline]
fn padded<const N: usize>(operands: [Type; N]) -> [Option<Type>; MOST_OPERANDS] {
    const { assert!(N <= MOST_OPERANDS) };
    let mut padded = [None; MOST_OPERANDS];
    padded.iter_mut().zip(operands).for_each(|(to, from)| *to = Some(from));
    padded
}

#[inline]
fn index(op: Op, operands: [Option<Type>; MOST_OPERANDS]) -> usize {
    entry_of(operands.into_iter().flatten().fold(op.code(), |hash, ty| mixed(hash, type_bits(ty))))
}

#[inline]
fn detailed_index(op: Op, operand: Type, arguments: &Key) -> usize {
    let start = mixed(op.code(), type_bits(operand) ^ u32::from(arguments.flag) << 31);
    // Arguments that differ only in their high halves share an entry; they are compared in full.
    entry_of(arguments.list.iter().fold(start, |hash, &argument| mixed(hash, argument as u32)))
}

#[inline]
fn type_bits((dtype, shape): Type) -> u32 {
    shape << 5 | dtype as u32
}

#[inline]
fn mixed(hash: u32, bits: u32) -> u32 {
    (hash.rotate_left(5) ^ bits).wrapping_mul(0x9E37_79B9)
}

/// Index of the entry for a hash.
#[inline]
fn entry_of(hash: u32) -> usize {
    hash as usize >> (u32::BITS - ENTRIES.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::BinaryOp;

    #[test]
    fn a_type_is_remembered_for_its_operation_and_operands() {
        let mut known = Inferences::default();
        let [a, b, c] = [(DType::F32, 0), (DType::F32, 1), (DType::S32, 0)];
        let (add, sub) = (Op::Binary(BinaryOp::Add), Op::Binary(BinaryOp::Subtract));
        assert_eq!(known.get(add, [a, b]), None);
        known.insert(add, [a, b], b);
        assert_eq!(known.get(add, [a, b]), Some(b));
        assert_eq!(known.get(sub, [a, b]), None);
        assert_eq!(known.get(add, [b, a]), None);
        assert_eq!(known.get(add, [c, b]), None);
        assert_eq!(known.get(add, [a]), None);
        assert_eq!(known.get(add, [a, b, b]), None);
    }

    #[test]
    fn a_result_is_remembered_for_its_operation_operand_and_arguments() {
        fn list(list: &[i64]) -> Arguments<'_> {
            Arguments { list, flag: false }
        }
        let mut known = Inferences::default();
        let (a, b) = ((DType::F32, 0), (DType::F32, 1));
        assert_eq!(known.get_detailed(Op::Transpose, a, list(&[1, 0])), None);
        known.insert_detailed(Op::Transpose, a, list(&[1, 0]), b, &[2, 1, 0]);
        assert_eq!(known.get_detailed(Op::Transpose, a, list(&[1, 0])), Some((b, &[2, 1, 0][..])));
        assert_eq!(known.get_detailed(Op::Transpose, a, Arguments { list: &[1, 0], flag: true }), None);
        assert_eq!(known.get_detailed(Op::Reverse, a, list(&[1, 0])), None);
        assert_eq!(known.get_detailed(Op::Transpose, b, list(&[1, 0])), None);
        for other in [&[][..], &[1], &[0, 1], &[1, 0, 0], &[1, 0, 0, 0], &[1, 0, 0, 0, 0], &[1 | 1 << 32, 0]] {
            assert_eq!(known.get_detailed(Op::Transpose, a, list(other)), None, "{other:?}");
        }
        known.insert_detailed(Op::Transpose, b, list(&[4, 3, 2, 1, 0]), b, &[5, 4, 3, 2, 1, 0]);
        known.insert_detailed(Op::Transpose, b, list(&[1]), b, &[0; MOST_WORDS + 1]);
        assert_eq!(known.get_detailed(Op::Transpose, b, list(&[4, 3, 2, 1, 0])), None);
        assert_eq!(known.get_detailed(Op::Transpose, b, list(&[1])), None);
    }

    #[test]
    fn more_types_than_entries_replace_each_other() {
        let mut known = Inferences::default();
        for shape in 0..4 * ENTRIES as u32 {
            known.insert(Op::Matmul, [(DType::F32, shape)], (DType::F32, shape + 1));
            assert_eq!(known.get(Op::Matmul, [(DType::F32, shape)]), Some((DType::F32, shape + 1)));
        }
        let found = |shape: u32| known.get(Op::Matmul, [(DType::F32, shape)]);
        assert!((0..4 * ENTRIES as u32).all(|shape| found(shape).is_none_or(|found| found == (DType::F32, shape + 1))));
    }
}
