! Runs a model that torch.export.save wrote, on rows of numbers from standard input, and prints a row for each:
!   torch_model MODEL.pt2 ROWS COLUMNS [cpu]
!
! gfortran torch_model.f90 -o torch_model -llazyxla

! [recipe]
! The calls of the C API that a model needs, and its types. Handles are structs of 64 bits, passed by value.
module lazyxla
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int32_t), parameter :: DTYPE_F32 = 11, DEVICE_CPU = 1, DEVICE_XLA = 2
  type, bind(c) :: lxla_env  ! 0: the default environment
    integer(c_int64_t) :: id = 0
  end type
  type, bind(c) :: lxla_computation
    integer(c_int64_t) :: id = 0
  end type
  type, bind(c) :: lxla_tensor
    integer(c_int64_t) :: id = 0
  end type
  type, bind(c) :: lxla_device
    integer(c_int32_t) :: kind = DEVICE_XLA, ordinal = 0
  end type
  type, bind(c) :: lxla_import_options
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: function = c_null_ptr, ranks = c_null_ptr, dims = c_null_ptr
    integer(c_size_t) :: n_parameters = 0
    integer(c_int64_t) :: mesh = 0
  end type
  interface
    integer(c_int32_t) function lxla_computation_import_file(env, path, options, out) bind(c)
      import
      type(lxla_env), value :: env
      character(kind=c_char), intent(in) :: path(*)
      type(lxla_import_options), intent(in) :: options
      type(lxla_computation), intent(out) :: out
    end function
    integer(c_int32_t) function lxla_tensor_from_host(env, device, dtype, dims, rank, data, size_bytes, out) bind(c)
      import
      type(lxla_env), value :: env
      type(lxla_device), value :: device
      integer(c_int32_t), value :: dtype
      integer(c_int64_t), intent(in) :: dims(*)
      integer(c_size_t), value :: rank, size_bytes
      real(c_float), intent(in) :: data(*)
      type(lxla_tensor), intent(out) :: out
    end function
    integer(c_int32_t) function lxla_computation_call(computation, args, n_args, results, n_results) bind(c)
      import
      type(lxla_computation), value :: computation
      type(lxla_tensor), intent(in) :: args(*)
      integer(c_size_t), value :: n_args, n_results
      type(lxla_tensor), intent(inout) :: results(*)
    end function
    integer(c_int32_t) function lxla_tensor_dims(tensor, dims, capacity) bind(c)
      import
      type(lxla_tensor), value :: tensor
      integer(c_int64_t), intent(out) :: dims(*)
      integer(c_size_t), value :: capacity
    end function
    integer(c_int32_t) function lxla_tensor_read(tensor, data, size_bytes) bind(c)
      import
      type(lxla_tensor), value :: tensor
      real(c_float), intent(out) :: data(*)
      integer(c_size_t), value :: size_bytes
    end function
    integer(c_int32_t) function lxla_tensor_release(tensor) bind(c)
      import
      type(lxla_tensor), value :: tensor
    end function
    integer(c_int32_t) function lxla_computation_release(computation) bind(c)
      import
      type(lxla_computation), value :: computation
    end function
    type(c_ptr) function lxla_last_error_message() bind(c)
      import
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import
      type(c_ptr), value :: text
    end function
  end interface
contains
  ! The model in a file, for an input of this shape.
  function loaded(path, dims) result(model)
    character(len=*), intent(in) :: path
    integer(c_int64_t), intent(in), target :: dims(:)
    type(lxla_computation) :: model
    type(lxla_import_options) :: options
    type(lxla_env) :: env
    integer(c_size_t), target :: ranks(1)
    ranks = size(dims, kind=c_size_t)
    options%struct_size = c_sizeof(options)
    options%n_parameters = 1
    options%ranks = c_loc(ranks)
    options%dims = c_loc(dims)
    call check(lxla_computation_import_file(env, path // c_null_char, options, model))
  end function
  ! Ends the program with the message of a call that failed.
  subroutine check(status)
    integer(c_int32_t), intent(in) :: status
    character(kind=c_char), pointer :: text(:)
    type(c_ptr) :: message
    if (status == 0) return
    message = lxla_last_error_message()
    call c_f_pointer(message, text, [c_strlen(message)])
    write (0, "(*(a))") text
    stop 1
  end subroutine
end module
! [recipe end]

program torch_model
  use lazyxla
  implicit none
  character(len=4096) :: path, word
  integer(c_int64_t) :: rows, columns, i, dims(2)
  real(c_float), allocatable :: x(:, :), y(:, :)
  type(lxla_env) :: env
  type(lxla_device) :: device
  type(lxla_computation) :: model
  type(lxla_tensor) :: inputs(1), results(1)

  if (command_argument_count() < 3) then
    write (0, "(a)") "usage: torch_model MODEL.pt2 ROWS COLUMNS [cpu]"
    stop 2
  end if
  call get_command_argument(1, path)
  call get_command_argument(2, word)
  read (word, *) rows
  call get_command_argument(3, word)
  read (word, *) columns
  call get_command_argument(4, word)
  if (word == "cpu") device%kind = DEVICE_CPU
  allocate (x(columns, rows))
  read (*, *) x

  ! [recipe]
  ! Once: the sizes that the file leaves free, such as the batch, are given here.
  model = loaded(trim(path), [rows, columns])
  ! For each batch: the first call compiles, later ones run. x(columns, rows) is the tensor [rows, columns].
  call check(lxla_tensor_from_host(env, device, DTYPE_F32, [rows, columns], 2_c_size_t, x, 4 * size(x, kind=c_size_t), &
                                   inputs(1)))
  call check(lxla_computation_call(model, inputs, 1_c_size_t, results, 1_c_size_t))
  call check(lxla_tensor_dims(results(1), dims, 2_c_size_t))
  allocate (y(dims(2), dims(1)))
  call check(lxla_tensor_read(results(1), y, 4 * size(y, kind=c_size_t)))
  call check(lxla_tensor_release(inputs(1)))
  call check(lxla_tensor_release(results(1)))
  ! [recipe end]
  do i = 1, rows
    write (*, "(*(es16.8))") y(:, i)
  end do
  call check(lxla_computation_release(model))
end program
