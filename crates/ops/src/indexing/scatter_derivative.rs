//! Derivative of scatter. The combiner is recognized for each array separately: it replaces, adds, multiplies (by
//! updates of distinct elements), or takes the greater or smaller element.

use super::bounds::{inside, last_starts, slice_sizes};
use super::derivative::tangent_or_zeros;
use super::gather::gather;
use super::scatter::{IndexHints, ScatterAttributes, scatter};
use crate::control::apply::Applied;
use crate::control::bodies;
use crate::creation::constants::{full, iota};
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::convert::convert;
use crate::infer::places_dtype;
use crate::rules::{Forward, Site, is_differentiable, no_derivative, no_tangents};
use crate::shape::axes::reshape;
use crate::tangents::{add_tangents, equal_or_nan, sum_dtype, zeros};
use base::error::{Error, Result};
use base::types::{Dims, ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, DimensionNumbers, NodeId, Op};
use std::sync::Arc;

/// Operation by which a combiner combines the elements of one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combiner {
    Replace,
    Add,
    Multiply,
    /// Takes the greater or smaller of the two.
    Extreme,
}

/// Recognizes how a combiner combines the elements of array `number`, independently of the other arrays.
fn combiner(body: &Body, number: usize) -> Result<Combiner> {
    let update = body.results().len() + number;
    if body.passed_through(number) == Some(update) {
        return Ok(Combiner::Replace);
    }
    let (values, results) = body.decode();
    let value = &values[results[number]];
    let of_both = [[number, update], [update, number]].iter().any(|both| value.operands[..] == *both);
    match value.op {
        Op::Binary(BinaryOp::Add) if of_both => Ok(Combiner::Add),
        Op::Binary(BinaryOp::Multiply) if of_both => Ok(Combiner::Multiply),
        Op::Binary(BinaryOp::Maximum | BinaryOp::Minimum) if of_both => Ok(Combiner::Extreme),
        Op::Binary(op) if of_both => Err(no_derivative(&format!("scatter with the combiner {}", op.name()))),
        _ => Err(no_derivative("scatter with a combiner other than a replacement, a sum, a product or an extreme")),
    }
}

/// One array of a scatter, and its updates.
struct Part {
    combiner: Combiner,
    /// Operand numbers of the array and of the updates.
    array: usize,
    update: usize,
    x: NodeId,
    updates: NodeId,
    indices: NodeId,
    ty: TensorType,
    side: Dims,
    numbers: DimensionNumbers,
    hints: IndexHints,
    /// Shape of a slice.
    sizes: Vec<i64>,
}

impl Part {
    fn new(site: &Site, number: usize) -> Result<Part> {
        let ScatterAttributes { indices_are_sorted, unique_indices, numbers } = site.attributes();
        let count = site.bodies[0].results().len();
        let (array, update) = (number, count + 1 + number);
        let (ty, side) = (site.operand_ty(array), site.operand_ty(update).dims);
        Ok(Part {
            combiner: combiner(&site.bodies[0], number)?,
            array,
            update,
            x: site.operands[array],
            updates: site.operands[update],
            indices: site.operands[count],
            sizes: slice_sizes(&numbers, ty.dims.len(), &side),
            ty,
            side,
            numbers,
            hints: IndexHints { sorted: indices_are_sorted, unique: unique_indices },
        })
    }

    /// Type of the updates.
    fn side_ty(&self) -> TensorType {
        TensorType { dtype: self.ty.dtype, dims: self.side.clone() }
    }

    /// Records a scatter at the same indices.
    fn scattered(&self, site: &mut Site, body: &Arc<Body>, x: NodeId, updates: NodeId) -> Result<NodeId> {
        let applied = Applied { body, captures: &[] };
        Ok(scatter(site.trace, &applied, &[x], self.indices, &[updates], &self.numbers, self.hints)?[0])
    }

    /// Records `x` with `updates` written at the indices.
    fn replaced(&self, site: &mut Site, x: NodeId, updates: NodeId) -> Result<NodeId> {
        let body = bodies::replace(site.trace.node(x).dtype)?;
        self.scattered(site, &body, x, updates)
    }

    /// Records `x` with `updates` added at the indices. 8-bit and 16-bit floats are summed in f32.
    fn added(&self, site: &mut Site, x: NodeId, updates: NodeId) -> Result<NodeId> {
        let dtype = site.trace.node(x).dtype;
        let wide = sum_dtype(dtype);
        let (x, updates) = (convert(site.trace, x, wide), convert(site.trace, updates, wide));
        let sum = self.scattered(site, &bodies::combine(BinaryOp::Add, wide)?, x, updates)?;
        Ok(convert(site.trace, sum, dtype))
    }

    /// Records `x` with elements multiplied by `updates` at the indices.
    fn multiplied(&self, site: &mut Site, x: NodeId, updates: NodeId) -> Result<NodeId> {
        let dtype = site.trace.node(x).dtype;
        let wide = sum_dtype(dtype);
        let (x, updates) = (convert(site.trace, x, wide), convert(site.trace, updates, wide));
        let product = self.scattered(site, &bodies::combine(BinaryOp::Multiply, wide)?, x, updates)?;
        Ok(convert(site.trace, product, dtype))
    }

    /// Records, for each element of the updates, the element of `x` (in the shape of the array) that it updates. For
    /// updates that scatter drops, these are other elements.
    fn read(&self, site: &mut Site, x: NodeId) -> Result<NodeId> {
        gather(site.trace, x, self.indices, &self.numbers, &self.sizes, self.hints.sorted)
    }

    /// Like [`Part::read`], with 0 for the updates that scatter drops.
    fn read_within(&self, site: &mut Site, x: NodeId) -> Result<NodeId> {
        let read = self.read(site, x)?;
        let lasts = last_starts(&self.ty.dims, &self.sizes, &self.numbers);
        let Some(fits) = inside(site.trace, self.indices, self.numbers.index_vector_dim, &lasts)? else {
            return Ok(read);
        };
        let mut dims = vec![1; self.side.len()];
        for axis in self.numbers.batch_axes(self.side.len()) {
            dims[axis] = self.side[axis];
        }
        let fits = reshape(site.trace, fits, &dims)?;
        kept(site, fits, read)
    }

    /// Records, for each element of the updates, whether it is the one that the array contains in the end. Scatters the
    /// positions of the updates in place of their values: an update wins if its position is read back.
    fn winners(&self, site: &mut Site) -> Result<NodeId> {
        let count: i64 = self.side.iter().product();
        let dtype = places_dtype(count);
        let numbers = iota(site.trace, &TensorType::new(dtype, &[count]), 0)?;
        let numbers = reshape(site.trace, numbers, &self.side)?;
        let none = full(site.trace, &TensorType { dtype, dims: self.ty.dims.clone() }, ScalarValue::Signed(-1))?;
        let written = self.replaced(site, none, numbers)?;
        let found = self.read(site, written)?;
        compare(site.trace, CompareOp::Eq, found, numbers)
    }

    fn require_unique(&self) -> Result<()> {
        if self.hints.unique { Ok(()) } else { Err(product_of_several()) }
    }

    /// Records which elements of the array and of the updates tie for the extreme (equal to the result, or NaN), and
    /// their number for each element of the result: at least 1, in the dtype of sums. Ties share the derivative evenly.
    fn ties(&self, site: &mut Site) -> Result<Ties> {
        let result = site.results[self.array].expect("a result with a tangent or cotangent");
        let array = equal_or_nan(site.trace, self.x, result)?;
        let reached = self.read(site, result)?;
        let update = equal_or_nan(site.trace, self.updates, reached)?;
        let wide = sum_dtype(self.ty.dtype);
        let (ones, more) = (convert(site.trace, array, wide), convert(site.trace, update, wide));
        let count = self.added(site, ones, more)?;
        // XLA may flush a denormal result to 0, to which no element is equal. So the number is at least 1.
        let count = binary_scalar(site.trace, BinaryOp::Maximum, count, ScalarValue::Signed(1), false)?;
        Ok(Ties { array, update, count })
    }

    fn jvp(&self, site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Option<NodeId>> {
        let (of_x, of_updates) = (tangents[self.array], tangents[self.update]);
        if of_x.is_none() && of_updates.is_none() {
            return Ok(None);
        }
        match (self.combiner, of_updates) {
            (Combiner::Add, None) => Ok(of_x),
            (Combiner::Add, Some(of_updates)) => {
                let of_x = tangent_or_zeros(site, self.array, of_x)?;
                self.added(site, of_x, of_updates).map(Some)
            }
            (Combiner::Replace, _) => {
                let of_x = tangent_or_zeros(site, self.array, of_x)?;
                let of_updates = tangent_or_zeros(site, self.update, of_updates)?;
                self.replaced(site, of_x, of_updates).map(Some)
            }
            (Combiner::Multiply, _) => {
                let by_x = match of_x {
                    Some(of_x) => Some(self.multiplied(site, of_x, self.updates)?),
                    None => None,
                };
                let Some(of_updates) = of_updates else { return Ok(by_x) };
                self.require_unique()?;
                let empty = zeros(site.trace, &self.ty)?;
                let spread = self.added(site, empty, of_updates)?;
                let by_updates = binary(site.trace, BinaryOp::Multiply, spread, self.x)?;
                add_tangents(site.trace, by_x, Some(by_updates))
            }
            (Combiner::Extreme, _) => {
                let ties = self.ties(site)?;
                let mut tangent = match of_x {
                    Some(of_x) => kept(site, ties.array, of_x)?,
                    None => zeros(site.trace, &self.ty)?,
                };
                if let Some(of_updates) = of_updates {
                    let of_updates = kept(site, ties.update, of_updates)?;
                    tangent = self.added(site, tangent, of_updates)?;
                }
                ties.shared(site, tangent).map(Some)
            }
        }
    }

    /// Cotangents of the array and of the updates.
    fn vjp(&self, site: &mut Site, cotangent: NodeId, wanted: [bool; 2]) -> Result<[Option<NodeId>; 2]> {
        let [array, update] = wanted;
        let mut made = [None; 2];
        match self.combiner {
            Combiner::Add => {
                made[0] = Some(cotangent);
                if update {
                    made[1] = Some(self.read_within(site, cotangent)?);
                }
            }
            Combiner::Replace => {
                if array {
                    let empty = zeros(site.trace, &self.side_ty())?;
                    made[0] = Some(self.replaced(site, cotangent, empty)?);
                }
                if update && self.hints.unique {
                    made[1] = Some(self.read_within(site, cotangent)?);
                } else if update {
                    let (winners, read) = (self.winners(site)?, self.read(site, cotangent)?);
                    made[1] = Some(kept(site, winners, read)?);
                }
            }
            Combiner::Multiply => {
                if array {
                    made[0] = Some(self.multiplied(site, cotangent, self.updates)?);
                }
                if update {
                    self.require_unique()?;
                    let product = binary(site.trace, BinaryOp::Multiply, cotangent, self.x)?;
                    made[1] = Some(self.read_within(site, product)?);
                }
            }
            Combiner::Extreme => {
                let ties = self.ties(site)?;
                let shared = ties.shared(site, cotangent)?;
                if array {
                    made[0] = Some(kept(site, ties.array, shared)?);
                }
                if update {
                    let read = self.read_within(site, shared)?;
                    made[1] = Some(kept(site, ties.update, read)?);
                }
            }
        }
        Ok(made)
    }
}

/// Elements that tie for the largest or smallest, and their number.
struct Ties {
    /// Mask in the shape of the array.
    array: NodeId,
    /// Mask in the shape of the updates.
    update: NodeId,
    /// Number of tied elements for each element of the result.
    count: NodeId,
}

impl Ties {
    /// Records `x`, in the shape of the result, divided by the numbers of tied elements.
    fn shared(&self, site: &mut Site, x: NodeId) -> Result<NodeId> {
        let (dtype, wide) = (site.trace.node(x).dtype, site.trace.node(self.count).dtype);
        let x = convert(site.trace, x, wide);
        let shared = binary(site.trace, BinaryOp::Divide, x, self.count)?;
        Ok(convert(site.trace, shared, dtype))
    }
}

/// Records `x` where the pred is true, and 0 elsewhere.
fn kept(site: &mut Site, pred: NodeId, x: NodeId) -> Result<NodeId> {
    let scalar = TensorType::new(site.trace.node(x).dtype, &[]);
    let zero = zeros(site.trace, &scalar)?;
    select(site.trace, pred, x, zero)
}

fn product_of_several() -> Error {
    no_derivative("scatter with the combiner multiply, by its updates and without unique_indices,")
}

/// Tangents of the results that are used.
pub fn jvp(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Forward> {
    let mut made = no_tangents(site, tangents)?;
    for number in 0..made.tangents.len() {
        if site.results[number].is_some_and(|result| is_differentiable(site.trace.node(result).dtype)) {
            made.tangents[number] = Part::new(site, number)?.jvp(site, tangents)?;
        }
    }
    Ok(made)
}

/// Cotangents of the arrays and updates.
pub fn vjp(site: &mut Site, cotangents: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    let mut gradients = vec![None; wanted.len()];
    for (number, cotangent) in cotangents.iter().enumerate() {
        let Some(cotangent) = *cotangent else { continue };
        let part = Part::new(site, number)?;
        let (array, update) = (part.array, part.update);
        if wanted[array] || wanted[update] {
            [gradients[array], gradients[update]] = part.vjp(site, cotangent, [wanted[array], wanted[update]])?;
        }
    }
    Ok(gradients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;

    #[test]
    fn combiners_are_recognized() {
        let of = |op| combiner(&bodies::combine(op, DType::F32).unwrap(), 0);
        assert_eq!(of(BinaryOp::Add).unwrap(), Combiner::Add);
        assert_eq!(of(BinaryOp::Minimum).unwrap(), Combiner::Extreme);
        assert_eq!(combiner(&bodies::replace(DType::F32).unwrap(), 0).unwrap(), Combiner::Replace);
        assert!(of(BinaryOp::Subtract).unwrap_err().message.contains("scatter with the combiner subtract"));
    }
}
