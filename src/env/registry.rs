//! All environments of the process, behind reference-counted handles.

use super::environment::{Environment, EnvironmentOptions};
use super::scope;
use base::error;
use base::error::{Error, Result};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

struct Entry {
    environment: Arc<Environment>,
    references: u32,
}

/// Live environments by number. Numbers are never reused.
struct Registry {
    entries: Vec<(u64, Entry)>,
    next: u64,
}

static REGISTRY: RwLock<Registry> = RwLock::new(Registry { entries: Vec::new(), next: 1 });

/// Number of the default environment, once it exists.
static DEFAULT: Mutex<Option<u64>> = Mutex::new(None);

fn invalid(id: u64) -> Error {
    error!(InvalidHandle, "env: {id:#x} is not an environment handle, or the environment was released")
}

/// Creates an environment with one reference, and returns its number.
pub fn create(options: EnvironmentOptions) -> Result<u64> {
    let number = {
        let mut registry = REGISTRY.write();
        registry.next += 1;
        registry.next - 1
    };
    let environment = Arc::new(Environment::new(number, options)?);
    REGISTRY.write().entries.push((number, Entry { environment, references: 1 }));
    Ok(number)
}

/// Resolves a handle: 0 is the thread's current environment, or else the default one.
pub fn resolve(id: u64) -> Result<Arc<Environment>> {
    let number = match id {
        0 => match scope::current() {
            Some(current) => current,
            None => default()?,
        },
        id => id,
    };
    let registry = REGISTRY.read();
    let found = registry.entries.iter().find(|(known, _)| *known == number);
    found.map(|(_, entry)| entry.environment.clone()).ok_or_else(|| invalid(number))
}

/// Makes an environment the thread's current one, until the matching [`scope::exit`].
pub fn enter(id: u64) -> Result<()> {
    scope::enter(resolve(id)?.number())
}

/// Adds a reference.
pub fn retain(id: u64) -> Result<()> {
    let mut registry = REGISTRY.write();
    let entry = registry.entries.iter_mut().find(|(known, _)| *known == id).ok_or_else(|| invalid(id))?;
    entry.1.references = entry
        .1
        .references
        .checked_add(1)
        .ok_or_else(|| error!(ResourceExhausted, "env: it has 2^32 - 1 references already"))?;
    Ok(())
}

/// Removes a reference; the last one destroys the environment, except for what its tensors need. A handle of 0 is
/// ignored.
pub fn release(id: u64) -> Result<()> {
    if id == 0 {
        return Ok(());
    }
    let is_default = *DEFAULT.lock() == Some(id);
    let ended = {
        let mut registry = REGISTRY.write();
        let index = registry.entries.iter().position(|(known, _)| *known == id).ok_or_else(|| invalid(id))?;
        let entry = &mut registry.entries[index].1;
        if is_default && entry.references == 1 {
            return Err(error!(FailedPrecondition, "env: the default environment lives as long as the process"));
        }
        entry.references -= 1;
        (entry.references == 0).then(|| registry.entries.swap_remove(index))
    };
    drop(ended);
    Ok(())
}

/// Number of the process's default environment, which is created on first use.
pub fn default() -> Result<u64> {
    let mut default = DEFAULT.lock();
    if let Some(number) = *default {
        return Ok(number);
    }
    let number = create(EnvironmentOptions::default())?;
    *default = Some(number);
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    #[test]
    fn references_do_not_wrap() {
        let id = create(EnvironmentOptions::default()).unwrap();
        let set = |references: u32| {
            let mut registry = REGISTRY.write();
            registry.entries.iter_mut().find(|(known, _)| *known == id).unwrap().1.references = references;
        };
        set(u32::MAX);
        assert_eq!(retain(id).unwrap_err().code, Code::ResourceExhausted);
        assert!(resolve(id).is_ok());
        set(1);
        release(id).unwrap();
    }
}
