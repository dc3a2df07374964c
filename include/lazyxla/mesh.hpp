// Meshes of devices, shardings, shard_map and collectives.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LAZYXLA_MESH_HPP
#define LAZYXLA_MESH_HPP

#include "computation.hpp"

namespace lazyxla {

namespace detail {
// Returns pointers to the texts, valid as long as the strings.
inline std::vector<const char *> texts(const std::vector<std::string> &strings) {
  std::vector<const char *> list;
  for (const std::string &text : strings) list.push_back(text.c_str());
  return list;
}
}  // namespace detail

/// Owner of one reference to a mesh: XLA devices arranged along named axes. Using a moved-from object throws
/// INVALID_HANDLE.
class Mesh {
 public:
  /// Creates a mesh in the environment of `at`, with one name and size for each axis. `ordinals` lists its XLA devices,
  /// row-major over the axes; by default 0, 1, ...
  explicit Mesh(const std::vector<std::pair<std::string, Int>> &axes, const std::vector<int32_t> &ordinals = {},
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
  /// Adds a reference to the same mesh.
  Mesh(const Mesh &other) : mesh_(other.mesh_), env_(other.env_) {
    if (mesh_.id != 0) check(lxla_mesh_retain(mesh_));
  }
  /// Moves the reference; the moved-from object has none.
  Mesh(Mesh &&other) noexcept : mesh_(std::exchange(other.mesh_, lxla_mesh{})), env_(other.env_) {}
  /// Releases the present reference, then copies or moves the other's.
  Mesh &operator=(Mesh other) noexcept { return std::swap(mesh_, other.mesh_), std::swap(env_, other.env_), *this; }
  ~Mesh() { lxla_mesh_release(mesh_); }  ///< Gives up the reference.

  lxla_mesh handle() const noexcept { return mesh_; }                          ///< For calls of lazyxla.h.
  lxla_device device() const { return detail::get<lxla_mesh_device>(mesh_); }  ///< Its device, a place as any other.
  /// Returns the mesh as a device of its environment.
  Place place() const {
    Place at(device());
    at.env = env_;
    return at;
  }
  std::string info() const { return detail::text<lxla_mesh_info>(mesh_); }  ///< Axes and devices, as JSON.

  /// Returns a tensor on this mesh with the value of x and a sharding.
  Tensor shard(const Tensor &x, const std::string &sharding) const {
    return Tensor::make<lxla_tensor_shard>(x.handle(), mesh_, sharding.c_str());
  }
  /// Creates a tensor on this mesh from row-major elements, with a sharding.
  template <class T> Tensor from_host(const std::vector<T> &values, const Dims &dims,
                                      const std::string &sharding) const {
    const auto &elements = detail::contiguous(values);
    return Tensor::make<lxla_tensor_from_host_sharded>(mesh_, dtype_of<T>(), dims.data(), dims.size(), elements.data(),
                                                       elements.size() * sizeof(elements[0]), sharding.c_str());
  }
  /// Applies body on each device to its pieces of args. The results of the devices are the pieces of the returned
  /// tensors.
  std::vector<Tensor> shard_map(const Computation &body, const std::vector<std::string> &in_shardings,
                                const std::vector<Tensor> &args, const std::vector<std::string> &out_shardings) const {
    if (in_shardings.size() != args.size())
      throw Error(LXLA_INVALID_ARGUMENT, "lazyxla::Mesh::shard_map: the shardings and arguments differ in number");
    const auto in = detail::handles(args);
    const auto inputs = detail::texts(in_shardings), outputs = detail::texts(out_shardings);
    std::vector<lxla_tensor> out(outputs.size());
    check(lxla_shard_map(body.handle(), mesh_, inputs.data(), in.data(), in.size(), outputs.data(), out.data(),
                         out.size()));
    return detail::adopted(out);
  }

 private:
  lxla_mesh mesh_{};
  lxla_env env_{};
};

/// Returns the sharding of a tensor on a mesh, one entry for each of its axes.
inline std::string sharding(const Tensor &x) { return detail::text<lxla_tensor_sharding>(x.handle()); }
/// Returns a drawing, in lines of text, of the devices that hold each piece of a tensor on a mesh.
inline std::string sharding_picture(const Tensor &x) { return detail::text<lxla_tensor_sharding_picture>(x.handle()); }
/// Copies the piece of a tensor on a device to `dst`, and blocks until the copy is complete. Returns the index of the
/// piece's first element in the tensor, and the shape of the piece.
inline std::pair<Dims, Dims> shard_read(const Tensor &x, Int32 ordinal, void *dst, Count size_bytes) {
  const size_t rank = x.rank();
  Dims offsets(rank), dims(rank);
  check(lxla_tensor_shard_read(x.handle(), ordinal, dst, size_bytes, offsets.data(), dims.data(), rank));
  return {offsets, dims};
}
/// Constrains the sharding of x, which does not change its value.
inline Tensor sharding_constraint(const Tensor &x, const std::string &sharding) {
  return Tensor::make<lxla_sharding_constraint>(x.handle(), sharding.c_str());
}

/// In the body of a shard_map: reduces over the devices along mesh axes ("data+model"), with op one of LXLA_REDUCE_*.
inline Tensor all_reduce(ReduceOp op, const Tensor &x, const std::string &axes) {
  return Tensor::make<lxla_all_reduce>(op, x.handle(), axes.c_str());
}
/// In the body of a shard_map: concatenates the values of the devices along mesh axes, along one axis of the tensor.
inline Tensor all_gather(const Tensor &x, const std::string &axes, Int axis = 0) {
  return Tensor::make<lxla_all_gather>(x.handle(), axes.c_str(), axis);
}
/// In the body of a shard_map: reduces over the devices along mesh axes; each device gets one piece of the result,
/// along one axis of the tensor.
inline Tensor reduce_scatter(ReduceOp op, const Tensor &x, const std::string &axes, Int axis = 0) {
  return Tensor::make<lxla_reduce_scatter>(op, x.handle(), axes.c_str(), axis);
}
/// In the body of a shard_map: splits x along an axis, sends each device its piece, and concatenates the received
/// pieces.
inline Tensor all_to_all(const Tensor &x, const std::string &axes, Int split_axis, Int concat_axis) {
  return Tensor::make<lxla_all_to_all>(x.handle(), axes.c_str(), split_axis, concat_axis);
}
/// In the body of a shard_map: sends the value of each source to its target; devices that are not a target get zeros.
inline Tensor collective_permute(const Tensor &x, const std::string &axis,
                                 const std::vector<std::pair<Int, Int>> &pairs) {
  Dims positions;
  for (const auto &[source, target] : pairs) positions.push_back(source), positions.push_back(target);
  return Tensor::make<lxla_collective_permute>(x.handle(), axis.c_str(), positions.data(), pairs.size());
}
/// In the body of a shard_map: returns the position of each device along axes of the mesh of `at`, an s32 scalar.
inline Tensor axis_index(const Place &at, const std::string &axes) {
  return Tensor::make<lxla_axis_index>(at.env, at.device, axes.c_str());
}

}  // namespace lazyxla

#endif  // LAZYXLA_MESH_HPP
