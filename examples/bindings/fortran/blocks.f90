! Runs an imported network on blocks of columns, from the threads of OpenMP, as a part of a larger program would:
!
!   blocks examples/models/digits.jax
program blocks_of_columns
  use lazyxla
  implicit none
  integer, parameter :: blocks = 8, block_size = 100, steps = 5
  type(lx_executable) :: net
  real :: x(64, block_size, blocks), y(10, block_size, blocks), z(10, 1), least, most
  integer :: b, step, stat
  character(300) :: message
  character(1024) :: path

  call get_command_argument(1, path)
  x = reshape([(abs(sin(real(b))), b=1, size(x))], shape(x))
  net = lx_executable_compile(lx_import(path, [64, block_size]))
  do step = 1, steps
    !$omp parallel do
    do b = 1, blocks
      call lx_run(net, x(:, :, b), y(:, :, b))
    end do
  end do

  ! A block does not depend on the others.
  y(:, :, 2) = 0
  call lx_run(net, x(:, :, 1), y(:, :, 2))
  if (any(y(:, :, 1) /= y(:, :, 2))) error stop "the threads disturb each other"
  least = minval(y)
  most = maxval(y)
  print "('scores from ', f0.3, ' to ', f0.3, ', programs compiled ', i0)", least, most, &
    lx_env_counter("UncachedCompile")
  call lx_run(net, x(:, :, 1), z, stat, message)
  print "(a)", trim(message)
end program
