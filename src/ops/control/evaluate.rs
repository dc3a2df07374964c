//! Evaluates applications of traced computations on host arrays.

use crate::allocation::with_room;
use crate::error::Result;
use crate::native::{Array, integer, row, stack};
use crate::ops::control::apply::{CaseAttributes, IfAttributes, ScanAttributes, WhileAttributes};
use crate::ops::definition::Call;

/// Evaluates a call: applies the body once.
pub fn call(call: &Call) -> Result<Vec<Array>> {
    (call.apply)(0, &call.arrays(0..call.operands.len()))
}

/// Evaluates a conditional: applies one of two bodies.
pub fn branch(call: &Call) -> Result<Vec<Array>> {
    let IfAttributes { arguments, captured_by_true } = call.attributes();
    let all = call.arrays(1..call.operands.len());
    let (arguments, captures) = all.split_at(arguments);
    let (of_true, of_false) = captures.split_at(captured_by_true);
    if call.operands[0].bytes()[0] != 0 {
        (call.apply)(0, &[arguments, of_true].concat())
    } else {
        (call.apply)(1, &[arguments, of_false].concat())
    }
}

/// Evaluates a case: applies one of several bodies.
pub fn case(call: &Call) -> Result<Vec<Array>> {
    let count = call.bodies.len();
    let chosen = usize::try_from(integer(call.operands[0])).map_or(count - 1, |index| index.min(count - 1));
    let all = call.arrays(1..call.operands.len());
    let CaseAttributes { captured, arguments } = call.attributes();
    let (arguments, captures) = all.split_at(arguments);
    let before: usize = captured[..chosen].iter().sum();
    (call.apply)(chosen, &[arguments, &captures[before..before + captured[chosen]]].concat())
}

/// Evaluates a loop: applies the second body while the first returns true.
pub fn while_loop(call: &Call) -> Result<Vec<Array>> {
    let WhileAttributes { carried: count, captured_by_condition } = call.attributes();
    let mut carried = call.arrays(0..count);
    let captures = call.arrays(count..call.operands.len());
    let (of_condition, of_body) = captures.split_at(captured_by_condition);
    while (call.apply)(0, &[&carried, of_condition].concat())?[0].bytes()[0] != 0 {
        carried = (call.apply)(1, &[&carried, of_body].concat())?;
    }
    Ok(carried)
}

/// Evaluates a scan: applies the body to each slice in turn.
pub fn scan(call: &Call) -> Result<Vec<Array>> {
    let ScanAttributes { carried: count, arrays, length, reverse } = call.attributes();
    let length = length as usize;
    let mut carried = call.arrays(0..count);
    let stacks = call.arrays(count..count + arrays);
    let captures = call.arrays(count + arrays..call.operands.len());
    let results = call.bodies[0].results().len() - count;
    let mut rows: Vec<Vec<Array>> =
        (0..results).map(|_| with_room(length, format_args!("{length} slices of a scan"))).collect::<Result<_>>()?;
    for number in 0..length {
        let place = if reverse { length - 1 - number } else { number };
        let slices: Vec<Array> = stacks.iter().map(|stack| row(stack, place)).collect::<Result<_>>()?;
        carried = (call.apply)(0, &[&carried, &slices[..], &captures].concat())?;
        let made = carried.split_off(count);
        rows.iter_mut().zip(made).for_each(|(rows, row)| rows.push(row));
    }
    for mut rows in rows {
        if reverse {
            rows.reverse();
        }
        carried.push(stack(&rows)?);
    }
    Ok(carried)
}
