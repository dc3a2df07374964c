//! Runs of a program that is partitioned over the devices of a mesh.

use super::api::{Args, call, function};
use super::buffer::PjrtBuffer;
use super::client::Client;
use super::event::Event;
use super::loaded::{Loaded, wrong_number, wrong_type};
use super::output_pieces::{self, Outputs};
use super::sys;
use crate::{Buffer, Execution, Partitions, ShardedBuffer};
use base::error;
use base::error::{Error, Result};
use base::types::TensorType;
use mesh::{Mesh, Placement, Sharding};
use smallvec::SmallVec;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// Lists of one entry for each argument or output, one list after another for the devices.
type Lists<T> = SmallVec<[T; 64]>;
/// One entry for each device, by position.
type PerDevice<T> = SmallVec<[T; 16]>;

/// Shardings of the parameters and outputs of a partitioned program.
pub struct Partitioned {
    partitions: Partitions,
    outputs: Outputs,
    output_bytes: u64,
}

impl Partitioned {
    /// Reads the shardings of the executable's outputs, see [`output_pieces::find`].
    pub fn new(loaded: &Loaded, partitions: Partitions) -> Result<Partitioned> {
        let outputs = output_pieces::find(loaded, &partitions)?;
        let of_device: u64 = outputs.pieces.iter().map(|ty| ty.packed_bytes() as u64).sum();
        let output_bytes = of_device * partitions.mesh.ordinals.len() as u64;
        Ok(Partitioned { partitions, outputs, output_bytes })
    }

    /// Sharding of each output.
    pub fn output_shardings(&self) -> &[Sharding] {
        &self.outputs.shardings
    }

    /// Outputs whose sharding is unknown.
    pub fn unknown_outputs(&self) -> &[usize] {
        &self.outputs.unknown
    }

    /// Bytes of the pieces of all outputs, on all devices.
    pub fn output_bytes(&self) -> u64 {
        self.output_bytes
    }

    /// Enqueues one run on all devices of the mesh, see [`Executable::execute`](crate::Executable::execute).
    ///
    /// Checks all arguments before the run: if a plugin refused one on a single device, the other devices would run,
    /// and consume their pieces. The plugin with API 0.106 even crashes, because it launches the program on all devices
    /// although preparing it failed on one.
    pub fn execute(&self, loaded: &Loaded, arguments: &[&dyn Buffer], keep: &[usize]) -> Result<Execution> {
        let (client, signature) = (loaded.client(), loaded.signature());
        if !self.outputs.unknown.is_empty() {
            let unknown = &self.outputs.unknown;
            return Err(error!(Internal, "the shardings of the outputs {unknown:?} are unknown; they must be stated"));
        }
        if arguments.len() != signature.parameters.len() {
            return Err(wrong_number(signature, arguments));
        }
        let sharded = self.checked(&signature.parameters, arguments)?;
        let pieces = pieces_of(client, &sharded, self.partitions.mesh.ordinals.len())?;
        check_donors(&pieces[..arguments.len()], &signature.donors, keep)?;
        let outputs = self.launch(loaded, &pieces, keep).inspect_err(|_| {
            // A failed run may have consumed pieces on some devices.
            let freed = pieces.iter().filter(|piece| piece.is_deleted()).map(|piece| piece.uncount()).sum();
            client.count(0, freed);
        })?;

        let mut freed = 0;
        let mut consumed = Vec::new();
        for &donor in &signature.donors {
            // A donor with a deleted piece is lost as a whole.
            let mut is_consumed = false;
            for piece in pieces.iter().skip(donor).step_by(arguments.len()) {
                if piece.is_deleted() {
                    is_consumed = true;
                    freed += piece.uncount();
                }
            }
            if is_consumed {
                consumed.push(donor);
            }
        }
        client.count(self.output_bytes, freed);
        Ok(Execution { outputs: self.wrap(client, &signature.outputs, &outputs), consumed })
    }

    /// Checks the arguments' types, meshes and shardings.
    fn checked<'a>(
        &self,
        parameters: &[TensorType],
        arguments: &[&'a dyn Buffer],
    ) -> Result<SmallVec<[&'a ShardedBuffer; 32]>> {
        let mesh = &self.partitions.mesh;
        let mut sharded = SmallVec::with_capacity(arguments.len());
        let parameters = parameters.iter().zip(&self.partitions.parameters);
        for (i, (argument, (ty, sharding))) in arguments.iter().zip(parameters).enumerate() {
            if argument.tensor_type() != ty {
                return Err(wrong_type(i, argument.tensor_type(), ty));
            }
            let is_placed =
                argument.placement().is_some_and(|given| given.mesh == *mesh && given.sharding == *sharding);
            match argument.as_any().downcast_ref::<ShardedBuffer>() {
                Some(buffer) if is_placed => sharded.push(buffer),
                _ => return Err(misplaced(i, *argument, mesh, sharding)),
            }
        }
        Ok(sharded)
    }

    /// Enqueues one run with these pieces of the arguments. Returns the outputs.
    fn launch(&self, loaded: &Loaded, pieces: &[&PjrtBuffer], keep: &[usize]) -> Result<Lists<*mut sys::PJRT_Buffer>> {
        let client = loaded.client();
        let api = client.api;
        let ordinals = &self.partitions.mesh.ordinals;
        let (argument_count, output_count) = (self.partitions.parameters.len(), self.outputs.pieces.len());
        let arguments: Lists<*mut sys::PJRT_Buffer> = pieces.iter().map(|piece| piece.raw()).collect();
        let argument_lists: PerDevice<*const *mut sys::PJRT_Buffer> =
            (0..ordinals.len()).map(|position| arguments[position * argument_count..].as_ptr()).collect();
        let mut outputs: Lists<*mut sys::PJRT_Buffer> = SmallVec::from_elem(null_mut(), ordinals.len() * output_count);
        let first = outputs.as_mut_ptr();
        let output_lists: PerDevice<*mut *mut sys::PJRT_Buffer> =
            (0..ordinals.len()).map(|position| first.wrapping_add(position * output_count)).collect();
        let mut complete: PerDevice<*mut sys::PJRT_Event> = SmallVec::from_elem(null_mut(), ordinals.len());
        let kept: SmallVec<[i64; 8]> = keep.iter().map(|&i| i as i64).collect();

        let mut options = Args::<sys::PJRT_ExecuteOptions>::new(api);
        options.non_donatable_input_indices = if kept.is_empty() { null() } else { kept.as_ptr() };
        options.num_non_donatable_input_indices = kept.len();
        let mut args = Args::<sys::PJRT_LoadedExecutable_Execute_Args>::new(api);
        args.executable = loaded.raw();
        args.options = options.as_mut_ptr();
        args.argument_lists = argument_lists.as_ptr();
        args.num_devices = ordinals.len();
        args.num_args = argument_count;
        args.output_lists = output_lists.as_ptr();
        args.device_complete_events = complete.as_mut_ptr();
        let launching = client.launching.lock();
        // After an error, the plugin has written neither outputs nor events.
        call!(api, PJRT_LoadedExecutable_Execute, args)?;
        drop(launching);

        for (&ordinal, &event) in ordinals.iter().zip(&complete) {
            if !event.is_null() {
                // SAFETY: the plugin transferred ownership of the event.
                client.in_flight(ordinal, unsafe { Event::new(api, event) });
            }
        }
        Ok(outputs)
    }

    /// Returns the outputs of a run as arrays on the mesh.
    fn wrap(
        &self,
        client: &Arc<Client>,
        types: &[TensorType],
        outputs: &[*mut sys::PJRT_Buffer],
    ) -> Vec<Arc<dyn Buffer>> {
        let mesh = &self.partitions.mesh;
        let array = |(i, ty): (usize, &TensorType)| {
            let piece = |(position, &ordinal): (usize, &usize)| {
                let raw = outputs[position * self.outputs.pieces.len() + i];
                // SAFETY: the plugin wrote one new buffer per device and output and transferred ownership. Its shape
                // was checked after the program was compiled.
                let piece = unsafe { PjrtBuffer::new(client.clone(), raw, self.outputs.pieces[i].clone(), ordinal) };
                Arc::new(piece) as Arc<dyn Buffer>
            };
            let pieces = mesh.ordinals.iter().enumerate().map(piece).collect();
            let placement = Placement { mesh: mesh.clone(), sharding: self.outputs.shardings[i].clone() };
            ShardedBuffer::of_outputs(ty.clone(), placement, pieces) as Arc<dyn Buffer>
        };
        types.iter().enumerate().map(array).collect()
    }
}

/// Returns the pieces of the arguments for the first device, then for the others. Returns an error if one belongs to
/// another client, or was consumed.
fn pieces_of<'a>(
    client: &Arc<Client>,
    arguments: &[&'a ShardedBuffer],
    devices: usize,
) -> Result<Lists<&'a PjrtBuffer>> {
    let mut pieces = SmallVec::with_capacity(devices * arguments.len());
    for position in 0..devices {
        for (i, &argument) in arguments.iter().enumerate() {
            let piece = argument.pieces()[position].as_any().downcast_ref::<PjrtBuffer>();
            let Some(piece) = piece.filter(|piece| piece.belongs_to(client)) else {
                return Err(error!(InvalidArgument, "argument {i} is of another engine"));
            };
            if piece.is_consumed() {
                return Err(error!(
                    InvalidArgument,
                    "argument {i} was consumed by another run: its piece at position {position} is deleted"
                ));
            }
            pieces.push(piece);
        }
    }
    Ok(pieces)
}

/// Returns an error if an argument that this run may consume is given twice. `arguments` are the pieces on one device.
fn check_donors(arguments: &[&PjrtBuffer], donors: &[usize], keep: &[usize]) -> Result<()> {
    if donors.len() <= keep.len() {
        return Ok(());
    }
    let mut order: Lists<(*mut sys::PJRT_Buffer, usize)> =
        arguments.iter().enumerate().map(|(i, argument)| (argument.raw(), i)).collect();
    order.sort_unstable();
    let is_consumed = |i: &usize| donors.binary_search(i).is_ok() && !keep.contains(i);
    for pair in order.windows(2) {
        let [(buffer, i), (next, j)] = pair else { continue };
        if buffer == next && (is_consumed(i) || is_consumed(j)) {
            return Err(error!(
                InvalidArgument,
                "arguments {i} and {j} are the same array, which the run would consume"
            ));
        }
    }
    Ok(())
}

/// Error of a run whose argument `i` is on another mesh, or has another sharding, than the program.
#[cold]
fn misplaced(i: usize, argument: &dyn Buffer, mesh: &Mesh, wanted: &Sharding) -> Error {
    let described = |mesh: &Mesh, sharding: &Sharding| {
        format!("sharded {:?} on the mesh {} of devices {:?}", sharding.text(&mesh.axes), mesh.axes, mesh.ordinals)
    };
    let given = match argument.placement() {
        Some(given) => described(&given.mesh, &given.sharding),
        None => format!("on device {}", argument.device()),
    };
    error!(InvalidArgument, "argument {i} is {given}; the program takes it {}", described(mesh, wanted))
}
