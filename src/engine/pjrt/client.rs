//! A client of a plugin, with its devices, what it has in flight, and the bytes that its buffers hold.

use super::api::{Api, Args, call, function};
use super::buffer::PjrtBuffer;
use super::event::Event;
use super::executable::PjrtExecutable;
use super::plugin::Plugin;
use super::{api, compile_options, exit, sys};
use crate::engine::{Buffer, Engine, Executable, Memory, Signature};
use crate::error;
use crate::error::{Code, Error, Result};
use crate::types::{DType, TensorType};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The engine over one PJRT client.
pub struct PjrtEngine {
    client: Arc<ClientInner>,
    plugin: &'static Plugin,
    platform: String,
    version: String,
}

/// What buffers and executables keep alive: the client itself.
pub struct ClientInner {
    pub(super) api: &'static Api,
    raw: *mut sys::PJRT_Client,
    devices: Vec<*mut sys::PJRT_Device>,
    /// Device memory is host memory, which we read in place.
    pub(super) host_readable: bool,
    in_flight: Vec<Mutex<InFlight>>,
    live: AtomicU64,
    peak: AtomicU64,
}

/// Work of one device that may not have ended, oldest first.
#[derive(Default)]
struct InFlight {
    events: VecDeque<Arc<Event>>,
    /// The first failure of an event that nobody waited for; the next wait reports it.
    failure: Option<Error>,
}

// SAFETY: PJRT clients and devices may be used from any thread.
unsafe impl Send for ClientInner {}
// SAFETY: as above.
unsafe impl Sync for ClientInner {}

/// See [`PjrtEngine::warm_up`].
const WARM_UP: &str = "module @warm_up { func.func public @main(%x: tensor<f32>) -> tensor<f32> { \
    %y = stablehlo.add %x, %x : tensor<f32> return %y : tensor<f32> } }";

impl PjrtEngine {
    /// A client of `plugin` with `device_count` devices (0: the plugin's own default, but one device on a CPU).
    pub fn new(plugin: &'static Plugin, device_count: usize) -> Result<PjrtEngine> {
        let _inside = exit::enter()?;
        let raw = create_client(plugin.api(), device_count)?;
        let mut inner = ClientInner {
            api: plugin.api(),
            raw,
            devices: Vec::new(),
            host_readable: false,
            in_flight: Vec::new(),
            live: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        };
        inner.devices = inner.addressable_devices()?;
        inner.in_flight.resize_with(inner.devices.len(), Mutex::default);
        if inner.devices.is_empty() {
            return Err(error!(Unavailable, "the plugin's client has no device that this process can use"));
        }
        if device_count != 0 && inner.devices.len() != device_count {
            return Err(error!(
                InvalidArgument,
                "device_count: asked for {device_count} devices, the plugin has {}",
                inner.devices.len()
            ));
        }
        let platform = inner.platform_name()?;
        inner.host_readable = platform == "cpu";
        let version = inner.platform_version()?;
        let client = Arc::new(inner);
        exit::register(Arc::downgrade(&client));
        let engine = PjrtEngine { client, plugin, platform, version };
        if plugin.is_first_use() {
            engine.warm_up();
        }
        Ok(engine)
    }

    /// Compiles a trifle, once per process and plugin (20 ms on a CPU). A compiler makes most of its statics in its first
    /// compile, and only those that exist when the exit handler is registered outlive it: a process that ended while
    /// another thread compiled its first program crashed. A failure is not ours to report; real work will meet it.
    fn warm_up(&self) {
        let ty = TensorType::new(DType::F32, &[]);
        let signature = Signature { parameters: vec![ty.clone()], outputs: vec![ty], donors: vec![] };
        drop(self.compile(WARM_UP, signature));
    }
}

/// `cpu_device_count` is an option of the CPU plugin, whose default is four; other plugins may refuse it. It is an int64:
/// a value of another type would end the process.
fn create_client(api: &'static Api, device_count: usize) -> Result<*mut sys::PJRT_Client> {
    let name = "cpu_device_count";
    let mut option = Args::<sys::PJRT_NamedValue>::new(api);
    option.name = name.as_ptr().cast();
    option.name_size = name.len();
    option.type_ = sys::PJRT_NamedValue_kInt64;
    option.value.int64_value = device_count.max(1) as i64;
    option.value_size = 1;
    let create = |options: *const sys::PJRT_NamedValue, count| {
        let mut args = Args::<sys::PJRT_Client_Create_Args>::new(api);
        args.create_options = options;
        args.num_options = count;
        call!(api, PJRT_Client_Create, args).map(|()| args.client)
    };
    match create(option.as_mut_ptr(), 1) {
        Err(e) if e.code == Code::InvalidArgument && device_count == 0 => create(std::ptr::null(), 0),
        other => other,
    }
}

impl ClientInner {
    fn addressable_devices(&self) -> Result<Vec<*mut sys::PJRT_Device>> {
        let mut args = Args::<sys::PJRT_Client_AddressableDevices_Args>::new(self.api);
        args.client = self.raw;
        call!(self.api, PJRT_Client_AddressableDevices, args)?;
        if args.num_addressable_devices == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: the plugin gave pointer and length, which live as long as the client.
        Ok(unsafe { std::slice::from_raw_parts(args.addressable_devices, args.num_addressable_devices) }.to_vec())
    }

    fn platform_name(&self) -> Result<String> {
        let mut args = Args::<sys::PJRT_Client_PlatformName_Args>::new(self.api);
        args.client = self.raw;
        call!(self.api, PJRT_Client_PlatformName, args)?;
        // SAFETY: the plugin gave pointer and length, which live as long as the client.
        Ok(unsafe { api::text(args.platform_name, args.platform_name_size) })
    }

    fn platform_version(&self) -> Result<String> {
        let mut args = Args::<sys::PJRT_Client_PlatformVersion_Args>::new(self.api);
        args.client = self.raw;
        call!(self.api, PJRT_Client_PlatformVersion, args)?;
        // SAFETY: the plugin gave pointer and length, which live as long as the client.
        Ok(unsafe { api::text(args.platform_version, args.platform_version_size) })
    }

    pub(super) fn device(&self, index: usize) -> Result<*mut sys::PJRT_Device> {
        self.devices
            .get(index)
            .copied()
            .ok_or_else(|| error!(InvalidArgument, "device: there is no device {index}, only {}", self.devices.len()))
    }

    /// Bytes that appeared and bytes that were given up at the same moment.
    pub(super) fn count(&self, appeared: u64, freed: u64) {
        if appeared >= freed {
            let live = self.live.fetch_add(appeared - freed, Ordering::Relaxed) + (appeared - freed);
            self.peak.fetch_max(live, Ordering::Relaxed);
        } else {
            self.live.fetch_sub(freed - appeared, Ordering::Relaxed);
        }
    }

    /// Remembers something enqueued, and forgets what has ended, keeping the first failure.
    pub(super) fn in_flight(&self, device: usize, event: Event) {
        let mut list = self.in_flight[device].lock();
        while list.events.front().is_some_and(|oldest| oldest.is_ready()) {
            if let Some(Err(error)) = list.events.pop_front().map(|ended| ended.wait()) {
                list.failure.get_or_insert(error);
            }
        }
        list.events.push_back(Arc::new(event));
    }

    fn wait(&self, device: usize) -> Result<()> {
        let (events, failure) = {
            let mut list = self.in_flight[device].lock();
            (list.events.clone(), list.failure.take())
        };
        let results: Vec<Result<()>> = events.iter().map(|event| event.wait()).collect();
        let mut list = self.in_flight[device].lock();
        list.events.retain(|event| !events.iter().any(|waited| Arc::ptr_eq(waited, event)));
        drop(list);
        failure.map_or(Ok(()), Err)?;
        results.into_iter().collect()
    }

    /// For leaving the process: blocks until nothing is in flight; failures no longer matter.
    pub(super) fn wait_for_everything(&self) {
        for device in 0..self.devices.len() {
            let _ = self.wait(device);
        }
    }
}

impl Engine for PjrtEngine {
    fn platform(&self) -> &str {
        &self.platform
    }

    fn device_count(&self) -> usize {
        self.client.devices.len()
    }

    fn fingerprint(&self) -> Result<Vec<u8>> {
        let flags = std::env::var("XLA_FLAGS").unwrap_or_default();
        let mut out = Vec::new();
        let mut field = |bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        field(self.platform.as_bytes());
        field(self.version.as_bytes());
        field(self.plugin.file_hash()?);
        field(&self.client.api.minor().to_le_bytes());
        field(&(self.client.devices.len() as u64).to_le_bytes());
        field(flags.as_bytes());
        field(&compile_options::encode());
        Ok(out)
    }

    fn transfer_to_device(&self, device: usize, ty: &TensorType, data: &[u8]) -> Result<Arc<dyn Buffer>> {
        if data.len() != ty.size_bytes() {
            return Err(error!(Internal, "transfer of {ty} from {} bytes", data.len()));
        }
        let _inside = exit::enter()?;
        let api = self.client.api;
        let mut args = Args::<sys::PJRT_Client_BufferFromHostBuffer_Args>::new(api);
        args.client = self.client.raw;
        args.data = data.as_ptr().cast();
        args.type_ = ty.dtype as sys::PJRT_Buffer_Type;
        args.dims = ty.dims.as_ptr();
        args.num_dims = ty.dims.len();
        args.host_buffer_semantics = sys::PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
        args.device = self.client.device(device)?;
        call!(api, PJRT_Client_BufferFromHostBuffer, args)?;
        self.client.count(data.len() as u64, 0);
        // SAFETY: the plugin gave us a new buffer and an event to own. With these semantics the host memory is free
        // again on return; the event tells when the transfer has ended, for whoever waits for the device.
        unsafe {
            let buffer = PjrtBuffer::new(self.client.clone(), args.buffer, ty.clone(), device);
            self.client.in_flight(device, Event::new(api, args.done_with_host_buffer));
            Ok(Arc::new(buffer))
        }
    }

    fn compile(&self, text: &str, signature: Signature) -> Result<Arc<dyn Executable>> {
        let _inside = exit::enter()?;
        let api = self.client.api;
        let format = "mlir";
        let options = compile_options::encode();
        let mut program = Args::<sys::PJRT_Program>::new(api);
        program.code = text.as_ptr().cast_mut().cast();
        program.code_size = text.len();
        program.format = format.as_ptr().cast();
        program.format_size = format.len();
        let mut args = Args::<sys::PJRT_Client_Compile_Args>::new(api);
        args.client = self.client.raw;
        args.program = program.as_mut_ptr();
        args.compile_options = options.as_ptr().cast();
        args.compile_options_size = options.len();
        let compiled = call!(api, PJRT_Client_Compile, args);
        exit::register_again();
        compiled?;
        // SAFETY: the plugin gave us a new executable to own.
        let executable = unsafe { PjrtExecutable::new(self.client.clone(), args.executable, signature)? };
        Ok(Arc::new(executable))
    }

    fn wait(&self, device: usize) -> Result<()> {
        let _inside = exit::enter()?;
        self.client.wait(device)
    }

    fn memory(&self) -> Memory {
        Memory { live: self.client.live.load(Ordering::Relaxed), peak: self.client.peak.load(Ordering::Relaxed) }
    }

    fn reset_peak(&self) {
        let live = self.client.live.load(Ordering::Relaxed);
        self.client.peak.store(live, Ordering::Relaxed);
    }
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        let Ok(_inside) = exit::enter() else {
            return;
        };
        self.wait_for_everything();
        for list in &self.in_flight {
            list.lock().events.clear();
        }
        let mut args = Args::<sys::PJRT_Client_Destroy_Args>::new(self.api);
        args.client = self.raw;
        let _ = call!(self.api, PJRT_Client_Destroy, args);
    }
}
