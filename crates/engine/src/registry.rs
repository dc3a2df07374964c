//! The engines by their names: PJRT plugins, and engines that other crates register.

use super::{Engine, EngineOptions, pjrt};
use base::error;
use base::error::{Result, quoted};
use parking_lot::RwLock;
use std::sync::Arc;

/// Names of engines in crates of this repository, which a library may have been built without.
const OPTIONAL: [&str; 1] = ["xla-rs"];

/// Engines of other crates.
static REGISTERED: RwLock<Vec<(&str, Start)>> = RwLock::new(Vec::new());

/// Function that starts an engine.
pub type Start = fn(EngineOptions) -> Result<Arc<dyn Engine>>;

/// Engines, by the names in the C ABI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// A PJRT plugin: `pjrt`.
    #[default]
    Pjrt,
    /// An engine of another crate, by its name. It has no plugins.
    Registered(&'static str),
}

impl EngineKind {
    /// Returns the engine with this name; `argument` is where it was given.
    pub fn named(argument: &str, name: &str) -> Result<EngineKind> {
        if name == "pjrt" {
            return Ok(EngineKind::Pjrt);
        }
        let registered = REGISTERED.read().iter().map(|(known, _)| *known).collect::<Vec<_>>();
        let others = OPTIONAL.into_iter().chain(registered.into_iter().filter(|known| !OPTIONAL.contains(known)));
        let others: Vec<&str> = others.collect();
        let found = others.iter().find(|known| **known == name);
        found.map(|known| EngineKind::Registered(known)).ok_or_else(|| {
            error!(InvalidArgument, "{argument}: {} given; want pjrt or {}", quoted(name), others.join(" or "))
        })
    }
}

/// Adds an engine, which environments can choose by this name from now on. A second one of the same name replaces it.
pub fn register(name: &'static str, start: Start) {
    let mut registered = REGISTERED.write();
    registered.retain(|(known, _)| *known != name);
    registered.push((name, start));
}

/// Starts an engine.
pub fn start(options: EngineOptions) -> Result<Arc<dyn Engine>> {
    let EngineKind::Registered(name) = options.kind else { return pjrt::start(options) };
    let found = REGISTERED.read().iter().find(|(known, _)| *known == name).map(|(_, start)| *start);
    let start = found.ok_or_else(|| {
        error!(Unimplemented, "engine: {name} given; this library was built without it (see docs/plugins.md)")
    })?;
    start(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    #[test]
    fn an_engine_is_found_by_the_name_under_which_it_was_registered() {
        let refused = EngineKind::named("options.engine", "planted").unwrap_err();
        assert_eq!(&*refused.message, "options.engine: \"planted\" given; want pjrt or xla-rs");
        register("planted", |options| Err(error!(Aborted, "{} devices wanted", options.device_count)));
        let kind = EngineKind::named("options.engine", "planted").unwrap();
        assert_eq!(kind, EngineKind::Registered("planted"));
        let started = start(EngineOptions { kind, device_count: 3, ..Default::default() });
        assert_eq!(&*started.err().unwrap().message, "3 devices wanted");
        let missing = start(EngineOptions { kind: EngineKind::Registered("xla-rs"), ..Default::default() });
        assert_eq!(missing.err().unwrap().code, Code::Unimplemented);
    }
}
