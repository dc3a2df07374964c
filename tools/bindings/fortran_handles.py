"""The types of owned handles in the Fortran binding, and their procedures: fortran.py writes them."""

HANDLE_TYPES = """
  ! Owns one reference of a lxla_{name}. Null until it is set.
  type, public :: lx_{name}
    private
    type(owner), allocatable :: owner
  contains
    procedure, private :: assign_{name}
    generic :: assignment(=) => assign_{name}
    procedure :: release => release_{name}
    procedure :: is_null => {name}_is_null
  end type
"""
HANDLE_PROCEDURES = """
  ! Gives `left` a reference of its own, and releases what it held.
  impure elemental subroutine assign_{name}(left, right)
    class(lx_{name}), intent(inout) :: left
    type(lx_{name}), intent(in) :: right
    type(lxla_{name}) :: made
    made = handle_of(right)
    if (made%id /= 0) call refer(made)
    if (made%id /= 0 .or. allocated(left%owner)) call own(left%owner, made%id, {kind})
  end subroutine

  impure elemental subroutine release_{name}(self)
    class(lx_{name}), intent(inout) :: self
    if (allocated(self%owner)) deallocate (self%owner)
    call drain()
  end subroutine

  elemental logical function {name}_is_null(self)
    class(lx_{name}), intent(in) :: self
    {name}_is_null = .true.
    if (allocated(self%owner)) {name}_is_null = self%owner%id == 0
  end function

  subroutine refer_{name}(made)
    type(lxla_{name}), intent(inout) :: made
    {refer}
  end subroutine

  ! Returns the handle of C, which stays the variable's to release. A variable that was never set has the null handle.
  elemental function {name}_handle(self) result(made)
    type(lx_{name}), intent(in) :: self
    type(lxla_{name}) :: made
    if (allocated(self%owner)) made%id = self%owner%id
  end function

  function {name}_handles(list) result(made)
    type(lx_{name}), intent(in) :: list(:)
    type(lxla_{name}) :: made(size(list))
    made = handle_of(list)
  end function

  ! Makes `self` the owner of a reference that a call of C returned.
  impure elemental subroutine take_{name}(self, made)
    type(lx_{name}), intent(inout) :: self
    type(lxla_{name}), intent(in) :: made
    call own(self%owner, made%id, {kind})
  end subroutine

  ! The same for a reference that is borrowed, and must not be released: it gets one of its own.
  subroutine borrow_{name}(self, made)
    type(lx_{name}), intent(inout) :: self
    type(lxla_{name}), intent(in) :: made
    type(lxla_{name}) :: own_one
    own_one = made
    if (own_one%id /= 0) call refer(own_one)
    call take_over(self, own_one)
  end subroutine
"""
RETAIN = "if (lxla_{name}_retain(made) /= LXLA_OK) made%id = 0"
# An assignment copies a value, as for all types of Fortran: in-place operations on one variable leave the other alone.
SNAPSHOT = """type(lxla_tensor) :: copy
    if (lxla_tensor_snapshot(made, copy) /= LXLA_OK) error stop "assignment: the tensor was released (README: Ownership)"
    made = copy"""


def handles(names):
    """Returns the types of owned handles, and their procedures."""
    names = [each.removeprefix("lxla_") for each in names]
    types = "".join(HANDLE_TYPES.format(name=each) for each in names)
    for generic, specific in (
        ("handle_of", "{}_handle"),
        ("handles_of", "{}_handles"),
        ("take_over", "take_{}"),
        ("borrow", "borrow_{}"),
        ("refer", "refer_{}"),
    ):
        procedures = ", ".join(specific.format(each) for each in names)
        types += f"\n  interface {generic}\n    module procedure {procedures}\n  end interface\n"
    types += "\n  integer, parameter :: " + ", ".join(f"is_{each} = {i}" for i, each in enumerate(names, 1)) + "\n"
    cases = "".join(
        f"    case (is_{each})\n      status = lxla_{each}_release(lxla_{each}(self%id))\n" for each in names
    )
    procedures = DROP.format(cases=cases)
    for each in names:
        refer = SNAPSHOT if each == "tensor" else RETAIN.format(name=each)
        procedures += HANDLE_PROCEDURES.format(name=each, kind=f"is_{each}", refer=refer)
    return types, procedures


DROP = """
  ! Leaves a reference to the next call of this thread, unless this is a copy that the compiler made without the
  ! assignment above, as it does for the elements of an array constructor: the reference is that of the original, which
  ! is at another address. A copy of a function result may be assigned after the result is finalized.
  subroutine drop(self)
    type(owner), intent(inout) :: self
    type(dropped_list), pointer :: dropped
    if (self%id == 0 .or. self%at /= address(self)) return
    dropped => dropped_here()
    if (dropped%n == size(dropped%list)) dropped%list = [dropped%list, dropped%list]
    dropped%n = dropped%n + 1
    dropped%list(dropped%n) = dropped_reference(self%id, self%kind)
    self%id = 0
  end subroutine

  subroutine release_dropped(self)
    type(dropped_reference), intent(in) :: self
    integer(c_int32_t) :: status
    select case (self%kind)
{cases}    case default
      status = LXLA_OK
    end select
    if (status /= LXLA_OK) return  ! a final procedure has nobody to report to
  end subroutine
"""
