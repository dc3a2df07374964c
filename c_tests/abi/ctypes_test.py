"""The ABI from Python with nothing but ctypes: python ctypes_test.py /path/to/liblazyxla.so"""

import array
import ctypes
import json
import struct
import sys
import threading
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import header
from header import constants, types

OK, INVALID_ARGUMENT, NOT_FOUND = constants.OK, constants.INVALID_ARGUMENT, constants.NOT_FOUND
FAILED_PRECONDITION, UNIMPLEMENTED = constants.FAILED_PRECONDITION, constants.UNIMPLEMENTED
INVALID_HANDLE, NULL_ARGUMENT = constants.INVALID_HANDLE, constants.NULL_ARGUMENT
CPU, XLA = constants.DEVICE_CPU, constants.DEVICE_XLA
S32, S64, F32, F64 = constants.DTYPE_S32, constants.DTYPE_S64, constants.DTYPE_F32, constants.DTYPE_F64
ADD, SUBTRACT, MULTIPLY = constants.BINARY_ADD, constants.BINARY_SUBTRACT, constants.BINARY_MULTIPLY
DIVIDE, MAXIMUM, SUM = constants.BINARY_DIVIDE, constants.BINARY_MAXIMUM, constants.REDUCE_SUM

Tensor, Env, Device, Computation, Mesh = (
    types.lxla_tensor,
    types.lxla_env,
    types.lxla_device,
    types.lxla_computation,
    types.lxla_mesh,
)
Scalar, ScalarValue = types.lxla_scalar, types.lxla_scalar_value
EnvOptions, VjpOptions, KeyValueStore = types.lxla_env_options, types.lxla_vjp_options, types.lxla_key_value_store

lib = None


def load(path):
    """Loads the library."""
    global lib
    lib = header.load(path)


def ok(status):
    assert status == OK, f"{lib.lxla_status_name(status).decode()}: {lib.lxla_last_error_message().decode()}"


def refused(status, wanted, words):
    """Checks that the call failed with this status, and that its message contains these words."""
    message = lib.lxla_last_error_message().decode()
    assert status == wanted, f"{lib.lxla_status_name(status).decode()} instead of {wanted}: {message}"
    assert words in message, message


def give(function, kind, *inputs):
    """Returns the value that a function writes through its last argument."""
    out = kind()
    ok(function(*inputs, byref(out)))
    return out


def text(function, *inputs):
    """Returns a string that a function writes through its last argument; frees the library's copy."""
    out = give(function, c_void_p, *inputs)
    try:
        return ctypes.string_at(out).decode()
    finally:
        lib.lxla_string_free(out)


def new_env(**given):
    options = EnvOptions(struct_size=ctypes.sizeof(EnvOptions))
    ok(lib.lxla_env_options_init(byref(options)))
    for name, value in given.items():
        setattr(options, name, value)
    return give(lib.lxla_env_create, Env, byref(options))


def xla(ordinal=0):
    return Device(XLA, ordinal)


def cpu():
    return Device(CPU, 0)


def dims(*sizes):
    return (c_int64 * len(sizes))(*sizes), len(sizes)


def floats(env, *values):
    data = array.array("f", values)
    address, count = data.buffer_info()
    return give(lib.lxla_tensor_from_host, Tensor, env, xla(), F32, *dims(count), address, 4 * count)


def read(tensor, code="f", count=1):
    """Returns the elements of a tensor, by a format letter of the struct module."""
    data = ctypes.create_string_buffer(struct.calcsize(f"<{count}{code}"))
    ok(lib.lxla_tensor_read(tensor, data, len(data)))
    return list(struct.unpack(f"<{count}{code}", data.raw))


def counter(env, name):
    return give(lib.lxla_env_counter, c_uint64, env, name.encode()).value


def texts(*values):
    return (c_char_p * len(values))(*values)


def mesh(env, **axes):
    """Returns a mesh with these axes on the first devices."""
    sizes, rank = dims(*axes.values())
    return give(lib.lxla_mesh_create, Mesh, env, texts(*[name.encode() for name in axes]), sizes, rank, None)


def release(*handles):
    for handle in handles:
        ok(lib.lxla_env_release(handle) if isinstance(handle, Env) else lib.lxla_tensor_release(handle))


def test_versions():
    assert lib.lxla_abi_version() == constants.ABI_VERSION
    major, minor, patch = lib.lxla_version().decode().split(".")
    assert major.isdigit() and minor.isdigit() and patch.isdigit()
    assert lib.lxla_status_name(INVALID_HANDLE) == b"INVALID_HANDLE"
    assert lib.lxla_status_name(-1) == b"UNKNOWN_STATUS"


def test_devices():
    device = give(lib.lxla_device_parse, Device, b"xla:3")
    assert (device.kind, device.ordinal) == (XLA, 3)
    env = new_env(device_count=2)
    assert give(lib.lxla_env_device_count, c_int32, env).value == 2
    release(env)


def test_plugins_are_listed_and_take_options():
    plugins = json.loads(text(lib.lxla_plugin_list))
    keys = {"path", "found", "folder", "name", "package", "default", "api_version", "platform", "error"}
    assert all(set(plugin) == keys for plugin in plugins)
    (used,) = [plugin for plugin in plugins if plugin["default"]]
    assert used["error"] is None and used["api_version"].startswith("0."), used
    env = new_env(plugin_path=used["path"].encode(), plugin_options=b'{"cpu_device_count": 2}')
    assert give(lib.lxla_env_device_count, c_int32, env).value == 2
    # CPU plugins have no statistics.
    refused(lib.lxla_device_memory_stats(env, xla(), byref(c_void_p())), UNIMPLEMENTED, "memory statistics of xla:0")
    release(env)
    options = EnvOptions(struct_size=ctypes.sizeof(EnvOptions), plugin_options=b'{"a": 1, "b": {}}')
    refused(lib.lxla_env_create(byref(options), byref(Env())), INVALID_ARGUMENT, 'byte 14: "b" is an object')


def test_several_processes_share_a_store():
    values = {}

    def get(user, key, key_size, timeout_ms, reply, to):
        return try_get(user, key, key_size, reply, to)

    def put(user, key, key_size, value, value_size, reply, to):
        values[ctypes.string_at(key, key_size)] = ctypes.string_at(value, value_size)
        return OK

    def try_get(user, key, key_size, reply, to):
        value = values.get(ctypes.string_at(key, key_size))
        if value is None:
            return NOT_FOUND
        reply(to, value, len(value))
        return OK

    store = KeyValueStore(
        struct_size=ctypes.sizeof(KeyValueStore),
        get=types.lxla_key_value_get_fn(get),
        put=types.lxla_key_value_put_fn(put),
        try_get=types.lxla_key_value_try_get_fn(try_get),
    )
    # CPU plugins do not run in several processes: they get a client of this process alone.
    env = new_env(process_id=1, process_count=2, key_value_store=ctypes.pointer(store))
    x = floats(env, 1, 2)
    assert read(x, "f", 2) == [1, 2]
    metrics = json.loads(text(lib.lxla_env_metrics_json, env))
    assert (metrics["process_id"], metrics["process_count"]) == (1, 2)
    release(x, env)
    options = EnvOptions(struct_size=ctypes.sizeof(EnvOptions), process_count=2)
    refused(lib.lxla_env_create(byref(options), byref(Env())), INVALID_ARGUMENT, "options.key_value_store: it is NULL")


def test_new_tensors():
    env = new_env()
    x = floats(env, 1.5, -2, 3)
    assert read(x, "f", 3) == [1.5, -2, 3]
    assert give(lib.lxla_tensor_dtype, c_int32, x).value == F32
    full = give(lib.lxla_tensor_full, Tensor, env, xla(), F64, *dims(2), 0.1)
    assert read(full, "d", 2) == [0.1, 0.1]
    counting = give(lib.lxla_iota, Tensor, env, xla(), S32, *dims(2, 3), -1)
    assert read(counting, "i", 6) == [0, 1, 2, 0, 1, 2]
    assert give(lib.lxla_tensor_rank, c_size_t, counting).value == 2
    sizes = (c_int64 * 2)()
    ok(lib.lxla_tensor_dims(counting, sizes, 2))
    assert list(sizes) == [2, 3]
    release(x, full, counting, env)


def test_binary_operations():
    env = new_env()
    a, b = floats(env, 1, 8), floats(env, 4, 2)
    wanted = {ADD: [5, 10], SUBTRACT: [-3, 6], MULTIPLY: [4, 16], DIVIDE: [0.25, 4], MAXIMUM: [4, 8]}
    for op, values in wanted.items():
        result = give(lib.lxla_binary, Tensor, op, a, b)
        assert read(result, "f", 2) == values, op
        release(result)
    halves = give(lib.lxla_binary_scalar, Tensor, MULTIPLY, a, 0.5)
    assert read(halves, "f", 2) == [0.5, 4]
    one = Scalar(dtype=F64, value=ScalarValue(f=1))
    left = give(lib.lxla_binary_with_scalar, Tensor, SUBTRACT, a, byref(one), 1)
    assert read(left, "f", 2) == [0, -7]
    release(a, b, halves, left, env)


def test_integers_that_no_double_holds():
    env = new_env()
    big = Scalar(dtype=S64, value=ScalarValue(i=2**53 + 1))
    zero = give(lib.lxla_tensor_full, Tensor, env, xla(), S64, None, 0, 0.0)
    result = give(lib.lxla_binary_with_scalar, Tensor, ADD, zero, byref(big), 0)
    assert read(result, "q") == [2**53 + 1]
    release(zero, result, env)


def test_a_chain_in_place_is_donated():
    env = new_env()
    x, y = floats(env, 1, 2), floats(env, 10, 20)
    ok(lib.lxla_binary_inplace(ADD, x, y))
    old = give(lib.lxla_tensor_snapshot, Tensor, x)
    ok(lib.lxla_binary_scalar_inplace(MULTIPLY, x, 2))
    ok(lib.lxla_binary_scalar_inplace(SUBTRACT, x, 1))
    ok(lib.lxla_mark_step(env, xla(), 1))
    assert counter(env, "DonatedBuffers") == 1
    assert read(x, "f", 2) == [21, 43]
    assert read(old, "f", 2) == [11, 22]
    assert read(y, "f", 2) == [10, 20]
    for _ in range(10):
        ok(lib.lxla_binary_scalar_inplace(ADD, x, 1))
        ok(lib.lxla_mark_step(env, xla(), 1))
    assert read(x, "f", 2) == [31, 53]
    assert counter(env, "DonatedBuffers") == 11
    assert counter(env, "MarkStep") == 11
    assert counter(env, "UncachedCompile") == 2
    release(x, y, old, env)


def test_errors_have_words():
    env = new_env()
    a, b = floats(env, 1, 2), floats(env, 1, 2, 3)
    out = Tensor(id=77)
    refused(lib.lxla_binary(ADD, a, b, byref(out)), INVALID_ARGUMENT, "lxla_binary: ")
    assert out.id == 77, "outputs are written only on success"
    refused(lib.lxla_binary(99, a, a, byref(out)), INVALID_ARGUMENT, "99")
    refused(lib.lxla_tensor_read(a, ctypes.create_string_buffer(4), 4), INVALID_ARGUMENT, "lxla_tensor_read: ")
    refused(lib.lxla_env_counter(env, b"Sparrows", byref(c_uint64())), NOT_FOUND, "Sparrows")
    refused(lib.lxla_env_exit(env), FAILED_PRECONDITION, "lxla_env_exit: ")
    release(a, b)
    refused(lib.lxla_tensor_read(a, ctypes.create_string_buffer(8), 8), INVALID_HANDLE, "lxla_tensor_read: ")
    release(env)
    refused(lib.lxla_env_release(env), INVALID_HANDLE, "lxla_env_release: ")


def test_strings_are_the_callers():
    env = new_env()
    ok(lib.lxla_env_set_option(env, b"max_program_ops", b"500"))
    assert text(lib.lxla_env_get_option, env, b"max_program_ops") == "500"
    assert text(lib.lxla_step_stablehlo, env, xla()) == ""
    x = floats(env, 1)
    y = give(lib.lxla_binary_scalar, Tensor, ADD, x, 1)
    assert "stablehlo.add" in text(lib.lxla_step_stablehlo, env, xla())
    assert "func.func" in text(lib.lxla_stablehlo, byref(y), 1)
    assert json.loads(text(lib.lxla_env_metrics_json, env))["counters"]["UncachedCompile"] == 0
    lib.lxla_string_free(None)
    release(x, y, env)


def test_derivatives_and_batches():
    env = new_env()
    w, x = floats(env, 3, 5), floats(env, 1, 2)
    # Of pending tensors: sum(w x x).
    square = give(lib.lxla_binary, Tensor, MULTIPLY, x, x)
    product = give(lib.lxla_binary, Tensor, MULTIPLY, w, square)
    loss = give(lib.lxla_reduce, Tensor, SUM, product, None, 0, 0)
    gradients = (Tensor * 2)()
    ok(lib.lxla_gradients(byref(loss), 1, None, (Tensor * 2)(x, w), 2, gradients))
    assert [read(g, "f", 2) for g in gradients] == [[6, 20], [1, 4]]
    # Of a computation of the same, which captures w: by x and w, and over a batch.
    p = give(lib.lxla_tensor_placeholder, Tensor, env, xla(), F32, *dims(2))
    traced = [give(lib.lxla_checkpoint_name, Tensor, give(lib.lxla_binary, Tensor, MULTIPLY, p, p), b"square")]
    traced.append(give(lib.lxla_binary, Tensor, MULTIPLY, w, traced[0]))
    traced.append(give(lib.lxla_reduce, Tensor, SUM, traced[1], None, 0, 0))
    f = Computation()
    ok(lib.lxla_computation_trace(byref(p), 1, byref(traced[2]), 1, byref(f)))
    options = VjpOptions(struct_size=ctypes.sizeof(VjpOptions))
    ok(lib.lxla_vjp_options_init(byref(options)))
    options.captured, options.checkpoint = 1, constants.CHECKPOINT_SAVE_NAMED
    options.saved_names, options.n_saved_names = (c_char_p * 1)(b"square"), 1
    with_gradients = give(lib.lxla_computation_value_and_grad, Computation, f, byref(options))
    results = (Tensor * 3)()
    ok(lib.lxla_computation_call(with_gradients, byref(x), 1, results, 3))
    assert [read(results[0]), read(results[1], "f", 2), read(results[2], "f", 2)] == [[23], [6, 20], [1, 4]]
    batched = give(lib.lxla_computation_vmap, Computation, f, *dims(1), *dims(0), 3)
    rows = give(lib.lxla_iota, Tensor, env, xla(), F32, *dims(2, 3), 1)
    losses = Tensor()
    ok(lib.lxla_computation_call(batched, byref(rows), 1, byref(losses), 1))
    assert read(losses, "f", 3) == [0, 8, 32]
    none = Computation(77)
    refused(lib.lxla_computation_jvp(f, (c_size_t * 1)(1), 1, byref(none)), INVALID_ARGUMENT, "wrt[0] is 1")
    assert none.id == 77
    release(w, x, square, product, loss, p, rows, losses, *gradients, *traced, *results)
    for computation in (f, with_gradients, batched):
        ok(lib.lxla_computation_release(computation))
    release(env)


def test_meshes():
    env = new_env(device_count=4)
    square = mesh(env, data=2, model=2)
    place = give(lib.lxla_mesh_device, Device, square)
    assert (place.kind, place.ordinal) == (constants.DEVICE_MESH, 0)
    assert json.loads(text(lib.lxla_mesh_info, square)) == {
        "axes": [{"name": "data", "size": 2}, {"name": "model", "size": 2}],
        "devices": 4,
        "ordinals": [0, 1, 2, 3],
    }
    data = array.array("f", range(8))
    address, count = data.buffer_info()
    x = give(lib.lxla_tensor_from_host_sharded, Tensor, square, F32, *dims(4, 2), address, 4 * count, b"data,model")
    assert text(lib.lxla_tensor_sharding, x) == "data,model"
    assert all(digit in text(lib.lxla_tensor_sharding_picture, x) for digit in "0123")
    # The last device has the last two rows of the last column.
    piece, offsets, sizes = ctypes.create_string_buffer(8), (c_int64 * 2)(), (c_int64 * 2)()
    ok(lib.lxla_tensor_shard_read(x, 3, piece, 8, offsets, sizes, 2))
    assert (struct.unpack("<2f", piece.raw), list(offsets), list(sizes)) == ((5, 7), [2, 1], [2, 1])
    y = give(lib.lxla_sharding_constraint, Tensor, x, b"model,-")
    ok(lib.lxla_mark_step(env, place, 1))
    assert read(y, "f", 8) == list(range(8)) and text(lib.lxla_tensor_sharding, y) == "model,-"
    # Each device adds what the devices along data have.
    p = give(lib.lxla_tensor_placeholder, Tensor, env, place, F32, *dims(2, 1))
    total = give(lib.lxla_all_reduce, Tensor, SUM, p, b"data")
    body = Computation()
    ok(lib.lxla_computation_trace(byref(p), 1, byref(total), 1, byref(body)))
    result = Tensor()
    ok(lib.lxla_shard_map(body, square, texts(b"data,model"), byref(x), 1, texts(b"-,model"), byref(result), 1))
    assert read(result, "f", 4) == [4, 6, 8, 10]
    out = Tensor(77)
    refused(lib.lxla_tensor_shard(x, square, b"data,rows", byref(out)), INVALID_ARGUMENT, "rows")
    refused(lib.lxla_tensor_read(total, ctypes.create_string_buffer(8), 8), FAILED_PRECONDITION, "placeholder f32[2,1]")
    assert out.id == 77
    release(x, y, p, total, result)
    ok(lib.lxla_computation_release(body))
    ok(lib.lxla_mesh_release(square))
    release(env)


def test_two_threads():
    env = new_env()
    shared = floats(env, 0)
    failures = []

    def work(seed):
        try:
            # An error message belongs to the thread whose call failed.
            assert lib.lxla_last_error_message() == b""
            ok(lib.lxla_env_enter(env))
            x = floats(Env(), seed)
            for i in range(50):
                ok(lib.lxla_binary_scalar_inplace(ADD, x, 1))
                ok(lib.lxla_binary_scalar_inplace(ADD, shared, 1))
                if i % 10 == seed:
                    ok(lib.lxla_mark_step(Env(), xla(), 0))
            assert read(x) == [seed + 50]
            refused(lib.lxla_tensor_read(x, None, 4), NULL_ARGUMENT, "lxla_tensor_read: ")
            release(x)
            ok(lib.lxla_env_exit(env))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert read(shared) == [100]
    release(shared, env)


def main():
    load(sys.argv[1])
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        print(name, flush=True)
        test()
    print(f"{len(tests)} tests passed")


if __name__ == "__main__":
    main()
