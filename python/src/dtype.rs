//! Data types: one object for each dtype of the library.

use crate::error::check;
use crate::sys::*;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyType};
use std::collections::HashMap;
use std::mem::zeroed;

const NAMES: [(i32, &str); 28] = [
    (LXLA_DTYPE_PRED, "bool"),
    (LXLA_DTYPE_S8, "int8"),
    (LXLA_DTYPE_S16, "int16"),
    (LXLA_DTYPE_S32, "int32"),
    (LXLA_DTYPE_S64, "int64"),
    (LXLA_DTYPE_U8, "uint8"),
    (LXLA_DTYPE_U16, "uint16"),
    (LXLA_DTYPE_U32, "uint32"),
    (LXLA_DTYPE_U64, "uint64"),
    (LXLA_DTYPE_F16, "float16"),
    (LXLA_DTYPE_F32, "float32"),
    (LXLA_DTYPE_F64, "float64"),
    (LXLA_DTYPE_BF16, "bfloat16"),
    (LXLA_DTYPE_C64, "complex64"),
    (LXLA_DTYPE_C128, "complex128"),
    (LXLA_DTYPE_F8E5M2, "float8_e5m2"),
    (LXLA_DTYPE_F8E4M3FN, "float8_e4m3fn"),
    (LXLA_DTYPE_F8E4M3B11FNUZ, "float8_e4m3b11fnuz"),
    (LXLA_DTYPE_F8E5M2FNUZ, "float8_e5m2fnuz"),
    (LXLA_DTYPE_F8E4M3FNUZ, "float8_e4m3fnuz"),
    (LXLA_DTYPE_F8E4M3, "float8_e4m3"),
    (LXLA_DTYPE_F8E3M4, "float8_e3m4"),
    (LXLA_DTYPE_F8E8M0FNU, "float8_e8m0fnu"),
    (LXLA_DTYPE_S4, "int4"),
    (LXLA_DTYPE_U4, "uint4"),
    (LXLA_DTYPE_S2, "int2"),
    (LXLA_DTYPE_U2, "uint2"),
    (LXLA_DTYPE_F4E2M1FN, "float4_e2m1fn"),
];

/// A data type, such as ``lx.float32``. There is one object for each; they compare by ``==`` and ``is``.
#[pyclass(frozen, module = "lazyxla")]
pub struct DType {
    pub code: i32,
    pub name: &'static str,
    pub limits: lxla_dtype_limits,
}

#[pymethods]
impl DType {
    /// The name, such as ``"float32"``.
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    /// Size of an element in bytes.
    #[getter]
    pub fn itemsize(&self) -> PyResult<usize> {
        let mut size = 0;
        // SAFETY: the output is writable.
        check(unsafe { lxla_dtype_size(self.code, &mut size) })?;
        Ok(size)
    }

    /// ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"real floating"`` or ``"complex floating"``.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.limits.kind {
            LXLA_KIND_PRED => "bool",
            LXLA_KIND_SIGNED => "signed integer",
            LXLA_KIND_UNSIGNED => "unsigned integer",
            LXLA_KIND_FLOAT => "real floating",
            _ => "complex floating",
        }
    }

    /// Limits of the dtype, or of the parts of a complex one: a dictionary.
    #[getter]
    fn limits(&self) -> HashMap<&'static str, f64> {
        let of = &self.limits;
        HashMap::from([
            ("bits", f64::from(of.bits)),
            ("eps", of.eps),
            ("min", of.min),
            ("max", of.max),
            ("smallest_normal", of.smallest_normal),
        ])
    }

    /// Smallest and largest value of an integer dtype.
    #[getter]
    fn integer_limits(&self) -> (i64, u64) {
        (self.limits.integer_min, self.limits.integer_max)
    }

    fn __repr__(&self) -> String {
        format!("lazyxla.{}", self.name)
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (&'static str,))> {
        let function = slf.py().import("lazyxla._core")?.getattr("dtype_of")?;
        Ok((function.unbind(), (slf.get().name,)))
    }

    /// Equal to itself, to its name and to the dtypes and scalar types of NumPy of this name, which have other hashes.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        if let Ok(other) = other.cast::<DType>() {
            return other.get().code == self.code;
        }
        if let Ok(text) = other.extract::<String>() {
            return text == name(self.code);
        }
        let module = other.cast::<PyType>().map_or_else(|_| other.get_type().module(), |kind| kind.module());
        let is_of_python = module.is_ok_and(|module| module == "builtins");
        !is_of_python && of_type(other).is_ok_and(|found| found == Some(self.code))
    }

    fn __hash__(&self) -> isize {
        self.code as isize
    }
}

static OBJECTS: PyOnceLock<Vec<Py<DType>>> = PyOnceLock::new();

/// Returns all dtypes with their names in the module.
pub fn all(py: Python<'_>) -> PyResult<Vec<(&'static str, Py<DType>)>> {
    let objects = OBJECTS.get_or_try_init(py, || {
        NAMES
            .iter()
            .map(|&(code, name)| {
                // SAFETY: the struct has numbers only.
                let mut limits: lxla_dtype_limits = unsafe { zeroed() };
                limits.struct_size = size_of::<lxla_dtype_limits>();
                // SAFETY: the output is writable, and has the size that it says.
                check(unsafe { lxla_dtype_info(code, &mut limits) })?;
                Py::new(py, DType { code, name, limits })
            })
            .collect::<PyResult<Vec<_>>>()
    })?;
    Ok(NAMES.iter().zip(objects).map(|(row, object)| (row.1, object.clone_ref(py))).collect())
}

/// Returns the object of a dtype.
pub fn object(py: Python<'_>, code: i32) -> PyResult<Py<DType>> {
    let place = NAMES.iter().position(|row| row.0 == code);
    match (place, OBJECTS.get(py)) {
        (Some(place), Some(objects)) => Ok(objects[place].clone_ref(py)),
        _ => Err(PyTypeError::new_err(format!("dtype {code} is unknown"))),
    }
}

/// Returns the kind of a dtype, one of `LXLA_KIND_*`, by its number.
pub fn kind(code: i32) -> i32 {
    match code {
        LXLA_DTYPE_PRED => LXLA_KIND_PRED,
        LXLA_DTYPE_S8..=LXLA_DTYPE_S64 | LXLA_DTYPE_S4 | LXLA_DTYPE_S2 => LXLA_KIND_SIGNED,
        LXLA_DTYPE_U8..=LXLA_DTYPE_U64 | LXLA_DTYPE_U4 | LXLA_DTYPE_U2 => LXLA_KIND_UNSIGNED,
        LXLA_DTYPE_C64 | LXLA_DTYPE_C128 => LXLA_KIND_COMPLEX,
        _ => LXLA_KIND_FLOAT,
    }
}

pub fn name(code: i32) -> &'static str {
    NAMES.iter().find(|row| row.0 == code).map_or("unknown", |row| row.1)
}

pub fn by_name(text: &str) -> PyResult<i32> {
    let found = NAMES.iter().find(|row| row.1 == text).map(|row| row.0);
    found.ok_or_else(|| PyTypeError::new_err(format!("there is no dtype {text:?}; lx.float32 is one")))
}

/// Returns the dtype of a name of the library, such as `f32`.
pub fn library_name(name: &str) -> Option<i32> {
    Some(match name {
        "pred" => LXLA_DTYPE_PRED,
        "s8" => LXLA_DTYPE_S8,
        "s16" => LXLA_DTYPE_S16,
        "s32" => LXLA_DTYPE_S32,
        "s64" => LXLA_DTYPE_S64,
        "u8" => LXLA_DTYPE_U8,
        "u16" => LXLA_DTYPE_U16,
        "u32" => LXLA_DTYPE_U32,
        "u64" => LXLA_DTYPE_U64,
        "f16" => LXLA_DTYPE_F16,
        "f32" => LXLA_DTYPE_F32,
        "f64" => LXLA_DTYPE_F64,
        "bf16" => LXLA_DTYPE_BF16,
        "c64" => LXLA_DTYPE_C64,
        "c128" => LXLA_DTYPE_C128,
        "s4" => LXLA_DTYPE_S4,
        "u4" => LXLA_DTYPE_U4,
        "s2" => LXLA_DTYPE_S2,
        "u2" => LXLA_DTYPE_U2,
        "f4e2m1fn" => LXLA_DTYPE_F4E2M1FN,
        _ => NAMES.iter().find(|row| row.1.strip_prefix("float8_").is_some_and(|end| name == format!("f8{end}")))?.0,
    })
}

/// A dtype as argument: an object of this module, a name, a dtype or a scalar type of NumPy or ml_dtypes, or one of
/// Python's types of numbers, which is the dtype that arrays of such numbers get.
#[derive(Clone, Copy)]
pub struct Code(pub i32);

impl<'py> FromPyObject<'_, 'py> for Code {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Code> {
        if let Ok(dtype) = object.cast::<DType>() {
            return Ok(Code(dtype.get().code));
        }
        if let Ok(text) = object.extract::<String>() {
            return by_name(&text).map(Code);
        }
        if let Some(code) = of_type(&object)? {
            return Ok(Code(code));
        }
        Err(PyTypeError::new_err(format!("a dtype such as lx.float32 is wanted, not {}", object.repr()?)))
    }
}

fn of_type(object: &Bound<'_, PyAny>) -> PyResult<Option<i32>> {
    let py = object.py();
    let plain = [
        (py.get_type::<PyBool>(), LXLA_DTYPE_PRED),
        (py.get_type::<PyInt>(), LXLA_DTYPE_S64),
        (py.get_type::<PyFloat>(), LXLA_DTYPE_F32),
        (py.get_type::<PyComplex>(), LXLA_DTYPE_C64),
    ];
    if let Some((_, code)) = plain.iter().find(|(kind, _)| object.is(kind)) {
        return Ok(Some(*code));
    }
    // `numpy.dtype` objects have names; of scalar types, those are the names of the classes.
    let (module, name) = match object.cast::<PyType>() {
        Ok(kind) => (kind.module()?.to_string(), kind.name()?.to_string()),
        Err(_) if object.hasattr("name")? => {
            (object.get_type().module()?.to_string(), object.getattr("name")?.to_string())
        }
        Err(_) => return Ok(None),
    };
    let is_known = matches!(module.split('.').next(), Some("numpy" | "ml_dtypes"));
    is_known.then(|| by_name(name.trim_end_matches('_'))).transpose()
}

/// The dtype that an object names.
#[pyfunction]
fn as_dtype(py: Python<'_>, object: Code) -> PyResult<Py<DType>> {
    self::object(py, object.0)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(as_dtype, module)?)
}
