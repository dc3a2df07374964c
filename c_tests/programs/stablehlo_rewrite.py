"""Programs of StableHLO's own tests as programs that return what they check beside what is expected, and programs of
free sizes with sizes that are known."""

import re

CHECK = re.compile(r'^(\s*)(?:(%\w+)\s*=\s*)?"?(?:stablehlo\.custom_call @)?check\.(\w+)"?(.*)$')
END = re.compile(r"(tensor<[^=]*>|\(\)|> \(\))\s*(loc\(.*\))?\s*$")
RETURN = re.compile(r'\s*"?(func\.)?return"?')


def parts_of(text):
    """Splits a list at the commas outside of brackets."""
    parts, depth, part = [], 0, ""
    for before, character in zip(" " + text, text, strict=False):
        depth += character in "<({["
        depth -= character in ">)}]" and not (character == ">" and before == "-")
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    return [*parts, part.strip()] if part.strip() else parts


def closing(text, opening):
    """The place of the parenthesis that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(text)):
        depth += text[place] == "("
        depth -= text[place] == ")"
        if depth == 0:
            return place
    raise ValueError(f"no end of {text[opening : opening + 40]}")


def modules(text):
    """The modules of a file that check something."""
    return [part for part in re.split(r"\n// -----.*\n", text) if "check." in part]


def functions(lines):
    """The first and the last line of each function."""
    found, start, indent = [], None, 0
    for number, line in enumerate(lines):
        if re.match(r"\s*func\.func ", line):
            start, indent = number, len(line) - len(line.lstrip())
        elif start is not None and line.startswith(" " * indent + "}"):
            found.append((start, number))
            start = None
    return found


def pair_of(check, number):
    """The two values that a check compares, their types, its kind, and the lines that stand in its place."""
    indent, result, kind, rest = check.groups()
    if kind.endswith("_const"):
        generic = re.search(r"\{value = (dense.* : tensor<[^{}]*>)\}>? : ", rest)
        constant = generic[1] if generic else re.sub(r",\s*tolerance\s*=\s*[^ ]+", "", rest.split(",", 1)[1].strip())
        ty = constant.rsplit(" : ", 1)[1].strip()
        lines = [f"{indent}%wanted{number} = stablehlo.constant {constant}"]
        return re.findall(r"%\w+(?:#\d+)?", rest)[0], f"%wanted{number}", ty, ty, kind, lines
    types = parts_of(rest.rsplit(" : ", 1)[1].split(") ->")[0].strip().strip("()"))
    lines = [f"{indent}{result} = stablehlo.constant dense<true> : tensor<i1>"] if result else []
    return (*re.findall(r"%\w+(?:#\d+)?", rest)[:2], types[0], types[-1], kind, lines)


def checking(module):
    """Yields the functions of a module that check something: name, and a program in which the function has the pairs of
    compared values as its results, with the kinds of the checks."""
    lines = module.split("\n")
    for start, end in functions(lines):
        body, pairs, inner = [], [], lines[start + 1 : end]
        number = 0
        while number < len(inner):
            line = inner[number]
            number += 1
            if not CHECK.match(line) or line.strip().startswith("//"):
                body.append(line)
                continue
            while not END.search(line) and number < len(inner):
                line += " " + inner[number].strip()
                number += 1
            check = CHECK.match(line)
            if not check[3].startswith("expect_serialized"):
                *pair, made = pair_of(check, len(pairs))
                pairs.append(pair)
                body += made
        returns = [place for place, line in enumerate(body) if RETURN.match(line)]
        if not pairs or not returns:
            continue
        types = ", ".join(f"{pair[2]}, {pair[3]}" for pair in pairs)
        values = ", ".join(f"{pair[0]}, {pair[1]}" for pair in pairs)
        name = re.search(r'@([\w.\-]+|"[^"]*")\s*\(', lines[start])
        head = lines[start][: closing(lines[start], name.end() - 1) + 1] + f" -> ({types}) {{"
        body = [*body[: returns[-1]], f"    func.return {values} : {types}"]
        yield name[1].strip('"'), "\n".join([*lines[:start], head, *body, *lines[end:]]), [pair[4] for pair in pairs]


def with_sizes(text, size, constants):
    """A program with free sizes, whose first `constants` parameters of type tensor<i64> are this size, as a program
    whose `main` has the other parameters with this size. Returns it with the types of these parameters."""
    start = re.search(r"func\.func public @main\(", text)
    end = closing(text, start.end() - 1)
    arguments = [re.match(r"%\w+: (.*?)(?: \{.*\})?$", part)[1] for part in parts_of(text[start.end() : end])]
    listed = re.match(r"\s*->\s*(.*?)\s*\{\s*\n", text[end + 1 :])[1]
    results = [re.sub(r"\s*\{.*\}$", "", part) for part in parts_of(listed[1:-1])] if listed[0] == "(" else [listed]
    body, passed, parameters = [], [], []
    for number, ty in enumerate(arguments):
        if ty == "tensor<i64>" and number < constants:
            body.append(f"%c{number} = stablehlo.constant dense<{size}> : tensor<i64>")
            passed.append(f"%c{number}")
            continue
        fixed = ty.replace("?", str(size))
        parameters.append((f"%p{number}", fixed))
        if fixed != ty:
            body.append(f"%q{number} = stablehlo.convert %p{number} : ({fixed}) -> {ty}")
        passed.append(f"%p{number}" if fixed == ty else f"%q{number}")
    made = "%r" if len(results) == 1 else f"%r:{len(results)}"
    values = ["%r"] if len(results) == 1 else [f"%r#{number}" for number in range(len(results))]
    given, wanted = ", ".join(arguments), ", ".join(results)
    body.append(f"{made} = func.call @inner_main({', '.join(passed)}) : ({given}) -> ({wanted})")
    body.append(f"func.return {', '.join(values)} : {wanted}")
    head = ", ".join(f"{name}: {ty}" for name, ty in parameters)
    main = f"func.func public @main({head}) -> ({wanted}) {{\n" + "\n".join(body) + "\n}\n"
    inner = text.replace("func.func public @main(", "func.func private @inner_main(")
    place = re.search(r"module.*\{\n", inner).end()
    return inner[:place] + main + inner[place:], [ty for _, ty in parameters]
