// Operations of the C++ wrapper by value, on an XLA device and natively: each must call the operation that it is named
// after.
#include "check.hpp"

namespace {

void on_both(const std::function<void(const Place &)> &test) {
  Environment env;
  test({env, xla()});
  test({env, lazyxla::cpu()});
  CHECK(env.counter("LiveBytes") == 0);
}

Tensor matrix(const Floats &values, const Dims &dims, const Place &at) { return Tensor::from_host(values, dims, at); }

TEST(elements_and_activations) {
  on_both([](const Place &at) {
    const Tensor x = matrix({-2, 0, 2}, {3}, at), low = Tensor::full({}, -1, LXLA_DTYPE_F32, at);
    CHECK(near(lazyxla::clamp(low, x, -low), {-1, 0, 1}));
    CHECK(near(lazyxla::clamp(-1, x, 1), {-1, 0, 1}) && near(lazyxla::at_least(x, 0), {0, 0, 2}) &&
          near(lazyxla::at_most(x, 1), {-2, 0, 1}));
    CHECK(near(lazyxla::select(lazyxla::lt(x, 0), 7, x), {7, 0, 2}) &&
          near(lazyxla::select(lazyxla::lt(x, 0), x, 7), {-2, 7, 7}));
    CHECK(has<int64_t>(lazyxla::select(lazyxla::lt(x, 0), 1, 2), {1, 2, 2}));
    CHECK(near(lazyxla::floor_divide(x, 3), {-1, 0, 0}) && near(lazyxla::modulo(x, 3), {1, 0, 2}) &&
          near(lazyxla::hypot(x, x), {2.828427f, 0, 2.828427f}));
    CHECK(near(lazyxla::copysign(x, -1), {-2, 0, -2}) &&
          near(lazyxla::logaddexp(x, x), {-1.306853f, 0.693147f, 2.693147f}));
    CHECK(near(lazyxla::binary_varying(LXLA_BINARY_DIVIDE, x, 0.3), {-6.666667f, 0, 6.666667f}) &&
          near(lazyxla::binary_varying(LXLA_BINARY_SUBTRACT, 1.5, x), {3.5f, 1.5f, -0.5f}));
    CHECK(near(lazyxla::trunc(x * 0.75), {-1, 0, 1}) && near(lazyxla::log2(x + 6), {2, 2.584963f, 3}) &&
          near(lazyxla::log10(x + 3), {0, 0.477121f, 0.698970f}));
    CHECK(has<bool>(lazyxla::is_nan(x / 0), {false, true, false}) &&
          has<bool>(lazyxla::is_inf(x / 0), {true, false, true}) &&
          has<bool>(lazyxla::signbit(x), {true, false, false}));
    const Tensor z = lazyxla::complex(x, x * 2);
    CHECK(near(lazyxla::real(z), {-2, 0, 2}) && near(lazyxla::imag(z), {-4, 0, 4}) &&
          near(lazyxla::imag(lazyxla::conj(z)), {4, 0, -4}));
    CHECK(has<int32_t>(lazyxla::bitcast_convert(x, LXLA_DTYPE_S32), {int32_t(0xC0000000), 0, 0x40000000}));
    CHECK(near(lazyxla::reduce_precision(x * 1.2, 8, 1), {-2, 0, 2}));
    const auto kept = lazyxla::optimization_barrier({x, z});
    CHECK(kept.size() == 2 && near(kept[0], {-2, 0, 2}));
    CHECK(near(lazyxla::relu(x), {0, 0, 2}) && near(lazyxla::gelu(x), {-0.0455003f, 0, 1.9544997f}));
    CHECK(near(lazyxla::gelu_tanh(x), {-0.0454023f, 0, 1.9545977f}) &&
          near(lazyxla::silu(x), {-0.238406f, 0, 1.761594f}));
    CHECK(near(lazyxla::relu6(x * 4), {0, 0, 6}) && near(lazyxla::elu(x), {-0.864665f, 0, 2}));
    CHECK(near(lazyxla::selu(x), {-1.520167f, 0, 2.101402f}) &&
          near(lazyxla::softplus(x), {0.126928f, 0.693147f, 2.126928f}));
    CHECK(near(lazyxla::mish(x), {-0.252501f, 0, 1.943959f}) &&
          near(lazyxla::log_sigmoid(x), {-2.126928f, -0.693147f, -0.126928f}));
    CHECK(near(lazyxla::hard_sigmoid(x), {1.f / 6, 0.5f, 5.f / 6}) &&
          near(lazyxla::hard_swish(x), {-1.f / 3, 0, 5.f / 3}));
    CHECK(near(lazyxla::erf(x), {-0.995322f, 0, 0.995322f}) && near(lazyxla::erfc(x), {1.995322f, 1, 0.004678f}));
    CHECK(has<bool>(lazyxla::lt(x, 1), {true, true, false}) && has<bool>(lazyxla::ge(0, x), {true, true, false}));
    CHECK(has<bool>(lazyxla::compare_total_order(LXLA_COMPARE_LT, -(x * 0), x * 0), {false, true, true}));
    Tensor big = Tensor::from_host(std::vector<int64_t>{1}, {1}, at);
    big += int64_t{1} << 62;
    CHECK(has<int64_t>(big, {(int64_t{1} << 62) + 1}));
    CHECK(has<uint64_t>(Tensor::full_exact({1}, UINT64_MAX, LXLA_DTYPE_U64, at), {UINT64_MAX}));
    CHECK(has<int64_t>(Tensor::arange_exact(INT64_MAX - 2, INT64_MAX, 1, LXLA_DTYPE_S64, at),
                       {INT64_MAX - 2, INT64_MAX - 1}));
    CHECK(has<int64_t>(Tensor::linspace_exact(INT64_MIN, INT64_MAX, 2, true, LXLA_DTYPE_S64, at),
                       {INT64_MIN, INT64_MAX}));
  });
}

TEST(dtypes) {
  CHECK(lazyxla::dtype_size(LXLA_DTYPE_C128) == 16 &&
        lazyxla::dtype_promote(LXLA_DTYPE_S64, LXLA_DTYPE_F16) == LXLA_DTYPE_F16);
  CHECK(lazyxla::dtype_can_cast(LXLA_DTYPE_U8, LXLA_DTYPE_S16) &&
        !lazyxla::dtype_can_cast(LXLA_DTYPE_F64, LXLA_DTYPE_F32));
  CHECK(lazyxla::dtype_info(LXLA_DTYPE_F32).digits == 6);
  const lazyxla::Scalar wrapped = lazyxla::Scalar(300).cast(LXLA_DTYPE_S8),
                        infinite = lazyxla::Scalar(-1e300).cast(LXLA_DTYPE_F32);
  CHECK(wrapped.get()->dtype == LXLA_DTYPE_S8 && wrapped.get()->value.i == 44);
  CHECK(infinite.get()->dtype == LXLA_DTYPE_F32 && infinite.get()->value.f == -HUGE_VAL);
  REFUSED(LXLA_INVALID_ARGUMENT, "lxla_scalar_cast: dtype: 99", lazyxla::Scalar(1).cast(lazyxla::Dtype{99}));
}

TEST(arrangements) {
  on_both([](const Place &at) {
    const Tensor x = matrix({1, 2, 3, 4, 5, 6}, {2, 3}, at);
    CHECK(lazyxla::expand_dims(x, {0}).dims() == (Dims{1, 2, 3}) &&
          lazyxla::squeeze(lazyxla::expand_dims(x, {0, -1})).rank() == 2);
    CHECK(near(lazyxla::stack({x, x}, 1), {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
    CHECK(near(lazyxla::split(x, Dims{1, 2}, 1)[1], {2, 3, 5, 6}) &&
          near(lazyxla::split(x, size_t{2}, 0)[1], {4, 5, 6}));
    CHECK(near(lazyxla::slice_axis(x, 1, -2, 3), {2, 3, 5, 6}) && near(lazyxla::reverse(x, {0}), {4, 5, 6, 1, 2, 3}));
    CHECK(near(lazyxla::flip(x), {6, 5, 4, 3, 2, 1}) && near(lazyxla::flip(x, Dims{}), {1, 2, 3, 4, 5, 6}) &&
          near(lazyxla::roll(x, {1}, {1}), {3, 1, 2, 6, 4, 5}));
    CHECK(near(lazyxla::pad(x, 9, {0, 1}, {0, -1}), {9, 1, 2, 9, 4, 5}) &&
          lazyxla::squeeze(lazyxla::expand_dims(x, {0}), Dims{}).rank() == 3);
    CHECK(near(lazyxla::tile(x, {1, 2}), {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
    CHECK(near(lazyxla::repeat(x, 2, 0), {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
    CHECK(near(lazyxla::tril(x), {1, 0, 0, 4, 5, 0}) && near(lazyxla::triu(x, 1), {0, 2, 3, 0, 0, 6}));
    CHECK(near(Tensor::arange(1, 2, 0.5, LXLA_DTYPE_F32, at), {1, 1.5f}) &&
          near(Tensor::eye(1, 2, 1, LXLA_DTYPE_F32, at), {0, 1}));
    CHECK(near(Tensor::linspace(0, 1, 3, true, LXLA_DTYPE_F32, at), {0, 0.5f, 1}));
    const Tensor places = Tensor::from_host(std::vector<int32_t>{1, 0}, {2}, at),
                 column = lazyxla::reshape(places, {2, 1});
    CHECK(near(lazyxla::one_hot(places, 2), {0, 1, 1, 0}) && near(lazyxla::take_along_axis(x, column, 1), {2, 4}));
    CHECK(near(lazyxla::scatter_along(LXLA_SCATTER_SUM, x, column, lazyxla::take_along_axis(x, column, 1), 1),
               {1, 4, 3, 8, 5, 6}));
    CHECK(near(lazyxla::segment_reduce(LXLA_REDUCE_SUM, x, places, 3), {4, 5, 6, 1, 2, 3, 0, 0, 0}));
    CHECK(near(lazyxla::index_add(x, 0, places, x), {5, 7, 9, 5, 7, 9}) &&
          near(lazyxla::index_copy(x, 0, places, x), {4, 5, 6, 1, 2, 3}));
    CHECK(near(lazyxla::sort_along(x, 1, true), {3, 2, 1, 6, 5, 4}) &&
          has<int64_t>(lazyxla::argsort(x, 0, true), {1, 1, 1, 0, 0, 0}));
    const auto [values, indices] = lazyxla::topk(x, 2);
    CHECK(near(values, {3, 2, 6, 5}) && has<int64_t>(indices, {2, 1, 2, 1}));
    CHECK(near(lazyxla::gather(x, places, {{1}, {0}, {}, {}, {0}, 1, {1, 3}}), {4, 5, 6, 1, 2, 3}));
    const Tensor again = Tensor::from_dlpack(x.to_dlpack(), false, at);
    CHECK(near(again, {1, 2, 3, 4, 5, 6}));
  });
}

TEST(statistics_and_products) {
  on_both([](const Place &at) {
    const Tensor x = matrix({1, 2, 3, 4, 5, 9}, {2, 3}, at), square = matrix({4, 2, 2, 5}, {2, 2}, at);
    CHECK(near(lazyxla::sum(x), {24}) && near(lazyxla::mean(x, Dims{}), {1, 2, 3, 4, 5, 9}));
    CHECK(near(lazyxla::mean(x), {4}) && near(lazyxla::mean(x, {1}), {2, 6}) &&
          near(lazyxla::logsumexp(x * 0, {1}), {1.098612f, 1.098612f}));
    CHECK(near(lazyxla::variance(x, {1}, 1), {1, 7}) && near(lazyxla::standard_deviation(x, {1}, 1), {1, 2.645751f}));
    CHECK(near(lazyxla::norm(matrix({3, 4}, {2}, at)), {5}) && near(lazyxla::norm(x, {0}, 1), {5, 7, 12}));
    CHECK(near(lazyxla::softmax(x * 0, 0), {.5f, .5f, .5f, .5f, .5f, .5f}) &&
          near(lazyxla::log_softmax(matrix({0, 0}, {2}, at)), {-0.693147f, -0.693147f}));
    CHECK(near(lazyxla::layer_norm(x, {1}, Tensor(), x * 0 + 1, 0),
               {-0.224745f, 1, 2.224745f, 0.0741799f, 0.53709f, 2.38873f}));
    CHECK(near(lazyxla::rms_norm(matrix({3, 4}, {2}, at), matrix({2, 1}, {2}, at), 0), {1.697056f, 1.131371f}));
    const Tensor cosines = matrix({0, 0}, {2}, at), pairs = matrix({1, 2, 3, 4}, {1, 4}, at);
    CHECK(near(lazyxla::rotary_embedding(pairs, cosines, cosines + 1), {-3, -4, 1, 2}) &&
          near(lazyxla::rotary_embedding(pairs, cosines, cosines + 1, true), {-2, 1, -4, 3}));
    lazyxla::Attention causal;
    causal.causal = true;
    CHECK(near(lazyxla::attention(square * 0, square, square), {3, 3.5f, 3, 3.5f}) &&
          near(lazyxla::attention(square * 0, square, square, Tensor(), causal), {4, 2, 3, 3.5f}));
    CHECK(has<int64_t>(lazyxla::argmax(x, 1), {2, 2}) && has<int64_t>(lazyxla::argmin(x, 0), {0, 0, 0}));
    CHECK(near(lazyxla::cumsum(x, 1), {1, 3, 6, 4, 9, 18}) && near(lazyxla::cumprod(x, 0), {1, 2, 3, 4, 10, 27}));
    CHECK(near(lazyxla::einsum("ij,ij->i", {x, x}), {14, 122}) &&
          near(lazyxla::dot_general(x, x, {{}, {}, {1}, {1}}), {14, 41, 41, 122}));
    const Tensor image = lazyxla::reshape(x, {1, 1, 2, 3}), kernel = matrix({1, 1}, {1, 1, 1, 2}, at);
    lazyxla::Convolution by_two;
    by_two.window_strides = {1, 2};
    by_two.padding_high = {0, 1};
    CHECK(near(lazyxla::convolution(image, kernel, by_two), {3, 3, 9, 9}));
    by_two.window_strides = {1};
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::convolution: its lists", lazyxla::convolution(image, kernel, by_two));
    const Tensor ones = matrix({1, 1, 1}, {3}, at), zeros = ones * 0;
    const auto [normal, means, variances] = lazyxla::batch_norm_training(x, ones, zeros, 0, 1);
    CHECK(near(normal, {-1, -1, -1, 1, 1, 1}) && near(means, {2.5f, 3.5f, 6}) && near(variances, {2.25f, 2.25f, 9}));
    CHECK(near(lazyxla::batch_norm_inference(x, ones, zeros, means, variances, 0, 1), {-1, -1, -1, 1, 1, 1}));
    CHECK(near(lazyxla::batch_norm_grad(x, ones, means, variances, x * 0 + 1, 0, 1)[2], {2, 2, 2}));
    const Tensor factor = lazyxla::cholesky(square);
    CHECK(near(factor, {2, 0, 1, 2}));
    CHECK(near(lazyxla::triangular_solve(factor, square, true, true), {2, 1, 0, 2}));
    const auto [factors, pivots] = lazyxla::ldl(matrix({0, 9, 2, 0}, {2, 2}, at));
    CHECK(near(factors, {0, 0, 2, 0}) && has<int32_t>(pivots, {-2, -2}));
    CHECK(near(lazyxla::ldl_solve(factors, pivots, matrix({2, 6}, {2}, at)), {3, 1}));
    const auto [form, unitary] = lazyxla::schur(matrix({0, -1, 1, 0}, {2, 2}, at));
    CHECK(near(lazyxla::matmul(lazyxla::matmul(unitary, form), lazyxla::transpose(unitary, {1, 0})), {0, -1, 1, 0}));
    CHECK(lazyxla::schur(form, true)[0].dtype() == LXLA_DTYPE_C64);
    const Tensor lower = matrix({0, 1}, {2}, at), diagonal = matrix({2, 2}, {2}, at), upper = matrix({1, 0}, {2}, at);
    CHECK(near(lazyxla::tridiagonal_solve(lower, diagonal, upper, matrix({4, 5}, {2, 1}, at)), {1, 2}));
    const Tensor waves = lazyxla::fft(LXLA_FFT_RFFT, matrix({1, 2, 3, 4}, {4}, at), {4});
    CHECK(near(lazyxla::real(waves), {10, -2, -2}) && near(lazyxla::imag(waves), {0, 2, 0}));
  });
}

TEST(random_numbers_of_keys) {
  on_both([](const Place &at) {
    const Tensor key = Tensor::from_host(std::vector<uint32_t>{0, 42}, {2}, at);
    // Values of jax.random for jax.random.key(42).
    CHECK(
        has<uint32_t>(lazyxla::random_bits(LXLA_RNG_THREE_FRY, key, LXLA_DTYPE_U32, {2}), {2098992034u, 2919706841u}));
    CHECK(near(lazyxla::random_exponential(LXLA_RNG_THREE_FRY, key, {2}), {0.6708175f, 1.1388006f}) &&
          near(lazyxla::random_gumbel(LXLA_RNG_THREE_FRY, key, {2}), {0.3340934f, 0.95201945f}) &&
          near(lazyxla::random_laplace(LXLA_RNG_THREE_FRY, key, {2}), {0.02283965f, -0.44565356f}) &&
          near(lazyxla::random_truncated_normal(LXLA_RNG_THREE_FRY, key, {2}, -1, 2), {0.14770006f, 0.5684449f}));
    const Tensor logits = matrix({0, 1, 2, 0}, {4}, at);
    CHECK(has<int32_t>(lazyxla::random_categorical(LXLA_RNG_THREE_FRY, key, logits, 0, {8}), {2, 1, 1, 1, 1, 3, 1, 1}));
    CHECK(has<int32_t>(lazyxla::random_integers(LXLA_RNG_THREE_FRY, key, {4}, 0, 10), {4, 4, 1, 9}));
    CHECK(has<int32_t>(lazyxla::random_poisson(LXLA_RNG_THREE_FRY, key, matrix({3, 30}, {2}, at), {2}), {6, 35}));
    CHECK(near(lazyxla::random_choice(LXLA_RNG_THREE_FRY, key, logits, {4}, 0, false), {2, 0, 0, 1}));
    const Tensor keys = lazyxla::random_split(LXLA_RNG_PHILOX, key, 3);
    CHECK(keys.dims() == (Dims{3, 2}));
    for (const Tensor &u : {lazyxla::random_uniform(LXLA_RNG_PHILOX, key, {100}, 2, 3),
                            lazyxla::random_normal(LXLA_RNG_PHILOX, key, {100})})
      CHECK(u.dims() == Dims{100} && u.dtype() == LXLA_DTYPE_F32);
    const float mean = lazyxla::mean(lazyxla::random_uniform(LXLA_RNG_THREE_FRY, key, {1000}, 2, 3)).read<float>()[0];
    CHECK(2.4f < mean && mean < 2.6f);
    CHECK(has<bool>(lazyxla::random_bernoulli(LXLA_RNG_PHILOX, key, 1, {2}), {true, true}));
    const Tensor state = Tensor::from_host(std::vector<uint64_t>{1, 2}, {2}, at);
    const auto [next, bits] = lazyxla::rng_bit_generator(LXLA_RNG_THREE_FRY, state, LXLA_DTYPE_U32, {2});
    CHECK(next.dtype() == LXLA_DTYPE_U64 && bits.dims() == Dims{2});
  });
}

TEST(operations_with_computations) {
  on_both([](const Place &at) {
    const Place &traced = at;
    Tensor p = Tensor::placeholder({}, LXLA_DTYPE_F32, traced), q = Tensor::placeholder({}, LXLA_DTYPE_F32, traced);
    const lazyxla::Computation sum({p, q}, {p + q}), less({p, q}, {lazyxla::lt(p, q)}),
        more({p, q}, {lazyxla::ge(p, q)}), twice({p}, {p * 2}), same({p}, {p + 0});
    const Tensor x = matrix({3, 1, 2}, {3}, at), zero = Tensor::full({}, 0, LXLA_DTYPE_F32, at);
    CHECK(near(lazyxla::sort(less, {x})[0], {1, 2, 3}) && near(lazyxla::reduce_with(sum, {x}, {zero}, {0})[0], {6}));
    lazyxla::Windows pairs;
    pairs.window_dimensions = {2};
    CHECK(near(lazyxla::reduce_window(sum, {x}, {zero}, pairs)[0], {4, 3}));
    CHECK(near(lazyxla::select_and_scatter(more, sum, x, matrix({10, 20}, {2}, at), zero, pairs), {10, 0, 20}));
    const Tensor places = Tensor::from_host(std::vector<int32_t>{2, 2}, {2, 1}, at);
    CHECK(near(lazyxla::scatter(sum, {x}, places, {matrix({1, 1}, {2}, at)}, {{}, {0}, {}, {}, {0}, 1})[0], {3, 1, 4}));
    const Tensor one = Tensor::full({}, 1, LXLA_DTYPE_S32, at);
    CHECK(near(lazyxla::switch_case(one, {same, twice}, {zero + 4})[0], {8}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::reduce_with: ", lazyxla::reduce_with(sum, {x}, {}, {0}));
  });
}

TEST(selections) {
  on_both([](const Place &at) {
    const Tensor x = matrix({3, 0, 2, 3}, {2, 2}, at), zero = Tensor::full({}, 0, LXLA_DTYPE_F32, at);
    const auto places = lazyxla::nonzero(x, 4, 9, LXLA_DTYPE_S32);
    CHECK(has<int32_t>(places[0], {0, 1, 1, 9}) && has<int32_t>(places[1], {0, 0, 1, 9}) &&
          has<int32_t>(places[2], {3}));
    CHECK(near(lazyxla::mask_select(x, lazyxla::gt(x, zero + 2), 3, zero)[0], {3, 3, 0}));
    CHECK(near(lazyxla::mask_assign(x, lazyxla::gt(x, zero + 2), zero + 5), {5, 0, 2, 5}));
    const auto all = lazyxla::unique(x, 4, zero - 1, LXLA_DTYPE_S32);
    CHECK(near(all.values, {0, 2, 3, -1}) && has<int32_t>(all.indices, {1, 2, 0, 1}) &&
          has<int32_t>(all.counts, {1, 1, 2, 0}));
    CHECK(has<int32_t>(all.inverse, {2, 0, 1, 2}) && has<int32_t>(all.count, {3}));
    CHECK(has<int32_t>(lazyxla::searchsorted(lazyxla::unique(x, 3).values, x, true, LXLA_DTYPE_S32), {3, 1, 2, 3}));
    const Tensor i = Tensor::from_host(std::vector<int32_t>{1, -2}, {2}, at);
    CHECK(near(lazyxla::index(x, {i, i}), {3, 3}) && near(lazyxla::index(x, {{}, i}), {0, 3, 3, 2}));
    CHECK(near(lazyxla::index_put(LXLA_SCATTER_SUM, x, {i, i}, zero + 10), {13, 0, 2, 13}));
    CHECK(near(lazyxla::slice_assign(x, {0, 1}, {2, 2}, {}, zero + 7), {3, 7, 2, 7}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::slice_assign", lazyxla::slice_assign(x, {0, 1}, {2, 2}, {1}, zero));
    CHECK(near(Tensor::from_dlpack_unversioned(x.to_dlpack_unversioned(), false, at), {3, 0, 2, 3}));
  });
}

TEST(functions_of_one_and_two) {
  on_both([](const Place &at) {
    const Tensor x = matrix({0.5f}, {1}, at);
    CHECK(near(lazyxla::sinh(x), {0.5210953f}) && near(lazyxla::cosh(x), {1.1276260f}) &&
          near(lazyxla::asin(x), {0.5235988f}));
    CHECK(near(lazyxla::acos(x), {1.0471976f}) && near(lazyxla::atan(x), {0.4636476f}) &&
          near(lazyxla::asinh(x), {0.4812118f}));
    CHECK(near(lazyxla::acosh(x + 1), {0.9624237f}) && near(lazyxla::atanh(x), {0.5493061f}) &&
          near(lazyxla::lgamma(x), {0.5723649f}));
    CHECK(near(lazyxla::digamma(x), {-1.9635100f}) && near(lazyxla::trigamma(x), {4.9348022f}) &&
          near(lazyxla::erf_inv(x), {0.4769363f}));
    CHECK(near(lazyxla::bessel_i0e(x), {0.6450353f}) && near(lazyxla::bessel_i1e(x), {0.1564208f}) &&
          near(lazyxla::normal_cdf(x), {0.6914625f}));
    CHECK(has<float>(lazyxla::nextafter(x, 1), {0.50000006f}));
    CHECK(near(lazyxla::polygamma(2, x), {-16.8287966f}) && near(lazyxla::zeta(2, x), {4.9348022f}));
    CHECK(near(lazyxla::bessel_j0(x), {0.9384698f}) && near(lazyxla::bessel_j1(x), {0.2422685f}) &&
          near(lazyxla::bessel_y0(x), {-0.4445187f}) && near(lazyxla::bessel_y1(x), {-1.4714724f}));
    CHECK(near(lazyxla::bessel_k0(x), {0.9244191f}) && near(lazyxla::bessel_k1(x), {1.6564411f}) &&
          near(lazyxla::bessel_k0e(x), {1.5241094f}) && near(lazyxla::bessel_k1e(x), {2.7310097f}) &&
          near(lazyxla::erfcx(x), {0.6156903f}));
    CHECK(near(lazyxla::igamma(2, x), {0.0902040f}) && near(lazyxla::igammac(2, x), {0.9097960f}) &&
          near(lazyxla::igamma_grad_a(2, x), {-0.1510342f}));
  });
}

TEST(derivatives_and_batching) {
  on_both([](const Place &at) {
    // f(x, n) = sum(w x^2), x; captures w.
    const Tensor w = matrix({1, 10}, {2}, at), x = matrix({2, 3}, {2}, at), n = Tensor::full({}, 4, LXLA_DTYPE_S32, at);
    const Tensor p = Tensor::placeholder({2}, LXLA_DTYPE_F32, at), q = Tensor::placeholder({}, LXLA_DTYPE_S32, at);
    const Tensor named = lazyxla::checkpoint_name(p * p, "square");
    const lazyxla::Computation f({p, q}, {lazyxla::sum(named * w), p});
    lazyxla::VjpOptions options;
    CHECK(lazyxla::value_and_grad(f).results() == 3 && near(lazyxla::value_and_grad(f)({x, n})[2], {4, 60}));
    options.captured = true;
    options.wrt = std::vector<size_t>();
    const auto of_captured = lazyxla::value_and_grad(f, options)({x, n});
    CHECK(of_captured.size() == 3 && near(of_captured[0], {94}) && near(of_captured[2], {4, 9}));
    options.wrt = {1};
    REFUSED(LXLA_INVALID_ARGUMENT, "parameter 1 is s32[]", lazyxla::value_and_grad(f, options));
    options = {};
    options.checkpoint = LXLA_CHECKPOINT_SAVE_NAMED;
    options.saved_names = {"square", "cube"};
    const lazyxla::Vjp passes = lazyxla::vjp(f, options);
    std::vector<Tensor> made = passes.forward({x, n}), back(made.begin() + 2, made.end());
    CHECK(passes.forward.results() == 2 + passes.residuals && passes.backward.params() == passes.residuals + 2);
    back.push_back(Tensor::full({}, 2, LXLA_DTYPE_F32, at)), back.push_back(w);
    CHECK(near(passes.backward(back)[0], {9, 130}));
    CHECK(near(lazyxla::jvp(f)({x, n, w})[2], {604}) && near(lazyxla::jvp(f, {0})({x, n, w})[3], {1, 10}));
    // A batch of three as the last axis of x.
    const lazyxla::Computation over = lazyxla::vmap(f, {1, -1}, {0, 1}, 3);
    const auto mapped = over({matrix({0, 1, 2, 3, 4, 5}, {2, 3}, at), n});
    CHECK(near(mapped[0], {90, 161, 254}) && near(mapped[1], {0, 1, 2, 3, 4, 5}));
    REFUSED(LXLA_INVALID_ARGUMENT, "in_axes", lazyxla::vmap(f, {0}, {0, 0}, 3));
    // A policy of f's own.
    for (const auto &kept : {lazyxla::checkpoint(f, LXLA_CHECKPOINT_SAVE_NONE),
                             lazyxla::checkpoint(f, LXLA_CHECKPOINT_SAVE_NAMED, {"square"})})
      CHECK(near(lazyxla::value_and_grad(kept)({x, n})[2], {4, 60}) && near(kept({x, n})[0], {94}));
    REFUSED(LXLA_INVALID_ARGUMENT, "saved_names", lazyxla::checkpoint(f, LXLA_CHECKPOINT_SAVE_NONE, {"square"}));
    // What f captured, as a parameter: w.
    const lazyxla::Computation open = lazyxla::lift(f);
    CHECK(open.params() == 3 && open.captured() == 0 && near(open({x, n, x})[0], {35}));
    // Derivatives of the caller's: 7 times the cotangent or tangent.
    const lazyxla::Computation same({p}, {p + 0}), keeping({p}, {p + 0, p});
    const Tensor t = Tensor::placeholder({2}, LXLA_DTYPE_F32, at);
    const lazyxla::Computation back_of({p, t}, {t * 7}), tangent_of({p, t}, {p + 0, t * 7});
    for (const auto &own : {lazyxla::with_vjp(same, keeping, back_of), lazyxla::with_jvp(same, tangent_of)}) {
      const lazyxla::Computation loss({p}, {lazyxla::sum(own({p})[0] * w)});
      CHECK(near(lazyxla::value_and_grad(loss)({x})[1], {7, 70}));
    }
    // A batching of the caller's: 3 times the value.
    const Tensor many = Tensor::placeholder({3, 2}, LXLA_DTYPE_F32, at);
    const lazyxla::Computation thrice({many}, {many * 3}), batching = lazyxla::with_vmap(same, thrice);
    CHECK(
        near(lazyxla::vmap(batching, {0}, {0}, 3)({matrix({0, 1, 2, 3, 4, 5}, {3, 2}, at)})[0], {0, 3, 6, 9, 12, 15}));
    const lazyxla::Computation stopped({p}, {lazyxla::sum(lazyxla::stop_gradient(p) * p)});
    CHECK(near(lazyxla::value_and_grad(stopped)({x})[1], {2, 3}));
    // Gradients of what waits for a placeholder.
    const Tensor cube = p * p * p;
    const lazyxla::Computation of_sum({p}, lazyxla::gradients({lazyxla::sum(cube)}, {p})),
        of_cube({p}, lazyxla::gradients({cube}, {p}, {w}));
    CHECK(near(of_sum({x})[0], {12, 27}) && near(of_cube({x})[0], {12, 270}));
    REFUSED(LXLA_INVALID_ARGUMENT, "lazyxla::gradients", lazyxla::gradients({cube}, {p}, {}));
    const Tensor other = p.placeholder_like();
    lazyxla::GradientsOptions connected;
    connected.require_connected = true;
    CHECK(lazyxla::gradients_with({}, {lazyxla::sum(cube)}, {p, other}).size() == 2);
    CHECK(lazyxla::gradients_with(connected, {cube}, {p}, {{w}}).size() == 1);
    REFUSED(LXLA_INVALID_ARGUMENT, "xs[1] (f32[", lazyxla::gradients_with(connected, {lazyxla::sum(cube)}, {p, other}));
  });
}

TEST(what_runs_and_what_it_takes) {
  Environment env;
  const Tensor x = floats(env, {1, 2}), captured = x * 3;
  Tensor p = Tensor::placeholder({2}, LXLA_DTYPE_F32, {env, xla()});
  const lazyxla::Computation adds({p}, {p + x});
  CHECK(adds.captured() == 1 && near(adds.captured_at(0), {1, 2}));
  CHECK(adds.compare({x}, {env, xla()}).find("\"compared\":1,\"found\":null") != std::string::npos);
  REFUSED(LXLA_INVALID_ARGUMENT, "tolerance: -1", adds.compare({x}, {env, xla()}, -1));
  {
    lazyxla::Label label("cpp");
    const auto doubled = captured * 2.0;
    CHECK(lazyxla::graph_dot({doubled}).find("label=\"cpp\"") != std::string::npos);
    CHECK(lazyxla::find_nonfinite({doubled}).find("\"found\":null") != std::string::npos);
    env.report("test_cpp_report.html");
    CHECK(std::remove("test_cpp_report.html") == 0);
    REFUSED(LXLA_NOT_FOUND, "no/where.html", env.report("no/where.html"));
  }
  const auto hash = lazyxla::graph_hash({captured});
  CHECK(hash == lazyxla::graph_hash({captured}) && hash != lazyxla::graph_hash({x + x}));
  CHECK(lazyxla::compiled_memory({captured}).argument_bytes >= 8);
  lazyxla::save("test_cpp_names.safetensors", {{"x", x}});
  CHECK(lazyxla::file_names("test_cpp_names.safetensors").find("\"f32\"") != std::string::npos);
  lazyxla::AsyncSave save("test_cpp_names.safetensors", {{"x", x}});
  save.wait();
  CHECK(save.progress() == (std::pair<uint64_t, uint64_t>{8, 8}));
  const std::string version = "\"lazyxla_version\":\"" + std::string(lazyxla::version()) + "\"";
  lazyxla::save("test_cpp_names.safetensors", {{"x", x}}, {{{"step", "7"}, {"a", "\""}}});
  CHECK(lazyxla::file_metadata("test_cpp_names.safetensors") == "{\"a\":\"\\\"\"," + version + ",\"step\":\"7\"}");
  lazyxla::AsyncSave kept("test_cpp_names.safetensors", {{"x", x}}, lazyxla::SaveOptions{});
  kept.wait();
  CHECK(lazyxla::file_metadata("test_cpp_names.safetensors").find("\"step\":\"7\"") != std::string::npos);
  lazyxla::AsyncSave without("test_cpp_names.safetensors", {{"x", x}}, {{}, false});
  without.wait();
  CHECK(lazyxla::file_metadata("test_cpp_names.safetensors") == "{" + version + "}");
  std::remove("test_cpp_names.safetensors");
  REFUSED(LXLA_NOT_FOUND, "no_such_target",
          lazyxla::custom_call("no_such_target", {x}, {{LXLA_DTYPE_F32, {2}}})[0].read<float>());
  CHECK(lazyxla::version() == lxla_version());
}

}  // namespace
