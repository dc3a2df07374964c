"""What the names of NumPy, JAX and PyTorch are here: one table, for the errors about names that are missing, and for
docs/python_names.md, which tools/python_names.py writes. A test asks for each name that it mentions."""

from __future__ import annotations

# Names that are the same here, with ``lx`` in place of ``np``.
NUMPY_SAME = """
    abs absolute add all allclose amax amin angle any append apply_along_axis arange arccos arccosh arcsin arcsinh
    arctan arctan2 arctanh argmax argmin argpartition argsort argwhere around array array_equal array_split asanyarray
    asarray ascontiguousarray atleast_1d atleast_2d atleast_3d average bartlett bincount bitwise_and bitwise_count
    bitwise_not bitwise_or bitwise_xor blackman block bool_ broadcast_arrays broadcast_shapes broadcast_to c_ can_cast
    cbrt ceil choose clip column_stack complex128 complex64 compress concatenate conj conjugate convolve copy copysign
    corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum deg2rad degrees delete diag diag_indices diagflat
    diagonal diff digitize divide divmod dot dsplit dstack e ediff1d einsum empty empty_like equal euler_gamma exp exp2
    expand_dims expm1 extract eye fabs fill_diagonal finfo fix flatnonzero flip fliplr flipud float16 float32 float64
    float_power floor floor_divide fmax fmin fmod from_dlpack fromfunction full full_like gcd geomspace gradient greater
    greater_equal hamming hanning heaviside histogram histogram2d histogram_bin_edges hsplit hstack hypot i0 identity
    iinfo imag indices inf inner insert int16 int32 int64 int8 interp intersect1d invert isclose iscomplex iscomplexobj
    isfinite isin isinf isnan isneginf isposinf isreal isrealobj isscalar ix_ kaiser kron lcm less less_equal lexsort
    linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logspace matmul
    matrix_transpose max maximum mean median meshgrid mgrid min minimum mod modf moveaxis multiply nan nan_to_num
    nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd
    nansum nanvar ndarray ndim negative newaxis nextafter nonzero not_equal ogrid ones ones_like outer pad partition
    percentile pi piecewise poly polyadd polyder polyfit polyint polymul polysub polyval positive power prod
    promote_types ptp put_along_axis quantile r_ rad2deg radians ravel ravel_multi_index real reciprocal remainder
    repeat reshape resize result_type rint roll rollaxis roots rot90 round row_stack s_ searchsorted select setdiff1d
    setxor1d shape sign signbit sin sinc sinh size sort split sqrt square squeeze stack std subtract sum swapaxes take
    take_along_axis tan tanh tensordot tile trace transpose trapezoid tri tril tril_indices trim_zeros triu triu_indices
    true_divide trunc uint16 uint32 uint64 uint8 union1d unique unravel_index unstack unwrap vander var vdot vecdot
    vectorize vsplit vstack where zeros zeros_like
    fft.fft fft.fft2 fft.fftfreq fft.fftn fft.fftshift fft.ifft fft.ifft2 fft.irfft fft.rfft fft.rfft2 fft.rfftfreq
    linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.lstsq
    linalg.matrix_power linalg.matrix_rank linalg.multi_dot linalg.norm linalg.pinv linalg.qr linalg.slogdet
    linalg.solve linalg.svd
"""

# Other names: what stands for each here. Values in quotes are code; others begin with a capital letter.
NUMPY = {
    "array_equiv": "lx.array_equal(*lx.broadcast_arrays(a, b))",
    "asmatrix": "lx.asarray(a)",
    "array2string": "str(x)",
    "copyto": "x[...] = values",
    "dtype": "lx.float32",
    "double": "lx.float64",
    "single": "lx.float32",
    "half": "lx.float16",
    "uint": "lx.uint64",
    "longlong": "lx.int64",
    "csingle": "lx.complex64",
    "cdouble": "lx.complex128",
    "binary_repr": "np.binary_repr(int(x[0, 0]))",
    "einsum_path": "lx.einsum('ij,jk,kl->il', x, x, x)",
    "ma": "Take a mask along: lx.mean(x, where=mask)",
    "poly1d": "lx.polyval(x[0], y)",
    "shares_memory": "False",
    "may_share_memory": "False",
    "testing": "Take NumPy's: np.testing.assert_allclose(x, y)",
    "errstate": "Set LXLA_CHECK_NONFINITE=1, which makes NaN a FloatingPointError",
    "seterr": "Set LXLA_CHECK_NONFINITE=1, which makes NaN a FloatingPointError",
    "frombuffer": "lx.asarray(np.frombuffer(data, dtype))",
    "fromiter": "lx.asarray(list(iterable))",
    "genfromtxt": "lx.asarray(np.genfromtxt(path))",
    "in1d": "lx.isin(x, values)",
    "int_": "lx.int64",
    "float_": "lx.float64",
    "intp": "lx.int64",
    "issubdtype": "lx.isdtype(x.dtype, 'real floating')",
    "ldexp": "x * lx.exp2(n)",
    "loadtxt": "lx.asarray(np.loadtxt(path))",
    "savetxt": "np.savetxt(path, x)",
    "savez": "lx.save(path, {'name': x})",
    "matrix": "lx.asarray(a)",
    "ndenumerate": "np.ndenumerate(x)",
    "ndindex": "np.ndindex(x.shape)",
    "nditer": "np.nditer(np.asarray(x))",
    "place": "x[mask] = value",
    "putmask": "x[...] = lx.where(mask, values, x)",
    "put": "x[...] = lx.ravel(x).at[places].set(values).reshape(x.shape)",
    "printoptions": "print(np.asarray(x))",
    "set_printoptions": "print(np.asarray(x))",
    "product": "lx.prod(x)",
    "trapz": "lx.trapezoid(y, x)",
    "alltrue": "lx.all(x)",
    "linalg.LinAlgError": "The result is NaN, since values are not known when an operation is recorded",
    "linalg.tensorsolve": "lx.linalg.solve(a.reshape(n, n), b.ravel())",
    "random.seed": "lx.random.key(seed)",
    "random.default_rng": "lx.random.key(seed)",
    "random.RandomState": "lx.random.key(seed)",
    "random.rand": "lx.random.uniform(key, shape)",
    "random.random": "lx.random.uniform(key, shape)",
    "random.randn": "lx.random.normal(key, shape)",
    "random.standard_normal": "lx.random.normal(key, shape)",
    "random.shuffle": "lx.random.permutation(key, x)",
    "random.binomial": "lx.sum(lx.random.bernoulli(key, p, (n,)))",
    "lib.stride_tricks.sliding_window_view": "lx.stack([x[i : i + n] for i in range(len(x) - n + 1)])",
    "testing.assert_allclose": "np.testing.assert_allclose(x, y)",
    "frompyfunc": "lx.vectorize(f)",
}

# With ``lx`` in place of ``jax``, ``jax.numpy``, ``jax.lax`` or ``jax.tree_util``.
JAX_SAME = """
    Array ShapeDtypeStruct bfloat16 block_until_ready checkpoint checkpoint_policies custom_jvp custom_vjp device_get
    device_put devices eval_shape grad hessian jacfwd jacrev jit jvp linearize remat shard_map value_and_grad vjp vmap
    associative_scan cond cummax cummin dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_slice
    fori_loop map rsqrt scan stop_gradient switch top_k while_loop
    tree.all tree.flatten tree.leaves tree.map tree.reduce tree.structure tree.transpose tree.unflatten
    tree_flatten tree_leaves tree_map tree_structure tree_unflatten
    nn.celu nn.elu nn.gelu nn.glu nn.hard_sigmoid nn.hard_silu nn.hard_swish nn.hard_tanh nn.leaky_relu nn.log_sigmoid
    nn.log_softmax nn.logsumexp nn.mish nn.one_hot nn.relu nn.relu6 nn.selu nn.sigmoid nn.silu nn.soft_sign nn.softmax
    nn.softplus nn.swish nn.tanh
    random.PRNGKey random.bernoulli random.beta random.bits random.categorical random.cauchy random.chisquare
    random.choice random.dirichlet random.exponential random.fold_in random.gamma random.geometric random.gumbel
    random.key random.laplace random.logistic random.lognormal random.multivariate_normal random.normal random.pareto
    random.permutation random.poisson random.rademacher random.randint random.rayleigh random.split random.t
    random.truncated_normal random.uniform random.weibull_min
    special.digamma special.erf special.erfc special.erfinv special.expit special.gammainc special.gammaln special.i0
    special.logit special.ndtr special.polygamma special.xlog1py special.xlogy special.zeta
    linalg.block_diag linalg.cho_factor linalg.cho_solve linalg.expm linalg.schur linalg.solve_triangular linalg.toeplitz
"""

JAX = {
    "lax": "The same names in lx: lx.scan, lx.cond, lx.while_loop",
    "numpy": "The same names in lx: lx.sum",
    "scipy": "The same names in lx.special and lx.linalg",
    "tree_util": "The same names in lx.tree: lx.tree.map",
    "default_backend": "str(lx.default_device())",
    "device_count": "len(lx.devices())",
    "disable_jit": "Run it on cpu, where each operation runs at once: lx.use_device('cpu')",
    "debug.print": "Print results after the call, since a traced function has no values",
    "config": "Nothing, since arrays of float64 are there when they are asked for",
    "export.export": "lx.export_program(f, x, path=path, format='jax')",
    "make_jaxpr": "lx.export_program(f, x, path=path)",
    "make_mesh": "lx.Mesh({'data': 4})",
    "sharding.Mesh": "lx.Mesh({'data': 4})",
    "named_call": "f",
    "ops.segment_max": "lx.segment_max(x, index, n)",
    "ops.segment_min": "lx.segment_min(x, index, n)",
    "ops.segment_prod": "lx.segment_prod(x, index, n)",
    "ops.segment_sum": "lx.segment_sum(x, index, n)",
    "ops": "The functions themselves: lx.segment_sum(x, index, n)",
    "flatten_util.ravel_pytree": "lx.tree.ravel(params)",
    "ad_checkpoint.checkpoint_name": "lx.checkpoint_name(x, 'name')",
    "lax.cumlogsumexp": "lx.associative_scan(lx.logaddexp, x)",
    "pmap": "lx.shard_map(f, mesh, in_shardings, out_shardings)",
    "random.binomial": "lx.sum(lx.random.bernoulli(key, p, (n,)))",
    "random.orthogonal": "lx.linalg.qr(lx.random.normal(key, (n, n)))[0]",
    "nn.dot_product_attention": "lx.moveaxis(lx.nn.attention(*(lx.moveaxis(x, -3, -2) for x in (q, k, v))), -3, -2)",
    "nn.initializers.he_normal": "lx.random.normal(key, (n, m)) * (2 / n) ** 0.5",
    "nn.initializers.glorot_uniform": "(6 / (n + m)) ** 0.5 * lx.random.uniform(key, (n, m), minval=-1, maxval=1)",
    "nn.standardize": "lx.nn.layer_norm(x)",
    "lax.all_gather": "lx.collectives.all_gather(x, 'data')",
    "lax.axis_index": "lx.collectives.axis_index(mesh, 'data')",
    "lax.batch_matmul": "lx.matmul(x, y)",
    "lax.bitcast_convert_type": "lx.bitcast(x, dtype)",
    "lax.broadcast_in_dim": "lx.broadcast_to(x, shape)",
    "lax.clamp": "lx.clip(x, min, max)",
    "lax.complex": "re + 1j * im",
    "lax.conv_general_dilated": "lx.nn.conv(x, kernel)",
    "lax.convert_element_type": "x.astype(dtype)",
    "lax.dot_general": "lx.tensordot(x, y, axes=1)",
    "lax.erf": "lx.special.erf(x)",
    "lax.expand_dims": "lx.expand_dims(x, axis)",
    "lax.iota": "lx.arange(n)",
    "lax.lgamma": "lx.special.gammaln(x)",
    "lax.pmean": "lx.collectives.all_reduce(x, 'data') / n",
    "lax.psum": "lx.collectives.all_reduce(x, 'data')",
    "lax.reduce_window": "lx.nn.max_pool(x, 2)",
    "lax.select": "lx.where(condition, x, y)",
    "lax.sort_key_val": "lx.take(values, lx.argsort(keys))",
    "lax.with_sharding_constraint": "lx.shard(x, mesh, 'data,-')",
    "optax.adam": "lx.optim.adam(0.001)",
    "optax.adamw": "lx.optim.adamw(0.001)",
    "optax.sgd": "lx.optim.sgd(0.1)",
    "optax.apply_updates": "lx.tree.map(lambda p, u: p + u, params, updates)",
    "optax.clip_by_global_norm": "lx.optim.clip_by_global_norm(gradients, 1.0)",
    "optax.cosine_decay_schedule": "lx.optim.cosine_schedule(0.001, 1000)",
    "optax.global_norm": "lx.optim.global_norm(gradients)",
    "optax.squared_error": "lx.nn.squared_error(x, y)",
    "optax.sigmoid_binary_cross_entropy": "lx.nn.sigmoid_binary_cross_entropy(logits, y)",
    "optax.softmax_cross_entropy": "lx.nn.softmax_cross_entropy(logits, chances)",
    "optax.softmax_cross_entropy_with_integer_labels": "lx.nn.softmax_cross_entropy_with_integer_labels(logits, labels)",
}

TORCH_SAME = """
    abs add all allclose any arange argmax argmin argsort asin atan2 bfloat16 bincount ceil cdist compile cos cosh
    count_nonzero cov cross cumprod cumsum diag diagonal diff einsum empty empty_like equal exp expm1 eye fix flip
    float16 float32 float64 floor fmod full full_like histogram hypot int16 int32 int64 int8 inner isclose isfinite isin
    isinf isnan kron linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or logspace matmul max
    maximum mean median meshgrid min minimum nan_to_num nansum negative nonzero ones ones_like outer pi prod
    quantile real reciprocal remainder reshape roll round rsqrt searchsorted sign sin sinc sinh sort split sqrt square
    squeeze stack std sum take tan tanh tensordot tile topk trace trapezoid tril tril_indices triu trunc uint8 unique
    vander var vdot vstack where zeros zeros_like
    linalg.cholesky linalg.det linalg.eigh linalg.inv linalg.lstsq linalg.norm linalg.pinv linalg.qr linalg.solve
    linalg.svd fft.fft fft.ifft fft.irfft fft.rfft special.erf special.expit special.gammaln special.logit
    nn.binary_cross_entropy nn.binary_cross_entropy_with_logits nn.celu nn.cosine_similarity nn.cross_entropy nn.dropout
    nn.elu nn.gaussian_nll_loss nn.gelu nn.glu nn.huber_loss nn.kl_div nn.l1_loss nn.layer_norm nn.leaky_relu
    nn.log_softmax nn.margin_ranking_loss nn.mish nn.mse_loss nn.nll_loss nn.one_hot nn.poisson_nll_loss nn.relu
    nn.relu6 nn.rms_norm nn.selu nn.sigmoid nn.silu nn.smooth_l1_loss nn.softmax nn.softplus nn.tanh
    nn.triplet_margin_loss
"""

TORCH = {
    "Tensor": "lx.Array",
    "tensor": "lx.asarray([1.0, 2.0])",
    "as_tensor": "lx.asarray(a)",
    "from_numpy": "lx.asarray(a)",
    "addmm": "b + x @ y",
    "baddbmm": "b + x @ y",
    "bmm": "x @ y",
    "mm": "x @ y",
    "mv": "x @ y",
    "cat": "lx.concatenate([x, y], axis=0)",
    "chunk": "lx.array_split(x, n, axis=0)",
    "clamp": "lx.clip(x, min, max)",
    "clone": "x.copy()",
    "cuda": "lx.devices()",
    "dist": "lx.linalg.norm(x - y)",
    "erf": "lx.special.erf(x)",
    "eq": "x == y",
    "gather": "lx.take_along_axis(x, index, axis=dim)",
    "ge": "x >= y",
    "gt": "x > y",
    "histc": "lx.histogram(x, bins)",
    "index_select": "lx.take(x, index, axis=dim)",
    "inference_mode": "Nothing, since only lx.grad and the like differentiate",
    "is_tensor": "isinstance(x, lx.Array)",
    "kthvalue": "lx.sort(x)[k - 1]",
    "le": "x <= y",
    "lgamma": "lx.special.gammaln(x)",
    "long": "lx.int64",
    "lt": "x < y",
    "manual_seed": "lx.random.key(seed)",
    "masked_fill": "lx.where(mask, value, x)",
    "masked_select": "x[mask]",
    "movedim": "lx.moveaxis(x, 0, 1)",
    "mul": "x * y",
    "multinomial": "lx.random.categorical(key, lx.log(chances))",
    "narrow": "x[start : start + length]",
    "ne": "x != y",
    "neg": "-x",
    "no_grad": "Nothing, since only lx.grad and the like differentiate",
    "norm": "lx.linalg.norm(x)",
    "numel": "x.size",
    "permute": "lx.permute_dims(x, (1, 0))",
    "rand": "lx.random.uniform(key, shape)",
    "rand_like": "lx.random.uniform(key, x.shape)",
    "randn": "lx.random.normal(key, shape)",
    "randn_like": "lx.random.normal(key, x.shape)",
    "randint": "lx.random.randint(key, shape, 0, 10)",
    "randperm": "lx.random.permutation(key, n)",
    "relu": "lx.nn.relu(x)",
    "repeat_interleave": "lx.repeat(x, n)",
    "scatter_add": "x.at[index].add(values)",
    "scatter_reduce": "lx.scatter(x, index, values, how='maximum')",
    "sigmoid": "lx.nn.sigmoid(x)",
    "softmax": "lx.nn.softmax(x, axis=-1)",
    "std_mean": "(x.std(ddof=1), x.mean())",
    "sub": "x - y",
    "t": "x.T",
    "unbind": "lx.unstack(x)",
    "unsqueeze": "lx.expand_dims(x, axis=0)",
    "autograd.grad": "lx.grad(f)(x)",
    "func.functional_call": "f(params, x)",
    "func.grad": "lx.grad(f)",
    "func.jacrev": "lx.jacrev(f)",
    "func.jvp": "lx.jvp(f, (x,), (t,))",
    "func.vmap": "lx.vmap(f)",
    "onnx.export": "lx.export_program(f, x, path=path)",
    "utils.checkpoint.checkpoint": "lx.checkpoint(f)(x)",
    "optim.Adam": "lx.optim.adam(0.001)",
    "optim.AdamW": "lx.optim.adamw(0.001)",
    "optim.SGD": "lx.optim.sgd(0.1)",
    "nn.utils.clip_grad_norm_": "lx.optim.clip_by_global_norm(gradients, 1.0)",
    "nn.BatchNorm2d": "lx.nn.batch_norm(x, scale, offset)",
    "nn.Conv2d": "lx.nn.conv(x, kernel)",
    "nn.CrossEntropyLoss": "lx.nn.cross_entropy(logits, labels)",
    "nn.Dropout": "lx.nn.dropout(x, 0.1, key)",
    "nn.Embedding": "table[ids]",
    "nn.LSTM": "lx.scan(cell, carry, xs)",
    "nn.LayerNorm": "lx.nn.layer_norm(x, scale, offset)",
    "nn.Linear": "x @ w + b",
    "nn.MSELoss": "lx.nn.mse_loss(x, y)",
    "nn.Module": "A function of a tree of arrays: def model(params, x)",
    "nn.Parameter": "An array in a tree: params = {'w': lx.zeros(3)}",
    "nn.ReLU": "lx.nn.relu(x)",
    "nn.Sequential": "A function of a tree of arrays: def model(params, x)",
    "nn.avg_pool2d": "lx.nn.avg_pool(x, 2)",
    "nn.conv1d": "lx.nn.conv(x, kernel)",
    "nn.conv2d": "lx.nn.conv(x, kernel)",
    "nn.embedding": "table[ids]",
    "nn.hardtanh": "lx.nn.hard_tanh(x)",
    "nn.linear": "x @ w.T + b",
    "nn.logsigmoid": "lx.nn.log_sigmoid(x)",
    "nn.max_pool2d": "lx.nn.max_pool(x, 2)",
    "nn.normalize": "x / lx.linalg.vector_norm(x, axis=-1, keepdims=True)",
    "nn.pad": "lx.pad(x, ((0, 0), (1, 1)))",
    "nn.scaled_dot_product_attention": "lx.nn.attention(q, k, v)",
    "nn.softsign": "lx.nn.soft_sign(x)",
}

# Methods of arrays in NumPy, JAX and PyTorch that arrays here do not have.
METHODS = {
    "add_": "x += y",
    "backward": "lx.grad(loss)(params)",
    "bmm": "x @ y",
    "bool": "x.astype(bool)",
    "byteswap": "np.asarray(x).byteswap()",
    "clamp": "x.clip(min, max)",
    "clone": "x.copy()",
    "contiguous": "x",
    "cpu": "x.to_device('cpu')",
    "cuda": "x.to_device('xla:0')",
    "detach": "lx.stop_gradient(x)",
    "dim": "x.ndim",
    "double": "x.astype(lx.float64)",
    "dump": "lx.save(path, {'name': x})",
    "eq": "x == y",
    "expand": "lx.broadcast_to(x, shape)",
    "expand_as": "lx.broadcast_to(x, y.shape)",
    "fill_": "x.fill(value)",
    "flat": "x.ravel()",
    "float": "x.astype(lx.float32)",
    "gather": "lx.take_along_axis(x, index, axis)",
    "grad": "lx.grad(loss)(params)",
    "half": "x.astype(lx.float16)",
    "index_add_": "x.at[index].add(values)",
    "int": "x.astype(lx.int32)",
    "is_contiguous": "True",
    "long": "x.astype(lx.int64)",
    "masked_fill": "lx.where(mask, value, x)",
    "mm": "x @ y",
    "mul_": "x *= y",
    "narrow": "x[start : start + length]",
    "norm": "lx.linalg.norm(x)",
    "numel": "x.size",
    "partition": "lx.partition(x, k)",
    "permute": "x.transpose(1, 0)",
    "put": "x[...] = lx.ravel(x).at[places].set(values).reshape(x.shape)",
    "requires_grad": "lx.grad(loss)(x)",
    "requires_grad_": "lx.grad(loss)(x)",
    "resize": "lx.resize(x, shape)",
    "scatter_": "x.at[index].set(values)",
    "scatter_add_": "x.at[index].add(values)",
    "strides": "Nothing, since arrays have no layout in memory",
    "sub_": "x -= y",
    "t": "x.T",
    "to": "x.astype(dtype)",
    "tofile": "np.asarray(x).tofile(path)",
    "type": "x.astype(dtype)",
    "unbind": "lx.unstack(x)",
    "unsqueeze": "lx.expand_dims(x, axis=0)",
    "zero_": "x.fill(0)",
}
# Functions that PyTorch has as methods, too: of one array, and with further arguments.
FUNCTIONS_ONLY = """
    abs acos asin atan ceil cos cosh diag diff exp expm1 flip floor isfinite isinf isnan log log10 log1p log2 logical_not
    median nan_to_num reciprocal rsqrt sign sin sinh sqrt square tan tanh tril triu trunc unique linalg.cholesky
    linalg.det linalg.inv linalg.pinv nn.log_softmax nn.logsumexp nn.relu nn.sigmoid nn.softmax special.erf
    special.erfinv
"""
METHODS |= {
    "cross": "lx.cross(x, y)",
    "equal": "lx.array_equal(x, y)",
    "kron": "lx.kron(x, y)",
    "logaddexp": "lx.logaddexp(x, y)",
    "logical_and": "lx.logical_and(x, y)",
    "logical_or": "lx.logical_or(x, y)",
    "matmul": "x @ y",
    "maximum": "lx.maximum(x, y)",
    "minimum": "lx.minimum(x, y)",
    "outer": "lx.outer(x, y)",
    "quantile": "lx.quantile(x, q)",
    "roll": "lx.roll(x, 1)",
    "split": "lx.split(x, n)",
    "tile": "lx.tile(x, (2, 1))",
    "topk": "lx.topk(x, k)",
}


def said(module: str, name: str) -> str | None:
    """Returns what to write for a name of another library that a module of this package, "" for itself, lacks."""
    prefixes = (f"{module}.", f"{module}.initializers.") if module else ("", "lax.", "optax.")
    paths = [prefix + name for prefix in prefixes]
    return next((table[path] for table in (NUMPY, JAX, TORCH) for path in paths if path in table), None)


def methods() -> dict[str, str]:
    """Returns what to write for each method of other libraries that arrays here lack."""
    functions = {each.rpartition(".")[2]: f"lx.{each}(x)" for each in FUNCTIONS_ONLY.split()}
    return {**functions, **METHODS}
