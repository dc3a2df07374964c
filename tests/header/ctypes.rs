//! Types of the source as C has them, and the role of a parameter that has such a type.

use syn::{GenericArgument, PathArguments, Type};

/// A type in C.
#[derive(Clone)]
pub struct Shape {
    /// Text of the type, such as `const lxla_tensor *`.
    pub c: String,
    /// The type that is left without pointers and const: `lxla_tensor`.
    pub base: String,
    /// Number of pointers.
    pub pointers: usize,
    /// Number of elements of an array.
    pub array: Option<usize>,
    /// Role of a variable of this type: see `role` in docs/bindings.md. `raw` for a pointer whose type determines no
    /// role.
    pub role: &'static str,
}

/// Names of C for scalars of Rust.
const SCALARS: [(&str, &str); 11] = [
    ("c_char", "char"),
    ("c_void", "void"),
    ("f64", "double"),
    ("i32", "int32_t"),
    ("i64", "int64_t"),
    ("u8", "uint8_t"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("usize", "size_t"),
    ("Managed", "void"),
    ("Unversioned", "void"),
];

/// Returns the type in C.
pub fn shape(ty: &Type) -> Shape {
    match ty {
        Type::Ptr(of) => {
            let inner = shape(&of.elem);
            pointer(inner, of.mutability.is_some(), "raw")
        }
        Type::Array(of) => {
            let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(length), .. }) = &of.len else { panic!("an array") };
            Shape { array: Some(length.base10_parse().unwrap()), ..shape(&of.elem) }
        }
        Type::Path(of) => of_path(of.path.segments.last().unwrap()),
        _ => panic!("a type that the header does not have"),
    }
}

fn of_path(segment: &syn::PathSegment) -> Shape {
    let name = segment.ident.to_string();
    let inner = || match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => {
            let types = arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            shape(types.last().unwrap())
        }
        _ => panic!("{name} without a type"),
    };
    let scalar = |c: &str, role| Shape { c: c.into(), base: c.into(), pointers: 0, array: None, role };
    match name.as_str() {
        "In" => pointer(inner(), false, "struct"),
        "List" => pointer(inner(), false, "list"),
        "Out" => pointer(inner(), true, "output"),
        "OutList" => pointer(inner(), true, "output_list"),
        "Text" => pointer(scalar("char", ""), false, "string"),
        "OwnedText" => pointer(scalar("char", ""), true, "owned_string"),
        "Bytes" => pointer(scalar("void", ""), false, "bytes"),
        "BytesMut" => pointer(scalar("void", ""), true, "output_bytes"),
        "Dlpack" => pointer(scalar("void", ""), true, "dlpack"),
        _ => {
            let c = SCALARS.iter().find(|(rust, _)| *rust == name).map_or(name.as_str(), |(_, c)| c);
            scalar(c, if c.ends_with("_fn") { "callback" } else { "value" })
        }
    }
}

/// Returns a pointer to a type, with the words of cbindgen.
fn pointer(to: Shape, is_mutable: bool, role: &'static str) -> Shape {
    let constant = if is_mutable { "" } else { "const" };
    let c = match to.c.strip_suffix('*') {
        Some(_) if is_mutable => format!("{}*", to.c),
        Some(_) => format!("{}const *", to.c),
        None => format!("{constant} {} *", to.c).trim_start().to_string(),
    };
    Shape { c, base: to.base, pointers: to.pointers + 1, array: None, role }
}

#[test]
fn types_are_those_of_c() {
    let of = |text: &str| shape(&syn::parse_str(text).unwrap()).c;
    let wanted = [
        ("List<'a, Text<'a>>", "const char *const *"),
        ("Out<OwnedText>", "char **"),
        ("Out<*mut c_void>", "void **"),
        ("In<lxla_scalar>", "const lxla_scalar *"),
        ("*const lxla_kernel_call", "const lxla_kernel_call *"),
        ("usize", "size_t"),
        ("Dlpack<Managed>", "void *"),
    ];
    for (rust, c) in wanted {
        assert_eq!(of(rust), c);
    }
}
