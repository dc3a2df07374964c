"""Options of plugins as JSON texts, most of which are wrong: python fuzz_options.py /path/to/liblazyxla.so [texts]
[seed]

Whether a text is right is decided here again, by Python's parser and the documented rules, and the library has to
decide the same. A refusal has to name the byte or the option. No plugin is started."""

import ctypes
import json
import random
import re
import struct
import sys
from ctypes import byref

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import ctypes_test as abi

OK, INVALID_ARGUMENT = abi.OK, abi.INVALID_ARGUMENT
UNUSED = 2**64 - 1
MOST_DEVICES = 1023
NAMES = ["a", "b", "", "ü", "a b", "\\u0041", '\\"', "cpu_device_count", "node_id", "num_nodes", "x" * 300]
VALUES = [
    "1",
    "-1",
    "0",
    "-0",
    "2",
    "01",
    "1.5",
    "1e3",
    "-2E-2",
    "1e39",
    "1e400",
    "1.",
    ".5",
    "+1",
    "0x1",
    "NaN",
    "Infinity",
    str(2**63 - 1),
    str(-(2**63)),
    str(2**63),
    "9" * 30,
    "true",
    "false",
    "null",
    "tru",
    "[]",
    "[1]",
    "[1, -2,3]",
    "[1.0]",
    "[true]",
    "[null]",
    '["1"]',
    "[[1]]",
    "[1,]",
    "[",
    "{}",
    '{"c": 1}',
    '""',
    '"text"',
    '"ü"',
    '"\\n"',
    '"\\u00e9"',
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"\\x"',
    '"\t"',
    '"',
    "'text'",
    "1024",
    "1023",
    "",
]
NOISE = list('{}[],:"\\ \n\t01.-+eEtrufalsn') + ["ü", "\x7f", "\\u"]


class Wrong(Exception):
    pass


def constant(name):
    raise ValueError(name)


def has_surrogates(text):
    return any(0xD800 <= ord(c) <= 0xDFFF for c in text)


def is_value(name, value):
    """Whether an option may have a value."""
    if isinstance(value, bool):
        right = True
    elif isinstance(value, int):
        right = -(2**63) <= value < 2**63
    elif isinstance(value, float):
        try:
            struct.pack("<f", value)  # native floats would be infinite before Python 3.12
            right = abs(value) != float("inf")
        except OverflowError:
            right = False
    elif isinstance(value, str):
        right = not has_surrogates(value)
    elif isinstance(value, list):
        right = all(type(each) is int and -(2**63) <= each < 2**63 for each in value)
    else:
        right = False
    least = {"cpu_device_count": 1, "num_nodes": 1, "node_id": 0}.get(name)
    if least is not None:
        right = right and type(value) is int and value >= least
    return right and (name != "cpu_device_count" or value <= MOST_DEVICES)


def is_right(text):
    try:
        pairs = json.loads(text, object_pairs_hook=lambda pairs: ("object", pairs), parse_constant=constant)
    except (ValueError, RecursionError):
        return False
    if not isinstance(pairs, tuple):
        return False
    names = [name for name, _ in pairs[1]]
    return len(set(names)) == len(names) and all(not has_surrogates(n) and is_value(n, v) for n, v in pairs[1])


def random_text(rng):
    """Returns an object of random members, which may be changed in a few places."""
    space = lambda: rng.choice(["", "", " ", "\n", "\t "])
    member = lambda: f'{space()}"{rng.choice(NAMES)}"{space()}:{space()}{rng.choice(VALUES)}{space()}'
    text = space() + "{" + ",".join(member() for _ in range(rng.choice([0, 1, 1, 2, 3]))) + "}" + space()
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        at = rng.randrange(len(text) + 1)
        text = rng.choice([text[:at] + rng.choice(NOISE) + text[at:], text[:at] + text[at + 1 :], text[:at]])
    return text


def check(text):
    given = text.encode()
    options = abi.EnvOptions(struct_size=ctypes.sizeof(abi.EnvOptions), plugin_options=given)
    env = abi.Env(UNUSED)
    status = abi.lib.lxla_env_create(byref(options), byref(env))
    right = is_right(text)
    if (status == OK) != right:
        raise Wrong(
            f"{text!r}: status {status}, want {'success' if right else 'a refusal'}: "
            f"{abi.lib.lxla_last_error_message()}"
        )
    if status == OK:
        abi.release(env)
        return True
    message = abi.lib.lxla_last_error_message().decode()
    place = re.match(r"lxla_env_create: options\.plugin_options: (?:byte (\d+): |\"cpu_device_count\" is )", message)
    if status != INVALID_ARGUMENT or env.id != UNUSED or not place:
        raise Wrong(f"{text!r}: status {status}, {message}")
    if place.group(1) and int(place.group(1)) > len(given):
        raise Wrong(f"{text!r} has {len(given)} bytes: {message}")
    return False


def main():
    abi.load(sys.argv[1])
    texts = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    try:
        accepted = sum(check(random_text(rng)) for _ in range(texts))
    except Wrong as wrong:
        print(wrong)
        return 1
    print(f"{texts} texts, of which {accepted} were accepted")
    return 0 if texts < 1000 or accepted > texts // 20 else 1


if __name__ == "__main__":
    sys.exit(main())
