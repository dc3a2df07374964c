"""Random computations and transformations of them, for fuzz_abi.py."""

import ctypes
import math
import re
from ctypes import POINTER, byref, c_int64, c_size_t

import ctypes_test as abi
from ctypes_test import Computation, Tensor
from header import constants, family

TRANSFORMATIONS = ["jvp", "vjp", "value_and_grad", "vmap", "with_vjp", "with_jvp", "with_vmap", "lift", "checkpoint"]
# Dtypes with derivatives: floats of at least 8 bits, and complex numbers.
FLOATS = [number for name, number in family("DTYPE").items() if name[0] in "fbc" and name != "f4e2m1fn"]
OK, RESOURCE_EXHAUSTED, INTERNAL = constants.OK, constants.RESOURCE_EXHAUSTED, constants.INTERNAL
INVALID_HANDLE, PANIC = constants.INVALID_HANDLE, constants.PANIC


class Function:
    """A computation, and the types of its parameters."""

    def __init__(self, handle, parameters):
        self.handle, self.parameters = handle, parameters
        counts = [c_size_t() for _ in range(3)]
        abi.ok(abi.lib.lxla_computation_info(handle, *[byref(count) for count in counts]))
        self.results = counts[1].value


class Transformations:
    """The part of a Fuzzer that traces, transforms and calls computations."""

    def example(self, dtype, shape):
        """Returns the lazy and the native tensor of a type."""
        if (dtype, shape) not in self.examples:
            self.examples[dtype, shape] = self.made(dtype, shape)
        return self.examples[dtype, shape]

    def function_of_call(self):
        """Traces a random call on placeholders, by a scope or not; returns its computation, if the call is right."""
        if self.rng.random() < 0.5:
            return self.function_by(abi.lib.lxla_computation_trace)
        abi.ok(abi.lib.lxla_tracing_begin(self.env, abi.Device(0, 0)))
        made = self.function_by(abi.lib.lxla_tracing_end)
        if made:
            self.done["lxla_tracing_end"] = self.done.get("lxla_tracing_end", 0) + 1
        else:
            abi.ok(abi.lib.lxla_tracing_abandon())
        return made

    def function_by(self, end):
        """Traces a random call on placeholders, which `end` ends."""
        name, parameters = self.rng.choice(self.operations + self.delicate)
        (arguments, _), out = self.arguments(name, parameters)
        if not out or re.search("inplace|assign|full|placeholder", name):
            return None
        holes, types = [], []

        def hole(tensor):
            place = Tensor()
            if abi.lib.lxla_tensor_placeholder_like(tensor, byref(place)) != OK:
                return tensor
            holes.append(place), types.append(self.type_of(place))
            return place

        for i, (kind, _) in enumerate(parameters):
            if kind == "lxla_tensor":
                arguments[i] = hole(arguments[i])
            elif kind == "const lxla_tensor *" and arguments[i]:
                arguments[i] = (Tensor * len(arguments[i]))(*[hole(t) if t.id else t for t in arguments[i]])
        made = None
        small = all(math.prod(dims) < 1000 for _, dims in types)
        if small and holes and getattr(abi.lib, name)(*arguments) == OK:
            results = [t for places in out for t in places[0] if t.id]
            handle = Computation()
            if all(math.prod(self.type_of(t)[1]) < 1000 for t in results):
                status = end(
                    (Tensor * len(holes))(*holes),
                    len(holes),
                    (Tensor * len(results))(*results),
                    len(results),
                    byref(handle),
                )
                made = Function(handle, types) if status == OK else None
                if made:
                    made.name = name
            abi.release(*results)
        abi.release(*holes)
        return made

    def indices(self, n):
        """Returns a list of indices that is often right, and its length."""
        r = self.rng
        if r.random() < 0.4:
            return None, r.choice([0, 0, 0, 0, 0, 1])
        values = (
            r.sample(range(n), r.randint(0, n))
            if r.random() < 0.8
            else [r.choice([0, 1, 2, n, 2**64 - 1]) for _ in range(r.randint(0, 3))]
        )
        return (c_size_t * max(len(values), 1))(*values), len(values)

    def axes(self, ranks):
        r = self.rng
        values = [r.choice([-1, 0, 0, r.randint(0, rank), self.number() if r.random() < 0.1 else 0]) for rank in ranks]
        return (c_int64 * max(len(values), 1))(*values), len(values) if r.random() < 0.97 else r.randint(0, len(values))

    def vjp_options(self, n):
        if self.rng.random() < 0.3:
            return None
        made = abi.VjpOptions()
        made.struct_size = ctypes.sizeof(made)
        abi.ok(abi.lib.lxla_vjp_options_init(byref(made)))
        wrt, made.n_wrt = self.indices(n)
        made.wrt = wrt and ctypes.cast(wrt, POINTER(c_size_t))
        made.captured, made.checkpoint = self.rng.choice([0, 0, 1, 2, 3]), self.rng.choice([0, 1, 2, 2, 3, 3, 4, 5])
        names = (ctypes.c_char_p * 2)(b"a", b"b")
        if made.checkpoint == constants.CHECKPOINT_SAVE_NAMED or self.rng.random() < 0.1:
            made.saved_names, made.n_saved_names = ctypes.cast(names, POINTER(ctypes.c_char_p)), 2
        self.alive += [made, wrt, names]
        return byref(made)

    def captured(self, f):
        """Returns the types of the captured values."""
        count = c_size_t()
        abi.ok(abi.lib.lxla_computation_info(f.handle, byref(c_size_t()), byref(c_size_t()), byref(count)))
        types = []
        for i in range(count.value):
            tensor = Tensor()
            abi.ok(abi.lib.lxla_computation_captured(f.handle, i, byref(tensor)))
            types.append(self.type_of(tensor))
            abi.release(tensor)
        return types

    def transform(self):
        """Transforms a random computation and calls the result; returns the error found, if any."""
        r, lib = self.rng, abi.lib
        f = self.function_of_call() if r.random() < 0.6 else r.choice(self.functions)
        if f is None:
            return None
        self.alive = []
        name = r.choice(TRANSFORMATIONS)
        function = getattr(lib, "lxla_computation_" + name)
        floats = [type for type in f.parameters if type[0] in FLOATS]
        made, back, residuals = Computation(), Computation(), c_size_t()
        parameters = None  # types of the parameters, where they are known
        if name == "jvp":
            wrt, n = self.indices(len(f.parameters))
            status = function(f.handle, wrt, n, byref(made))
            tangents = floats if wrt is None else [f.parameters[i] for i in wrt[:n] if i < len(f.parameters)]
            parameters = f.parameters + tangents
        elif name == "vjp":
            status = function(f.handle, self.vjp_options(len(f.parameters)), byref(made), byref(back), byref(residuals))
            parameters = f.parameters
        elif name == "value_and_grad":
            status = function(f.handle, self.vjp_options(len(f.parameters)), byref(made))
            parameters = f.parameters
        elif name == "vmap":
            size = r.choice([1, 2, 2, 3, 0, -1] if r.random() < 0.1 else [1, 2, 3])
            into, n_in = self.axes([len(dims) for _, dims in f.parameters])
            out, n_out = self.axes([0] * f.results)
            status = function(f.handle, into, n_in, out, n_out, size, byref(made))
            shaped = lambda dims, axis: dims if axis < 0 else (*dims[:axis], size, *dims[axis:])
            parameters = [(dtype, shaped(dims, axis)) for (dtype, dims), axis in zip(f.parameters, into)]
        elif name == "lift":
            status = function(f.handle, byref(made))
            parameters = f.parameters + (self.captured(f) if status == OK else [])
        elif name == "checkpoint":
            policy, names = r.choice([1, 2, 2, 3, 4, 5]), (ctypes.c_char_p * 2)(b"a", b"b")
            status = function(
                f.handle, policy, names, 2 if policy == constants.CHECKPOINT_SAVE_NAMED else 0, byref(made)
            )
            parameters = f.parameters
        elif name == "with_vmap":
            # The batching that the library has itself, or another computation.
            into, out = [(c_int64 * max(n, 1))() for n in (len(f.parameters), f.results)]
            rule = Computation()
            status = lib.lxla_computation_vmap(
                f.handle, into, len(f.parameters), out, f.results, r.choice([1, 2, 3]), byref(rule)
            )
            if status == OK:
                given = r.choice(self.functions).handle if r.random() < 0.1 else rule
                status = function(f.handle, given, byref(made))
                self.drop(rule)
            parameters = f.parameters
        else:
            # The derivative that the library has itself, or another computation.
            status = lib.lxla_computation_vjp(f.handle, None, byref(made), byref(back), byref(residuals))
            if status == OK and name == "with_jvp":
                self.drop(made, back)
                made = Computation()
                status = lib.lxla_computation_jvp(f.handle, None, 0, byref(made))
            if status == OK:
                rules = [made, back] if name == "with_vjp" else [made]
                given = [r.choice(self.functions).handle if r.random() < 0.1 else rule for rule in rules]
                ruled = Computation()
                status = function(f.handle, *given, byref(ruled))
                self.drop(*rules)
                made, back = ruled, Computation()
            parameters = f.parameters
        what = f"lxla_computation_{name} of {getattr(f, 'name', 'a computation')}{f.parameters}"
        if status != OK:
            message = lib.lxla_last_error_message().decode()
            return f"{what}: {message}" if status in (INTERNAL, PANIC) else None
        self.done["lxla_computation_" + name] = self.done.get("lxla_computation_" + name, 0) + 1
        if any(len(dims) > 64 for _, dims in parameters):
            return self.drop(made, *[each for each in [back] if each.id])  # no tensor can be an argument
        g = Function(made, parameters)
        g.name = what
        results, wrong = self.called(g)
        if not wrong and back.id:
            # The backward pass, on the residuals and on ones for cotangents.
            given = results[0][f.results :], results[1][f.results :]
            cotangents = [self.type_of(t) for t in results[0][: f.results]]
            cotangents = [self.example(*type) for type in cotangents if type[0] in FLOATS]
            both = [[*given[world], *[pair[world] for pair in cotangents]] for world in range(2)]
            back_results, wrong = self.applied(back, both, what)
            self.record_results(what, back_results)
        self.record_results(what, results)
        if back.id:
            self.drop(back)
        if len(self.functions) > 60:
            self.functions.pop(r.randrange(30, 60))
        self.functions.append(g)
        return wrong

    def drop(self, *computations):
        for computation in computations:
            abi.ok(abi.lib.lxla_computation_release(computation))

    def called(self, f):
        return self.applied(
            f.handle, [[self.example(*type)[world] for type in f.parameters] for world in range(2)], f.name
        )

    def applied(self, handle, arguments, what):
        """Calls a computation lazily and natively. Returns the results, and the error found."""
        n = Function(handle, []).results
        results, said = [], []
        for given in arguments:
            places = (Tensor * max(n, 1))()
            status = abi.lib.lxla_computation_call(handle, (Tensor * max(len(given), 1))(*given), len(given), places, n)
            said.append((status, abi.lib.lxla_last_error_message().decode() if status else ""))
            results.append([Tensor(t.id) for t in places if t.id])
        if RESOURCE_EXHAUSTED in (said[0][0], said[1][0]) or re.search("custom_call", what):
            return results, None
        if said[0][0] != OK or said[1][0] != OK:
            return results, f"{what}: its call lazily {said[0]}, natively {said[1]}"
        types = [[self.type_of(t) for t in each] for each in results]
        return results, None if types[0] == types[1] else f"{what}: lazily {types[0]}, natively {types[1]}"

    def record_results(self, what, results):
        self.recorded.append((what, [self.type_of(t) for t in results[0]], results[0]))
        pairs = list(zip(*results))
        self.kept += [[*pair] for pair in pairs[:4]]
        for pair in pairs[4:]:
            abi.release(*pair)
