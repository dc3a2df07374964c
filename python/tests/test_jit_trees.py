"""Arguments and results of jitted functions in trees of every kind: one walk finds their arrays as optree does."""

import collections
import threading
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import optree
from common import DEVICES, on, random, same

import lazyxla as lx
from lazyxla import _core, _jit


class Pair(NamedTuple):
    left: Any
    right: Any


class Other(NamedTuple):
    left: Any
    right: Any


class Text(str):
    pass


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any


EVERYWHERE = vars(optree.registry)["__GLOBAL_NAMESPACE"]
optree.register_pytree_node(Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy), namespace=EVERYWHERE)


def trees(make):
    """Trees of the same leaves, in the order of optree, with names."""
    a, b, c = make(0), make(1), make(2)
    yield "tuple", (a, b, c)
    yield "list", [a, [b, (c,)]]
    yield "dict", {"a": a, "b": b, "c": c}
    yield "dict, descending", {"c": c, "b": b, "a": a}
    yield "dict in dict", {"b": {"z": c, "y": b}, "a": [a]}
    yield "keys beyond ASCII", {"é": c, "z": b, "Z": a}
    yield "keys beyond 16 bits", {"\U0001f600": c, "\uffee": b, "a": a}
    yield "half a surrogate pair", {"\udc00": c, "b": b, "a": a}
    yield "numbers as keys", {2: c, 1: b, 0: a}
    yield "named", Pair(a, (b, c))
    yield "other named", Other(a, [b, c])
    yield "empty parts", (a, (), {}, [], b, c)
    yield "constants", (a, None, b, "text", c)
    yield "ordered dict", collections.OrderedDict(z=a, y=b, x=c)
    yield "default dict", collections.defaultdict(list, b=b, a=a, c=c)
    yield "deque", collections.deque([a, b, c])
    yield "registered", Point(a, (b, c))
    yield "registered within", {"p": Point(a, b), "q": c}
    deep = [c]
    for _ in range(100):
        deep = [deep]
    yield "deep", (a, b, deep)


def leaves_of(tree):
    return optree.tree_leaves(tree, none_is_leaf=True)


def test_the_walk_finds_the_leaves_of_optree_in_their_order_or_nothing():
    left_to_optree = set()
    for name, tree in trees(lambda i: on(np.float32(i), "cpu")):
        found = _core.plain_leaves(tree)
        if found is None:
            left_to_optree.add(name)
            continue
        wanted = leaves_of(tree)
        assert len(found) == len(wanted) and all(x is y for x, y in zip(found, wanted)), name
        built = _core.Template.of(tree).build([x for x in wanted if isinstance(x, lx.Array)])
        assert optree.tree_structure(built, none_is_leaf=True) == optree.tree_structure(tree, none_is_leaf=True), name
        assert all(x is y for x, y in zip(leaves_of(built), wanted)), name
        if isinstance(tree, dict):
            assert [*built] == [*tree], f"{name}: another order"
    assert left_to_optree == {
        "half a surrogate pair",
        "numbers as keys",
        "ordered dict",
        "default dict",
        "deque",
        "registered",
        "registered within",
        "deep",
    }


def test_trees_go_through_a_jitted_function_unchanged():
    for device in DEVICES:
        values = [random(i, (3,), "float32") for i in range(3)]

        def weighted(tree):
            arrays = [x for x in leaves_of(tree) if isinstance(x, lx.Array)]
            scaled = iter([x * (i + 1) for i, x in enumerate(arrays)])
            spec = optree.tree_structure(tree, none_is_leaf=True)
            return spec.unflatten([next(scaled) if isinstance(x, lx.Array) else x for x in leaves_of(tree)])

        jitted = lx.jit(weighted)
        count = 0
        for _ in range(3):
            for name, tree in trees(lambda i: on(values[i], device)):
                given = [x for x in leaves_of(tree) if isinstance(x, lx.Array)]
                order = [next(i for i, v in enumerate(values) if np.array_equal(np.asarray(x), v)) for x in given]
                out = jitted(tree)
                assert type(out) is type(tree), name
                for place, x in enumerate(x for x in leaves_of(out) if isinstance(x, lx.Array)):
                    same(x, values[order[place]] * (place + 1), 1e-6)
            count = count or jitted.traces
        assert jitted.traces == count == jitted.kinds, "each tree is traced once"


def test_structures_and_leaves_that_differ_are_told_apart():
    jitted = lx.jit(lambda *args, **kwargs: (lx.asarray(1.0), repr((args, kwargs)).count("Array")))
    x = on(np.ones(2, "float32"), "xla")
    kinds = [
        ((x, x), {}),
        (([x], x), {}),
        ((x, [x]), {}),
        (((x, x),), {}),
        (([x, x],), {}),
        ((Pair(x, x),), {}),
        ((Other(x, x),), {}),
        (({"a": x, "b": x},), {}),
        (({"b": x, "a": x},), {}),
        (({"a": x, "ab": x},), {}),
        ((x,), {"a": x}),
        ((x,), {"b": x}),
        ((), {"a": x, "b": x}),
        ((x, None), {}),
        ((x, "None"), {}),
        ((x, Text("None")), {}),
        ((x, b"None"), {}),
        ((x, 0), {}),
        ((x, 0.0), {}),
        ((x, -0.0), {}),
        ((x, False), {}),
        ((x, 0j), {}),
        ((x, 2**70), {}),
        ((x, 2**71), {}),
        ((x, float("nan")), {}),
        ((x, ()), {}),
        ((x, []), {}),
        ((x, {}), {}),
    ]
    for _ in range(3):
        for args, kwargs in kinds:
            jitted(*args, **kwargs)
    assert jitted.traces == len(kinds) == jitted.kinds


def test_arrays_of_numpy_in_trees_are_arrays_of_the_first_device():
    jitted = lx.jit(lambda tree: tree["w"] * tree["x"] + tree["n"])
    for device in DEVICES:
        for shift in range(4):
            x, n = random(shift, (4,), "float32"), np.float32(shift)
            w = on(np.arange(4, dtype="float32"), device)
            out = jitted({"x": x, "w": w, "n": n})
            same(out, np.arange(4, dtype="float32") * x + n, 1e-6)
            assert out.device == w.device
    assert jitted.traces == 2


def test_what_is_dropped_is_traced_again():
    scale = [2.0]
    jitted = lx.jit(lambda tree: tree["x"] * scale[0])
    x = on(np.ones(3, "float32"), "xla")
    for value in (2.0, 3.0, 2.0):
        scale[0] = value
        for _ in range(3):
            same(jitted({"x": x}), np.full(3, value, "float32"))
    assert jitted.traces == 3 and jitted.kinds == 1
    jitted.clear()
    same(jitted({"x": x}), np.full(3, 2, "float32"))
    assert jitted.traces == 4
    # More kinds than are kept: those used last stay.
    many, most = lx.jit(lambda x, n: x + n), _jit._MOST_KINDS
    _jit._MOST_KINDS = 8
    try:
        for n in range(12):
            many(x, n)
        for n in (11, 0):
            same(many(x, n), np.full(3, n + 1, "float32"))
    finally:
        _jit._MOST_KINDS = most
    assert many.traces == 13 and many.kinds == 8 == len(many._plain)


def test_threads_call_with_trees_while_computations_are_dropped():
    jitted = lx.jit(lambda tree, n: {"y": tree["x"] * n})
    x = on(np.arange(5, dtype="float32"), "cpu")
    wrong = []

    def work(first):
        for i in range(100):
            n = (first + i) % 80
            if not np.array_equal(np.asarray(jitted({"x": x}, n)["y"]), np.arange(5) * n):
                wrong.append(n)
            if i % 40 == 39:
                jitted.clear()

    threads = [threading.Thread(target=work, args=(20 * i,)) for i in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert not wrong and jitted.kinds <= 80 and len(jitted._plain) <= jitted.kinds


class Scaled(collections.namedtuple("Scaled", "w b")):
    """A named tuple with a number beside its leaves, which it registers in another order."""

    scale = 1

    @classmethod
    def of(cls, w, b, scale):
        made = cls(w, b)
        made.scale = scale
        return made


optree.register_pytree_node(
    Scaled, lambda p: ((p.b, p.w), p.scale), lambda scale, bw: Scaled.of(bw[1], bw[0], scale), namespace=EVERYWHERE
)


def test_named_tuples_that_are_registered_keep_their_order_and_their_parts():
    for device in DEVICES:
        w, b, x = (on(np.float32(v), device) for v in (5, 1, 2))
        jitted = lx.jit(lambda p, x: (p.w * x - p.b) * p.scale)
        for _ in range(3):
            for scale in (1, 2, 3):
                same(jitted(Scaled.of(w, b, scale), x), np.float32(9 * scale))
                same(jitted({"p": Scaled.of(w, b, scale)}["p"], x), np.float32(9 * scale))
        assert jitted.traces == 3
        more = lx.jit(lambda p: lx.tree_map(lambda v: v + 1, p))
        for function in (more, lambda p: lx.vmap(lambda p: p)(lx.tree_map(lambda v: lx.expand_dims(v, 0), p))):
            out = function(Scaled.of(w, b, 3))
            assert type(out) is Scaled and out.scale == 3
        carry, _ = lx.scan(lambda p, _: (Scaled.of(p.w + 1, p.b, 3), None), Scaled.of(w, b, 3), length=2)
        same(carry.w, np.float32(7))
        assert carry.scale == 3


def test_dictionaries_in_the_order_of_their_keys_and_of_their_insertion():
    for device in DEVICES:
        a, b = on(np.float32(10), device), on(np.float32(1), device)
        jitted = lx.jit(lambda d: {"y": d["b"] - d["a"], "x": d["a"]})
        for first in (True, False):
            jitted.clear()
            for insertion in (first, not first, first):
                with optree.dict_insertion_ordered(insertion, namespace=EVERYWHERE):
                    for _ in range(2):
                        out = jitted({"b": a, "a": b})
                        same(out["y"], np.float32(9))
                        same(out["x"], np.float32(1))
