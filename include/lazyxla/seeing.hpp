// Labels of what is recorded, the graph of what a sync would run, and where NaNs come from.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_SEEING_HPP
#define LAZYXLA_SEEING_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Gives what the thread records a name as long as the object lives. Objects end in the reverse order of their begin.
class Label {
 public:
  explicit Label(const std::string &name) { check(lxla_label_push(name.c_str())); }
  Label(const Label &) = delete;
  Label &operator=(const Label &) = delete;
  ~Label() { lxla_label_pop(); }
};

/// Returns what a sync of these tensors would run as a graph in the language DOT, grouped by labels.
inline std::string graph_dot(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  return detail::text<lxla_graph_dot>(list.data(), list.size());
}
/// The first operation that makes a NaN or an infinity out of finite operands, as JSON; see lxla_find_nonfinite.
inline std::string find_nonfinite(const std::vector<Tensor> &tensors) {
  const auto list = detail::handles(tensors);
  return detail::text<lxla_find_nonfinite>(list.data(), list.size());
}

}  // namespace lazyxla

#endif  // LAZYXLA_SEEING_HPP
