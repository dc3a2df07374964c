//! Regions of operations become bodies.

use super::importer::{Applied, Importer};
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::{NodeId, take_body};
use mlir::{Block, Operation, Region, Value};
use rustc_hash::FxHashSet;

/// Returns the block of a region of an operation.
pub(super) fn block(operation: &Operation, number: usize) -> Result<&Block> {
    let region: &Region = operation
        .regions
        .get(number)
        .ok_or_else(|| error!(InvalidArgument, "it has {} regions; want more", operation.regions.len()))?;
    match &region.blocks[..] {
        [block] => Ok(block),
        blocks => Err(error!(InvalidArgument, "region {number} has {} blocks; want one", blocks.len())),
    }
}

/// Returns the values that blocks use and do not define, in the order of their use.
fn free_values(blocks: &[&Block]) -> Vec<Value> {
    fn visit(block: &Block, defined: &mut FxHashSet<Value>, free: &mut Vec<Value>, seen: &mut FxHashSet<Value>) {
        defined.extend(block.arguments.iter().copied());
        for operation in &block.operations {
            for &operand in &operation.operands {
                if !defined.contains(&operand) && seen.insert(operand) {
                    free.push(operand);
                }
            }
            let inner = operation.regions.iter().flat_map(|region| &region.blocks);
            inner.for_each(|block| visit(block, defined, free, seen));
            defined.extend(operation.results.iter().copied());
        }
    }
    let (mut free, mut seen) = (Vec::new(), FxHashSet::default());
    // Numbers of values are unique in the module, so one set serves nested and neighbouring blocks.
    let mut defined = FxHashSet::default();
    blocks.iter().for_each(|block| visit(block, &mut defined, &mut free, &mut seen));
    free
}

impl<'m> Importer<'m> {
    /// Imports a region that is applied to values of these types. What it uses from outside is captured.
    pub(super) fn region(&mut self, block: &'m Block, types: &[TensorType]) -> Result<Applied> {
        if block.arguments.len() != types.len() {
            return Err(error!(
                InvalidArgument,
                "a region with {} arguments; want {}",
                block.arguments.len(),
                types.len()
            ));
        }
        if free_values(&[block]).is_empty() {
            // In a trace of its own, which is quicker.
            let made = self.closed(|importer| importer.recorded_region(block, types))?;
            let captures = made.constants.iter().map(|array| self.constant(array)).collect();
            return Ok(Applied { body: made.body, captures });
        }
        let (parameters, results) = self.recorded_region(block, types)?;
        let (body, captures) = take_body(&self.trace, &parameters, &results)?;
        Ok(Applied { body, captures })
    }

    fn recorded_region(&mut self, block: &'m Block, types: &[TensorType]) -> Result<(Vec<NodeId>, Vec<NodeId>)> {
        let parameters: Vec<NodeId> = types.iter().map(|ty| self.trace.parameter(ty.clone())).collect();
        block.arguments.iter().zip(&parameters).try_for_each(|(&value, &node)| self.define(value, node))?;
        let results = self.region_block(block)?;
        Ok((parameters, results))
    }

    /// Imports regions without arguments, of which one is run: the values that any of them uses become arguments of
    /// all, so that a branch computes nothing unless it is run. Returns the bodies and the nodes of the arguments.
    pub(super) fn branches(&mut self, blocks: &[&'m Block]) -> Result<(Vec<Applied>, Vec<NodeId>)> {
        if let Some(block) = blocks.iter().find(|block| !block.arguments.is_empty()) {
            return Err(error!(InvalidArgument, "a branch with {} arguments; want none", block.arguments.len()));
        }
        // Constants stay what they are, since sizes may be computed from them.
        let mut free = Vec::new();
        for value in free_values(blocks) {
            let node = self.node(value)?;
            if self.known.value(&self.trace, node).is_none() {
                free.push(value);
            }
        }
        let arguments = free.iter().map(|&value| self.node(value)).collect::<Result<Vec<NodeId>>>()?;
        let mut made = Vec::new();
        for block in blocks {
            let types: Vec<TensorType> = arguments.iter().map(|&node| self.trace.ty(node)).collect();
            let parameters: Vec<NodeId> = types.into_iter().map(|ty| self.trace.parameter(ty)).collect();
            let outer = self.overlay(&free, &parameters);
            let results = self.region_block(block);
            self.restore(&free, outer);
            let (body, captures) = take_body(&self.trace, &parameters, &results?)?;
            made.push(Applied { body, captures });
        }
        Ok((made, arguments))
    }
}
