//! One environment.

use crate::cache::{DiskCache, ProgramCache};
use crate::device::{Device, OPTION_NAMES, Options, Shared};
use crate::engine::pjrt;
use crate::error;
use crate::error::Result;
use crate::metrics::{Counter, Metrics};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

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
    devices: Vec<&'static Device>,
}

impl Environment {
    /// Starts the engine. Options come from environment variables (`LXLA_DONATION=false`), then from `options`.
    pub(super) fn new(number: u64, options: EnvironmentOptions) -> Result<Environment> {
        let set = Options::default();
        for name in OPTION_NAMES.split(", ") {
            let variable = format!("LXLA_{}", name.to_uppercase());
            if let Ok(value) = std::env::var(&variable) {
                set.set(name, &value).map_err(|e| e.context(format_args!("environment variable {variable}")))?;
            }
        }
        for (name, value) in &options.named {
            set.set(name, value).map_err(|e| e.context(format_args!("options.{name}")))?;
        }
        let from_variable = || std::env::var_os("LXLA_CACHE_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let cache_dir = options.cache_dir.or_else(from_variable);
        let engine = pjrt::start(options.plugin_path.as_deref(), options.device_count)?;
        let count = engine.device_count();
        let default = NonZeroUsize::new(DEFAULT_CACHE_CAPACITY).expect("not zero");
        let shared = Arc::new(Shared {
            number,
            engine,
            options: set,
            programs: ProgramCache::new(options.cache_capacity.unwrap_or(default)),
            disk: cache_dir.as_deref().and_then(DiskCache::open),
            metrics: Metrics::default(),
        });
        let mut environment = Environment { shared, devices: Vec::with_capacity(count) };
        for ordinal in 0..count {
            let device = Device::open(&environment.shared, ordinal)?;
            environment.devices.push(device);
        }
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

    /// Its XLA devices, `xla:0` first.
    pub fn devices(&self) -> &[&'static Device] {
        &self.devices
    }

    /// The lazy device that a caller means.
    pub fn device(&self, kind: DeviceKind, ordinal: i32) -> Result<&'static Device> {
        let index = match kind {
            DeviceKind::Xla => ordinal,
            DeviceKind::Cpu | DeviceKind::Unspecified if ordinal != 0 => {
                return Err(error!(InvalidArgument, "device: ordinal {ordinal} given; cpu has only 0"));
            }
            DeviceKind::Cpu | DeviceKind::Unspecified if self.options().use_native_for_cpu_tensor() => {
                return Err(error!(
                    Unimplemented,
                    "device: native tensors (on cpu, or without a device) are not there yet; name a device xla:N, or set \
                     the option use_native_for_cpu_tensor to false, which puts them on xla:0"
                ));
            }
            DeviceKind::Cpu | DeviceKind::Unspecified => 0,
        };
        let count = self.devices.len();
        usize::try_from(index).ok().and_then(|i| self.devices.get(i).copied()).ok_or_else(|| {
            error!(
                InvalidArgument,
                "device: there is no xla:{index}; this environment has {count} (xla:0 to xla:{})",
                count - 1
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
        let tensors = self.devices.iter().map(|device| device.state().tensor_counts());
        let (created, destroyed) = tensors.fold((0, 0), |sum, (c, d)| (sum.0 + c, sum.1 + d));
        let memory = self.shared.engine.memory();
        let value = |counter: Counter| match counter {
            Counter::CreateTensor => created,
            Counter::DestroyTensor => destroyed,
            other => self.shared.metrics.get(other),
        };
        let mut all: Vec<(&'static str, u64)> =
            Counter::ALL.iter().map(|&counter| (counter.name(), value(counter))).collect();
        let (programs, variants) = self.shared.programs.sizes();
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
            "platform": self.shared.engine.platform(),
            "devices": self.devices.len(),
            "counters": counters,
            "options": options,
        })
        .to_string()
    }

    /// Counters start at 0 again, and the peak at what is live.
    pub fn reset_metrics(&self) {
        self.shared.metrics.reset();
        self.shared.engine.reset_peak();
        self.devices.iter().for_each(|device| device.state().reset_tensor_counts());
    }
}

impl Drop for Environment {
    /// Its tensors stay readable; the engine goes with the last of them.
    fn drop(&mut self) {
        for device in &self.devices {
            let unused = device.state().close();
            drop(unused);
        }
    }
}
