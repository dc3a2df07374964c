"""Writes the Fortran binding of the C API, from include/lazyxla.json: python fortran.py OUTPUT.f90

    use lazyxla
    type(lx_tensor) :: x, y
    y = lx_softmax(x, -1)

The file has four modules: `lazyxla_c`, the plain C API; `lazyxla_api`, owned handles and a procedure lx_* for each
function, which takes arrays, strings and logicals; `lazyxla_arrays`, arrays of Fortran and operators; `lazyxla`, which
is written by hand in bindings/fortran, and is what programs use. Lengths of lists are not arguments. Arguments that may
be absent come last: NULL, env and device, `stat` and `errmsg`. A failed call sets these two, or stops the program."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True  # leaves no caches beside the sources
from calls import calls, described, is_raw
from fortran_arrays import arrays
from fortran_c import CModule, commented, wrapped
from fortran_handles import handles

SOURCES = Path(__file__).resolve().parents[2] / "bindings/fortran"
# Flags that are 0 unless they are given. Others have no common default.
OPTIONAL_FLAGS = {"keep_dims", "wait", "reverse", "descending"}
# Lengths that a caller states without the list.
COUNTED = {"lxla_fft": "n_lengths"}
# A trace takes its device from its parameters unless it is stated.
NO_DEFAULT_DEVICE = {"lxla_tracing_begin"}
# Integers that may be larger than a default integer.
WIDE = {"lxla_random_integers": ("low", "high"), "lxla_executable_run_host": ("input_sizes", "output_sizes")}
# Calls that compute or count what is alive: what was dropped is released before.
COMPUTING = {
    "mark_step",
    "step_tensors",
    "sync",
    "wait",
    "stablehlo",
    "step_stablehlo",
    "graph_hash",
    "compiled_memory",
}
COMPUTING |= {
    "env_counter",
    "env_metrics_json",
    "env_metrics_reset",
    "live_tensors_json",
    "device_memory_stats",
    "report",
}
COMPUTING |= {"tensor_read", "tensor_shard_read", "save", "save_with_options", "save_async", "save_async_with_options"}
INTEGERS = {"int64_t", "size_t"}


class Argument:
    """How an argument is declared, and passed to C: statements before the call, and the expression."""

    def __init__(self, declaration, passed, is_optional=False, local="", before=()):
        self.declaration, self.passed, self.is_optional = declaration, passed, is_optional
        self.local, self.before = local, list(before)


class Api:
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

    def lengths(self, function):
        """Returns the lists that have each length, in the order of the parameters. Bytes have a length of the caller's."""
        lists = {}
        for each in function["parameters"]:
            if each["role"] in ("list", "output_list") and "of" in each["length"]:
                lists.setdefault(each["length"]["of"], []).append(each)
        return lists

    def length(self, name, lists, function):
        """Returns the statements that set a length and check that all lists which are given have it."""
        words = f"{function['name'].replace('lxla_', 'lx_', 1)}: {', '.join(each['name'] for each in lists)}"
        steps = [f"{name} = unknown"]
        for each in lists:
            times = each["length"].get("times", 1)
            step = f'call set_length({name}, ubound({each["name"]}, 1, c_size_t), {times}, "{words}", c_status)'
            steps.append(f"if (present({each['name']})) {step}" if each["nullable"] else step)
        if function["name"] in COUNTED:
            steps.append(f"if (present(count_{name}) .and. {name} == unknown) {name} = count_{name}")
        return [*steps, f"{name} = max({name}, 0_c_size_t)"]

    def derived(self, function):
        """Returns the checks of lists whose length follows from the elements of another list."""
        steps = []
        for each in function["parameters"]:
            of = each.get("length", {})
            rule = next((rule for rule in ("sum", "product") if rule in of), None)
            if rule and each["role"] == "list":
                words = f"{function['name'].replace('lxla_', 'lx_', 1)}: {each['name']}, {of[rule]}"
                step = f'call check_length(ubound({each["name"]}, 1), {rule}({of[rule]}), "{words}", c_status)'
                steps.append(f"if (present({each['name']})) {step}" if each["nullable"] else step)
        return steps

    def function(self, call):
        function, name = call.function, call.function["name"].replace("lxla_", "lx_", 1)
        lengths, outputs = self.lengths(function), call.outputs
        inputs = [each for each in function["parameters"] if each not in outputs and each["name"] not in lengths]
        given = {each["name"]: self.input(each, function) for each in inputs}
        made = {each["name"]: self.output(each) for each in outputs}
        is_function = len(outputs) == 1 and not outputs[0]["nullable"]
        is_function = is_function and (outputs[0]["role"] != "output_list" or "fixed" in outputs[0]["length"])
        arguments = {**given, **({} if is_function else {key: of[0] for key, of in made.items()})}
        if function["name"] in COUNTED:
            count = f"count_{COUNTED[function['name']]}"
            arguments[count] = Argument(f"integer, intent(in), optional :: {count}", "", True)
        last = [key for key, of in arguments.items() if of.is_optional and key in ("env", "device")]
        order = [key for key, of in arguments.items() if not of.is_optional]
        order += [key for key, of in arguments.items() if of.is_optional and key not in last] + last
        declarations = [arguments[key].declaration for key in order]
        declarations += ["integer, intent(out), optional :: stat", "character(*), intent(inout), optional :: errmsg"]
        every = [*given.values(), *(of[0] for of in made.values())]
        for each in every:
            declarations += [each.local] if isinstance(each.local, str) else each.local
        declarations += [f"integer(c_size_t) :: {each}" for each in lengths] + ["integer(c_int32_t) :: c_status"]
        if is_function:
            declarations.append(made[outputs[0]["name"]][2])
        steps = ["c_status = LXLA_OK"] + ["call drain()"] * (name.removeprefix("lx_") in COMPUTING)
        if is_function and outputs[0]["type"] == "char **":
            steps.append(f'{outputs[0]["name"]} = ""')
        elif is_function and outputs[0]["base"] not in self.handles and not outputs[0]["base"].startswith("lxla_"):
            zero = ".false." if outputs[0].get("flag") else "c_null_ptr" if outputs[0]["base"] == "void" else "0"
            steps.append(f"{outputs[0]['name']} = {zero}")
        steps += [step for each, lists in lengths.items() for step in self.length(each, lists, function)]
        texts = [each for each in inputs if each["role"] in ("string", "list") and each["base"] == "char"]
        check = 'call check_text{2}({0}, "{1}: {0}", c_status)'
        steps += [
            f"if (present({each['name']})) " * each["nullable"]
            + check.format(each["name"], name, "s" * (each["role"] == "list"))
            for each in texts
        ]
        steps += self.derived(function) + [step for each in every for step in each.before]
        passed = {key: of.passed for key, of in zip([*given, *made], every)}
        actual = ", ".join(passed.get(each["name"], each["name"]) for each in function["parameters"])
        steps.append(f"if (c_status == LXLA_OK) c_status = {function['name']}({actual})")
        steps.append("if (failed(c_status, stat, errmsg)) return" if outputs else "call finish(c_status, stat, errmsg)")
        steps += [of[1] for of in made.values()]
        return self.procedure(
            name, [*order, "stat", "errmsg"], declarations, steps, function, is_function and outputs[0]["name"]
        )

    def procedure(self, name, order, declarations, steps, function, result):
        kind = "function" if result else "subroutine"
        head = f"{kind} {name}({', '.join(order)})" + (f" result({result})" if result else "")
        body = "".join(wrapped(each, "    ") for each in [*filter(None, declarations), *steps])
        return f"\n{commented(function['doc'], '  ')}{wrapped(head, '  ')}{body}  end {kind}\n"

    def text_function(self, function):
        """Returns a function whose result is a string in static memory."""
        names = ", ".join(each["name"] for each in function["parameters"])
        body = "".join(f"    integer(c_int32_t), intent(in) :: {each['name']}\n" for each in function["parameters"])
        body += f"    character(:), allocatable :: text\n    text = text_of({function['name']}({names}))\n"
        name = function["name"].replace("lxla_", "lx_", 1)
        return f"\n{commented(function['doc'], '  ')}  function {name}({names}) result(text)\n{body}  end function\n"

    def text(self):
        template = (SOURCES / "lazyxla_api.f90").read_text()
        texts = [each for each in self.description["functions"] if each["result"] == "const char *"]
        functions = "".join([*map(self.text_function, texts), *map(self.function, calls(self.description))])
        before, after = template.split("! FUNCTIONS\n")
        types, procedures = handles(self.handles)
        return f"{before.replace('  ! TYPES' + chr(10), types)}{procedures}{functions}{after}"


def main(output):
    description = described()
    c = CModule(description)
    head = "! Written by tools/bindings/fortran.py from include/lazyxla.json of lazyxla {}; do not edit.\n"
    parts = [head.format(description["version"]), c.text(), Api(description, c).text(), arrays()]
    parts.append((SOURCES / "lazyxla.f90").read_text())
    Path(output).write_text("\n".join(parts))


if __name__ == "__main__":
    main(sys.argv[1])
