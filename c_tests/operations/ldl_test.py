"""LDL factors and solutions from them: python ldl_test.py /path/to/liblazyxla.so, with NumPy.

Random symmetric and Hermitian matrices, on cpu, on the plugin's device, and as programs of other operations, which are
written as StableHLO and evaluated on cpu. Pivots and factors are those of LAPACK's algorithm in the widest numbers;
with --lapack, which needs SciPy, LAPACK's own too. Products of the factors give the matrix.
"""

import sys
from ctypes import byref

sys.dont_write_bytecode = True
import linalg_portable_test as portable  # finds the modules of the other folders
import numpy as np
from ctypes_test import UNIMPLEMENTED, Computation, Tensor, give, ok, refused
from linalg_portable_test import DTYPES, Factorized, Residuals, widened
from ops_linalg_systems import bunch_kaufman
from programs import DTYPE, NUMBERS, call, imported, tensor

lxla = portable.lxla
SHAPES = [(1, 1), (2, 2), (2, 3, 3), (7, 7)]
# Around the width of the native panels.
LARGE = [(48, 48), (49, 49), (130, 130)]


def turned(x, hermitian):
    x = np.swapaxes(x, -1, -2)
    return x.conj() if hermitian else x


def symmetric(dtype, shape, hermitian, seed=1):
    """A random matrix with zeros on its diagonal, so that it has pivots of two rows."""
    draws = np.random.default_rng([seed, *shape])
    a = draws.normal(size=shape) + 1j * draws.normal(size=shape) * (dtype.kind == "c")
    a = (a if dtype.kind == "c" else a.real) * (1 - np.eye(shape[-1]) * (np.arange(shape[-1]) % 2))
    return (a + turned(a, hermitian)).astype(dtype)


def applied(packed, pivots, hermitian):
    """The product of factors: P^T l d l^T P, with each column of l as it was before later exchanges."""
    n = len(packed)
    made, k = np.zeros_like(packed), n
    while k > 0:
        k -= 1
        row, pivot = k, abs(int(pivots[k])) - 1
        k -= int(pivots[k] < 0)
        lower = np.eye(n, row + 1 - k, -k, dtype=packed.dtype)
        lower[row + 1 :] = packed[row + 1 :, k : row + 1]
        block = np.tril(packed[k : row + 1, k : row + 1], -1)
        block = block + turned(block, hermitian) + np.diag(np.diag(packed[k : row + 1, k : row + 1]))
        made = made + lower @ block @ turned(lower, hermitian)
        made[[row, pivot]] = made[[pivot, row]]
        made[:, [row, pivot]] = made[:, [pivot, row]]
    return made


class Factors(Factorized):
    def ldl(self, hermitian):
        n = self.rows
        return self.results("lxla_ldl", [hermitian], ((n, n), self.a.dtype), ((n,), "i4"))


def check_factors(near, what, of, hermitian, lapack):
    a = of.a
    packed, pivots = of.ldl(hermitian)
    n = a.shape[-1]
    name = f"{what} {a.dtype}{list(a.shape)}, hermitian {hermitian}"
    assert (np.triu(packed, 1) == 0).all(), name
    size = float(np.abs(a).max(initial=0)) * n**0.5
    count = int(np.prod(a.shape[:-2]))
    each = [x.reshape(count, *x.shape[a.ndim - 2 :]) for x in (a, packed, pivots)]
    for matrix, own, order in zip(*each, strict=True):
        if n:
            near("ldl", name, applied(widened(own), order, hermitian), widened(matrix), size, of.real)
        wanted, wanted_pivots = bunch_kaufman(matrix, hermitian)
        assert order.tolist() == wanted_pivots.tolist(), f"pivots of {name}"
        if 0 < n < 10:
            near("factors", name, own, wanted, 40 * max(size, np.abs(wanted).max()), of.real)
        if lapack and n:
            complex_ = a.dtype.kind == "c" and hermitian
            kind = {"f": "sd", "c": "cz"}[a.dtype.kind][a.dtype.itemsize // (4 if a.dtype.kind == "f" else 8) - 1]
            made, numbers, _ = getattr(lapack, f"{kind}{'he' if complex_ else 'sy'}trf")(matrix, lower=1)
            assert order.tolist() == numbers.tolist(), f"LAPACK's pivots of {name}"
            near("lapack", name, own, np.tril(made), 40 * max(size, np.abs(made).max()), of.real)


def check_solutions(env, near, device, dtype, hermitian):
    for shape, columns in [((7, 7), 3), ((2, 3, 3), 1), ((60, 60), 40), ((1, 1), 1)]:
        a = symmetric(dtype, shape, hermitian)
        wanted = np.random.default_rng(2).normal(size=(*shape[:-1], columns)).astype(dtype)
        solve = Solve(env, device, a, hermitian)
        condition = np.linalg.cond(a.astype(np.complex128)).max()
        got = solve((widened(a) @ widened(wanted)).astype(dtype))
        near("solve", f"{dtype}{list(shape)}", got, wanted, condition * shape[-1] ** 0.5, np.finfo(dtype).dtype)


class Solve:
    """Solves with the factors of matrices, at once or in a computation."""

    def __init__(self, env, device, a, hermitian):
        self.env, self.device, self.hermitian, self.a = env, device, hermitian, a
        self.handle = tensor(env, device, a)

    def record(self, a, b):
        factors, pivots, x = Tensor(), Tensor(), Tensor()
        ok(lxla.lib.lxla_ldl(a, self.hermitian, byref(factors), byref(pivots)))
        ok(lxla.lib.lxla_ldl_solve(factors, pivots, b, self.hermitian, byref(x)))
        lxla.release(factors, pivots)
        return x

    def __call__(self, b):
        side, made = tensor(self.env, self.device, b), np.zeros(b.shape, b.dtype)
        x = self.record(self.handle, side)
        ok(lxla.lib.lxla_tensor_read(x, made.ctypes.data, made.nbytes))
        lxla.release(side, x)
        return made

    def holes(self, *arrays):
        return [
            give(
                lxla.lib.lxla_tensor_placeholder,
                Tensor,
                self.env,
                self.device,
                DTYPE[NUMBERS[array.dtype.name]],
                *lxla.dims(*array.shape),
            )
            for array in arrays
        ]

    def computation(self, b, with_gradient=False):
        """The solution as a computation of a and b, or the cotangent of b as one of a, b and that of the solution."""
        holes = self.holes(self.a, b, *([b] if with_gradient else []))
        made = self.record(*holes[:2])
        if with_gradient:
            solution, made = made, Tensor()
            gradients = lxla.lib.lxla_gradients
            ok(gradients((Tensor * 1)(solution), 1, (Tensor * 1)(holes[2]), (Tensor * 1)(holes[1]), 1, byref(made)))
        n = len(holes)
        traced = give(lxla.lib.lxla_computation_trace, Computation, (Tensor * n)(*holes), n, (Tensor * 1)(made), 1)
        lxla.release(*holes, made)
        return traced


def called(env, device, computation, arrays, like):
    (data,) = call(env, device, computation, arrays, [like])
    ok(lxla.lib.lxla_computation_release(computation))
    return np.frombuffer(data, like.dtype).reshape(like.shape)


def check_transforms(env, near, device, dtype, hermitian):
    """Batches of a solution; the transpose of its derivative by the right-hand side; none by the matrix."""
    a, draws = symmetric(dtype, (5, 5), hermitian), np.random.default_rng(3)
    sides = draws.normal(size=(2, 5, 2)) + 1j * draws.normal(size=(2, 5, 2)) * (dtype.kind == "c")
    sides = (sides if dtype.kind == "c" else sides.real).astype(dtype)
    solve, condition, name = Solve(env, device, a, hermitian), np.linalg.cond(a.astype(complex)), f"{dtype} {hermitian}"
    solution, both = solve.computation(sides[0]), np.stack([a, 2 * a])
    for axes, arrays in {(-1, 0): [a, sides], (0, 0): [both, sides], (0, -1): [both, sides[1]]}.items():
        batched = Computation()
        in_axes, out_axes = (lxla.c_int64 * 2)(*axes), (lxla.c_int64 * 1)(0)
        ok(lxla.lib.lxla_computation_vmap(solution, in_axes, 2, out_axes, 1, 2, byref(batched)))
        got = called(env, device, batched, arrays, sides)
        near(
            "vmap",
            name,
            got,
            np.linalg.solve(*[x.astype(complex) for x in arrays]),
            9 * condition,
            np.finfo(dtype).dtype,
        )
    refused(lxla.lib.lxla_computation_jvp(solution, None, 0, byref(Computation())), UNIMPLEMENTED, "no derivative")
    ok(lxla.lib.lxla_computation_release(solution))
    got = called(env, device, solve.computation(sides[0], True), [a, *sides], sides[0])
    wanted = np.linalg.solve(a.T.astype(complex), sides[1].astype(complex))
    near("gradient", name, got, wanted, 9 * condition, np.finfo(dtype).dtype)


def check_singular(env, device, function):
    """Solutions are NaN where a pivot is 0 or cannot be one, and the others of a batch are as they were."""
    factors = np.array([[[0, 0], [0, 1]], *4 * [[[2, 0], [0.5, 4]]]], np.float32)
    pivots = np.array([[1, 2], [1, 2], [1, 3], [0, 2], [-1, 2]], np.int32)
    got = function(env, device, factors, pivots, np.ones((5, 2, 1), np.float32))
    lost = np.isnan(got).reshape(5, 2).all(axis=1)
    assert lost.tolist() == [True, False, True, True, True] and np.isfinite(got[1]).all(), got
    # Columns of zeros are left as they are.
    zeros = np.zeros((3, 3), np.float64)
    packed, order = Factors(env, zeros, device is not None).ldl(0)
    assert (packed == 0).all() and order.tolist() == [1, 2, 3]


def at_once(env, device, *arrays):
    given, x, made = [tensor(env, device, array) for array in arrays], Tensor(), np.zeros_like(arrays[2])
    ok(lxla.lib.lxla_ldl_solve(*given, 0, byref(x)))
    ok(lxla.lib.lxla_tensor_read(x, made.ctypes.data, made.nbytes))
    lxla.release(*given, x)
    return made


def as_text(env, device, *arrays):
    """A solution as a program of other operations, which is evaluated on cpu."""
    solve = Solve(env, lxla.xla(), arrays[0], 0)
    holes, x = solve.holes(*arrays), Tensor()
    ok(lxla.lib.lxla_ldl_solve(*holes, 0, byref(x)))
    traced = give(lxla.lib.lxla_computation_trace, Computation, (Tensor * 3)(*holes), 3, (Tensor * 1)(x), 1)
    written = portable.text(lxla.lib.lxla_computation_stablehlo, traced)
    assert "custom_call" not in written, written[:2000]
    ok(lxla.lib.lxla_computation_release(traced))
    lxla.release(*holes, x)
    return called(env, lxla.cpu(), imported(env, written.encode()), arrays, arrays[2])


def main():
    lxla.load(sys.argv[1])
    env, near, lapack = lxla.new_env(), Residuals(), None
    if "--lapack" in sys.argv:
        from scipy.linalg import lapack
    for dtype in DTYPES.values():
        for hermitian in (0, 1):
            for shape in SHAPES + LARGE:
                for device in (lxla.cpu(), lxla.xla()):
                    of = Factors(env, symmetric(dtype, shape, hermitian), True)
                    of.device = device
                    check_factors(near, "at once", of, hermitian, lapack)
            # Errors of large Hermitian matrices grow if the two triangles are not the same.
            large = [LARGE[-1]] if dtype == np.complex128 and hermitian else []
            for shape in [(0, 0), *SHAPES[1:], *large]:
                of = Factors(env, symmetric(dtype, shape, hermitian), False)
                check_factors(near, "as text", of, hermitian, lapack)
            for device in (lxla.cpu(), lxla.xla()):
                check_solutions(env, near, device, dtype, hermitian)
            if dtype.itemsize >= 8:
                check_transforms(env, near, lxla.cpu(), dtype, hermitian)
    check_transforms(env, near, lxla.xla(), np.dtype("complex64"), 1)
    for device, function in ((lxla.cpu(), at_once), (lxla.xla(), at_once), (None, as_text)):
        check_singular(env, device, function)
    print(*near.failures, sep="\n")
    print(", ".join(f"{what} {error:.1f}" for what, error in sorted(near.worst.items())))
    print(f"{near.count} residuals, {len(near.failures)} too large")
    sys.exit(len(near.failures) > 0)


if __name__ == "__main__":
    main()
