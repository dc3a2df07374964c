"""Cases of operations, devices to call them on, and arrays shared by all cases, for ops_test.py. To add an operation:
add an Operation to one of the files that ops_test.py names, and its accuracy to ULPS of ops_test.py, or its name to
EXACT."""

import functools
from ctypes import byref, c_int32, c_int64, c_size_t, sizeof
from dataclasses import dataclass, field
from typing import Callable

import ctypes_test as abi
import numpy as np
import ops_values as values
from ctypes_test import Computation, Scalar, ScalarValue, Tensor
from header import types
from ops_values import DTYPES, NAMES, kind


@dataclass
class Case:
    """A case: operands as NumPy arrays, further arguments of the call, and the dtype of the result."""

    arrays: list
    given: dict = field(default_factory=dict)
    result: str = ""


@dataclass
class Operation:
    """`call(world, *tensors, **given)` gives a tensor; `reference(*arrays, **given)` what it should hold.
    `cases(dtype)` for each dtype of `takes`; all other dtypes must be refused, in the first case's place (unless
    `refuses` is False). `in_order(*arrays, *keys, **given)` is what comes of arrays by the order of others, in which
    denormal numbers are 0, or a list of what may come."""

    name: str
    takes: str
    call: Callable
    reference: Callable
    cases: Callable
    scale: Callable = None
    refuses: bool = True
    in_order: Callable = None
    again: bool = True  # whether all operands may be halved: sorted denormals do not stay sorted


class World:
    """A device to call operations on."""

    def __init__(self, env, device, name):
        self.env, self.device, self.name, self.known, self.computations = env, device, name, {}, {}

    def put(self, array):
        """Returns a tensor of the array; the same one each time."""
        if id(array) not in self.known:
            dense = np.ascontiguousarray(array)
            address = dense.ctypes.data if dense.size else None
            number = DTYPES[NAMES[array.dtype]][0]
            made = self.make(
                "lxla_tensor_from_host", self.env, self.device, number, *abi.dims(*array.shape), address, dense.nbytes
            )
            self.known[id(array)] = made, array
        return self.known[id(array)][0]

    def write(self, changed):
        """Writes other values into the tensors of arrays, given by the arrays' ids; from then on they are of the new
        arrays."""
        for key, array in changed.items():
            tensor, _ = self.known.pop(key)
            dense = np.ascontiguousarray(array)
            abi.ok(abi.lib.lxla_tensor_write(tensor, dense.ctypes.data if dense.size else None, dense.nbytes))
            self.known[id(array)] = tensor, array

    def make(self, function, *inputs):
        return abi.give(getattr(abi.lib, function), Tensor, *inputs)

    def check(self, function, *inputs):
        abi.ok(getattr(abi.lib, function)(*inputs))

    def one_of(self, function, count, result, *inputs):
        """Calls a function that writes `count` tensors to one place each; returns one of them."""
        made = [Tensor() for _ in range(count)]
        self.check(function, *inputs, *map(byref, made))
        return kept(made, result)

    def one_of_list(self, function, count, result, *inputs, counted=False):
        """Calls a function that writes `count` tensors to a list, and may take the length; returns one of them."""
        made = (Tensor * count)()
        self.check(function, *inputs, made, *([count] if counted else []))
        return kept([Tensor(tensor.id) for tensor in made], result)

    def computation(self, name, types, record):
        """Returns a computation of that name, with the results that `record(world, *parameters)` lists; traced once for
        each list of types, given by dtype and shape."""
        key = name, tuple(types)
        if key not in self.computations:
            place = self.env, self.device
            made = [self.make("lxla_tensor_placeholder", *place, DTYPES[d][0], *abi.dims(*shape)) for d, shape in types]
            parameters, results = array_of(made), array_of(record(self, *made))
            traced = [parameters, len(parameters), results, len(results)]
            self.computations[key] = abi.give(abi.lib.lxla_computation_trace, Computation, *traced)
            for handle in {tensor.id for tensor in [*parameters, *results]}:
                release(Tensor(handle))
        return self.computations[key]

    def failure(self, call, *inputs, **given):
        """Returns the status and message with which a call fails; None if it succeeds."""
        try:
            release(call(self, *inputs, **given))
        except AssertionError as failure:
            return str(failure)

    def type(self, tensor):
        """Returns the tensor's NumPy dtype and shape."""
        number = abi.give(abi.lib.lxla_tensor_dtype, c_int32, tensor).value
        rank = abi.give(abi.lib.lxla_tensor_rank, c_size_t, tensor).value
        shape = (c_int64 * max(rank, 1))()
        abi.ok(abi.lib.lxla_tensor_dims(tensor, shape, rank))
        return next(dtype for n, dtype in DTYPES.values() if n == number), tuple(shape)[:rank]

    def read(self, tensor):
        dtype, shape = self.type(tensor)
        out = np.empty(shape, dtype)
        abi.ok(abi.lib.lxla_tensor_read(tensor, out.ctypes.data if out.size else None, out.nbytes))
        return out

    def join(self, tensors):
        """Joins the elements of several tensors of a dtype in one tensor, and releases them; returns a single tensor
        unchanged."""
        if len(tensors) == 1:
            return tensors[0]
        flat = [self.make("lxla_reshape", t, ints([int(np.prod(self.type(t)[1]))]), 1) for t in tensors]
        joined = self.make("lxla_concatenate", (Tensor * len(flat))(*flat), len(flat), 0)
        for tensor in [*tensors, *flat]:
            release(tensor)
        return joined


def release(tensor):
    abi.ok(abi.lib.lxla_tensor_release(tensor))


def kept(tensors, result):
    """Returns one of several tensors; releases the others."""
    for i, tensor in enumerate(tensors):
        if i != result:
            release(tensor)
    return tensors[result]


def array_of(tensors):
    return (Tensor * len(tensors))(*tensors)


def ints(numbers):
    return (c_int64 * len(numbers))(*numbers)


def scalar_of(value):
    """Converts a NumPy scalar to the ABI's scalar."""
    name = NAMES[value.dtype]
    held = ScalarValue()
    if kind(name) == "complex":
        held.c[0], held.c[1] = float(value.real), float(value.imag)
    elif kind(name) == "float":
        held.f = float(value)
    elif kind(name) == "signed":
        held.i = int(value)
    else:
        held.u = int(value)
    return Scalar(dtype=DTYPES[name][0], reserved=0, value=held)


@functools.cache
def edges(name):
    return values.special(name)


@functools.cache
def samples(name):
    """Returns edges and random values, in one row."""
    return np.concatenate([values.special(name), values.spread(name, 1200, 1)])


@functools.cache
def two_samples(name):
    """Returns all pairs of edges, and random values."""
    line = edges(name)
    first, second = np.repeat(line, len(line)), np.tile(line, len(line))
    return np.concatenate([first, values.spread(name, 999, 2)]), np.concatenate([second, values.spread(name, 999, 3)])


@functools.cache
def plain(name, shape, seed):
    return values.plain(name, shape, seed)


@functools.cache
def counted(name, shape):
    return values.counted(name, shape)


def moved(name, moves, call, cases):
    """Makes an operation that moves elements: it is tried in all given shapes on some dtypes, and in the first shape on
    each dtype."""

    def of(dtype):
        return [Case(arrays(dtype), given) for arrays, given in (cases if dtype == "f32" else cases[:1])]

    return Operation(name, "all", call, moves, of, refuses=False)


def one(shape):
    return lambda dtype: [counted(dtype, shape)]


def options_of(name):
    """Returns a function that makes structs of options. A list of which the struct has the length sets that too."""
    struct = getattr(types, name)
    kinds = dict(struct._fields_)

    def made(**given):
        options = struct(struct_size=sizeof(struct))
        abi.ok(getattr(abi.lib, f"{name}_init")(byref(options)))
        for field, value in given.items():
            is_list = isinstance(value, list)
            setattr(options, field, (kinds[field]._type_ * len(value))(*value) if is_list else value)
            if "n_" + field in kinds:
                setattr(options, "n_" + field, len(value))
        return byref(options)

    return made
