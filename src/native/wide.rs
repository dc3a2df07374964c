//! Loops compiled for the baseline processor and for wider vector instructions, chosen at run time.

/// Runs a loop, with AVX2 if the processor has it. The closure must be `#[inline(always)]` to be compiled for AVX2.
#[inline(always)]
pub fn wide<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("lzcnt") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has these features.
        return unsafe { with_avx2(run) };
    }
    run()
}

/// Like [`wide`], with AVX-512 if the processor has it; for loops limited by computation rather than by memory.
#[inline(always)]
pub fn widest<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        // SAFETY: the processor has these features.
        return unsafe { with_avx512(run) };
    }
    wide(run)
}

/// Does not enable `fma`: results would depend on the processor.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,lzcnt,popcnt")]
fn with_avx2<R>(run: impl FnOnce() -> R) -> R {
    run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn with_avx512<R>(run: impl FnOnce() -> R) -> R {
    run()
}
