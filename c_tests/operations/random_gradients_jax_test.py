"""Derivatives of gamma and beta numbers by their parameters against JAX's, which are implicit too:
python random_gradients_jax_test.py /path/to/liblazyxla.so, with JAX. On cpu, and on the plugin's device.
"""

import os
import sys
from ctypes import byref, c_int64

sys.dont_write_bytecode = True
for folder in ("abi", "programs"):
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import ctypes_test as lxla
import jax
import numpy as np
from ctypes_test import Computation, Tensor, give, ok
from header import constants
from jax import lax
from programs import DTYPE, NUMBERS, call, tensor

jax.config.update("jax_enable_x64", True)
COUNT, SEED = 1000, 42
# Errors of JAX's values and of ours, in units of epsilon.
UNITS = {np.float32: 400, np.float64: 10000}
FUNCTIONS = {
    "lxla_random_gamma": jax.random.gamma,
    "lxla_random_log_gamma": jax.random.loggamma,
    "lxla_random_beta": jax.random.beta,
}


def gradients(env, device, name, parameters):
    """The numbers, and the gradients of their sum by the parameters."""
    number = DTYPE[NUMBERS[parameters[0].dtype.name]]
    dims = lxla.dims(COUNT)
    holes = [give(lxla.lib.lxla_tensor_placeholder, Tensor, env, device, number, *dims) for _ in parameters]
    key, drawn, total = tensor(env, device, np.array([0, SEED], np.uint32)), Tensor(), Tensor()
    ok(getattr(lxla.lib, name)(constants.RNG_THREE_FRY, key, *holes, *dims, byref(drawn)))
    ok(lxla.lib.lxla_reduce(constants.REDUCE_SUM, drawn, (c_int64 * 1)(0), 1, 0, byref(total)))
    n, made = len(holes), [Tensor() for _ in holes]
    results = (Tensor * n)(*made)
    ok(lxla.lib.lxla_gradients((Tensor * 1)(total), 1, None, (Tensor * n)(*holes), n, results))
    outputs = (Tensor * (n + 1))(drawn, *results)
    traced = give(lxla.lib.lxla_computation_trace, Computation, (Tensor * n)(*holes), n, outputs, n + 1)
    raw = call(env, device, traced, parameters, [parameters[0]] * (n + 1))
    ok(lxla.lib.lxla_computation_release(traced))
    lxla.release(key, total, *holes, *outputs)
    return [np.frombuffer(data, parameters[0].dtype) for data in raw]


def references(name, function, parameters, numbers):
    """JAX's derivatives, in f64 at our numbers: in f32, JAX's have errors of 1e-4 for large parameters."""
    wide = [parameter.astype(np.float64) for parameter in parameters]
    if "beta" in name:
        by = tuple(range(len(wide)))
        return jax.grad(lambda *p: function(jax.random.key(SEED), *p, dtype=np.float64).sum(), by)(*wide)
    is_log = "log" in name
    x = np.exp(numbers.astype(np.float64)) if is_log else numbers.astype(np.float64)
    slope = np.asarray(lax.random_gamma_grad(wide[0], x))
    return [slope / x if is_log else slope]


def main():
    lxla.load(sys.argv[1])
    env, failures, count = lxla.new_env(), [], 0
    draws = np.random.default_rng(1)
    for name, function in FUNCTIONS.items():
        # Beta numbers of f32 and f64 are made of different bits, so that there is no reference at those of f32.
        for dtype in (np.float64,) if "beta" in name else (np.float32, np.float64):
            parameters = [np.exp(draws.uniform(-2, 9, COUNT)).astype(dtype) for _ in range(2 if "beta" in name else 1)]
            values = np.asarray(function(jax.random.key(SEED), *parameters, dtype=dtype))
            for device in (lxla.cpu(), lxla.xla()):
                numbers, *got = gradients(env, device, name, parameters)
                same = np.isclose(numbers, values, rtol=1e-2 if dtype == np.float32 else 1e-6, atol=0)
                # A rounding error may decide whether a number is accepted.
                if same.mean() < 0.99:
                    failures.append(f"{name} {dtype.__name__}: {(~same).sum()} other numbers")
                wanted = references(name, function, parameters, numbers)
                for which, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
                    theirs = np.asarray(theirs)[same]
                    error = np.abs(mine[same] - theirs) / np.abs(theirs) / np.finfo(dtype).eps
                    worst, count = int(np.argmax(error)), count + len(error)
                    at = [float(p[same][worst]) for p in parameters]
                    what = f"{name} {dtype.__name__} by {which}: at most {error[worst]:.1f} units, at {at}"
                    print(what)
                    if not error[worst] < UNITS[dtype]:
                        failures.append(what)
    print(*failures, sep="\n")
    print(f"{count} derivatives, {len(failures)} failures")
    sys.exit(len(failures) > 0 or count == 0)


if __name__ == "__main__":
    main()
