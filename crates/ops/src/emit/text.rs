//! Types and elements in MLIR syntax.

use base::types::{DType, Kind, Scalar, TensorType};
use ir::ReduceOp;
use std::fmt::Write;

/// Initial value of a reduction, as bits.
pub fn identity(op: ReduceOp, dtype: DType) -> u128 {
    let one = || Scalar::new(dtype, base::types::ScalarValue::Signed(1)).expect("every dtype has a one").bits();
    let bits = 8 * dtype.size_bytes() as u32;
    let (signed, float) = (dtype.kind() == Kind::Signed, dtype.kind() == Kind::Float);
    let infinity = |value: f64| {
        Scalar::new(dtype, base::types::ScalarValue::Float(value)).expect("every float dtype has infinities").bits()
    };
    match op {
        // Not -0.0, although that is addition's identity: an empty sum is 0.
        ReduceOp::Sum | ReduceOp::Any => 0,
        ReduceOp::Product | ReduceOp::All => one(),
        ReduceOp::Max if float => infinity(f64::NEG_INFINITY),
        ReduceOp::Max if signed => 1 << (bits - 1),
        ReduceOp::Max => 0,
        ReduceOp::Min if float => infinity(f64::INFINITY),
        ReduceOp::Min if signed => (1 << (bits - 1)) - 1,
        ReduceOp::Min => u128::MAX >> (128 - bits),
    }
}

/// Formats an element in MLIR syntax. Floats are written as bits, so that they are exact.
pub fn literal(dtype: DType, bits: u128) -> String {
    let digits = 2 * dtype.size_bytes();
    match dtype.kind() {
        Kind::Pred => if bits == 0 { "false" } else { "true" }.to_string(),
        Kind::Unsigned => bits.to_string(),
        Kind::Subbyte if dtype.wide() != DType::S8 => bits.to_string(),
        Kind::Signed | Kind::Subbyte => {
            let unused = 128 - 8 * dtype.size_bytes() as u32;
            (((bits << unused) as i128) >> unused).to_string()
        }
        Kind::Float | Kind::Float8 => format!("0x{bits:0digits$X}"),
        Kind::Complex => {
            let half = 4 * dtype.size_bytes() as u32;
            let part = |bits: u128| literal(dtype.real(), bits);
            format!("({}, {})", part(bits & (u128::MAX >> (128 - half))), part(bits >> half))
        }
    }
}

/// Escapes and quotes a string in MLIR syntax.
pub fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | 0..0x20 | 0x7F.. => out.push_str(&format!("\\{byte:02X}")),
            _ => out.push(byte as char),
        }
    }
    out.push('"');
    out
}

/// Formats the type of a parameter or result of a program in MLIR syntax: types of 2 and 4 bits are packed.
pub fn mlir_packed(ty: &TensorType) -> String {
    typed(
        ty,
        match ty.dtype {
            DType::S4 => "i4",
            DType::U4 => "ui4",
            DType::S2 => "i2",
            DType::U2 => "ui2",
            DType::F4E2M1FN => "f4E2M1FN",
            _ => return mlir(ty),
        },
    )
}

/// Formats a tensor type in MLIR syntax: `tensor<2x3xf32>`. Inside of programs, elements of 2 and 4 bits are bytes: the
/// value of an integer, and the code of a float.
pub fn mlir(ty: &TensorType) -> String {
    typed(
        ty,
        match ty.dtype {
            DType::Pred => "i1",
            DType::S8 | DType::S4 | DType::S2 => "i8",
            DType::S16 => "i16",
            DType::S32 => "i32",
            DType::S64 => "i64",
            DType::U8 | DType::U4 | DType::U2 | DType::F4E2M1FN => "ui8",
            DType::U16 => "ui16",
            DType::U32 => "ui32",
            DType::U64 => "ui64",
            DType::F16 => "f16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::BF16 => "bf16",
            DType::C64 => "complex<f32>",
            DType::C128 => "complex<f64>",
            DType::F8E5M2 => "f8E5M2",
            DType::F8E4M3FN => "f8E4M3FN",
            DType::F8E4M3B11FNUZ => "f8E4M3B11FNUZ",
            DType::F8E5M2FNUZ => "f8E5M2FNUZ",
            DType::F8E4M3FNUZ => "f8E4M3FNUZ",
            DType::F8E4M3 => "f8E4M3",
            DType::F8E3M4 => "f8E3M4",
            DType::F8E8M0FNU => "f8E8M0FNU",
        },
    )
}

fn typed(ty: &TensorType, element: &str) -> String {
    let mut out = String::from("tensor<");
    for dim in &ty.dims {
        let _ = write!(out, "{dim}x");
    }
    out.push_str(element);
    out.push('>');
    out
}

/// The layouts of row-major arrays, as an attribute of a custom call.
pub fn row_major(types: &[&TensorType]) -> String {
    let layout = |ty: &&TensorType| {
        let rank = ty.dims.len();
        let axes: Vec<String> = (0..rank).rev().map(|axis| axis.to_string()).collect();
        let axes = if rank == 0 { String::new() } else { format!("[{}]", axes.join(", ")) };
        format!("dense<{axes}> : tensor<{rank}xindex>")
    };
    format!("[{}]", types.iter().map(layout).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(string("a\"b\\\n\u{e9}"), "\"a\\22b\\5C\\0A\\C3\\A9\"");
    }

    #[test]
    fn literals_keep_every_bit() {
        assert_eq!(literal(DType::F32, 0x8000_0000), "0x80000000");
        assert_eq!(literal(DType::BF16, 0x3F80), "0x3F80");
        assert_eq!(literal(DType::F8E5M2, 0x7), "0x07");
        assert_eq!(literal(DType::S8, 0x80), "-128");
        assert_eq!(literal(DType::S4, 0xF8), "-8");
        assert_eq!(literal(DType::F4E2M1FN, 0xF), "15");
        assert_eq!(literal(DType::S64, 1 << 63), i64::MIN.to_string());
        assert_eq!(literal(DType::U64, u128::from(u64::MAX)), u64::MAX.to_string());
        assert_eq!(literal(DType::C64, 0xBF80_0000_3F80_0000), "(0x3F800000, 0xBF800000)");
        assert_eq!(literal(DType::Pred, 1), "true");
    }

    #[test]
    fn reductions_start_from_their_identity() {
        assert_eq!(literal(DType::S8, identity(ReduceOp::Max, DType::S8)), "-128");
        assert_eq!(literal(DType::S16, identity(ReduceOp::Min, DType::S16)), "32767");
        assert_eq!(literal(DType::U8, identity(ReduceOp::Min, DType::U8)), "255");
        assert_eq!(literal(DType::F32, identity(ReduceOp::Max, DType::F32)), "0xFF800000");
        assert_eq!(literal(DType::C64, identity(ReduceOp::Product, DType::C64)), "(0x3F800000, 0x00000000)");
        assert_eq!(literal(DType::F16, identity(ReduceOp::Product, DType::F16)), "0x3C00");
    }

    #[test]
    fn types_are_mlirs() {
        assert_eq!(mlir(&TensorType::new(DType::U8, &[2, 0])), "tensor<2x0xui8>");
        assert_eq!(mlir(&TensorType::new(DType::S4, &[3])), "tensor<3xi8>");
        assert_eq!(mlir_packed(&TensorType::new(DType::S4, &[3])), "tensor<3xi4>");
        assert_eq!(mlir(&TensorType::new(DType::C128, &[])), "tensor<complex<f64>>");
    }
}
