//! Random computations that the devices of a mesh apply to their pieces, with collectives (`shard_map`). Each is
//! recorded a second time for one device, which computes the values of all devices of the mesh by slices and
//! concatenations. Both have the same values, derivatives and batches.

use crate::common::{Random, number};
use crate::devices::{Devices, random_sharding};
use crate::meshes::MESHES;
use crate::programs::f64s;
use crate::{all, gradient};
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, Body, NodeId, ReduceOp, Trace, UnaryOp, take_closed_body};
use lowering::transform::{self, Checkpoint, Transformer};
use mesh::{MeshAxes, Sharding, Split};
use ops::control::Applied;
use ops::{creation, elementwise, reduction, shape};
use std::sync::Arc;

/// Shapes of pieces.
const PIECES: [&[i64]; 6] = [&[], &[6], &[4], &[2, 3], &[4, 2], &[3, 4]];
/// Maximum number of elements of a value.
const MOST_ELEMENTS: i64 = 96;

/// A value: in the body, and of each device in the computation for one device, by position.
type Value = (NodeId, Vec<NodeId>);

/// Records a computation twice.
struct Maker<'a> {
    random: &'a mut Random,
    axes: &'a MeshAxes,
    /// The body that every device applies.
    body: Trace,
    /// The computation for one device.
    plain: Trace,
    pool: Vec<Value>,
}

/// A computation on a mesh, and the same for one device.
struct Pair {
    mapped: Arc<Body>,
    plain: Arc<Body>,
}

/// Returns a random computation of one to three arrays, and of a scalar that its body captures.
fn pair(random: &mut Random, axes: &MeshAxes) -> Pair {
    let (body, plain) = (Trace::new(), Trace::new());
    let mut maker = Maker { random, axes, body, plain, pool: Vec::new() };
    let (mut outer, mut inner, mut wholes, mut inputs) = (Trace::new(), Vec::new(), Vec::new(), Vec::new());
    let mut arguments = Vec::new();
    for _ in 0..1 + maker.random.below(3) {
        let (piece, whole, sharding) = maker.parameter();
        arguments.push(outer.parameter(maker.plain.ty(whole)));
        inner.push(piece);
        wholes.push(whole);
        inputs.push(sharding);
    }
    let (captured, whole) = (maker.body.parameter(f64s(&[])), maker.plain.parameter(f64s(&[])));
    maker.pool.push((captured, vec![whole; axes.device_count()]));
    wholes.push(whole);
    for _ in 0..3 + maker.random.below(6) {
        maker.grow();
    }
    let (mut results, mut plain_results, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    for i in (0..maker.pool.len()).rev().take(3) {
        let (result, whole, sharding) = if maker.random.coin() { maker.rows(i) } else { maker.summed(i) };
        results.push(result);
        plain_results.push(whole);
        outputs.push(sharding);
    }
    let body = take_closed_body(&maker.body, &inner, &[captured], &results).unwrap();
    let capture = outer.parameter(f64s(&[]));
    let applied = Applied { body: &body, captures: &[capture] };
    let made = ops::mesh::shard_map(&mut outer, &applied, axes, &inputs, &arguments, &outputs).unwrap();
    Pair {
        mapped: take_closed_body(&outer, &[&arguments[..], &[capture]].concat(), &[], &made).unwrap(),
        plain: take_closed_body(&maker.plain, &wholes, &[], &plain_results).unwrap(),
    }
}

impl Maker<'_> {
    /// Adds a parameter that is split at random. Returns its piece, the whole and the sharding.
    fn parameter(&mut self) -> (NodeId, NodeId, Sharding) {
        let dims = PIECES[self.random.below(PIECES.len())];
        let mut splits = vec![Split::new(); dims.len()];
        for number in 0..self.axes.axes().len() {
            if let Some(split) = splits.get_mut(self.random.below(dims.len() + 1)) {
                split.push(number as u8);
            }
        }
        let sharding = Sharding::new(splits);
        let sizes = dims.iter().zip(sharding.pieces(self.axes)).map(|(&dim, pieces)| dim * pieces as i64);
        let whole = self.plain.parameter(f64s(&sizes.collect::<Vec<i64>>()));
        let piece = self.body.parameter(f64s(dims));
        let mut pieces = Vec::new();
        for position in 0..self.axes.device_count() {
            let starts = sharding.offsets(self.axes, position, dims);
            let limits: Vec<i64> = starts.iter().zip(dims).map(|(start, dim)| start + dim).collect();
            pieces.push(shape::slice(&mut self.plain, whole, &starts, &limits, &vec![1; dims.len()]).unwrap());
        }
        self.pool.push((piece, pieces));
        (piece, whole, sharding)
    }

    fn dims(&self, i: usize) -> Vec<i64> {
        self.body.ty(self.pool[i].0).dims.to_vec()
    }

    /// Adds the result of an operation that every device applies to its own values.
    fn local(&mut self, operands: &[usize], record: impl Fn(&mut Trace, &[NodeId]) -> NodeId) {
        let of_body: Vec<NodeId> = operands.iter().map(|&i| self.pool[i].0).collect();
        let result = record(&mut self.body, &of_body);
        let mut each = Vec::new();
        for position in 0..self.axes.device_count() {
            let own: Vec<NodeId> = operands.iter().map(|&i| self.pool[i].1[position]).collect();
            each.push(record(&mut self.plain, &own));
        }
        self.pool.push((result, each));
    }

    /// Adds the result of a collective. `combine` records what the devices of a group get from their values.
    fn collective(
        &mut self,
        result: NodeId,
        i: usize,
        over: &[usize],
        mut combine: impl FnMut(&mut Trace, &[NodeId]) -> Vec<NodeId>,
    ) {
        let mut each = self.pool[i].1.clone();
        for group in self.axes.groups(over) {
            let values: Vec<NodeId> = group.iter().map(|&position| self.pool[i].1[position]).collect();
            for (&position, made) in group.iter().zip(combine(&mut self.plain, &values)) {
                each[position] = made;
            }
        }
        self.pool.push((result, each));
    }

    /// Some axes of the mesh, in any order.
    fn over(&mut self) -> Vec<usize> {
        let mut rest: Vec<usize> = (0..self.axes.axes().len()).collect();
        let mut over = Vec::new();
        for _ in 0..1 + self.random.below(rest.len()) {
            over.push(rest.remove(self.random.below(rest.len())));
        }
        over
    }

    /// Records one random operation, unless it does not fit the value that is drawn.
    fn grow(&mut self) {
        let i = self.random.below(self.pool.len());
        let dims = self.dims(i);
        let over = self.over();
        let group = self.axes.size_of(&over) as i64;
        let axis = self.random.below(dims.len().max(1));
        match self.random.below(12) {
            0 => self.local(&[i], |t, x| elementwise::unary(t, UnaryOp::Sine, x[0]).unwrap()),
            1..=3 => self.binary(i),
            4 if !dims.is_empty() => {
                self.local(&[i], |t, x| reduction::reduce(t, ReduceOp::Sum, x[0], &[axis as i64], false).unwrap());
            }
            5 | 6 => self.all_reduce(i, &over),
            7 if !dims.is_empty() && dims.iter().product::<i64>() * group <= MOST_ELEMENTS => {
                self.all_gather(i, &over, axis as i64);
            }
            8 if !dims.is_empty() && dims[axis] % group == 0 => self.reduce_scatter(i, &over, axis as i64),
            9 if !dims.is_empty() && dims[axis] % group == 0 => {
                let to = self.random.below(dims.len());
                self.all_to_all(i, &over, axis as i64, to as i64);
            }
            10 => self.permute(i, over[0]),
            11 => self.with_index(i, &over),
            _ => self.local(&[i], |t, x| elementwise::unary(t, UnaryOp::Tanh, x[0]).unwrap()),
        }
    }

    /// Combines a value with one of the same shape, or with a scalar.
    fn binary(&mut self, i: usize) {
        let dims = self.dims(i);
        let fits = |&k: &usize| {
            let other = self.dims(k);
            other.is_empty() || other == dims
        };
        let fitting: Vec<usize> = (0..self.pool.len()).filter(fits).collect();
        let other = fitting[self.random.below(fitting.len())];
        let op = [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply][self.random.below(3)];
        self.local(&[i, other], |t, x| {
            let made = elementwise::binary(t, op, x[0], x[1]).unwrap();
            elementwise::unary(t, UnaryOp::Tanh, made).unwrap()
        });
    }

    fn all_reduce(&mut self, i: usize, over: &[usize]) {
        let op = [ReduceOp::Sum, ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min][self.random.below(4)];
        let result = ops::mesh::all_reduce(&mut self.body, op, self.pool[i].0, self.axes, over).unwrap();
        self.collective(result, i, over, |t, values| vec![reduced(t, op, values); values.len()]);
    }

    fn all_gather(&mut self, i: usize, over: &[usize], axis: i64) {
        let result = ops::mesh::all_gather(&mut self.body, self.pool[i].0, self.axes, over, axis).unwrap();
        self.collective(result, i, over, |t, values| vec![shape::concatenate(t, values, axis).unwrap(); values.len()]);
    }

    fn reduce_scatter(&mut self, i: usize, over: &[usize], axis: i64) {
        let result =
            ops::mesh::reduce_scatter(&mut self.body, ReduceOp::Sum, self.pool[i].0, self.axes, over, axis).unwrap();
        self.collective(result, i, over, |t, values| {
            let sum = reduced(t, ReduceOp::Sum, values);
            (0..values.len()).map(|k| part(t, sum, axis, k, values.len())).collect()
        });
    }

    fn all_to_all(&mut self, i: usize, over: &[usize], split: i64, concat: i64) {
        let result = ops::mesh::all_to_all(&mut self.body, self.pool[i].0, self.axes, over, split, concat).unwrap();
        self.collective(result, i, over, |t, values| {
            let mut made = Vec::new();
            for k in 0..values.len() {
                let parts: Vec<NodeId> = values.iter().map(|&value| part(t, value, split, k, values.len())).collect();
                made.push(shape::concatenate(t, &parts, concat).unwrap());
            }
            made
        });
    }

    /// Moves values along an axis of the mesh: to the next device but for some, or between two devices.
    fn permute(&mut self, i: usize, axis: usize) {
        let size = self.axes.axes()[axis].size as i64;
        let step = 1 + self.random.below(size as usize - 1) as i64;
        let count = 1 + self.random.below(size as usize) as i64;
        let pairs: Vec<(i64, i64)> = (0..count).map(|source| (source, (source + step) % size)).collect();
        let result = ops::mesh::collective_permute(&mut self.body, self.pool[i].0, self.axes, axis, &pairs).unwrap();
        self.collective(result, i, &[axis], |t, values| {
            let ty = t.ty(values[0]);
            let zeros = creation::full(t, &ty, ScalarValue::Float(0.0)).unwrap();
            let mut made = vec![zeros; values.len()];
            for &(source, target) in &pairs {
                made[target as usize] = values[source as usize];
            }
            made
        });
    }

    /// Adds the position of the device along axes of the mesh to a value.
    fn with_index(&mut self, i: usize, over: &[usize]) {
        let index = ops::mesh::axis_index(&mut self.body, self.axes, over).unwrap();
        let index = elementwise::convert(&mut self.body, index, DType::F64);
        let result = elementwise::binary(&mut self.body, BinaryOp::Add, self.pool[i].0, index).unwrap();
        self.collective(result, i, over, |t, values| {
            let sum = |(k, &value): (usize, &NodeId)| {
                elementwise::binary_scalar(t, BinaryOp::Add, value, ScalarValue::Float(k as f64), false).unwrap()
            };
            values.iter().enumerate().map(sum).collect()
        });
    }

    /// Returns a value as a result: an array with one row for each device.
    fn rows(&mut self, i: usize) -> (NodeId, NodeId, Sharding) {
        let row = [&[1], &self.dims(i)[..]].concat();
        let (own, each) = self.pool[i].clone();
        let result = shape::reshape(&mut self.body, own, &row).unwrap();
        let whole = shape::stack(&mut self.plain, &each, 0).unwrap();
        let mut splits = vec![Split::new(); row.len()];
        splits[0].extend(0..self.axes.axes().len() as u8);
        (result, whole, Sharding::new(splits))
    }

    /// Returns a value as a result whose pieces are summed over the devices that hold the same piece.
    fn summed(&mut self, i: usize) -> (NodeId, NodeId, Sharding) {
        let dims = self.dims(i);
        // A random sharding of what is large enough for any.
        let sharding = random_sharding(self.random, self.axes, &vec![self.axes.device_count() as i64; dims.len()]);
        let is_split = |axis: usize| sharding.splits().iter().flatten().any(|&used| usize::from(used) == axis);
        let over: Vec<usize> = (0..self.axes.axes().len()).filter(|&axis| !is_split(axis)).collect();
        let result = ops::mesh::all_reduce(&mut self.body, ReduceOp::Sum, self.pool[i].0, self.axes, &over).unwrap();
        let pieces: Vec<i64> = sharding.pieces(self.axes).iter().map(|&count| count as i64).collect();
        let mut whole = None;
        for group in self.axes.groups(&over) {
            let values: Vec<NodeId> = group.iter().map(|&position| self.pool[i].1[position]).collect();
            let t = &mut self.plain;
            let sum = reduced(t, ReduceOp::Sum, &values);
            let low = sharding.offsets(self.axes, group[0], &dims);
            let high: Vec<i64> = (0..dims.len()).map(|axis| dims[axis] * (pieces[axis] - 1) - low[axis]).collect();
            let none = vec![0; dims.len()];
            let padded = shape::pad_scalar(t, sum, ScalarValue::Float(0.0), &low, &high, &none).unwrap();
            whole = Some(match whole {
                Some(others) => elementwise::binary(t, BinaryOp::Add, others, padded).unwrap(),
                None => padded,
            });
        }
        (result, whole.expect("a mesh has a device"), sharding)
    }
}

/// Records the reduction of several values.
fn reduced(t: &mut Trace, op: ReduceOp, values: &[NodeId]) -> NodeId {
    let stacked = shape::stack(t, values, 0).unwrap();
    reduction::reduce(t, op, stacked, &[0], false).unwrap()
}

/// Records one of `count` equal parts of a value along an axis.
fn part(t: &mut Trace, x: NodeId, axis: i64, k: usize, count: usize) -> NodeId {
    let mut limits = t.ty(x).dims.to_vec();
    let mut starts = vec![0; limits.len()];
    let (axis, strides) = (axis as usize, vec![1; limits.len()]);
    let size = limits[axis] / count as i64;
    starts[axis] = k as i64 * size;
    limits[axis] = starts[axis] + size;
    shape::slice(t, x, &starts, &limits, &strides).unwrap()
}

/// Types of the parameters and results.
fn types(body: &Body) -> (Vec<TensorType>, Vec<TensorType>) {
    (body.parameters().to_vec(), body.results().to_vec())
}

#[test]
fn shard_maps_agree_with_one_device() {
    let devices = Devices::start(&MESHES);
    let first = number("LXLA_TRANSFORM_SEED", 0);
    for seed in first..first + number("LXLA_TRANSFORM_MESH_PROGRAMS", 10) {
        let mut random = Random(seed << 8 | 4);
        let mesh = devices.any(&mut random);
        let Pair { mapped, plain } = pair(&mut random, &mesh.axes);
        let [jvps, gradients] = [
            [&mapped, &plain]
                .map(|body| transform::jvp(&Transformer::default(), body, &all(body.parameters())).unwrap()),
            [&mapped, &plain].map(|body| gradient(body, Checkpoint::SaveAll)),
        ];
        let batches = [0, 1].map(|i| {
            let body = &gradients[i];
            let (axes, out) = (vec![0; body.parameters().len()], vec![0; body.results().len()]);
            transform::batched(&Transformer::default(), body, &axes, &out, 2).unwrap()
        });
        for (what, [mapped, plain]) in [("jvp", &jvps), ("the gradient", &gradients), ("its vmap", &batches)] {
            assert_eq!(types(mapped), types(plain), "{what} of seed {seed}");
            devices.check(&format!("{what} of seed {seed}"), mesh, mapped, &mut random, plain);
        }
    }
}
