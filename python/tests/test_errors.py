"""Wrong arguments: one class of exceptions for each mistake, with the argument, what was given and what is wanted, in
terms of Python; and what is not a mistake."""

import collections
import operator

import numpy as np
from common import DEVICES, on, raises, same

import lazyxla as lx


def in_place(function, x, y):
    x = x.copy()
    return function(x, y)


def test_wrong_dtypes_are_type_errors():
    for device in DEVICES:
        f, i, z = (on(np.array([1, 2, 3], dtype), device) for dtype in ("float32", "int64", "complex64"))
        b, d = on(np.array([True, False, True]), device), on(np.array([1.0, 2, 3]), device)
        mixed = [
            f + i, lx.where(b, f, i), lx.concat([f, i]), lx.stack([f, i]), lx.einsum("i,i->", f, i), f @ i,
            lx.asarray([f, i], device=device),
        ]  # fmt: skip
        assert [found.dtype.name for found in mixed] == ["float32"] * 7
        calls = [
            (lambda: ~f, "bool and integers", "float32"),
            (lambda: f & 1, "bool and integers", "float32"),
            (lambda: f & f, "bool and integers", "float32"),
            (lambda: f << 1, "integers", "float32"),
            (lambda: z < z, "order"),
            (lambda: z // 1, "integers and floats", "complex64"),
            (lambda: z // z, "integers and floats", "complex64"),
            (lambda: f % z, "complex64"),
            (lambda: in_place(operator.iadd, f, d), "float32", "float64"),
            (lambda: in_place(operator.iadd, f, 1j), "float32", "complex64"),
            (lambda: in_place(operator.iadd, f, z), "float32", "complex64"),
            (lambda: lx.where(f, f, f), "condition", "bool", "float32"),
            (lambda: lx.take(f, f), "indices", "integers", "float32"),
            (lambda: lx.nn.rms_norm(i), "nn.rms_norm", "floats", "int64"),
            (lambda: lx.fft.rfft(z), "RFFT", "float32 and float64", "complex64"),
            (lambda: lx.nn.one_hot(f, 3), "indices", "float32"),
            (lambda: lx.random.normal(lx.random.key(0, device=device), 3, dtype=lx.int32), "dtype", "int32", "floats"),
            (lambda: lx.random.split(f), "key", "uint32[2]", "float32[3]"),
            (lambda: lx.cond(f[0], lambda: f, lambda: f), "pred", "float32[]", "bool[]"),
            (lambda: lx.jvp(lambda v: v, (f,), (d,)), "float64"),
            (lambda: z.astype(lx.float32), "lx.real"),
            (lambda: lx.astype(z, lx.int8), "lx.real"),
            (lambda: lx.asarray(z, dtype=lx.float64), "lx.real"),
            (lambda: lx.matmul(b, b), "matmul takes numbers", "bool"),
            (lambda: lx.tensordot(b, b, axes=1), "tensordot takes numbers", "bool"),
            (lambda: lx.einsum("i,i->", b, b), "takes numbers", "bool"),
            (lambda: f.astype(lx.float8_e5m2) + f, "float8_e5m2", "float32"),
            (lambda: lx.cond(f[:0], lambda: f, lambda: f), "pred", "float32[0]", "bool[]"),
            (lambda: lx.nn.layer_norm(f, d), "scale", "float64[3]", "wants float32"),
            (lambda: lx.nn.batch_norm(f[:, None], d[:1]), "scale", "float64[1]", "wants float32[1]"),
            (lambda: lx.searchsorted(i, i.astype(lx.uint64)), "int64", "uint64"),
            (lambda: lx.pad(f, 1, value=1j), "pad()", "value", "1j", "float32"),
            (lambda: lx.pad(f, 1, value=np.complex64(1j)), "pad()", "value", "1j", "float32"),
        ]
        for function, *parts in calls:
            raises(TypeError, function, *parts)


def test_wrong_shapes_and_values_are_value_errors():
    for device in DEVICES:
        x, m = on(np.float32([1, 2, 3]), device), on(np.ones((2, 3), "float32"), device)
        other = x.to_device("xla:0" if device == "cpu" else "cpu")
        key = lx.random.key(0, device=device)
        calls = [
            (lambda: x + m[0, :2], "x1", "float32[3]", "x2", "float32[2]"),
            (lambda: m @ m, "matmul()", "3 and 2"),
            (lambda: lx.reshape(x, (2, 2)), "shape", "float32[2,2]"),
            (lambda: lx.concat([m, x]), "arrays[1]", "float32[3]"),
            (lambda: lx.tril(x), "x", "matrices", "float32[3]"),
            (lambda: lx.linalg.inv(m), "square", "float32[2,3]"),
            (lambda: lx.zeros(-1, device=device), "shape[0] is -1"),
            (lambda: lx.random.split(key, -1), "num", "-1"),
            (lambda: lx.random.uniform(key, 3, minval=2, maxval=1), "minval, maxval", "2.0 and 1.0"),
            (lambda: lx.random.choice(key, x, 3, p=x[:2]), "p:", "float32[2]", "[3]"),
            (lambda: lx.nn.one_hot(x.astype(lx.int32), -3), "num_classes", "-3"),
            (lambda: lx.scan(lambda c, v: (c, v), 1.0, length=-1), "length", "-1"),
            (lambda: lx.scan(lambda c, v: (c, v), 1.0, x[0]), "rank 0"),
            (lambda: lx.scan(lambda c, v: (c, v), 1.0, (x, m)), "3, 2"),
            (lambda: lx.counter("a"), "a"),
            (lambda: lx.searchsorted(m, x), "x2", "x1 is float32[2,3]", "one sorted row"),
            (lambda: lx.nn.layer_norm(m, x[:2]), "scale", "float32[2]"),
            (lambda: lx.vmap(lambda v: v, axis_size=-1)(x), "axis_size", "-1"),
            (lambda: lx.vmap(lambda v: v, axis_size=4)(x), "axis_size is 4", "3"),
            (lambda: lx.vmap(lambda v: v, out_axes=None)(x), "out_axes[0] is None"),
            (lambda: lx.cond(x[:0] > 0, lambda: x, lambda: x), "pred", "bool[0]"),
            (lambda: lx.stack([]), "stack()", "arrays"),
            (lambda: lx.concat([]), "concat()", "arrays"),
            (lambda: lx.zeros(3, device="gpu"), '"gpu"', '"cpu"'),
        ]
        for function in (lambda: x + other, lambda: other @ x, lambda: lx.where(x > 0, x, other)):
            calls.append((function, "is on cpu", "is on xla:0", "x.to_device(device)"))
        for function, *parts in calls:
            error = raises(ValueError, function, *parts)
            assert not isinstance(error, IndexError)
            assert not any(word in str(error) for word in ("lxla_", "f32", "s64", "policy", "tensor")), error


def test_axes_out_of_range_are_axis_errors():
    assert issubclass(lx.AxisError, ValueError) and issubclass(lx.AxisError, IndexError)
    names = "sum mean var max all count_nonzero argmax sort argsort flip cumulative_sum diff unstack take_along_axis".split()
    for device in DEVICES:
        x, i = on(np.float32([1, 2, 3]), device), on(np.array([0, 1]), device)
        calls = [lambda name=name: getattr(lx, name)(x, axis=3) for name in names if name != "take_along_axis"]
        calls += [
            lambda: lx.expand_dims(x, axis=3),
            lambda: lx.squeeze(x, axis=3),
            lambda: lx.concat([x, x], axis=3),
            lambda: lx.stack([x, x], axis=3),
            lambda: lx.roll(x, 1, axis=3),
            lambda: lx.repeat(x, 2, axis=3),
            lambda: lx.take(x, i, axis=3),
            lambda: lx.take_along_axis(x, i, axis=3),
            lambda: lx.moveaxis(x, 3, 0),
            lambda: lx.permute_dims(x, (3,)),
            lambda: lx.nn.softmax(x, axis=3),
            lambda: lx.nn.layer_norm(x, axis=3),
            lambda: lx.fft.fft(x, axis=3),
            lambda: lx.linalg.vector_norm(x, axis=3),
            lambda: lx.vmap(lambda v: v, 3)(x),
            lambda: lx.vmap(lambda v: v, out_axes=3)(x),
        ]
        for function in calls:
            raises(lx.AxisError, function, "3")
        beyond = lambda: lx.vmap(lambda v: v, out_axes=1)(x)
        raises(lx.AxisError, beyond, "vmap(): out_axes 1", "results of shape ()", "-1 to 0")


def test_arguments_of_other_types_are_named():
    x, m, key = lx.asarray([1.0, 2.0, 3.0], device="cpu"), lx.ones((2, 3), device="cpu"), lx.random.key(0, device="cpu")
    calls = [
        (lambda: lx.sin([1.0]), "sin()", "x is an array", "list"),
        (lambda: lx.sum([1, 2]), "sum()", "x is", "list"),
        (lambda: lx.fft.fft([1.0]), "fft()", "x is", "list"),
        (lambda: lx.tensordot(1, 2), "x1 is an array", "int"),
        (lambda: lx.stack(["a", x]), "arrays", "str"),
        (lambda: lx.stack(each for each in (x, 2)), "stack()", "arrays", "int"),
        (lambda: lx.concat((each for each in (x, 2.5)), axis=None), "concat()", "arrays", "float"),
        (lambda: lx.concat([x, 2]), "arrays", "int"),
        (lambda: lx.where("a", x, 0), "condition", "str"),
        (lambda: lx.searchsorted([1, 2], x), "x1", "list"),
        (lambda: lx.searchsorted(x, x, sorter=x), "searchsorted()", "sorter has integers", "float32"),
        (lambda: lx.value_and_grad(lambda v: v)(x), "value_and_grad() takes", "float32[3]"),
        (lambda: lx.grad(lambda v: v)(x), "grad() takes", "float32[3]"),
        (lambda: lx.matmul(x, 2), "x2", "int"),
        (lambda: lx.random.uniform(0, 3), "key", "int"),
        (lambda: lx.random.key(1.5), "seed", "float"),
        (lambda: lx.random.key("a"), "seed", "str"),
        (lambda: lx.random.bernoulli(key, "a", 2), "p", "str"),
        (lambda: lx.random.uniform(key, 3, minval="a"), "minval", "str"),
        (lambda: lx.save("never", {"x": x}, metadata={"a": 1}), "metadata", "'a': 1"),
        (lambda: lx.zeros(3, device=1), "device", "1"),
        (lambda: lx.zeros(3, dtype=3), "dtype", "3"),
        (lambda: lx.zeros(3, dtype="f"), "dtype", '"f"'),
        (lambda: lx.einsum(3, x), "equation", "int"),
        (lambda: lx.expand_dims(x, axis=1.5), "axis", "float"),
        (lambda: lx.permute_dims(m, ("a", 0)), "axes", "str"),
        (lambda: lx.finfo(3), "dtype", "3"),
        (lambda: lx.from_dlpack(3), "x", "int"),
        (lambda: lx.step(3), "arrays", "int"),
        (lambda: lx.scan(lambda c, v: (c, v), 1.0, length=x[0]), "length", "array"),
        (lambda: lx.vmap(lambda v: v, "a")(x), "in_axes", "str"),
        (lambda: lx.vmap(lambda v: v, out_axes="a")(x), "out_axes", "str"),
        (lambda: lx.vmap(lambda v: (v, None), out_axes=(0, 1.5))(x), "out_axes", "float"),
        (lambda: lx.vmap(lambda v: v, axis_size=2.0)(x), "axis_size", "float"),
        (lambda: lx.cond([], lambda: x, lambda: x), "cond()", "pred", "list"),
        (lambda: lx.switch("a", [lambda: x]), "index", "str"),
        (lambda: lx.switch(0, lambda: x), "branches", "function"),
    ]
    transforms = (lx.grad, lx.value_and_grad, lx.vmap, lx.jit, lx.checkpoint, lx.custom_vjp, lx.custom_jvp)
    calls += [(lambda of=of: of(3), "fun is a function", "int") for of in transforms]
    loop = lambda v: lx.while_loop(lambda v: v < 5, lambda v: v * 2, v)
    raises(NotImplementedError, lambda: lx.grad(loop)(1.0), "lx.while_loop(max_iterations=)", "lx.scan")
    calls += [
        (lambda: lx.vjp(3, x), "fun"),
        (lambda: lx.jvp(3, (x,), (x,)), "fun"),
        (lambda: lx.scan(3, x), "fun"),
        (lambda: lx.cond(True, 2, 3), "true_fun"),
        (lambda: lx.cond(True, lambda: x, 3), "false_fun"),
        (lambda: lx.while_loop(3, 4, x), "cond_fun"),
    ]
    for function, *parts in calls:
        raises(TypeError, function, *parts)
    assert lx.sin.__name__ == "sin" and lx.sin.__module__ == "lazyxla._elementwise"


def test_integers_beyond_a_dtype_are_compared():
    for device in DEVICES:
        for dtype in ("int8", "uint8", "int64", "uint64"):
            a = np.array([0, 1, 100], dtype)
            x = on(a, device)
            for value in (200, -1, -(2**70), 2**70, 2**64 - 1, 255, 2**2000, -(2**2000)):
                for name in ("eq", "ne", "lt", "le", "gt", "ge"):
                    function = getattr(operator, name)
                    same(function(x, value), function(a, value))
                    same(function(value, x), function(value, a))
                same(lx.less(value, x), np.less(value, a))
                assert (value in x) == (value in a.tolist())
        raises(OverflowError, lambda: on(np.int8([1]), device) + 200, "200", "int8")
        raises(OverflowError, lambda: on(np.int64([1]), device) + 2**70, "int64")
        raises(OverflowError, lambda: on(np.int64([1]), device) + 2**2000, "2001 bits")
        raises(OverflowError, lambda: on(np.float32([1]), device) < 2**2000, "2001 bits")
        for start in (2**63, 2**70, -(2**70), 2**2000):
            raises(OverflowError, lambda: lx.arange(start, start + 3, device=device), "arange()", "int64")
        raises(OverflowError, lambda: lx.arange(300, dtype=lx.int8, device=device), "299", "int8")
        same(lx.arange(2**63, 2**63 + 2, dtype=lx.uint64, device=device), np.array([2**63, 2**63 + 1], "uint64"))
        same(lx.arange(2**63 - 2, 2**63, device=device), np.array([2**63 - 2, 2**63 - 1]))
        f = on(np.float32([1, 2]), device)
        same(f + 2**70, np.float32([1, 2]) + np.float32(2**70))
        same(f * -(2**70), np.float32([1, 2]) * np.float32(-(2**70)))
        same(f < 2**70, np.array([True, True]))
        same(lx.asarray(2**70, dtype=lx.float64, device=device), np.array(2.0**70))


def test_arrays_have_the_protocols_of_numbers_and_sequences():
    a = np.array([[3.5, -2.5], [1.25, 7.0]], "float32")
    for device in DEVICES:
        x = on(a, device)
        assert bytes(on(np.array([3, 1]), device)) == np.array([3, 1]).tobytes()
        for found, wanted in zip(divmod(x, 2.0), np.divmod(a, np.float32(2)), strict=True):
            same(found, wanted)
        for found, wanted in zip(divmod(7, x), np.divmod(np.float32(7), a), strict=True):
            same(found, wanted)
        same(round(x), np.round(a))
        raises(TypeError, lambda: round(x, 1), "digits")
        for found, wanted in zip(reversed(x), a[::-1], strict=True):
            same(found, wanted)
        same(lx.asarray(range(2, 5), device=device), np.arange(2, 5))
        same(lx.asarray(collections.deque([1.0, 2.0]), device=device), np.float32([1, 2]))
        same(lx.asarray([range(3), (4, 5, 6)], device=device), np.array([[0, 1, 2], [4, 5, 6]]))
        same(lx.asarray((range(2), collections.deque([x[0, 0], 1])), device=device), np.float32([[0, 1], [3.5, 1]]))
        same(lx.stack(row for row in x), a)
        same(lx.concat((row for row in x), axis=None), a.ravel())


def test_dtypes_are_named_by_types_of_python_and_numpy():
    pairs = {bool: lx.bool, int: lx.int64, float: lx.float32, complex: lx.complex64, "float16": lx.float16}
    pairs |= {np.float32: lx.float32, np.float64: lx.float64, np.dtype("int8"): lx.int8, np.bool_: lx.bool}
    pairs |= {np.dtype(">u2"): lx.uint16, np.complex128: lx.complex128, np.dtype(bool): lx.bool}
    for given, wanted in pairs.items():
        assert lx.zeros(2, dtype=given, device="cpu").dtype == wanted
        assert lx.ones(2, device="cpu").astype(given).dtype == wanted
        assert lx.result_type(given) == wanted and lx.isdtype(given, wanted) and lx.can_cast(given, wanted)
    assert lx.finfo("float32").bits == 32 and lx.finfo(np.float64).bits == 64 and lx.iinfo(np.uint8).max == 255
    assert lx.isdtype("float32", "numeric") and not lx.isdtype(np.int8, "real floating")
    assert lx.random.normal(lx.random.key(0), 2, dtype=np.float64).dtype == lx.float64
    for wrong in (str, np.datetime64, np.dtype("U3"), object(), 3):
        raises(TypeError, lambda: lx.zeros(2, dtype=wrong), "dtype")


def test_backward_functions_return_none_for_zeros():
    for device in DEVICES:
        x, y = on(np.float32([1, 2]), device), on(np.float32([3, 4]), device)
        product = lx.custom_vjp(lambda x, y: x * y)
        product.defvjp(lambda x, y: (x * y, y), lambda y, ct: (ct * y, None))
        slopes = lx.grad(lambda x, y: lx.sum(product(x, y)), (0, 1))(x, y)
        same(slopes[0], np.float32([3, 4]))
        same(slopes[1], np.float32([0, 0]))
