//! Chapter Elementwise operations: arithmetic, functions, comparisons, conversions, complex numbers, bits.

use super::abi::arguments::{flag, optional_scalar, scalar};
use super::abi::guard::{guard, guard_into};
use super::abi::pointers::{In, Out};
use super::abi::types::{lxla_scalar, lxla_status, lxla_tensor};
use crate::device::{CallKey, Function, TensorHandle};
use crate::tensor::{record, record_in_place, record_known, record_known_in_place, record_optional};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue};
use ir::{CompareOp, NodeId, SpecialOp};
use ops::elementwise::{self, BinaryMember, Side, UnaryMember};

/// Records an elementwise operation, one of `LXLA_UNARY_*`. The result has x's shape and dtype, except that ABS of a
/// complex tensor is real, and IS_FINITE, IS_NAN, IS_INF and SIGNBIT return pred. docs/operations.md lists the dtypes
/// and the accuracy of each operation; INVALID_ARGUMENT for any other dtype.
///
/// FLOOR, CEIL, ROUND_* and TRUNC of integers, ABS of unsigned integers and CONJ of real numbers return x. Integers
/// and pred are finite, and neither NaN nor infinite. A complex number is finite if both parts are, NaN if either
/// part is, and infinite if either part is. SIGNBIT is true for negative numbers, -0, and NaN with its sign bit set.
/// TRUNC keeps the sign: -0.5 becomes -0. LOG2 of a power of 2 is exact. LOG2 and LOG10 of 0 are -infinity, of
/// negative numbers NaN.
///
/// The BESSEL functions are those of SciPy under the same letters (j0, y0, k0, k0e). Errors of BESSEL_J0, J1, Y0 and Y1
/// are small relative to sqrt(J^2 + Y^2); near their zeros, relative errors may be large.
///
/// AIRY_AI and AIRY_BI solve y'' = x y (DLMF 9), and fall and grow for large x; AI_PRIME and BI_PRIME are their
/// derivatives. Errors for negative x are small relative to the amplitude, |x|^(-1/4) / sqrt(pi), and
/// |x|^(1/4) / sqrt(pi) for derivatives, times |x|^1.5 / 1500 where that is more than 1. At -infinity, AI and BI are 0,
/// their derivatives NaN.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_unary(op: i32, x: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_unary", out_tensor.named("out_tensor"), || {
        let (key, op) = (CallKey::new(Function::Unary, op as u32), UnaryMember::from_number(op)?);
        record_known(key, [("x", x.into())], |trace, [x]| elementwise::unary_member(trace, op, x))
    })
}

/// Records an elementwise operation, one of `LXLA_BINARY_*`. Shapes broadcast as in NumPy. Dtypes promote as in the
/// Python array API standard (f16 with bf16 gives f32); INVALID_ARGUMENT for combinations that it leaves undefined.
/// DIVIDE of integers truncates; an integer divided by 0 has all bits set, and its REMAINDER is lhs. An integer raised
/// to a negative power is 0, except for 1 and -1. A complex 0 raised to a power whose real part is not positive is
/// NaN.
///
/// FLOOR_DIVIDE and MODULO are `//` and `%` of Python and NumPy. For integers, both return 0 if rhs is 0; the lowest
/// value divided by -1 is itself, with MODULO 0. For floats, FLOOR_DIVIDE by 0 returns the quotient (infinite or
/// NaN), and MODULO NaN; a finite number modulo an infinity of the opposite sign is that infinity. COPYSIGN also
/// copies the sign of -0 and NaN. HYPOT is infinite if either operand is infinite, even if the other is NaN.
/// LOGADDEXP of two -infinity is -infinity. COPYSIGN and HYPOT take floats, LOGADDEXP floats and complex numbers.
///
/// POLYGAMMA and ZETA take floats. POLYGAMMA is NaN unless the order lhs is an integer from 0 to 170, or to 34 in f32
/// and smaller dtypes. ZETA is infinite for lhs 1 and NaN below, and for a negative rhs NaN unless lhs is an integer.
/// At negative integers rhs, both are infinite if the pole has the same sign on both sides (odd orders, even lhs of
/// ZETA), else NaN; at 0 they are infinite, by the sign of the zero. Both have a derivative by rhs only.
///
/// IGAMMA and IGAMMAC, the regularized incomplete gamma functions P(a, x) and Q(a, x) for a = lhs and x = rhs, take
/// floats, as gammainc and gammaincc of SciPy: where x is 0 or a infinite, P is 0; where a is 0 or x infinite, it is 1;
/// for negative operands, and where both are 0 or both infinite, both functions are NaN. Both have derivatives by a and
/// by x, of any order by x; the derivative by a, IGAMMA_GRAD_A, has one by x only. The units of their errors in
/// docs/operations.md are units in the last place of at least x times the density, the derivative of P by x: relative
/// errors of smaller values may be larger.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_binary(
    op: i32,
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_binary", out_tensor.named("out_tensor"), || {
        let (key, op) = (CallKey::new(Function::Binary, op as u32), BinaryMember::from_number(op)?);
        record_known(key, [("lhs", lhs.into()), ("rhs", rhs.into())], |trace, [lhs, rhs]| {
            elementwise::binary_member(trace, op, lhs, rhs)
        })
    })
}

/// Replaces the value of `dst` by dst (op) rhs. INVALID_ARGUMENT if the result does not have dst's dtype and shape.
/// Snapshots of dst, and operations recorded with it before, keep the old value.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_binary_inplace(op: i32, dst: lxla_tensor, rhs: lxla_tensor) -> lxla_status {
    guard("lxla_binary_inplace", || {
        let (key, op) = (CallKey::new(Function::BinaryInPlace, op as u32), BinaryMember::from_number(op)?);
        let operands = [("dst", dst.into()), ("rhs", rhs.into())];
        record_known_in_place(key, operands, |trace, [dst, rhs]| {
            elementwise::binary_member_in_place(trace, op, dst, rhs)
        })
    })
}

/// Records lhs (op) rhs with a scalar rhs.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_binary_scalar(op: i32, lhs: lxla_tensor, rhs: f64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_binary_scalar", out_tensor.named("out_tensor"), || {
        let (op, rhs) = (BinaryMember::from_number(op)?, ScalarValue::Float(rhs));
        record([("lhs", lhs.into())], |trace, [lhs]| elementwise::binary_member_scalar(trace, op, lhs, rhs, false))
    })
}

/// Replaces the value of `dst` by dst (op) rhs, with a scalar rhs.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_binary_scalar_inplace(op: i32, dst: lxla_tensor, rhs: f64) -> lxla_status {
    guard("lxla_binary_scalar_inplace", || {
        let (op, rhs) = (BinaryMember::from_number(op)?, ScalarValue::Float(rhs));
        record_in_place([("dst", dst.into())], |trace, [dst]| {
            elementwise::binary_member_scalar(trace, op, dst, rhs, false)
        })
    })
}

/// Records lhs (op) rhs, or with `scalar_on_left` 1 rhs (op) lhs, for scalars that a double cannot represent.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_binary_with_scalar(
    op: i32,
    lhs: lxla_tensor,
    rhs: In<lxla_scalar>,
    scalar_on_left: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_binary_with_scalar", out_tensor.named("out_tensor"), || {
        let (_, rhs) = scalar("rhs", rhs)?;
        let (op, on_left) = (BinaryMember::from_number(op)?, flag("scalar_on_left", scalar_on_left)?);
        record([("lhs", lhs.into())], |trace, [lhs]| elementwise::binary_member_scalar(trace, op, lhs, rhs, on_left))
    })
}

/// Records lhs (op) rhs, or with `scalar_on_left` 1 rhs (op) lhs, for a scalar whose value changes from step to step,
/// such as a number that was read: programs take it as a parameter from their first compilation on, as
/// `lxla_tensor_varying_scalar`. Otherwise records the operation of `lxla_binary_with_scalar`. In a traced computation,
/// the value is a constant.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_binary_with_varying_scalar(
    op: i32,
    lhs: lxla_tensor,
    rhs: In<lxla_scalar>,
    scalar_on_left: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_binary_with_varying_scalar", out_tensor.named("out_tensor"), || {
        let (_, rhs) = scalar("rhs", rhs)?;
        let (op, on_left) = (BinaryMember::from_number(op)?, flag("scalar_on_left", scalar_on_left)?);
        record([("lhs", lhs.into())], |trace, [lhs]| elementwise::binary_member_varying(trace, op, lhs, rhs, on_left))
    })
}

/// Replaces the value of `dst` by dst (op) rhs, or with `scalar_on_left` 1 by rhs (op) dst.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_binary_with_scalar_inplace(
    op: i32,
    dst: lxla_tensor,
    rhs: In<lxla_scalar>,
    scalar_on_left: i32,
) -> lxla_status {
    guard("lxla_binary_with_scalar_inplace", || {
        let (_, rhs) = scalar("rhs", rhs)?;
        let (op, on_left) = (BinaryMember::from_number(op)?, flag("scalar_on_left", scalar_on_left)?);
        record_in_place([("dst", dst.into())], |trace, [dst]| {
            elementwise::binary_member_scalar(trace, op, dst, rhs, on_left)
        })
    })
}

/// Records an elementwise comparison, one of `LXLA_COMPARE_*`, and returns pred. Broadcasts and promotes as
/// `lxla_binary`. Complex numbers can be compared by EQ and NE only.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_compare(
    op: i32,
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_compare", out_tensor.named("out_tensor"), || {
        let (key, op) = (CallKey::new(Function::Compare, op as u32), CompareOp::from_number(op)?);
        record_known(key, [("lhs", lhs.into()), ("rhs", rhs.into())], |trace, [lhs, rhs]| {
            elementwise::compare(trace, op, lhs, rhs)
        })
    })
}

/// Records an elementwise comparison in the total order of IEEE 754, one of `LXLA_COMPARE_*`, and returns pred.
/// Ascending: negative NaN, negative numbers, -0, +0, positive numbers, positive NaN; NaN are ordered by their bits.
/// Broadcasts and promotes as `lxla_binary`. pred and integers are compared as by `lxla_compare`; INVALID_ARGUMENT for
/// complex numbers.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_compare_total_order(
    op: i32,
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_compare_total_order", out_tensor.named("out_tensor"), || {
        let op = CompareOp::from_number(op)?;
        record([("lhs", lhs.into()), ("rhs", rhs.into())], |trace, [lhs, rhs]| {
            elementwise::compare_total_order(trace, op, lhs, rhs)
        })
    })
}

/// Records the comparison lhs (op) rhs with a scalar rhs.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_compare_scalar(
    op: i32,
    lhs: lxla_tensor,
    rhs: f64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_compare_scalar", out_tensor.named("out_tensor"), || {
        let (op, rhs) = (CompareOp::from_number(op)?, ScalarValue::Float(rhs));
        record([("lhs", lhs.into())], |trace, [lhs]| elementwise::compare_scalar(trace, op, lhs, rhs, false))
    })
}

/// Records the comparison lhs (op) rhs, or with `scalar_on_left` 1 rhs (op) lhs, for scalars that a double cannot
/// represent.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_compare_with_scalar(
    op: i32,
    lhs: lxla_tensor,
    rhs: In<lxla_scalar>,
    scalar_on_left: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_compare_with_scalar", out_tensor.named("out_tensor"), || {
        let (_, rhs) = scalar("rhs", rhs)?;
        let (op, on_left) = (CompareOp::from_number(op)?, flag("scalar_on_left", scalar_on_left)?);
        record([("lhs", lhs.into())], |trace, [lhs]| elementwise::compare_scalar(trace, op, lhs, rhs, on_left))
    })
}

/// Records pred ? on_true : on_false, elementwise. `pred` has dtype pred (INVALID_ARGUMENT otherwise). All three
/// broadcast as in NumPy; on_true and on_false promote as the operands of `lxla_binary`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_select(
    pred: lxla_tensor,
    on_true: lxla_tensor,
    on_false: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_select", out_tensor.named("out_tensor"), || {
        let operands = [("pred", pred.into()), ("on_true", on_true.into()), ("on_false", on_false.into())];
        let key = CallKey::new(Function::Select, 0);
        record_known(key, operands, |trace, [pred, on_true, on_false]| {
            elementwise::select(trace, pred, on_true, on_false)
        })
    })
}

/// As `lxla_select`, where each side is a tensor (with its scalar NULL) or a scalar (with its tensor 0). A scalar
/// next to a tensor takes the tensor's dtype; two scalars take their promoted dtype.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_select_with_scalars(
    pred: lxla_tensor,
    on_true: lxla_tensor,
    true_scalar: In<lxla_scalar>,
    on_false: lxla_tensor,
    false_scalar: In<lxla_scalar>,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_select_with_scalars", out_tensor.named("out_tensor"), || {
        let on_true = choice(["on_true", "true_scalar"], on_true, true_scalar)?;
        let on_false = choice(["on_false", "false_scalar"], on_false, false_scalar)?;
        let tensors = [("on_true", on_true.tensor()), ("on_false", on_false.tensor())];
        record_optional([("pred", pred.into())], tensors, |trace, [pred], nodes| {
            elementwise::select_sides(trace, pred, [on_true.side(nodes[0]), on_false.side(nodes[1])])
        })
    })
}

/// Records min(max(x, `min`), `max`), as `clip` of NumPy. All three broadcast and promote. If min > max, the result
/// is max. NaN in any of them gives NaN. INVALID_ARGUMENT for complex numbers.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_clamp(
    min: lxla_tensor,
    x: lxla_tensor,
    max: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_clamp", out_tensor.named("out_tensor"), || {
        let operands = [("min", min.into()), ("x", x.into()), ("max", max.into())];
        record(operands, |trace, [min, x, max]| elementwise::clamp(trace, min, x, max))
    })
}

/// As `lxla_clamp`, with scalar bounds, which take x's dtype. A NULL bound is absent, as None in `clip` of NumPy.
/// Takes pred, integers and floats.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_clamp_with_scalars(
    x: lxla_tensor,
    min: In<lxla_scalar>,
    max: In<lxla_scalar>,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_clamp_with_scalars", out_tensor.named("out_tensor"), || {
        let (min, max) = (optional_scalar("min", min)?, optional_scalar("max", max)?);
        record([("x", x.into())], |trace, [x]| elementwise::clamp_scalars(trace, min, x, max))
    })
}

/// Records a conversion to another dtype. To pred: true if x is not 0; for complex numbers, if either part is not 0
/// (StableHLO tests the real part only). From floats to integers: rounds toward 0; values out of range give results
/// that depend on the plugin. From complex to real: the real part.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_convert(x: lxla_tensor, dtype: i32, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_convert", out_tensor.named("out_tensor"), || {
        let dtype = DType::from_number(dtype)?;
        record([("x", x.into())], |trace, [x]| Ok(elementwise::convert(trace, x, dtype)))
    })
}

/// Records a special function of floats, one of `LXLA_SPECIAL_*`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_special(op: i32, x: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_special", out_tensor.named("out_tensor"), || {
        let op = SpecialOp::from_number(op)?;
        record([("x", x.into())], |trace, [x]| elementwise::special(trace, op, x))
    })
}

/// Records complex numbers with the given real and imaginary parts, which broadcast and promote: c64 from f32, c128
/// from f64.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_complex(real: lxla_tensor, imag: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_complex", out_tensor.named("out_tensor"), || {
        let parts = [("real", real.into()), ("imag", imag.into())];
        record(parts, |trace, [real, imag]| elementwise::complex(trace, real, imag))
    })
}

/// Records the real part: f32 for c64, f64 for c128. For any other dtype, x itself.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_real(x: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_real", out_tensor.named("out_tensor"), || {
        record([("x", x.into())], |trace, [x]| elementwise::real(trace, x))
    })
}

/// Records the imaginary part: f32 for c64, f64 for c128. For any other dtype, zeros of x's dtype and shape.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_imag(x: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_imag", out_tensor.named("out_tensor"), || {
        record([("x", x.into())], |trace, [x]| elementwise::imag(trace, x))
    })
}

/// Records the bits of x as elements of another dtype. A narrower dtype adds a last axis with the parts of each
/// element, low bits first. A wider dtype removes x's last axis, whose elements make up one element of the result.
/// A complex number is a pair of its real and imaginary part. For integers, floats and complex numbers;
/// INVALID_ARGUMENT for pred, unless the dtype is x's own.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_bitcast_convert(x: lxla_tensor, dtype: i32, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_bitcast_convert", out_tensor.named("out_tensor"), || {
        let dtype = DType::from_number(dtype)?;
        record([("x", x.into())], |trace, [x]| elementwise::bitcast(trace, x, dtype))
    })
}

/// Records x (floats) rounded to a format with `exponent_bits` (at least 1) and `mantissa_bits` (at least 0, without
/// the leading 1); dtype and shape stay. Ties go to even; without mantissa bits, to the value whose exponent is even
/// as encoded in the dtype. Overflow gives infinity; NaN stays NaN. With fewer exponent bits than the dtype has,
/// values that are subnormal in the format become 0 with their sign. Bit counts at least those of the dtype have no
/// effect.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_reduce_precision(
    x: lxla_tensor,
    exponent_bits: i32,
    mantissa_bits: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_reduce_precision", out_tensor.named("out_tensor"), || {
        let (exponent_bits, mantissa_bits) = (i64::from(exponent_bits), i64::from(mantissa_bits));
        record([("x", x.into())], |trace, [x]| elementwise::reduce_precision(trace, x, exponent_bits, mantissa_bits))
    })
}

/// Operand of a selection: a tensor or a scalar.
#[derive(Clone, Copy)]
enum Choice {
    Tensor(TensorHandle),
    Scalar(DType, ScalarValue),
}

impl Choice {
    fn tensor(self) -> Option<TensorHandle> {
        match self {
            Choice::Tensor(handle) => Some(handle),
            Choice::Scalar(..) => None,
        }
    }

    /// Returns the operand with the node of its tensor.
    fn side(self, node: Option<NodeId>) -> Side {
        match self {
            Choice::Tensor(_) => Side::Tensor(node.expect("a node for each tensor")),
            Choice::Scalar(dtype, value) => Side::Scalar(dtype, value),
        }
    }
}

/// Returns the operand given: a tensor or a scalar.
fn choice([name, of_scalar]: [&str; 2], tensor: lxla_tensor, given: In<lxla_scalar>) -> Result<Choice> {
    if given.is_null() {
        return Ok(Choice::Tensor(tensor.into()));
    }
    if tensor.id != 0 {
        return Err(error!(
            InvalidArgument,
            "{name}, {of_scalar}: a tensor and a scalar given; want one of them, and the other 0 or NULL"
        ));
    }
    let (dtype, value) = scalar(of_scalar, given)?;
    Ok(Choice::Scalar(dtype, value))
}
