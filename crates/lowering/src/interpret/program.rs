//! Interpreter: evaluates a whole program, one operation at a time.

use super::fused::{Elementwise, Parameter};
use super::kept::{self, Seen, Whole};
use super::places::is_left_out;
use super::watch::Watch;
use base::allocation::{probe, with_room};
use base::error;
use base::error::Result;
use base::stack::{SHALLOW, with_stack};
use base::types::{Scalar, TensorType};
use ir::{Body, Instruction, Op, Program};
use native::{Array, BLOCK, broadcast_to, in_blocks, row, shortcut, stack};
use ops::{self, EvalContext, Native, elementwise};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// Stack size for each level of nested bodies: several times the size of its frames.
const LEVEL: usize = 32 << 10;
/// Stack size for the operations of the innermost body.
const ROOM: usize = 8 << 20;

/// Runs a program and returns its outputs. `scalars` fill the program's scalar slots in order; `inputs` has one array
/// for each parameter, in order.
pub fn run(program: &Program, scalars: &[Scalar], inputs: &[Array]) -> Result<Vec<Array>> {
    let call = || {
        let known = kept::look_up(program, scalars);
        if let Seen::Kept(whole) = &known
            && whole.takes(inputs)
        {
            return Ok(vec![whole.evaluate(inputs)?]);
        }
        Function::new(program, scalars)?.call_once(matches!(known, Seen::Again).then_some(program), inputs)
    };
    on_enough_stack(program.depth(), call)
}

/// Like [`run`], operation by operation; `watch` looks at the results of each, also in bodies.
pub fn run_watched(program: &Program, scalars: &[Scalar], inputs: &[Array], watch: &Watch) -> Result<Vec<Array>> {
    let call = || Function::new(program, scalars)?.run(inputs, None, Some(watch));
    on_enough_stack(program.depth(), call)
}

/// Evaluates a program of this depth on a stack that is large enough for it.
pub(super) fn on_enough_stack<R: Send>(depth: usize, call: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    match depth {
        0..=SHALLOW => call(),
        depth => with_stack(ROOM + depth * LEVEL, depth, call),
    }
}

/// A decoded program or body with the values of its scalar slots.
pub(super) struct Function<'a> {
    pub(super) values: Vec<Instruction>,
    pub(super) outputs: Vec<usize>,
    pub(super) scalars: Cow<'a, [Scalar]>,
    /// For each value, the position of the last value that uses it; `values.len()` for outputs, which are kept to the
    /// end.
    pub(super) last_use: Vec<usize>,
}

/// The results of one instruction: one array, except for operations with several results.
pub(super) type Results = SmallVec<[Array; 1]>;

impl<'a> Function<'a> {
    pub(super) fn new(program: &Program, scalars: impl Into<Cow<'a, [Scalar]>>) -> Result<Function<'a>> {
        // Instructions, and the values of all of them.
        probe(program.decoded_bytes().saturating_mul(2), "the evaluation of a program")?;
        let (values, outputs) = program.decode();
        let mut last_use: Vec<usize> = (0..values.len()).collect();
        for (position, value) in values.iter().enumerate() {
            value.operands.iter().for_each(|&operand| last_use[operand] = position);
        }
        outputs.iter().for_each(|&output| last_use[output] = values.len());
        Ok(Function { values, outputs, scalars: scalars.into(), last_use })
    }

    fn of(body: &'a Body) -> Result<Function<'a>> {
        Function::new(body.program(), body.scalars())
    }

    /// Evaluates a program as fast as possible. `kept` is the program if it is worth to be kept.
    fn call_once(&self, kept: Option<&Program>, inputs: &[Array]) -> Result<Vec<Array>> {
        let Some(ty) = self.one_shape() else { return self.call(inputs) };
        let is_long = ty.elements() > BLOCK;
        if (is_long || kept.is_some())
            && let Some(whole) = self.whole(ty).filter(|whole| whole.takes(inputs))
        {
            let whole = Arc::new(whole);
            if let Some(program) = kept {
                kept::keep(program, &self.scalars, &whole);
            }
            return Ok(vec![whole.evaluate(inputs)?]);
        }
        if is_long { Ok(vec![self.call_in_blocks(ty, inputs)?]) } else { self.call(inputs) }
    }

    pub(super) fn call(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        self.run(inputs, None, None)
    }

    /// Applies the function to each element of the inputs, which are vectors of this length or scalars (broadcast), and
    /// stacks the results.
    fn call_each(&self, inputs: &[Array], length: i64) -> Result<Vec<Array>> {
        let inputs: Vec<Array> =
            inputs.iter().map(|x| broadcast_to(x, &TensorType::new(x.ty().dtype, &[length]))).collect::<Result<_>>()?;
        if self.is_elementwise() {
            return self.run(&inputs, Some(length), None);
        }
        let rows = self.outputs.iter().map(|_| with_room(length as usize, format_args!("{length} results")));
        let mut rows: Vec<Vec<Array>> = rows.collect::<Result<_>>()?;
        for i in 0..length as usize {
            let arguments: Vec<Array> = inputs.iter().map(|x| row(x, i)).collect::<Result<_>>()?;
            rows.iter_mut().zip(self.call(&arguments)?).for_each(|(rows, made)| rows.push(made));
        }
        rows.iter().map(|rows| stack(rows)).collect()
    }

    /// Returns true if all values are scalars and all operations are elementwise: then one run on vectors is equivalent
    /// to a run for each element.
    fn is_elementwise(&self) -> bool {
        // A bitcast of a scalar to a scalar keeps the width.
        let is =
            |op: Op| matches!(op, Op::Leaf | Op::Full | Op::BitcastConvert) || ops::definition(op).is_elementwise();
        self.values.iter().all(|value| is(value.op) && value.ty.dims.is_empty())
    }

    /// Returns the type of the only output, if all operations are elementwise, on arrays of its shape and on single
    /// elements that broadcast to it: then the program can be evaluated block by block. None for empty arrays, too.
    pub(super) fn one_shape(&self) -> Option<&TensorType> {
        let [output] = self.outputs[..] else { return None };
        let ty = &self.values[output].ty;
        let fits = |value: &Instruction| {
            let is_kept = || {
                let operand = &self.values[value.operands[0]].ty;
                operand.elements() == 1 || operand.dims == value.ty.dims
            };
            let is_same = match value.op {
                Op::Leaf | Op::Full => true,
                Op::BroadcastTo | Op::Reshape => is_kept(),
                Op::BitcastConvert => self.values[value.operands[0]].ty.dims == value.ty.dims,
                op => ops::definition(op).is_elementwise(),
            };
            is_same && (value.ty.dims == ty.dims || value.ty.elements() == 1)
        };
        (ty.elements() > 0 && self.values.iter().all(fits)).then_some(ty)
    }

    /// Evaluates a program for which [`Function::one_shape`] returned `ty`.
    fn call_in_blocks(&self, ty: &TensorType, inputs: &[Array]) -> Result<Array> {
        let count = ty.elements() as i64;
        let is_whole = |x: &&Array| x.ty().dims == ty.dims;
        let row = TensorType::new(ty.dtype, &[count]);
        let whole: Vec<Array> = inputs.iter().filter(is_whole).map(|x| x.reshape(&[count])).collect();
        let apply = |parts: &[Array], length: i64| {
            let mut parts = parts.iter();
            let of_block = |x: &Array| match is_whole(&x) {
                true => Ok(parts.next().expect("a part of each array").clone()),
                false => broadcast_to(&x.reshape(&[]), &TensorType::new(x.ty().dtype, &[length])),
            };
            let inputs: Vec<Array> = inputs.iter().map(of_block).collect::<Result<_>>()?;
            let made = self.run(&inputs, Some(length), None)?;
            Ok(made.into_iter().next().expect("the program has one output"))
        };
        Ok(in_blocks(&row, &whole, &apply)?.reshape(&ty.dims))
    }

    /// Returns the program, for which [`Function::one_shape`] returned `ty`, as one function over blocks. None if it
    /// cannot be evaluated so.
    pub(super) fn whole(&self, ty: &TensorType) -> Option<Whole> {
        let leaves = self.values.iter().filter(|value| value.op == Op::Leaf);
        let parameters: Vec<TensorType> = leaves.map(|leaf| leaf.ty.clone()).collect();
        let is_single = |x: &TensorType| x.elements() == 1 && ty.elements() != 1;
        let described: Vec<Parameter> = parameters.iter().map(|x| (x.dtype, is_single(x))).collect();
        let function = Elementwise::new(&self.values, &self.scalars, self.outputs[0], &described)?;
        Some(Whole { function, parameters, ty: ty.clone() })
    }

    /// Evaluates all values and returns the outputs. With a length, every value is a vector of that length instead of a
    /// scalar or an array, and broadcasts and reshapes change nothing.
    fn run(&self, inputs: &[Array], length: Option<i64>, watch: Option<&Watch>) -> Result<Vec<Array>> {
        let mut known: Vec<Results> = Vec::with_capacity(self.values.len());
        let (mut inputs, mut scalars) = (inputs.iter(), self.scalars.iter());
        for (position, value) in self.values.iter().enumerate() {
            let row_ty = length.map(|length| TensorType::new(value.ty.dtype, &[length]));
            let ty = row_ty.as_ref().unwrap_or(&value.ty);
            let made = match value.op {
                Op::Leaf => SmallVec::from_elem(next_input(&mut inputs, ty)?, 1),
                Op::Iota
                    if watch.is_none() && length.is_none() && is_left_out(&self.values, &self.last_use, position)? =>
                {
                    let none = TensorType::new(value.ty.dtype, &[0]);
                    SmallVec::from_elem(Array::from_bytes(&none, &[])?, 1)
                }
                op => {
                    let scalar = if op.has_scalar() { scalars.next().copied() } else { None };
                    let made = self.value(value, ty, scalar, &known, length.is_some(), watch)?;
                    if let Some(watch) = watch.filter(|_| op != Op::Result) {
                        let operands: SmallVec<[&Array; 4]> = value.operands.iter().map(|&i| &known[i][0]).collect();
                        watch.look(value, scalar, &operands, &made)?;
                    }
                    made
                }
            };
            known.push(made);
            for &operand in value.operands.iter().filter(|&&operand| self.last_use[operand] == position) {
                known[operand].clear();
            }
        }
        Ok(self.outputs.iter().map(|&output| known[output][0].clone()).collect())
    }

    pub(super) fn value(
        &self,
        value: &Instruction,
        ty: &TensorType,
        scalar: Option<Scalar>,
        known: &[Results],
        is_row: bool,
        watch: Option<&Watch>,
    ) -> Result<Results> {
        if value.op == Op::Result {
            let of = &known[value.operands[0]];
            return Ok(SmallVec::from_elem(of[value.attributes::<usize>()].clone(), 1));
        }
        let operands: SmallVec<[&Array; 4]> = value.operands.iter().map(|&i| &known[i][0]).collect();
        if is_row && matches!(value.op, Op::BroadcastTo | Op::Reshape) {
            return Ok(SmallVec::from_elem(operands[0].clone(), 1));
        }
        let bodies: Vec<Function> = value.bodies.iter().map(|body| Function::of(body)).collect::<Result<_>>()?;
        let cx = EvalContext {
            op: value.op,
            ty,
            words: &value.words,
            scalar,
            operands: &operands,
            bodies: &value.bodies,
            apply: &|body, arguments| bodies[body].run(arguments, None, watch),
            apply_each: &|body, arguments| bodies[body].call_each(arguments, arguments[0].ty().dims[0]),
        };
        let definition = ops::definition(value.op);
        match &definition.native {
            Native::One(native) => cx.one(*native).map(|made| SmallVec::from_elem(made, 1)),
            Native::Several(native) => native(&cx).map(SmallVec::from_vec),
            Native::Formula => formula(value.op, ty, &operands).map(|made| SmallVec::from_elem(made, 1)),
            Native::OnMeshes => Err(definition.on_meshes_only()),
            Native::Nothing => Err(error!(Internal, "{:?} is not an operation on arrays", value.op)),
        }
    }
}

/// Evaluates an elementwise function that has a formula.
fn formula(op: Op, ty: &TensorType, operands: &[&Array]) -> Result<Array> {
    if ty.elements() == 0 {
        return Array::from_bytes(ty, &[]);
    }
    shortcut(op, ty, operands).unwrap_or_else(|| by_formula(op, ty, operands))
}

/// Evaluates an elementwise function by its formula.
fn by_formula(op: Op, ty: &TensorType, operands: &[&Array]) -> Result<Array> {
    let dtype = operands[0].ty().dtype;
    let is_whole = |x: &&Array| x.ty().dims == ty.dims;
    let wide = |x: &&Array| broadcast_to(x, &TensorType { dtype: x.ty().dtype, dims: ty.dims.clone() });
    let function = kept::of_formula(op, dtype)?;
    if let Some(function) = &function
        && operands.iter().all(is_whole)
    {
        return function.evaluate(ty, operands);
    }
    let inputs: Vec<Array> = operands.iter().map(wide).collect::<Result<_>>()?;
    if let Some(function) = function {
        return function.evaluate(ty, &inputs.iter().collect::<Vec<_>>());
    }
    let length = ty.elements() as i64;
    let rows: Vec<Array> = inputs.iter().map(|x| x.reshape(&[length])).collect();
    let row = TensorType::new(ty.dtype, &[length]);
    Ok(by_operations(&*elementwise::formula_body(op, dtype)?, &row, &rows)?.reshape(&ty.dims))
}

/// Evaluates a formula operation by operation, on vectors with the elements of `row`.
pub(super) fn by_operations(body: &Body, row: &TensorType, inputs: &[Array]) -> Result<Array> {
    let function = Function::of(body)?;
    let apply = |parts: &[Array], length: i64| {
        let made = function.call_each(parts, length)?;
        Ok(made.into_iter().next().expect("a function has one result"))
    };
    in_blocks(row, inputs, &apply)
}

/// Evaluates an operation with one result that applies no body. `ty` is its inferred type; encoded attributes, scalar
/// and operands are those of the node.
pub fn evaluate(op: Op, ty: &TensorType, words: &[i64], scalar: Option<Scalar>, operands: &[&Array]) -> Result<Array> {
    match ops::definition(op).native {
        Native::Formula => formula(op, ty, operands),
        _ => ops::evaluate(op, ty, words, scalar, operands),
    }
}

/// Returns the next input, which must have the type of the parameter.
pub(super) fn next_input<'a>(inputs: &mut impl Iterator<Item = &'a Array>, parameter: &TensorType) -> Result<Array> {
    let input = inputs
        .next()
        .ok_or_else(|| error!(InvalidArgument, "inputs: too few given; the parameter {parameter} has none"))?;
    if input.ty() != parameter {
        return Err(error!(InvalidArgument, "inputs: {} given for a parameter that is {parameter}", input.ty()));
    }
    Ok(input.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::{DType, ScalarValue};
    use ir::{BinaryFunction, BinaryOp, CompareOp, NodeId, ReduceOp, Trace, UnaryFunction, Workspace, take_body};
    use native::testing::{array, counted, row as line};
    use ops::control::{self, Applied};
    use ops::{creation, elementwise, reduction, shape};

    fn leaf(trace: &mut Trace, dims: &[i64]) -> NodeId {
        trace.parameter(TensorType::new(DType::S32, dims))
    }

    fn scaled(trace: &mut Trace, op: BinaryOp, x: NodeId, by: i64) -> NodeId {
        elementwise::binary_scalar(trace, op, x, ScalarValue::Signed(by), false).unwrap()
    }

    /// Runs the program that computes `roots`. `inputs` are in the order in which the program first uses the leaves.
    fn outcome(trace: &Trace, roots: &[NodeId], inputs: &[Array]) -> Vec<Vec<i32>> {
        let mut workspace = Workspace::default();
        let segment = workspace.linearize(trace, roots).segments(trace, usize::MAX).remove(0);
        let outputs = run(&segment.program, &trace.scalars_at(&segment.scalars), inputs).unwrap();
        outputs.iter().map(|output| output.elements().to_vec()).collect()
    }

    #[test]
    fn scalars_fill_the_holes_in_order() {
        let mut t = Trace::new();
        let x = leaf(&mut t, &[2]);
        let two = scaled(&mut t, BinaryOp::Multiply, x, 2);
        let ten = creation::full(&mut t, &TensorType::new(DType::S32, &[2]), ScalarValue::Signed(10)).unwrap();
        let sum = elementwise::binary(&mut t, BinaryOp::Add, two, ten).unwrap();
        let less = scaled(&mut t, BinaryOp::Subtract, sum, 3);
        assert_eq!(outcome(&t, &[less], &[line(&[1, 5])]), [[9, 17]]);
    }

    #[test]
    fn inputs_must_be_the_parameters() {
        let mut t = Trace::new();
        let x = leaf(&mut t, &[2]);
        let y = scaled(&mut t, BinaryOp::Add, x, 1);
        let mut workspace = Workspace::default();
        let segment = workspace.linearize(&t, &[y]).segments(&t, usize::MAX).remove(0);
        assert!(run(&segment.program, &t.scalars_at(&segment.scalars), &[]).is_err());
        assert!(run(&segment.program, &t.scalars_at(&segment.scalars), &[counted(&[3])]).is_err());
    }

    /// Records a program of elementwise operations and functions on an array and a single element of f32.
    fn elementwise(t: &mut Trace, dims: &[i64], single: &[i64]) -> NodeId {
        let [x, one] = [dims, single].map(|dims| t.parameter(TensorType::new(DType::F32, dims)));
        let wide = shape::broadcast_to(t, one, dims).unwrap();
        let sum = elementwise::binary(t, BinaryOp::Add, x, wide).unwrap();
        let sinh = elementwise::unary_function(t, UnaryFunction::Sinh, sum).unwrap();
        let quotient = elementwise::binary_function(t, BinaryFunction::FloorDivide, sinh, x).unwrap();
        let bits = elementwise::bitcast_convert(t, quotient, DType::S32).unwrap();
        let is_less = elementwise::compare(t, CompareOp::Lt, x, wide).unwrap();
        let half = creation::full(t, &TensorType::new(DType::F32, &[]), ScalarValue::Float(0.5)).unwrap();
        let kept = elementwise::select(t, is_less, half, sinh).unwrap();
        let whole = elementwise::convert(t, kept, DType::S32);
        elementwise::binary(t, BinaryOp::Xor, bits, whole).unwrap()
    }

    #[test]
    fn long_arrays_are_evaluated_in_blocks_with_the_same_results() {
        let (columns, rows) = (7, 3 * BLOCK as i64 / 7);
        let data: Vec<f32> = (0..rows * columns).map(|i| (i * 37 % 1000) as f32 / 77.0 - 5.0).collect();
        let one = array(&[1, 1], &[0.25f32]);
        let evaluate = |rows: i64, data: &[f32]| {
            let mut t = Trace::new();
            let root = elementwise(&mut t, &[rows, columns], &[1, 1]);
            let program = Workspace::default().linearize(&t, &[root]).segments(&t, usize::MAX).remove(0);
            let scalars = t.scalars_at(&program.scalars);
            let function = Function::new(&program.program, &scalars).unwrap();
            assert!(function.one_shape().is_some());
            let of = |&id: &NodeId| match t.ty(id).elements() {
                1 => one.clone(),
                _ => array(&[rows, columns], data),
            };
            let inputs: Vec<Array> = program.parameters.iter().map(of).collect();
            run(&program.program, &scalars, &inputs).unwrap()[0].elements::<i32>().to_vec()
        };
        let want: Vec<i32> = data.chunks(columns as usize).flat_map(|row| evaluate(1, row)).collect();
        assert_eq!(evaluate(rows, &data), want);
    }

    #[test]
    fn only_elementwise_programs_of_one_shape_are_evaluated_in_blocks() {
        let long = 2 * BLOCK as i64;
        let is_blocked = |t: &Trace, roots: &[NodeId]| {
            let program = Workspace::default().linearize(t, roots).segments(t, usize::MAX).remove(0);
            let scalars = t.scalars_at(&program.scalars);
            Function::new(&program.program, &scalars).unwrap().one_shape().is_some()
        };
        let mut t = Trace::new();
        let (x, row) = (leaf(&mut t, &[long, 2]), leaf(&mut t, &[2]));
        let twice = scaled(&mut t, BinaryOp::Multiply, x, 2);
        assert!(is_blocked(&t, &[twice]));
        let more = scaled(&mut t, BinaryOp::Add, twice, 1);
        assert!(!is_blocked(&t, &[twice, more]));
        let wide = shape::broadcast_to(&mut t, row, &[long, 2]).unwrap();
        let sum = elementwise::binary(&mut t, BinaryOp::Add, twice, wide).unwrap();
        assert!(!is_blocked(&t, &[sum]));
        let turned = shape::transpose(&mut t, twice, &[1, 0]).unwrap();
        assert!(!is_blocked(&t, &[turned]));
        let flat = shape::reshape(&mut t, twice, &[2 * long]).unwrap();
        assert!(!is_blocked(&t, &[flat]));
    }

    #[test]
    fn calls_and_branches_apply_bodies_to_arguments_and_captures() {
        let mut t = Trace::new();
        let (p, data, pred) = (leaf(&mut t, &[2]), leaf(&mut t, &[2]), leaf(&mut t, &[]));
        let sum = elementwise::binary(&mut t, BinaryOp::Add, p, data).unwrap();
        let difference = elementwise::binary(&mut t, BinaryOp::Subtract, p, data).unwrap();
        let (add, add_captures) = take_body(&t, &[p], &[sum, p]).unwrap();
        let (subtract, subtract_captures) = take_body(&t, &[p], &[difference, sum]).unwrap();
        let add = Applied { body: &add, captures: &add_captures };
        let subtract = Applied { body: &subtract, captures: &subtract_captures };
        let x = leaf(&mut t, &[2]);
        let called = control::call(&mut t, &add, &[x]).unwrap();
        let truth = elementwise::convert(&mut t, pred, DType::Pred);
        let chosen = control::branch(&mut t, truth, &add, &subtract, &[called[0]]).unwrap();
        for (pred, want) in [(1, [[21, 41], [11, 21]]), (0, [[1, 1], [21, 41]])] {
            let inputs = [array(&[], &[pred]), line(&[1, 1]), line(&[10, 20])];
            assert_eq!(outcome(&t, &chosen, &inputs), want);
        }
    }

    #[test]
    fn a_case_applies_the_body_of_its_number_or_the_last_one() {
        let mut t = Trace::new();
        let (p, data, index) = (leaf(&mut t, &[2]), leaf(&mut t, &[2]), leaf(&mut t, &[]));
        let (sum, double) =
            (elementwise::binary(&mut t, BinaryOp::Add, p, data).unwrap(), scaled(&mut t, BinaryOp::Multiply, p, 2));
        let bodies = [
            take_body(&t, &[p], &[sum]).unwrap(),
            take_body(&t, &[p], &[double]).unwrap(),
            take_body(&t, &[p], &[data]).unwrap(),
        ];
        let branches: Vec<Applied> = bodies.iter().map(|(body, captures)| Applied { body, captures }).collect();
        let x = leaf(&mut t, &[2]);
        let mut chosen = control::case(&mut t, index, &branches, &[x]).unwrap();
        let compare = |t: &Trace, chosen: &[NodeId]| {
            for (index, want) in [(0, [11, 21]), (1, [2, 2]), (2, [10, 20]), (3, [10, 20]), (-1, [10, 20])] {
                let inputs = [array(&[], &[index]), line(&[1, 1]), line(&[10, 20])];
                assert_eq!(outcome(t, chosen, &inputs), [want], "{index}");
            }
        };
        compare(&t, &chosen);
        // After a compaction of the trace, the case still has all of its bodies.
        t.set_holder(chosen[0], 1);
        drop(t.compact(|_, id| chosen = vec![id]));
        compare(&t, &chosen);
    }

    #[test]
    fn loops_carry_values_until_the_condition_fails() {
        let mut t = Trace::new();
        let (i, x, limit) = (leaf(&mut t, &[]), leaf(&mut t, &[2]), leaf(&mut t, &[]));
        let more = elementwise::compare(&mut t, CompareOp::Lt, i, limit).unwrap();
        let (next, doubled) = (scaled(&mut t, BinaryOp::Add, i, 1), scaled(&mut t, BinaryOp::Multiply, x, 2));
        let (condition, of_condition) = take_body(&t, &[i, x], &[more]).unwrap();
        let (body, of_body) = take_body(&t, &[i, x], &[next, doubled]).unwrap();
        let (start, data) = (leaf(&mut t, &[]), leaf(&mut t, &[2]));
        let condition = Applied { body: &condition, captures: &of_condition };
        let results =
            control::while_loop(&mut t, &condition, &Applied { body: &body, captures: &of_body }, &[start, data])
                .unwrap();
        let inputs = |start, limit| [array(&[], &[start]), line(&[3, 5]), array(&[], &[limit])];
        assert_eq!(outcome(&t, &results, &inputs(0, 4)), [vec![4], vec![48, 80]]);
        assert_eq!(outcome(&t, &results, &inputs(7, 4)), [vec![7], vec![3, 5]]);
    }

    #[test]
    fn scans_go_both_ways() {
        for (reverse, before) in [(false, [100, 101, 106]), (true, [114, 109, 100])] {
            let mut t = Trace::new();
            let (sum, slice) = (leaf(&mut t, &[]), leaf(&mut t, &[2]));
            let of_slice = reduction::reduce(&mut t, ReduceOp::Sum, slice, &[0], false).unwrap();
            let next = elementwise::binary(&mut t, BinaryOp::Add, sum, of_slice).unwrap();
            let (body, captures) = take_body(&t, &[sum, slice], &[next, sum]).unwrap();
            let (start, stack) = (leaf(&mut t, &[]), leaf(&mut t, &[3, 2]));
            let body = Applied { body: &body, captures: &captures };
            let results = control::scan(&mut t, &body, &[start], &[stack], 3, reverse).unwrap();
            let inputs = [array(&[], &[100]), counted(&[3, 2])];
            assert_eq!(outcome(&t, &results, &inputs), [vec![115], before.to_vec()]);
        }
    }
}
