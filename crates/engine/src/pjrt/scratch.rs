//! Temporary folders for tests.

use std::fs;
use std::path::PathBuf;

/// A temporary folder, removed on drop.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Creates an empty folder. `name` is different in each test.
    pub fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("lxla_pjrt_{}_{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Scratch(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
