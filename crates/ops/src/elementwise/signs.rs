//! Sign bits: reading and copying them.

use crate::creation::constants::every;
use crate::elementwise::bits::bitcast_convert;
use crate::elementwise::compare_select::compare_scalar;
use crate::elementwise::formula::Expr;
use crate::infer::refuse;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue};
use ir::{CompareOp, NodeId, Trace};

/// Signed integer dtype of the same width.
fn signed(dtype: DType) -> DType {
    match dtype.size_bytes() {
        1 => DType::S8,
        2 => DType::S16,
        4 => DType::S32,
        _ => DType::S64,
    }
}

/// Records the sign bit. For floats it is read from the bits, so that -0 and NaN have one too.
pub(crate) fn signbit(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    let bits = match ty.dtype.kind() {
        _ if ty.dtype == DType::F8E8M0FNU => return every(trace, x, false),
        Kind::Unsigned => return every(trace, x, false),
        Kind::Signed => x,
        Kind::Float | Kind::Float8 => bitcast_convert(trace, x, signed(ty.dtype))?,
        Kind::Pred | Kind::Complex | Kind::Subbyte => return Err(refuse("signbit", "x", &ty, "integers and floats")),
    };
    compare_scalar(trace, CompareOp::Lt, bits, ScalarValue::Signed(0), false)
}

impl<'f> Expr<'f> {
    /// Records the magnitudes of this expression with the signs of `other`, for floats of one dtype of 16 bits or more.
    /// Works on the bits, because NaN and -0 have signs too.
    pub(crate) fn with_sign_of(self, other: Expr<'f>) -> Expr<'f> {
        let dtype = self.dtype();
        let sign = i64::MIN >> (64 - 8 * dtype.size_bytes());
        let size = self.bits(signed(dtype)) & !sign;
        let sign = other.bits(signed(dtype)) & sign;
        (size | sign).bits(dtype)
    }
}
