//! Loops compiled twice: for every processor, and for those with wide vectors, chosen when they run.

/// Runs a loop, with wide vectors where the processor has them. The closure must be `#[inline(always)]` for that.
#[inline(always)]
pub fn wide<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("lzcnt") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has these features.
        return unsafe { with_avx2(run) };
    }
    run()
}

/// The same for loops that compute longer than they move memory: with the widest vectors there are.
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

/// No `fma`: results would depend on the processor.
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
