! Threads of OpenMP: each has a model of its own, and steps its own tensors; all run one imported or traced program.
!
!   gfortran -fopenmp threads.f90 ...
module model
  use lazyxla
  implicit none
contains
  ! The residual of a linear fit: the loss of a line y = w(1) x + w(2).
  subroutine fit(x, y)
    type(lx_tensor), intent(in) :: x(:)
    type(lx_tensor), intent(inout) :: y(:)
    type(lx_tensor) :: slope, offset
    slope = lx_slice_axis(x(1), 0, 0, 1, 1)
    offset = lx_slice_axis(x(1), 0, 1, 2, 1)
    y(1) = lx_mean((slope * x(2) + offset - x(3))**2)
  end subroutine
end module

program threads
  use, intrinsic :: iso_fortran_env, only: int64, real32
  use model
  implicit none
  integer, parameter :: n_threads = 4, steps = 200, points = 50
  type(lx_computation) :: loss_and_gradient
  integer(int64) :: compiles
  real(real32) :: x(points), learned(2, n_threads)
  integer :: i
  x = [(real(i) / points, i=1, points)]
  loss_and_gradient = lx_value_and_grad(lx_trace(fit, lx_list(lx_fill([2], 0d0), lx_fill([points], 0d0), &
                                                             lx_fill([points], 0d0)), 1), [1])
  !$omp parallel do num_threads(n_threads)
  do i = 1, n_threads
    call train(i)
  end do
  compiles = lx_env_counter("UncachedCompile")
  print "('slopes  ', *(f7.3))", learned(1, :)
  print "('offsets ', *(f7.3))", learned(2, :)
  print "('programs compiled ', i0)", compiles
  if (any(abs(learned(1, :) - [(real(i), i=1, n_threads)]) > 0.05) .or. any(abs(learned(2, :) - 1) > 0.05)) &
    error stop "a thread did not learn its line"
  if (compiles > 8) error stop "the threads compiled a program for each step"
contains
  ! Learns y = line x + 1. Step of a list: lx_mark_step would run what every thread has pending.
  subroutine train(line)
    integer, intent(in) :: line
    type(lx_tensor) :: w, inputs, targets, results(2)
    integer :: step
    w = lx_from_array([0.0, 0.0])
    inputs = lx_from_array(x)
    targets = line * inputs + 1
    do step = 1, steps
      call lx_computation_call(loss_and_gradient, [w, inputs, targets], results)
      w = w - 0.5 * results(2)
      call lx_step_tensors([w])
    end do
    call lx_read(w, learned(:, line))
  end subroutine
end program
