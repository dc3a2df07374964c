-- README.md's first program in LuaJIT: a tensor that is updated in place a hundred times, by one compiled program.
local ffi = require("ffi")
local lxla = require("lazyxla")(arg[1])

local device = ffi.new("lxla_device", lxla.DEVICE_XLA, 0)
local x = lxla.tensor_from_host(nil, device, lxla.DTYPE_F32, {3}, ffi.new("float[3]", 1, 2, 3))
for step = 1, 100 do
  lxla.binary_scalar_inplace(lxla.BINARY_MULTIPLY, x, 0.5)
  lxla.binary_scalar_inplace(lxla.BINARY_ADD, x, 1)
  lxla.mark_step(nil, device, false)
end
local old = lxla.tensor_snapshot(x)
lxla.binary_scalar_inplace(lxla.BINARY_MULTIPLY, x, 100)
local values = ffi.new("float[3]")
lxla.tensor_read(lxla.binary(lxla.BINARY_SUBTRACT, x, old), values)
print(string.format("%g %g %g", values[0], values[1], values[2]))
