! Imports a network that JAX exported with its weights, runs it on images, and trains its last layer for other images:
!
!   tune examples/models/digits.jax examples/data/digits.csv [steps]
!
! It needs images.f90. A program that PyTorch exported (.pt2) is imported in the same way.
module tuning
  use lazyxla
  use images
  implicit none
  integer, parameter :: batch = 128
contains
  ! Records the scores (10, n) of images (64, n): a call of a computation whose parameters are the images and weights.
  function scores_of(model, x, weights) result(scores)
    type(lx_computation), intent(in) :: model
    type(lx_tensor), intent(in) :: x, weights(:)
    type(lx_tensor) :: scores, inputs(size(weights) + 1)
    inputs(1) = x
    inputs(2:) = weights
    scores = lx_call(model, inputs)
  end function

  function cross_entropy(scores, labels) result(loss)
    type(lx_tensor), intent(in) :: scores, labels
    type(lx_tensor) :: loss
    loss = -sum(labels * lx_log_softmax(scores, -1)) / size(scores, 2)
  end function

  function share_right(scores, set) result(share)
    type(lx_tensor), intent(in) :: scores
    type(image_set), intent(in) :: set
    integer, allocatable :: best(:)
    real(real64) :: share
    integer :: i
    call lx_to_array(lx_argmax(scores, -1, LXLA_DTYPE_S32), best)
    share = count([(set%labels(best(i) + 1, i) == 1, i=1, size(best))]) / real(size(best), real64)
  end function

  ! Records a step of Adam.
  subroutine update(weight, gradient, m, v, rate)
    type(lx_tensor), intent(inout) :: weight, m, v
    type(lx_tensor), intent(in) :: gradient
    real, intent(in) :: rate
    m = 0.9 * m + 0.1 * gradient
    v = 0.99 * v + 0.01 * gradient**2
    weight = weight - rate * m / (sqrt(v) + 1e-8)
  end subroutine

  ! Returns the images whose number is a multiple of 360, or the others.
  function part(all_of_them, is_held_out) result(set)
    type(image_set), intent(in) :: all_of_them
    logical, intent(in) :: is_held_out
    type(image_set) :: set
    integer, allocatable :: chosen(:)
    integer :: i
    chosen = pack([(i, i=1, size(all_of_them%pixels, 2))], [((mod(i, 5) == 0) .eqv. is_held_out, &
                                                             i=1, size(all_of_them%pixels, 2))])
    set%pixels = all_of_them%pixels(:, chosen)
    set%labels = all_of_them%labels(:, chosen)
  end function
end module

program tune
  use tuning
  implicit none
  type(image_set) :: training, held_out
  type(lx_computation) :: model, for_batch
  type(lx_tensor), allocatable :: weights(:)
  type(lx_tensor) :: x, loss, last(2), gradients(2), m(2), v(2)
  real(real64) :: first, shifted, tuned
  integer :: i, step, steps, place(2), n, parameters, results, captured
  integer, allocatable :: chosen(:), sizes(:)
  character(1024) :: path, data, word

  call get_command_argument(1, path)
  call get_command_argument(2, data)
  steps = 200
  if (command_argument_count() > 2) then
    call get_command_argument(3, word)
    read (word, *) steps
  end if
  training = part(load(data), .false.)
  held_out = part(load(data), .true.)
  n = size(held_out%pixels, 2)

  ! The file leaves the number of images free.
  model = lx_import(path, [pixels_of_image, n])
  first = share_right(lx_call(model, lx_from_array(held_out%pixels)), held_out)
  print "('held-out accuracy of the import     ', f6.4, ', ', i0, ' images')", first, n

  ! The weights are values that the program captured; `lift` makes them parameters.
  call lx_computation_info(model, parameters, results, captured)
  allocate (weights(captured))
  do i = 1, captured
    weights(i) = lx_tensor_to_device(lx_computation_captured(model, i - 1))
    sizes = shape(weights(i))
    if (sizes(1) == classes) place(size(sizes)) = i  ! the bias has rank 1, the matrix rank 2
  end do
  model = lx_computation_lift(model)
  for_batch = lx_computation_lift(lx_import(path, [pixels_of_image, batch]))

  call shift(training)
  call shift(held_out)
  shifted = share_right(scores_of(model, lx_from_array(held_out%pixels), weights), held_out)
  print "('the same of shifted images          ', f6.4)", shifted
  do i = 1, 2
    m(i) = lx_fill(shape(weights(place(i))), 0.0_real64)
    v(i) = m(i)
  end do
  do step = 1, steps
    chosen = [(mod((step - 1) * batch + i, size(training%pixels, 2)) + 1, i=0, batch - 1)]
    x = lx_from_array(training%pixels(:, chosen))
    loss = cross_entropy(scores_of(for_batch, x, weights), lx_from_array(training%labels(:, chosen)))
    last = weights(place)
    call lx_gradients([loss], last, gradients)
    do i = 1, 2
      call update(weights(place(i)), gradients(i), m(i), v(i), 0.01)
    end do
    call lx_mark_step()
  end do
  tuned = share_right(scores_of(model, lx_from_array(held_out%pixels), weights), held_out)
  print "('after ', i0, ' steps of the last layer   ', f6.4, ', loss ', f6.4)", steps, tuned, lx_value(loss)
  print "('programs compiled ', i0)", lx_env_counter("UncachedCompile")
  call lx_save("tuned.safetensors", ["bias  ", "weight"], weights(place))
  if (first < 0.97 .or. shifted > 0.6 .or. tuned < 0.85) error stop "the training failed"
end program
