// Meshes: places of several devices, shardings, computations on the pieces of each device, collectives.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_MESH_HPP
#define LAZYXLA_MESH_HPP

#include "computation.hpp"

namespace lazyxla {

namespace detail {
// Returns the texts as C takes them, as long as the strings live.
inline std::vector<const char *> texts(const std::vector<std::string> &strings) {
  std::vector<const char *> list;
  for (const std::string &text : strings) list.push_back(text.c_str());
  return list;
}
}  // namespace detail

/// One reference to a mesh: named axes over XLA devices. A moved-from one is none: INVALID_HANDLE.
class Mesh {
 public:
  /// A mesh with these axes, each a name and a size. `ordinals` are the XLA devices of its positions, the last axis
  /// counting fastest; by default 0, 1, ... Of `at`, the environment is used.
  explicit Mesh(const std::vector<std::pair<std::string, int64_t>> &axes, const std::vector<int32_t> &ordinals = {},
                const Place &at = {})
      : env_(at.env) {
    std::vector<std::string> names;
    Dims sizes;
    double devices = 1;
    for (const auto &[name, size] : axes) {
      names.push_back(name), sizes.push_back(size);
      devices *= static_cast<double>(size);
    }
    if (!ordinals.empty() && static_cast<double>(ordinals.size()) != devices)
      throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::Mesh: the ordinals are not as many as the devices of the axes");
    mesh_ = detail::get<lxla_mesh_create>(env_, detail::texts(names).data(), sizes.data(), sizes.size(),
                                          ordinals.empty() ? nullptr : ordinals.data());
  }
  /// Another reference to the same mesh.
  Mesh(const Mesh &other) : mesh_(other.mesh_), env_(other.env_) { if (mesh_.id != 0) check(lxla_mesh_retain(mesh_)); }
  /// Takes the reference over; the other is no mesh then.
  Mesh(Mesh &&other) noexcept : mesh_(std::exchange(other.mesh_, lxla_mesh{})), env_(other.env_) {}
  /// Gives up the reference it has, and takes or shares the other's.
  Mesh &operator=(Mesh other) noexcept { return std::swap(mesh_, other.mesh_), std::swap(env_, other.env_), *this; }
  ~Mesh() { lxla_mesh_release(mesh_); }  ///< Gives up the reference.

  lxla_mesh handle() const noexcept { return mesh_; }                             ///< For calls of lazyxla.h.
  lxla_device device() const { return detail::get<lxla_mesh_device>(mesh_); }     ///< Its device, a place as any other.
  /// Its device in the environment that it was made in.
  Place place() const {
    Place at(device());
    at.env = env_;
    return at;
  }
  std::string info() const { return detail::text<lxla_mesh_info>(mesh_); }        ///< Axes and devices, as JSON.

  /// A new tensor with the value of x, in pieces on the devices of this mesh.
  Tensor shard(const Tensor &x, const std::string &sharding) const {
    return Tensor::make<lxla_tensor_shard>(x.handle(), mesh_, sharding.c_str());
  }
  /// A tensor with these elements, in row-major order, in pieces on the devices of this mesh.
  template <class T> Tensor from_host(const std::vector<T> &values, const Dims &dims, const std::string &sharding) const {
    const auto &elements = detail::contiguous(values);
    return Tensor::make<lxla_tensor_from_host_sharded>(mesh_, dtype_of<T>(), dims.data(), dims.size(), elements.data(),
                                                       elements.size() * sizeof(elements[0]), sharding.c_str());
  }
  /// Applies body on each device to its pieces of args, and puts the results together.
  std::vector<Tensor> shard_map(const Computation &body, const std::vector<std::string> &in_shardings,
                                const std::vector<Tensor> &args, const std::vector<std::string> &out_shardings) const {
    if (in_shardings.size() != args.size())
      throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::Mesh::shard_map: the shardings and arguments differ in number");
    const auto in = detail::handles(args);
    const auto inputs = detail::texts(in_shardings), outputs = detail::texts(out_shardings);
    std::vector<lxla_tensor> out(outputs.size());
    check(lxla_shard_map(body.handle(), mesh_, inputs.data(), in.data(), in.size(), outputs.data(), out.data(), out.size()));
    return detail::adopted(out);
  }

 private:
  lxla_mesh mesh_{};
  lxla_env env_{};
};

/// How a tensor on a mesh is split, one entry for each of its axes.
inline std::string sharding(const Tensor &x) { return detail::text<lxla_tensor_sharding>(x.handle()); }
/// A picture in lines of text: the devices that hold each piece of a tensor on a mesh.
inline std::string sharding_picture(const Tensor &x) { return detail::text<lxla_tensor_sharding_picture>(x.handle()); }
/// Copies the piece of a device to `dst`; waits for it. Returns where it begins in the whole, and its sizes.
inline std::pair<Dims, Dims> shard_read(const Tensor &x, int32_t ordinal, void *dst, size_t size_bytes) {
  const size_t rank = x.rank();
  Dims offsets(rank), dims(rank);
  check(lxla_tensor_shard_read(x.handle(), ordinal, dst, size_bytes, offsets.data(), dims.data(), rank));
  return {offsets, dims};
}
/// Returns x, in pieces as stated.
inline Tensor sharding_constraint(const Tensor &x, const std::string &sharding) {
  return Tensor::make<lxla_sharding_constraint>(x.handle(), sharding.c_str());
}

/// In the body of a shard_map: the reduction by op, one of LXLA_REDUCE_*, over the devices along axes ("data+model").
inline Tensor all_reduce(int32_t op, const Tensor &x, const std::string &axes) {
  return Tensor::make<lxla_all_reduce>(op, x.handle(), axes.c_str());
}
/// In the body of a shard_map: the values of the devices along axes, concatenated along an axis of the tensor.
inline Tensor all_gather(const Tensor &x, const std::string &axes, int64_t axis = 0) {
  return Tensor::make<lxla_all_gather>(x.handle(), axes.c_str(), axis);
}
/// In the body of a shard_map: one piece for each device, along an axis of the tensor, of the reduction.
inline Tensor reduce_scatter(int32_t op, const Tensor &x, const std::string &axes, int64_t axis = 0) {
  return Tensor::make<lxla_reduce_scatter>(op, x.handle(), axes.c_str(), axis);
}
/// In the body of a shard_map: splits x along an axis, sends each device its piece, and concatenates those received.
inline Tensor all_to_all(const Tensor &x, const std::string &axes, int64_t split_axis, int64_t concat_axis) {
  return Tensor::make<lxla_all_to_all>(x.handle(), axes.c_str(), split_axis, concat_axis);
}
/// In the body of a shard_map: the value of the device at the source, for the one at the target; zeros for the others.
inline Tensor collective_permute(const Tensor &x, const std::string &axis,
                                 const std::vector<std::pair<int64_t, int64_t>> &pairs) {
  Dims positions;
  for (const auto &[source, target] : pairs) positions.push_back(source), positions.push_back(target);
  return Tensor::make<lxla_collective_permute>(x.handle(), axis.c_str(), positions.data(), pairs.size());
}
/// In the body of a shard_map: the position of each device along axes of the mesh of a place, an s32 scalar.
inline Tensor axis_index(const Place &at, const std::string &axes) {
  return Tensor::make<lxla_axis_index>(at.env, at.device, axes.c_str());
}

}  // namespace lazyxla

#endif  // LAZYXLA_MESH_HPP
