//! Executables, and how computations become executables.

use crate::computation::Computation;
use crate::device::{Compiled, Device, Owner, Place, device_of, release, scopes};
use crate::device_data::{Hold, Name};
use crate::sync::alone::{self, Alone};
use crate::sync::{self, Materialized};
use base::error;
use base::error::{Error, Result};
use base::types::{Scalar, TensorType};
use engine::Buffer;
use ir::{Body, useful_donors};
use native::Array;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A computation that is compiled for a device.
pub struct Executable {
    /// Name in messages: `executable 3 on xla:0`.
    pub(super) name: Name,
    pub(super) device: &'static Device,
    /// Environment and place of the device. The device may have got another owner since.
    pub(super) owner: Owner,
    pub(super) body: Arc<Body>,
    /// For each parameter, whether a run may consume its buffer.
    pub(super) donated: Vec<bool>,
    pub(super) code: Code,
}

/// How the program runs.
pub(super) enum Code {
    /// The interpreter evaluates it, on these captured values.
    Native(Vec<Array>),
    /// The engine runs it. The captured values follow the parameters.
    Engine { compiled: Arc<Compiled>, captured: Vec<Captured> },
}

/// A captured value on the device of an executable.
pub(super) struct Captured {
    pub buffer: Arc<dyn Buffer>,
    /// Keeps a step from consuming the buffer.
    _hold: Hold,
}

impl Executable {
    /// Compiles a computation for a device. `donated` are the indices of the parameters that a run may consume.
    pub fn compile(computation: &Computation, device: &'static Device, donated: &[usize]) -> Result<Executable> {
        scopes::refuse("f: its captured values are needed")?;
        let owner = device.open_owner()?;
        check_place(&owner, computation)?;
        let body = computation.body().clone();
        let donated = flags(donated, body.parameters().len())?;
        let code = match owner.place {
            Place::Cpu => {
                Code::Native((0..computation.captured()).map(|i| computation.captured_array(i)).collect::<Result<_>>()?)
            }
            Place::Xla(_) | Place::Mesh(_) => {
                let compiled = Arc::new(alone_of(&body, &donated).compile(&owner).map_err(|e| e.context("f"))?);
                let captured = (0..computation.captured()).map(|i| brought(computation, i, device, &owner, &compiled));
                Code::Engine { captured: captured.collect::<Result<_>>()?, compiled }
            }
        };
        Ok(Executable { name: new_name(owner.place), device, owner, body, donated, code })
    }

    /// Types of the parameters.
    pub fn parameters(&self) -> &[TensorType] {
        self.body.parameters()
    }

    /// Types of the results.
    pub fn results(&self) -> &[TensorType] {
        self.body.results()
    }

    /// Returns an error if the environment of the executable was released.
    pub(super) fn check_open(&self) -> Result<()> {
        let state = self.device.state();
        let is_own = state.owner().is_ok_and(|owner| Arc::ptr_eq(&owner.shared, &self.owner.shared));
        match is_own {
            true => state.check_open(),
            false => Err(error!(FailedPrecondition, "executable: its environment was released")),
        }
    }

    /// Adds the name of the executable to an error of a run.
    pub(super) fn named(&self, error: Error) -> Error {
        error.context(&*self.name)
    }
}

/// Returns a new name of an executable.
fn new_name(place: Place) -> Name {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    Arc::new(format!("executable {number} on {place}"))
}

/// Returns an error for a computation or a device for which there are no executables.
fn check_place(owner: &Owner, computation: &Computation) -> Result<()> {
    let body = computation.body();
    if let Place::Mesh(_) = owner.place {
        return Err(error!(
            Unimplemented,
            "device: {} is a mesh; executables run on cpu and on xla:N, call the computation instead", owner.place
        ));
    }
    if body.has_collectives() || body.has_shardings() {
        return Err(error!(
            Unimplemented,
            "f: traced for a mesh; executables run on cpu and on xla:N, call the computation instead"
        ));
    }
    if body.program().has_effects() {
        return Err(error!(
            Unimplemented,
            "f: it calls a kernel with effects, which steps put in order; call the computation instead"
        ));
    }
    let place = computation.home();
    if place.is_some_and(|(environment, _)| environment != owner.shared.number) {
        return Err(error!(InvalidArgument, "device: it belongs to another environment than f"));
    }
    Ok(())
}

/// Returns for each parameter whether it is listed.
fn flags(listed: &[usize], parameters: usize) -> Result<Vec<bool>> {
    let mut flags = vec![false; parameters];
    for (i, &index) in listed.iter().enumerate() {
        match flags.get_mut(index) {
            Some(flag) if !*flag => *flag = true,
            Some(_) => return Err(error!(InvalidArgument, "options.donated[{i}]: {index} is given twice")),
            None => {
                return Err(error!(
                    InvalidArgument,
                    "options.donated[{i}]: {index} given; f has {parameters} parameters"
                ));
            }
        }
    }
    Ok(flags)
}

/// The program of a body. Donors of the compiled program are those whose memory a result can reuse.
fn alone_of(body: &Body, donated: &[bool]) -> Alone {
    let candidates = body.parameters().iter().enumerate().filter(|(i, _)| donated[*i]);
    let candidates: Vec<(usize, &TensorType)> = candidates.collect();
    let donors = useful_donors(&candidates, body.results().iter());
    let scalars: Vec<Scalar> = body.scalars().to_vec();
    Alone::new(Arc::new(body.program().clone()), scalars, donors)
}

/// Copies a captured value to an XLA device; a value that is there is shared.
fn brought(
    computation: &Computation,
    index: usize,
    device: &'static Device,
    owner: &Owner,
    compiled: &Arc<Compiled>,
) -> Result<Captured> {
    let tensor = computation.capture(index)?;
    let made = (|| {
        let source = device_of("captured", tensor)?;
        let hold = match sync::materialize(source, tensor)? {
            Materialized::Device(hold, _) if std::ptr::eq(source, device) => hold,
            value => held(device, value)?,
        };
        let buffer = alone::whole(owner, compiled, hold.data().buffer()?)?;
        Ok(Captured { buffer, _hold: hold })
    })();
    release(tensor)?;
    made.map_err(|e: Error| e.context(format_args!("captured[{index}]")))
}

/// Makes a value available on an XLA device.
fn held(device: &'static Device, value: Materialized) -> Result<Hold> {
    let value = sync::value_on(device, value)?;
    let data = value.data().ok_or_else(|| error!(Internal, "a value on an XLA device without data"))?;
    Ok(data.hold())
}
