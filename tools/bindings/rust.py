"""Writes a Rust module of the C API, from include/lazyxla.json: python rust.py OUTPUT.rs

`sys` has the functions, types and constants of C. Around it: handles that are released when they are dropped, functions
that take slices and strings, and return results or an Error. A function that takes a function or an address of C is
unsafe."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True  # leaves no caches beside the sources
from calls import calls, derived, described, is_raw, options
from rust_text import DEFAULT, HANDLE, HEAD

SCALARS = {
    "char": "c_char",
    "void": "c_void",
    "double": "f64",
    "int32_t": "i32",
    "int64_t": "i64",
    "size_t": "usize",
    "uint8_t": "u8",
    "uint32_t": "u32",
    "uint64_t": "u64",
}
KEYWORDS = {"while", "fn", "in", "type", "where", "match", "ref", "move", "box", "loop", "final", "override"}


def ident(name):
    return "r#" + name if name in KEYWORDS else name


def camel(name):
    return "".join(word.capitalize() for word in name.removeprefix("lxla_").split("_"))


def documented(text, indent=""):
    return "".join(f"{indent}/// {line}".rstrip() + "\n" for line in text.split("\n"))


class Generator:
    def __init__(self):
        self.description = described()
        self.handles = {each["name"] for each in self.description["types"] if each.get("handle")}
        self.options = {each["name"] for each in options(self.description)}
        self.functions = {each["name"]: each["doc"] for each in self.description["functions"]}

    # --- C ---

    def c_type(self, of):
        made = SCALARS.get(of["base"], of["base"])
        words = of["type"].split("*")
        for constant in words[: of["pointers"]]:
            made = ("*const " if "const" in constant else "*mut ") + made
        return f"[{made}; {of['array']}]" if "array" in of else made

    def c_signature(self, of):
        arguments = ", ".join(f"{ident(each['name'])}: {self.c_type(each)}" for each in of["parameters"])
        results = {"void": "", "const char *": " -> *const c_char"}
        return f"({arguments}){results.get(of['result'], ' -> ' + SCALARS.get(of['result'], of['result']))}"

    def c_declaration(self, of):
        doc = documented(of["doc"])
        if of["kind"] == "alias":
            return f"{doc}pub type {of['name']} = {SCALARS[of['type']]};\n"
        if of["kind"] == "function":
            return f'{doc}pub type {of["name"]} = Option<unsafe extern "C" fn{self.c_signature(of)}>;\n'
        fields = "".join(
            f"{documented(each['doc'], '    ')}    pub {ident(each['name'])}: {self.c_type(each)},\n"
            for each in of["fields"]
        )
        made = f"{doc}#[repr(C)]\n#[derive(Clone, Copy)]\npub {of['kind']} {of['name']} {{\n{fields}}}\n"
        made += DEFAULT.format(c=of["name"]) if of["name"] in self.options else ""
        if of["kind"] == "struct" and of["name"] in self.handles | {"lxla_device"}:
            made = made.replace("Clone, Copy", "Clone, Copy, Debug, PartialEq")
        return made

    def c_module(self):
        types = "\n".join(map(self.c_declaration, self.description["types"]))
        functions = "".join(
            f"    pub fn {each['name']}{self.c_signature(each)};\n" for each in self.description["functions"]
        )
        link = '#[link(name = "lazyxla")]\nunsafe extern "C" {\n'
        return (
            f"\n/// The C API.\npub mod sys {{\nuse std::ffi::{{c_char, c_void}};\n\n{types}\n{link}{functions}}}\n}}\n"
        )

    # --- Rust ---

    def constants(self):
        rows = [each for family in self.description["families"] for each in family["constants"]]
        row = lambda of: f"/// {of['doc']}\npub const {of['name'].removeprefix('LXLA_')}: i32 = {of['value']};\n"
        return "\n" + "".join(map(row, rows))

    def element(self, of):
        if is_raw(of):
            return "*const c_void" if of["type"].startswith("const") else "*mut c_void"
        return camel(of["base"]) if of["base"] in self.handles else SCALARS.get(of["base"], "sys::" + of["base"])

    def parameter(self, of):
        """Returns the type of a parameter, and how it is passed: a statement before the call, and the argument."""
        name, role, base = ident(of["name"]), of["role"], of["base"]
        maybe = lambda made: f"Option<{made}>" if of.get("nullable") else made
        if role == "string":
            bind = f'c_string("{name}", {name})?'
            if of["nullable"]:
                bind = f'{name}.map(|text| c_string("{name}", text)).transpose()?'
                return maybe("&str"), f"let {name} = {bind};", f"{name}.as_ref().map_or(null(), |text| text.as_ptr())"
            return "&str", f"let {name} = {bind};", f"{name}.as_ptr()"
        if role == "list" and (base == "char" or base in self.handles):
            item = "&str" if base == "char" else f"&{camel(base)}"
            kind = "*const c_char" if base == "char" else f"sys::{base}"
            step = f'c_string("{name}", each)' if base == "char" else "Result::Ok(each.0)"
            given = f"{name}.unwrap_or(&[])" if of["nullable"] else name
            bind = f"let {name}_all = {given}.iter().map(|each| {step}).collect::<Result<Vec<_>>>()?;"
            argument = f"{name}_all.as_ptr()"
            if base == "char":
                bind += f" let {name}_c: Vec<{kind}> = {name}_all.iter().map(|each| each.as_ptr()).collect();"
                argument = f"{name}_c.as_ptr()"
            if of["nullable"]:
                argument = f"if {name}.is_some() {{ {argument} }} else {{ null() }}"
            return maybe(f"&[{item}]"), bind, argument
        if role in ("list", "bytes"):
            made = maybe(f"&[{'u8' if role == 'bytes' else self.element(of)}]")
            pointer = f"{name}.map_or(null(), |all| all.as_ptr())" if of["nullable"] else f"{name}.as_ptr()"
            return made, "", pointer + (".cast()" if role == "bytes" else "")
        if role == "output_bytes":
            made, bytes_of = maybe("&mut [u8]"), f"{name}.as_mut_ptr().cast()"
            given = f"{name}.as_deref_mut().map_or(std::ptr::null_mut(), |all| all.as_mut_ptr().cast())"
            return made, f"let mut {name} = {name};" if of["nullable"] else "", given if of["nullable"] else bytes_of
        if role == "struct":
            pointer = f"{name}.map_or(null(), |one| one)" if of["nullable"] else name
            return maybe(f"&sys::{base}"), "", pointer
        if base in self.handles:
            return f"&{camel(base)}", "", f"{name}.0"
        if of.get("flag"):
            return "bool", "", f"{name} as i32"
        return (SCALARS.get(base, "sys::" + base) if of["pointers"] == 0 else "*mut c_void"), "", name

    def output(self, of, call):
        """Returns the type of a result, its place, the argument, and the result that is made of it."""
        name, base = ident(of["name"]), of["base"]
        kind = camel(base) if base in self.handles else self.c_type({**of, "pointers": of["pointers"] - 1})
        is_owned = "true" if of.get("ownership") == "caller" else "false"
        wrap = f"{kind}(each, {is_owned})" if base in self.handles else "each"
        place = f"sys::{base}" if base in self.handles or base.startswith("lxla_") else kind
        if of["role"] == "output_list":
            length = str(of["length"].get("fixed") or ident(of["length"]["of"]))
            make = f"{name}.into_iter().map(|each| {wrap}).collect()"
            zero = f"vec![unsafe {{ std::mem::zeroed::<{place}>() }}; {length}]"
            kind = kind if base in self.handles or not base.startswith("lxla_") else place
            return f"Vec<{kind}>", f"let mut {name} = {zero};", f"{name}.as_mut_ptr()", make
        zero = f"unsafe {{ std::mem::zeroed::<{place}>() }}"
        if of["direction"] == "inout":
            zero = f"sys::{base}::default()"
        if of["type"] == "char **":
            return "String", f"let mut {name}: *mut c_char = std::ptr::null_mut();", f"&mut {name}", f"owned({name})"
        if base in self.handles:
            return kind, f"let mut {name} = {zero};", f"&mut {name}", f"{kind}({name}, {is_owned})"
        if of.get("flag"):
            return "bool", f"let mut {name} = 0;", f"&mut {name}", f"{name} == 1"
        kind = place if base.startswith("lxla_") else "*mut c_void" if base == "void" else kind
        return kind, f"let mut {name}: {kind} = {zero};", f"&mut {name}", name

    def size(self, of):
        name = ident(of["name"])
        return f"{name}.as_ref().map(|all| all.len())" if of["nullable"] else f"Some({name}.len())"

    def length(self, name, lists):
        """Returns the statement that sets a length: the number of elements of the lists that have it."""

        def one(of):
            if "times" in of["length"]:
                return f'divided("{of["name"]}", {self.size(of)}, {of["length"]["times"]})?'
            return self.size(of)

        names = ", ".join(each["name"] for each in lists)
        return f'let {name} = common("{names}", &[{", ".join(map(one, lists))}])?;'

    def exact(self, of, rule, other):
        """Returns the statement that checks a length which is the sum or product of the elements of another list."""
        start, step = {"sum": ("0_i128", "saturating_add"), "product": ("1_i128", "saturating_mul")}[rule]
        wanted = f"{ident(other)}.iter().fold({start}, |n, &each| n.{step}(each as i128))"
        return f'exactly("{of["name"]}", {self.size(of)}, {wanted}, "{rule} of {other}")?;'

    def function(self, call):
        name = ident(call.function["name"].removeprefix("lxla_"))
        is_unsafe = any(each["role"] in ("callback", "user", "dlpack") or is_raw(each) for each in call.inputs)
        given = {each["name"]: self.parameter(each) for each in call.inputs}
        made = {each["name"]: self.output(each, call) for each in call.outputs}
        steps = [self.length(ident(each), lists) for each, lists in call.lengths.items()]
        steps += [self.exact(*each) for each in derived(call)]
        steps += [bind for _, bind, _ in given.values() if bind] + [place for _, place, _, _ in made.values()]
        arguments = [
            given[each["name"]][2]
            if each["name"] in given
            else made[each["name"]][2]
            if each["name"] in made
            else ident(each["name"])
            for each in call.function["parameters"]
        ]
        parameters = ", ".join(f"{ident(each)}: {kind}" for each, (kind, _, _) in given.items())
        kinds, values = [of[0] for of in made.values()], [of[3] for of in made.values()]
        one = lambda all: all[0] if len(all) == 1 else f"({', '.join(all)})"
        body = "".join(f"    {step}\n" for step in steps)
        body += "    // SAFETY: every pointer is valid for the length that is passed with it.\n"
        body += (
            f"    check(unsafe {{ sys::{call.function['name']}({', '.join(arguments)}) }})?;\n    Ok({one(values)})\n"
        )
        head = f"pub {'unsafe ' if is_unsafe else ''}fn {name}({parameters}) -> Result<{one(kinds)}>"
        return f"\n{documented(call.function['doc'])}{head} {{\n{body}}}\n"

    def text(self):
        handles = [each for each in self.description["types"] if each["name"] in self.handles]
        handle = lambda of: HANDLE.format(doc=of["doc"].replace("\n", " "), rust=camel(of["name"]), c=of["name"])
        parts = [HEAD.replace("VERSION", self.description["version"], 1), self.constants(), *map(handle, handles)]
        return "".join([*parts, *map(self.function, calls(self.description)), self.c_module()])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(Generator().text())
