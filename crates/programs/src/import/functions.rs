//! Facts of the functions of a module: their names, bodies and attributes.

use base::error;
use base::error::{Error, Result, limited, quoted};
use mlir::{Attribute, Block, Dictionary, Module, Operation, Value};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Returns the name of a function.
pub fn name_of(function: &Operation) -> Option<&str> {
    match function.attributes.get("sym_name") {
        Some(Attribute::String(name)) => std::str::from_utf8(name).ok(),
        Some(Attribute::Symbol(parts)) => parts.last().map(|name| &**name),
        _ => None,
    }
}

/// Whether a function may be called from outside of the module.
pub fn is_public(function: &Operation) -> bool {
    !is_string(function.attributes.get("sym_visibility"), "private")
}

/// Returns an error if two functions or meshes of a module have one name: a call could mean each of them.
pub fn check_names(module: &Module) -> Result<()> {
    let mut known: FxHashMap<&str, &Operation> = FxHashMap::default();
    for operation in &module.operations {
        let Some(name) = name_of(operation) else { continue };
        if let Some(first) = known.insert(name, operation) {
            return Err(error!(
                InvalidArgument,
                "the module has the name {} twice: {} and {}; want each name once",
                quoted(name),
                described(first),
                described(operation)
            ));
        }
    }
    Ok(())
}

/// Returns the wanted function: the one with that name; or `main`, or the only public one.
pub fn main_function<'m>(module: &'m Module, wanted: Option<&str>) -> Result<&'m Operation> {
    let functions: Vec<&Operation> =
        module.operations.iter().filter(|operation| &*operation.name == "func.func").collect();
    let names = |functions: &[&Operation]| -> String {
        let names: Vec<String> = functions.iter().filter_map(|function| name_of(function)).map(quoted).collect();
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    };
    let named = |name: &str| functions.iter().copied().find(|function| name_of(function) == Some(name));
    let public: Vec<&Operation> = functions.iter().copied().filter(|function| is_public(function)).collect();
    let missing = |what: String| -> Error {
        error!(InvalidArgument, "function: {what}; the public functions of the module are {}", names(&public))
    };
    match (wanted, &public[..]) {
        (Some(name), _) => named(name).ok_or_else(|| missing(format!("{} given", quoted(name)))),
        (None, [only]) => Ok(only),
        (None, _) => named("main").ok_or_else(|| missing("none given, and the module has no main".to_string())),
    }
}

/// Returns the only block of a function.
pub fn body_of(function: &Operation) -> Result<&Block> {
    match &function.regions[..] {
        [region] => match &region.blocks[..] {
            [block] => Ok(block),
            blocks => Err(error!(Unimplemented, "a function with {} blocks; want one", blocks.len())),
        },
        regions => Err(error!(InvalidArgument, "a function with {} regions; want one", regions.len())),
    }
}

/// Returns the attributes of each parameter of a function, as far as the module states them.
pub fn argument_attributes(function: &Operation) -> Vec<&Dictionary> {
    dictionaries(function.attributes.get("arg_attrs"))
}

/// Returns the attributes of each result of a function, as far as the module states them.
pub fn result_attributes(function: &Operation) -> Vec<&Dictionary> {
    dictionaries(function.attributes.get("res_attrs"))
}

fn dictionaries<'m>(attribute: Option<&'m Attribute>) -> Vec<&'m Dictionary> {
    static NONE: LazyLock<Dictionary> = LazyLock::new(Default::default);
    let Some(Attribute::Array(list)) = attribute else { return Vec::new() };
    let dictionary = |attribute: &'m Attribute| match attribute {
        Attribute::Dictionary(dictionary) => dictionary,
        _ => &*NONE,
    };
    list.iter().map(dictionary).collect()
}

/// Returns the parameters of a function that take the number of the platform.
pub fn platform_indices(function: &Operation, block: &Block) -> Vec<Value> {
    let attributes = argument_attributes(function);
    let is_platform = |i: usize| {
        attributes.get(i).is_some_and(|named| is_string(named.get("jax.global_constant"), "_platform_index"))
    };
    block.arguments.iter().enumerate().filter(|(i, _)| is_platform(*i)).map(|(_, &value)| value).collect()
}

/// Whether an attribute is a string with this text.
pub fn is_string(attribute: Option<&Attribute>, text: &str) -> bool {
    matches!(attribute, Some(Attribute::String(bytes)) if **bytes == *text.as_bytes())
}

/// Returns the name of an operation's location; its files and lines if it has none.
pub fn place(operation: &Operation) -> String {
    match operation.location.name() {
        Some(name) => quoted(name),
        None => limited(&operation.location),
    }
}

/// Returns the name of an operation and its place, for messages.
pub fn described(operation: &Operation) -> String {
    let place = place(operation);
    if place.is_empty() { operation.name.to_string() } else { format!("{} at {place}", operation.name) }
}
