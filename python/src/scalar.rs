//! Python's scalars next to arrays: they take the array's dtype, by the rules of the Python array API standard.

use crate::dtype::{kind, name};
use crate::error::check;
use crate::sys::*;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use std::cmp::Ordering;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    /// An integer beyond the largest i64.
    Large(u64),
    /// An integer of more than 64 bits, as a float: no integer dtype has it.
    Huge(f64),
    Float(f64),
    Complex(f64, f64),
}

use Scalar::*;

impl Scalar {
    /// Returns the value of a bool, int, float or complex, and None for any other object.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
        if let Ok(value) = object.cast::<PyFloat>() {
            return Ok(Some(Float(value.value())));
        }
        if object.is_exact_instance_of::<PyBool>() {
            return Ok(Some(Bool(object.is_truthy()?)));
        }
        if object.is_instance_of::<PyInt>() {
            return integer(object).map(Some);
        }
        if let Ok(value) = object.cast::<PyComplex>() {
            return Ok(Some(Complex(value.real(), value.imag())));
        }
        Ok(None)
    }

    /// Returns the dtype that an array of `dtype` takes next to the scalar if the scalar's kind is above the array's, as
    /// JAX promotes weak types: the default dtype of that kind, or complex128 for float64.
    pub fn widened(self, dtype: i32) -> Option<i32> {
        match (self, kind(dtype)) {
            (Int(_) | Large(_) | Huge(_), LXLA_KIND_PRED) => Some(LXLA_DTYPE_S64),
            (Float(_), LXLA_KIND_PRED | LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED) => Some(LXLA_DTYPE_F32),
            (Complex(..), LXLA_KIND_FLOAT) if dtype == LXLA_DTYPE_F64 => Some(LXLA_DTYPE_C128),
            (Complex(..), kind) if kind != LXLA_KIND_COMPLEX => Some(LXLA_DTYPE_C64),
            _ => None,
        }
    }

    /// Returns the scalar for an operation with an array of `dtype`, which is of the scalar's kind or above: a bool is
    /// 0 or 1 there. A complex number next to real floats is returned as it is.
    pub fn beside(self, dtype: i32) -> PyResult<Scalar> {
        match (self, kind(dtype)) {
            (Bool(value), LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED) => Ok(Int(value.into())),
            (Bool(value), LXLA_KIND_FLOAT | LXLA_KIND_COMPLEX) => Ok(Float(f64::from(u8::from(value)))),
            (Bool(_), LXLA_KIND_PRED)
            | (Int(_) | Large(_) | Huge(_), LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED)
            | (Float(_) | Complex(..), LXLA_KIND_FLOAT | LXLA_KIND_COMPLEX) => Ok(self),
            (Int(value), LXLA_KIND_FLOAT | LXLA_KIND_COMPLEX) => Ok(Float(value as f64)),
            (Large(value), LXLA_KIND_FLOAT | LXLA_KIND_COMPLEX) => Ok(Float(value as f64)),
            (Huge(value), LXLA_KIND_FLOAT | LXLA_KIND_COMPLEX) => Ok(Float(value)),
            _ => Err(PyTypeError::new_err(format!(
                "a Python {} has no common dtype with an array of {}; convert one of them (x.astype, lx.asarray)",
                self.type_name(),
                name(dtype)
            ))),
        }
    }

    /// Returns a real number as a float; None for bools and complex numbers.
    pub fn real(self) -> Option<f64> {
        match self {
            Int(value) => Some(value as f64),
            Large(value) => Some(value as f64),
            Float(value) | Huge(value) => Some(value),
            Bool(_) | Complex(..) => None,
        }
    }

    /// Whether a float was rather computed or read than written by hand, and so will have another value the next time: its
    /// shortest decimal has more than eight digits, and it has more bits than a halved integer.
    pub fn is_computed(self) -> bool {
        let Float(value) = self else { return false };
        const FEW_BITS: u32 = 40;
        if !value.is_finite() || value.to_bits().trailing_zeros() >= FEW_BITS {
            return false;
        }
        let text = format!("{value:e}");
        let digits = text.bytes().take_while(|&byte| byte != b'e').filter(u8::is_ascii_digit).count();
        digits > 8
    }

    /// Returns how an integer compares with all numbers of an integer dtype that cannot represent it; otherwise None.
    pub fn beyond(self, dtype: i32) -> Option<Ordering> {
        let value = match self {
            Int(value) => i128::from(value),
            Large(value) => i128::from(value),
            Huge(value) if value < 0.0 => i128::MIN,
            Huge(_) => i128::MAX,
            _ => return None,
        };
        let bits = match dtype {
            LXLA_DTYPE_S2 | LXLA_DTYPE_U2 => 2,
            LXLA_DTYPE_S4 | LXLA_DTYPE_U4 => 4,
            LXLA_DTYPE_S8 | LXLA_DTYPE_U8 => 8,
            LXLA_DTYPE_S16 | LXLA_DTYPE_U16 => 16,
            LXLA_DTYPE_S32 | LXLA_DTYPE_U32 => 32,
            _ => 64,
        };
        let (low, high) = match kind(dtype) {
            LXLA_KIND_SIGNED => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            LXLA_KIND_UNSIGNED => (0, (1i128 << bits) - 1),
            _ => return None,
        };
        match value {
            value if value < low => Some(Ordering::Less),
            value if value > high => Some(Ordering::Greater),
            _ => None,
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Bool(_) => "bool",
            Int(_) | Large(_) | Huge(_) => "int",
            Float(_) => "float",
            Complex(..) => "complex",
        }
    }

    /// Returns the scalar in its widest dtype.
    pub fn in_c(self) -> lxla_scalar {
        let (dtype, value) = match self {
            Bool(flag) => (LXLA_DTYPE_PRED, lxla_scalar_value { u: flag.into() }),
            Int(i) => (LXLA_DTYPE_S64, lxla_scalar_value { i }),
            Large(u) => (LXLA_DTYPE_U64, lxla_scalar_value { u }),
            Float(f) | Huge(f) => (LXLA_DTYPE_F64, lxla_scalar_value { f }),
            Complex(re, im) => (LXLA_DTYPE_C128, lxla_scalar_value { c: [re, im] }),
        };
        lxla_scalar { dtype, reserved: 0, value }
    }

    /// Returns the scalar converted to a dtype as NumPy's astype does it: floats overflow to infinity.
    pub fn cast(self, dtype: i32) -> PyResult<lxla_scalar> {
        let mut scalar = self.in_c();
        let given = scalar;
        // SAFETY: both are valid scalars.
        check(unsafe { lxla_scalar_cast(&given, dtype, &mut scalar) })?;
        Ok(scalar)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bool(value) => write!(f, "{value}"),
            Int(value) => write!(f, "{value}"),
            Large(value) => write!(f, "{value}"),
            Huge(value) => write!(f, "an int of about {value:e}"),
            Float(value) => write!(f, "{value}"),
            Complex(re, im) => write!(f, "{re}{im:+}j"),
        }
    }
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Ok(value) = object.extract::<i64>() {
        return Ok(Int(value));
    }
    object.extract::<u64>().map(Large).or_else(|_| object.extract::<f64>().map(Huge)).map_err(|_| {
        let bits = object.call_method0("bit_length").map_or_else(|_| "too many".to_string(), |bits| bits.to_string());
        PyOverflowError::new_err(format!("an int of {bits} bits is out of bounds for every dtype"))
    })
}
