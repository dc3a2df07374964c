"""Signatures and documentation of functions that calls make at the top level of a Python file, such as
`sin = _unary("sin", c.UNARY_SINE, "Returns sines.")`, from the text of the file: nothing runs.

A maker defines a function, sets its `__doc__`, and returns it. `_EXAMPLES` of the file has a call and its result for
each name, which a loop at the end of the file adds to the documentation."""

import ast
from dataclasses import dataclass


@dataclass
class Made:
    signature: str
    doc: str


class Unknown(Exception):
    """An expression that is not read."""


def value_of(node, names):
    """Returns the value of an expression of constants, names, tuples, f-strings and sums."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Tuple(elts=elements):
            return tuple(value_of(each, names) for each in elements)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return value_of(left, names) + value_of(right, names)
        case ast.JoinedStr(values=parts):
            return "".join(str(value_of(each, names)) for each in parts)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return value_of(value, names)
    raise Unknown(ast.unparse(node))


def parts_of(maker):
    """Returns the function that a function makes, and the expression of its documentation; None if it makes none."""
    inner = [each for each in maker.body if isinstance(each, ast.FunctionDef)]
    docs = [
        each.value
        for each in maker.body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[-1]) == f"{inner and inner[0].name}.__doc__"
    ]
    return (inner[0], docs[0]) if len(inner) == 1 and len(docs) == 1 else None


def arguments_of(maker, call, names):
    """Returns the arguments of a call of a maker that can be read, by the names of the parameters."""
    parameters = maker.args
    keywords = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    given = {each.arg: default for each, default in keywords if default is not None}
    given |= {each.arg: argument for each, argument in zip(parameters.args, call.args, strict=False)}
    given |= {each.arg: each.value for each in call.keywords}
    found = {}
    for name, node in given.items():
        try:
            found[name] = value_of(node, names)
        except Unknown:
            pass  # such as the number of the operation
    return found


def made_functions(text):
    """Returns the functions that calls make in the text of a file, by name."""
    constants, makers, made, examples = {}, {}, {}, {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            parts = parts_of(node)
            makers |= {node.name: (node, *parts)} if parts else {}
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
            continue
        name, value = node.targets[0].id, node.value
        if name == "_EXAMPLES":
            examples = ast.literal_eval(value)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in makers:
            maker, inner, doc = makers[value.func.id]
            given = arguments_of(maker, value, constants)
            returns = f" -> {ast.unparse(inner.returns)}" if inner.returns else ""
            made[name] = Made(f"{name}({ast.unparse(inner.args)}){returns}", value_of(doc, constants | given))
            if given.get("kinds"):
                made[name].doc += f"\n\nDtypes: {', '.join(given['kinds'])}."
        else:
            try:
                constants[name] = value_of(value, constants)
            except Unknown:
                pass
    for name, (call, result) in examples.items():
        made[name].doc += f"\n\n>>> import lazyxla as lx\n>>> {call}\n{result}\n"
    return made
