//! An engine that interprets programs with the native kernels. It consumes every donated buffer: a consumed buffer is
//! poisoned, and access to it is a violation, which tests check for at their end. A partitioned program is interpreted
//! once, on the whole arguments; its outputs are then split.

use crate::place::random_sharding;
use lazyxla::testing::emit::Pack;
use lazyxla::testing::engine::{
    Buffer, Engine, Executable, Execution, HostCopy, Memory, Partitions, ProgramMemory, ShardedBuffer, Signature,
};
use lazyxla::testing::error::{Code, Error, Result};
use lazyxla::testing::interpret;
use lazyxla::testing::lower::Module;
use lazyxla::testing::mesh::{Placement, Sharding, take_piece};
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
    /// Number of devices.
    pub devices: usize,
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
    /// Shardings of the outputs of a partitioned program.
    shardings: Vec<Sharding>,
    program: lazyxla::testing::ir::Program,
    scalars: Vec<Scalar>,
    packs: Vec<Pack>,
    witness: Arc<Witness>,
}

/// Buffer of this engine.
fn own(buffer: &Arc<dyn Buffer>) -> &OracleBuffer {
    buffer.as_any().downcast_ref().expect("a buffer of this engine")
}

/// Buffers of an argument: one, or the pieces of a buffer on a mesh.
fn parts(argument: &Arc<dyn Buffer>) -> Vec<&OracleBuffer> {
    match argument.as_any().downcast_ref::<ShardedBuffer>() {
        Some(sharded) => sharded.pieces().iter().map(own).collect(),
        None => vec![own(argument)],
    }
}

/// Content of an argument; of a buffer on a mesh, the whole.
fn content(argument: &Arc<dyn Buffer>, partitions: Option<&Partitions>) -> Result<Array> {
    if partitions.is_none() {
        return own(argument).array().cloned();
    }
    for part in parts(argument) {
        part.array()?;
    }
    let mut bytes = vec![0; argument.tensor_type().size_bytes()];
    argument.read(&mut bytes)?;
    Array::from_bytes(argument.tensor_type(), &bytes)
}

impl OracleExecutable {
    /// Buffer of an output on a device; of a partitioned program, on the mesh.
    fn output(&self, device: usize, index: usize, array: Array) -> Result<Arc<dyn Buffer>> {
        let Some(Partitions { mesh, .. }) = &self.signature.partitions else {
            return Ok(buffer(array, device, false, &self.witness));
        };
        let (ty, sharding) = (array.ty(), self.shardings[index].clone());
        let piece = TensorType::new(ty.dtype, &sharding.piece_dims("output", &mesh.axes, &ty.dims)?);
        let mut pieces: Vec<Arc<dyn Buffer>> = Vec::new();
        for (position, &ordinal) in mesh.ordinals.iter().enumerate() {
            let offsets = sharding.offsets(&mesh.axes, position, &piece.dims);
            let mut bytes = vec![0; piece.size_bytes()];
            take_piece(array.bytes(), &ty.dims, ty.dtype.size_bytes(), &offsets, &piece.dims, &mut bytes);
            pieces.push(buffer(Array::from_bytes(&piece, &bytes)?, ordinal, false, &self.witness));
        }
        let sharded = ShardedBuffer::new(ty.clone(), Placement { mesh: mesh.clone(), sharding }, pieces)?;
        Ok(sharded)
    }

    /// Checks that the arguments are of the types and shardings that the program was compiled for.
    fn check(&self, arguments: &[Arc<dyn Buffer>]) {
        let types: Vec<&TensorType> = arguments.iter().map(|argument| argument.tensor_type()).collect();
        assert_eq!(types, self.signature.parameters.iter().collect::<Vec<_>>(), "arguments are what was compiled for");
        let known = |argument: &Arc<dyn Buffer>| argument.placement().map(|placement| placement.sharding.clone());
        let given: Vec<Option<Sharding>> = arguments.iter().map(known).collect();
        let wanted: Vec<Option<Sharding>> = match &self.signature.partitions {
            Some(partitions) => partitions.parameters.iter().cloned().map(Some).collect(),
            None => vec![None; arguments.len()],
        };
        assert_eq!(given, wanted, "arguments are split as what was compiled for");
    }
}

impl Executable for OracleExecutable {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn output_shardings(&self) -> &[Sharding] {
        &self.shardings
    }

    fn serialize(&self) -> Result<Vec<u8>> {
        Err(Error::new(Code::Unimplemented, "programs are not kept"))
    }

    fn memory(&self) -> Result<ProgramMemory> {
        Ok(ProgramMemory::default())
    }

    fn execute(&self, device: usize, arguments: &[Arc<dyn Buffer>], keep: &[usize]) -> Result<Execution> {
        self.check(arguments);
        let consumed: Vec<usize> = self.signature.donors.iter().copied().filter(|i| !keep.contains(i)).collect();
        for &donor in &consumed {
            let donated = parts(&arguments[donor]);
            let is_donated = |part: &OracleBuffer| donated.iter().any(|&known| std::ptr::eq(known, part));
            let again = arguments.iter().flat_map(parts).filter(|&part| is_donated(part)).count();
            assert_eq!(again, donated.len(), "a donor is no other argument, too");
        }
        let mut inputs = Vec::with_capacity(arguments.len());
        for argument in arguments {
            inputs.push(content(argument, self.signature.partitions.as_ref())?);
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
        consumed.iter().flat_map(|&donor| parts(&arguments[donor])).for_each(OracleBuffer::consume);
        let outputs = outputs.into_iter().enumerate().map(|(index, array)| self.output(device, index, array));
        Ok(Execution { outputs: outputs.collect::<Result<_>>()?, consumed })
    }
}

impl Engine for OracleEngine {
    fn platform(&self) -> &str {
        "oracle"
    }

    fn device_count(&self) -> usize {
        self.devices
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

    fn compile(&self, text: &str, signature: Signature, origin: &dyn Any) -> Result<Arc<dyn Executable>> {
        let module = origin.downcast_ref::<Module>().expect("programs come from lowering");
        let shardings = signature.partitions.as_ref().map(|partitions| {
            // Outputs that may have any sharding get one that varies between programs.
            let choice = |index: usize| (text.len() + index) as u16;
            let outputs = signature.outputs.iter().zip(&partitions.outputs).enumerate();
            let of_output = |(index, (ty, stated)): (usize, (&TensorType, &Option<Sharding>))| match stated {
                Some(stated) => stated.clone(),
                None => random_sharding(&partitions.mesh.axes, &ty.dims, choice(index)),
            };
            outputs.map(of_output).collect::<Vec<Sharding>>()
        });
        Ok(Arc::new(OracleExecutable {
            shardings: shardings.unwrap_or_default(),
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
