// Computations written for others: StableHLO text, folders with captured values, files of jax.export.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_EXPORT_HPP
#define LAZYXLA_EXPORT_HPP

#include "computation.hpp"

#include <string>
#include <vector>

namespace lazyxla {

/// Options of an export, as in lxla_export_options.
struct ExportOptions {
  ExportFormat format = LXLA_EXPORT_FOLDER;  ///< One of LXLA_EXPORT_*.
  Int32 vjp_order = 0;                       ///< 1 adds the backward pass to a file for JAX.
  std::string stablehlo_version;             ///< Such as 1.5.0; empty for the oldest one that has all operations.
  std::vector<std::string> parameter_names;  ///< One for each parameter, or none.
  std::vector<std::string> result_names;     ///< One for each result, or none.
};

/// Writes a computation to a file or a folder, whole or not at all.
inline void export_computation(const Computation &computation, const std::string &path,
                               const ExportOptions &given = {}) {
  auto options = detail::defaults<lxla_export_options, lxla_export_options_init>();
  std::vector<const char *> parameters, results;
  for (const std::string &name : given.parameter_names) parameters.push_back(name.c_str());
  for (const std::string &name : given.result_names) results.push_back(name.c_str());
  options.format = given.format;
  options.vjp_order = given.vjp_order;
  options.stablehlo_version = given.stablehlo_version.empty() ? nullptr : given.stablehlo_version.c_str();
  options.parameter_names = parameters.data();
  options.n_parameter_names = parameters.size();
  options.result_names = results.data();
  options.n_result_names = results.size();
  check(lxla_computation_export(computation.handle(), &options, path.c_str()));
}

}  // namespace lazyxla

#endif  // LAZYXLA_EXPORT_HPP
