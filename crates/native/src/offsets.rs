//! Reads and updates elements at a list of offsets.

use super::array::Array;
use super::element::{Element, by_width};
use super::slices::Slices;
use base::allocation::{copied, filled, with_room};
use base::error::Result;
use base::types::{DType, TensorType};
use ir::DimensionNumbers;
use rustc_hash::FxHashMap;

/// Applies a computation of scalars elementwise to vectors of one length.
pub type Each<'a> = dyn Fn(&[Array]) -> Result<Vec<Array>> + 'a;

/// Reads the elements of `x` at `places`, which are row-major offsets.
pub fn elements_at(x: &Array, places: impl ExactSizeIterator<Item = usize>) -> Result<Array> {
    let ty = TensorType::new(x.ty().dtype, &[places.len() as i64]);
    by_width!(ty.dtype, T => {
        let x = x.elements::<T>();
        let mut places = places;
        Array::write::<T>(&ty, |out| out.generate(places.len(), |_| x[places.next().expect("as many places as elements")]))
    })
}

/// A mutable copy of an array.
struct Slots {
    ty: TensorType,
    bytes: Vec<u8>,
}

impl Slots {
    fn new(x: &Array) -> Result<Slots> {
        Ok(Slots { ty: x.ty().clone(), bytes: copied(x.bytes(), x.ty())? })
    }

    fn read(&self, places: &[(usize, usize)]) -> Result<Array> {
        let size = self.ty.dtype.size_bytes();
        let mut bytes = with_room(places.len() * size, "elements at places")?;
        places.iter().for_each(|(place, _)| bytes.extend_from_slice(&self.bytes[place * size..][..size]));
        Array::from_bytes(&TensorType::new(self.ty.dtype, &[places.len() as i64]), &bytes)
    }

    fn write(&mut self, places: &[(usize, usize)], values: &Array) {
        let size = self.ty.dtype.size_bytes();
        for ((place, _), value) in places.iter().zip(values.bytes().chunks_exact(size)) {
            self.bytes[place * size..][..size].copy_from_slice(value);
        }
    }

    fn finish(self) -> Result<Array> {
        Array::from_bytes(&self.ty, &self.bytes)
    }
}

/// Returns `arrays` with elements of `updates` combined into them. A pair is an offset in the arrays and an offset in
/// the updates; pairs with the same offset in the arrays are applied in order.
pub fn combine_at(arrays: &[Array], updates: &[Array], pairs: &[(usize, usize)], combine: &Each) -> Result<Vec<Array>> {
    let mut slots: Vec<Slots> = arrays.iter().map(Slots::new).collect::<Result<_>>()?;
    for round in rounds(pairs, arrays[0].ty().elements())? {
        let mut arguments: Vec<Array> = slots.iter().map(|slots| slots.read(&round)).collect::<Result<_>>()?;
        for updates in updates {
            arguments.push(elements_at(updates, round.iter().map(|(_, from)| *from))?);
        }
        let made = combine(&arguments)?;
        slots.iter_mut().zip(&made).for_each(|(slots, made)| slots.write(&round, made));
    }
    slots.into_iter().map(Slots::finish).collect()
}

/// Combiners that have a kernel of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The update.
    Replace,
    /// The sum of both.
    Add,
}

/// Does what [`combine_at`] does with one array and the pairs of [`super::targets`]; None if there is no kernel for the
/// dtype.
pub fn combine_known(
    x: &Array,
    updates: &Array,
    (numbers, indices): (&DimensionNumbers, &Array),
    known: Known,
) -> Option<Result<Array>> {
    let each = Combining { x, updates, numbers, indices };
    if known == Known::Replace {
        return by_width!(x.ty().dtype, T => each.with::<T>(|_, update| update));
    }
    match x.ty().dtype {
        DType::F32 => each.with::<f32>(|a, b| a + b),
        DType::F64 => each.with::<f64>(|a, b| a + b),
        DType::S32 | DType::U32 => each.with::<u32>(u32::wrapping_add),
        DType::S64 | DType::U64 => each.with::<u64>(u64::wrapping_add),
        _ => None,
    }
}

/// Operands of [`combine_known`].
struct Combining<'a> {
    x: &'a Array,
    updates: &'a Array,
    numbers: &'a DimensionNumbers,
    indices: &'a Array,
}

impl Combining<'_> {
    fn with<T: Element>(&self, of: impl Fn(T, T) -> T) -> Option<Result<Array>> {
        let (old, updates) = (self.x.elements::<T>(), self.updates.elements::<T>());
        let slices = Slices::new(&self.x.ty().dims, &self.updates.ty().dims, self.numbers, self.indices);
        Some(slices.and_then(|slices| {
            Array::write::<T>(self.x.ty(), |out| {
                let all = out.repeat_mut(T::zeroed(), old.len());
                all.copy_from_slice(old);
                slices.each_element(|to, from| all[to] = of(all[to], updates[from]));
            })
        }))
    }
}

/// Divides the pairs into rounds, in order; within a round, all offsets in the arrays differ. `places` is the number of
/// elements of an array.
fn rounds(pairs: &[(usize, usize)], places: usize) -> Result<Vec<Vec<(usize, usize)>>> {
    // Number of pairs so far for each offset: a table, or a hash map if the pairs are few compared with the array.
    let mut table = filled(0u32, if places / 8 <= pairs.len() { places } else { 0 }, "the places of updates")?;
    let mut few: FxHashMap<usize, u32> = FxHashMap::default();
    let mut rounds: Vec<Vec<(usize, usize)>> = Vec::new();
    for &pair in pairs {
        let seen = match table.get_mut(pair.0) {
            Some(seen) => seen,
            None => few.entry(pair.0).or_insert(0),
        };
        if *seen as usize == rounds.len() {
            rounds.push(Vec::new());
        }
        rounds[*seen as usize].push(pair);
        *seen += 1;
    }
    Ok(rounds)
}

#[cfg(test)]
mod tests {
    use super::super::elementwise::Source;
    use super::super::testing::{array, row};
    use super::*;
    use ir::BinaryOp;

    #[test]
    fn pairs_of_one_place_are_combined_in_their_order() {
        let subtract = |x: &[Array]| {
            let (a, b) = (Source::Array(&x[0]), Source::Array(&x[1]));
            Ok(vec![super::super::binary(BinaryOp::Subtract, x[0].ty(), a, b)?])
        };
        let (x, updates) = (array(&[2, 2], &[10, 20, 30, 40]), row(&[1, 2, 3]));
        let made = combine_at(&[x], &[updates], &[(3, 0), (0, 1), (3, 2)], &subtract).unwrap();
        assert_eq!(made[0].elements::<i32>(), [8, 20, 30, 36]);
        for places in [3, 1000] {
            let made = rounds(&[(1, 0), (2, 1), (1, 2), (1, 3)], places).unwrap();
            assert_eq!(made, [vec![(1, 0), (2, 1)], vec![(1, 2)], vec![(1, 3)]]);
            assert!(rounds(&[], places).unwrap().is_empty());
        }
    }
}
