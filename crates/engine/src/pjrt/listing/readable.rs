//! Tells files that are not there, or may not be read, from a process that cannot open any.

use base::error;
use base::error::Result;
use rustix::io::Errno;
use std::path::Path;

/// What was opened or read at a path; None if it is not there or may not be read. Fails with RESOURCE_EXHAUSTED if a
/// resource of the process or the system is used up: what is there is not known then.
pub fn readable<T>(path: &Path, result: std::io::Result<T>) -> Result<Option<T>> {
    match result {
        Ok(opened) => Ok(Some(opened)),
        Err(e) if is_exhausted(&e) => {
            Err(error!(ResourceExhausted, "{} cannot be searched for plugins: {e}", path.display()))
        }
        Err(_) => Ok(None),
    }
}

/// Whether an error says that file descriptors or memory are used up.
pub fn is_exhausted(e: &std::io::Error) -> bool {
    matches!(Errno::from_io_error(e), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    #[test]
    fn exhausted_resources_are_errors_and_missing_files_are_not() {
        let of = |errno: Errno| readable::<()>(Path::new("/a"), Err(errno.into()));
        for errno in [Errno::NOENT, Errno::ACCESS, Errno::NOTDIR] {
            assert_eq!(of(errno).unwrap(), None);
        }
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            let e = of(errno).unwrap_err();
            assert!(e.code == Code::ResourceExhausted && e.message.contains("/a cannot be searched"), "{e}");
        }
    }
}
