//! Cache of the operations that calls recorded on an eager device. Recording an operation on small arrays takes longer
//! than evaluating it, so a call that repeats an earlier one on arrays of the same types is evaluated without
//! recording.

use base::types::DType;
use ir::{Op, ShapeId, Words};

/// Maximum number of operands of an operation that is remembered.
const MOST_OPERANDS: usize = 3;

/// Number of entries. An operation replaces the one in the same slot.
const ENTRIES: usize = 128;

/// Dtype and shape of an array.
pub type Type = (DType, ShapeId);

/// A function that records operations, with its arguments beside the operands: calls with equal keys record equal
/// operations on operands of equal types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallKey(u64);

/// Functions of which calls are remembered.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// `lxla_unary`
    Unary,
    /// `lxla_binary`
    Binary,
    /// `lxla_binary_inplace`
    BinaryInPlace,
    /// `lxla_compare`
    Compare,
    /// `lxla_select`
    Select,
    /// `lxla_reduce`
    Reduce,
}

impl CallKey {
    /// Key of a call of this function; `number` holds the number of the operation and the other arguments.
    #[inline]
    pub fn new(function: Function, number: u32) -> CallKey {
        CallKey((function as u64) << 32 | u64::from(number))
    }

    /// Key of a call with axes and a flag, too. None if there are many axes, or other numbers than those of axes.
    #[inline]
    pub fn with_axes(function: Function, number: u32, axes: &[i64], flag: bool) -> Option<CallKey> {
        let mut number = number << 1 | u32::from(flag);
        if axes.len() > 3 {
            return None;
        }
        for &axis in axes {
            // At most 7 bits, and not 0.
            let digit = axis.wrapping_add(64);
            if !(1..128).contains(&digit) {
                return None;
            }
            number = number << 7 | digit as u32;
        }
        Some(CallKey::new(function, number))
    }
}

/// An operation that was recorded.
pub struct KnownCall {
    key: CallKey,
    operands: [Option<Type>; MOST_OPERANDS],
    /// Operation with one result, on the operands of the call.
    pub op: Op,
    /// Type of the result.
    pub result: Type,
    /// Encoded attributes.
    pub words: Words,
}

/// Operations by the key of the call, and the types of its operands.
#[derive(Default)]
pub struct KnownCalls(Vec<Option<KnownCall>>);

impl KnownCalls {
    /// The operation that a call with this key recorded on operands of these types, if it is remembered.
    #[inline]
    pub fn get<const N: usize>(&self, key: CallKey, operands: [Type; N]) -> Option<&KnownCall> {
        let known = self.0.get(index(key, &operands))?.as_ref()?;
        let is_same = |(known, given): (&Option<Type>, &Type)| *known == Some(*given);
        (known.key == key && known.operands.iter().zip(&operands).all(is_same)).then_some(known)
    }

    /// Remembers the operation of a call.
    #[cold]
    pub fn insert<const N: usize>(&mut self, key: CallKey, operands: [Type; N], op: Op, result: Type, words: &[i64]) {
        const { assert!(N <= MOST_OPERANDS) };
        if self.0.is_empty() {
            self.0.resize_with(ENTRIES, || None);
        }
        let mut padded = [None; MOST_OPERANDS];
        padded.iter_mut().zip(operands).for_each(|(to, from)| *to = Some(from));
        self.0[index(key, &operands)] =
            Some(KnownCall { key, operands: padded, op, result, words: Words::from_slice(words) });
    }

    /// Forgets all operations: ids of shapes change.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Index of the entry for a call.
#[inline]
fn index(key: CallKey, operands: &[Type]) -> usize {
    let mixed = |hash: u32, bits: u32| (hash.rotate_left(5) ^ bits).wrapping_mul(0x9E37_79B9);
    let start = mixed((key.0 >> 32) as u32, key.0 as u32);
    let hash = operands.iter().fold(start, |hash, &(dtype, shape)| mixed(hash, shape.0 << 5 | dtype as u32));
    hash as usize >> (u32::BITS - ENTRIES.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::BinaryOp;

    #[test]
    fn an_operation_is_remembered_for_its_call_and_types() {
        let mut known = KnownCalls::default();
        let [a, b, c] = [(DType::F32, ShapeId(0)), (DType::F32, ShapeId(1)), (DType::S32, ShapeId(0))];
        let key = |number| CallKey::new(Function::Binary, number);
        assert!(known.get(key(1), [a, b]).is_none());
        known.insert(key(1), [a, b], Op::Binary(BinaryOp::Add), b, &[4, 5]);
        let found = known.get(key(1), [a, b]).unwrap();
        assert_eq!((found.op, found.result, &found.words[..]), (Op::Binary(BinaryOp::Add), b, &[4, 5][..]));
        for other in [[b, a], [a, a], [a, c], [c, b]] {
            assert!(known.get(key(1), other).is_none());
        }
        assert!(known.get(key(2), [a, b]).is_none());
        assert!(known.get(CallKey::new(Function::Compare, 1), [a, b]).is_none());
        // Operations with equal hashes replace each other, and are told apart.
        for number in 0..4 * ENTRIES as u32 {
            known.insert(key(number), [a], Op::Select, (DType::F32, ShapeId(number)), &[]);
            assert_eq!(known.get(key(number), [a]).unwrap().result.1, ShapeId(number));
        }
        let of = |number| known.get(key(number), [a]).map(|known| known.result.1);
        assert!((0..4 * ENTRIES as u32).all(|number| of(number).is_none_or(|found| found == ShapeId(number))));
        known.clear();
        assert!(known.get(key(1), [a, b]).is_none());
    }

    #[test]
    fn keys_tell_axes_apart() {
        let axes: [&[i64]; 9] = [&[], &[0], &[1], &[-1], &[0, 1], &[1, 0], &[-63], &[0, 1, 2], &[63, 63, 63]];
        let mut keys = Vec::new();
        for (number, flag) in [(1, false), (1, true), (2, false), (6, true)] {
            keys.extend(axes.map(|axes| CallKey::with_axes(Function::Reduce, number, axes, flag).unwrap().0));
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 4 * axes.len());
        for axes in [&[0, 0, 0, 0][..], &[64], &[-64], &[i64::MIN]] {
            assert_eq!(CallKey::with_axes(Function::Reduce, 1, axes, false), None);
        }
    }
}
