"""How a function of include/lazyxla.json is called from a language with lists and errors: which parameters the caller
gives, which are lengths of lists that it gives, and which are results. The generators of bindings share it, and its
declaration in C."""

import json
from pathlib import Path
from typing import NamedTuple

DESCRIPTION = Path(__file__).resolve().parents[2] / "include/lazyxla.json"


class Call(NamedTuple):
    """A function: what its caller gives, what it returns, and the lists that have each length."""

    function: dict
    inputs: list
    outputs: list
    lengths: dict

    def of(self, name):
        return next(each for each in self.function["parameters"] if each["name"] == name)


def described():
    return json.loads(DESCRIPTION.read_text())


def is_list(of):
    return of["role"] in ("list", "bytes", "output_bytes")


def is_raw(of):
    """Returns whether a list has pointers to memory that no length is known of."""
    return of["base"] == "void" and of["pointers"] == 2


def call(function):
    """Returns how a function is called. A length is the caller's if no list that it gives has this length."""
    parameters = function["parameters"]
    lengths = {}
    for each in parameters:
        if is_list(each) and "of" in each["length"]:
            lengths.setdefault(each["length"]["of"], []).append(each)
    is_output = lambda of: of["direction"] != "in" and of["role"] != "output_bytes"
    inputs = [each for each in parameters if not is_output(each) and each["name"] not in lengths]
    return Call(function, inputs, [each for each in parameters if is_output(each)], lengths)


def derived(call):
    """Returns the lists whose length is the `sum` or the `product` of the elements of another list, each with this rule
    and the name of the other list. C reads as many elements, so that a binding checks the length."""
    lists = [each for each in call.inputs if is_list(each)]
    rules = [(each, rule) for each in lists for rule in ("sum", "product") if rule in each["length"]]
    return [(each, rule, each["length"][rule]) for each, rule in rules]


def calls(description):
    """Returns the calls of all functions that return a status, without those that initialize or release something:
    bindings do both by themselves."""
    own = ("_options_init", "_release", "_retain", "_release_many")
    functions = description["functions"]
    return [call(each) for each in functions if each["result"] == "lxla_status" and not each["name"].endswith(own)]


def options(description):
    """Returns the structs whose first field is their size."""
    structs = [each for each in description["types"] if each["kind"] == "struct"]
    return [each for each in structs if each["fields"][0]["name"] == "struct_size"]


def ordered(types):
    """Returns types so that each follows those that it contains or points to."""
    by_name, done = {each["name"]: each for each in types}, {}

    def add(of):
        if of["name"] not in done:
            for each in of.get("fields", of.get("parameters", [])):
                if each["base"] in by_name:
                    add(by_name[each["base"]])
            done[of["name"]] = of

    for each in types:
        add(each)
    return list(done.values())


def variable(of):
    return f"{of['type']} {of['name']}" + (f"[{of['array']}]" if "array" in of else "")


def declaration(of):
    """Returns the declaration in C of a type or function."""
    members = [variable(each) for each in of.get("parameters", of.get("fields", []))]
    kind = of.get("kind")
    if kind == "alias":
        return f"typedef {of['type']} {of['name']};\n"
    if kind in ("struct", "union"):
        return f"typedef {kind} {of['name']} {{ {'; '.join(members)}; }} {of['name']};\n"
    name = f"(*{of['name']})" if kind else of["name"]
    return f"{'typedef ' if kind else ''}{of['result']} {name}({', '.join(members) or 'void'});\n"
