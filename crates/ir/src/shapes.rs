//! Interned shapes of a trace.

use base::types::Dims;
use rustc_hash::FxHashMap;

/// Id of an interned shape: equal shapes of one trace have equal ids. Valid until
/// [`super::Trace::forget_shapes`]: if there are many shapes, those that are not in use are then removed, and the
/// others get new ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShapeId(pub u32);

/// Number of shapes up to which shapes that no node has are kept, in 2 MB or so: more than any step has, because a step
/// whose shapes were removed before repeats no earlier one.
const FEW: usize = 1 << 14;

/// Shapes by id, and ids by shape.
#[derive(Default)]
pub(super) struct Shapes {
    ids: FxHashMap<Dims, ShapeId>,
    dims: Vec<Dims>,
    /// The two shapes that were used last.
    last: [ShapeId; 2],
    /// Number of times that ids changed.
    pub generation: u32,
    /// Number of shapes that were in use when shapes were removed last.
    used: usize,
}

impl Shapes {
    /// Dimensions of a shape.
    #[inline]
    pub fn dims(&self, shape: ShapeId) -> &Dims {
        &self.dims[shape.0 as usize]
    }

    /// Returns the id of a shape, and interns it if it is new.
    #[inline]
    pub fn intern(&mut self, dims: &[i64]) -> ShapeId {
        // Fast path for the two shapes used last. They are compared element by element, because a call to memcmp takes
        // longer for so few.
        let is = |id: ShapeId| self.dims.get(id.0 as usize).is_some_and(|known| known.iter().eq(dims));
        let [last, before] = self.last;
        if is(last) {
            return last;
        }
        let id = if is(before) { before } else { self.look_up(dims) };
        self.last = [id, last];
        id
    }

    fn look_up(&mut self, dims: &[i64]) -> ShapeId {
        if let Some(&id) = self.ids.get(dims) {
            return id;
        }
        let id = ShapeId(self.dims.len() as u32);
        self.dims.push(Dims::from_slice(dims));
        self.ids.insert(Dims::from_slice(dims), id);
        id
    }

    /// Makes room for `more` shapes. Returns whether there is memory for them.
    pub fn reserve(&mut self, more: usize) -> bool {
        self.dims.try_reserve(more).is_ok() && self.ids.try_reserve(more).is_ok()
    }

    /// Whether so many shapes are known that those that are not in use have to be removed.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.dims.len() > FEW && self.dims.len() > 2 * self.used
    }

    /// Keeps the shapes in use, which get new ids, and removes the others.
    #[cold]
    pub fn keep<'a>(&mut self, in_use: impl Iterator<Item = &'a mut ShapeId>) {
        let old = std::mem::take(&mut self.dims);
        self.ids = FxHashMap::default();
        let mut new_ids = vec![None; old.len()];
        for shape in in_use {
            let number = shape.0 as usize;
            *shape = *new_ids[number].get_or_insert_with(|| self.look_up(&old[number]));
        }
        self.last = Default::default();
        self.used = self.dims.len();
        self.generation = self.generation.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_in_use_stay_and_the_others_go() {
        let mut shapes = Shapes::default();
        let all: Vec<ShapeId> = (0..=FEW as i64).map(|i| shapes.intern(&[i, 2])).collect();
        assert!(shapes.are_many());
        assert_eq!(shapes.intern(&[7, 2]), all[7]);
        let mut used = [all[FEW], all[5], all[FEW]];
        shapes.keep(used.iter_mut());
        assert!(!shapes.are_many() && shapes.generation == 1);
        assert_eq!(used.map(|id| shapes.dims(id).to_vec()), [[FEW as i64, 2], [5, 2], [FEW as i64, 2]]);
        assert_eq!((shapes.intern(&[5, 2]), shapes.intern(&[6, 2])), (used[1], ShapeId(2)));
        // As many as were in use are kept, so that they are not looked at again and again.
        let mut many: Vec<ShapeId> = (0..=2 * FEW as i64).map(|i| shapes.intern(&[i])).collect();
        assert!(shapes.are_many());
        shapes.keep(many.iter_mut());
        assert!(!shapes.are_many());
    }
}
