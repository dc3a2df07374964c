// The C++ wrapper by value, on the real plugin: owners, exceptions, operators, and that every tensor is released.
#include <unistd.h>

#include "check.hpp"

#include <limits>

namespace {

// Runs a step and waits for it; returns the increase of the counter DonatedBuffers.
uint64_t step(Environment &env) {
  const uint64_t before = env.counter("DonatedBuffers");
  env.mark_step(xla(), true);
  return env.counter("DonatedBuffers") - before;
}

bool no_tensor_is_left(const Environment &env) {
  const uint64_t made = env.counter("CreateTensor");
  return made > 0 && made == env.counter("DestroyTensor");
}

TEST(arithmetic_of_tensors_and_numbers) {
  Environment env;
  const Tensor a = floats(env, {1, 2, 3}), b = floats(env, {4, 5, 9});
  CHECK(has<float>(a + b, {5, 7, 12}));
  CHECK(has<float>(a - b, {-3, -3, -6}));
  CHECK(has<float>(a * b, {4, 10, 27}));
  CHECK(has<float>(b / a, {4, 2.5, 3}));
  CHECK(has<float>(b % a, {0, 1, 0}));
  CHECK(has<float>(-a, {-1, -2, -3}));
  CHECK(has<float>(a + 1, {2, 3, 4}));
  CHECK(has<float>(1 - a, {0, -1, -2}));
  CHECK(has<float>(6 / a, {6, 3, 2}));
  CHECK(has<float>(2.5 * a - 0.5f, {2, 4.5, 7}));
  CHECK(has<float>(lazyxla::maximum(a, 2) + lazyxla::minimum(2, a), {3, 4, 5}));
  CHECK(has<float>(lazyxla::power(a, 2), {1, 4, 9}));
  CHECK(near(lazyxla::atan2(a, a), {0.7853982f, 0.7853982f, 0.7853982f}));
}

TEST(arithmetic_of_integers_and_bits) {
  Environment env;
  const Place at{env, xla()};
  const Tensor x = Tensor::from_host(Values<int32_t>{-8, 7, 12}, {3}, at);
  CHECK(has<int32_t>(x / 4, {-2, 1, 3}));
  CHECK(has<int32_t>(x % 4, {0, 3, 0}));
  CHECK(has<int32_t>(x & 6, {0, 6, 4}));
  CHECK(has<int32_t>(x | 1, {-7, 7, 13}));
  CHECK(has<int32_t>(x ^ x, {0, 0, 0}));
  CHECK(has<int32_t>(~x, {7, -8, -13}));
  CHECK(has<int32_t>(x << 1, {-16, 14, 24}));
  CHECK(has<int32_t>(1 << lazyxla::abs(x), {256, 128, 4096}));
  CHECK(has<int32_t>(x >> 1, {-4, 3, 6}));
  CHECK(has<int32_t>(lazyxla::popcnt(x), {29, 3, 2}));
  CHECK(has<int32_t>(lazyxla::count_leading_zeros(x), {0, 29, 28}));
  const Tensor u = Tensor::from_host(Values<uint32_t>{0x80000000u, 7}, {2}, at);
  CHECK(has<uint32_t>(u >> 1, {0x40000000u, 3}));
}

TEST(elementwise_functions_of_one_operand) {
  Environment env;
  using Function = Tensor (*)(const Tensor &);
  const std::pair<Function, double (*)(double)> pairs[] = {
      {lazyxla::abs, std::fabs},
      {lazyxla::exp, std::exp},
      {lazyxla::expm1, std::expm1},
      {lazyxla::log, std::log},
      {lazyxla::log1p, std::log1p},
      {lazyxla::tanh, std::tanh},
      {lazyxla::sqrt, std::sqrt},
      {lazyxla::cbrt, std::cbrt},
      {lazyxla::sin, std::sin},
      {lazyxla::cos, std::cos},
      {lazyxla::tan, std::tan},
      {lazyxla::floor, std::floor},
      {lazyxla::ceil, std::ceil},
      {lazyxla::round_nearest_afz, std::round},
      {lazyxla::round_nearest_even, std::nearbyint},
      {lazyxla::negate, [](double v) { return -v; }},
      {lazyxla::sign, [](double) { return 1.0; }},
      {lazyxla::rsqrt, [](double v) { return 1 / std::sqrt(v); }},
      {lazyxla::logistic, [](double v) { return 1 / (1 + std::exp(-v)); }}};
  const Floats values{0.5, 1.25, 2.5};
  const Tensor x = floats(env, values);
  for (const auto &[function, wanted] : pairs) {
    Floats expected;
    for (float value : values) expected.push_back(static_cast<float>(wanted(value)));
    CHECK(near(function(x), expected));
  }
  CHECK(has<bool>(lazyxla::is_finite(x / 0), {false, false, false}));
  CHECK(has<bool>(lazyxla::bitwise_not(lazyxla::is_finite(x)), {false, false, false}));
}

TEST(comparisons_and_select) {
  Environment env;
  const Tensor a = floats(env, {1, 2, 3}), b = floats(env, {3, 2, 1});
  CHECK(has<bool>(lazyxla::eq(a, b), {false, true, false}));
  CHECK(has<bool>(lazyxla::ne(a, b), {true, false, true}));
  CHECK(has<bool>(lazyxla::ge(a, b), {false, true, true}));
  CHECK(has<bool>(lazyxla::gt(a, b), {false, false, true}));
  CHECK(has<bool>(lazyxla::le(a, b), {true, true, false}));
  CHECK(has<bool>(lazyxla::lt(a, b), {true, false, false}));
  CHECK(has<float>(lazyxla::select(lazyxla::lt(a, b), a, -b), {1, -2, -1}));
}

TEST(pred_is_a_vector_of_bool) {
  Environment env;
  const Place at{env, xla()};
  Tensor p = Tensor::from_host(Values<bool>{true, false, true}, {3}, at);
  const bool plain[] = {true, true, false};
  const Tensor q = Tensor::from_host(plain, 3, {3}, at);
  CHECK(p.dtype() == LXLA_DTYPE_PRED);
  CHECK(has<bool>(p & q, {true, false, false}));
  CHECK(has<bool>(p | q, {true, true, true}));
  CHECK(has<bool>(p & true, {true, false, true}));
  CHECK(has<bool>(~p, {false, true, false}));
  p.write(Values<bool>{false, false, true});
  CHECK(has<bool>(p, {false, false, true}));
  CHECK(has<bool>(lazyxla::any(p), {true}) && has<bool>(lazyxla::all(p), {false}));
}

TEST(in_place_leaves_snapshots_alone) {
  Environment env;
  Tensor x = floats(env, {1, 2}), y = floats(env, {10, 20});
  const Tensor old = x.snapshot();
  x += y;
  x -= 1;
  x *= 2.0;
  x /= floats(env, {2, 3});
  CHECK(has<float>(x, {10, 14}));
  CHECK(has<float>(old, {1, 2}));
  x.apply(LXLA_BINARY_MAXIMUM, 12);
  CHECK(has<float>(x, {12, 14}));
  x.assign(y);
  y.write(Floats{5, 6});
  CHECK(has<float>(x, {10, 20}) && has<float>(y, {5, 6}));
}

TEST(copies_are_one_tensor_and_moves_leave_none) {
  Environment env;
  Tensor x = floats(env, {1});
  Tensor same = x;
  same += 1;
  CHECK(has<float>(x, {2}));
  CHECK(same.handle().id == x.handle().id);
  Tensor moved = std::move(x);
  CHECK(!x.defined() && moved.defined());
  REFUSED(LXLA_INVALID_HANDLE, "lxla_tensor_rank", x.rank());
  x = moved + 1;
  CHECK(has<float>(x, {3}) && has<float>(moved, {2}));
  Tensor &alias = x;
  x = alias;
  CHECK(has<float>(x, {3}));
  const Tensor adopted = Tensor::adopt(moved.release());
  CHECK(!moved.defined() && has<float>(adopted, {2}));
}

TEST(no_tensor_is_left_at_the_end_of_a_block) {
  Environment env;
  {
    Tensor x = floats(env, {1, 2, 3});
    std::vector<Tensor> all{x, x + 1, x.snapshot(), x.placeholder_like()};
    all.push_back(lazyxla::concatenate({all[0], all[1]}, 0));
    Tensor last = std::move(all.back());
    last += int64_t{1};
    all = {last, last};
    REFUSED(LXLA_INVALID_ARGUMENT, "", last + floats(env, {1, 2}));
    step(env);
  }
  CHECK(no_tensor_is_left(env));
  CHECK(env.counter("LiveBytes") == 0);
}

TEST(errors_have_status_and_words) {
  Environment env;
  const Tensor a = floats(env, {1, 2, 3}), b = floats(env, {1, 2});
  REFUSED(LXLA_INVALID_ARGUMENT, "lxla_binary: ", a + b);
  REFUSED(LXLA_INVALID_ARGUMENT, "the elements are f64, the tensor is f32", a.read<double>());
  REFUSED(LXLA_INVALID_ARGUMENT, "the elements are pred, the tensor is f32", Tensor(a).write(Values<bool>{true}));
  REFUSED(LXLA_INVALID_ARGUMENT, "lxla_tensor_write: ", Tensor(a).write(Floats{1}));
  REFUSED(LXLA_INVALID_ARGUMENT, "lxla_reduce: ", lazyxla::sum(a, {1}));
  REFUSED(LXLA_INVALID_ARGUMENT, "differ in length", lazyxla::slice(a, {0}, {1, 1}));
  REFUSED(LXLA_INVALID_ARGUMENT, "lxla_tensor_from_host: ", Tensor::from_host(Floats{1}, {2}, {env, xla()}));
  REFUSED(LXLA_INVALID_ARGUMENT, "lxla_device_parse: ", lazyxla::parse_device("tpu"));
  REFUSED(LXLA_INVALID_HANDLE, "lxla_tensor_snapshot: ", Tensor().snapshot());
  REFUSED(LXLA_NOT_FOUND, "lxla_env_counter: ", env.counter("Sparrows"));
  REFUSED(LXLA_NOT_FOUND, "lxla_env_set_option: ", env.set_option("colour", "red"));
  REFUSED(LXLA_FAILED_PRECONDITION, "lxla_tensor_read: ", a.placeholder_like().read<float>());
  const lazyxla::Error copy = Error(LXLA_NOT_FOUND, "words");
  CHECK(copy.status() == LXLA_NOT_FOUND && std::string(copy.what()) == "words");
}

TEST(what_a_released_environment_refuses) {
  Tensor x;
  Environment view = Environment::borrow({0});
  {
    Environment env;
    x = floats(env, {7});
    view = Environment::borrow(env.handle());
    CHECK(env.owned() && !view.owned());
  }
  REFUSED(LXLA_INVALID_HANDLE, "lxla_env_counter: ", view.counter("MarkStep"));
  REFUSED(LXLA_INVALID_HANDLE, "lxla_tensor_full: ", Tensor::full({1}, 0, LXLA_DTYPE_F32, {view, xla()}));
  REFUSED(LXLA_INVALID_HANDLE, "lxla_env_enter: ", Scope{view});
  CHECK(has<float>(x, {7}));
  REFUSED(LXLA_FAILED_PRECONDITION, "", x + 1);
}

TEST(environments_are_counted) {
  Environment first;
  const lxla_env handle = first.handle();
  Environment second = first;
  Environment third = std::move(first);
  REFUSED(LXLA_INVALID_HANDLE, "lxla_env_counter: ", first.counter("MarkStep"));
  first = second;
  second = third = Environment::borrow(handle);
  CHECK(first.owned() && !second.owned() && !third.owned());
  CHECK(second.counter("MarkStep") == 0);
  first = Environment::borrow(handle);
  REFUSED(LXLA_INVALID_HANDLE, "", first.counter("MarkStep"));
}

TEST(scopes_choose_the_environment) {
  Environment outer, inner;
  REFUSED(LXLA_FAILED_PRECONDITION, "lxla_env_current: ", Environment::current());
  {
    const Scope a(outer);
    {
      const Scope b(inner);
      CHECK(Environment::current().handle().id == inner.handle().id);
      const Tensor x = Tensor::full({2}, 3, LXLA_DTYPE_F32, xla());
      CHECK(x.environment().handle().id == inner.handle().id);
    }
    CHECK(Tensor::full({2}, 3, LXLA_DTYPE_F32, xla()).environment().handle().id == outer.handle().id);
  }
  REFUSED(LXLA_FAILED_PRECONDITION, "", Environment::current());
  Environment main = Environment::default_environment();
  CHECK(!main.owned() && Environment(main).handle().id == main.handle().id);
  CHECK(Tensor::full({2}, 3, LXLA_DTYPE_F32, xla()).environment().handle().id == main.handle().id);
}

// A scope keeps its environment alive, so it can be left after the last other reference is released.
TEST(a_scope_outlives_the_last_reference_but_its_own) {
  Environment env;
  const Scope scope(env);
  env = Environment::borrow(env.handle());
  CHECK(env.counter("CreateTensor") == 0);
}

TEST(steps_donate) {
  Environment env;
  Tensor x = floats(env, {1, 2});
  x += 1;
  x *= x;
  CHECK(x.state() == LXLA_STATE_PENDING);
  CHECK(env.step_stablehlo(xla()).find("stablehlo.add") != std::string::npos);
  CHECK(step(env) == 1);
  CHECK(x.state() == LXLA_STATE_READY);
  CHECK(has<float>(x, {4, 9}));
  const Tensor old = x.snapshot();
  x += 1;
  CHECK(step(env) == 0);
  CHECK(has<float>(old, {4, 9}) && has<float>(x, {5, 10}));
  // The update through another tensor still donates the buffer.
  x += int64_t{1};
  CHECK(step(env) == 1);
  env.wait();
  CHECK(has<float>(x, {6, 11}));
}

TEST(options_and_metrics) {
  EnvironmentOptions options;
  options.donation = false;
  options.device_count = 2;
  options.max_program_ops = 100;
  Environment env(options);
  CHECK(env.device_count() == 2);
  CHECK(env.get_option("donation") == "false" && env.get_option("max_program_ops") == "100");
  Tensor x = floats(env, {1});
  x += 1;
  CHECK(step(env) == 0);
  env.set_option("donation", "true");
  x += 1;
  CHECK(step(env) == 1);
  CHECK(env.metrics_json().find("\"MarkStep\"") != std::string::npos);
  CHECK(env.live_tensors_json().find("\"buffers\":") != std::string::npos);
  REFUSED(LXLA_FAILED_PRECONDITION, "lxla_trace_stop: env: no trace", env.stop_trace());
  REFUSED(LXLA_NOT_FOUND, "lxla_trace_start: path: /no/such/folder", env.start_trace("/no/such/folder/trace.json"));
  env.metrics_reset();
  CHECK(env.counter("MarkStep") == 0);
  const Tensor moved = x.to_device(xla(1));
  CHECK(moved.device().kind == LXLA_DEVICE_XLA && moved.device().ordinal == 1);
  CHECK(has<float>(moved, {3}));
  CHECK(lazyxla::parse_device("xla:1").ordinal == 1 && lazyxla::cpu().kind == LXLA_DEVICE_CPU);
}

TEST(plugins) {
  CHECK(lazyxla::plugin_list().find("\"default\":true") != std::string::npos);
  EnvironmentOptions options;
  options.plugin_options = "{\"cpu_device_count\": 3}";
  const Environment env(options);
  CHECK(env.device_count() == 3);
  REFUSED(LXLA_UNIMPLEMENTED, "device: cpu has no memory statistics", env.memory_stats(lazyxla::cpu()));
  options.plugin_options = "{\"a\": {}}";
  REFUSED(LXLA_INVALID_ARGUMENT, "\"a\" is an object", Environment other(options));
}

TEST(shapes) {
  Environment env;
  const Place at{env, xla()};
  const Tensor x = Tensor::iota({6}, 0, LXLA_DTYPE_S32, at);
  const Tensor m = lazyxla::reshape(x, {2, 3});
  CHECK(m.dims() == (Dims{2, 3}) && m.rank() == 2 && m.size() == 6 && m.dtype() == LXLA_DTYPE_S32);
  CHECK(has<int32_t>(lazyxla::transpose(m, {1, 0}), {0, 3, 1, 4, 2, 5}));
  CHECK(has<int32_t>(lazyxla::broadcast_to(Tensor::iota({2}, 0, LXLA_DTYPE_S32, at), {2, 2}), {0, 1, 0, 1}));
  CHECK(has<int32_t>(lazyxla::slice(m, {0, 1}, {2, 3}), {1, 2, 4, 5}));
  CHECK(has<int32_t>(lazyxla::slice(x, {1}, {6}, {2}), {1, 3, 5}));
  CHECK(has<int32_t>(lazyxla::concatenate({m, m + 10}, 1), {0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15}));
  const Tensor bytes = lazyxla::convert(x, LXLA_DTYPE_S8);
  CHECK(has<int8_t>(bytes, {0, 1, 2, 3, 4, 5}));
  CHECK(has<int32_t>(lazyxla::concatenate({x, bytes}, -1), {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  const Tensor nothing = Tensor::from_host(Floats{}, {0, 4}, at);
  CHECK(nothing.size() == 0 && has<float>(nothing, {}));
  CHECK(has<float>(Tensor::full({}, 2.5, LXLA_DTYPE_F32, at), {2.5}));
}

TEST(reductions) {
  Environment env;
  const Tensor m = lazyxla::reshape(floats(env, {1, 2, 3, 4, 5, 6}), {2, 3});
  CHECK(has<float>(lazyxla::sum(m), {21}) && lazyxla::sum(m).rank() == 0);
  CHECK(has<float>(lazyxla::sum(m, {0}), {5, 7, 9}));
  CHECK(has<float>(lazyxla::sum(m, {-1}, true), {6, 15}) && lazyxla::sum(m, {-1}, true).dims() == (Dims{2, 1}));
  CHECK(has<float>(lazyxla::sum(m, Dims{}), {1, 2, 3, 4, 5, 6}));
  CHECK(has<float>(lazyxla::product(m, {1}), {6, 120}));
  CHECK(has<float>(lazyxla::max(m, {0}), {4, 5, 6}) && has<float>(lazyxla::max(m), {6}));
  CHECK(has<float>(lazyxla::min(m, {1}), {1, 4}) && has<float>(lazyxla::min(m), {1}));
  const Tensor p = lazyxla::gt(m, Tensor::full({}, 3, LXLA_DTYPE_F32, {env, xla()}));
  CHECK(has<bool>(lazyxla::any(p, {1}), {false, true}) && has<bool>(lazyxla::all(p, {1}), {false, true}));
}

TEST(matrix_products) {
  Environment env;
  const Tensor a = lazyxla::reshape(floats(env, {1, 2, 3, 4, 5, 6}), {2, 3});
  const Tensor b = lazyxla::reshape(floats(env, {1, 0, 0, 1, 1, 1}), {3, 2});
  CHECK(has<float>(lazyxla::matmul(a, b), {4, 5, 10, 11}));
  CHECK(has<float>(lazyxla::matmul(a, floats(env, {1, 1, 1})), {6, 15}));
  REFUSED(LXLA_INVALID_ARGUMENT, "lxla_matmul: ", lazyxla::matmul(a, a));
}

TEST(complex_numbers) {
  Environment env;
  using C = std::complex<float>;
  using D = std::complex<double>;
  Tensor z = Tensor::from_host(Values<C>{{1, 2}, {3, -4}}, {2}, {env, xla()});
  CHECK(z.dtype() == LXLA_DTYPE_C64);
  CHECK(has<C>(z * z, {{-3, 4}, {-7, -24}}));
  CHECK(has<C>(z + C(0, 1), {{1, 3}, {3, -3}}));
  CHECK(has<C>(D(1, 1) - z, {{0, -1}, {-2, 5}}));
  CHECK(near(lazyxla::abs(z), {2.236068f, 5}));
  z *= C(0, 1);
  CHECK(has<C>(z, {{-2, 1}, {4, 3}}));
  const Tensor wide = Tensor::from_host(Values<D>{{1, 1e-9}}, {1}, {env, xla()});
  CHECK(wide.dtype() == LXLA_DTYPE_C128 && has<D>(wide + 1, {{2, 1e-9}}));
  REFUSED(LXLA_INVALID_ARGUMENT, "rhs", lazyxla::abs(z) + C(0, 1));
}

// Integers that no double holds stay exact, as elements and as scalars.
TEST(integers_of_64_bits) {
  Environment env;
  const Place at{env, xla()};
  const int64_t big = (int64_t{1} << 53) + 1, least = std::numeric_limits<int64_t>::min();
  Tensor x = Tensor::from_host(Values<int64_t>{big, least}, {2}, at);
  CHECK(has<int64_t>(x, {big, least}));
  CHECK(has<int64_t>(lazyxla::slice(x, {0}, {1}) + big, {2 * big}));
  CHECK(has<int64_t>(big - lazyxla::slice(x, {0}, {1}), {0}));
  x += big;
  CHECK(has<int64_t>(x, {2 * big, least + big}));
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  Tensor u = Tensor::from_host(Values<uint64_t>{0}, {1}, at);
  u += most;
  CHECK(has<uint64_t>(u, {most}));
  CHECK(has<uint64_t>(u >> 63, {1}));
  REFUSED(LXLA_INVALID_ARGUMENT, "rhs", u + -1);
  REFUSED(LXLA_INVALID_ARGUMENT, "rhs", x += 0.5);
}

TEST(every_element_type_goes_there_and_back) {
  Environment env;
  const Place at{env, xla()};
  const auto round_trip = [&](auto one, int32_t dtype) {
    using T = decltype(one);
    const Tensor x = Tensor::from_host(std::vector<T>{T(0), one}, {2}, at);
    CHECK(x.dtype() == dtype && has<T>(x, {T(0), one}));
  };
  round_trip(int8_t{-5}, LXLA_DTYPE_S8);
  round_trip(int16_t{-5}, LXLA_DTYPE_S16);
  round_trip(int32_t{-5}, LXLA_DTYPE_S32);
  round_trip(int64_t{-5}, LXLA_DTYPE_S64);
  round_trip(-5LL, LXLA_DTYPE_S64);
  round_trip(uint8_t{200}, LXLA_DTYPE_U8);
  round_trip(uint16_t{50000}, LXLA_DTYPE_U16);
  round_trip(uint32_t{4000000000}, LXLA_DTYPE_U32);
  round_trip(uint64_t{5}, LXLA_DTYPE_U64);
  round_trip(0.1f, LXLA_DTYPE_F32);
  round_trip(0.1, LXLA_DTYPE_F64);
  const uint16_t halves[] = {0x3C00, 0x4000};
  const Tensor half = Tensor::from_bytes(halves, sizeof halves, {2}, LXLA_DTYPE_F16, at);
  uint16_t back[2];
  (half + 1).read_bytes(back, sizeof back);
  CHECK(back[0] == 0x4000 && back[1] == 0x4200);
}

TEST(sync_and_text) {
  Environment env;
  const Tensor x = floats(env, {1}), y = x + 1, z = x * 5;
  CHECK(lazyxla::stablehlo({y}).find("func.func") != std::string::npos);
  lazyxla::sync({y});
  CHECK(y.state() == LXLA_STATE_READY && z.state() == LXLA_STATE_PENDING);
  Tensor w = floats(env, {2});
  w *= 3;
  lazyxla::step({w});
  lazyxla::step({w, y}, true);
  CHECK(w.state() == LXLA_STATE_READY && z.state() == LXLA_STATE_PENDING && env.counter("DonatedBuffers") == 1);
  Tensor hole = Tensor::placeholder({1}, LXLA_DTYPE_F32, {env, xla()});
  hole.set_requires_grad(true);
  CHECK(hole.state() == LXLA_STATE_PLACEHOLDER && hole.placeholder_like().requires_grad() && !x.requires_grad());
  REFUSED(LXLA_FAILED_PRECONDITION, "lxla_sync: ", lazyxla::sync({hole + 1}));
  REFUSED(LXLA_FAILED_PRECONDITION, "lxla_step_tensors: ", lazyxla::step({hole + 1}));
}

TEST(saving_and_loading) {
  Environment env;
  Tensor x = floats(env, {1, 2});
  x += 1;
  const char *path = "test_cpp.safetensors";
  lazyxla::save(path, {{"x", x}});
  CHECK(Tensor::load(path, "x", {env, xla()}).read<float>() == (std::vector<float>{2, 3}));
  lazyxla::AsyncSave save(path, {{"x", x}, {"twice", x * 2}});
  x *= 100;
  env.mark_step(xla());
  save.wait();
  CHECK(save.done());
  CHECK(Tensor::load(path, "x", {env, xla()}).read<float>() == (std::vector<float>{2, 3}));
  CHECK(Tensor::load(path, "twice", {env, xla()}).read<float>() == (std::vector<float>{4, 6}));
  REFUSED(LXLA_NOT_FOUND, "lxla_load: ", Tensor::load(path, "y", {env, xla()}));
  std::remove(path);
}

TEST(traced_computations_loops_and_branches) {
  Environment env;
  const lazyxla::Place at{env, xla()};
  Tensor p = Tensor::placeholder({}, LXLA_DTYPE_F32, at), q = Tensor::placeholder({}, LXLA_DTYPE_F32, at);
  const lazyxla::Computation sum({p, q}, {p + q, p * q}), half({p}, {p / 2}), same({p}, {p + 0}),
      large({p}, {lazyxla::gt(p, Tensor::full({}, 1.0, LXLA_DTYPE_F32, at))}), twice = sum;
  CHECK(twice.params() == 2 && twice.results() == 2 && twice.captured() == 0);
  const Tensor x = floats(env, {3}), scalar = lazyxla::reshape(x, {});
  CHECK(sum({scalar, scalar * 2})[1].read<float>()[0] == 18);
  CHECK(lazyxla::while_loop(large, half, {scalar * 8})[0].read<float>()[0] == 0.75f);
  const lazyxla::Bounded bounded = lazyxla::while_bounded(large, half, {scalar * 8}, 2);
  CHECK(bounded.values[0].read<float>()[0] == 6 && !bounded.ended.read<bool>()[0]);
  const Tensor yes = lazyxla::gt(scalar, scalar - 1);
  CHECK(lazyxla::cond(yes, half, same, {scalar})[0].read<float>()[0] == 1.5f);
  const auto [carry, ys] = lazyxla::scan(sum, {scalar * 0}, {floats(env, {1, 2, 3})}, 3);
  CHECK(carry[0].read<float>()[0] == 6 && ys[0].read<float>() == (std::vector<float>{0, 2, 9}));
  CHECK(sum.stablehlo().find("@main") != std::string::npos);
  REFUSED(LXLA_INVALID_ARGUMENT, "lxla_computation_call: ", sum({scalar}));
  REFUSED(LXLA_INVALID_ARGUMENT, "lxla_computation_trace: ", lazyxla::Computation({x}, {x + 1}));
}

TEST(computations_as_objects) {
  Environment env;
  const lazyxla::Place at{env, xla()};
  Tensor p = Tensor::placeholder({2}, LXLA_DTYPE_F32, at);
  const lazyxla::Executable server(lazyxla::Computation({p}, {p * 2, p + 1})), twin = server;
  const std::vector<float> x = {1, 5};
  std::vector<float> doubled(2), more(2);
  twin.run_host({{x.data(), 8}}, {{doubled.data(), 8}, {more.data(), 8}});
  CHECK(doubled == (std::vector<float>{2, 10}) && more == (std::vector<float>{2, 6}));
  REFUSED(LXLA_INVALID_ARGUMENT, "input_sizes[0]: 4",
          twin.run_host({{x.data(), 4}}, {{doubled.data(), 8}, {more.data(), 8}}));
  lazyxla::Executable update(lazyxla::Computation({p}, {p + 1}), xla(), {0});
  Tensor state = floats(env, {1, 2});
  const Tensor next = update({state})[0];
  CHECK(next.read<float>() == (std::vector<float>{2, 3}));
  REFUSED(LXLA_FAILED_PRECONDITION, "donated to executable", state.read<float>());
  update = server;
  CHECK(update({next})[1].read<float>() == (std::vector<float>{3, 4}));
  CHECK(update.describe().find("\"donated\":false") != std::string::npos);
  const std::string path = "/tmp/lxla_cpp_executable_" + std::to_string(getpid());
  update.save(path);
  CHECK(lazyxla::Executable::load(path, 2, at)({next})[0].read<float>() == (std::vector<float>{4, 6}));
  CHECK(std::remove(path.c_str()) == 0);
}

TEST(programs_come_in) {
  Environment env;
  const std::string text =
      "func.func @double(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
      "  %0 = stablehlo.add %x, %x : tensor<?xf32>\n"
      "  return %0 : tensor<?xf32>\n}\n";
  const lazyxla::Computation twice = lazyxla::import_program(env, text, {"double", {{3}}});
  CHECK(twice({floats(env, {1, 2, 3})})[0].read<float>() == (std::vector<float>{2, 4, 6}));
  CHECK(twice.describe().find("\"add\":1") != std::string::npos);
  CHECK(lazyxla::describe_program(text).find("\"dims\":[-1]") != std::string::npos);
  REFUSED(LXLA_INVALID_ARGUMENT, "parameter 0 (tensor<?xf32>)", lazyxla::import_program(env, text));
  REFUSED(LXLA_NOT_FOUND, "/nowhere/x", lazyxla::import_file(env, "/nowhere/x"));
  REFUSED(LXLA_NOT_FOUND, "/nowhere/x", lazyxla::describe_program_file("/nowhere/x"));
}

TEST(programs_go_out) {
  Environment env;
  const Tensor x = Tensor::placeholder({3}, LXLA_DTYPE_F32, {env, xla()});
  const lazyxla::Computation sum({x}, {x + floats(env, {1, 2, 4})});
  const std::string path = "/tmp/lxla_cpp_export_" + std::to_string(getpid());
  lazyxla::ExportOptions options;
  options.format = LXLA_EXPORT_TEXT;
  options.parameter_names = {"weight \"w\""};
  lazyxla::export_computation(sum, path, options);
  CHECK(lazyxla::describe_program_file(path).find("weight \\\"w\\\"") != std::string::npos);
  const lazyxla::Computation again = lazyxla::import_file(env, path);
  CHECK(again({floats(env, {1, 2, 3})})[0].read<float>() == (std::vector<float>{2, 4, 7}));
  options.result_names = {"a", "b"};
  REFUSED(LXLA_INVALID_ARGUMENT, "options.n_result_names: 2 given; want 1",
          lazyxla::export_computation(sum, path, options));
  CHECK(std::remove(path.c_str()) == 0);
}

// A function of lists, one of tensors, results as tuples; each is traced once for each type, and a copy shares that.
TEST(functions_are_traced_once_for_each_type) {
  Environment env;
  int calls = 0;
  const auto both = lazyxla::jit([&](const Tensor &a, const Tensor &b) {
    calls++;
    return std::make_tuple(a + b, a * b, a);
  });
  const auto copy = both;
  for (int i = 0; i < 3; i++) {
    const auto got = copy(floats(env, {1, 2}), floats(env, {3, 4}));
    CHECK(got.size() == 3 && has<float>(got[0], {4, 6}) && has<float>(got[1], {3, 8}) && has<float>(got[2], {1, 2}));
  }
  CHECK(calls == 1 && both.traces() == 1);
  both(floats(env, {1}), floats(env, {2}));
  both(lazyxla::convert(floats(env, {1}), LXLA_DTYPE_F64), floats(env, {2}));
  CHECK(calls == 3 && copy.traces() == 3);
  CHECK(both.computation(floats(env, {1}), floats(env, {2})).params() == 2 && calls == 3);

  lazyxla::VjpOptions second;
  second.wrt = std::vector<size_t>{1};
  const auto gradient = lazyxla::value_and_grad(
      [](const std::vector<Tensor> &x) { return lazyxla::reduce(LXLA_REDUCE_SUM, x[0] * x[1] * x[1]); }, second);
  const auto made = gradient(std::vector<Tensor>{floats(env, {2, 3}), floats(env, {1, 4})});
  CHECK(made.size() == 2 && has<float>(made[0], {50}) && has<float>(made[1], {4, 24}));
  REFUSED(LXLA_INVALID_ARGUMENT, "no examples given",
          lazyxla::trace([](const std::vector<Tensor> &x) { return x; }, {}));
  // A trace that an exception leaves is abandoned.
  const auto failing = lazyxla::jit([](const Tensor &) -> Tensor { throw std::runtime_error("mine"); });
  try {
    failing(floats(env, {1}));
    CHECK(false);
  } catch (const std::runtime_error &error) {
    CHECK(!std::strcmp(error.what(), "mine"));
  }
  CHECK(has<float>(floats(env, {1}) + 1, {2}) && failing.traces() == 0);
}

TEST(computed_places_and_padding) {
  Environment env;
  const Tensor x = floats(env, {1, 2, 3, 4}),
               one = lazyxla::convert(lazyxla::reshape(floats(env, {1}), {}), LXLA_DTYPE_S32);
  CHECK(lazyxla::dynamic_slice(x, {one}, {2}).read<float>() == (std::vector<float>{2, 3}));
  CHECK(lazyxla::dynamic_update_slice(x, floats(env, {9}), {one}).read<float>() == (std::vector<float>{1, 9, 3, 4}));
  const Tensor last = lazyxla::convert(floats(env, {-1, 0, 7}), LXLA_DTYPE_S32);
  CHECK(lazyxla::take(x, last, 0).read<float>() == (std::vector<float>{4, 1, 4}));
  const Tensor zero = lazyxla::reshape(floats(env, {0}), {});
  CHECK(lazyxla::pad(x, zero, {1}, {-1}).read<float>() == (std::vector<float>{0, 1, 2, 3}));
  REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::pad: ", lazyxla::pad(x, zero, {1}, {}));
}

}  // namespace
