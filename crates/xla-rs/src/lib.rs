//! lazyxla with an engine over the crate `xla`, which links an XLA that was built for one platform. Loading or linking
//! this crate registers the engine under the name `xla-rs`; its cdylib is a `liblazyxla.so` with that engine.
//!
//! The crate runs programs of one device, and hides what this library asks of a runtime: events, the state of a buffer,
//! the inputs of a run that may not be donated, compile options, executables as bytes. What can be emulated safely is:
//! a buffer that must not be consumed is copied, a buffer knows itself whether it was consumed, and the client runs
//! synchronously, so nothing is in flight. The rest is reported as UNIMPLEMENTED.

mod buffer;
mod check;
mod executable;
mod stablehlo;

use crate::buffer::XlaRsBuffer;
use crate::executable::XlaRsExecutable;
use base::error::{Code, Error, Result};
use base::types::{DType, TensorType};
use engine::{Buffer, Engine, EngineOptions, Executable, Memory, Signature, exit, register, settings};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xla::{ElementType, PjRtClient};

/// Creates an error of the library.
macro_rules! error {
    ($code:ident, $($message:tt)*) => {
        base::error::Error::new(base::error::Code::$code, format!($($message)*))
    };
}
use error;

/// Runs when the library is loaded, so that callers of the C ABI can name the engine.
// SAFETY: the loader calls the functions in this section; this one only adds to a list.
#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = register_engine;

extern "C" fn register_engine() {
    register("xla-rs", start);
}

/// Version of the crate.
const CRATE: &str = "xla 0.4.4";

/// A client of the crate, and the memory of its buffers.
struct Client {
    inner: PjRtClient,
    live: AtomicU64,
    peak: AtomicU64,
}

impl Client {
    /// Counts bytes that appeared and bytes that were freed.
    fn count(&self, appeared: u64, freed: u64) {
        let live = self.live.fetch_add(appeared, Ordering::Relaxed) + appeared;
        self.peak.fetch_max(live, Ordering::Relaxed);
        self.live.fetch_sub(freed, Ordering::Relaxed);
    }
}

/// Engine with one client of the crate.
struct XlaRsEngine {
    client: Arc<Client>,
    platform: String,
    version: String,
}

/// Words of XLA's messages, and the code of the status that has them.
const CODES: [(&str, Code); 3] = [
    ("RESOURCE_EXHAUSTED", Code::ResourceExhausted),
    ("Out of memory", Code::ResourceExhausted),
    ("No FFI handler registered", Code::NotFound),
];

/// Converts an error of the crate. Its message ends with a backtrace, which is dropped. The crate hides the status
/// code, so it is inferred from the words of some messages.
fn failed(error: xla::Error) -> Error {
    let text = match error {
        xla::Error::XlaError { msg, .. } => msg,
        other => other.to_string(),
    };
    let known = CODES.iter().find(|(words, _)| text.contains(words));
    Error::new(known.map_or(Code::Internal, |(_, code)| *code), format!("xla-rs: {text}"))
}

/// The crate's name of a dtype. Five 8-bit floats and types of 2 and 4 bits have none: their buffers have the dtype u8. Programs read them in
/// their own dtype, because the crate only compares the sizes of arguments.
pub fn element_type(dtype: DType) -> ElementType {
    match dtype {
        DType::Pred => ElementType::Pred,
        DType::S8 => ElementType::S8,
        DType::S16 => ElementType::S16,
        DType::S32 => ElementType::S32,
        DType::S64 => ElementType::S64,
        DType::U8 => ElementType::U8,
        DType::U16 => ElementType::U16,
        DType::U32 => ElementType::U32,
        DType::U64 => ElementType::U64,
        DType::F16 => ElementType::F16,
        DType::F32 => ElementType::F32,
        DType::F64 => ElementType::F64,
        DType::BF16 => ElementType::Bf16,
        DType::C64 => ElementType::C64,
        DType::C128 => ElementType::C128,
        DType::F8E5M2 => ElementType::F8E5M2,
        DType::F8E4M3FN => ElementType::F8E4M3FN,
        DType::F8E8M0FNU => ElementType::F8E8M0FNU,
        DType::F8E4M3B11FNUZ | DType::F8E5M2FNUZ | DType::F8E4M3FNUZ | DType::F8E4M3 | DType::F8E3M4 => ElementType::U8,
        DType::S4 | DType::U4 | DType::S2 | DType::U2 | DType::F4E2M1FN => ElementType::U8,
    }
}

/// Starts the engine: creates the crate's client of the CPU, and checks that it computes and donates as expected.
fn start(options: EngineOptions) -> Result<Arc<dyn Engine>> {
    let EngineOptions { device_count, processes, .. } = options;
    if processes.is_some() {
        return Err(error!(Unimplemented, "process_count: the engine xla-rs runs in one process"));
    }
    if device_count > 1 {
        return Err(error!(Unimplemented, "device_count: {device_count} given; the engine xla-rs has one device"));
    }
    settings::check_flags()?;
    check::flags(&settings::text())?;
    let _inside = exit::enter()?;
    let inner = PjRtClient::cpu().map_err(failed)?;
    exit::register_again();
    let (platform, version) = (inner.platform_name(), inner.platform_version());
    let client = Arc::new(Client { inner, live: AtomicU64::new(0), peak: AtomicU64::new(0) });
    check::run(&client)?;
    exit::register_again();
    client.peak.store(client.live.load(Ordering::Relaxed), Ordering::Relaxed);
    Ok(Arc::new(XlaRsEngine { client, platform, version }))
}

impl Engine for XlaRsEngine {
    fn platform(&self) -> &str {
        &self.platform
    }

    fn device_count(&self) -> usize {
        1
    }

    fn fingerprint(&self) -> Result<Vec<u8>> {
        let mut bytes = format!("xla-rs\n{CRATE}\n{}\n{}\n", self.platform, self.version).into_bytes();
        // The crate compiles with the options in this variable.
        bytes.extend(settings::flags());
        Ok(bytes)
    }

    fn transfer_to_device(&self, device: usize, ty: &TensorType, data: &[u8]) -> Result<Arc<dyn Buffer>> {
        if data.len() != ty.size_bytes() {
            return Err(error!(Internal, "transfer of {ty} from {} bytes", data.len()));
        }
        check_device(device)?;
        Ok(Arc::new(XlaRsBuffer::from_host(&self.client, ty, data)?))
    }

    fn compile(&self, text: &str, signature: Signature, _: &dyn Any) -> Result<Arc<dyn Executable>> {
        if signature.partitions.is_some() {
            return Err(error!(Unimplemented, "the engine xla-rs has no meshes: the crate {CRATE} runs one device"));
        }
        let _inside = exit::enter()?;
        let computation = stablehlo::computation(text)?;
        let compiled = self.client.inner.compile(&computation).map_err(failed);
        exit::register_again();
        Ok(Arc::new(XlaRsExecutable::new(self.client.clone(), compiled?, signature)))
    }

    fn deserialize(&self, _bytes: &[u8], _signature: Signature) -> Result<Arc<dyn Executable>> {
        Err(error!(Unimplemented, "the crate {CRATE} does not load executables"))
    }

    fn wait(&self, device: usize) -> Result<()> {
        check_device(device)
    }

    fn memory(&self) -> Memory {
        Memory { live: self.client.live.load(Ordering::Relaxed), peak: self.client.peak.load(Ordering::Relaxed) }
    }

    fn reset_peak(&self) {
        self.client.peak.store(self.client.live.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Returns an error unless it is the only device.
fn check_device(device: usize) -> Result<()> {
    if device == 0 { Ok(()) } else { Err(error!(Internal, "device {device} given; the engine xla-rs has one")) }
}
