//! Runs one program twice: eagerly on native tensors, which uses none of the lazy machinery, and lazily. Both runs must
//! agree in every value that is read and in every error.

pub use crate::program::Outcome;

use super::action::{Action, Kind};
use super::values::{ANY, equal, limit, range};
use crate::place::{Place, Places};
use crate::program::{Coverage, Record, Seen, Twofold, in_words};
use base::error::Result;
use base::types::{DType, TensorType};
use lazyxla::device::{self, Device, TensorHandle};
use lazyxla::env::{DeviceKind, Environment};
use lazyxla::sync;
use lazyxla::tensor;
use mesh::Sharding;
use std::fmt::Write;
use std::path::Path;

/// Limits on the number of live tensors, and on the elements and axes of each.
const MOST_TENSORS: usize = 12;
pub const MOST_ELEMENTS: usize = 256;
const MOST_AXES: usize = 6;

/// One of the two runs: native (eager) or lazy.
#[derive(Clone, Copy)]
pub struct World {
    pub is_native: bool,
    /// Device on which tensors are created and computations traced.
    pub device: &'static Device,
}

impl World {
    /// Returns this run's tensor of a pair.
    pub fn of(self, pair: Pair) -> TensorHandle {
        if self.is_native { pair.native } else { pair.lazy }
    }
}

/// A tensor in both runs.
#[derive(Clone, Copy)]
pub struct Pair {
    pub native: TensorHandle,
    pub lazy: TensorHandle,
    /// Bound: all elements are whole numbers with at most this absolute value; [`ANY`] if elements may be any bits.
    pub bound: f64,
    /// Name in the report of a failure.
    pub name: usize,
}

impl Pair {
    pub fn ty(self) -> TensorType {
        tensor::ty(self.native).expect("it is alive")
    }

    pub fn dtype(self) -> DType {
        self.ty().dtype
    }

    /// Returns true if elements are whole numbers, so that they may be operands of arithmetic.
    pub fn is_whole(self) -> bool {
        self.bound < ANY
    }
}

/// One action in the report of a failure.
struct Line {
    action: Action,
    operands: Vec<usize>,
    /// Texts of the shardings that the action used.
    shardings: Vec<String>,
    results: Vec<(usize, TensorType)>,
    /// True if the action made or changed a tensor; false if it was an error or was skipped.
    is_done: bool,
}

pub struct Twin<'a> {
    pub native: World,
    pub lazy: World,
    /// Where lazy tensors are created.
    pub home: &'a Place,
    /// Where lazy tensors move, and from where they return.
    pub others: &'a [Place],
    /// The lazy environment's native device.
    pub host: &'static Device,
    pub folder: &'a Path,
    /// Whether tensors of floats have NaN and infinities, see [`Twin::with_specials`].
    pub specials: bool,
    /// Copies on the native device, which may alias memory of the lazy devices.
    pub lent: Vec<Pair>,
    tensors: Vec<Pair>,
    made: usize,
    story: Vec<Line>,
    coverage: &'a Coverage<Kind>,
    /// Record of the compared values, if they are recorded.
    record: Option<&'a Record>,
}

impl<'a> Twin<'a> {
    pub fn new(
        native: &Environment,
        lazy: &Environment,
        places: &'a Places,
        folder: &'a Path,
        coverage: &'a Coverage<Kind>,
    ) -> Twin<'a> {
        let cpu = |env: &Environment| env.device(DeviceKind::Cpu, 0).expect("cpu is always there");
        Twin {
            native: World { is_native: true, device: cpu(native) },
            lazy: World { is_native: false, device: places.home.device },
            home: &places.home,
            others: &places.others,
            host: cpu(lazy),
            folder,
            specials: false,
            lent: Vec::new(),
            tensors: Vec::new(),
            made: 0,
            story: Vec::new(),
            coverage,
            record: None,
        }
    }

    /// The same, with a note of each value that is compared.
    pub fn with_record(self, record: &'a Record) -> Twin<'a> {
        Twin { record: Some(record), ..self }
    }

    /// The same for a program with NaN and infinities, on a mesh, where all NaN are equal. Operands have one dtype: XLA
    /// may replace the product with a converted pred by a selection.
    pub fn with_specials(self) -> Twin<'a> {
        Twin { specials: true, ..self }
    }

    /// Picks a tensor, if there is one.
    pub fn pick(&mut self, choice: u16) -> Option<Pair> {
        self.pick_where(choice, |_| true)
    }

    /// Picks a tensor for which `fits` holds, if there is one.
    pub fn pick_where(&mut self, choice: u16, fits: impl Fn(Pair) -> bool) -> Option<Pair> {
        let fitting: Vec<Pair> = self.tensors.iter().copied().filter(|&pair| fits(pair)).collect();
        let chosen = (!fitting.is_empty()).then(|| fitting[choice as usize % fitting.len()])?;
        self.story.last_mut().expect("an action is under way").operands.push(chosen.name);
        Some(chosen)
    }

    /// Picks a tensor, in most cases one with the dtype of `other`.
    pub fn pick_like(&mut self, choice: u16, other: Pair) -> Pair {
        let (dtype, any) = (other.dtype(), choice.is_multiple_of(8) && !self.specials);
        self.pick_where(choice, |pair| any || pair.dtype() == dtype).unwrap_or(other)
    }

    /// Draws the sharding of a tensor that is brought to a place, and adds it to the report.
    pub fn draw(&mut self, place: &Place, dims: &[i64], choice: u16) -> Option<Sharding> {
        let sharding = place.draw(dims, choice);
        let line = self.story.last_mut().expect("an action is under way");
        line.shardings.extend(sharding.iter().map(|sharding| place.text(sharding)));
        sharding
    }

    /// Places the lazy result of an operation on a mesh at random, in one case of four: what is computed next has an
    /// operand with a constraint. Returns the tensor that takes its place.
    fn placed(&mut self, lazy: TensorHandle) -> Result<TensorHandle> {
        let (home, action) = (self.home, self.story.last().expect("an action is under way").action);
        let mix = |sum: u16, number: u16| sum.rotate_left(5) ^ number;
        let choice = action.numbers.into_iter().map(u16::from).chain(action.tensors).fold(0, mix);
        // The sharding of what is created, moved or constrained is checked.
        if matches!(action.kind, Kind::Creation(_) | Kind::Life(_)) || !choice.is_multiple_of(4) {
            return Ok(lazy);
        }
        let dims = tensor::ty(lazy)?.dims;
        let Some(sharding) = self.draw(home, &dims, choice / 4) else { return Ok(lazy) };
        let placed = tensor::shard(lazy, home.device, &sharding);
        device::release(lazy)?;
        placed
    }

    /// Applies an action that only moves elements: both runs return a new tensor, or the same error.
    pub fn moved(&mut self, bound: f64, act: impl Fn(World) -> Result<TensorHandle>) -> Outcome {
        self.several(|world| Ok(vec![act(world)?]), |_, _| Some(bound))
    }

    /// Applies an action that computes whole numbers up to a bound. It is skipped if these are not exact in the
    /// result's dtype.
    pub fn computed(&mut self, bound: f64, act: impl Fn(World) -> Result<TensorHandle>) -> Outcome {
        self.several(|world| Ok(vec![act(world)?]), |_, dtype| exact(bound, dtype))
    }

    /// Applies an action with several results. `bound` returns the bound of each result, or None to skip the action.
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
                    let lazy = self.placed(lazy).map_err(in_words)?;
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

    /// Applies an action that changes `dst` in place.
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

    /// The tensor that was added last.
    pub fn newest(&self) -> Pair {
        *self.tensors.last().expect("an action added it")
    }

    /// Number of live tensors.
    pub fn count(&self) -> usize {
        self.tensors.len()
    }

    pub fn compare(&self, pair: Pair) -> Outcome {
        let ty = tensor::ty(pair.lazy).map_err(in_words)?;
        let (mut native, mut lazy) = (vec![0; ty.size_bytes()], vec![0; ty.size_bytes()]);
        sync::read(pair.native, &mut native).map_err(in_words)?;
        sync::read(pair.lazy, &mut lazy).map_err(in_words)?;
        let mut outcome = Ok(());
        if !equal(ty.dtype, &native, &lazy, self.home.is_mesh()) {
            outcome = Err(format!("t{}, a {ty}, is {lazy:?} lazily, want {native:?}", pair.name));
        }
        if let Some(record) = self.record {
            record.borrow_mut().push(Seen { ty, native, lazy, errors: None });
        }
        outcome
    }

    pub fn take_back(&self, pair: Pair) -> Outcome {
        self.compare(pair)?;
        [pair.native, pair.lazy].into_iter().try_for_each(device::release).map_err(in_words)
    }
}

impl Twofold for Twin<'_> {
    type Action = Action;

    fn act(&mut self, action: &Action) -> Outcome {
        let (operands, shardings, results) = (Vec::new(), Vec::new(), Vec::new());
        self.story.push(Line { action: *action, operands, shardings, results, is_done: false });
        let outcome = action.act(self);
        self.coverage.add(action.kind, self.story.last().is_some_and(|line| line.is_done));
        outcome
    }

    fn finish(&mut self) -> Outcome {
        for &pair in &self.tensors {
            self.compare(pair)?;
            self.home.check_pieces(pair.lazy).map_err(|error| format!("t{}: {error}", pair.name))?;
        }
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
        let mut text = format!("\n    on {}", self.home);
        for Line { action, operands, shardings, results, .. } in &self.story {
            let operands: Vec<String> = operands.iter().map(|name| format!("t{name}")).collect();
            let results: Vec<String> = results.iter().map(|(name, ty)| format!("t{name}: {ty}")).collect();
            let (kind, operands, results) = (action.kind, operands.join(", "), results.join(", "));
            let _ = write!(text, "\n    {kind:?} of [{operands}] by {:?}", action.numbers);
            for sharding in shardings {
                let _ = write!(text, " split by {sharding:?}");
            }
            let _ = write!(text, " gave [{results}]");
        }
        text
    }
}

/// Returns the bound if whole numbers up to it are exact in the dtype.
pub fn exact(bound: f64, dtype: DType) -> Option<f64> {
    (bound <= limit(dtype)).then_some(bound)
}
