//! Environments: one engine client, its devices, options, caches, metrics. Scopes nest per thread.

mod environment;
mod registry;
mod scope;

pub use environment::{DeviceKind, Environment, EnvironmentOptions};
pub use registry::{create, default, enter, release, resolve, retain};
pub use scope::{current, exit};
