// Operations that create tensors. Creation from values is in tensor.hpp: static members of Tensor.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_CREATION_HPP
#define LAZYXLA_CREATION_HPP

#include "tensor.hpp"

namespace lazyxla {

/// Encodes indices one-hot: 1 at the position of the index along a new axis, 0 elsewhere.
inline Tensor one_hot(const Tensor &indices, Int depth, Int axis = -1, Dtype dtype = LXLA_DTYPE_F32) {
  return Tensor::make<lxla_one_hot>(indices.handle(), depth, axis, dtype);
}
/// Lower triangles.
inline Tensor tril(const Tensor &x, Int k = 0) { return Tensor::make<lxla_tril>(x.handle(), k); }
/// Upper triangles.
inline Tensor triu(const Tensor &x, Int k = 0) { return Tensor::make<lxla_triu>(x.handle(), k); }

}  // namespace lazyxla

#endif  // LAZYXLA_CREATION_HPP
