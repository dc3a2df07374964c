"""Batch normalization and its gradient, as ops_test.py compares them."""

import functools

import numpy as np
from ops_cases import Case, Operation, plain
from ops_reference import computed_in, limits
from ops_values import DTYPES


# Shapes, each with its feature axis.
BATCHES = [((6, 5, 4), 1), ((33, 3), -1), ((3, 2), 0), ((1, 3), 1), ((4, 1), 1), ((0, 3), 1), ((3, 0), 1), ((5,), 0)]


class Batch:
    """Holds x with the feature axis last; its methods compute over all other axes."""

    def __init__(self, x, epsilon, axis):
        self.axis, self.epsilon = axis, x.dtype.type(epsilon)
        self.x = np.moveaxis(x, axis, -1)
        self.others = tuple(range(x.ndim - 1))
        self.count = x.dtype.type(self.x.size // max(self.x.shape[-1], 1))

    def sum(self, x):
        return x.sum(axis=self.others)

    def mean(self, x):
        return self.sum(x) / self.count

    def inverse(self, variance):
        return 1 / np.sqrt(variance + self.epsilon)

    def back(self, x):
        return np.moveaxis(x, -1, self.axis)


def training(x, scale, offset, epsilon, axis, result):
    batch = Batch(x, epsilon, axis)
    mean = batch.mean(batch.x)
    variance = batch.mean((batch.x - mean) ** 2)
    made = (batch.x - mean) * batch.inverse(variance) * scale + offset
    return (batch.back(made), mean, variance)[result]


def training_size(x, scale, offset, epsilon, axis, result):
    """Returns the scale of errors: of differences, the size of the operands; of the variance, the square of that."""
    batch = Batch(x, epsilon, axis)
    mean, size = batch.mean(batch.x), batch.mean(np.abs(batch.x))
    variance = batch.mean((batch.x - mean) ** 2)
    made = (np.abs(batch.x) + size) * batch.inverse(variance) * np.abs(scale) + np.abs(offset)
    return (batch.back(made), size, variance + size**2 * limits(computed_in(x))[2])[result]


def inference(x, scale, offset, mean, variance, epsilon, axis):
    batch = Batch(x, epsilon, axis)
    return batch.back((batch.x - mean) * batch.inverse(variance) * scale + offset)


def inference_size(x, scale, offset, mean, variance, epsilon, axis):
    batch = Batch(x, epsilon, axis)
    return batch.back((np.abs(batch.x) + np.abs(mean)) * batch.inverse(variance) * np.abs(scale) + np.abs(offset))


def gradient(x, scale, mean, variance, grad, epsilon, axis, result):
    batch = Batch(x, epsilon, axis)
    inverse, grad = batch.inverse(variance), np.moveaxis(grad, axis, -1)
    normalized = (batch.x - mean) * inverse
    offset, along = batch.sum(grad), batch.sum(grad * normalized)
    made = (grad - offset / batch.count - normalized * along / batch.count) * scale * inverse
    return (batch.back(made), along, offset)[result]


def gradient_size(x, scale, mean, variance, grad, epsilon, axis, result):
    """Returns the scale of errors of the gradient: its formula with sums in place of differences."""
    batch = Batch(np.abs(x), epsilon, axis)
    inverse, grad = batch.inverse(variance), np.abs(np.moveaxis(grad, axis, -1))
    normalized = (batch.x + np.abs(mean)) * inverse
    offset, along = batch.sum(grad), batch.sum(grad * normalized)
    made = (grad + offset / batch.count + normalized * along / batch.count) * np.abs(scale) * inverse
    return (batch.back(made), along, offset)[result]


@functools.cache
def far(name, shape):
    """Returns a batch whose means are large beside the deviations; its first feature is constant."""
    made = plain(name, shape, 81).astype(np.float64) + 1000
    made[..., 0] = 0.1
    return made.astype(DTYPES[name][1])


@functools.cache
def positive(name, shape, seed):
    return np.abs(plain(name, shape, seed))


def batches(name):
    """Yields x, its feature axis, and the dtype of the operands with one number for each feature."""
    rows = [(plain(name, shape, 81), axis, name) for shape, axis in (BATCHES if name == "f32" else BATCHES[:1])]
    if name in ("f16", "bf16"):
        rows.append((*rows[0][:2], "f32"))
    return rows + ([(far(name, (17, 3)), -1, name)] if name != "f64" else [])


def operation(name, call, of, scale, numbers, with_grad=False, results=1):
    """Makes cases; `numbers` gives a function for each operand that has one number for each feature."""

    def cases(dtype):
        made = []
        for x, axis, features in batches(dtype):
            arrays = [x] + [make(features, (x.shape[axis],), 82 + i) for i, make in enumerate(numbers)]
            arrays += [plain(dtype, x.shape, 88)] if with_grad else []
            given = {"epsilon": 1e-3, "axis": axis}
            for i in range(results):
                made.append(Case(arrays, given | ({"result": i} if results > 1 else {}), features if i else dtype))
        return made

    return Operation(name, "float", call, of, cases, scale=scale)


def one_of_three(function):
    return lambda world, *tensors, epsilon, axis, result: world.one_of(function, 3, result, *tensors, epsilon, axis)


def batch_norms():
    trained, graded = one_of_three("lxla_batch_norm_training"), one_of_three("lxla_batch_norm_grad")
    inferred = lambda world, *tensors, epsilon, axis: world.make("lxla_batch_norm_inference", *tensors, epsilon, axis)
    last = [plain, plain, plain, positive]
    return [
        operation("batch_norm_training", trained, training, training_size, last[:2], results=3),
        operation("batch_norm_inference", inferred, inference, inference_size, last),
        operation("batch_norm_grad", graded, gradient, gradient_size, last[1:], with_grad=True, results=3),
    ]
