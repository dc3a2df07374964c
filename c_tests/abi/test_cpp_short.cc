// Conveniences of the C++ wrapper, on an XLA device and natively: the names of lazyxla_short.h with the values that
// test_short.c expects of them, the device of a block, and functions of C++ as bodies of loops.
#include "strangers.hpp"

#include <sstream>

namespace {

// --- Places -------------------------------------------------------------------------------------------------------

TEST(a_block_chooses_the_device_of_new_tensors) {
  Environment env;
  const Scope scope(env);
  CHECK(lx::zeros({2}).device().kind == LXLA_DEVICE_CPU);
  {
    const lx::UseDevice outer(xla());
    const Tensor x = lx::ones({2});
    CHECK(x.device().kind == LXLA_DEVICE_XLA && lx::key(1).device().kind == LXLA_DEVICE_XLA);
    CHECK(Tensor::full({2}, 1, LXLA_DTYPE_F32, env).device().kind == LXLA_DEVICE_XLA);
    CHECK(Tensor::full({2}, 1, LXLA_DTYPE_F32, {env, lx::cpu()}).device().kind == LXLA_DEVICE_CPU);
    {
      const lx::UseDevice inner(lx::cpu());
      CHECK(lx::ones({2}).device().kind == LXLA_DEVICE_CPU);
      CHECK(lx::zeros_like(x).device().kind == LXLA_DEVICE_XLA);
      // A trace, and the tensors that it creates, have the device of its parameters, not the device of the block.
      const lx::Computation more = lx::trace([](const Tensor &x) { return x * 2 + lx::ones({2}); }, x);
      CHECK(near(more({x})[0], {3, 3}) && lx::ones({2}).device().kind == LXLA_DEVICE_CPU);
      REFUSED(LXLA_INVALID_ARGUMENT, "lxla_matmul",
              lx::jit([](const Tensor &x) { return lx::matmul(x, lx::ones({3})); })(x));
      CHECK(lx::ones({2}).device().kind == LXLA_DEVICE_CPU);
    }
    CHECK(lx::ones({2}).device().kind == LXLA_DEVICE_XLA);
  }
  CHECK(lx::zeros({2}).device().kind == LXLA_DEVICE_CPU);
}

TEST(an_error_of_two_devices_says_why_one_is_cpu) {
  Environment env;
  const Scope scope(env);
  const Tensor x = lx::ones({2}, xla()), y = lx::ones({2});
  REFUSED(LXLA_INVALID_ARGUMENT, "tensors that are created without a place are on cpu", x + y);
  REFUSED(LXLA_INVALID_ARGUMENT, "UseDevice", lx::jit([&](const Tensor &x) { return x + y; })(x));
  CHECK(near(x + y.to_device(x.device()), {2, 2}));
}

// --- Creation, elements, reductions -------------------------------------------------------------------------------

TEST(creation) {
  on_both([] {
    CHECK(has<int32_t>(lx::array({1, 2, 3}), {1, 2, 3}) && has<double>(lx::array({0.5}), {0.5}));
    CHECK(lx::array({1.f, 2.f, 3.f, 4.f}, {2, 2}).dims() == (Dims{2, 2}));
    CHECK(has<bool>(lx::array(std::vector<bool>{true, false}), {true, false}));
    CHECK(near(lx::array(Floats{1, 2}, {2, 1}), {1, 2}) && lx::array(Floats{1, 2}, {2, 1}).rank() == 2);
    CHECK(near(lx::full({2}, 0.5), {0.5, 0.5}) && has<int32_t>(lx::full({2}, 7, LXLA_DTYPE_S32), {7, 7}));
    CHECK(near(lx::zeros({1, 2}), {0, 0}) && has<double>(lx::ones({1}, LXLA_DTYPE_F64), {1}));
    CHECK(has<int32_t>(lx::zeros({2}, LXLA_DTYPE_S32), {0, 0}) && has<int32_t>(lx::range(3), {0, 1, 2}));
    CHECK(near(lx::eye(2), {1, 0, 0, 1}) && lx::scalar(2.5).rank() == 0 && lx::value(lx::scalar(2.5)) == 2.5);
    const Tensor like = lx::ones_like(lx::zeros({2, 1}, LXLA_DTYPE_S16));
    CHECK(like.dtype() == LXLA_DTYPE_S16 && like.dims() == (Dims{2, 1}) && lx::value(lx::sum(like)) == 2);
    CHECK(near(lx::arange(1, 2.5, 0.5), {1, 1.5, 2}) && near(lx::linspace(0, 1, 3), {0, 0.5, 1}));
    const Tensor rows = lx::array({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
    CHECK(near(rows, {1, 2, 3, 4, 5, 6}) && rows.dims() == (Dims{2, 3}));
    CHECK(near(lx::array(std::array<float, 2>{1, 2}), {1, 2}) && lx::array(Floats{1, 2}).dims() == (Dims{2}));
    CHECK(has<int64_t>(lx::array({int64_t{1} << 40}), {int64_t{1} << 40}));
    REFUSED(LXLA_INVALID_ARGUMENT, "rows of 2 and 1 elements given", lx::array({{1, 2}, {3}}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lxla_tensor_from_host: ", lx::array({1, 2, 3}, {2}));
    REFUSED(LXLA_NOT_FOUND, "lxla_load", lx::load("/no/such/file", "x"));
  });
}

TEST(values_of_every_dtype) {
  on_both([] {
    const Tensor x = lx::scalar(3);
    for (const lx::Dtype dtype :
         {LXLA_DTYPE_S8, LXLA_DTYPE_S16, LXLA_DTYPE_S32, LXLA_DTYPE_S64, LXLA_DTYPE_U8, LXLA_DTYPE_U16, LXLA_DTYPE_U32,
          LXLA_DTYPE_U64, LXLA_DTYPE_F16, LXLA_DTYPE_BF16, LXLA_DTYPE_F32, LXLA_DTYPE_F64, LXLA_DTYPE_S4})
      CHECK(lx::value(lx::convert(x, dtype)) == 3);
    CHECK(lx::value(lx::eq(x, 3)) == 1 && lx::value(lx::array({9}, {1, 1})) == 9);
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::value: a tensor of 2 elements given", lx::value(lx::zeros({2})));
  });
}

TEST(elements) {
  on_both([] {
    const Tensor x = lx::array({1.f, -2.f, 4.f});
    CHECK(near(lx::neg(x), {-1, 2, -4}) && near(lx::square(x), {1, 4, 16}) && near(lx::pow(2, x), {2, 0.25, 16}));
    CHECK(near(lx::sigmoid(x), {0.7310586f, 0.1192029f, 0.9820138f}));
    CHECK(near(lx::where(lx::lt(x, 0), 0, x), {1, 0, 4}) && near(lx::where(lx::ge(1, x), x, -1), {1, -2, -1}));
    CHECK(near(lx::where(lx::lt(x, 0), -x, x), {1, 2, 4}));
    CHECK(has<int64_t>(lx::where(lx::lt(x, 0), 1, 2), {2, 1, 2}) && near(lx::clip(x, -1, 2.5), {1, -1, 2.5}));
    CHECK(near(lx::round(x * 0.5), {0, -1, 2}) && near(lx::sort(x), {-2, 1, 4}));
  });
}

TEST(reductions_over_one_axis) {
  on_both([] {
    const Tensor x = lx::array({1.f, 2.f, 3.f, 0.f, 0.f, 6.f}, {2, 3});
    CHECK(near(lx::sum(x, 1), {6, 6}) && lx::sum(x, 1).rank() == 1 && near(lx::sum(x, -1, true), {6, 6}));
    CHECK(lx::sum(x, 0, true).dims() == (Dims{1, 3}) && lx::sum_along(x, 1).dims() == (Dims{2, 1}));
    CHECK(near(lx::mean_along(x, 0), {0.5, 1, 4.5}) && near(lx::mean(x, 1), {2, 2}));
    CHECK(near(lx::max(x, 1), {3, 6}) && near(lx::min_along(x, 1), {1, 0}) && near(lx::product(x, 1), {6, 0}));
    CHECK(near(lx::logsumexp(x * 0, 1), {1.0986123f, 1.0986123f}));
    CHECK(has<bool>(lx::any(lx::gt(x, 5), 1), {false, true}) && has<bool>(lx::all(lx::ge(x, 1), 1), {true, false}));
    CHECK(near(lx::variance(x), {13.f / 3}) && near(lx::variance(x, 1), {2.f / 3, 8}));
    CHECK(near(lx::standard_deviation(x * 3), {6.244998f}) && near(lx::standard_deviation(x, 1, 1), {1, 3.4641016f}));
    CHECK(near(lx::sum(x, {0, 1}), {12}) && near(lx::sum(x, {1}), {6, 6}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lxla_reduce: axes", lx::sum(x, 2));
  });
}

TEST(shapes) {
  on_both([] {
    const Tensor x = lx::reshape(lx::range(6), {2, -1});
    CHECK(x.dims() == (Dims{2, 3}) && lx::reshape(x, {-1}).dims() == (Dims{6}));
    CHECK(lx::reshape(lx::zeros({0, 4}), {-1, 4}).dims() == (Dims{0, 4}));
    REFUSED(LXLA_INVALID_ARGUMENT, "dims[1] is -1; x has 6 elements", lx::reshape(x, {4, -1}));
    REFUSED(LXLA_INVALID_ARGUMENT, "dims[0] is -1; x has 6 elements", lx::reshape(x, {-1, INT64_MAX, 4}));
    REFUSED(LXLA_INVALID_ARGUMENT, "dims[0] is -1; want no other negative size", lx::reshape(x, {-1, -1}));
    REFUSED(LXLA_INVALID_ARGUMENT, "dims[0] is -1; x has 0 elements", lx::reshape(lx::zeros({0}), {-1, 0}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lxla_reshape: ", lx::reshape(x, {7}));
    CHECK(has<int32_t>(lx::transpose(x), {0, 3, 1, 4, 2, 5}) &&
          lx::transpose(lx::zeros({1, 2, 3})).dims() == (Dims{3, 2, 1}));
    CHECK(lx::expand_dims(x, 1).dims() == (Dims{2, 1, 3}) && lx::squeeze(lx::expand_dims(x, -1), 2).rank() == 2);
    CHECK(has<int32_t>(lx::flip(x, 1), {2, 1, 0, 5, 4, 3}) && lx::concatenate({x, x}).dims() == (Dims{4, 3}));
    CHECK(has<int32_t>(x[1], {3, 4, 5}) && has<int32_t>(x[-1][0], {3}) && x[0][2].rank() == 0);
    REFUSED(LXLA_INVALID_ARGUMENT, "index: 2 given; the first axis has 2 elements", x[2]);
    REFUSED(LXLA_INVALID_ARGUMENT, "index: -3 given", x[-3]);
    REFUSED(LXLA_INVALID_ARGUMENT, "of a tensor without axes", lx::scalar(1)[0]);
  });
}

TEST(texts) {
  on_both([] {
    const auto text = [](const Tensor &x) {
      std::ostringstream out;
      out << x;
      return out.str();
    };
    const Tensor x = lx::array({1.f, 2.5f, -3.f});
    CHECK(text(x) == "f32[3] [1, 2.5, -3]" && text(lx::scalar(0.1)) == "f32[] 0.1");
    CHECK(text(lx::reshape(lx::range(4), {2, 2})) == "s32[2,2]\n[[0, 1],\n [2, 3]]");
    CHECK(text(lx::zeros({1, 2, 1})) == "f32[1,2,1]\n[[[0],\n  [0]]]" && text(lx::zeros({0})) == "f32[0] []");
    CHECK(text(lx::gt(x, 2)) == "pred[3] [false, true, false]" && text(lx::complex(x, x)).find("(2.5,2.5)") < 20);
    CHECK(text(lx::convert(x, LXLA_DTYPE_S4)) == "s4[3] [1, 2, -3]");
    CHECK(text(lx::convert(x, LXLA_DTYPE_BF16)) == "bf16[3] [1, 2.5, -3]");
    CHECK(text(Tensor::full_exact({1}, UINT64_MAX, LXLA_DTYPE_U64)) == "u64[1] [18446744073709551615]");
    CHECK(text(lx::range(1001)) == "s32[1001] [0, 1, 2, ..., 998, 999, 1000]");
    const std::string rows = text(lx::reshape(lx::range(1400), {7, -1}));
    CHECK(rows.find("[400, 401, 402, ..., 597, 598, 599],\n ...,\n [800, 801, 802, ..., 997") != std::string::npos);
    CHECK(text(lx::complex(x, x)) == "c64[3] [(1,1), (2.5,2.5), (-3,-3)]");
    CHECK(text(x.placeholder_like()) == "f32[3]" && text(Tensor()) == "no tensor");
    lx::jit([&](const Tensor &x) {
      CHECK(text(x * 2) == "f32[3]");
      return x;
    })(x);
  });
}

// --- Networks and random numbers ----------------------------------------------------------------------------------

TEST(networks) {
  on_both([] {
    const Tensor x = lx::reshape(lx::convert(lx::range(16), LXLA_DTYPE_F32), {1, 4, 4, 1});
    CHECK(near(lx::max_pool(x, 2, 2), {5, 7, 13, 15}) && near(lx::avg_pool(x, 2, 2), {2.5, 4.5, 10.5, 12.5}));
    CHECK(near(lx::max_pool(x, 3, 1), {10, 11, 14, 15}) && near(lx::avg_pool(x, 2), {2.5, 4.5, 10.5, 12.5}));
    const Tensor ones = lx::ones({3, 3, 1, 1});
    CHECK(near(lx::conv2d(x, ones), {45, 54, 81, 90}) && near(lx::conv2d(x, ones, 2, true), {45, 39, 66, 50}));
    CHECK(lx::conv2d(x, ones, 1, true).dims() == x.dims());
    const Tensor scores = lx::array({1.f, 2.f, 3.f, 0.f, 0.f, 0.f}, {2, 3}), labels = lx::array({2, 0});
    CHECK(near(lx::cross_entropy(scores, labels), {(0.40760596f + 1.0986123f) / 2}));
    const Tensor batch = lx::array({1.f, 0.f, 3.f, 8.f}, {2, 2});
    const lx::BatchNorm normal = lx::batch_norm(batch, lx::array({1.f, 2.f}), lx::array({0.f, 1.f}), 0);
    CHECK(near(normal.values, {-1, -1, 1, 3}) && near(normal.mean, {2, 4}) && near(normal.variance, {1, 16}));
    CHECK(near(lx::batch_norm_inference(batch, lx::ones({2}), lx::zeros({2}), lx::ones({2}), lx::full({2}, 4), 0),
               {0, -0.5, 1, 3.5}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::conv2d: images of 2 axes", lx::conv2d(scores, ones));
    REFUSED(LXLA_INVALID_ARGUMENT, "lxla_convolution", lx::conv2d(x, ones, 0, true));
    REFUSED(LXLA_INVALID_ARGUMENT, "rank", lx::max_pool(scores, 2));
    REFUSED(LXLA_INVALID_ARGUMENT, "lxla_take_along_axis", lx::cross_entropy(scores, lx::range(3)));
  });
}

// The numbers of jax.random with the same keys.
TEST(random_numbers) {
  on_both([] {
    Tensor key = lx::key(42);
    const Tensor before = key, next = lx::next_key(key);
    CHECK(has<uint32_t>(key, {1832780943u, 270669613u}) && has<uint32_t>(next, {64467757u, 2916123636u}));
    CHECK(has<uint32_t>(before, {0, 42}) && has<uint32_t>(lx::key((uint64_t{1} << 32) + 5), {1, 5}));
    CHECK(near(lx::normal(lx::key(0), {3}), {1.6226422f, 2.0252647f, -0.43359444f}));
    CHECK(near(lx::uniform(lx::key(0), 0, 1, {2}), {0.947667f, 0.9785799f}));
    CHECK(near(lx::uniform(lx::key(0), {2}), {0.947667f, 0.9785799f}));
    const Tensor dropped = lx::dropout(lx::ones({10000}), 0.25, lx::key(7));
    CHECK(std::fabs(lx::value(lx::mean(dropped)) - 1) < 0.03 && near(lx::max(dropped), {4 / 3.f}));
    const double share = lx::value(lx::mean(lx::convert(lx::eq(dropped, 0), LXLA_DTYPE_F32)));
    CHECK(std::fabs(share - 0.25) < 0.02);
    CHECK(near(lx::dropout(lx::ones({2}), 0, key), {1, 1}) && near(lx::dropout(lx::ones({2}), 1, key), {0, 0}));
    const auto slope = lx::value_and_grad([&](const Tensor &x) { return lx::sum(lx::dropout(x, 1, before)); });
    CHECK(near(slope(lx::ones({2}))[1], {0, 0}));
    REFUSED(LXLA_INVALID_ARGUMENT, "p: -1 given", lx::dropout(key, 2, key));
    REFUSED(LXLA_INVALID_ARGUMENT, "-1 given", lx::key(-1));
  });
}

// --- Functions ----------------------------------------------------------------------------------------------------

TEST(functions_of_tensors_and_lists) {
  on_both([] {
    int calls = 0;
    const auto f = lx::jit([&](const std::vector<Tensor> &p, const Tensor &x, const std::vector<Tensor> &q) {
      calls++;
      Tensor all = x * static_cast<double>(p.size());
      for (const Tensor &each : p) all = all + each;
      for (const Tensor &each : q) all = all - each;
      return all;
    });
    const Tensor one = lx::ones({2});
    CHECK(near(f(std::vector<Tensor>{one, one}, one * 5, std::vector<Tensor>{one})[0], {11, 11}));
    CHECK(near(f(std::vector<Tensor>{one * 2, one}, one * 5, std::vector<Tensor>{one})[0], {12, 12}) && calls == 1);
    // The same tensors in lists of other lengths are another trace.
    CHECK(near(f(std::vector<Tensor>{one}, one, std::vector<Tensor>{one * 5, one})[0], {-4, -4}) && calls == 2);
    CHECK(f.traces() == 2);
    const auto loss = lx::value_and_grad(
        [](const std::vector<Tensor> &w, const Tensor &x) { return lx::sum(w[0] * w[1] * x); }, lx::by_first(2));
    const auto results = loss(std::vector<Tensor>{one * 2, one * 3}, one * 5);
    CHECK(results.size() == 3 && near(results[0], {60}) && near(results[1], {15, 15}) && near(results[2], {10, 10}));
    const lx::Computation traced = lx::trace([](const std::vector<Tensor> &w, const Tensor &x) { return w[0] + x; },
                                             std::vector<Tensor>{one}, one);
    CHECK(traced.params() == 2 && near(traced({one, one * 2})[0], {3, 3}));
  });
}

TEST(gradients_and_batches_of_functions) {
  on_both([] {
    const Tensor x = lx::array({1.f, 2.f});
    const auto slope = lx::grad([](const Tensor &x) { return lx::sum(x * x * x); });
    CHECK(slope(x).size() == 1 && near(slope(x)[0], {3, 12}));
    CHECK(near(lx::grad([&](const Tensor &x) { return lx::sum(slope(x)[0]); })(x)[0], {6, 12}));
    const auto [value, by_x, by_y] =
        lx::unpack<3>(lx::value_and_grad([](const Tensor &x, const Tensor &y) { return lx::sum(x * y); })(x, x + 1));
    CHECK(near(value, {8}) && near(by_x, {2, 3}) && near(by_y, {1, 2}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::unpack: 1 tensors given; want 2", lx::unpack<2>(slope(x)));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::grad: f returns 2 tensors",
            lx::grad([](const Tensor &x) { return std::pair(lx::sum(x), x); })(x));
    // One for each element; a matrix and each of its columns; a list and a tensor without a batch.
    CHECK(near(lx::vmap(lx::grad([](const Tensor &x) { return x * x; }))(x)[0], {2, 4}));
    const Tensor m = lx::array({1.f, 2.f, 3.f, 4.f}, {2, 2});
    const auto times = [](const Tensor &a, const Tensor &v) { return lx::matmul(a, v); };
    CHECK(near(lx::vmap(times, {-1, 1})(m, m)[0], {7, 15, 10, 22}));
    const auto all =
        lx::vmap([](const std::vector<Tensor> &p, const Tensor &y) { return lx::sum(p[0] * p[1]) + y; }, {0, 0, -1});
    CHECK(near(all(std::vector<Tensor>{m, m}, lx::scalar(1))[0], {6, 26}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::vmap: in_axes: 1 given; want 2", lx::vmap(times, {0})(m, m));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::vmap: in_axes: axis 2", lx::vmap(times, {2, 0})(m, m));
    REFUSED(LXLA_INVALID_ARGUMENT, "no tensor has a batch axis", lx::vmap(times, {-1, -1})(m, m));
  });
}

TEST(generic_functions_and_functions_that_change_a_parameter) {
  on_both([] {
    const Tensor x = lx::array({1.f, 2.f});
    CHECK(near(lx::jit([](auto x) { return x * x; })(x)[0], {1, 4}));
    CHECK(near(lx::jit([](const auto &p) { return p[0] * p[1]; })({x, x})[0], {1, 4}));
    const auto square = lx::jit([](const Tensor &x) { return x * x; });
    CHECK(lx::value(lx::while_loop([](Tensor x) { return lx::lt(x, 100); }, square, {lx::scalar(3)})[0]) == 6561);
    REFUSED(LXLA_INVALID_ARGUMENT, "the function changes its parameter 1 in place",
            lx::jit([](const Tensor &x, Tensor y) { return y += x; })(x, x));
    CHECK(near(lx::jit([](const Tensor &x) {
                 Tensor y = x * 2;
                 return y += 1;
               })(x)[0],
               {3, 5}) &&
          near(x, {1, 2}));
  });
}

TEST(loops_and_branches_of_functions) {
  on_both([] {
    const Tensor start = lx::scalar(1), zero = lx::zeros({}, LXLA_DTYPE_S32);
    const auto powers =
        lx::while_loop([](const Tensor &, const Tensor &k) { return lx::lt(k, 5); },
                       [](const Tensor &x, const Tensor &k) { return std::pair(x * 2, k + 1); }, {start, zero});
    CHECK(lx::value(powers[0]) == 32 && lx::value(powers[1]) == 5);
    const auto bounded = lx::while_bounded([](const std::vector<Tensor> &s) { return lx::lt(s[0], 100); },
                                           [](const std::vector<Tensor> &s) { return s[0] * 3; }, {start}, 3);
    CHECK(lx::value(bounded.values[0]) == 27 && lx::value(bounded.ended) == 0);
    const auto chosen = [&](double at) {
      return lx::value(lx::cond(
          lx::gt(lx::scalar(at), 0), [](const Tensor &x) { return x + 1; }, [](const Tensor &x) { return x - 1; },
          {start})[0]);
    };
    CHECK(chosen(1) == 2 && chosen(-1) == 0);
    const Tensor xs = lx::array({1.f, 2.f, 3.f});
    const auto sums = [&](bool reverse) {
      return lx::scan(
          [](const Tensor &sum, const Tensor &x) {
            const Tensor next = sum + x;
            return std::pair(next, next * 10);
          },
          {lx::scalar(0)}, {xs}, reverse);
    };
    CHECK(lx::value(sums(false).first[0]) == 6 && near(sums(false).second[0], {10, 30, 60}));
    CHECK(near(sums(true).second[0], {60, 50, 30}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::while_loop: body: parameters: 1 given; want 2",
            lx::while_loop([](const std::vector<Tensor> &s) { return lx::lt(s[1], 5); },
                           [](const Tensor &x) { return x; }, {start, zero}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::scan: xs", lx::scan([](const Tensor &x) { return x; }, {start}, {}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::scan: xs",
            lx::scan([](const Tensor &x, const Tensor &) { return x; }, {start}, {start}));
  });
}

// Sums of many bf16 and f16 have too few digits, and some floats of 8 bits have no infinity.
TEST(pools_of_narrow_floats) {
  on_both([] {
    const Tensor x = lx::full({1, 32, 32, 1}, 300);
    for (const lx::Dtype dtype : {LXLA_DTYPE_BF16, LXLA_DTYPE_F16}) {
      const Tensor mean = lx::avg_pool(lx::convert(x, dtype), 32);
      CHECK(mean.dtype() == dtype && lx::value(mean) == 300);
    }
    for (const lx::Dtype dtype : {LXLA_DTYPE_F8E4M3FN, LXLA_DTYPE_F8E5M2, LXLA_DTYPE_F8E4M3FNUZ}) {
      const Tensor largest = lx::max_pool(lx::convert(lx::array({-2.f, -1.f, -3.f, -4.f}, {1, 2, 2, 1}), dtype), 2);
      CHECK(largest.dtype() == dtype && lx::value(largest) == -1);
    }
  });
}

TEST(labels_out_of_range_give_nan) {
  on_both([] {
    const Tensor scores = lx::array({{1.f, 2.f, 3.f}, {1.f, 0.f, -1.f}});
    CHECK(near(lx::cross_entropy(scores, lx::array({2, 0})), {0.40760596f}));
    for (const int label : {3, -1, -100, 1 << 30})
      CHECK(std::isnan(lx::value(lx::cross_entropy(scores, lx::array({label, 0})))));
  });
}

TEST(elements_by_an_index_that_changes_compile_once) {
  on_both([] {
    const Tensor x = lx::arange(0, 20, 1);
    Compiles compiles(3);
    double sum = 0;
    for (int i = -20; i < 20; i++) {
      sum += lx::value(x[i]);
      compiles.next();
    }
    CHECK(sum == 380 && compiles.count() <= 4);
    CHECK(near(lx::reshape(x, {4, 5})[-1][2], {17}));
    REFUSED(LXLA_INVALID_ARGUMENT, "index: 20 given; the first axis has 20 elements", x[20]);
  });
}

TEST(a_choice_between_two_numbers_has_their_kind) {
  on_both([] {
    const Tensor pred = lx::gt(lx::array({1.f, 3.f}), 2);
    const Tensor chosen = lx::where(pred, 1, 0.5), whole = lx::where(pred, 1, 0);
    CHECK(chosen.dtype() == LXLA_DTYPE_F32 && near(chosen, {0.5, 1}));
    CHECK(whole.dtype() == LXLA_DTYPE_S64 && has<int64_t>(whole, {0, 1}));
  });
}

TEST(functions_create_tensors_in_the_environment_of_their_arguments) {
  Environment env, other;
  const Scope scope(env);
  const Tensor x = lx::array({1.f, 2.f, 3.f}, Place(other, lx::cpu()));
  CHECK(near(lx::jit([](const Tensor &a) { return a + lx::full({3}, 2); })(x)[0], {3, 4, 5}));
  CHECK(near(lx::grad([](const Tensor &a) { return lx::sum(a * lx::full({3}, 2)); })(x)[0], {2, 2, 2}));
  CHECK(lx::zeros({1}).environment().handle().id == env.handle().id);
}

TEST(batches_of_several_sizes_are_refused) {
  on_both([] {
    auto sum = [](const Tensor &a, const Tensor &b) { return a + b; };
    REFUSED(LXLA_INVALID_ARGUMENT, "batches of 3 and 2 elements given", lx::vmap(sum)(lx::zeros({3}), lx::zeros({2})));
  });
}

// Loops and batches that are traced anew in each iteration are the same program.
TEST(functions_that_each_iteration_traces_compile_once) {
  on_both([] {
    const Tensor start = lx::array({3.f, 5.f});
    Tensor x = start;
    Doubles plain = {3, 5};
    Compiles compiles(3);
    for (int i = 0; i < 8; i++) {
      x = x - 0.1 * lx::grad([](const Tensor &y) { return lx::sum(lx::square(y)); })(x)[0];
      x = lx::while_loop([](const Tensor &y) { return lx::gt(lx::sum(y), 2); },
                         [](const Tensor &y) { return y * 0.75; }, {x})[0];
      x = lx::scan([](const Tensor &sum, const Tensor &y) { return std::pair(sum + y, sum + y); }, {lx::scalar(0)}, {x})
              .second[0];
      x = lx::vmap([](const Tensor &y) { return y * (y + 1); })(x)[0];
      lx::step();
      for (double &each : plain) each *= 0.8;
      while (plain[0] + plain[1] > 2)
        for (double &each : plain) each *= 0.75;
      plain[1] += plain[0];
      for (double &each : plain) each *= each + 1;
      compiles.next();
    }
    CHECK(compiles.count() <= 2);
    agree(x, plain, 1e-4);
  });
}

}  // namespace
