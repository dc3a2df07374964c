//! XLA's random bit generators.

use crate::emit::{Emitter, emit, mlir};
use crate::error;
use crate::error::Result;
use crate::ir::{NodeId, Op, Trace};
use crate::native::{self, Array};
use crate::ops::creation::constants::full;
use crate::ops::definition::{Call, Definition, Native};
use crate::ops::elementwise::bits::bitcast_convert;
use crate::types::{DType, Dims, Kind, ScalarValue, TensorType, element_count};

/// Definition of `rng_bit_generator`. Attributes: algorithm, dtype and dims of the bits.
pub const RNG_BIT_GENERATOR: Definition = Definition {
    name: "rng_bit_generator",
    stablehlo: "rng_bit_generator",
    function: "lxla_rng_bit_generator",
    dtypes: "integers and floats; state u64",
    lower,
    native: Native::Several(native_bits),
};

/// A random bit generator. The numbers are those of the C constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RngAlgorithm {
    ThreeFry = 1,
    Philox = 2,
}

impl RngAlgorithm {
    /// Returns the generator with this number in the C ABI.
    pub fn from_number(number: i32) -> Result<RngAlgorithm> {
        match number {
            1 => Ok(RngAlgorithm::ThreeFry),
            2 => Ok(RngAlgorithm::Philox),
            _ => Err(error!(InvalidArgument, "algorithm: {number} is no LXLA_RNG_* constant (1 to 2)")),
        }
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
    let mut attributes = vec![algorithm as i64, unsigned as i64];
    attributes.extend_from_slice(&ty.dims);
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
pub fn unsigned(dtype: DType) -> Result<DType> {
    if matches!(dtype.kind(), Kind::Pred | Kind::Complex | Kind::Float8) {
        return Err(error!(
            InvalidArgument,
            "dtype: {dtype} given; bits are made for integers and floats of at least 16 bits"
        ));
    }
    Ok(match dtype.size_bytes() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    })
}

/// Decodes the type of the bits that a node generates.
fn bits_of(attributes: &[i64]) -> TensorType {
    let dtype = DType::from_number(attributes[1] as i32).expect("the rule recorded a dtype");
    TensorType { dtype, dims: Dims::from_slice(&attributes[2..]) }
}

fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let (name, state) = (e.name_of(at), value.operands[0]);
    let (state, state_ty) = (e.name(state), mlir(&e.values[state].ty));
    let algorithm = if value.attributes[0] == RngAlgorithm::ThreeFry as i64 { "THREE_FRY" } else { "PHILOX" };
    let bits = mlir(&bits_of(&value.attributes));
    emit!(
        e,
        "    {name}:2 = stablehlo.rng_bit_generator {state}, algorithm = {algorithm} : ({state_ty}) -> ({state_ty}, {bits})"
    );
}

fn native_bits(call: &Call) -> Result<Vec<Array>> {
    let ty = bits_of(call.attributes);
    let generator = if call.attributes[0] == RngAlgorithm::ThreeFry as i64 { native::threefry } else { native::philox };
    generator(call.operands[0], &ty).map(Vec::from)
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
