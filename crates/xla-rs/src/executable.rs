//! A program that the crate compiled.

use crate::buffer::XlaRsBuffer;
use crate::{CRATE, Client, check_device, error, failed};
use base::error::Result;
use engine::{Buffer, Executable, Execution, ProgramMemory, Signature, exit};
use std::borrow::Borrow;
use std::sync::Arc;
use xla::{PjRtBuffer, PjRtLoadedExecutable};

/// An executable. Its result is the tuple of the outputs.
pub(super) struct XlaRsExecutable {
    client: Arc<Client>,
    /// None only while it is dropped.
    inner: Option<PjRtLoadedExecutable>,
    signature: Signature,
}

/// An argument of a run: that of the caller, or a copy that the run may consume instead.
enum Argument<'a> {
    Own(&'a XlaRsBuffer),
    Copy(XlaRsBuffer),
}

impl Borrow<PjRtBuffer> for Argument<'_> {
    fn borrow(&self) -> &PjRtBuffer {
        match self {
            Argument::Own(buffer) => buffer.inner(),
            Argument::Copy(buffer) => buffer.inner(),
        }
    }
}

impl XlaRsExecutable {
    pub fn new(client: Arc<Client>, inner: PjRtLoadedExecutable, signature: Signature) -> XlaRsExecutable {
        XlaRsExecutable { client, inner: Some(inner), signature }
    }

    /// The arguments as buffers of this engine, with the types of the signature.
    fn checked<'a>(&self, arguments: &[&'a dyn Buffer]) -> Result<Vec<&'a XlaRsBuffer>> {
        let wanted = &self.signature.parameters;
        if arguments.len() != wanted.len() {
            return Err(error!(Internal, "{} arguments given; the program takes {}", arguments.len(), wanted.len()));
        }
        let mut own = Vec::with_capacity(arguments.len());
        for (i, (argument, ty)) in arguments.iter().zip(wanted).enumerate() {
            if argument.tensor_type() != ty {
                return Err(error!(Internal, "argument {i} is {}; the program takes {ty}", argument.tensor_type()));
            }
            let buffer = argument.as_any().downcast_ref::<XlaRsBuffer>().filter(|b| b.belongs_to(&self.client));
            let buffer = buffer.ok_or_else(|| error!(Internal, "argument {i} is a buffer of another engine"))?;
            if buffer.is_deleted() {
                return Err(error!(DataLoss, "argument {i} was consumed by an earlier run"));
            }
            own.push(buffer);
        }
        Ok(own)
    }
}

impl Executable for XlaRsExecutable {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn serialize(&self) -> Result<Vec<u8>> {
        Err(error!(Unimplemented, "the crate {CRATE} does not serialize executables"))
    }

    fn memory(&self) -> Result<ProgramMemory> {
        Err(error!(Unimplemented, "the crate {CRATE} does not report the memory of a program"))
    }

    fn execute(&self, device: usize, arguments: &[&dyn Buffer], keep: &[usize]) -> Result<Execution> {
        check_device(device)?;
        let _inside = exit::enter()?;
        let own = self.checked(arguments)?;
        let must_copy = |i: &usize| self.signature.donors.binary_search(i).is_ok() && keep.contains(i);
        let mut passed = Vec::with_capacity(own.len());
        for (i, &buffer) in own.iter().enumerate() {
            passed.push(if must_copy(&i) { Argument::Copy(buffer.copied()?) } else { Argument::Own(buffer) });
        }
        let consumed: Vec<usize> = self.signature.donors.iter().copied().filter(|i| !keep.contains(i)).collect();
        let inner = self.inner.as_ref().expect("it is there until the drop");
        let run = inner.execute_b(&passed).map_err(failed);
        let outputs = run.and_then(|mut devices| {
            let outputs = if devices.is_empty() { Vec::new() } else { devices.swap_remove(0) };
            let (made, wanted) = (outputs.len(), self.signature.outputs.len());
            if made == wanted { Ok(outputs) } else { Err(error!(Internal, "{made} outputs instead of {wanted}")) }
        });
        if outputs.is_err() {
            // Whether a run that failed consumed its donors is not reported, so they are asked for their content.
            consumed.iter().filter(|&&i| own[i].is_lost()).for_each(|&i| own[i].consume());
        }
        let outputs = outputs?;
        consumed.iter().for_each(|&i| own[i].consume());
        let outputs = outputs.into_iter().zip(&self.signature.outputs);
        let outputs = outputs.map(|(inner, ty)| Arc::new(XlaRsBuffer::new(&self.client, inner, ty.clone())) as _);
        Ok(Execution { outputs: outputs.collect(), consumed })
    }
}

impl Drop for XlaRsExecutable {
    fn drop(&mut self) {
        match exit::enter() {
            Ok(_inside) => drop(self.inner.take()),
            Err(_) => std::mem::forget(self.inner.take()),
        }
    }
}
