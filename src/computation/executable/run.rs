//! Runs of executables, on tensors and on host memory. They take the lock of the device only to look at tensors.

use super::compile::{Captured, Code, Executable};
use crate::device::{Compiled, Handles, TensorHandle, Value, device_of, scopes};
use crate::device_data::{DeviceData, Hold};
use crate::sync::{self, Materialized, alone};
use base::error;
use base::error::{Error, Result};
use base::metrics::Counter;
use base::threads;
use base::types::TensorType;
use engine::{Buffer, Execution, references};
use lowering::interpret::Plan;
use lowering::lower::Layout;
use native::Array;
use smallvec::SmallVec;
use std::fmt::Display;
use std::sync::Arc;

/// Results of a run on host memory.
pub enum HostResults {
    /// Arrays of the host.
    Native(Vec<Array>),
    /// Buffers of the device, which are ready.
    Engine(Vec<Arc<dyn Buffer>>),
}

impl HostResults {
    /// Copies a result, row-major, to memory of exactly its size.
    pub fn read(&self, index: usize, destination: &mut [u8]) -> Result<()> {
        match self {
            HostResults::Native(arrays) => destination.copy_from_slice(arrays[index].bytes()),
            HostResults::Engine(buffers) => buffers[index].read(destination)?,
        }
        Ok(())
    }
}

impl Executable {
    /// Runs on tensors of the executable's device, and returns tensors with the results, which are in flight.
    pub fn run(&self, inputs: &[TensorHandle]) -> Result<Vec<TensorHandle>> {
        scopes::refuse("inputs: their values are needed")?;
        let values = match &self.code {
            Code::Native { plan, captured } => {
                self.check_open(&self.device.state())?;
                self.check_inputs(inputs)?;
                self.run_native(inputs, plan, captured)?
            }
            Code::Engine { compiled, captured, layout, .. } => {
                self.run_engine(inputs, compiled, captured, layout.as_ref())?
            }
        };
        let mut made = Handles::default();
        let mut state = self.device.state();
        // The environment may have been released meanwhile.
        self.check_open(&state)?;
        for value in values {
            let tensor = state.new_tensor_of(value);
            if tensor.is_err() {
                // The tensors made so far are released without the lock.
                drop(state);
                return tensor.map(|_| Vec::new());
            }
            made.0.extend(tensor.ok());
        }
        drop(state);
        Ok(made.take())
    }

    /// Returns an error that names the input unless all are tensors of the right types on the executable's device.
    fn check_inputs(&self, inputs: &[TensorHandle]) -> Result<()> {
        check_count("n_inputs", inputs.len(), self.parameters().len())?;
        for (i, (&input, wanted)) in inputs.iter().zip(self.parameters()).enumerate() {
            let device = device_of("inputs", input).map_err(|e| e.context(format_args!("inputs[{i}]")))?;
            if !std::ptr::eq(device, self.device) {
                let place = device.state().place().map_or("another environment".to_string(), |(_, at)| at.to_string());
                let own = self.owner.place;
                return Err(error!(InvalidArgument, "inputs[{i}]: it is on {place}; {} wants {own}", self.name));
            }
            let state = self.device.state();
            let slot = state.check("inputs", input).map_err(|e| e.context(format_args!("inputs[{i}]")))?;
            let given = state.ty(slot);
            if given != *wanted {
                return Err(error!(InvalidArgument, "inputs[{i}]: {given} given; {} wants {wanted}", self.name));
            }
        }
        Ok(())
    }

    fn run_native(&self, inputs: &[TensorHandle], plan: &Plan, captured: &[Array]) -> Result<Vec<Value>> {
        let mut arrays = Vec::with_capacity(inputs.len() + captured.len());
        for (i, &input) in inputs.iter().enumerate() {
            arrays.push(sync::to_array(input).map_err(|e| e.context(format_args!("inputs[{i}]")))?.0);
        }
        arrays.extend_from_slice(captured);
        Ok(self.evaluated(plan, &arrays)?.into_iter().map(Value::Native).collect())
    }

    fn evaluated(&self, plan: &Plan, arrays: &[Array]) -> Result<Vec<Array>> {
        threads::limited(self.owner.shared.options.threads(), || plan.run(arrays)).map_err(|e| self.named(e))
    }

    fn run_engine(
        &self,
        inputs: &[TensorHandle],
        compiled: &Arc<Compiled>,
        captured: &[Captured],
        layout: Option<&Layout>,
    ) -> Result<Vec<Value>> {
        let holds = match self.held_if_ready(inputs)? {
            Some(holds) => holds,
            None => {
                self.check_inputs(inputs)?;
                self.held(inputs)?
            }
        };
        let mut whole = Vec::new();
        for (i, hold) in holds.iter().enumerate() {
            let named = |e: Error| e.context(format_args!("inputs[{i}]"));
            let buffer = hold.data().buffer().map_err(named)?;
            if alone::is_padded(&**buffer) {
                whole.push((i, alone::whole(&self.owner, compiled, buffer).map_err(named)?));
            }
        }
        if let Some(layout) = layout {
            self.check_shardings(&holds, layout)?;
        }
        let own = holds.iter().map(|hold| hold.data().buffer().map(|buffer| &**buffer));
        let mut buffers: SmallVec<[&dyn Buffer; 32]> = own.collect::<Result<_>>()?;
        whole.iter().for_each(|(i, buffer)| buffers[*i] = &**buffer);
        let candidates: Vec<(usize, TensorHandle, &Hold)> =
            (0..inputs.len()).filter(|&i| self.donated[i]).map(|i| (i, inputs[i], &holds[i])).collect();
        let taken = alone::take(self.device, &self.name, &candidates);
        let keeps_all = self.can_fail();
        let is_taken = |donor: usize| taken.iter().any(|taken| taken.parameter == donor);
        let donors = &compiled.executable.signature().donors;
        let keep: Vec<usize> = donors.iter().copied().filter(|&donor| keeps_all || !is_taken(donor)).collect();
        match self.execute(compiled, captured, &buffers, &keep) {
            Ok(execution) => {
                let metrics = &self.owner.shared.metrics;
                metrics.add(Counter::DonorsRequested, (donors.len() - keep.len()) as u64);
                metrics.add(Counter::DonatedBuffers, execution.consumed.len() as u64);
                Ok(DeviceData::all_ready(execution.outputs).map(Value::Data).collect())
            }
            Err(error) => {
                alone::give_back(self.device, taken);
                Err(error)
            }
        }
    }

    /// Holds the data of the inputs; None unless all are tensors of the executable's device with values of the right
    /// types.
    fn held_if_ready(&self, inputs: &[TensorHandle]) -> Result<Option<Vec<Hold>>> {
        if inputs.len() != self.parameters().len() {
            return Ok(None);
        }
        let state = self.device.state();
        self.check_open(&state)?;
        let ready = |(&input, wanted): (&TensorHandle, &TensorType)| {
            let is_here = device_of("", input).is_ok_and(|device| std::ptr::eq(device, self.device));
            let slot = if is_here { state.check("", input).ok()? } else { return None };
            let data = state.value(slot).data()?;
            (data.ty() == wanted && data.buffer().is_ok()).then(|| data.hold())
        };
        Ok(inputs.iter().zip(self.parameters()).map(ready).collect())
    }

    /// Computes the inputs that are pending, together, and holds the data of all.
    fn held(&self, inputs: &[TensorHandle]) -> Result<Vec<Hold>> {
        let is_pending = {
            let state = self.device.state();
            inputs.iter().any(|&input| state.check("", input).is_ok_and(|slot| state.data(slot).is_none()))
        };
        if is_pending {
            sync::sync(inputs).map_err(|e| e.context("inputs"))?;
        }
        let one = |(i, &input): (usize, &TensorHandle)| match sync::materialize(self.device, input) {
            Ok(Materialized::Device(hold, _)) => Ok(hold),
            Ok(Materialized::Native(_)) => Err(error!(Internal, "inputs[{i}]: it is in host memory")),
            Err(error) => Err(error.context(format_args!("inputs[{i}]"))),
        };
        inputs.iter().enumerate().map(one).collect()
    }

    /// Returns an error that names the input unless all inputs on a mesh have the shardings of the parameters.
    fn check_shardings(&self, holds: &[Hold], layout: &Layout) -> Result<()> {
        for (i, (hold, wanted)) in holds.iter().zip(&layout.parameters).enumerate() {
            let given = hold.data().sharding();
            if given != *wanted {
                let axes = &layout.mesh.axes;
                let (given, wanted) = (given.text(axes), wanted.text(axes));
                return Err(error!(
                    InvalidArgument,
                    "inputs[{i}]: it has the sharding \"{given}\"; {} wants \"{wanted}\" (a constraint on the parameter \
                     states another one)",
                    self.name
                ));
            }
        }
        Ok(())
    }

    /// Runs the program on the inputs and the captured values.
    fn execute(
        &self,
        compiled: &Compiled,
        captured: &[Captured],
        inputs: &[&dyn Buffer],
        keep: &[usize],
    ) -> Result<Execution> {
        let mut arguments = SmallVec::<[&dyn Buffer; 32]>::from_slice(inputs);
        arguments.extend(captured.iter().map(|captured| &*captured.buffer));
        // Code of a file has the constants of the program in itself, which was read with them as captured values.
        arguments.truncate(compiled.executable.signature().parameters.len());
        let execution = alone::execute(&self.owner, compiled, &arguments, keep).map_err(|e| self.named(e))?;
        if self.can_fail() {
            alone::failure(&execution).map_err(|e| self.named(e))?;
        }
        Ok(execution)
    }

    /// Whether a run can fail on the device: a kernel can.
    fn can_fail(&self) -> bool {
        self.body.program().kernels().any
    }

    /// Returns an error that names the argument unless these are the sizes in bytes of the parameters and the results.
    pub fn check_sizes(&self, inputs: &[usize], outputs: &[usize]) -> Result<()> {
        let lists = [("input", inputs, self.parameters()), ("output", outputs, self.results())];
        for (name, given, types) in lists {
            check_count(format_args!("n_{name}s"), given.len(), types.len())?;
            for (i, (&size, ty)) in given.iter().zip(types).enumerate() {
                check_size(format_args!("{name}_sizes[{i}]"), size, ty)?;
            }
        }
        Ok(())
    }

    /// Runs on row-major host memory, whose sizes are checked, and waits.
    pub fn run_host(&self, inputs: &[&[u8]]) -> Result<HostResults> {
        scopes::refuse("inputs: the results are needed")?;
        self.check_open(&self.device.state())?;
        for (i, (bytes, ty)) in inputs.iter().zip(self.parameters()).enumerate() {
            sync::check_pred(ty, bytes).map_err(|e| e.context(format_args!("inputs[{i}]")))?;
        }
        let typed = inputs.iter().zip(self.parameters());
        match &self.code {
            Code::Native { plan, captured } => {
                let mut arrays = typed.map(|(bytes, ty)| Array::from_bytes(ty, bytes)).collect::<Result<Vec<_>>>()?;
                arrays.extend_from_slice(captured);
                self.evaluated(plan, &arrays).map(HostResults::Native)
            }
            Code::Engine { compiled, captured, layout, .. } => {
                let of = |i: usize| layout.as_ref().map(|layout| &layout.parameters[i]);
                let sent = typed.enumerate().map(|(i, (bytes, ty))| self.owner.transfer(ty, bytes, of(i)));
                let sent = sent.collect::<Result<Vec<_>>>().map_err(|e: Error| self.named(e))?;
                let execution = self.execute(compiled, captured, &references(&sent), &[])?;
                alone::failure(&execution).map_err(|e| self.named(e))?;
                let bytes: usize = self.results().iter().map(TensorType::size_bytes).sum();
                let metrics = &self.owner.shared.metrics;
                metrics.add(Counter::TransferFromDevice, execution.outputs.len() as u64);
                metrics.add(Counter::InboundBytes, bytes as u64);
                Ok(HostResults::Engine(execution.outputs))
            }
        }
    }
}

fn check_count(name: impl Display, given: usize, wanted: usize) -> Result<()> {
    if given != wanted {
        return Err(error!(InvalidArgument, "{name}: {given} given; want {wanted}"));
    }
    Ok(())
}

fn check_size(name: impl Display, given: usize, ty: &TensorType) -> Result<()> {
    if given != ty.size_bytes() {
        return Err(error!(InvalidArgument, "{name}: {given} given; {ty} has {} bytes", ty.size_bytes()));
    }
    Ok(())
}
