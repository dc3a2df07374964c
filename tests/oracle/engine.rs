//! An engine that interprets programs with the native kernels. It consumes every donated buffer: a consumed buffer is
//! poisoned, and access to it is a violation, which tests check for at their end.

use lazyxla::testing::emit::Pack;
use lazyxla::testing::engine::{Buffer, Engine, Executable, Execution, HostCopy, Memory, ProgramMemory, Signature};
use lazyxla::testing::error::{Code, Error, Result};
use lazyxla::testing::interpret;
use lazyxla::testing::lower::Module;
use lazyxla::testing::native::Array;
use lazyxla::testing::types::{Scalar, SharedBytes, TensorType};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// Counters of what the engine observed.
#[derive(Default)]
pub struct Witness {
    /// Number of accesses to poisoned buffers, and of invalid donations.
    pub violations: AtomicU64,
    /// Number of consumed buffers.
    pub consumed: AtomicU64,
    /// Bytes of buffers that are alive and not consumed.
    pub live: AtomicI64,
}

pub struct OracleEngine {
    pub witness: Arc<Witness>,
}

struct OracleBuffer {
    array: Array,
    device: usize,
    /// The buffer aliases memory of another owner, so it must not be consumed.
    lent: bool,
    poisoned: AtomicBool,
    /// Held by each array that aliases this buffer's memory.
    borrowers: Arc<()>,
    witness: Arc<Witness>,
}

fn buffer(array: Array, device: usize, lent: bool, witness: &Arc<Witness>) -> Arc<OracleBuffer> {
    witness.live.fetch_add(array.bytes().len() as i64, Ordering::SeqCst);
    let (poisoned, borrowers) = (AtomicBool::new(false), Arc::new(()));
    Arc::new(OracleBuffer { array, device, lent, poisoned, borrowers, witness: witness.clone() })
}

/// Memory of a buffer that an array aliases.
struct Borrowed {
    memory: Arc<dyn SharedBytes>,
    _borrower: Arc<()>,
}

// SAFETY: the memory is the array's, which upholds the trait's contract.
unsafe impl SharedBytes for Borrowed {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }
}

impl Drop for OracleBuffer {
    fn drop(&mut self) {
        if !self.is_deleted() {
            self.witness.live.fetch_sub(self.array.bytes().len() as i64, Ordering::SeqCst);
        }
    }
}

impl OracleBuffer {
    fn array(&self) -> Result<&Array> {
        if self.is_deleted() {
            self.witness.violations.fetch_add(1, Ordering::SeqCst);
            return Err(Error::new(Code::DataLoss, "a consumed buffer is read"));
        }
        Ok(&self.array)
    }

    fn consume(&self) {
        if self.lent || Arc::strong_count(&self.borrowers) > 1 {
            self.witness.violations.fetch_add(1, Ordering::SeqCst);
        }
        self.poisoned.store(true, Ordering::SeqCst);
        self.witness.consumed.fetch_add(1, Ordering::SeqCst);
        self.witness.live.fetch_sub(self.array.bytes().len() as i64, Ordering::SeqCst);
    }
}

impl Buffer for OracleBuffer {
    fn tensor_type(&self) -> &TensorType {
        self.array.ty()
    }

    fn device(&self) -> usize {
        self.device
    }

    fn is_deleted(&self) -> bool {
        self.poisoned.load(Ordering::SeqCst)
    }

    fn failure(&self) -> Option<Error> {
        None
    }

    fn read(&self, destination: &mut [u8]) -> Result<()> {
        destination.copy_from_slice(self.array()?.bytes());
        Ok(())
    }

    fn start_host_copy(self: Arc<Self>) -> Result<Box<dyn HostCopy>> {
        self.array()?;
        Ok(Box::new(OracleCopy(self)))
    }

    fn share(self: Arc<Self>) -> Result<Option<Arc<dyn SharedBytes>>> {
        let memory = self.array()?.memory();
        Ok(Some(Arc::new(Borrowed { memory, _borrower: self.borrowers.clone() })))
    }

    fn copy_to_device(&self, device: usize) -> Result<Arc<dyn Buffer>> {
        Ok(buffer(self.array()?.clone(), device, false, &self.witness))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Reads as late as possible, so that consuming a buffer during its copy is detected.
struct OracleCopy(Arc<OracleBuffer>);

impl HostCopy for OracleCopy {
    fn bytes(&mut self) -> Result<&[u8]> {
        Ok(self.0.array()?.bytes())
    }
}

struct OracleExecutable {
    signature: Signature,
    program: lazyxla::testing::ir::Program,
    scalars: Vec<Scalar>,
    packs: Vec<Pack>,
    witness: Arc<Witness>,
}

impl Executable for OracleExecutable {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn serialize(&self) -> Result<Vec<u8>> {
        Err(Error::new(Code::Unimplemented, "programs are not kept"))
    }

    fn memory(&self) -> Result<ProgramMemory> {
        Ok(ProgramMemory::default())
    }

    fn execute(&self, device: usize, arguments: &[Arc<dyn Buffer>], keep: &[usize]) -> Result<Execution> {
        let own = |i: usize| arguments[i].as_any().downcast_ref::<OracleBuffer>().expect("a buffer of this engine");
        let types: Vec<&TensorType> = arguments.iter().map(|argument| argument.tensor_type()).collect();
        assert_eq!(types, self.signature.parameters.iter().collect::<Vec<_>>(), "arguments are what was compiled for");
        let consumed: Vec<usize> = self.signature.donors.iter().copied().filter(|i| !keep.contains(i)).collect();
        for &donor in &consumed {
            let again = (0..arguments.len()).filter(|&i| std::ptr::eq(own(i), own(donor))).count();
            assert_eq!(again, 1, "a donor is no other argument, too");
        }
        let mut inputs = Vec::with_capacity(arguments.len());
        for i in 0..arguments.len() {
            inputs.push(own(i).array()?.clone());
        }
        let packed = inputs.split_off(arguments.len() - self.packs.len());
        let mut scalars = self.scalars.clone();
        for (pack, array) in self.packs.iter().zip(&packed) {
            let elements = array.bytes().chunks_exact(pack.dtype.size_bytes());
            for (&hole, bytes) in pack.holes.iter().zip(elements) {
                scalars[hole] = Scalar::from_bytes(pack.dtype, bytes);
            }
        }
        let outputs = interpret::run(&self.program, &scalars, &inputs)?;
        consumed.iter().for_each(|&donor| own(donor).consume());
        let outputs = outputs.into_iter().map(|array| buffer(array, device, false, &self.witness) as Arc<dyn Buffer>);
        Ok(Execution { outputs: outputs.collect(), consumed })
    }
}

impl Engine for OracleEngine {
    fn platform(&self) -> &str {
        "oracle"
    }

    fn device_count(&self) -> usize {
        2
    }

    fn fingerprint(&self) -> Result<Vec<u8>> {
        Ok(b"oracle".to_vec())
    }

    fn transfer_to_device(&self, device: usize, ty: &TensorType, data: &[u8]) -> Result<Arc<dyn Buffer>> {
        Ok(buffer(Array::from_bytes(ty, data)?, device, false, &self.witness))
    }

    fn lend_to_device(
        &self,
        device: usize,
        ty: &TensorType,
        memory: &Arc<dyn SharedBytes>,
    ) -> Result<Option<Arc<dyn Buffer>>> {
        let Some(array) = Array::shared(ty, memory.clone()) else { return Ok(None) };
        Ok(Some(buffer(array, device, true, &self.witness)))
    }

    fn compile(&self, _text: &str, signature: Signature, origin: &dyn Any) -> Result<Arc<dyn Executable>> {
        let module = origin.downcast_ref::<Module>().expect("programs come from lowering");
        Ok(Arc::new(OracleExecutable {
            signature,
            program: module.program.clone(),
            scalars: module.scalars.clone(),
            packs: module.packs.clone(),
            witness: self.witness.clone(),
        }))
    }

    fn deserialize(&self, _bytes: &[u8], _signature: Signature) -> Result<Arc<dyn Executable>> {
        Err(Error::new(Code::Unimplemented, "programs are not kept"))
    }

    fn wait(&self, _device: usize) -> Result<()> {
        Ok(())
    }

    fn memory(&self) -> Memory {
        Memory { live: self.witness.live.load(Ordering::SeqCst) as u64, peak: 0 }
    }

    fn reset_peak(&self) {}
}
