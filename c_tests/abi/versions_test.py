"""Programs of other versions have structs that are shorter (an old program with a new library) or longer (a new program
with an old library) than the library's: python versions_test.py /path/to/liblazyxla.so"""

import ctypes
import sys
from ctypes import byref

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import ctypes_test as abi
from header import DESCRIPTION, constants, types

HEAD, FURTHER, PATTERN = ctypes.sizeof(ctypes.c_size_t), 64, 0xEE


class Raw:
    """Memory of a struct with a size that the program states, followed by memory that nobody may write."""

    def __init__(self, kind, size, contents=b""):
        self.memory = (ctypes.c_uint8 * (max(size, HEAD) + FURTHER))(*[PATTERN] * (max(size, HEAD) + FURTHER))
        ctypes.memmove(self.memory, contents, min(len(contents), size))
        ctypes.c_size_t.from_buffer(self.memory).value = size
        self.size, self.pointer = size, ctypes.cast(self.memory, ctypes.POINTER(kind))

    def bytes(self):
        return bytes(self.memory)

    def is_untouched_behind(self, at):
        return self.bytes()[at:] == bytes([PATTERN]) * (len(self.memory) - at)


def sizes(kind):
    """Sizes of older and newer structs: the end of each field, and more."""
    ends = [getattr(kind, name).offset + getattr(kind, name).size for name, _ in kind._fields_]
    return sorted({*ends, ctypes.sizeof(kind), ctypes.sizeof(kind) + 8, ctypes.sizeof(kind) + 56})


def versioned():
    structs = [each for each in DESCRIPTION["types"] if each["kind"] == "struct"]
    return [each["name"] for each in structs if each["fields"][0]["name"] == "struct_size"]


def test_init_writes_what_the_program_has_and_the_library_knows():
    names = [name for name in versioned() if name.endswith("_options")]
    assert len(names) >= 9, names
    for name in names:
        kind, init = getattr(types, name), getattr(abi.lib, name + "_init")
        for size in sizes(kind):
            raw, known = Raw(kind, size), min(size, ctypes.sizeof(kind))
            abi.ok(init(raw.pointer))
            assert raw.bytes()[HEAD:known] == bytes(known - HEAD), (name, size)
            assert raw.is_untouched_behind(known), (name, size)
        refused(init(Raw(kind, HEAD - 1).pointer), f"sizeof({name})")


def test_outputs_write_what_the_program_has_and_the_library_knows():
    kind = types.lxla_dtype_limits
    whole = Raw(kind, ctypes.sizeof(kind))
    abi.ok(abi.lib.lxla_dtype_info(constants.DTYPE_F32, whole.pointer))
    for size in sizes(kind):
        raw, known = Raw(kind, size), min(size, ctypes.sizeof(kind))
        abi.ok(abi.lib.lxla_dtype_info(constants.DTYPE_F32, raw.pointer))
        assert raw.bytes()[HEAD:known] == whole.bytes()[HEAD:known], size
        assert raw.is_untouched_behind(known), size
    refused(abi.lib.lxla_dtype_info(constants.DTYPE_F32, Raw(kind, 0).pointer), "sizeof(lxla_dtype_limits)")


def test_options_of_other_sizes_mean_the_same():
    """The fields that an old program lacks have their defaults; those that the library does not know are ignored."""
    env = abi.new_env()
    dims, lists = (ctypes.c_int64 * 4)(1, 1, 4, 4), (ctypes.c_int64 * 2)(2, 2)
    image = abi.give(abi.lib.lxla_tensor_full, abi.Tensor, env, abi.cpu(), constants.DTYPE_F32, dims, 4, 1.0)
    kind = types.lxla_convolution_options
    options = kind(struct_size=ctypes.sizeof(kind), spatial_rank=2)
    options.window_strides, options.padding_low = (ctypes.cast(lists, ctypes.POINTER(ctypes.c_int64)),) * 2

    def shape(pointer):
        out, got = abi.Tensor(), (ctypes.c_int64 * 4)()
        abi.ok(abi.lib.lxla_convolution(image, image, pointer, byref(out)))
        abi.ok(abi.lib.lxla_tensor_dims(out, got, 4))
        abi.release(out)
        return list(got)

    wanted = {HEAD: [1, 1, 1, 1], kind.window_strides.offset + 8: [1, 1, 1, 1]}
    with_padding = shape(byref(options))
    assert with_padding == [1, 1, 2, 2], with_padding
    for size in sizes(kind):
        if size == kind.spatial_rank.offset + 8:
            continue  # a rank without lists, which is ignored
        assert shape(Raw(kind, size, bytes(options)).pointer) == wanted.get(size, with_padding), size
    abi.release(image)
    abi.ok(abi.lib.lxla_env_release(env))


def test_an_environment_takes_options_of_other_sizes():
    kind, env = types.lxla_env_options, types.lxla_env()
    options = kind(struct_size=ctypes.sizeof(kind), max_program_ops=7)
    for size in sizes(kind):
        abi.ok(abi.lib.lxla_env_create(Raw(kind, size, bytes(options)).pointer, byref(env)))
        text = ctypes.c_void_p()
        abi.ok(abi.lib.lxla_env_get_option(env, b"max_program_ops", byref(text)))
        wanted = b"7" if size > kind.max_program_ops.offset else b"16384"
        assert ctypes.string_at(text) == wanted, (size, ctypes.string_at(text))
        abi.lib.lxla_string_free(text)
        abi.ok(abi.lib.lxla_env_release(env))


def refused(status, words):
    assert status == constants.INVALID_ARGUMENT, status
    assert words in abi.lib.lxla_last_error_message().decode(), abi.lib.lxla_last_error_message()


def main():
    abi.load(sys.argv[1])
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        print(name, flush=True)
        test()
    print(f"{len(tests)} tests passed")


if __name__ == "__main__":
    main()
