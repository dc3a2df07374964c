"""Functions whose places and numbers are elements of tensors, for pytorch_survey.py."""

import torch
from pytorch_calls import call, f32, normal, pred, s64


def checked(place, size):
    place = place.item()
    torch._check(place >= 0)
    torch._check(place < size)
    return place


def written(cache, place, row):
    cache[:, place] = row
    return cache.sum(1)


def written_after(cache, place, row):
    place = checked(place, 5)
    cache[place + 1] = row
    cache[place].mul_(2.0)
    return cache * 1.0


def filled(x, place):
    x = x.clone()
    x[0, place] = 7.0
    return x


def of_a_whole_number(x, place):
    n = place.item()
    made = [
        x * (n * 0.1) + 1 / (n + 1),
        x * (n // 2),
        x * (n % 2),
        x * -n,
        x + n / 2,
        x - (3 - n),
        x * 2.0**n,
        x * n**2,
    ]
    return [*made, x * torch.sym_max(n, 2), x * torch.sym_float(n)]


def of_a_float(x, factor):
    f = factor.item()
    return [x * (f * 0.1), x / f, x ** (f / 3), x * (f % 0.2), (1 - f) * x, x * (f - 1), x * -f]


def places():
    table, cache, at = normal(6, 3), normal(2, 5, 3), s64(3).reshape(())
    last, half = s64(-1).reshape(()), f32(0.5).reshape(())
    cases = {
        "an element": (lambda x, i: x[i], normal(6), at),
        "a row": (lambda x, i: x[i] * 2, table, at),
        "the last row": (lambda x, i: x[i] * 2, table, last),
        "a column": (lambda x, i: x[:, i], cache, at),
        "two places": (lambda x, i, j: x[i] - x[:, j].sum(), table, at, s64(1).reshape(())),
        "a place of 32 bits": (lambda x, i: x[i], table, at.to(torch.int32)),
        "a row before": (lambda x, i: x[checked(i, 6) - 1], table, at),
        "a row that is written": (written, cache, at, normal(2, 3)),
        "rows that are written": (written_after, normal(6, 3), at, normal(3)),
        "an element that is written": (filled, table, s64(1).reshape(())),
        "rows from a place": (lambda x, i: x.narrow(0, checked(i, 4), 2) + 1, table, at),
        "a part that is selected": (lambda x, i: x.select(1, checked(i, 5)), cache, at),
        "a factor": (lambda x, f: x * f.item(), table, half),
        "a whole factor": (lambda x, f: x * f.item() + f.item(), table, at),
        "a whole factor of whole numbers": (lambda x, f: x * f.item() - f.item(), s64(1, 2, 3), at),
        "a quotient": (lambda x, f: x / f.item(), table, at),
        "a factor that is a truth": (lambda x, f: x * f.item(), table, pred(1).reshape(())),
        "a power": (lambda x, f: (x * x + 1) ** f.item(), table, half),
        "a bound": (lambda x, f: torch.where(x > f.item(), x, 0.0), table, half),
        "a sum of numbers": (lambda x, i, j: x * (i.item() + j.item() * 2), table, at, s64(5).reshape(())),
        "numbers of a whole number": (of_a_whole_number, table, at),
        "numbers of a float": (of_a_float, table * table + 1, half),
        "a condition of a number": (lambda x, i: torch.cond(i.item() > 2, torch.sin, torch.cos, (x,)), table, at),
        "the other branch": (lambda x, i: torch.cond(i.item() > 4, torch.sin, torch.cos, (x,)), table, at),
    }
    for name, (function, *given) in cases.items():
        yield name, function, [call(*given)]
