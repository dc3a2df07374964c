! The handwritten digits of examples/data, and random numbers.
module images
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: pixels_of_image = 64, classes = 10
  type :: image_set
    real, allocatable :: pixels(:, :)  ! (64, n), 0 to 1
    real, allocatable :: labels(:, :)  ! (10, n), one-hot
  end type
  integer(int64), private :: state = int(z"9E3779B97F4A7C15", int64)
contains
  function load(path) result(set)
    character(*), intent(in) :: path
    type(image_set) :: set
    integer :: unit, n, stat, i, values(pixels_of_image + 1)
    character(512) :: line
    open (newunit=unit, file=path, status="old", action="read")
    n = 0
    do
      read (unit, "(a)", iostat=stat) line
      if (stat /= 0) exit
      n = n + 1
    end do
    rewind (unit)
    allocate (set%pixels(pixels_of_image, n), set%labels(classes, n))
    set%labels = 0
    do i = 1, n
      read (unit, *) values
      set%pixels(:, i) = values(:pixels_of_image) / 16.0
      set%labels(values(pixels_of_image + 1) + 1, i) = 1
    end do
    close (unit)
  end function

  ! Moves the images by one pixel to the right and downwards.
  subroutine shift(set)
    type(image_set), intent(inout) :: set
    integer, parameter :: width = 8
    integer :: k
    do k = pixels_of_image, 1, -1
      if (k > width .and. mod(k - 1, width) > 0) then
        set%pixels(k, :) = set%pixels(k - width - 1, :)
      else
        set%pixels(k, :) = 0
      end if
    end do
  end subroutine

  ! Returns a random number from 0 to 1.
  function uniform() result(x)
    real(real64) :: x
    state = ieor(state, shiftl(state, 13))
    state = ieor(state, shiftr(state, 7))
    state = ieor(state, shiftl(state, 17))
    x = real(shiftr(state, 11), real64) / 9007199254740992.0_real64
  end function

  function normal() result(x)
    real(real64) :: x, radius
    radius = sqrt(-2 * log(1 - uniform()))
    x = radius * cos(2 * 3.14159265358979_real64 * uniform())
  end function

  ! Puts numbers in a random order.
  subroutine shuffle(order)
    integer, intent(inout) :: order(:)
    integer :: i, k, kept
    do i = size(order), 2, -1
      k = int(uniform() * i) + 1
      kept = order(i)
      order(i) = order(k)
      order(k) = kept
    end do
  end subroutine
end module
