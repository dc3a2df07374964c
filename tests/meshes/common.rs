//! Shared by the sweep of single operations and by `tests/transforms`: random numbers, numbers of cases, and the
//! comparison of arrays.

use base::types::{DType, Kind};
use native::{self, Array};

/// A generator of random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn coin(&mut self) -> bool {
        self.bits() & 1 == 1
    }
}

/// Returns the number in an environment variable, or the default if it is not set.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().expect(variable))
}

/// Describes the first difference between two lists of arrays. None if they have the same types, and values that are
/// equal but for rounding: floats may differ by `tolerance` times the largest of them, or times 1 if that is more.
pub fn difference(got: &[Array], want: &[Array], tolerance: f64) -> Option<String> {
    let types = |arrays: &[Array]| arrays.iter().map(|array| array.ty().to_string()).collect::<Vec<String>>();
    if types(got) != types(want) {
        return Some(format!("the results are {:?}, want {:?}", types(got), types(want)));
    }
    let most = want.iter().flat_map(numbers_of).filter(|x| x.is_finite()).fold(1.0, |most: f64, x| most.max(x.abs()));
    let unequal = |(number, (got, want))| first_unequal(got, want, tolerance * most).map(|at| (number, at));
    let (number, at) = got.iter().zip(want).enumerate().find_map(unequal)?;
    let (ty, got, want) = (want[number].ty(), numbers_of(&got[number])[at], numbers_of(&want[number])[at]);
    let at = place(at / if ty.dtype.kind() == Kind::Complex { 2 } else { 1 }, &ty.dims);
    Some(format!("element {at:?} of result {number}, which is {ty}, is {got}, want {want}"))
}

/// Position, among the numbers of two arrays of one type, of the first ones that differ by more than `most`. Integers
/// and preds are compared bit by bit.
fn first_unequal(got: &Array, want: &Array, most: f64) -> Option<usize> {
    if got.bytes() == want.bytes() {
        return None;
    }
    let dtype = want.ty().dtype;
    if !dtype.is_float() && dtype.kind() != Kind::Complex {
        let size = dtype.size_bytes();
        return got.bytes().chunks(size).zip(want.bytes().chunks(size)).position(|(got, want)| got != want);
    }
    let differs = |(got, want): (f64, f64)| {
        let same = got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= most;
        !same
    };
    numbers_of(got).into_iter().zip(numbers_of(want)).position(differs)
}

/// The elements as f64; of complex numbers, the real and the imaginary parts in turn.
fn numbers_of(array: &Array) -> Vec<f64> {
    let dtype = if array.ty().dtype.kind() == Kind::Complex { DType::C128 } else { DType::F64 };
    let wide = native::convert(array, dtype).expect("every dtype is converted to the widest one");
    bytemuck::cast_slice(wide.bytes()).to_vec()
}

/// Indices of the element at a position in row-major order.
fn place(mut position: usize, dims: &[i64]) -> Vec<usize> {
    let mut indices = vec![0; dims.len()];
    for (index, &dim) in indices.iter_mut().zip(dims).rev() {
        *index = position % dim as usize;
        position /= dim as usize;
    }
    indices
}
