//! StableHLO text of one function (the specification is at openxla.org/stablehlo/spec). Value number `i` of the program is
//! `%v<i>`; what is added between values is `%t<i>`. One of several results is the part that it is: `%v<i>#<n>`. What is
//! written out within an operation has that operation's name before its own.

use super::emit;
use super::pack::Pack;
use super::text::{literal, mlir};
use crate::ir::{Instruction, Op};
use crate::types::{DType, Scalar, TensorType};

/// Writes one function.
pub struct Emitter<'a> {
    /// What the function consists of.
    pub values: &'a [Instruction],
    scalars: &'a [Scalar],
    /// Scalars that are parameters.
    pub packs: &'a [Pack],
    /// What the function is going to be compiled for, if that is known: `cpu`, `cuda`, ...
    pub platform: &'a str,
    /// What is written so far.
    pub text: String,
    temporaries: usize,
    holes: usize,
    /// Writes the value at a position.
    lower: Lower,
    /// Stands before every name.
    prefix: String,
    /// What parameters are called, unless by their own names.
    arguments: &'a [String],
}

/// Writes the value at a position.
pub type Lower = fn(&mut Emitter, usize);

impl<'a> Emitter<'a> {
    /// For the function of these values, with `scalars` in its holes, but for those that are in `packs`.
    pub fn new(
        values: &'a [Instruction],
        scalars: &'a [Scalar],
        packs: &'a [Pack],
        platform: &'a str,
        lower: Lower,
    ) -> Emitter<'a> {
        let text = String::with_capacity(values.len() * 80);
        let (prefix, arguments) = (String::new(), &[][..]);
        Emitter { values, scalars, packs, platform, text, temporaries: 0, holes: 0, lower, prefix, arguments }
    }

    /// Writes all values, one after another.
    pub fn lower_all(&mut self) {
        (0..self.values.len()).for_each(|position| (self.lower)(self, position));
    }

    /// Writes a function out where it is applied: its values with a prefix to their names, its parameters by the names of the
    /// arguments. Gives the names of what is at `results`.
    pub fn write_out(
        &mut self,
        values: &[Instruction],
        scalars: &[Scalar],
        prefix: &str,
        arguments: &[String],
        results: &[usize],
    ) -> Vec<String> {
        let prefix = format!("{}{prefix}", self.prefix);
        let mut inner = Emitter { prefix, arguments, ..Emitter::new(values, scalars, &[], self.platform, self.lower) };
        inner.lower_all();
        self.text += &inner.text;
        results.iter().map(|&position| inner.name(position)).collect()
    }

    /// The value at a position.
    pub fn instruction(&self, position: usize) -> &'a Instruction {
        &self.values[position]
    }

    /// What the lowering of the value at a position defines.
    pub fn name_of(&self, position: usize) -> String {
        format!("%{}v{position}", self.prefix)
    }

    /// A new name.
    pub fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("%{}t{}", self.prefix, self.temporaries - 1)
    }

    /// What the value at a position is called.
    pub fn name(&self, position: usize) -> String {
        let value = &self.values[position];
        match value.op {
            Op::Result => {
                let of = value.operands[0];
                // A loop of ours counts in its first result.
                let first = if self.values[of].op == Op::Scan { 1 } else { 0 };
                format!("{}#{}", self.name_of(of), first + value.attributes[0])
            }
            Op::Leaf if !self.arguments.is_empty() => {
                let before = self.values[..position].iter().filter(|value| value.op == Op::Leaf).count();
                self.arguments[before].clone()
            }
            _ => self.name_of(position),
        }
    }

    /// Names and types of values, as lists.
    pub fn listed(&self, positions: &[usize]) -> (Vec<String>, Vec<String>) {
        positions.iter().map(|&i| (self.name(i), mlir(&self.values[i].ty))).unzip()
    }

    /// An operation of one operand, written `op %x attributes : (from) -> to`.
    pub fn one_operand(&mut self, position: usize, op: &str, attributes: &str) {
        let value = self.instruction(position);
        let x = value.operands[0];
        let (operand, from, to) = (self.name(x), mlir(&self.values[x].ty), mlir(&value.ty));
        emit!(self, "    {} = stablehlo.{op} {operand}{attributes} : ({from}) -> {to}", self.name_of(position));
    }

    /// The dtype to which these values promote.
    pub fn promoted(&self, operands: &[usize]) -> DType {
        let dtypes = operands.iter().map(|&i| self.values[i].ty.dtype);
        dtypes.reduce(|a, b| a.promote(b).expect("inference promoted them")).expect("at least one operand")
    }

    /// The value at `position`, converted and broadcast to `ty`.
    pub fn cast(&mut self, position: usize, ty: &TensorType) -> String {
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
    pub fn broadcast(&mut self, name: &str, operand: &str, from: &TensorType, to: &TensorType) {
        let axes: Vec<usize> = (to.dims.len() - from.dims.len()..to.dims.len()).collect();
        emit!(
            self,
            "    {name} = stablehlo.broadcast_in_dim {operand}, dims = {axes:?} : ({}) -> {}",
            mlir(from),
            mlir(to)
        );
    }

    /// The next hole, in every element of `ty`: a constant, or an element of a pack.
    pub fn scalar(&mut self, name: &str, ty: &TensorType) {
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
    pub fn constant(&mut self, ty: &TensorType, bits: u128) -> String {
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
