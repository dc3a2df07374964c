//! Conversions and bitcasts of types of 2 and 4 bits. Inside of programs each element is a byte: the value of an integer,
//! or the code of a float (see [`mlir_packed`] for parameters and results). So no plugin computes on packed elements.

use crate::emit::{Emitter, emit, mlir, mlir_packed};
use base::error::Result;
use base::types::{DType, Kind, Scalar, ScalarValue, TensorType, integer_limits};
use ir::{BinaryOp, NodeId, Op, Trace};
use native::Array;

/// Records integers of 8 bits clamped to the range of a narrower type.
pub(super) fn clamped(trace: &mut Trace, x: NodeId, dtype: DType) -> NodeId {
    let limits = integer_limits(dtype).expect("the type is an integer");
    let mut bound = |x: NodeId, op: BinaryOp, value: ScalarValue| {
        let (wide, shape) = (trace.node(x).dtype, trace.node(x).shape);
        let scalar = Scalar::new(wide, value).expect("the wide type has the limits of the narrow one");
        trace.operation_with_scalar(Op::BinaryScalar(op), wide, shape, &[x], scalar)
    };
    let below = bound(x, BinaryOp::Minimum, ScalarValue::Unsigned(limits.max));
    if limits.min < 0 { bound(below, BinaryOp::Maximum, ScalarValue::Signed(limits.min)) } else { below }
}

/// Records the elements of `x`, of a type of 2 or 4 bits, as those of another type of the same width with these bits.
pub(super) fn same_width(trace: &mut Trace, x: NodeId, dtype: DType) -> NodeId {
    let node = trace.node(x);
    if node.dtype == dtype {
        return x;
    }
    debug_assert_eq!(node.dtype.bit_width(), dtype.bit_width());
    let shape = node.shape;
    trace.operation(Op::BitcastConvert, dtype, shape, &[x])
}

/// Writes the StableHLO of a conversion between a type of 2 or 4 bits and its wide type, or of f64 to floats of 4 bits.
pub(super) fn lower_convert(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let x = value.operands[0];
    let (name, x, from) = (e.name_of(at), e.name(x), e.values[x].ty.clone());
    match (from.dtype, value.ty.dtype) {
        (DType::F4E2M1FN, _) => decode(e, &name, &x, &value.ty),
        (_, DType::F4E2M1FN) => encode(e, &name, &x, &from),
        (narrow, _) if narrow.is_subbyte() => e.rename(at, x),
        (_, dtype) => wrap(e, &name, &x, dtype, &value.ty),
    }
}

/// Writes bytes whose low bits are those of `x`, normalized.
fn wrap(e: &mut Emitter, name: &str, x: &str, dtype: DType, ty: &TensorType) {
    if dtype.wide() == DType::S8 {
        let (up, unused) = (e.temporary(), e.constant(ty, u128::from(8 - dtype.bit_width())));
        e.elementwise(&up, "shift_left", &[x, &unused], ty);
        e.elementwise(name, "shift_right_arithmetic", &[&up, &unused], ty);
    } else {
        let mask = e.constant(ty, u128::from(u8::MAX >> (8 - dtype.bit_width())));
        e.elementwise(name, "and", &[x, &mask], ty);
    }
}

/// Writes the f32 of codes of 4 bits. The exponent and the digit of a normal number are those of the f32, whose bias is
/// 126 larger.
fn decode(e: &mut Emitter, name: &str, codes: &str, floats: &TensorType) {
    let of = |dtype| TensorType { dtype, dims: floats.dims.clone() };
    let (bytes, words, preds) = (of(DType::U8), of(DType::U32), of(DType::Pred));
    let code = e.temporary();
    e.changing(&code, "convert", &[codes], &bytes, &words);
    let mut op = |op: &str, x: &str, by: u128| {
        let (made, by) = (e.temporary(), e.constant(&words, by));
        e.elementwise(&made, op, &[x, &by], &words);
        made
    };
    let size = op("and", &code, 7);
    let sign = op("and", &code, 8);
    let sign = op("shift_left", &sign, 28);
    let shifted = op("shift_left", &size, 22);
    let normal = op("add", &shifted, 126 << 23);
    // The codes below 2 are 0 and 0.5.
    let small = op("multiply", &size, 126 << 23);
    let (two, is_small, unsigned, bits) = (e.constant(&words, 2), e.temporary(), e.temporary(), e.temporary());
    let text = mlir(&words);
    emit!(e, "    {is_small} = stablehlo.compare LT, {size}, {two}, UNSIGNED : ({text}, {text}) -> {}", mlir(&preds));
    e.choose(&unsigned, &is_small, [&small, &normal], &words);
    e.elementwise(&bits, "or", &[&unsigned, &sign], &words);
    e.changing(name, "bitcast_convert", &[&bits], &words, floats);
}

/// The middles between the magnitudes of floats of 4 bits, and whether the middle itself is rounded up, to an even code.
const MIDDLES: [(f64, bool); 7] =
    [(0.25, false), (0.75, true), (1.25, false), (1.75, true), (2.5, false), (3.5, true), (5.0, false)];

/// Writes the codes of the floats of 4 bits next to f32 or f64: the number of middles that a magnitude is beyond, and
/// the sign. The code of NaN is -0.
fn encode(e: &mut Emitter, name: &str, x: &str, floats: &TensorType) {
    let of = |dtype| TensorType { dtype, dims: floats.dims.clone() };
    let (bytes, words, preds) = (of(DType::U8), of(floats.dtype.bits()), of(DType::Pred));
    let (text, pred_text) = (mlir(floats), mlir(&preds));
    let size = e.temporary();
    e.elementwise(&size, "abs", &[x], floats);
    let mut code = e.constant(&bytes, 0);
    for (middle, is_up) in MIDDLES {
        let bits = if floats.dtype == DType::F64 { middle.to_bits().into() } else { (middle as f32).to_bits().into() };
        let middle = e.constant(floats, bits);
        let (is_beyond, step, sum) = (e.temporary(), e.temporary(), e.temporary());
        let direction = if is_up { "GE" } else { "GT" };
        emit!(
            e,
            "    {is_beyond} = stablehlo.compare {direction}, {size}, {middle}, FLOAT : ({text}, {text}) -> {pred_text}"
        );
        e.changing(&step, "convert", &[&is_beyond], &preds, &bytes);
        e.elementwise(&sum, "add", &[&code, &step], &bytes);
        code = sum;
    }
    let (bits, high, sign) = (e.temporary(), e.temporary(), e.temporary());
    let last = e.constant(&words, u128::from(floats.dtype.bit_width() - 1));
    e.changing(&bits, "bitcast_convert", &[x], floats, &words);
    e.elementwise(&high, "shift_right_logical", &[&bits, &last], &words);
    e.changing(&sign, "convert", &[&high], &words, &bytes);
    let (place, eight, signed, is_nan) = (e.constant(&bytes, 3), e.constant(&bytes, 8), e.temporary(), e.temporary());
    let (shifted, signed_code) = (e.temporary(), signed);
    e.elementwise(&shifted, "shift_left", &[&sign, &place], &bytes);
    e.elementwise(&signed_code, "or", &[&code, &shifted], &bytes);
    emit!(e, "    {is_nan} = stablehlo.compare NE, {x}, {x}, FLOAT : ({text}, {text}) -> {pred_text}");
    e.choose(name, &is_nan, [&eight, &signed_code], &bytes);
}

/// Writes the StableHLO of a bitcast between types of one width of 2 or 4 bits.
pub(super) fn lower_bitcast(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let x = value.operands[0];
    let (name, x, from) = (e.name_of(at), e.name(x), e.values[x].ty.clone());
    let is_signed = |dtype: DType| dtype.wide() == DType::S8;
    match (is_signed(from.dtype), is_signed(value.ty.dtype)) {
        (same, other) if same == other => e.rename(at, x),
        _ => {
            let bytes = e.temporary();
            e.changing(&bytes, "convert", &[&x], &from, &value.ty);
            wrap(e, &name, &bytes, value.ty.dtype, &value.ty);
        }
    }
}

/// Evaluates a bitcast between types of one width of 2 or 4 bits.
pub(super) fn native_bitcast(x: &Array, ty: &TensorType) -> Result<Array> {
    Array::from_bytes(ty, x.bytes())
}

/// Writes the bytes of a packed parameter of a program. Does nothing for other types.
pub fn unpack(e: &mut Emitter, name: &str, packed: &str, ty: &TensorType) {
    let (from, to) = (mlir_packed(ty), mlir(ty));
    match ty.dtype.kind() {
        Kind::Subbyte if ty.dtype == DType::F4E2M1FN => {
            let (codes, narrow) = (e.temporary(), mlir_packed(&TensorType { dtype: DType::U4, dims: ty.dims.clone() }));
            emit!(e, "    {codes} = stablehlo.bitcast_convert {packed} : ({from}) -> {narrow}");
            emit!(e, "    {name} = stablehlo.convert {codes} : ({narrow}) -> {to}");
        }
        _ => emit!(e, "    {name} = stablehlo.convert {packed} : ({from}) -> {to}"),
    }
}

/// Writes a packed result of a program. Returns its name.
pub fn pack(e: &mut Emitter, bytes: &str, ty: &TensorType) -> String {
    let (from, to, name) = (mlir(ty), mlir_packed(ty), e.temporary());
    match ty.dtype {
        DType::F4E2M1FN => {
            let (codes, narrow) = (e.temporary(), mlir_packed(&TensorType { dtype: DType::U4, dims: ty.dims.clone() }));
            emit!(e, "    {codes} = stablehlo.convert {bytes} : ({from}) -> {narrow}");
            emit!(e, "    {name} = stablehlo.bitcast_convert {codes} : ({narrow}) -> {to}");
        }
        _ => emit!(e, "    {name} = stablehlo.convert {bytes} : ({from}) -> {to}"),
    }
    name
}
