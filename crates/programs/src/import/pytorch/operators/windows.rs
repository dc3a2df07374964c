//! Windows of signals. A periodic window of n elements is the first n of a symmetric window of n + 1 elements.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::UnaryFunction;
use ops::creation::{full, iota};
use ops::elementwise::formula::{Expr, record};
use ops::elementwise::unary_function;
use std::f64::consts::PI;

macro_rules! arguments {
    ($own:literal) => {
        concat!("window_length ", $own, " dtype=none layout=none device=none pin_memory=none")
    };
}

pub(super) const TABLE: &[Operator] = &[
    operator(&["hann_window.default", "hann_window.periodic"], arguments!("periodic=true"), |call| {
        window(call, |angle| angle.cos() * -0.5 + 0.5)
    }),
    operator(
        &[
            "hamming_window.default",
            "hamming_window.periodic",
            "hamming_window.periodic_alpha",
            "hamming_window.periodic_alpha_beta",
        ],
        arguments!("periodic=true alpha=0.54 beta=0.46"),
        |call| {
            let (alpha, beta) = (call.float("alpha")?, call.float("beta")?);
            window(call, |angle| angle.cos() * -beta + alpha)
        },
    ),
    operator(&["blackman_window.default", "blackman_window.periodic"], arguments!("periodic=true"), |call| {
        window(call, |angle| angle.cos() * -0.5 + (angle * 2.0).cos() * 0.08 + 0.42)
    }),
    operator(&["bartlett_window.default", "bartlett_window.periodic"], arguments!("periodic=true"), |call| {
        window(call, |angle| -(angle / PI - 1.0).abs() + 1.0)
    }),
    operator(
        &["kaiser_window.default", "kaiser_window.periodic", "kaiser_window.beta"],
        arguments!("periodic=true beta=12.0"),
        |call| {
            let beta = call.float("beta")?;
            window(call, |angle| {
                // The ratio of two values of I0. Scaled by `exp(-|x|)`, neither of them overflows.
                let ratio = angle / PI - 1.0;
                let inside = ((-(ratio * ratio) + 1.0).max(0.0)).sqrt() * beta;
                let limit = inside * 0.0 + beta;
                bessel(inside) / bessel(limit) * (inside - limit).exp()
            })
        },
    ),
];

/// I0, multiplied by `exp(-|x|)`.
fn bessel(x: Expr) -> Expr {
    x.apply(|trace, x| unary_function(trace, UnaryFunction::BesselI0e, x))
}

/// Records a window by a function of the angle, from 0 to 2 pi.
fn window<'p>(call: &mut Call<'_, 'p>, of_angle: impl for<'f> FnOnce(Expr<'f>) -> Expr<'f>) -> Result<Value<'p>> {
    let (length, periodic) = (call.int("window_length")?, call.bool("periodic")?);
    let dtype = call.dtype("dtype")?.unwrap_or(DType::F32);
    if length < 0 || !dtype.is_float() {
        return Err(error!(InvalidArgument, "a window of {length} elements of {dtype}; want 0 or more floats"));
    }
    let trace = call.trace();
    let ty = TensorType::new(dtype, &[length]);
    let made = if length < 2 {
        full(trace, &ty, ScalarValue::Signed(1))?
    } else {
        let parts = if periodic { length } else { length - 1 };
        let places = iota(trace, &TensorType::new(DType::F64, &[length]), 0)?;
        record(trace, [places], |[places]| of_angle(places * (2.0 * PI / parts as f64)).convert(dtype))?
    };
    Ok(call.made(made))
}
