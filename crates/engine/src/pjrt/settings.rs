//! Settings with which a plugin compiles programs, determined once per plugin and process before its first actual
//! program.

use super::compile_options::SWITCHED_OFF;
use base::error;
use base::error::Result;
use base::io;
use base::log::{Level, log};
use base::variables::{self, is_privileged};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Maximum size of a file with flags, and number of bytes of other files that flags name which are hashed.
const MOST_BYTES: u64 = 1 << 20;

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
pub fn accepted_options(compile: impl Fn(&[&str]) -> Result<()>) -> Vec<&'static str> {
    let omitted = variables::text("LXLA_OMIT_COMPILE_OPTIONS").unwrap_or_default();
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

/// The variable from which XLA reads its flags. It has flags, or names a file with flags. XLA reads it by itself, so
/// that its value counts even where the library ignores the variables of its caller.
fn variable() -> Vec<u8> {
    std::env::var_os("XLA_FLAGS").unwrap_or_default().into_encoded_bytes()
}

/// File that `XLA_FLAGS` names, if it has no flags itself.
fn file_of(variable: &str) -> Option<&Path> {
    let text = variable.trim();
    (!text.is_empty() && !text.starts_with('-')).then(|| Path::new(text))
}

/// Returns an error if XLA must not read `XLA_FLAGS`: in a process that has more rights than its caller, whose flags
/// could make XLA write files; or if the variable names a FIFO or a device, whose reading may never end, or a file that is
/// too large for flags.
pub fn check_flags() -> Result<()> {
    let value = variable();
    if !value.is_empty() && is_privileged() {
        return Err(error!(
            FailedPrecondition,
            "environment variable XLA_FLAGS: it is set in a process that has more rights than its caller, and XLA would \
             follow it; unset it first"
        ));
    }
    let value = String::from_utf8_lossy(&value);
    match file_of(&value).map(content) {
        Some(Err(e)) if e.kind() == ErrorKind::InvalidInput => {
            Err(error!(FailedPrecondition, "environment variable XLA_FLAGS: {:?}: {e}, or flags", value.trim()))
        }
        _ => Ok(()),
    }
}

/// Returns the flags in `XLA_FLAGS`, which has them or names a file with them.
pub fn text() -> String {
    let variable = String::from_utf8_lossy(&variable()).into_owned();
    match file_of(&variable) {
        None => variable,
        Some(path) => String::from_utf8_lossy(&content(path).unwrap_or_default()).into_owned(),
    }
}

/// Content of a regular file with at most [`MOST_BYTES`].
fn content(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Files of the system have no size that says how much there is to read.
    io::open_regular(path)?.0.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        let why = format!("it has more than {MOST_BYTES} bytes; want a file of at most that size");
        return Err(std::io::Error::new(ErrorKind::InvalidInput, why));
    }
    Ok(bytes)
}

/// Returns the content of `XLA_FLAGS`: flags, or the name of a file with flags. If the value of a flag is the name of a
/// file, a hash of the file's first [`MOST_BYTES`] is included.
pub fn flags() -> Vec<u8> {
    let variable = variable();
    let mut out = field(&variable);
    let text = text();
    if text.as_bytes() != variable {
        out.extend(field(text.as_bytes()));
    }
    for value in text.split_whitespace().filter_map(|flag| flag.split_once('=')).map(|(_, value)| value) {
        if let Ok((file, metadata)) = io::open_regular(Path::new(value.trim_matches(['"', '\'']))) {
            out.extend(field(&hashed(file, &metadata).unwrap_or_default()));
        }
    }
    out
}

/// Returns a hash of the beginning of a file. The size and the time of the last change stand for the rest, if there is
/// one.
fn hashed(file: File, metadata: &Metadata) -> std::io::Result<Vec<u8>> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file.take(MOST_BYTES))?;
    if metadata.len() > MOST_BYTES {
        let rest = [metadata.size() as i64, metadata.mtime(), metadata.mtime_nsec()];
        for number in rest {
            hasher.update(&number.to_le_bytes());
        }
    }
    Ok(hasher.finalize().as_bytes().to_vec())
}

/// Returns the bytes preceded by their length.
fn field(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::{Code, Error};

    #[test]
    fn files_of_flags_are_read_up_to_a_limit() {
        let path = std::env::temp_dir().join(format!("lxla_flags_{}", std::process::id()));
        std::fs::write(&path, "--a=1").unwrap();
        assert_eq!(content(&path).unwrap(), b"--a=1");
        let hash = || {
            let (file, metadata) = io::open_regular(&path).unwrap();
            hashed(file, &metadata).unwrap()
        };
        let small = hash();
        assert_eq!(small, blake3::hash(b"--a=1").as_bytes());
        let sized = |bytes: u64| File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        sized(MOST_BYTES);
        assert_eq!(content(&path).unwrap().len() as u64, MOST_BYTES);
        // The file has no blocks: reading it whole would take minutes, or all memory.
        sized(1 << 40);
        let large = hash();
        assert!(content(&path).unwrap_err().to_string().contains("more than 1048576 bytes"));
        sized(1 << 41);
        assert_ne!(hash(), large);
        std::fs::remove_file(&path).unwrap();
        #[cfg(target_os = "linux")]
        assert!(content(Path::new("/proc/self/pagemap")).is_err());
    }

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
