! Procedures of Fortran in programs: bodies of loops and branches, kernels, callbacks; executables on arrays.
module bodies
  use, intrinsic :: iso_fortran_env, only: real32, int64
  use lazyxla
  implicit none
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) error stop what
  end subroutine

  ! carry, x -> carry + x, carry + x
  subroutine running_sum(x, y)
    type(lx_tensor), intent(in) :: x(:)
    type(lx_tensor), intent(inout) :: y(:)
    y(1) = x(1) + x(2)
    y(2) = y(1)
  end subroutine

  subroutine is_below_100(x, y)
    type(lx_tensor), intent(in) :: x(:)
    type(lx_tensor), intent(inout) :: y(:)
    y(1) = x(1) < 100
  end subroutine

  subroutine doubled(x, y)
    type(lx_tensor), intent(in) :: x(:)
    type(lx_tensor), intent(inout) :: y(:)
    y(1) = 2 * x(1)
  end subroutine

  subroutine negated(x, y)
    type(lx_tensor), intent(in) :: x(:)
    type(lx_tensor), intent(inout) :: y(:)
    y(1) = -x(1)
  end subroutine

  ! A kernel: squares of real32. Fails for a negative number.
  function squares(call, user) bind(c) result(status)
    type(lxla_kernel_call), intent(in) :: call
    type(c_ptr), value :: user
    integer(c_int32_t) :: status
    type(lxla_buffer_view), pointer :: inputs(:), outputs(:)
    real(real32), pointer :: x(:), y(:)
    character(kind=c_char), pointer :: message(:)
    real(real32), pointer :: factor
    integer(c_size_t) :: n
    call c_f_pointer(call%inputs, inputs, [call%n_inputs])
    call c_f_pointer(call%outputs, outputs, [call%n_outputs])
    call c_f_pointer(user, factor)
    n = inputs(1)%size_bytes / 4
    call c_f_pointer(inputs(1)%data, x, [n])
    call c_f_pointer(outputs(1)%data, y, [n])
    y = factor * x**2
    status = LXLA_OK
    if (any(x < 0)) then
      call c_f_pointer(call%error, message, [call%error_size])
      message(:9) = transfer("negative" // c_null_char, message(:9))
      status = LXLA_OUT_OF_RANGE
    end if
  end function

  subroutine ready(status, message, user) bind(c)
    integer(c_int32_t), value :: status
    type(c_ptr), value :: message, user
    integer, pointer :: count
    call c_f_pointer(user, count)
    if (status == LXLA_OK .and. c_associated(message)) count = count + 1
  end subroutine
end module

program callbacks
  use bodies
  implicit none
  call control_flow()
  call kernel()
  call executable()
  call told()
  call check(lx_live_tensors() == 0, "callbacks leave tensors behind")
  print "(a)", "callbacks passed"
contains
  subroutine control_flow()
    type(lx_tensor) :: zero, x, carry(1), stack(1), one(1), two(2), three, five
    type(lx_computation) :: body, below, twice, minus, gradient
    real(real32) :: sums(4)
    zero = lx_from_array(0.0)
    x = lx_from_array([1.0, 2.0, 3.0, 4.0])
    three = zero + 3
    five = zero + 5
    body = lx_trace(running_sum, [zero, zero], 2)
    call lx_scan(body, [zero], [x], 4, carry, stack)
    call lx_read(stack(1), sums)
    call check(all(sums == [1.0, 3.0, 6.0, 10.0]) .and. lx_value(carry(1)) == 10, "scan")
    call lx_scan(body, [zero], [x], 4, carry, stack, reverse=.true.)
    call lx_read(stack(1), sums)
    call check(all(sums == [10.0, 9.0, 7.0, 4.0]), "a scan in reverse")
    below = lx_trace(is_below_100, [zero], 1)
    twice = lx_trace(doubled, [zero], 1)
    minus = lx_trace(negated, [zero], 1)
    call lx_while(below, twice, [three], one)
    call check(lx_value(one(1)) == 192, "while")
    call lx_cond(lx_from_array(.false.), twice, minus, [carry(1)], one)
    call check(lx_value(one(1)) == -10, "cond")
    call lx_case(lx_from_array(1), [minus, twice], [carry(1)], one)
    call check(lx_value(one(1)) == 20, "case")
    gradient = lx_value_and_grad(lx_trace(doubled, [zero], 1), [1])
    call lx_computation_call(gradient, [five], two)
    call check(lx_value(two(1)) == 10 .and. lx_value(two(2)) == 2, "value and gradient")
    five = five + 1
    call check(index(lx_stablehlo([five]), "stablehlo.add") > 0, "the text of a program")
  end subroutine

  subroutine kernel()
    type(lx_tensor) :: x, less, y(1)
    real(real32), target :: factor
    real(real32) :: values(3)
    integer :: stat
    character(200) :: message
    factor = 10
    x = lx_from_array([1.0, 2.0, 3.0])
    less = x - 2
    call lx_host_call(squares, [x], [LXLA_DTYPE_F32], [1], [3], y, user=c_loc(factor))
    call lx_read(y(1) + 1, values)
    call check(all(values == [11.0, 41.0, 91.0]), "a kernel")
    call lx_host_call(squares, [x, x], [LXLA_DTYPE_F32], [1], [3, 3], y, user=c_loc(factor), stat=stat, errmsg=message)
    call check(stat == LXLA_INVALID_ARGUMENT .and. index(message, "2 elements; want 1") > 0, "dims of a kernel")
    call lx_host_call(squares, [less], [LXLA_DTYPE_F32], [1], [3], y, user=c_loc(factor))
    call lx_read(y(1), values, stat, message)
    call check(stat == LXLA_OUT_OF_RANGE .and. index(message, "negative") > 0, "a kernel that fails: " // message)
  end subroutine

  ! An executable on arrays: nothing is recorded. Rows of Fortran and of C are the same memory.
  subroutine executable()
    type(lx_executable) :: server
    type(lx_tensor) :: like
    real(real32), target :: x(2, 3), y(2, 3)
    x = reshape([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])
    like = lx_from_array(x)
    server = lx_executable_compile(lx_trace(doubled, [like], 1))
    call lx_executable_run_host(server, [c_loc(x)], [c_sizeof(x)], [c_loc(y)], [c_sizeof(y)])
    call check(all(y == 2 * x), "an executable on arrays")
    call check(index(lx_executable_describe(server), "{") > 0, "the description of an executable")
  end subroutine

  subroutine told()
    type(lx_tensor) :: x
    integer, target :: count
    count = 0
    x = lx_from_array([1.0, 2.0]) * 3
    call lx_tensor_on_ready(x, ready, c_loc(count))
    call check(lx_value(sum(x)) == 9, "a value that is told")
    call lx_mark_step(wait=.true.)
    do while (count == 0)  ! on a thread of the library
      if (lx_tensor_wait_for(x, 10)) cycle
    end do
    call check(count == 1, "being told once")
  end subroutine
end program
