//! A traced computation and its application.

use super::calls::Calls;
use super::effects::{after_others, finish_applied, make_calls};
use crate::device::scopes;
use crate::device::{
    Device, DeviceState, Handles, MixedDevicePolicy, OperandName, Place, TensorHandle, Value, common_device_of_list,
};
use crate::device_data::{self, DeviceData};
use crate::sync;
use crate::tensor::{self, brought, finish_all, numbered, to_record};
use base::allocation::with_room;
use base::error;
use base::error::Result;
use base::stack::MOST_DEPTH;
use base::types::TensorType;
use ir::{Body, NodeId, Precision, take_body, take_whole_body};
use lowering::lower::{Annotations, lower_annotated};
use native::Array;
use ops::control::{self, Applied};
use parking_lot::Mutex;
use programs::import::pytorch::Names;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A computation extracted from the trace. It belongs to one device. Its captured values are held by private tensors,
/// so that no step donates them while the computation is alive.
pub struct Computation {
    device: &'static Device,
    body: Arc<Body>,
    captures: Handles,
    /// Environment and device of the captured values; None if there are none.
    home: Option<Home>,
    /// Whether the captured values are constants of an imported program, which are copied to other devices whatever
    /// the option mixed_device_policy says: they are not tensors of the caller's.
    owns_captures: bool,
    /// Copies of values captured on cpu for other devices, each made when the computation is first applied there.
    brought: Mutex<Vec<(Home, Handles)>>,
    /// Names and kinds of the values of an imported program; None for computations that were traced or derived.
    names: Option<Arc<Names>>,
    calls: Calls,
}

/// Number of an environment, and the device within it.
type Home = (u64, Place);

impl Computation {
    /// Extracts the computation of `results` from the trace. `params` are distinct placeholders.
    pub fn trace(params: &[TensorHandle], results: &[TensorHandle]) -> Result<Computation> {
        if results.is_empty() {
            return Err(error!(InvalidArgument, "n_results: 0 given; want at least 1"));
        }
        let device = common_device_of_list(&named(&[Given::List("params", params), Given::List("results", results)]))?;
        let mut state = to_record(device)?;
        let params = parameters(&mut state, params)?;
        let mut results = nodes(&mut state, "results", results)?;
        let calls = make_calls(&mut state, &params, &mut results, 0)?;
        let (body, captured) = take_body(&state.trace, &params, &results)?;
        check_depth(&body).map_err(|e| e.context("results"))?;
        for &id in &captured {
            if let Some(failure) =
                device_data::of_node(&state.trace, state.trace.node(id)).and_then(DeviceData::failure)
            {
                return Err(failure.context("results: they need a value that is lost"));
            }
        }
        let home = state.place();
        // Captured cpu values that do not depend on a placeholder are materialized here.
        let captures = Handles(finish_all(state, &captured)?);
        calls.keep(device);
        let calls = Calls::of(&body, home.map(|home| home.0));
        Ok(Computation {
            device,
            body,
            captures,
            home,
            owns_captures: false,
            brought: Mutex::default(),
            names: None,
            calls,
        })
    }

    /// Ends the scope of this thread, and extracts the computation of `results` from `params`, with all operations on
    /// which they depend. Tensors from before the scope are captured. On an error, the scope stays open.
    pub fn end_scope(params: &[TensorHandle], results: &[TensorHandle]) -> Result<Computation> {
        scopes::check_end(None)?;
        if results.is_empty() {
            return Err(error!(InvalidArgument, "n_results: 0 given; want at least 1"));
        }
        let device = common_device_of_list(&named(&[Given::List("params", params), Given::List("results", results)]))?;
        let mut state = to_record(device)?;
        let home = state.place();
        scopes::check_end(home)?;
        let params = parameters(&mut state, params)?;
        let mut results = nodes(&mut state, "results", results)?;
        let inputs = [&params[..], &state.stand_ins()].concat();
        let calls = make_calls(&mut state, &inputs, &mut results, scopes::number())?;
        let (body, captured) = take_whole_body(&state.trace, &params, &results)?;
        check_depth(&body).map_err(|e| e.context("results"))?;
        let captured = captured.iter().map(|&id| captured_value(&state, id)).collect::<Result<Vec<_>>>()?;
        drop(state);
        let captures = captures_of(device, captured)?;
        calls.keep(device);
        drop(scopes::end()?);
        let calls = Calls::of(&body, home.map(|home| home.0));
        Ok(Computation {
            device,
            body,
            captures,
            home,
            owns_captures: false,
            brought: Mutex::default(),
            names: None,
            calls,
        })
    }

    /// Ends the scope of this thread without a computation.
    pub fn abandon_scope() -> Result<()> {
        scopes::end().map(drop)
    }

    /// Creates a computation that captures constants, which are kept on `device`: cpu, or xla:0 if the environment has
    /// no eager tensors.
    pub(super) fn of_constants(device: &'static Device, body: Arc<Body>, constants: Vec<Array>) -> Result<Computation> {
        check_depth(&body)?;
        let mut captures = Handles(with_room(constants.len(), "the constants of a computation")?);
        for array in constants {
            captures.0.push(sync::from_array(device, array)?);
        }
        let home = device.state().place();
        let calls = Calls::of(&body, home.map(|home| home.0));
        Ok(Computation {
            device,
            body,
            captures,
            home,
            owns_captures: true,
            brought: Mutex::default(),
            names: None,
            calls,
        })
    }

    /// Names the values of an imported program.
    pub(super) fn named(self, names: Names) -> Computation {
        Computation { names: Some(Arc::new(names)), ..self }
    }

    /// Returns names and kinds of the values of an imported program; None for other computations.
    pub(super) fn names(&self) -> Option<&Names> {
        self.names.as_deref()
    }

    /// Types of the parameters.
    pub fn parameters(&self) -> &[TensorType] {
        self.body.parameters()
    }

    /// Types of the results.
    pub fn results(&self) -> &[TensorType] {
        self.body.results()
    }

    /// Number of captured values.
    pub fn captured(&self) -> usize {
        self.captures.0.len()
    }

    /// Returns a new tensor with the captured value at `index`.
    pub fn capture(&self, index: usize) -> Result<TensorHandle> {
        match self.captures.0.get(index) {
            Some(&handle) => tensor::snapshot(handle),
            None => Err(error!(InvalidArgument, "index: {index} given; {} values were captured", self.captured())),
        }
    }

    /// Number of the environment, and the device within it, where it was traced; None if that was released.
    pub fn home(&self) -> Option<(u64, Place)> {
        self.home
    }

    /// Precision of products and convolutions that state none: the option of the environment where it was traced, or
    /// the default if that was released.
    pub fn precision(&self) -> Precision {
        let owner = self.device.open_owner().ok();
        let own = owner.filter(|owner| self.home.is_some_and(|(environment, _)| environment == owner.shared.number));
        own.map_or(Precision::HIGHEST, |owner| owner.shared.options.matmul_precision())
    }

    /// The StableHLO text of the computation: a module whose `main` takes the parameters, then the captures.
    pub fn stablehlo(&self) -> Result<String> {
        lower_annotated(&self.body, &Annotations::default(), self.precision())
    }

    /// Program of the computation.
    pub fn body(&self) -> &Arc<Body> {
        &self.body
    }

    /// Creates a computation with another body that captures the same values.
    pub(super) fn with_body(&self, body: Arc<Body>) -> Result<Computation> {
        check_depth(&body)?;
        let captures = Handles::retained(&self.captures.0)?;
        Ok(self.with(body, captures))
    }

    /// Creates a computation with another body, which has no captures.
    pub(super) fn with_closed_body(&self, body: Arc<Body>) -> Result<Computation> {
        check_depth(&body)?;
        Ok(self.with(body, Handles::default()))
    }

    /// Creates a computation of the same place with another body and other captures.
    fn with(&self, body: Arc<Body>, captures: Handles) -> Computation {
        let Computation { device, home, owns_captures, .. } = *self;
        let calls = Calls::of(&body, home.map(|home| home.0));
        Computation { device, body, captures, home, owns_captures, brought: Mutex::default(), names: None, calls }
    }

    /// Creates a computation whose captured values are those of each of several computations, in order.
    pub(super) fn of_several(computations: &[&Computation], names: &[&str], body: Arc<Body>) -> Result<Computation> {
        check_depth(&body)?;
        let first = computations[0];
        for (computation, name) in computations.iter().zip(names) {
            let is_near = computation.home.map(|home| home.0) == first.home.map(|home| home.0);
            if !is_near || (computation.captured() > 0 && computation.home != first.home) {
                return Err(error!(
                    InvalidArgument,
                    "{name}: traced on another device, or in another environment, than {}", names[0]
                ));
            }
        }
        let all: Vec<TensorHandle> =
            computations.iter().flat_map(|computation| computation.captures.0.iter().copied()).collect();
        let captures = Handles::retained(&all)?;
        let capturing = computations.iter().filter(|computation| computation.captured() > 0);
        let owns_captures = { capturing }.all(|computation| computation.owns_captures);
        let (device, home) = (first.device, first.home);
        let calls = Calls::of(&body, home.map(|home| home.0));
        Ok(Computation { device, body, captures, home, owns_captures, brought: Mutex::default(), names: None, calls })
    }

    /// Returns the nodes of the captured values in the trace of the device on which the computation is applied.
    /// [`device_for`] has made the values available there.
    pub(super) fn captures(&self, state: &mut DeviceState) -> Result<Vec<NodeId>> {
        if self.captures.0.is_empty() || state.place() == self.home {
            return nodes(state, "captured", &self.captures.0);
        }
        let brought = self.brought.lock();
        let found = brought.iter().find(|(place, _)| Some(*place) == state.place());
        let (_, tensors) = found.ok_or_else(|| error!(Internal, "captured: it is not on this device"))?;
        nodes(state, "captured", &tensors.0)
    }

    /// Makes the captured values usable on another device: values captured on cpu are copied there once, subject to the
    /// option mixed_device_policy. Fails for values captured on any other device, or in another environment.
    fn bring_to(&self, name: &str, device: &'static Device, first: Option<OperandName>) -> Result<()> {
        self.check_mesh(name, device)?;
        let Some(target) = device.state().place() else { return Ok(()) };
        let is_near = self.home.is_some_and(|home| home.0 == target.0);
        if is_near && self.captured() == 0 {
            return Ok(());
        }
        let first = first.unwrap_or(OperandName::Tensor("the first computation"));
        let apart = match self.captured() {
            0 => error!(InvalidArgument, "{first}: in another environment than {name}"),
            count => error!(
                InvalidArgument,
                "{first}: on another device, or in another environment, than {name}, which captured {count} values there"
            ),
        };
        if !is_near || self.home.is_none_or(|home| home.1 != Place::Cpu) {
            return Err(apart);
        }
        let is_ready = self.brought.lock().iter().any(|(known, _)| *known == target);
        let policy = match self.owns_captures {
            true => MixedDevicePolicy::Copy,
            false => device.state().owner()?.shared.options.mixed_device_policy(),
        };
        if is_ready && policy != MixedDevicePolicy::Error {
            return Ok(());
        }
        let names: Vec<String> = (0..self.captured()).map(|i| format!("captured[{i}] of {name}")).collect();
        let captures: Vec<(&str, TensorHandle)> =
            names.iter().map(String::as_str).zip(self.captures.0.iter().copied()).collect();
        let tensors = brought(device, policy, &captures, &apart)?;
        self.brought.lock().push((target, tensors));
        Ok(())
    }

    /// Returns an error if the computation contains mesh operations, unless the device is a mesh with the same axes.
    pub(super) fn check_mesh(&self, name: &str, device: &'static Device) -> Result<()> {
        if !self.body.has_collectives() && !self.body.has_shardings() {
            return Ok(());
        }
        let Some(own) = ops::mesh::mesh_of(&self.body.decode().0) else { return Ok(()) };
        if device.state().mesh(name).is_ok_and(|mesh| mesh.axes == own) {
            return Ok(());
        }
        Err(error!(InvalidArgument, "{name}: traced on the mesh {own}; want tensors on a mesh with these axes"))
    }

    /// Records an application to `arguments` and returns its results.
    pub fn call(&self, arguments: &[TensorHandle]) -> Result<Vec<TensorHandle>> {
        let device = device_for(&[("the computation", self)], &[Given::List("args", arguments)])?;
        step_earlier_calls(device, arguments)?;
        let mut state = to_record(device)?;
        let mut arguments = nodes(&mut state, "args", arguments)?;
        after_others(&mut state, &[&self.body], &mut arguments)?;
        let captures = self.captures(&mut state)?;
        state.trace.check_room_for(self.results().len())?;
        let applied = Applied { body: &self.body, captures: &captures };
        let is_inlined = !state.is_native() && self.calls.add();
        let results = match is_inlined {
            true => control::inline(&mut state.trace, &applied, &arguments)?,
            false => control::call(&mut state.trace, &applied, &arguments)?,
        };
        state.has_calls = true;
        finish_applied(state, &[&self.body], &results)
    }
}

/// By the option `step_before_call`, steps what earlier calls left pending on a device, so that no program contains two
/// calls of a loop, and the state before the last call, whose handles are gone by now, is donated.
///
/// A call on placeholders, as in a function that is traced, steps nothing.
fn step_earlier_calls(device: &'static Device, arguments: &[TensorHandle]) -> Result<()> {
    let is_due = {
        let state = device.state();
        let is_on = || state.owner().is_ok_and(|owner| owner.shared.options.step_before_call());
        let is_due = !state.is_native() && state.has_calls && state.trace.pending() > 0 && is_on();
        is_due && scopes::number() == 0 && !wait_for_placeholders(&state, arguments)
    };
    if !is_due {
        return Ok(());
    }
    sync::mark_step(device).map_err(|e| e.context("the step before the call, of what earlier calls left pending"))
}

fn check_depth(body: &Body) -> Result<()> {
    if body.depth() > MOST_DEPTH {
        return Err(error!(
            InvalidArgument,
            "computations call each other {} deep; want at most {MOST_DEPTH}",
            body.depth()
        ));
    }
    Ok(())
}

/// Operands of a call, with the names used in error messages.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    One(&'a str, TensorHandle),
    List(&'a str, &'a [TensorHandle]),
}

/// Returns every operand with its name.
fn named<'a>(given: &[Given<'a>]) -> Vec<(OperandName<'a>, TensorHandle)> {
    let mut named = Vec::new();
    for given in given {
        match *given {
            Given::One(name, handle) => named.push((OperandName::Tensor(name), handle)),
            Given::List(name, list) => named.extend(numbered(name, list)),
        }
    }
    named
}

/// Returns the device on which the computations are applied: the common device of the tensors, or the device of the
/// first computation if there are none. A computation without captures can be applied on any device of its environment.
pub(super) fn device_for(computations: &[(&str, &Computation)], given: &[Given]) -> Result<&'static Device> {
    let named = named(given);
    let device = if named.is_empty() { computations[0].1.device } else { common_device_of_list(&named)? };
    let elsewhere = computations.iter().filter(|(_, computation)| !std::ptr::eq(computation.device, device));
    for (name, computation) in elsewhere {
        computation.bring_to(name, device, named.first().map(|(first, _)| *first))?;
    }
    Ok(device)
}

/// Whether one of these tensors is a placeholder, or depends on one.
fn wait_for_placeholders(state: &DeviceState, tensors: &[TensorHandle]) -> bool {
    let mut pending = Vec::new();
    for slot in tensors.iter().filter_map(|&tensor| state.check("", tensor).ok()) {
        match state.value(slot) {
            Value::Data(data) if data.is_placeholder() => return true,
            Value::Pending(id) => pending.push(*id),
            Value::Data(_) | Value::Native(_) => {}
        }
    }
    !state.parameters_of(&pending).is_empty()
}

/// Returns the value of a leaf that the computation of a scope captures. Fails if it is lost.
fn captured_value(state: &DeviceState, id: NodeId) -> Result<Value> {
    let data = device_data::shared_of_node(&state.trace, state.trace.node(id));
    let data = data.ok_or_else(|| error!(Internal, "results: they need an operand without data"))?;
    if let Some(failure) = data.failure() {
        return Err(failure.context("results: they need a value that is lost"));
    }
    Ok(data.host_array().map_or(Value::Data(data), Value::Native))
}

/// Returns tensors with the values that the computation of a scope captures: the values of tensors from before for which
/// its placeholders stand, and the data of tensors that were made in it.
fn captures_of(device: &'static Device, values: Vec<Value>) -> Result<Handles> {
    let mut captures = Handles(with_room(values.len(), "the captured values of a computation")?);
    let mut state = device.state();
    for value in values {
        captures.0.push(match value.data().and_then(scopes::captured_by) {
            Some(tensor) => {
                let slot = state.check("captured", tensor)?;
                state.retain(slot)?;
                tensor
            }
            None => state.new_tensor_of(value)?,
        });
    }
    Ok(captures)
}

/// Returns the leaves of `params`. Fails for a tensor that is not a placeholder, or is given twice.
fn parameters(state: &mut DeviceState, params: &[TensorHandle]) -> Result<Vec<NodeId>> {
    let mut leaves: Vec<NodeId> = Vec::with_capacity(params.len());
    state.trace.check_room_for(params.len())?;
    let mut places = FxHashMap::default();
    for (i, &handle) in params.iter().enumerate() {
        let check = |name: &str| state.check(name, handle);
        let slot = check("").or_else(|_| check(&OperandName::Element("params", i).to_string()))?;
        let is_placeholder = matches!(state.value(slot), Value::Data(data) if data.is_placeholder());
        if !is_placeholder {
            let ty = state.ty(slot);
            return Err(error!(InvalidArgument, "params: params[{i}], {ty}, has a value; want a placeholder"));
        }
        let leaf = state.operand("params", handle)?;
        if let Some(first) = places.insert(leaf.0, i) {
            return Err(error!(InvalidArgument, "params: params[{i}] is the same placeholder as params[{first}]"));
        }
        leaves.push(leaf);
    }
    Ok(leaves)
}

/// Returns the nodes of tensors that are on one device.
pub(super) fn nodes(state: &mut DeviceState, name: &str, tensors: &[TensorHandle]) -> Result<Vec<NodeId>> {
    state.trace.check_room_for(tensors.len())?;
    let node = |(i, &handle): (usize, &TensorHandle)| {
        // The indexed name is formatted only for an error.
        state.operand(name, handle).or_else(|_| state.operand(&OperandName::Element(name, i).to_string(), handle))
    };
    tensors.iter().enumerate().map(node).collect()
}
