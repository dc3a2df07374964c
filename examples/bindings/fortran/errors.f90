! Errors: `stat` and `errmsg` as of `allocate`; without them a failed call stops the program with the message.
program errors
  use lazyxla
  implicit none
  type(lx_tensor) :: a, b, c
  type(lx_computation) :: model
  integer :: stat
  character(300) :: message
  real :: values(4)

  a = lx_from_array([1.0, 2.0, 3.0])
  b = lx_from_array([1.0, 2.0])
  c = lx_binary(LXLA_BINARY_ADD, a, b, stat, message)
  print "(i0, 1x, a)", stat, trim(message)
  if (stat == LXLA_INVALID_ARGUMENT .and. c%is_null()) print "(a)", "nothing was recorded"

  call lx_read(a, values, stat, message)
  print "(i0, 1x, a)", stat, trim(message)

  model = lx_import("model.pt2", [64, 10], stat=stat, errmsg=message)
  if (stat == LXLA_NOT_FOUND) print "(a)", "there is no model: start without one"

  if (command_argument_count() > 0) c = a + b  ! an operator has no stat: stops the program
end program
