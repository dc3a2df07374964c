// lazyxla in C++17: owners for the handles of lazyxla.h, exceptions for its statuses, operators for its operations.
// Headers only; what a call means, and when it fails, is said in lazyxla.h. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_HPP
#define LAZYXLA_HPP

#include "lazyxla/arrays.hpp"
#include "lazyxla/computation.hpp"
#include "lazyxla/dtypes.hpp"
#include "lazyxla/elementwise.hpp"
#include "lazyxla/environment.hpp"
#include "lazyxla/products.hpp"
#include "lazyxla/random.hpp"
#include "lazyxla/reductions.hpp"
#include "lazyxla/run.hpp"
#include "lazyxla/selection.hpp"
#include "lazyxla/tensor.hpp"

#endif  // LAZYXLA_HPP
