//! Tensor handles: which device's table, which slot, which use of the slot.

/// A handle of the C ABI, taken apart. 28 bits of generation, 10 of table, 26 of slot; generations start at 1, so 0 is no
/// handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorHandle(pub u64);

/// Where a tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In host memory, native.
    Cpu,
    /// On the XLA device with this number.
    Xla(usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Cpu => write!(f, "cpu"),
            Place::Xla(ordinal) => write!(f, "xla:{ordinal}"),
        }
    }
}

/// How many tables there can be at once.
pub const TABLES: usize = 1 << 10;
/// How many XLA devices an environment can have: its `cpu` has a table, too.
pub const MOST_DEVICES: usize = TABLES - 1;
/// How many slots a table can have.
pub const SLOTS: usize = 1 << 26;
/// The last generation of a slot; a slot that has reached it is not used again, so that no stale handle ever fits.
pub const LAST_GENERATION: u32 = (1 << 28) - 1;

impl TensorHandle {
    pub(super) fn new(generation: u32, table: u32, slot: u32) -> TensorHandle {
        TensorHandle(u64::from(generation) << 36 | u64::from(table) << 26 | u64::from(slot))
    }

    pub(super) fn generation(self) -> u32 {
        (self.0 >> 36) as u32
    }

    pub(super) fn table(self) -> u32 {
        (self.0 >> 26) as u32 & (TABLES as u32 - 1)
    }

    pub(super) fn slot(self) -> u32 {
        self.0 as u32 & (SLOTS as u32 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        let handle = TensorHandle::new(LAST_GENERATION, TABLES as u32 - 1, SLOTS as u32 - 1);
        assert_eq!(handle.0, u64::MAX);
        let handle = TensorHandle::new(5, 3, 9);
        assert_eq!((handle.generation(), handle.table(), handle.slot()), (5, 3, 9));
    }
}
