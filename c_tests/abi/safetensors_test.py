"""S6 of docs/behaviours.md: files go between the library and Python's safetensors package, byte for byte:
python safetensors_test.py /path/to/liblazyxla.so"""

import ctypes
import json
import os
import sys
import tempfile
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p

import ml_dtypes  # noqa: F401, makes numpy know bfloat16
import numpy as np
import safetensors
import safetensors.numpy

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import ctypes_test as abi
from ctypes_test import Tensor, dims, give, new_env, ok, refused, release, text, xla
from header import constants, family, types

INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED = abi.INVALID_ARGUMENT, abi.NOT_FOUND, abi.UNIMPLEMENTED
DATA_LOSS = constants.DATA_LOSS

# Names of each dtype in the format and in NumPy, and in lazyxla.
DTYPES = [
    ("BOOL", "bool", "pred"),
    ("I8", "int8", "s8"),
    ("I16", "int16", "s16"),
    ("I32", "int32", "s32"),
    ("I64", "int64", "s64"),
    ("U8", "uint8", "u8"),
    ("U16", "uint16", "u16"),
    ("U32", "uint32", "u32"),
    ("U64", "uint64", "u64"),
    ("F16", "float16", "f16"),
    ("F32", "float32", "f32"),
    ("F64", "float64", "f64"),
    ("BF16", "bfloat16", "bf16"),
    ("C64", "complex64", "c64"),
]
SHAPES = [(), (1,), (0,), (3, 0, 2), (7,), (2, 3), (5, 1, 4), (300, 70)]
# Bits of quiet and signalling NaNs with payloads, -0.0, both infinities, the least and largest denormals.
SPECIAL = {
    "float16": [0x7E12, 0xFE01, 0x7C01, 0xFDFF, 0x8000, 0x7C00, 0xFC00, 0x0001, 0x83FF],
    "bfloat16": [0x7FC1, 0xFFC2, 0x7F81, 0xFFBF, 0x8000, 0x7F80, 0xFF80, 0x0001, 0x807F],
    "float32": [0x7FC12345, 0xFFC54321, 0x7F800001, 0xFFBFFFFF, 0x80000000, 0x7F800000, 0xFF800000, 1, 0x807FFFFF],
    "float64": [
        0x7FF8123456789ABC,
        0xFFF8CBA987654321,
        0x7FF0000000000001,
        0xFFF7FFFFFFFFFFFF,
        1 << 63,
        0x7FF << 52,
        0xFFF << 52,
        1,
        (1 << 63) + (1 << 52) - 1,
    ],
}
SPECIAL["complex64"] = SPECIAL["float32"] + [0x7FC00001]


def word(name):
    """Returns the unsigned integer dtype that holds an element's bits; for complex numbers, the bits of one part."""
    return np.dtype(f"u{4 if name == 'complex64' else np.dtype(name).itemsize}")


def samples():
    """Returns arrays by name: random bits in every dtype and shape, and the special values."""
    random = np.random.default_rng(6)
    found = {}
    for _, name, _ in DTYPES:
        for shape in SHAPES:
            count = int(np.prod(shape)) * np.dtype(name).itemsize
            bits = np.frombuffer(random.bytes(count), word(name))
            found[f"{name}{list(shape)}"] = (bits & 1 if name == "bool" else bits).view(name).reshape(shape)
    for name, bits in SPECIAL.items():
        found[f"{name} special"] = np.array(bits, word(name)).view(name)
        found[f"{name} special scalar"] = found[f"{name} special"][:1].reshape(())
    return found


def number(array):
    return next(family("DTYPE")[our_name] for _, name, our_name in DTYPES if np.dtype(name) == array.dtype)


def to_device(env, array):
    address = array.ctypes.data if array.size else None
    return give(
        abi.lib.lxla_tensor_from_host, Tensor, env, xla(), number(array), *dims(*array.shape), address, array.nbytes
    )


def check_tensor(tensor, array, name):
    """Checks that the tensor has the array's dtype, shape and bytes."""
    assert give(abi.lib.lxla_tensor_dtype, c_int32, tensor).value == number(array), name
    assert give(abi.lib.lxla_tensor_rank, c_size_t, tensor).value == array.ndim, name
    shape = (c_int64 * max(array.ndim, 1))()
    ok(abi.lib.lxla_tensor_dims(tensor, shape, array.ndim))
    assert tuple(shape)[: array.ndim] == array.shape, name
    data = ctypes.create_string_buffer(max(array.nbytes, 1))
    ok(abi.lib.lxla_tensor_read(tensor, data, array.nbytes))
    assert data.raw[: array.nbytes] == array.tobytes(), name


def save(path, tensors):
    names = (c_char_p * len(tensors))(*(name.encode() for name in tensors))
    return abi.lib.lxla_save(path.encode(), names, (Tensor * len(tensors))(*tensors.values()), len(tensors))


def save_with(path, tensors, metadata=(), keep=0):
    """Saves with options; `metadata` is a list of keys and values."""
    options = types.lxla_save_options(struct_size=ctypes.sizeof(types.lxla_save_options))
    ok(abi.lib.lxla_save_options_init(byref(options)))
    lists = [(c_char_p * len(metadata))(*each) for each in zip(*metadata)] or [None, None]
    options.metadata_keys, options.metadata_values = (ctypes.cast(each, ctypes.POINTER(c_char_p)) for each in lists)
    options.n_metadata, options.keep_metadata = len(metadata), keep
    names = (c_char_p * len(tensors))(*(name.encode() for name in tensors))
    return abi.lib.lxla_save_with_options(
        path.encode(), names, (Tensor * len(tensors))(*tensors.values()), len(tensors), byref(options)
    )


def metadata_of(path):
    return json.loads(text(abi.lib.lxla_file_metadata, path.encode()))


def load(env, path, name):
    return give(abi.lib.lxla_load, Tensor, env, xla(), path.encode(), name.encode())


def deserialized(path):
    with open(path, "rb") as file:
        return dict(safetensors.deserialize(file.read()))


def check_file(path, arrays):
    """Checks that Python's package reads the arrays from the file, both as bytes and as arrays."""
    raw = deserialized(path)
    assert raw.keys() == arrays.keys()
    format_names = {np.dtype(name): format_name for format_name, name, _ in DTYPES}
    for name, array in arrays.items():
        assert raw[name]["dtype"] == format_names[array.dtype], name
        assert tuple(raw[name]["shape"]) == array.shape, name
        assert bytes(raw[name]["data"]) == array.tobytes(), name
    with safetensors.safe_open(path, "np") as file:
        assert set(file.keys()) == arrays.keys()
        for name, array in arrays.items():
            got = file.get_tensor(name)
            assert (got.dtype, got.shape, got.tobytes()) == (array.dtype, array.shape, array.tobytes()), name


def test_what_the_library_saves_python_loads(folder):
    env, arrays, path = new_env(), samples(), os.path.join(folder, "ours")
    tensors = {name: to_device(env, array) for name, array in arrays.items()}
    ok(save(path, tensors))
    check_file(path, arrays)
    with safetensors.safe_open(path, "np") as file:
        assert file.metadata() == {"lazyxla_version": abi.lib.lxla_version().decode()}
    for name, array in arrays.items():
        loaded = load(env, path, name)
        check_tensor(loaded, array, name)
        release(loaded)
    release(*tensors.values(), env)


def test_what_python_saves_the_library_loads(folder):
    env, arrays, path = new_env(), samples(), os.path.join(folder, "theirs")
    for metadata in (None, {}, {"format": "np", "note": 'é " \\ \n'}):
        safetensors.numpy.save_file(arrays, path, metadata)
        for name, array in arrays.items():
            loaded = load(env, path, name)
            check_tensor(loaded, array, name)
            release(loaded)
    told = json.loads(text(abi.lib.lxla_file_names, path.encode()))
    ours = {np.dtype(name): our_name for _, name, our_name in DTYPES}
    assert told == {name: {"dtype": ours[array.dtype], "dims": list(array.shape)} for name, array in arrays.items()}
    release(env)


def test_there_and_back(folder):
    """Loads a file of Python's package and saves it again: it must be the same except for metadata and order."""
    env, arrays = new_env(), samples()
    theirs, ours = os.path.join(folder, "theirs"), os.path.join(folder, "ours")
    safetensors.numpy.save_file(arrays, theirs)
    tensors = {name: load(env, theirs, name) for name in arrays}
    ok(save(ours, tensors))
    assert {name: bytes(view["data"]) for name, view in deserialized(theirs).items()} == {
        name: bytes(view["data"]) for name, view in deserialized(ours).items()
    }
    check_file(ours, arrays)
    release(*tensors.values(), env)


def test_computed_and_transposed_tensors_are_row_major(folder):
    env, path = new_env(), os.path.join(folder, "computed")
    array = np.arange(2 * 300 * 70, dtype=np.float32).reshape(2, 300, 70)
    x = to_device(env, array)
    pending = give(abi.lib.lxla_transpose, Tensor, x, *dims(2, 0, 1))
    ready = give(abi.lib.lxla_transpose, Tensor, x, *dims(0, 2, 1))
    ok(abi.lib.lxla_mark_step(env, xla(), 1))
    doubled = give(abi.lib.lxla_binary_scalar, Tensor, abi.MULTIPLY, pending, 2)
    ok(save(path, {"x": x, "twice": doubled, "ready": ready, "pending": pending}))
    wanted = {"x": array, "ready": array.transpose(0, 2, 1), "pending": array.transpose(2, 0, 1)}
    wanted["twice"] = wanted["pending"] * 2
    check_file(path, {name: np.ascontiguousarray(view) for name, view in wanted.items()})
    release(x, pending, ready, doubled, env)


def test_names(folder):
    env, path = new_env(), os.path.join(folder, "names")
    arrays = {
        name: np.array([i], np.int32)
        for i, name in enumerate(["", "a.b", "a b", 'q"\\\n\t', "é😀", "dtype", "x" * 5000])
    }
    tensors = {name: to_device(env, array) for name, array in arrays.items()}
    ok(save(path, tensors))
    check_file(path, arrays)
    for name, array in arrays.items():
        loaded = load(env, path, name)
        check_tensor(loaded, array, name)
        release(loaded)
    ok(save(path, {}))
    assert deserialized(path) == {}
    release(*tensors.values(), env)


def test_dtypes_that_only_the_format_has(folder):
    env, path = new_env(), os.path.join(folder, "others")
    header = b'{"sixths":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]},"known":{"dtype":"F32","shape":[2],"data_offsets":[3,11]}}'
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + b"\0\0\0" + np.ones(2, np.float32).tobytes())
    out = Tensor(id=77)
    refused(abi.lib.lxla_load(env, xla(), path.encode(), b"sixths", byref(out)), UNIMPLEMENTED, "sixths")
    assert out.id == 77
    assert json.loads(text(abi.lib.lxla_file_names, path.encode()))["sixths"]["dims"] == [4]
    known = load(env, path, "known")
    assert abi.read(known, "f", 2) == [1, 1]
    release(known, env)


def test_damage_is_told(folder):
    env, path = new_env(), os.path.join(folder, "damaged")
    safetensors.numpy.save_file({"a": np.arange(10, dtype=np.float32), "b": np.array([True, False])}, path)
    with open(path, "rb") as file:
        good = file.read()
    header = 8 + int.from_bytes(good[:8], "little")
    with_a_2 = bytearray(good)
    with_a_2[header + 41] = 2  # a bool element that is neither 0 nor 1
    cases = {"b": bytes(with_a_2), "a": good[:-1], "": good[:4]}
    for name, bytes_of_it in cases.items():
        with open(path, "wb") as file:
            file.write(bytes_of_it)
        refused(abi.lib.lxla_load(env, xla(), path.encode(), name.encode(), byref(Tensor())), DATA_LOSS, path)
    with open(path, "wb") as file:
        file.write(good)
    refused(abi.lib.lxla_load(env, xla(), path.encode(), b"c", byref(Tensor())), NOT_FOUND, '"c"')
    release(env)


def test_headers_that_contradict_themselves(folder):
    env, path = new_env(), os.path.join(folder, "contradictory")

    def tensor(begin, end, shape=None, dtype="U8"):
        return (
            f'{{"dtype":"{dtype}","shape":{[end - begin] if shape is None else shape},"data_offsets":[{begin},{end}]}}'
        )

    largest = 2**64 - 1
    cases = [
        (f'{{"a":{tensor(0, 3)},"b":{tensor(2, 5)}}}', 5),  # overlap
        (f'{{"a":{tensor(0, 3)},"b":{tensor(0, 3)}}}', 3),
        (f'{{"a":{tensor(0, 3)},"b":{tensor(4, 5)}}}', 5),  # gap between them
        (f'{{"a":{tensor(0, 4)},"a":{tensor(0, 4, [1], "F32")}}}', 4),  # duplicate name
        (f'{{"a":{tensor(0, 0)},"a":{tensor(0, 0, [0, 7])},"b":{tensor(0, 3)}}}', 3),
        (f'{{"a":{tensor(0, 3)},"__metadata__":{{}},"__metadata__":{{}}}}', 3),
        (f'{{"a":{tensor(0, 3)}}}', 4),  # trailing bytes
        (f'{{"a":{tensor(0, 4)}}}', 3),
        (f'{{"a":{tensor(3, 0, [3])}}}', 3),
        (f'{{"a":{tensor(0, 3, [4])}}}', 3),
        (f'{{"a":{tensor(0, 4, [2**62, 4], "F32")}}}', 4),  # the size overflows
        (f'{{"a":{tensor(0, largest, [largest])}}}', 3),
        (f'{{"a":{tensor(0, largest, [largest])},"b":{tensor(largest, largest + 4)}}}', 3),
        (f'{{"a":{tensor(0, 3, [-3])}}}', 3),
        (f'{{"a":{tensor(0, 3, [3.5])}}}', 3),
        (f'{{"a":{tensor(0, 3)}}}}}', 3),
        (f"[{tensor(0, 3)}]", 3),
        ('{"a":' * 5000, 3),
        ("", 0),
    ]
    for header, content in cases:
        with open(path, "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header.encode() + bytes(content))
        refused(abi.lib.lxla_load(env, xla(), path.encode(), b"a", byref(Tensor())), DATA_LOSS, path)
        refused(abi.lib.lxla_file_names(path.encode(), byref(c_void_p())), DATA_LOSS, path)
    release(env)


def test_the_name_that_the_format_keeps_for_itself(folder):
    env, path = new_env(), os.path.join(folder, "metadata")
    array = np.array([3], np.int32)
    tensor = to_device(env, array)
    ok(save(path, {"a": tensor}))
    refused(save(path, {"__metadata__": tensor}), INVALID_ARGUMENT, "__metadata__")
    check_file(path, {"a": array})
    release(tensor, env)


METADATA = {
    "": "",
    "format": "np",
    "note": 'é😀 " \\ \n \t \x01',
    "a.b": "{}",
    "long": "x" * 200000,
    "__metadata__": "1",
}


def test_metadata_goes_both_ways(folder):
    env, path = new_env(), os.path.join(folder, "metadata")
    array = np.arange(3, dtype=np.float32)
    tensor = to_device(env, array)
    version = {"lazyxla_version": abi.lib.lxla_version().decode()}
    for metadata in ({}, METADATA):
        ok(save_with(path, {"a": tensor}, [(key.encode(), value.encode()) for key, value in metadata.items()]))
        check_file(path, {"a": array})
        with safetensors.safe_open(path, "np") as file:
            assert file.metadata() == metadata | version
        assert metadata_of(path) == metadata | version
    with open(path, "rb") as file:
        first = file.read()
    ok(save_with(path, {"a": tensor}, [(key.encode(), value.encode()) for key, value in reversed(METADATA.items())]))
    with open(path, "rb") as file:
        assert file.read() == first, "equal metadata makes equal files"
    for metadata, wanted in ((None, {}), ({}, {}), (METADATA, METADATA)):
        safetensors.numpy.save_file({"a": array}, path, metadata)
        assert metadata_of(path) == wanted
    release(tensor, env)


def test_metadata_of_a_replaced_file_is_kept(folder):
    env, path = new_env(), os.path.join(folder, "kept")
    array = np.arange(3, dtype=np.float32)
    tensor = to_device(env, array)
    version = {"lazyxla_version": abi.lib.lxla_version().decode()}
    safetensors.numpy.save_file({"b": array, "c": array}, path, METADATA | {"lazyxla_version": "0.0.1"})
    for saved in (
        lambda: save(path, {"a": tensor}),
        lambda: save_with(path, {"a": tensor}),
        lambda: save_with(path, {"a": tensor}, keep=1),
    ):
        ok(saved())
        check_file(path, {"a": array})
        assert metadata_of(path) == METADATA | version
    # Metadata that is given replaces all of it; a given version stays.
    ok(save_with(path, {"a": tensor}, [(b"x", b"y"), (b"lazyxla_version", b"z")]))
    assert metadata_of(path) == {"x": "y", "lazyxla_version": "z"}
    ok(save_with(path, {"a": tensor}, keep=2))
    assert metadata_of(path) == version
    # Files of another kind have none, nor have damaged ones.
    header = b'{"__metadata__":{"a":"b"},"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    for foreign in (b"", b"text", bytes(8), b"\xff" * 100, len(header).to_bytes(8, "little") + header):
        with open(path, "wb") as file:
            file.write(foreign)
        refused(abi.lib.lxla_file_metadata(path.encode(), byref(c_void_p())), DATA_LOSS, path)
        ok(save(path, {"a": tensor}))
        assert metadata_of(path) == version
    os.unlink(path)
    refused(abi.lib.lxla_file_metadata(path.encode(), byref(c_void_p())), NOT_FOUND, path)
    release(tensor, env)


def test_wrong_metadata_is_refused(folder):
    env, path = new_env(), os.path.join(folder, "refused")
    tensor = to_device(env, np.array([3], np.int32))
    ok(save_with(path, {"a": tensor}, [(b"x", b"y")]))
    for metadata, given, code, words in [
        ([(b"k", b"1"), (b"l", b"2"), (b"k", b"1")], {}, INVALID_ARGUMENT, 'options.metadata_keys: "k" is given twice'),
        ([(b"k", b"1"), (None, b"2")], {}, constants.NULL_ARGUMENT, "options.metadata_keys[1]: it is NULL"),
        ([(b"k", None)], {}, constants.NULL_ARGUMENT, "options.metadata_values[0]: it is NULL"),
        ([(b"\xff", b"")], {}, INVALID_ARGUMENT, "options.metadata_keys[0]: it is not UTF-8"),
        ([(b"k", b"\xff")], {}, INVALID_ARGUMENT, "options.metadata_values[0]: it is not UTF-8"),
        ([], {"keep": 3}, INVALID_ARGUMENT, "options.keep_metadata: 3 given; want LXLA_ON (1), LXLA_OFF (2), or 0"),
        (
            [(b"k", b"x" * 100000001)],
            {},
            INVALID_ARGUMENT,
            "options.metadata_values: keys and values have 100000002 bytes",
        ),
        ([(b"k", b"x" * 99999950)], {}, INVALID_ARGUMENT, "of them metadata; the safetensors format allows 100000000"),
    ]:
        refused(save_with(path, {"a": tensor}, metadata, **given), code, words)
    assert metadata_of(path)["x"] == "y"
    release(tensor, env)


def main():
    abi.load(sys.argv[1])
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
            left = [name for name in os.listdir(folder) if name.startswith(".")]
            assert not left, left
    print(f"{len(tests)} tests passed")


if __name__ == "__main__":
    main()
