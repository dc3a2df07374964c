! What the Fortran binding promises about arrays, operators, ownership and errors. Stops with a message if it fails.
module checking
  use lazyxla
  use, intrinsic :: iso_fortran_env
  implicit none
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) error stop what
  end subroutine

  subroutine refused(stat, errmsg, wanted, words)
    integer, intent(in) :: stat, wanted
    character(*), intent(in) :: errmsg, words
    if (stat == wanted .and. index(errmsg, words) > 0) return
    print *, "stat", stat, "wanted", wanted, "message: ", trim(errmsg), "; want ", words
    error stop "an error is not as it should be"
  end subroutine

  function relu(x) result(y)
    type(lx_tensor), intent(in) :: x
    type(lx_tensor) :: y
    y = max(x, 0.0)
  end function

  subroutine double_and_square(x, y)
    type(lx_tensor), intent(in) :: x(:)
    type(lx_tensor), intent(inout) :: y(:)
    y(1) = 2 * x(1)
    y(2) = x(1)**2
  end subroutine

  subroutine total(x, y)
    type(lx_tensor), intent(in) :: x(:)
    type(lx_tensor), intent(inout) :: y(:)
    y(1) = sum(x(1) * x(1))
  end subroutine
end module

module check_arrays
  use checking
  implicit none
contains
  subroutine every_kind()
    real(real32) :: r4(2, 3), s4
    real(real64) :: r8(2, 3)
    integer(int8) :: i1(4)
    integer(int16) :: i2(2, 2)
    integer(int32) :: i4(3)
    integer(int64) :: i8(1, 2, 3)
    complex(real32) :: c4(2)
    complex(real64) :: c8(2)
    logical :: l(2, 2), l0
    real(real32) :: seven(1, 2, 1, 2, 1, 1, 3), back(1, 2, 1, 2, 1, 1, 3), none(0, 3), none_back(0, 3)
    real(real64), allocatable :: a8(:, :)
    logical, allocatable :: al(:, :)
    type(lx_tensor) :: t
    integer :: i
    t = lx_from_array(reshape(real([(i, i=1, 6)], real32), [2, 3]))
    call check(all(shape(t) == [2, 3]) .and. size(t) == 6 .and. size(t, 2) == 3, "shape of real32")
    call lx_read(t, r4)
    call check(all(r4 == reshape(real([(i, i=1, 6)]), [2, 3])), "real32")
    r8 = r4 / 3.0_real64
    call lx_to_array(lx_from_array(r8), a8)
    call check(all(a8 == r8) .and. all(shape(a8) == [2, 3]), "real64")
    call lx_read(lx_from_array([integer(int8) :: -128, 0, 1, 127]), i1)
    call check(all(i1 == [integer(int8) :: -128, 0, 1, 127]), "int8")
    call lx_read(lx_from_array(reshape([integer(int16) :: 1, -2, 3, 32767], [2, 2])), i2)
    call check(i2(2, 1) == -2 .and. i2(2, 2) == 32767, "int16")
    call lx_read(lx_from_array([1, -huge(1), 3]), i4)
    call check(all(i4 == [1, -huge(1), 3]), "int32")
    call lx_read(lx_from_array(reshape([(2_int64**60 + i, i=1, 6)], [1, 2, 3])), i8)
    call check(i8(1, 2, 3) == 2_int64**60 + 6, "int64")
    call lx_read(lx_from_array([(1.0, 2.0), (3.0, -4.0)]), c4)
    call check(c4(2) == (3.0, -4.0), "complex of real32")
    call lx_read(lx_from_array([(1.0d0, 2.0d0), (0.1d0, -4.0d0)]), c8)
    call check(c8(2) == (0.1d0, -4.0d0), "complex of real64")
    call lx_read(lx_from_array(reshape([.true., .false., .false., .true.], [2, 2])), l)
    call check(all(l .eqv. reshape([.true., .false., .false., .true.], [2, 2])), "logical")
    call lx_to_array(lx_from_array(.not. l), al)
    call check(all(al .neqv. l), "logical, allocated")
    call lx_read(lx_from_array(.true.), l0)
    call check(l0, "a logical")
    call lx_read(lx_from_array(1.5), s4)
    call check(s4 == 1.5 .and. size(shape(lx_from_array(1.5))) == 0, "a scalar")
    seven = reshape(real([(i, i=1, 12)]), shape(seven))
    call lx_read(lx_from_array(seven), back)
    call check(all(seven == back), "rank 7")
    call lx_read(lx_from_array(none), none_back)
    call check(all(shape(lx_from_array(none)) == [0, 3]), "no elements")
    call check(size(lx_from_array(i4(1:0) + 1)) == 0, "an expression without elements")
  end subroutine

  subroutine sections()
    real :: a(4, 6), b(2, 3), column(4)
    integer :: i
    a = reshape(real([(i, i=1, 24)]), [4, 6])
    call lx_read(lx_from_array(a(::2, ::2)), b)
    call check(all(b == a(::2, ::2)), "a section is packed")
    call lx_read(lx_from_array(a(2, :) * 1), column(1:0), stat=i)
    call check(i /= 0, "a wrong shape")
    a = 0
    call lx_read(lx_from_array(b), a(2::2, 4:))
    call check(all(a(2::2, 4:) == b) .and. sum(a) == sum(b), "a section is written")
  end subroutine

  subroutine fortran_order()
    real :: a(3, 4), b(4, 2), c(3, 2), v(4), w(3), s(3), tr(4, 3), r(2, 6)
    integer :: i
    type(lx_tensor) :: x
    a = reshape([(sin(real(i)), i=1, 12)], [3, 4])
    b = reshape([(cos(real(i)), i=1, 8)], [4, 2])
    v = b(:, 1)
    x = lx_from_array(a)
    call lx_read(matmul(x, lx_from_array(b)), c)
    call check(all(abs(c - matmul(a, b)) < 1e-5), "matmul")
    call lx_read(matmul(x, lx_from_array(v)), w)
    call check(all(abs(w - matmul(a, v)) < 1e-5), "matmul with a vector")
    call lx_read(matmul(lx_from_array(w), x), v)
    call check(all(abs(v - matmul(w, a)) < 1e-5), "matmul of a vector")
    call lx_read(sum(x, 2), s)
    call check(all(abs(s - sum(a, 2)) < 1e-5), "sum along dimension 2")
    call lx_read(maxval(x, dim=2), s)
    call check(all(s == maxval(a, 2)), "maxval")
    call check(all(shape(sum(x, 1, keep_dims=.true.)) == [1, 4]), "keep_dims")
    call check(abs(lx_value(sum(x)) - sum(a)) < 1e-5, "sum of all")
    call lx_read(transpose(x), tr)
    call check(all(tr == transpose(a)), "transpose")
    call lx_read(reshape(x, [2, 6]), r)
    call check(all(r == reshape(a, [2, 6])), "reshape")
    call lx_read(lx_mean(x, [-1]), v)
    call check(all(abs(v - sum(a, 1) / 3) < 1e-6), "dimension 1 is axis -1")
    call lx_read(merge(x, -x, x > 0), a)
    call check(all(a >= 0), "merge")
    call check(all(shape(lx_fill([5, 2], 1.5d0)) == [5, 2]), "fill")
  end subroutine

  subroutine every_operator()
    real(real64) :: a(3) = [1.5d0, -2d0, 3d0], b(3) = [2d0, 0.5d0, -3d0]
    type(lx_tensor) :: x, y
    x = lx_from_array(a)
    y = lx_from_array(b)
    call equal(x + y, a + b)
    call equal(x - y, a - b)
    call equal(x * y, a * b)
    call equal(x / y, a / b)
    call equal(abs(x)**y, abs(a)**b)
    call equal(-x, -a)
    call equal(x + 0.5, a + 0.5)
    call equal(0.5 - x, 0.5 - a)
    call equal(2 * x, 2 * a)
    call equal(x / 4_int64, a / 4)
    call equal(0.1d0 / x, 0.1d0 / a)
    call equal(x**2, a**2)
    call equal(2d0**x, 2**a)
    call equal(max(x, 0), max(a, 0d0))
    call equal(min(1.0, x), min(1d0, a))
    call equal(mod(x, 2), mod(a, 2d0))
    call equal(modulo(x, 2), modulo(a, 2d0))
    call equal(sqrt(abs(x)), sqrt(abs(a)))
    call equal(tanh(exp(x)), tanh(exp(a)))
    call equal(atan2(x, y), atan2(a, b))
    call same(x > y, a > b)
    call same(x <= 1.5, a <= 1.5)
    call same(0 < x, 0 < a)
    call same(x == y .or. .not. (x /= -2), a == b .or. .not. (a /= -2))
    call same(x >= y .and. y < 1, a >= b .and. b < 1)
  end subroutine

  subroutine equal(x, wanted)
    type(lx_tensor), intent(in) :: x
    real(real64), intent(in) :: wanted(:)
    real(real64), allocatable :: given(:)
    call lx_to_array(x, given)
    call check(all(abs(given - wanted) <= 1e-14 * abs(wanted)), "an operator of numbers")
  end subroutine

  subroutine same(x, wanted)
    type(lx_tensor), intent(in) :: x
    logical, intent(in) :: wanted(:)
    logical, allocatable :: given(:)
    call lx_to_array(x, given)
    call check(all(given .eqv. wanted), "an operator of logicals")
  end subroutine
end module

! Structures of structures, as function results.
module check_models
  use checking
  implicit none
  type :: layer
    type(lx_tensor) :: weight, bias
    integer :: width = 1
  end type
  type :: fixed_model
    type(layer) :: first, others(2)
  end type
  type :: model
    type(layer), allocatable :: layers(:)
    type(lx_computation) :: step
  end type
contains
  function new_layer(x) result(made)
    real, intent(in) :: x
    type(layer) :: made
    made%weight = lx_from_array(x)
    made%bias = made%weight * 10
  end function

  function new_fixed_model() result(made)
    type(fixed_model) :: made
    integer :: i
    made%first = new_layer(1.0)
    do i = 1, 2
      made%others(i) = new_layer(real(i + 1))
    end do
  end function

  function new_model(n) result(made)
    integer, intent(in) :: n
    type(model) :: made
    integer :: i
    allocate (made%layers(n))
    do i = 1, n
      made%layers(i) = new_layer(real(i))
    end do
    made%step = lx_trace(total, [made%layers(1)%weight], 1)
  end function

  ! Returns a model with the layers of one and the computation of another.
  function trained(a, b) result(made)
    type(model), intent(in) :: a, b
    type(model) :: made
    integer :: i
    allocate (made%layers(size(a%layers)))
    do i = 1, size(a%layers)
      call set(made%layers(i), a%layers(i)%weight)
    end do
    made%step = b%step
  end function

  subroutine set(of, x)
    type(layer), intent(inout) :: of
    type(lx_tensor), intent(in) :: x
    of = new_layer(real(lx_value(x)))
  end subroutine

  subroutine models()
    type(fixed_model) :: f, g
    type(model) :: m, k
    integer :: i
    f = new_fixed_model()
    g = new_fixed_model()
    f = new_fixed_model()
    call g%first%weight%release()
    call check(lx_value(f%first%weight + f%others(2)%bias + g%others(1)%weight) == 33, "a model of fixed size")
    do i = 1, 3
      m = new_model(20)
      k = new_model(2)
      m = trained(m, k)
    end do
    call check(lx_value(m%layers(1)%bias + m%layers(20)%weight) == 30, "a model")
    call check(lx_value(lx_call(m%step, m%layers(3)%weight)) == 9, "a computation in a model")
    call check(lx_value(sum(lx_stack(lx_list(f%first%bias, lx_from_array(1.0) + 1), 0))) == 12, "lx_list")
    call check(size(lx_stack(lx_list(f%first%bias, d=f%first%bias), 0)) == 2, "lx_list without some")
  end subroutine
end module

module check_ownership
  use check_models
  implicit none
  ! A structure with an assignment of its own, which gfortran 12 needs to copy variables.
  type :: pair
    type(lx_tensor) :: first, second
  end type
  interface assignment(=)
    module procedure copy_pair
  end interface
contains
  elemental impure subroutine copy_pair(left, right)
    type(pair), intent(inout) :: left
    type(pair), intent(in) :: right
    left%first = right%first
    left%second = right%second
  end subroutine

  function new_pair(x) result(made)
    type(lx_tensor), intent(in) :: x
    type(pair) :: made
    made%first = x
    made%second = x + 1
  end function

  ! Every tensor that a block makes is destroyed at its end, and every copy is independent.
  subroutine owned()
    integer(int64) :: before
    integer :: i
    before = lx_live_tensors()
    do i = 1, 3
      call assignments()
      call check(lx_live_tensors() == before, "assignments leave tensors behind")
      call expressions()
      call check(lx_live_tensors() == before, "expressions leave tensors behind")
      call structures()
      call check(lx_live_tensors() == before, "structures leave tensors behind")
      call lists()
      call check(lx_live_tensors() == before, "lists leave tensors behind")
      call models()
      call check(lx_live_tensors() == before, "models leave tensors behind")
      call computations()
      call check(lx_live_tensors() == before, "computations leave tensors behind")
    end do
  end subroutine

  subroutine assignments()
    type(lx_tensor) :: a, b
    call check(a%is_null(), "a new variable")
    a = lx_from_array(1.0)
    b = a
    a = a
    call lx_binary_scalar_inplace(LXLA_BINARY_ADD, a, 1d0)
    call check(lx_value(a) == 2 .and. lx_value(b) == 1, "copies are independent")
    b = b + b
    call check(lx_value(b) == 2, "a variable on both sides")
    call a%release()
    call check(a%is_null() .and. .not. b%is_null(), "release")
    call a%release()
    a = b
    call check(lx_value(a) == 2, "a variable that was released")
  end subroutine

  subroutine expressions()
    type(lx_tensor) :: a, b
    integer :: i
    a = lx_from_array([-1.0, 2.0])
    b = relu(relu(a * 2) + relu(-a)) - 1
    do i = 1, 10
      b = relu(b + a) * 0.5
    end do
    call check(lx_value(sum(b)) > 0, "expressions")
  end subroutine

  subroutine structures()
    type(pair) :: l, k
    type(pair) :: many(3), others(3)
    type(lx_tensor), allocatable :: one
    l = new_pair(lx_from_array(1.0))
    k = l
    call lx_binary_scalar_inplace(LXLA_BINARY_ADD, l%first, 5d0)
    call l%second%release()
    call check(lx_value(k%first) == 1 .and. lx_value(k%second) == 2, "a copy of a structure")
    many = k
    others = many
    many = new_pair(k%second)
    call check(lx_value(others(3)%first + others(1)%second + many(2)%first) == 5, "a list of structures")
    allocate (one)
    one = l%first
    call check(lx_value(one) == 6, "an allocatable tensor")
  end subroutine

  subroutine lists()
    type(lx_tensor) :: a, b, parts(2), three(3)
    type(lx_tensor), allocatable :: list(:), longer(:)
    integer :: i
    a = lx_from_array([1.0, 2.0])
    b = a * 10
    three(1) = lx_stack([a, b, a], 0)
    call check(all(shape(three(1)) == [2, 3]), "stack")
    call check(lx_value(sum(a)) == 3, "the elements of an array constructor stay their variables'")
    list = [a, b]
    call check(size(list) == 2, "a list that an assignment allocates")
    do i = 1, 20
      list = [list, b]
      list = list(2:)
    end do
    call check(size(list) == 2 .and. lx_value(sum(list(1))) == 30, "a list on both sides")
    list = [a, b]
    list(2:) = list(:1)
    list = list(2:1:-1)
    call check(lx_value(sum(list(1))) == 3 .and. lx_value(sum(list(2))) == 3, "sections of a list on both sides")
    list = [a, b]
    allocate (longer(3))
    longer(:2) = list
    longer(3) = a + b
    call move_alloc(longer, list)
    call check(lx_value(sum(list(3))) == 33, "a list that grows")
    call lx_split(list(3), 0, parts)
    call check(lx_value(parts(2)) == 22, "split into the parts of the list")
    do i = 1, 2
      call lx_split(list(3), 0, parts)
    end do
    three(2:3) = list(1:2)
    call check(lx_value(sum(three(3))) == 30, "a section of a list")
  end subroutine

  ! Names of the binding that are not in its documentation stay free for programs.
  function plain_sum(a, b) result(drain)
    type(lxla_tensor), intent(in) :: a, b
    type(lxla_tensor) :: drain
    integer :: failed, owner, own, keep, address, handle_of, is_tensor
    failed = lxla_binary(LXLA_BINARY_ADD, a, b, drain)
    owner = failed
    own = owner
    keep = own
    address = keep
    handle_of = address
    is_tensor = handle_of
    if (is_tensor /= LXLA_OK) error stop "lxla_binary"
  end function

  subroutine computations()
    type(lx_computation) :: f, g
    type(lx_tensor) :: x, results(2), loss(2)
    x = lx_from_array([1.0, 3.0])
    f = lx_trace(double_and_square, [x], 2)
    g = f
    call f%release()
    call lx_computation_call(g, [x], results)
    call check(lx_value(sum(results(2))) == 10, "a traced procedure")
    call lx_adopt(results(1), plain_sum(lx_handle(x), lx_handle(results(1))))
    call check(lx_value(sum(results(1))) == 12, "handles of C")
    f = lx_trace(total, [x], 1)
    f = lx_computation_value_and_grad(f)
    call lx_computation_call(f, [x], loss)
    call check(lx_value(sum(loss(2))) == 8, "a gradient")
    call check(lx_value(lx_call(lx_trace(total, [x], 1), x)) == 10, "a call with one result")
  end subroutine
end module

program checks
  use check_arrays
  use check_ownership
  implicit none
  character(8) :: word
  call get_command_argument(1, word)
  if (word == "cpu") lx_device = lx_cpu
  call every_kind()
  call sections()
  call fortran_order()
  call every_operator()
  call owned()
  call errors()
  print "(a)", "checks passed"
contains
  subroutine errors()
    type(lx_tensor) :: x, y, none, copy, parts(2), parts3(3)
    type(lx_computation) :: f
    real :: wrong(2, 3)
    real(real64) :: wide(3)
    real, allocatable :: matrix(:, :)
    integer :: stat
    character(200) :: message
    message = "untouched"
    x = lx_from_array([1.0, 2.0, 3.0])
    y = lx_binary(LXLA_BINARY_ADD, x, x, stat, message)
    call check(stat == 0 .and. message == "untouched", "success sets stat alone")
    y = lx_binary(LXLA_BINARY_ADD, x, lx_from_array([1.0, 2.0]), stat, message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "INVALID_ARGUMENT: lxla_binary")
    call check(y%is_null(), "the result of a failed call")
    y = lx_binary(LXLA_BINARY_ADD, x, none, stat, message)
    call refused(stat, message, LXLA_INVALID_HANDLE, "rhs")
    call lx_read(x, wrong, stat, message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "shape (2, 3); want (3)")
    call lx_read(x, wide, stat, message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "an array of f64; the tensor is f32")
    call lx_to_array(x, matrix, stat, message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "rank 2; want shape (3)")
    y = lx_roll(x, [1, 2], [0], stat, message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "lx_roll: shifts, axes: different lengths")
    call lx_split(x, 0, parts, [1, 1, 1], stat, message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "lx_split: sizes, out_tensors: different lengths")
    call lx_split(x, 0, parts, stat=stat, errmsg=message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "lxla_split")
    call lx_split(x, 0, parts3, [1, 1, 1], stat, message)
    call check(stat == 0, "a split that is right")
    y = lx_collective_permute(x, "data", [0, 1, 2], stat, message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "a part of an element is missing")
    f = lx_computation_import_file("no such file", stat=stat, errmsg=message)
    call refused(stat, message, LXLA_NOT_FOUND, "no such file")
    f = lx_computation_import_file("no" // c_null_char // "file", stat=stat, errmsg=message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "lx_computation_import_file: path: it contains NUL")
    call lx_save("/tmp/never", ["abc", "a" // c_null_char // "b"], lx_list(x, x), stat, message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "names")
    call lx_env_set_option("donation" // c_null_char, "true", stat=stat, errmsg=message)
    call check(stat == 0, "a string that ends in NUL")
    wide(1) = lx_value(x, stat, message)
    call refused(stat, message, LXLA_INVALID_ARGUMENT, "lxla_reshape")
    f = lx_trace(double_and_square, [x, none], 2, stat, message)
    call refused(stat, message, LXLA_INVALID_HANDLE, "tensor")
    f = lx_trace(double_and_square, [x], 3, stat, message)
    call refused(stat, message, LXLA_INVALID_HANDLE, "results")
    copy = x + 1
    call check(lx_value(sum(copy)) == 9, "a failed trace was abandoned")
    call check(index(lx_env_get_option(name="donation"), "true") > 0, "a string that C returns")
    call check(lx_dtype_name(LXLA_DTYPE_F32) == "f32" .and. lx_version() /= "", "strings of the library")
  end subroutine
end program
