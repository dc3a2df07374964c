//! `x^y` in several loops over blocks of pairs: one loop would be a chain of dependent instructions too long for the
//! processor to overlap several of them.

mod double;
mod single;

use super::element::Element;
use super::writer::Writer;

/// Number of pairs of a block: all that is computed of one stays in the L1 cache.
const BLOCK: usize = 256;

/// Number of pairs of the block of a short row.
const SHORT_BLOCK: usize = 32;

/// The type of the numbers of a pair.
pub trait Base: Element {
    /// Intermediate results of at most `N` pairs.
    type Block<const N: usize>: Block<Self>;
    /// Number of pairs that fill the vector registers of every processor. A block is padded to a multiple of it.
    const LANES: usize;
    /// 1.
    const ONE: Self;

    /// Whether the loops compute the power of a pair: for positive normal finite `x` and finite `y`.
    fn is_ordinary(x: Self, y: Self) -> bool;
    /// The power of any pair, by the standard library.
    fn power(x: Self, y: Self) -> Self;
}

macro_rules! base {
    ($T:ident, $module:ident, $lanes:literal) => {
        impl Base for $T {
            type Block<const N: usize> = $module::Block<N>;
            const LANES: usize = $lanes;
            const ONE: $T = 1.0;

            fn is_ordinary(x: $T, y: $T) -> bool {
                ($T::MIN_POSITIVE..$T::INFINITY).contains(&x) && y.abs() < $T::INFINITY
            }

            fn power(x: $T, y: $T) -> $T {
                x.powf(y)
            }
        }
    };
}

base! { f32, single, 16 }
base! { f64, double, 8 }

/// Powers of a block of pairs.
pub trait Block<T> {
    /// A block without pairs.
    fn new() -> Self;
    /// Computes the powers of pairs, and returns whether all of these are ordinary. The powers of others are
    /// meaningless.
    fn fill(&mut self, x: &[T], y: &[T]) -> bool;
    /// Power of the pair with this number.
    fn power(&self, i: usize) -> T;
    /// Writes the powers of the first pairs.
    fn write(&self, count: usize, out: &mut Writer<T>);
}

/// `x^y` for each pair, with an error below 0.75 ulp of f32, and 0.8 ulp of f64. Pairs that are not
/// ordinary use the standard library's `powf`.
pub fn powers<T: Base>(x: &[T], y: &[T], out: &mut Writer<T>) {
    if x.len() <= SHORT_BLOCK { in_blocks::<T, SHORT_BLOCK>(x, y, out) } else { in_blocks::<T, BLOCK>(x, y, out) }
}

fn in_blocks<T: Base, const N: usize>(x: &[T], y: &[T], out: &mut Writer<T>) {
    let mut block = T::Block::<N>::new();
    for (x, y) in x.chunks(N).zip(y.chunks(N)) {
        let all = if x.len() % T::LANES == 0 {
            block.fill(x, y)
        } else {
            let (mut padded_x, mut padded_y) = ([T::ONE; N], [T::ONE; N]);
            padded_x[..x.len()].copy_from_slice(x);
            padded_y[..y.len()].copy_from_slice(y);
            let count = x.len().next_multiple_of(T::LANES);
            block.fill(&padded_x[..count], &padded_y[..count])
        };
        if all {
            block.write(x.len(), out);
            continue;
        }
        let power = |i: usize| if T::is_ordinary(x[i], y[i]) { block.power(i) } else { T::power(x[i], y[i]) };
        out.generate(x.len(), power);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;
    use std::mem::MaybeUninit;

    pub fn computed<T: Base>(x: &[T], y: &[T]) -> Vec<T> {
        let mut slots = vec![MaybeUninit::uninit(); x.len()];
        let mut out = Writer::new(&mut slots);
        powers(x, y, &mut out);
        out.finish().to_vec()
    }

    /// Checks that the power of a pair depends on no other pair.
    pub fn check_single<T: Base + Debug>(pairs: impl Iterator<Item = (T, T)>, unusual: T) {
        let (x, y): (Vec<T>, Vec<T>) = pairs.filter(|(x, y)| T::is_ordinary(*x, *y)).take(2 * BLOCK).unzip();
        let all = computed(&x, &y);
        for count in [1, T::LANES - 1, T::LANES, T::LANES + 1, SHORT_BLOCK, SHORT_BLOCK + 1, BLOCK, BLOCK + 7] {
            assert_eq!(computed(&x[..count], &y[..count]), all[..count]);
            let mut disturbed = x[..count].to_vec();
            disturbed[count / 2] = unusual;
            let got = computed(&disturbed, &y[..count]);
            assert!((0..count).all(|i| i == count / 2 || got[i] == all[i]), "{count}");
        }
    }
}
