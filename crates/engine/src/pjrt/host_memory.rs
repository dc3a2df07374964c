//! Upper bound of the memory available to this process. It is checked before a large program runs: if an allocation
//! fails during execution, donated arguments are already lost. Only programs that can never fit are rejected: memory
//! used by other processes may be freed at any time, and memory that is never written takes no space.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Minimum memory of a program to be checked: the check takes some microseconds.
pub const MUCH: u64 = 64 << 20;

/// Maximum number of bytes that this process can allocate in addition to what it holds, and the source of that limit.
pub fn limit() -> (u64, &'static str) {
    let limits = [
        (machine(), "the machine's memory and swap"),
        (cgroup().saturating_add(swap()), "the control group's memory limit"),
        (of_address_space(), "the limit on address space (RLIMIT_AS)"),
    ];
    limits.into_iter().min_by_key(|(bytes, _)| *bytes).expect("three limits")
}

/// Parses a line of /proc/meminfo. Returns bytes.
fn meminfo(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Total physical memory, and total swap.
fn totals() -> (u64, u64) {
    static TOTALS: OnceLock<(u64, u64)> = OnceLock::new();
    *TOTALS.get_or_init(|| {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        (meminfo(&text, "MemTotal").unwrap_or(u64::MAX), meminfo(&text, "SwapTotal").unwrap_or(0))
    })
}

fn machine() -> u64 {
    totals().0.saturating_add(swap())
}

fn swap() -> u64 {
    totals().1
}

/// Lowest memory limit of this process's control group and its ancestors. A missing limit, or "max", is not a limit.
fn cgroup() -> u64 {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut lowest = u64::MAX;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            list if list.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        for folder in Path::new(group.trim_start_matches('/')).ancestors() {
            let text = fs::read_to_string(Path::new(root).join(folder).join(file)).unwrap_or_default();
            lowest = lowest.min(text.trim().parse().unwrap_or(u64::MAX));
        }
    }
    lowest
}

/// Remaining address space, plus the memory that the allocator has free.
fn of_address_space() -> u64 {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is valid, and is only written to.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limits) };
    if asked != 0 || limits.rlim_cur == libc::RLIM_INFINITY {
        return u64::MAX;
    }
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0);
    // SAFETY: both functions only query.
    let (page, free) = unsafe { (libc::sysconf(libc::_SC_PAGESIZE) as u64, libc::mallinfo2().fordblks as u64) };
    limits.rlim_cur.saturating_sub(pages * page).saturating_add(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_the_system_writes_them() {
        let text = "MemTotal:       24663244 kB\nMemFree:        24000000 kB\nSwapTotal:             0 kB\n";
        assert_eq!(meminfo(text, "MemTotal"), Some(24_663_244 * 1024));
        assert_eq!(meminfo(text, "SwapTotal"), Some(0));
        assert_eq!(meminfo(text, "Mem"), None);
        let (bytes, source) = limit();
        assert!(bytes > MUCH, "{bytes} by {source}");
        assert!(bytes <= machine());
    }
}
