//! Timelines: what a thread or a device did from when to when, as events in the format of Chrome traces. An environment
//! has one. It is off until a trace is written to a file, or the last events are kept for a report. While it is off, a
//! span is a relaxed load and a branch, and recording does not ask at all.
//!
//! `profile` adds the profile of a plugin to a trace; it reads it with `xspace`.
//!
//! It uses `base`.

mod event;
mod events;
mod file;
mod profile;
#[cfg(test)]
mod profile_test;
mod recorder;
#[cfg(test)]
mod recorder_test;
mod threads;
mod xspace;

pub use profile::Clock;
pub use recorder::{Span, Timeline, close_all, label_popped, label_pushed};
