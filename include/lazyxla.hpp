// lazyxla in C++17: owners for the handles of lazyxla.h, exceptions for its statuses, operators for its operations.
// Headers only; lazyxla.h documents each call and its failures. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_HPP
#define LAZYXLA_HPP

// Without C++17, each header below would fail in many places. MSVC says the standard in a macro of its own.
#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "lazyxla.hpp needs C++17: compile with -std=c++17 or a later standard"
#else

#include "lazyxla/arguments.hpp"
#include "lazyxla/computation.hpp"
#include "lazyxla/constants.hpp"
#include "lazyxla/control.hpp"
#include "lazyxla/creation.hpp"
#include "lazyxla/dtypes.hpp"
#include "lazyxla/elementwise.hpp"
#include "lazyxla/environment.hpp"
#include "lazyxla/error.hpp"
#include "lazyxla/executable.hpp"
#include "lazyxla/export.hpp"
#include "lazyxla/function.hpp"
#include "lazyxla/import.hpp"
#include "lazyxla/indexing.hpp"
#include "lazyxla/inspect.hpp"
#include "lazyxla/kernels.hpp"
#include "lazyxla/linalg.hpp"
#include "lazyxla/members.hpp"
#include "lazyxla/mesh.hpp"
#include "lazyxla/names.hpp"
#include "lazyxla/networks.hpp"
#include "lazyxla/nn.hpp"
#include "lazyxla/print.hpp"
#include "lazyxla/random.hpp"
#include "lazyxla/reduction.hpp"
#include "lazyxla/save.hpp"
#include "lazyxla/seeing.hpp"
#include "lazyxla/shape.hpp"
#include "lazyxla/sorting.hpp"
#include "lazyxla/sync.hpp"
#include "lazyxla/tensor.hpp"
#include "lazyxla/transform.hpp"

#endif  // C++17
#endif  // LAZYXLA_HPP
