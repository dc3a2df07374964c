"""The StableHLO of traced computations, run by JAX's own XLA: python export_test.py /path/to/liblazyxla.so, with jax
and numpy.

What JAX computes from the text of lxla_computation_stablehlo equals what the library computes through its plugin.
"""

import ctypes
import os
import sys
from ctypes import byref, c_double, c_int32, c_int64, c_size_t, c_void_p

if sys.version_info < (3, 11):
    print("JAX 0.10.2 needs Python 3.11")
    sys.exit(77)  # ctest counts 77 as skipped
sys.dont_write_bytecode = True
os.environ["JAX_PLATFORMS"] = "cpu"
import ctypes_test as lxla
import jax
import jax.extend.backend
import numpy as np
from ctypes_test import Computation, Tensor, give, ok
from header import constants, family

jax.config.update("jax_enable_x64", True)

# Names as in the header, without the prefix of their family.
UNARY, BINARY, COMPARE, REDUCE, DTYPE = map(family, ("UNARY", "BINARY", "COMPARE", "REDUCE", "DTYPE"))
ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, MAXIMUM, MINIMUM, AND = (
    BINARY[name] for name in "add subtract multiply divide remainder maximum minimum and".split()
)
BINARY_OF_FLOATS = [
    BINARY[name] for name in "add subtract multiply divide remainder power maximum minimum atan2".split()
]
BINARY_OF_BITS = [BINARY[name] for name in "and or xor shift_left shift_right_arithmetic shift_right_logical".split()]
THREE_FRY, PHILOX = constants.RNG_THREE_FRY, constants.RNG_PHILOX
NE, GT, LT = (COMPARE[name] for name in "ne gt lt".split())
SUM, PRODUCT, MAX, MIN, ALL, ANY = (REDUCE[name] for name in "sum product max min all any".split())
NEGATE, TANH, EXPONENTIAL = (UNARY[name] for name in "negate tanh exponential".split())
UNARY_OF_FLOATS = [
    UNARY[name]
    for name in "negate abs sign exponential exponential_minus_one log log_plus_one logistic tanh sqrt rsqrt cbrt "
    "sine cosine tan floor ceil round_nearest_even round_nearest_afz is_finite".split()
]
UNARY_OF_INTEGERS = [UNARY[name] for name in "negate abs sign not popcnt count_leading_zeros".split()]
UNARY_OF_SIGNED = [UNARY["abs"], UNARY["sign"]]
# NumPy's names of dtypes, and their numbers.
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
NUMBERS = [DTYPE[name] for name in "pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64".split()]

env, made, computations = None, [], []


# --- Recording ---


def dtype_number(dtype):
    return NUMBERS[DTYPES.index(np.dtype(dtype).name)]


def array(tensors):
    return (Tensor * len(tensors))(*tensors)


def record(name, *inputs):
    """Returns the tensor that a function writes through its last argument; it is released at the end of the test."""
    made.append(give(getattr(lxla.lib, "lxla_" + name), Tensor, *inputs))
    return made[-1]


def data(values, dtype=np.float32):
    values = np.array(values, dtype, order="C")
    address = values.ctypes.data if values.size else None
    return record(
        "tensor_from_host", env, lxla.xla(), dtype_number(dtype), *lxla.dims(*values.shape), address, values.nbytes
    )


def placeholder(dtype, *sizes):
    return record("tensor_placeholder", env, lxla.xla(), dtype_number(dtype), *lxla.dims(*sizes))


def constant(value, dtype=np.float32):
    """Makes a scalar constant, which becomes part of the program that uses it."""
    return record("tensor_full", env, lxla.xla(), dtype_number(dtype), None, 0, c_double(value))


def binary(op, a, b):
    if isinstance(b, Tensor):
        return record("binary", op, a, b)
    return record("binary_scalar", op, a, c_double(b))


def add(a, b):
    return binary(ADD, a, b)


def multiply(a, b):
    return binary(MULTIPLY, a, b)


def unary(op, x):
    return record("unary", op, x)


def reduce(op, x, *axes, keep=0):
    return record("reduce", op, x, *lxla.dims(*axes), keep)


def sized(name, x, *sizes):
    return record(name, x, *lxla.dims(*sizes))


def several(function, count, *inputs):
    """Returns the `count` tensors that a function writes to a list; its last arguments are the list and the length."""
    out = (Tensor * count)()
    ok(function(*inputs, out, count))
    made.extend(out)
    return list(out)


def trace(params, results):
    lists = array(params), len(params), array(results), len(results)
    computations.append(give(lxla.lib.lxla_computation_trace, Computation, *lists))
    return computations[-1]


def call(computation, args, count=1):
    return several(lxla.lib.lxla_computation_call, count, computation, array(args), len(args))


def branch(pred, on_true, on_false, args, count=1):
    return several(lxla.lib.lxla_cond, count, pred, on_true, on_false, array(args), len(args))


def loop(cond, body, init):
    out = (Tensor * len(init))()
    ok(lxla.lib.lxla_while(cond, body, array(init), len(init), out))
    made.extend(out)
    return list(out)


def scan(body, init, xs, length, stacks, reverse=0):
    carry, ys = (Tensor * len(init))(), (Tensor * stacks)()
    ok(lxla.lib.lxla_scan(body, array(init), len(init), array(xs), len(xs), length, reverse, carry, ys, stacks))
    made.extend([*carry, *ys])
    return [*carry, *ys]


# --- Comparing ---


def numpy_of(tensor):
    rank = give(lxla.lib.lxla_tensor_rank, c_size_t, tensor).value
    sizes = (c_int64 * max(rank, 1))()
    ok(lxla.lib.lxla_tensor_dims(tensor, sizes, rank))
    out = np.empty(list(sizes)[:rank], DTYPES[NUMBERS.index(give(lxla.lib.lxla_tensor_dtype, c_int32, tensor).value)])
    ok(lxla.lib.lxla_tensor_read(tensor, out.ctypes.data_as(c_void_p), out.nbytes))
    return out


def by_jax(text, arguments):
    client = jax.extend.backend.get_backend()
    executable = client.compile_and_load(text, client.local_devices()[:1])
    return [np.asarray(x) for x in executable.execute([jax.device_put(np.asarray(a)) for a in arguments])]


def check(params, results, arguments, captured=()):
    """Calls the computation of `results` on arguments, and compares with JAX's run of its text. `captured` lists
    captures in the order of first use."""
    arguments = [np.asarray(a, numpy_dtype(p)) for a, p in zip(arguments, params, strict=True)]
    return compared(trace(params, results), len(results), arguments, captured)


def compared(computation, count, arguments, captured=(), atol=0):
    """Calls a computation on arrays, and compares with JAX's run of its text. Returns the results."""
    ours = [numpy_of(t) for t in call(computation, [data(a, a.dtype) for a in arguments], count)]
    theirs = by_jax(lxla.text(lxla.lib.lxla_computation_stablehlo, computation), [*arguments, *captured])
    assert len(ours) == len(theirs)
    for i, (a, b) in enumerate(zip(ours, theirs)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), i
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=atol, err_msg=f"result {i}")
        else:
            np.testing.assert_array_equal(a, b, err_msg=f"result {i}")
    return ours


def numpy_dtype(tensor):
    return DTYPES[NUMBERS.index(give(lxla.lib.lxla_tensor_dtype, c_int32, tensor).value)]


random = np.random.RandomState(0)


def normal(*sizes):
    return random.randn(*sizes).astype(np.float32)


# --- Computations ---


def test_elementwise_floats():
    for dtype in (np.float32, np.float64):
        p, q = placeholder(dtype, 5), placeholder(dtype, 2, 1)
        results = [unary(op, p) for op in UNARY_OF_FLOATS] + [binary(op, p, q) for op in BINARY_OF_FLOATS]
        results += [record("compare", op, p, q) for op in COMPARE.values()]
        results += [record("binary_scalar", SUBTRACT, p, c_double(0.1)), record("convert", p, dtype_number(np.int32))]
        check([p, q], results, [[0.25, 0.5, 1.5, 2.75, 3], [[0.5], [2.75]]])


def test_elementwise_integers():
    for dtype in DTYPES[1:9]:
        p, q = placeholder(dtype, 4), placeholder(dtype, 4)
        results = [unary(op, p) for op in UNARY_OF_INTEGERS if dtype.startswith("int") or op not in UNARY_OF_SIGNED]
        results += [binary(op, p, q) for op in (ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, MAXIMUM, MINIMUM)]
        results += [binary(op, p, q) for op in BINARY_OF_BITS]
        results += [record("compare", op, p, q) for op in COMPARE.values()]
        results += [record("convert", p, number) for number in NUMBERS]
        check([p, q], results, [[7, 100, 0, 85], [3, 7, 1, 5]])


def test_matmul_with_captures():
    w, b = normal(4, 5), normal(5)
    x, ready, pending = placeholder(np.float32, 3, 4), data(w), multiply(data(b), 2)
    hidden = unary(TANH, add(record("matmul", x, ready), pending))
    share = unary(EXPONENTIAL, binary(SUBTRACT, hidden, reduce(MAX, hidden, -1, keep=1)))
    softmax = binary(DIVIDE, share, reduce(SUM, share, -1, keep=1))
    positive = record("compare", GT, hidden, data(0))
    chosen = record("select", positive, hidden, multiply(hidden, 0.1))
    check([x], [softmax, chosen, positive, pending], [normal(3, 4)], [w, b * 2, np.float32(0)])


def test_matmul_of_many():
    a, b, v = placeholder(np.float32, 2, 1, 3, 4), placeholder(np.float32, 5, 4, 2), placeholder(np.float32, 4)
    i = placeholder(np.int32, 3, 4)
    products = [record("matmul", *pair) for pair in ((a, b), (a, v), (v, b), (i, sized("transpose", i, 1, 0)))]
    check([a, b, v, i], products, [normal(2, 1, 3, 4), normal(5, 4, 2), normal(4), random.randint(-9, 9, (3, 4))])


def test_reductions():
    p, i = placeholder(np.float32, 2, 3, 4), placeholder(np.int32, 3, 4)
    truth = record("compare", GT, i, constant(0, np.int32))
    results = [reduce(ALL, truth, 0), reduce(ANY, truth, 1)]
    for op, keep in ((SUM, 0), (PRODUCT, 1), (MAX, 0), (MIN, 1)):
        results += [reduce(op, p, 0, 2, keep=keep), reduce(op, i, -1, keep=keep)]
    check([p, i], results, [normal(2, 3, 4), random.randint(-3, 9, (3, 4))])


def test_shapes():
    p = placeholder(np.int16, 4, 6)
    counting = record("iota", env, lxla.xla(), dtype_number(np.int16), *lxla.dims(4, 6), 1)
    strided = record("slice", p, lxla.dims(1, 0)[0], lxla.dims(4, 6)[0], *lxla.dims(2, 3))
    rows = record("slice", p, lxla.dims(1, 0)[0], lxla.dims(3, 6)[0], None, 2)
    results = [
        sized("reshape", p, 2, 12),
        sized("transpose", p, 1, 0),
        sized("broadcast_to", p, 3, 4, 6),
        strided,
        rows,
        record("concatenate", array([p, rows, counting]), 3, 0),
        add(p, counting),
    ]
    check([p], results, [random.randint(-99, 99, (4, 6))])


def test_take():
    p, at, narrow = placeholder(np.float32, 3, 5, 2), placeholder(np.int32, 2, 3), placeholder(np.int8, 4)
    check(
        [p, at, narrow],
        [record("take", p, at, 1), record("take", p, narrow, 0), record("take", p, at, -1)],
        [normal(3, 5, 2), [[0, -1, 4], [99, -99, 2]], [0, -1, -3, 5]],
    )


def test_dynamic_slices():
    p, update = placeholder(np.float32, 4, 5), placeholder(np.float32, 2, 3)
    at = [placeholder(np.int32), placeholder(np.int32)]
    results = [
        record("dynamic_slice", p, array(at), *lxla.dims(2, 3)),
        record("dynamic_update_slice", p, update, array(at), 2),
    ]
    for start in ([1, 2], [-5, 99], [3, 0]):
        check([p, update, *at], results, [normal(4, 5), normal(2, 3), *start])


def test_pad():
    p, value = placeholder(np.int32, 3, 4), placeholder(np.int32)
    low, high, interior = lxla.dims(1, -1)[0], lxla.dims(2, -2)[0], lxla.dims(2, 0)
    check(
        [p, value],
        [record("pad", p, value, low, high, *interior), record("pad", p, value, low, high, None, 2)],
        [np.arange(12).reshape(3, 4), -7],
    )


def test_results_that_are_parameters_captures_and_constants():
    p, q, w = placeholder(np.float32, 2), placeholder(np.int32), data([5, 6])
    seven = constant(7, np.float32)
    check([p, q], [q, w, p, p, seven, multiply(w, 2)], [[1, 2], 3], [np.float32([5, 6]), np.float32([10, 12])])


def test_calls_in_calls():
    w, h, p = data([2]), placeholder(np.float32, 1), placeholder(np.float32, 1)
    square = trace([p], [add(multiply(p, p), 1)])
    inner = trace([p], [add(multiply(call(square, [p])[0], h), w), p])
    first, same = call(inner, [p], 2)
    second, before = call(inner, [first], 2)
    ours = check([p, h], [second, same, before], [[1], [3]], [np.float32([2])])
    assert [x.item() for x in ours] == [(8 * 8 + 1) * 3 + 2, 1, 8]


def test_while_with_a_branch():
    n, k = placeholder(np.int32), placeholder(np.int64)
    halve, climb = trace([n], [binary(DIVIDE, n, 2)]), trace([n], [add(multiply(n, 3), 1)])
    odd = record("convert", binary(AND, n, constant(1, np.int32)), dtype_number(bool))
    cond = trace([n, k], [record("compare", NE, n, data(1, np.int32))])
    body = trace([n, k], [branch(odd, climb, halve, [n])[0], add(k, 1)])
    for start, steps in ((6, 8), (27, 111), (1, 0)):
        ours = check([n, k], loop(cond, body, [n, k]), [start, 0], [np.int32(1)])
        assert [x.item() for x in ours] == [1, steps]


def test_branches():
    pred, x = placeholder(bool), placeholder(np.float32, 3)
    captured = data([10, 20, 30])
    up, down = trace([x], [add(x, captured), x]), trace([x], [unary(NEGATE, x), multiply(x, 0.5)])
    results = branch(pred, up, down, [x], 2)
    for value in (True, False):
        check([pred, x], results, [value, [1, 2, 3]], [np.float32([10, 20, 30])])


def test_case():
    x = placeholder(np.float32, 3)
    branches = [trace([x], [add(multiply(x, i), data([i, 0, i]))]) for i in range(1, 4)]
    captured = [np.float32([i, 0, i]) for i in range(1, 4)]
    for dtype, numbers in (
        (np.int32, (0, 1, 2, 3, -1)),
        (np.int64, (1, 2**32, -(2**40))),
        (np.uint8, (2, 255)),
        (np.uint64, (0, 2**63)),
    ):
        index = placeholder(dtype)
        results = several(lxla.lib.lxla_case, 1, index, (Computation * 3)(*branches), 3, array([x]), 1)
        for number in numbers:
            check([index, x], results, [number, [1, 2, 3]], captured)


def test_elements():
    x, low, high = placeholder(np.float32, 4, 3), placeholder(np.float32), placeholder(np.float32, 3)
    clamped = record("clamp", low, x, high)
    z = record("complex", x, clamped)
    results = [clamped, record("real", z), record("imag", binary(MULTIPLY, z, z)), sized("reverse", x, 0, -1)]
    results += [record("bitcast_convert", x, dtype_number(t)) for t in (np.int32, np.uint16, np.int8)]
    results += [record("bitcast_convert", results[5], dtype_number(np.float32))]
    results += [record("reduce_precision", x, e, m) for e, m in ((5, 10), (8, 7), (1, 0), (4, 3))]
    barrier = (Tensor * 2)()
    ok(lxla.lib.lxla_optimization_barrier(array([x, results[4]]), 2, barrier))
    made.extend(barrier)
    values = normal(4, 3) * np.float32(10) ** np.arange(-8, 4, dtype=np.float32).reshape(4, 3)
    check([x, low, high], [*results, *barrier], [values, -0.5, [0.1, 1, 10]])


def test_random_numbers_are_those_of_jax():
    key, state = placeholder(np.uint32, 2), placeholder(np.uint64, 3)
    shape = 5, 7
    bits = [sized_by("random_bits", THREE_FRY, key, t) for t in (np.uint8, np.uint16, np.uint32, np.uint64)]
    split = record("random_split", THREE_FRY, key, 6)
    uniform = [
        record("random_uniform", THREE_FRY, key, dtype_number(t), *lxla.dims(*shape), -2.0, 2.0)
        for t in (np.float16, np.float32, np.float64)
    ]
    normal_numbers = [sized_by("random_normal", THREE_FRY, key, t) for t in (np.float32, np.float64)]
    coins = record("random_bernoulli", THREE_FRY, key, 0.25, *lxla.dims(*shape))
    for words in ((0, 0), (0, 42), (0xFFFFFFFF, 0x80000000)):
        ours = check([key], [*bits, split, *uniform, *normal_numbers, coins], [words])
        jax_key = jax.random.wrap_key_data(np.uint32(words))
        theirs = [jax.random.bits(jax_key, shape, t) for t in (np.uint8, np.uint16, np.uint32, np.uint64)]
        theirs += [jax.random.key_data(jax.random.split(jax_key, 6))]
        theirs += [jax.random.uniform(jax_key, shape, t, -2, 2) for t in (np.float16, np.float32, np.float64)]
        for a, b in zip(ours, theirs):
            np.testing.assert_array_equal(a, np.asarray(b), strict=True)
        for a in ours[8:10]:
            np.testing.assert_allclose(
                a, jax.random.normal(jax_key, shape, a.dtype), rtol=1e-6 if a.dtype == np.float32 else 1e-13
            )
        np.testing.assert_array_equal(ours[10], jax.random.bernoulli(jax_key, np.float32(0.25), shape))
    for dtype in (np.uint8, np.int32, np.uint64):
        next_state, generated = Tensor(), Tensor()
        ok(
            lxla.lib.lxla_rng_bit_generator(
                PHILOX, state, dtype_number(dtype), *lxla.dims(3, 5), byref(next_state), byref(generated)
            )
        )
        made.extend([next_state, generated])
        check([state], [next_state, generated], [[5, 2**64 - 2, 7]])


def sized_by(name, algorithm, key, dtype):
    return record(name, algorithm, key, dtype_number(dtype), *lxla.dims(5, 7))


def test_scans():
    count, h, x, m = (
        placeholder(np.int32),
        placeholder(np.float32, 3),
        placeholder(np.float32, 3),
        placeholder(np.float64, 2, 3),
    )
    w = normal(3, 3)
    mixed = unary(TANH, add(record("matmul", h, data(w)), x))
    body = trace(
        [count, h, x, m], [add(count, 2), mixed, multiply(m, record("convert", mixed, dtype_number(np.float64))), count]
    )
    init, xs, ms = placeholder(np.float32, 3), placeholder(np.float32, 5, 3), placeholder(np.float64, 5, 2, 3)
    for reverse in (0, 1):
        results = scan(body, [count, init], [xs, ms], 5, 2, reverse)
        ours = check([count, init, xs, ms], results, [7, normal(3), normal(5, 3), normal(5, 2, 3)], [w])
        assert ours[0] == 17 and list(ours[3]) == ([15, 13, 11, 9, 7] if reverse else [7, 9, 11, 13, 15])


def test_scans_in_scans_and_of_nothing():
    c, x, row = placeholder(np.float32), placeholder(np.float32), placeholder(np.float32, 3)
    inner = trace([c, x], [add(c, x), add(c, x)])
    outer = trace([c, row], scan(inner, [c], [row], 3, 1))
    rows, nothing = placeholder(np.float32, 4, 3), placeholder(np.float32, 0, 3)
    check([c, rows], scan(outer, [c], [rows], 4, 1), [0, normal(4, 3)])
    check([c, nothing], scan(outer, [c], [nothing], 0, 1), [5, np.zeros((0, 3))])


def transformed(name, computation, *inputs):
    computations.append(give(getattr(lxla.lib, "lxla_computation_" + name), Computation, computation, *inputs))
    return computations[-1]


def test_derivatives_and_batches_are_those_of_jax():
    """A scan of a layer with captured and stacked weights: its loss, the gradients, their tangents, and all of it over
    a batch."""
    h, x, w = placeholder(np.float32, 3), placeholder(np.float32, 3), placeholder(np.float32, 3, 3)
    body = trace([h, x], [unary(TANH, add(record("matmul", h, w), x)), multiply(h, h)])
    init, xs = placeholder(np.float32, 3), placeholder(np.float32, 5, 3)
    end, squares = scan(body, [init], [xs], 5, 1)
    loss = trace([init, xs, w], [add(reduce(SUM, end, 0), reduce(SUM, squares, 0, 1))])

    def layer(w):
        return lambda h, x: (jax.numpy.tanh(jax.numpy.matmul(h, w, precision="highest") + x), h * h)

    def theirs(init, xs, w):
        end, squares = jax.lax.scan(layer(w), init, xs)
        return end.sum() + squares.sum()

    arguments = [normal(3), normal(5, 3), normal(3, 3)]
    gradient = jax.value_and_grad(theirs, (0, 1, 2))
    for checkpoint in (constants.CHECKPOINT_SAVE_ALL, constants.CHECKPOINT_SAVE_NONE, constants.CHECKPOINT_SAVE_DOTS):
        options = lxla.VjpOptions(struct_size=ctypes.sizeof(lxla.VjpOptions))
        ok(lxla.lib.lxla_vjp_options_init(byref(options)))
        options.checkpoint = checkpoint
        ours = transformed("value_and_grad", loss, byref(options))
        value, by = gradient(*arguments)
        same(compared(ours, 4, arguments, atol=1e-4), [value, *by])
        tangents = [normal(*a.shape) for a in arguments]
        pushed = compared(transformed("jvp", ours, None, 0), 8, [*arguments, *tangents], atol=1e-4)
        (value, by), (t_value, t_by) = jax.jvp(gradient, arguments, tangents)
        same(pushed, [value, *by, t_value, *t_by])
        batched = transformed("vmap", ours, *lxla.dims(-1, 1, 0), *lxla.dims(0, 0, 1, 2), 2)
        arrays = [normal(3), normal(5, 2, 3), normal(2, 3, 3)]
        value, by = jax.vmap(gradient, (None, 1, 0), (0, (0, 1, 2)))(*arrays)
        same(compared(batched, 4, arrays, atol=1e-4), [value, *by])


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)


def main():
    global env
    lxla.load(sys.argv[1])
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        print(name, flush=True)
        env = lxla.new_env()
        test()
        lxla.release(*made)
        for computation in computations:
            ok(lxla.lib.lxla_computation_release(computation))
        made.clear(), computations.clear()
        assert lxla.counter(env, "LiveBytes") == 0
        lxla.release(env)
    print(f"{len(tests)} tests passed")


if __name__ == "__main__":
    main()
