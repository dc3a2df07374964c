//! Environments: an engine client with its devices, options, caches and metrics. Each thread has a stack of entered
//! environments.

mod environment;
mod profile;
mod registry;
mod scope;

pub use environment::{DeviceKind, Environment, EnvironmentOptions};
pub use registry::{create, default, enter, release, resolve, retain};
pub use scope::{current, exit};
