"""How the procedures of the Fortran binding take the parameters of C, and return its outputs: fortran.py writes them."""

from calls import is_raw

# Flags that are 0 unless they are given. Others have no common default.
OPTIONAL_FLAGS = {"keep_dims", "wait", "reverse", "descending"}
# A trace takes its device from its parameters unless it is stated.
NO_DEFAULT_DEVICE = {"lxla_tracing_begin"}
# Integers that may be larger than a default integer.
WIDE = {"lxla_random_integers": ("low", "high"), "lxla_executable_run_host": ("input_sizes", "output_sizes")}
INTEGERS = {"int64_t", "size_t"}


class Argument:
    """How an argument is declared, and passed to C: statements before the call, and the expression."""

    def __init__(self, declaration, passed, is_optional=False, local="", before=()):
        self.declaration, self.passed, self.is_optional = declaration, passed, is_optional
        self.local, self.before = local, list(before)


class Arguments:
    def __init__(self, description, c):
        self.description, self.c = description, c
        self.handles = [each["name"] for each in description["types"] if each.get("handle")]

    def owner(self, base):
        return base.replace("lxla_", "lx_", 1)

    def scalar(self, of, function):
        name, base = of["name"], of["base"]
        if base in self.handles:
            optional = name == "env"
            passed = f"given_env({name})" if optional else f"handle_of({name})"
            return Argument(
                f"type({self.owner(base)}), intent(in){', optional' * optional} :: {name}", passed, optional
            )
        if base == "lxla_device":
            passed = "stated_device" if function["name"] in NO_DEFAULT_DEVICE else "given_device"
            return Argument("type(lxla_device), intent(in), optional :: device", f"{passed}({name})", True)
        if of["role"] == "callback":
            optional = ", optional" * of["nullable"]
            before = f"if (present({name})) c_{name} = c_funloc({name})" if optional else f"c_{name} = c_funloc({name})"
            before = [f"c_{name} = c_null_funptr", before]
            declaration, local = f"procedure({base}){optional} :: {name}", f"type(c_funptr) :: c_{name}"
            return Argument(declaration, f"c_{name}", of["nullable"], local, before)
        if of.get("flag"):
            optional = name in OPTIONAL_FLAGS
            return Argument(f"logical, intent(in){', optional' * optional} :: {name}", f"flag_of({name})", optional)
        if base in INTEGERS and not self.is_wide(of, function):
            return Argument(f"integer, intent(in) :: {name}", f"int({name}, {self.kind(base)})")
        kind = self.c.value(base)
        return Argument(f"{kind}, intent(in) :: {name}", name)

    def kind(self, base):
        return self.c.value(base).split("(")[1].rstrip(")")

    def is_wide(self, of, function):
        lengths = [each["length"]["of"] for each in function["parameters"] if each["role"] in ("bytes", "output_bytes")]
        return of["name"] in lengths or of["name"] in WIDE.get(function["name"], ())

    def bytes(self, of):
        name, intent = of["name"], "in" if of["role"] == "bytes" else "inout"
        if of.get("ownership") == "until_release":
            return Argument(f"type(c_ptr), intent(in) :: {name}", name)
        optional = of["nullable"]
        if not optional:
            return Argument(f"type(*), intent({intent}), target :: {name}(*)", f"c_loc({name})")
        before = [f"c_{name} = c_null_ptr", f"if (present({name})) c_{name} = c_loc({name})"]
        declaration = f"type(*), intent({intent}), target, optional :: {name}(*)"
        return Argument(declaration, f"c_{name}", True, f"type(c_ptr) :: c_{name}", before)

    def list(self, of, function):
        name, base, optional = of["name"], of["base"], of["nullable"]
        if is_raw(of):
            return Argument(f"type(c_ptr), intent(in) :: {name}(:)", name)
        if base == "char":
            locals = (
                f"character(kind=c_char), allocatable, target :: b_{name}(:, :)",
                f"type(c_ptr), allocatable :: c_{name}(:)",
            )
            before = [f"call c_texts({name}, b_{name}, c_{name})"]
            return Argument(f"character(*), intent(in) :: {name}(:)", f"c_{name}", False, locals, before)
        if base in self.handles:
            kind, made, local = f"type({self.owner(base)})", f"handles_of({name})", f"type({base})"
        elif base not in INTEGERS or self.is_wide(of, function):
            kind, made, local = self.c.value(base), name, self.c.value(base)
        else:
            kind, made, local = "integer", f"int({name}, {self.kind(base)})", self.c.value(base)
        if not optional:
            return Argument(f"{kind}, intent(in) :: {name}(:)", made)
        before = [f"if (present({name})) allocate (c_{name}, source={made})"]
        declaration = f"{kind}, intent(in), optional :: {name}(:)"
        return Argument(declaration, f"c_{name}", True, f"{local}, allocatable :: c_{name}(:)", before)

    def input(self, of, function):
        name, role = of["name"], of["role"]
        if role == "string" and of["nullable"]:
            local = f"character(kind=c_char), allocatable :: c_{name}(:)"
            before = [f"if (present({name})) allocate (c_{name}, source=c_characters({name}))"]
            return Argument(f"character(*), intent(in), optional :: {name}", f"c_{name}", True, local, before)
        if role == "string":
            return Argument(f"character(*), intent(in) :: {name}", f"c_text({name})")
        if role in ("bytes", "output_bytes"):
            return self.bytes(of)
        if role == "list":
            return self.list(of, function)
        if role == "struct":
            optional = ", optional" * of["nullable"]
            return Argument(f"type({of['base']}), intent(in){optional} :: {name}", name, of["nullable"])
        if role == "user":
            return Argument(f"type(c_ptr), intent(in), optional :: {name}", f"pointer_or_null({name})", True)
        if role == "dlpack":
            return Argument(f"type(c_ptr), intent(in) :: {name}", name)
        return self.scalar(of, function)

    def output(self, of):
        """Returns the argument of an output, and the statement that sets it after the call."""
        name, base, optional = of["name"], of["base"], of.get("nullable", False)
        word = ", optional" * optional
        is_list = of["role"] == "output_list"
        fixed = of["length"].get("fixed") if is_list else None
        shape = f"({fixed})" if fixed else "(:)" if is_list else ""
        if base in self.handles:
            local, intent, kind = f"type({base})", "inout", f"type({self.owner(base)})"
            owned = "take_over" if of["ownership"] == "caller" else "borrow"
            after = f"call {owned}({name}, c_{name})"
        elif of["type"] == "char **":
            local, kind, intent, after = "type(c_ptr)", "character(:), allocatable", "out", f"{name} = taken(c_{name})"
        elif of.get("flag"):
            local, kind, intent, after = "integer(c_int32_t)", "logical", "out", f"{name} = c_{name} == 1"
        elif base in INTEGERS and not is_list:
            local, kind, intent, after = self.c.value(base), "integer", "out", f"{name} = int(c_{name})"
        else:
            local = "type(c_ptr)" if base == "void" else self.c.value(base)
            kind, intent, after = local, "out", f"{name} = c_{name}"
        if is_list and not fixed:
            size = f"allocate (c_{name}(ubound({name}, 1)))"
            local, before = f"{local}, allocatable :: c_{name}(:)", size
        else:
            local, before = f"{local}{', allocatable' * optional} :: c_{name}{shape}", f"allocate (c_{name})" * optional
        if optional:
            before, after = f"if (present({name})) {before}", f"if (present({name})) {after}"
        made = Argument(
            f"{kind}, intent({intent}){word} :: {name}{shape}", f"c_{name}", optional, local, [before] * bool(before)
        )
        return made, after, f"{kind} :: {name}{shape}"
