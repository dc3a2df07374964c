//! A trace file: whole lines, appended as they come, and the bracket that closes the array.

use base::error;
use base::error::Result;
use base::io::io_error;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Number of bytes that are collected before they are written.
const MOST_BUFFERED: usize = 64 << 10;

/// First line of a file.
const OPENING: &str = "[\n";

/// End of an event's line. That of the last event is held back, since none may follow.
const SEPARATOR: &str = ",\n";

/// Time after which they are written in any case, with the next event.
const MOST_WAITED: Duration = Duration::from_secs(1);

/// A file that is being written.
pub struct TraceFile {
    path: PathBuf,
    file: File,
    /// Device and inode of the file.
    id: (u64, u64),
    buffered: String,
    /// Number of bytes of whole events in the file.
    written: u64,
    wrote_at: Instant,
    /// The first error of a write; nothing is written after it.
    failure: Option<io::Error>,
    /// Number of events that were not written because of it.
    lost: u64,
    /// Whether the array is closed.
    is_closed: bool,
}

impl TraceFile {
    /// Creates the file, or replaces the content of a regular one.
    pub fn create(path: &Path) -> Result<TraceFile> {
        let failed = |e: io::Error| io_error(path, &e);
        if path.metadata().is_ok_and(|known| !known.is_file() && !known.is_dir()) {
            return Err(error!(InvalidArgument, "path: {path:?} is not a regular file"));
        }
        // Not truncated here: it may be the file of another trace.
        let file = File::options().write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        Ok(TraceFile {
            path: path.to_path_buf(),
            file,
            id: (about.dev(), about.ino()),
            buffered: OPENING.to_string(),
            written: 0,
            wrote_at: Instant::now(),
            failure: None,
            lost: 0,
            is_closed: false,
        })
    }

    /// Removes the old content, and writes the first line, so that a disk without room is found now.
    pub fn begin(&mut self) -> Result<()> {
        let emptied = self.file.set_len(0).map_err(|e| io_error(&self.path, &e));
        emptied.and_then(|()| {
            self.write();
            self.outcome()
        })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode of the file.
    pub fn id(&self) -> (u64, u64) {
        self.id
    }

    /// Appends the whole lines that `write` makes of one event.
    pub fn add(&mut self, write: impl FnOnce(&mut String)) {
        if self.failure.is_some() {
            self.lost += 1;
            return;
        }
        if self.is_closed {
            return;
        }
        write(&mut self.buffered);
        if self.buffered.len() >= MOST_BUFFERED || self.wrote_at.elapsed() >= MOST_WAITED {
            self.write();
        }
    }

    /// Appends whole lines.
    pub fn add_lines(&mut self, lines: &str) {
        if self.failure.is_some() {
            self.lost += lines.lines().count() as u64;
        } else {
            self.add(|out| out.push_str(lines));
        }
    }

    /// Writes what is buffered. If that fails, the file ends with the last line that was written as a whole.
    pub fn write(&mut self) {
        if self.failure.is_some() {
            return;
        }
        let whole = self.buffered.strip_suffix(SEPARATOR).unwrap_or(&self.buffered).len();
        match self.file.write_all(&self.buffered.as_bytes()[..whole]) {
            Ok(()) => {
                self.written += whole as u64;
                self.buffered.drain(..whole);
            }
            Err(e) => {
                let events = self.buffered.strip_prefix(SEPARATOR).unwrap_or(&self.buffered);
                self.lost += events.lines().count() as u64;
                self.failure = Some(e);
                // An incomplete line remains if the file system refuses this, too; viewers pass over it.
                let _ = self.file.set_len(self.written);
                self.buffered.clear();
            }
        }
        self.wrote_at = Instant::now();
    }

    /// The first error of a write.
    fn outcome(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(e) => Err(io_error(&self.path, e).context(format_args!(
                "the trace ends after {} bytes, and {} events are missing",
                self.written, self.lost
            ))),
        }
    }

    /// Closes the array, also after a write that failed, if there is room. Nothing is added after that.
    pub fn close(&mut self) {
        if self.is_closed {
            return;
        }
        self.write();
        self.is_closed = true;
        let has_events = self.written > OPENING.len() as u64;
        let closed = self.file.write_all_at(if has_events { b"\n]\n" } else { b"]\n" }, self.written);
        if let Err(e) = closed {
            let _ = self.file.set_len(self.written);
            self.failure.get_or_insert(e);
        }
    }

    /// Ends the file.
    pub fn end(mut self) -> Result<()> {
        self.close();
        self.outcome()
    }
}
