//! Transposition of large arrays in tiles, so that both the source and the destination stay in the cache.

use super::element::Element;
use super::walk::Walk;
use super::writer::Writer;

/// Number of rows and of columns of a tile.
const TILE: usize = 16;

/// A walk through transposed matrices: the step of the axis before the row is 1.
pub struct Tiles {
    matrices: Walk<1>,
    rows: usize,
    columns: usize,
    /// Distance in the array between adjacent columns; between adjacent rows it is 1.
    step: usize,
}

impl Tiles {
    /// Returns None unless the last two axes of the walk are a transposed matrix.
    pub fn of(walk: &Walk<1>) -> Option<Tiles> {
        let mut axes: Vec<_> = walk.axes().collect();
        match (axes.pop()?, axes.pop()?) {
            ((columns, [step]), (rows, [1])) => {
                Some(Tiles { matrices: Walk::new(axes.into_iter()), rows, columns, step })
            }
            _ => None,
        }
    }

    /// Writes the elements that the walk visits, one band of rows after another.
    pub fn fill<T: Element>(&self, x: &[T], out: &mut Writer<T>) {
        self.matrices.each(|[start]| {
            for row in (0..self.rows).step_by(TILE) {
                let height = TILE.min(self.rows - row);
                let x = &x[start + row..];
                // Tiles are not written front to back, so the band is initialized first; it is still in the cache when
                // tiles are written.
                self.band(x, height, out.repeat_mut(x[0], height * self.columns));
            }
        });
    }

    fn band<T: Element>(&self, x: &[T], height: usize, band: &mut [T]) {
        for column in (0..self.columns).step_by(TILE) {
            let width = TILE.min(self.columns - column);
            let (x, out) = (&x[column * self.step..], &mut band[column..]);
            if height == TILE && width == TILE {
                tile(x, self.step, out, self.columns);
                continue;
            }
            for row in 0..height {
                (0..width).for_each(|column| out[row * self.columns + column] = x[row + column * self.step]);
            }
        }
    }
}

/// Transposes a full tile, whose size is known at compile time.
fn tile<T: Element>(x: &[T], step: usize, out: &mut [T], columns: usize) {
    let block: [&[T; TILE]; TILE] = std::array::from_fn(|i| x[i * step..].first_chunk().expect("a line of the tile"));
    for row in 0..TILE {
        let line: [T; TILE] = std::array::from_fn(|column| block[column][row]);
        out[row * columns..][..TILE].copy_from_slice(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    #[test]
    fn tiles_cover_matrices_of_any_size() {
        for (batches, rows, columns) in [(1, 2, 40), (2, 17, 33), (3, 16, 16), (1, 50, 3), (2, 64, 31)] {
            let x: Vec<u16> = (0..(batches * rows * columns) as u16).collect();
            let walk = Walk::new([(batches, [rows * columns]), (columns, [1]), (rows, [columns])].into_iter());
            let mut slots = vec![MaybeUninit::uninit(); x.len()];
            let mut out = Writer::new(&mut slots);
            Tiles::of(&walk).expect("a transposition").fill(&x, &mut out);
            for (i, &got) in out.finish().iter().enumerate() {
                let (batch, place) = (i / (rows * columns), i % (rows * columns));
                let (column, row) = (place / rows, place % rows);
                assert_eq!(got, x[(batch * rows + row) * columns + column]);
            }
        }
        assert!(Tiles::of(&Walk::new([(2, [4]), (2, [2])].into_iter())).is_none());
        assert!(Tiles::of(&Walk::new([(8, [1])].into_iter())).is_none());
    }
}
