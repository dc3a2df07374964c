//! Parses the output of `lazyxla-probe` (format: see `probe/lazyxla_probe.c`), and states why a plugin cannot be used.

use crate::pjrt::sys;
use std::process::ExitStatus;
use std::time::Duration;

/// Maximum number of bytes of what a plugin printed in a message.
const MOST_PRINTED: usize = 600;

/// How a process ended.
pub enum End {
    /// Its answer was complete.
    Answered,
    /// It ended before its answer was complete. The status is None if somebody else collected it.
    Exited(Option<ExitStatus>),
    /// It was stopped after this time.
    TimedOut(Duration),
}

/// Properties of a plugin that the probe reported.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    /// Major and minor version of its PJRT API.
    pub api_version: Option<(i32, i32)>,
    /// Name of its platform.
    pub platform: Option<String>,
    /// Why it cannot be used.
    pub error: Option<String>,
}

/// Whether the text is a complete answer.
pub fn is_complete(text: &[u8]) -> bool {
    String::from_utf8_lossy(text).lines().any(|line| line.trim_end() == "end")
}

/// Reads an answer. `printed` is the plugin's output on standard error.
pub fn read(text: &[u8], end: &End, printed: &[u8]) -> Answer {
    let mut answer = Answer::default();
    // The last step that the probe began.
    let mut step = None;
    for line in String::from_utf8_lossy(text).lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "at" => step = Some(rest.to_string()),
            "api" => answer.api_version = version(rest),
            "platform" => answer.platform = Some(rest.to_string()),
            "error" => answer.error = Some(rest.to_string()),
            _ => {}
        }
    }
    if let Some((major, minor)) = answer.api_version
        && major != sys::PJRT_API_MAJOR
    {
        answer.error = Some(format!("it speaks PJRT API {major}.{minor}; want {}.x", sys::PJRT_API_MAJOR));
    }
    answer.error = answer.error.take().or_else(|| failure(step.as_deref(), end, printed));
    answer
}

fn version(text: &str) -> Option<(i32, i32)> {
    let (major, minor) = text.split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Text for a process that did not answer; None if nothing is known against the plugin.
fn failure(step: Option<&str>, end: &End, printed: &[u8]) -> Option<String> {
    let during = match step {
        Some("load") => "while the library was loaded",
        Some("start") => "in GetPjrtApi",
        Some("initialize") => "in PJRT_Plugin_Initialize",
        // It was loaded and initialized. The library does not read its attributes.
        Some("attributes") => return None,
        _ => "before the library was loaded",
    };
    let text = match end {
        End::Answered => return None,
        End::TimedOut(limit) => format!("it did not answer within {} s: it hung {during}", limit.as_secs_f64()),
        End::Exited(Some(status)) => format!("it ended its process ({status}) {during}"),
        End::Exited(None) => format!("it ended its process {during}"),
    };
    let printed = last_lines(printed);
    Some(if printed.is_empty() { text } else { format!("{text}; it printed: {printed}") })
}

/// The end of what was printed, in one line.
fn last_lines(printed: &[u8]) -> String {
    let rest = &printed[printed.len().saturating_sub(MOST_PRINTED)..];
    let text = String::from_utf8_lossy(rest);
    text.split(char::is_control).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn ended(text: &str, end: End, printed: &str) -> Answer {
        read(text.as_bytes(), &end, printed.as_bytes())
    }

    #[test]
    fn answers_are_read() {
        let text = "at load\nat start\napi 0 116\nat initialize\nat attributes\nplatform cuda\nend \n";
        assert!(is_complete(text.as_bytes()) && !is_complete(b"at load\nerror the end \n"));
        let answer = ended(text, End::Answered, "noise");
        assert_eq!(answer.api_version, Some((0, 116)));
        assert_eq!((answer.platform.as_deref(), answer.error), (Some("cuda"), None));
        let missing = ended("at load\nerror libx.so: cannot open: \u{fffd}\nend \n", End::Answered, "");
        assert_eq!((missing.api_version, missing.error.as_deref()), (None, Some("libx.so: cannot open: \u{fffd}")));
        let newer = ended("at load\nat start\napi 1 2\nend \n", End::Answered, "");
        assert_eq!(newer.error.as_deref(), Some("it speaks PJRT API 1.2; want 0.x"));
        assert_eq!(newer.api_version, Some((1, 2)));
    }

    #[test]
    fn answers_that_did_not_come_are_errors() {
        let error = |text: &str, end: End, printed: &str| ended(text, end, printed).error.unwrap_or_default();
        let limit = Duration::from_millis(1500);
        assert_eq!(
            error("at load\n", End::TimedOut(limit), ""),
            "it did not answer within 1.5 s: it hung while the library was loaded"
        );
        let hung = ended("at load\nat start\napi 0 117\nat initialize\n", End::TimedOut(limit), "");
        assert_eq!(hung.api_version, Some((0, 117)));
        assert!(hung.error.unwrap().ends_with("it hung in PJRT_Plugin_Initialize"));
        let aborted = End::Exited(Some(ExitStatus::from_raw(6)));
        let text = error("at load\nat start\n", aborted, "no chips\n\n in this machine\n");
        assert!(text.starts_with("it ended its process (signal: 6 (SIGABRT)"), "{text}");
        assert!(text.ends_with(") in GetPjrtApi; it printed: no chips | in this machine"), "{text}");
        assert_eq!(error("", End::Exited(None), ""), "it ended its process before the library was loaded");
        assert_eq!(error("at attributes\n", End::TimedOut(limit), ""), "");
        let long = "x".repeat(5000);
        assert!(error("at load\n", End::Exited(None), &long).len() < 1000);
    }

    #[test]
    fn any_bytes_are_read() {
        for text in [&b"\xff\xfe\n"[..], b"api\napi x y\napi 1\nat\nplatform\n", b"api 99999999999 1\n", b"error"] {
            let answer = read(text, &End::Exited(None), b"\xff\x00\x01");
            assert!(answer.api_version.is_none() && answer.error.is_some());
        }
    }
}
