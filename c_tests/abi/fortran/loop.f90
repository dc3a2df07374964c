! A loop of training whose tensors, memory and programs stay the same: loop STEPS
module regression
  use lazyxla
  implicit none
  type :: parameters
    type(lx_tensor) :: weight, bias
  end type
contains
  function predicted(p, x) result(y)
    type(parameters), intent(in) :: p
    type(lx_tensor), intent(in) :: x
    type(lx_tensor) :: y
    y = tanh(matmul(p%weight, x) + p%bias)
  end function

  ! Returns new parameters, as a function does in Fortran: no copy of a value is made.
  function stepped(p, x, y, loss) result(q)
    type(parameters), intent(in) :: p
    type(lx_tensor), intent(in) :: x, y
    type(lx_tensor), intent(inout) :: loss
    type(parameters) :: q
    type(lx_tensor) :: g(2)
    loss = lx_mean((predicted(p, x) - y)**2)
    call lx_gradients([loss], [p%weight, p%bias], g)
    q%weight = p%weight - 0.1 * g(1)
    q%bias = p%bias - 0.1 * g(2)
  end function

  ! Returns the resident memory of the process in pages.
  function pages()
    integer :: pages, unit, total
    open (newunit=unit, file="/proc/self/statm", action="read")
    read (unit, *) total, pages
    close (unit)
  end function
end module

program loop
  use, intrinsic :: iso_fortran_env, only: int64
  use regression
  implicit none
  integer, parameter :: rows = 64, columns = 16, outputs = 4
  type(parameters) :: p
  type(lx_tensor) :: x, y, loss
  integer(int64) :: live(2), compiled(2)
  integer :: step, steps, memory(2), at
  real :: points(columns, rows), first, last
  character(16) :: word
  call get_command_argument(1, word)
  read (word, *) steps
  points = reshape([(sin(1.7 * step), step=1, columns * rows)], shape(points))
  p%weight = lx_fill([outputs, columns], 0.0d0)
  p%bias = lx_fill([outputs, 1], 0.0d0)
  do step = 1, steps
    x = lx_from_array(points)
    y = lx_from_array(points(:outputs, :)**2 - 0.5)
    p = stepped(p, x, y, loss)
    call lx_mark_step()
    if (step == 1) first = real(lx_value(loss))
    last = real(lx_value(loss))
    at = merge(1, 2, step == steps / 4)
    if (step == steps / 4 .or. step == steps) then
      live(at) = lx_live_tensors()
      memory(at) = pages()
      compiled(at) = lx_env_counter("UncachedCompile")
    end if
  end do
  print "('loss ', g0, ' to ', g0)", first, last
  print "('live tensors ', i0, ' then ', i0, ', pages ', i0, ' then ', i0, ', programs ', i0, ' then ', i0)", &
    live, memory, compiled
  if (last >= first) error stop "nothing was learned"
  if (live(2) /= live(1)) error stop "tensors are left behind"
  if (compiled(2) /= compiled(1)) error stop "the loop compiles again"
  if (memory(2) - memory(1) > 1024) error stop "memory grows"  ! 4 MB
end program
