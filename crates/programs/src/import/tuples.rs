//! Takes tuples apart: a value of a tuple type becomes the values of its elements, so that a function or an operation
//! with one tuple as its result has several results. XLA writes such programs, and JAX wrote them for TPUs.

use super::attributes::Attributes;
use super::functions::described;
use base::error;
use base::error::Result;
use mlir::{Attribute, Block, Dictionary, Module, Operation, Region, Type, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Most elements of one tuple, with those of tuples in it.
const MOST_ELEMENTS: usize = 1 << 12;
/// Most elements of all tuples, for each value of the module and in any module.
const MOST_FOR_EACH: usize = 16;
const MOST_IN_ANY: usize = 1 << 16;

/// Returns a module with the same functions and no values of tuple types; None if the module itself has none.
pub fn without_tuples(module: &Module) -> Result<Option<Module>> {
    if !module.types.iter().any(|ty| is_tuple(ty)) {
        return Ok(None);
    }
    let left = MOST_IN_ANY + MOST_FOR_EACH * module.types.len();
    let (types, elements, starts) = (module.types.clone(), FxHashMap::default(), FxHashMap::default());
    let mut flat = Flat { types, elements, starts, left };
    let operations = flat.operations(&module.operations)?;
    Ok(Some(Module {
        producer: module.producer.clone(),
        version: module.version,
        attributes: module.attributes.clone(),
        operations,
        types: flat.types,
    }))
}

fn is_tuple(ty: &Type) -> bool {
    matches!(ty, Type::Tuple(_))
}

/// A module that is being written without tuples.
struct Flat {
    /// Types of all values, new ones at the end.
    types: Vec<Arc<Type>>,
    /// Elements of the values of tuple types that are defined.
    elements: FxHashMap<Value, Vec<Value>>,
    /// Offsets of the direct elements of tuple types, as [`Flat::starts`] returns them, by the address of the type. The
    /// types of the module keep it alive.
    starts: FxHashMap<*const Type, Arc<[usize]>>,
    /// Number of elements that tuples may still have.
    left: usize,
}

impl Flat {
    fn operations(&mut self, operations: &[Operation]) -> Result<Vec<Operation>> {
        let mut made = Vec::new();
        for operation in operations {
            made.extend(self.operation(operation).map_err(|e| e.context(described(operation)))?);
        }
        Ok(made)
    }

    /// Returns an operation of elements; None for one that makes a tuple or takes one apart.
    fn operation(&mut self, operation: &Operation) -> Result<Option<Operation>> {
        if let ("stablehlo.get_tuple_element", &[result]) = (&*operation.name, &operation.results[..]) {
            let chosen = self.chosen(operation)?;
            return self.name(result, chosen).map(|()| None);
        }
        let operands = self.used(&operation.operands)?;
        if let ("stablehlo.tuple", &[result]) = (&*operation.name, &operation.results[..])
            && is_tuple(self.ty(result))
        {
            return self.name(result, operands).map(|()| None);
        }
        let results = self.defined(&operation.results)?;
        let mut regions = Vec::new();
        for region in &operation.regions {
            let blocks = region.blocks.iter().map(|block| self.block(block)).collect::<Result<_>>()?;
            regions.push(Region { blocks });
        }
        Ok(Some(Operation {
            name: operation.name.clone(),
            operands: operands.into(),
            results: results.into(),
            attributes: self.attributes(operation)?,
            regions,
            location: operation.location.clone(),
        }))
    }

    fn block(&mut self, block: &Block) -> Result<Block> {
        let arguments = self.defined(&block.arguments)?;
        Ok(Block { arguments, operations: self.operations(&block.operations)? })
    }

    /// The attributes of an operation. Those of the parameters and results of a function are listed for each element.
    fn attributes(&self, operation: &Operation) -> Result<Dictionary> {
        let block = match &operation.regions[..] {
            [Region { blocks }] if &*operation.name == "func.func" && blocks.len() == 1 => &blocks[0],
            _ => return Ok(operation.attributes.clone()),
        };
        let results: &[Value] = block.operations.last().map_or(&[], |last| &last.operands);
        let spread = |values: &[Value], list: &[Attribute]| -> Arc<[Attribute]> {
            let each = values.iter().zip(list).flat_map(|(&value, attribute)| match self.elements.get(&value) {
                Some(elements) if is_tuple(self.ty(value)) => {
                    vec![Attribute::Dictionary(Dictionary::default()); elements.len()]
                }
                _ => vec![attribute.clone()],
            });
            each.collect()
        };
        let changed = operation.attributes.0.iter().map(|(name, attribute)| {
            let attribute = match (&**name, attribute) {
                ("arg_attrs", Attribute::Array(list)) => Attribute::Array(spread(&block.arguments, list)),
                ("res_attrs", Attribute::Array(list)) => Attribute::Array(spread(results, list)),
                _ => attribute.clone(),
            };
            (name.clone(), attribute)
        });
        Ok(Dictionary(changed.collect()))
    }

    /// The elements of the operand of `get_tuple_element` that are its result.
    fn chosen(&mut self, operation: &Operation) -> Result<Vec<Value>> {
        let index = Attributes::of(operation).integer("index")?;
        let &[operand] = &operation.operands[..] else {
            return Err(error!(InvalidArgument, "{} operands; want one", operation.operands.len()));
        };
        let ty = self.ty(operand).clone();
        let Type::Tuple(types) = &*ty else { return Err(error!(InvalidArgument, "its operand is not a tuple")) };
        let Some(place) = usize::try_from(index).ok().filter(|&place| place < types.len()) else {
            return Err(error!(InvalidArgument, "element {index} of a tuple of {} elements", types.len()));
        };
        let starts = self.starts(&ty, types)?;
        Ok(self.elements_of(operand)?[starts[place]..starts[place + 1]].to_vec())
    }

    /// Returns the offset of each direct element of a tuple type among all its elements, inner tuples taken apart;
    /// then the number of all elements.
    fn starts(&mut self, ty: &Arc<Type>, types: &[Arc<Type>]) -> Result<Arc<[usize]>> {
        if let Some(known) = self.starts.get(&Arc::as_ptr(ty)) {
            return Ok(known.clone());
        }
        let mut starts = vec![0];
        for (i, ty) in types.iter().enumerate() {
            starts.push(starts[i] + leaves(ty)?.len());
        }
        self.spend(starts[types.len()])?;
        let starts: Arc<[usize]> = starts.into();
        self.starts.insert(Arc::as_ptr(ty), starts.clone());
        Ok(starts)
    }

    fn elements_of(&self, tuple: Value) -> Result<&Vec<Value>> {
        self.elements.get(&tuple).ok_or_else(|| error!(InvalidArgument, "a tuple is used before it is defined"))
    }

    /// Records the elements of a value whose operation is left out. Their types have to be those of the value's type.
    fn name(&mut self, value: Value, elements: Vec<Value>) -> Result<()> {
        let wanted = leaves(self.ty(value))?;
        let fits = wanted.len() == elements.len() && wanted.iter().zip(&elements).all(|(ty, &e)| ty == self.ty(e));
        if !fits {
            return Err(error!(InvalidArgument, "a tuple's elements have other types than the tuple"));
        }
        self.spend(elements.len())?;
        self.elements.insert(value, elements);
        Ok(())
    }

    /// Defines values: those of tuple types as new values for each element.
    fn defined(&mut self, values: &[Value]) -> Result<Vec<Value>> {
        let mut made = Vec::new();
        for &value in values {
            if !is_tuple(self.ty(value)) {
                made.push(value);
                continue;
            }
            let types = leaves(self.ty(value))?;
            self.spend(types.len())?;
            let first = self.types.len() as u32;
            let elements: Vec<Value> = (first..first + types.len() as u32).map(Value).collect();
            self.types.extend(types);
            made.extend_from_slice(&elements);
            self.elements.insert(value, elements);
        }
        Ok(made)
    }

    /// The elements of values that are used.
    fn used(&mut self, values: &[Value]) -> Result<Vec<Value>> {
        let mut made = Vec::new();
        for &value in values {
            if !is_tuple(self.ty(value)) && !self.elements.contains_key(&value) {
                made.push(value);
                continue;
            }
            self.spend(self.elements_of(value)?.len())?;
            made.extend_from_slice(self.elements_of(value)?);
        }
        Ok(made)
    }

    fn ty(&self, value: Value) -> &Arc<Type> {
        &self.types[value.0 as usize]
    }

    /// Counts elements; UNIMPLEMENTED if there are too many for the size of the module.
    fn spend(&mut self, elements: usize) -> Result<()> {
        let left = self.left.checked_sub(elements);
        self.left = left.ok_or_else(|| error!(Unimplemented, "the tuples of the module have too many elements"))?;
        Ok(())
    }
}

/// The types of the elements of a tuple, with those of tuples in it; any other type is its own only element. A tuple in
/// which there is anything but tensors and tokens is UNIMPLEMENTED.
fn leaves(ty: &Arc<Type>) -> Result<Vec<Arc<Type>>> {
    let (mut found, mut open) = (Vec::new(), vec![ty]);
    // Types may be shared, so that a small file can have an exponential number of elements, or of empty tuples.
    for _ in 0..MOST_ELEMENTS {
        let Some(ty) = open.pop() else { return Ok(found) };
        match &**ty {
            Type::Tuple(types) => open.extend(types.iter().rev()),
            Type::Tensor(_) | Type::Token => found.push(ty.clone()),
            other => return Err(error!(Unimplemented, "a tuple with an element of type {other}; want tensors")),
        }
    }
    Err(error!(Unimplemented, "a tuple of more than {MOST_ELEMENTS} elements"))
}
