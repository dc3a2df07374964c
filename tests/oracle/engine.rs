//! An engine that interprets programs with the native kernels. It consumes every donated buffer: a consumed buffer is
//! poisoned, and access to it is a violation, which tests check for at their end. A partitioned program is interpreted
//! once, on the whole arguments; its outputs are then split, some in a way that no sharding says, until the program is
//! compiled again.

use crate::imported::Imported;
use crate::place::random_sharding;
use base::error::{Code, Error, Result};
use base::types::{Scalar, SharedBytes, TensorType};
use engine::{
    Buffer, Engine, Executable, Execution, HostCopy, Memory, Partitions, ProgramMemory, ShardedBuffer, Signature,
};
use lowering::interpret;
use lowering::lower::Module;
use mesh::{Placement, Sharding, take_piece};
use native::Array;
use ops::emit::PackedScalars;
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

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
    /// One in so many outputs whose sharding is left to this engine gets one that mesh axes cannot express.
    pub odd: u16,
    /// Serialized programs, which are named by their index; None: programs are not serialized.
    pub kept: Option<Arc<Mutex<Vec<Content>>>>,
    /// The text of each program is imported, too, and has to give the same values.
    pub imports: bool,
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

/// Content of an executable, without its signature.
#[derive(Clone)]
pub struct Content {
    /// Shardings of the outputs of a partitioned program.
    shardings: Vec<Sharding>,
    /// Outputs that are divided as no sharding says.
    unknown: Vec<usize>,
    program: ir::Program,
    scalars: Vec<Scalar>,
    packs: Vec<PackedScalars>,
    /// The program as it is imported from its text.
    imported: Option<Arc<Imported>>,
}

struct OracleExecutable {
    signature: Signature,
    content: Content,
    witness: Arc<Witness>,
    kept: Option<Arc<Mutex<Vec<Content>>>>,
}

/// Buffer of this engine.
fn own(buffer: &dyn Buffer) -> &OracleBuffer {
    buffer.as_any().downcast_ref().expect("a buffer of this engine")
}

/// Buffers of an argument: one, or the pieces of a buffer on a mesh.
fn parts(argument: &dyn Buffer) -> Vec<&OracleBuffer> {
    match argument.as_any().downcast_ref::<ShardedBuffer>() {
        Some(sharded) => sharded.pieces().iter().map(|piece| own(&**piece)).collect(),
        None => vec![own(argument)],
    }
}

/// Content of an argument; of a buffer on a mesh, the whole.
fn content(argument: &dyn Buffer, partitions: Option<&Partitions>) -> Result<Array> {
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
        let (ty, sharding) = (array.ty(), self.content.shardings[index].clone());
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
    fn check(&self, arguments: &[&dyn Buffer]) {
        let types: Vec<&TensorType> = arguments.iter().map(|argument| argument.tensor_type()).collect();
        assert_eq!(types, self.signature.parameters.iter().collect::<Vec<_>>(), "arguments are what was compiled for");
        let known = |argument: &&dyn Buffer| argument.placement().map(|placement| placement.sharding.clone());
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
        &self.content.shardings
    }

    fn unknown_outputs(&self) -> &[usize] {
        &self.content.unknown
    }

    fn serialize(&self) -> Result<Vec<u8>> {
        let Some(kept) = &self.kept else { return Err(not_kept()) };
        let mut kept = kept.lock().expect("nothing panics with it");
        kept.push(self.content.clone());
        Ok((kept.len() - 1).to_le_bytes().to_vec())
    }

    fn memory(&self) -> Result<ProgramMemory> {
        Ok(ProgramMemory::default())
    }

    fn execute(&self, device: usize, arguments: &[&dyn Buffer], keep: &[usize]) -> Result<Execution> {
        assert!(self.content.unknown.is_empty(), "a program whose outputs are divided as no sharding says cannot run");
        self.check(arguments);
        let consumed: Vec<usize> = self.signature.donors.iter().copied().filter(|i| !keep.contains(i)).collect();
        for &donor in &consumed {
            let donated = parts(arguments[donor]);
            let is_donated = |part: &OracleBuffer| donated.iter().any(|&known| std::ptr::eq(known, part));
            let again = arguments.iter().flat_map(|argument| parts(*argument)).filter(|&part| is_donated(part)).count();
            assert_eq!(again, donated.len(), "a donor is passed once");
        }
        let mut inputs = Vec::with_capacity(arguments.len());
        for argument in arguments {
            inputs.push(content(*argument, self.signature.partitions.as_ref())?);
        }
        let Content { program, scalars, packs, imported, .. } = &self.content;
        let again = imported.as_ref().map(|imported| imported.run(&inputs));
        let packed = inputs.split_off(arguments.len() - packs.len());
        let mut scalars = scalars.clone();
        for (pack, array) in packs.iter().zip(&packed) {
            let elements = array.bytes().chunks_exact(pack.dtype.size_bytes());
            for (&slot, bytes) in pack.slots.iter().zip(elements) {
                scalars[slot] = Scalar::from_bytes(pack.dtype, bytes);
            }
        }
        let outputs = interpret::run(program, &scalars, &inputs)?;
        if let (Some(again), Some(imported)) = (again, imported) {
            imported.check(&again, &outputs);
        }
        consumed.iter().flat_map(|&donor| parts(arguments[donor])).for_each(OracleBuffer::consume);
        let outputs = outputs.into_iter().enumerate().map(|(index, array)| self.output(device, index, array));
        Ok(Execution { outputs: outputs.collect::<Result<_>>()?, consumed })
    }
}

fn not_kept() -> Error {
    Error::new(Code::Unimplemented, "programs are not kept")
}

impl OracleEngine {
    pub fn new(devices: usize, witness: Arc<Witness>) -> OracleEngine {
        OracleEngine { devices, witness, odd: 8, kept: None, imports: false }
    }

    fn executable(&self, signature: Signature, content: Content) -> Arc<dyn Executable> {
        Arc::new(OracleExecutable { signature, content, witness: self.witness.clone(), kept: self.kept.clone() })
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

    fn alias_on_device(
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
        let mut unknown = Vec::new();
        let mut shardings = Vec::new();
        if let Some(partitions) = &signature.partitions {
            for (index, (ty, stated)) in signature.outputs.iter().zip(&partitions.outputs).enumerate() {
                // Outputs that may have any sharding get one that varies between programs.
                let choice = (text.len() + index) as u16;
                shardings.push(match stated {
                    Some(stated) => stated.clone(),
                    None if choice.is_multiple_of(self.odd) => {
                        unknown.push(index);
                        Sharding::replicated(ty.dims.len())
                    }
                    None => random_sharding(&partitions.mesh.axes, &ty.dims, choice),
                });
            }
        }
        let (program, scalars, packs) = (module.program.clone(), module.scalars.clone(), module.packs.clone());
        let axes = signature.partitions.as_ref().map(|partitions| &partitions.mesh.axes);
        let imported = self.imports.then(|| Arc::new(Imported::new(text, axes)));
        Ok(self.executable(signature, Content { shardings, unknown, program, scalars, packs, imported }))
    }

    fn deserialize(&self, bytes: &[u8], signature: Signature) -> Result<Arc<dyn Executable>> {
        let kept = self.kept.as_ref().ok_or_else(not_kept)?.lock().expect("nothing panics with it");
        let index = usize::from_le_bytes(bytes.try_into().expect("the bytes of an index"));
        Ok(self.executable(signature, kept[index].clone()))
    }

    fn wait(&self, _device: usize) -> Result<()> {
        Ok(())
    }

    fn memory(&self) -> Memory {
        Memory { live: self.witness.live.load(Ordering::SeqCst) as u64, peak: 0 }
    }

    fn reset_peak(&self) {}
}
