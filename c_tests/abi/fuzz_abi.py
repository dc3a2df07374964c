"""Every operation of the ABI with random arguments, most of which are wrong: python fuzz_abi.py /path/to/liblazyxla.so
[calls] [seed]

Native and lazy tensors have to be refused by the same words, or to give results of one type; what is recorded has to
compile and run; nothing may panic. Computations of the same calls are transformed (derivatives, batches), and called.
They are exported, too, and give the same values when they are imported again (fuzz_programs.py, which also imports
damaged programs). fuzz_kernels.py has kernels, labels and what shows programs, fuzz_waits.py waits of limited time. The
functions and their parameters are those of lazyxla.json (header.py). Values of operations are compared by other
tests."""

import ctypes
import random
import re
import sys
from ctypes import POINTER, byref, c_double, c_int32, c_int64, c_size_t

sys.dont_write_bytecode = True  # leaves no caches beside the sources
import ctypes_test as abi
from ctypes_test import Computation, Mesh, Scalar, Tensor
from fuzz_computations import (
    INTERNAL,
    INVALID_HANDLE,
    OK,
    PANIC,
    RESOURCE_EXHAUSTED,
    TRANSFORMATIONS,
    Function,
    Transformations,
)
from fuzz_kernels import KEPT_NAME, Kernels, destroy
from fuzz_programs import Programs
from fuzz_waits import Waits
from header import constants, family, functions, types


# Functions that are not operations on tensors, or whose arguments the plugin judges; for those of meshes see
# fuzz_meshes.py. OTHERS are called by methods of their own.
LEFT_OUT = re.compile(
    "lxla_(env_|dtype_|enqueued|scalar_cast|save|load|file_names|file_metadata|computation_|module_|tensor_(?!full|placeholder_like|snapshot|assign)|set_log|device_|plugin_|mark_step|wait|sync"
    "|mesh_|shard|all_reduce|all_gather|all_to_all|reduce_scatter|collective_permute|axis_index"
    "|label_|trace_|live_|report|compile_log|graph_dot|find_nonfinite|stablehlo|step_|graph_hash|compiled_memory|custom_call"
    "|thread_limit|tracing_|executable_|kernel_(?!apply)|set_last_error|.*_options_init)"
)
OTHERS = """computation_import computation_import_file module_describe module_describe_file computation_describe
computation_export computation_compare executable_compile executable_run executable_load kernel_register kernel_unregister label_push label_pop compile_log_json graph_dot find_nonfinite
thread_limit stablehlo graph_hash enqueued wait_for tensor_wait_for tracing_end""".split()
DTYPE = family("DTYPE")
DTYPES = [
    DTYPE[name]
    for name in "pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 bf16 c64 c128 f8e5m2 f8e4m3fn f8e3m4 s4 u2 f4e2m1fn".split()
]
SHAPES = [
    (),
    (1,),
    (2,),
    (3,),
    (2, 3),
    (3, 2),
    (3, 3),
    (1, 3),
    (0, 2),
    (2, 0),
    (2, 3, 3),
    (1, 2, 4, 4),
    (0, 2**40),
    (1,) * 63,
    (1,) * 64,
]
MOST_RESULTS = 12
LONGEST = 4  # of a list whose length is changed
LISTS = {"const int64_t *": c_int64, "const int32_t *": c_int32, "const size_t *": c_size_t}
SCALARS = [DTYPE[name] for name in "s32 s64 u64 f32 f64 c128".split()]
PRED, S32, S64, U32, U64, F32, C64 = (DTYPE[name] for name in "pred s32 s64 u32 u64 f32 c64".split())
THREE_FRY, PHILOX = constants.RNG_THREE_FRY, constants.RNG_PHILOX
# Programs of these compile for seconds: they are seldom called.
SLOW = ["lxla_random_poisson", "lxla_random_gamma", "lxla_random_log_gamma", "lxla_random_beta"]
# Valid arguments, of which one is changed, for functions that rarely accept random ones. Tensors are given by dtype and
# shape, computations by dtype and number.
IMAGE, ROW, KEY, ONE = (F32, (1, 2, 4, 4)), (F32, (3,)), (U32, (2,)), (F32, ())
ADD, GREATER = (F32, 0), (F32, 3)
# Sizes of results are read up to the sum of the ranks, however many are given.
MANY = 3 * 64 + 1
CALL = {
    "inputs": [ROW, ONE],
    "n_inputs": 2,
    "dtypes": [F32, S32],
    "ranks": [1, 2],
    "dims": [3, 2, 1] + [1] * MANY,
    "n_outputs": 2,
}
RIGHT = {
    "lxla_attention": {
        "query": (F32, (2, 3, 3)),
        "key": (F32, (2, 3, 3)),
        "value": (F32, (2, 3, 3)),
        "mask": (PRED, (3, 3)),
        "options": {},
    },
    "lxla_rms_norm": {"x": (F32, (2, 3)), "weight": ROW, "epsilon": 0.1},
    "lxla_rotary_embedding": {"x": IMAGE, "cosines": ONE, "sines": ONE, "interleaved": 1},
    "lxla_batch_norm_training": {"x": (F32, (2, 3)), "scale": ROW, "offset": ROW, "epsilon": 0.1, "feature_axis": 1},
    "lxla_batch_norm_inference": {
        "x": (F32, (2, 3)),
        "scale": ROW,
        "offset": ROW,
        "mean": ROW,
        "variance": ROW,
        "epsilon": 0.1,
        "feature_axis": 1,
    },
    "lxla_batch_norm_grad": {
        "x": (F32, (2, 3)),
        "scale": ROW,
        "mean": ROW,
        "variance": ROW,
        "grad_output": (F32, (2, 3)),
        "epsilon": 0.1,
        "feature_axis": 1,
    },
    "lxla_ldl_solve": {"factors": (F32, (3, 3)), "pivots": (S32, (3,)), "b": (F32, (3, 2)), "hermitian": 1},
    "lxla_tridiagonal_solve": {"lower": (F32, (3,)), "diagonal": (F32, (3,)), "upper": (F32, (3,)), "b": (F32, (3, 2))},
    "lxla_arange_with_scalars": {"dtype": F32, "start": 0, "stop": 5, "step": 2},
    "lxla_case": {
        "index": (S32, ()),
        "branches": [ADD, ADD],
        "n_branches": 2,
        "args": [ONE, ONE],
        "n_args": 2,
        "n_results": 1,
    },
    "lxla_cond": {"pred": (PRED, ()), "on_true": ADD, "on_false": ADD, "args": [ONE, ONE], "n_args": 2, "n_results": 1},
    "lxla_convolution": {"lhs": IMAGE, "rhs": IMAGE, "options": {}},
    "lxla_dynamic_slice": {"x": (F32, (2, 3)), "starts": [(S32, ()), (S32, ())], "sizes": [1, 2], "n": 2},
    "lxla_dynamic_update_slice": {
        "x": (F32, (2, 3)),
        "update": (F32, (1, 3)),
        "starts": [(S32, ()), (S32, ())],
        "n": 2,
    },
    "lxla_executable_run": {"n_inputs": 2, "n_outputs": 1},
    "lxla_executable_run_host": {"n_inputs": 2, "n_outputs": 1},
    "lxla_checkpoint_name": {"x": ROW, "name": b"a"},
    "lxla_fft": {"op": constants.FFT_FFT, "x": (C64, (3, 3)), "lengths": [3, 3], "n_lengths": 2},
    "lxla_gradients": {"ys": [ROW, ONE], "n_ys": 2, "cotangents": [ROW, ONE], "xs": [ROW, ONE], "n_xs": 2},
    "lxla_gradients_with_options": {"ys": [ROW, ONE], "n_ys": 2, "cotangents": [ROW, ONE], "xs": [ROW, ONE], "n_xs": 2},
    "lxla_gather": {
        "x": ROW,
        "indices": (S32, (2,)),
        "options": {"collapsed_slice_dims": [0], "start_index_map": [0], "index_vector_dim": 1, "slice_sizes": [1]},
    },
    "lxla_segment_reduce": {"op": 1, "x": (F32, (2, 3)), "segment_ids": (S32, (2,)), "num_segments": 4},
    "lxla_index_add": {"x": (F32, (2, 3)), "axis": 0, "indices": (S32, (2,)), "source": (F32, (2, 3))},
    "lxla_index_copy": {"x": (F32, (2, 3)), "axis": 0, "indices": (S32, (2,)), "source": (F32, (2, 3))},
    "lxla_index": {"x": (F32, (2, 3)), "indices": [(S32, (2,)), (S32, ())], "n_indices": 2},
    "lxla_index_put": {
        "op": constants.SCATTER_SUM,
        "x": (F32, (2, 3)),
        "indices": [(S32, (2,)), (S32, ())],
        "n_indices": 2,
        "values": (F32, (2,)),
    },
    "lxla_mask_select": {"x": (F32, (2, 3)), "mask": (PRED, (2,)), "size": 3, "fill": ONE, "index_dtype": S32},
    "lxla_mask_assign": {"x": (F32, (2, 3)), "mask": (PRED, (2,)), "values": (F32, (1, 3))},
    "lxla_ragged_dot": {"lhs": (F32, (2, 3)), "rhs": (F32, (2, 3, 3)), "group_sizes": (S32, (2,))},
    "lxla_nonzero": {"x": (F32, (2, 3)), "size": 3, "fill": 1, "index_dtype": S32, "n_indices": 2},
    "lxla_searchsorted": {"sorted": ROW, "values": (F32, (2, 3)), "right": 1, "index_dtype": S32},
    "lxla_slice_assign": {
        "x": (F32, (2, 3)),
        "starts": [0, 1],
        "limits": [2, 3],
        "strides": [2, 1],
        "rank": 2,
        "values": ONE,
    },
    "lxla_unique": {"x": (F32, (2, 3)), "size": 3, "fill": ONE, "index_dtype": S32},
    "lxla_clamp_with_scalars": {"x": ROW, "min": 1, "max": 2},
    "lxla_linspace_with_scalars": {"dtype": S32, "start": -3, "stop": 9, "count": 5, "endpoint": 1},
    "lxla_pad_with_scalar": {
        "x": (F32, (2, 3)),
        "value": 1,
        "low": [1, 0],
        "high": [0, -1],
        "interior": [1, 0],
        "rank": 2,
    },
    "lxla_select_with_scalars": {
        "pred": (PRED, (2, 3)),
        "on_true": (F32, (2, 3)),
        "true_scalar": None,
        "on_false": None,
        "false_scalar": 2,
    },
    "lxla_pad": {
        "x": (F32, (2, 3)),
        "value": ONE,
        "low": [1, 0],
        "high": [0, -1],
        "interior": [1, 0],
        "n": 2,
        "rank": 2,
    },
    "lxla_random_bernoulli": {"algorithm": THREE_FRY, "key": KEY, "p": 0.5, "dims": [2, 3], "rank": 2},
    "lxla_random_bits": {"algorithm": PHILOX, "key": KEY, "dtype": U32, "dims": [2, 3], "rank": 2},
    "lxla_random_normal": {"algorithm": THREE_FRY, "key": KEY, "dtype": F32, "dims": [2, 3], "rank": 2},
    "lxla_random_exponential": {"algorithm": THREE_FRY, "key": KEY, "dtype": F32, "dims": [2, 3], "rank": 2},
    "lxla_random_gumbel": {"algorithm": THREE_FRY, "key": KEY, "dtype": F32, "dims": [2, 3], "rank": 2},
    "lxla_random_laplace": {"algorithm": THREE_FRY, "key": KEY, "dtype": F32, "dims": [2, 3], "rank": 2},
    "lxla_random_truncated_normal": {
        "algorithm": THREE_FRY,
        "key": KEY,
        "dtype": F32,
        "dims": [2, 3],
        "rank": 2,
        "lower": -1.0,
        "upper": 2.0,
    },
    "lxla_random_categorical": {
        "algorithm": THREE_FRY,
        "key": KEY,
        "logits": (F32, (2, 3)),
        "axis": 1,
        "dims": [2],
        "rank": 1,
        "index_dtype": S32,
    },
    "lxla_random_integers": {
        "algorithm": THREE_FRY,
        "key": KEY,
        "dtype": S32,
        "dims": [2, 3],
        "rank": 2,
        "low": -3,
        "high": 4,
    },
    "lxla_random_choice": {
        "algorithm": THREE_FRY,
        "key": KEY,
        "x": (F32, (2, 3)),
        "axis": 1,
        "dims": [2],
        "rank": 1,
        "replace": 0,
        "probabilities": ROW,
    },
    "lxla_random_poisson": {
        "algorithm": THREE_FRY,
        "key": KEY,
        "rate": ROW,
        "dtype": S32,
        "dims": [2, 3],
        "rank": 2,
    },
    "lxla_random_gamma": {"algorithm": THREE_FRY, "key": KEY, "alpha": ROW, "dims": [2, 3], "rank": 2},
    "lxla_random_log_gamma": {"algorithm": PHILOX, "key": KEY, "alpha": ROW, "dims": [2, 3], "rank": 2},
    "lxla_random_beta": {"algorithm": THREE_FRY, "key": KEY, "a": ROW, "b": ONE, "dims": [2, 3], "rank": 2},
    "lxla_random_split": {"algorithm": THREE_FRY, "key": KEY, "n": 2},
    "lxla_random_uniform": {
        "algorithm": PHILOX,
        "key": KEY,
        "dtype": F32,
        "dims": [2, 3],
        "rank": 2,
        "low": 0.0,
        "high": 1.0,
    },
    "lxla_rng_bit_generator": {"algorithm": THREE_FRY, "state": (U64, (2,)), "dtype": U32, "dims": [2, 3], "rank": 2},
    "lxla_reduce_window": {
        "body": ADD,
        "inputs": [ROW],
        "inits": [ONE],
        "n": 1,
        "options": {"rank": 1, "window_dimensions": [2]},
    },
    "lxla_reduce_with": {"body": ADD, "inputs": [(F32, (2, 3))], "inits": [ONE], "n": 1, "axes": [1], "n_axes": 1},
    "lxla_scan": {
        "body": ADD,
        "init": [ONE],
        "n_init": 1,
        "n_carry": 1,
        "xs": [ROW],
        "n_xs": 1,
        "length": 3,
        "reverse": 0,
        "n_ys": 0,
    },
    "lxla_scatter": {
        "combiner": ADD,
        "inputs": [ROW],
        "indices": (S32, (2,)),
        "updates": [(F32, (2,))],
        "n": 1,
        "options": {"inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0], "index_vector_dim": 1},
    },
    "lxla_select": {"pred": (PRED, (2, 3)), "on_true": (F32, (2, 3)), "on_false": (F32, (1, 3))},
    "lxla_select_and_scatter": {
        "select": GREATER,
        "combiner": ADD,
        "x": ROW,
        "source": (F32, (2,)),
        "init": ONE,
        "options": {"rank": 1, "window_dimensions": [2]},
    },
    "lxla_sort": {"comparator": GREATER, "inputs": [(F32, (2, 3))], "n": 1, "axis": 1, "stable": 1},
    "lxla_slice": {"x": (F32, (2, 3)), "starts": [0, 1], "limits": [2, 3], "strides": [1, 1], "n": 2, "rank": 2},
    "lxla_kernel_apply": {"target": KEPT_NAME, "attributes_json": b"{}", **CALL},
    "lxla_host_call": CALL,
    "lxla_debug_print": {"format": b"{}, {}", "tensors": [ROW, ONE], "n": 2},
}


def operations():
    """Returns the functions to call, with the types in C and the names of their parameters."""
    found = [(name, of) for name, of in functions.items() if of.result == "lxla_status" and not LEFT_OUT.match(name)]
    return [(name, [(each.type, each.name) for each in of.parameters]) for name, of in found]


class Fuzzer(Transformations, Kernels, Programs, Waits):
    def __init__(self, rng):
        self.rng, self.env = rng, abi.new_env()
        self.recorded, self.done, self.examples, self.alive, self.imported = [], {}, {}, [], 0
        self.worlds = [abi.xla(), abi.cpu()]
        self.operations = operations()
        self.delicate = 3 * [each for each in self.operations if each[0] in RIGHT and each[0] not in SLOW]
        self.pool, self.kept = {}, []
        for dtype in DTYPES:
            for shape in SHAPES:
                self.pool[dtype, shape] = self.made(dtype, shape)
        self.computations = dict(self.traced())
        self.functions = [Function(handle, [(dtype, ())] * 2) for (dtype, _), handle in self.computations.items()]
        self.start_kernels()
        self.start_programs()

    def made(self, dtype, shape):
        sizes = (c_int64 * max(len(shape), 1))(*shape)
        value = 1.0 if dtype == PRED else float(self.rng.randint(0, 2))
        full = lambda device: abi.give(
            abi.lib.lxla_tensor_full, Tensor, self.env, device, dtype, sizes, len(shape), value
        )
        return [full(device) for device in self.worlds]

    def traced(self):
        """Traces computations of scalars: sums, products and comparisons, of some dtypes."""
        recorded = [
            (abi.ADD, "lxla_binary"),
            (abi.MULTIPLY, "lxla_binary"),
            (constants.COMPARE_LT, "lxla_compare"),
            (constants.COMPARE_GT, "lxla_compare"),
        ]
        for dtype in (DTYPE[name] for name in "pred s32 f32 bf16 c64 f8e5m2".split()):
            for i, (op, function) in enumerate(recorded):
                p = [Tensor(), Tensor()]
                for each in p:
                    abi.ok(abi.lib.lxla_tensor_placeholder(self.env, self.worlds[0], dtype, None, 0, byref(each)))
                out, made = Tensor(), Computation()
                if getattr(abi.lib, function)(op, *p, byref(out)) == OK:
                    abi.ok(abi.lib.lxla_computation_trace((Tensor * 2)(*p), 2, byref(out), 1, byref(made)))
                    yield (dtype, i), made

    # --- Arguments ---

    def number(self):
        r = self.rng
        return r.choice(
            [
                0,
                0,
                0,
                1,
                1,
                1,
                2,
                2,
                3,
                -1,
                -2,
                r.randint(-4, 6),
                r.choice([2**63 - 1, -(2**63), 2**50, 2**40, 2**33, 255]),
            ]
        )

    def named(self, name, kind):
        """Returns a number that is often valid for a parameter of this name."""
        if "dtype" in name:
            return self.rng.choice(DTYPES)
        if self.rng.random() < 0.15:
            return self.number()
        if name in ("op", "algorithm"):
            return self.rng.randint(1, len(family("UNARY")) if name == "op" else 2)
        if "axis" in name:
            return self.rng.randint(-2, 1)
        return self.rng.randint(0, 1) if kind == "int32_t" else self.rng.randint(0, 3)

    def real(self):
        return self.rng.choice([0.0, 1.0, 2.0, -1.0, 0.5, 1e-5, 1e300, float("inf"), float("nan"), -0.0])

    def tensor(self, like=None):
        r = self.rng
        if r.random() < 0.02:
            return [Tensor(r.choice([0, 1, 2**64 - 1]))] * 2
        if r.random() < 0.2 and self.kept:
            return r.choice(self.kept)
        return like if like and r.random() < 0.7 else r.choice(list(self.pool.values()))

    def list_of(self, kind, n):
        if self.rng.random() < 0.1:
            return None
        values = (
            sorted(self.number() for _ in range(n)) if self.rng.random() < 0.3 else [self.number() for _ in range(n)]
        )
        if self.rng.random() < 0.3:
            values = list(range(n))
        return (kind * max(n, 1))(*[kind(v).value for v in values])

    def types_of_results(self, kind, name):
        """Returns dtypes, ranks or sizes of results. The lists are long enough for every sum of valid ranks."""
        r = self.rng
        if r.random() < 0.1:
            return None
        if name == "dims":
            return (c_int64 * MANY)(*[r.choice([0, 1, 2, 3] * 10 + [-1, 2**40, 2**63 - 1]) for _ in range(MANY)])
        choices = DTYPES * 3 + [0, 99, -1] if name == "dtypes" else [0, 1, 1, 2, 2, 64, 65, 2**63, 2**64 - 1]
        return (LISTS[kind] * 3)(*[r.choice(choices) for _ in range(3)])

    def options(self, name, rank):
        made = getattr(types, name)()
        made.struct_size = ctypes.sizeof(made)
        abi.ok(getattr(abi.lib, name + "_init")(byref(made)))
        for field, kind in made._fields_[1:]:
            n = self.rng.choice([0, 1, 1, 2, 2, rank])
            if field in ("rank", "spatial_rank"):
                setattr(made, field, self.rng.choice([rank, rank, max(rank - 2, 0)]))
            elif kind in (POINTER(c_int64), POINTER(c_int32)):
                values = self.list_of(kind._type_, 8)
                if values and self.rng.random() < 0.7:
                    # The length of a list is a member of the struct, or the rank.
                    setattr(made, field, ctypes.cast(values, kind))
                    self.alive.append(values)
                    if hasattr(made, "n_" + field):
                        setattr(made, "n_" + field, n)
            elif issubclass(kind, ctypes._CFuncPtr):
                setattr(made, field, self.rng.choice([destroy, kind()]))
            elif field == "ordered":
                made.ordered = self.rng.choice([0, 1, 2, 3])
            elif not field.startswith("n_") and self.rng.random() < 0.5:
                setattr(made, field, max(self.number(), 0) if kind is c_size_t else kind(self.number()).value)
        return made

    def right_options(self, name, given):
        made = getattr(types, name)()
        made.struct_size = ctypes.sizeof(made)
        abi.ok(getattr(abi.lib, name + "_init")(byref(made)))
        for field, value in given.items():
            if isinstance(value, list):
                values = (c_int64 * len(value))(*value)
                self.alive.append(values)
                setattr(made, field, ctypes.cast(values, POINTER(c_int64)))
                if hasattr(made, "n_" + field):
                    setattr(made, "n_" + field, len(value))
            else:
                setattr(made, field, value)
        return made

    def right(self, kind, value):
        """Returns an argument of RIGHT, for the lazy and the native call."""
        if kind == "const lxla_scalar *":
            scalar = None if value is None else Scalar(dtype=S64)
            if scalar:
                scalar.value.i = value
            self.alive.append(scalar)
            return [scalar and byref(scalar)] * 2
        if kind == "lxla_tensor":
            return self.pool[value] if value else [Tensor(0)] * 2
        if kind == "const lxla_tensor *":
            return [(Tensor * LONGEST)(*[self.pool[each][world] for each in value]) for world in range(2)]
        if kind == "lxla_computation":
            return [self.computations[value]] * 2
        if kind == "const lxla_computation *":
            return [(Computation * LONGEST)(*[self.computations[each] for each in value])] * 2
        if kind.endswith("_options *"):
            made = self.right_options(kind.removeprefix("const ").removesuffix(" *"), value)
            self.alive.append(made)
            return [byref(made)] * 2
        if isinstance(value, list):
            return [(LISTS[kind] * max(len(value), LONGEST))(*value)] * 2
        return [value] * 2

    def arguments(self, name_of_call, parameters):
        """Returns the arguments of both calls, and the places for their results. One of a set of valid arguments may be
        changed."""
        both, out = self.random_arguments(parameters)
        right = RIGHT.get(name_of_call)
        if right and self.rng.random() < 0.8:
            changed = self.rng.choice([None, *right])
            for i, (kind, name) in enumerate(parameters):
                if name in right and name != changed:
                    both[0][i], both[1][i] = self.right(kind, right[name])
        return both, out

    def random_arguments(self, parameters):
        self.alive = []
        n = self.rng.choice([0, 1, 1, 2, 2, 3])
        first, out, both = None, [], [[], []]
        for i, (kind, name) in enumerate(parameters):
            if kind == "lxla_tensor":
                first = first or self.tensor()
                pair = first if not any(k == "lxla_tensor" for k, _ in parameters[:i]) else self.tensor(first)
                values = pair
            elif kind == "const lxla_tensor *":
                pairs = [self.tensor(first) for _ in range(n)]
                first = first or (pairs[0] if pairs else None)
                values = [(Tensor * max(n, 1))(*[pair[world] for pair in pairs]) for world in range(2)]
            elif kind == "lxla_tensor *":
                places = [(Tensor * MOST_RESULTS)() for _ in range(2)]
                out.append(places)
                values = places
            elif any(name == "ranks" for _, name in parameters) and kind in LISTS:
                values = [self.types_of_results(kind, name)] * 2
            elif kind in ("const int64_t *", "const int32_t *"):
                values = [self.list_of(c_int64 if "64" in kind else c_int32, n)] * 2
            elif kind == "size_t":
                values = [self.rng.choice([1, 2, 3]) if name == "n_results" else n] * 2
            elif kind in ("int64_t", "int32_t"):
                value = self.named(name, kind)
                values = [(c_int64 if "64" in kind else c_int32)(value)] * 2
            elif kind == "double":
                values = [c_double(self.real())] * 2
            elif kind == "lxla_computation":
                values = [self.rng.choice(list(self.computations.values()))] * 2
            elif kind == "const lxla_computation *":
                values = [
                    (Computation * max(n, 1))(*[self.rng.choice(list(self.computations.values())) for _ in range(n)])
                ] * 2
            elif kind == "const lxla_scalar *":
                scalar = Scalar(dtype=self.rng.choice([*SCALARS, 99]))
                scalar.value.u = self.rng.choice([0, 1, 2, 2**63])
                values = [byref(scalar) if self.rng.random() < 0.85 else None] * 2
                self.alive.append(scalar)
            elif kind == "lxla_kernel_fn":
                values = [self.kernel()] * 2
            elif kind == "void *":
                values = [self.rng.randint(0, 2)] * 2
            elif kind == "const char *" and name in ("target", "format", "attributes_json"):
                values = [self.text(name)] * 2
            elif kind == "const char *":
                values = [
                    self.rng.choice(
                        [
                            b"ij,jk->ik",
                            b"i,i->",
                            b"...i->i...",
                            b"ii->i",
                            b"->",
                            b"ij",
                            b"i j , k",
                            b"",
                            b"ij->ijj",
                            b"data",
                        ]
                    )
                ] * 2
            elif kind == "const char *const *":
                texts = [
                    self.rng.choice([b"", b"data", b"-", b"data,-", b"data+model", b"data,data", b",", None])
                    for _ in range(n)
                ]
                values = [(ctypes.c_char_p * max(n, 1))(*texts)] * 2
            elif kind == "lxla_mesh":
                values = [Mesh(self.rng.choice([0, 1, 2**64 - 1]))] * 2
            elif kind == "lxla_env":
                values = [self.env] * 2
            elif kind == "lxla_device":
                values = self.worlds
            else:
                made = self.options(kind.removeprefix("const ").removesuffix(" *"), self.rng.choice([0, 1, 2, 3]))
                values = [byref(made)] * 2
                self.alive.append(made)
            both[0].append(values[0]), both[1].append(values[1])
        return both, out

    # --- Calls ---

    def call(self):
        """Makes a random call; returns the error found, if any."""
        name, parameters = self.rng.choice(self.operations + self.delicate)
        if name in SLOW and self.rng.random() < 0.75:
            return None
        both, out = self.arguments(name, parameters)
        said = []
        for arguments in both:
            status = getattr(abi.lib, name)(*arguments)
            said.append((status, abi.lib.lxla_last_error_message().decode() if status else ""))
        results = [[t for places in out for t in places[world] if t.id] for world in range(2)]
        if any(status in (INTERNAL, PANIC) for status, _ in said):
            return f"{name}: {said}"
        if RESOURCE_EXHAUSTED in (said[0][0], said[1][0]):
            return abi.release(*results[0], *results[1])
        both_handles = said[0][0] == said[1][0] == INVALID_HANDLE  # each may name another of several
        if said[0] != said[1] and not both_handles and not re.search("native|eager|xla:0|cpu", said[0][1] + said[1][1]):
            return f"{name}: lazily {said[0]}, natively {said[1]}"
        if said[0][0] != OK or said[1][0] != OK:
            return abi.release(*results[0], *results[1])
        made = [[self.type_of(t) for t in each] for each in results]
        if made[0] != made[1]:
            return f"{name}: lazily {made[0]}, natively {made[1]}"
        self.done[name] = self.done.get(name, 0) + 1
        for pair, (_, dims) in zip(zip(*results), made[0]):
            size = 1
            for dim in dims:
                size *= dim
            self.kept.append([*pair]) if size < 10000 else abi.release(*pair)
        self.recorded.append((name, made[0], results[0]))

    def type_of(self, tensor):
        dtype = abi.give(abi.lib.lxla_tensor_dtype, c_int32, tensor).value
        rank = abi.give(abi.lib.lxla_tensor_rank, c_size_t, tensor).value
        dims = (c_int64 * max(rank, 1))()
        abi.ok(abi.lib.lxla_tensor_dims(tensor, dims, rank))
        return dtype, tuple(dims)[:rank]

    def limit(self):
        """Limits the threads of this thread's native kernels, and chooses the precision of products."""
        before = c_int32()
        n = self.rng.choice([-1, 0, 1, 1, 2, 5])
        status = abi.lib.lxla_thread_limit(c_int32(n), byref(before))
        if (status == OK) != (n >= 0):
            return f"lxla_thread_limit of {n}: {status}"
        self.done["lxla_thread_limit"] = self.done.get("lxla_thread_limit", 0) + (status == OK)
        precision = self.rng.choice([b"highest", b"default", b"tf32_tf32_f32", b"bf16_bf16_f32_x3", b"full"])
        status = abi.lib.lxla_env_set_option(self.env, b"matmul_precision", precision)
        if (status == OK) == (precision == b"full"):
            return f"matmul_precision {precision}: {status}"

    def step(self):
        """Runs the recorded operations; returns those that do not compile."""
        status = abi.lib.lxla_mark_step(self.env, self.worlds[0], 1)
        if status != OK:
            whole = abi.lib.lxla_last_error_message().decode()
            for name, types, tensors in self.recorded:
                if tensors and abi.lib.lxla_sync((Tensor * len(tensors))(*tensors), len(tensors)) != OK:
                    return f"{name} to {types}: {abi.lib.lxla_last_error_message().decode()}"
            return whole
        self.recorded = []
        while len(self.kept) > 60:
            abi.release(*self.kept.pop(self.rng.randrange(len(self.kept))))

    def run(self, calls):
        # A function with a parameter of a type without random arguments fails here, not in a call that is rarely made.
        for _, parameters in self.operations:
            self.random_arguments(parameters)
        others = 8 * [self.read_program] + 6 * [self.export] + 4 * [self.label, self.show] + 2 * [self.execute]
        others += 2 * [self.register, self.fail, self.wait, self.limit] + [
            self.compare
        ]  # which compiles several programs
        for i in range(calls):
            kind = self.rng.random()
            made = self.transform if kind < 0.15 else self.rng.choice(others) if kind < 0.3 else self.call
            wrong = made() or (self.step() if i % 200 == 199 else None)
            if wrong:
                return f"call {i}: {wrong}"


def main():
    abi.load(sys.argv[1])
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    fuzzer = Fuzzer(random.Random(seed))
    wrong = fuzzer.run(calls)
    succeeded = sum(fuzzer.done.values())
    known = {name for name, _ in fuzzer.operations} | {"lxla_computation_" + name for name in TRANSFORMATIONS}
    known |= {"lxla_" + name for name in OTHERS}
    print(
        f"{calls} calls, seed {seed}: {succeeded} succeeded, of {len(fuzzer.done)} of "
        f"{len(known)} functions; {fuzzer.imported} imported programs"
    )
    print("never:", *sorted(known - fuzzer.done.keys()))
    if wrong:
        print(wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
