//! Builds the values of one function in a computation.

use super::site::Site;
use crate::emit::Pack;
use crate::engine::failed;
use crate::error;
use crate::error::Result;
use crate::ir::{Body, Instruction, Op};
use crate::types::{DType, Scalar, TensorType};
use std::ops::Deref;
use std::sync::Arc;
use xla::XlaOp;

/// Function of the table of operations that a graph calls: adds the instruction at a position.
pub type Building = fn(&mut Graph, usize) -> Result<()>;

/// Builds one function. Values are named by their positions, as in the text of the same function.
pub struct Graph<'a> {
    /// Instructions of the function.
    pub values: &'a [Instruction],
    /// The computation in which they are built.
    pub site: &'a Site<'a>,
    scalars: &'a [Scalar],
    packs: &'a [(Pack, XlaOp)],
    building: Building,
    /// Results of the instructions that were built.
    made: Vec<Vec<XlaOp>>,
    slots: usize,
}

impl<'a> Deref for Graph<'a> {
    type Target = Site<'a>;

    fn deref(&self) -> &Site<'a> {
        self.site
    }
}

impl<'a> Graph<'a> {
    /// Builds all instructions of a function of `arguments`, and returns the values at `results`. `scalars` fill its
    /// scalar slots, except for the slots in `packs`, which are parameters.
    pub fn build(
        site: &'a Site<'a>,
        (values, results): (&'a [Instruction], &[usize]),
        scalars: &'a [Scalar],
        packs: &'a [(Pack, XlaOp)],
        arguments: &[XlaOp],
        building: Building,
    ) -> Result<Vec<XlaOp>> {
        let made = Vec::with_capacity(values.len());
        let mut graph = Graph { values, site, scalars, packs, building, made, slots: 0 };
        let mut arguments = arguments.iter();
        for (position, value) in values.iter().enumerate() {
            graph.made.push(Vec::new());
            match value.op {
                Op::Leaf => graph.define(position, arguments.next().expect("one argument for each parameter").clone()),
                Op::Result => {}
                _ => building(&mut graph, position)?,
            }
        }
        results.iter().map(|&position| graph.value(position)).collect()
    }

    /// Instruction at `position`.
    pub fn instruction(&self, position: usize) -> &'a Instruction {
        &self.values[position]
    }

    /// Type of the value at `position`.
    pub fn ty(&self, position: usize) -> &'a TensorType {
        &self.values[position].ty
    }

    /// Gives the instruction at `position` its result.
    pub fn define(&mut self, position: usize, result: XlaOp) {
        self.made[position] = vec![result];
    }

    /// Gives the instruction at `position` its results.
    pub fn define_all(&mut self, position: usize, results: Vec<XlaOp>) {
        self.made[position] = results;
    }

    /// The value at `position`.
    pub fn value(&self, position: usize) -> Result<XlaOp> {
        let instruction = &self.values[position];
        let (of, index) = match instruction.op {
            Op::Result => (instruction.operands[0], instruction.attributes::<usize>()),
            _ => (position, 0),
        };
        let found = self.made[of].get(index).cloned();
        found.ok_or_else(|| error!(Internal, "{:?} was built without its result {index}", self.values[of].op))
    }

    /// The operand `index` of the instruction at `position`.
    pub fn operand(&self, position: usize, index: usize) -> Result<XlaOp> {
        self.value(self.values[position].operands[index])
    }

    /// The values at `positions`.
    pub fn listed(&self, positions: &[usize]) -> Result<Vec<XlaOp>> {
        positions.iter().map(|&position| self.value(position)).collect()
    }

    /// Dtype to which the operands promote.
    pub fn promoted(&self, operands: &[usize]) -> DType {
        let dtypes = operands.iter().map(|&i| self.values[i].ty.dtype);
        dtypes.reduce(|a, b| a.promote(b).expect("inference promoted them")).expect("at least one operand")
    }

    /// Converts and broadcasts the value at `position` to `ty`.
    pub fn cast(&self, position: usize, ty: &TensorType) -> Result<XlaOp> {
        let from = self.ty(position);
        let mut x = self.value(position)?;
        if from.dtype != ty.dtype {
            x = self.convert_any(&x, from, ty.dtype)?;
        }
        if from.dims != ty.dims { self.broadcast(&x, from.dims.len(), &ty.dims) } else { Ok(x) }
    }

    /// Broadcasts the next scalar slot to `ty`. The scalar is a constant, or an element of a pack.
    pub fn scalar(&mut self, ty: &TensorType) -> Result<XlaOp> {
        let slot = self.slots;
        self.slots += 1;
        let place = self.packs.iter().find_map(|(pack, op)| Some((pack.holes.binary_search(&slot).ok()?, op)));
        match place {
            None => self.constant(ty, self.scalars[slot].bits()),
            Some((at, pack)) => {
                let cell = pack.slice_in_dim1(at as i64, at as i64 + 1, 0).map_err(failed)?;
                let single = self.reshape(&cell, &[])?;
                self.broadcast(&single, 0, &ty.dims)
            }
        }
    }

    /// Number of the computation of a body. Its parameters are those of the body, then its captures; its result is the
    /// tuple of the body's results.
    pub fn computation(&self, body: &Arc<Body>) -> Result<u64> {
        computation(self.site, body, self.building)
    }

    /// Applies a body to arguments, then captures.
    pub fn apply(&self, body: &Arc<Body>, arguments: &[XlaOp]) -> Result<Vec<XlaOp>> {
        apply(self.site, body, arguments, self.building)
    }

    /// Builds the operations of a function of `arguments` here, instead of calling it.
    pub fn inline(&self, body: &Body, arguments: &[XlaOp]) -> Result<Vec<XlaOp>> {
        inline(self.site, body, arguments, self.building)
    }

    /// Function that adds instructions.
    pub fn building(&self) -> Building {
        self.building
    }
}

/// See [`Graph::computation`].
fn computation(site: &Site, body: &Arc<Body>, building: Building) -> Result<u64> {
    site.link.body(body, || {
        let parameters: Vec<TensorType> = body.parameters().iter().chain(body.captures()).cloned().collect();
        let (inner, arguments) = Site::new(&body.name(), site.link, &parameters)?;
        let results = inline(&inner, body, &arguments, building)?;
        let root = inner.builder.tuple(&results).map_err(failed)?;
        site.link.add(&inner, &root)
    })
}

/// See [`Graph::apply`].
pub fn apply(site: &Site, body: &Arc<Body>, arguments: &[XlaOp], building: Building) -> Result<Vec<XlaOp>> {
    let called = computation(site, body, building)?;
    site.raw_tuple("call", arguments, body.results(), super::Message::new(), &[called])
}

/// See [`Graph::inline`].
pub fn inline(site: &Site, body: &Body, arguments: &[XlaOp], building: Building) -> Result<Vec<XlaOp>> {
    let (values, results) = body.decode();
    Graph::build(site, (&values, &results), body.scalars(), &[], arguments, building)
}
