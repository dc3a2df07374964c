//! XLA's random bit generators.

use crate::creation::constants::full;
use crate::definition::EvalContext;
use crate::elementwise::bits::bitcast_convert;
use crate::emit::{Emitter, emit, mlir};
use base::error;
use base::error::Result;
use ir::{NodeId, Op, Trace, attributes, members, numbered};
use native::{self, Array};

use base::types::{DType, Kind, ScalarValue, TensorType, element_count};

attributes! {
    /// Attributes of `rng_bit_generator`.
    pub struct RngBitGeneratorAttributes {
        /// Algorithm of the generator.
        pub algorithm: RngAlgorithm,
        /// Type of the bits.
        pub ty: TensorType,
    }
}

members!(RngAlgorithm);

numbered! {
    /// A random bit generator.
    RngAlgorithm, "algorithm", "LXLA_RNG_*", {
        /// Threefry 2x32 with 20 rounds.
        ThreeFry = 1 => "THREE_FRY",
        /// Philox 4x32 with 10 rounds.
        Philox = 2 => "PHILOX",
    }
}

/// Records the next state and random bits of a type.
pub fn rng_bit_generator(
    trace: &mut Trace,
    algorithm: RngAlgorithm,
    state: NodeId,
    ty: &TensorType,
) -> Result<[NodeId; 2]> {
    let state_ty = trace.ty(state);
    check_state(algorithm, &state_ty)?;
    let unsigned = unsigned(ty.dtype)?;
    if element_count(&ty.dims)? == 0 {
        return Ok([state, full(trace, ty, ScalarValue::Unsigned(0))?]);
    }
    let bits = TensorType { dtype: unsigned, dims: ty.dims.clone() };
    let attributes = RngBitGeneratorAttributes { algorithm, ty: bits.clone() };
    let results = trace.application(Op::RngBitGenerator, &[state], &attributes, &[], &[state_ty, bits]);
    Ok([results[0], bitcast_convert(trace, results[1], ty.dtype)?])
}

fn check_state(algorithm: RngAlgorithm, state: &TensorType) -> Result<()> {
    let (sizes, wanted): (&[i64], &str) = match algorithm {
        RngAlgorithm::ThreeFry => (&[2], "u64[2]"),
        RngAlgorithm::Philox => (&[2, 3], "u64[2] or u64[3]"),
    };
    let fits = state.dtype == DType::U64 && matches!(state.dims[..], [size] if sizes.contains(&size));
    if fits { Ok(()) } else { Err(error!(InvalidArgument, "state: it is {state}; want {wanted}")) }
}

/// Unsigned dtype in which the bits of a dtype are generated; an error for unsupported dtypes.
pub(crate) fn unsigned(dtype: DType) -> Result<DType> {
    if matches!(dtype.kind(), Kind::Pred | Kind::Complex | Kind::Float8 | Kind::Subbyte) {
        return Err(error!(
            InvalidArgument,
            "dtype: {dtype} given; bits are made for integers of at least 8 bits and floats of at least 16"
        ));
    }
    Ok(dtype.bits())
}

pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let (name, state) = (e.name_of(at), value.operands[0]);
    let (state, state_ty) = (e.name(state), mlir(&e.values[state].ty));
    let RngBitGeneratorAttributes { algorithm, ty } = value.attributes();
    let algorithm = algorithm.name();
    let bits = mlir(&ty);
    emit!(
        e,
        "    {name}:2 = stablehlo.rng_bit_generator {state}, algorithm = {algorithm} : ({state_ty}) -> ({state_ty}, {bits})"
    );
}

pub(super) fn native_bits(cx: &EvalContext) -> Result<Vec<Array>> {
    let RngBitGeneratorAttributes { algorithm, ty } = cx.attributes();
    let made = match algorithm {
        RngAlgorithm::ThreeFry => native::threefry(cx.operands[0], &ty),
        RngAlgorithm::Philox => native::philox(cx.operands[0], &ty),
    };
    made.map(Vec::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_checked() {
        let u64s = |size| TensorType::new(DType::U64, &[size]);
        assert!(check_state(RngAlgorithm::ThreeFry, &u64s(2)).is_ok());
        assert!(check_state(RngAlgorithm::Philox, &u64s(2)).is_ok());
        assert!(check_state(RngAlgorithm::Philox, &u64s(3)).is_ok());
        assert!(check_state(RngAlgorithm::ThreeFry, &u64s(3)).is_err());
        assert!(check_state(RngAlgorithm::Philox, &TensorType::new(DType::U32, &[3])).is_err());
        assert!(check_state(RngAlgorithm::Philox, &TensorType::new(DType::U64, &[1, 3])).is_err());
    }
}
