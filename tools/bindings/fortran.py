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
from calls import calls, described
from fortran_arguments import Argument, Arguments
from fortran_arrays import arrays
from fortran_c import CModule, commented, wrapped
from fortran_handles import handles

SOURCES = Path(__file__).resolve().parents[2] / "bindings/fortran"
# Lengths that a caller states without the list.
COUNTED = {"lxla_fft": "n_lengths"}
# Calls that compute or count what is alive: what was dropped is released before.
COMPUTING = set(
    "mark_step step_tensors sync wait tensor_wait_for tensor_read tensor_shard_read executable_run save save_with_options "
    "save_async save_async_with_options stablehlo step_stablehlo graph_hash compiled_memory find_nonfinite report "
    "env_counter env_metrics_json env_metrics_reset live_tensors_json device_memory_stats".split()
)


class Api(Arguments):
    """Writes the procedures."""

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
        function, outputs = call.function, call.outputs
        name, lengths = function["name"].replace("lxla_", "lx_", 1), self.lengths(function)
        inputs = [each for each in function["parameters"] if each not in outputs and each["name"] not in lengths]
        given = {each["name"]: self.input(each, function) for each in inputs}
        made = {each["name"]: self.output(each) for each in outputs}
        is_function = len(outputs) == 1 and not outputs[0]["nullable"]
        is_function = is_function and (outputs[0]["role"] != "output_list" or "fixed" in outputs[0]["length"])
        result = outputs[0] if is_function else None
        arguments = {**given, **({} if is_function else {key: of[0] for key, of in made.items()})}
        every = {**given, **{key: of[0] for key, of in made.items()}}
        order, declarations = self.declared(function, arguments, every.values(), lengths)
        steps = ["c_status = LXLA_OK"] + ["call drain()"] * (name.removeprefix("lx_") in COMPUTING)
        if is_function:
            declarations.append(made[result["name"]][2])
            steps += self.initial(result)
        steps += [step for each, lists in lengths.items() for step in self.length(each, lists, function)]
        steps += self.checks(name, inputs) + self.derived(function)
        steps += [step for each in every.values() for step in each.before]
        passed = lambda of: every[of["name"]].passed if of["name"] in every else of["name"]
        actual = ", ".join(map(passed, function["parameters"]))
        steps.append(f"if (c_status == LXLA_OK) c_status = {function['name']}({actual})")
        steps.append("if (failed(c_status, stat, errmsg)) return" if outputs else "call finish(c_status, stat, errmsg)")
        steps += [of[1] for of in made.values()]
        return self.procedure(name, order, declarations, steps, function, result and result["name"])

    def declared(self, function, arguments, every, lengths):
        """Returns the arguments in their order, optional ones last, and all declarations."""
        if function["name"] in COUNTED:
            count = f"count_{COUNTED[function['name']]}"
            arguments[count] = Argument(f"integer, intent(in), optional :: {count}", "", True)
        last = [key for key, of in arguments.items() if of.is_optional and key in ("env", "device")]
        order = [key for key, of in arguments.items() if not of.is_optional]
        order += [key for key, of in arguments.items() if of.is_optional and key not in last] + last
        declarations = [arguments[key].declaration for key in order]
        declarations += ["integer, intent(out), optional :: stat", "character(*), intent(inout), optional :: errmsg"]
        for each in every:
            declarations += [each.local] if isinstance(each.local, str) else each.local
        declarations += [f"integer(c_size_t) :: {each}" for each in lengths] + ["integer(c_int32_t) :: c_status"]
        return [*order, "stat", "errmsg"], declarations

    def initial(self, result):
        """Returns the statement that defines a result in case the call fails; structs have a default."""
        if result["base"].startswith("lxla_"):
            return []
        value = '""' if result["type"] == "char **" else "c_null_ptr" if result["base"] == "void" else "0"
        return [f"{result['name']} = {'.false.' if result.get('flag') else value}"]

    def checks(self, name, inputs):
        """Returns the checks of strings."""
        steps = []
        for each in inputs:
            if each["base"] == "char" and each["role"] in ("string", "list"):
                check = "check_texts" if each["role"] == "list" else "check_text"
                step = f'call {check}({each["name"]}, "{name}: {each["name"]}", c_status)'
                steps.append(f"if (present({each['name']})) {step}" if each["nullable"] else step)
        return steps

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
