//! Functions of elements that a program has as one operation or formula, and the library as several operations.

use base::error::Result;
use base::types::{DType, Kind};
use ir::{NodeId, Trace};
use ops::elementwise::formula::{Expr, record};

/// The square. That of a complex number is `(x - y)(x + y) + 2xy i`: its real part is infinite or finite where the
/// difference of the squares would be NaN, and 0 where the parts have one size, however large these are.
pub fn square(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let is_complex = trace.node(x).dtype.kind() == Kind::Complex;
    record(trace, [x], |[z]| {
        if !is_complex {
            return z * z;
        }
        let (x, y) = (z.real(), z.imag());
        real_part(x, y).complex(x * y * 2.0)
    })
}

/// The real part of the square of a complex number with these parts.
pub fn real_part_of_square(trace: &mut Trace, parts: [NodeId; 2]) -> Result<NodeId> {
    record(trace, parts, |[x, y]| real_part(x, y))
}

fn real_part<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    // If |x| = |y|, then |x| - |y| is 0, not -0, and (|x| + |y|) / 2 is finite. A selected constant 0 would have the
    // derivative 0. Not for x = 0, at which |x| has the second derivative 0.
    let (size_of_x, size_of_y) = (x.abs(), y.abs());
    let is_balanced = x.is_finite() & size_of_x.eq(size_of_y) & x.ne(0.0);
    let (x, y) = (is_balanced.select(size_of_x, x), is_balanced.select(size_of_y, y));
    let (twice, half) = (is_balanced.select(x.number(2.0), 1.0), is_balanced.select(x.number(0.5), 1.0));
    ((x - y) * twice) * (x * half + y * half)
}

/// Records `select(pred, x g, 0)`, where x is 0 if `pred` is false, with the product in place of the constant 0 if g is
/// finite, so that the derivative by x is g there.
pub fn product_at_0(trace: &mut Trace, operands: [NodeId; 4]) -> Result<NodeId> {
    let is_complex = trace.node(operands[3]).dtype.kind() == Kind::Complex;
    record(trace, operands, |[pred, product, zero, g]| {
        let is_finite = if is_complex { g.real().is_finite() & g.imag().is_finite() } else { g.is_finite() };
        // The sum turns a product of -0 into 0.
        pred.select(product, is_finite.select(product + 0.0, zero))
    })
}

/// The larger or the smaller one of two complex numbers: by their real parts, if these are equal by the imaginary ones.
pub fn complex_extreme(trace: &mut Trace, operands: [NodeId; 2], largest: bool) -> Result<NodeId> {
    fn is_beyond<'f>(a: Expr<'f>, b: Expr<'f>, largest: bool) -> Expr<'f> {
        if largest { a.gt(b) } else { a.lt(b) }
    }
    record(trace, operands, |[a, b]| {
        let is_tied = a.real().eq(b.real()) & is_beyond(a.imag(), b.imag(), largest);
        (is_beyond(a.real(), b.real(), largest) | is_tied).select(a, b)
    })
}

/// The upper half of the product of integers.
pub fn high_product(trace: &mut Trace, operands: [NodeId; 2]) -> Result<NodeId> {
    let dtype = trace.node(operands[0]).dtype;
    let bits = 8 * dtype.size_bytes() as i64;
    let is_signed = dtype.kind() == Kind::Signed;
    record(trace, operands, |[a, b]| match (bits, is_signed) {
        (64, false) => high_product_of_words(a, b),
        (64, true) => {
            // The product of the bits counts 2^64 b too much for negative a, and the reverse.
            let words = high_product_of_words(a.bits(DType::U64), b.bits(DType::U64)).bits(DType::S64);
            words - (a.shift_right_arithmetic(63_i64) & b) - (b.shift_right_arithmetic(63_i64) & a)
        }
        (_, false) => (a.convert(DType::U64) * b.convert(DType::U64)).shift_right_logical(bits).convert(dtype),
        (_, true) => (a.convert(DType::S64) * b.convert(DType::S64)).shift_right_arithmetic(bits).convert(dtype),
    })
}

/// The upper half of the product of words of 64 bits, by products of their halves.
fn high_product_of_words<'f>(a: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    let low = |x: Expr<'f>| x & i64::from(u32::MAX);
    let high = |x: Expr<'f>| x.shift_right_logical(32_i64);
    let (low_high, high_low) = (low(a) * high(b), high(a) * low(b));
    let carried = high(low(a) * low(b)) + low(low_high) + low(high_low);
    high(a) * high(b) + high(low_high) + high(high_low) + high(carried)
}
