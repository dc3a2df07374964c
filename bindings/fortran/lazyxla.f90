! Lazy tensors on XLA, for Fortran.
!
! Shapes. Arrays of Fortran are column-major, tensors are row-major, and no data is moved: an array (m, n) is a tensor
! of shape [n, m]. So dimension d of an array is axis -d of its tensor, counted from the end. Procedures lx_* take axes
! and shapes of the tensor, as in C. Procedures with the names of intrinsic functions (matmul, transpose, reshape,
! shape, size, sum, maxval) take dimensions and shapes of Fortran.
module lazyxla
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use lazyxla_c
  use lazyxla_api, lx_handle => handle_of, lx_adopt => take_over
  use lazyxla_arrays
  implicit none
  public
  private :: int32, int64, real32, real64, alone, refused, failed, refuse, drain, handles_of, borrow, given_env, &
    given_device, matmul_tensor, transpose_tensor, reshape_tensor, shape_tensor, size_tensor, merge_tensor, call_one, &
    call_list

  abstract interface
    ! What a computation does with its parameters: sets the results.
    subroutine lx_body(x, y)
      import :: lx_tensor
      type(lx_tensor), intent(in) :: x(:)
      type(lx_tensor), intent(inout) :: y(:)
    end subroutine
  end interface

  interface matmul
    module procedure matmul_tensor
  end interface
  interface transpose
    module procedure transpose_tensor
  end interface
  interface reshape
    module procedure reshape_tensor
  end interface
  interface shape
    module procedure shape_tensor
  end interface
  interface size
    module procedure size_tensor
  end interface
  interface merge
    module procedure merge_tensor
  end interface
  interface lx_call
    module procedure call_one, call_list
  end interface
contains
  ! Returns the shape of the array that the tensor is in Fortran.
  function shape_tensor(x) result(sizes)
    type(lx_tensor), intent(in) :: x
    integer, allocatable :: sizes(:)
    integer(c_int64_t) :: dims(64)
    integer :: rank
    rank = lx_tensor_rank(x)
    call lx_tensor_dims(x, dims)
    sizes = int(dims(rank:1:-1))
  end function

  ! Returns the number of elements, or of those along a dimension.
  function size_tensor(x, dim) result(n)
    type(lx_tensor), intent(in) :: x
    integer, intent(in), optional :: dim
    integer(int64) :: n
    integer(c_int64_t) :: dims(64)
    integer :: rank
    rank = lx_tensor_rank(x)
    call lx_tensor_dims(x, dims)
    if (.not. present(dim)) then
      n = product(dims(:rank))
    else if (dim < 1 .or. dim > rank) then
      error stop "size: dim: the tensor has no such dimension"
    else
      n = dims(rank + 1 - dim)
    end if
  end function

  ! Returns the product of matrices (m, k) and (k, n), or of a matrix and a vector. The row-major product of the same
  ! memory is that of the operands in the other order. Further dimensions are batches.
  function matmul_tensor(a, b) result(c)
    type(lx_tensor), intent(in) :: a, b
    type(lx_tensor) :: c
    c = lx_matmul(b, a)
  end function

  ! Returns the transpose of a matrix. Of higher ranks, the order of all dimensions is reversed.
  function transpose_tensor(x) result(y)
    type(lx_tensor), intent(in) :: x
    type(lx_tensor) :: y
    integer :: i
    y = lx_transpose(x, [(i, i=lx_tensor_rank(x) - 1, 0, -1)])
  end function

  ! Returns the elements in another shape of Fortran; their order in memory stays. [integer ::] makes a scalar.
  function reshape_tensor(x, shape) result(y)
    type(lx_tensor), intent(in) :: x
    integer, intent(in) :: shape(:)
    type(lx_tensor) :: y
    y = lx_reshape(x, shape(ubound(shape, 1):1:-1))
  end function

  function merge_tensor(tsource, fsource, mask) result(y)
    type(lx_tensor), intent(in) :: tsource, fsource, mask
    type(lx_tensor) :: y
    y = lx_select(mask, tsource, fsource)
  end function

  ! Returns the value of a tensor of one element, as a double; computes it if it is pending.
  function lx_value(x, stat, errmsg) result(value)
    type(lx_tensor), intent(in) :: x
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real64) :: value
    type(lx_tensor) :: one
    real(real32) :: single
    integer(int32) :: whole
    value = 0
    one = lx_reshape(x, [integer ::], stat, errmsg)
    if (.not. alone(stat)) return
    select case (lx_tensor_dtype(one))
    case (LXLA_DTYPE_F32)
      call lx_read(one, single, stat, errmsg)
      if (alone(stat)) value = single
    case (LXLA_DTYPE_S32)
      call lx_read(one, whole, stat, errmsg)
      if (alone(stat)) value = whole
    case (LXLA_DTYPE_F64)
      call lx_read(one, value, stat, errmsg)
    case default
      one = lx_convert(one, LXLA_DTYPE_F64, stat, errmsg)
      if (alone(stat)) call lx_read(one, value, stat, errmsg)
    end select
  end function

  ! Returns whether no call has failed so far: one without `stat` would have stopped the program.
  pure logical function alone(stat)
    integer, intent(in), optional :: stat
    alone = .true.
    if (present(stat)) alone = stat == LXLA_OK
  end function

  ! Returns a tensor whose elements are all the same, of a shape of Fortran; f32 unless a dtype is given.
  function lx_fill(sizes, value, dtype, env, device, stat, errmsg) result(x)
    integer, intent(in) :: sizes(:)
    real(real64), intent(in) :: value
    integer(c_int32_t), intent(in), optional :: dtype
    type(lx_env), intent(in), optional :: env
    type(lxla_device), intent(in), optional :: device
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lx_tensor) :: x
    integer(c_int32_t) :: kind
    kind = LXLA_DTYPE_F32
    if (present(dtype)) kind = dtype
    x = lx_tensor_full(kind, sizes(ubound(sizes, 1):1:-1), value, env, device, stat, errmsg)
  end function

  ! Traces a procedure: returns the computation of its results as a function of its parameters, which are like `like`.
  ! What `body` reads besides them is captured with its present value.
  function lx_trace(body, like, n_results, stat, errmsg) result(f)
    procedure(lx_body) :: body
    type(lx_tensor), intent(in) :: like(:)
    integer, intent(in) :: n_results
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lx_computation) :: f
    type(lx_tensor) :: x(ubound(like, 1)), y(n_results)
    type(lxla_device) :: device
    integer :: i
    if (present(stat)) stat = LXLA_OK
    do i = 1, ubound(like, 1)
      if (alone(stat)) x(i) = lx_tensor_placeholder_like(like(i), stat, errmsg)
    end do
    if (alone(stat) .and. ubound(like, 1) > 0) device = lx_tensor_device(like(1), stat, errmsg)
    if (alone(stat)) call lx_tracing_begin(device=device, stat=stat, errmsg=errmsg)
    if (.not. alone(stat)) return
    call body(x, y)
    f = lx_tracing_end(x, y, stat, errmsg)
    if (.not. alone(stat)) call lx_tracing_abandon()
  end function

  ! Returns the computation in a file: an export of JAX, PyTorch or TensorFlow. `sizes` are the shapes of Fortran of its
  ! parameters, one after another, for a program that leaves sizes free; `ranks` their ranks, if it has several.
  function lx_import(path, sizes, ranks, env, stat, errmsg) result(f)
    character(*), intent(in) :: path
    integer, intent(in), optional :: sizes(:), ranks(:)
    type(lx_env), intent(in), optional :: env
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lx_computation) :: f
    type(lxla_import_options) :: options
    integer(c_size_t), allocatable, target :: n(:)
    integer(c_int64_t), allocatable, target :: dims(:)
    integer :: i, at
    if (present(sizes)) then
      allocate (dims(ubound(sizes, 1)), n(1))
      n(1) = ubound(sizes, 1)
      if (present(ranks)) n = int(ranks, c_size_t)
      if (refused(sum(n) /= ubound(sizes, 1), "lx_import: sizes: want as many as the ranks say", stat, errmsg)) return
      at = 0
      do i = 1, ubound(n, 1)
        dims(at + 1:at + n(i)) = sizes(at + int(n(i)):at + 1:-1)
        at = at + int(n(i))
      end do
      options%ranks = c_loc(n)
      options%dims = c_loc(dims)
      options%n_parameters = ubound(n, 1)
    else if (refused(present(ranks), "lx_import: ranks: given without sizes", stat, errmsg)) then
      return
    end if
    f = lx_computation_import_file(path, options, env, stat, errmsg)
  end function

  logical function refused(is_wrong, message, stat, errmsg)
    logical, intent(in) :: is_wrong
    character(*), intent(in) :: message
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    status = LXLA_OK
    if (is_wrong) call refuse(message, status)
    refused = failed(status, stat, errmsg)
  end function

  ! Returns a computation of the results of f, then the gradients of the first one by the parameters `wrt`, which are
  ! counted from 1; by all of them if it is absent.
  function lx_value_and_grad(f, wrt, stat, errmsg) result(g)
    type(lx_computation), intent(in) :: f
    integer, intent(in), optional :: wrt(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lx_computation) :: g
    type(lxla_vjp_options) :: options
    integer(c_size_t), allocatable, target :: indices(:)
    if (present(wrt)) then
      if (refused(any(wrt < 1), "lx_value_and_grad: wrt: parameters are counted from 1", stat, errmsg)) return
      allocate (indices(ubound(wrt, 1)))
      indices = wrt - 1
      options%wrt = c_loc(indices)
      options%n_wrt = ubound(wrt, 1)
    end if
    g = lx_computation_value_and_grad(f, options, stat, errmsg)
  end function

  ! Returns the only result of a computation. lx_computation_call returns several.
  function call_one(f, x, stat, errmsg) result(y)
    type(lx_computation), intent(in) :: f
    type(lx_tensor), intent(in) :: x
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lx_tensor) :: y
    y = call_list(f, [x], stat, errmsg)
  end function

  function call_list(f, x, stat, errmsg) result(y)
    type(lx_computation), intent(in) :: f
    type(lx_tensor), intent(in) :: x(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(lx_tensor) :: y, made(1)
    call lx_computation_call(f, x, made, stat, errmsg)
    y = made(1)
  end function

  ! Returns a list, as an array constructor does: for arguments with elements that are function results, which gfortran
  ! does not release in an array constructor.
  function lx_list(a, b, c, d, e, f, g, h) result(list)
    type(lx_tensor), intent(in) :: a
    type(lx_tensor), intent(in), optional :: b, c, d, e, f, g, h
    type(lx_tensor), allocatable :: list(:)
    logical :: is_given(8)
    is_given = [.true., present(b), present(c), present(d), present(e), present(f), present(g), present(h)]
    allocate (list(count(is_given)))
    list(1) = a
    if (present(b)) list(count(is_given(:2))) = b
    if (present(c)) list(count(is_given(:3))) = c
    if (present(d)) list(count(is_given(:4))) = d
    if (present(e)) list(count(is_given(:5))) = e
    if (present(f)) list(count(is_given(:6))) = f
    if (present(g)) list(count(is_given(:7))) = g
    if (present(h)) list(count(is_given(:8))) = h
  end function

  ! Returns the number of tensors that the environment has made and not destroyed.
  function lx_live_tensors(env) result(n)
    type(lx_env), intent(in), optional :: env
    integer(int64) :: n
    n = lx_env_counter("CreateTensor", env) - lx_env_counter("DestroyTensor", env)
  end function
end module
