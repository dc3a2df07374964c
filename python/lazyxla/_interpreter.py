"""Refuses subinterpreters, before the library is loaded: it would wait for the end of one that no longer runs."""

import ctypes


def is_main() -> bool:
    """Returns whether this is the interpreter with which Python began."""
    state, number = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_GetID
    state.restype, number.restype, number.argtypes = ctypes.c_void_p, ctypes.c_int64, [ctypes.c_void_p]
    found: int = number(state())
    return found == 0


if not is_main():
    raise ImportError(
        "lazyxla cannot be imported in a subinterpreter; import it in the main interpreter, or in a process of its own"
    )
