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
from scipy import special
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


def of_quantile(alpha, x):
    """The derivative of the number of a fixed probability by differences, in f64."""
    share, step = special.gammainc(alpha, x), alpha * 1e-4
    return (special.gammaincinv(alpha + step, share) - special.gammaincinv(alpha - step, share)) / (2 * step)


def large_parameters(env, failures):
    """Compares f32 derivatives for parameters for which JAX's have no digits, with differences; from 1e14 on with 1."""
    some = np.exp(np.random.default_rng(2).uniform(7, 27, COUNT - 3))
    alpha = np.concatenate([some, [1e14, 1e20, 1e30]]).astype(np.float32)
    wide = alpha.astype(np.float64)
    for name in ("lxla_random_gamma", "lxla_random_log_gamma"):
        for device in (lxla.cpu(), lxla.xla()):
            numbers, slopes = gradients(env, device, name, [alpha])
            is_log = "log" in name
            x = np.exp(numbers.astype(np.float64)) if is_log else numbers.astype(np.float64)
            wanted = np.where(wide < 1e14, of_quantile(np.minimum(wide, 1e13), np.minimum(x, 1.1e13)), 1)
            wanted = wanted / x if is_log else wanted
            error = np.abs(slopes - wanted) / np.abs(wanted) / np.finfo(np.float32).eps
            print(f"{name} float32, large parameters: at most {error.max():.1f} units")
            if not error.max() < UNITS[np.float32]:
                failures.append(f"{name}: {error.max()} units at {alpha[np.argmax(error)]}")
    return 4 * COUNT


def main():
    lxla.load(sys.argv[1])
    env, failures, count = lxla.new_env(), [], 0
    count += large_parameters(env, failures)
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
