//! StableHLO text of one function (the specification is at openxla.org/stablehlo/spec). Value number `i` of the program is
//! `%v<i>`; what is added between values is `%t<i>`. A result of an application is the part of it that it is: `%v<i>#<n>`.

use super::pack::Pack;
use super::text::{literal, mlir};
use crate::ir::{BinaryOp, Instruction, Op};
use crate::types::{DType, Scalar, TensorType};
use std::fmt::Write;

/// Writes one function.
pub struct Emitter<'a> {
    pub(super) values: &'a [Instruction],
    scalars: &'a [Scalar],
    packs: &'a [Pack],
    pub(super) text: String,
    temporaries: usize,
    holes: usize,
}

impl<'a> Emitter<'a> {
    /// For the function of these values, with `scalars` in its holes, but for those that are in `packs`.
    pub fn new(values: &'a [Instruction], scalars: &'a [Scalar], packs: &'a [Pack]) -> Emitter<'a> {
        let text = String::with_capacity(values.len() * 80);
        Emitter { values, scalars, packs, text, temporaries: 0, holes: 0 }
    }

    /// The whole function. `attribute` is what is said of the parameter at a position.
    pub fn function(mut self, name: &str, results: &[usize], attribute: impl Fn(usize) -> String) -> String {
        let parameters = (0..self.values.len()).filter(|&i| self.values[i].op == Op::Leaf);
        let mut arguments: Vec<String> =
            parameters.map(|i| format!("%v{i}: {}{}", mlir(&self.values[i].ty), attribute(i))).collect();
        arguments.extend(self.packs.iter().enumerate().map(|(i, pack)| format!("%pack{i}: {}", mlir(&pack.ty()))));
        let types: Vec<String> = results.iter().map(|&i| mlir(&self.values[i].ty)).collect();
        emit!(self, "  func.func {name}({}) -> ({}) {{", arguments.join(", "), types.join(", "));
        for position in 0..self.values.len() {
            self.value(position);
        }
        let names: Vec<String> = results.iter().map(|&i| self.name(i)).collect();
        let colon = if results.is_empty() { "" } else { " : " };
        emit!(self, "    return {}{colon}{}", names.join(", "), types.join(", "));
        emit!(self, "  }}");
        self.text
    }

    pub(super) fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("%t{}", self.temporaries - 1)
    }

    /// What the value at a position is called.
    pub(super) fn name(&self, position: usize) -> String {
        let value = &self.values[position];
        match value.op {
            Op::Result => {
                let of = value.operands[0];
                // A loop of ours counts in its first result.
                let first = if self.values[of].op == Op::Scan { 1 } else { 0 };
                format!("%v{of}#{}", first + value.attributes[0])
            }
            _ => format!("%v{position}"),
        }
    }

    /// Names and types of values, as lists.
    pub(super) fn listed(&self, positions: &[usize]) -> (Vec<String>, Vec<String>) {
        positions.iter().map(|&i| (self.name(i), mlir(&self.values[i].ty))).unzip()
    }

    fn value(&mut self, position: usize) {
        let value = &self.values[position];
        let name = format!("%v{position}");
        let ty = mlir(&value.ty);
        match value.op {
            Op::Leaf | Op::Result => {}
            Op::Full => self.scalar(&name, &value.ty),
            Op::Iota => {
                emit!(self, "    {name} = stablehlo.iota dim = {} : {ty}", value.attributes[0]);
            }
            Op::Unary(op) => self.one_operand(&name, op.name(), "", value),
            Op::Binary(op) => {
                let lhs = self.cast(value.operands[0], &value.ty);
                let rhs = self.cast(value.operands[1], &value.ty);
                self.binary(&name, op, &lhs, &rhs, &value.ty);
            }
            Op::BinaryScalar(op) | Op::ScalarBinary(op) => {
                let scalar = self.temporary();
                self.scalar(&scalar, &value.ty);
                let x = self.name(value.operands[0]);
                let left = matches!(value.op, Op::ScalarBinary(_));
                let (lhs, rhs) = if left { (&scalar, &x) } else { (&x, &scalar) };
                self.binary(&name, op, lhs, rhs, &value.ty);
            }
            Op::Compare(op) => self.compare(&name, op, value),
            Op::Select => self.select(&name, value),
            Op::Convert => self.convert(&name, value),
            Op::Reshape => self.one_operand(&name, "reshape", "", value),
            Op::BroadcastTo => {
                let x = value.operands[0];
                let (x, from) = (self.name(x), self.values[x].ty.clone());
                self.broadcast(&name, &x, &from, &value.ty);
            }
            Op::Transpose => self.one_operand(&name, "transpose", &format!(", dims = {:?}", value.attributes), value),
            Op::Reduce(op) => self.reduce(&name, op, value),
            Op::Matmul => self.matmul(&name, value),
            Op::Slice => self.slice(&name, value),
            Op::Concatenate => self.concatenate(&name, value),
            Op::DynamicSlice => self.dynamic_slice(&name, value),
            Op::DynamicUpdateSlice => self.dynamic_update_slice(&name, value),
            Op::Take => self.take(&name, value),
            Op::Pad => self.pad(&name, value),
            Op::Call => self.call(&name, value),
            Op::While => self.while_loop(position, value),
            Op::If => self.branch(&name, value),
            Op::Scan => self.scan(position, value),
        }
    }

    /// An operation of one operand, written `op %x attributes : (from) -> to`.
    fn one_operand(&mut self, name: &str, op: &str, attributes: &str, value: &Instruction) {
        let x = value.operands[0];
        let (operand, from, to) = (self.name(x), mlir(&self.values[x].ty), mlir(&value.ty));
        emit!(self, "    {name} = stablehlo.{op} {operand}{attributes} : ({from}) -> {to}");
    }

    fn binary(&mut self, name: &str, op: BinaryOp, lhs: &str, rhs: &str, ty: &TensorType) {
        if matches!(op, BinaryOp::Divide | BinaryOp::Remainder) && ty.dtype.is_integer() {
            return self.integer_division(name, op, lhs, rhs, ty);
        }
        if op == BinaryOp::Power && ty.dtype.is_integer() {
            return self.integer_power(name, lhs, rhs, ty);
        }
        emit!(self, "    {name} = stablehlo.{} {lhs}, {rhs} : {}", op.name(), mlir(ty));
    }

    pub(super) fn promoted(&self, operands: &[usize]) -> DType {
        let dtypes = operands.iter().map(|&i| self.values[i].ty.dtype);
        dtypes.reduce(|a, b| a.promote(b).expect("inference promoted them")).expect("at least one operand")
    }

    /// The value at `position`, converted and broadcast to `ty`.
    pub(super) fn cast(&mut self, position: usize, ty: &TensorType) -> String {
        let mut name = self.name(position);
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
    pub(super) fn broadcast(&mut self, name: &str, operand: &str, from: &TensorType, to: &TensorType) {
        let axes: Vec<usize> = (to.dims.len() - from.dims.len()..to.dims.len()).collect();
        emit!(
            self,
            "    {name} = stablehlo.broadcast_in_dim {operand}, dims = {axes:?} : ({}) -> {}",
            mlir(from),
            mlir(to)
        );
    }

    /// The next hole, in every element of `ty`: a constant, or an element of a pack.
    pub(super) fn scalar(&mut self, name: &str, ty: &TensorType) {
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

    /// A constant in every element of `ty`.
    pub(super) fn constant(&mut self, ty: &TensorType, bits: u128) -> String {
        let element = TensorType::new(ty.dtype, &[]);
        let single = self.temporary();
        emit!(self, "    {single} = stablehlo.constant dense<{}> : {}", literal(ty.dtype, bits), mlir(&element));
        if ty.dims.is_empty() {
            return single;
        }
        let all = self.temporary();
        self.broadcast(&all, &single, &element, ty);
        all
    }
}
