//! Random bits with the crate `xla`.

use super::random_bits::ROTATIONS;
use super::rng::{RngAlgorithm, RngBitGeneratorAttributes};
use crate::emit::xla_rs::{Graph, Site, element_type, failed};
use crate::error::Result;
use crate::types::{DType, TensorType};
use xla::{RandomAlgorithm, XlaOp};

pub(in crate::ops) fn rng_bit_generator(g: &mut Graph, at: usize) -> Result<()> {
    let RngBitGeneratorAttributes { algorithm, ty } = g.instruction(at).attributes();
    let algorithm = match algorithm {
        RngAlgorithm::ThreeFry => RandomAlgorithm::ThreeFry,
        RngAlgorithm::Philox => RandomAlgorithm::Philox,
    };
    let both = g.operand(at, 0)?.rng_bit_generator(algorithm, element_type(ty.dtype), &ty.dims).map_err(failed)?;
    let results = g.elements(&both, 2)?;
    g.define_all(at, results);
    Ok(())
}

pub(in crate::ops) fn random_bits(g: &mut Graph, at: usize) -> Result<()> {
    let (value, key) = (g.instruction(at), g.operand(at, 0)?);
    let count = value.ty.elements() as i64;
    let ty = TensorType::new(DType::U32, &[count]);
    let word = |number: i64| {
        let cell = key.slice_in_dim1(number, number + 1, 0).map_err(failed)?;
        g.broadcast(&cell, 1, &ty.dims)
    };
    let words = threefry(g, [word(0)?, word(1)?], counter(g, count, &ty)?, &ty)?;
    let narrow = match value.ty.dtype {
        DType::U64 => joined(g, &words, count)?,
        _ => g.convert(&g.step("xor", &[&words[0], &words[1]], &ty)?, value.ty.dtype)?,
    };
    let made = g.reshape(&narrow, &value.ty.dims)?;
    g.define(at, made);
    Ok(())
}

/// The high and the low word of each element's position.
fn counter(s: &Site, count: i64, ty: &TensorType) -> Result<[XlaOp; 2]> {
    if count <= 1 << 32 {
        let low = s.builder.iota(element_type(DType::U32), &ty.dims, 0).map_err(failed)?;
        return Ok([s.constant(ty, 0)?, low]);
    }
    let wide_ty = TensorType::new(DType::U64, &[count]);
    let wide = s.builder.iota(element_type(DType::U64), &wide_ty.dims, 0).map_err(failed)?;
    let shifted = s.step("shift_right_logical", &[&wide, &s.constant(&wide_ty, 32)?], &wide_ty)?;
    Ok([s.convert(&shifted, DType::U32)?, s.convert(&wide, DType::U32)?])
}

/// The twenty rounds of Threefry, as in StableHLO.
fn threefry(s: &Site, [k0, k1]: [XlaOp; 2], [high, low]: [XlaOp; 2], ty: &TensorType) -> Result<[XlaOp; 2]> {
    let binary = |op: &str, a: &XlaOp, b: &XlaOp| s.step(op, &[a, b], ty);
    let k2 = binary("xor", &binary("xor", &k0, &k1)?, &s.constant(ty, 0x1BD1_1BDA)?)?;
    let (mut a, mut b) = (binary("add", &high, &k0)?, binary("add", &low, &k1)?);
    let keys = [k0, k1, k2];
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            a = binary("add", &a, &b)?;
            let left = binary("shift_left", &b, &s.constant(ty, rotation.into())?)?;
            let right = binary("shift_right_logical", &b, &s.constant(ty, (32 - rotation).into())?)?;
            b = binary("xor", &binary("or", &left, &right)?, &a)?;
        }
        a = binary("add", &a, &keys[(group + 1) % 3])?;
        b = binary("add", &b, &keys[(group + 2) % 3])?;
        b = binary("add", &b, &s.constant(ty, group as u128 + 1)?)?;
    }
    Ok([a, b])
}

/// The two words as one 64-bit number.
fn joined(s: &Site, words: &[XlaOp; 2], count: i64) -> Result<XlaOp> {
    let ty = TensorType::new(DType::U64, &[count]);
    let (high, low) = (s.convert(&words[0], DType::U64)?, s.convert(&words[1], DType::U64)?);
    let shifted = s.step("shift_left", &[&high, &s.constant(&ty, 32)?], &ty)?;
    s.step("or", &[&shifted, &low], &ty)
}
