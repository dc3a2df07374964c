"""Quantiles, medians and variances with and without NaN, at elements of different size, against NumPy on both devices."""

import warnings

import numpy as np
from common import DEVICES, on, same

import lazyxla as lx

METHODS = "linear", "lower", "higher", "nearest", "midpoint"


def test_quantiles_that_choose_an_element_return_it():
    rng = np.random.default_rng(0)
    mixed = rng.standard_normal((6, 5)) * 10.0 ** rng.integers(-20, 20, (6, 5))
    several = [[-1e20, 3.0], [-1e9, 16.0], [1.0, np.inf], [-np.inf, 1.0], [np.inf, np.inf], [2.0], [1.0, np.nan, -3e38]]
    shares = np.array([0, 0.1, 0.5, 0.75, 0.9, 1])
    for device in DEVICES:
        for given in (*map(np.asarray, several), mixed):
            for method in METHODS:
                for ours, theirs in ((lx.quantile, np.quantile), (lx.nanquantile, np.nanquantile)):
                    got = np.asarray(ours(on(given, device), on(shares, device), method=method))
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        wanted = theirs(given, shares, method=method)
                    if method in ("linear", "midpoint"):
                        # Between an infinity and another number, NumPy has NaN or an infinity by the place.
                        finite = np.isfinite(wanted)
                        np.testing.assert_allclose(got[finite], wanted[finite], rtol=1e-12)
                    else:
                        np.testing.assert_array_equal(got, wanted)


def test_narrow_floats_are_computed_in_wide_ones():
    many = np.float16([*range(100)] * 700)
    far = np.float16([0, 1000, 0, 1000])
    for device in DEVICES:
        for of in (lx.median, lx.nanmedian, lambda x: lx.quantile(x, 0.5)):
            same(of(on(many, device)), np.float16(49.5))
        same(lx.nanmean(on(np.full(2000, 40, np.float16), device)), np.float16(40))
        same(lx.nanmean(on(np.ones(70000, np.float16), device)), np.float16(1))
        same(lx.nanstd(on(far, device)), np.float16(500))
        same(lx.nanvar(on(np.float16(np.arange(70000) % 2), device)), np.float16(0.25))
        same(lx.nanmedian(on(np.float32([-3e38, 3e38]), device)), np.float32(0))


def test_variances_of_infinities_are_nan():
    for device in DEVICES:
        for given in ([np.inf, np.inf], [1.0, np.inf], [np.nan, 1.0, -np.inf]):
            x = on(np.asarray(given), device)
            assert np.isnan(lx.nanvar(x).item()) and np.isnan(lx.nanstd(x).item())
        x = np.asarray([[1.0, np.nan, 3.0], [np.nan] * 3, [2.0, 2.0, np.nan]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for ddof in (0, 1):
                same(lx.nanvar(on(x, device), 1, ddof=ddof), np.nanvar(x, 1, ddof=ddof), 1e-12)
