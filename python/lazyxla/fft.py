"""Fourier transforms: the extension ``fft`` of the array API standard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _constants as c
from . import _core
from ._core import Array
from ._device import on
from ._shapes import moveaxis, roll
from ._sizes import DTypeLike, integers, normalized

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


def _complex(x: Array) -> Array:
    kinds = {"float32": _core.complex64, "float64": _core.complex128}
    if x.dtype.kind == "complex floating":
        return x
    if x.dtype.name not in kinds:
        raise TypeError(f"Fourier transforms take float32, float64 and complex dtypes, not {x.dtype.name}")
    return x.astype(kinds[x.dtype.name])


def _sized(x: Array, size: int | None, axis: int) -> Array:
    """Returns x cut or padded with zeros to a size along its last axis."""
    have = x.shape[axis]
    if size is None or size == have:
        return x
    if size < 1:
        raise ValueError(f"a transform has at least one element, not {size}")
    if size < have:
        return _core.slice_axis(x, axis, 0, size, 1)
    high = [0] * x.ndim
    high[axis] = size - have
    zero: Any = 0j if x.dtype.kind == "complex floating" else 0.0
    return _core.pad(x, zero, [0] * x.ndim, high)


def _scaled(x: Array, count: int, norm: str, inverse: bool) -> Array:
    """Applies a normalization; the library divides inverse transforms by the number of elements."""
    if norm not in ("backward", "ortho", "forward"):
        raise ValueError(f"norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    if norm == "backward":
        return x
    if norm == "ortho":
        return x * math.sqrt(count) if inverse else x / math.sqrt(count)
    return x * float(count) if inverse else x / float(count)


def _along(x: Array, op: int, n: int | None, axis: int, norm: str, inverse: bool) -> Array:
    """One transform along an axis."""
    normalized([axis], x.ndim)
    last = moveaxis(x, axis, -1)
    if op == c.FFT_IRFFT:
        size = 2 * (last.shape[-1] - 1) if n is None else n
        if size < 1:
            raise ValueError(f"a transform has at least one element, not {size}")
        last = _sized(last, size // 2 + 1, last.ndim - 1)
    else:
        last = _sized(last, n, last.ndim - 1)
        size = last.shape[-1]
    out = _scaled(_core.fft(op, last, [size]), size, norm, inverse)
    return moveaxis(out, -1, axis)


def fft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Returns Fourier transforms along an axis, cut or padded to ``n`` elements.

    >>> import lazyxla as lx
    >>> lx.fft.fft(lx.asarray([1.0, 0.0, 0.0, 0.0]).astype(lx.complex64)).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    return _along(_complex(x), c.FFT_FFT, n, axis, norm, False)


def ifft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Returns inverse Fourier transforms along an axis.

    >>> import lazyxla as lx
    >>> lx.fft.ifft(lx.asarray([4 + 0j, 0, 0, 0])).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    return _along(_complex(x), c.FFT_IFFT, n, axis, norm, True)


def rfft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Returns Fourier transforms of real numbers: the first n/2 + 1 elements.

    >>> import lazyxla as lx
    >>> lx.fft.rfft(lx.asarray([1.0, 1.0, 1.0, 1.0])).tolist()
    [(4+0j), 0j, 0j]
    """
    return _along(x, c.FFT_RFFT, n, axis, norm, False)


def irfft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Returns the real numbers of which ``rfft`` is x; ``n`` tells an odd number of them from an even one.

    >>> import lazyxla as lx
    >>> lx.fft.irfft(lx.asarray([4 + 0j, 0, 0])).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _along(_complex(x), c.FFT_IRFFT, n, axis, norm, True)


_OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Returns the real Fourier transform of a signal with Hermitian symmetry, given by its first half.

    >>> import lazyxla as lx
    >>> lx.fft.hfft(lx.asarray([1 + 0j, 0, 0])).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return irfft(_core.unary(c.UNARY_CONJ, _complex(x)), n=n, axis=axis, norm=_OTHER.get(norm, norm))


def ihfft(x: Array, /, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Returns the inverse of ``hfft``: the first half of the Hermitian signal.

    >>> import lazyxla as lx
    >>> lx.fft.ihfft(lx.asarray([1.0, 1.0])).tolist()
    [(1-0j), -0j]
    """
    return _core.unary(c.UNARY_CONJ, rfft(x, n=n, axis=axis, norm=_OTHER.get(norm, norm)))


def _axes(x: Array, s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple[list[int], list[int | None]]:
    over = list(range(x.ndim)) if axes is None else normalized(integers(axes, "axes"), x.ndim)
    s = None if s is None else integers(s, "sizes")
    if s is not None and axes is None and len(s) > x.ndim:
        raise ValueError(f"{len(s)} sizes for an array of rank {x.ndim}")
    if s is not None and axes is None:
        over = over[len(over) - len(s) :]
    sizes: list[int | None] = [None] * len(over) if s is None else [None if n == -1 else n for n in s]
    if len(sizes) != len(over):
        raise ValueError(f"{len(sizes)} sizes for {len(over)} axes")
    return over, sizes


def fftn(x: Array, /, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """Returns Fourier transforms over axes, all of them by default.

    >>> import lazyxla as lx
    >>> lx.fft.fftn(lx.asarray([[1 + 0j, 0], [0, 0]])).tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    for axis, n in zip(*_axes(x, s, axes), strict=True):
        x = fft(x, n=n, axis=axis, norm=norm)
    return _complex(x)


def ifftn(x: Array, /, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """Returns inverse Fourier transforms over axes.

    >>> import lazyxla as lx
    >>> lx.fft.ifftn(lx.asarray([[4 + 0j, 0], [0, 0]])).tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    for axis, n in zip(*_axes(x, s, axes), strict=True):
        x = ifft(x, n=n, axis=axis, norm=norm)
    return _complex(x)


def rfftn(x: Array, /, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """Returns Fourier transforms of real numbers over axes; the last of them has n/2 + 1 elements.

    >>> import lazyxla as lx
    >>> lx.fft.rfftn(lx.asarray([[1.0, 1.0], [1.0, 1.0]])).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
    over, sizes = _axes(x, s, axes)
    if not over:
        raise ValueError("rfftn() takes at least one axis")
    x = rfft(x, n=sizes[-1], axis=over[-1], norm=norm)
    for axis, n in zip(over[:-1], sizes[:-1], strict=True):
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


def irfftn(x: Array, /, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """Returns the real numbers of which ``rfftn`` is x.

    >>> import lazyxla as lx
    >>> lx.fft.irfftn(lx.asarray([[4 + 0j, 0], [0, 0]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    over, sizes = _axes(x, s, axes)
    if not over:
        raise ValueError("irfftn() takes at least one axis")
    for axis, n in zip(over[:-1], sizes[:-1], strict=True):
        x = ifft(x, n=n, axis=axis, norm=norm)
    return irfft(x, n=sizes[-1], axis=over[-1], norm=norm)


def fft2(x: Array, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward") -> Array:
    """Returns Fourier transforms over two axes, the last ones by default, cut or padded to the sizes ``s``.

    >>> import lazyxla as lx
    >>> lx.fft.fft2(lx.asarray([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return fftn(x, s, axes, norm)


def ifft2(x: Array, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward") -> Array:
    """Returns inverse Fourier transforms over two axes, the last ones by default, cut or padded to the sizes ``s``.

    >>> import lazyxla as lx
    >>> lx.fft.ifft2(lx.asarray([[4 + 0j, 0], [0, 0]])).tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return ifftn(x, s, axes, norm)


def rfft2(x: Array, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward") -> Array:
    """Returns Fourier transforms of real numbers over two axes, the last ones by default, cut or padded to the sizes ``s``.

    >>> import lazyxla as lx
    >>> lx.fft.rfft2(lx.ones((2, 2))).tolist()
    [[(4+0j), 0j], [0j, 0j]]
    """
    return rfftn(x, s, axes, norm)


def irfft2(
    x: Array, /, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str = "backward"
) -> Array:
    """Returns the real numbers of which ``rfft2`` is x, over two axes, cut or padded to the sizes ``s``.

    >>> import lazyxla as lx
    >>> lx.fft.irfft2(lx.asarray([[4 + 0j, 0], [0, 0]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return irfftn(x, s, axes, norm)


def fftfreq(n: int, /, d: float = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """Returns the frequencies of ``fft`` of n samples at a distance of ``d``.

    >>> import lazyxla as lx
    >>> lx.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    half = (n - 1) // 2 + 1
    numbers = [*range(half), *range(-(n // 2), 0)]
    return _core.from_nested([i / (n * d) for i in numbers], dtype or _core.float32, on(device))


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """Returns the frequencies of ``rfft`` of n samples at a distance of ``d``.

    >>> import lazyxla as lx
    >>> lx.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return _core.from_nested([i / (n * d) for i in range(n // 2 + 1)], dtype or _core.float32, on(device))


def _shifted(x: Array, axes: Any, sign: int) -> Array:
    over = list(range(x.ndim)) if axes is None else normalized(integers(axes, "axes"), x.ndim)
    shifts = [x.shape[axis] // 2 if sign > 0 else -(x.shape[axis] // 2) for axis in over]
    return roll(x, shifts, axis=over)


def fftshift(x: Array, /, axes: Any = None) -> Array:
    """Returns x with the frequency 0 in the middle of axes.

    >>> import lazyxla as lx
    >>> lx.fft.fftshift(lx.asarray([0, 1, 2, 3])).tolist()
    [2, 3, 0, 1]
    """
    return _shifted(x, axes, 1)


def ifftshift(x: Array, /, axes: Any = None) -> Array:
    """Returns the inverse of ``fftshift``.

    >>> import lazyxla as lx
    >>> lx.fft.ifftshift(lx.asarray([2, 3, 0, 1])).tolist()
    [0, 1, 2, 3]
    """
    return _shifted(x, axes, -1)
