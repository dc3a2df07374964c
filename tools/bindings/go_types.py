"""Types of the Go package: constants, handles and structs, and how values go to C and back. go.py writes the package."""

from calls import calls, described, is_list, is_raw, options

NUMBERS = {"double": "float64", "int32_t": "int32", "int64_t": "int", "size_t": "int", "uint64_t": "uint64"}
ENUMS = {
    "LXLA_DTYPE_": "Dtype",
    "LXLA_KIND_": "Kind",
    "LXLA_MIXED_": "MixedPolicy",
    "LXLA_DEVICE_": "DeviceKind",
    "LXLA_STATE_": "State",
    "LXLA_CHECKPOINT_": "CheckpointPolicy",
    "LXLA_EXPORT_": "ExportFormat",
    "LXLA_RNG_": "RngAlgorithm",
    "LXLA_CUSTOM_CALL_": "CustomCallVersion",
}
KEYWORDS = {"select", "func", "range", "type", "map", "return", "default", "interface", "package", "var", "case"}
# The function of C that calls a function of Go, and the type of the latter.
CALLBACKS = {
    "lxla_log_fn": ("lxla_go_log", "func(level int32, message string)"),
    "lxla_memory_fn": ("lxla_go_memory", "func(bytes uint64) bool"),
    "lxla_release_fn": ("lxla_go_release", "func()"),
    "lxla_ready_fn": ("lxla_go_ready", "func(err error)"),
    "lxla_kernel_fn": ("lxla_go_kernel", "*Kernel"),
}

HANDLE = """
// {go} is a handle of lxla_{name}; a nil *{go} is the null handle.
//
{doc}type {go} struct{{ object }}

func (h *{go}) c() C.lxla_{name} {{
	if h == nil {{
		return C.lxla_{name}{{}}
	}}
	return C.lxla_{name}{{id: h.object.c()}}
}}

// Release gives the handle back now; the collector does so later. A call with a released handle fails with
// [StatusInvalidHandle]. It may be called more than once.
func (h *{go}) Release() {{
	if h != nil {{
		h.object.release()
	}}
}}

func own{go}(made C.lxla_{name}) *{go} {{
	if made.id == 0 {{
		return nil
	}}
	h := &{go}{{}}
	h.object.own(C.GO_{upper}, made.id)
	runtime.SetFinalizer(h, func(h *{go}) {{ h.object.discard() }})
	return h
}}

func list{go}(all []*{go}) *C.lxla_{name} {{
	if all == nil {{
		return nil
	}}
	made := make([]C.lxla_{name}, len(all)+1)
	for i, each := range all {{
		made[i] = each.c()
	}}
	return &made[0]
}}

func own{go}List(all []C.lxla_{name}) []*{go} {{
	made := make([]*{go}, len(all))
	for i, each := range all {{
		made[i] = own{go}(each)
	}}
	return made
}}
"""


def camel(name):
    return "".join(word[:1].upper() + word[1:].lower() for word in name.removeprefix("lxla_").split("_"))


def ident(name):
    made = name[0] + camel(name)[1:] if not name.endswith("_") else ident(name[:-1])
    return made + "_" if made in KEYWORDS else made


def comment(text, indent=""):
    """Returns a comment, with lists as gofmt writes them."""
    made, is_item = "", False
    for line in text.split("\n"):
        is_item = line.startswith("- ") or (is_item and line.startswith("  "))
        made += f"{indent}// {'  ' * is_item}{line}".rstrip().replace("''", "\u2033") + "\n"
    return made


class Types:
    LISTS = {"int64_t": "intsOf", "uint8_t": "bytesOf"}

    def __init__(self):
        self.description = described()
        self.types = {each["name"]: each for each in self.description["types"]}
        self.handles = [each["name"] for each in self.description["types"] if each.get("handle")]
        own = ("lxla_kernel_call", "lxla_key_value_store")  # bindings/go/callbacks.go has these two
        self.structs = [each for each in options(self.description) if each["name"] not in own]
        self.calls = calls(self.description)
        outputs = [each for call in self.calls for each in call.outputs]
        self.results = {camel(each["base"]) for each in outputs if each["direction"] == "inout"}

    # --- Types ---

    def enum(self, prefix):
        return "Status" if prefix == "LXLA_" else ENUMS.get(prefix) or camel(prefix[:-1].removeprefix("LXLA_")) + "Op"

    def constants(self):
        made = ""
        for family in self.description["families"]:
            rows = family["constants"]
            kind = "Switch" if rows[0]["name"] == "LXLA_ON" else self.enum(family["prefix"])
            stem = {"Switch": "", "Status": "Status"}.get(kind, camel(family["prefix"][5:-1]))
            row = lambda of: (
                f"{comment(of['doc'], chr(9))}\t{stem}{camel(of['name'].removeprefix(family['prefix']))}"
                f" {kind} = {of['value']}\n"
            )
            made += f"\n// {kind} has the constants {family['prefix']}* of C.\ntype {kind} int32\n"
            made += f"\nconst (\n{chr(10).join(map(row, rows))})\n"
        return made

    def scalar(self, of):
        """Returns the type in Go of a value, or of an element of a list."""
        base = of["base"]
        if base in self.handles:
            return "*" + camel(base)
        if is_raw(of):
            return "[]byte"
        if base == "char":
            return "string"
        if base == "void":
            return "unsafe.Pointer"
        if of.get("flag"):
            return "bool"
        if of.get("switch"):
            return "Switch"
        return self.enum(of["enum"]) if "enum" in of else NUMBERS.get(base) or camel(base)

    def type(self, of):
        if of["role"] == "callback":
            return CALLBACKS[of["type"]][1]
        if is_raw(of) and is_list(of):
            return "[][]byte"
        if of["role"] in ("bytes", "output_bytes"):
            return "unsafe.Pointer" if of.get("ownership") == "until_release" else "[]byte"
        if of["role"] == "list":
            return "[]" + self.scalar(of)
        is_pointer = of["role"] == "struct" and of["base"] != "lxla_key_value_store"
        return "*" + camel(of["base"]) if is_pointer else self.scalar(of)

    def is_hidden(self, struct, field):
        """Returns whether the binding sets a field: the size, lengths of lists, callbacks that free the user's
        pointer. `spatial_rank` is a length that means something without lists."""
        is_length = bool(self.lists(struct, field)) and field["name"] != "spatial_rank"
        return field["name"] in ("struct_size", "reserved") or field["role"] == "callback" or is_length

    def lists(self, struct, field):
        """Returns the lists of a struct that have the length `field`."""
        return [each for each in struct["fields"] if each.get("length", {}).get("of") == field["name"]]

    def struct(self, of):
        name, fields = camel(of["name"]), [each for each in of["fields"] if not self.is_hidden(of, each)]
        row = lambda each: f"{comment(each['doc'], chr(9))}\t{camel(each['name'])} {self.type(each)}\n"
        head = f"\n// {name} is {of['name']}.\n//\n{comment(of['doc'])}type {name} struct {{\n"
        made = f"{head}{chr(10).join(map(row, fields))}}}\n"
        if name in self.results:
            row = lambda each: f"\tto.{camel(each['name'])} = {self.from_c(each, 'made.' + each['name'])}\n"
            head = f"\nfunc new{name}(made *C.{of['name']}) (to {name}) {{\n"
            return f"{made}{head}{''.join(map(row, fields))}\treturn to\n}}\n"
        steps = [f"made := (*C.{of['name']})(s.zeroed(C.sizeof_{of['name']}))"]
        for each in of["fields"]:
            steps += self.field(of, each)
        body = "".join(f"\t{step}\n" for step in steps)
        head = f"\nfunc (o *{name}) c(s *scratch) *C.{of['name']} {{\n\tif o == nil {{\n\t\treturn nil\n\t}}\n"
        return f"{made}{head}{body}\treturn made\n}}\n"

    def field(self, struct, of):
        """Returns the statements that set a field of a struct of C."""
        go, to, lists = f"o.{camel(of['name'])}", f"made.{of['name']}", self.lists(struct, of)
        if of["name"] == "struct_size":
            return [f"{to} = C.sizeof_{struct['name']}"]
        if lists:
            lengths = [self.length(f"o.{camel(each['name'])}", {**each, "nullable": True}) for each in lists]
            lengths += [] if self.is_hidden(struct, of) else [f"unlessZero({go})"]
            names = ", ".join(camel(each["name"]) for each in lists)
            return [f'{to} = C.size_t(s.common("{names}", {", ".join(lengths)}))']
        if self.is_hidden(struct, of):
            return []
        checks = self.exact(of, lambda name: f"o.{camel(name)}")
        return [f"{to} = {self.to_c({**of, 'in_struct': True}, go)}", *checks]

    # --- Between Go and C ---

    def length(self, name, of):
        """Returns the length of a list in Go, in units of the length in C."""
        made = f"optional({name})" if of["nullable"] else f"len({name})"
        if "times" in of["length"]:
            return f's.divided("{of["name"]}", {made}, {of["length"]["times"]})'
        return f"less({made}, {of['length']['plus']})" if "plus" in of["length"] else made

    def exact(self, of, name):
        """Returns the statement that checks a length which is a sum or product of another list: C reads so much."""
        made = [(how, of["length"][how]) for how in ("sum", "product") if how in of.get("length", {})]
        given = f"{name(of['name'])} != nil" if of.get("nullable") else "true"
        size = f"len({name(of['name'])})"
        return [f's.exactly("{of["name"]}", {given}, {size}, {how}({name(other)}))' for how, other in made]

    def to_c(self, of, name):
        """Returns the value in C of a value in Go. What a struct points to is copied to memory of C."""
        base, role = of["base"], of["role"]
        if role == "string":
            return f's.{"optionalText" if of["nullable"] else "text"}("{of["name"]}", {name})'
        if role in ("list", "bytes", "output_bytes"):
            return self.list_to_c(of, name)
        if base == "lxla_key_value_store":
            return f"storeOf({name}, s)"
        if role == "struct":
            return f"{name}.c(&s)"
        if base in self.handles or base == "lxla_device":
            return f"{name}.c()"
        if base == "void":
            return name
        if of.get("flag"):
            return f"flag({name})"
        return f's.size("{of["name"]}", {name})' if base == "size_t" else f"C.{base}({name})"

    def list_to_c(self, of, name):
        base = of["base"]
        if is_raw(of):
            return f"s.buffers({name})"
        if base == "char" and of["role"] == "list":
            return f's.texts("{of["name"]}", {name})'
        if base in self.handles:
            return f"list{camel(base)}({name})"
        if of.get("ownership") == "until_release":
            return f"(*C.uint8_t)({name})"
        pointer = f"s.copied(bytesOf({name}))" if of.get("in_struct") else f"first({name})"
        return f"(*C.{'uint8_t' if base == 'void' else base})({pointer})"

    def from_c(self, of, name):
        base = of["base"]
        if of.get("direction") == "inout":
            return f"new{camel(base)}(&{name})"
        if of["role"] == "output_list":
            return f"own{camel(base)}List({name})" if base in self.handles else f"{self.LISTS[base]}({name})"
        if base in self.handles:
            return f"{'own' if of['ownership'] == 'caller' else 'borrow'}{camel(base)}({name})"
        if of["type"] == "char **":
            return f"ownText({name})"
        if base in ("lxla_device", "lxla_scalar"):
            return f"new{camel(base)}({name})"
        return f"{name} == 1" if of.get("flag") else name if base == "void" else f"{self.scalar(of)}({name})"
