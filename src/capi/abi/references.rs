//! Reference-counted handle table; ids are never reused.

use base::error;
use base::error::{Error, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reference-counted handle table. Ids are never reused, so that a stale handle is always detected.
pub struct References<T> {
    /// Name of the kind in messages; also the name of the argument.
    kind: &'static str,
    entries: Mutex<Entries<T>>,
}

struct Entries<T> {
    last: u64,
    known: BTreeMap<u64, (Arc<T>, u32)>,
}

impl<T> References<T> {
    /// Creates an empty table.
    pub const fn new(kind: &'static str) -> References<T> {
        References { kind, entries: Mutex::new(Entries { last: 0, known: BTreeMap::new() }) }
    }

    /// Adds an entry with one reference, and returns its id.
    pub fn insert(&self, thing: Arc<T>) -> u64 {
        let mut entries = self.entries.lock();
        entries.last += 1;
        let id = entries.last;
        entries.known.insert(id, (thing, 1));
        id
    }

    /// Returns the entry of a handle, or an error that names the argument.
    pub fn get(&self, argument: &str, id: u64) -> Result<Arc<T>> {
        let entries = self.entries.lock();
        entries.known.get(&id).map(|(thing, _)| thing.clone()).ok_or_else(|| self.none(argument, id))
    }

    /// Adds one reference.
    pub fn retain(&self, id: u64) -> Result<()> {
        let mut entries = self.entries.lock();
        let (_, references) = entries.known.get_mut(&id).ok_or_else(|| self.none(self.kind, id))?;
        *references = references
            .checked_add(1)
            .ok_or_else(|| error!(ResourceExhausted, "{}: it has 2^32 - 1 references already", self.kind))?;
        Ok(())
    }

    /// Removes one reference; the last one removes the entry. Id 0 is ignored.
    pub fn release(&self, id: u64) -> Result<()> {
        if id == 0 {
            return Ok(());
        }
        let ended = {
            let mut entries = self.entries.lock();
            let (_, references) = entries.known.get_mut(&id).ok_or_else(|| self.none(self.kind, id))?;
            *references -= 1;
            if *references == 0 { entries.known.remove(&id) } else { None }
        };
        // Destructors run without the lock.
        drop(ended);
        Ok(())
    }

    #[cold]
    fn none(&self, argument: &str, id: u64) -> Error {
        let article = if self.kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        error!(InvalidHandle, "{argument}: {id:#x} is not {article} {} handle, or was released", self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    #[test]
    fn references_do_not_wrap() {
        let things = References::new("thing");
        let id = things.insert(Arc::new(7));
        things.entries.lock().known.get_mut(&id).unwrap().1 = u32::MAX - 1;
        things.retain(id).unwrap();
        assert_eq!(things.retain(id).unwrap_err().code, Code::ResourceExhausted);
        things.release(id).unwrap();
        things.retain(id).unwrap();
        assert!(things.get("thing", id).is_ok());
    }

    #[test]
    fn handles_end_with_their_last_reference() {
        let things = References::new("thing");
        let id = things.insert(Arc::new(7));
        things.retain(id).unwrap();
        things.release(id).unwrap();
        assert_eq!(*things.get("thing", id).unwrap(), 7);
        things.release(id).unwrap();
        things.release(0).unwrap();
        let error = things.get("cond", id).unwrap_err();
        assert_eq!(error.code, Code::InvalidHandle);
        assert!(error.message.contains("cond: 0x1 is not a thing handle"), "{error}");
        assert!(things.release(id).is_err() && things.retain(id).is_err());
        assert_ne!(things.insert(Arc::new(8)), id);
    }
}
