"""Calls and inputs for the cases of pytorch_survey.py."""

import torch

NAN, INF = float("nan"), float("inf")

POINTS = [-6.0, -3.0, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.5, 6.0]
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def f32(*values):
    return torch.tensor(list(values), dtype=torch.float32)


def s64(*values):
    return torch.tensor(list(values), dtype=torch.int64)


def pred(*values):
    return torch.tensor(list(values), dtype=torch.bool)


def normal(*dims, dtype=torch.float32, seed=0):
    made = torch.randn(dims, generator=torch.Generator().manual_seed(seed + sum(dims)), dtype=torch.float64)
    return (made * 64).round().div(64).to(dtype)


def fixed(tensor):
    """An input by which PyTorch has no derivative."""
    tensor.is_fixed = True
    return tensor


def call(*arguments, **named):
    return arguments, named


def of_points(scale=1.0, offset=0.0, extra=(NAN, INF, -INF)):
    points = [point * scale + offset for point in POINTS]
    made = [call(torch.tensor(points, dtype=dtype)) for dtype in FLOATS]
    made += [call(f32(*extra)), call(torch.tensor(0.75)), call(torch.zeros(2, 0, 3))]
    return made


def of_integers():
    return [
        call(s64(-3, 0, 1, 4)),
        call(torch.tensor([0, 1, 200], dtype=torch.uint8)),
        call(pred(True, False)),
        call(torch.tensor([-7, 0, 3], dtype=torch.int32)),
    ]


def with_others(calls, *others, **named):
    return [(arguments + others, {**more, **named}) for arguments, more in calls]
