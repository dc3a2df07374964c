//! One program, run twice: at once on native tensors, without any of the lazy machinery, and lazily. Both have to agree in
//! every value that is read, and in every error.

use super::action::Action;
use lazyxla::device::{self, Device, TensorHandle};
use lazyxla::env::{DeviceKind, Environment};
use lazyxla::error::Result;
use lazyxla::ir::{BinaryOp, CompareOp, ReduceOp, UnaryOp};
use lazyxla::types::{DType, Kind, ScalarValue, TensorType};
use lazyxla::{sync, tensor};
use std::path::PathBuf;

const DTYPES: [DType; 5] = [DType::S32, DType::F32, DType::S8, DType::Pred, DType::U64];
const SHAPES: [&[i64]; 9] = [&[], &[1], &[4], &[2, 2], &[4, 1], &[0], &[3], &[2, 3], &[2, 1, 4]];
/// Floats stay below this, so that every sum and product is exact, in whichever order.
pub const MOST: f64 = (1u64 << 22) as f64;
/// The most tensors that are alive at once, and their most elements.
const MOST_TENSORS: usize = 12;
const MOST_ELEMENTS: usize = 256;
const MOST_LENT: usize = 4;

/// What came of it; in words, where the worlds differ.
pub type Outcome = std::result::Result<(), String>;

/// A tensor of both worlds.
#[derive(Clone, Copy)]
pub struct Pair {
    pub native: TensorHandle,
    pub lazy: TensorHandle,
    /// No element is larger than this; only floats are watched.
    pub bound: f64,
}

pub struct Twin<'a> {
    native: &'static Device,
    lazy: [&'static Device; 2],
    /// The lazy environment's own native device.
    host: &'static Device,
    tensors: Vec<Pair>,
    /// Values that lie on that device, perhaps in memory that the lazy devices use, too.
    lent: Vec<Pair>,
    folder: &'a PathBuf,
}

impl<'a> Twin<'a> {
    pub fn new(native: &Environment, lazy: &Environment, folder: &'a PathBuf) -> Twin<'a> {
        let xla = |ordinal| lazy.device(DeviceKind::Xla, ordinal).expect("two devices");
        let host = lazy.device(DeviceKind::Cpu, 0).expect("cpu is always there");
        let native = native.device(DeviceKind::Cpu, 0).expect("cpu is always there");
        Twin { native, lazy: [xla(0), xla(1)], host, tensors: Vec::new(), lent: Vec::new(), folder }
    }

    fn pick(&self, choice: u16) -> Option<Pair> {
        (!self.tensors.is_empty()).then(|| self.tensors[choice as usize % self.tensors.len()])
    }

    /// What both worlds gave: a new pair, or the same error.
    pub(super) fn both(&mut self, bound: f64, act: impl Fn(bool) -> Result<TensorHandle>) -> Outcome {
        match (act(true), act(false)) {
            (Ok(native), Ok(lazy)) => {
                self.tensors.push(Pair { native, lazy, bound });
                if self.tensors.len() > MOST_TENSORS {
                    self.release(0)?;
                }
                Ok(())
            }
            (Err(native), Err(lazy)) if native.code == lazy.code && native.message == lazy.message => Ok(()),
            (native, lazy) => Err(format!("native gave {native:?}, lazy gave {lazy:?}")),
        }
    }

    /// The same for what makes nothing new. Whether it was done.
    fn done(&self, act: impl Fn(bool) -> Result<()>) -> std::result::Result<bool, String> {
        match (act(true), act(false)) {
            (Ok(()), Ok(())) => Ok(true),
            (Err(native), Err(lazy)) if native.code == lazy.code && native.message == lazy.message => Ok(false),
            (native, lazy) => Err(format!("native gave {native:?}, lazy gave {lazy:?}")),
        }
    }

    fn release(&mut self, index: usize) -> Outcome {
        let pair = self.tensors.remove(index);
        [pair.native, pair.lazy].into_iter().try_for_each(|t| device::release(t).map_err(|e| e.to_string()))
    }

    fn set_bound(&mut self, pair: Pair, bound: f64) {
        self.tensors.iter_mut().filter(|known| known.lazy == pair.lazy).for_each(|known| known.bound = bound);
    }

    fn compare(&self, pair: Pair) -> Outcome {
        let ty = tensor::ty(pair.lazy).map_err(|e| e.to_string())?;
        let (mut native, mut lazy) = (vec![0; ty.size_bytes()], vec![0; ty.size_bytes()]);
        sync::read(pair.native, &mut native).map_err(|e| e.to_string())?;
        sync::read(pair.lazy, &mut lazy).map_err(|e| e.to_string())?;
        if native != lazy && !equal_floats(&ty, &native, &lazy) {
            return Err(format!("a {ty} is {lazy:?} lazily, want {native:?}"));
        }
        Ok(())
    }

    /// Reads everything, then lets go of it.
    pub fn finish(mut self) -> Outcome {
        self.tensors.clone().into_iter().try_for_each(|pair| self.compare(pair))?;
        while let Some(pair) = self.lent.pop() {
            self.take_back(pair)?;
        }
        while !self.tensors.is_empty() {
            self.release(0)?;
        }
        Ok(())
    }

    /// Lets go of everything after a failure.
    pub fn abandon(mut self) {
        for pair in std::mem::take(&mut self.lent) {
            let _ = [pair.native, pair.lazy].map(device::release);
        }
        while !self.tensors.is_empty() {
            let _ = self.release(0);
        }
    }

    pub fn act(&mut self, action: &Action) -> Outcome {
        use Action::*;
        match *action {
            FromHost { dtype, shape, seed } => {
                let ty = TensorType::new(DTYPES[dtype as usize % DTYPES.len()], SHAPES[shape as usize % SHAPES.len()]);
                let bytes = content(&ty, seed);
                let (native, lazy) = (self.native, self.lazy[0]);
                self.both(8.0, |n| sync::from_host(if n { native } else { lazy }, &ty, &bytes))
            }
            Full { dtype, shape, value } => {
                let ty = TensorType::new(DTYPES[dtype as usize % DTYPES.len()], SHAPES[shape as usize % SHAPES.len()]);
                let value = ScalarValue::Unsigned(u64::from(value % 2));
                let (native, lazy) = (self.native, self.lazy[0]);
                self.both(2.0, |n| tensor::full(if n { native } else { lazy }, &ty, value))
            }
            Iota { dtype, shape, axis } => {
                let ty = TensorType::new(DTYPES[dtype as usize % DTYPES.len()], SHAPES[shape as usize % SHAPES.len()]);
                let (native, lazy) = (self.native, self.lazy[0]);
                self.both(8.0, |n| tensor::iota(if n { native } else { lazy }, &ty, i64::from(axis % 4) - 1))
            }
            Step => self.lazy.iter().try_for_each(|device| sync::mark_step(device).map_err(|e| e.to_string())),
            _ => self.on_tensors(action),
        }
    }

    /// Actions on tensors that are there; nothing, if none is.
    fn on_tensors(&mut self, action: &Action) -> Outcome {
        use Action::*;
        let choices = match *action {
            Binary { x, y, .. } | BinaryInPlace { x, y, .. } | Compare { x, y, .. } | Matmul { x, y } => [x, y, 0],
            Assign { x, y } | Sync { x, y } | Save { x, y } | UpdateSlice { x, y, .. } | Apply { x, y, .. } => {
                [x, y, 0]
            }
            Select { pred, x, y } | Branch { pred, x, y } => [pred, x, y],
            Concatenate { x, y, z, .. } => [x, y, z],
            Take { x, indices, .. } => [x, indices, 0],
            Unary { x, .. } | Scalar { x, .. } | ScalarInPlace { x, .. } | Convert { x, .. } | Reshape { x, .. } => {
                [x, 0, 0]
            }
            BroadcastTo { x, .. } | Transpose { x, .. } | Reduce { x, .. } | Slice { x, .. } | Pad { x, .. } => {
                [x, 0, 0]
            }
            DynamicSlice { x, .. } | Snapshot { x } | Write { x, .. } | Release { x } | Read { x } | Move { x } => {
                [x, 0, 0]
            }
            Lend { x } | Scan { x, .. } => [x, 0, 0],
            FromHost { .. } | Full { .. } | Iota { .. } | Step => unreachable!("handled before"),
        };
        let Some(a) = self.pick(choices[0]) else { return Ok(()) };
        let (b, c) = (self.pick(choices[1]).unwrap_or(a), self.pick(choices[2]).unwrap_or(a));
        match *action {
            Snapshot { .. } => self.both(a.bound, |n| tensor::snapshot(of(n, a))),
            Release { x } => self.release(x as usize % self.tensors.len()),
            Read { .. } => self.compare(a),
            Sync { .. } => sync::sync(&[a.lazy, b.lazy]).map_err(|e| e.to_string()),
            Save { .. } => self.save(a, b),
            Move { .. } => {
                let (there, back) = (self.lazy[1], self.lazy[0]);
                self.both(a.bound, |n| {
                    if n {
                        return tensor::snapshot(a.native);
                    }
                    let moved = sync::to_device(a.lazy, there)?;
                    let result = sync::to_device(moved, back);
                    device::release(moved)?;
                    result
                })
            }
            Lend { .. } => self.lend(a),
            Apply { op, .. } => self.apply(a, b, op),
            Branch { .. } => self.branch(a, b, c),
            Scan { reverse, .. } => self.scan(a, reverse),
            Assign { .. } => {
                if self.done(|n| tensor::assign(of(n, a), of(n, b)))? {
                    self.set_bound(a, b.bound);
                }
                Ok(())
            }
            Write { seed, .. } => {
                let bytes = content(&tensor::ty(a.lazy).map_err(|e| e.to_string())?, seed);
                self.done(|n| sync::write(of(n, a), &bytes))?;
                self.set_bound(a, 8.0);
                Ok(())
            }
            _ => self.compute(action, a, b, c),
        }
    }

    /// A copy on the host and back, both perhaps in the same memory. What lies on the host must not change while steps go on.
    fn lend(&mut self, a: Pair) -> Outcome {
        let text = |e: lazyxla::error::Error| e.to_string();
        let kept = sync::to_device(a.lazy, self.host).map_err(text)?;
        self.lent.push(Pair { native: tensor::snapshot(a.native).map_err(text)?, lazy: kept, ..a });
        if self.lent.len() > MOST_LENT {
            let oldest = self.lent.remove(0);
            self.take_back(oldest)?;
        }
        let back = self.lazy[0];
        self.both(a.bound, |n| if n { tensor::snapshot(a.native) } else { sync::to_device(kept, back) })
    }

    fn take_back(&self, pair: Pair) -> Outcome {
        self.compare(pair)?;
        [pair.native, pair.lazy].into_iter().try_for_each(|t| device::release(t).map_err(|e| e.to_string()))
    }

    /// Saves two tensors, and loads one of them back in place of it.
    fn save(&mut self, a: Pair, b: Pair) -> Outcome {
        let path = self.folder.join("saved");
        let saved = sync::save_async(&path, &["a", "b"], &[a.lazy, b.lazy]).map_err(|e| e.to_string())?;
        // What happens between the call and the end of the writing does not show.
        sync::mark_step(self.lazy[0]).map_err(|e| e.to_string())?;
        saved.wait().map_err(|e| e.to_string())?;
        let loaded = sync::load(self.lazy[0], &path, "a").map_err(|e| e.to_string())?;
        tensor::assign(a.lazy, loaded).map_err(|e| e.to_string())?;
        device::release(loaded).map_err(|e| e.to_string())
    }

    fn compute(&mut self, action: &Action, a: Pair, b: Pair, c: Pair) -> Outcome {
        use Action::*;
        let ty = |pair: Pair| tensor::ty(pair.lazy).map_err(|e| e.to_string());
        let (ta, tb) = (ty(a)?, ty(b)?);
        let rank = ta.dims.len();
        let axis = |choice: u8| i64::from(choice) % (rank.max(1) as i64);
        // Floats take only what is exact for them.
        let floats = [&ta, &tb].iter().any(|ty| ty.dtype == DType::F32);
        let exact = |op: BinaryOp| !floats || EXACT.contains(&op);
        let grown = |op: BinaryOp, by: f64| if op == BinaryOp::Multiply { a.bound * by.max(1.0) } else { a.bound + by };
        match *action {
            Unary { op, .. } => {
                let op = UNARY[op as usize % UNARY.len()];
                self.both(a.bound, |n| tensor::unary(op, of(n, a)))
            }
            Binary { op, .. } | BinaryInPlace { op, .. } => {
                let op = BinaryOp::ALL[op as usize % BinaryOp::ALL.len()];
                let bound = grown(op, b.bound);
                if !exact(op) || (floats && bound > MOST) {
                    return Ok(());
                }
                if matches!(action, Binary { .. }) {
                    return self.both(bound, |n| tensor::binary(op, of(n, a), of(n, b)));
                }
                if self.done(|n| tensor::binary_inplace(op, of(n, a), of(n, b)))? {
                    self.set_bound(a, bound);
                }
                Ok(())
            }
            Scalar { op, value, .. } | ScalarInPlace { op, value, .. } => {
                let op = BinaryOp::ALL[op as usize % BinaryOp::ALL.len()];
                let value = value % 4;
                let bound = grown(op, 4.0);
                if (ta.dtype == DType::F32) && (!EXACT.contains(&op) || bound > MOST) {
                    return Ok(());
                }
                let scalar = ScalarValue::Signed(i64::from(value));
                if let Scalar { left, .. } = *action {
                    return self.both(bound, |n| tensor::binary_scalar(op, of(n, a), scalar, left));
                }
                if self.done(|n| tensor::binary_scalar_inplace(op, of(n, a), scalar))? {
                    self.set_bound(a, bound);
                }
                Ok(())
            }
            Compare { op, .. } => {
                let op = CompareOp::ALL[op as usize % CompareOp::ALL.len()];
                self.both(1.0, |n| tensor::compare(op, of(n, a), of(n, b)))
            }
            Select { .. } => self.both(b.bound.max(c.bound), |n| tensor::select(of(n, a), of(n, b), of(n, c))),
            Convert { dtype, .. } => self.convert(a, &ta, DTYPES[dtype as usize % DTYPES.len()]),
            Reshape { shape, .. } => {
                self.both(a.bound, |n| tensor::reshape(of(n, a), SHAPES[shape as usize % SHAPES.len()]))
            }
            BroadcastTo { shape, .. } => {
                self.both(a.bound, |n| tensor::broadcast_to(of(n, a), SHAPES[shape as usize % SHAPES.len()]))
            }
            Transpose { turn, .. } => {
                let turned: Vec<i64> = (0..rank as i64).map(|i| (i + i64::from(turn)) % rank.max(1) as i64).collect();
                self.both(a.bound, |n| tensor::transpose(of(n, a), &turned))
            }
            Reduce { op, axes, keep, .. } => {
                let op = ReduceOp::ALL[op as usize % ReduceOp::ALL.len()];
                let axes: Vec<i64> = (0..rank as i64).filter(|i| axes >> i & 1 == 1).collect();
                let bound = if op == ReduceOp::Sum { a.bound * ta.elements().max(1) as f64 } else { a.bound };
                if ta.dtype == DType::F32 && (op == ReduceOp::Product || bound > MOST) {
                    return Ok(());
                }
                self.both(bound, |n| tensor::reduce(op, of(n, a), &axes, keep))
            }
            Matmul { .. } => {
                let bound = a.bound * b.bound * ta.dims.last().copied().unwrap_or(1).max(1) as f64;
                if floats && bound > MOST {
                    return Ok(());
                }
                self.both(bound, |n| tensor::matmul(of(n, a), of(n, b)))
            }
            Slice { cut, .. } => {
                let part = |axis: usize| i64::from(cut >> (8 * (axis % 4)) & 0xFF);
                let starts: Vec<i64> = (0..rank).map(|i| part(i) % (ta.dims[i] + 1)).collect();
                let limits: Vec<i64> =
                    (0..rank).map(|i| starts[i] + part(i) / 16 % (ta.dims[i] - starts[i] + 1)).collect();
                let strides: Vec<i64> = (0..rank).map(|i| 1 + part(i) % 3).collect();
                self.both(a.bound, |n| tensor::slice(of(n, a), &starts, &limits, Some(&strides)))
            }
            Concatenate { axis: on, .. } => {
                let bound = a.bound.max(b.bound).max(c.bound);
                if ta.elements() + tb.elements() + ty(c)?.elements() > MOST_ELEMENTS {
                    return Ok(());
                }
                self.both(bound, |n| tensor::concatenate(&[of(n, a), of(n, b), of(n, c)], axis(on)))
            }
            Take { axis: on, .. } => {
                if ta.elements() * tb.elements() > MOST_ELEMENTS {
                    return Ok(());
                }
                self.both(a.bound, |n| tensor::take(of(n, a), of(n, b), axis(on)))
            }
            Pad { low, high, interior, .. } => self.pad(a, &ta, low, high, interior),
            UpdateSlice { at, .. } => self.dynamic(a.bound.max(b.bound), rank, at, |starts, n| {
                tensor::dynamic_update_slice(of(n, a), of(n, b), starts)
            }),
            DynamicSlice { at, .. } => {
                let sizes: Vec<i64> = ta.dims.iter().map(|dim| (dim + 1) / 2).collect();
                self.dynamic(a.bound, rank, at, |starts, n| tensor::dynamic_slice(of(n, a), starts, &sizes))
            }
            _ => unreachable!("handled before"),
        }
    }

    /// What a conversion does with values that do not fit is the plugin's affair.
    fn convert(&mut self, a: Pair, from: &TensorType, to: DType) -> Outcome {
        let fits = match (from.dtype, to) {
            (DType::F32, DType::S8) => a.bound < 128.0,
            (DType::F32, DType::U64) => false,
            (_, DType::F32) => matches!(from.dtype, DType::S8 | DType::Pred | DType::F32),
            _ => true,
        };
        if !fits {
            return Ok(());
        }
        let bound = if from.dtype == DType::F32 { a.bound } else { 128.0 };
        self.both(bound, |n| tensor::convert(of(n, a), to))
    }

    fn pad(&mut self, a: Pair, ty: &TensorType, low: i8, high: i8, interior: u8) -> Outcome {
        let rank = ty.dims.len();
        let all = |value: i64| vec![value; rank];
        let (low, high, interior) = (all(i64::from(low % 3)), all(i64::from(high % 3)), all(i64::from(interior % 2)));
        if ty.elements() * 4usize.pow(rank as u32) > MOST_ELEMENTS {
            return Ok(());
        }
        let (native, lazy) = (self.native, self.lazy[0]);
        let scalar = TensorType::new(ty.dtype, &[]);
        self.both(a.bound.max(1.0), |n| {
            let value = tensor::full(if n { native } else { lazy }, &scalar, ScalarValue::Unsigned(1))?;
            let result = tensor::pad(of(n, a), value, &low, &high, Some(&interior));
            device::release(value)?;
            result
        })
    }

    /// With as many starts as there are axes.
    fn dynamic(
        &mut self,
        bound: f64,
        rank: usize,
        at: i8,
        act: impl Fn(&[TensorHandle], bool) -> Result<TensorHandle>,
    ) -> Outcome {
        let (native, lazy) = (self.native, self.lazy[0]);
        let scalar = TensorType::new(DType::S32, &[]);
        self.both(bound, |n| {
            let start = tensor::full(if n { native } else { lazy }, &scalar, ScalarValue::Signed(i64::from(at % 6)))?;
            let result = act(&vec![start; rank], n);
            device::release(start)?;
            result
        })
    }
}

/// Exact on whole numbers, also as floats.
pub const EXACT: [BinaryOp; 5] =
    [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Maximum, BinaryOp::Minimum];
const UNARY: [UnaryOp; 8] = [
    UnaryOp::Negate,
    UnaryOp::Abs,
    UnaryOp::Sign,
    UnaryOp::Floor,
    UnaryOp::Not,
    UnaryOp::Popcnt,
    UnaryOp::CountLeadingZeros,
    UnaryOp::IsFinite,
];

pub fn of(native: bool, pair: Pair) -> TensorHandle {
    if native { pair.native } else { pair.lazy }
}

/// 0 and -0 are one number to whoever adds whole numbers: XLA may turn x + 0 into x.
fn equal_floats(ty: &TensorType, a: &[u8], b: &[u8]) -> bool {
    let values = |bytes: &[u8]| -> Vec<f32> {
        bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("4 bytes"))).collect()
    };
    ty.dtype == DType::F32 && values(a) == values(b)
}

/// Small whole numbers.
fn content(ty: &TensorType, seed: u32) -> Vec<u8> {
    let mut state = u64::from(seed) | 1 << 40;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % 8
    };
    (0..ty.elements())
        .flat_map(|_| {
            let value = next();
            let scalar = match ty.dtype.kind() {
                Kind::Pred => ScalarValue::Signed(value & 1),
                Kind::Unsigned => ScalarValue::Signed(value),
                _ => ScalarValue::Signed(value - 4),
            };
            let bits = lazyxla::types::Scalar::new(ty.dtype, scalar).expect("small numbers fit").bits();
            bits.to_le_bytes()[..ty.dtype.size_bytes()].to_vec()
        })
        .collect()
}
