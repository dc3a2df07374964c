//! Inverse circular functions of f32 and f64 that the compiler vectorizes in loops, like those in `fast.rs`. Errors are
//! below 1.7 ulp, and below 2.5 ulp for asin.

use super::fast::{polynomial, polynomial64};

/// Defines the functions of one type.
macro_rules! inverse_circular {
    (
        $name:ident, $T:ident, $polynomial:ident,
        tangent: $tangents:literal, $tangent:expr,
        sine: $sines:literal, $sine:expr,
        pi: $pi:expr,
    ) => {
        /// Functions of one type.
        pub mod $name {
            use super::*;

            /// Coefficients of `(atan x - x) / x^3`, a polynomial in `x^2`, for `x` up to 1.
            const ARC_TANGENT: [$T; $tangents] = $tangent;
            /// Coefficients of `(asin x - x) / x^3`, a polynomial in `x^2`, for `x` up to a half.
            const ARC_SINE: [$T; $sines] = $sine;
            /// pi, as a sum of two.
            const PI: [$T; 2] = $pi;

            /// Angle of the point (`x`, `y`), from the quotient of the smaller coordinate and the larger one.
            #[inline(always)]
            pub fn atan2(y: $T, x: $T) -> $T {
                let (height, width) = (y.abs(), x.abs());
                let is_steep = height > width;
                let (small, large) = if is_steep { (width, height) } else { (height, width) };
                // Without this, 0/0 and inf/inf would be NaN.
                let q = if small == large { 1.0 } else { small / large };
                let q = if large == 0.0 { 0.0 } else { q };
                // Right angles, and what is added to them.
                let is_left = x.is_sign_negative();
                let part = if is_steep != is_left { -q } else { q };
                let right_angles = if is_steep { 0.5 } else { 1.0 };
                let right_angles = if is_left || is_steep { right_angles } else { 0.0 };
                let z = q * q;
                let first = PI[0] * right_angles;
                let sum = first + part;
                let lost = (first - sum) + part;
                let rest = (part * z).mul_add($polynomial(z, ARC_TANGENT), PI[1].mul_add(right_angles, lost));
                let angle = sum + rest;
                let angle = angle.copysign(y);
                if y.is_nan() || x.is_nan() { y + x } else { angle }
            }

            /// Returns whether `|x|` is above a half, and the arc sine of `x`, or, above a half, the arc cosine of
            /// `|x|`.
            #[inline(always)]
            fn arc(x: $T) -> (bool, $T) {
                let size = x.abs();
                let is_far = size > 0.5;
                // asin x = pi/2 - 2 asin(sqrt((1 - x) / 2))
                let far = size.mul_add(-0.5, 0.5);
                let z = if is_far { far } else { x * x };
                let root = far.sqrt();
                let s = if is_far { root } else { x };
                let angle = (s * z).mul_add($polynomial(z, ARC_SINE), s);
                (is_far, if is_far { 2.0 * angle } else { angle })
            }

            /// Arc sine; NaN outside [-1, 1].
            #[inline(always)]
            pub fn asin(x: $T) -> $T {
                let (is_far, angle) = arc(x);
                let far = (PI[0] * 0.5 + (PI[1] * 0.5 - angle)).copysign(x);
                if is_far { far } else { angle }
            }

            /// Arc cosine; NaN outside [-1, 1].
            #[inline(always)]
            pub fn acos(x: $T) -> $T {
                let (is_far, angle) = arc(x);
                let is_left = x < 0.0;
                let part = if is_far { 1.0 } else { 0.5 };
                let part = if is_far && !is_left { 0.0 } else { part };
                let angle = if is_far && !is_left { angle } else { -angle };
                PI[0] * part + PI[1].mul_add(part, angle)
            }
        }
    };
}

inverse_circular! {
    single, f32, polynomial,
    tangent: 9, [
    -0.333_333_3,
    0.199_997_4,
    -0.142_785_69,
    0.110_337_64,
    -0.086_568_8,
    0.062_501_69,
    -0.035_871_54,
    0.013_507_771,
    -0.002_386_997_3,
],
    sine: 6, [0.166_666_66, 0.075_000_94, 0.044_599_4, 0.031_100_663, 0.017_149_238, 0.033_690_847],
    pi: [std::f32::consts::PI, -8.742_278e-8],
}
inverse_circular! {
    double, f64, polynomial64,
    tangent: 20, [
    -0.333_333_333_333_333_3,
    0.199_999_999_999_975_3,
    -0.142_857_142_853_841_32,
    0.111_111_110_934_908_27,
    -0.090_909_085_908_919_34,
    0.076_922_989_710_332_17,
    -0.066_665_646_992_891_04,
    0.058_815_068_777_936_56,
    -0.052_579_733_342_841_106,
    0.047_377_495_795_277_79,
    -0.042_603_566_326_016_52,
    0.037_494_868_125_352_47,
    -0.031_277_189_066_996_385,
    0.023_696_731_580_048_622,
    -0.015_535_152_475_414_177,
    0.008_368_931_178_450_162,
    -0.003_495_885_973_916_309_4,
    0.001_049_603_508_496_851_5,
    -0.000_199_961_893_779_013_82,
    1.806195461861215e-05,
],
    sine: 13, [
    0.166_666_666_666_666_68,
    0.074_999_999_999_984_33,
    0.044_642_857_146_355_43,
    0.030_381_944_138_531_247,
    0.022_372_172_942_149_89,
    0.017_352_392_720_869_973,
    0.013_971_212_973_552_933,
    0.011_479_177_415_184_906,
    0.010_322_814_350_185_78,
    0.005_457_506_718_640_358,
    0.017_400_879_442_694_02,
    -0.014_851_887_071_247_203,
    0.028_757_851_367_421_565,
],
    pi: [std::f64::consts::PI, 1.224_646_799_147_353_2e-16],
}
