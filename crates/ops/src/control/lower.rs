//! Writes the StableHLO of applications of traced computations. Each body is a function of the module; the regions of
//! loops and branches call it. Values that a loop reads but does not change are loop-carried unchanged, so that XLA can
//! tell that they need no copies.

use crate::control::apply::{CaseAttributes, IfAttributes, ScanAttributes, WhileAttributes};
use crate::emit::{Emitter, emit, mlir};
use base::types::{DType, TensorType};
use ir::Body;
use std::sync::Arc;

/// Writes the StableHLO of a call.
pub fn call(e: &mut Emitter, at: usize) {
    let (value, name) = (e.instruction(at), e.name_of(at));
    let (names, _) = e.listed(&value.operands);
    apply(e, &name, &value.bodies[0], &names);
}

/// Writes `name:count = call @body(arguments)` and returns the names of the results.
pub fn apply(e: &mut Emitter, name: &str, body: &Arc<Body>, arguments: &[String]) -> Vec<String> {
    let function = e.callee(body);
    let parameters = body.parameters().iter().chain(body.captures());
    let parameters: Vec<String> = parameters.map(mlir).collect();
    let results: Vec<String> = body.results().iter().map(mlir).collect();
    emit!(
        e,
        "    {name}:{} = func.call @{function}({}) : ({}) -> ({})",
        results.len(),
        arguments.join(", "),
        parameters.join(", "),
        results.join(", ")
    );
    (0..results.len()).map(|i| format!("{name}#{i}")).collect()
}

/// Writes the StableHLO of a loop with a condition.
pub fn while_loop(e: &mut Emitter, position: usize) {
    let value = e.instruction(position);
    let (condition, body) = (&value.bodies[0], &value.bodies[1]);
    let WhileAttributes { carried, captured_by_condition: captured } = value.attributes();
    let (mut starts, mut types) = e.listed(&value.operands);
    let given = starts.len();
    if value.operands.iter().all(|&operand| e.values[operand].ty.elements() == 0) {
        // XLA takes values without elements, and values that do not change, out of a loop. One without others ends the
        // process while it is converted to HLO, by all three CPU plugins: so it gets one that changes.
        let pred = TensorType::new(DType::Pred, &[]);
        starts.push(e.constant(&pred, 0));
        types.push(mlir(&pred));
    }
    let inside = open_loop(e, position, &starts, &types);
    let (inside, added) = inside.split_at(given);
    let (values, captures) = inside.split_at(carried);

    let go_on = format!("%go_on{position}");
    let arguments = [values, &captures[..captured]].concat();
    let more = apply(e, &go_on, condition, &arguments);
    emit!(e, "    stablehlo.return {} : tensor<i1>\n    }} do {{", more[0]);

    let arguments = [values, &captures[captured..]].concat();
    let next = apply(e, &format!("%next{position}"), body, &arguments);
    let changed: Vec<String> = added.iter().map(|_| e.temporary()).collect();
    for (changed, added) in changed.iter().zip(added) {
        emit!(e, "    {changed} = stablehlo.not {added} : tensor<i1>");
    }
    close_loop(e, &[&next, captures, &changed].concat(), &types);
}

/// Writes `%v:n = while(...) : types cond {` and returns the names of the values inside the loop.
fn open_loop(e: &mut Emitter, position: usize, starts: &[String], types: &[String]) -> Vec<String> {
    let inside: Vec<String> = (0..starts.len()).map(|i| format!("%in{position}_{i}")).collect();
    let bound: Vec<String> = inside.iter().zip(starts).map(|(name, start)| format!("{name} = {start}")).collect();
    emit!(
        e,
        "    {}:{} = stablehlo.while({}) : {}\n    cond {{",
        e.name_of(position),
        starts.len(),
        bound.join(", "),
        types.join(", ")
    );
    inside
}

fn close_loop(e: &mut Emitter, next: &[String], types: &[String]) {
    emit!(e, "    stablehlo.return {} : {}\n    }}", next.join(", "), types.join(", "));
}

/// Writes the StableHLO of a conditional with two bodies.
pub fn branch(e: &mut Emitter, at: usize) {
    let (value, name) = (e.instruction(at), e.name_of(at));
    let (on_true, on_false) = (&value.bodies[0], &value.bodies[1]);
    let IfAttributes { arguments, captured_by_true } = value.attributes();
    let (names, _) = e.listed(&value.operands);
    let (pred, rest) = names.split_first().expect("a branch has a predicate");
    let (arguments, captures) = rest.split_at(arguments);
    let (of_true, of_false) = captures.split_at(captured_by_true);
    emit!(e, "    {name}:{} = \"stablehlo.if\"({pred}) ({{", on_true.results().len());
    regions(e, &name, &[(on_true, of_true), (on_false, of_false)], arguments, "tensor<i1>");
}

/// Writes the StableHLO of a case.
pub fn case(e: &mut Emitter, at: usize) {
    let (value, name) = (e.instruction(at), e.name_of(at));
    let (names, _) = e.listed(&value.operands[1..]);
    let CaseAttributes { captured, arguments } = value.attributes();
    let (arguments, mut captures) = names.split_at(arguments);
    let mut branches: Vec<(&Arc<Body>, &[String])> = Vec::with_capacity(value.bodies.len());
    for (body, captured) in value.bodies.iter().zip(captured) {
        let (own, others) = captures.split_at(captured);
        branches.push((body, own));
        captures = others;
    }
    let index = branch_number(e, value.operands[0], branches.len() as u128 - 1);
    emit!(e, "    {name}:{} = \"stablehlo.case\"({index}) ({{", value.bodies[0].results().len());
    regions(e, &name, &branches, arguments, "tensor<i32>");
}

/// Writes the regions of an operation that applies one of several bodies, and the end of the operation.
fn regions(e: &mut Emitter, name: &str, branches: &[(&Arc<Body>, &[String])], arguments: &[String], choice: &str) {
    let results: Vec<String> = branches[0].0.results().iter().map(mlir).collect();
    let inside = name.replace("%v", "%branch");
    for (i, (body, captures)) in branches.iter().enumerate() {
        if i > 0 {
            emit!(e, "    }}, {{");
        }
        let values = apply(e, &inside, body, &[arguments, captures].concat());
        emit!(e, "    stablehlo.return {} : {}", values.join(", "), results.join(", "));
    }
    emit!(e, "    }}) : ({choice}) -> ({})", results.join(", "));
}

/// Writes the branch index as the s32 that StableHLO takes; every index out of range selects the last branch. Wider
/// dtypes are clamped before the conversion, since the conversion would wrap values that do not fit in 32 bits.
fn branch_number(e: &mut Emitter, position: usize, last: u128) -> String {
    let given = e.values[position].ty.clone();
    let narrow = TensorType::new(DType::S32, &[]);
    if given.dtype.size_bytes() < 4 || given.dtype == DType::S32 {
        return e.cast(position, &narrow);
    }
    let (index, text) = (e.name(position), mlir(&given));
    let (end, kept, number) = (e.constant(&given, last), e.temporary(), e.temporary());
    emit!(e, "    {kept} = stablehlo.minimum {index}, {end} : {text}");
    let mut kept = kept;
    if given.dtype == DType::S64 {
        let (zero, is_negative, chosen) = (e.constant(&given, 0), e.temporary(), e.temporary());
        emit!(e, "    {is_negative} = stablehlo.compare LT, {index}, {zero}, SIGNED : ({text}, {text}) -> tensor<i1>");
        emit!(e, "    {chosen} = stablehlo.select {is_negative}, {end}, {kept} : tensor<i1>, {text}");
        kept = chosen;
    }
    emit!(e, "    {number} = stablehlo.convert {kept} : ({text}) -> {}", mlir(&narrow));
    number
}

/// Writes the StableHLO of a scan: a loop over a counter, the carried values, the partial result stacks, the arrays and
/// the captures.
pub fn scan(e: &mut Emitter, position: usize) {
    let value = e.instruction(position);
    let body = &value.bodies[0];
    let ScanAttributes { carried, arrays, length, reverse } = value.attributes();
    let counter = TensorType::new(if length <= i64::from(i32::MAX) { DType::S32 } else { DType::S64 }, &[]);
    let stack_of = |slice: &TensorType| {
        let dims: Vec<i64> = std::iter::once(length).chain(slice.dims.iter().copied()).collect();
        TensorType::new(slice.dtype, &dims)
    };
    let stacks: Vec<TensorType> = body.results()[carried..].iter().map(stack_of).collect();

    let (given, given_types) = e.listed(&value.operands);
    let mut starts = vec![e.constant(&counter, 0)];
    let mut types = vec![mlir(&counter)];
    starts.extend_from_slice(&given[..carried]);
    types.extend_from_slice(&given_types[..carried]);
    for stack in &stacks {
        starts.push(e.constant(stack, 0));
        types.push(mlir(stack));
    }
    starts.extend_from_slice(&given[carried..]);
    types.extend_from_slice(&given_types[carried..]);

    let inside = open_loop(e, position, &starts, &types);
    let more = e.temporary();
    let end = e.constant(&counter, length as u128);
    let count = mlir(&counter);
    emit!(e, "    {more} = stablehlo.compare LT, {}, {end}, SIGNED : ({count}, {count}) -> tensor<i1>", inside[0]);
    emit!(e, "    stablehlo.return {more} : tensor<i1>\n    }} do {{");

    let (stack_start, array_start) = (1 + carried, 1 + carried + stacks.len());
    let place = place(e, &inside[0], &counter, length, reverse);
    let mut arguments = inside[1..stack_start].to_vec();
    for i in 0..arrays {
        let slice = &body.parameters()[carried + i];
        arguments.push(slice_at(e, &inside[array_start + i], &stack_of(slice), slice, &place, &counter));
    }
    arguments.extend_from_slice(&inside[array_start + arrays..]);
    let results = apply(e, &format!("%next{position}"), body, &arguments);

    let (one, next) = (e.constant(&counter, 1), e.temporary());
    emit!(e, "    {next} = stablehlo.add {}, {one} : {count}", inside[0]);
    let mut all = vec![next];
    all.extend_from_slice(&results[..carried]);
    for (i, stack) in stacks.iter().enumerate() {
        let slice = &body.results()[carried + i];
        let written = write_at(e, &inside[stack_start + i], stack, &results[carried + i], slice, &place, &counter);
        all.push(written);
    }
    all.extend_from_slice(&inside[array_start..]);
    close_loop(e, &all, &types);
}

/// Writes the position at which an iteration reads and writes: its number, counted from the end if `reverse` is set.
fn place(e: &mut Emitter, number: &str, counter: &TensorType, length: i64, reverse: bool) -> String {
    if !reverse {
        return number.to_string();
    }
    let (last, place) = (e.constant(counter, length as u128 - 1), e.temporary());
    emit!(e, "    {place} = stablehlo.subtract {last}, {number} : {}", mlir(counter));
    place
}

/// Returns the type of one slice of a stack, with a leading axis of size 1, and the start indices of all its axes with
/// their types.
fn within_stack(
    e: &mut Emitter,
    slice: &TensorType,
    place: &str,
    counter: &TensorType,
) -> (TensorType, String, String) {
    let dims: Vec<i64> = std::iter::once(1).chain(slice.dims.iter().copied()).collect();
    let rank = dims.len();
    let zero = e.constant(counter, 0);
    let starts: Vec<&str> = std::iter::once(place).chain(std::iter::repeat_n(zero.as_str(), rank - 1)).collect();
    let types = vec![mlir(counter); rank];
    (TensorType::new(slice.dtype, &dims), starts.join(", "), types.join(", "))
}

fn slice_at(
    e: &mut Emitter,
    stack: &str,
    ty: &TensorType,
    slice: &TensorType,
    place: &str,
    counter: &TensorType,
) -> String {
    let (one, starts, start_types) = within_stack(e, slice, place, counter);
    let (cut, result) = (e.temporary(), e.temporary());
    let (stack_text, one_text) = (mlir(ty), mlir(&one));
    let sizes = &one.dims[..];
    emit!(
        e,
        "    {cut} = stablehlo.dynamic_slice {stack}, {starts}, sizes = {sizes:?} : ({stack_text}, {start_types}) -> {one_text}"
    );
    emit!(e, "    {result} = stablehlo.reshape {cut} : ({one_text}) -> {}", mlir(slice));
    result
}

fn write_at(
    e: &mut Emitter,
    stack: &str,
    ty: &TensorType,
    value: &str,
    slice: &TensorType,
    place: &str,
    counter: &TensorType,
) -> String {
    let (one, starts, start_types) = within_stack(e, slice, place, counter);
    let (shaped, result) = (e.temporary(), e.temporary());
    let (stack_text, one_text) = (mlir(ty), mlir(&one));
    emit!(e, "    {shaped} = stablehlo.reshape {value} : ({}) -> {one_text}", mlir(slice));
    emit!(
        e,
        "    {result} = stablehlo.dynamic_update_slice {stack}, {shaped}, {starts} : ({stack_text}, {one_text}, {start_types}) -> {stack_text}"
    );
    result
}
