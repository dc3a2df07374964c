//! Tensor handles: the table of the tensor's device, the slot in it, and the slot's generation.

/// A tensor handle of the C ABI: 28 bits of generation, 10 of table, 26 of slot. Generations start at 1, so that 0 is
/// never a valid handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorHandle(pub u64);

/// Location of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In host memory, evaluated eagerly.
    Cpu,
    /// On the XLA device with this ordinal.
    Xla(usize),
    /// Distributed over the devices of the mesh with this number in its environment.
    Mesh(usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Cpu => write!(f, "cpu"),
            Place::Xla(ordinal) => write!(f, "xla:{ordinal}"),
            Place::Mesh(number) => write!(f, "mesh:{number}"),
        }
    }
}

/// Name of an operand in error messages. It is formatted only for an error.
#[derive(Clone, Copy, Debug)]
pub enum OperandName<'a> {
    /// An argument that is one tensor.
    Tensor(&'a str),
    /// An element of an argument that is a list.
    Element(&'a str, usize),
}

impl std::fmt::Display for OperandName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OperandName::Tensor(name) => f.write_str(name),
            OperandName::Element(name, index) => write!(f, "{name}[{index}]"),
        }
    }
}

impl<'a> From<&'a str> for OperandName<'a> {
    fn from(name: &'a str) -> OperandName<'a> {
        OperandName::Tensor(name)
    }
}

/// Maximum number of tables at a time.
pub const TABLES: usize = 1 << 10;
/// Maximum number of XLA devices of an environment. Its `cpu` device and each mesh use one table, too.
pub const MOST_DEVICES: usize = TABLES - 1;
/// Maximum number of slots of a table.
pub const SLOTS: usize = 1 << 26;
/// Last generation of a slot. A slot that has reached it is not reused, so that a stale handle never becomes valid.
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
