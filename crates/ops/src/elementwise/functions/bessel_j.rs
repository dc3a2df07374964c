//! Bessel functions of the first kind, `J0` and `J1`, and of the second, `Y0` and `Y1`.
//!
//! Up to 5, `J0` and `J1(x) / x` are polynomials in `x^2`, and so is the rest of `Y0 = (2 / pi) log(x) J0 + ...` and
//! `Y1 = (2 / pi) (log(x) J1 - 1 / x) + x ...`; all in `2 x^2 / 25 - 1`, whose terms cancel little. Beyond 5, Hankel's
//! form (DLMF 10.17): `J0 = (P (cos x + sin x) - Q (sin x - cos x)) / sqrt(pi x)` and likewise for the others, where
//! `P` and `x Q` are polynomials in `1 / x^2`. The coefficients were computed with mpmath by interpolating the true
//! functions at Chebyshev nodes; their error is below 1e-9 in f32 and 3e-18 in f64.
//!
//! Errors are small relative to `sqrt(J^2 + Y^2)`, about `sqrt(2 / (pi x))`: near the zeros,
//! relative errors may be large.

// Coefficients have the digits with which they were computed.
#![allow(clippy::excessive_precision)]

use crate::elementwise::formula::Expr;
use std::f64::consts::{FRAC_1_PI, FRAC_2_PI};

/// `J0`, which is 1 at 0.
pub fn bessel_j0(x: Expr) -> Expr {
    let size = x.abs();
    let near = argument(size).polynomial(tables(x).j0);
    let far = Hankel::new(size, 0);
    ends(size, near, far.p * far.sum - far.q * far.difference, &far)
}

/// `J1`, which has the sign of `x` near 0.
pub fn bessel_j1(x: Expr) -> Expr {
    let size = x.abs();
    let near = argument(size).polynomial(tables(x).j1) * size;
    let far = Hankel::new(size, 1);
    let value = ends(size, near, far.p * far.difference + far.q * far.sum, &far);
    x.lt(0.0).select(-value, x.eq(0.0).select(x, value))
}

/// `Y0`: minus infinity at 0, NaN below.
pub fn bessel_y0(x: Expr) -> Expr {
    let argument = argument(x);
    let log = x.log() * FRAC_2_PI;
    let near = argument.polynomial(tables(x).y0) + log * argument.polynomial(tables(x).j0);
    let far = Hankel::new(x, 0);
    ends(x, near, far.p * far.difference + far.q * far.sum, &far)
}

/// `Y1`: minus infinity at 0, NaN below.
pub fn bessel_y1(x: Expr) -> Expr {
    let argument = argument(x);
    let log = x.log() * FRAC_2_PI;
    let regular = x * (argument.polynomial(tables(x).y1) + log * argument.polynomial(tables(x).j1));
    let near = regular - 1.0 / x * FRAC_2_PI;
    let far = Hankel::new(x, 1);
    let value = ends(x, near, far.q * far.difference - far.p * far.sum, &far);
    x.eq(0.0).select(f64::NEG_INFINITY, value)
}

/// The derivative of `J1` at `x`, where its value is `y`: `J0(x) - y / x`. Below 1 it is its power series, since
/// derivatives of the quotient cancel near 0.
pub(crate) fn bessel_j1_slope<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    let is_near = x.abs().lt(1.0);
    let near = is_near.select(x, 0.0);
    let series = (near * near).polynomial(&J1_SLOPE);
    let far = x.function(ir::UnaryFunction::BesselJ0) - y / is_near.select(1.0, x);
    is_near.select(series, far)
}

/// The derivative of `Y1`: `Y0(x) - Y1(x) / x`. Near 0, it and its derivatives are those of `-2 / (pi x)`.
pub(crate) fn bessel_y1_slope(x: Expr) -> Expr {
    use ir::UnaryFunction::{BesselY0, BesselY1};
    let is_pole = x.ge(0.0) & x.lt(1e-9);
    let base = is_pole.select(1.0, x);
    let pole = is_pole.select(x, 1.0).power(-2.0) * FRAC_2_PI;
    is_pole.select(pole, base.function(BesselY0) - base.function(BesselY1) / base)
}

/// Up to here, the functions are polynomials.
const NEAR: f64 = 5.0;

/// `2 x^2 / 25 - 1`, up to 1.
fn argument(size: Expr) -> Expr {
    let size = size.min(NEAR);
    size * size * (2.0 / (NEAR * NEAR)) - 1.0
}

/// The parts of Hankel's form.
struct Hankel<'f> {
    p: Expr<'f>,
    q: Expr<'f>,
    /// `sin x + cos x` and `sin x - cos x`.
    sum: Expr<'f>,
    difference: Expr<'f>,
    /// `1 / sqrt(pi x)`.
    amplitude: Expr<'f>,
}

impl<'f> Hankel<'f> {
    fn new(size: Expr<'f>, order: usize) -> Hankel<'f> {
        let tables = tables(size);
        let inverse = 1.0 / size.max(NEAR);
        let square = inverse * inverse;
        let (sine, cosine) = (size.sin(), size.cos());
        Hankel {
            p: square.polynomial(tables.p[order]),
            q: square.polynomial(tables.q[order]) * inverse,
            sum: sine + cosine,
            difference: sine - cosine,
            amplitude: FRAC_1_PI.sqrt() / size.max(NEAR).sqrt(),
        }
    }
}

/// `near` up to 5; beyond, `wave` times the amplitude, and 0 at infinity.
fn ends<'f>(size: Expr<'f>, near: Expr<'f>, wave: Expr<'f>, far: &Hankel<'f>) -> Expr<'f> {
    let far = size.eq(f64::INFINITY).select(0.0, wave * far.amplitude);
    size.le(NEAR).select(near, far)
}

/// Coefficients of the derivative of `J1` in `x^2`: `(-1)^k (2 k + 1) / (2^(2 k + 1) k! (k + 1)!)`.
const J1_SLOPE: [f64; 11] = {
    let mut made = [0.5; 11];
    let (mut power, mut k) = (0.5, 1);
    while k < 11 {
        power *= -0.25 / (k as f64 * (k as f64 + 1.0));
        made[k] = power * (2.0 * k as f64 + 1.0);
        k += 1;
    }
    made
};

/// Coefficients for one dtype.
struct Tables {
    /// `J0(x)`, `J1(x) / x`, `Y0(x) - (2 / pi) log(x) J0(x)` and `(Y1(x) - (2 / pi) (log(x) J1(x) - 1 / x)) / x`, in
    /// `2 x^2 / 25 - 1`.
    j0: &'static [f64],
    j1: &'static [f64],
    y0: &'static [f64],
    y1: &'static [f64],
    /// `P` and `x Q` of order 0 and 1, in `1 / x^2`.
    p: [&'static [f64]; 2],
    q: [&'static [f64]; 2],
}

fn tables(x: Expr) -> &'static Tables {
    if x.is_double() { &F64 } else { &F32 }
}

static F32: Tables = Tables {
    j0: &[
        -0.3847445098, -0.2165054139, 0.709416003, -0.3601807659, 0.0853918275, -0.01203521426, 0.001134352428,
        -7.683404285e-05, 3.941169187e-06, -1.575192616e-07,
    ],
    j1: &[
        0.03464086622, -0.2270131208, 0.1728867676, -0.05465077087, 0.009628171434, -0.00108897529, 8.605405827e-05,
        -5.046724077e-06, 2.268760059e-07,
    ],
    y0: &[
        0.4837248578, -0.4326558223, -0.4705763646, 0.3885163995, -0.1115168294, 0.0176353456, -0.001802788374,
        0.0001299457098, -7.00983134e-06, 2.920860422e-07,
    ],
    y1: &[
        0.1397493903, 0.09108650838, -0.1631202035, 0.06634695355, -0.0134334341, 0.001668803142, -0.0001414173503,
        8.73307324e-06, -4.125291073e-07, 1.531754156e-08,
    ],
    p: [
        &[0.9999999995, -0.07031150003, 0.1118420358, -0.5348407481, 3.715596827, -17.41655194],
        &[1.000000001, 0.117186386, -0.1438504292, 0.6347479562, -4.272718171, 19.78391928],
    ],
    q: [
        &[-0.1249999996, 0.07324118419, -0.2266810354, 1.655051689, -17.80808152, 171.626619, -867.5934074],
        &[0.3749999996, -0.1025379635, 0.2771090219, -1.914068186, 20.07917498, -191.3942546, 962.7599571],
    ],
};

static F64: Tables = Tables {
    j0: &[
        -0.3847445098140454, -0.21650541389819178, 0.7094160035335417, -0.36018076595038634, 0.08539182354259674,
        -0.01203521415432939, 0.0011343635095863093, -7.683433602058502e-05, 3.9285088877689165e-06,
        -1.5718428563846592e-07, 5.0592941859588245e-09, -1.3389958610776383e-10, 2.96944732313632e-12,
        -5.58676169334212e-14,
    ],
    j1: &[
        0.03464086622371068, -0.22701312113073338, 0.17288676765618544, -0.054650767067261796, 0.009628171323463516,
        -0.001088988969203854, 8.605445634303652e-05, -5.028491372546286e-06, 2.263453713594767e-07,
        -8.094877660471482e-09, 2.3566323235455013e-10, -5.695262063084007e-12, 1.1621889603402637e-13,
        -2.0256137801818856e-15,
    ],
    y0: &[
        0.4837248578102995, -0.4326558222855125, -0.47057636552972876, 0.38851639956570944, -0.11151682184328655,
        0.017635345389338752, -0.0018028096665503853, 0.00012994629092083859, -6.985504374076987e-06,
        2.9142206886821627e-07, -9.72095520811079e-09, 2.6539977501003325e-10, -6.049936925443629e-12,
        1.1665346489650883e-13,
    ],
    y1: &[
        0.13974939033568806, 0.09108650838448444, -0.16312020358118715, 0.06634695354779108, -0.013433433740818165,
        0.001668803132863594, -0.00014141835794484212, 8.733098304849315e-06, -4.1137780795312214e-07,
        1.528890182483862e-08, -4.6013010745671044e-10, 1.1448944556867688e-11, -2.397782335135821e-13,
        4.2776864260420625e-15,
    ],
    p: [
        &[
            1.0, -0.07031249999994732, 0.11215209943016476, -0.5725011742111661, 6.073858289158987, -109.9312934747613,
            3010.4363612322963, -112262.11509550671, 5029077.977622037, -236901637.6311072, 10539085748.792698,
            -412259318668.5479, 13553440995328.197, -362892990758988.44, 7701809708061249.0, -1.2576252749535909e+17,
            1.5181135990130386e+18, -1.2727655287713071e+19, 6.60563186184674e+19, -1.5964258719828787e+20,
        ],
        &[
            1.0, 0.11718749999994453, -0.14419555645193574, 0.6765923286400491, -6.883720897786883, 121.50755635629409,
            -3273.183513038206, 120727.68985606359, -5370781.646879801, 251946815.39748383, -11181011374.695887,
            436725318244.3107, -14344441818966.977, 383835374050412.4, -8142793497228057.0, 1.329222576699729e+17,
            -1.6041703607961859e+18, 1.3446758495287964e+19, -6.977871552511046e+19, 1.6861985852186942e+20,
        ],
    ],
    q: [
        &[
            -0.125, 0.07324218749996425, -0.2271080015483201, 1.7277272102051104, -24.380241713298037,
            551.1576108994539, -18181.59424560945, 808855.5521746759, -44174503.97092599, 2648400440.428586,
            -157259087724.30557, 8585792983022.076, -411220600676858.75, 1.678217618186671e+16, -5.721775916091e+17,
            1.6038903283644402e+19, -3.6375283258957994e+20, 6.54760879522055e+21, -9.115046875237436e+22,
            9.44651902218329e+23, -6.852077553519997e+24, 3.1009107196323353e+25, -6.58466360758926e+25,
        ],
        &[
            0.375, -0.10253906249991138, 0.2775764461684579, -1.9935311258908848, 27.248278967475173,
            -603.5331432085568, 19596.66534701764, -855109.1187507345, 45155732.7973428, -2562757654.9540515,
            141056626166.4546, -7013104042319.003, 301313124147555.44, -1.087665338145174e+16, 3.232041346776636e+17,
            -7.762709995427186e+18, 1.476672552679423e+20, -2.1668653228318177e+21, 2.3605935103054117e+22,
            -1.794961391911295e+23, 8.492845243388864e+23, -1.8807697437837085e+24,
        ],
    ],
};
