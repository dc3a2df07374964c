//! Tensors of a graph. A view reads its base and writes through to it: PyTorch's programs change tensors by in-place
//! operations on views of views, where values of this library never change.

use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{NodeId, Trace};
use ops::control::stop_gradient;
use ops::creation::{full, iota};
use ops::elementwise::formula::record;
use ops::elementwise::{complex, convert, imag, real};
use ops::indexing::{dynamic_slice, dynamic_update_slice, slice_assign, take};
use ops::shape::{broadcast_to, reshape, slice, stack, transpose};

/// A tensor of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorId(usize);

/// How a view is computed from its base.
#[derive(Clone, Debug)]
pub enum View {
    /// The base itself.
    Alias,
    /// The base, through which no gradient passes.
    Detached,
    /// The base in another shape.
    Reshaped(Vec<i64>),
    /// The base with its axes in another order.
    Transposed(Vec<i64>),
    /// Every `step`-th element from `start` to before `stop` of an axis.
    Sliced { axis: usize, start: i64, stop: i64, step: i64 },
    /// One element of an axis, without the axis.
    Selected { axis: usize, index: i64 },
    /// `size` elements of an axis from a computed start, without the axis unless `keeps_axis`.
    Part { axis: usize, start: NodeId, size: i64, keeps_axis: bool },
    /// The base, broadcast.
    Expanded(Vec<i64>),
    /// Windows of `size` elements along an axis, `step` apart, as a new last axis.
    Unfolded { axis: usize, size: i64, step: i64 },
    /// Pairs of real numbers on the last axis, as complex numbers.
    Complex,
    /// Complex numbers, as pairs of real numbers on a new last axis.
    Real,
}

enum Place {
    /// A tensor of its own: its value, and how often it was written.
    Base {
        node: NodeId,
        writes: u64,
    },
    View {
        base: TensorId,
        view: View,
        sight: Sight,
    },
}

/// Whether a tensor is a view for certain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// A view.
    Certain,
    /// A view or a copy, which depends on strides that are not known (`reshape`). Both are the same as long as neither
    /// it nor its base is written.
    Uncertain,
}

struct Entry {
    place: Place,
    /// Of a view, the number of writes of its base at which it was read last, with its node.
    read: Option<(u64, NodeId)>,
    /// Of an uncertain view, the number of writes of its base when it was made.
    made_at: u64,
}

/// Tensors of a graph.
#[derive(Default)]
pub struct Tensors(Vec<Entry>);

impl Tensors {
    /// Adds a tensor of its own.
    pub fn base(&mut self, node: NodeId) -> TensorId {
        self.0.push(Entry { place: Place::Base { node, writes: 0 }, read: None, made_at: 0 });
        TensorId(self.0.len() - 1)
    }

    /// Adds a view.
    pub fn view(&mut self, base: TensorId, view: View, sight: Sight) -> TensorId {
        let made_at = self.writes(base);
        self.0.push(Entry { place: Place::View { base, view, sight }, read: None, made_at });
        TensorId(self.0.len() - 1)
    }

    /// How often the base of a tensor was written.
    pub fn writes(&self, mut id: TensorId) -> u64 {
        loop {
            match &self.0[id.0].place {
                Place::Base { writes, .. } => return *writes,
                Place::View { base, .. } => id = *base,
            }
        }
    }

    /// Records what a tensor is now.
    pub fn read(&mut self, trace: &mut Trace, id: TensorId) -> Result<NodeId> {
        // The way to the base, or to a view that was read since the last write.
        let writes = self.writes(id);
        let (mut way, mut at) = (Vec::new(), id);
        let mut node = loop {
            let entry = &self.0[at.0];
            match (&entry.place, entry.read) {
                (Place::Base { node, .. }, _) => break *node,
                (Place::View { sight: Sight::Uncertain, .. }, _) if entry.made_at != writes => {
                    return Err(unsure("read"));
                }
                (_, Some((read_at, node))) if read_at == writes => break node,
                (Place::View { base, .. }, _) => {
                    way.push(at);
                    at = *base;
                }
            }
        };
        for id in way.into_iter().rev() {
            let Place::View { view, .. } = &self.0[id.0].place else { continue };
            node = view.of(trace, node)?;
            self.0[id.0].read = Some((writes, node));
        }
        Ok(node)
    }

    /// Writes a tensor: through a view to its base. The value is converted to the dtype of the tensor.
    pub fn write(&mut self, trace: &mut Trace, id: TensorId, value: NodeId) -> Result<()> {
        let (mut at, mut value) = (id, value);
        loop {
            let (base, view) = match &mut self.0[at.0].place {
                Place::Base { node, writes } => {
                    let (old, new) = (trace.ty(*node), trace.ty(value));
                    if old.dims != new.dims {
                        return Err(error!(InvalidArgument, "it writes {new} to a tensor of {old}"));
                    }
                    *node = convert(trace, value, old.dtype);
                    *writes += 1;
                    return Ok(());
                }
                Place::View { sight: Sight::Uncertain, .. } => return Err(unsure("written")),
                Place::View { base, view, .. } => (*base, view.clone()),
            };
            let old = self.read(trace, base)?;
            value = view.put(trace, old, value)?;
            at = base;
        }
    }
}

fn unsure(what: &str) -> error::Error {
    error!(
        Unimplemented,
        "a tensor is {what} after a write, and is a view of the written tensor or a copy depending on its strides: \
         write .clone() or .view() in the model"
    )
}

impl View {
    /// Records the view of a base.
    fn of(&self, trace: &mut Trace, base: NodeId) -> Result<NodeId> {
        match self {
            View::Alias => Ok(base),
            View::Detached => stop_gradient(trace, base),
            View::Reshaped(dims) => reshape(trace, base, dims),
            View::Transposed(axes) => transpose(trace, base, axes),
            View::Expanded(dims) => broadcast_to(trace, base, dims),
            View::Sliced { axis, start, stop, step } => {
                let (starts, limits, steps) = window(trace, base, *axis, *start, *stop, *step);
                slice(trace, base, &starts, &limits, &steps)
            }
            View::Selected { axis, index } => {
                let (starts, limits, steps) = window(trace, base, *axis, *index, index + 1, 1);
                let row = slice(trace, base, &starts, &limits, &steps)?;
                let mut dims = trace.ty(base).dims.to_vec();
                dims.remove(*axis);
                reshape(trace, row, &dims)
            }
            View::Part { axis, start, size, keeps_axis } => {
                let mut sizes = trace.ty(base).dims.to_vec();
                sizes[*axis] = *size;
                let starts = starts_of(trace, sizes.len(), *axis, *start)?;
                let part = dynamic_slice(trace, base, &starts, &sizes)?;
                if *keeps_axis {
                    return Ok(part);
                }
                sizes.remove(*axis);
                reshape(trace, part, &sizes)
            }
            View::Unfolded { axis, size, step } => unfolded(trace, base, *axis, *size, *step),
            View::Complex => {
                let [re, im] = [0, 1].map(|part| View::Selected { axis: trace.ty(base).dims.len() - 1, index: part });
                let (re, im) = (re.of(trace, base)?, im.of(trace, base)?);
                complex(trace, re, im)
            }
            View::Real => {
                let (re, im) = (real(trace, base)?, imag(trace, base)?);
                stack(trace, &[re, im], -1)
            }
        }
    }

    /// Records a base whose view has a new value.
    pub fn put(&self, trace: &mut Trace, base: NodeId, value: NodeId) -> Result<NodeId> {
        let ty = trace.ty(base);
        let own = match self {
            View::Complex if ty.dtype == DType::F64 => DType::C128,
            View::Complex => DType::C64,
            View::Real => ty.dtype.real(),
            _ => ty.dtype,
        };
        let value = convert(trace, value, own);
        match self {
            View::Alias | View::Detached => Ok(value),
            View::Reshaped(_) => reshape(trace, value, &ty.dims),
            View::Transposed(axes) => {
                let place = |axis: i64| axes.iter().position(|&other| other == axis).unwrap_or(0) as i64;
                let inverse: Vec<i64> = (0..axes.len() as i64).map(place).collect();
                transpose(trace, value, &inverse)
            }
            View::Expanded(_) => Err(error!(Unimplemented, "a write to a tensor that is broadcast by expand")),
            View::Sliced { axis, start, stop, step } => {
                if start >= stop {
                    return Ok(base);
                }
                let (starts, limits, steps) = window(trace, base, *axis, *start, *stop, *step);
                slice_assign(trace, base, &starts, &limits, &steps, value)
            }
            View::Selected { axis, index } => {
                let (starts, limits, steps) = window(trace, base, *axis, *index, index + 1, 1);
                let mut dims = ty.dims.to_vec();
                dims[*axis] = 1;
                let row = reshape(trace, value, &dims)?;
                slice_assign(trace, base, &starts, &limits, &steps, row)
            }
            View::Part { axis, start, size, .. } => {
                let mut dims = ty.dims.to_vec();
                dims[*axis] = *size;
                let part = reshape(trace, value, &dims)?;
                let starts = starts_of(trace, dims.len(), *axis, *start)?;
                dynamic_update_slice(trace, base, part, &starts)
            }
            View::Unfolded { .. } => Err(error!(Unimplemented, "a write to windows that unfold made")),
            View::Complex => View::Real.of(trace, value),
            View::Real => View::Complex.of(trace, value),
        }
    }
}

/// The starts of a part of an array: `start` on an axis, 0 on the others.
fn starts_of(trace: &mut Trace, rank: usize, axis: usize, start: NodeId) -> Result<Vec<NodeId>> {
    let zero = full(trace, &TensorType::new(trace.node(start).dtype, &[]), ScalarValue::Signed(0))?;
    Ok((0..rank).map(|other| if other == axis { start } else { zero }).collect())
}

/// Records windows of `size` elements along an axis, as a new last axis.
fn unfolded(trace: &mut Trace, base: NodeId, axis: usize, size: i64, step: i64) -> Result<NodeId> {
    let dims = trace.ty(base).dims;
    let ty = TensorType::new(DType::S64, &[(dims[axis] - size) / step + 1, size]);
    let (window, place) = (iota(trace, &ty, 0)?, iota(trace, &ty, 1)?);
    let places = record(trace, [window, place], |[window, place]| window * step + place)?;
    let taken = take(trace, base, places, axis as i64)?;
    let rank = dims.len() as i64 + 1;
    let inner = axis as i64 + 1;
    let order: Vec<i64> = (0..rank).filter(|&other| other != inner).chain([inner]).collect();
    transpose(trace, taken, &order)
}

/// The starts, limits and strides of a slice along one axis.
fn window(trace: &Trace, x: NodeId, axis: usize, start: i64, stop: i64, step: i64) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let mut limits = trace.ty(x).dims.to_vec();
    let (mut starts, mut steps) = (vec![0; limits.len()], vec![1; limits.len()]);
    (starts[axis], limits[axis], steps[axis]) = (start, stop.max(start), step);
    (starts, limits, steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::take_closed_body;
    use native::Array;
    use ops::elementwise::binary_scalar;

    /// The elements of a node that depends on nothing.
    fn elements(trace: &Trace, node: NodeId) -> Vec<i64> {
        let body = take_closed_body(trace, &[], &[], &[node]).unwrap();
        let made: Vec<Array> = lowering::interpret::run(body.program(), body.scalars(), &[]).unwrap();
        made[0].elements::<i64>().to_vec()
    }

    fn counted(trace: &mut Trace, tensors: &mut Tensors, dims: &[i64]) -> TensorId {
        let count = dims.iter().product();
        let flat = iota(trace, &TensorType::new(DType::S64, &[count]), 0).unwrap();
        let node = reshape(trace, flat, dims).unwrap();
        tensors.base(node)
    }

    fn negated(trace: &mut Trace, tensors: &mut Tensors, id: TensorId) {
        let node = tensors.read(trace, id).unwrap();
        let minus = binary_scalar(trace, ir::BinaryOp::Multiply, node, ScalarValue::Signed(-1), false).unwrap();
        tensors.write(trace, id, minus).unwrap();
    }

    #[test]
    fn writes_go_through_views_of_views() {
        let (mut trace, mut tensors) = (Trace::new(), Tensors::default());
        let base = counted(&mut trace, &mut tensors, &[2, 3]);
        let turned = tensors.view(base, View::Transposed(vec![1, 0]), Sight::Certain);
        let part = tensors.view(turned, View::Sliced { axis: 0, start: 0, stop: 3, step: 2 }, Sight::Certain);
        let row = tensors.view(part, View::Selected { axis: 1, index: 1 }, Sight::Certain);
        let flat = tensors.view(base, View::Reshaped(vec![6]), Sight::Certain);
        negated(&mut trace, &mut tensors, row);
        let read = tensors.read(&mut trace, flat).unwrap();
        assert_eq!(elements(&trace, read), [0, 1, 2, -3, 4, -5]);
        negated(&mut trace, &mut tensors, flat);
        let read = tensors.read(&mut trace, row).unwrap();
        assert_eq!(elements(&trace, read), [3, 5]);
        assert_eq!(tensors.writes(row), 2);
    }

    #[test]
    fn a_view_is_recorded_once_between_writes() {
        let (mut trace, mut tensors) = (Trace::new(), Tensors::default());
        let base = counted(&mut trace, &mut tensors, &[2, 3]);
        let turned = tensors.view(base, View::Transposed(vec![1, 0]), Sight::Certain);
        let first = tensors.read(&mut trace, turned).unwrap();
        assert_eq!(tensors.read(&mut trace, turned).unwrap(), first);
        negated(&mut trace, &mut tensors, base);
        assert_ne!(tensors.read(&mut trace, turned).unwrap(), first);
    }

    #[test]
    fn what_may_be_a_copy_is_neither_written_nor_read_after_a_write() {
        let (mut trace, mut tensors) = (Trace::new(), Tensors::default());
        let base = counted(&mut trace, &mut tensors, &[2, 3]);
        let unsure = tensors.view(base, View::Reshaped(vec![6]), Sight::Uncertain);
        let node = tensors.read(&mut trace, unsure).unwrap();
        assert!(tensors.write(&mut trace, unsure, node).unwrap_err().message.contains("depending on its strides"));
        negated(&mut trace, &mut tensors, base);
        assert!(tensors.read(&mut trace, unsure).is_err());
        let expanded = tensors.view(base, View::Expanded(vec![4, 2, 3]), Sight::Certain);
        let node = tensors.read(&mut trace, expanded).unwrap();
        assert!(tensors.write(&mut trace, expanded, node).unwrap_err().message.contains("expand"));
    }
}
