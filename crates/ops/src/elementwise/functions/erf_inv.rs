//! Inverse error function by M. Giles's polynomials ("Approximating the erfinv function", GPU Computing Gems, 2011) in
//! w = -ln((1 - x) (1 + x)) where w is small, and in its square root where w is large. 1 - x^2 instead of the product
//! would lose bits near |x| = 1, since the square is rounded: the result would be off by 60 units in the last place.
// Coefficients have the digits with which they were published.
#![allow(clippy::excessive_precision)]

use crate::elementwise::formula::Expr;

/// One piece of the approximation, for w below `up_to`: a polynomial of (w - `less`) in the first piece, of (sqrt(w) -
/// `less`) in the others. Coefficients start with the constant.
struct Part<'a> {
    up_to: f64,
    less: f64,
    coefficients: &'a [f64],
}

const PARTS_OF_F32: [Part; 2] = [
    Part {
        up_to: 5.0,
        less: 2.5,
        coefficients: &[
            1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06,
            3.43273939e-07, 2.81022636e-08,
        ],
    },
    Part {
        up_to: f64::INFINITY,
        less: 3.0,
        coefficients: &[
            2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322,
            0.000100950558, -0.000200214257,
        ],
    },
];

const PARTS_OF_F64: [Part; 3] = [
    Part {
        up_to: 6.25,
        less: 3.125,
        coefficients: &[
            1.6536545626831027356, 0.24015818242558961693, -0.0060336708714301490533, -0.00074070253416626697512,
            0.0001867342080340571352, -1.3882523362786468719e-05, -1.3654692000834678645e-06,
            4.2347877827932403518e-07, -2.9070369957882005086e-08, -4.1126339803469836976e-09,
            1.051212273321532285e-09, -5.4154120542946279317e-11, -1.2975133253453532498e-11,
            2.6335093153082322977e-12, -8.1519341976054721522e-14, -4.0545662729752068639e-14,
            6.6376381343583238325e-15, 2.0972767875968561637e-17, -1.333171662854620906e-16, 1.115787767802518096e-17,
            1.2858480715256400167e-18, -1.685059138182016589e-19, -3.6444120640178196996e-21,
        ],
    },
    Part {
        up_to: 16.0,
        less: 3.25,
        coefficients: &[
            3.0838856104922207635, 1.0052589676941592334, 0.005370914553590063617, -0.0037512085075692412107,
            0.0024914420961078508066, -0.0016882755560235047313, 0.00095328937973738049703, -0.0003550375203628474796,
            2.4031110387097893999e-05, 6.8284851459573175448e-05, -4.7318229009055733981e-05,
            1.2475304481671778723e-05, 2.9234449089955446044e-06, -4.013867526981545969e-06, 1.5027403968909827627e-06,
            1.8239629214389227755e-08, -2.7517406297064545428e-07, 9.0756561938885390979e-08,
            2.2137376921775787049e-09,
        ],
    },
    Part {
        up_to: f64::INFINITY,
        less: 5.0,
        coefficients: &[
            4.8499064014085844221, 1.0103004648645343977, -0.00013871931833623122026, -0.00021503011930044477347,
            7.5995277030017761139e-05, -1.9681778105531670567e-05, 4.5260625972231537039e-06,
            -9.9298272942317002539e-07, 2.2900482228026654717e-07, -6.7711997758452339498e-08,
            2.9147953450901080826e-08, -1.4960026627149240478e-08, 7.6157012080783393804e-09,
            -3.7894654401267369937e-09, 1.5076572693500548083e-09, -2.5556418169965252055e-10,
            -2.7109920616438573243e-11,
        ],
    },
];

/// The inverse error function of f32 or f64, infinite at -1 and 1.
pub fn erf_inv(x: Expr) -> Expr {
    x.abs().eq(1.0).select(x * f64::INFINITY, erf_inv_inside(x))
}

/// The inverse error function of f32 or f64 in the open interval (-1, 1).
pub fn erf_inv_inside(x: Expr) -> Expr {
    let w = -((1.0 - x) * (x + 1.0)).log();
    let root = w.sqrt();
    let parts: &[Part] = if x.is_double() { &PARTS_OF_F64 } else { &PARTS_OF_F32 };
    let (last, earlier) = parts.split_last().expect("there are parts");
    let mut quotient = polynomial(last, root);
    for (i, part) in earlier.iter().enumerate().rev() {
        let value = polynomial(part, if i == 0 { w } else { root });
        quotient = w.lt(part.up_to).select(value, quotient);
    }
    quotient * x
}

fn polynomial<'f>(part: &Part, of: Expr<'f>) -> Expr<'f> {
    (of - part.less).polynomial(part.coefficients)
}
