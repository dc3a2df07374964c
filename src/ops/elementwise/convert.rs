//! Conversion to another dtype.

use crate::emit::{Emitter, emit, mlir};
use crate::ir::{NodeId, Op, Trace};

use crate::types::{DType, Kind, TensorType};

/// Records a conversion to another dtype. 8-bit floats are converted from and to f32.
pub fn convert(trace: &mut Trace, x: NodeId, dtype: DType) -> NodeId {
    let from = trace.node(x).dtype;
    if from == dtype {
        return x;
    }
    let by_way_of_f32 = from != DType::F32 && dtype != DType::F32 && (from.is_float8() || dtype.is_float8());
    let x = if by_way_of_f32 { convert(trace, x, DType::F32) } else { x };
    let node = trace.node(x);
    let shape = node.shape;
    trace.operation(Op::Convert, dtype, shape, &[x])
}

/// Writes the StableHLO of a conversion. StableHLO converts complex numbers to complex dtypes only: for other dtypes
/// the real part is converted, and for pred the number is compared with 0.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let x = value.operands[0];
    let (x, from) = (e.name(x), e.values[x].ty.clone());
    let (from_text, to_text) = (mlir(&from), mlir(&value.ty));
    if from.dtype.kind() != Kind::Complex || value.ty.dtype.kind() == Kind::Complex {
        emit!(e, "    {name} = stablehlo.convert {x} : ({from_text}) -> {to_text}");
    } else if value.ty.dtype == DType::Pred {
        let zero = e.constant(&from, 0);
        emit!(e, "    {name} = stablehlo.compare NE, {x}, {zero}, FLOAT : ({from_text}, {from_text}) -> {to_text}");
    } else {
        let real = e.temporary();
        let part = TensorType { dtype: from.dtype.real(), dims: from.dims.clone() };
        emit!(e, "    {real} = stablehlo.real {x} : ({from_text}) -> {}", mlir(&part));
        emit!(e, "    {name} = stablehlo.convert {real} : ({}) -> {to_text}", mlir(&part));
    }
}
