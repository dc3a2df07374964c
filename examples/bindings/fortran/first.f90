! README.md's first program in Fortran: a tensor that is updated a hundred times, by one compiled program.
program first
  use lazyxla
  implicit none
  type(lx_tensor) :: x, old
  real :: values(3)
  integer :: step

  x = lx_from_array([1.0, 2.0, 3.0])
  do step = 1, 100
    x = 0.5 * x + 1       ! recorded, not run
    call lx_mark_step()   ! compiled once, run 100 times; the new value is written over the old one
  end do
  old = x                 ! keeps the present value; no copy
  x = x * 100             ! `old` is unchanged
  call lx_read(x - old, values)  ! computes the difference, and waits for it
  print "(3(f0.0, 1x))", values
end program
