"""What the Fortran binding has for each kind of number and each operator: fortran.py writes it."""

from fortran_c import wrapped

# Kinds of arrays: name, declaration, dtype, and the kind of elements that are passed if it is another one.
KINDS = [
    ("real32", "real(real32)", "F32"),
    ("real64", "real(real64)", "F64"),
    ("int8", "integer(int8)", "S8"),
    ("int16", "integer(int16)", "S16"),
    ("int32", "integer(int32)", "S32"),
    ("int64", "integer(int64)", "S64"),
    ("complex32", "complex(real32)", "C64"),
    ("complex64", "complex(real64)", "C128"),
    ("logical", "logical", "PRED"),
]
RANKS = range(1, 8)
FROM = """
  function from_{name}(x, env, device, stat, errmsg) result(tensor)
    {kind}, intent(in), target, contiguous :: x(..)
    type(lx_env), intent(in), optional :: env
    type(lxla_device), intent(in), optional :: device
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lx_tensor) :: tensor
    integer(c_int64_t) :: dims(rank(x)){locals}
    dims = reversed(shape(x, c_int64_t)){pack}
    tensor = host_tensor(LXLA_DTYPE_{dtype}, dims, {address}, {size}, env, device, stat, errmsg)
  end function
"""
READ = """
  subroutine read_{name}(tensor, x, stat, errmsg)
    type(lx_tensor), intent(in) :: tensor
    {kind}, intent(inout), target, contiguous :: x(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg{locals}
    integer(c_int32_t) :: status
    call check_target(tensor, LXLA_DTYPE_{dtype}, shape(x, c_int64_t), status){before}
    if (status == LXLA_OK) status = lxla_tensor_read(handle_of(tensor), {address}, {size})
    if (failed(status, stat, errmsg)) return{after}
  end subroutine
"""
TO = """
  subroutine to_{name}(tensor, x, stat, errmsg)
    type(lx_tensor), intent(in) :: tensor
    {kind}, intent(inout), allocatable :: x(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable :: n(:)
    integer(c_int32_t) :: status
    call wanted_shape(tensor, rank(x), n, status)
    if (failed(status, stat, errmsg)) return
    select rank (x)
{ranks}    end select
  end subroutine
"""
TO_RANK = """    rank ({rank})
      if (allocated(x)) deallocate (x)
      allocate (x({sizes}))
      call read_{name}(tensor, x, stat, errmsg)
"""
SCALAR = """
  elemental function scalar_{name}(x) result(scalar)
    {kind}, intent(in) :: x
    type(lxla_scalar) :: scalar
    scalar%dtype = LXLA_DTYPE_{dtype}
    {value}
  end function
"""
SET_REAL = "scalar%value%c(1) = real(x, real64)"
SET_INTEGER = "scalar%value%c(1) = transfer(int(x, int64), 0.0_real64)"
SET_COMPLEX = "scalar%value%c = [real(x, real64), real(aimag(x), real64)]"
SET_LOGICAL = "scalar%value%c(1) = transfer(merge(1_int64, 0_int64, x), 0.0_real64)"
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


def operators():
    """Returns the interfaces of operators, and the functions behind them."""
    declaration = {"tensor": "type(lx_tensor)", **{name: kind for name, kind, _ in KINDS}}
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
    for generic, constant in UNARY:
        name = constant.lower()
        interfaces += f"\n  interface {generic}\n    module procedure {name}\n  end interface\n"
        functions += UNARY_FUNCTION.format(name=name, constant=constant)
    return interfaces, functions


def array_procedures(name, kind, dtype):
    """Returns the procedures of a kind. A logical of Fortran has 4 bytes, an element of the tensor one."""
    names = {"name": name, "kind": kind, "dtype": dtype}
    words = {"locals": "", "address": "c_loc(x)", "size": "size(x, kind=c_size_t) * (storage_size(x) / 8)"}
    if name == "logical":
        words["locals"] = "\n    integer(c_int8_t), allocatable, target :: bytes(:)\n    logical, pointer :: flat(:)"
        words |= {"address": "c_loc(bytes)", "size": "size(bytes, kind=c_size_t)"}
        flat = "\n    call c_f_pointer(c_loc(x), flat, [size(x, kind=c_int64_t)])"
        pack = f"{flat}\n    bytes = merge(1_c_int8_t, 0_c_int8_t, flat)"
        made = FROM.format(pack=pack, **words, **names)
        before = "\n    allocate (bytes(size(x, kind=c_int64_t)))"
        made += READ.format(before=before, after=f"{flat}\n    flat = bytes /= 0", **words, **names)
    else:
        made = FROM.format(pack="", **words, **names) + READ.format(before="", after="", **words, **names)
    sizes = lambda rank: ", ".join(f"n({i})" for i in range(1, rank + 1))
    ranks = "".join(TO_RANK.format(rank=each, sizes=sizes(each), **names) for each in RANKS)
    value = {"r": SET_REAL, "i": SET_INTEGER, "c": SET_COMPLEX, "l": SET_LOGICAL}[name[0]]
    return made + TO.format(ranks=ranks, **names) + SCALAR.format(value=value, **names)


ARRAYS = """! Arrays of Fortran as tensors, and operators.
module lazyxla_arrays
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use lazyxla_c
  use lazyxla_api
  implicit none
  private
  public :: lx_from_array, lx_read, lx_to_array, lx_scalar
{public}{interfaces}
contains
{helpers}{procedures}end module
"""
HELPERS = """
  pure function reversed(list) result(made)
    integer(c_int64_t), intent(in) :: list(:)
    integer(c_int64_t) :: made(size(list))
    made = list(size(list):1:-1)
  end function

  function listed(sizes) result(text)
    integer(c_int64_t), intent(in) :: sizes(:)
    character(:), allocatable :: text
    character(24) :: word
    integer :: i
    text = "("
    do i = 1, size(sizes)
      write (word, "(i0)") sizes(i)
      text = text // trim(word)
      if (i < size(sizes)) text = text // ", "
    end do
    text = text // ")"
  end function

  function host_tensor(dtype, dims, data, size_bytes, env, device, stat, errmsg) result(tensor)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: dims(:)
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: size_bytes
    type(lx_env), intent(in), optional :: env
    type(lxla_device), intent(in), optional :: device
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lx_tensor) :: tensor
    type(lxla_tensor) :: made
    integer(c_int32_t) :: status
    status = lxla_tensor_from_host(given_env(env), given_device(device), dtype, dims, size(dims, kind=c_size_t), &
                                   data, size_bytes, made)
    if (.not. failed(status, stat, errmsg)) call take_over(tensor, made)
  end function

  ! Returns the shape of a tensor as a Fortran array: its sizes in reverse.
  subroutine shape_of(tensor, n, dtype, status)
    type(lx_tensor), intent(in) :: tensor
    integer(c_int64_t), allocatable, intent(out) :: n(:)
    integer(c_int32_t), intent(out) :: dtype, status
    integer(c_int64_t) :: dims(64)
    integer(c_size_t) :: rank
    status = lxla_tensor_info(handle_of(tensor), dtype, rank, dims, 64_c_size_t)
    if (status /= LXLA_OK) return
    n = dims(rank:1:-1)
  end subroutine

  subroutine check_target(tensor, dtype, sizes, status)
    type(lx_tensor), intent(in) :: tensor
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: sizes(:)
    integer(c_int32_t), intent(out) :: status
    integer(c_int64_t), allocatable :: n(:)
    integer(c_int32_t) :: given
    call shape_of(tensor, n, given, status)
    if (status /= LXLA_OK) return
    if (given /= dtype) then
      call refuse("lx_read: x: an array of " // lx_dtype_name(dtype) // "; the tensor is " // lx_dtype_name(given) // &
                  ": convert it by lx_convert", status)
    else if (size(n) /= size(sizes)) then
      call refuse("lx_read: x: shape " // listed(sizes) // "; want " // listed(n), status)
    else if (any(n /= sizes)) then
      call refuse("lx_read: x: shape " // listed(sizes) // "; want " // listed(n), status)
    end if
  end subroutine

  subroutine wanted_shape(tensor, rank, n, status)
    type(lx_tensor), intent(in) :: tensor
    integer, intent(in) :: rank
    integer(c_int64_t), allocatable, intent(out) :: n(:)
    integer(c_int32_t), intent(out) :: status
    integer(c_int32_t) :: dtype
    character(24) :: word
    call shape_of(tensor, n, dtype, status)
    if (status /= LXLA_OK) return
    write (word, "(i0)") rank
    if (size(n) /= rank) call refuse("lx_to_array: x: rank " // trim(word) // "; want shape " // listed(n), status)
  end subroutine
"""


def arrays():
    """Returns the module lazyxla_arrays."""
    interfaces, functions = operators()
    for generic, specific in (
        ("lx_from_array", "from"),
        ("lx_read", "read"),
        ("lx_to_array", "to"),
        ("lx_scalar", "scalar"),
    ):
        names = ", ".join(f"{specific}_{name}" for name, _, _ in KINDS)
        listed = names.replace("_int32, ", "_int32, &\n      ")
        interfaces += f"\n  interface {generic}\n    module procedure {listed}\n  end interface\n"
    public = [symbol if symbol[0].isalpha() else f"operator({symbol})" for _, symbol, _, _ in OPERATORS]
    public += [generic for generic, _ in UNARY if generic not in public]
    procedures = functions + "".join(array_procedures(*each) for each in KINDS)
    listed = wrapped(f"public :: {', '.join(public)}", "  ")
    return ARRAYS.format(public=listed, interfaces=interfaces, helpers=HELPERS, procedures=procedures)
