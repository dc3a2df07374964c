"""C and C++ have the same short names: python short_names_test.py SOURCE_TREE

Each function lx_NAME of include/lazyxla_short.h is a function NAME of include/lazyxla/*.hpp, but for those that C++ has
another form for. The names of names.hpp and networks.hpp are in C, but for those that C has no need of."""

import re
import sys
from pathlib import Path

# Names of C that C++ has another form for, or that other functions of the header use alone.
C_ONLY = {
    "operators": {"add", "sub", "mul", "div"},
    "destructors": {"scope", "open", "close", "keep", "own", "note", "release_all"},
    "exceptions": {"fail", "tried", "on_error", "enter", "leave"},
    "Place, UseDevice and Tensor::assign": {"use", "use_device", "set"},
    "parts of other functions": {
        *("array_of", "binary_of", "compare_of", "where_of", "of_number", "of_tensor", "number_like", "holds"),
        *(
            "read_to",
            "reshape_to",
            "is_tensor_there",
            "pooled",
            "print_to",
            "print_axis",
            "print_element",
            "printed_dtype",
        ),
    },
}
# Names of C++ that C has no overloads, templates or axes for.
CPP_ONLY = {"variance", "standard_deviation", "expand_dims", "squeeze", "flip"}
# Functions of C whose calls do not note their place: they fail for no reason that a program has, or are parts.
WITHOUT_PLACE = {
    *("fail", "tried", "note", "open", "close", "keep", "on_error", "use", "use_device", "of_tensor", "of_number"),
    *("enter", "leave"),
    *("holds", "is_tensor_there", "number_like", "pooled", "print_element", "print_axis", "printed_dtype"),
}
# Members of classes, by which C++ reads.
MEMBERS = {"read"}


def functions_of_c(text):
    """Returns the names of the header's functions less `lx_`, with what its macros LX_UNARY_ and so on define."""
    names = set(re.findall(r"^static inline [\w ]+?\*?lx_(\w+)\(", text, re.MULTILINE))
    names |= set(re.findall(r"^LX_UNARY_\(lx_(\w+)", text, re.MULTILINE))
    for name in re.findall(r"^LX_REDUCTION_\(lx_(\w+)", text, re.MULTILINE):
        names |= {name, f"{name}_along"}
    return names


def names_of_c(text):
    """Returns the names of the header less `lx_`: functions and macros."""
    return functions_of_c(text) | set(re.findall(r"^#define lx_(\w+)\(", text, re.MULTILINE))


def without_place(text):
    """Returns the functions whose calls should note their place, and do not, and those that need none, and do."""
    noted = set(re.findall(r"^#define lx_(\w+)\(\.\.\.\) LX_AT_\(lx_\1\(__VA_ARGS__\)\)$", text, re.MULTILINE))
    return noted ^ (functions_of_c(text) - WITHOUT_PLACE)


def names_of_cpp(text):
    """Returns the names of functions of the namespace."""
    names = set(re.findall(r"^(?! )(?:inline |template <[^\n]*> )?[\w:<>, ]+ (\w+)\(", text, re.MULTILINE))
    for name in re.findall(r"^LAZYXLA_ALONG\((\w+)", text, re.MULTILINE):
        names |= {name, f"{name}_along"}
    return names


def main():
    folder = Path(sys.argv[1]) / "include"
    headers = [folder / "lazyxla_short.h", *(folder / "lazyxla_short").glob("*.h")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in headers)
    in_c = names_of_c(text)
    texts = {path.name: path.read_text(encoding="utf-8") for path in (folder / "lazyxla").glob("*.hpp")}
    in_cpp = {name: names_of_cpp(re.sub(r"namespace detail \{.*?\}  // namespace detail", "", text, flags=re.DOTALL))
              for name, text in texts.items()}  # fmt: skip
    everywhere = set().union(*in_cpp.values())
    excepted = set().union(*C_ONLY.values())
    assert len(in_c) > 100 and len(in_cpp["networks.hpp"]) > 5, "few names found"
    problems = [f"C++ lacks `{name}` of lazyxla_short.h" for name in sorted(in_c - excepted - MEMBERS - everywhere)]
    ours = in_cpp["names.hpp"] | in_cpp["networks.hpp"]
    problems += [f"lazyxla_short.h lacks `lx_{name}`" for name in sorted(ours - CPP_ONLY - in_c)]
    problems += [f"lazyxla_short.h has no `lx_{name}`, which is excepted" for name in sorted(excepted - in_c)]
    problems += [f"places.h: see `lx_{name}`" for name in sorted(without_place(text))]
    print("\n".join(problems) or f"{len(in_c - excepted)} names")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
