//! Labels: names that a thread gives to what it records, such as layers of a model or lines of a source. They nest: the
//! label of an operation is a path, `model/layer0`. They are for people who read messages, texts and logs, and change
//! neither values nor keys.
//!
//! Each distinct path is kept for the life of the process, so that a label is a pointer: recorded operations and
//! programs hold it by value, and two labels are equal if their pointers are.

use crate::error;
use crate::error::{Result, quoted};
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHasher};
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU8, Ordering};

/// Maximum length of one name in bytes.
pub const MOST_BYTES: usize = 1024;

/// Maximum number of names in a path.
pub const MOST_DEPTH: u32 = 256;

/// Maximum number of distinct paths, and of the bytes of their last names, that the process keeps.
const MOST_LABELS: usize = 1 << 20;
const MOST_TOTAL_BYTES: usize = 64 << 20;

/// Last name of the label of a cotangent; the others are the label of its operation.
pub const GRADIENT: &str = "gradient";

/// A path of names; empty by default.
#[derive(Clone, Copy, Default)]
pub struct Label(Option<&'static Entry>);

struct Entry {
    parent: Label,
    name: Box<str>,
    /// Number of names in the path.
    depth: u32,
}

impl PartialEq for Label {
    fn eq(&self, other: &Label) -> bool {
        self.address() == other.address()
    }
}

impl Eq for Label {}

impl Hash for Label {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

/// The path; nothing for no label.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, name) in self.names().into_iter().enumerate() {
            write!(f, "{}{name}", if i == 0 { "" } else { "/" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Label({self})")
    }
}

impl Label {
    /// The empty label.
    pub const NONE: Label = Label(None);

    fn address(self) -> usize {
        self.0.map_or(0, |entry| std::ptr::from_ref(entry) as usize)
    }

    /// Whether there is no label.
    #[inline]
    pub fn is_none(self) -> bool {
        self.0.is_none()
    }

    /// This label, or another one if there is none.
    pub fn or(self, other: Label) -> Label {
        Label(self.0.or(other.0))
    }

    /// The label without its last name.
    pub fn parent(self) -> Label {
        self.0.map_or(Label::NONE, |entry| entry.parent)
    }

    /// The names that both paths begin with.
    pub fn common(self, other: Label) -> Label {
        let depth = |label: Label| label.0.map_or(0, |entry| entry.depth);
        let (mut a, mut b) = (self, other);
        while a != b {
            if depth(a) >= depth(b) {
                a = a.parent();
            } else {
                b = b.parent();
            }
        }
        a
    }

    /// The last name of the path; "" for no label.
    pub fn name(self) -> &'static str {
        self.0.map_or("", |entry| &entry.name)
    }

    /// The label of a path of a file, whose names are separated by `/`. Names for which there is no room are left out:
    /// files get a quarter of it, the rest is for labels that are pushed.
    pub fn of_path(path: &str) -> Label {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.fold(Label::NONE, |label, name| label.child_within(name, 4).unwrap_or(label))
    }

    /// The names of the path, the outermost first.
    pub fn names(self) -> Vec<&'static str> {
        let mut names = Vec::new();
        let mut at = self.0;
        while let Some(entry) = at {
            names.push(&*entry.name);
            at = entry.parent.0;
        }
        names.reverse();
        names
    }

    /// The path; None for no label.
    pub fn path(self) -> Option<String> {
        self.0.map(|_| self.to_string())
    }

    /// Text that follows the description of an operation in a message: ` under label "model/layer0"`, or nothing.
    pub fn suffix(self) -> String {
        self.path().map_or_else(String::new, |path| format!(" under label {}", quoted(&path)))
    }

    /// The path of this label and another name.
    pub fn child(self, name: &str) -> Result<Label> {
        self.child_within(name, 1)
    }

    /// The path of this label and another name, while at most one of `shares` parts of the room is used.
    fn child_within(self, name: &str, shares: usize) -> Result<Label> {
        let depth = self.0.map_or(0, |entry| entry.depth) + 1;
        if name.is_empty() || name.len() > MOST_BYTES {
            return Err(error!(InvalidArgument, "name: {} bytes given; want 1 to {MOST_BYTES}", name.len()));
        }
        if depth > MOST_DEPTH {
            return Err(error!(ResourceExhausted, "name: {MOST_DEPTH} labels are pushed; pop some"));
        }
        KNOWN.lock().entry(self, name, depth, shares).map(Label::of)
    }

    fn of(entry: &'static Entry) -> Label {
        Label(Some(entry))
    }

    fn is_child(self, parent: Label, name: &str) -> bool {
        self.0.is_some_and(|entry| entry.parent == parent && *entry.name == *name)
    }
}

/// All paths of the process.
struct Known {
    entries: HashMap<(Label, &'static str), &'static Entry, FxBuildHasher>,
    bytes: usize,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { entries: HashMap::with_hasher(FxBuildHasher), bytes: 0 });

impl Known {
    fn entry(&mut self, parent: Label, name: &str, depth: u32, shares: usize) -> Result<&'static Entry> {
        if let Some(known) = self.entries.get(&(parent, name)) {
            return Ok(known);
        }
        if self.entries.len() >= MOST_LABELS / shares || self.bytes + name.len() > MOST_TOTAL_BYTES / shares {
            return Err(error!(
                ResourceExhausted,
                "name: the process has {} distinct labels of {} bytes, which are kept; use names that come again",
                self.entries.len(),
                self.bytes
            ));
        }
        self.bytes += name.len();
        let entry: &'static Entry = Box::leak(Box::new(Entry { parent, name: name.into(), depth }));
        self.entries.insert((parent, &entry.name), entry);
        Ok(entry)
    }
}

/// Number of labels that a thread finds again without a lock.
const RECENT: usize = 64;

/// The labels of one thread. Without a destructor, as [`crate::call`].
struct Thread {
    current: Cell<Label>,
    /// Labels pushed last, by a hash of their parent and name.
    recent: [Cell<Label>; RECENT],
}

thread_local! {
    static THREAD: Thread =
        const { Thread { current: Cell::new(Label::NONE), recent: [const { Cell::new(Label::NONE) }; RECENT] } };
}

/// Bits of [`IN_USE`]: a thread has pushed a label; a timeline notes recording and labels.
const PUSHED: u8 = 1;
const WATCHED: u8 = 2;

/// Why recording asks for the thread's label. Until there is a reason, it does not.
static IN_USE: AtomicU8 = AtomicU8::new(0);

/// Whether any thread has pushed a label, or a timeline is on.
#[inline]
pub fn in_use() -> bool {
    IN_USE.load(Ordering::Relaxed) != 0
}

/// Whether a timeline is on.
#[inline]
pub fn is_watched() -> bool {
    IN_USE.load(Ordering::Relaxed) & WATCHED != 0
}

/// Says whether a timeline is on.
pub fn set_watched(is_watched: bool) {
    if is_watched {
        IN_USE.fetch_or(WATCHED, Ordering::Relaxed);
    } else {
        IN_USE.fetch_and(!WATCHED, Ordering::Relaxed);
    }
}

/// Appends a name to the label of the operations that the thread records.
#[inline]
pub fn push(name: &str) -> Result<()> {
    THREAD.with(|thread| {
        let parent = thread.current.get();
        let mut hasher = FxHasher::default();
        (parent, name).hash(&mut hasher);
        let recent = &thread.recent[hasher.finish() as usize % RECENT];
        if !recent.get().is_child(parent, name) {
            recent.set(parent.child(name)?);
            IN_USE.fetch_or(PUSHED, Ordering::Relaxed);
        }
        thread.current.set(recent.get());
        Ok(())
    })
}

/// Removes the name that the thread pushed last. Returns the label that ended with it.
#[inline]
pub fn pop() -> Result<Label> {
    THREAD.with(|thread| {
        let current = thread.current.get();
        if current.is_none() {
            return Err(error!(FailedPrecondition, "this thread has no label; each pop needs a push before it"));
        }
        thread.current.set(current.parent());
        Ok(current)
    })
}

/// The label of what this thread records.
#[inline]
pub fn current() -> Label {
    THREAD.with(|thread| thread.current.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_nest_and_equal_paths_are_one_label() {
        assert!(pop().is_err());
        push("a").unwrap();
        push("b").unwrap();
        let first = current();
        assert_eq!((first.to_string(), first.parent().to_string()), ("a/b".to_string(), "a".to_string()));
        pop().unwrap();
        push("b").unwrap();
        assert_eq!(current(), first);
        let other = std::thread::spawn(|| (current().is_none(), Label::NONE.child("a").unwrap().child("b").unwrap()));
        assert_eq!(other.join().unwrap(), (true, first));
        assert_eq!(first.names(), ["a", "b"]);
        pop().unwrap();
        pop().unwrap();
        assert!(current().is_none() && pop().is_err() && in_use());
    }

    #[test]
    fn names_and_depth_are_limited() {
        assert!(push("").is_err() && push(&"x".repeat(MOST_BYTES + 1)).is_err());
        push(&"x".repeat(MOST_BYTES)).unwrap();
        (1..MOST_DEPTH).for_each(|_| push("deep").unwrap());
        assert!(push("deep").unwrap_err().message.contains("256"));
        (0..MOST_DEPTH).for_each(|_| assert!(pop().is_ok()));
        assert!(current().is_none());
    }
}
