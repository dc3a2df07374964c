! Lazy tensors on XLA, for Fortran.
!
! Shapes. Arrays of Fortran are column-major, tensors are row-major, and no data is moved: an array (m, n) is a tensor
! of shape [n, m]. So dimension d of an array is axis -d of its tensor, counted from the end. Procedures lx_* take axes
! and shapes of the tensor, as in C. Procedures with the names of intrinsic functions (matmul, transpose, reshape,
! shape, size, sum, maxval) take dimensions and shapes of Fortran.
module lazyxla
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use lazyxla_c
  use lazyxla_api
  use lazyxla_arrays
  implicit none
  public
  private :: int64, real64, reduced, alone

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
  interface sum
    module procedure sum_tensor
  end interface
  interface product
    module procedure product_tensor
  end interface
  interface maxval
    module procedure maxval_tensor
  end interface
  interface minval
    module procedure minval_tensor
  end interface
  interface all
    module procedure all_tensor
  end interface
  interface any
    module procedure any_tensor
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

  function reduced(op, x, dim, keep_dims) result(y)
    integer(c_int32_t), intent(in) :: op
    type(lx_tensor), intent(in) :: x
    integer, intent(in), optional :: dim
    logical, intent(in), optional :: keep_dims
    type(lx_tensor) :: y
    if (present(dim)) then
      if (dim < 1) error stop "dim: dimensions are counted from 1"
      y = lx_reduce(op, x, [-dim], keep_dims)
    else
      y = lx_reduce(op, x, keep_dims=keep_dims)
    end if
  end function

  ! Returns the sum of all elements, or along a dimension, which `keep_dims` keeps with size 1.
  function sum_tensor(x, dim, keep_dims) result(y)
    type(lx_tensor), intent(in) :: x
    integer, intent(in), optional :: dim
    logical, intent(in), optional :: keep_dims
    type(lx_tensor) :: y
    y = reduced(LXLA_REDUCE_SUM, x, dim, keep_dims)
  end function

  function product_tensor(x, dim, keep_dims) result(y)
    type(lx_tensor), intent(in) :: x
    integer, intent(in), optional :: dim
    logical, intent(in), optional :: keep_dims
    type(lx_tensor) :: y
    y = reduced(LXLA_REDUCE_PRODUCT, x, dim, keep_dims)
  end function

  function maxval_tensor(x, dim, keep_dims) result(y)
    type(lx_tensor), intent(in) :: x
    integer, intent(in), optional :: dim
    logical, intent(in), optional :: keep_dims
    type(lx_tensor) :: y
    y = reduced(LXLA_REDUCE_MAX, x, dim, keep_dims)
  end function

  function minval_tensor(x, dim, keep_dims) result(y)
    type(lx_tensor), intent(in) :: x
    integer, intent(in), optional :: dim
    logical, intent(in), optional :: keep_dims
    type(lx_tensor) :: y
    y = reduced(LXLA_REDUCE_MIN, x, dim, keep_dims)
  end function

  function all_tensor(mask, dim, keep_dims) result(y)
    type(lx_tensor), intent(in) :: mask
    integer, intent(in), optional :: dim
    logical, intent(in), optional :: keep_dims
    type(lx_tensor) :: y
    y = reduced(LXLA_REDUCE_ALL, mask, dim, keep_dims)
  end function

  function any_tensor(mask, dim, keep_dims) result(y)
    type(lx_tensor), intent(in) :: mask
    integer, intent(in), optional :: dim
    logical, intent(in), optional :: keep_dims
    type(lx_tensor) :: y
    y = reduced(LXLA_REDUCE_ANY, mask, dim, keep_dims)
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
    type(lx_tensor) :: converted
    value = 0
    converted = lx_convert(x, LXLA_DTYPE_F64, stat, errmsg)
    if (alone(stat)) converted = lx_reshape(converted, [integer ::], stat, errmsg)
    if (alone(stat)) call lx_read(converted, value, stat, errmsg)
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

  ! Returns the number of tensors that the environment has made and not destroyed.
  function lx_live_tensors(env) result(n)
    type(lx_env), intent(in), optional :: env
    integer(int64) :: n
    n = lx_env_counter("CreateTensor", env) - lx_env_counter("DestroyTensor", env)
  end function
end module
