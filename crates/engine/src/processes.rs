//! Several processes that run the same program together, each with devices of its own.

use base::error::Result;
use std::sync::Arc;
use std::time::Duration;

/// This process among those that run the same program.
#[derive(Clone)]
pub struct Processes {
    /// Number of this process, from 0.
    pub id: i32,
    /// Number of processes.
    pub count: i32,
    /// Store through which the processes find each other.
    pub store: Arc<dyn KeyValueStore>,
}

/// A store that all processes share. The plugin calls it from any of its threads, as long as the engine exists.
pub trait KeyValueStore: Send + Sync {
    /// Waits until another process puts a value for `key`, and returns it. DEADLINE_EXCEEDED if there is none after
    /// `timeout`.
    fn get(&self, key: &[u8], timeout: Duration) -> Result<Vec<u8>>;

    /// Returns the value of `key` without waiting; None if there is none.
    fn try_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Sets the value of `key`.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;
}
