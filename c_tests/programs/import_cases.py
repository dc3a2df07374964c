"""Functions of JAX that import_test.py exports and imports: name, function, arguments, and the checks that do not apply:
`gradient` (JAX has none, or it is not unique) and `batch`."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(0)


def normal(*dims, dtype=np.float32):
    return RANDOM.standard_normal(dims).astype(dtype)


def positive(*dims, dtype=np.float32):
    return RANDOM.uniform(0.2, 3.0, dims).astype(dtype)


def inside(*dims, dtype=np.float32):
    return RANDOM.uniform(-0.9, 0.9, dims).astype(dtype)


def integers(*dims, low=-9, high=10, dtype=np.int32):
    return RANDOM.integers(low, high, dims).astype(dtype)


def complexes(*dims, dtype=np.complex64):
    return (RANDOM.standard_normal(dims) + 1j * RANDOM.standard_normal(dims)).astype(dtype)


INTEGER = ("gradient",)
KEY = jax.random.key(7)


def formulas():
    """Functions that JAX exports as formulas, where a derivative of the formula would be NaN."""
    special = jax.scipy.special
    edges = np.array([-1000, -90, -9, -2, -1e-3, -1e-20, 1e-20, 1e-3, 0.9, 2, 3, 9, 95, 1000])
    whole = np.array([0.25, 1, 1.5, 2, 3, 5, 8, 100])
    within = np.array([-0.999, -0.5, -1e-3, 0, 1e-20, 0.3, 0.99])
    for dtype in (np.float32, np.float64):
        for name, function, x in [
            ("erfc", special.erfc, edges),
            ("ndtr", special.ndtr, edges),
            ("gelu", lambda x: jax.nn.gelu(x, approximate=False), edges),
            ("sigmoid", jax.nn.sigmoid, edges),
            ("silu", jax.nn.silu, edges),
            ("i1e", special.i1e, edges),
            ("gammaln", special.gammaln, whole),
            ("digamma", special.digamma, whole),
            ("erfinv", special.erfinv, within),
        ]:
            yield f"{name} at edges, {dtype.__name__}", function, (x.astype(dtype),), ()
    kinks = np.array([-2, 0, 0.5, 6, 9])
    for dtype in (np.float32, np.float64, np.float16, jnp.bfloat16):
        for function in (jax.nn.relu, jax.nn.relu6):
            yield f"{function.__name__} at its kinks, {np.dtype(dtype)}", function, (kinks.astype(dtype),), ()
    products = np.array([0, 0, 0, -2, 0.5]), np.array([0.5, 1, 3, 0.7, 2])

    def both(x, y):
        return special.xlogy(x, y), special.xlog1py(x, y)

    for dtype in (np.float32, np.float64):
        yield f"xlogy and xlog1py at 0, {dtype.__name__}", both, tuple(v.astype(dtype) for v in products), ()
    # Points at which the formulas select constants: parts of one size, the axes, and 0 for log1p.
    x, y = np.array([[2, 2], [0.3, -0.3], [-1, 1], [0.5, 0], [-2, 0], [0, 0.5], [0, -3], [1e-2, 1e-2], [1.5, 0.2]]).T
    functions = [lax.sqrt, lax.log, lambda z: lax.log1p(z - 0.5), lax.exp, lax.sin, lax.cos, lax.atan, jnp.sinh]

    def parts(x, y):
        made = [function(lax.complex(x, y)) for function in functions]
        return [jnp.real(z) for z in made], [jnp.imag(z) for z in made]

    for dtype in (np.float32, np.float64):
        yield f"complex functions at ties, {dtype.__name__}", parts, (x.astype(dtype), y.astype(dtype)), ()


def elementwise():
    of_normal = "sin cos tanh exp abs negative square sign floor ceil round expm1 sinh cosh arctan arcsinh exp2 cbrt"
    for name in of_normal.split():
        yield f"jnp.{name}", getattr(jnp, name), (normal(3, 4),), ()
        yield f"jnp.{name} f64", getattr(jnp, name), (normal(5, dtype=np.float64),), ()
    for name in "log log2 log10 log1p sqrt reciprocal".split():
        yield f"jnp.{name}", getattr(jnp, name), (positive(3, 4),), ()
    for name in "arcsin arccos arctanh".split():
        yield f"jnp.{name}", getattr(jnp, name), (inside(3, 4),), ()
    yield "jnp.arccosh", jnp.arccosh, (positive(6) + 1,), ()
    yield "jnp.tan", jnp.tan, (inside(6),), ()
    for name in "add subtract multiply divide maximum minimum arctan2 hypot logaddexp copysign".split():
        yield f"jnp.{name}", getattr(jnp, name), (normal(3, 4), normal(4)), ()
    yield "jnp.power", jnp.power, (positive(3, 4), normal(3, 4)), ()
    for name in "fmod remainder floor_divide nextafter".split():
        yield f"jnp.{name}", getattr(jnp, name), (positive(8), positive(8)), INTEGER
    for name in "bitwise_and bitwise_or bitwise_xor left_shift right_shift floor_divide remainder gcd lcm".split():
        yield f"jnp.{name} s32", getattr(jnp, name), (integers(8, low=1), integers(8, low=1)), INTEGER
    for name in "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor".split():
        yield f"jnp.{name}", getattr(jnp, name), (integers(8), integers(8)), INTEGER
    for name in "isnan isinf isfinite signbit logical_not".split():
        yield f"jnp.{name}", getattr(jnp, name), (np.array([1, -0.0, np.nan, np.inf, -np.inf, 3], np.float32),), INTEGER
    for name in "abs sqrt exp log sin tanh conj real imag angle".split():
        yield f"jnp.{name} c64", getattr(jnp, name), (complexes(5),), ("gradient",)
    yield "jnp.where", jnp.where, (integers(3, 4) > 0, normal(3, 4), normal(4)), ()
    yield "jnp.clip", lambda x: jnp.clip(x, -0.5, 0.5), (normal(9),), ()
    yield "lax.clamp", lax.clamp, (np.float32(-0.3), normal(9), np.float32(0.4)), ("gradient", "batch")
    yield "lax.population_count", lax.population_count, (integers(9),), INTEGER
    yield "lax.clz", lax.clz, (integers(9),), INTEGER
    yield "lax.reduce_precision", lambda x: lax.reduce_precision(x, 5, 10), (normal(9),), ("gradient",)
    yield "lax.bitcast_convert_type", lambda x: lax.bitcast_convert_type(x, jnp.int32), (normal(9),), INTEGER
    yield "bitcast to bytes", lambda x: lax.bitcast_convert_type(x, jnp.uint8), (normal(9),), INTEGER
    yield (
        "astype",
        lambda x: (x.astype(jnp.int32), x.astype(jnp.float16), x.astype(bool)),
        (normal(9) * 4,),
        ("gradient",),
    )
    for (
        name
    ) in "gelu relu relu6 silu softplus elu selu celu leaky_relu hard_tanh hard_swish log_sigmoid sigmoid".split():
        yield f"nn.{name}", getattr(jax.nn, name), (normal(3, 4),), ()
    for name in "erf erfc lgamma digamma bessel_i0e bessel_i1e".split():
        yield f"lax.{name}", getattr(lax, name), (positive(7),), ()
    for name in "i0 i1 ndtr log_ndtr gammaln entr logit expit".split():
        yield f"special.{name}", getattr(jax.scipy.special, name), (RANDOM.uniform(0.1, 0.9, 7).astype(np.float32),), ()
    # Arguments for which the density underflows, and both sides of each point at which the formula changes.
    for dtype in (np.float32, np.float64):
        far = np.array([-12, -11, -4, 0, 4.9, 6, 15, 30, 60, 1e4], dtype)
        yield f"special.log_ndtr far {dtype.__name__}", jax.scipy.special.log_ndtr, (far,), ()
    yield "lax.erf_inv", lax.erf_inv, (inside(7),), ()
    yield "special.zeta", jax.scipy.special.zeta, (positive(7) + 1, positive(7)), ("gradient",)
    # Above 1, where values are below 3: sines of large ones, which the loss takes, depend on the last bits.
    yield "special.polygamma", lambda x: jax.scipy.special.polygamma(2, x), (positive(7) + 1,), ()
    yield "special.xlogy", jax.scipy.special.xlogy, (positive(7), positive(7)), ()
    yield "special.betaln", jax.scipy.special.betaln, (positive(7), positive(7)), ()


def shapes():
    x = normal(2, 3, 4)
    yield "reshape", lambda x: x.reshape(4, 6), (x,), ()
    yield "transpose", lambda x: x.transpose(2, 0, 1), (x,), ()
    yield "broadcast", lambda x: jnp.broadcast_to(x, (5, 2, 3, 4)), (x,), ()
    yield "concatenate", lambda x, y: jnp.concatenate([x, y, x], 1), (x, normal(2, 2, 4)), ()
    yield "stack", lambda x, y: jnp.stack([x, y]), (x, x + 1), ()
    yield "split", lambda x: jnp.split(x, 2, axis=2), (x,), ()
    yield "pad", lambda x: jnp.pad(x, ((1, 0), (2, 1), (0, 3)), constant_values=2), (x,), ()
    yield "lax.pad", lambda x: lax.pad(x, jnp.float32(1), ((-1, 2, 1), (0, 0, 2), (1, -2, 0))), (x,), ()
    for mode in "edge reflect symmetric wrap".split():
        yield f"pad {mode}", lambda x, mode=mode: jnp.pad(x, 2, mode=mode), (normal(4, 5),), ()
    yield "flip", lambda x: jnp.flip(x, (0, 2)), (x,), ()
    yield "roll", lambda x: jnp.roll(x, (1, -2), (1, 2)), (x,), ()
    yield "tile", lambda x: jnp.tile(x, (2, 1, 3)), (x,), ()
    yield "repeat", lambda x: jnp.repeat(x, 3, axis=1), (x,), ()
    yield "slice", lambda x: x[:, 1:, ::2], (x,), ()
    yield "negative step", lambda x: x[:, ::-1, -1], (x,), ()
    yield "take", lambda x, i: jnp.take(x, i, axis=1), (x, integers(5, low=0, high=3)), ()
    yield "take_along_axis", lambda x, i: jnp.take_along_axis(x, i, axis=2), (x, integers(2, 3, 2, low=0, high=4)), ()
    yield "gather", lambda x, i, j: x[i, :, j], (x, integers(5, low=0, high=2), integers(5, low=0, high=4)), ()
    yield "at.set", lambda x, i: x.at[:, i].set(7.0), (x, np.array([0, 2], np.int32)), ()
    yield "at.add", lambda x, i, y: x.at[i].add(y), (normal(6, 3), integers(9, low=0, high=6), normal(9, 3)), ()
    yield "at.multiply", lambda x, i: x.at[i].multiply(2.0), (normal(6), np.array([1, 4], np.int32)), ()
    yield "at.max", lambda x, i, y: x.at[i].max(y), (normal(6), integers(9, low=0, high=6), normal(9)), ("gradient",)
    yield "at.min", lambda x, i, y: x.at[i].min(y), (normal(6), integers(9, low=0, high=6), normal(9)), ("gradient",)
    yield "dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i, 1, 0), (1, 2, 4)), (x, np.int64(1)), ()
    yield (
        "dynamic_update_slice",
        lambda x, y, i: lax.dynamic_update_slice(x, y, (0, i, 0)),
        (x, normal(2, 1, 4), np.int64(2)),
        (),
    )
    yield "one_hot", lambda i: jax.nn.one_hot(i, 5), (integers(6, low=0, high=5),), INTEGER
    yield "tril", jnp.tril, (normal(4, 4),), ()
    yield "diag", jnp.diag, (normal(4),), ()
    yield "diagonal", lambda x: jnp.diagonal(x, 1), (normal(4, 5),), ()
    yield "arange", lambda x: x + jnp.arange(12.0, dtype=jnp.float32).reshape(3, 4), (normal(3, 4),), ()
    yield "linspace", lambda x: x * jnp.linspace(0, 1, 4, dtype=jnp.float32), (normal(3, 4),), ()
    yield "large constant", lambda x: x + np.arange(4096, dtype=np.float32).reshape(64, 64) / 7, (normal(64, 64),), ()
    yield "eye", lambda x: x @ jnp.eye(4, dtype=jnp.float32), (normal(3, 4),), ()
    yield "meshgrid", lambda x, y: jnp.meshgrid(x, y), (normal(3), normal(4)), ()
    yield "searchsorted", jnp.searchsorted, (np.sort(normal(9)), normal(5)), ("gradient", "batch")


def reductions():
    x = normal(3, 4, 5)
    for name in "sum mean max min prod var std ptp argmax argmin any all count_nonzero median".split():
        without = INTEGER if name in "argmax argmin any all count_nonzero median ptp".split() else ()
        yield f"jnp.{name}", getattr(jnp, name), (x,), without
        yield f"jnp.{name} axis", lambda x, f=getattr(jnp, name): f(x, axis=1), (x,), without
    yield "sum bf16", lambda x: jnp.sum(x.astype(jnp.bfloat16), 0), (x,), ("gradient",)
    yield "sum s32", jnp.sum, (integers(3, 4),), INTEGER
    yield "norm", jnp.linalg.norm, (x,), ()
    for name in "cumsum cumprod".split():
        yield f"jnp.{name}", lambda x, f=getattr(jnp, name): f(x, axis=1), (x,), ()
    for name in "cummax cummin cumlogsumexp".split():
        yield f"lax.{name}", lambda x, f=getattr(lax, name): f(x, 1), (x,), ("gradient",)
    for name in "softmax log_softmax logsumexp standardize".split():
        yield f"nn.{name}", lambda x, f=getattr(jax.nn, name): f(x, axis=-1), (x,), ()
    yield "sort", lambda x: jnp.sort(x, axis=1), (x,), ()
    yield "sort descending", lambda x: jnp.sort(x, axis=0, descending=True), (x,), ()
    yield "argsort", lambda x: jnp.argsort(x, axis=1), (x,), INTEGER
    yield "sort pair", lambda x, y: lax.sort((x, y), num_keys=2), (integers(9, high=3), normal(9)), ("gradient",)
    yield "sort with NaN", jnp.sort, (np.array([2, np.nan, -0.0, 0.0, -np.inf, 5], np.float32),), INTEGER
    yield "top_k", lambda x: lax.top_k(x, 3), (x,), ()
    yield "approx_max_k", lambda x: lax.approx_max_k(x, 2), (normal(4, 9),), ("gradient",)
    yield "unique", lambda x: jnp.unique(x, size=6), (integers(9, high=3),), ("gradient", "batch")
    yield "bincount", lambda x: jnp.bincount(x, length=6), (integers(9, low=0, high=6),), ("gradient",)
    yield "histogram", lambda x: jnp.histogram(x, bins=5, range=(-2, 2))[0], (normal(40),), ("gradient", "batch")
    yield "segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 4), (normal(9, 2), integers(9, low=0, high=4)), ()
    yield (
        "lax.reduce",
        lambda x: lax.reduce(x, np.float32(0), lambda a, b: a + b + a * b, (1,)),
        (x,),
        ("gradient", "batch"),
    )
    yield "lax.reduce and", lambda x: lax.reduce(x, np.int32(-1), lax.bitwise_and, (0,)), (integers(4, 5),), INTEGER
    yield (
        "lax.reduce_window",
        lambda x: lax.reduce_window(x, -np.float32(np.inf), lax.max, (1, 2, 3), (1, 1, 2), "SAME"),
        (x,),
        (),
    )
    yield (
        "average pool",
        lambda x: lax.reduce_window(x, np.float32(0), lax.add, (1, 2, 2), (1, 2, 2), ((0, 0), (0, 0), (1, 1))),
        (x,),
        (),
    )
    yield "percentile", lambda x: jnp.percentile(x, 30), (normal(9),), ("gradient",)
    yield "associative_scan", lambda x: lax.associative_scan(jnp.multiply, x), (x,), ()
    # Parts of one size: the exported formula selects a 0.
    parts = np.array([2, 3, -1, 0.5], np.float32), np.array([2, -3, 4, -0.5], np.float32)
    yield "complex square", lambda x, y: jnp.real(lax.square(lax.complex(x, y))), parts, ()


def products():
    yield "matmul", jnp.matmul, (normal(3, 4), normal(4, 5)), ()
    yield "matmul batch", jnp.matmul, (normal(2, 3, 4), normal(2, 4, 5)), ()
    yield "matmul f64", jnp.matmul, (normal(3, 4, dtype=np.float64), normal(4, 5, dtype=np.float64)), ()
    yield "matmul c64", jnp.matmul, (complexes(3, 4), complexes(4, 5)), ("gradient",)
    yield "dot s32", jnp.matmul, (integers(3, 4), integers(4, 5)), INTEGER
    yield (
        "preferred type",
        lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32),
        (normal(3, 4, dtype=np.float16), normal(4, 5, dtype=np.float16)),
        ("gradient",),
    )
    yield "vdot", jnp.vdot, (normal(6), normal(6)), ()
    yield "outer", jnp.outer, (normal(3), normal(4)), ()
    yield "tensordot", lambda x, y: jnp.tensordot(x, y, ((1, 2), (0, 1))), (normal(2, 3, 4), normal(3, 4, 5)), ()
    yield "einsum", lambda x, y: jnp.einsum("bij,bkj->bik", x, y), (normal(2, 3, 4), normal(2, 5, 4)), ()
    yield "kron", jnp.kron, (normal(2, 2), normal(3, 2)), ()
    yield "cross", jnp.cross, (normal(4, 3), normal(4, 3)), ()
    image, kernel = normal(2, 3, 8, 8), normal(4, 3, 3, 3)
    yield "conv", lambda x, k: lax.conv(x, k, (1, 1), "SAME"), (image, kernel), ()
    yield "conv strides", lambda x, k: lax.conv(x, k, (2, 2), "VALID"), (image, kernel), ()
    yield (
        "conv dilated",
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), ((2, 1), (0, 2)), (2, 1), (1, 2)),
        (image, kernel),
        (),
    )
    yield (
        "conv NHWC",
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        (normal(2, 8, 8, 3), normal(3, 3, 3, 4)),
        (),
    )
    yield (
        "conv groups",
        lambda x, k: lax.conv_general_dilated(x, k, (1,), "SAME", feature_group_count=2),
        (normal(2, 4, 8), normal(6, 2, 3)),
        (),
    )
    yield (
        "conv transpose",
        lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")),
        (image, normal(4, 3, 3, 3)),
        (),
    )
    yield "jnp.convolve", jnp.convolve, (normal(9), normal(3)), ()
    spd = np.eye(4, dtype=np.float32) * 4 + np.float32(0.5)
    yield "cholesky", lambda a: lax.linalg.cholesky(a @ a.T), (spd,), ("gradient",)
    yield (
        "triangular_solve",
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
        (np.tril(spd), normal(4, 2)),
        (),
    )
    for name in "fft ifft".split():
        yield f"fft.{name}", getattr(jnp.fft, name), (complexes(3, 8),), ("gradient",)
    yield "fft.rfft", jnp.fft.rfft, (normal(3, 8),), ("gradient",)
    yield "fft.irfft", lambda x: jnp.fft.irfft(x, 8), (complexes(3, 5),), ("gradient",)
    yield "fft.fft2", jnp.fft.fft2, (complexes(4, 6),), ("gradient",)
    yield "attention", jax.nn.dot_product_attention, (normal(1, 4, 2, 8), normal(1, 4, 2, 8), normal(1, 4, 2, 8)), ()


def control():
    yield "cond", lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), (normal(4),), ()
    yield "cond captures", lambda x, y: lax.cond(x[0] > 0, lambda: x * y, lambda: y - x), (normal(4), normal(4)), ()
    yield "switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x), (np.int32(1), normal(4)), ("batch",)
    yield (
        "while_loop",
        lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 1.5 + x), (0, x)),
        (normal(4),),
        ("gradient",),
    )
    yield "fori_loop", lambda x: lax.fori_loop(0, 4, lambda i, c: c * 0.5 + i, x), (normal(4),), ("gradient",)
    yield "scan", lambda x: lax.scan(lambda c, a: (c + a, c * a), jnp.float32(1), x), (normal(5),), ("gradient",)
    yield "map", lambda x: lax.map(jnp.sin, x), (normal(5, 2),), ("gradient",)
    yield "jit inside", lambda x: jax.jit(jnp.sin)(x) + jax.jit(jnp.sin)(2 * x), (normal(4),), ()
    yield "checkpoint", jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), (normal(4),), ()
    yield "custom_jvp", jax.nn.relu, (normal(4),), ()
    yield "grad", jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)), (normal(4),), ()
    yield "hessian", jax.hessian(lambda x: jnp.sum(x**3)), (normal(3),), ()
    yield "jacfwd", jax.jacfwd(lambda x: jnp.sin(x) * x[0]), (normal(3),), ()
    yield "vmap", jax.vmap(lambda x, y: x @ y), (normal(3, 2, 4), normal(3, 4)), ()
    yield "unused", lambda x, y: x + 1, (normal(3), normal(2)), ()
    yield "constant result", lambda x: (x, jnp.arange(5)), (normal(3),), ("batch",)


def random():
    words = ("gradient", "batch")
    for name in "bits uniform normal exponential gumbel laplace logistic rademacher cauchy".split():
        yield f"random.{name}", lambda k, f=getattr(jax.random, name): f(k, (4, 5)), (KEY,), words
    yield "random.split", lambda k: jax.random.split(k, 3), (KEY,), words
    yield "random.fold_in", lambda k: jax.random.fold_in(k, 3), (KEY,), words
    yield "random.randint", lambda k: jax.random.randint(k, (9,), 0, 100), (KEY,), words
    yield "random.bernoulli", lambda k: jax.random.bernoulli(k, 0.3, (9,)), (KEY,), words
    yield "random.permutation", lambda k: jax.random.permutation(k, 9), (KEY,), words
    yield "random.choice", lambda k: jax.random.choice(k, 9, (4,)), (KEY,), words
    yield "random.categorical", lambda k, x: jax.random.categorical(k, x), (KEY, normal(4, 5)), words
    yield "random.truncated_normal", lambda k: jax.random.truncated_normal(k, -1, 1, (9,)), (KEY,), words
    yield "dropout", lambda x, k: jnp.where(jax.random.bernoulli(k, 0.5, x.shape), x * 2, 0), (normal(4, 5), KEY), ()


def images():
    for method in "nearest linear cubic lanczos3".split():
        yield f"image.resize {method}", lambda x, m=method: jax.image.resize(x, (6, 5), m), (normal(4, 4),), ()
    yield (
        "image.scale_and_translate",
        lambda x: jax.image.scale_and_translate(
            x, (5, 5), (0, 1), jnp.array([1.5, 1.2]), jnp.array([0.3, 0.1]), "linear"
        ),
        (normal(4, 4),),
        (),
    )
    yield (
        "map_coordinates",
        lambda x, c: jax.scipy.ndimage.map_coordinates(x, [c, c], 1),
        (normal(6, 6), positive(5)),
        (),
    )


def models():
    def network(x, w, v):
        h = jax.nn.gelu(x @ w)
        return jax.nn.log_softmax(h @ v)

    yield "network", network, (normal(4, 8), normal(8, 16), normal(16, 3)), ()

    def layer_norm(x, scale):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * scale

    yield "layer norm", layer_norm, (normal(4, 8), normal(8)), ()

    def adam(p, g, m, v):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v

    yield "adam", adam, (normal(5), normal(5), normal(5), positive(5)), ("gradient",)
    yield (
        "rnn",
        lambda w, x: lax.scan(lambda h, a: (jnp.tanh(w @ h + a),) * 2, x[0], x),
        (normal(3, 3), normal(4, 3)),
        ("gradient",),
    )


def symbolic():
    """Returns functions that are exported with free sizes: name, function, shapes with symbols, arguments."""
    yield "half", lambda x: x[: x.shape[0] // 2] * 2, ["b, 4"], (normal(9, 4),)
    yield (
        "conv",
        lambda x, k: lax.conv(x, k, (2, 2), "SAME"),
        ["2, 3, c, c", "4, 3, 3, 3"],
        (normal(2, 3, 9, 9), normal(4, 3, 3, 3)),
    )
    yield (
        "max pool",
        lambda x: lax.reduce_window(x, -np.float32(np.inf), lax.max, (1, 2), (1, 2), "SAME"),
        ["b, c"],
        (normal(5, 7),),
    )
    yield "pad and reshape", lambda x: jnp.pad(x, ((0, 2), (1, 1))).reshape(-1), ["b, c"], (normal(5, 7),)
    yield (
        "attention",
        lambda q, k: jax.nn.softmax(q @ k.T / np.float32(np.sqrt(8))) @ k,
        ["b, 8", "c, 8"],
        (normal(5, 8), normal(6, 8)),
    )
    yield "arange", lambda x: x + jnp.arange(x.shape[0], dtype=jnp.float32)[:, None], ["b, 4"], (normal(5, 4),)
    yield (
        "scan",
        lambda x: lax.scan(lambda s, a: (s + a, s * a), jnp.zeros(4, jnp.float32), x),
        ["b, 4"],
        (normal(5, 4),),
    )
    yield "sort", lambda x: jnp.sort(x, 0), ["b, 4"], (normal(5, 4),)
    yield "mean", lambda x: x.mean(0), ["b, 4"], (normal(5, 4),)
    yield "gather", lambda x, i: x[i % x.shape[0]], ["b, 4", "c"], (normal(5, 4), integers(6, low=0, high=30))
    yield (
        "gradient",
        jax.grad(lambda x, w: jnp.mean(jnp.tanh(x @ w) ** 2), 1),
        ["b, 4", "4, 3"],
        (normal(5, 4), normal(4, 3)),
    )
    yield "concatenate", lambda x, y: jnp.concatenate([x, y]), ["b, 4", "c, 4"], (normal(2, 4), normal(3, 4))
    yield "broadcast", lambda x, y: x[:, None] * y, ["b", "c"], (normal(3), normal(4))


def cases():
    """Returns all cases."""
    for family in (elementwise, formulas, shapes, reductions, products, control, random, images, models):
        yield from family()
