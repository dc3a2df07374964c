// Functions of C++ as somebody writes them who comes from JAX or PyTorch: second derivatives, directions, branches
// without parameters, loops by comparisons, and results in tuples. Each has values by hand.
#include "strangers.hpp"

namespace {

void second_derivatives() {
  const auto energy = [](const Tensor &x) { return lx::sum(x * x * x) + lx::product(x); };
  const auto hessian = lx::hessian(energy);
  for (int i = 0; i < 3; i++) {
    const float a = static_cast<float>(i), b = 2, c = 3;
    const Tensor found = hessian(lx::array({a, b, c}))[0];
    CHECK(found.dims() == (Dims{3, 3}));
    CHECK(wide(found) == (Doubles{6 * a, c, b, c, 6 * b, a, b, a, 6 * c}));
  }
  CHECK(hessian.traces() == 1);
  // By the first argument alone, of any shape; of a function of weights and data.
  const Tensor x = lx::array({{1.f}, {2.f}}), y = lx::array({{3.f}, {4.f}});
  const Tensor of_two = lx::hessian([](const Tensor &p, const Tensor &q) { return lx::sum(p * p * q); })(x, y)[0];
  CHECK(of_two.dims() == (Dims{2, 1, 2, 1}) && wide(of_two) == (Doubles{6, 0, 0, 8}));
  CHECK(wide(lx::hessian([](const Tensor &p) { return p * p; })(lx::scalar(3))[0]) == Doubles{2});
  REFUSED(LXLA_INVALID_ARGUMENT, "s32", hessian(lx::range(3)));
}
TEST(hessians) { on_both(second_derivatives); }

void directions() {
  const auto f = [](const Tensor &x, const Tensor &y) { return std::pair(x * y, lx::sum(x)); };
  const auto [values, slopes] =
      lx::jvp(f, {lx::array({3.f, 4.f}), lx::scalar(2)}, {lx::array({1.f, 0.f}), lx::scalar(1)});
  CHECK(values.size() == 2 && wide(values[0]) == (Doubles{6, 8}) && wide(values[1]) == Doubles{7});
  CHECK(slopes.size() == 2 && wide(slopes[0]) == (Doubles{5, 4}) && wide(slopes[1]) == Doubles{1});
  REFUSED(LXLA_INVALID_ARGUMENT, "parameters: 2 given; want 1", lx::jvp(f, {lx::scalar(1)}, {lx::scalar(1)}));
}
TEST(derivatives_in_a_direction) { on_both(directions); }

void branches() {
  const Tensor x = lx::array({1.f, 2.f});
  for (const double bound : {2.0, 5.0}) {
    const std::vector<Tensor> made = lx::cond(lx::sum(x) > bound, [&] { return x + 1; }, [&] { return x - 1; });
    CHECK(wide(made[0]) == (bound < 3 ? Doubles{2, 3} : Doubles{0, 1}));
  }
  const auto halved =
      lx::jit([](const Tensor &of) { return lx::cond(of > 1, [&] { return of / 2; }, [&] { return lx::zeros({}); }); });
  CHECK(wide(halved(lx::scalar(3))[0]) == Doubles{1.5} && wide(halved(lx::scalar(1))[0]) == Doubles{0});
}
TEST(branches_without_parameters) { on_both(branches); }

void loops() {
  // A loop of the host that reads a comparison.
  Tensor error = lx::scalar(1);
  int iterations = 0;
  Compiles compiles(3);
  for (; lx::value(error > 1e-3) != 0; iterations++, compiles.next()) error = error / 2;
  CHECK(iterations == 10 && lx::value(error) == std::pow(2, -10));
  // A scan without slices.
  const auto doubled = [](const Tensor &x) { return std::pair(x * 2, x); };
  const auto [carry, results] = lx::scan(doubled, {lx::scalar(1)}, {}, 5);
  CHECK(wide(carry[0]) == Doubles{32} && wide(results[0]) == (Doubles{1, 2, 4, 8, 16}));
  const auto add = [](const Tensor &sum, const Tensor &x) { return std::pair(sum + x, sum); };
  CHECK(wide(lx::scan(add, {lx::scalar(0)}, {lx::array({1.f, 2.f})}, 2).first[0]) == Doubles{3});
  REFUSED(LXLA_INVALID_ARGUMENT, "length: 3 given", lx::scan(add, {lx::scalar(0)}, {lx::array({1.f, 2.f})}, 3));
}
TEST(loops_by_comparisons) { on_both(loops); }

void results() {
  const auto step = lx::jit([](const std::vector<Tensor> &weights, const Tensor &x) {
    std::vector<Tensor> next;
    for (const Tensor &weight : weights) next.push_back(weight * x);
    return std::tuple(lx::sum(x), next, lx::range(2) == 1);
  });
  const std::vector<Tensor> all = step(std::vector<Tensor>{lx::array({1.f, 2.f}), lx::scalar(3)}, lx::scalar(2));
  CHECK(all.size() == 4 && wide(all[1]) == (Doubles{2, 4}) && wide(all[2]) == Doubles{6});
  CHECK(all[3].read<bool>() == (std::vector<bool>{false, true}));
}
TEST(vectors_in_tuples) { on_both(results); }

void numbers() {
  CHECK(lx::array({5.f}, {}).dims().empty() && lx::array({5.f}, lx::xla()).device().kind == LXLA_DEVICE_XLA);
  const Tensor x = lx::range(6);
  CHECK(lx::mask_assign(x, x > 2, -1).read<int32_t>() == (std::vector<int32_t>{0, 1, 2, -1, -1, -1}));
  CHECK(lx::slice_assign(x, {1}, {6}, {2}, 7).read<int32_t>() == (std::vector<int32_t>{0, 7, 2, 7, 4, 7}));
  REFUSED(LXLA_INVALID_ARGUMENT, "0.5", lx::mask_assign(x, x > 2, 0.5));
  CHECK((x != 3).read<bool>() == (std::vector<bool>{true, true, true, false, true, true}));
  CHECK((2 <= x).read<bool>() == (std::vector<bool>{false, false, true, true, true, true}));
}
TEST(numbers_in_the_place_of_tensors) { on_both(numbers); }

}  // namespace
