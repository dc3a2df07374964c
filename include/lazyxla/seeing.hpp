// Labels of what is recorded.
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

}  // namespace lazyxla

#endif  // LAZYXLA_SEEING_HPP
