"""Errors for arguments of a wrong type: they name the argument, its type and the types that are allowed."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from ._core import Array
from ._sizes import is_integer


def kind_of(value: Any) -> str:
    """Returns the type of a value, with an article, for an error message; of an array also dtype and shape."""
    if isinstance(value, Array):
        return f"an array of {value.dtype.name}{list(value.shape)}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' or name == 'ndarray' else 'a'} {name}"


def a_function(value: Any, of: str, name: str) -> None:
    """Raises a TypeError if a value cannot be called; ``of`` and ``name`` are its function and its name there."""
    if not callable(value):
        raise TypeError(f"{of}(): {name} is a function, not {kind_of(value)}")


def _is_array(value: Any) -> bool:
    return isinstance(value, Array)


def _is_number(value: Any) -> bool:
    return hasattr(type(value), "__float__") and not (isinstance(value, Array) and value.shape != ())


def _are_arrays(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and isinstance(value, Iterable) and all(map(_is_array, value))


# For each annotation of a parameter: a test of values, and the words for them.
_WANTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Array": (_is_array, "an array (lx.asarray makes one)"),
    "_core.Array": (_is_array, "an array (lx.asarray makes one)"),
    "Sequence[Array]": (_are_arrays, "a sequence of arrays (lx.asarray makes one)"),
    "int": (is_integer, "an int"),
    "float": (_is_number, "a number"),
    "str": (lambda value: isinstance(value, str), "a text"),
}


# Arguments of PyTorch by the names that they have here.
_PYTORCH = {"dim": "axis", "keepdim": "keepdims", "dims": "axis", "size": "shape"}


def _tests(annotation: Any) -> tuple[list[tuple[Callable[[Any], bool], str]], bool]:
    """Returns the tests and words for the parts of an annotation, and whether None is allowed. An annotation with a
    part that is not in the table has no tests."""
    parts = annotation.split(" | ") if isinstance(annotation, str) else []
    tests = [_WANTED[part] for part in parts if part in _WANTED]
    may_be_none = "None" in parts
    return (tests if len(tests) + may_be_none == len(parts) else []), may_be_none


def _mistake(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Returns a message about the first argument of a wrong type, or None."""
    import inspect  # after a failure only: to import it takes as long as a third of this package

    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        others = [
            name for name in kwargs if _PYTORCH.get(name) in signature.parameters and name not in signature.parameters
        ]
        return f"{function.__name__}(): {others[0]} is {_PYTORCH[others[0]]} here" if others else None
    for name, value in given.items():
        parameter = signature.parameters[name]
        tests, may_be_none = _tests(parameter.annotation)
        if not tests or (value is None and may_be_none):
            continue
        for each in value if parameter.kind is inspect.Parameter.VAR_POSITIONAL else [value]:
            if not any(test(each) for test, _ in tests):
                wanted = " or ".join(text for _, text in tests)
                if isinstance(each, (list, tuple)) and tests[0][0] is _are_arrays:
                    other = next((part for part in each if not _is_array(part)), each)
                    return f"{function.__name__}(): {name} is {wanted}, not one with {kind_of(other)}"
                return f"{function.__name__}(): {name} is {wanted}, not {kind_of(each)}"
    return None


# How the message of a read in a function that is traced begins (src/error.rs), and arguments that make it needless.
_TRACED = "a function that is traced"
_SIZES = ("size", "length", "total_repeat_length")


def _read_while_traced(function: Callable[..., Any], error: RuntimeError) -> str | None:
    """Returns a message that names the function that reads a value, the outermost one that takes no functions."""
    text = str(error)
    at = text.find(_TRACED)
    annotations = function.__annotations__
    if at < 0 or " reads " not in text or any("Callable" in str(each) for each in annotations.values()):
        return None
    size = next((f"; give it {name}=, as in JAX" for name in _SIZES if name in annotations), "")
    return f"{function.__name__}() reads values of its arguments{size}: {text[at:]}"


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that checks the types of its arguments after ``function`` has failed, and then raises a
    TypeError that names the argument. A call that succeeds is not checked."""
    if not any(_tests(annotation)[0] for annotation in function.__annotations__.values()):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RuntimeError as error:
            text = _read_while_traced(function, error)
            if text is None:
                raise
            raise RuntimeError(text) from error
        except (AttributeError, TypeError, IndexError):
            text = _mistake(function, args, kwargs)
            floats = _in_floats(function, args, kwargs) if text is None else None
            if text is None and floats is None:
                raise
        if floats is not None:
            return function(*floats.args, **floats.kwargs)
        again = _with_arrays(function, args, kwargs)
        if again is None or _mistake(function, again.args, again.kwargs) is not None:
            raise TypeError(text)
        try:
            return function(*again.args, **again.kwargs)
        except (TypeError, ValueError, IndexError) as error:
            floats = _in_floats(function, again.args, again.kwargs) if isinstance(error, TypeError) else None
            if floats is not None:
                return function(*floats.args, **floats.kwargs)
            if any(hasattr(value, "__array_interface__") for value in (*args, *kwargs.values())):
                raise
            # A number where an array has to be.
            raise TypeError(text) from error

    return call


# Functions of other modules than this package itself that are of floats, and take integers and bools as such.
_OF_FLOATS = {
    "linalg": "cholesky cond det eigh eigvalsh expm inv lstsq matrix_norm matrix_rank norm pinv qr schur slogdet solve "
    "solve_triangular solve_tridiagonal svd svdvals vector_norm",
    "fft": "fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn",
    "nn": "elu gelu hard_sigmoid hard_swish log_sigmoid mish relu6 selu sigmoid silu softplus",
    "_softmax": "log_softmax logsumexp softmax",
}
_INTEGERS = ("bool", "signed integer", "unsigned integer")


def _in_floats(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns arguments with float32 in place of integers and bools, or with the dtype of the floats beside them; None
    if the function is not one of floats, or has no integers. A call that succeeds is not looked at."""
    if function.__name__ not in _OF_FLOATS.get(function.__module__.rpartition(".")[2], "").split():
        return None
    import inspect

    from . import _core
    from ._operands import common_dtype

    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None
    arrays = {name: x for name, x in bound.arguments.items() if isinstance(x, Array)}
    whole = [name for name, x in arrays.items() if x.dtype.kind in _INTEGERS]
    if not whole:
        return None
    floats = [x.dtype for name, x in arrays.items() if name not in whole]
    for name in whole:
        bound.arguments[name] = arrays[name].astype(common_dtype(floats) if floats else _core.float32)
    return bound


# Functions that need an array of the caller: they change it, or look at what is pending.
_NOT_OF_NUMBERS = frozenset(("fill_diagonal", "on_ready", "put_along_axis", "step", "wait"))


def _with_arrays(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns arguments with arrays in place of numbers and of arrays of NumPy where arrays are wanted, None if the
    function is not one of values."""
    import inspect

    from ._operands import array_like, array_of

    if function.__name__ in _NOT_OF_NUMBERS:
        return None
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    given = [x for value in bound.arguments.values() for x in (value if isinstance(value, (tuple, list)) else [value])]
    like = next((x for x in given if isinstance(x, Array)), None)

    def made(value: Any) -> Any:
        if like is not None and isinstance(value, (bool, int, float, complex)):
            return array_like(value, like)  # in the dtype of the other operand
        found = array_of(value, None if like is None else like.device)
        return value if found is None else found

    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        wanted = [test for test, _ in _tests(parameter.annotation)[0]]
        if _are_arrays in wanted and isinstance(value, (tuple, list)):
            bound.arguments[name] = [made(each) for each in value]
        elif _is_array in wanted and parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            bound.arguments[name] = tuple(map(made, value))
        elif _is_array in wanted and not any(test(value) for test in wanted):
            bound.arguments[name] = made(value)
    return bound


def check_all(names: Iterable[str], module: dict[str, Any]) -> None:
    """Replaces functions by checked ones, in a module and in the modules that define them."""
    for name in names:
        function: Any = module[name]
        if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
            continue
        # Also under another name than its own.
        home, own = vars(sys.modules[function.__module__]), function.__name__
        there: Any = home.get(own)
        if there is function:
            there = home[own] = checked(function)
        if getattr(there, "__wrapped__", None) is function:
            module[name] = there
