//! Description of the host processor.

use std::sync::OnceLock;

/// Returns the processor's model name and features. A serialized executable may be machine code that uses all of them,
/// and a plugin selects kernels by them.
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
