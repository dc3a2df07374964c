//! The tensors of a program: native, lazy, and their references in f64 with error bounds.

pub use crate::program::Outcome;

use super::action::{Action, Deed};
use super::bounded::{Bounded, Host, Rounding};
use crate::place::Place;
use crate::program::{Coverage, Record, Seen, Twofold, in_words, random_state};
use crate::record::on;
use base::error::Result;
use base::types::{DType, Kind, Scalar, ScalarValue, TensorType};
use half::{bf16, f16};
use lazyxla::device::{self, Device, TensorHandle};
use lazyxla::env::{DeviceKind, Environment};
use lazyxla::sync;
use lazyxla::tensor;
use mesh::Sharding;
use ops::elementwise;
use std::cell::Cell;
use std::fmt::Write;
use std::rc::Rc;

const MOST_TENSORS: usize = 10;
const MOST_ELEMENTS: usize = 200;
const MOST_AXES: usize = 5;
/// Results with an error bound above this fraction of the largest element are too imprecise to be compared.
const MOST_ERROR: f64 = 0.05;

/// A native and a lazy tensor with their reference.
#[derive(Clone)]
pub struct Trio {
    pub native: TensorHandle,
    pub lazy: TensorHandle,
    pub bounded: Rc<Bounded>,
    pub ty: TensorType,
    name: usize,
}

impl Trio {
    pub fn of(&self, is_native: bool) -> TensorHandle {
        if is_native { self.native } else { self.lazy }
    }
}

/// Statistics of the comparisons.
#[derive(Default)]
pub struct Tally {
    /// Number of elements compared.
    pub compared: Cell<u64>,
    /// Number of elements whose relative error bound is below a thousandth.
    pub close: Cell<u64>,
    /// Number of elements that differ between native and lazy.
    pub different: Cell<u64>,
    /// Largest error of an element, as a fraction of its bound.
    pub most: Cell<f64>,
}

impl Tally {
    /// Prints the statistics. Fails if they show that the comparisons prove little.
    pub fn check(&self) {
        let (compared, close) = (self.compared.get(), self.close.get());
        println!(
            "{compared} elements compared: {close} with bounds below a thousandth, {} different, the most {} of its \
             bound",
            self.different.get(),
            self.most.get()
        );
        assert!(
            2 * close > compared,
            "{close} of {compared} elements have bounds below a thousandth: the test proves little"
        );
        assert!(self.different.get() > 0, "XLA rounded all as native did: that is not to be believed");
    }
}

pub struct Approximate<'a> {
    pub native: &'static Device,
    /// Where lazy tensors are created.
    pub home: &'a Place,
    tensors: Vec<Trio>,
    made: usize,
    story: String,
    /// True if the current action made or changed a tensor.
    is_done: bool,
    tally: &'a Tally,
    coverage: &'a Coverage<Deed>,
    /// Record of the compared values, if they are recorded.
    record: Option<&'a Record>,
}

impl<'a> Approximate<'a> {
    pub fn new(
        native: &Environment,
        home: &'a Place,
        tally: &'a Tally,
        coverage: &'a Coverage<Deed>,
    ) -> Approximate<'a> {
        let native = native.device(DeviceKind::Cpu, 0).expect("cpu is always there");
        let (tensors, story) = (Vec::new(), format!("\n    on {home}"));
        Approximate { native, home, tensors, made: 0, story, is_done: false, tally, coverage, record: None }
    }

    /// The same, with a note of each value that is compared.
    pub fn with_record(self, record: &'a Record) -> Approximate<'a> {
        Approximate { record: Some(record), ..self }
    }

    pub fn pick(&mut self, choice: u16) -> Option<Trio> {
        self.pick_where(choice, |_| true)
    }

    pub fn pick_where(&mut self, choice: u16, fits: impl Fn(&Trio) -> bool) -> Option<Trio> {
        let fitting: Vec<&Trio> = self.tensors.iter().filter(|trio| fits(trio)).collect();
        let chosen = (!fitting.is_empty()).then(|| fitting[choice as usize % fitting.len()].clone())?;
        let _ = write!(self.story, " t{}", chosen.name);
        Some(chosen)
    }

    /// Draws the sharding of a lazy tensor, and adds it to the report.
    pub fn draw(&mut self, dims: &[i64], choice: u16) -> Option<Sharding> {
        let sharding = self.home.draw(dims, choice)?;
        let _ = write!(self.story, " split by {:?}", self.home.text(&sharding));
        Some(sharding)
    }

    /// Random real numbers: of one sign or both, and of different magnitudes; in a few tensors the first is denormal.
    pub fn content(&self, ty: &TensorType, seed: u16) -> Result<(Vec<u8>, Bounded)> {
        let mut state = random_state(seed);
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let scale = [1.0, 2.0, 0.25, 8.0][seed as usize / 2 % 4];
        let denormal = if seed % 32 == 31 { 2f64.powi(-130) } else { 1.0 };
        let mut number = |is_first: bool| {
            let value = if seed.is_multiple_of(2) { 0.1 + next() } else { 2.0 * next() - 1.0 };
            value * scale * if is_first { denormal } else { 1.0 }
        };
        let bytes: Vec<u8> = (0..ty.elements())
            .flat_map(|i| {
                let value = match ty.dtype.kind() {
                    Kind::Complex => ScalarValue::Complex(number(false), number(false)),
                    _ => ScalarValue::Float(number(i == 0)),
                };
                let bits = Scalar::new(ty.dtype, value).expect("floats hold it").bits();
                bits.to_le_bytes()[..ty.dtype.size_bytes()].to_vec()
            })
            .collect();
        let exact = Host::new(sync::from_host(self.native, ty, &bytes))?;
        let value = Host::new(on([exact.handle()], |t, [x]| Ok(elementwise::convert(t, x, wide(ty.dtype)))))?;
        let error = value.size()?.scaled(0.0)?.shifted(Rounding::of(ty.dtype).tiny)?;
        Ok((bytes, Bounded { value, error }))
    }

    /// Applies an action natively and lazily and keeps the results. Actions whose error bound fails to compute or is
    /// not useful are skipped.
    pub fn both(
        &mut self,
        dtype: DType,
        bounded: Result<Bounded>,
        act: impl Fn(bool) -> Result<TensorHandle>,
    ) -> Outcome {
        let Some(bounded) = useful(bounded, dtype)? else { return Ok(()) };
        match (act(true), act(false)) {
            (Ok(native), Ok(lazy)) => {
                let [ty, of_lazy, wanted] =
                    [native, lazy, bounded.value.handle()].map(|t| tensor::ty(t).map_err(in_words));
                let (ty, of_lazy, wanted) = (ty?, of_lazy?, wanted?);
                if ty != of_lazy || ty != (TensorType { dtype, dims: wanted.dims }) {
                    return Err(format!("native gave a {ty}, lazy gave a {of_lazy}"));
                }
                let lazy = self.placed(lazy, &ty).map_err(in_words)?;
                let _ = write!(self.story, " gave t{}: {ty}", self.made);
                self.tensors.push(Trio { native, lazy, bounded: Rc::new(bounded), ty, name: self.made });
                self.made += 1;
                self.is_done = true;
                if self.tensors.len() > MOST_TENSORS { self.release(0) } else { Ok(()) }
            }
            (native, lazy) => {
                for &tensor in native.iter().chain(&lazy) {
                    let _ = device::release(tensor);
                }
                Err(format!("native gave {native:?}, lazy gave {lazy:?}; want {dtype}"))
            }
        }
    }

    /// Places a lazy result on a mesh at random, in one case of four. Returns the tensor that takes its place.
    fn placed(&mut self, lazy: TensorHandle, ty: &TensorType) -> Result<TensorHandle> {
        // Differs between the results of a program, and is the same each time it runs.
        let choice = (self.made as u16 + 1).wrapping_mul(40_503) ^ ty.elements() as u16;
        if !(choice >> 8).is_multiple_of(4) {
            return Ok(lazy);
        }
        let Some(sharding) = self.draw(&ty.dims, choice) else { return Ok(lazy) };
        let placed = tensor::shard(lazy, self.home.device, &sharding);
        device::release(lazy)?;
        placed
    }

    /// Like `both`, for actions that change `dst` in place.
    pub fn in_place(&mut self, dst: &Trio, bounded: Result<Bounded>, act: impl Fn(bool) -> Result<()>) -> Outcome {
        let Some(bounded) = useful(bounded, dst.ty.dtype)? else { return Ok(()) };
        if tensor::ty(bounded.value.handle()).map_err(in_words)?.dims != dst.ty.dims {
            return Ok(());
        }
        act(true).and(act(false)).map_err(in_words)?;
        let _ = write!(self.story, " in place");
        self.is_done = true;
        let bounded = Rc::new(bounded);
        let same = |known: &&mut Trio| known.lazy == dst.lazy;
        self.tensors.iter_mut().filter(same).for_each(|known| known.bounded = bounded.clone());
        Ok(())
    }

    /// Adds a snapshot of a tensor.
    pub fn again(&mut self, trio: &Trio) -> Outcome {
        let bounded = trio.bounded.moved(tensor::snapshot);
        let (native, lazy) = (trio.native, trio.lazy);
        self.both(trio.ty.dtype, bounded, |n| tensor::snapshot(if n { native } else { lazy }))
    }

    pub fn release(&mut self, index: usize) -> Outcome {
        let trio = self.tensors.remove(index);
        [trio.native, trio.lazy].into_iter().try_for_each(device::release).map_err(in_words)
    }

    pub fn count(&self) -> usize {
        self.tensors.len()
    }

    /// Compares the native and the lazy tensor with the reference.
    pub fn compare(&self, trio: &Trio) -> Outcome {
        let [of_native, of_lazy] = [trio.native, trio.lazy].map(|handle| bytes(handle).map_err(in_words));
        let (of_native, of_lazy) = (of_native?, of_lazy?);
        let values = numbers(trio.bounded.value.handle()).map_err(in_words)?;
        let errors = numbers(trio.bounded.error.handle()).map_err(in_words)?;
        let [native, lazy] = [&of_native, &of_lazy].map(|bytes| decode(trio.ty.dtype, bytes));
        if let Some(record) = self.record {
            let (ty, errors) = (trio.ty.clone(), Some(errors.clone()));
            record.borrow_mut().push(Seen { ty, native: of_native, lazy: of_lazy, errors });
        }
        let parts = values.len() / errors.len().max(1);
        for (i, &value) in values.iter().enumerate() {
            let error = errors[i / parts];
            for (name, found) in [("natively", native[i]), ("lazily", lazy[i])] {
                let off = (found - value).abs();
                // NaN fails the comparison too.
                if !matches!(off.partial_cmp(&error), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal)) {
                    let (ty, name_of) = (&trio.ty, trio.name);
                    return Err(format!("t{name_of}, a {ty}, is {found:e} at {i} {name}, want {value:e} +- {error:e}"));
                }
                self.tally.most.set(self.tally.most.get().max(off / error));
            }
            let add = |cell: &Cell<u64>, is_so: bool| cell.set(cell.get() + u64::from(is_so));
            add(&self.tally.compared, true);
            add(&self.tally.close, error < 1e-3 * value.abs());
            add(&self.tally.different, native[i] != lazy[i]);
        }
        Ok(())
    }
}

impl Twofold for Approximate<'_> {
    type Action = Action;

    fn act(&mut self, action: &Action) -> Outcome {
        let _ = write!(self.story, "\n    {:?} by {:?} of", action.kind, action.numbers);
        self.is_done = false;
        let outcome = action.act(self);
        self.coverage.add(action.kind, self.is_done);
        outcome
    }

    fn finish(&mut self) -> Outcome {
        for trio in &self.tensors {
            self.compare(trio)?;
            self.home.check_pieces(trio.lazy).map_err(|error| format!("t{}: {error}", trio.name))?;
        }
        while !self.tensors.is_empty() {
            self.release(0)?;
        }
        Ok(())
    }

    fn abandon(&mut self) -> String {
        while !self.tensors.is_empty() {
            let _ = self.release(0);
        }
        std::mem::take(&mut self.story)
    }
}

/// Dtype of references.
pub fn wide(dtype: DType) -> DType {
    if dtype.kind() == Kind::Complex { DType::C128 } else { DType::F64 }
}

/// Returns the bound if it is useful: values are finite and within the dtype's range, errors are small, and the tensor
/// is not too large.
fn useful(bounded: Result<Bounded>, dtype: DType) -> std::result::Result<Option<Bounded>, String> {
    let Ok(bounded) = bounded else { return Ok(None) };
    let values = numbers(bounded.value.handle()).map_err(in_words)?;
    let errors = numbers(bounded.error.handle()).map_err(in_words)?;
    let most = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let (tiny, largest) = (Rounding::of(dtype).tiny, Rounding::of(dtype).most);
    let is_useful = errors.iter().all(|error| *error <= MOST_ERROR * most + 8.0 * tiny)
        && values.iter().all(|value| value.is_finite())
        && most < largest
        && values.len() <= MOST_ELEMENTS
        && tensor::ty(bounded.value.handle()).map_err(in_words)?.dims.len() <= MOST_AXES;
    Ok(is_useful.then_some(bounded))
}

/// Elements of a tensor of floats; for complex numbers real and imaginary parts in turn.
fn numbers(tensor: TensorHandle) -> Result<Vec<f64>> {
    Ok(decode(tensor::ty(tensor)?.dtype, &bytes(tensor)?))
}

fn bytes(tensor: TensorHandle) -> Result<Vec<u8>> {
    let mut bytes = vec![0; tensor::ty(tensor)?.size_bytes()];
    sync::read(tensor, &mut bytes)?;
    Ok(bytes)
}

/// Numbers from the bytes of elements of a dtype of floats; for complex numbers real and imaginary parts in turn.
pub fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    let real = dtype.real();
    let number = |bytes: &[u8]| match real {
        DType::F16 => f16::from_le_bytes([bytes[0], bytes[1]]).to_f64(),
        DType::BF16 => bf16::from_le_bytes([bytes[0], bytes[1]]).to_f64(),
        DType::F32 => f32::from_le_bytes(bytes.try_into().expect("4 bytes")).into(),
        _ => f64::from_le_bytes(bytes.try_into().expect("8 bytes")),
    };
    bytes.chunks_exact(real.size_bytes()).map(number).collect()
}
