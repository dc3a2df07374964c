//! Cumulative reductions along an axis by one operation, in one pass.

use super::array::Array;
use super::element::{Element, by_integer_width, unsupported};
use super::order::{Ordered, by_order};
use crate::allocation::filled;
use crate::error::Result;
use crate::ir::BinaryOp;
use crate::types::{DType, Kind, count};
use half::{bf16, f16};
use std::cmp::Ordering;

/// Reduces the elements of `x` up to and including each one along an axis, or with `reverse` from each one on. `init`
/// is combined with the first of them. Returns None for operations and dtypes that have no kernel. Sums of f32 are
/// accumulated in f64, those of f64 with their rounding errors, so that errors do not grow with the length.
pub fn cumulative(op: BinaryOp, axis: usize, reverse: bool, x: &Array, init: &Array) -> Result<Option<Array>> {
    let (along, dtype) = (Along { axis, reverse }, x.ty().dtype);
    let made = match (op, dtype, dtype.kind()) {
        (BinaryOp::Add, _, Kind::Signed | Kind::Unsigned) => by_integer_width!(dtype, T => {
            along.scan(x, first::<T>(init), |sum, x: T| { *sum = sum.wrapping_add(x); *sum })
        }),
        (BinaryOp::Multiply, _, Kind::Signed | Kind::Unsigned) => by_integer_width!(dtype, T => {
            along.scan(x, first::<T>(init), |product, x: T| { *product = product.wrapping_mul(x); *product })
        }),
        (BinaryOp::Add, DType::F32, _) => along.scan(x, f64::from(first::<f32>(init)), |sum, x: f32| {
            *sum += f64::from(x);
            *sum as f32
        }),
        (BinaryOp::Multiply, DType::F32, _) => along.scan(x, f64::from(first::<f32>(init)), |product, x: f32| {
            *product *= f64::from(x);
            *product as f32
        }),
        (BinaryOp::Add, DType::F64, _) => along.scan(x, (first::<f64>(init), 0.0), |sum, x: f64| {
            *sum = compensated(*sum, x);
            sum.0 + sum.1
        }),
        (BinaryOp::And, DType::Pred, _) => along.scan(x, first::<u8>(init), |all, x: u8| {
            *all &= x;
            *all
        }),
        (BinaryOp::Or, DType::Pred, _) => along.scan(x, first::<u8>(init), |any, x: u8| {
            *any |= x;
            *any
        }),
        (BinaryOp::Maximum | BinaryOp::Minimum, _, kind) if !matches!(kind, Kind::Complex | Kind::Float8) => {
            let better = if op == BinaryOp::Maximum { Ordering::Greater } else { Ordering::Less };
            by_order!(dtype, T => along.scan(x, first::<T>(init), |best, x: T| {
                if !best.is_nan() && (x.is_nan() || x.order(*best) == better) {
                    *best = x;
                }
                *best
            }))
        }
        _ => return Ok(None),
    };
    made.map(Some)
}

fn first<T: Element>(init: &Array) -> T {
    init.elements::<T>()[0]
}

/// A sum and the rounding errors of its additions (T. Dekker, 1971; A. Neumaier, 1974). A sum that is not finite has no
/// error.
fn compensated((sum, error): (f64, f64), x: f64) -> (f64, f64) {
    let next = sum + x;
    let part = next - sum;
    let lost = (sum - (next - part)) + (x - part);
    (next, if next.is_finite() { error + lost } else { 0.0 })
}

/// An axis and a direction.
struct Along {
    axis: usize,
    reverse: bool,
}

impl Along {
    /// Steps through each line of the axis. `step` changes the state of its line, which is `start` before, and returns
    /// an element of the result.
    fn scan<T: Element, S: Copy>(&self, x: &Array, start: S, step: impl Fn(&mut S, T) -> T) -> Result<Array> {
        let dims = &x.ty().dims;
        let (length, lines) = (dims[self.axis] as usize, count(&dims[self.axis + 1..]));
        let mut states = filled(start, lines, "the states of a cumulative reduction")?;
        Array::write::<T>(x.ty(), |out| {
            let out = out.copy_mut(x.elements::<T>());
            for block in out.chunks_mut((length * lines).max(1)) {
                states.fill(start);
                let advance = |row: &mut [T]| {
                    row.iter_mut().zip(&mut states).for_each(|(element, state)| *element = step(state, *element));
                };
                match self.reverse {
                    true => block.chunks_mut(lines).rev().for_each(advance),
                    false => block.chunks_mut(lines).for_each(advance),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{array, counted, row};
    use super::*;

    fn sums(axis: usize, reverse: bool, x: &Array) -> Vec<i32> {
        let made = cumulative(BinaryOp::Add, axis, reverse, x, &array(&[], &[0i32])).unwrap().unwrap();
        assert_eq!(made.ty(), x.ty());
        made.elements::<i32>().to_vec()
    }

    #[test]
    fn lines_of_every_axis_are_reduced_in_both_directions() {
        let x = counted(&[2, 3, 2]); // 0 1 | 2 3 | 4 5, and 6 more
        assert_eq!(sums(0, false, &x), [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16]);
        assert_eq!(sums(1, false, &x), [0, 1, 2, 4, 6, 9, 6, 7, 14, 16, 24, 27]);
        assert_eq!(sums(2, false, &x), [0, 1, 2, 5, 4, 9, 6, 13, 8, 17, 10, 21]);
        assert_eq!(sums(1, true, &x), [6, 9, 6, 8, 4, 5, 24, 27, 18, 20, 10, 11]);
    }

    #[test]
    fn errors_of_sums_do_not_grow_with_the_length() {
        let tenth = vec![0.1f32; 1 << 20];
        let made = cumulative(BinaryOp::Add, 0, false, &row(&tenth), &array(&[], &[0f32])).unwrap().unwrap();
        let at = |i: usize| made.elements::<f32>()[i];
        assert_eq!([at(9), at((1 << 20) - 1)], [1.0, (f64::from(0.1f32) * 1048576.0) as f32]);
        let large = [1e17f64, 1.0, 1.0, -1e17, 1e308, 1e308, -1e308];
        let made = cumulative(BinaryOp::Add, 0, false, &row(&large), &array(&[], &[0f64])).unwrap().unwrap();
        let infinity = f64::INFINITY;
        assert_eq!(made.elements::<f64>(), [1e17, 1e17, 1e17 + 2.0, 2.0, 1e308, infinity, infinity]);
    }

    #[test]
    fn extremes_keep_nan_and_take_part_with_their_start() {
        let x = [1f32, -2.0, 3.0, f32::NAN, 9.0];
        let of = |op, init: f32| {
            let made = cumulative(op, 0, false, &row(&x), &array(&[], &[init])).unwrap().unwrap();
            made.elements::<f32>().to_vec()
        };
        let made = of(BinaryOp::Maximum, f32::NEG_INFINITY);
        assert!(made[..3] == [1.0, 1.0, 3.0] && made[3].is_nan() && made[4].is_nan());
        assert_eq!(of(BinaryOp::Minimum, 0.5)[..3], [0.5, -2.0, -2.0]);
    }

    #[test]
    fn what_has_no_kernel_is_left_to_others() {
        let x = row(&[1f64, 2.0]);
        assert!(cumulative(BinaryOp::Multiply, 0, false, &x, &array(&[], &[1f64])).unwrap().is_none());
    }
}
