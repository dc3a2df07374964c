//! Indices that need no memory, since the operations that use them count themselves.

use base::error::Result;
use ir::Instruction;
use native::BLOCK;
use ops::creation::IotaAttributes;
use ops::reduction::counts_along;

/// Whether an iota, the value at a position, is large, and only argmax and argmin use it: they count themselves.
pub(super) fn is_left_out(values: &[Instruction], last_use: &[usize], position: usize) -> Result<bool> {
    let iota = &values[position];
    if iota.ty.elements() <= BLOCK || last_use[position] == values.len() {
        return Ok(false);
    }
    let IotaAttributes { axis } = iota.attributes();
    for value in &values[position + 1..=last_use[position]] {
        if !value.operands.contains(&position) {
            continue;
        }
        let x = value.operands[0];
        let is_index = x != position && value.operands.iter().filter(|&&operand| operand == position).count() == 1;
        let x = values[x].ty.dtype;
        if !is_index || value.operands.get(1) != Some(&position) || !counts_along(value, x, iota.ty.dtype, axis as i64)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::run;
    use super::*;
    use base::types::{DType, TensorType};
    use ir::{Trace, Workspace};
    use native::testing::array;
    use ops::{creation, reduction};

    #[test]
    fn argmax_counts_itself_unless_something_else_uses_the_indices() {
        let (rows, columns) = (3, BLOCK as i64);
        let dims = [rows, columns];
        let values: Vec<i32> = (0..rows * columns).map(|i| ((i * 7919) % 10007) as i32).collect();
        let best = |axis: usize| -> Vec<i32> {
            let (outer, along) = if axis == 0 { (columns, rows) } else { (rows, columns) };
            let at = |o: i64, a: i64| values[if axis == 0 { a * columns + o } else { o * columns + a } as usize];
            (0..outer).map(|o| (0..along).rev().max_by_key(|&a| at(o, a)).unwrap() as i32).collect()
        };
        for axis in [0, 1] {
            for kept in [false, true] {
                let mut t = Trace::new();
                let x = t.parameter(TensorType::new(DType::S32, &dims));
                let found = reduction::arg_extreme(&mut t, x, axis as i64, false, true, DType::S32).unwrap();
                let indices = creation::iota(&mut t, &TensorType::new(DType::S32, &dims), axis as i64).unwrap();
                let roots = if kept { vec![found, indices] } else { vec![found] };
                let segment = Workspace::default().linearize(&t, &roots).segments(&t, usize::MAX).remove(0);
                let outputs = run(&segment.program, &t.scalars_at(&segment.scalars), &[array(&dims, &values)]).unwrap();
                let outputs: Vec<&[i32]> = outputs.iter().map(|output| output.elements()).collect();
                assert_eq!(outputs[0], best(axis));
                if kept {
                    let place = |i: i64| if axis == 0 { i / columns } else { i % columns };
                    assert_eq!(outputs[1], (0..rows * columns).map(|i| place(i) as i32).collect::<Vec<i32>>());
                }
            }
        }
    }
}
