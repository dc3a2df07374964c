//! StableHLO text of a program (the specification is at openxla.org/stablehlo/spec). Value number `i` of the program is
//! `%v<i>`; what is added between values is `%t<i>`.

use super::aliasing::{Donation, pair};
use crate::engine::Signature;
use crate::ir::{BinaryOp, CompareOp, Instruction, Op, Program, ReduceOp, reduction_dtype};
use crate::types::{DType, Kind, Scalar, TensorType};
use std::fmt::Write;

/// What an engine is given, and what each run has to hand over besides the program's parameters.
pub struct Module {
    /// The module.
    pub text: String,
    /// Its `main`: the program's parameters in order, then one vector for each pack.
    pub signature: Signature,
    /// Scalars that are parameters, gathered into one vector for each dtype: many scalar parameters would make XLA slow.
    pub packs: Vec<Pack>,
}

/// The scalars of one dtype that are parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    /// Their dtype.
    pub dtype: DType,
    /// Which holes, in the order of the vector.
    pub holes: Vec<usize>,
}

/// Lowers `program` with `scalars` in its holes, except those that are `varying`, which become parameters. `donors` are
/// indices of parameters, ascending.
pub fn lower(program: &Program, scalars: &[Scalar], varying: &[bool], donors: &[usize]) -> Module {
    let (values, outputs) = program.decode();
    let parameters: Vec<usize> = (0..values.len()).filter(|&i| values[i].op == Op::Leaf).collect();
    let packs = gather(scalars, varying);
    let mut emitter = Emitter {
        values: &values,
        scalars,
        packs: &packs,
        text: String::with_capacity(values.len() * 80),
        temporaries: 0,
        holes: 0,
    };
    emitter.head(&parameters, &outputs, donors);
    for position in 0..values.len() {
        emitter.value(position);
    }
    emitter.tail(&outputs);
    let text = emitter.text;

    let mut types: Vec<TensorType> = parameters.iter().map(|&i| values[i].ty.clone()).collect();
    types.extend(packs.iter().map(Pack::ty));
    let signature = Signature {
        parameters: types,
        outputs: outputs.iter().map(|&i| values[i].ty.clone()).collect(),
        donors: donors.to_vec(),
    };
    Module { text, signature, packs }
}

impl Pack {
    /// The vector's type.
    pub fn ty(&self) -> TensorType {
        TensorType::new(self.dtype, &[self.holes.len() as i64])
    }

    /// The vector's bytes for a run with these scalars.
    pub fn bytes(&self, scalars: &[Scalar]) -> Vec<u8> {
        let size = self.dtype.size_bytes();
        self.holes.iter().flat_map(|&hole| scalars[hole].bits().to_le_bytes().into_iter().take(size)).collect()
    }
}

fn gather(scalars: &[Scalar], varying: &[bool]) -> Vec<Pack> {
    let mut packs: Vec<Pack> = Vec::new();
    for hole in (0..scalars.len()).filter(|&i| varying[i]) {
        let dtype = scalars[hole].dtype();
        match packs.iter_mut().find(|pack| pack.dtype == dtype) {
            Some(pack) => pack.holes.push(hole),
            None => packs.push(Pack { dtype, holes: vec![hole] }),
        }
    }
    packs
}

struct Emitter<'a> {
    values: &'a [Instruction],
    scalars: &'a [Scalar],
    packs: &'a [Pack],
    text: String,
    temporaries: usize,
    holes: usize,
}

/// Writing to a string cannot fail.
macro_rules! emit {
    ($emitter:expr, $($message:tt)*) => {
        let _ = writeln!($emitter.text, $($message)*);
    };
}

impl Emitter<'_> {
    fn head(&mut self, parameters: &[usize], outputs: &[usize], donors: &[usize]) {
        let positions: Vec<usize> = donors.iter().map(|&i| parameters[i]).collect();
        let donations = pair(self.values, outputs, &positions);
        let mut arguments: Vec<String> = parameters
            .iter()
            .map(|&position| {
                let attribute = match positions.binary_search(&position).map(|i| donations[i]) {
                    Ok(Donation::Output(i)) => format!(" {{tf.aliasing_output = {i} : i32}}"),
                    Ok(Donation::Any) => " {jax.buffer_donor = true}".to_string(),
                    Err(_) => String::new(),
                };
                format!("%v{position}: {}{attribute}", mlir(&self.values[position].ty))
            })
            .collect();
        arguments.extend(self.packs.iter().enumerate().map(|(i, pack)| format!("%pack{i}: {}", mlir(&pack.ty()))));
        let results: Vec<String> = outputs.iter().map(|&i| mlir(&self.values[i].ty)).collect();
        emit!(self, "module @lazyxla attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}} {{");
        emit!(self, "  func.func public @main({}) -> ({}) {{", arguments.join(", "), results.join(", "));
    }

    fn tail(&mut self, outputs: &[usize]) {
        let names: Vec<String> = outputs.iter().map(|i| format!("%v{i}")).collect();
        let types: Vec<String> = outputs.iter().map(|&i| mlir(&self.values[i].ty)).collect();
        let colon = if outputs.is_empty() { "" } else { " : " };
        emit!(self, "    return {}{colon}{}", names.join(", "), types.join(", "));
        emit!(self, "  }}\n}}");
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("%t{}", self.temporaries - 1)
    }

    fn value(&mut self, position: usize) {
        let value = &self.values[position];
        let name = format!("%v{position}");
        let ty = mlir(&value.ty);
        match value.op {
            Op::Leaf => {}
            Op::Full => self.scalar(&name, &value.ty),
            Op::Iota => {
                emit!(self, "    {name} = stablehlo.iota dim = {} : {ty}", value.attributes[0]);
            }
            Op::Unary(op) => {
                let x = value.operands[0];
                let from = mlir(&self.values[x].ty);
                emit!(self, "    {name} = stablehlo.{} %v{x} : ({from}) -> {ty}", op.name());
            }
            Op::Binary(op) => {
                let lhs = self.cast(value.operands[0], &value.ty);
                let rhs = self.cast(value.operands[1], &value.ty);
                self.binary(&name, op, &lhs, &rhs, &value.ty);
            }
            Op::BinaryScalar(op) | Op::ScalarBinary(op) => {
                let scalar = self.temporary();
                self.scalar(&scalar, &value.ty);
                let x = format!("%v{}", value.operands[0]);
                let left = matches!(value.op, Op::ScalarBinary(_));
                let (lhs, rhs) = if left { (&scalar, &x) } else { (&x, &scalar) };
                self.binary(&name, op, lhs, rhs, &value.ty);
            }
            Op::Compare(op) => self.compare(&name, op, value),
            Op::Select => self.select(&name, value),
            Op::Convert => self.convert(&name, value),
            Op::Reshape => {
                let x = value.operands[0];
                emit!(self, "    {name} = stablehlo.reshape %v{x} : ({}) -> {ty}", mlir(&self.values[x].ty));
            }
            Op::BroadcastTo => {
                let x = value.operands[0];
                let from = self.values[x].ty.clone();
                self.broadcast(&name, &format!("%v{x}"), &from, &value.ty);
            }
            Op::Transpose => {
                let x = value.operands[0];
                let from = mlir(&self.values[x].ty);
                emit!(self, "    {name} = stablehlo.transpose %v{x}, dims = {:?} : ({from}) -> {ty}", value.attributes);
            }
            Op::Reduce(op) => self.reduce(&name, op, value),
            Op::Matmul => self.matmul(&name, value),
            Op::Slice => self.slice(&name, value),
            Op::Concatenate => self.concatenate(&name, value),
        }
    }

    fn binary(&mut self, name: &str, op: BinaryOp, lhs: &str, rhs: &str, ty: &TensorType) {
        emit!(self, "    {name} = stablehlo.{} {lhs}, {rhs} : {}", op.name(), mlir(ty));
    }

    /// StableHLO converts complex numbers to complex numbers only: what is left is their real part, or whether it is not 0.
    fn convert(&mut self, name: &str, value: &Instruction) {
        let x = value.operands[0];
        let from = self.values[x].ty.clone();
        let (from_text, to_text) = (mlir(&from), mlir(&value.ty));
        if from.dtype.kind() != Kind::Complex || value.ty.dtype.kind() == Kind::Complex {
            emit!(self, "    {name} = stablehlo.convert %v{x} : ({from_text}) -> {to_text}");
        } else if value.ty.dtype == DType::Pred {
            let zero = self.temporary();
            let element = TensorType::new(from.dtype, &[]);
            let none = self.temporary();
            emit!(self, "    {none} = stablehlo.constant dense<{}> : {}", literal(from.dtype, 0), mlir(&element));
            self.broadcast(&zero, &none, &element, &from);
            emit!(
                self,
                "    {name} = stablehlo.compare NE, %v{x}, {zero}, FLOAT : ({from_text}, {from_text}) -> {to_text}"
            );
        } else {
            let real = self.temporary();
            let part = TensorType { dtype: from.dtype.real(), dims: from.dims.clone() };
            emit!(self, "    {real} = stablehlo.real %v{x} : ({from_text}) -> {}", mlir(&part));
            emit!(self, "    {name} = stablehlo.convert {real} : ({}) -> {to_text}", mlir(&part));
        }
    }

    fn compare(&mut self, name: &str, op: CompareOp, value: &Instruction) {
        let (l, r) = (value.operands[0], value.operands[1]);
        let common = TensorType { dtype: self.promoted(&[l, r]), dims: value.ty.dims.clone() };
        let lhs = self.cast(l, &common);
        let rhs = self.cast(r, &common);
        let kind = match common.dtype.kind() {
            Kind::Signed => "SIGNED",
            Kind::Unsigned | Kind::Pred => "UNSIGNED",
            Kind::Float | Kind::Complex => "FLOAT",
        };
        let from = mlir(&common);
        let ty = mlir(&value.ty);
        emit!(self, "    {name} = stablehlo.compare {}, {lhs}, {rhs}, {kind} : ({from}, {from}) -> {ty}", op.name());
    }

    fn select(&mut self, name: &str, value: &Instruction) {
        let pred_ty = TensorType { dtype: DType::Pred, dims: value.ty.dims.clone() };
        let pred = self.cast(value.operands[0], &pred_ty);
        let on_true = self.cast(value.operands[1], &value.ty);
        let on_false = self.cast(value.operands[2], &value.ty);
        let ty = mlir(&value.ty);
        emit!(self, "    {name} = stablehlo.select {pred}, {on_true}, {on_false} : {}, {ty}", mlir(&pred_ty));
    }

    /// Accumulates in [`reduction_dtype`]; the axes that are kept come back by a reshape.
    fn reduce(&mut self, name: &str, op: ReduceOp, value: &Instruction) {
        let x = value.operands[0];
        let dtype = reduction_dtype(op, value.ty.dtype);
        let from = TensorType { dtype, dims: self.values[x].ty.dims.clone() };
        let kept = |axis: &usize| !value.attributes.contains(&(*axis as i64));
        let dims = (0..from.dims.len()).filter(kept).map(|axis| from.dims[axis]).collect();
        let reduced = TensorType { dtype, dims };
        let operand = self.cast(x, &from);
        let init = self.temporary();
        let element = TensorType::new(dtype, &[]);
        let bits = identity(op, dtype);
        emit!(self, "    {init} = stablehlo.constant dense<{}> : {}", literal(dtype, bits), mlir(&element));
        let total = self.temporary();
        emit!(
            self,
            "    {total} = stablehlo.reduce({operand} init: {init}) applies stablehlo.{} across dimensions = {:?} : ({}, {}) -> {}",
            op.name(),
            value.attributes,
            mlir(&from),
            mlir(&element),
            mlir(&reduced)
        );
        let shaped = self.temporary();
        let wide = TensorType { dtype, dims: value.ty.dims.clone() };
        emit!(self, "    {shaped} = stablehlo.reshape {total} : ({}) -> {}", mlir(&reduced), mlir(&wide));
        emit!(self, "    {name} = stablehlo.convert {shaped} : ({}) -> {}", mlir(&wide), mlir(&value.ty));
    }

    /// A dot product over the last axis of the left and the last but one of the right; batch axes are broadcast first,
    /// unless the right operand has none, which then meets all rows of the left at once.
    fn matmul(&mut self, name: &str, value: &Instruction) {
        let (l, r) = (value.operands[0], value.operands[1]);
        let dtype = value.ty.dtype;
        let (l_dims, r_dims) = (self.values[l].ty.dims.clone(), self.values[r].ty.dims.clone());
        let batch = if l_dims.len() >= 2 && r_dims.len() > 2 { value.ty.dims.len() - 2 } else { 0 };
        let with_batch = |dims: &[i64]| {
            if batch == 0 {
                TensorType::new(dtype, dims)
            } else {
                TensorType::new(dtype, &[&value.ty.dims[..batch], &dims[dims.len() - 2..]].concat())
            }
        };
        let (l_ty, r_ty) = (with_batch(&l_dims), with_batch(&r_dims));
        let lhs = self.cast(l, &l_ty);
        let rhs = self.cast(r, &r_ty);
        let axes: Vec<usize> = (0..batch).collect();
        let contracted = (l_ty.dims.len() - 1, r_ty.dims.len().saturating_sub(2));
        emit!(
            self,
            "    {name} = stablehlo.dot_general {lhs}, {rhs}, batching_dims = {axes:?} x {axes:?}, contracting_dims = [{}] x [{}], precision = [HIGHEST, HIGHEST] : ({}, {}) -> {}",
            contracted.0,
            contracted.1,
            mlir(&l_ty),
            mlir(&r_ty),
            mlir(&value.ty)
        );
    }

    fn slice(&mut self, name: &str, value: &Instruction) {
        let x = value.operands[0];
        let rank = value.ty.dims.len();
        let at = |part: usize, axis: usize| value.attributes[part * rank + axis];
        let ranges: Vec<String> =
            (0..rank).map(|axis| format!("{}:{}:{}", at(0, axis), at(1, axis), at(2, axis))).collect();
        let from = mlir(&self.values[x].ty);
        emit!(self, "    {name} = stablehlo.slice %v{x} [{}] : ({from}) -> {}", ranges.join(", "), mlir(&value.ty));
    }

    fn concatenate(&mut self, name: &str, value: &Instruction) {
        let mut names = Vec::new();
        let mut types = Vec::new();
        for &operand in &value.operands {
            let ty = TensorType { dtype: value.ty.dtype, dims: self.values[operand].ty.dims.clone() };
            names.push(self.cast(operand, &ty));
            types.push(mlir(&ty));
        }
        emit!(
            self,
            "    {name} = stablehlo.concatenate {}, dim = {} : ({}) -> {}",
            names.join(", "),
            value.attributes[0],
            types.join(", "),
            mlir(&value.ty)
        );
    }

    fn promoted(&self, operands: &[usize]) -> DType {
        let dtypes = operands.iter().map(|&i| self.values[i].ty.dtype);
        dtypes.reduce(|a, b| a.promote(b).expect("inference promoted them")).expect("at least one operand")
    }

    /// The value at `position`, converted and broadcast to `ty`.
    fn cast(&mut self, position: usize, ty: &TensorType) -> String {
        let mut name = format!("%v{position}");
        let mut from = self.values[position].ty.clone();
        if from.dtype != ty.dtype {
            let to = TensorType { dtype: ty.dtype, dims: from.dims.clone() };
            let converted = self.temporary();
            emit!(self, "    {converted} = stablehlo.convert {name} : ({}) -> {}", mlir(&from), mlir(&to));
            (name, from) = (converted, to);
        }
        if from.dims != ty.dims {
            let wide = self.temporary();
            self.broadcast(&wide, &name, &from, ty);
            name = wide;
        }
        name
    }

    /// NumPy's broadcasting: axes are aligned at the end.
    fn broadcast(&mut self, name: &str, operand: &str, from: &TensorType, to: &TensorType) {
        let axes: Vec<usize> = (to.dims.len() - from.dims.len()..to.dims.len()).collect();
        emit!(
            self,
            "    {name} = stablehlo.broadcast_in_dim {operand}, dims = {axes:?} : ({}) -> {}",
            mlir(from),
            mlir(to)
        );
    }

    /// The next hole, in every element of `ty`: a constant, or an element of a pack.
    fn scalar(&mut self, name: &str, ty: &TensorType) {
        let hole = self.holes;
        self.holes += 1;
        let element = TensorType::new(ty.dtype, &[]);
        let single = self.temporary();
        let place = self.packs.iter().enumerate().find_map(|(i, pack)| {
            let at = pack.holes.binary_search(&hole).ok()?;
            Some((i, at, pack.ty()))
        });
        match place {
            None => {
                let bits = self.scalars[hole].bits();
                emit!(
                    self,
                    "    {single} = stablehlo.constant dense<{}> : {}",
                    literal(ty.dtype, bits),
                    mlir(&element)
                );
            }
            Some((pack, at, pack_ty)) => {
                let cell = self.temporary();
                let cell_ty = TensorType::new(ty.dtype, &[1]);
                let (from, to) = (mlir(&pack_ty), mlir(&cell_ty));
                emit!(self, "    {cell} = stablehlo.slice %pack{pack} [{at}:{}] : ({from}) -> {to}", at + 1);
                emit!(self, "    {single} = stablehlo.reshape {cell} : ({to}) -> {}", mlir(&element));
            }
        }
        self.broadcast(name, &single, &element, ty);
    }
}

/// The value that a reduction starts from.
fn identity(op: ReduceOp, dtype: DType) -> u128 {
    let one = || Scalar::new(dtype, crate::types::ScalarValue::Signed(1)).expect("every dtype has a one").bits();
    let bits = 8 * dtype.size_bytes() as u32;
    let (signed, float) = (dtype.kind() == Kind::Signed, dtype.kind() == Kind::Float);
    let infinity = |value: f64| {
        Scalar::new(dtype, crate::types::ScalarValue::Float(value)).expect("every float dtype has infinities").bits()
    };
    match op {
        // Not -0.0, although that is addition's identity: an empty sum is 0.
        ReduceOp::Sum | ReduceOp::Any => 0,
        ReduceOp::Product | ReduceOp::All => one(),
        ReduceOp::Max if float => infinity(f64::NEG_INFINITY),
        ReduceOp::Max if signed => 1 << (bits - 1),
        ReduceOp::Max => 0,
        ReduceOp::Min if float => infinity(f64::INFINITY),
        ReduceOp::Min if signed => (1 << (bits - 1)) - 1,
        ReduceOp::Min => u128::MAX >> (128 - bits),
    }
}

/// An element as MLIR reads it: floats by their bits, so that nothing is lost on the way.
fn literal(dtype: DType, bits: u128) -> String {
    let digits = 2 * dtype.size_bytes();
    match dtype.kind() {
        Kind::Pred => if bits == 0 { "false" } else { "true" }.to_string(),
        Kind::Unsigned => bits.to_string(),
        Kind::Signed => {
            let unused = 128 - 8 * dtype.size_bytes() as u32;
            (((bits << unused) as i128) >> unused).to_string()
        }
        Kind::Float => format!("0x{bits:0digits$X}"),
        Kind::Complex => {
            let half = 4 * dtype.size_bytes() as u32;
            let part = |bits: u128| literal(dtype.real(), bits);
            format!("({}, {})", part(bits & (u128::MAX >> (128 - half))), part(bits >> half))
        }
    }
}

/// A tensor type in MLIR: `tensor<2x3xf32>`.
fn mlir(ty: &TensorType) -> String {
    let mut out = String::from("tensor<");
    for dim in &ty.dims {
        let _ = write!(out, "{dim}x");
    }
    out.push_str(match ty.dtype {
        DType::Pred => "i1",
        DType::S8 => "i8",
        DType::S16 => "i16",
        DType::S32 => "i32",
        DType::S64 => "i64",
        DType::U8 => "ui8",
        DType::U16 => "ui16",
        DType::U32 => "ui32",
        DType::U64 => "ui64",
        DType::F16 => "f16",
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::BF16 => "bf16",
        DType::C64 => "complex<f32>",
        DType::C128 => "complex<f64>",
    });
    out.push('>');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_keep_every_bit() {
        assert_eq!(literal(DType::F32, 0x8000_0000), "0x80000000");
        assert_eq!(literal(DType::BF16, 0x3F80), "0x3F80");
        assert_eq!(literal(DType::S8, 0x80), "-128");
        assert_eq!(literal(DType::S64, 1 << 63), i64::MIN.to_string());
        assert_eq!(literal(DType::U64, u128::from(u64::MAX)), u64::MAX.to_string());
        assert_eq!(literal(DType::C64, 0xBF80_0000_3F80_0000), "(0x3F800000, 0xBF800000)");
        assert_eq!(literal(DType::Pred, 1), "true");
    }

    #[test]
    fn reductions_start_from_their_identity() {
        assert_eq!(literal(DType::S8, identity(ReduceOp::Max, DType::S8)), "-128");
        assert_eq!(literal(DType::S16, identity(ReduceOp::Min, DType::S16)), "32767");
        assert_eq!(literal(DType::U8, identity(ReduceOp::Min, DType::U8)), "255");
        assert_eq!(literal(DType::F32, identity(ReduceOp::Max, DType::F32)), "0xFF800000");
        assert_eq!(literal(DType::C64, identity(ReduceOp::Product, DType::C64)), "(0x3F800000, 0x00000000)");
        assert_eq!(literal(DType::F16, identity(ReduceOp::Product, DType::F16)), "0x3C00");
    }

    #[test]
    fn types_are_mlirs() {
        assert_eq!(mlir(&TensorType::new(DType::U8, &[2, 0])), "tensor<2x0xui8>");
        assert_eq!(mlir(&TensorType::new(DType::C128, &[])), "tensor<complex<f64>>");
    }
}
