//! Modified Bessel functions of the second kind, `K0` and `K1`, and the same times `e^x`.
//!
//! Up to 2, `K0 = a(x^2) - log(x / 2) I0(x)` and `K1 = b(x^2) / x + log(x / 2) I1(x)`, where `a`, `b`, `I0` and
//! `I1 / x` are polynomials. Beyond 2, `sqrt(x) e^x K` is a polynomial in `(x - 2) / (x + 2)`. The coefficients were
//! computed with mpmath by interpolating the true functions at Chebyshev nodes; their error is below 2e-9 in f32 and,
//! before they are rounded, 3e-18 in f64.

// Coefficients have the digits with which they were computed.
#![allow(clippy::excessive_precision)]

use crate::elementwise::formula::Expr;
use ir::UnaryFunction;
use std::f64::consts::LN_2;

/// Returns the function, of this order, times `e^x` if `is_scaled`. It is infinite at 0, and NaN below.
pub fn bessel_k(x: Expr, order: usize, is_scaled: bool) -> Expr {
    let tables = tables(x);
    let small = x.min(NEAR);
    let square = small * small;
    // The half of the least numbers would be 0.
    let is_least = small.lt(0.5);
    let log = is_least.select(small, small * 0.5).log() - is_least.select(small.number(LN_2), 0.0);
    let near = match order {
        0 => square.polynomial(tables.rest[0]) - log * square.polynomial(tables.first_kind[0]),
        _ => square.polynomial(tables.rest[1]) / small + log * (small * square.polynomial(tables.first_kind[1])),
    };
    let far = argument(x).polynomial(tables.tail[order]) / x.sqrt();
    let (near, far) = if is_scaled { (near * small.exp(), far) } else { (near, far * (-x).exp()) };
    let value = x.le(NEAR).select(near, far);
    x.eq(0.0).select(f64::INFINITY, value)
}

/// The derivative of `K1` at `x`, where its value is `y`.
pub(crate) fn bessel_k1_slope<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    -(x.function(UnaryFunction::BesselK0) + y / x)
}

/// The derivative of `e^x K0(x)`. Near 0, it and its derivatives approach `-1 / x` and its derivatives.
pub(crate) fn bessel_k0e_slope(x: Expr) -> Expr {
    let is_pole = x.ge(0.0) & x.lt(if x.is_double() { 1e-18 } else { 1e-9 });
    let base = is_pole.select(1.0, x);
    let near = base.function(UnaryFunction::BesselK0e) - base.function(UnaryFunction::BesselK1e);
    is_pole.select(-1.0 / is_pole.select(x, 1.0), x.gt(NEAR).select(-far_difference(x), near))
}

/// The derivative of `e^x K1(x)`. Near 0, it and its derivatives approach `1 / x` and its derivatives.
pub(crate) fn bessel_k1e_slope(x: Expr) -> Expr {
    let is_pole = x.ge(0.0) & x.lt(1e-9);
    let base = is_pole.select(1.0, x);
    let y = base.function(UnaryFunction::BesselK1e);
    let near = y * (1.0 - 1.0 / base) - base.function(UnaryFunction::BesselK0e);
    // A quotient that is infinite where it is not selected would make the second derivative NaN.
    let slope = x.gt(NEAR).select(far_difference(x) - y / x.max(NEAR), near);
    is_pole.select(-is_pole.select(x, 1.0).power(-2.0), slope)
}

/// `e^x (K1(x) - K0(x))` beyond 2, where the terms cancel: a polynomial divided by `x sqrt(x)`. Operations that have
/// derivatives of any order.
fn far_difference(x: Expr) -> Expr {
    let large = x.max(NEAR);
    argument(large).polynomial(tables(x).difference) / large.sqrt() / large
}

/// Up to here, the functions are computed from power series.
const NEAR: f64 = 2.0;

/// `(x - 2) / (x + 2)`, 1 at infinity.
fn argument(x: Expr) -> Expr {
    let x = x.min(1e30);
    (x - NEAR) / (x + NEAR)
}

/// Coefficients for one dtype, of order 0 and 1.
struct Tables {
    /// `I0(x)` and `I1(x) / x` in `x^2`.
    first_kind: [&'static [f64]; 2],
    /// `K0(x) + log(x / 2) I0(x)` and `x (K1(x) - log(x / 2) I1(x))` in `x^2`.
    rest: [&'static [f64]; 2],
    /// `sqrt(x) e^x` times `K0(x)` and `K1(x)` in `(x - 2) / (x + 2)`.
    tail: [&'static [f64]; 2],
    /// `x sqrt(x) e^x (K1(x) - K0(x))` in `(x - 2) / (x + 2)`.
    difference: &'static [f64],
}

fn tables(x: Expr) -> &'static Tables {
    if x.is_double() { &F64 } else { &F32 }
}

static F32: Tables = Tables {
    first_kind: [
        &[1.0, 0.2499999999, 0.0156250005, 0.0004340270336, 6.782214073e-06, 6.762348533e-08, 5.057299736e-10],
        &[0.4999999999, 0.06250000128, 0.002604162946, 5.425743059e-05, 6.76269468e-07, 6.06887874e-09],
    ],
    rest: [
        &[
            -0.5772156649, 0.1056960835, 0.01441850624, 0.0005451884555, 1.021508577e-05, 1.153127112e-07,
            9.522368895e-10,
        ],
        &[
            0.9999999999, 0.03860783588, -0.04204903463, -0.002837091495, -7.494501384e-05, -1.083903812e-06,
            -1.106660481e-08,
        ],
    ],
    tail: [
        &[
            1.190157185, 0.1045577886, -0.07228056855, 0.05518056849, -0.04370892216, 0.03392158818, -0.02336150959,
            0.01245907979, -0.004310722956, 0.0006996515527,
        ],
        &[
            1.461556972, -0.3759574684, 0.3125323343, -0.2738034328, 0.2449712219, -0.2166472718, 0.1777589801,
            -0.1227534982, 0.06317779898, -0.02066974183, 0.003148243617,
        ],
    ],
    difference: &[
        0.5427995803, 0.1245674646, -0.06679347679, 0.04422541607, -0.03157314508, 0.02343324826, -0.01687537305,
        0.01066532529, -0.005184707064, 0.001636075527, -0.0002433394741,
    ],
};

static F64: Tables = Tables {
    first_kind: [
        &[
            1.0, 0.25, 0.015624999999999938, 0.0004340277777779769, 6.7816840274543955e-06, 6.78168405793189e-08,
            4.709501086185397e-10, 2.4028675787778216e-12, 9.373259435491812e-15, 3.045242653561327e-17,
        ],
        &[
            0.5, 0.0625, 0.002604166666666664, 5.4253472222231245e-05, 6.781684027631274e-07, 5.6514033701433906e-09,
            3.363929794095008e-11, 1.501781924052243e-13, 5.20866514952149e-16, 1.5157445820083369e-18,
        ],
    ],
    rest: [
        &[
            -0.5772156649015329, 0.1056960837746168, 0.014418505235913403, 0.0005451899602573268,
            1.021401413519616e-05, 1.1570351012535374e-07, 8.819879035027937e-10, 4.8433399275830486e-12,
            2.0062068689459318e-14, 6.872289021185454e-17,
        ],
        &[
            1.0, 0.03860783245076643, -0.0420490209436542, -0.0028371119837633306, -7.493042905996269e-05,
            -1.0892182537829906e-06, -1.0112909463438741e-08, -6.540194160876696e-11, -3.1209506170276024e-13,
            -1.1434866138226383e-15, -3.511915570519414e-18,
        ],
    ],
    tail: [
        &[
            1.1901571834152027, 0.1045580229835153, -0.07228847678996937, 0.05528614248307758, -0.04444318174006957,
            0.036964708462978765, -0.03149947409428731, 0.027342660313478474, -0.024079429880789153,
            0.021445309382598587, -0.019241336873785323, 0.017268844444362327, -0.015282429243259201,
            0.013011304263595438, -0.01029566751301574, 0.007269558951336012, -0.004385347406175814,
            0.002158280096444829, -0.000821462765679562, 0.0002248229309076415, -3.913497093355451e-05,
            3.240865967217873e-06,
        ],
        &[
            1.4615569735231244, -0.37595781309143667, 0.3125463948273752, -0.2740310297195789, 0.24690143360150532,
            -0.22648055883364676, 0.210379104822013, -0.19726426723166152, 0.18630702314944309, -0.17693107768497143,
            0.16860043588545418, -0.16052349083033512, 0.15126092676887465, -0.13855809113049147, 0.12004364957426446,
            -0.09502105302387655, 0.06615111999146941, -0.03893276650944069, 0.018567688524796348,
            -0.0068220845669614266, 0.0017992215899270468, -0.0003016760825343923, 2.407376218806974e-05,
        ],
    ],
    difference: &[
        0.5427995802158435, 0.12456748828178084, -0.06679444063305796, 0.044240958170749495, -0.0317041546273799,
        0.024094520932755256, -0.019038549870233408, 0.01550151390999387, -0.012914089204978973, 0.01095518247133758,
        -0.009416725852985527, 0.008141136906433047, -0.006980248992146959, 0.005793696181224855, -0.0044973261451651,
        0.0031326339297549763, -0.001872828629300581, 0.0009167060078016246, -0.00034794143421831115,
        9.516317679899382e-05, -1.658322398149909e-05, 1.3770867242999062e-06,
    ],
};
