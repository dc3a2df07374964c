//! Lowers one function to StableHLO.

use base::types::TensorType;
use ir::{Body, Op};
use ops::elementwise::{pack, unpack};
use ops::emit::{Emitter, Written, emit, mlir, mlir_packed};
use std::sync::Arc;

/// Attributes of the parameters and results of a function; each is empty, or in braces after a space.
#[derive(Default)]
pub struct Annotations {
    /// One entry for each parameter, or none at all.
    pub parameters: Vec<String>,
    /// Attribute of the packs of scalars.
    pub packs: String,
    /// One entry for each result, or none at all.
    pub results: Vec<String>,
    /// An unused parameter in front of all others: name, type, attributes.
    pub first: Option<&'static str>,
    /// Attributes of the constants that take the place of the last parameters: `dense<...>`.
    pub constants: Vec<String>,
}

/// The function of a program.
pub const MAIN: &str = "public @main";

/// Suffix of the name of a packed parameter.
const PACKED: &str = "_packed";

/// Bodies that a function calls, each with whether its parameters are pieces.
pub type Called = Vec<(Arc<Body>, bool)>;

/// Returns the text of the function, and what it calls. The elements of 2 and 4 bits of parameters and results of a
/// program's `main` are packed, and bytes elsewhere.
pub fn function(mut e: Emitter, name: &str, results: &[usize], annotations: &Annotations) -> (Written, Called) {
    let of = |list: &[String], i: usize| list.get(i).cloned().unwrap_or_default();
    let leaves: Vec<usize> = (0..e.values.len()).filter(|&i| e.values[i].op == Op::Leaf).collect();
    let (parameters, constants) = leaves.split_at(leaves.len() - annotations.constants.len());
    let is_main = name == MAIN;
    let is_packed = |ty: &TensorType| is_main && ty.dtype.is_subbyte();
    let described = |(number, &i): (usize, &usize)| {
        let ty = &e.values[i].ty;
        let (suffix, text) = if is_packed(ty) { (PACKED, mlir_packed(ty)) } else { ("", mlir(ty)) };
        format!("{}{suffix}: {text}{}", e.name(i), of(&annotations.parameters, number))
    };
    let mut arguments: Vec<String> = annotations.first.map(str::to_string).into_iter().collect();
    arguments.extend(parameters.iter().enumerate().map(described));
    let of_packs = &annotations.packs;
    arguments.extend(e.packs.iter().enumerate().map(|(i, pack)| format!("%pack{i}: {}{of_packs}", mlir(&pack.ty()))));
    let type_of = |&i: &usize| if is_main { mlir_packed(&e.values[i].ty) } else { mlir(&e.values[i].ty) };
    let types: Vec<String> = results.iter().map(type_of).collect();
    let annotated: Vec<String> =
        types.iter().enumerate().map(|(i, ty)| format!("{ty}{}", of(&annotations.results, i))).collect();
    emit!(e, "  func.func {name}({}) -> ({}) {{", arguments.join(", "), annotated.join(", "));
    for (&i, literal) in constants.iter().zip(&annotations.constants) {
        emit!(e, "    {} = stablehlo.constant {literal} : {}", e.name(i), mlir(&e.values[i].ty));
    }
    for &i in parameters.iter().filter(|&&i| is_packed(&e.values[i].ty)) {
        let (name, ty) = (e.name(i), e.values[i].ty.clone());
        unpack(&mut e, &name, &format!("{name}{PACKED}"), &ty);
    }
    e.lower_all();
    let result = |e: &mut Emitter, i: usize| {
        let (name, ty) = (e.name(i), e.values[i].ty.clone());
        if is_packed(&ty) { pack(e, &name, &ty) } else { name }
    };
    let names: Vec<String> = results.iter().map(|&i| result(&mut e, i)).collect();
    let colon = if results.is_empty() { "" } else { " : " };
    emit!(e, "    return {}{colon}{}", names.join(", "), types.join(", "));
    emit!(e, "  }}");
    (e.text, e.called)
}
