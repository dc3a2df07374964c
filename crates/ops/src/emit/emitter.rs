//! Writes the StableHLO text of one function (specification: openxla.org/stablehlo/spec). Value `i` of the program is
//! named `%v<i>`, and intermediate values are named `%t<i>`. One of several results is named by its index: `%v<i>#<n>`.
//! The values of an inlined function have the name of the enclosing operation as a prefix.

use super::emit;
use super::pack::PackedScalars;
use super::text::{literal, mlir, row_major};
use super::written::Written;
use base::types::{DType, Scalar, TensorType};
use half::{bf16, f16};
use ir::{Body, Instruction, Op, Precision};
use mesh::MeshAxes;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Writes one function.
pub struct Emitter<'a> {
    /// Instructions of the function.
    pub values: &'a [Instruction],
    scalars: &'a [Scalar],
    /// Scalars that are passed as parameters, packed by dtype.
    pub packs: &'a [PackedScalars],
    /// Platform that the function is compiled for (`cpu`, `cuda`, ...), or empty if unknown.
    pub platform: &'a str,
    /// Whether programs of the engine can call functions of this process.
    pub calls_host: bool,
    /// Precision of products and convolutions that state none.
    pub precision: Precision,
    /// Extent of the values of the function.
    pub extent: Extent<'a>,
    /// Kind of the reduction, if the function is a part of a reducer.
    pub reducer: Option<Reducer>,
    /// Whether the function is called, so that one value may be passed for several of its parameters.
    pub is_called: bool,
    /// Whether labels are written as locations.
    pub has_locations: bool,
    /// Bodies that the function calls, each with whether it is applied to pieces.
    pub called: Vec<(Arc<Body>, bool)>,
    /// For each value that has been written, whether XLA may fold it; see `folding.rs`.
    pub folded: Vec<Folded>,
    /// For values that are combined with constants, the constant that XLA may make of them; see `simplifier.rs`.
    pub chains: FxHashMap<usize, Chain>,
    /// Number of values that are disguised; see `simplifier.rs`.
    pub disguises: usize,
    /// For each value that has been written, the length of the chain that ends with it; see `cutting.rs`.
    pub lengths: Vec<usize>,
    /// Text written so far.
    pub text: Written,
    temporaries: usize,
    next_slot: usize,
    lowering: Lowering,
    /// Prefix of every name.
    prefix: String,
    /// Names of the parameters; empty if they have their own names.
    arguments: &'a [String],
    /// Names of values that are not defined under their own.
    renamed: FxHashMap<usize, String>,
}

/// Extent of the values of a function: arrays of one device, whole arrays on a mesh, or pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent<'a> {
    /// Arrays of one device.
    Device,
    /// Whole arrays on a mesh with these axes, on more than one device. XLA partitions the function.
    Whole(&'a MeshAxes),
    /// Pieces or replicated arrays on one device of a mesh, in the body of a manual computation.
    Pieces,
}

/// Whether XLA may compute a value while it compiles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Folded {
    /// It depends on a parameter, or is behind a barrier.
    No,
    /// It depends on constants alone.
    Constant,
    /// In addition, all elements are computed from the same numbers.
    Equal,
}

/// A constant that several operations with constants may be combined to.
#[derive(Clone, Copy)]
pub struct Chain {
    /// Whether it is a factor; else it is a summand.
    pub is_product: bool,
    /// The constant; NaN if it is not known.
    pub value: f64,
    /// Largest magnitude of the constants.
    pub largest: f64,
}

/// A reduction by a reducer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reducer {
    /// Over axes, or over windows that overlap or have gaps.
    Other,
    /// Over windows that are single elements or as large as their strides.
    OfAdjacentWindows,
}

/// Functions of the layer `ops` that an emitter calls.
#[derive(Clone, Copy)]
pub struct Lowering {
    /// Writes the instruction at a position.
    pub instruction: fn(&mut Emitter, usize),
    /// Index of the first result of an operation among the values that the lowered operation returns.
    pub first_result: fn(Op) -> usize,
}

impl<'a> Emitter<'a> {
    /// Creates an emitter for the function of `values`. `scalars` fill its scalar slots, except for the slots in
    /// `packs`.
    pub fn new(
        values: &'a [Instruction],
        scalars: &'a [Scalar],
        packs: &'a [PackedScalars],
        platform: &'a str,
        lowering: Lowering,
    ) -> Emitter<'a> {
        let text = Written::with_room(values.len() * 80);
        let (prefix, arguments, renamed) = (String::new(), &[][..], FxHashMap::default());
        Emitter {
            values,
            scalars,
            packs,
            platform,
            calls_host: false,
            precision: Precision::HIGHEST,
            extent: Extent::Device,
            reducer: None,
            is_called: false,
            has_locations: false,
            called: Vec::new(),
            folded: vec![Folded::No; values.len()],
            chains: FxHashMap::default(),
            disguises: 0,
            lengths: vec![0; values.len()],
            text,
            temporaries: 0,
            next_slot: 0,
            lowering,
            prefix,
            arguments,
            renamed,
        }
    }

    /// Writes all instructions in order.
    pub fn lower_all(&mut self) {
        for position in 0..self.values.len() {
            let start = self.text.bytes();
            (self.lowering.instruction)(self, position);
            let label = self.values[position].label;
            if self.has_locations && !label.is_none() {
                self.text.locate(start, &label.to_string());
            }
        }
    }

    /// Inlines a function: its values get `prefix` before their names, and its parameters are replaced by `arguments`.
    /// Returns the names of the values at `results`.
    pub fn write_out(
        &mut self,
        values: &[Instruction],
        scalars: &[Scalar],
        prefix: &str,
        arguments: &[String],
        results: &[usize],
    ) -> Vec<String> {
        let prefix = format!("{}{prefix}", self.prefix);
        let new = Emitter::new(values, scalars, &[], self.platform, self.lowering);
        // Inlined functions are elementwise, or part of an operation: XLA does not partition inside.
        let extent = if self.extent == Extent::Device { Extent::Device } else { Extent::Pieces };
        let (reducer, calls_host, precision) = (self.reducer, self.calls_host, self.precision);
        let mut inner = Emitter { prefix, arguments, extent, reducer, is_called: true, calls_host, precision, ..new };
        inner.lower_all();
        self.text.append(std::mem::take(&mut inner.text));
        self.called.append(&mut inner.called);
        results.iter().map(|&position| inner.name(position)).collect()
    }

    /// Returns the name of the function of a body, and registers the body to be lowered. A body has one function for
    /// whole arrays and another one for pieces, because their lowerings differ.
    pub fn callee(&mut self, body: &Arc<Body>) -> String {
        let is_of_pieces = self.extent == Extent::Pieces;
        self.called.push((body.clone(), is_of_pieces));
        function_name(body, is_of_pieces)
    }

    /// Instruction at `position`.
    pub fn instruction(&self, position: usize) -> &'a Instruction {
        &self.values[position]
    }

    /// Name defined by the lowering of the instruction at `position`.
    pub fn name_of(&self, position: usize) -> String {
        format!("%{}v{position}", self.prefix)
    }

    /// Gives the value at `position` the name of another value.
    pub fn rename(&mut self, position: usize, name: String) {
        self.renamed.insert(position, name);
    }

    /// Returns a fresh name.
    pub fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("%{}t{}", self.prefix, self.temporaries - 1)
    }

    /// Name by which other instructions refer to the value at `position`.
    pub fn name(&self, position: usize) -> String {
        let value = &self.values[position];
        match value.op {
            _ if self.renamed.contains_key(&position) => self.renamed[&position].clone(),
            Op::Result => {
                let of = value.operands[0];
                let first = (self.lowering.first_result)(self.values[of].op);
                format!("{}#{}", self.name_of(of), first + value.attributes::<usize>())
            }
            Op::Leaf if !self.arguments.is_empty() => {
                let before = self.values[..position].iter().filter(|value| value.op == Op::Leaf).count();
                self.arguments[before].clone()
            }
            _ => self.name_of(position),
        }
    }

    /// Names and types of the values, as two lists.
    pub fn listed(&self, positions: &[usize]) -> (Vec<String>, Vec<String>) {
        positions.iter().map(|&i| (self.name(i), mlir(&self.values[i].ty))).unzip()
    }

    /// Writes a value that XLA stores in row-major order. Returns its name.
    pub fn stored_row_major(&mut self, x: &str, ty: &TensorType) -> String {
        let (name, ty_text, layout) = (self.temporary(), mlir(ty), row_major(&[ty]));
        emit!(
            self,
            "    {name} = stablehlo.custom_call @LayoutConstraint({x}) {{operand_layouts = {layout}, \
             result_layouts = {layout}}} : ({ty_text}) -> {ty_text}"
        );
        name
    }

    /// Writes an operation with one operand, as `op %x attributes : (from) -> to`.
    pub fn one_operand(&mut self, position: usize, op: &str, attributes: &str) {
        let value = self.instruction(position);
        let x = value.operands[0];
        let (operand, from, to) = (self.name(x), mlir(&self.values[x].ty), mlir(&value.ty));
        emit!(self, "    {} = stablehlo.{op} {operand}{attributes} : ({from}) -> {to}", self.name_of(position));
    }

    /// Dtype to which the operands promote.
    pub fn promoted(&self, operands: &[usize]) -> DType {
        let dtypes = operands.iter().map(|&i| self.values[i].ty.dtype);
        dtypes.reduce(|a, b| a.promote(b).expect("inference promoted them")).expect("at least one operand")
    }

    /// Converts and broadcasts the value at `position` to `ty`. Returns the name of the result.
    pub fn cast(&mut self, position: usize, ty: &TensorType) -> String {
        let mut name = self.name(position);
        let mut from = self.values[position].ty.clone();
        if from.dtype != ty.dtype {
            name = self.temporary();
            self.convert_value(&name, position, ty.dtype);
            from.dtype = ty.dtype;
        }
        if from.dims != ty.dims {
            let wide = self.temporary();
            self.broadcast(&wide, &name, &from, ty);
            name = wide;
        }
        name
    }

    /// Writes an elementwise operation of values of one type, which is that of the result.
    pub fn elementwise(&mut self, name: &str, op: &str, operands: &[&str], ty: &TensorType) {
        emit!(self, "    {name} = stablehlo.{op} {} : {}", operands.join(", "), mlir(ty));
    }

    /// Writes an elementwise operation whose result is of another type than its operands.
    pub fn changing(&mut self, name: &str, op: &str, operands: &[&str], from: &TensorType, to: &TensorType) {
        let types = vec![mlir(from); operands.len()].join(", ");
        emit!(self, "    {name} = stablehlo.{op} {} : ({types}) -> {}", operands.join(", "), mlir(to));
    }

    /// Writes `pred ? on_true : on_false` for values of a type.
    pub fn choose(&mut self, name: &str, pred: &str, [on_true, on_false]: [&str; 2], ty: &TensorType) {
        let (text, preds) = (mlir(ty), mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() }));
        emit!(self, "    {name} = stablehlo.select {pred}, {on_true}, {on_false} : {preds}, {text}");
    }

    /// Writes a broadcast with NumPy's rules: axes are aligned at the end.
    pub fn broadcast(&mut self, name: &str, operand: &str, from: &TensorType, to: &TensorType) {
        let axes: Vec<usize> = (to.dims.len() - from.dims.len()..to.dims.len()).collect();
        emit!(
            self,
            "    {name} = stablehlo.broadcast_in_dim {operand}, dims = {axes:?} : ({}) -> {}",
            mlir(from),
            mlir(to)
        );
    }

    /// The scalar of the next slot, a real float, if it is a constant of the program. None if it is passed as a parameter.
    pub fn next_constant(&self) -> Option<f64> {
        let is_packed = self.packs.iter().any(|pack| pack.slots.binary_search(&self.next_slot).is_ok());
        let scalar = self.next_scalar();
        let bits = scalar.bits();
        let value = match scalar.dtype() {
            DType::F16 => f16::from_bits(bits as u16).to_f64(),
            DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
            DType::F32 => f32::from_bits(bits as u32).into(),
            DType::F64 => f64::from_bits(bits as u64),
            _ => return None,
        };
        (!is_packed).then_some(value)
    }

    /// The scalar of the next slot.
    pub fn next_scalar(&self) -> Scalar {
        self.scalars[self.next_slot]
    }

    /// Broadcasts the next scalar slot to `ty`. The scalar is a constant, or an element of a pack.
    pub fn scalar(&mut self, name: &str, ty: &TensorType) {
        let slot = self.next_slot;
        self.next_slot += 1;
        let element = TensorType::new(ty.dtype, &[]);
        let single = self.temporary();
        let place = self.packs.iter().enumerate().find_map(|(i, pack)| {
            let at = pack.slots.binary_search(&slot).ok()?;
            Some((i, at, pack.ty()))
        });
        match place {
            None => {
                let bits = self.scalars[slot].bits();
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

    /// Writes an array that has the NaNs of a float array, and 0 elsewhere. Returns its name.
    pub fn nan_or_zero(&mut self, x: &str, ty: &TensorType) -> String {
        let zero = self.constant(ty, 0);
        self.nan_or(x, &zero, ty)
    }

    /// Writes a select: the elements of `x` that are NaN, and the elements of `other` elsewhere. Returns the name of
    /// the result.
    pub fn nan_or(&mut self, x: &str, other: &str, ty: &TensorType) -> String {
        let (is_nan, result) = (self.temporary(), self.temporary());
        let (text, pred) = (mlir(ty), mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() }));
        emit!(self, "    {is_nan} = stablehlo.compare NE, {x}, {x}, FLOAT : ({text}, {text}) -> {pred}");
        emit!(self, "    {result} = stablehlo.select {is_nan}, {x}, {other} : {pred}, {text}");
        result
    }

    /// Writes a constant with every element equal to `bits`. Returns its name.
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

/// Name of the function of a body.
pub fn function_name(body: &Body, is_of_pieces: bool) -> String {
    format!("{}{}", body.name(), if is_of_pieces { "_pieces" } else { "" })
}
