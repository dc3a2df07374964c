// The types of the wrapper's parameters: which calls compile. A call with an argument in the place of another one is
// refused by the compiler, since it would mean something else.
#include "check.hpp"
#include "lazyxla.hpp"

#include <cmath>

namespace {

using namespace lazyxla;

// Whether an expression compiles. It depends on `x`, a tensor, or on T, its class, so that a failure is not an error.
#define COMPILES(...) (compiles([](const auto &x) -> decltype(void(__VA_ARGS__)) { (void)x; }))
template <class Expression> constexpr bool compiles(Expression) {
  return std::is_invocable_v<Expression, const Tensor &>;
}
#define ACCEPTED(...) static_assert(COMPILES(__VA_ARGS__))
#define REFUSED_BY_COMPILER(...) static_assert(!COMPILES(__VA_ARGS__))
// The class of `x`, for functions of the class.
#define T std::decay_t<decltype(x)>

TEST(a_constant_is_taken_in_its_own_place_only) {
  ACCEPTED(T::arange(0, 10, 1, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(T::arange(0, 10, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(T::arange(LXLA_DTYPE_S32, 0, 10));
  ACCEPTED(T::linspace(0, 1, 5, true, LXLA_DTYPE_F64));
  REFUSED_BY_COMPILER(T::linspace(0, 1, 5, LXLA_DTYPE_F64));
  REFUSED_BY_COMPILER(T::linspace(0, 1, LXLA_DTYPE_F64));
  REFUSED_BY_COMPILER(T::full({2}, LXLA_DTYPE_F32));
  REFUSED_BY_COMPILER(T::full_exact({2}, LXLA_DTYPE_F32, LXLA_DTYPE_F32));
  REFUSED_BY_COMPILER(T::iota({2}, LXLA_DTYPE_F32));
  REFUSED_BY_COMPILER(T::eye(2, 2, LXLA_DTYPE_F32));
  REFUSED_BY_COMPILER(x.to_dlpack_unversioned(LXLA_DTYPE_F32));
  ACCEPTED(argmax(x, 0, false, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(argmax(x, 0, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(argmax(x, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(argsort(x, -1, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(topk(x, 2, -1, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(topk(x, 2, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(searchsorted(x, x, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(unique(x, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(nonzero(x, 4, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(one_hot(x, 4, LXLA_DTYPE_S32));
  REFUSED_BY_COMPILER(random_uniform(LXLA_RNG_PHILOX, x, {2}, LXLA_DTYPE_F64));
  REFUSED_BY_COMPILER(random_uniform(LXLA_RNG_PHILOX, x, {2}, 0, LXLA_DTYPE_F64));
  REFUSED_BY_COMPILER(random_integers(LXLA_RNG_PHILOX, x, {2}, 0, LXLA_DTYPE_S64));
  REFUSED_BY_COMPILER(random_split(LXLA_RNG_PHILOX, x, LXLA_DTYPE_U32));
  REFUSED_BY_COMPILER(x + LXLA_DTYPE_F32);
  REFUSED_BY_COMPILER(triangular_solve(x, x, true, true, LXLA_TRANSPOSE_ADJOINT));
  ACCEPTED(triangular_solve(x, x, true, true, false, LXLA_TRANSPOSE_ADJOINT));
}

TEST(a_number_or_a_constant_of_another_family_is_not_a_constant) {
  ACCEPTED(unary(LXLA_UNARY_ABS, x));
  REFUSED_BY_COMPILER(unary(LXLA_BINARY_ADD, x));
  REFUSED_BY_COMPILER(unary(2, x));
  REFUSED_BY_COMPILER(binary(LXLA_UNARY_ABS, x, x));
  REFUSED_BY_COMPILER(compare(LXLA_BINARY_ADD, x, 1));
  REFUSED_BY_COMPILER(reduce(LXLA_SCATTER_SUM, x));
  REFUSED_BY_COMPILER(cumulative(LXLA_SCATTER_SUM, x, 0));
  REFUSED_BY_COMPILER(scatter_along(LXLA_REDUCE_SUM, x, x, x, 0));
  REFUSED_BY_COMPILER(activation(LXLA_UNARY_ABS, x));
  REFUSED_BY_COMPILER(special(LXLA_UNARY_ABS, x));
  REFUSED_BY_COMPILER(fft(LXLA_UNARY_ABS, x, {4}));
  REFUSED_BY_COMPILER(random_bits(LXLA_DTYPE_U32, x, LXLA_RNG_PHILOX, {2}));
  REFUSED_BY_COMPILER(convert(x, LXLA_UNARY_ABS));
  REFUSED_BY_COMPILER(convert(x, 11));
  REFUSED_BY_COMPILER(T::full({2}, 1, true));
  ACCEPTED(convert(x, x.dtype()));
  REFUSED_BY_COMPILER(x[0] = x);
  REFUSED_BY_COMPILER(x[0] += 1);
  REFUSED_BY_COMPILER(sum(x, true));
  REFUSED_BY_COMPILER(zeros(x.dims(), 1));
  REFUSED_BY_COMPILER(key(0.5 * x.size()));
  ACCEPTED(convert(x, Dtype{11}));
  static_assert(std::is_same_v<decltype(dtype_promote(LXLA_DTYPE_F32, LXLA_DTYPE_S32)), Dtype>);
  static_assert(!std::is_invocable_v<decltype(&checkpoint), const Computation &, Dtype, std::vector<std::string>>);
  static_assert(!std::is_assignable_v<decltype(VjpOptions::checkpoint) &, int>);
  static_assert(!std::is_assignable_v<decltype(ExportOptions::format) &, CheckpointPolicy>);
  static_assert(!std::is_assignable_v<decltype(Convolution::dtype) &, int>);
  static_assert(!std::is_assignable_v<decltype(EnvironmentOptions::mixed_device_policy) &, int>);
}

TEST(a_switch_is_a_bool_and_a_bool_is_nothing_else) {
  ACCEPTED(argmax(x, 0, true));
  REFUSED_BY_COMPILER(argmax(x, true));
  REFUSED_BY_COMPILER(argmax(x, 0, 1));
  REFUSED_BY_COMPILER(softmax(x, true));
  REFUSED_BY_COMPILER(variance(x, {0}, true));
  REFUSED_BY_COMPILER(layer_norm(x, {0}, x, x, true));
  REFUSED_BY_COMPILER(rms_norm(x, x, true));
  REFUSED_BY_COMPILER(rotary_embedding(x, x, x, 1));
  REFUSED_BY_COMPILER(norm(x, {0}, true));
  ACCEPTED(norm(x, {0}, 1, true));
  REFUSED_BY_COMPILER(sum(x, {0}, 1));
  REFUSED_BY_COMPILER(sum(x, {0}, "keep"));
  REFUSED_BY_COMPILER(topk(x, 2, false));
  REFUSED_BY_COMPILER(sort_along(x, true));
  REFUSED_BY_COMPILER(cholesky(x, 1));
  REFUSED_BY_COMPILER(svd(x, 1.0));
  REFUSED_BY_COMPILER(pinv(x, true));
  REFUSED_BY_COMPILER(T::linspace(0, 1, true));
  static_assert(!std::is_invocable_v<decltype(&xla), bool> && std::is_invocable_v<decltype(&xla), int>);
  ACCEPTED(step({x}, true));
  REFUSED_BY_COMPILER(step({x}, 1));
  // LXLA_OFF, for a field of the C structs, would be true here.
  static_assert(!std::is_assignable_v<decltype(EnvironmentOptions::donation) &, decltype(LXLA_OFF)>);
  static_assert(!std::is_assignable_v<decltype(EnvironmentOptions::donation) &, int>);
  static_assert(std::is_assignable_v<decltype(EnvironmentOptions::donation) &, bool>);
  static_assert(!std::is_assignable_v<decltype(VjpOptions::captured) &, int>);
  static_assert(!std::is_assignable_v<decltype(SaveOptions::keep_metadata) &, int>);
  static_assert(!std::is_assignable_v<decltype(GatherDimensions::indices_are_sorted) &, int>);
}

TEST(a_fraction_is_not_an_integer) {
  REFUSED_BY_COMPILER(argmax(x, 0.5));
  REFUSED_BY_COMPILER(T::eye(2.5, 2));
  REFUSED_BY_COMPILER(T::linspace(0, 1, 0.1));
  REFUSED_BY_COMPILER(repeat(x, 1.5, 0));
  REFUSED_BY_COMPILER(split(x, 2.0, 0));
  REFUSED_BY_COMPILER(slice_axis(x, 0, 0, 1.0));
  REFUSED_BY_COMPILER(argmax(x, {}));
  REFUSED_BY_COMPILER(Mesh({{"data", 0.5 * x.size()}}));
  ACCEPTED(Mesh({{"data", x.size()}}));
  REFUSED_BY_COMPILER(collective_permute(x, "data", {{0, 1.5}}));
  ACCEPTED(collective_permute(x, "data", {{0, 1}}));
  static_assert(!std::is_assignable_v<decltype(GatherDimensions::index_vector_dim) &, double>);
  ACCEPTED(argmax(x, size_t{1}));
}

TEST(a_list_splits_into_parts_of_its_sizes_and_a_number_into_that_many) {
  Environment env;
  const Tensor x = Tensor::iota({6}, 0, LXLA_DTYPE_S32, {env, cpu()});
  CHECK(split(x, {6}, 0).size() == 1 && split(x, {6}, 0)[0].dims() == Dims{6});
  CHECK(split(x, {2, 4}, 0).size() == 2 && split(x, {2, 4}, 0)[1].dims() == Dims{4});
  CHECK(split(x, 6, 0).size() == 6 && split(x, size_t{6}, 0)[0].dims() == Dims{1});
  REFUSED_BY_COMPILER(split(x, true, 0));
  REFUSED_BY_COMPILER(split(x, LXLA_DTYPE_S32, 0));
  REFUSED(LXLA_INVALID_ARGUMENT, "-1 given; want one in [0, 18446744073709551615]", split(x, -1, 0));
  REFUSED(LXLA_INVALID_ARGUMENT, "18446744073709551615 given", argmax(x, UINT64_MAX));
  REFUSED(LXLA_INVALID_ARGUMENT, "want one in [-2147483648, 2147483647]", xla(int64_t{1} << 40));
}

TEST(constants_are_numbers_for_the_functions_of_the_c_header) {
  size_t bytes = 0;
  CHECK(lxla_dtype_size(LXLA_DTYPE_S16, &bytes) == LXLA_OK && bytes == 2);
  int32_t number = LXLA_DTYPE_F32;
  switch (number) {
    case LXLA_DTYPE_F32: number = LXLA_UNARY_ABS; break;
    default: CHECK(false);
  }
  CHECK(number == LXLA_UNARY_ABS && LXLA_UNARY_ABS == UNARY_ABS);
}

TEST(a_tensor_is_no_bool) {
  REFUSED_BY_COMPILER(x ? 1 : 0);
  REFUSED_BY_COMPILER(!x);
  REFUSED_BY_COMPILER(x > 1 && x < 2);
  ACCEPTED(x > 1);
  ACCEPTED(1 == x);
  static_assert(std::is_same_v<decltype(std::declval<Tensor>() != 0), Tensor>);
}

TEST(a_number_that_a_double_rounds_is_refused) {
  constexpr int64_t odd = (int64_t{1} << 53) + 1;
  REFUSED(LXLA_INVALID_ARGUMENT, "9007199254740993 given", full({}, odd, LXLA_DTYPE_S64));
  REFUSED(LXLA_INVALID_ARGUMENT, "-9007199254740993 given", Tensor::arange(-odd, 0));
  REFUSED(LXLA_INVALID_ARGUMENT, "18446744073709551615 given", full({}, std::numeric_limits<uint64_t>::max()));
  const Place here = cpu();
  CHECK(full({}, int64_t{1} << 62, LXLA_DTYPE_S64, here).read<int64_t>()[0] == int64_t{1} << 62);
  CHECK(full({}, std::numeric_limits<int64_t>::min(), LXLA_DTYPE_S64, here).read<int64_t>()[0] ==
        std::numeric_limits<int64_t>::min());
  CHECK(scalar(odd, LXLA_DTYPE_S64, here).read<int64_t>()[0] == odd);
  REFUSED(LXLA_INVALID_ARGUMENT, "complex", value(array({std::complex<double>(1, 2)})));
}

TEST(the_log_callback_receives_messages_until_it_is_removed) {
  std::vector<std::string> messages;
  const auto record = [](int32_t, const char *message, void *user) {
    static_cast<std::vector<std::string> *>(user)->push_back(message);
  };
  const auto unusable_cache = [] {
    EnvironmentOptions options;
    options.cache_dir = "/dev/null/cache";
    Environment env(options);
    (Tensor::full({2}, 1, LXLA_DTYPE_F32, {env, xla()}) + 1).read<float>();
  };
  set_log_callback(record, &messages);
  unusable_cache();
  set_log_callback(nullptr);
  const size_t count = messages.size();
  CHECK(count > 0 && messages[0].find("/dev/null/cache") != std::string::npos);
  unusable_cache();
  CHECK(messages.size() == count);
}

TEST(a_c_function_in_cpp_passes_an_exception_on) {
  const auto function = []() noexcept -> lxla_status {
    try {
      Tensor().rank();
      return LXLA_OK;
    } catch (const Error &error) {
      return set_last_error(Error(error.status(), std::string("my_function: ") + error.what()));
    }
  };
  REFUSED(LXLA_INVALID_HANDLE, "my_function: lxla_tensor_rank: ", check(function()));
}

TEST(an_environment_takes_an_engine) {
  EnvironmentOptions options;
  options.engine = "steam";
  REFUSED(LXLA_INVALID_ARGUMENT, "steam", Environment env(options));
}

TEST(threads_of_kernels_are_limited) {
  EnvironmentOptions options;
  options.threads = 3;
  CHECK(Environment(options).get_option("threads") == "3");
  options.threads = -1;
  REFUSED(LXLA_INVALID_ARGUMENT, "options.threads: -1 given", Environment env(options));
  CHECK(lazyxla::thread_limit(2) == 0 && lazyxla::thread_limit(0) == 2);
  REFUSED(LXLA_INVALID_ARGUMENT, "n: -1 given", lazyxla::thread_limit(-1));
}

}  // namespace
