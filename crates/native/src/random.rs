//! Counter-based random bits: functions of a key and a counter, so that no element depends on another (Salmon et al.,
//! "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

use super::array::Array;
use super::element::by_integer_width;
use base::error::Result;
use base::types::TensorType;

/// Returns the next state and the bits that XLA's THREE_FRY generates, bit for bit. The state is a 64-bit key and a
/// 64-bit counter.
pub fn threefry(state: &Array, ty: &TensorType) -> Result<[Array; 2]> {
    let [key, counter] = *state.elements::<u64>() else { unreachable!("inference saw two numbers") };
    let key = halves(key);
    let block = move |i: usize| threefry2x32(key, halves(counter.wrapping_add(i as u64)));
    let (bits, blocks) = if ty.dtype.size_bytes() == 8 {
        (generated(ty, || |i| joined(block(i)))?, ty.elements())
    } else {
        let places = Halved::of(&ty.dims);
        let bits = generated(ty, || {
            |i| {
                let (at, half) = places.of_element(i);
                u64::from(block(at)[half])
            }
        })?;
        (bits, places.blocks)
    };
    let next = [state.elements::<u64>()[0], counter.wrapping_add(blocks as u64)];
    Ok([numbers(state.ty(), &next)?, bits])
}

/// Returns the next state and the bits that XLA's PHILOX generates, bit for bit. The state is a 64-bit key and a
/// 128-bit counter, low word first; in a state of two words the key is also the high word of the counter.
pub fn philox(state: &Array, ty: &TensorType) -> Result<[Array; 2]> {
    let (key, low, high) = match *state.elements::<u64>() {
        [key, low] => (key, low, key),
        [key, low, high] => (key, low, high),
        _ => unreachable!("inference saw two numbers or three"),
    };
    let counter = u128::from(high) << 64 | u128::from(low);
    let key_halves = halves(key);
    let block = move |i: usize| philox4x32(key_halves, counter.wrapping_add(i as u128));
    let words = ty.dtype.size_bytes().div_ceil(4);
    let per_block = 4 / words;
    let bits = generated(ty, || {
        let mut known = (usize::MAX, [0; 4]);
        move |i| {
            if known.0 != i / per_block {
                known = (i / per_block, block(i / per_block));
            }
            let first = i % per_block * words;
            if words == 1 { known.1[first].into() } else { joined([known.1[first], known.1[first + 1]]) }
        }
    })?;
    let next = counter.wrapping_add(ty.elements().div_ceil(per_block) as u128);
    let all = [key, next as u64, (next >> 64) as u64];
    Ok([numbers(state.ty(), &all[..state.ty().elements()])?, bits])
}

/// The random bits that JAX derives from `threefry2x32` keys, which are rows of two words. Each element depends only on
/// its key and on its index among the elements of the key, whatever the shape.
pub fn random_bits(ty: &TensorType, keys: &Array) -> Result<Array> {
    let keys = keys.elements::<u32>();
    let each = ty.elements() / (keys.len() / 2).max(1);
    let block = move |i: usize| {
        let (row, i) = if keys.len() == 2 { (0, i) } else { (i / each, i % each) };
        threefry2x32([keys[2 * row], keys[2 * row + 1]], [(i as u64 >> 32) as u32, i as u32])
    };
    if ty.dtype.size_bytes() == 8 {
        return generated(ty, || {
            |i| {
                let [high, low] = block(i);
                joined([low, high])
            }
        });
    }
    generated(ty, || {
        |i| {
            let [a, b] = block(i);
            u64::from(a ^ b)
        }
    })
}

/// Generates elements from their offsets, truncated to the width of the dtype.
fn generated<F: FnMut(usize) -> u64>(ty: &TensorType, generator: impl Fn() -> F + Sync) -> Result<Array> {
    by_integer_width!(ty.dtype, T => Array::write_elementwise::<T>(ty, &|range, out| {
        let mut bits = generator();
        out.generate(range.len(), |i| bits(range.start + i) as T);
    }))
}

fn numbers(ty: &TensorType, elements: &[u64]) -> Result<Array> {
    Array::write::<u64>(ty, |out| out.copy(elements))
}

/// Low and high half.
fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

fn joined([low, high]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Layout of XLA's THREE_FRY for elements of up to 32 bits: each block gives two elements, which are adjacent along one
/// axis; the array of blocks is half as long on that axis. It is the first axis of even size; if there is none, the
/// first of the longest axes.
struct Halved {
    /// Size of the axis; `half` is half of it, rounded up.
    size: usize,
    half: usize,
    /// Number of elements of the axes after it.
    behind: usize,
    blocks: usize,
}

impl Halved {
    fn of(dims: &[i64]) -> Halved {
        let dims: Vec<usize> = dims.iter().map(|&dim| dim as usize).collect();
        let longest = dims.iter().max();
        let axis =
            dims.iter().position(|dim| dim % 2 == 0).or_else(|| dims.iter().position(|dim| Some(dim) == longest));
        let Some(axis) = axis else { return Halved { size: 1, half: 1, behind: 1, blocks: 1 } };
        let (before, behind): (usize, usize) = (dims[..axis].iter().product(), dims[axis + 1..].iter().product());
        let half = dims[axis].div_ceil(2);
        Halved { size: dims[axis], half, behind, blocks: before * half * behind }
    }

    /// Returns the block of an element, and its position in the block, 0 or 1.
    fn of_element(&self, i: usize) -> (usize, usize) {
        let (rest, behind) = (i / self.behind, i % self.behind);
        let (before, at) = (rest / self.size, rest % self.size);
        ((before * self.half + at / 2) * self.behind + behind, at % 2)
    }
}

/// Threefry-2x32 with 20 rounds.
#[inline(always)]
fn threefry2x32(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD1_1BDA];
    let (mut a, mut b) = (counter[0].wrapping_add(keys[0]), counter[1].wrapping_add(keys[1]));
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            a = a.wrapping_add(b);
            b = b.rotate_left(rotation) ^ a;
        }
        a = a.wrapping_add(keys[(group + 1) % 3]);
        b = b.wrapping_add(keys[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [a, b]
}

/// Philox-4x32 with 10 rounds.
#[inline(always)]
fn philox4x32([mut k0, mut k1]: [u32; 2], counter: u128) -> [u32; 4] {
    let mut x = [0, 32, 64, 96].map(|shift| (counter >> shift) as u32);
    for _ in 0..10 {
        let (p0, p1) = (u64::from(x[0]) * 0xD251_1F53, u64::from(x[2]) * 0xCD9E_8D57);
        x = [(p1 >> 32) as u32 ^ x[1] ^ k0, p1 as u32, (p0 >> 32) as u32 ^ x[3] ^ k1, p0 as u32];
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    // Known answers of Random123, the library of the algorithms' authors.
    #[test]
    fn threefry_has_its_known_answers() {
        assert_eq!(threefry2x32([0, 0], [0, 0]), [0x6B20_0159, 0x99BA_4EFE]);
        assert_eq!(threefry2x32([u32::MAX; 2], [u32::MAX; 2]), [0x1CB9_96FC, 0xBB00_2BE7]);
        assert_eq!(threefry2x32([0x1319_8A2E, 0x0370_7344], [0x243F_6A88, 0x85A3_08D3]), [0xC492_3A9C, 0x483D_F7A0]);
    }

    #[test]
    fn philox_has_its_known_answers() {
        assert_eq!(philox4x32([0, 0], 0), [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
        assert_eq!(philox4x32([u32::MAX; 2], u128::MAX), [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]);
        let counter = 0x0370_7344_1319_8A2E_85A3_08D3_243F_6A88;
        assert_eq!(
            philox4x32([0xA409_3822, 0x299F_31D0], counter),
            [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1]
        );
    }

    #[test]
    fn elements_lie_on_the_halved_axis() {
        let places = |dims: &[i64]| {
            let halved = Halved::of(dims);
            let count = dims.iter().product::<i64>() as usize;
            ((0..count).map(|i| halved.of_element(i)).collect::<Vec<_>>(), halved.blocks)
        };
        assert_eq!(places(&[]), (vec![(0, 0)], 1));
        assert_eq!(places(&[3]), (vec![(0, 0), (0, 1), (1, 0)], 2));
        assert_eq!(places(&[2, 2]), (vec![(0, 0), (1, 0), (0, 1), (1, 1)], 2));
        assert_eq!(places(&[1, 3]), (vec![(0, 0), (0, 1), (1, 0)], 2));
        assert_eq!(places(&[3, 1, 1]).1, 2);
    }
}
