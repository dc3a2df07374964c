//! Evaluates applications of traced computations on host arrays.

use crate::control::apply::{CaseAttributes, IfAttributes, ScanAttributes, WhileAttributes};
use crate::definition::EvalContext;
use base::allocation::with_room;
use base::error::Result;
use native::{Array, integer, row, stack};

/// Evaluates a call: applies the body once.
pub fn call(cx: &EvalContext) -> Result<Vec<Array>> {
    (cx.apply)(0, &cx.arrays(0..cx.operands.len()))
}

/// Evaluates a conditional: applies one of two bodies.
pub fn branch(cx: &EvalContext) -> Result<Vec<Array>> {
    let IfAttributes { arguments, captured_by_true } = cx.attributes();
    let all = cx.arrays(1..cx.operands.len());
    let (arguments, captures) = all.split_at(arguments);
    let (of_true, of_false) = captures.split_at(captured_by_true);
    if cx.operands[0].bytes()[0] != 0 {
        (cx.apply)(0, &[arguments, of_true].concat())
    } else {
        (cx.apply)(1, &[arguments, of_false].concat())
    }
}

/// Evaluates a case: applies one of several bodies.
pub fn case(cx: &EvalContext) -> Result<Vec<Array>> {
    let count = cx.bodies.len();
    let chosen = usize::try_from(integer(cx.operands[0])).map_or(count - 1, |index| index.min(count - 1));
    let all = cx.arrays(1..cx.operands.len());
    let CaseAttributes { captured, arguments } = cx.attributes();
    let (arguments, captures) = all.split_at(arguments);
    let before: usize = captured[..chosen].iter().sum();
    (cx.apply)(chosen, &[arguments, &captures[before..before + captured[chosen]]].concat())
}

/// Evaluates a loop: applies the second body while the first returns true.
pub fn while_loop(cx: &EvalContext) -> Result<Vec<Array>> {
    let WhileAttributes { carried: count, captured_by_condition } = cx.attributes();
    let mut carried = cx.arrays(0..count);
    let captures = cx.arrays(count..cx.operands.len());
    let (of_condition, of_body) = captures.split_at(captured_by_condition);
    while (cx.apply)(0, &[&carried, of_condition].concat())?[0].bytes()[0] != 0 {
        carried = (cx.apply)(1, &[&carried, of_body].concat())?;
    }
    Ok(carried)
}

/// Evaluates a scan: applies the body to each slice in turn.
pub fn scan(cx: &EvalContext) -> Result<Vec<Array>> {
    let ScanAttributes { carried: count, arrays, length, reverse } = cx.attributes();
    let length = length as usize;
    let mut carried = cx.arrays(0..count);
    let stacks = cx.arrays(count..count + arrays);
    let captures = cx.arrays(count + arrays..cx.operands.len());
    let results = cx.bodies[0].results().len() - count;
    let mut rows: Vec<Vec<Array>> =
        (0..results).map(|_| with_room(length, format_args!("{length} slices of a scan"))).collect::<Result<_>>()?;
    for number in 0..length {
        let place = if reverse { length - 1 - number } else { number };
        let slices: Vec<Array> = stacks.iter().map(|stack| row(stack, place)).collect::<Result<_>>()?;
        carried = (cx.apply)(0, &[&carried, &slices[..], &captures].concat())?;
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
