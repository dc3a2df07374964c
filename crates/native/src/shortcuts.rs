//! Kernels for elementwise functions that also have a formula, a list of simpler operations: one loop instead of one
//! for each operation. The formula stays the definition. The inverse circular functions and hypot have algorithms of
//! their own; log2, log10, sinh and cosh are rounded less often, and asinh and acosh of f32 otherwise; the other
//! kernels compute what the formula does, in the same order, with the same bits.

use super::array::Array;
use super::elementwise::{Kernel1, Kernel2, Source, map, zip};
use super::fast;
use super::fast64;
use super::inverse_circular;
use super::roots;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::{BinaryFunction, Op, UnaryFunction};

/// Evaluates a function of f32 or f64 if it has a kernel; otherwise returns None.
pub fn shortcut(op: Op, ty: &TensorType, operands: &[&Array]) -> Option<Result<Array>> {
    let array = Source::Array;
    match (op, operands, ty.dtype) {
        (Op::UnaryFunction(function), &[x], DType::F32) => Some(map(ty, x, single::of_one(function)?)),
        (Op::UnaryFunction(function), &[x], DType::F64) => Some(map(ty, x, double::of_one(function)?)),
        (Op::BinaryFunction(function), &[a, b], DType::F32) => {
            Some(zip(ty, array(a), array(b), single::of_two(function)?))
        }
        (Op::BinaryFunction(function), &[a, b], DType::F64) => {
            Some(zip(ty, array(a), array(b), double::of_two(function)?))
        }
        _ => None,
    }
}

/// `log10(2^n (1 + f))`, for `f` from [`fast::fraction`], with an error below 1.3 ulp.
#[inline(always)]
fn log10_single(n: f32, f: f32) -> f32 {
    /// log10(2) as a sum of two.
    const LOG10_2: [f32; 2] = [0.301_025_4, 4.605_039e-6];
    /// Coefficients of `(log10(1 + f) - f log10(e)) / f^2`.
    const REST: [f32; 9] = [
        -0.217_147_19, 0.144_764_8, -0.108_580_49, 0.086_867_47, -0.072_132_33, 0.061_590_89, -0.057_513_576,
        0.056_043_215, -0.033_100_91,
    ];
    let rest = (f * f).mul_add(fast::polynomial(f, REST), n * LOG10_2[1]);
    n.mul_add(LOG10_2[0], f.mul_add(std::f32::consts::LOG10_E, rest))
}

/// Like [`log10_single`], for `f` from [`fast64::fraction`].
#[inline(always)]
fn log10_double(n: f64, f: f64) -> f64 {
    /// log10(2) as a sum of two.
    const LOG10_2: [f64; 2] = [0.301_029_995_663_839_14, 1.420_502_322_726_61e-13];
    n.mul_add(LOG10_2[0], fast64::ln_of_fraction(f).mul_add(std::f64::consts::LOG10_E, n * LOG10_2[1]))
}

/// A kernel that computes a function. The function is called in a closure: its own implementation of `Fn` would not
/// always be inlined into the loop, which then is not vectorized.
macro_rules! each {
    ($f:expr) => {
        |x, out| {
            out.compute(
                x,
                #[inline(always)]
                |x| $f(x),
            )
        }
    };
}

/// Like [`each`], for a function of two operands.
macro_rules! each_pair {
    ($f:expr) => {
        |a, b, out| {
            out.compute_two(
                a,
                b,
                #[inline(always)]
                |a, b| $f(a, b),
            )
        }
    };
}

/// Defines the kernels of one type.
macro_rules! kernels {
    ($name:ident, $T:ident, $I:ident, $fast:ident {
        exp: $exp:ident,
        sinh: $polynomial:ident, $count:literal, $sinh:expr,
        log10: $log10:ident,
        ln_1p_of_positive: $ln_of_positive:ident,
        far: $far:expr,
        hypot: $hypot:expr,
    }) => {
        pub mod $name {
            use super::*;

            /// Coefficients of `(sinh x - x) / x^3`, a polynomial in `x^2`.
            const SINH: [$T; $count] = $sinh;

            pub fn of_one(function: UnaryFunction) -> Option<Kernel1<$T, $T>> {
                use UnaryFunction::*;
                Some(match function {
                    Trunc => |x, out| out.map(x, $T::trunc),
                    Log2 => |x, out| $fast::positive(x, out, log2_of_parts($fast::fraction), log2),
                    Log10 => |x, out| $fast::positive(x, out, log10_of_parts($fast::fraction), log10),
                    Sinh => each!(sinh),
                    Cosh => each!(cosh),
                    Asinh => each!(asinh),
                    Acosh => each!(acosh),
                    Atanh => each!(atanh),
                    Asin => each!(inverse_circular::$name::asin),
                    Acos => each!(inverse_circular::$name::acos),
                    Atan => each!(|x| inverse_circular::$name::atan2(x, 1.0)),
                    _ => return None,
                })
            }

            pub fn of_two(function: BinaryFunction) -> Option<Kernel2<$T, $T>> {
                use BinaryFunction::*;
                Some(match function {
                    Copysign => |a, b, out| out.zip(a, b, $T::copysign),
                    Hypot => return $hypot,
                    Logaddexp => each_pair!(logaddexp),
                    NextAfter => each_pair!(next_after),
                    _ => return None,
                })
            }

            /// Base-2 logarithm of a positive number, given the function that splits it.
            #[inline(always)]
            fn log2_of_parts<N: Into<f64>>(split: impl Fn($T) -> (N, $T) + Copy) -> impl Fn($T) -> $T + Copy {
                #[inline(always)]
                move |x| {
                    let (n, f) = split(x);
                    $fast::ln_of_fraction(f).mul_add(std::$T::consts::LOG2_E, n.into() as $T)
                }
            }

            /// Base-10 logarithm of a positive number, given the function that splits it.
            #[inline(always)]
            fn log10_of_parts<N: Into<f64>>(split: impl Fn($T) -> (N, $T) + Copy) -> impl Fn($T) -> $T + Copy {
                #[inline(always)]
                move |x| {
                    let (n, f) = split(x);
                    $log10(n.into() as $T, f)
                }
            }

            #[inline(always)]
            fn log2(x: $T) -> $T {
                $fast::beyond(x, log2_of_parts($fast::fraction_of_any)(x))
            }

            #[inline(always)]
            fn log10(x: $T) -> $T {
                $fast::beyond(x, log10_of_parts($fast::fraction_of_any)(x))
            }

            #[inline(always)]
            fn sinh(x: $T) -> $T {
                let square = x * x;
                let near = (x * square).mul_add($fast::$polynomial(square, SINH), x);
                let size = x.abs();
                let half = $fast::half_exp(size);
                let far = (half - 0.25 / half).copysign(x);
                if size < 1.0 { near } else { far }
            }

            #[inline(always)]
            fn cosh(x: $T) -> $T {
                let half = $fast::half_exp(x.abs());
                half + 0.25 / half
            }

            #[inline(always)]
            fn asinh(x: $T) -> $T {
                let size = x.abs();
                let square = size * size;
                let share = square / ((square + 1.0).sqrt() + 1.0);
                log_plus_one_of_sum(size, size + share).copysign(x)
            }

            #[inline(always)]
            fn acosh(x: $T) -> $T {
                let less = x - 1.0;
                let root = (less * (x + 1.0)).sqrt();
                let value = log_plus_one_of_sum(x, less + root);
                if x < 1.0 { $T::NAN } else { value }
            }

            #[inline(always)]
            fn atanh(x: $T) -> $T {
                let size = x.abs();
                ($fast::ln_1p(size * 2.0 / (1.0 - size)) * 0.5).copysign(x)
            }

            #[inline(always)]
            fn log_plus_one_of_sum(size: $T, sum: $T) -> $T {
                let is_far = size > $far;
                let log = $fast::$ln_of_positive(if is_far { size } else { sum });
                log + if is_far { std::$T::consts::LN_2 } else { 0.0 }
            }

            #[inline(always)]
            fn logaddexp(a: $T, b: $T) -> $T {
                let greater = if a > b || a.is_nan() { a } else { b };
                let sum = greater + $fast::ln_1p($fast::$exp(-(a - b).abs()));
                if a == b { a + std::$T::consts::LN_2 } else { sum }
            }

            #[inline(always)]
            fn next_after(x: $T, y: $T) -> $T {
                let bits = x.to_bits() as $I;
                let is_away = (x < y) != (bits < 0);
                let step = if is_away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
                let least = (y.to_bits() as $I & $I::MIN) | 1;
                let step = if x == 0.0 { least } else { step };
                let next = if x == y { y.to_bits() as $I } else { step };
                let next = if y.is_nan() { y.to_bits() as $I } else { next };
                let next = if x.is_nan() { bits } else { next };
                $T::from_bits(next as _)
            }
        }
    };
}

kernels! {
    single, f32, i32, fast {
        exp: exp,
        sinh: polynomial, 4, [0.166_666_67, 0.008_333_34, 0.000_198_381_02, 2.806_280_3e-6],
        log10: log10_single,
        ln_1p_of_positive: ln_1p_of_positive,
        far: 1e9,
        hypot: Some(each_pair!(roots::hypot)),
    }
}
kernels! {
    double, f64, i64, fast64 {
        exp: exp,
        sinh: polynomial64, 7, [
            0.166_666_666_666_666_66,
            0.008_333_333_333_333_3,
            0.000_198_412_698_413_241_98,
            2.755_731_919_138_181_6e-6,
            2.505_211_769_590_782_3e-8,
            1.605_767_962_380_163_8e-10,
            7.746_178_593_018_827e-13,
        ],
        log10: log10_double,
        ln_1p_of_positive: ln_1p,
        far: 1e18,
        hypot: None,
    }
}
