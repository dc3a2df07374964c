! Owned handles, and a procedure for each function of the C API. tools/bindings/fortran.py writes types and procedures
! in the places that say so.
module lazyxla_api
  use lazyxla_c
  implicit none
  public
  private :: owner, assign_owner, own, address, drop, referred, dropped_reference, kept_owner, dropped_list, &
    dropped_here, keep, release_dropped, make_key, leave_thread, pthread_once, pthread_key_create, &
    pthread_getspecific, pthread_setspecific, key, key_once, unknown, set_length, check_length, check_text, &
    check_texts, text_length, c_text, c_texts, c_characters, text_of, taken, flag_of, stated_device, pointer_or_null, finish

  ! A reference that is released with the variable that has it. Owners are on the heap, so that compilers release those
  ! of function results, too: some do not finalize a function result itself.
  type :: owner
    integer(c_int64_t) :: id = 0
    integer(c_intptr_t) :: at = 0  ! the address of the owner itself: a copy of it has another one
    integer :: kind = 0
  contains
    procedure, private :: assign_owner
    generic :: assignment(=) => assign_owner
    final :: drop
  end type
  ! What a thread has dropped since its last call of the library.
  type :: dropped_reference
    integer(c_int64_t) :: id = 0
    integer :: kind = 0
  end type
  type :: kept_owner
    type(owner), allocatable :: owner
  end type
  type :: dropped_list
    integer :: n = 0, n_kept = 0
    type(dropped_reference), allocatable :: list(:)
    type(kept_owner), allocatable :: kept(:)
  end type
  integer(c_int), save :: key, key_once = 0
  ! TYPES

  ! The device of procedures that are called without one: the first XLA device. lx_cpu is the eager one.
  type(lxla_device), save :: lx_device = lxla_device(LXLA_DEVICE_XLA, 0)
  type(lxla_device), parameter :: lx_cpu = lxla_device(LXLA_DEVICE_CPU, 0)
  integer(c_size_t), parameter :: unknown = -1

  interface
    pure function text_length(text) bind(c, name="strlen") result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
    function pthread_once(control, initialize) bind(c) result(status)
      import
      integer(c_int), intent(inout) :: control
      type(c_funptr), value :: initialize
      integer(c_int) :: status
    end function
    function pthread_key_create(key, destructor) bind(c) result(status)
      import
      integer(c_int), intent(inout) :: key
      type(c_funptr), value :: destructor
      integer(c_int) :: status
    end function
    function pthread_getspecific(key) bind(c) result(value)
      import
      integer(c_int), value :: key
      type(c_ptr) :: value
    end function
    function pthread_setspecific(key, value) bind(c) result(status)
      import
      integer(c_int), value :: key
      type(c_ptr), value :: value
      integer(c_int) :: status
    end function
  end interface
contains
  function address(self) result(at)
    class(owner), intent(in), target :: self
    integer(c_intptr_t) :: at
    at = transfer(c_loc(self%id), at)
  end function

  ! Assigns a component of a structure. gfortran 12 copies its bytes instead.
  impure elemental subroutine assign_owner(left, right)
    class(owner), intent(inout) :: left
    type(owner), intent(in) :: right
    integer(c_int64_t) :: id
    id = referred(right%id, right%kind)
    call drop(left)
    left%id = id
    left%at = address(left)
    left%kind = right%kind
  end subroutine

  ! Leaves a reference to the next call of this thread, unless this is a copy that the compiler made without an
  ! assignment, as it does for the elements of an array constructor: the original, which is at another address, releases
  ! the reference. A copy of a function result may be assigned after the result is finalized.
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

  ! Gives a reference to an owner, which releases its old reference. An owner stays where it is: in `a = a`, compilers
  ! read the owner of the right side after the assignment.
  subroutine own(self, id, kind)
    type(owner), intent(inout), allocatable :: self
    integer(c_int64_t), intent(in) :: id
    integer, intent(in) :: kind
    if (allocated(self)) call drop(self)
    if (.not. allocated(self)) allocate (self)
    self%id = id
    self%at = address(self)
    self%kind = kind
  end subroutine

  ! Returns the list of this thread. Not by `threadprivate`, which holds only where the module is compiled for OpenMP.
  function dropped_here() result(dropped)
    type(dropped_list), pointer :: dropped
    if (pthread_once(key_once, c_funloc(make_key)) /= 0) error stop "pthread_once failed"
    call c_f_pointer(pthread_getspecific(key), dropped)
    if (associated(dropped)) return
    allocate (dropped)
    allocate (dropped%list(64), dropped%kept(8))
    if (pthread_setspecific(key, c_loc(dropped)) /= 0) error stop "pthread_setspecific failed"
  end function

  ! Keeps the memory of an owner until the next call of this thread.
  subroutine keep(self)
    type(owner), intent(inout), allocatable :: self
    type(dropped_list), pointer :: dropped
    type(kept_owner), allocatable :: more(:)
    integer :: i
    if (.not. allocated(self)) return
    dropped => dropped_here()
    if (dropped%n_kept == size(dropped%kept)) then
      allocate (more(2 * dropped%n_kept))
      do i = 1, dropped%n_kept
        call move_alloc(dropped%kept(i)%owner, more(i)%owner)
      end do
      call move_alloc(more, dropped%kept)
    end if
    dropped%n_kept = dropped%n_kept + 1
    call move_alloc(self, dropped%kept(dropped%n_kept)%owner)
  end subroutine

  subroutine make_key() bind(c, name="")
    if (pthread_key_create(key, c_funloc(leave_thread)) /= 0) error stop "pthread_key_create failed"
  end subroutine

  subroutine leave_thread(value) bind(c, name="")
    type(c_ptr), value :: value
    type(dropped_list), pointer :: dropped
    integer :: i
    call c_f_pointer(value, dropped)
    if (allocated(dropped%kept)) deallocate (dropped%kept)
    do i = 1, dropped%n
      call release_dropped(dropped%list(i))
    end do
    deallocate (dropped)
  end subroutine

  ! Releases what this thread has dropped. Every procedure does so after its call, and before a call that computes.
  subroutine drain()
    type(dropped_list), pointer :: dropped
    integer :: i
    dropped => dropped_here()
    do i = 1, dropped%n_kept
      deallocate (dropped%kept(i)%owner)
    end do
    dropped%n_kept = 0
    do i = 1, dropped%n
      call release_dropped(dropped%list(i))
    end do
    dropped%n = 0
  end subroutine

  ! Reports a status as `allocate` does: in `stat` and `errmsg`, or by stopping the program if `stat` is absent.
  logical function failed(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: message
    failed = status /= LXLA_OK
    if (present(stat)) stat = status
    if (.not. failed) call drain()
    if (.not. failed) return
    message = text_of(lxla_status_name(status)) // ": " // text_of(lxla_last_error_message())
    if (index(message, "was released") > 0) message = message // "; was it copied in a structure? (README: Ownership)"
    if (.not. present(stat)) error stop message
    if (present(errmsg)) errmsg = message
  end function

  subroutine finish(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (failed(status, stat, errmsg)) return
  end subroutine

  ! Makes an argument that this binding refuses the last error of the library.
  subroutine refuse(message, status)
    character(*), intent(in) :: message
    integer(c_int32_t), intent(inout) :: status
    status = lxla_set_last_error(LXLA_INVALID_ARGUMENT, c_text(message))
    status = LXLA_INVALID_ARGUMENT
  end subroutine

  ! Sets a length that lists have in common: `given` elements of this one are `times` for each of the length.
  subroutine set_length(length, given, times, names, status)
    integer(c_size_t), intent(inout) :: length
    integer(c_size_t), intent(in) :: given
    integer, intent(in) :: times
    character(*), intent(in) :: names
    integer(c_int32_t), intent(inout) :: status
    if (status /= LXLA_OK) return
    if (mod(given, int(times, c_size_t)) /= 0) call refuse(names // ": a part of an element is missing", status)
    if (length == unknown) length = given / times
    if (status == LXLA_OK .and. length /= given / times) call refuse(names // ": different lengths", status)
  end subroutine

  subroutine check_length(given, wanted, names, status)
    integer, intent(in) :: given, wanted
    character(*), intent(in) :: names
    integer(c_int32_t), intent(inout) :: status
    character(24) :: words(2)
    if (status /= LXLA_OK .or. given == wanted) return
    write (words, "(i0)") given, wanted
    call refuse(names // ": " // trim(words(1)) // " elements; want " // trim(words(2)), status)
  end subroutine

  ! Refuses a string that C would cut off. Its last character may be NUL.
  subroutine check_text(text, name, status)
    character(*), intent(in) :: text, name
    integer(c_int32_t), intent(inout) :: status
    integer :: at
    if (status /= LXLA_OK) return
    at = index(text, c_null_char)
    if (at > 0 .and. at < len_trim(text)) call refuse(name // ": it contains NUL", status)
  end subroutine

  subroutine check_texts(texts, name, status)
    character(*), intent(in) :: texts(:), name
    integer(c_int32_t), intent(inout) :: status
    integer :: i
    do i = 1, ubound(texts, 1)
      call check_text(texts(i), name, status)
    end do
  end subroutine

  ! Returns a string of C without trailing blanks, as `open` and other statements of Fortran take them.
  pure function c_text(text) result(made)
    character(*), intent(in) :: text
    character(kind=c_char, len=len_trim(text) + 1) :: made
    made = trim(text) // c_null_char
  end function

  pure function c_characters(text) result(made)
    character(*), intent(in) :: text
    character(kind=c_char) :: made(len_trim(text) + 1)
    integer :: i
    do i = 1, len_trim(text)
      made(i) = text(i:i)
    end do
    made(size(made)) = c_null_char
  end function

  ! Makes strings of C, and pointers to them.
  subroutine c_texts(texts, made, pointers)
    character(*), intent(in) :: texts(:)
    character(kind=c_char), allocatable, target, intent(out) :: made(:, :)
    type(c_ptr), allocatable, intent(out) :: pointers(:)
    integer :: i
    allocate (made(len(texts) + 1, size(texts)), pointers(size(texts)))
    do i = 1, size(texts)
      made(:len_trim(texts(i)) + 1, i) = c_characters(texts(i))
      pointers(i) = c_loc(made(1, i))
    end do
  end subroutine

  ! Returns a copy of a string of C, which may be null.
  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer(c_size_t) :: i
    text = ""
    if (.not. c_associated(pointer)) return
    call c_f_pointer(pointer, characters, [text_length(pointer)])
    text = repeat(" ", size(characters))
    do i = 1, size(characters, kind=c_size_t)
      text(i:i) = characters(i)
    end do
  end function

  ! The same for a string that the caller of C frees.
  function taken(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    text = text_of(pointer)
    call lxla_string_free(pointer)
  end function

  pure integer(c_int32_t) function flag_of(given)
    logical, intent(in), optional :: given
    flag_of = 0
    if (present(given)) flag_of = merge(1_c_int32_t, 0_c_int32_t, given)
  end function

  function given_env(env) result(made)
    type(lx_env), intent(in), optional :: env
    type(lxla_env) :: made
    if (present(env)) made = handle_of(env)
  end function

  function given_device(device) result(made)
    type(lxla_device), intent(in), optional :: device
    type(lxla_device) :: made
    made = lx_device
    if (present(device)) made = device
  end function

  pure function stated_device(device) result(made)
    type(lxla_device), intent(in), optional :: device
    type(lxla_device) :: made
    if (present(device)) made = device
  end function

  pure function pointer_or_null(pointer) result(made)
    type(c_ptr), intent(in), optional :: pointer
    type(c_ptr) :: made
    made = c_null_ptr
    if (present(pointer)) made = pointer
  end function
! FUNCTIONS
end module
