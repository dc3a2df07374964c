//! The processor that this process runs on.

use std::sync::OnceLock;

/// Names the processor model and its features. A serialized executable may be machine code that uses all of them, and a
/// plugin chooses kernels by them.
pub fn features() -> &'static str {
    static FEATURES: OnceLock<String> = OnceLock::new();
    FEATURES.get_or_init(|| {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let counts = |line: &&str| ["model name", "flags", "Features"].iter().any(|key| line.starts_with(key));
        let mut lines: Vec<&str> = info.lines().filter(counts).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.join("\n")
    })
}
