"""Functions of neural networks with windows and statistics: convolutions, pools, batch normalization, dropout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _constants as c
from . import _core
from ._checks import kind_of
from ._core import Array
from ._dtypes import finfo, iinfo
from ._elementwise import where
from .random import bernoulli
from ._sizes import integers, is_integer, normalized

Sizes = int | Sequence[int]
Padding = str | int | Sequence[Any]


def _each(value: Sizes, count: int, what: str) -> list[int]:
    """Returns a number for each of ``count`` axes: of one number, the same for all."""
    found = integers(value, what)
    if is_integer(value):
        found *= count
    if len(found) != count:
        raise ValueError(f"{what}: {len(found)} ints given for {count} axes")
    return found


def _padding(
    padding: Padding, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Returns the padding before and after each axis. "same" pads as JAX and TensorFlow do."""
    if isinstance(padding, str):
        if padding.lower() == "valid":
            return [0] * len(sizes), [0] * len(sizes)
        if padding.lower() != "same":
            raise ValueError(f"padding is 'valid', 'same', an int, or an int or a pair for each axis, not {padding!r}")
        triples = zip(sizes, windows, strides, strict=True)
        total = [max((-(-size // by) - 1) * by + window - size, 0) for size, window, by in triples]
        return [each // 2 for each in total], [each - each // 2 for each in total]
    if not is_integer(padding) and not hasattr(padding, "__iter__"):
        raise TypeError(
            f"padding is 'valid', 'same', an int, or an int or a pair for each axis, not {kind_of(padding)}"
        )
    each: list[Any] = [padding] * len(sizes) if is_integer(padding) else list(padding)  # type: ignore[arg-type]
    if len(each) != len(sizes):
        raise ValueError(f"padding is an int, or an int or a pair for each of {len(sizes)} axes, not {padding!r}")
    pairs = [integers(one, "paddings") for one in each]
    other = next((pair for pair in pairs if len(pair) not in (1, 2)), None)
    if other is not None:
        raise ValueError(f"padding of an axis is an int or a pair, not {len(other)} numbers")
    return [pair[0] for pair in pairs], [pair[-1] for pair in pairs]


def _at_least_1(values: Sequence[int], what: str) -> list[int]:
    if min(values, default=1) < 1:
        raise ValueError(f"{what} are at least 1, not {min(values)}")
    return list(values)


def _axes_of_layout(layout: str, first: str, of_kernel: str, rank: int, name: str) -> list[int]:
    """Returns the axes of a layout in the order that the library takes: its first two letters, then the spatial axes in
    the order of the kernel's."""
    spatial = [letter for letter in of_kernel if letter not in "OI"]
    if sorted(layout) != sorted([*first, *spatial]) or len({*layout}) != rank:
        raise ValueError(
            f"layout: {name} is {layout!r}; want the letters {first} and {''.join(spatial)}, {rank} in all"
        )
    return [layout.index(letter) for letter in [*first, *spatial]]


def _layout(layout: Any) -> tuple[str, str, str]:
    wanted = "nn.conv(): layout is three texts, of x, kernel and the result"
    if isinstance(layout, str) or not hasattr(layout, "__iter__"):
        raise TypeError(f"{wanted}, not {kind_of(layout)}")
    names = tuple(layout)
    for each in names:
        if not isinstance(each, str):
            raise TypeError(f"{wanted}, not one with {kind_of(each)}")
    if len(names) != 3:
        raise ValueError(f"{wanted}, not {layout!r}")
    return names[0], names[1], names[2]


def conv(
    x: Array,
    kernel: Array,
    /,
    *,
    strides: Sizes = 1,
    padding: Padding = "valid",
    input_dilation: Sizes = 1,
    kernel_dilation: Sizes = 1,
    groups: int = 1,
    layout: Sequence[str] | None = None,
) -> Array:
    """Returns the convolution of x with a kernel, as neural networks have it: a cross-correlation over spatial axes.

    ``layout`` names the axes of x, the kernel and the result, as the ``dimension_numbers`` of
    ``jax.lax.conv_general_dilated``: ``("NCHW", "OIHW", "NCHW")`` for two spatial axes, which is the default, or
    ``("NHWC", "HWIO", "NHWC")``; N is the batch, C and I are input features, O output features. ``padding`` is "valid",
    "same", an int, or an int or a pair for each spatial axis. ``input_dilation`` puts zeros between elements of x
    (transposed convolutions), ``kernel_dilation`` between those of the kernel. x has ``groups`` times the input
    features of the kernel. The result has the dtype to which x and the kernel promote.

    >>> import lazyxla as lx
    >>> x, kernel = lx.reshape(lx.arange(5, dtype=lx.float32), (1, 1, 5)), lx.ones((1, 1, 3))
    >>> lx.nn.conv(x, kernel).tolist()
    [[[3.0, 6.0, 9.0]]]
    >>> lx.nn.conv(x, kernel, strides=2, padding="same").tolist()
    [[[1.0, 6.0, 7.0]]]
    """
    rank = x.ndim
    if rank < 2 or kernel.ndim != rank:
        raise ValueError(f"nn.conv(): x and kernel have one rank of at least 2, not {rank} and {kernel.ndim}")
    count = rank - 2
    spatial = "DHW"[-count:] if 0 < count <= 3 else "".join(map(chr, range(ord("a"), ord("a") + count)))
    names = ("NC" + spatial, "OI" + spatial, "NC" + spatial) if layout is None else _layout(layout)
    of_x, of_kernel, of_result = (
        _axes_of_layout(text, first, names[1], rank, name)
        for text, first, name in zip(names, ("NC", "OI", "NC"), ("that of x", "that of kernel", "that of the result"))
    )
    by, spread, apart = (
        _at_least_1(_each(value, count, f"nn.conv(): {numbers}"), f"nn.conv(): {numbers}")
        for numbers, value in (
            ("strides", strides),
            ("numbers of kernel_dilation", kernel_dilation),
            ("numbers of input_dilation", input_dilation),
        )
    )
    # The library takes 0 for 1.
    if groups < 1:
        raise ValueError(f"nn.conv(): groups is at least 1, not {groups}")
    if isinstance(padding, str) and padding.lower() == "same" and max(apart, default=1) > 1:
        raise ValueError("nn.conv(): padding 'same' has no meaning with input_dilation; give the numbers of zeros")
    sizes = [max((x.shape[axis] - 1) * gap + 1, 0) for axis, gap in zip(of_x[2:], apart, strict=True)]
    windows = [(kernel.shape[axis] - 1) * gap + 1 for axis, gap in zip(of_kernel[2:], spread, strict=True)]
    low, high = _padding(padding, sizes, windows, by)
    return _core.convolution(x, kernel, by, low, high, apart, spread, [of_x, of_kernel, of_result], groups)


def _windows(
    x: Array, window: Sizes, strides: Sizes | None, padding: Padding, axes: Sizes | None
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Returns windows, strides and paddings of all axes of x."""
    if axes is None:
        count = max(x.ndim - 2, 0) if is_integer(window) else len(integers(window, "sizes of windows"))
        if count > x.ndim:
            raise ValueError(f"{count} sizes of windows for an array of rank {x.ndim}")
        over = list(range(x.ndim - count, x.ndim))
    else:
        over = normalized(integers(axes, "axes"), x.ndim)
    if len({*over}) != len(over):
        raise ValueError(f"an axis is given twice: {over}")
    sizes = _each(window, len(over), "sizes of windows")
    if min(sizes, default=1) < 1:
        raise ValueError(f"a window has at least one element on each axis, not {min(sizes)}")
    by = sizes if strides is None else _at_least_1(_each(strides, len(over), "strides"), "strides")
    low, high = _padding(padding, [x.shape[axis] for axis in over], sizes, by)
    whole = [[1] * x.ndim, [1] * x.ndim, [0] * x.ndim, [0] * x.ndim]
    for place, values in zip(whole, (sizes, by, low, high), strict=True):
        for axis, value in zip(over, values, strict=True):
            place[axis] = value
    return whole[0], whole[1], whole[2], whole[3]


def _least(x: Array) -> Any:
    """Returns the value that no element of the dtype of x is below."""
    if x.dtype.kind != "real floating":
        return iinfo(x).min
    # Some 8-bit floats (fn: finite) have no infinity.
    return finfo(x).min if "fn" in x.dtype.name else -math.inf


def _pooled(x: Array, op: int, init: Any, options: tuple[list[int], list[int], list[int], list[int]]) -> Array:
    pair = [_core.placeholder((), x.dtype, x.device) for _ in range(2)]
    body = _core.trace(pair, [_core.binary(op, pair[0], pair[1], False, False)])
    return _core.reduce_window(body, x, _core.full((), init, x.dtype, x.device), *options)


def max_pool(
    x: Array, /, window: Sizes, *, strides: Sizes | None = None, padding: Padding = "valid", axes: Sizes | None = None
) -> Array:
    """Returns the largest element of each window. Padding is never chosen.

    ``window`` is the size of windows along ``axes``: an int, or one for each axis. The axes are the last ones, as many
    as sizes; with an int, all but the first two (batch and features). ``strides`` are the sizes of the window unless
    they are given; ``padding`` is as in ``conv``.

    >>> import lazyxla as lx
    >>> lx.nn.max_pool(lx.asarray([[[1.0, 5.0, 2.0, 3.0]]]), 2).tolist()
    [[[5.0, 3.0]]]
    """
    if x.dtype.kind not in ("real floating", "signed integer", "unsigned integer"):
        raise TypeError(f"max_pool() takes real dtypes, not {x.dtype.name}")
    return _pooled(x, c.BINARY_MAXIMUM, _least(x), _windows(x, window, strides, padding, axes))


def avg_pool(
    x: Array,
    /,
    window: Sizes,
    *,
    strides: Sizes | None = None,
    padding: Padding = "valid",
    axes: Sizes | None = None,
    count_include_pad: bool = True,
) -> Array:
    """Returns the mean of each window of floats, with arguments as ``max_pool``. Padding counts as zeros; without
    ``count_include_pad``, it does not count. Means of floats of 8 and 16 bits are computed in float32.

    >>> import lazyxla as lx
    >>> lx.nn.avg_pool(lx.asarray([[[1.0, 5.0, 2.0, 4.0]]]), 2).tolist()
    [[[3.0, 3.0]]]
    """
    if x.dtype.kind not in ("real floating", "complex floating"):
        raise TypeError(f"avg_pool() takes float and complex dtypes, not {x.dtype.name}")
    options = _windows(x, window, strides, padding, axes)
    wide = x.astype(_core.float32) if x.dtype.itemsize < 4 else x
    total = _pooled(wide, c.BINARY_ADD, 0, options)
    if count_include_pad:
        mean = total / math.prod(options[0])
    else:
        mean = total / _pooled(_core.full(x.shape, 1, wide.dtype, x.device), c.BINARY_ADD, 0, options)
    return mean.astype(x.dtype, copy=False)


class BatchNorm(NamedTuple):
    values: Array
    mean: Array
    variance: Array


def _of_features(value: Array | None, x: Array, axis: int, fill: int, like: Array | None) -> Array:
    if value is not None:
        return value
    half = x.dtype in (_core.float16, _core.bfloat16)
    dtype = like.dtype if like is not None else _core.float32 if half else x.dtype
    return _core.full((x.shape[axis],), fill, dtype, x.device)


def _feature_axis(x: Array, axis: int) -> int:
    if x.dtype.kind != "real floating":
        raise TypeError(f"batch normalization takes float dtypes, not {x.dtype.name}")
    return normalized([axis], x.ndim)[0]


def batch_norm(
    x: Array, /, scale: Array | None = None, offset: Array | None = None, *, axis: int = 1, epsilon: float = 1e-5
) -> BatchNorm:
    """Returns (x - mean) / sqrt(variance + epsilon) * scale + offset, the mean and the variance, a named tuple.

    They are over all axes but ``axis``, that of the features; ``scale``, ``offset`` and both results have its size. The
    variance is divided by the number of elements. scale and offset have x's dtype, or float32 beside 16-bit floats, and
    are 1 and 0 unless they are given. Running statistics are the caller's: return them from a function that is traced.

    >>> import lazyxla as lx
    >>> values, mean, variance = lx.nn.batch_norm(lx.asarray([[1.0], [3.0]]))
    >>> [round(x, 3) for x in lx.reshape(values, -1).tolist()], mean.tolist(), variance.tolist()
    ([-1.0, 1.0], [2.0], [1.0])
    """
    at = _feature_axis(x, axis)
    by, shift = _of_features(scale, x, at, 1, offset), _of_features(offset, x, at, 0, scale)
    return BatchNorm(*_core.batch_norm_training(x, by, shift, epsilon, at))


def batch_norm_inference(
    x: Array,
    /,
    mean: Array,
    variance: Array,
    scale: Array | None = None,
    offset: Array | None = None,
    *,
    axis: int = 1,
    epsilon: float = 1e-5,
) -> Array:
    """Returns (x - mean) / sqrt(variance + epsilon) * scale + offset, with given statistics; see ``batch_norm``.

    >>> import lazyxla as lx
    >>> x = lx.asarray([[1.0], [3.0]])
    >>> lx.nn.batch_norm_inference(x, lx.asarray([1.0]), lx.asarray([4.0]), epsilon=0.0).tolist()
    [[0.0], [1.0]]
    """
    at = _feature_axis(x, axis)
    by, shift = _of_features(scale, x, at, 1, mean), _of_features(offset, x, at, 0, mean)
    return _core.batch_norm_inference(x, by, shift, mean, variance, epsilon, at)


def dropout(x: Array, rate: float, key: Array, /) -> Array:
    """Returns x with elements replaced by 0 with probability ``rate``, and the others divided by 1 - rate.

    >>> import lazyxla as lx
    >>> sorted(set(lx.nn.dropout(lx.ones(100), 0.5, lx.random.key(0)).tolist()))
    [0.0, 2.0]
    """
    if x.dtype.kind not in ("real floating", "complex floating"):
        raise TypeError(f"dropout() takes float and complex dtypes, not {x.dtype.name}")
    if not hasattr(type(rate), "__float__"):
        raise TypeError(f"dropout(): rate is a number, not {kind_of(rate)}")
    rate = float(rate)
    if not 0 <= rate <= 1:
        raise ValueError(f"dropout(): rate is a probability, from 0 to 1, not {rate}")
    if rate in (0, 1):
        return x.copy() if rate == 0 else _core.full(x.shape, 0, x.dtype, x.device)
    return where(bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)
