//! A compiled program as the plugin holds it, and the signature that it was compiled for.

use super::api::{Args, call, function};
use super::client::Client;
use super::{exit, sys};
use crate::{Buffer, Signature};
use base::error;
use base::error::{Error, Result};
use base::types::TensorType;
use std::sync::Arc;

/// Owns a `PJRT_LoadedExecutable`.
pub struct Loaded {
    client: Arc<Client>,
    raw: *mut sys::PJRT_LoadedExecutable,
    signature: Signature,
}

// SAFETY: PJRT executables may be used from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Takes ownership of an executable. Fails if its number of outputs differs from the signature.
    ///
    /// # Safety
    /// `raw` is an executable of this client that is not destroyed elsewhere.
    pub unsafe fn new(
        client: Arc<Client>,
        raw: *mut sys::PJRT_LoadedExecutable,
        signature: Signature,
    ) -> Result<Loaded> {
        let loaded = Loaded { client, raw, signature };
        let (outputs, wanted) = (loaded.output_count()?, loaded.signature.outputs.len());
        if outputs != wanted {
            return Err(error!(Internal, "the executable has {outputs} outputs; its signature has {wanted}"));
        }
        Ok(loaded)
    }

    /// The client whose executable it is.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// The plugin's object.
    pub fn raw(&self) -> *mut sys::PJRT_LoadedExecutable {
        self.raw
    }

    /// Types of the arguments and results, and the donors.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Number of outputs reported by the plugin, which writes that many pointers on every run.
    fn output_count(&self) -> Result<usize> {
        self.with_unloaded(|executable| {
            let mut args = Args::<sys::PJRT_Executable_NumOutputs_Args>::new(self.client.api);
            args.executable = executable;
            call!(self.client.api, PJRT_Executable_NumOutputs, args).map(|()| args.num_outputs)
        })
    }

    /// Calls `use_it` with the `PJRT_Executable` of the loaded executable, and destroys it afterwards.
    pub fn with_unloaded<T>(&self, use_it: impl FnOnce(*mut sys::PJRT_Executable) -> Result<T>) -> Result<T> {
        let api = self.client.api;
        let mut get = Args::<sys::PJRT_LoadedExecutable_GetExecutable_Args>::new(api);
        get.loaded_executable = self.raw;
        call!(api, PJRT_LoadedExecutable_GetExecutable, get)?;
        let result = use_it(get.executable);
        let mut destroy = Args::<sys::PJRT_Executable_Destroy_Args>::new(api);
        destroy.executable = get.executable;
        let _ = call!(api, PJRT_Executable_Destroy, destroy);
        result
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let Ok(_inside) = exit::enter() else {
            return;
        };
        let mut args = Args::<sys::PJRT_LoadedExecutable_Destroy_Args>::new(self.client.api);
        args.executable = self.raw;
        let _ = call!(self.client.api, PJRT_LoadedExecutable_Destroy, args);
    }
}

/// Error of a run with another number of arguments than the program has parameters.
#[cold]
pub fn wrong_number(signature: &Signature, arguments: &[&dyn Buffer]) -> Error {
    let (wanted, given) = (signature.parameters.len(), arguments.len());
    error!(InvalidArgument, "{given} arguments given; the program takes {wanted}")
}

/// Error of a run whose argument `i` has another type than the parameter.
#[cold]
pub fn wrong_type(i: usize, given: &TensorType, wanted: &TensorType) -> Error {
    error!(InvalidArgument, "argument {i} is {given}; the program was compiled for {wanted}")
}
