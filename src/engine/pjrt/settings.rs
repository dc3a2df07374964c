//! Settings with which a plugin compiles programs, determined once per plugin and process before its first actual
//! program.

use super::compile_options::SWITCHED_OFF;
use crate::error::Error;
use crate::log::{Level, log};
use std::path::Path;

/// Options and flags that a plugin compiles all programs with.
#[derive(Clone, Default)]
pub struct Settings {
    /// Options that every program switches off, see [`SWITCHED_OFF`].
    pub switched_off: Vec<&'static str>,
    /// `XLA_FLAGS`, and the content of files that it names, at the first use of the plugin: XLA reads them once.
    pub flags: Vec<u8>,
}

/// Returns the options in [`SWITCHED_OFF`] that the plugin accepts. `compile` compiles a small program with the given
/// options. An option whose name appears in the plugin's error is omitted with a warning. Options listed in
/// `LXLA_OMIT_COMPILE_OPTIONS` (names, separated by commas) are also omitted, for plugins whose error does not name the
/// option.
pub fn accepted_options(compile: impl Fn(&[&str]) -> Result<(), Error>) -> Vec<&'static str> {
    let omitted = std::env::var("LXLA_OMIT_COMPILE_OPTIONS").unwrap_or_default();
    let mut names = SWITCHED_OFF.to_vec();
    names.retain(|name| omitted.split(',').all(|omitted| omitted.trim() != *name));
    while let Err(error) = compile(&names) {
        // Any other error is unrelated to the options, and will be reported by actual programs.
        let refuses = |name: &&str| error.message.contains(*name);
        let Some(refused) = names.iter().position(refuses) else { break };
        let name = names.remove(refused);
        log(Level::Warning, || format!("the plugin does not take the compile option {name}: {error}"));
    }
    names
}

/// Returns the flags in `XLA_FLAGS`, which has them or names a file with them.
pub fn text() -> String {
    let variable = std::env::var_os("XLA_FLAGS").unwrap_or_default().into_encoded_bytes();
    let text = String::from_utf8_lossy(&variable).into_owned();
    match text.trim_start().starts_with('-') || text.trim().is_empty() {
        true => text,
        false => String::from_utf8_lossy(&std::fs::read(text.trim()).unwrap_or_default()).into_owned(),
    }
}

/// Returns the content of `XLA_FLAGS`: flags, or the name of a file with flags. If the value of a flag is the name of a
/// file, a hash of the file's content is included.
pub fn flags() -> Vec<u8> {
    let variable = std::env::var_os("XLA_FLAGS").unwrap_or_default().into_encoded_bytes();
    let mut out = field(&variable);
    let text = text();
    if text.as_bytes() != variable {
        out.extend(field(text.as_bytes()));
    }
    for value in text.split_whitespace().filter_map(|flag| flag.split_once('=')).map(|(_, value)| value) {
        let path = Path::new(value.trim_matches(['"', '\'']));
        if path.is_file() {
            let mut hasher = blake3::Hasher::new();
            let content = std::fs::File::open(path).and_then(|file| hasher.update_reader(file).map(|_| ()));
            out.extend(field(content.map_or_else(|_| vec![], |()| hasher.finalize().as_bytes().to_vec()).as_slice()));
        }
    }
    out
}

/// Returns the bytes preceded by their length.
fn field(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn refused_options_are_left_out_and_other_failures_are_not() {
        let refuse = |bad: &'static str| {
            move |names: &[&str]| match names.contains(&bad) {
                true => Err(Error::new(Code::InvalidArgument, format!("no option named {bad}"))),
                false => Ok(()),
            }
        };
        assert_eq!(accepted_options(|_| Ok(())), SWITCHED_OFF);
        assert_eq!(accepted_options(refuse(SWITCHED_OFF[2])), SWITCHED_OFF[..2]);
        assert_eq!(accepted_options(refuse(SWITCHED_OFF[0])), SWITCHED_OFF[1..]);
        let broken = |_: &[&str]| Err(Error::new(Code::Unavailable, "no memory"));
        assert_eq!(accepted_options(broken), SWITCHED_OFF);
    }
}
