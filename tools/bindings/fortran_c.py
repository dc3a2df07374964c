"""The Fortran module of the plain C API: types, constants and interfaces with bind(c), from include/lazyxla.json.
fortran.py writes it before the modules that are built on it."""

import textwrap

from calls import ordered

KINDS = {
    "int32_t": "integer(c_int32_t)",
    "lxla_status": "integer(c_int32_t)",
    "uint32_t": "integer(c_int32_t)",  # Fortran has no unsigned integers: the same bits
    "int64_t": "integer(c_int64_t)",
    "uint64_t": "integer(c_int64_t)",
    "size_t": "integer(c_size_t)",
    "uint8_t": "integer(c_int8_t)",
    "double": "real(c_double)",
}
BYTES = {"int32_t": 4, "uint32_t": 4, "lxla_status": 4, "uint8_t": 1}
POINTER = "type(c_ptr)"
COLUMNS = 120


def wrapped(line, indent):
    """Returns a statement in lines of at most 120 columns, which are broken after commas outside strings."""
    if len(line) + len(indent) <= COLUMNS:
        return f"{indent}{line}\n"
    lines, rest = [], line
    while len(rest) + len(indent) + 2 > COLUMNS:
        ends = [i + 1 for i in range(COLUMNS - len(indent) - 4) if rest[i] == "," and rest.count('"', 0, i) % 2 == 0]
        assert ends, f"a statement without commas: {line}"
        end = ends[-1]
        lines.append(f"{rest[:end]} &")
        rest = "  " + rest[end:].lstrip()
    return "".join(f"{indent}{each}\n" for each in [*lines, rest])


def commented(doc, indent):
    lines = [part for line in doc.split("\n") for part in textwrap.wrap(line, COLUMNS - len(indent) - 2) or [""]]
    return "".join(f"{indent}! {line}".rstrip() + "\n" for line in lines)


class CModule:
    def __init__(self, description):
        self.description = description
        self.types = {each["name"]: each for each in description["types"]}

    def is_function(self, base):
        return base in self.types and self.types[base]["kind"] == "function"

    def value(self, base):
        """Returns the type of a value."""
        if self.is_function(base):
            return "type(c_funptr)"
        return KINDS.get(base) or f"type({base})"

    def measure(self, base, pointers):
        """Returns size and alignment of a field in bytes."""
        if pointers or self.is_function(base) or base not in self.types or base in BYTES:
            size = 8 if pointers else BYTES.get(base, 8)
            return size, size
        return self.size(self.types[base])

    def size(self, of):
        at, widest = 0, 1
        for each in of["fields"]:
            size, alignment = self.measure(each["base"], each["pointers"])
            size *= each.get("array", 1)
            if of["kind"] == "union":
                at, widest = max(at, size), max(widest, alignment)
            else:
                at, widest = (at + alignment - 1) // alignment * alignment + size, max(widest, alignment)
        return (at + widest - 1) // widest * widest, widest

    def field(self, of, struct):
        name, array = of["name"], f"({of['array']})" if "array" in of else ""
        if name == "struct_size":
            return f"integer(c_size_t) :: struct_size = {self.size(struct)[0]}"
        if of["pointers"]:
            return f"type(c_ptr) :: {name} = c_null_ptr"
        kind = self.value(of["base"])
        if kind == "type(c_funptr)":
            return f"type(c_funptr) :: {name} = c_null_funptr"
        zero = "" if kind.startswith("type") else " = 0"
        return f"{kind} :: {name}{array}{zero}"

    def struct(self, of):
        """Returns a struct with the defaults of its fields; a union as its largest member."""
        fields = of["fields"]
        if of["kind"] == "union":
            fields = [max(fields, key=lambda each: each.get("array", 1))]
        body = "".join(f"{commented(each['doc'], '    ')}    {self.field(each, of)}\n" for each in fields)
        return f"\n{commented(of['doc'], '  ')}  type, bind(c) :: {of['name']}\n{body}  end type\n"

    def parameter(self, of, is_callback=False):
        """Returns the declaration of a parameter. An optional one that is absent is NULL."""
        name, role, base = of["name"], of["role"], of["base"]
        optional = ", optional" if of.get("nullable") else ""
        if of["pointers"] == 0:
            return f"{self.value(base)}, value :: {name}"
        if role == "struct":
            return f"type({base}), intent(in){optional} :: {name}"
        if is_callback or role in ("bytes", "output_bytes", "user", "dlpack", "owned_string"):
            return f"type(c_ptr), value :: {name}"
        if role == "string":
            return f"character(kind=c_char), intent(in){optional} :: {name}(*)"
        kind = POINTER if of["pointers"] == 2 else self.value(base)
        intent = "in" if of["direction"] == "in" else "inout"
        array = "(*)" if role in ("list", "output_list") else ""
        return f"{kind}, intent({intent}){optional} :: {name}{array}"

    def interface(self, of, is_callback=False):
        names = ", ".join(each["name"] for each in of["parameters"])
        binding = "bind(c)" if is_callback else f'bind(c, name="{of["name"]}")'
        kind = "subroutine" if of["result"] == "void" else "function"
        body = wrapped(f"{kind} {of['name']}({names}) {binding}", "    ") + "      import\n"
        body += "".join(f"      {self.parameter(each, is_callback)}\n" for each in of["parameters"])
        if kind == "function":
            result = POINTER if of["result"] == "const char *" else KINDS[of["result"]]
            body += f"      {result} :: {of['name']}\n"
        return f"{commented(of['doc'], '    ')}{body}    end {kind}\n"

    def constants(self):
        made = ""
        for family in self.description["families"]:
            made += "\n" + commented(family["doc"], "  ")
            for each in family["constants"]:
                line = f"  integer(c_int32_t), parameter :: {each['name']} = {each['value']}"
                doc = f"  ! {each['doc']}"
                made += (line if "\n" in doc or len(line + doc) > COLUMNS else line + doc) + "\n"
        return made

    def text(self):
        types = ordered(self.description["types"])
        structs = "".join(self.struct(each) for each in types if each["kind"] in ("struct", "union"))
        callbacks = "".join(self.interface(each, True) for each in types if each["kind"] == "function")
        functions = "\n".join(self.interface(each) for each in self.description["functions"])
        abi = self.description["abi_version"]
        return (
            "! The C API of lazyxla, as it is in C: lxla_* with their names and arguments.\n"
            "module lazyxla_c\n  use, intrinsic :: iso_c_binding\n  implicit none\n  public\n"
            "  ! LXLA_ABI_VERSION of C; the function has that name in Fortran, which ignores case.\n"
            f"  integer(c_int32_t), parameter :: LXLA_ABI = {abi}\n{self.constants()}{structs}\n"
            f"  abstract interface\n{callbacks}  end interface\n\n  interface\n{functions}  end interface\n"
            "end module\n"
        )
