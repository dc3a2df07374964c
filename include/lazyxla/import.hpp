// Computations from programs that others exported: StableHLO text, MLIR bytecode, files of jax.export.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_IMPORT_HPP
#define LAZYXLA_IMPORT_HPP

#include "computation.hpp"
#include "environment.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lazyxla {

/// Options of an import, as in lxla_import_options.
struct ImportOptions {
  std::string function;      ///< Name of the function; empty for main, or the only public one.
  std::vector<Dims> shapes;  ///< Shapes of all parameters, for a program with free sizes; empty for its own.
  lxla_mesh mesh{};          ///< Mesh on which the computation will be called; id 0 for one device.
};

namespace detail {
// Calls a function with options of an import, which point into `given`.
template <class Call> lxla_computation with_import_options(const ImportOptions &given, Call call) {
  auto options = defaults<lxla_import_options, lxla_import_options_init>();
  std::vector<size_t> ranks;
  Dims dims;
  for (const Dims &shape : given.shapes) {
    ranks.push_back(shape.size());
    dims.insert(dims.end(), shape.begin(), shape.end());
  }
  options.function = given.function.empty() ? nullptr : given.function.c_str();
  options.ranks = ranks.data();
  options.dims = dims.data();
  options.n_parameters = ranks.size();
  options.mesh = given.mesh;
  lxla_computation made{};
  check(call(&options, &made));
  return made;
}
}  // namespace detail

/// Imports a function of a program, whose form is recognized by its bytes.
inline Computation import_program(const Environment &env, std::string_view module, const ImportOptions &options = {}) {
  return Computation::adopt(
      detail::with_import_options(options, [&](const lxla_import_options *given, lxla_computation *out) {
        return lxla_computation_import(env.handle(), module.data(), module.size(), given, out);
      }));
}
/// Imports a function of the program in a file.
inline Computation import_file(const Environment &env, const std::string &path, const ImportOptions &options = {}) {
  return Computation::adopt(
      detail::with_import_options(options, [&](const lxla_import_options *given, lxla_computation *out) {
        return lxla_computation_import_file(env.handle(), path.c_str(), given, out);
      }));
}
/// Describes a program as JSON.
inline std::string describe_program(std::string_view module) {
  return detail::text<lxla_module_describe>(module.data(), module.size());
}
/// Describes the program in a file as JSON.
inline std::string describe_program_file(const std::string &path) {
  return detail::text<lxla_module_describe_file>(path.c_str());
}

}  // namespace lazyxla

#endif  // LAZYXLA_IMPORT_HPP
