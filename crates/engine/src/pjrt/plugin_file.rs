//! File from which a plugin was loaded: its identity, and the hash of its content. Hashing 270 MB takes 0.1 s and as
//! much page cache, so that the hash is remembered across processes by the file's identity.

use super::remembered::Facts;
use base::error;
use base::error::Result;
use base::io;
use parking_lot::Mutex;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// A file system may assign the same timestamp to two writes within this time. The hash of a file that was changed more
/// recently is not remembered.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);

/// Size of one read of the file.
const PIECE_BYTES: usize = 256 << 10;

/// An open plugin file.
pub struct PluginFile {
    file: File,
    identity: Identity,
    hash: OnceLock<[u8; 32]>,
    /// Locked while a thread finds the hash.
    finding: Mutex<()>,
}

/// Identity of a file's content: a write changes the size or a time, a replacement changes the inode. (`ctime` cannot
/// be set by a program.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Name under which the hash is remembered.
    fn name(&self) -> String {
        let text = format!("{self:?}");
        format!("plugin-{}", &blake3::hash(text.as_bytes()).to_hex()[..32])
    }

    /// Whether the last change is so long before `now` that a change from then on gets another timestamp.
    fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let last = self.modified.0.max(self.changed.0);
        now.as_secs() as i64 - last > TIMESTAMP_GRANULARITY.as_secs() as i64
    }
}

impl PluginFile {
    /// Opens the file. It stays open, so that the content that is hashed is the content that was loaded, even if an
    /// upgrade replaces the file at this path.
    pub fn open(path: &Path) -> Result<PluginFile> {
        let failed = |e: std::io::Error| error!(FailedPrecondition, "not a loadable plugin: {e}");
        let (file, metadata) = io::open_regular(path).map_err(failed)?;
        Ok(PluginFile { file, identity: Identity::of(&metadata), hash: OnceLock::new(), finding: Mutex::new(()) })
    }

    /// Fails unless the file at `path` is still the open one, unchanged.
    pub fn check_is_at(&self, path: &Path) -> Result<()> {
        let now = std::fs::metadata(path).map(|metadata| Identity::of(&metadata));
        if now.is_ok_and(|now| now == self.identity) {
            return Ok(());
        }
        Err(error!(Unavailable, "the file was replaced or changed while it was loaded; try again"))
    }

    /// Returns the blake3 hash of the content that was loaded; DATA_LOSS if the file was overwritten since. The hash is
    /// remembered among the user's facts, or, if there are none, in `cache`, the folder of a disk cache.
    pub fn hash(&self, cache: Option<&Path>) -> Result<&[u8; 32]> {
        if let Some(hash) = self.hash.get() {
            return Ok(hash);
        }
        let _finding = self.finding.lock();
        if let Some(hash) = self.hash.get() {
            return Ok(hash);
        }
        let facts = Facts::of_user().or_else(|| cache.and_then(Facts::in_cache));
        let found = self.find_hash(facts.as_ref(), SystemTime::now())?;
        Ok(self.hash.get_or_init(|| found))
    }

    /// Returns the remembered hash, or else hashes the content, and remembers the result unless a change could have
    /// gone unnoticed. `now` is a time before this call.
    fn find_hash(&self, facts: Option<&Facts>, now: SystemTime) -> Result<[u8; 32]> {
        let name = self.identity.name();
        let known = facts.and_then(|facts| facts.get(&name)).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        if let Some(hash) = known {
            return Ok(hash);
        }
        let (hash, identity) = self.hash_content()?;
        if let Some(facts) = facts
            && identity == self.identity
            && identity.is_settled(now)
        {
            facts.put(&name, &hash);
        }
        Ok(hash)
    }

    /// Hashes the content, and returns the hash with the identity that the file has afterwards.
    fn hash_content(&self) -> Result<([u8; 32], Identity)> {
        let failed = |e: std::io::Error| error!(Unavailable, "the plugin's file cannot be read: {e}");
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; PIECE_BYTES];
        let mut offset = 0;
        // Uses read instead of mmap: a file that is truncated meanwhile causes an error instead of SIGBUS, and the
        // process does not grow by the file's size.
        loop {
            match self.file.read_at(&mut piece, offset) {
                Ok(0) => break,
                Ok(bytes) => {
                    hasher.update(&piece[..bytes]);
                    offset += bytes as u64;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(e)),
            }
        }
        let now = Identity::of(&self.file.metadata().map_err(failed)?);
        // Adding or removing a link changes only ctime, so that ctime is not compared.
        if (now.size, now.modified) != (self.identity.size, self.identity.modified) {
            return Err(error!(DataLoss, "the plugin's file was written over after it was loaded"));
        }
        Ok((hasher.finalize().into(), now))
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;
    use base::error::Code;
    use std::fs;
    use std::path::PathBuf;

    /// Planted as the hash of a file, to see whether it is used.
    const PLANTED: [u8; 32] = [7; 32];

    /// A folder with a plugin file, and its facts.
    struct Stage {
        _scratch: Scratch,
        path: PathBuf,
        facts: Facts,
    }

    impl Stage {
        fn new(name: &str) -> Stage {
            let scratch = Scratch::new(name);
            let path = scratch.0.join("plugin.so");
            fs::write(&path, content(1)).unwrap();
            let facts = Facts::in_cache(&scratch.0).unwrap();
            Stage { _scratch: scratch, path, facts }
        }

        fn open(&self) -> PluginFile {
            PluginFile::open(&self.path).unwrap()
        }

        /// Returns the hash that a process gets that opens the file now and hashes it after `seconds`.
        fn hash_after(&self, seconds: u64) -> [u8; 32] {
            self.open().find_hash(Some(&self.facts), SystemTime::now() + Duration::from_secs(seconds)).unwrap()
        }

        fn plant(&self) {
            self.facts.put(&self.open().identity.name(), &PLANTED);
            assert_eq!(self.hash_after(10), PLANTED);
        }

        fn set_modified(&self, time: SystemTime) {
            File::options().write(true).open(&self.path).unwrap().set_modified(time).unwrap();
        }
    }

    /// More than one piece, and no whole number of them.
    fn content(byte: u8) -> Vec<u8> {
        vec![byte; PIECE_BYTES + 1000]
    }

    fn hash_of(content: &[u8]) -> [u8; 32] {
        blake3::hash(content).into()
    }

    #[test]
    fn a_hash_is_remembered_once_the_file_is_settled() {
        let stage = Stage::new("settled");
        let name = stage.open().identity.name();
        assert_eq!(stage.hash_after(0), hash_of(&content(1)));
        assert_eq!(stage.facts.get(&name), None);
        assert_eq!(stage.hash_after(10), hash_of(&content(1)));
        assert_eq!(stage.facts.get(&name), Some(hash_of(&content(1)).to_vec()));
        stage.plant();
        assert_eq!(stage.open().find_hash(None, SystemTime::now()).unwrap(), hash_of(&content(1)));
    }

    #[test]
    fn a_time_in_the_future_is_not_settled() {
        let stage = Stage::new("future");
        stage.set_modified(SystemTime::now() + Duration::from_secs(1000));
        assert_eq!(stage.hash_after(10), hash_of(&content(1)));
        assert_eq!(stage.facts.get(&stage.open().identity.name()), None);
    }

    #[test]
    fn a_hash_is_that_of_one_size_time_and_inode() {
        let stage = Stage::new("changed");
        stage.plant();
        // Another size, and the same time of modification.
        let modified = fs::metadata(&stage.path).unwrap().modified().unwrap();
        fs::write(&stage.path, &content(1)[1..]).unwrap();
        stage.set_modified(modified);
        assert_eq!(stage.hash_after(10), hash_of(&content(1)[1..]));
        stage.plant();
        // Another time.
        stage.set_modified(modified + Duration::from_secs(1));
        assert_eq!(stage.hash_after(10), hash_of(&content(1)[1..]));
        stage.plant();
        // Another file of this size, with this time.
        let other = stage.path.with_extension("new");
        fs::write(&other, &content(2)[1..]).unwrap();
        fs::rename(&other, &stage.path).unwrap();
        stage.set_modified(modified + Duration::from_secs(1));
        assert_eq!(stage.hash_after(10), hash_of(&content(2)[1..]));
    }

    #[test]
    fn a_damaged_fact_is_replaced() {
        let stage = Stage::new("damaged");
        let name = stage.open().identity.name();
        for damage in [&b"short"[..], &[]] {
            stage.facts.put(&name, damage);
            assert_eq!(stage.hash_after(10), hash_of(&content(1)));
            assert_eq!(stage.facts.get(&name), Some(hash_of(&content(1)).to_vec()));
        }
    }

    #[test]
    fn a_file_that_changes_after_it_was_opened_is_not_remembered() {
        let stage = Stage::new("late");
        let later = SystemTime::now() + Duration::from_secs(10);
        let linked = stage.open();
        fs::hard_link(&stage.path, stage.path.with_extension("link")).unwrap();
        // On a file system whose clock is coarse, the link may get the timestamp that the file has already.
        let is_seen = Identity::of(&linked.file.metadata().unwrap()) != linked.identity;
        assert_eq!(linked.find_hash(Some(&stage.facts), later).unwrap(), hash_of(&content(1)));
        assert_eq!(stage.facts.get(&linked.identity.name()).is_none(), is_seen);
        let overwritten = stage.open();
        fs::write(&stage.path, &content(1)[1..]).unwrap();
        assert_eq!(overwritten.find_hash(None, later).unwrap_err().code, Code::DataLoss);
    }

    #[test]
    fn threads_agree_on_the_hash() {
        let stage = Stage::new("threads");
        let file = stage.open();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(file.hash(None).unwrap(), &hash_of(&content(1))));
            }
        });
    }
}
