//! Random types and arguments.

use base::types::{DType, TensorType};

/// Dtypes that the crate knows.
pub const DTYPES: [DType; 18] = [
    DType::Pred,
    DType::S8,
    DType::S16,
    DType::S32,
    DType::S64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
    DType::F8E5M2,
    DType::F8E4M3FN,
    DType::F8E8M0FNU,
];

/// A generator of random choices (SplitMix64).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number from `0..end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % end
    }

    /// A number from `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }

    /// True in one case of `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn dtype(&mut self) -> DType {
        DTYPES[self.below(DTYPES.len() as u64) as usize]
    }

    /// Sizes of `rank` axes.
    pub fn dims(&mut self, rank: usize) -> Vec<i64> {
        (0..rank).map(|_| if self.one_in(12) { 0 } else { self.between(1, 4) }).collect()
    }

    pub fn ty(&mut self) -> TensorType {
        let rank = self.below(5) as usize;
        TensorType::new(self.dtype(), &self.dims(rank))
    }

    /// A type of a given rank, mostly f32.
    pub fn of_rank(&mut self, rank: usize) -> TensorType {
        let dtype = if self.one_in(4) { self.dtype() } else { DType::F32 };
        TensorType::new(dtype, &self.dims(rank))
    }

    /// A type that mostly equals another one.
    pub fn like(&mut self, ty: &TensorType) -> TensorType {
        let mut dims = ty.dims.to_vec();
        match self.below(8) {
            0 => return self.ty(),
            1 if !dims.is_empty() => {
                let axis = self.below(dims.len() as u64) as usize;
                dims[axis] = self.between(0, 4);
            }
            2 => drop(dims.pop()),
            _ => {}
        }
        let dtype = if self.one_in(6) { self.dtype() } else { ty.dtype };
        TensorType::new(dtype, &dims)
    }

    /// A list of `count` numbers.
    pub fn numbers(&mut self, count: usize, low: i64, high: i64) -> Vec<i64> {
        (0..count).map(|_| self.between(low, high)).collect()
    }

    /// A list of numbers, mostly of `count` entries.
    pub fn list(&mut self, count: usize, low: i64, high: i64) -> Vec<i64> {
        let count = if self.one_in(16) { self.below(4) as usize } else { count };
        (0..count).map(|_| self.between(low, high)).collect()
    }

    /// Axes of a rank: mostly distinct and in range.
    pub fn axes(&mut self, rank: usize, count: usize) -> Vec<i64> {
        let mut all: Vec<i64> = (0..rank as i64).collect();
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i as u64 + 1) as usize);
        }
        all.truncate(count);
        if self.one_in(8) && !all.is_empty() {
            let at = self.below(all.len() as u64) as usize;
            all[at] = self.between(-1, rank as i64);
        }
        all
    }
}
