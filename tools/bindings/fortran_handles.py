"""The types of owned handles in the Fortran binding, and their procedures: fortran.py writes them."""

from fortran_c import wrapped

TYPES = """
  ! Owns one reference of a lxla_{name}. Null until it is set.
  type, public :: lx_{name}
    private
    type(owner), allocatable :: owner
  contains
    procedure :: release => release_{name}
    procedure :: is_null => {name}_is_null
  end type
"""
PROCEDURES = """
  ! Gives `left` a reference of its own, and releases what it had.
  impure elemental subroutine assign_{name}(left, right)
    type(lx_{name}), intent(inout) :: left
    type(lx_{name}), intent(in) :: right
    type(lxla_{name}) :: handle
    handle = handle_of(right)
    if (handle%id /= 0 .or. allocated(left%owner)) call own(left%owner, referred(handle%id, is_{name}), is_{name})
  end subroutine

  ! The same for a list that is allocated with the size of the right side. The compiler may read the elements that it had
  ! after the assignment, if they are on the right side, too.
  subroutine assign_{name}_list(left, right)
    type(lx_{name}), intent(inout), allocatable :: left(:)
    type(lx_{name}), intent(in) :: right(:)
    type(lx_{name}), allocatable :: made(:)
    integer :: i
    allocate (made(size(right)))
    do i = 1, size(right)
      made(i) = right(i)
    end do
    if (allocated(left)) then
      do i = 1, size(left)
        call keep(left(i)%owner)
      end do
    end if
    call move_alloc(made, left)
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

  ! Returns the handle of C, which stays the variable's to release. A variable that was never set has the null handle.
  elemental function {name}_handle(self) result(handle)
    type(lx_{name}), intent(in) :: self
    type(lxla_{name}) :: handle
    if (allocated(self%owner)) handle%id = self%owner%id
  end function

  function {name}_handles(list) result(made)
    type(lx_{name}), intent(in) :: list(:)
    type(lxla_{name}) :: made(size(list))
    made = handle_of(list)
  end function

  ! Makes `self` the owner of a reference that a call of C returned.
  impure elemental subroutine take_{name}(self, handle)
    type(lx_{name}), intent(inout) :: self
    type(lxla_{name}), intent(in) :: handle
    call own(self%owner, handle%id, is_{name})
  end subroutine

  ! The same for a reference that is borrowed, and must not be released: it gets one of its own.
  subroutine borrow_{name}(self, handle)
    type(lx_{name}), intent(inout) :: self
    type(lxla_{name}), intent(in) :: handle
    call own(self%owner, referred(handle%id, is_{name}), is_{name})
  end subroutine
"""
REFERRED = """
  ! Returns a reference of its own to what a handle has. For a tensor, a new handle with the present value: an
  ! assignment copies a value, as for all types of Fortran, so that in-place operations on one variable leave the other
  ! alone. No data is copied.
  function referred(id, kind) result(own_id)
    integer(c_int64_t), intent(in) :: id
    integer, intent(in) :: kind
    integer(c_int64_t) :: own_id
    type(lxla_tensor) :: copy
    integer(c_int32_t) :: status
    own_id = id
    status = LXLA_OK
    if (id == 0) return
    select case (kind)
    case (is_tensor)
      status = lxla_tensor_snapshot(lxla_tensor(id), copy)
      own_id = copy%id
{cases}    end select
    if (status /= LXLA_OK) error stop "assignment: the value was released: it was a copy (bindings/fortran: Ownership)"
  end function
"""
RELEASE = """
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


def handles(names):
    """Returns the types of owned handles, and their procedures."""
    names = [each.removeprefix("lxla_") for each in names]
    types = "".join(TYPES.format(name=each) for each in names)
    for generic, specific in (
        ("assignment(=)", "assign_{0}, assign_{0}_list"),
        ("handle_of", "{}_handle"),
        ("handles_of", "{}_handles"),
        ("take_over", "take_{}"),
        ("borrow", "borrow_{}"),
    ):
        procedures = ", &\n      ".join(specific.format(each) for each in names)
        types += f"\n  interface {generic}\n    module procedure {procedures}\n  end interface\n"
    types += "\n  integer, parameter :: " + ", ".join(f"is_{each} = {i}" for i, each in enumerate(names, 1)) + "\n"
    hidden = ("is_{0}", "assign_{0}", "assign_{0}_list", "release_{0}", "{0}_is_null", "{0}_handle", "{0}_handles")
    hidden += ("take_{0}", "borrow_{0}")
    types += "".join(wrapped(f"private :: {', '.join(each.format(name) for each in hidden)}", "  ") for name in names)
    case = "    case (is_{0})\n      status = lxla_{0}_{1}(lxla_{0}({2}))\n"
    procedures = REFERRED.format(cases="".join(case.format(each, "retain", "id") for each in names if each != "tensor"))
    procedures += RELEASE.format(cases="".join(case.format(each, "release", "self%id") for each in names))
    return types, procedures + "".join(PROCEDURES.format(name=each) for each in names)
