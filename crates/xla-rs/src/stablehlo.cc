// Converts StableHLO text to HLO by a function of XLA that the crate xla does not bind.

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/service/hlo.pb.h"

namespace xla {
// As in xla/pjrt/mlir_to_hlo.h, which needs headers of MLIR.
absl::Status ParseMlirModuleStringAndConvertToXlaComputation(std::string_view text, XlaComputation &computation,
                                                             bool use_tuple_args, bool return_tuple);
}  // namespace xla

namespace {

// Writes an HloSnapshot of the module to `out`. The crate reads a snapshot first; a module alone could be read as one.
absl::Status convert(std::string_view text, std::string &out) {
  xla::XlaComputation computation;
  absl::Status status = xla::ParseMlirModuleStringAndConvertToXlaComputation(text, computation, false, true);
  if (!status.ok()) {
    return status;
  }
  xla::HloSnapshot snapshot;
  *snapshot.mutable_hlo()->mutable_hlo_module() = std::move(*computation.mutable_proto());
  if (!snapshot.SerializeToString(&out)) {
    return absl::ResourceExhaustedError("the HLO module has 2 GiB or more");
  }
  return absl::OkStatus();
}

}  // namespace

// Converts `size` bytes of text. Returns absl's code of the status. `*bytes` and `*count` are the serialized
// HloSnapshot, or the message of the error, in memory from malloc; NULL and 0 without memory. The result of `main` is a
// tuple.
extern "C" int lazyxla_stablehlo_to_hlo(const char *text, size_t size, char **bytes, size_t *count) {
  *bytes = nullptr;
  *count = 0;
  try {
    std::string out;
    absl::Status status = convert(std::string_view(text, size), out);
    std::string_view result = status.ok() ? std::string_view(out) : status.message();
    *bytes = static_cast<char *>(std::malloc(result.size() + 1));
    if (*bytes == nullptr) {
      return static_cast<int>(absl::StatusCode::kResourceExhausted);
    }
    std::memcpy(*bytes, result.data(), result.size());
    *count = result.size();
    return static_cast<int>(status.code());
  } catch (const std::bad_alloc &) {
    return static_cast<int>(absl::StatusCode::kResourceExhausted);
  } catch (...) {
    return static_cast<int>(absl::StatusCode::kInternal);
  }
}

extern "C" void lazyxla_free(char *bytes) { std::free(bytes); }
