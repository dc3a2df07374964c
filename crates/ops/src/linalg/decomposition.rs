//! QR, LU, singular value and eigenvalue decompositions, and the pseudoinverse.

use crate::elementwise::convert::convert;
use crate::indexing::gather::gather;
use crate::infer::refuse;
use base::error;
use base::error::Result;
use base::types::{DType, Dims, Kind, TensorType};
use ir::{DimensionNumbers, NodeId, Op, Trace, attributes};

attributes! {
    /// Attributes of `qr`.
    pub struct QrAttributes {
        /// Whether the orthogonal factor is square.
        pub full: bool,
        /// Whether the results are those of `lapack::reflectors`.
        pub reflectors: bool,
    }
}

attributes! {
    /// Attributes of `svd`.
    pub struct SvdAttributes {
        /// Whether the matrices of vectors are square.
        pub full: bool,
        /// Whether the vectors are results.
        pub vectors: bool,
    }
}

attributes! {
    /// Attributes of `eigh`.
    pub struct EighAttributes {
        /// Whether the lower triangle is read.
        pub lower: bool,
    }
}

attributes! {
    /// Attributes of `pinv`.
    pub struct PinvAttributes {
        /// Bits of the relative tolerance, a number of f64.
        pub tolerance: i64,
    }
}

attributes! {
    /// Attributes of `ldl` and `ldl_solve`.
    #[derive(Copy)]
    pub struct LdlAttributes {
        /// Whether the matrices are Hermitian; else, and for real numbers, they are symmetric.
        pub hermitian: bool,
    }
}

/// The type of an operand of matrices: batch axes, rows, columns.
pub(super) struct Matrices {
    pub dtype: DType,
    pub batch: Dims,
    pub rows: i64,
    pub columns: i64,
}

impl Matrices {
    /// The type of an operand; an error unless it has matrices of floats or complex numbers.
    pub fn of(function: &str, name: &str, ty: &TensorType) -> Result<Matrices> {
        if !ty.dtype.is_float() && !ty.dtype.is_float8() && ty.dtype.kind() != Kind::Complex {
            return Err(refuse(function, name, ty, "floats and complex numbers"));
        }
        match ty.dims[..] {
            [ref batch @ .., rows, columns] => {
                Ok(Matrices { dtype: ty.dtype, batch: Dims::from(batch), rows, columns })
            }
            _ => Err(error!(InvalidArgument, "{name}: it is {ty}; {function} takes matrices in the last two axes")),
        }
    }

    /// Likewise for square matrices.
    pub fn square(function: &str, name: &str, ty: &TensorType) -> Result<Matrices> {
        let made = Matrices::of(function, name, ty)?;
        match made.rows == made.columns {
            true => Ok(made),
            false => Err(error!(
                InvalidArgument,
                "{name}: it is {ty}; {function} takes square matrices in the last two axes"
            )),
        }
    }

    /// The smaller number of rows and columns.
    pub fn least(&self) -> i64 {
        self.rows.min(self.columns)
    }

    /// A type with the batch axes and these.
    pub fn ty(&self, dtype: DType, dims: &[i64]) -> TensorType {
        TensorType { dtype, dims: self.batch.iter().chain(dims).copied().collect() }
    }
}

/// Records an operation with several results. 8-bit floats are computed in f32.
pub(super) fn several<const N: usize>(
    trace: &mut Trace,
    a: NodeId,
    record: impl FnOnce(&mut Trace, NodeId, DType) -> Vec<NodeId>,
) -> [NodeId; N] {
    let dtype = trace.node(a).dtype;
    let own = if dtype.is_float8() { DType::F32 } else { dtype };
    let a = convert(trace, a, own);
    let results: [NodeId; N] = record(trace, a, own).try_into().expect("as many results as the operation has");
    results.map(|id| if trace.node(id).dtype == own { convert(trace, id, dtype) } else { id })
}

/// Records the QR factors of matrices.
pub fn qr(trace: &mut Trace, a: NodeId, full: bool) -> Result<[NodeId; 2]> {
    let of = Matrices::of("qr", "a", &trace.ty(a))?;
    let inner = if full { of.rows } else { of.least() };
    Ok(several(trace, a, |trace, a, dtype| {
        let results = [of.ty(dtype, &[of.rows, inner]), of.ty(dtype, &[inner, of.columns])];
        trace.application(Op::Qr, &[a], &QrAttributes { full, reflectors: false }, &[], &results)
    }))
}

/// Returns an error unless s32 has the numbers of the rows.
pub(super) fn check_pivots(of: &Matrices) -> Result<()> {
    match i32::try_from(of.rows) {
        Ok(_) => Ok(()),
        Err(_) => Err(error!(InvalidArgument, "a: it has {} rows; pivots are s32, want at most {}", of.rows, i32::MAX)),
    }
}

/// Records the LU factors of matrices, the pivots and the permutation.
pub fn lu(trace: &mut Trace, a: NodeId) -> Result<[NodeId; 3]> {
    let of = Matrices::of("lu", "a", &trace.ty(a))?;
    check_pivots(&of)?;
    Ok(several(trace, a, |trace, a, dtype| {
        let factors = of.ty(dtype, &[of.rows, of.columns]);
        let results = [factors, of.ty(DType::S32, &[of.least()]), of.ty(DType::S32, &[of.rows])];
        trace.application(Op::Lu, &[a], &(), &[], &results)
    }))
}

/// Records the singular value decomposition of matrices: `u`, the values, `vh`.
pub fn svd(trace: &mut Trace, a: NodeId, full: bool) -> Result<[NodeId; 3]> {
    let of = Matrices::of("svd", "a", &trace.ty(a))?;
    let [of_u, of_v] = if full { [of.rows, of.columns] } else { [of.least(); 2] };
    Ok(several(trace, a, |trace, a, dtype| {
        let (u, vh) = (of.ty(dtype, &[of.rows, of_u]), of.ty(dtype, &[of_v, of.columns]));
        let results = [u, of.ty(dtype.real(), &[of.least()]), vh];
        trace.application(Op::Svd, &[a], &SvdAttributes { full, vectors: true }, &[], &results)
    }))
}

/// Records the singular values of matrices.
pub fn singular_values(trace: &mut Trace, a: NodeId) -> Result<NodeId> {
    let of = Matrices::of("singular_values", "a", &trace.ty(a))?;
    let [values] = several(trace, a, |trace, a, dtype| {
        let values = of.ty(dtype.real(), &[of.least()]);
        trace.application(Op::Svd, &[a], &SvdAttributes { full: false, vectors: false }, &[], &[values])
    });
    Ok(values)
}

/// Records the eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read.
pub fn eigh(trace: &mut Trace, a: NodeId, lower: bool) -> Result<[NodeId; 2]> {
    let of = Matrices::square("eigh", "a", &trace.ty(a))?;
    Ok(several(trace, a, |trace, a, dtype| {
        let results = [of.ty(dtype.real(), &[of.rows]), of.ty(dtype, &[of.rows, of.rows])];
        trace.application(Op::Eigh, &[a], &EighAttributes { lower }, &[], &results)
    }))
}

/// Records the eigenvalues and eigenvectors of square matrices.
pub fn eig(trace: &mut Trace, a: NodeId) -> Result<[NodeId; 2]> {
    let of = Matrices::square("eig", "a", &trace.ty(a))?;
    Ok(several(trace, a, |trace, a, dtype| {
        let complex = if dtype.real() == DType::F64 { DType::C128 } else { DType::C64 };
        let results = [of.ty(complex, &[of.rows]), of.ty(complex, &[of.rows, of.rows])];
        trace.application(Op::Eig, &[a], &(), &[], &results)
    }))
}

/// Records the Schur forms of square matrices and their unitary factors: complex ones if `complex_form`, otherwise those
/// of the operand's dtype.
pub fn schur(trace: &mut Trace, a: NodeId, complex_form: bool) -> Result<[NodeId; 2]> {
    let of = Matrices::square("schur", "a", &trace.ty(a))?;
    let complex = if of.dtype.real() == DType::F64 { DType::C128 } else { DType::C64 };
    let a = if complex_form { convert(trace, a, complex) } else { a };
    Ok(several(trace, a, |trace, a, dtype| {
        let ty = of.ty(dtype, &[of.rows, of.rows]);
        trace.application(Op::Schur, &[a], &(), &[], &[ty.clone(), ty])
    }))
}

/// Records the pseudoinverse of matrices. Singular values up to `rtol` times the largest one count as 0; if negative,
/// it is the larger number of rows and columns times the distance of 1 from the next number.
pub fn pinv(trace: &mut Trace, a: NodeId, rtol: f64) -> Result<NodeId> {
    let of = Matrices::of("pinv", "a", &trace.ty(a))?;
    let dtype = of.dtype;
    let own = if dtype.is_float8() { DType::F32 } else { dtype };
    let a = convert(trace, a, own);
    let tolerance = tolerance(&of, rtol)?.to_bits() as i64;
    let shape = trace.intern(&of.ty(own, &[of.columns, of.rows]).dims);
    let made = trace.operation_with_attributes(Op::Pinv, own, shape, &[a], &PinvAttributes { tolerance });
    Ok(convert(trace, made, dtype))
}

/// The relative tolerance for singular values of these matrices, at most 1, with which none is greater: the elements'
/// dtype need not have the number that is given.
pub(super) fn tolerance(of: &Matrices, rtol: f64) -> Result<f64> {
    if rtol.is_nan() {
        return Err(error!(InvalidArgument, "rtol: it is NaN; want a number, negative for the default"));
    }
    // f16 and bf16 are computed in f32, but their values are no more accurate than they are.
    let step = match of.dtype.real() {
        DType::F64 => f64::EPSILON,
        DType::F16 => 1.0 / 1024.0,
        DType::BF16 => 1.0 / 128.0,
        _ => f64::from(f32::EPSILON),
    };
    let tolerance = if rtol < 0.0 { step * of.rows.max(of.columns) as f64 } else { rtol };
    Ok(tolerance.min(1.0))
}

/// Records the rows of matrices in the order of a permutation, by a gather of whole rows.
pub(super) fn permuted(trace: &mut Trace, x: NodeId, permutation: NodeId) -> Result<NodeId> {
    let dims = trace.ty(x).dims;
    if dims.contains(&0) {
        return Ok(x);
    }
    let rows = dims.len() as i64 - 2;
    let batch: Vec<i64> = (0..rows).collect();
    let numbers = DimensionNumbers {
        window_dims: vec![rows + 1],
        collapsed_dims: vec![rows],
        batching_dims: batch.clone(),
        indices_batching_dims: batch,
        index_map: vec![rows],
        index_vector_dim: rows + 1,
    };
    let mut sizes = vec![1; dims.len()];
    sizes[dims.len() - 1] = dims[dims.len() - 1];
    gather(trace, x, permutation, &numbers, &sizes, false)
}
