//! Runs `lazyxla-probe`, which loads a plugin, once for each plugin. A process that does not answer in time is killed
//! together with the processes of its group.

use super::answer::{self, Answer, End};
use super::readable::is_exhausted;
use base::error;
use base::error::{Code, Error, Result};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Environment variable with the path of the program.
pub const PROGRAM_VARIABLE: &str = "LXLA_PROBE";
/// Environment variable with the time limit of one process in seconds.
pub const LIMIT_VARIABLE: &str = "LXLA_PROBE_TIMEOUT";

/// Name of the program.
const PROGRAM: &str = "lazyxla-probe";
/// Default time limit of one process.
const DEFAULT_LIMIT: Duration = Duration::from_secs(10);
/// Maximum time limit in seconds.
const MOST_SECONDS: f64 = 3600.0;
/// Maximum number of processes at a time.
const MOST_AT_ONCE: usize = 8;
/// Size of a pipe's buffer in Linux, and maximum number of bytes that are kept of an answer and of a plugin's output:
/// the last ones are.
const MOST_BYTES: usize = 1 << 16;
/// Time that a killed process is waited for. One that is stuck in the kernel does not end.
const KILL_LIMIT: Duration = Duration::from_secs(2);
/// Interval at which the output and the end of a process are looked for.
const TICK: Duration = Duration::from_millis(2);

/// Converts the time limit; `given` is the variable.
pub fn limit(given: Option<&OsStr>) -> Result<Duration> {
    let Some(given) = given else { return Ok(DEFAULT_LIMIT) };
    let seconds = given.to_str().and_then(|text| text.trim().parse::<f64>().ok());
    let valid = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= MOST_SECONDS);
    valid.map(Duration::from_secs_f64).ok_or_else(|| {
        error!(
            InvalidArgument,
            "environment variable {LIMIT_VARIABLE}: {given:?} given; want a number of seconds, more than 0, at most \
             {MOST_SECONDS}"
        )
    })
}

/// Finds the program: `given` is the variable; without it, the program is beside the library. NOT_FOUND, with the
/// places, if there is none.
pub fn program(given: Option<OsString>, library_folder: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given.map(PathBuf::from) {
        if given.is_file() {
            // A name without a folder would be looked for in PATH.
            return Ok(given.canonicalize().unwrap_or(given));
        }
        return Err(error!(NotFound, "environment variable {PROGRAM_VARIABLE}: {} is not a file", given.display()));
    }
    let beside = |folder: &Path| vec![folder.join("lazyxla").join(PROGRAM), folder.join(PROGRAM)];
    let places = library_folder.map(beside).unwrap_or_default();
    places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        error!(
            NotFound,
            "the program {PROGRAM}, which loads each plugin in a process of its own, was not found: {PROGRAM_VARIABLE} \
             is not set, and there is none at {}. `make` builds it, and `make install` installs it beside the library",
            places.join(", ")
        )
    })
}

/// Loads each plugin in a process of its own, several at a time. Fails if the program cannot be started.
pub fn run_all(program: &Path, limit: Duration, plugins: &[PathBuf]) -> Result<Vec<Answer>> {
    let next = AtomicUsize::new(0);
    let answers: Vec<OnceLock<Result<Answer>>> = plugins.iter().map(|_| OnceLock::new()).collect();
    let work = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let (Some(plugin), Some(answer)) = (plugins.get(index), answers.get(index)) else { break };
        let _ = answer.set(run(program, limit, plugin));
    };
    std::thread::scope(|scope| {
        for _ in 1..plugins.len().min(MOST_AT_ONCE) {
            let thread = std::thread::Builder::new().name("lazyxla-probe".to_string());
            if thread.spawn_scoped(scope, work).is_err() {
                // This thread does the work alone.
                break;
            }
        }
        work();
    });
    answers.into_iter().map(|answer| answer.into_inner().expect("each plugin was loaded")).collect()
}

fn run(program: &Path, limit: Duration, plugin: &Path) -> Result<Answer> {
    // A file that is not there needs no process.
    if let Err(e) = std::fs::metadata(plugin) {
        return Ok(Answer { error: Some(e.to_string()), ..Answer::default() });
    }
    let deadline = Instant::now() + limit;
    let mut command = Command::new(program);
    command.arg(plugin).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|e| {
        let code = if is_exhausted(&e) { Code::ResourceExhausted } else { Code::FailedPrecondition };
        Error::new(code, format!("the program {} cannot be started: {e}", program.display()))
    })?;
    let mut text = Stream::new(child.stdout.take().map(OwnedFd::from));
    let mut printed = Stream::new(child.stderr.take().map(OwnedFd::from));
    let (is_in_time, status) = loop {
        // The end is looked for before what was written, so that nothing is missed.
        let has_ended = !is_running(&child);
        text.read_what_is_there();
        printed.read_what_is_there();
        let is_late = Instant::now() >= deadline;
        if has_ended || text.is_answer() || is_late {
            break (has_ended || !is_late, stop(child));
        }
        std::thread::sleep(TICK);
    };
    let end = match is_in_time {
        _ if text.is_answer() => End::Answered,
        true => End::Exited(status),
        false => End::TimedOut(limit),
    };
    Ok(answer::read(&text.bytes, &end, &printed.bytes))
}

/// Whether a process has not ended. A process that somebody else collected has.
fn is_running(child: &Child) -> bool {
    matches!(look_at(child), Ok(None))
}

/// Returns the status of a process that has ended, and does not collect it; an error if it is not a child any more.
fn look_at(child: &Child) -> rustix::io::Result<Option<WaitIdStatus>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(child)), options)
}

/// Kills the group of a process and collects the process.
fn stop(mut child: Child) -> Option<ExitStatus> {
    // As long as the process is not collected, its number belongs to no other. If the host ignores SIGCHLD, or collects
    // all children, it may be gone.
    if look_at(&child).is_ok() {
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    }
    let deadline = Instant::now() + KILL_LIMIT;
    while is_running(&child) {
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(TICK);
    }
    child.wait().ok()
}

/// A pipe, and the last bytes that were read from it.
struct Stream {
    /// None after its end.
    pipe: Option<File>,
    bytes: Vec<u8>,
}

impl Stream {
    /// Reads from this pipe without waiting.
    fn new(pipe: Option<OwnedFd>) -> Stream {
        let pipe = pipe.filter(|pipe| fcntl_setfl(pipe, OFlags::NONBLOCK).is_ok());
        Stream { pipe: pipe.map(File::from), bytes: Vec::new() }
    }

    fn is_answer(&self) -> bool {
        answer::is_complete(&self.bytes)
    }

    /// Reads what is there already, at most as much as a pipe holds.
    fn read_what_is_there(&mut self) {
        let mut chunk = [0; 4096];
        for _ in 0..MOST_BYTES / chunk.len() {
            match self.pipe.as_mut().map(|pipe| pipe.read(&mut chunk)) {
                Some(Err(e)) if e.kind() == ErrorKind::Interrupted => {}
                Some(Err(e)) if e.kind() == ErrorKind::WouldBlock => break,
                Some(Ok(size)) if size > 0 => self.bytes.extend_from_slice(&chunk[..size]),
                _ => {
                    self.pipe = None;
                    break;
                }
            }
        }
        let surplus = self.bytes.len().saturating_sub(MOST_BYTES);
        self.bytes.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    #[test]
    fn the_time_limit_is_a_positive_number_of_seconds() {
        let of = |text: &str| limit(Some(OsStr::new(text)));
        assert_eq!(limit(None).unwrap(), DEFAULT_LIMIT);
        assert_eq!(of("2").unwrap(), Duration::from_secs(2));
        assert_eq!(of(" 0.5 ").unwrap(), Duration::from_millis(500));
        for bad in ["", "0", "-1", "ten", "nan", "inf", "1e9", "10s"] {
            let refused = of(bad).unwrap_err();
            assert_eq!(refused.code, Code::InvalidArgument, "{bad}");
            assert!(refused.message.contains("LXLA_PROBE_TIMEOUT"), "{refused}");
        }
    }

    #[test]
    fn the_program_is_looked_for_beside_the_library() {
        let folder = std::env::temp_dir().join(format!("lxla_probe_{}", std::process::id()));
        std::fs::create_dir_all(folder.join("lazyxla")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let missing = program(None, Some(&folder)).unwrap_err();
        assert_eq!(missing.code, Code::NotFound);
        let (own, beside) = (folder.join("lazyxla").join(PROGRAM), folder.join(PROGRAM));
        for place in [&own, &beside] {
            assert!(missing.message.contains(&place.display().to_string()), "{missing}");
        }
        std::fs::write(&beside, "").unwrap();
        assert_eq!(program(None, Some(&folder)).unwrap(), beside);
        std::fs::write(&own, "").unwrap();
        assert_eq!(program(None, Some(&folder)).unwrap(), own);
        assert_eq!(program(Some(beside.clone().into()), None).unwrap(), beside);
        let wrong = program(Some("/nonexistent/probe".into()), Some(&folder)).unwrap_err();
        assert!(wrong.code == Code::NotFound && wrong.message.contains("/nonexistent/probe"), "{wrong}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn programs_that_are_no_probe_give_errors() {
        let plugin = std::env::current_exe().unwrap();
        let plugins = [plugin.clone(), PathBuf::from("/nonexistent.so"), plugin];
        let answers = run_all(Path::new("/bin/false"), Duration::from_secs(20), &plugins).unwrap();
        let errors: Vec<String> = answers.into_iter().map(|answer| answer.error.unwrap()).collect();
        assert!(errors[0].contains("it ended its process (exit status: 1)"), "{}", errors[0]);
        assert!(errors[1].contains("No such file"), "{}", errors[1]);
        assert_eq!(errors[2], errors[0]);
        let refused = run_all(Path::new("/nonexistent/probe"), Duration::from_secs(20), &plugins).unwrap_err();
        assert_eq!(refused.code, Code::FailedPrecondition);
        assert!(run_all(Path::new("/nonexistent/probe"), DEFAULT_LIMIT, &[]).unwrap().is_empty());
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let folder = std::env::temp_dir().join(format!("lxla_hang_{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // As a "plugin", its argument.
        let hanging = folder.join("60");
        std::fs::write(&hanging, "#!/bin/sh\necho at load\necho words >&2\nsleep 60\n").unwrap();
        let start = Instant::now();
        let answers = run_all(Path::new("/bin/sh"), Duration::from_secs(3), std::slice::from_ref(&hanging)).unwrap();
        let error = answers[0].error.as_deref().unwrap();
        assert!(error.contains("it did not answer within 3 s: it hung while the library was loaded"), "{error}");
        assert!(error.ends_with("it printed: words"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(30));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
