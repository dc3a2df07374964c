//! Implements [`Engine`] with a client of a plugin.

use super::api::{Args, call, function};
use super::buffer::PjrtBuffer;
use super::client::Client;
use super::compile_options::Partitioning;
use super::event::Event;
use super::executable::PjrtExecutable;
use super::plugin::Plugin;
use super::settings::{self, Settings};
use super::{check, compile_options, exit, host_memory, profiler, sys};
use crate::{Buffer, Engine, EngineOptions, Executable, Memory, MemoryStatistics, Partitions, Profiler, Signature};
use base::error;
use base::error::Result;
use base::types::{DType, SharedBytes, TensorType};
use base::variables;
use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Engine with one PJRT client.
pub struct PjrtEngine {
    client: Arc<Client>,
    plugin: &'static Plugin,
    platform: String,
    /// Whether programs can call functions of this process.
    calls_host: bool,
    version: String,
    /// Bytes that differ whenever the caller's options of the client do.
    options: Vec<u8>,
    settings: Settings,
    /// `CompileOptionsProto` of programs of one device.
    compile_options: Vec<u8>,
    /// Folder of the disk cache, in which the hash of the plugin's file may be remembered.
    cache_folder: Option<PathBuf>,
}

/// Program that is compiled when a plugin is first used. A compiler creates most of its static objects during its first
/// compile, and only those that exist when the exit handler is registered outlive the handler: without this, a process
/// that exited while another thread compiled its first program crashed. The compile also shows which compile options
/// the plugin accepts.
const WARM_UP: &str = "module @warm_up { func.func public @main(%x: tensor<f32>) -> tensor<f32> { \
    %y = stablehlo.add %x, %x : tensor<f32> return %y : tensor<f32> } }";

/// Whether programs may call functions of this process. With `LXLA_HOST_CALLS=0` they are those of a plugin without
/// PJRT's FFI extension.
fn host_calls_are_wanted() -> bool {
    variables::text("LXLA_HOST_CALLS").is_none_or(|text| text.trim() != "0")
}

impl PjrtEngine {
    /// Creates a client of `plugin`. FAILED_PRECONDITION if the plugin computes wrong numbers, see [`check`].
    pub fn new(plugin: &'static Plugin, options: EngineOptions) -> Result<PjrtEngine> {
        let _inside = exit::enter()?;
        let client = Client::start(plugin.api(), &options)?;
        let (platform, version) = (client.platform_name()?, client.platform_version()?);
        let EngineOptions { cache_folder, plugin_options, .. } = options;
        let (options, settings) = (plugin_options.fingerprint(), Settings::default());
        let compile_options = Vec::new();
        let calls_host = platform == "cpu" && host_calls_are_wanted() && plugin.calls_host();
        let mut engine = PjrtEngine {
            client,
            plugin,
            platform,
            calls_host,
            version,
            options,
            settings,
            compile_options,
            cache_folder,
        };
        let settings = plugin.settings(|| engine.find_settings())?.clone();
        engine.set_settings(settings);
        // Buffers of the checks do not count in the peak.
        engine.client.reset_peak();
        Ok(engine)
    }

    /// Finds the plugin's settings, and checks its results with them.
    fn find_settings(&mut self) -> Result<Settings> {
        let flags = settings::flags();
        let scalar = TensorType::new(DType::F32, &[]);
        let (parameters, outputs) = (vec![scalar.clone()], vec![scalar]);
        let signature = Signature { parameters, outputs, donors: vec![], partitions: None };
        let options = settings::accepted_options(|names| {
            let encoded = compile_options::encode(names, self.client.only_device());
            self.compile_with(&encoded, WARM_UP, signature.clone()).map(drop)
        });
        self.set_settings(Settings { switched_off: options, flags });
        check::run_once(self, self.plugin.path(), || self.fingerprint())?;
        Ok(self.settings.clone())
    }

    fn set_settings(&mut self, settings: Settings) {
        self.compile_options = compile_options::encode(&settings.switched_off, self.client.only_device());
        self.settings = settings;
    }

    fn compile_with(&self, options: &[u8], text: &str, signature: Signature) -> Result<Arc<dyn Executable>> {
        let _inside = exit::enter()?;
        let api = self.client.api;
        let format = "mlir";
        let mut program = Args::<sys::PJRT_Program>::new(api);
        program.code = text.as_ptr().cast_mut().cast();
        program.code_size = text.len();
        program.format = format.as_ptr().cast();
        program.format_size = format.len();
        let mut args = Args::<sys::PJRT_Client_Compile_Args>::new(api);
        args.client = self.client.raw();
        args.program = program.as_mut_ptr();
        args.compile_options = options.as_ptr().cast();
        args.compile_options_size = options.len();
        let compiled = call!(api, PJRT_Client_Compile, args);
        exit::register_again();
        compiled?;
        // SAFETY: the plugin transferred ownership of a new executable.
        let executable = unsafe { PjrtExecutable::new(self.client.clone(), args.executable, signature)? };
        Ok(Arc::new(executable))
    }

    /// Compile options of a partitioned program.
    fn partitioned_options(&self, partitions: &Partitions) -> Result<Vec<u8>> {
        let _inside = exit::enter()?;
        let id = |&ordinal: &usize| self.client.device_id(ordinal);
        let partitioning = Partitioning {
            device_ids: partitions.mesh.ordinals.iter().map(id).collect::<Result<_>>()?,
            parameters: partitions.parameters.len(),
            chosen_outputs: partitions.outputs.iter().map(Option::is_none).collect(),
        };
        Ok(compile_options::encode_partitioned(&self.settings.switched_off, &partitioning))
    }

    /// Checks the partitions of a program, if it has any.
    fn check_partitions(&self, signature: &Signature) -> Result<()> {
        match &signature.partitions {
            Some(partitions) => partitions.check(signature, self.client.device_count()),
            None => Ok(()),
        }
    }

    /// Creates a buffer from host memory. Returns it, and an event that is triggered when the plugin no longer uses the
    /// host memory.
    fn buffer_from_host(
        &self,
        device: usize,
        ty: &TensorType,
        data: &[u8],
        semantics: sys::PJRT_HostBufferSemantics,
    ) -> Result<(PjrtBuffer, Event)> {
        let api = self.client.api;
        let mut args = Args::<sys::PJRT_Client_BufferFromHostBuffer_Args>::new(api);
        args.client = self.client.raw();
        args.data = data.as_ptr().cast();
        args.type_ = ty.dtype as sys::PJRT_Buffer_Type;
        args.dims = ty.dims.as_ptr();
        args.num_dims = ty.dims.len();
        args.host_buffer_semantics = semantics;
        args.device = self.client.device(device)?;
        call!(api, PJRT_Client_BufferFromHostBuffer, args)?;
        self.client.count(ty.packed_bytes() as u64, 0);
        // SAFETY: the plugin transferred ownership of a new buffer and an event.
        Ok(unsafe {
            (
                PjrtBuffer::new(self.client.clone(), args.buffer, ty.clone(), device),
                Event::new(api, args.done_with_host_buffer),
            )
        })
    }
}

impl Engine for PjrtEngine {
    fn platform(&self) -> &str {
        &self.platform
    }

    fn device_count(&self) -> usize {
        self.client.device_count()
    }

    fn calls_host(&self) -> bool {
        self.calls_host
    }

    fn profiler(&self) -> Option<Arc<dyn Profiler>> {
        let found = profiler::find(self.plugin)?;
        Some(Arc::new(found))
    }

    fn process_index(&self) -> i32 {
        self.client.process_index()
    }

    fn fingerprint(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut field = |bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        field(self.platform.as_bytes());
        field(self.version.as_bytes());
        field(self.plugin.file().hash(self.cache_folder.as_deref())?);
        field(&self.client.api.minor().to_le_bytes());
        field(&(self.client.device_count() as u64).to_le_bytes());
        // A partitioned executable names devices by ids, which differ in every process.
        field(&self.client.process_index().to_le_bytes());
        field(&self.settings.flags);
        field(&self.compile_options);
        if !self.options.is_empty() {
            field(&self.options);
        }
        if self.platform == "cpu" && !self.calls_host {
            field(b"no calls of functions of the process");
        }
        Ok(out)
    }

    fn transfer_to_device(&self, device: usize, ty: &TensorType, data: &[u8]) -> Result<Arc<dyn Buffer>> {
        if data.len() != ty.size_bytes() {
            return Err(error!(Internal, "transfer of {ty} from {} bytes", data.len()));
        }
        let _inside = exit::enter()?;
        let (buffer, done) =
            self.buffer_from_host(device, ty, data, sys::PJRT_HostBufferSemantics_kImmutableOnlyDuringCall)?;
        // With these semantics, the host memory may be reused on return; the event is triggered when the transfer has
        // ended, and is awaited by waits for the device.
        self.client.in_flight(device, done);
        Ok(Arc::new(buffer))
    }

    fn alias_on_device(
        &self,
        device: usize,
        ty: &TensorType,
        memory: &Arc<dyn SharedBytes>,
    ) -> Result<Option<Arc<dyn Buffer>>> {
        let bytes = memory.bytes();
        if !self.client.host_readable || bytes.is_empty() || ty.dtype.is_subbyte() {
            return Ok(None);
        }
        let _inside = exit::enter()?;
        let (buffer, done) =
            self.buffer_from_host(device, ty, bytes, sys::PJRT_HostBufferSemantics_kImmutableZeroCopy)?;
        // The memory is kept alive even if the plugin copies it, because the copy may be asynchronous.
        if done.keep_until_ended(memory.clone()).is_err() {
            // Nothing tells when a buffer on the memory is no longer used: it is freed, and its last use awaited.
            drop(buffer);
            let _ = done.wait();
            return Ok(None);
        }
        let is_shared = buffer.host_pointer() == Some(bytes.as_ptr());
        Ok(is_shared.then(|| Arc::new(buffer) as Arc<dyn Buffer>))
    }

    fn compile(&self, text: &str, signature: Signature, _origin: &dyn Any) -> Result<Arc<dyn Executable>> {
        self.check_partitions(&signature)?;
        let partitioned = match &signature.partitions {
            Some(partitions) => Some(self.partitioned_options(partitions)?),
            None => None,
        };
        let options = partitioned.as_deref().unwrap_or(&self.compile_options);
        self.compile_with(options, text, signature)
    }

    fn deserialize(&self, bytes: &[u8], signature: Signature) -> Result<Arc<dyn Executable>> {
        self.check_partitions(&signature)?;
        let _inside = exit::enter()?;
        let api = self.client.api;
        let mut args = Args::<sys::PJRT_Executable_DeserializeAndLoad_Args>::new(api);
        args.client = self.client.raw();
        args.serialized_executable = bytes.as_ptr().cast();
        args.serialized_executable_size = bytes.len();
        let loaded = call!(api, PJRT_Executable_DeserializeAndLoad, args);
        exit::register_again();
        loaded?;
        // SAFETY: the plugin transferred ownership of a new executable.
        let executable = unsafe { PjrtExecutable::new(self.client.clone(), args.loaded_executable, signature)? };
        Ok(Arc::new(executable))
    }

    fn wait(&self, device: usize) -> Result<()> {
        let _inside = exit::enter()?;
        self.client.wait(device)
    }

    fn wait_for(&self, device: usize, last: u64) -> Result<()> {
        let _inside = exit::enter()?;
        self.client.wait_for(device, last)
    }

    fn has_ended_by(&self, device: usize, last: u64, deadline: Instant) -> bool {
        // At the end of the process, the wait reports it.
        let Ok(_inside) = exit::enter() else { return true };
        self.client.has_ended_by(device, last, deadline)
    }

    fn when_ended(&self, device: usize, run: Box<dyn Any + Send>) {
        if let Ok(_inside) = exit::enter() {
            self.client.when_ended(device, run);
        }
    }

    fn memory_limit(&self, needed: u64) -> Option<(u64, &'static str)> {
        let is_asked = self.client.host_readable && needed >= host_memory::MUCH;
        is_asked.then(host_memory::limit)
    }

    fn memory_statistics(&self, device: usize) -> Result<MemoryStatistics> {
        let _inside = exit::enter()?;
        self.client.memory_statistics(device)
    }

    fn memory(&self) -> Memory {
        let (live, peak) = self.client.memory();
        Memory { live, peak }
    }

    fn reset_peak(&self) {
        self.client.reset_peak();
    }
}
