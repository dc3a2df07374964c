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
    "exceptions": {"fail", "tried", "on_error"},
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
# Members of classes, by which C++ reads.
MEMBERS = {"read"}


def names_of_c(text):
    """Returns the names of the header less `lx_`: functions, macros, and what its macros LX_UNARY_ and so on define."""
    names = set(re.findall(r"^(?:static inline [\w ]+?\*?|#define )lx_(\w+)\(", text, re.MULTILINE))
    names |= set(re.findall(r"^LX_UNARY_\(lx_(\w+)", text, re.MULTILINE))
    for name in re.findall(r"^LX_REDUCTION_\(lx_(\w+)", text, re.MULTILINE):
        names |= {name, f"{name}_along"}
    return names


def names_of_cpp(text):
    """Returns the names of functions of the namespace."""
    names = set(re.findall(r"^(?! )(?:inline |template <[^\n]*> )?[\w:<>, ]+ (\w+)\(", text, re.MULTILINE))
    for name in re.findall(r"^LAZYXLA_ALONG\((\w+)", text, re.MULTILINE):
        names |= {name, f"{name}_along"}
    return names


def main():
    folder = Path(sys.argv[1]) / "include"
    headers = [folder / "lazyxla_short.h", *(folder / "lazyxla_short").glob("*.h")]
    in_c = names_of_c("\n".join(path.read_text(encoding="utf-8") for path in headers))
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
    print("\n".join(problems) or f"{len(in_c - excepted)} names")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
