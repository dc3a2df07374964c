! Trains a small network on real handwritten digits, as examples/train_digits.c with the same random numbers:
! 64-256-256-10, ReLU, softmax cross-entropy, SGD with momentum.
!
!   digits examples/data/digits.csv [epochs [curve.txt]]
!
! It needs images.f90. Arrays have one column for each image: pixels(64, n) is a tensor [n, 64] without a copy.
module network
  use lazyxla
  use images
  implicit none
  integer, parameter :: layers = 3, sizes(layers + 1) = [pixels_of_image, 256, 256, classes], batch = 128
  real(real64), parameter :: momentum = 0.9_real64
  ! Parameters and their momenta: weights (out, in), and biases (out, 1).
  type(lx_tensor) :: weights(layers), biases(layers), parameter_momenta(2 * layers)
contains
  subroutine initialise()
    real, allocatable :: weight(:, :)
    integer :: i, row, column
    do i = 1, layers
      allocate (weight(sizes(i + 1), sizes(i)))
      do column = 1, sizes(i)
        do row = 1, sizes(i + 1)
          weight(row, column) = real(normal() * sqrt(2.0_real64 / sizes(i)))
        end do
      end do
      weights(i) = lx_from_array(weight)
      biases(i) = lx_fill([sizes(i + 1), 1], 0.0_real64)
      parameter_momenta(2 * i - 1) = lx_fill(shape(weight), 0.0_real64)
      parameter_momenta(2 * i) = lx_fill([sizes(i + 1), 1], 0.0_real64)
      deallocate (weight)
    end do
  end subroutine

  ! Records the forward pass, and returns the scores (10, n) of images (64, n).
  function forward(x) result(scores)
    type(lx_tensor), intent(in) :: x
    type(lx_tensor) :: scores
    integer :: i
    scores = x
    do i = 1, layers
      scores = matmul(weights(i), scores) + biases(i)
      if (i < layers) scores = lx_activation(LXLA_ACTIVATION_RELU, scores)
    end do
  end function

  ! Records the mean cross-entropy. What is subtracted from all scores of an image does not change it, so that the
  ! derivative need not go through the highest score.
  function cross_entropy(scores, labels) result(loss)
    type(lx_tensor), intent(in) :: scores, labels
    type(lx_tensor) :: loss, shifted
    shifted = scores - lx_stop_gradient(maxval(scores, 1, keep_dims=.true.))
    loss = sum(labels * (shifted - log(sum(exp(shifted), 1, keep_dims=.true.)))) * (-1.0_real64 / batch)
  end function

  ! Records a step of training: forward, backward, update. Returns the loss.
  function train(x, labels, rate) result(loss)
    type(lx_tensor), intent(in) :: x, labels
    real(real64), intent(in) :: rate
    type(lx_tensor) :: loss, parameters(2 * layers), gradients(2 * layers)
    integer :: i
    parameters(1::2) = weights
    parameters(2::2) = biases
    loss = cross_entropy(forward(x), labels)
    call lx_gradients([loss], parameters, gradients)
    do i = 1, 2 * layers
      parameter_momenta(i) = parameter_momenta(i) * momentum + gradients(i)
      parameters(i) = parameters(i) - parameter_momenta(i) * rate
    end do
    weights = parameters(1::2)
    biases = parameters(2::2)
  end function

  ! Returns the share of images whose highest score is that of their label.
  function accuracy(set, first) result(share)
    type(image_set), intent(in) :: set
    integer, intent(in) :: first
    real(real64) :: share
    real, allocatable :: scores(:, :)
    integer :: i, right
    call lx_to_array(forward(lx_from_array(set%pixels(:, first:))), scores)
    right = count([(set%labels(maxloc(scores(:, i), 1), first + i - 1) == 1, i=1, size(scores, 2))])
    share = real(right, real64) / size(scores, 2)
  end function
end module

program digits
  use network
  implicit none
  integer, parameter :: held_out = 360
  real(real64), parameter :: first_rate = 0.05_real64
  type(image_set) :: set
  type(lx_tensor) :: loss
  integer, allocatable :: order(:)
  integer :: epochs, epoch, step, steps, training, batches, b, curve
  integer(int64) :: donated, least_donated
  real(real64) :: share
  character(1024) :: path, word

  call get_command_argument(1, path)
  epochs = 40
  if (command_argument_count() > 1) then
    call get_command_argument(2, word)
    read (word, *) epochs
  end if
  if (command_argument_count() > 2) then
    call get_command_argument(3, word)
    open (newunit=curve, file=word, action="write")
  else
    open (newunit=curve, status="scratch")
  end if

  set = load(path)
  call mix(set)
  training = size(set%pixels, 2) - held_out
  batches = training / batch
  steps = epochs * batches
  order = [(b, b=1, training)]
  call initialise()
  call lx_mark_step(wait=.true.)
  call lx_env_metrics_reset()
  step = 0
  least_donated = huge(least_donated)
  do epoch = 1, epochs
    call shuffle(order)
    do b = 1, batches
      donated = lx_env_counter("DonatedBuffers")
      associate (chosen => order((b - 1) * batch + 1:b * batch))
        loss = train(lx_from_array(set%pixels(:, chosen)), lx_from_array(set%labels(:, chosen)), &
                     first_rate * (1 - 0.9_real64 * step / steps))
      end associate
      call lx_mark_step()
      least_donated = min(least_donated, lx_env_counter("DonatedBuffers") - donated)
      write (curve, "('loss ', g0)") lx_value(loss)
      step = step + 1
    end do
    share = accuracy(set, training + 1)
    write (curve, "('accuracy ', g0)") share
    if (mod(epoch, max(1, epochs / 8)) == 0) print "('epoch ', i0, '  loss ', f0.4, '  held-out accuracy ', f0.4)", &
      epoch, lx_value(loss), share
  end do
  close (curve)
  call loss%release()
  print "('programs compiled ', i0, ', buffers donated each step ', i0)", lx_env_counter("UncachedCompile"), &
    least_donated
  if (share < 0.9 .or. least_donated /= 4 * layers) error stop "the training failed"
contains
  ! Shuffles the images: the file is ordered by writer, and the held-out part must include all writers.
  subroutine mix(set)
    type(image_set), intent(inout) :: set
    integer, allocatable :: order(:)
    integer :: i
    order = [(i, i=1, size(set%pixels, 2))]
    call shuffle(order)
    set%pixels = set%pixels(:, order)
    set%labels = set%labels(:, order)
  end subroutine
end program
