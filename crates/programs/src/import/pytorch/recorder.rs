//! The state of an import.

use super::arguments::{Scope, Value};
use super::tensors::{TensorId, Tensors};
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::{NodeId, Trace};
use lazyxla_pytorch::Graph;
use ops::random::{RngAlgorithm, random_split};
use ops::shape::{reshape, slice};

/// Records the operations of a graph whose inputs are defined. Returns the values of its outputs.
pub type Walk = for<'r, 'p> fn(&'r mut Recorder, &'p Graph, &'r mut Scope<'p>) -> Result<Vec<Value<'p>>>;

/// The state of an import.
pub struct Recorder {
    /// Where operations are recorded.
    pub trace: Trace,
    /// Tensors of all graphs.
    pub tensors: Tensors,
    /// The key of random numbers: the parameter, and the part of it that is not used yet. None if nothing was drawn.
    pub key: Option<(NodeId, NodeId)>,
    /// Number of graphs around the current one that become bodies.
    pub depth: usize,
    /// Records a graph: the walk, which stands above.
    walk: Walk,
}

/// Graphs may be nested this deep.
const MOST_DEPTH: usize = 64;

impl Recorder {
    /// Starts an import, whose graphs `walk` records.
    pub fn new(walk: Walk) -> Recorder {
        Recorder { trace: Trace::new(), tensors: Tensors::default(), key: None, depth: 0, walk }
    }

    /// Records what a tensor is now.
    pub fn read(&mut self, id: TensorId) -> Result<NodeId> {
        self.tensors.read(&mut self.trace, id)
    }

    /// Returns a key that was not used yet.
    pub fn draw(&mut self) -> Result<NodeId> {
        if self.depth > 0 {
            return Err(error!(Unimplemented, "random numbers in a graph of a branch or a loop"));
        }
        let trace = &mut self.trace;
        let (parameter, left) = *self.key.get_or_insert_with(|| {
            let key = trace.parameter(TensorType::new(DType::U32, &[2]));
            (key, key)
        });
        let keys = random_split(trace, RngAlgorithm::ThreeFry, left, 2)?;
        let mut row = |i: i64| {
            let row = slice(trace, keys, &[i, 0], &[i + 1, 2], &[1, 1])?;
            reshape(trace, row, &[2])
        };
        let (left, drawn) = (row(0)?, row(1)?);
        self.key = Some((parameter, left));
        Ok(drawn)
    }

    /// Records the operations of a graph whose inputs are defined. Returns the values of its outputs.
    pub fn graph<'p>(&mut self, graph: &'p Graph, scope: &mut Scope<'p>) -> Result<Vec<Value<'p>>> {
        (self.walk)(self, graph, scope)
    }

    /// Enters a graph of a branch or a loop.
    pub fn nested<T>(&mut self, record: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MOST_DEPTH {
            return Err(error!(Unimplemented, "graphs are nested more than {MOST_DEPTH} deep"));
        }
        self.depth += 1;
        let made = record(self);
        self.depth -= 1;
        made
    }
}
