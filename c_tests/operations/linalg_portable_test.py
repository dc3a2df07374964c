"""Factorizations as programs of other operations: python linalg_portable_test.py /path/to/liblazyxla.so [--some]
[--device [--all]].

Each factorization is traced and written as StableHLO, which must call nothing outside of it, then imported, evaluated
on cpu and compared with NumPy; with --some, for two dtypes and for up to 33 rows and columns. With --device, programs of
the plugin are compared, which calls no functions of this process: LXLA_HOST_CALLS=0. These take seconds to compile each;
--all takes more shapes and dtypes.
"""

import os
import sys
from ctypes import byref, c_double

sys.dont_write_bytecode = True
for folder in ("abi", "programs"):
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
import ctypes_test as lxla
import ml_dtypes
import numpy as np
from ctypes_test import UNIMPLEMENTED, Computation, Tensor, give, ok, refused, text
from programs import DTYPE, NUMBERS, call, imported, tensor

DTYPES = {name: np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")}


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def widened(x):
    """The values in the widest dtype of their kind."""
    if x.dtype.kind in "biu":
        return x
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


class Factorized:
    """Calls functions of the library on one matrix, or a batch of them."""

    def __init__(self, env, a, on_device):
        self.env, self.a, self.on_device, self.device = env, a, on_device, lxla.xla()
        *batch, self.rows, self.columns = a.shape
        self.batch, self.least = tuple(batch), min(self.rows, self.columns)
        self.real = a.dtype if a.dtype.kind != "c" else np.finfo(a.dtype).dtype

    def results(self, function, arguments, *wanted):
        """The results, whose types are pairs of dimensions without those of the batch, and dtypes."""
        made = [np.zeros(self.batch + dims, dtype) for dims, dtype in wanted]
        if self.on_device:
            given = tensor(self.env, self.device, self.a)
            outs = [Tensor() for _ in made]
            ok(getattr(lxla.lib, function)(given, *arguments, *map(byref, outs)))
            for out, array in zip(outs, made, strict=True):
                ok(lxla.lib.lxla_tensor_read(out, array.ctypes.data, array.nbytes))
            lxla.release(given, *outs)
        else:
            computation = self.exported(function, arguments, len(made))
            raw = call(self.env, lxla.cpu(), computation, [self.a], made)
            ok(lxla.lib.lxla_computation_release(computation))
            made = [
                np.frombuffer(data, array.dtype).reshape(array.shape) for data, array in zip(raw, made, strict=True)
            ]
        return made[0] if len(made) == 1 else made

    def exported(self, function, arguments, count):
        """A computation that was traced, written as text, and read again."""
        number = DTYPE[NUMBERS[self.a.dtype.name]]
        x = give(lxla.lib.lxla_tensor_placeholder, Tensor, self.env, lxla.xla(), number, *lxla.dims(*self.a.shape))
        outs = [Tensor() for _ in range(count)]
        ok(getattr(lxla.lib, function)(x, *arguments, *map(byref, outs)))
        results = (Tensor * count)(*outs)
        traced = give(lxla.lib.lxla_computation_trace, Computation, (Tensor * 1)(x), 1, results, count)
        written = text(lxla.lib.lxla_computation_stablehlo, traced)
        assert "custom_call" not in written, f"{function}: {written[:2000]}"
        ok(lxla.lib.lxla_computation_release(traced))
        lxla.release(x, *outs)
        return imported(self.env, written.encode())

    def qr(self, full):
        inner = self.rows if full else self.least
        return self.results(
            "lxla_qr", [full], ((self.rows, inner), self.a.dtype), ((inner, self.columns), self.a.dtype)
        )

    def lu(self):
        return self.results(
            "lxla_lu", [], ((self.rows, self.columns), self.a.dtype), ((self.least,), "i4"), ((self.rows,), "i4")
        )

    def svd(self, full):
        of_u, of_v = (self.rows, self.columns) if full else (self.least, self.least)
        of_values = ((self.least,), self.real)
        u, v = ((self.rows, of_u), self.a.dtype), ((of_v, self.columns), self.a.dtype)
        return self.results("lxla_svd", [full], u, of_values, v)

    def singular_values(self):
        return self.results("lxla_singular_values", [], ((self.least,), self.real))

    def eigh(self, lower):
        return self.results("lxla_eigh", [lower], ((self.rows,), self.real), (self.a.shape[-2:], self.a.dtype))

    def pinv(self):
        return self.results("lxla_pinv", [c_double(-1)], ((self.columns, self.rows), self.a.dtype))


class Residuals:
    """Residuals in units of epsilon of the dtype, relative to the matrix."""

    def __init__(self):
        self.count, self.failures, self.worst = 0, [], {}

    def __call__(self, what, name, got, want, size, dtype):
        self.count += 1
        error = np.abs(widened(got) - widened(want)).max(initial=0) / size / ml_dtypes.finfo(dtype).eps
        self.worst[what] = max(self.worst.get(what, 0), float(error))
        if not error < 12 + max(got.shape[-2:]) / 4:
            self.failures.append(f"{what} of {name}: {float(error):.1f} units")


def check_qr(near, name, of, a, size):
    full = of.rows <= 6
    q, r = map(widened, of.qr(full))
    near("qr", name, q @ r, a, size, of.real)
    near("q", name, adjoint(q) @ q, np.eye(q.shape[-1]), 1, of.real)
    assert (np.tril(r, -1) == 0).all(), f"r of {name}"
    # The signs of LAPACK, which NumPy calls.
    if of.a.dtype.itemsize >= 4 and r.size and "of" not in name:
        signs = np.sign(np.diagonal(r, axis1=-2, axis2=-1))
        wide = np.complex128 if of.a.dtype.kind == "c" else np.float64
        wanted = np.linalg.qr(a.astype(wide), mode="r")
        assert (signs == np.sign(np.diagonal(wanted, axis1=-2, axis2=-1).real)).all(), f"signs of r of {name}"


def check_lu(near, name, of, a, size):
    packed, pivots, order = of.lu()
    lower = np.tril(widened(packed), -1)[..., : of.least] + np.eye(of.rows, of.least)
    rows = np.take_along_axis(a, order[..., None].astype(np.int64), -2)
    near("lu", name, lower @ np.triu(widened(packed))[..., : of.least, :], rows, size, of.real)
    assert (np.abs(lower) < 1.5).all(), f"lu of {name} does not exchange rows"
    swapped = np.broadcast_to(np.arange(of.rows), order.shape).reshape(int(np.prod(of.batch)), of.rows).copy()
    for row, exchanges in zip(swapped, pivots.reshape(len(swapped), of.least), strict=True):
        for i, pivot in enumerate(exchanges):
            row[[i, pivot]] = row[[pivot, i]]
    assert (swapped.reshape(order.shape) == order).all(), f"pivots of {name}"


def check_svd(near, name, of, a, size):
    full = of.rows <= 6
    u, values, vh = map(widened, of.svd(full))
    near("svd", name, (u[..., : of.least] * values[..., None, :]) @ vh[..., : of.least, :], a, size, of.real)
    near("u", name, adjoint(u) @ u, np.eye(u.shape[-1]), 1, of.real)
    near("vh", name, vh @ adjoint(vh), np.eye(vh.shape[-2]), 1, of.real)
    assert (np.diff(values) <= 0).all() and (values >= 0).all(), f"order of the singular values of {name}"
    near("singular values", name, of.singular_values(), values, size, of.real)
    if of.a.dtype.kind == "c" and of.least:
        row = vh[..., : of.least, 0] if of.rows >= of.columns else u[..., 0, :]
        assert (np.abs(row.imag) < 1e-25).all(), f"phases of {name}"
    inverse = widened(of.pinv())
    least = values[values > values.max(initial=0) * np.finfo(of.real).eps * max(of.rows, of.columns)].min(initial=1)
    near("pinv", name, a @ inverse @ a, a, size * max(values.max(initial=0) / least, 1), of.real)


def check_eigh(near, name, of, a, size):
    lower = of.rows % 2
    triangle = np.tril(a, -1) if lower else np.triu(a, 1)
    hermitian = triangle + adjoint(triangle) + np.eye(of.rows) * a.real
    values, vectors = map(widened, of.eigh(lower))
    near("eigh", name, hermitian @ vectors, vectors * values[..., None, :], size, of.real)
    near("vectors", name, adjoint(vectors) @ vectors, np.eye(of.rows), 1, of.real)
    assert (np.diff(values) >= 0).all(), f"order of the eigenvalues of {name}"
    if of.a.dtype.kind == "c" and of.rows:
        assert (np.abs(vectors[..., 0 if lower else -1, :].imag) < 1e-25).all(), f"phases of {name}"


def matrices(dtype, shapes):
    """Pairs of a name and a matrix: random ones, and those with equal, zero or graded singular values."""
    draws = np.random.default_rng(7)

    def random(*shape):
        a = draws.normal(size=shape) + 1j * draws.normal(size=shape) * (dtype.kind == "c")
        return (a if dtype.kind == "c" else a.real).astype(dtype)

    for shape in shapes:
        yield str(list(shape)), random(*shape)
    singular = random(6, 6)
    singular[:, 3], singular[5] = singular[:, 1], 0
    yield "[6,6] of rank 4", singular
    yield "[6,6] of ones", np.ones((6, 6), dtype)
    yield "[6,6] of zeros", np.zeros((6, 6), dtype)
    yield "[40,40] of ones", np.ones((40, 40), dtype)
    yield "[6,6], identity times -1", -np.eye(6, dtype=dtype)
    yield "[6,6], large", random(6, 6) * dtype.type(np.finfo(dtype).max / 100)
    yield "[6,6], small", random(6, 6) * dtype.type(np.finfo(dtype).tiny * 1e4)
    yield "[6,6], graded", (np.linalg.qr(random(6, 6))[0] * np.geomspace(1, 1e-25, 6)).astype(dtype)


def check_lost(env, dtype, on_device):
    """Matrices with a NaN or an infinity give NaN, and the others of their batch are as they were."""
    a = np.stack([np.eye(3) + k for k in range(3)]).astype(dtype)
    a[0, 1, 2], a[2, 0, 0] = np.nan, np.inf
    of = Factorized(env, a, on_device)
    for array in (*of.svd(0), *of.eigh(0), of.pinv(), of.singular_values()):
        lost = np.isnan(array).reshape(3, -1).all(axis=1)
        assert lost.tolist() == [True, False, True] and np.isfinite(array[1]).all(), array
    assert np.isnan(of.qr(0)[1]).any(axis=(1, 2)).tolist() == [True, False, True]


def computed(env, function, arguments, *wanted):
    """The results on the plugin's device of a function of arrays and numbers."""
    given = [tensor(env, lxla.xla(), each) if isinstance(each, np.ndarray) else each for each in arguments]
    outs, made = [Tensor() for _ in wanted], [np.empty_like(like) for like in wanted]
    ok(getattr(lxla.lib, function)(*given, *map(byref, outs)))
    for out, array in zip(outs, made, strict=True):
        ok(lxla.lib.lxla_tensor_read(out, array.ctypes.data, array.nbytes))
    lxla.release(*(each for each in given if isinstance(each, Tensor)), *outs)
    return made


def check_triangular(env, near, dtype):
    """Triangular systems of all forms; the solution of a matrix with a 0 on its diagonal is NaN."""
    draws = np.random.default_rng(3)
    numbers = draws.normal(size=(4, 3, 5, 5)) + 1j * draws.normal(size=(4, 3, 5, 5)) * (dtype.kind == "c")
    a = ((numbers if dtype.kind == "c" else numbers.real)[0] + 3 * np.eye(5)).astype(dtype)
    b = (numbers if dtype.kind == "c" else numbers.real)[1].astype(dtype)
    for form in range(24):
        left, lower, unit, op = form % 2, form // 2 % 2, form // 4 % 2, form // 8
        triangle = np.tril(a) if lower else np.triu(a)
        matrix = triangle * (1 - np.eye(5)) + np.eye(5) if unit else triangle
        matrix = widened((matrix, matrix.swapaxes(-1, -2), adjoint(matrix))[op].astype(dtype))
        (x,) = computed(env, "lxla_triangular_solve", [a, b, left, lower, unit, op + 1], b)
        made = matrix @ widened(x) if left else widened(x) @ matrix
        near("triangular", f"{dtype} form {form}", made, b, float(np.abs(x).max() * np.abs(matrix).max() * 5), dtype)
    singular = a.copy()
    singular[1, 2, 2] = 0
    (x,) = computed(env, "lxla_triangular_solve", [singular, b, 1, 1, 0, 1], b)
    assert np.isnan(x).all(axis=(1, 2)).tolist() == [False, True, False] and np.isfinite(x[[0, 2]]).all(), x


def check_ldl(env, near, dtype):
    """A matrix with zeros on its diagonal, which has blocks of two rows, and its solution."""
    draws = np.random.default_rng(4)
    a = draws.normal(size=(2, 7, 7)) + 1j * draws.normal(size=(2, 7, 7)) * (dtype.kind == "c")
    a = np.tril(a if dtype.kind == "c" else a.real, -1)
    a[:, 5, 5] = 2
    whole = a + adjoint(np.tril(a, -1))
    a, b = a.astype(dtype), whole[..., :3].astype(dtype)
    factors, pivots = computed(env, "lxla_ldl", [a, 1], a, np.zeros((2, 7), np.int32))
    assert (pivots < 0).any() and (np.triu(factors, 1) == 0).all(), pivots
    (x,) = computed(env, "lxla_ldl_solve", [factors, pivots, b, 1], b)
    near(
        "ldl",
        str(dtype),
        widened(whole.astype(dtype)) @ widened(x),
        b,
        float(np.abs(x).max() * np.abs(whole).max() * 7),
        dtype,
    )


def check_refusal(env):
    """Eigenvalues of general matrices are computed by this process only."""
    given = tensor(env, lxla.xla(), np.eye(3, dtype=np.float32))
    outs = [Tensor(), Tensor()]
    ok(lxla.lib.lxla_eig(given, *map(byref, outs)))
    refused(lxla.lib.lxla_sync((Tensor * 1)(outs[0]), 1), UNIMPLEMENTED, "eig is computed by functions of this process")
    lxla.release(given, *outs)


def main():
    on_device, some = "--device" in sys.argv, "--some" in sys.argv
    if on_device:
        os.environ["LXLA_HOST_CALLS"] = "0"
    lxla.load(sys.argv[1])
    env, near = lxla.new_env(), Residuals()
    shapes, dtypes = [(5, 3), (33, 33)], [np.dtype(np.float32), np.dtype(np.complex128)]
    if not on_device or "--all" in sys.argv:
        shapes, dtypes = [(1, 1), (2, 2), (3, 5), *shapes, (2, 3, 4, 4)], dtypes if some else list(DTYPES.values())
    if not on_device:
        shapes += [(0, 3), (3, 0), (0, 0), (0, 2, 2), (1, 6), (6, 1)]
        shapes += [] if some else [(20, 20), (40, 70), (70, 34), (66, 3)]
    for dtype in dtypes:
        for shape, a in matrices(dtype, shapes):
            of, name = Factorized(env, a, on_device), f"{dtype}{shape}"
            size = (
                max(float(np.abs(a).max(initial=0)), float(np.finfo(dtype).tiny)) * max(of.rows, of.columns, 1) ** 0.5
            )
            checks = [check_qr, check_lu, check_svd, *([check_eigh] if of.rows == of.columns else [])]
            for check in checks:
                check(near, name, of, widened(a), size)
        check_lost(env, dtype, on_device)
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        a = np.random.default_rng(1).normal(size=(5, 4)).astype(dtype)
        check_qr(near, f"{dtype}[5,4]", Factorized(env, a, on_device), widened(a), 1)
    if on_device:
        for dtype in (np.dtype(np.float32), np.dtype(np.complex128)):
            check_triangular(env, near, dtype)
            check_ldl(env, near, dtype)
        check_refusal(env)
    elif not some:
        # Panels of more than 32 columns.
        a = np.random.default_rng(2).normal(size=(530, 520)).astype(np.float32)
        of = Factorized(env, a, on_device)
        check_qr(near, "float32[530,520]", of, widened(a), 20)
        check_lu(near, "float32[530,520]", of, widened(a), 20)
    print("\n".join(near.failures))
    print(", ".join(f"{what} {error:.1f}" for what, error in sorted(near.worst.items())))
    print(f"{near.count} residuals, {len(near.failures)} too large")
    sys.exit(len(near.failures) > 0)


if __name__ == "__main__":
    main()
