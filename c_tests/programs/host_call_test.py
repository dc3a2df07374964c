"""Kernels that are functions of Python, called with the interpreter's lock: python host_call_test.py
/path/to/liblazyxla.so

ctypes releases the lock during a call of the library and takes it for a call of the function. A test that does not end
in a minute is a deadlock: it prints the stacks of all threads and fails."""

import ctypes
import faulthandler
import sys
import threading
from ctypes import byref, c_int32, c_int64, c_size_t
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent / "../abi"))
import ctypes_test as lxla
import numpy as np
from ctypes_test import FAILED_PRECONDITION, Tensor, give, ok
from header import types
from programs import DTYPE, NUMBERS, tensor

LIMIT_S = 60
KernelFunction = ctypes.CFUNCTYPE(c_int32, ctypes.POINTER(types.lxla_kernel_call), ctypes.c_void_p)
NAMES = {number: name for name, number in DTYPE.items()}
NUMPY = {short: long for long, short in NUMBERS.items()}


def view(buffer):
    """The memory of a buffer as an array of NumPy, not copied."""
    dtype = np.dtype(NUMPY[NAMES[buffer.dtype]])
    if buffer.size_bytes == 0:
        return np.empty([buffer.dims[i] for i in range(buffer.rank)], dtype)
    memory = (ctypes.c_char * buffer.size_bytes).from_address(buffer.data)
    return np.frombuffer(memory, dtype).reshape([buffer.dims[i] for i in range(buffer.rank)])


def kernel(function):
    """A kernel of a function that maps arrays to arrays. An exception is the kernel's error."""

    def call(described, user):
        call = described.contents
        try:
            results = function(*[view(call.inputs[i]) for i in range(call.n_inputs)])
            for i, result in enumerate(results):
                view(call.outputs[i])[...] = result
            return 0
        except Exception as e:
            message = str(e).encode()[: call.error_size - 1] + b"\0"
            ctypes.memmove(call.error, message, len(message))
            return lxla.constants.INTERNAL

    return KernelFunction(call)


def host_call(lib, env, function, inputs, shape):
    """Records a call with one result, f32 of this shape."""
    out = Tensor()
    dtypes, ranks = (c_int32 * 1)(lxla.F32), (c_size_t * 1)(len(shape))
    given = (Tensor * len(inputs))(*inputs)
    sizes = (c_int64 * max(len(shape), 1))(*shape)
    made = lib.lxla_host_call(env, function, None, None, given, len(inputs), dtypes, ranks, sizes, 1, byref(out))
    ok(made)
    return out


def read(x, shape):
    data = np.empty(shape, np.float32)
    ok(lxla.lib.lxla_tensor_read(x, data.ctypes.data, data.nbytes))
    return data


def test_a_function_of_python_computes_and_its_exception_fails_the_step(env, device):
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    function = kernel(lambda x: [np.linalg.norm(x, axis=1)])
    x = tensor(env, device, values)
    y = host_call(lxla.lib, env, function, [x], (3,))
    np.testing.assert_array_equal(read(y, 3), np.linalg.norm(values, axis=1))

    def fail(x):
        raise ValueError(f"a matrix of {x.shape} has no result")

    failing, message = kernel(fail), "a matrix of (3, 4) has no result"
    if device.kind == lxla.CPU:
        try:
            host_call(lxla.lib, env, failing, [x], (3,))
            raise SystemExit("the call did not fail")
        except AssertionError as e:
            assert message in str(e), e
    else:
        z = host_call(lxla.lib, env, failing, [x], (3,))
        lxla.refused(lxla.lib.lxla_mark_step(env, device, 1), lxla.constants.INTERNAL, message)
        lxla.release(z)
    lxla.release(x, y)


def test_a_kernel_waits_for_threads_that_record_read_and_step_another_device(env, device):
    """The library holds none of the locks that these need. Calls on the kernel's own thread are refused, except those
    of messages."""
    lib, seen = lxla.lib, []
    x, ready = tensor(env, device, np.float32([1, 2, 4])), tensor(env, device, np.float32([8]))
    ok(lib.lxla_mark_step(env, device, 1))
    other = lxla.cpu() if device.kind == lxla.XLA else lxla.xla()

    def elsewhere():
        total = give(lib.lxla_binary, Tensor, lxla.ADD, x, x)
        kind = c_int32()
        ok(lib.lxla_tensor_dtype(total, byref(kind)))
        seen.append(kind.value == lxla.F32)
        seen.append(read(ready, 1)[0] == 8)
        y = tensor(env, other, np.float32([3]))
        z = give(lib.lxla_binary, Tensor, lxla.ADD, y, y)
        ok(lib.lxla_mark_step(env, other, 1))
        seen.append(read(z, 1)[0] == 6)
        lxla.release(total, y, z)

    def function(x):
        # The kernel's own thread.
        status = lib.lxla_mark_step(env, device, 1)
        seen.append(status == FAILED_PRECONDITION and b"must not call the library" in lib.lxla_last_error_message())
        seen.append(lib.lxla_status_name(status) == b"FAILED_PRECONDITION")
        # join releases the lock of the interpreter.
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return [x + 1]

    made = kernel(function)
    y = host_call(lib, env, made, [x], (3,))
    ok(lib.lxla_mark_step(env, device, 1))
    np.testing.assert_array_equal(read(y, 3), [2, 3, 5])
    assert seen == [True] * 5, seen
    lxla.release(x, y, ready)


def test_threads_of_python_call_kernels_at_the_same_time(env, device):
    count, each = 4, 25
    failures = []

    def work(number):
        try:
            function = kernel(lambda x: [x * number])
            for turn in range(each):
                values = np.float32([turn, turn + 1])
                x = tensor(env, device, values)
                y = host_call(lxla.lib, env, function, [x], (2,))
                np.testing.assert_array_equal(read(y, 2), values * number)
                lxla.release(x, y)
            ok(lxla.lib.lxla_mark_step(env, device, 1))
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_with_the_lock_held_a_call_on_cpu_runs_on_the_calling_thread(env, device):
    """ctypes.PyDLL keeps the lock. On XLA devices another thread may call the kernel, which then waits for the lock
    that the caller of the step holds; on cpu, the calling thread does."""
    if device.kind == lxla.XLA:
        return
    holding = ctypes.PyDLL(sys.argv[1])
    for name in ("lxla_host_call", "lxla_mark_step"):
        getattr(holding, name).argtypes = getattr(lxla.lib, name).argtypes
    caller = threading.get_ident()
    where = []

    def function(x):
        where.append(threading.get_ident() == caller)
        return [x - 1]

    made = kernel(function)
    x = tensor(env, device, np.float32([5]))
    y = host_call(holding, env, made, [x], (1,))
    ok(holding.lxla_mark_step(env, device, 1))
    assert read(y, 1)[0] == 4 and where == [True]
    lxla.release(x, y)


def main():
    lxla.load(sys.argv[1])
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    for name in sys.argv[2:] or tests:
        for device in (lxla.xla(), lxla.cpu()):
            env = lxla.new_env()
            faulthandler.dump_traceback_later(LIMIT_S, exit=True)
            tests[name](env, device)
            faulthandler.cancel_dump_traceback_later()
            assert lxla.counter(env, "LiveBytes") == 0
            lxla.release(env)
        print(f"{name}: passed")


if __name__ == "__main__":
    main()
