//! Trees of tuples, named tuples, lists, and dictionaries whose keys are texts: what most programs pass to a jitted
//! function. A call walks them here, since `optree`, which knows all trees, takes longer than all else of a small call.
//! The leaves come in the order of `optree`: the values of a dictionary by ascending keys.

use crate::array::Array;
use crate::functions::add;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Deeper trees are left to `optree`.
const MOST_LEVELS: usize = 64;

/// A node of a tree.
enum Node<'py> {
    Tuple(Bound<'py, PyTuple>),
    /// With its class.
    Named(Bound<'py, PyTuple>),
    List(Bound<'py, PyList>),
    /// Keys and values in the dictionary's order.
    Dict(Vec<(Bound<'py, PyString>, Bound<'py, PyAny>)>),
    Leaf(Bound<'py, PyAny>),
}

/// Returns what a value is, or None if only `optree` can tell.
fn node<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Node<'py>>> {
    if value.is_exact_instance_of::<Array>() {
        return Ok(Some(Node::Leaf(value.clone())));
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return Ok(Some(Node::Tuple(tuple.clone())));
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return Ok(Some(Node::List(list.clone())));
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        let mut pairs = Vec::with_capacity(dict.len());
        for (key, of) in dict.iter() {
            match key.cast_into_exact::<PyString>() {
                Ok(key) => pairs.push((key, of)),
                Err(_) => return Ok(None),
            }
        }
        return Ok(Some(Node::Dict(pairs)));
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        let is_named = value.hasattr(pyo3::intern!(value.py(), "_fields"))?;
        return Ok(is_named.then(|| Node::Named(tuple.clone())));
    }
    Ok(is_leaf(value)?.then(|| Node::Leaf(value.clone())))
}

/// Whether a value is surely a leaf: no class of the user's is.
fn is_leaf(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_plain = value.is_none()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyComplex>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBytes>();
    if is_plain {
        return Ok(true);
    }
    let is_of_numpy = value.get_type().module()?.to_str().is_ok_and(|module| module == "numpy");
    Ok(is_of_numpy && value.hasattr(pyo3::intern!(value.py(), "__array_interface__"))?)
}

/// Returns positions of pairs by ascending keys.
fn order(pairs: &[(Bound<'_, PyString>, Bound<'_, PyAny>)]) -> PyResult<Option<Vec<usize>>> {
    let mut texts = Vec::with_capacity(pairs.len());
    for (position, (key, _)) in pairs.iter().enumerate() {
        // A text with half a surrogate pair has no UTF-8.
        let Ok(text) = key.to_str() else { return Ok(None) };
        texts.push((text, position));
    }
    // Of UTF-8, bytes ascend as code points do.
    texts.sort_unstable();
    Ok(Some(texts.into_iter().map(|(_, position)| position).collect()))
}

/// A tree as a text that is equal for equal structures, and its leaves. Dictionaries of other orders are other structures.
pub struct Flat<'py> {
    pub structure: Vec<u8>,
    pub leaves: Vec<Bound<'py, PyAny>>,
}

impl<'py> Flat<'py> {
    /// Returns None for a tree with nodes or leaves of other kinds.
    pub fn of(tree: &Bound<'py, PyAny>) -> PyResult<Option<Flat<'py>>> {
        let mut flat = Flat { structure: Vec::with_capacity(256), leaves: Vec::with_capacity(32) };
        Ok(flat.add(tree, 0)?.then_some(flat))
    }

    fn begin(&mut self, kind: u8, length: usize) {
        self.structure.push(kind);
        self.structure.extend((length as u32).to_ne_bytes());
    }

    /// Adds a tree; false if there is a node or a leaf of another kind.
    fn add(&mut self, value: &Bound<'py, PyAny>, level: usize) -> PyResult<bool> {
        let (Some(node), true) = (node(value)?, level < MOST_LEVELS) else { return Ok(false) };
        match node {
            Node::Leaf(leaf) => {
                self.structure.push(b'*');
                self.leaves.push(leaf);
                Ok(true)
            }
            Node::Tuple(tuple) => {
                self.begin(b't', tuple.len());
                self.all(tuple.iter(), level)
            }
            Node::Named(tuple) => {
                self.begin(b'N', tuple.len());
                self.structure.extend((tuple.get_type().as_ptr() as usize).to_ne_bytes());
                self.all(tuple.iter(), level)
            }
            Node::List(list) => {
                self.begin(b'l', list.len());
                self.all(list.iter(), level)
            }
            Node::Dict(pairs) => {
                self.begin(b'd', pairs.len());
                for (key, _) in &pairs {
                    let Ok(text) = key.to_str() else { return Ok(false) };
                    self.begin(b'k', text.len());
                    self.structure.extend(text.as_bytes());
                }
                let Some(order) = order(&pairs)? else { return Ok(false) };
                self.all(order.into_iter().map(|position| pairs[position].1.clone()), level)
            }
        }
    }

    fn all(&mut self, values: impl Iterator<Item = Bound<'py, PyAny>>, level: usize) -> PyResult<bool> {
        for value in values {
            if !self.add(&value, level + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the leaves of a tree, or None for a tree that only `optree` knows.
#[pyfunction]
fn plain_leaves<'py>(tree: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    Ok(Flat::of(tree)?.map(|flat| flat.leaves))
}

/// A part of a tree that is built again.
enum Part {
    /// The next value.
    Next,
    /// None or a text, which stays.
    Fixed(Py<PyAny>),
    Tuple(Vec<Part>),
    Named(Py<PyAny>, Vec<Part>),
    List(Vec<Part>),
    /// Parts by ascending keys, then the keys in the dictionary's order, each with the position of its part.
    Dict(Vec<Part>, Vec<(Py<PyString>, usize)>),
}

fn part(value: &Bound<'_, PyAny>) -> PyResult<Option<Part>> {
    let all = |values: Vec<Bound<'_, PyAny>>| values.iter().map(part).collect::<PyResult<Option<Vec<Part>>>>();
    Ok(match node(value)? {
        None => None,
        Some(Node::Leaf(leaf))
            if leaf.is_none() || leaf.is_instance_of::<PyString>() || leaf.is_instance_of::<PyBytes>() =>
        {
            Some(Part::Fixed(leaf.unbind()))
        }
        Some(Node::Leaf(_)) => Some(Part::Next),
        Some(Node::Tuple(tuple)) => all(tuple.iter().collect())?.map(Part::Tuple),
        Some(Node::Named(tuple)) => {
            let kind = tuple.get_type().into_any().unbind();
            all(tuple.iter().collect())?.map(|parts| Part::Named(kind, parts))
        }
        Some(Node::List(list)) => all(list.iter().collect())?.map(Part::List),
        Some(Node::Dict(pairs)) => {
            let Some(order) = order(&pairs)? else { return Ok(None) };
            let mut places = vec![0; order.len()];
            order.iter().enumerate().for_each(|(place, &position)| places[position] = place);
            let parts = all(order.iter().map(|&position| pairs[position].1.clone()).collect())?;
            let keys = pairs.into_iter().zip(places).map(|((key, _), place)| (key.unbind(), place)).collect();
            parts.map(|parts| Part::Dict(parts, keys))
        }
    })
}

impl Part {
    fn build<'py>(
        &self,
        py: Python<'py>,
        values: &mut impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut all = |parts: &[Part]| parts.iter().map(|part| part.build(py, values)).collect::<PyResult<Vec<_>>>();
        Ok(match self {
            Part::Next => {
                values.next().ok_or_else(|| PyValueError::new_err("fewer values than the tree has leaves"))?
            }
            Part::Fixed(value) => value.bind(py).clone(),
            Part::Tuple(parts) => PyTuple::new(py, all(parts)?)?.into_any(),
            Part::Named(kind, parts) => kind.bind(py).call1(PyTuple::new(py, all(parts)?)?)?,
            Part::List(parts) => PyList::new(py, all(parts)?)?.into_any(),
            Part::Dict(parts, keys) => {
                let (made, dict) = (all(parts)?, PyDict::new(py));
                for (key, place) in keys {
                    dict.set_item(key.bind(py), &made[*place])?;
                }
                dict.into_any()
            }
        })
    }
}

/// A tree without its arrays, to be built again with others.
#[pyclass(frozen, module = "lazyxla._core")]
struct Template(Part);

#[pymethods]
impl Template {
    /// Returns the template of a tree, or None for a tree that only `optree` knows.
    #[staticmethod]
    fn of(tree: &Bound<'_, PyAny>) -> PyResult<Option<Template>> {
        Ok(part(tree)?.map(Template))
    }

    /// Returns the tree with values in place of its leaves, but for None and texts.
    fn build<'py>(&self, py: Python<'py>, values: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        self.0.build(py, &mut values.into_iter())
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Template>()?;
    add!(module, plain_leaves);
    Ok(())
}
