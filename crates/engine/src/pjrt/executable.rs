//! A compiled program of a PJRT client.

use super::api::{Args, call, function, threw};
use super::buffer::{PjrtBuffer, Shells};
use super::client::Client;
use super::event::Event;
use super::loaded::{Loaded, wrong_number, wrong_type};
use super::partitioned::Partitioned;
use super::{exit, sys};
use crate::exceptions::catching;
use crate::{Buffer, Executable, Execution, ProgramCost, ProgramMemory, Signature};
use base::error;
use base::error::Result;
use mesh::Sharding;
use smallvec::SmallVec;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A compiled program, on one device or on a mesh.
pub struct PjrtExecutable {
    loaded: Loaded,
    /// Bytes of all outputs of one run, on all its devices.
    output_bytes: u64,
    /// Number of runs in which every donor was consumed, up to [`PROVEN`].
    proven: AtomicU8,
    /// Partitioned execution; None for a program of one device.
    partitioned: Option<Partitioned>,
}

impl PjrtExecutable {
    /// Takes ownership of an executable. Fails if its number of outputs differs from the signature, or if it is
    /// partitioned and the pieces of its outputs are unknown.
    ///
    /// # Safety
    /// `raw` is an executable of this client that is not destroyed elsewhere.
    pub unsafe fn new(
        client: Arc<Client>,
        raw: *mut sys::PJRT_LoadedExecutable,
        signature: Signature,
    ) -> Result<PjrtExecutable> {
        // SAFETY: guaranteed by the caller.
        let loaded = unsafe { Loaded::new(client, raw, signature)? };
        let signature = loaded.signature();
        let partitioned = match &signature.partitions {
            Some(partitions) => Some(Partitioned::new(&loaded, partitions.clone())?),
            None => None,
        };
        let output_bytes = match &partitioned {
            Some(partitioned) => partitioned.output_bytes(),
            None => signature.outputs.iter().map(|ty| ty.packed_bytes() as u64).sum(),
        };
        Ok(PjrtExecutable { loaded, output_bytes, proven: AtomicU8::new(0), partitioned })
    }

    /// Checks the arguments' types and devices against the signature, and returns their buffers. The plugin itself
    /// compares only sizes in bytes, and would reinterpret an s32 as an f32.
    fn checked<'a>(&self, device: usize, arguments: &[&'a dyn Buffer]) -> Result<SmallVec<[&'a PjrtBuffer; 32]>> {
        let (client, signature) = (self.loaded.client(), self.loaded.signature());
        if arguments.len() != signature.parameters.len() {
            return Err(wrong_number(signature, arguments));
        }
        let mut buffers = SmallVec::new();
        for (i, (argument, wanted)) in arguments.iter().zip(&signature.parameters).enumerate() {
            if argument.tensor_type() != wanted {
                return Err(wrong_type(i, argument.tensor_type(), wanted));
            }
            match argument.as_any().downcast_ref::<PjrtBuffer>() {
                Some(buffer) if argument.device() == device && buffer.belongs_to(client) => buffers.push(buffer),
                _ => {
                    return Err(error!(
                        InvalidArgument,
                        "argument {i} is on device {} (or of another engine); the program runs on device {device}",
                        argument.device()
                    ));
                }
            }
        }
        Ok(buffers)
    }

    /// Returns the donors that the run that was just enqueued has consumed. In the first runs, the plugin is asked for
    /// each donor; later, for the first and the last one: a plugin that consumed all donors of a program does so in
    /// every run.
    fn consumed(&self, buffers: &[&PjrtBuffer], keep: &[usize]) -> Vec<usize> {
        let signature = self.loaded.signature();
        let donors: Vec<usize> = match keep {
            [] => signature.donors.clone(),
            _ => signature.donors.iter().copied().filter(|donor| keep.binary_search(donor).is_err()).collect(),
        };
        let is_consumed = |&donor: &usize| buffers[donor].is_deleted();
        let proven = self.proven.load(Ordering::Relaxed);
        if proven >= PROVEN && donors.first().is_none_or(is_consumed) && donors.last().is_none_or(is_consumed) {
            return donors;
        }
        let wanted = donors.len();
        let consumed: Vec<usize> = donors.into_iter().filter(is_consumed).collect();
        if consumed.len() < wanted {
            self.proven.store(0, Ordering::Relaxed);
        } else if wanted == signature.donors.len() && proven < PROVEN {
            self.proven.store(proven + 1, Ordering::Relaxed);
        }
        consumed
    }
}

/// Returns the property of this name, if it is a number that is not negative: a plugin says -1 for what it does not know.
fn property(properties: &[sys::PJRT_NamedValue], name: &str) -> Option<f64> {
    let is_named = |property: &&sys::PJRT_NamedValue| {
        // SAFETY: the plugin returned pointer and length.
        !property.name.is_null()
            && unsafe { std::slice::from_raw_parts(property.name.cast::<u8>(), property.name_size) } == name.as_bytes()
    };
    let found = properties.iter().find(is_named)?;
    // SAFETY: the type says which field of the union is valid.
    let value = unsafe {
        match found.type_ {
            sys::PJRT_NamedValue_kFloat => f64::from(found.value.float_value),
            sys::PJRT_NamedValue_kInt64 => found.value.int64_value as f64,
            _ => return None,
        }
    };
    (value >= 0.0).then_some(value)
}

/// Number of runs after which only two donors are asked for.
const PROVEN: u8 = 2;

impl Executable for PjrtExecutable {
    fn signature(&self) -> &Signature {
        self.loaded.signature()
    }

    fn output_shardings(&self) -> &[Sharding] {
        self.partitioned.as_ref().map_or(&[], Partitioned::output_shardings)
    }

    fn unknown_outputs(&self) -> &[usize] {
        self.partitioned.as_ref().map_or(&[], Partitioned::unknown_outputs)
    }

    fn serialize(&self) -> Result<Vec<u8>> {
        let _inside = exit::enter()?;
        self.loaded.with_unloaded(|executable| {
            let api = self.loaded.client().api;
            let mut args = Args::<sys::PJRT_Executable_Serialize_Args>::new(api);
            args.executable = executable;
            call!(api, PJRT_Executable_Serialize, args)?;
            if args.serialized_bytes.is_null() {
                return Err(error!(Unimplemented, "the plugin serialized an executable to nothing"));
            }
            // SAFETY: the plugin returned pointer and length, which are valid until its deleter is called, once, below.
            let bytes = unsafe {
                std::slice::from_raw_parts(args.serialized_bytes.cast::<u8>(), args.serialized_bytes_size).to_vec()
            };
            if let Some(delete) = args.serialized_executable_deleter {
                let serialized = args.serialized_executable;
                // SAFETY: as above.
                let deleted = catching(move || unsafe { delete(serialized) });
                deleted.map_err(|thrown| threw("serialized_executable_deleter", thrown))?;
            }
            Ok(bytes)
        })
    }

    fn memory(&self) -> Result<ProgramMemory> {
        let _inside = exit::enter()?;
        self.loaded.with_unloaded(|executable| {
            let api = self.loaded.client().api;
            let mut args = Args::<sys::PJRT_Executable_GetCompiledMemoryStats_Args>::new(api);
            args.executable = executable;
            call!(api, PJRT_Executable_GetCompiledMemoryStats, args)?;
            Ok(ProgramMemory {
                arguments: args.argument_size_in_bytes as u64,
                outputs: args.output_size_in_bytes as u64,
                aliases: args.alias_size_in_bytes as u64,
                temporaries: args.temp_size_in_bytes as u64,
                code: args.generated_code_size_in_bytes as u64,
            })
        })
    }

    fn cost(&self) -> Option<ProgramCost> {
        let _inside = exit::enter().ok()?;
        let estimate = self.loaded.with_unloaded(|executable| {
            let api = self.loaded.client().api;
            let mut args = Args::<sys::PJRT_Executable_GetCostAnalysis_Args>::new(api);
            args.executable = executable;
            call!(api, PJRT_Executable_GetCostAnalysis, args)?;
            let properties = match args.properties.is_null() {
                true => &[],
                // SAFETY: the plugin returned pointer and length, which are valid as long as the executable.
                false => unsafe { std::slice::from_raw_parts(args.properties, args.num_properties) },
            };
            Ok((property(properties, "flops"), property(properties, "bytes accessed")))
        });
        let (flops, bytes) = estimate.ok()?;
        Some(ProgramCost { flops: flops?, bytes: bytes? })
    }

    fn execute(&self, device: usize, arguments: &[&dyn Buffer], keep: &[usize]) -> Result<Execution> {
        let _inside = exit::enter()?;
        if let Some(partitioned) = &self.partitioned {
            return partitioned.execute(&self.loaded, arguments, keep);
        }
        let (client, signature) = (self.loaded.client(), self.loaded.signature());
        let api = client.api;
        let buffers = self.checked(device, arguments)?;
        let raw_arguments: SmallVec<[*mut sys::PJRT_Buffer; 32]> = buffers.iter().map(|b| b.raw()).collect();
        let mut raw_outputs: SmallVec<[*mut sys::PJRT_Buffer; 32]> =
            SmallVec::from_elem(null_mut(), signature.outputs.len());
        let kept: SmallVec<[i64; 8]> = keep.iter().map(|&i| i as i64).collect();

        let mut options = Args::<sys::PJRT_ExecuteOptions>::new(api);
        options.non_donatable_input_indices = if kept.is_empty() { null() } else { kept.as_ptr() };
        options.num_non_donatable_input_indices = kept.len();
        let argument_list: *const *mut sys::PJRT_Buffer = raw_arguments.as_ptr();
        let output_list: *mut *mut sys::PJRT_Buffer = raw_outputs.as_mut_ptr();
        let mut complete: *mut sys::PJRT_Event = null_mut();
        let mut args = Args::<sys::PJRT_LoadedExecutable_Execute_Args>::new(api);
        args.executable = self.loaded.raw();
        args.options = options.as_mut_ptr();
        args.argument_lists = &argument_list;
        args.num_devices = 1;
        args.num_args = raw_arguments.len();
        args.output_lists = &output_list;
        args.device_complete_events = &mut complete;
        args.execute_device = client.device_to_name(device)?;
        call!(api, PJRT_LoadedExecutable_Execute, args).inspect_err(|_| {
            // A failed run may have consumed its donors.
            let lost = buffers.iter().filter(|buffer| buffer.is_deleted()).map(|buffer| buffer.uncount()).sum();
            client.count(0, lost);
        })?;

        if !complete.is_null() {
            // SAFETY: the plugin transferred ownership of the event.
            client.in_flight(device, unsafe { Event::new(api, complete) });
        }
        let consumed = self.consumed(&buffers, keep);
        let freed = consumed.iter().map(|&i| buffers[i].uncount()).sum();
        client.count(self.output_bytes, freed);
        let mut shells = Shells::lock();
        let outputs = raw_outputs.iter().zip(&signature.outputs).map(|(&raw, ty)| {
            // SAFETY: the plugin wrote one new buffer per output and transferred ownership.
            unsafe { shells.fill(client.clone(), raw, ty.clone(), device) as Arc<dyn Buffer> }
        });
        Ok(Execution { outputs: outputs.collect(), consumed })
    }
}
