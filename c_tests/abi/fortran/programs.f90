! Runs programs that fortran_test.py writes as text, and writes their results as bytes: programs TEXT RESULTS.
! A line is an operation: its name, the number of the value that it makes, and its arguments.
module interpreter
  use, intrinsic :: iso_fortran_env
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
  use lazyxla
  implicit none
  type(lx_tensor) :: v(0:99)
  integer :: results
contains
  subroutine run(line)
    character(*), intent(in) :: line
    character(16) :: word
    read (line, *) word
    select case (word)
    case ("device")
      lx_device = merge(lx_cpu, lxla_device(LXLA_DEVICE_XLA, 0), line == "device cpu")
    case ("input")
      call make_input(line)
    case ("binary")
      call binary(line)
    case ("scalar")
      call with_scalar(line)
    case ("unary")
      call unary(line)
    case ("reduce")
      call reduction(line)
    case ("step")
      call lx_mark_step()
    case ("output")
      call output(line)
    case ("end")
      call v%release()
      if (lx_live_tensors() /= 0) error stop "a program leaves tensors behind"
    case default
      call shaped(line)
    end select
  end subroutine

  ! Numbers of a linear congruential generator, as fortran_test.py makes them; every 97th is NaN if that is wanted.
  subroutine make_input(line)
    character(*), intent(in) :: line
    character(16) :: word, dtype
    integer :: at, rank, has_nan
    integer, allocatable :: sizes(:)
    integer(int64) :: state, n, i
    integer(int32), allocatable :: numbers(:)
    real(real64), allocatable :: doubles(:)
    read (line, *) word, at, dtype, rank
    allocate (sizes(rank))
    read (line, *) word, at, dtype, rank, sizes, state, has_nan
    n = product(int(sizes, int64))
    allocate (numbers(n), doubles(n))
    do i = 1, n
      state = mod(state * 1103515245_int64 + 12345, 2_int64**31)
      numbers(i) = int(state / 256 - 2**22, int32)
      doubles(i) = numbers(i) / real(2**20, real64)
      if (has_nan == 1 .and. mod(state, 97_int64) == 0) doubles(i) = ieee_value(doubles(i), ieee_quiet_nan)
    end do
    select case (dtype)
    case ("f32")
      v(at) = lx_from_array(real(doubles, real32))
    case ("f64")
      v(at) = lx_from_array(doubles)
    case ("s32")
      v(at) = lx_from_array(mod(numbers, 101))
    case ("pred")
      v(at) = lx_from_array(mod(numbers, 2) == 0)
    end select
    v(at) = reshape(v(at), sizes)
  end subroutine

  subroutine binary(line)
    character(*), intent(in) :: line
    character(16) :: word, op
    integer :: at, a, b
    read (line, *) word, at, op, a, b
    select case (op)
    case ("add"); v(at) = v(a) + v(b)
    case ("subtract"); v(at) = v(a) - v(b)
    case ("multiply"); v(at) = v(a) * v(b)
    case ("divide"); v(at) = v(a) / v(b)
    case ("power"); v(at) = v(a)**v(b)
    case ("maximum"); v(at) = max(v(a), v(b))
    case ("minimum"); v(at) = min(v(a), v(b))
    case ("less"); v(at) = v(a) < v(b)
    case ("equal"); v(at) = v(a) == v(b)
    case ("matmul"); v(at) = matmul(v(a), v(b))
    case default; error stop "no such binary operation"
    end select
  end subroutine

  subroutine with_scalar(line)
    character(*), intent(in) :: line
    character(16) :: word, op, kind
    integer :: at, a, i4
    integer(int64) :: i8
    real(real32) :: r4
    real(real64) :: r8
    read (line, *) word, at, op, a, kind, r8
    r4 = real(r8, real32)
    i4 = nint(r8)
    i8 = nint(r8, int64)
    select case (trim(op) // " " // kind)
    case ("add r4"); v(at) = v(a) + r4
    case ("add r8"); v(at) = v(a) + r8
    case ("add i4"); v(at) = v(a) + i4
    case ("add i8"); v(at) = v(a) + i8
    case ("multiply r4"); v(at) = r4 * v(a)
    case ("multiply r8"); v(at) = r8 * v(a)
    case ("multiply i4"); v(at) = i4 * v(a)
    case ("multiply i8"); v(at) = i8 * v(a)
    case ("subtract r4"); v(at) = r4 - v(a)
    case ("subtract r8"); v(at) = r8 - v(a)
    case ("subtract i4"); v(at) = i4 - v(a)
    case ("subtract i8"); v(at) = i8 - v(a)
    case default; error stop "no such operation with a scalar"
    end select
  end subroutine

  subroutine unary(line)
    character(*), intent(in) :: line
    character(16) :: word, op
    integer :: at, a
    read (line, *) word, at, op, a
    select case (op)
    case ("negate"); v(at) = -v(a)
    case ("abs"); v(at) = abs(v(a))
    case ("exponential"); v(at) = exp(v(a))
    case ("tanh"); v(at) = tanh(v(a))
    case ("sqrt"); v(at) = sqrt(v(a))
    case ("sine"); v(at) = sin(v(a))
    case ("copy"); v(at) = v(a)
    case ("transpose"); v(at) = transpose(v(a))
    case ("f32"); v(at) = lx_convert(v(a), LXLA_DTYPE_F32)
    case ("f64"); v(at) = lx_convert(v(a), LXLA_DTYPE_F64)
    case default; error stop "no such unary operation"
    end select
  end subroutine

  subroutine reduction(line)
    character(*), intent(in) :: line
    character(16) :: word, op
    integer :: at, a, dim, keep
    read (line, *) word, at, op, a, dim, keep
    select case (op)
    case ("sum"); v(at) = sum(v(a), dim, keep == 1)
    case ("maxval"); v(at) = maxval(v(a), dim, keep == 1)
    case ("all"); v(at) = sum(v(a))
    case ("mean"); v(at) = lx_mean(v(a), [-dim], keep == 1)
    case default; error stop "no such reduction"
    end select
  end subroutine

  subroutine shaped(line)
    character(*), intent(in) :: line
    character(16) :: word
    integer :: at, a, b, c, n, sizes(7)
    read (line, *) word, at, a, n
    select case (word)
    case ("reshape")
      read (line, *) word, at, a, n, sizes(:n)
      v(at) = reshape(v(a), sizes(:n))
    case ("concatenate")
      read (line, *) word, at, a, b, c
      v(at) = lx_concatenate([v(a), v(b)], -c)
    case ("merge")
      read (line, *) word, at, a, b, c
      v(at) = merge(v(a), v(b), v(c))
    case ("split")
      read (line, *) word, at, a, n
      block
        type(lx_tensor) :: parts(2)
        call lx_split(v(a), -1, parts, [n, int(size(v(a), 1)) - n])
        v(at) = parts(1)
        v(at + 1) = parts(2)
      end block
    case default
      error stop "no such operation"
    end select
  end subroutine

  subroutine output(line)
    character(*), intent(in) :: line
    character(16) :: word
    integer :: a
    real(real32), allocatable :: r4(:)
    real(real64), allocatable :: r8(:)
    integer(int32), allocatable :: i4(:)
    logical, allocatable :: l(:)
    type(lx_tensor) :: flat
    read (line, *) word, a
    flat = reshape(v(a), [int(size(v(a)))])
    select case (lx_tensor_dtype(flat))
    case (LXLA_DTYPE_F32)
      call lx_to_array(flat, r4)
      write (results) r4
    case (LXLA_DTYPE_F64)
      call lx_to_array(flat, r8)
      write (results) r8
    case (LXLA_DTYPE_S32)
      call lx_to_array(flat, i4)
      write (results) i4
    case (LXLA_DTYPE_PRED)
      call lx_to_array(flat, l)
      write (results) merge(1_int8, 0_int8, l)
    case default
      error stop "a dtype that no program has"
    end select
  end subroutine
end module

program programs
  use interpreter
  implicit none
  character(1024) :: path
  character(256) :: line
  integer :: text, stat
  call get_command_argument(1, path)
  open (newunit=text, file=path, status="old", action="read")
  call get_command_argument(2, path)
  open (newunit=results, file=path, status="replace", access="stream", form="unformatted")
  do
    read (text, "(a)", iostat=stat) line
    if (stat /= 0) exit
    call run(line)
  end do
end program
