//! The operations of a module as operations of the library: one function for each, in files by subject.
//!
//! The tables of docs/import.md have a row for each; tests/operations compares them with the names below.
//!
//! StableHLO neither broadcasts nor promotes, as the library's operations do; so functions check that types are equal
//! where StableHLO wants that. The type that the module states for a result is checked where the result is defined.

mod chlo;
mod collectives;
mod composites;
mod control;
mod custom_calls;
mod dynamic;
mod elementwise;
mod factorizations;
mod formulas;
mod indexing;
mod kernels;
mod linalg;
mod loops;
mod nn;
mod numbers;
mod precision;
mod reducers;
mod reduction;
mod shape;
mod sharding;
mod slices;
mod sorting;
#[cfg(test)]
mod tests;
mod threefry;

use super::attributes::Attributes;
use super::importer::{Applied, Importer, Operands, Results};
use super::regions::block;
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use elementwise::Member;
use ir::{NodeId, Trace};
use mlir::{Attribute, FREE, Operation, TensorShape};
use smallvec::SmallVec;

/// An operation of the module that is being recorded.
pub struct Call<'i, 'm> {
    /// The import.
    pub importer: &'i mut Importer<'m>,
    /// The operation.
    pub operation: &'m Operation,
    /// Nodes of its operands.
    pub operands: &'i [NodeId],
    /// Attributes of the operation.
    pub attributes: Attributes<'m>,
}

impl<'i, 'm> Call<'i, 'm> {
    /// Trace in which it is recorded.
    pub fn trace(&mut self) -> &mut Trace {
        &mut self.importer.trace
    }

    /// Type of an operand.
    pub fn ty(&self, operand: NodeId) -> TensorType {
        self.importer.trace.ty(operand)
    }

    /// Its operands; an error unless there are `N`.
    pub fn exactly<const N: usize>(&self) -> Result<[NodeId; N]> {
        <[NodeId; N]>::try_from(self.operands)
            .map_err(|_| error!(InvalidArgument, "{} operands; want {N}", self.operands.len()))
    }

    /// Its operands, of which there are at least `N`: the first `N`, and the others.
    pub fn at_least<const N: usize>(&self) -> Result<([NodeId; N], &'i [NodeId])> {
        match self.operands.split_first_chunk() {
            Some((first, others)) => Ok((*first, others)),
            None => Err(error!(InvalidArgument, "{} operands; want at least {N}", self.operands.len())),
        }
    }

    /// Its operands, arrays and as many initial values, in the dtypes of the arguments of its region, which may be
    /// wider.
    pub fn reduced(&mut self) -> Result<Operands> {
        let count = self.operands.len();
        if count == 0 || !count.is_multiple_of(2) {
            return Err(error!(InvalidArgument, "{count} operands; want as many arrays as initial values"));
        }
        let arguments = &block(self.operation, 0)?.arguments;
        let mut operands = Operands::from_slice(self.operands);
        for (i, &argument) in arguments.iter().enumerate().take(count / 2) {
            let wide = super::types::dtype_of(&self.importer.shape(argument)?.element)?;
            for operand in [i, i + count / 2] {
                if self.ty(operands[operand]).dtype.promote(wide).is_ok_and(|common| common == wide) {
                    operands[operand] = ops::elementwise::convert(self.trace(), operands[operand], wide);
                }
            }
        }
        Ok(operands)
    }

    /// The type of values; an error unless all have one type.
    pub fn common(&self, values: &[NodeId]) -> Result<TensorType> {
        let trace = &self.importer.trace;
        let ty = |&value: &NodeId| (trace.node(value).dtype, trace.node(value).shape);
        match values.iter().find(|value| ty(value) != ty(&values[0])) {
            Some(&other) => {
                let (ty, other) = (self.ty(values[0]), self.ty(other));
                Err(error!(InvalidArgument, "operands of types {ty} and {other}; want equal types"))
            }
            None => Ok(self.ty(values[0])),
        }
    }

    /// The type that the module states for a result; sizes may be free.
    pub fn stated(&self, result: usize) -> Result<&'m TensorShape> {
        match self.operation.results.get(result) {
            Some(&value) => self.importer.shape(value),
            None => Err(error!(InvalidArgument, "{} results; want more", self.operation.results.len())),
        }
    }

    /// The dtype that the module states for a result.
    pub fn stated_dtype(&self, result: usize) -> Result<DType> {
        super::types::dtype_of(&self.stated(result)?.element)
    }

    /// The type that the module states for a result, without free sizes.
    pub fn stated_type(&self, result: usize) -> Result<TensorType> {
        let shape = self.stated(result)?;
        if shape.dims.contains(&FREE) {
            return Err(error!(InvalidArgument, "its result is stated as {shape}; want a type without free sizes"));
        }
        base::types::element_count(&shape.dims)?;
        Ok(TensorType { dtype: self.stated_dtype(result)?, dims: shape.dims.clone() })
    }

    /// The configuration of a custom call: the first of these attributes that is a dictionary.
    pub fn config(&self, names: &[&str]) -> Option<Attributes<'m>> {
        names.iter().find_map(|name| match self.attributes.get(name) {
            Some(Attribute::Dictionary(dictionary)) => Some(Attributes(dictionary)),
            _ => None,
        })
    }

    /// The configuration of a custom call, wherever the frontend wrote it; an error if there is none.
    pub fn wanted_config(&self) -> Result<Attributes<'m>> {
        self.config(&["backend_config", "mhlo.backend_config", "mhlo.attributes"])
            .ok_or_else(|| error!(InvalidArgument, "attribute backend_config: want a dictionary"))
    }

    /// Integers of an attribute; an error unless there are `count`.
    pub fn list(&self, name: &str, count: usize) -> Result<Vec<i64>> {
        let list = self.attributes.integers(name)?;
        if list.len() != count {
            return Err(error!(InvalidArgument, "attribute {name}: {} integers; want {count}", list.len()));
        }
        Ok(list)
    }

    /// The elements of an operand of integers, which sizes are read from.
    pub fn sizes(&mut self, operand: NodeId) -> Result<Vec<i64>> {
        self.importer.known.integers(&self.importer.trace, operand)
    }

    /// Imports a region that is applied to scalars of the dtypes of `values`.
    pub fn scalar_region(&mut self, number: usize, values: &[NodeId]) -> Result<Applied> {
        let scalar = |&value: &NodeId| TensorType::new(self.importer.trace.node(value).dtype, &[]);
        let types: Vec<TensorType> = values.iter().map(scalar).collect();
        self.importer.region(block(self.operation, number)?, &types)
    }

    /// Records an operation of `N` operands and one result.
    fn one<const N: usize>(
        mut self,
        record: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<NodeId>,
    ) -> Result<Results> {
        let operands = self.exactly()?;
        Ok(single(record(self.trace(), operands)?))
    }
}

/// One result.
fn single(node: NodeId) -> Results {
    SmallVec::from_elem(node, 1)
}

/// A region as the library's operations take it.
fn applied(region: &Applied) -> ops::control::Applied<'_> {
    ops::control::Applied { body: &region.body, captures: &region.captures }
}

/// Records an operation of a module; returns the nodes of its results.
pub fn record<'m>(importer: &mut Importer<'m>, operation: &'m Operation, operands: &[NodeId]) -> Result<Results> {
    let call = Call { importer, operation, operands, attributes: Attributes::of(operation) };
    if let Some(name) = operation.name.strip_prefix("stablehlo.") {
        return stablehlo(name, call);
    }
    let Some((dialect, name)) = operation.name.split_once('.') else { return unknown() };
    match dialect {
        "chlo" => chlo::record(name, call),
        "sdy" => sharding::record(name, call),
        "func" if name == "call" => control::call(call),
        "builtin" if name == "unrealized_conversion_cast" => control::cast(call),
        _ => unknown(),
    }
}

fn stablehlo(name: &str, call: Call) -> Result<Results> {
    match elementwise::member(name) {
        Some(Member::Unary(op)) => return elementwise::unary(call, op),
        Some(Member::Binary(op)) => return elementwise::binary(call, op),
        None => {}
    }
    match name {
        "bitcast_convert" => elementwise::bitcast_convert(call),
        "clamp" => elementwise::clamp(call),
        "compare" => elementwise::compare(call),
        "complex" => elementwise::complex(call),
        "convert" => elementwise::convert(call),
        "imag" => call.one(|trace, [x]| ops::elementwise::imag(trace, x)),
        "real" => call.one(|trace, [x]| ops::elementwise::real(trace, x)),
        "reduce_precision" => elementwise::reduce_precision(call),
        "select" => elementwise::select(call),
        "broadcast" => shape::broadcast(call),
        "broadcast_in_dim" => shape::broadcast_in_dim(call),
        "concatenate" => shape::concatenate(call),
        "constant" => shape::constant(call),
        "iota" => shape::iota(call),
        "pad" => shape::pad(call),
        "reshape" => shape::reshape(call),
        "reverse" => shape::reverse(call),
        "slice" => shape::slice(call),
        "transpose" => shape::transpose(call),
        "dynamic_slice" => indexing::dynamic_slice(call),
        "dynamic_update_slice" => indexing::dynamic_update_slice(call),
        "gather" => indexing::gather(call),
        "scatter" => indexing::scatter(call),
        "torch_index_select" => indexing::torch_index_select(call),
        "cholesky" => linalg::cholesky(call),
        "dot" => linalg::dot(call),
        "dot_general" => linalg::dot_general(call),
        "einsum" | "unary_einsum" => linalg::einsum(call),
        "fft" => linalg::fft(call),
        "triangular_solve" => linalg::triangular_solve(call),
        "batch_norm_grad" => nn::batch_norm_grad(call),
        "batch_norm_inference" => nn::batch_norm_inference(call),
        "batch_norm_training" => nn::batch_norm_training(call),
        "convolution" => nn::convolution(call),
        "map" => reduction::map(call),
        "reduce" => reduction::reduce(call),
        "reduce_window" => reduction::reduce_window(call),
        "select_and_scatter" => reduction::select_and_scatter(call),
        "sort" => sorting::sort(call),
        "rng_bit_generator" => sorting::rng_bit_generator(call),
        "case" => control::case(call),
        "if" => control::branch(call),
        "optimization_barrier" => control::optimization_barrier(call),
        "while" => loops::while_loop(call),
        "composite" => composites::composite(call),
        "custom_call" => custom_calls::custom_call(call),
        _ => dynamic::stablehlo(name, call),
    }
}

fn unknown() -> Result<Results> {
    Err(error!(Unimplemented, "this operation is not supported"))
}
