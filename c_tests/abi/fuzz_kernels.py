"""Kernels, host calls, prints, labels and what shows programs, for fuzz_abi.py."""

import ctypes
import json
import math
import re
from ctypes import byref, c_int64, c_size_t, c_uint8, c_void_p

import ctypes_test as abi
from ctypes_test import Tensor
from header import constants, family, types

OK, INVALID_ARGUMENT, NULL_ARGUMENT = constants.OK, constants.INVALID_ARGUMENT, constants.NULL_ARGUMENT
ALREADY_EXISTS, NOT_FOUND = constants.ALREADY_EXISTS, constants.NOT_FOUND
FAILED_PRECONDITION, UNIMPLEMENTED = constants.FAILED_PRECONDITION, constants.UNIMPLEMENTED
BROKEN = (constants.INTERNAL, constants.PANIC)
BITS_OF = {n: int(re.search(r"\d+", name)[0]) if name != "pred" else 8 for name, n in family("DTYPE").items()}
SIZE_OF = {n: max(bits // 8, 1) for n, bits in BITS_OF.items()}
NOT_UTF8 = b"a\xff\xc3("
KEPT_NAME = b"zeros"  # always registered
NAMES = [b"a", b"b c", "ü".encode(), b"n" * 1000, b"host_call"]
MOST_LABELS = 256
# Faults that kernels found in their calls; users that were destroyed.
WRONG, DESTROYED = [], []


def judged(call):
    """Returns what is wrong about a kernel's call."""
    if call.struct_size != ctypes.sizeof(types.lxla_kernel_call):
        return f"struct_size is {call.struct_size}"
    for views, n in ((call.inputs, call.n_inputs), (call.outputs, call.n_outputs)):
        for view in views[:n]:
            dims = view.dims[: view.rank]
            if math.prod(dims) * SIZE_OF[view.dtype] != view.size_bytes:
                return f"{view.size_bytes} bytes of dtype {view.dtype} and dims {dims}"
            if view.size_bytes and not view.data:
                return "elements at NULL"
    return None


@types.lxla_kernel_fn
def zeros(call, _):
    """Reads the inputs, and writes zeros."""
    wrong = judged(call[0])
    if wrong:
        WRONG.append(wrong)
    for view in call[0].inputs[: call[0].n_inputs]:
        ctypes.string_at(view.data, view.size_bytes) if view.size_bytes else b""
    for view in call[0].outputs[: call[0].n_outputs]:
        if view.size_bytes:
            ctypes.memset(view.data, 0, view.size_bytes)
    return OK


@types.lxla_kernel_fn
def failing(call, user):
    """Fails with the status `user`, and a message."""
    words = b"no values: \xff"[: call[0].error_size - 1] + b"\0"
    ctypes.memmove(call[0].error, words, len(words))
    return user or OK


@types.lxla_release_fn
def destroy(user):
    DESTROYED.append(user)


class Kernels:
    """The part of a Fuzzer that makes arguments of kernels, and calls what has no results to compare."""

    def start_kernels(self):
        self.names, self.users, self.depth, self.compiles = set(), 1000, 0, 0
        abi.ok(abi.lib.lxla_kernel_register(self.env, KEPT_NAME, zeros, None, None))

    # --- Arguments ---

    def text(self, name):
        """Returns an argument that is a text, by the name of the parameter."""
        r = self.rng
        if name == "target":
            return r.choice([KEPT_NAME] * 4 + [*NAMES, b"", NOT_UTF8, None])
        if name == "format":
            return r.choice([b"{}", b"{} and {}", b"{}{}{}", b"", b"{", b"}{", b"{0}", NOT_UTF8, None, b"{}" * 1000])
        if name == "attributes_json":
            return r.choice([None, b"", b"{}", b"not JSON", NOT_UTF8, b"a" * 5000])
        return None

    def kernel(self):
        return self.rng.choice([zeros] * 5 + [types.lxla_kernel_fn()])

    # --- Registered kernels ---

    def register(self):
        """Registers a kernel, or removes one."""
        r, lib = self.rng, abi.lib
        name = r.choice([*NAMES, *NAMES, KEPT_NAME, b"", NOT_UTF8, None])
        refusal = {b"": INVALID_ARGUMENT, NOT_UTF8: INVALID_ARGUMENT, None: NULL_ARGUMENT}.get(name)
        if r.random() < 0.5 and name != KEPT_NAME:
            refusal = NOT_FOUND if name == b"" else refusal
            wanted = refusal or (OK if name in self.names else NOT_FOUND)
            found = lib.lxla_kernel_unregister(self.env, name)
            self.names.discard(name)
            return self.expected("lxla_kernel_unregister", found, wanted)
        options = types.lxla_kernel_options(struct_size=ctypes.sizeof(types.lxla_kernel_options))
        options.ordered, options.pure = r.choice([0, 0, 1, 2]), r.choice([0, 0, 1, 2])
        options.destroy = r.choice([destroy, types.lxla_release_fn()])
        function, user = r.choice([zeros] * 4 + [types.lxla_kernel_fn()]), self.users
        wanted = refusal or (ALREADY_EXISTS if name in self.names or name == KEPT_NAME else OK)
        if not function and wanted == OK:
            wanted = NULL_ARGUMENT
        self.users += 1
        given = byref(options) if r.random() < 0.8 else None
        found = lib.lxla_kernel_register(self.env, name, function, user, given)
        if found == OK:
            self.names.add(name)
        return self.expected("lxla_kernel_register", found, wanted) or self.destroyed()

    def destroyed(self):
        """Returns whether a function was given up twice; host calls have the users 0 to 2."""
        users = [user for user in DESTROYED if user and user >= 1000]
        return f"destroy was called twice, of {sorted(users)}" if len(set(users)) < len(users) else None

    def expected(self, name, found, *wanted):
        said = abi.lib.lxla_last_error_message().decode() if found != OK else ""
        if found not in wanted:
            return f"{name}: status {found}, want {wanted}: {said}"
        if found != OK and not said.startswith(name + ": "):
            return f"{name}: the message of {found} is {said!r}"
        if found == OK:
            self.done[name] = self.done.get(name, 0) + 1
        return WRONG[0] if WRONG else None

    def fail(self):
        """Makes host calls that fail when they run: natively at once, lazily in the sync."""
        r, lib = self.rng, abi.lib
        # Host calls take no types of 2 and 4 bits.
        pairs = [pair for (dtype, _), pair in self.pool.items() if BITS_OF[dtype] >= 8]
        pair, code = r.choice(pairs), r.choice([3, 5, 10, 14, 999, 2**31 - 1])
        given = (ctypes.c_int32 * 1)(constants.DTYPE_F32), (c_size_t * 1)(1), (c_int64 * 1)(2), 1
        outs, said = [Tensor(), Tensor()], []
        for x, out in zip(pair, outs):
            status = lib.lxla_host_call(self.env, failing, code, None, byref(x), 1, *given, byref(out))
            if status == OK:
                status = lib.lxla_sync(byref(out), 1)
            said.append((status, lib.lxla_last_error_message().decode()))
            if out.id:
                abi.release(out)
        # Codes that the library does not know are INTERNAL.
        if any(status != (code if code < 100 else BROKEN[0]) or "no values" not in words for status, words in said):
            return f"a failing host call with status {code}: {said}"
        if said[0][0] != said[1][0]:
            return f"a failing host call with status {code}: lazily {said[0]}, natively {said[1]}"
        return None

    # --- Labels, and what shows programs ---

    def label(self):
        """Pushes or pops a name of the thread."""
        r = self.rng
        if r.random() < 0.4:
            wanted = OK if self.depth else FAILED_PRECONDITION
            wrong = self.expected("lxla_label_pop", abi.lib.lxla_label_pop(), wanted)
            self.depth = max(self.depth - 1, 0)
            return wrong
        name = r.choice(
            [b"layer", b"a/b", '"ü\n\\'.encode(), b"%s{}<>|", b"n" * 1024, b"n" * 1025, b"", NOT_UTF8, None]
        )
        right = name is not None and name != NOT_UTF8 and 1 <= len(name) <= 1024
        times = r.choice([1, 1, 1, 1, 300]) if right and len(name) < 10 else 1
        for _ in range(times):
            wanted = NULL_ARGUMENT if name is None else INVALID_ARGUMENT
            if right:
                wanted = OK if self.depth < MOST_LABELS else constants.RESOURCE_EXHAUSTED
            wrong = self.expected("lxla_label_push", abi.lib.lxla_label_push(name), wanted)
            if wrong:
                return wrong
            self.depth += wanted == OK
        while self.depth > 20:  # deep labels make long texts
            abi.ok(abi.lib.lxla_label_pop())
            self.depth -= 1
        return None

    def some_tensors(self):
        """Returns a list of tensors, most of them of one device, and its length."""
        r, n = self.rng, self.rng.choice([0, 1, 1, 1, 2, 3])
        world = int(r.random() < 0.1)
        chosen = [
            r.choice(self.kept)[world] if self.kept and r.random() < 0.8 else self.tensor()[world] for _ in range(n)
        ]
        if r.random() < 0.03:
            return None, n
        return (Tensor * max(n, 1))(*chosen), n

    def show(self):
        """Calls a function that shows programs; checks the form of the text."""
        r, lib = self.rng, abi.lib
        name = r.choice(
            "graph_dot graph_dot find_nonfinite find_nonfinite stablehlo compile_log_json graph_hash".split()
        )
        full, out = "lxla_" + name, c_void_p()
        if name == "compile_log_json":
            status = lib.lxla_compile_log_json(self.env if r.random() < 0.9 else abi.Env(7), byref(out))
        elif name == "graph_hash":
            tensors, n = self.some_tensors()
            device = r.choice([*self.worlds, abi.xla(99), abi.Device(77, 0)])
            status = lib.lxla_graph_hash(self.env, device, tensors, n, (c_uint8 * 32)())
        else:
            tensors, n = self.some_tensors()
            status = getattr(lib, full)(tensors, n, byref(out))
        if status != OK:
            wrong = f"{full} wrote an output and failed" if out.value else None
            return wrong or self.expected(full, status, *(set(range(100)) - {OK, *BROKEN}))
        self.done[full] = self.done.get(full, 0) + 1
        if not out.value:
            return None if name == "graph_hash" else f"{full} wrote nothing"
        text = ctypes.string_at(out).decode()
        lib.lxla_string_free(out)
        return self.wrong_form(name, text)

    def wrong_form(self, name, text):
        if name == "graph_dot":
            rest = re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.S)
            balanced = rest.count("{") == rest.count("}") and rest.count("[") == rest.count("]") and '"' not in rest
            return None if text.startswith("digraph") and balanced else f"lxla_graph_dot: {text}"
        if name == "stablehlo":
            return None if not text or "func.func" in text else f"lxla_stablehlo: {text}"
        try:
            made = json.loads(text, parse_constant=lambda word: 1 / 0)
        except (ValueError, ZeroDivisionError) as failure:
            return f"lxla_{name}: {failure} in {text}"
        if name == "compile_log_json":
            listed, before = made["compiles"], self.compiles
            self.compiles = made["count"]
            numbers = [each["number"] for each in listed]
            right = numbers == list(range(self.compiles - len(numbers) + 1, self.compiles + 1))
            return None if right and before <= self.compiles else f"lxla_compile_log_json: {numbers} of {self.compiles}"
        return None if {"found", "nonfinite_inputs"} <= made.keys() else f"lxla_find_nonfinite: {text}"
