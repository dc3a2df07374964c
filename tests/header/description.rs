//! `include/lazyxla.json`: the C API as data, for generators of bindings. Its form is that of
//! `include/lazyxla.schema.json`; docs/bindings.md explains it.
//!
//! The types of `src/capi/abi/pointers.rs` tell what a pointer is for; facts.rs has what they do not tell.

use crate::CHAPTERS;
use crate::ctypes::Shape;
use crate::facts;
use crate::layout::title;
use crate::reading::{Documented, Function, Sources, Type, read_sources};
use lazyxla::capi::constants::{Constant, Family};

/// Number of the form of the file. A further key does not change it.
const FORMAT: u32 = 1;

/// A JSON object with its keys in order.
#[derive(Default)]
pub struct Object(Vec<String>);

impl Object {
    /// Adds a string.
    pub fn text(self, key: &str, value: &str) -> Object {
        let value = serde_json::to_string(value).unwrap();
        self.raw(key, &value)
    }

    /// Adds a value in JSON.
    pub fn raw(mut self, key: &str, value: &str) -> Object {
        self.0.push(format!("\"{key}\": {value}"));
        self
    }

    /// Adds a string, if there is one.
    pub fn maybe(self, key: &str, value: Option<&str>) -> Object {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// Returns the object on one line.
    pub fn line(&self) -> String {
        format!("{{{}}}", self.0.join(", "))
    }

    /// Returns the object with a line for each key.
    pub fn lines(&self, indent: &str) -> String {
        format!("{{\n{indent}  {}\n{indent}}}", self.0.join(&format!(",\n{indent}  ")))
    }
}

/// Returns a list with a line for each value.
fn list(values: impl IntoIterator<Item = String>, indent: &str) -> String {
    let values: Vec<String> = values.into_iter().collect();
    match values.is_empty() {
        true => "[]".to_string(),
        false => format!("[\n{indent}  {}\n{indent}]", values.join(&format!(",\n{indent}  "))),
    }
}

/// A parameter or field, and what contains it.
struct Variable<'a> {
    owner: &'a Owner<'a>,
    name: &'a str,
    doc: &'a str,
    shape: &'a Shape,
}

/// A function, a type of functions, or a struct.
struct Owner<'a> {
    name: &'a str,
    doc: &'a str,
    /// Source of a function.
    body: &'a str,
    is_struct: bool,
    variables: &'a [Documented],
    /// Names of structs that begin with `struct_size`, and of handles.
    world: &'a World,
}

/// Names of types that the rules ask for.
pub struct World {
    versioned: Vec<String>,
    handles: Vec<String>,
}

/// Whether a table has a row for a variable.
fn has(table: &[(&str, &str)], owner: &str, name: &str) -> bool {
    table.iter().any(|(of, variable)| (of.is_empty() || *of == owner) && *variable == name)
}

impl Variable<'_> {
    /// Returns the role of the variable. The role of a raw pointer follows from its length and its type.
    fn role(&self) -> &'static str {
        let (shape, has_length) = (self.shape, self.stated_length().is_some());
        let is_const = shape.c.starts_with("const ");
        match (shape.role, shape.base.as_str()) {
            ("raw", "void" | "char" | "uint8_t") if has_length && !is_const => "output_bytes",
            ("raw", "void" | "char") if has_length => "bytes",
            ("raw", _) if has_length => "list",
            ("raw", "void") => "user",
            ("raw", "char") => "string",
            ("raw", _) => "struct",
            (role, _) => role,
        }
    }

    fn describe(&self) -> Object {
        let shape = self.shape;
        let mut object = Object::default().text("name", self.name).text("type", &shape.c);
        object = object.text("base", &shape.base).raw("pointers", &shape.pointers.to_string());
        if let Some(length) = shape.array {
            object = object.raw("array", &length.to_string());
        }
        object = object.text("role", self.role());
        if !self.owner.is_struct {
            object = object.text("direction", self.direction());
        }
        if shape.pointers > 0 || self.role() == "callback" {
            object = object.raw("nullable", if self.may_be_null() { "true" } else { "false" });
        }
        if let Some(length) = self.length() {
            object = object.raw("length", &length);
        }
        if shape.base == "int32_t" || shape.base == "lxla_status" {
            object = self.integer(object);
        }
        object = self.owned(object);
        if self.owner.is_struct { object.text("doc", self.doc) } else { object }
    }

    fn direction(&self) -> &'static str {
        match self.role() {
            "output" if self.owner.world.versioned.contains(&self.shape.base) => "inout",
            "output" | "output_list" | "output_bytes" => "out",
            _ => "in",
        }
    }

    fn may_be_null(&self) -> bool {
        let (owner, name) = (self.owner.name, self.name);
        if has(facts::NOT_NULL, owner, name) {
            return false;
        }
        let is_option = name == "options" && self.role() == "struct";
        let is_axes = name == "axes" && self.role() == "list" && self.owner.body.contains("axes_of(");
        let is_field = self.owner.is_struct;
        is_option || is_axes || is_field || self.role() == "user" || has(facts::MAY_BE_NULL, owner, name)
    }

    /// Returns the number of elements: JSON.
    fn length(&self) -> Option<String> {
        if !matches!(self.role(), "list" | "bytes" | "output_list" | "output_bytes") {
            return None;
        }
        let variables = self.owner.variables;
        let at = variables.iter().position(|of| of.name == self.name).unwrap();
        let next = variables[at..].iter().find(|of| of.shape.c == "size_t").filter(|_| !self.owner.is_struct);
        let next = next.map(|of| Object::default().text("of", &of.name).line());
        let length = self.stated_length().or(next);
        let (owner, name) = (self.owner.name, self.name);
        assert!(length.is_some(), "{owner}: nothing tells the length of {name}: see LENGTHS of tests/header/facts.rs");
        length
    }

    /// Returns the number of elements that a row of facts.rs or the name of another variable states.
    fn stated_length(&self) -> Option<String> {
        let row = facts::LENGTHS.iter().find(|(of, name, _)| *of == self.owner.name && *name == self.name);
        if let Some((_, _, length)) = row {
            return Some(length.to_string());
        }
        let named = [format!("n_{}", self.name), format!("{}_size", self.name)];
        let by_name = self.owner.variables.iter().find(|of| named.contains(&of.name))?;
        Some(Object::default().text("of", &by_name.name).line())
    }

    /// Adds what an integer means: a constant, a flag or a switch.
    fn integer(&self, object: Object) -> Object {
        let (owner, name) = (self.owner.name, self.name);
        if let Some(family) = self.family() {
            return object.text("enum", &family);
        }
        if self.owner.is_struct {
            return match self.doc {
                doc if doc.starts_with("`LXLA_ON` or `LXLA_OFF`:") => object.raw("switch", "true"),
                doc if doc.starts_with("1 if ") || doc.starts_with("1: ") => object.raw("flag", "true"),
                _ => object,
            };
        }
        let is_flag = self.owner.body.contains(&format!("flag(\"{name}\", {name})"));
        if is_flag || has(facts::FLAGS, owner, name) {
            return object.raw("flag", "true");
        }
        assert!(
            has(facts::NUMBERS, owner, name),
            "{owner}: nothing tells whether {name} is a constant, a flag or a number: see tests/header/facts.rs"
        );
        object
    }

    /// Returns the prefix of the constants that an integer takes.
    fn family(&self) -> Option<String> {
        let (owner, name) = (self.owner.name, self.name);
        let row = facts::ENUMS.iter().find(|(of, variable, _)| (of.is_empty() || *of == owner) && *variable == name);
        if let Some((_, _, family)) = row {
            return Some(family.to_string());
        }
        if self.shape.base == "lxla_status" {
            return Some("LXLA_".to_string());
        }
        let dtypes = ["dtype", "dtypes", "index_dtype", "out_dtype"];
        if dtypes.contains(&name) {
            return Some("LXLA_DTYPE_".to_string());
        }
        // `one of LXLA_X_*` of the field, or of the function for the parameter that is named with it, or named so.
        let named = ["op", "policy", "out_state"].contains(&name);
        let doc = if self.owner.is_struct { self.doc } else { self.owner.doc };
        let one_of = |doc: &str| {
            let words = doc.replace('`', "").replace('\n', " ");
            let (before, after) = words.split_once("one of LXLA_")?;
            let fits = self.owner.is_struct || named || before.trim_end().ends_with(&format!("{name},"));
            fits.then(|| format!("LXLA_{}", after.split('*').next().unwrap()))
        };
        one_of(doc)
    }

    /// Adds who owns memory or a reference after the call, and what frees it.
    fn owned(&self, object: Object) -> Object {
        let world = self.owner.world;
        let base = &self.shape.base;
        if self.owner.is_struct {
            return object;
        }
        let is_handle = world.handles.contains(base);
        match self.role() {
            "output" | "output_list" if is_handle && facts::BORROWED.contains(&self.owner.name) => {
                object.text("ownership", "borrowed")
            }
            "output" | "output_list" if is_handle => {
                object.text("ownership", "caller").text("release", &format!("{base}_release"))
            }
            "output" if self.shape.c == "char **" => {
                object.text("ownership", "caller").text("release", "lxla_string_free")
            }
            "output" if self.shape.c == "void **" => object.text("ownership", "caller"),
            "owned_string" | "dlpack" => object.text("ownership", "library"),
            "bytes" if self.owner.variables.iter().any(|of| of.shape.base == "lxla_release_fn") => {
                object.text("ownership", "until_release")
            }
            "user" => object.text("ownership", "opaque"),
            "list" | "bytes" | "string" | "struct" => object.text("ownership", "call"),
            _ => object,
        }
    }
}

/// Returns the variables of an owner.
fn variables(owner: &Owner) -> Vec<Object> {
    let of = |each: &Documented| Variable { owner, name: &each.name, doc: &each.doc, shape: &each.shape }.describe();
    owner.variables.iter().map(of).collect()
}

/// Returns the text of the file.
pub fn json(families: &[Family]) -> String {
    let sources = read_sources();
    let world = world(&sources);
    let chapters = CHAPTERS.iter().filter(|chapter| **chapter != "abi/types");
    let chapter = |name: &&str| Object::default().text("name", name).text("title", &title(name)).line();
    let whole = Object::default()
        .raw("format", &FORMAT.to_string())
        .raw("abi_version", &sources.abi_version)
        .text("version", env!("CARGO_PKG_VERSION"))
        .raw("chapters", &list(chapters.map(chapter), "  "))
        .raw("families", &list(families.iter().map(family), "  "))
        .raw("types", &list(sources.types.iter().map(|of| type_of(of, &world)), "  "))
        .raw("functions", &list(sources.functions.iter().map(|of| function(of, &world)), "  "));
    whole.lines("") + "\n"
}

/// Returns the names of versioned structs and of handles: structs that a function releases.
fn world(sources: &Sources) -> World {
    let functions: Vec<String> = sources.functions.iter().map(|of| of.name.clone()).collect();
    let is_versioned = |of: &&Type| of.fields.first().is_some_and(|field| field.name == "struct_size");
    let is_handle = |of: &&Type| functions.contains(&format!("{}_release", of.name));
    World {
        versioned: sources.types.iter().filter(is_versioned).map(|of| of.name.clone()).collect(),
        handles: sources.types.iter().filter(is_handle).map(|of| of.name.clone()).collect(),
    }
}

fn family(of: &Family) -> String {
    let constant = |constant: &Constant| {
        let name = format!("{}{}", of.prefix, constant.name);
        let object = Object::default().text("name", &name).raw("value", &constant.number.to_string());
        object.text("doc", constant.about.trim()).line()
    };
    let object = Object::default().text("prefix", of.prefix).text("chapter", of.chapter).text("doc", of.title);
    object.raw("constants", &list(of.constants.iter().map(constant), "      ")).lines("    ")
}

fn type_of(of: &Type, world: &World) -> String {
    let is_function = of.kind == "function";
    let owner = Owner { name: &of.name, doc: &of.doc, body: "", is_struct: !is_function, variables: &of.fields, world };
    let mut object = Object::default().text("name", &of.name).text("kind", of.kind);
    if world.handles.contains(&of.name) {
        object = object.raw("handle", "true");
    }
    object = object.maybe("type", of.alias.as_deref()).maybe("result", of.result.as_deref());
    if of.kind != "alias" {
        let key = if is_function { "parameters" } else { "fields" };
        object = object.raw(key, &list(variables(&owner).iter().map(Object::line), "      "));
    }
    object.text("doc", &of.doc).lines("    ")
}

fn function(of: &Function, world: &World) -> String {
    let owner =
        Owner { name: &of.name, doc: &of.doc, body: &of.body, is_struct: false, variables: &of.parameters, world };
    let object = Object::default().text("name", &of.name).text("chapter", &of.chapter).text("result", &of.result);
    let object = object.raw("parameters", &list(variables(&owner).iter().map(Object::line), "      "));
    object.text("doc", &of.doc).lines("    ")
}

#[test]
fn every_row_of_the_facts_is_of_a_parameter_or_a_field() {
    let sources = read_sources();
    let functions = sources.functions.iter().map(|of| (&of.name, &of.parameters));
    let all: Vec<_> = functions.chain(sources.types.iter().map(|of| (&of.name, &of.fields))).collect();
    let lengths = facts::LENGTHS.iter().map(|&(owner, name, _)| (owner, name));
    let enums = facts::ENUMS.iter().map(|&(owner, name, _)| (owner, name));
    let tables = [facts::MAY_BE_NULL, facts::NOT_NULL, facts::NUMBERS, facts::FLAGS];
    for (owner, name) in lengths.chain(enums).chain(tables.concat()) {
        let has = |variables: &[Documented]| variables.iter().any(|of| of.name == name);
        let found = all.iter().any(|(of, variables)| (owner.is_empty() || *of == owner) && has(variables));
        assert!(found, "{owner} has no {name}");
    }
    for name in facts::BORROWED {
        assert!(sources.functions.iter().any(|of| of.name == *name), "there is no {name}");
    }
}
