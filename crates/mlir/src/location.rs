//! Locations of operations in the program that was exported.

use std::fmt;
use std::sync::Arc;

/// A location of the exported program.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Location {
    /// None is known.
    #[default]
    Unknown,
    /// Line and column of a file.
    File {
        /// Name of the file.
        name: Arc<str>,
        /// Line, from 1.
        line: u32,
        /// Column, from 1; 0 if unknown.
        column: u32,
    },
    /// A name, and where that is.
    Name(Arc<str>, Arc<Location>),
    /// The location of a called function, and the location of the call.
    Call(Arc<Location>, Arc<Location>),
    /// Several locations.
    Fused(Arc<[Location]>),
}

impl Location {
    /// Returns the name of the location, such as the layers of a model: its outermost name, without files.
    pub fn name(&self) -> Option<&str> {
        match self {
            Location::Name(name, _) => Some(name),
            Location::Call(callee, _) => callee.name(),
            Location::Fused(all) => all.iter().find_map(Location::name),
            Location::Unknown | Location::File { .. } => None,
        }
    }
}

/// Writes names and files, the innermost first; nothing for an unknown location.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Location::Unknown => Ok(()),
            Location::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Location::Name(name, place) => match **place {
                Location::Unknown => write!(f, "{name:?}"),
                _ => write!(f, "{name:?} ({place})"),
            },
            Location::Call(callee, caller) => write!(f, "{callee} called from {caller}"),
            Location::Fused(all) => {
                let known = all.iter().filter(|place| **place != Location::Unknown);
                known.enumerate().try_for_each(|(i, place)| write!(f, "{}{place}", if i == 0 { "" } else { ", " }))
            }
        }
    }
}
