//! Executables, and how computations become executables.

use super::stored::{Stored, StoredCode, StoredLayout, argument_types};
use crate::computation::Computation;
use crate::device::{Compiled, Device, DeviceState, Owner, Place, device_of, release, scopes};
use crate::device_data::{DeviceData, Hold, Name};
use crate::sync::alone::{self, Alone};
use crate::sync::{self, Materialized};
use base::allocation::zeroed_bytes;
use base::error;
use base::error::{Error, Result};
use base::log::{Level, log};
use base::metrics::Counter;
use base::types::{Scalar, TensorType};
use engine::Buffer;
use ir::{Body, Op, Precision, useful_donors};
use lowering::interpret::Plan;
use lowering::lower::Layout;
use mesh::{MeshAxes, Sharding};
use native::Array;
use ops::mesh::stated_sharding;
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
    /// Precision of products and convolutions that state none, when it was compiled.
    pub(super) precision: Precision,
}

/// How the program runs.
pub(super) enum Code {
    /// The plan evaluates it, on these captured values.
    Native { plan: Box<Plan>, captured: Vec<Array> },
    /// The engine runs it. The captured values follow the parameters.
    Engine {
        compiled: Arc<Compiled>,
        captured: Vec<Captured>,
        /// On a mesh, the shardings of the parameters, then of the captured values.
        layout: Option<Layout>,
        /// Code of the file from which the program was loaded.
        stored: Option<StoredCode>,
    },
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
        check_place(device, &owner, computation)?;
        let body = computation.body().clone();
        let donated = flags("options.donated", donated, body.parameters().len())?;
        let precision = owner.shared.options.matmul_precision();
        let code = match owner.place {
            Place::Cpu => {
                let captured = (0..computation.captured()).map(|i| computation.captured_array(i));
                Code::Native { plan: plan_of(&body)?, captured: captured.collect::<Result<_>>()? }
            }
            Place::Xla(_) | Place::Mesh(_) => {
                let holds = (0..computation.captured()).map(|i| brought(computation, i, device));
                let holds = holds.collect::<Result<Vec<Hold>>>()?;
                let layout = layout_of(&owner, &body, &holds)?;
                let alone = alone_of(&body, &donated, layout.clone(), precision);
                let compiled = Arc::new(alone.compile(&owner).map_err(|e| e.context("f"))?);
                let captured = holds.into_iter().map(|hold| {
                    let buffer = alone::whole(&owner, &compiled, hold.data().buffer()?)?;
                    Ok(Captured { buffer, _hold: hold })
                });
                Code::Engine { captured: captured.collect::<Result<_>>()?, compiled, layout, stored: None }
            }
        };
        Ok(Executable { name: new_name(owner.place), device, owner, body, donated, code, precision })
    }

    /// The executable of a file. The code of the file is not used if there is a reason to `distrust` it.
    pub(super) fn of_stored(device: &'static Device, stored: Stored, distrust: Option<String>) -> Result<Executable> {
        scopes::refuse("the captured values are needed")?;
        let owner = device.open_owner()?;
        let Stored { body, donated, captured, layout, code } = stored;
        let layout = placed(&owner, &body, layout)?;
        let donated = flags("donated", &donated, body.parameters().len())?;
        let precision = owner.shared.options.matmul_precision();
        let code = match owner.place {
            Place::Cpu => Code::Native { plan: plan_of(&body)?, captured },
            Place::Xla(_) | Place::Mesh(_) => {
                let code = code.map(|code| distrust.map_or(Ok(code), Err));
                let alone = alone_of(&body, &donated, layout.clone(), precision);
                let (compiled, stored) = load_or_compile(&owner, &body, &alone, code)?;
                let own = |i: usize| layout.as_ref().map(|layout| &layout.parameters[body.parameters().len() + i]);
                let sent = captured.iter().enumerate().map(|(i, array)| {
                    let data = DeviceData::ready(owner.transfer(array.ty(), array.bytes(), own(i))?);
                    Ok(Captured { buffer: data.buffer()?.clone(), _hold: data.hold() })
                });
                let captured = sent.collect::<Result<_>>()?;
                Code::Engine { captured, compiled: Arc::new(compiled), layout, stored }
            }
        };
        Ok(Executable { name: new_name(owner.place), device, owner, body, donated, code, precision })
    }

    /// On a mesh, the shardings of the parameters, then of the captured values.
    pub(super) fn layout(&self) -> Option<&Layout> {
        match &self.code {
            Code::Native { .. } => None,
            Code::Engine { layout, .. } => layout.as_ref(),
        }
    }

    /// The captured values in host memory.
    pub(super) fn captured_arrays(&self) -> Result<Vec<Array>> {
        let read = |captured: &Captured| {
            let mut bytes = zeroed_bytes(captured.buffer.tensor_type().size_bytes())?;
            captured.buffer.read(&mut bytes)?;
            Array::from_bytes(captured.buffer.tensor_type(), &bytes)
        };
        match &self.code {
            Code::Native { captured, .. } => Ok(captured.clone()),
            Code::Engine { captured, .. } => captured.iter().map(read).collect(),
        }
    }

    /// The code to be stored in a file; None if there is none, or the plugin cannot serialize it.
    pub(super) fn code_to_store(&self) -> Result<Option<StoredCode>> {
        let Code::Engine { compiled, stored, layout, .. } = &self.code else { return Ok(None) };
        if let Some(stored) = stored {
            return Ok(Some(stored.clone()));
        }
        // A plugin may not serialize what it has loaded, nor, if it sorts, what has run.
        let is_refused = |error: &Error| error.code == base::error::Code::Unimplemented;
        let code = match compiled.known.cost.is_from_disk {
            true => None,
            false => Some(compiled.executable.serialize()).filter(|code| !code.as_ref().is_err_and(is_refused)),
        };
        let again = || alone_of(&self.body, &self.donated, layout.clone(), self.precision).code(&self.owner);
        let code = code.unwrap_or_else(again);
        match code {
            Err(error) if is_refused(&error) => Ok(None),
            code => {
                let arguments = compiled.executable.signature().parameters.len();
                Ok(Some(StoredCode { key: alone::key(&self.owner)?, arguments, bytes: code?.into() }))
            }
        }
    }

    /// Types of the parameters.
    pub fn parameters(&self) -> &[TensorType] {
        self.body.parameters()
    }

    /// Types of the results.
    pub fn results(&self) -> &[TensorType] {
        self.body.results()
    }

    /// Returns an error if the environment of the executable was released: another one may have its device by now.
    pub(super) fn check_open(&self, state: &DeviceState) -> Result<()> {
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

fn plan_of(body: &Body) -> Result<Box<Plan>> {
    Plan::new(body.program(), body.scalars()).map(Box::new)
}

/// Returns a new name of an executable.
fn new_name(place: Place) -> Name {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    Arc::new(format!("executable {number} on {place}"))
}

/// Returns an error for a computation for which there are no executables on a device.
fn check_place(device: &'static Device, owner: &Owner, computation: &Computation) -> Result<()> {
    let body = computation.body();
    if body.has_collectives() || body.has_shardings() {
        computation.check_mesh("f", device)?;
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

/// Returns the layout of the program of a file on the device of an owner; an error if it is for other devices. A program
/// for one device is replicated on a mesh.
fn placed(owner: &Owner, body: &Body, stored: Option<StoredLayout>) -> Result<Option<Layout>> {
    let wrong = |axes: &MeshAxes| {
        let place = owner.mesh.as_ref().map_or(owner.place.to_string(), |mesh| format!("the mesh {}", mesh.axes));
        Err(error!(InvalidArgument, "device: {place} given; the program is for the mesh {axes}"))
    };
    let parameters = match (&owner.mesh, stored) {
        (None, None) => return Ok(None),
        (Some(mesh), Some(stored)) if mesh.axes == stored.axes => stored.shardings,
        (_, Some(stored)) => return wrong(&stored.axes),
        (Some(_), None) => {
            let types = argument_types(body, usize::MAX);
            types.iter().map(|ty| Sharding::replicated(ty.dims.len())).collect()
        }
    };
    Ok(owner.mesh.clone().map(|mesh| Layout { mesh, parameters, outputs: None }))
}

/// Returns the shardings of the parameters and of the captured values on a mesh. A parameter has the sharding of the
/// first constraint on it, and is replicated if there is none.
fn layout_of(owner: &Owner, body: &Body, captured: &[Hold]) -> Result<Option<Layout>> {
    let Some(mesh) = owner.mesh.clone() else { return Ok(None) };
    let (values, _) = body.decode();
    let leaves = (0..values.len()).filter(|&at| values[at].op == Op::Leaf);
    let of_parameter = |(leaf, ty): (usize, &TensorType)| {
        let on_leaf = values.iter().filter(|value| value.operands.contains(&leaf));
        on_leaf.filter_map(stated_sharding).next().unwrap_or_else(|| Sharding::replicated(ty.dims.len()))
    };
    let mut parameters: Vec<Sharding> = leaves.zip(body.parameters()).map(of_parameter).collect();
    parameters.extend(captured.iter().map(|hold| hold.data().sharding()));
    Ok(Some(Layout { mesh, parameters, outputs: None }))
}

/// Loads the code of a file if it was compiled for this engine and processor, or compiles the program.
fn load_or_compile(
    owner: &Owner,
    body: &Body,
    alone: &Alone,
    stored: Option<std::result::Result<StoredCode, String>>,
) -> Result<(Compiled, Option<StoredCode>)> {
    let loaded = match stored {
        None => Err("the file has no compiled code".to_string()),
        Some(Err(reason)) => Err(reason),
        Some(Ok(code)) if code.key != alone::key(owner)? => {
            Err("its code is for other devices, or another plugin, processor or version of the library".to_string())
        }
        Some(Ok(code)) => {
            let types = argument_types(body, code.arguments);
            let loaded = alone.load(owner, &code.bytes, types);
            loaded.map(|loaded| (loaded, Some(code))).map_err(|e| format!("the plugin does not load its code: {e}"))
        }
    };
    loaded.or_else(|reason| {
        log(Level::Warning, || format!("an executable in a file is compiled again: {reason}"));
        owner.shared.metrics.add(Counter::ExecutableRecompiled, 1);
        alone.compile(owner).map(|compiled| (compiled, None))
    })
}

/// Returns for each parameter whether it is listed.
fn flags(name: &str, listed: &[usize], parameters: usize) -> Result<Vec<bool>> {
    let mut flags = vec![false; parameters];
    for (i, &index) in listed.iter().enumerate() {
        match flags.get_mut(index) {
            Some(flag) if !*flag => *flag = true,
            Some(_) => return Err(error!(InvalidArgument, "{name}[{i}]: {index} is given twice")),
            None => {
                return Err(error!(InvalidArgument, "{name}[{i}]: {index} given; there are {parameters} parameters"));
            }
        }
    }
    Ok(flags)
}

/// The program of a body. Donors of the compiled program are those whose memory a result can reuse.
fn alone_of(body: &Body, donated: &[bool], layout: Option<Layout>, precision: Precision) -> Alone {
    let candidates = body.parameters().iter().enumerate().filter(|(i, _)| donated[*i]);
    let candidates: Vec<(usize, &TensorType)> = candidates.collect();
    let donors = useful_donors(&candidates, body.results().iter());
    let scalars: Vec<Scalar> = body.scalars().to_vec();
    Alone::new(Arc::new(body.program().clone()), scalars, donors, layout, precision)
}

/// Copies a captured value to an XLA device or a mesh; a value that is there is shared.
fn brought(computation: &Computation, index: usize, device: &'static Device) -> Result<Hold> {
    let tensor = computation.capture(index)?;
    let made = (|| {
        let source = device_of("captured", tensor)?;
        match sync::materialize(source, tensor)? {
            Materialized::Device(hold, _) if std::ptr::eq(source, device) => {
                hold.data().buffer().cloned().map(|_| hold)
            }
            value => held(device, value),
        }
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
