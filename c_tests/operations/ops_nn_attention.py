"""Attention, RMS normalization and rotary embedding, as ops_test.py compares them."""

import numpy as np
from ctypes_test import Tensor
from ops_cases import Case, Operation, options_of, plain

attention_options = options_of("lxla_attention_options")

# Shapes of query, key and value, and the mask: its dtype and shape, or None; fields of the options.
ATTENTIONS = [
    ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 2), None, {}),
    ((2, 4, 5, 4), (2, 2, 5, 4), (2, 1, 5, 3), None, {"causal": 1, "scale": 0.75}),
    ((4, 3, 2), (2, 6, 2), (2, 6, 2), ("pred", (4, 1, 6)), {"causal": 1}),
    ((3, 2), (6, 2), (6, 3), ("float", (6,)), {}),
    ((1, 2, 3, 2), (3, 2, 4, 2), (3, 2, 4, 2), ("float", (3, 1, 1, 4)), {"causal": 2}),
    ((2, 1, 3, 2), (4, 5, 2), (2, 5, 2), ("pred", (2, 4, 3, 5)), {"scale": -1.5}),
    ((3, 2), (2, 4, 2), (3, 1, 4, 2), None, {}),
    ((2, 0, 4), (2, 3, 4), (2, 3, 4), None, {}),
    ((2, 3, 4), (2, 0, 4), (2, 0, 5), None, {}),
    ((0, 2, 3, 4), (1, 2, 3, 4), (0, 2, 3, 4), ("float", (3, 3)), {"causal": 1}),
    ((0, 3, 4), (1, 3, 4), (0, 3, 4), None, {}),
]


def attention():
    def call(world, query, key, value, *rest, options):
        mask = rest[0] if rest else Tensor(0)
        return world.make("lxla_attention", query, key, value, mask, attention_options(**options))

    def with_heads(x, heads):
        x = x if x.ndim > 2 else x[None]
        return np.repeat(x, heads // x.shape[-3], -3) if x.shape[-3] else x

    def parts(query, key, value, rest, options):
        """Returns the weights, the bound of the errors of their exponents, and the values, for all heads."""
        heads = max((x.shape[-3] if x.ndim > 2 else 1) for x in (query, key, value)) if query.size else 0
        heads = heads or (query.shape[-3] if query.ndim > 2 else 1)
        query, key, value = (with_heads(x, heads) for x in (query, key, value))
        turned = np.swapaxes(key, -1, -2)
        scale = options.get("scale") or 1 / np.sqrt(query.dtype.type(query.shape[-1]))
        scores, far = query @ turned * scale, np.abs(query) @ np.abs(turned) * np.abs(scale)
        rows, columns = scores.shape[-2:]
        if rest and rest[0].dtype == bool:
            scores = np.where(rest[0], scores, -np.inf)
        elif rest:
            scores, far = scores + rest[0], far + np.where(np.isfinite(rest[0]), np.abs(rest[0]), 0)
        if options.get("causal") == 1:
            scores = np.where(np.tri(rows, columns, dtype=bool), scores, -np.inf)
        top = scores.max(-1, keepdims=True, initial=-np.inf)
        powers = np.exp(scores - np.where(np.isinf(top), 0, top))
        total = powers.sum(-1, keepdims=True)
        return powers / np.where(total == 0, 1, total), far.max(-1, keepdims=True, initial=0), value

    def flat(made, operands):
        return made[0] if all(x.ndim == 2 for x in operands) else made

    def attended(query, key, value, *rest, options):
        weights, _, of = parts(query, key, value, rest, options)
        return flat(weights @ of, (query, key, value))

    def size(query, key, value, *rest, options):
        weights, far, of = parts(query, key, value, rest, options)
        return flat((1 + far) * (weights @ np.abs(of)), (query, key, value))

    def cases(dtype):
        made = []
        for *shapes, mask, options in ATTENTIONS if dtype in ("f32", "f64") else ATTENTIONS[:5]:
            arrays = [plain(dtype, shape, 71 + i) for i, shape in enumerate(shapes)]
            if mask:
                arrays.append(plain(dtype if mask[0] == "float" else "pred", mask[1], 74))
            made.append(Case(arrays, {"options": options}))
        return made

    yield Operation("attention", "float", call, attended, cases, scale=size)


def rms_norm():
    def call(world, x, *rest, epsilon):
        return world.make("lxla_rms_norm", x, rest[0] if rest else Tensor(0), epsilon)

    def normalised(x, *rest, epsilon):
        count = x.dtype.type(x.shape[-1])
        made = x / np.sqrt((x * x).sum(-1, keepdims=True) / count + x.dtype.type(epsilon))
        return made * rest[0] if rest else made

    def cases(dtype):
        x, weight = plain(dtype, (6, 33), 22), plain(dtype, (33,), 23)
        made = [Case([x, weight], {"epsilon": 1e-5}), Case([x], {"epsilon": 0.0})]
        if dtype in ("bf16", "f16"):
            made.append(Case([x, plain("f32", (33,), 23)], {"epsilon": 1e-5}))
        if dtype == "f32":
            made.append(Case([x, plain(dtype, (6, 1), 25)], {"epsilon": 1.0}))
            made.append(Case([plain(dtype, (3, 0), 1)], {"epsilon": 1e-5}))
            made.append(Case([plain(dtype, (0, 3), 1)], {"epsilon": 1e-5}))
            made.append(Case([plain(dtype, (4,), 2)], {"epsilon": 1e-5}))
        return made

    yield Operation("rms_norm", "float", call, normalised, cases)


def rotary_embedding():
    def call(world, x, cosines, sines, interleaved):
        return world.make("lxla_rotary_embedding", x, cosines, sines, interleaved)

    def pairs(x, interleaved):
        half = x.shape[-1] // 2
        return (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])

    def joined(a, b, interleaved):
        return (
            np.stack([a, b], -1).reshape(*a.shape[:-1], 2 * a.shape[-1]) if interleaved else np.concatenate([a, b], -1)
        )

    def turned(x, cosines, sines, interleaved):
        a, b = pairs(x, interleaved)
        return joined(a * cosines - b * sines, b * cosines + a * sines, interleaved)

    def size(x, cosines, sines, interleaved):
        a, b = pairs(np.abs(x), interleaved)
        cosines, sines = np.abs(cosines), np.abs(sines)
        return joined(a * cosines + b * sines, b * cosines + a * sines, interleaved)

    def cases(dtype):
        rows = [((2, 3, 5, 8), (5, 4), dtype), ((3, 2), (1,), dtype)]
        if dtype in ("bf16", "f16"):
            rows.append(((3, 4), (3, 2), "f32"))
        if dtype == "f32":
            rows += [((0, 4), (0, 2), dtype), ((3, 0), (3, 0), dtype), ((6,), (3,), dtype)]
        return [
            Case([plain(dtype, x, 31), plain(wide, of, 32), plain(wide, of, 33)], {"interleaved": interleaved})
            for x, of, wide in rows
            for interleaved in (0, 1)
        ]

    yield Operation("rotary_embedding", "float", call, turned, cases, scale=size)


def attentions():
    return [*attention(), *rms_norm(), *rotary_embedding()]
