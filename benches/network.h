// A network of layers x + relu(x W + b), and its training step: forward, backward and momentum, each operation
// recorded.
#ifndef LXLA_BENCH_NETWORK_H
#define LXLA_BENCH_NETWORK_H

#include "digits.h"
#include "pjrt.h"

enum { NETWORK_DEEPEST = 400, NETWORK_WIDTH = 64, NETWORK_ROWS = 32, NETWORK_WEIGHTS = NETWORK_WIDTH * NETWORK_WIDTH };
enum { NETWORK_HANDLES = 13 * NETWORK_DEEPEST + 5 };  // the most that a step finishes with

typedef struct {
  int depth;
  int at_once;  // whether a step releases its handles by one lxla_tensor_release_many at its end, or one by one
  layer layers[NETWORK_DEEPEST];
  lxla_tensor x, y;
  lxla_tensor finished[NETWORK_HANDLES];  // with `at_once`: to be released
  size_t finished_count;
} network;

// Returns [rows, columns] of numbers below 1 that depend on `number`; at most NETWORK_WEIGHTS.
static lxla_tensor pattern(int number, int64_t rows, int64_t columns) {
  float values[NETWORK_WEIGHTS];
  for (int i = 0; i < rows * columns; i++) values[i] = (float)((i * (number + 3)) % 17) / 17;
  return from_host(values, rows, columns);
}

static lxla_tensor transposed(lxla_tensor x) {
  lxla_tensor out;
  OK(lxla_transpose(x, (const int64_t[]){1, 0}, 2, &out));
  return out;
}

static void network_prepare(network *n, int depth, int at_once) {
  float weight[NETWORK_WEIGHTS];
  const int64_t width = NETWORK_WIDTH;
  random_state = 0x9E3779B97F4A7C15u;
  n->depth = depth, n->at_once = at_once, n->finished_count = 0;
  for (int i = 0; i < depth; i++) {
    for (int k = 0; k < NETWORK_WEIGHTS; k++) weight[k] = (float)(normal() * 0.1 / depth);
    n->layers[i] = (layer){from_host(weight, width, width), zeros(1, width), zeros(width, width), zeros(1, width)};
  }
  n->x = pattern(0, NETWORK_ROWS, width), n->y = pattern(1, NETWORK_ROWS, width);
}

static void network_release(network *n) {
  drop(n->x), drop(n->y);
  for (int i = 0; i < n->depth; i++) {
    const layer *l = &n->layers[i];
    OK(lxla_tensor_release_many((const lxla_tensor[]){l->weight, l->bias, l->weight_momentum, l->bias_momentum}, 4));
  }
}

static void finish(network *n, lxla_tensor x) {
  if (n->at_once) {
    n->finished[n->finished_count++] = x;
  } else {
    drop(x);
  }
}

// Returns the outputs of the last layer; keeps the inputs of each layer, and the mask of its ReLU.
static lxla_tensor go_forward(network *n, lxla_tensor *inputs, lxla_tensor *passed) {
  OK(lxla_tensor_snapshot(n->x, &inputs[0]));
  for (int i = 0; i < n->depth; i++) {
    lxla_tensor product = matmul(inputs[i], n->layers[i].weight);
    lxla_tensor sum = binary(LXLA_BINARY_ADD, product, n->layers[i].bias);
    OK(lxla_binary_scalar(LXLA_BINARY_MAXIMUM, sum, 0, &passed[i]));
    inputs[i + 1] = binary(LXLA_BINARY_ADD, inputs[i], passed[i]);
    finish(n, product), finish(n, sum);
  }
  return inputs[n->depth];
}

// Returns the mean square of outputs - y, and its derivative.
static lxla_tensor square_error(network *n, lxla_tensor outputs, lxla_tensor *gradient) {
  const double elements = NETWORK_ROWS * NETWORK_WIDTH;
  lxla_tensor error = binary(LXLA_BINARY_SUBTRACT, outputs, n->y), square = binary(LXLA_BINARY_MULTIPLY, error, error),
              sum;
  OK(lxla_reduce(LXLA_REDUCE_SUM, square, (const int64_t[]){0, 1}, 2, 0, &sum));
  lxla_tensor loss = scaled(sum, 1 / elements);
  *gradient = scaled(error, 2 / elements);
  finish(n, error), finish(n, square), finish(n, sum);
  return loss;
}

// Records one layer backward: updates its parameters, and returns the gradient of its inputs.
static lxla_tensor go_back(network *n, layer *at, lxla_tensor inputs, lxla_tensor passed, lxla_tensor gradient) {
  lxla_tensor zero = zeros(1, 1), open, inner;
  OK(lxla_compare(LXLA_COMPARE_GT, passed, zero, &open));
  OK(lxla_select(open, gradient, zero, &inner));
  lxla_tensor transposed_inputs = transposed(inputs), by_weight = matmul(transposed_inputs, inner);
  lxla_tensor by_bias = reduced(LXLA_REDUCE_SUM, inner, 0, 1), weight = transposed(at->weight);
  lxla_tensor back = matmul(inner, weight), result = binary(LXLA_BINARY_ADD, gradient, back);
  update(at->weight, at->weight_momentum, by_weight, 1e-3);
  update(at->bias, at->bias_momentum, by_bias, 1e-3);
  const lxla_tensor done[] = {zero, open, inner, transposed_inputs, by_weight, by_bias, weight, back, gradient};
  for (size_t i = 0; i < sizeof done / sizeof *done; i++) finish(n, done[i]);
  return result;
}

// Records one training step. Returns the loss.
static lxla_tensor network_train(network *n) {
  lxla_tensor inputs[NETWORK_DEEPEST + 1], passed[NETWORK_DEEPEST], gradient;
  lxla_tensor loss = square_error(n, go_forward(n, inputs, passed), &gradient);
  for (int i = n->depth - 1; i >= 0; i--) gradient = go_back(n, &n->layers[i], inputs[i], passed[i], gradient);
  finish(n, gradient);
  for (int i = 0; i < n->depth; i++) finish(n, inputs[i]), finish(n, passed[i]);
  finish(n, inputs[n->depth]);
  OK(lxla_tensor_release_many(n->finished, n->finished_count));
  n->finished_count = 0;
  return loss;
}

#endif
