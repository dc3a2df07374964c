// Runs a model that torch.export.save wrote, on rows of numbers from standard input, and prints a row for each:
//   torch_model MODEL.pt2 ROWS COLUMNS [cpu]
#include "lazyxla.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace lx = lazyxla;

static std::vector<float> numbers(size_t n) {
  std::vector<float> read(n);
  for (float &x : read)
    if (std::scanf("%f", &x) != 1) throw std::runtime_error("standard input has fewer numbers than rows times columns");
  return read;
}

static int run(const std::string &path, int64_t rows, int64_t columns, const lx::Place &place) {
  const std::vector<float> values = numbers(static_cast<size_t>(rows * columns));
  // [recipe]
  // Once: the sizes that the file leaves free, such as the batch, are given here.
  lx::ImportOptions options;
  options.shapes = {{rows, columns}};
  const lx::Computation model = lx::import_file(lx::Environment::borrow(place.env), path, options);
  // For each batch: the first call compiles, later ones run.
  const lx::Tensor x = lx::Tensor::from_host(values, {rows, columns}, place);
  const std::vector<float> result = model({x})[0].read<float>();
  // [recipe end]
  for (size_t i = 0; i < result.size(); i++)
    std::printf("%.9g%c", result[i], (i + 1) % (result.size() / static_cast<size_t>(rows)) ? ' ' : '\n');
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: %s MODEL.pt2 ROWS COLUMNS [cpu]\n", argv[0]), 2;
  const bool on_cpu = argc > 4 && std::strcmp(argv[4], "cpu") == 0;
  try {
    return run(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), on_cpu ? lx::cpu() : lx::xla());
  } catch (const std::exception &error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
