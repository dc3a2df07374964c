//! Which carried values of a loop depend on others over any number of iterations, found in one walk. Iteration by
//! iteration, a loop that rotates n values would take n walks.

use base::types::DType;
use ir::{Body, Instruction, Op};

/// Number of times that the body of a loop is derived to find which carried values its rules give a derivative or a
/// batch axis. After that, all that could get one do.
pub const MOST_STEPS: usize = 8;

/// Returns the mask of the first `carried` operands of a loop's body (parameters, then captures) that are in `mask`, or
/// get what its operands have after any number of iterations. `passes` says whether an operation passes it on.
pub fn carried_forward(body: &Body, mask: &[bool], carried: usize, passes: impl Fn(Op, DType) -> bool) -> Vec<bool> {
    let (values, results) = body.decode();
    let leaves = leaves(&values);
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); values.len()];
    for (position, value) in values.iter().enumerate() {
        value.operands.iter().for_each(|&operand| users[operand].push(position as u32));
    }
    // A carried result is the operand of the next iteration.
    results.iter().zip(&leaves[..carried]).for_each(|(&result, &leaf)| users[result].push(leaf as u32));
    let mut found = vec![false; values.len()];
    let mut open: Vec<usize> = leaves.iter().zip(mask).filter(|(_, is)| **is).map(|(&leaf, _)| leaf).collect();
    open.iter().for_each(|&leaf| found[leaf] = true);
    while let Some(position) = open.pop() {
        for &user in &users[position] {
            let (user, value) = (user as usize, &values[user as usize]);
            if !found[user] && (value.op == Op::Leaf || passes(value.op, value.ty.dtype)) {
                found[user] = true;
                open.push(user);
            }
        }
    }
    leaves[..carried].iter().map(|&leaf| found[leaf]).collect()
}

/// Returns the mask of the results of a loop's body that are in `arriving`, or that an operand in `wanted` carries to a
/// result in the mask in a later iteration.
pub fn carried_backward(
    body: &Body,
    arriving: &[bool],
    wanted: &[bool],
    carried: usize,
    passes: impl Fn(Op, DType) -> bool,
) -> Vec<bool> {
    let (values, results) = body.decode();
    let mut numbers = vec![usize::MAX; values.len()];
    leaves(&values)[..carried].iter().enumerate().for_each(|(number, &leaf)| numbers[leaf] = number);
    let (mut all, mut seen) = (arriving.to_vec(), vec![false; values.len()]);
    let mut open: Vec<usize> = results.iter().zip(arriving).filter(|(_, is)| **is).map(|(&result, _)| result).collect();
    while let Some(position) = open.pop() {
        if std::mem::replace(&mut seen[position], true) {
            continue;
        }
        let (value, number) = (&values[position], numbers[position]);
        if value.op != Op::Leaf {
            if passes(value.op, value.ty.dtype) {
                open.extend_from_slice(&value.operands);
            }
        } else if number != usize::MAX && wanted[number] && !all[number] {
            all[number] = true;
            open.push(results[number]);
        }
    }
    all
}

/// Positions of the parameters and captures of a body among its values.
fn leaves(values: &[Instruction]) -> Vec<usize> {
    (0..values.len()).filter(|&position| values[position].op == Op::Leaf).collect()
}
