//! Takes tuples apart: a value of a tuple type becomes the values of its elements, so that a function or an operation
//! with one tuple as its result has several results. XLA writes such programs, and JAX wrote them for TPUs.

use super::attributes::Attributes;
use super::regions::block;
use crate::error;
use crate::error::Result;
use crate::mlir::{Attribute, Block, Dictionary, Module, Operation, Region, Type, Value};
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
    let mut flat = Flat { types: module.types.clone(), elements: FxHashMap::default(), left };
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
    /// Number of elements that tuples may still have.
    left: usize,
}

impl Flat {
    fn operations(&mut self, operations: &[Operation]) -> Result<Vec<Operation>> {
        let mut made = Vec::new();
        for operation in operations {
            made.extend(self.operation(operation)?);
        }
        Ok(made)
    }

    /// Returns an operation of elements; None for one that makes a tuple or takes one apart.
    fn operation(&mut self, operation: &Operation) -> Result<Option<Operation>> {
        let operands = self.used(&operation.operands)?;
        if let [result] = operation.results[..] {
            match &*operation.name {
                "stablehlo.tuple" if is_tuple(self.ty(result)) => return self.name(result, operands).map(|()| None),
                "stablehlo.get_tuple_element" => {
                    let chosen = self.chosen(operation, operands)?;
                    return self.name(result, chosen).map(|()| None);
                }
                _ => {}
            }
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
        if &*operation.name != "func.func" || operation.regions.is_empty() {
            return Ok(operation.attributes.clone());
        }
        let block = block(operation, 0)?;
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
    fn chosen(&self, operation: &Operation, elements: Vec<Value>) -> Result<Vec<Value>> {
        let index = Attributes::of(operation).integer("index")?;
        let types = match operation.operands[..] {
            [operand] => match &**self.ty(operand) {
                Type::Tuple(types) => types,
                _ => return Err(error!(InvalidArgument, "get_tuple_element of a value that is no tuple")),
            },
            _ => return Err(error!(InvalidArgument, "get_tuple_element of {} operands", operation.operands.len())),
        };
        let Some(place) = usize::try_from(index).ok().filter(|&place| place < types.len()) else {
            return Err(error!(InvalidArgument, "element {index} of a tuple of {} elements", types.len()));
        };
        let sizes = types.iter().map(|ty| Ok(leaves(ty)?.len())).collect::<Result<Vec<usize>>>()?;
        let start = sizes[..place].iter().sum::<usize>();
        Ok(elements[start..start + sizes[place]].to_vec())
    }

    /// Gives a value that is no operation's result any more its elements, whose types have to be those of its type.
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
    fn used(&self, values: &[Value]) -> Result<Vec<Value>> {
        let mut made = Vec::new();
        for value in values {
            match self.elements.get(value) {
                Some(elements) => made.extend_from_slice(elements),
                None if is_tuple(self.ty(*value)) => {
                    return Err(error!(InvalidArgument, "a tuple is used before it is defined"));
                }
                None => made.push(*value),
            }
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

/// The types of the elements of a tuple, with those of tuples in it; any other type is its own only element.
fn leaves(ty: &Arc<Type>) -> Result<Vec<Arc<Type>>> {
    let (mut found, mut open) = (Vec::new(), vec![ty]);
    // Types may be shared, so that a small file can have an exponential number of elements, or of empty tuples.
    for _ in 0..MOST_ELEMENTS {
        let Some(ty) = open.pop() else { return Ok(found) };
        match &**ty {
            Type::Tuple(types) => open.extend(types.iter().rev()),
            _ => found.push(ty.clone()),
        }
    }
    Err(error!(Unimplemented, "a tuple of more than {MOST_ELEMENTS} elements"))
}
