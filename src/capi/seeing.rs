//! Chapter Seeing: labels of what is recorded, and where time, compiles and NaNs come from.

use super::abi::guard::guard;
use super::abi::pointers::Text;
use super::abi::types::lxla_status;
use crate::label;

/// Gives what the calling thread records a name, below the names that it has pushed before: the names of a model, a
/// layer and an operation make the label `model/layer0/attention`. Labels are locations in the StableHLO text, and are
/// named in error messages, in the compile log and in everything else of this chapter; they change neither values nor
/// the keys of programs. Recording with labels costs a few nanoseconds for each operation.
///
/// The recorded operations keep their labels in traced computations. Operations of an imported module have the names of
/// their locations, cotangents the label of their operation followed by `gradient`. Where equal computations or
/// programs were recorded under several labels, those of one of them are shown.
///
/// `name` has 1 to 1024 bytes of UTF-8, else INVALID_ARGUMENT. RESOURCE_EXHAUSTED, and nothing is pushed, if the thread
/// has 256 names, or the process has used 1048576 distinct labels: each is kept, so that a name should not be a
/// number that never comes again.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_label_push(name: Text) -> lxla_status {
    guard("lxla_label_push", || label::push(name.get("name")?))
}

/// Removes the name that the calling thread pushed last. FAILED_PRECONDITION if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_label_pop() -> lxla_status {
    guard("lxla_label_pop", label::pop)
}
