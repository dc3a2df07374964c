//! Loops compiled for the baseline processor and for wider vector instructions, chosen at run time.

/// `x as i32`, in a form that the compiler vectorizes: 0 for NaN, and the nearest `i32` of what is out of range.
#[inline(always)]
pub fn to_i32(x: f32) -> i32 {
    const END: f32 = 2_147_483_648.0;
    const LAST: f32 = END.next_down();
    // NaN fails the first comparison.
    let inside = if x > -END { x } else { -END };
    let inside = if inside < LAST { inside } else { LAST };
    // SAFETY: it is neither NaN nor infinite, and is between -2^31 and the last f32 below 2^31.
    let near = unsafe { inside.to_int_unchecked::<i32>() };
    let near = if x >= END { i32::MAX } else { near };
    if x.is_nan() { 0 } else { near }
}

/// Runs a loop, with AVX2 and fused multiply-add if the processor has them. The closure must be `#[inline(always)]` to
/// be compiled for them. The results are the same on every processor: sums of products are fused only where they are
/// written as `mul_add`, and that is exact in software, too.
#[inline(always)]
pub fn wide<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if vectors::widest() >= vectors::AVX2 {
        // SAFETY: the processor has these features.
        return unsafe { with_avx2(run) };
    }
    run()
}

/// Like [`wide`], with AVX-512 if the processor has it; for loops limited by computation rather than by memory.
#[inline(always)]
pub fn widest<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if vectors::widest() == vectors::AVX512 {
        // SAFETY: the processor has these features.
        return unsafe { with_avx512(run) };
    }
    wide(run)
}

/// Vector instructions of the processor. Asked once: each of the standard library's checks reads its cache again, which
/// takes as long as the loop over a small array.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::sync::atomic::{AtomicU8, Ordering};

    const UNKNOWN: u8 = 0;
    const BASELINE: u8 = 1;
    /// AVX2, with fma, lzcnt and popcnt.
    pub const AVX2: u8 = 2;
    /// All of [`AVX2`], and AVX-512 (f, dq and vl).
    pub const AVX512: u8 = 3;

    static WIDEST: AtomicU8 = AtomicU8::new(UNKNOWN);

    /// The widest of the vector instructions above that the processor has.
    #[inline(always)]
    pub fn widest() -> u8 {
        match WIDEST.load(Ordering::Relaxed) {
            UNKNOWN => detect(),
            known => known,
        }
    }

    #[cold]
    fn detect() -> u8 {
        let has_avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        let found = match (has_avx2, has_avx512) {
            (true, true) => AVX512,
            (true, false) => AVX2,
            (false, _) => BASELINE,
        };
        WIDEST.store(found, Ordering::Relaxed);
        found
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,lzcnt,popcnt")]
fn with_avx2<R>(run: impl FnOnce() -> R) -> R {
    run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,fma")]
fn with_avx512<R>(run: impl FnOnce() -> R) -> R {
    run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_the_integers_of_as() {
        let edges =
            [0.0, 0.5, 0.999_999_94, 8_388_609.0, 2_147_483_520.0, 2_147_483_648.0, 2_147_483_904.0, f32::INFINITY];
        let numbers = (0..u32::MAX).step_by(if cfg!(miri) { 40_000_007 } else { 9973 }).map(f32::from_bits);
        for x in edges.into_iter().flat_map(|x| [x, -x]).chain(numbers) {
            assert_eq!(to_i32(x), x as i32, "{x}");
        }
    }
}
