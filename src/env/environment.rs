//! An environment: its devices, options, caches and counters.

use super::profile::TraceProfile;
use crate::cache::{DiskCache, Kinds, ProgramCache};
use crate::device::{
    AskForMemory, CompileLog, Compiled, Device, MOST_DEVICES, MemoryCallback, OPTION_NAMES, Options, Peaks, Place, Ran,
    RanLog, Runtime, Shared,
};
use crate::sync;
use base::error;
use base::error::Result;
use base::metrics::{Counter, Metrics};
use base::variables;
use engine::kernels::Kernel;
use engine::{self, DEVICE_COUNT, Engine, EngineKind, EngineOptions, PluginOptions, Processes};
use mesh::{Mesh, MeshAxes};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once, OnceLock};

/// Default capacity of the program cache.
const DEFAULT_CACHE_CAPACITY: usize = 1024;

/// Options for creating an environment.
#[derive(Default)]
pub struct EnvironmentOptions {
    /// The engine; None: the environment variable `LXLA_ENGINE`, else PJRT.
    pub engine: Option<EngineKind>,
    /// Path of the plugin; None: found by the rules documented in the C header.
    pub plugin_path: Option<PathBuf>,
    /// Folder of the disk cache; None: the environment variable `LXLA_CACHE_DIR`, else no disk cache.
    pub cache_dir: Option<PathBuf>,
    /// Capacity of the program cache; None: the default.
    pub cache_capacity: Option<NonZeroUsize>,
    /// Number of devices to request from the plugin; 0: the plugin's default.
    pub device_count: usize,
    /// Id, number and store of the processes that run the same program together, if there are several.
    pub processes: Option<Processes>,
    /// Options of the plugin's client.
    pub plugin_options: PluginOptions,
    /// Named options (see [`Options::set`]) with their values.
    pub named: Vec<(&'static str, String)>,
}

/// Kind of device in a caller's device argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// No device specified.
    Unspecified,
    /// `cpu`.
    Cpu,
    /// `xla:N`.
    Xla,
    /// A mesh, by its number.
    Mesh,
}

/// Devices of one environment, and their shared state.
pub struct Environment {
    shared: Arc<Shared>,
    cpu: &'static Device,
    /// XLA devices, opened when one of them is first requested.
    xla: OnceLock<Vec<&'static Device>>,
    /// Meshes that are not released.
    meshes: Mutex<Meshes>,
    /// Registered kernels, by name.
    kernels: Mutex<BTreeMap<String, Arc<Kernel>>>,
    /// This process, if several run the same program together.
    processes: Option<Processes>,
    /// Arguments for starting the engine. Locked while it is being started.
    start: Mutex<Start>,
    /// The plugin's profile of the trace that is being written.
    profile: TraceProfile,
}

/// Meshes of an environment.
#[derive(Default)]
struct Meshes {
    /// Meshes that are not released, by number.
    open: BTreeMap<usize, &'static Device>,
    /// Number of meshes created so far, which is the number of the next one. Numbers are never reused, so that the
    /// device of a released mesh is never another mesh.
    created: usize,
}

/// Arguments for starting the engine.
struct Start {
    kind: EngineKind,
    plugin_path: Option<PathBuf>,
    disk: Option<DiskCache>,
    cache_capacity: NonZeroUsize,
    device_count: usize,
    plugin_options: PluginOptions,
}

/// The engine with empty caches.
fn runtime(engine: Arc<dyn Engine>, start: &mut Start) -> Runtime {
    let (capacity, disk) = (start.cache_capacity, start.disk.take());
    Runtime { engine, programs: ProgramCache::new(capacity), kinds: Kinds::new(capacity), disk }
}

/// The engine that the options ask for. A plugin that is given by path is PJRT's, whatever the variable says.
fn engine_kind(options: &EnvironmentOptions) -> Result<EngineKind> {
    match (options.engine, &options.plugin_path) {
        (Some(EngineKind::Registered(name)), Some(path)) => Err(error!(
            InvalidArgument,
            "options.plugin_path: {path:?} given with the engine {name}, which has no plugins; want NULL"
        )),
        (Some(kind), _) => Ok(kind),
        (None, Some(_)) => Ok(EngineKind::Pjrt),
        (None, None) => match variables::text("LXLA_ENGINE") {
            Some(name) if !name.is_empty() => EngineKind::named("LXLA_ENGINE", &name),
            _ => Ok(EngineKind::Pjrt),
        },
    }
}

impl Environment {
    /// The compiles and their causes as a JSON object.
    pub fn compile_log(&self) -> serde_json::Value {
        self.shared.compiles.json()
    }

    /// The live tensors of all devices by label and size, as a JSON object.
    pub fn live_tensors_json(&self) -> String {
        sync::live_tensors(&self.shared, self.all_devices())
    }

    /// Writes what the environment does to a file.
    pub fn start_trace(&self, path: &Path) -> Result<()> {
        // Events in the buffer are written when the process ends without a stop.
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(|| engine::register_ending(timeline::close_all));
        self.shared.timeline().start(path)?;
        self.start_profile();
        Ok(())
    }

    /// Starts the plugin's profile of a trace, when both run.
    fn start_profile(&self) {
        let engine = || self.shared.runtime.get().map(|runtime| runtime.engine.clone());
        self.profile.start(self.shared.timeline(), engine);
    }

    /// The last events, which the option `timeline` keeps, as objects of a Chrome trace.
    pub fn kept_events(&self) -> Vec<serde_json::Value> {
        self.shared.timeline().kept()
    }

    /// Ends the file of [`Environment::start_trace`].
    pub fn stop_trace(&self) -> Result<()> {
        let timeline = self.shared.timeline();
        timeline.stop(|path| self.profile.end(timeline, path))
    }

    /// Compiled programs in memory, the one used last first.
    pub fn programs(&self) -> Vec<Arc<Compiled>> {
        self.shared.runtime.get().map_or_else(Vec::new, |runtime| runtime.programs.made())
    }

    /// The steps and syncs that ran, by the programs that they ran.
    pub fn ran(&self) -> Vec<Ran> {
        self.shared.ran.all()
    }

    /// Replaces the callback that frees memory when a device lacks it.
    pub fn set_memory_callback(&self, ask: Option<AskForMemory>) {
        self.shared.memory_callback.set(ask);
    }

    /// Creates an environment. Options are taken from environment variables (`LXLA_DONATION=false`), then from
    /// `options`. A plugin given by path is started immediately, so that its errors are returned here; otherwise the
    /// first use of an XLA device finds and starts one.
    pub fn new(number: u64, options: EnvironmentOptions) -> Result<Environment> {
        let from_variable = || variables::nonempty("LXLA_CACHE_DIR").map(PathBuf::from);
        let default = NonZeroUsize::new(DEFAULT_CACHE_CAPACITY).expect("not zero");
        let shared = Arc::new(Shared {
            number,
            options: set_options(&options.named)?,
            memory_callback: MemoryCallback::default(),
            metrics: Metrics::default(),
            compiles: CompileLog::default(),
            peaks: Mutex::default(),
            ran: RanLog::default(),
            runtime: OnceLock::new(),
        });
        check_devices(&options)?;
        let kind = engine_kind(&options)?;
        let at_once = options.plugin_path.is_some() || matches!(options.engine, Some(EngineKind::Registered(_)));
        let cache_dir = options.cache_dir.or_else(from_variable);
        let environment = Environment {
            cpu: Device::open(&shared, Place::Cpu, None)?,
            shared,
            xla: OnceLock::new(),
            meshes: Mutex::default(),
            kernels: Mutex::default(),
            processes: options.processes,
            start: Mutex::new(Start {
                kind,
                plugin_path: options.plugin_path,
                disk: cache_dir.as_deref().and_then(DiskCache::open),
                cache_capacity: options.cache_capacity.unwrap_or(default),
                device_count: options.device_count,
                plugin_options: options.plugin_options,
            }),
            profile: TraceProfile::default(),
        };
        if at_once {
            environment.devices()?;
        }
        Ok(environment)
    }

    /// Creates an environment whose XLA devices are those of `engine`, for engines that are not PJRT plugins. The
    /// environment is not added to the registry.
    pub fn with_engine(number: u64, engine: Arc<dyn Engine>, options: EnvironmentOptions) -> Result<Environment> {
        let environment = Environment::new(number, EnvironmentOptions { plugin_path: None, ..options })?;
        let runtime = {
            let mut start = environment.start.lock();
            runtime(engine, &mut start)
        };
        let _ = environment.shared.runtime.set(runtime);
        environment.devices()?;
        Ok(environment)
    }

    /// Number of the environment, which is also its handle.
    pub fn number(&self) -> u64 {
        self.shared.number
    }

    /// Options that can be changed.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// XLA devices, `xla:0` first. Starts the engine if it is not running yet.
    pub fn devices(&self) -> Result<&[&'static Device]> {
        if let Some(devices) = self.xla.get() {
            return Ok(devices);
        }
        let mut start = self.start.lock();
        if let Some(devices) = self.xla.get() {
            return Ok(devices);
        }
        if self.shared.runtime.get().is_none() {
            let engine = engine::start(EngineOptions {
                kind: start.kind,
                plugin_path: start.plugin_path.clone(),
                cache_folder: start.disk.as_ref().map(|disk| disk.folder().to_path_buf()),
                device_count: start.device_count,
                processes: self.processes.clone(),
                plugin_options: start.plugin_options.clone(),
            })?;
            let _ = self.shared.runtime.set(runtime(engine, &mut start));
        }
        let count = self.shared.runtime().engine.device_count();
        let mut devices = Vec::with_capacity(count);
        for ordinal in 0..count {
            match Device::open(&self.shared, Place::Xla(ordinal), None) {
                Ok(device) => devices.push(device),
                Err(error) => {
                    close(&devices);
                    return Err(error);
                }
            }
        }
        let devices = self.xla.get_or_init(|| devices);
        drop(start);
        self.start_profile();
        Ok(devices)
    }

    /// XLA devices that are already open. A device that was never used has nothing pending.
    pub fn devices_in_use(&self) -> &[&'static Device] {
        self.xla.get().map_or(&[], Vec::as_slice)
    }

    /// Resolves a caller's device argument.
    pub fn device(&self, kind: DeviceKind, ordinal: i32) -> Result<&'static Device> {
        let index = match kind {
            DeviceKind::Mesh => return self.mesh(ordinal),
            DeviceKind::Xla => ordinal,
            DeviceKind::Cpu | DeviceKind::Unspecified if ordinal != 0 => {
                return Err(error!(InvalidArgument, "device: ordinal {ordinal} given; cpu has only 0"));
            }
            DeviceKind::Cpu | DeviceKind::Unspecified if self.options().use_native_for_cpu_tensor() => {
                return Ok(self.cpu);
            }
            DeviceKind::Cpu | DeviceKind::Unspecified => 0,
        };
        let devices = self.devices()?;
        usize::try_from(index).ok().and_then(|i| devices.get(i).copied()).ok_or_else(|| {
            error!(
                InvalidArgument,
                "device: there is no xla:{index}; this environment has {} (xla:0 to xla:{})",
                devices.len(),
                devices.len() - 1
            )
        })
    }

    /// Creates a mesh of this environment's XLA devices, and returns its number. `ordinals` are the devices, row-major;
    /// None: the first ones.
    pub fn create_mesh(&self, axes: MeshAxes, ordinals: Option<&[i32]>) -> Result<usize> {
        let mesh = Arc::new(Mesh::new(axes, ordinals, self.devices()?.len())?);
        let mut meshes = self.meshes.lock();
        let number = meshes.created;
        if i32::try_from(number).is_err() {
            return Err(error!(
                ResourceExhausted,
                "this environment had {number} meshes; devices have no more numbers"
            ));
        }
        let device = Device::open(&self.shared, Place::Mesh(number), Some(mesh))?;
        meshes.open.insert(number, device);
        meshes.created += 1;
        Ok(number)
    }

    /// Device of the mesh with this number.
    pub fn mesh(&self, number: i32) -> Result<&'static Device> {
        let meshes = self.meshes.lock();
        let found = usize::try_from(number).ok().and_then(|number| meshes.open.get(&number).copied());
        found.ok_or_else(|| {
            error!(InvalidArgument, "device: there is no mesh:{number} in this environment, or it was released")
        })
    }

    /// Closes a mesh. Its tensors can only be read and released from then on.
    pub fn close_mesh(&self, number: usize) {
        let device = self.meshes.lock().open.remove(&number);
        close(device.as_slice());
    }

    /// Registers the kernel that `make` returns under a name. ALREADY_EXISTS if the name is registered.
    pub fn add_kernel(&self, target: &str, make: impl FnOnce() -> Result<Arc<Kernel>>) -> Result<()> {
        let mut kernels = self.kernels.lock();
        if kernels.contains_key(target) {
            return Err(error!(AlreadyExists, "target: a kernel {target:?} is registered; unregister it first"));
        }
        kernels.insert(target.to_string(), make()?);
        Ok(())
    }

    /// Removes the kernel with this name, and returns it.
    pub fn remove_kernel(&self, target: &str) -> Option<Arc<Kernel>> {
        let found = self.kernels.lock().remove(target);
        // Plans of earlier steps refer to it.
        self.all_devices().for_each(|device| device.forget_schemes());
        found
    }

    /// The kernel with this name.
    pub fn kernel(&self, target: &str) -> Option<Arc<Kernel>> {
        self.kernels.lock().get(target).cloned()
    }

    /// All kernels, by name.
    pub fn kernels(&self) -> BTreeMap<String, Arc<Kernel>> {
        self.kernels.lock().clone()
    }

    /// Value of a counter by name.
    pub fn counter(&self, name: &str) -> Result<u64> {
        let found = self.counters().into_iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value).ok_or_else(|| {
            let names: Vec<&str> = self.counters().into_iter().map(|(known, _)| known).collect();
            error!(NotFound, "name: there is no counter {name:?}; there are {}", names.join(", "))
        })
    }

    /// All counters and gauges: programs in memory (CachedPrograms) and their compiled variants for different constants
    /// and donors (CachedVariants); bytes held by buffers (LiveBytes now, PeakLiveBytes at most).
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let tensors = self.all_devices().map(|device| device.state().tensor_counts());
        let (created, destroyed) = tensors.fold((0, 0), |sum, (c, d)| (sum.0 + c, sum.1 + d));
        let runtime = self.shared.runtime.get();
        let memory = runtime.map_or_else(Default::default, |runtime| runtime.engine.memory());
        let value = |counter: Counter| match counter {
            Counter::CreateTensor => created,
            Counter::DestroyTensor => destroyed,
            other => self.shared.metrics.get(other),
        };
        let mut all: Vec<(&'static str, u64)> =
            Counter::ALL.iter().map(|&counter| (counter.name(), value(counter))).collect();
        let (programs, variants) = runtime.map_or((0, 0), |runtime| runtime.programs.sizes());
        all.extend([("CachedPrograms", programs as u64), ("CachedVariants", variants as u64)]);
        all.extend([("LiveBytes", memory.live), ("PeakLiveBytes", memory.peak)]);
        all
    }

    /// All metrics and options, as a JSON object.
    pub fn metrics(&self) -> serde_json::Value {
        let counters: serde_json::Map<String, serde_json::Value> =
            self.counters().into_iter().map(|(name, value)| (name.to_string(), value.into())).collect();
        let options: serde_json::Map<String, serde_json::Value> = OPTION_NAMES
            .split(", ")
            .filter_map(|name| Some((name.to_string(), self.options().get(name).ok()?.into())))
            .collect();
        let mut metrics = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "platform": self.shared.runtime.get().map(|runtime| runtime.engine.platform()),
            "devices": self.devices_in_use().len(),
            "counters": counters,
            "options": options,
        });
        if let Some(processes) = &self.processes {
            metrics["process_id"] = processes.id.into();
            metrics["process_count"] = processes.count.into();
        }
        metrics
    }

    /// Resets all counters to 0, and the peak to the bytes that are live.
    pub fn reset_metrics(&self) {
        self.shared.metrics.reset();
        if let Some(runtime) = self.shared.runtime.get() {
            runtime.engine.reset_peak();
        }
        *self.shared.peaks.lock() = Peaks::default();
        self.all_devices().for_each(|device| device.state().reset_tensor_counts());
    }

    /// XLA devices that are open, and meshes.
    pub fn lazy_devices(&self) -> Vec<&'static Device> {
        let meshes = self.meshes.lock();
        self.devices_in_use().iter().copied().chain(meshes.open.values().copied()).collect()
    }

    /// All devices: cpu, XLA devices that are open, and meshes.
    pub fn all_devices(&self) -> impl Iterator<Item = &'static Device> {
        std::iter::once(self.cpu).chain(self.lazy_devices())
    }
}

/// Options set by environment variables and the caller.
fn set_options(named: &[(&'static str, String)]) -> Result<Options> {
    let options = Options::default();
    for name in OPTION_NAMES.split(", ") {
        let variable = format!("LXLA_{}", name.to_uppercase());
        if let Some(value) = variables::text(&variable) {
            options.set(name, &value).map_err(|e| e.context(format_args!("environment variable {variable}")))?;
        }
    }
    for (name, value) in named {
        options.set(name, value).map_err(|e| e.context(format_args!("options.{name}")))?;
    }
    Ok(options)
}

/// Returns an error if there would be too many devices, or an option of the plugin is given in two ways.
fn check_devices(options: &EnvironmentOptions) -> Result<()> {
    let EnvironmentOptions { device_count, plugin_options, .. } = options;
    if *device_count > MOST_DEVICES {
        return Err(error!(InvalidArgument, "options.device_count: {device_count} given; want at most {MOST_DEVICES}"));
    }
    if let Some(count) = plugin_options.device_count().filter(|&count| count > MOST_DEVICES) {
        return Err(error!(
            InvalidArgument,
            "options.plugin_options: {DEVICE_COUNT:?} is {count}; want at most {MOST_DEVICES}"
        ));
    }
    plugin_options.check_against(*device_count, options.processes.is_some())
}

fn close(devices: &[&'static Device]) {
    for device in devices {
        device.forget_schemes();
        device.release_effects(true);
        let unused = device.state().close();
        drop(unused);
    }
}

impl Drop for Environment {
    /// Tensors remain readable; the engine is dropped with the last of them.
    fn drop(&mut self) {
        close(&self.all_devices().collect::<Vec<_>>());
        let timeline = self.shared.timeline();
        timeline.close(|path| self.profile.end(timeline, path));
    }
}
