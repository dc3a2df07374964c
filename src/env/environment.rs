//! One environment.

use crate::cache::{DiskCache, ProgramCache};
use crate::device::{Device, MOST_DEVICES, OPTION_NAMES, Options, Place, Runtime, Shared};
use crate::engine::{Engine, pjrt};
use crate::error;
use crate::error::Result;
use crate::metrics::{Counter, Metrics};
use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// How many compiled programs an environment keeps if it is not told.
const DEFAULT_CACHE_CAPACITY: usize = 1024;

/// What an environment is made with.
#[derive(Default)]
pub struct EnvironmentOptions {
    /// The plugin's file; none: found as the C contract says.
    pub plugin_path: Option<PathBuf>,
    /// Folder of the disk cache; none: the variable `LXLA_CACHE_DIR`, else no disk cache.
    pub cache_dir: Option<PathBuf>,
    /// How many compiled programs are kept.
    pub cache_capacity: Option<NonZeroUsize>,
    /// How many devices to ask the plugin for; 0: its default.
    pub device_count: usize,
    /// Named options (see [`Options::set`]) with their values.
    pub named: Vec<(&'static str, String)>,
}

/// What a caller can mean by a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// None named.
    Unspecified,
    /// `cpu`.
    Cpu,
    /// `xla:N`.
    Xla,
}

/// See the module's documentation.
pub struct Environment {
    shared: Arc<Shared>,
    cpu: &'static Device,
    /// The XLA devices, once one of them was asked for.
    xla: OnceLock<Vec<&'static Device>>,
    /// How the engine is to be started. Held while it is.
    start: Mutex<Start>,
}

/// What the engine is started with.
struct Start {
    plugin_path: Option<PathBuf>,
    disk: Option<DiskCache>,
    cache_capacity: NonZeroUsize,
    device_count: usize,
}

impl Environment {
    /// Options come from environment variables (`LXLA_DONATION=false`), then from `options`. A plugin that is named is
    /// started at once, so that its failure is told here; else the first use of an XLA device finds and starts one.
    pub fn new(number: u64, options: EnvironmentOptions) -> Result<Environment> {
        let from_variable = || std::env::var_os("LXLA_CACHE_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let default = NonZeroUsize::new(DEFAULT_CACHE_CAPACITY).expect("not zero");
        let shared = Arc::new(Shared {
            number,
            options: set_options(&options.named)?,
            metrics: Metrics::default(),
            runtime: OnceLock::new(),
        });
        if options.device_count > MOST_DEVICES {
            return Err(error!(
                InvalidArgument,
                "options.device_count: {} given; want at most {MOST_DEVICES}", options.device_count
            ));
        }
        let at_once = options.plugin_path.is_some();
        let cache_dir = options.cache_dir.or_else(from_variable);
        let environment = Environment {
            cpu: Device::open(&shared, Place::Cpu)?,
            shared,
            xla: OnceLock::new(),
            start: Mutex::new(Start {
                plugin_path: options.plugin_path,
                disk: cache_dir.as_deref().and_then(DiskCache::open),
                cache_capacity: options.cache_capacity.unwrap_or(default),
                device_count: options.device_count,
            }),
        };
        if at_once {
            environment.devices()?;
        }
        Ok(environment)
    }

    /// An environment whose XLA devices are those of `engine`, whatever that is: for engines over something else than a
    /// plugin, and known to whoever made it only.
    pub fn with_engine(number: u64, engine: Arc<dyn Engine>, options: EnvironmentOptions) -> Result<Environment> {
        let environment = Environment::new(number, EnvironmentOptions { plugin_path: None, ..options })?;
        let programs = ProgramCache::new(environment.start.lock().cache_capacity);
        let _ = environment.shared.runtime.set(Runtime { engine, programs, disk: None });
        environment.devices()?;
        Ok(environment)
    }

    /// Its number, which is its handle.
    pub fn number(&self) -> u64 {
        self.shared.number
    }

    /// What may be changed.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Its XLA devices, `xla:0` first. Starts the engine if that was not done yet.
    pub fn devices(&self) -> Result<&[&'static Device]> {
        if let Some(devices) = self.xla.get() {
            return Ok(devices);
        }
        let mut start = self.start.lock();
        if let Some(devices) = self.xla.get() {
            return Ok(devices);
        }
        if self.shared.runtime.get().is_none() {
            let engine = pjrt::start(start.plugin_path.as_deref(), start.device_count)?;
            let programs = ProgramCache::new(start.cache_capacity);
            let _ = self.shared.runtime.set(Runtime { engine, programs, disk: start.disk.take() });
        }
        let count = self.shared.runtime().engine.device_count();
        let mut devices = Vec::with_capacity(count);
        for ordinal in 0..count {
            match Device::open(&self.shared, Place::Xla(ordinal)) {
                Ok(device) => devices.push(device),
                Err(error) => {
                    close(&devices);
                    return Err(error);
                }
            }
        }
        Ok(self.xla.get_or_init(|| devices))
    }

    /// Its XLA devices, if there are any yet: what was never used has nothing pending.
    pub fn devices_in_use(&self) -> &[&'static Device] {
        self.xla.get().map_or(&[], Vec::as_slice)
    }

    /// The device that a caller means.
    pub fn device(&self, kind: DeviceKind, ordinal: i32) -> Result<&'static Device> {
        let index = match kind {
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

    /// A counter by name.
    pub fn counter(&self, name: &str) -> Result<u64> {
        let found = self.counters().into_iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value).ok_or_else(|| {
            let names: Vec<&str> = self.counters().into_iter().map(|(known, _)| known).collect();
            error!(NotFound, "name: there is no counter {name:?}; there are {}", names.join(", "))
        })
    }

    /// All counters, and what is there now: programs in memory (CachedPrograms) and what was compiled of them, for other
    /// constants and donors (CachedVariants); bytes that buffers hold (LiveBytes now, PeakLiveBytes at most).
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

    /// All there is to tell, as one JSON object.
    pub fn metrics_json(&self) -> String {
        let counters: serde_json::Map<String, serde_json::Value> =
            self.counters().into_iter().map(|(name, value)| (name.to_string(), value.into())).collect();
        let options: serde_json::Map<String, serde_json::Value> = OPTION_NAMES
            .split(", ")
            .filter_map(|name| Some((name.to_string(), self.options().get(name).ok()?.into())))
            .collect();
        serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "platform": self.shared.runtime.get().map(|runtime| runtime.engine.platform()),
            "devices": self.devices_in_use().len(),
            "counters": counters,
            "options": options,
        })
        .to_string()
    }

    /// Counters start at 0 again, and the peak at what is live.
    pub fn reset_metrics(&self) {
        self.shared.metrics.reset();
        if let Some(runtime) = self.shared.runtime.get() {
            runtime.engine.reset_peak();
        }
        self.all_devices().for_each(|device| device.state().reset_tensor_counts());
    }

    fn all_devices(&self) -> impl Iterator<Item = &'static Device> {
        std::iter::once(self.cpu).chain(self.devices_in_use().iter().copied())
    }
}

/// The options that environment variables and the caller set.
fn set_options(named: &[(&'static str, String)]) -> Result<Options> {
    let options = Options::default();
    for name in OPTION_NAMES.split(", ") {
        let variable = format!("LXLA_{}", name.to_uppercase());
        if let Ok(value) = std::env::var(&variable) {
            options.set(name, &value).map_err(|e| e.context(format_args!("environment variable {variable}")))?;
        }
    }
    for (name, value) in named {
        options.set(name, value).map_err(|e| e.context(format_args!("options.{name}")))?;
    }
    Ok(options)
}

fn close(devices: &[&'static Device]) {
    for device in devices {
        let unused = device.state().close();
        drop(unused);
    }
}

impl Drop for Environment {
    /// Its tensors stay readable; the engine goes with the last of them.
    fn drop(&mut self) {
        close(&self.all_devices().collect::<Vec<_>>());
    }
}
