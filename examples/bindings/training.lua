-- Linear regression in LuaJIT: the gradient of a traced loss, steps that update the weights in place, an error.
local ffi = require("ffi")
local lxla = require("lazyxla")(arg[1])

local device = ffi.new("lxla_device", lxla.DEVICE_XLA, 0)

local function tensor(dims, values)
  return lxla.tensor_from_host(nil, device, lxla.DTYPE_F32, dims, ffi.new("float[?]", #values, values))
end

local function values(x, n)
  local made = ffi.new("float[?]", n)
  lxla.tensor_read(x, made)
  return made
end

local ROWS = 8
local points, wanted = {}, {}
for i = 0, ROWS - 1 do
  points[2 * i + 1], points[2 * i + 2] = 1, i / ROWS
  wanted[i + 1] = 3 - 2 * i / ROWS
end
local x, target, weights = tensor({ROWS, 2}, points), tensor({ROWS, 1}, wanted), tensor({2, 1}, {0, 0})

-- The mean square of x w - target as a function of w, x and target.
local w, inputs, outputs = lxla.tensor_placeholder_like(weights), lxla.tensor_placeholder_like(x),
  lxla.tensor_placeholder_like(target)
local difference = lxla.binary(lxla.BINARY_SUBTRACT, lxla.matmul(inputs, w), outputs)
local loss = lxla.mean(lxla.binary(lxla.BINARY_MULTIPLY, difference, difference), nil, false)
local wrt = ffi.new("size_t[1]", 0)
local step = lxla.computation_value_and_grad(lxla.computation_trace({w, inputs, outputs}, {loss}),
  lxla.options("vjp_options", {wrt = wrt, n_wrt = 1}))

local first, last
for i = 1, 400 do
  local results = lxla.computation_call(step, {weights, x, target}, 2)
  lxla.binary_inplace(lxla.BINARY_SUBTRACT, weights, lxla.binary_scalar(lxla.BINARY_MULTIPLY, results[2], 0.5))
  lxla.mark_step(nil, device, false)
  last = values(results[1], 1)[0]
  first = first or last
end
local learned = values(weights, 2)
print(string.format("loss %g to %.1e; weights %.3f %.3f", first, last, learned[0], learned[1]))
assert(last < 1e-6 and math.abs(learned[0] - 3) < 1e-3 and math.abs(learned[1] + 2) < 2e-3)

local function fails(status, words, call, ...)
  local ok, problem = pcall(call, ...)
  assert(not ok and problem.status == status and problem.message:find(words, 1, true), tostring(problem))
end
fails(lxla.INVALID_ARGUMENT, "lxla_binary", lxla.binary, lxla.BINARY_ADD, x, tensor({3}, {1, 2, 3}))
fails(lxla.INVALID_HANDLE, "lhs", lxla.binary, lxla.BINARY_ADD, nil, x)
fails(lxla.INVALID_ARGUMENT, "lhs: a number given", lxla.binary, lxla.BINARY_ADD, 1, x)
fails(lxla.INVALID_ARGUMENT, "shifts, axes: different lengths", lxla.roll, x, {1, 2}, {0})
fails(lxla.NULL_ARGUMENT, "options", lxla.gather, x, target, nil)
-- C reads as many elements as another list says.
local dtypes, ranks = {lxla.DTYPE_F32, lxla.DTYPE_F32}, {2, 1}
local short, long = "dims: 2 elements given; want 3, the sum of ranks", "dims: 4 elements given; want 3"
fails(lxla.INVALID_ARGUMENT, short, lxla.custom_call, "target", {x}, dtypes, ranks, {8, 2}, nil)
fails(lxla.INVALID_ARGUMENT, long, lxla.kernel_apply, nil, "target", {x}, dtypes, ranks, {8, 2, 1, 1}, nil)
fails(lxla.INVALID_ARGUMENT, short, lxla.custom_call, "target", {x}, dtypes, ffi.new("size_t[2]", 2, 1), {8, 2}, nil)
fails(lxla.NOT_FOUND, "target", lxla.kernel_apply, nil, "target", {x}, dtypes, ranks, {8, 2, 1}, nil)
local few = "ordinals: 2 elements given; want 4, the product of axis_sizes"
fails(lxla.INVALID_ARGUMENT, few, lxla.mesh_create, nil, {"x", "y"}, {2, 2}, {0, 1})
fails(lxla.INVALID_ARGUMENT, "pairs: 3 elements given", lxla.collective_permute, x, "x", {0, 1, 2})
lxla.mesh_create(nil, {"x"}, {1}, {0})
lxla.mesh_create(nil, {"x"}, {1}, nil)
assert(lxla.stablehlo({lxla.binary(lxla.BINARY_ADD, x, x)}):find("stablehlo.add", 1, true))
assert(lxla.dtype_info(lxla.DTYPE_F32).mantissa_bits == 23 and lxla.dtype_can_cast(lxla.DTYPE_S8, lxla.DTYPE_F32))
