// Names and dtypes of collectives.
#include "group.h"

const char *name_of(int32_t kind) {
  static const char *const names[KINDS] = {
      [ALLREDUCE] = "lazyxla_mpi.allreduce",        [GATHER] = "lazyxla_mpi.allgather",
      [SUM_SCATTER] = "lazyxla_mpi.reduce_scatter", [BROADCAST] = "lazyxla_mpi.broadcast",
      [SUM_TO_ROOT] = "lazyxla_mpi.sum_to_root",    [SEND_RECEIVE] = "lazyxla_mpi.send_receive",
  };
  return kind >= 0 && kind < KINDS ? names[kind] : "another collective";
}

const char *name_of_reduce(int32_t reduce) {
  switch (reduce) {
    case LXLA_REDUCE_SUM: return "SUM";
    case LXLA_REDUCE_PRODUCT: return "PRODUCT";
    case LXLA_REDUCE_MAX: return "MAX";
    case LXLA_REDUCE_MIN: return "MIN";
    default: return "?";
  }
}

const char *name_of_dtype(int32_t dtype) {
  switch (dtype) {
    case LXLA_DTYPE_PRED: return "pred";
    case LXLA_DTYPE_S8: return "s8";
    case LXLA_DTYPE_S16: return "s16";
    case LXLA_DTYPE_S32: return "s32";
    case LXLA_DTYPE_S64: return "s64";
    case LXLA_DTYPE_U8: return "u8";
    case LXLA_DTYPE_U16: return "u16";
    case LXLA_DTYPE_U32: return "u32";
    case LXLA_DTYPE_U64: return "u64";
    case LXLA_DTYPE_F16: return "f16";
    case LXLA_DTYPE_F32: return "f32";
    case LXLA_DTYPE_F64: return "f64";
    case LXLA_DTYPE_BF16: return "bf16";
    case LXLA_DTYPE_C64: return "c64";
    case LXLA_DTYPE_C128: return "c128";
    case LXLA_DTYPE_F8E5M2: return "f8e5m2";
    case LXLA_DTYPE_F8E4M3FN: return "f8e4m3fn";
    case LXLA_DTYPE_F8E4M3B11FNUZ: return "f8e4m3b11fnuz";
    case LXLA_DTYPE_F8E5M2FNUZ: return "f8e5m2fnuz";
    case LXLA_DTYPE_F8E4M3FNUZ: return "f8e4m3fnuz";
    case LXLA_DTYPE_F8E4M3: return "f8e4m3";
    case LXLA_DTYPE_F8E3M4: return "f8e3m4";
    case LXLA_DTYPE_F8E8M0FNU: return "f8e8m0fnu";
    case LXLA_DTYPE_S4: return "s4";
    case LXLA_DTYPE_U4: return "u4";
    case LXLA_DTYPE_S2: return "s2";
    case LXLA_DTYPE_U2: return "u2";
    case LXLA_DTYPE_F4E2M1FN: return "f4e2m1fn";
    default: return "another dtype";
  }
}

size_t size_of_dtype(int32_t dtype) {
  switch (dtype) {
    case LXLA_DTYPE_S16:
    case LXLA_DTYPE_U16:
    case LXLA_DTYPE_F16:
    case LXLA_DTYPE_BF16: return 2;
    case LXLA_DTYPE_S32:
    case LXLA_DTYPE_U32:
    case LXLA_DTYPE_F32: return 4;
    case LXLA_DTYPE_S64:
    case LXLA_DTYPE_U64:
    case LXLA_DTYPE_F64:
    case LXLA_DTYPE_C64: return 8;
    case LXLA_DTYPE_C128: return 16;
    default: return 1;
  }
}
