"""Arrays of each kind and rank in the Fortran binding: fortran.py writes their procedures."""

from fortran_operators import operators

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
    dims = reversed(sizes(shape(x, c_int64_t))){pack}
    tensor = host_tensor(LXLA_DTYPE_{dtype}, dims, {address}, {bytes}, env, device, stat, errmsg)
  end function
"""
READ = """
  subroutine read_{name}(tensor, x, stat, errmsg)
    type(lx_tensor), intent(in) :: tensor
    {kind}, intent(inout), target, contiguous :: x(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg{locals}
    integer(c_int64_t) :: n(rank(x))
    integer(c_int32_t) :: status
    n = sizes(shape(x, c_int64_t))
    call check_target(tensor, LXLA_DTYPE_{dtype}, n, status){before}
    if (status == LXLA_OK) status = lxla_tensor_read(handle_of(tensor), {address}, product(n) * ({bytes}))
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
RUN = """
  ! Runs an executable of one parameter and one result on arrays. The library compares their sizes with its types.
  subroutine run_{name}(executable, x, y, stat, errmsg)
    type(lx_executable), intent(in) :: executable
    {kind}, intent(in), target, contiguous :: x(..)
    {kind}, intent(inout), target, contiguous :: y(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_size_t) :: bytes(2)
    bytes(1) = product(sizes(shape(x, c_int64_t))) * (storage_size(x) / 8)
    bytes(2) = product(sizes(shape(y, c_int64_t))) * (storage_size(y) / 8)
    call lx_executable_run_host(executable, [c_loc(x)], bytes(1:1), [c_loc(y)], bytes(2:2), stat, errmsg)
  end subroutine
"""
RUN_KINDS = ("real32", "real64")
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


def array_procedures(name, kind, dtype):
    """Returns the procedures of a kind. A logical of Fortran has 4 bytes, an element of the tensor one."""
    names = {"name": name, "kind": kind, "dtype": dtype}
    words = {"locals": "", "address": "c_loc(x)", "bytes": "storage_size(x) / 8"}
    if name == "logical":
        words["locals"] = "\n    integer(c_int8_t), allocatable, target :: bytes(:)\n    logical, pointer :: flat(:)"
        words |= {"address": "c_loc(bytes)", "bytes": "1"}
        flat = "\n    call c_f_pointer(c_loc(x), flat, [product({n})])"
        pack = f"{flat.format(n='dims')}\n    bytes = merge(1_c_int8_t, 0_c_int8_t, flat)"
        made = FROM.format(pack=pack, **words, **names)
        before = "\n    allocate (bytes(product(n)))"
        made += READ.format(before=before, after=f"{flat.format(n='n')}\n    flat = bytes /= 0", **words, **names)
    else:
        made = FROM.format(pack="", **words, **names) + READ.format(before="", after="", **words, **names)
    sizes = lambda rank: ", ".join(f"n({i})" for i in range(1, rank + 1))
    ranks = "".join(TO_RANK.format(rank=each, sizes=sizes(each), **names) for each in RANKS)
    value = {"r": SET_REAL, "i": SET_INTEGER, "c": SET_COMPLEX, "l": SET_LOGICAL}[name[0]]
    made += TO.format(ranks=ranks, **names) + SCALAR.format(value=value, **names)
    return made + (RUN.format(**names) if name in RUN_KINDS else "")


ARRAYS = """! Arrays of Fortran as tensors, and operators.
module lazyxla_arrays
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use lazyxla_c
  use lazyxla_api
  implicit none
  private
  public :: lx_from_array, lx_read, lx_to_array, lx_scalar, lx_run
{public}{interfaces}
contains
{helpers}{procedures}end module
"""
HELPERS = """
  ! Returns sizes of a shape. gfortran says -1 for the size of an expression without elements.
  pure function sizes(given)
    integer(c_int64_t), intent(in) :: given(:)
    integer(c_int64_t) :: sizes(size(given))
    sizes = max(given, 0_c_int64_t)
  end function

  pure function reversed(list) result(made)
    integer(c_int64_t), intent(in) :: list(:)
    integer(c_int64_t) :: made(size(list))
    made = list(size(list):1:-1)
  end function

  function listed(list) result(text)
    integer(c_int64_t), intent(in) :: list(:)
    character(:), allocatable :: text
    character(24) :: word
    integer :: i
    text = "("
    do i = 1, size(list)
      write (word, "(i0)") list(i)
      text = text // trim(word)
      if (i < size(list)) text = text // ", "
    end do
    text = text // ")"
  end function

  function host_tensor(dtype, dims, data, element_bytes, env, device, stat, errmsg) result(tensor)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: dims(:)
    type(c_ptr), intent(in) :: data
    integer, intent(in) :: element_bytes
    type(lx_env), intent(in), optional :: env
    type(lxla_device), intent(in), optional :: device
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lx_tensor) :: tensor
    type(lxla_tensor) :: made
    integer(c_int32_t) :: status
    status = lxla_tensor_from_host(given_env(env), given_device(device), dtype, dims, size(dims, kind=c_size_t), &
                                   data, product(dims) * element_bytes, made)
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

  subroutine check_target(tensor, dtype, given, status)
    type(lx_tensor), intent(in) :: tensor
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int64_t), intent(in) :: given(:)
    integer(c_int32_t), intent(out) :: status
    integer(c_int64_t), allocatable :: n(:)
    integer(c_int32_t) :: of
    call drain()
    call shape_of(tensor, n, of, status)
    if (status /= LXLA_OK) return
    if (of /= dtype) then
      call refuse("lx_read: x: an array of " // lx_dtype_name(dtype) // "; the tensor is " // lx_dtype_name(of) // &
                  ": convert it by lx_convert", status)
    else if (size(n) /= size(given)) then
      call refuse("lx_read: x: shape " // listed(given) // "; want " // listed(n), status)
    else if (any(n /= given)) then
      call refuse("lx_read: x: shape " // listed(given) // "; want " // listed(n), status)
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
    public, interfaces, functions = operators(KINDS)
    for generic, specific in (
        ("lx_from_array", "from"),
        ("lx_read", "read"),
        ("lx_to_array", "to"),
        ("lx_scalar", "scalar"),
    ):
        names = ", ".join(f"{specific}_{name}" for name, _, _ in KINDS)
        listed = names.replace("_int32, ", "_int32, &\n      ")
        interfaces += f"\n  interface {generic}\n    module procedure {listed}\n  end interface\n"
    listed = ", ".join(f"run_{name}" for name in RUN_KINDS)
    interfaces += f"\n  interface lx_run\n    module procedure {listed}\n  end interface\n"
    procedures = functions + "".join(array_procedures(*each) for each in KINDS)
    return ARRAYS.format(public=public, interfaces=interfaces, helpers=HELPERS, procedures=procedures)
