"""The operators and intrinsic functions of the Fortran binding: fortran.py writes them."""

from fortran_c import wrapped

# Operators: name, symbol, the function of C, and its constant.
OPERATORS = [
    ("add", "+", "binary", "BINARY_ADD"),
    ("subtract", "-", "binary", "BINARY_SUBTRACT"),
    ("multiply", "*", "binary", "BINARY_MULTIPLY"),
    ("divide", "/", "binary", "BINARY_DIVIDE"),
    ("power", "**", "binary", "BINARY_POWER"),
    ("eq", "==", "compare", "COMPARE_EQ"),
    ("ne", "/=", "compare", "COMPARE_NE"),
    ("lt", "<", "compare", "COMPARE_LT"),
    ("le", "<=", "compare", "COMPARE_LE"),
    ("gt", ">", "compare", "COMPARE_GT"),
    ("ge", ">=", "compare", "COMPARE_GE"),
    ("and", ".and.", "binary", "BINARY_AND"),
    ("or", ".or.", "binary", "BINARY_OR"),
    ("remainder", "mod", "binary", "BINARY_REMAINDER"),
    ("modulo", "modulo", "binary", "BINARY_MODULO"),
    ("atan2", "atan2", "binary", "BINARY_ATAN2"),
    ("maximum", "max", "binary", "BINARY_MAXIMUM"),
    ("minimum", "min", "binary", "BINARY_MINIMUM"),
]
# Functions of one tensor: the intrinsic function, or an operator, and its constant.
UNARY = [
    ("operator(-)", "UNARY_NEGATE"),
    ("operator(.not.)", "UNARY_NOT"),
    ("abs", "UNARY_ABS"),
    ("exp", "UNARY_EXPONENTIAL"),
    ("log", "UNARY_LOG"),
    ("log10", "UNARY_LOG10"),
    ("sqrt", "UNARY_SQRT"),
    ("sin", "UNARY_SINE"),
    ("cos", "UNARY_COSINE"),
    ("tan", "UNARY_TAN"),
    ("asin", "UNARY_ASIN"),
    ("acos", "UNARY_ACOS"),
    ("atan", "UNARY_ATAN"),
    ("sinh", "UNARY_SINH"),
    ("cosh", "UNARY_COSH"),
    ("tanh", "UNARY_TANH"),
    ("asinh", "UNARY_ASINH"),
    ("acosh", "UNARY_ACOSH"),
    ("atanh", "UNARY_ATANH"),
    ("log_gamma", "UNARY_LGAMMA"),
    ("conjg", "UNARY_CONJ"),
    ("bessel_j0", "UNARY_BESSEL_J0"),
    ("bessel_j1", "UNARY_BESSEL_J1"),
    ("bessel_y0", "UNARY_BESSEL_Y0"),
    ("bessel_y1", "UNARY_BESSEL_Y1"),
]
UNARY_FUNCTION = """
  function {name}(x) result(made)
    type(lx_tensor), intent(in) :: x
    type(lx_tensor) :: made
    made = lx_unary(LXLA_{constant}, x)
  end function
"""
OPERANDS = ["real32", "real64", "int32", "int64"]
OPERATOR = """
  function {name}(left, right) result(made)
    {left}, intent(in) :: left
    {right}, intent(in) :: right
    type(lx_tensor) :: made
    made = {call}
  end function
"""
# Reductions: the intrinsic function and its constant.
REDUCTIONS = [
    ("sum", "REDUCE_SUM"),
    ("product", "REDUCE_PRODUCT"),
    ("maxval", "REDUCE_MAX"),
    ("minval", "REDUCE_MIN"),
    ("all", "REDUCE_ALL"),
    ("any", "REDUCE_ANY"),
]
REDUCTION = """
  ! Returns the reduction of all elements, or along a dimension of Fortran, which `keep_dims` keeps with size 1.
  function {name}(x, dim, keep_dims) result(made)
    type(lx_tensor), intent(in) :: x
    integer, intent(in), optional :: dim
    logical, intent(in), optional :: keep_dims
    type(lx_tensor) :: made
    if (.not. present(dim)) then
      made = lx_reduce(LXLA_{constant}, x, keep_dims=keep_dims)
    else if (dim < 1) then
      error stop "{generic}: dim: dimensions are counted from 1"
    else
      made = lx_reduce(LXLA_{constant}, x, [-dim], keep_dims)
    end if
  end function
"""


def operators(kinds):
    """Returns the statement that makes operators public, their interfaces, and the functions behind them."""
    declaration = {"tensor": "type(lx_tensor)", **{name: kind for name, kind, _ in kinds}}
    interfaces, functions = "", ""
    for name, symbol, function, constant in OPERATORS:
        pairs = [("tensor", "tensor")]
        if not symbol.startswith("."):
            pairs += [("tensor", each) for each in OPERANDS] + [(each, "tensor") for each in OPERANDS]
        names = [f"{name}_{left}_{right}" for left, right in pairs]
        generic = symbol if symbol[0].isalpha() else f"operator({symbol})"
        listed = ", &\n      ".join(names)
        interfaces += f"\n  interface {generic}\n    module procedure {listed}\n  end interface\n"
        for (left, right), each in zip(pairs, names):
            made = f"lx_{function}(LXLA_{constant}, left, right)"
            if left != "tensor" or right != "tensor":
                of, scalar, on_left = ("right", "left", ".true.") if right == "tensor" else ("left", "right", ".false.")
                made = f"lx_{function}_with_scalar(LXLA_{constant}, {of}, lx_scalar({scalar}), {on_left})"
            functions += OPERATOR.format(name=each, left=declaration[left], right=declaration[right], call=made)
    one = [(UNARY_FUNCTION, *each) for each in UNARY] + [(REDUCTION, *each) for each in REDUCTIONS]
    for template, generic, constant in one:
        name = constant.lower()
        interfaces += f"\n  interface {generic}\n    module procedure {name}\n  end interface\n"
        functions += template.format(name=name, constant=constant, generic=generic)
    public = [symbol if symbol[0].isalpha() else f"operator({symbol})" for _, symbol, _, _ in OPERATORS]
    public += [generic for generic, _ in UNARY + REDUCTIONS if generic not in public]
    return wrapped(f"public :: {', '.join(public)}", "  "), interfaces, functions
