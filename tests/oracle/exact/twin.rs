//! One program, run twice: at once on native tensors, without any of the lazy machinery, and lazily. Both have to agree in
//! every value that is read, and in every error.

use super::action::{Action, Kind};
use super::values::{ANY, equal, limit, range};
use crate::program::{Coverage, Twofold};
use lazyxla::device::{self, Device, TensorHandle};
use lazyxla::env::{DeviceKind, Environment};
use lazyxla::error::Result;
use lazyxla::types::{DType, TensorType};
use lazyxla::{sync, tensor};
use std::fmt::Write;
use std::path::Path;

/// The most tensors that are alive at once, and their most elements and axes.
const MOST_TENSORS: usize = 12;
pub const MOST_ELEMENTS: usize = 256;
const MOST_AXES: usize = 6;

/// What came of it; in words, where the worlds differ.
pub type Outcome = std::result::Result<(), String>;

/// Where something is done: at once, or lazily.
#[derive(Clone, Copy)]
pub struct World {
    pub is_native: bool,
    /// Where tensors are created, and computations traced.
    pub device: &'static Device,
}

impl World {
    /// This world's tensor of a pair.
    pub fn of(self, pair: Pair) -> TensorHandle {
        if self.is_native { pair.native } else { pair.lazy }
    }
}

/// A tensor of both worlds.
#[derive(Clone, Copy)]
pub struct Pair {
    pub native: TensorHandle,
    pub lazy: TensorHandle,
    /// All elements are whole numbers, and none is larger than this; [`ANY`], if they may be anything.
    pub bound: f64,
    /// What it is called in the story.
    pub name: usize,
}

impl Pair {
    pub fn ty(self) -> TensorType {
        tensor::ty(self.native).expect("it is alive")
    }

    pub fn dtype(self) -> DType {
        self.ty().dtype
    }

    /// Whether something may be computed with its elements.
    pub fn is_whole(self) -> bool {
        self.bound < ANY
    }
}

/// What an action did.
struct Line {
    action: Action,
    operands: Vec<usize>,
    results: Vec<(usize, TensorType)>,
    /// Whether it made or changed something: others were errors, or left out.
    is_done: bool,
}

pub struct Twin<'a> {
    pub native: World,
    pub lazy: World,
    /// The lazy environment's second device, and its own native one.
    pub second: &'static Device,
    pub host: &'static Device,
    pub folder: &'a Path,
    /// Values that lie on that native device, perhaps in memory that the lazy devices use, too.
    pub lent: Vec<Pair>,
    tensors: Vec<Pair>,
    made: usize,
    story: Vec<Line>,
    coverage: &'a Coverage<Kind>,
}

impl<'a> Twin<'a> {
    pub fn new(native: &Environment, lazy: &Environment, folder: &'a Path, coverage: &'a Coverage<Kind>) -> Twin<'a> {
        let xla = |env: &Environment, ordinal| env.device(DeviceKind::Xla, ordinal).expect("two devices");
        let cpu = |env: &Environment| env.device(DeviceKind::Cpu, 0).expect("cpu is always there");
        Twin {
            native: World { is_native: true, device: cpu(native) },
            lazy: World { is_native: false, device: xla(lazy, 0) },
            second: xla(lazy, 1),
            host: cpu(lazy),
            folder,
            lent: Vec::new(),
            tensors: Vec::new(),
            made: 0,
            story: Vec::new(),
            coverage,
        }
    }

    /// A tensor, if there is one.
    pub fn pick(&mut self, choice: u16) -> Option<Pair> {
        self.pick_where(choice, |_| true)
    }

    /// A tensor for which this holds, if there is one.
    pub fn pick_where(&mut self, choice: u16, fits: impl Fn(Pair) -> bool) -> Option<Pair> {
        let fitting: Vec<Pair> = self.tensors.iter().copied().filter(|&pair| fits(pair)).collect();
        let chosen = (!fitting.is_empty()).then(|| fitting[choice as usize % fitting.len()])?;
        self.story.last_mut().expect("an action is under way").operands.push(chosen.name);
        Some(chosen)
    }

    /// A tensor that most often has the dtype of another.
    pub fn pick_like(&mut self, choice: u16, other: Pair) -> Pair {
        let dtype = other.dtype();
        self.pick_where(choice, |pair| choice.is_multiple_of(8) || pair.dtype() == dtype).unwrap_or(other)
    }

    /// Moves elements about: both worlds give a new tensor, or the same error.
    pub fn moved(&mut self, bound: f64, act: impl Fn(World) -> Result<TensorHandle>) -> Outcome {
        self.several(|world| Ok(vec![act(world)?]), |_, _| Some(bound))
    }

    /// Computes whole numbers up to a bound; what would not be exact in the dtype of the result is left out.
    pub fn computed(&mut self, bound: f64, act: impl Fn(World) -> Result<TensorHandle>) -> Outcome {
        self.several(|world| Ok(vec![act(world)?]), |_, dtype| exact(bound, dtype))
    }

    /// The same with several results; `bound` says what each is bounded by, if it is to be compared.
    pub fn several(
        &mut self,
        act: impl Fn(World) -> Result<Vec<TensorHandle>>,
        bound: impl Fn(usize, DType) -> Option<f64>,
    ) -> Outcome {
        let native = act(self.native);
        if let Ok(results) = &native {
            let types = results.iter().map(|&t| tensor::ty(t)).collect::<Result<Vec<_>>>().map_err(in_words)?;
            let is_fit = |(i, ty): (usize, &TensorType)| {
                ty.elements() <= MOST_ELEMENTS && ty.dims.len() <= MOST_AXES && bound(i, ty.dtype).is_some()
            };
            if !types.iter().enumerate().all(is_fit) {
                return results.iter().try_for_each(|&t| device::release(t)).map_err(in_words);
            }
        }
        let lazy = act(self.lazy);
        match (native, lazy) {
            (Ok(native), Ok(lazy)) if native.len() == lazy.len() => {
                for (i, (native, lazy)) in native.into_iter().zip(lazy).enumerate() {
                    let ty = tensor::ty(native).map_err(in_words)?;
                    let of_lazy = tensor::ty(lazy).map_err(in_words)?;
                    if ty != of_lazy {
                        return Err(format!("native gave a {ty}, lazy gave a {of_lazy}"));
                    }
                    let bound = bound(i, ty.dtype).expect("it was fit").min(range(ty.dtype));
                    self.add(native, lazy, bound, ty);
                }
                while self.tensors.len() > MOST_TENSORS {
                    self.release(0)?;
                }
                Ok(())
            }
            (Err(native), Err(lazy)) if native.code == lazy.code && native.message == lazy.message => Ok(()),
            (native, lazy) => {
                for &tensor in native.iter().chain(&lazy).flatten() {
                    let _ = device::release(tensor);
                }
                Err(format!("native gave {native:?}, lazy gave {lazy:?}"))
            }
        }
    }

    fn add(&mut self, native: TensorHandle, lazy: TensorHandle, bound: f64, ty: TensorType) {
        let line = self.story.last_mut().expect("an action is under way");
        line.results.push((self.made, ty));
        line.is_done = true;
        self.tensors.push(Pair { native, lazy, bound, name: self.made });
        self.made += 1;
    }

    /// The same for what makes nothing new, but changes `dst`.
    pub fn in_place(&mut self, dst: Pair, bound: f64, act: impl Fn(World) -> Result<()>) -> Outcome {
        match (act(self.native), act(self.lazy)) {
            (Ok(()), Ok(())) => {
                self.story.last_mut().expect("an action is under way").is_done = true;
                let bound = bound.min(range(dst.dtype()));
                let same = |known: &&mut Pair| known.lazy == dst.lazy;
                self.tensors.iter_mut().filter(same).for_each(|known| known.bound = bound);
                Ok(())
            }
            (Err(native), Err(lazy)) if native.code == lazy.code && native.message == lazy.message => Ok(()),
            (native, lazy) => Err(format!("native gave {native:?}, lazy gave {lazy:?}")),
        }
    }

    pub fn release(&mut self, index: usize) -> Outcome {
        let pair = self.tensors.remove(index);
        [pair.native, pair.lazy].into_iter().try_for_each(device::release).map_err(in_words)
    }

    /// How many tensors there are.
    pub fn count(&self) -> usize {
        self.tensors.len()
    }

    pub fn compare(&self, pair: Pair) -> Outcome {
        let ty = tensor::ty(pair.lazy).map_err(in_words)?;
        let (mut native, mut lazy) = (vec![0; ty.size_bytes()], vec![0; ty.size_bytes()]);
        sync::read(pair.native, &mut native).map_err(in_words)?;
        sync::read(pair.lazy, &mut lazy).map_err(in_words)?;
        if !equal(ty.dtype, &native, &lazy) {
            return Err(format!("t{}, a {ty}, is {lazy:?} lazily, want {native:?}", pair.name));
        }
        Ok(())
    }

    pub fn take_back(&self, pair: Pair) -> Outcome {
        self.compare(pair)?;
        [pair.native, pair.lazy].into_iter().try_for_each(device::release).map_err(in_words)
    }
}

impl Twofold for Twin<'_> {
    type Action = Action;

    fn act(&mut self, action: &Action) -> Outcome {
        self.story.push(Line { action: *action, operands: Vec::new(), results: Vec::new(), is_done: false });
        let outcome = action.act(self);
        self.coverage.add(action.kind, self.story.last().is_some_and(|line| line.is_done));
        outcome
    }

    fn finish(&mut self) -> Outcome {
        self.tensors.iter().try_for_each(|&pair| self.compare(pair))?;
        while let Some(pair) = self.lent.pop() {
            self.take_back(pair)?;
        }
        while !self.tensors.is_empty() {
            self.release(0)?;
        }
        Ok(())
    }

    fn abandon(&mut self) -> String {
        for pair in std::mem::take(&mut self.lent) {
            let _ = [pair.native, pair.lazy].map(device::release);
        }
        while !self.tensors.is_empty() {
            let _ = self.release(0);
        }
        let mut text = String::new();
        for Line { action, operands, results, .. } in &self.story {
            let operands: Vec<String> = operands.iter().map(|name| format!("t{name}")).collect();
            let results: Vec<String> = results.iter().map(|(name, ty)| format!("t{name}: {ty}")).collect();
            let (kind, operands, results) = (action.kind, operands.join(", "), results.join(", "));
            let _ = write!(text, "\n    {kind:?} of [{operands}] by {:?} gave [{results}]", action.numbers);
        }
        text
    }
}

/// The bound, if whole numbers up to it are exact in the dtype.
pub fn exact(bound: f64, dtype: DType) -> Option<f64> {
    (bound <= limit(dtype)).then_some(bound)
}

pub fn in_words(error: lazyxla::error::Error) -> String {
    error.to_string()
}
