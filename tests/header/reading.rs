//! Functions and types of `src/capi`, with their documentation.

use crate::ctypes::{Shape, shape};
use crate::{CHAPTERS, source};
use syn::{Attribute, Expr, ExprLit, Fields, FnArg, Item, Lit, Meta, Pat, ReturnType, Type as RustType};

/// A parameter or field.
pub struct Documented {
    pub name: String,
    pub doc: String,
    pub shape: Shape,
}

/// A type of the header.
pub struct Type {
    pub name: String,
    /// `alias`, `struct`, `union` or `function`.
    pub kind: &'static str,
    /// Type that an alias stands for.
    pub alias: Option<String>,
    /// Result of a type of functions.
    pub result: Option<String>,
    pub fields: Vec<Documented>,
    pub doc: String,
}

/// A function of the header.
pub struct Function {
    pub name: String,
    pub chapter: String,
    pub result: String,
    pub parameters: Vec<Documented>,
    pub doc: String,
    /// Source of the body.
    pub body: String,
}

/// All of them, in the order of the chapters.
pub struct Sources {
    pub types: Vec<Type>,
    pub functions: Vec<Function>,
    pub abi_version: String,
}

/// Reads the files of all chapters.
pub fn read_sources() -> Sources {
    let mut sources = Sources { types: Vec::new(), functions: Vec::new(), abi_version: String::new() };
    for chapter in CHAPTERS {
        let text = std::fs::read_to_string(source(chapter)).unwrap();
        for item in syn::parse_file(&text).unwrap().items {
            match item {
                Item::Fn(of) if of.sig.ident.to_string().starts_with("lxla_") => {
                    sources.functions.push(function(&of, chapter, &text));
                }
                Item::Const(of) if of.ident == "LXLA_ABI_VERSION" => {
                    let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = &*of.expr else { panic!("the ABI version") };
                    sources.abi_version = number.to_string();
                }
                Item::Struct(syn::ItemStruct { ref ident, .. })
                | Item::Union(syn::ItemUnion { ref ident, .. })
                | Item::Type(syn::ItemType { ref ident, .. })
                    if ident.to_string().starts_with("lxla_") =>
                {
                    sources.types.extend(type_of(&item));
                }
                _ => {}
            }
        }
    }
    sources
}

fn function(of: &syn::ItemFn, chapter: &str, text: &str) -> Function {
    let name = of.sig.ident.to_string();
    let parameter = |argument: &FnArg| {
        let FnArg::Typed(argument) = argument else { panic!("self") };
        let Pat::Ident(pattern) = &*argument.pat else { panic!("{name}: a pattern") };
        Documented { name: pattern.ident.to_string(), doc: String::new(), shape: shape(&argument.ty) }
    };
    let start = text.find(&format!("fn {name}(")).unwrap();
    let body = &text[start..start + text[start..].find("\n}\n").unwrap()];
    Function {
        chapter: chapter.to_string(),
        result: result(&of.sig.output),
        parameters: of.sig.inputs.iter().map(parameter).collect(),
        doc: doc(&of.attrs),
        body: body.to_string(),
        name,
    }
}

fn type_of(item: &Item) -> Option<Type> {
    let made = |name: &syn::Ident, kind, attributes: &[Attribute], fields| Type {
        name: name.to_string(),
        kind,
        alias: None,
        result: None,
        fields,
        doc: doc(attributes),
    };
    match item {
        Item::Struct(of) => match &of.fields {
            Fields::Named(fields) => Some(made(&of.ident, "struct", &of.attrs, fields_of(fields))),
            _ => None,
        },
        Item::Union(of) => Some(made(&of.ident, "union", &of.attrs, fields_of(&of.fields))),
        Item::Type(of) => match pointed_function(&of.ty) {
            Some(function) => {
                let parameter = |argument: &syn::BareFnArg| Documented {
                    name: argument.name.as_ref().unwrap().0.to_string(),
                    doc: String::new(),
                    shape: shape(&argument.ty),
                };
                let parameters = function.inputs.iter().map(parameter).collect();
                let result = Some(result(&function.output));
                Some(Type { result, ..made(&of.ident, "function", &of.attrs, parameters) })
            }
            None => Some(Type { alias: Some(shape(&of.ty).c), ..made(&of.ident, "alias", &of.attrs, Vec::new()) }),
        },
        _ => None,
    }
}

fn fields_of(fields: &syn::FieldsNamed) -> Vec<Documented> {
    let field = |field: &syn::Field| Documented {
        name: field.ident.as_ref().unwrap().to_string(),
        doc: doc(&field.attrs),
        shape: shape(&field.ty),
    };
    fields.named.iter().map(field).collect()
}

/// Returns the function of `Option<unsafe extern "C" fn(...)>`.
fn pointed_function(ty: &RustType) -> Option<&syn::TypeBareFn> {
    let RustType::Path(path) = ty else { return None };
    let syn::PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    match arguments.args.first()? {
        syn::GenericArgument::Type(RustType::BareFn(function)) => Some(function),
        _ => None,
    }
}

fn result(output: &ReturnType) -> String {
    match output {
        ReturnType::Default => "void".to_string(),
        ReturnType::Type(_, ty) => shape(ty).c,
    }
}

/// Returns the lines of a documentation comment.
fn doc(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(of) if of.path.is_ident("doc") => match &of.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim_end().to_string()),
            _ => None,
        },
        _ => None,
    };
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}
