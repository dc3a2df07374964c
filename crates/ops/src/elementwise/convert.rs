//! Conversion to another dtype.

use crate::elementwise::subbyte;
use crate::emit::{Emitter, emit, mlir};
use ir::{NodeId, Op, Trace};

use base::types::{DType, Kind, TensorType};

/// Records a conversion to another dtype. 8-bit floats are converted from f32, and to f32, where that is exact: XLA has no
/// conversions between some of the formats.
pub fn convert(trace: &mut Trace, x: NodeId, dtype: DType) -> NodeId {
    let from = trace.node(x).dtype;
    if from == dtype {
        return x;
    }
    if from.is_subbyte() {
        let wide = converted(trace, x, from.wide());
        return convert(trace, wide, dtype);
    }
    if dtype.is_subbyte() {
        return to_subbyte(trace, x, dtype);
    }
    let x = match on_the_way(from, dtype) {
        Some(wide) => convert(trace, x, wide),
        None => x,
    };
    converted(trace, x, dtype)
}

/// Records a conversion to a type of 2 or 4 bits, by way of its wide type. Integers wrap; floats are truncated to integers
/// and saturate; floats are rounded to the nearest float of 4 bits, ties to even.
fn to_subbyte(trace: &mut Trace, x: NodeId, dtype: DType) -> NodeId {
    let from = trace.node(x).dtype;
    if dtype == DType::F4E2M1FN {
        let x = match from {
            // The conversion itself rounds these once.
            DType::F32 | DType::F64 => x,
            DType::C128 => convert(trace, x, DType::F64),
            _ => convert(trace, x, DType::F32),
        };
        return converted(trace, x, dtype);
    }
    let wide = convert(trace, x, dtype.wide());
    let bytes = if from.real().is_float() { subbyte::clamped(trace, wide, dtype) } else { wide };
    converted(trace, bytes, dtype)
}

/// Records a conversion as it is.
fn converted(trace: &mut Trace, x: NodeId, dtype: DType) -> NodeId {
    let shape = trace.node(x).shape;
    trace.operation(Op::Convert, dtype, shape, &[x])
}

/// Dtype to which a number is converted before an 8-bit float, or after it.
fn on_the_way(from: DType, to: DType) -> Option<DType> {
    if !from.is_float8() && !to.is_float8() {
        return None;
    }
    match if from.is_float8() { to } else { from } {
        DType::F32 => None,
        DType::C128 if to.is_float8() => Some(DType::F64),
        // The conversion itself rounds these once.
        DType::F64 | DType::S32 | DType::U32 | DType::S64 | DType::U64 if to.is_float8() => None,
        _ => Some(DType::F32),
    }
}

/// Writes the StableHLO of a conversion. StableHLO converts complex numbers to complex dtypes only: for other dtypes
/// the real part is converted, and for pred the number is compared with 0.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let position = value.operands[0];
    let (x, from) = (e.name(position), e.values[position].ty.clone());
    if from.dtype.is_subbyte() || value.ty.dtype.is_subbyte() {
        return subbyte::lower_convert(e, at);
    }
    let (from_text, to_text) = (mlir(&from), mlir(&value.ty));
    if from.dtype.kind() != Kind::Complex || value.ty.dtype.kind() == Kind::Complex {
        e.convert_value(&name, position, value.ty.dtype);
    } else if value.ty.dtype == DType::Pred {
        let zero = e.constant(&from, 0);
        emit!(e, "    {name} = stablehlo.compare NE, {x}, {zero}, FLOAT : ({from_text}, {from_text}) -> {to_text}");
    } else {
        let real = e.temporary();
        let part = TensorType { dtype: from.dtype.real(), dims: from.dims.clone() };
        emit!(e, "    {real} = stablehlo.real {x} : ({from_text}) -> {}", mlir(&part));
        e.convert_into(&name, &real, &part, value.ty.dtype);
    }
}
