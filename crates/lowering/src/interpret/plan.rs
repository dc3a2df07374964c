//! Plans: programs that are decoded once and run many times. Elementwise operations of floats of one shape are one
//! function over blocks, which writes only the values that other operations read. Results have the bits of an evaluation
//! operation by operation.

use super::fused::{Group, Parameter};
use super::kept::Whole;
use super::places::is_left_out;
use super::program::{Function, Results, next_input, on_enough_stack};
use base::error::Result;
use base::types::{DType, Kind, Scalar, TensorType};
use ir::{Instruction, Op, Program};
use native::Array;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Largest number of elements of the arrays of a group: operations on larger ones are evaluated one by one, by several
/// threads.
const MOST_ELEMENTS: usize = 1 << 15;

/// Bytes by which the values in use may grow for larger groups: they stay in the caches of a processor.
const MORE_BYTES: usize = 1 << 18;

/// A program that is ready to run.
pub struct Plan {
    function: Function<'static>,
    /// Scalars of the values that have one.
    scalars: Vec<Option<Scalar>>,
    steps: Vec<Step>,
    /// For each step, the values that are freed after it: no later step reads them.
    last_uses: Vec<Vec<usize>>,
    /// The program as one function.
    whole: Option<Whole>,
    depth: usize,
}

/// A step of a plan, with the positions of the values that it makes.
enum Step {
    /// Takes a parameter, or evaluates one operation.
    One(usize),
    /// An iota without elements, for operations that count themselves.
    Empty(usize),
    /// Evaluates one function.
    Fused(Box<Members>),
}

/// Values that one function computes.
struct Members {
    group: Group,
    /// Values that it reads.
    inputs: Vec<usize>,
    /// Values that it writes, and their types.
    outputs: Vec<usize>,
    types: Vec<TensorType>,
}

impl Plan {
    /// Decodes a program. `scalars` fill its scalar slots in order.
    pub fn new(program: &Program, scalars: &[Scalar]) -> Result<Plan> {
        let function = Function::new(program, scalars.to_vec())?;
        let whole = function.one_shape().and_then(|ty| function.whole(ty));
        let mut left = function.scalars.iter().copied();
        let of_values = function.values.iter().map(|value| if value.op.has_scalar() { left.next() } else { None });
        let scalars: Vec<Option<Scalar>> = of_values.collect();
        let mut steps = Grouping::new(&function, &scalars).steps();
        for step in &mut steps {
            if let Step::One(at) = *step
                && function.values[at].op == Op::Iota
                && is_left_out(&function.values, &function.last_use, at)?
            {
                *step = Step::Empty(at);
            }
        }
        let last_uses = last_uses(&function, &steps);
        Ok(Plan { function, scalars, steps, last_uses, whole, depth: program.depth() })
    }

    /// Runs the program and returns its outputs. `inputs` has one array for each parameter, in order.
    pub fn run(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        if let Some(whole) = self.whole.as_ref().filter(|whole| whole.takes(inputs)) {
            return Ok(vec![whole.evaluate(inputs)?]);
        }
        on_enough_stack(self.depth, || self.run_steps(inputs))
    }

    fn run_steps(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        let values = &self.function.values;
        let mut known: Vec<Results> = vec![Results::new(); values.len()];
        let mut inputs = inputs.iter();
        for (step, unused) in self.steps.iter().zip(&self.last_uses) {
            match step {
                Step::One(at) => {
                    let value = &values[*at];
                    known[*at] = match value.op {
                        Op::Leaf => SmallVec::from_elem(next_input(&mut inputs, &value.ty)?, 1),
                        _ => self.function.value(value, &value.ty, self.scalars[*at], &known, false, None)?,
                    };
                }
                Step::Empty(at) => {
                    let none = TensorType::new(values[*at].ty.dtype, &[0]);
                    known[*at].push(Array::from_bytes(&none, &[])?);
                }
                Step::Fused(members) => {
                    let given: SmallVec<[&Array; 8]> = members.inputs.iter().map(|&input| &known[input][0]).collect();
                    let made = members.group.evaluate(&members.types, &given)?;
                    drop(given);
                    for (&output, made) in members.outputs.iter().zip(made) {
                        known[output].push(made);
                    }
                }
            }
            unused.iter().for_each(|&value| known[value].clear());
        }
        Ok(self.function.outputs.iter().map(|&output| known[output][0].clone()).collect())
    }
}

/// Returns for each step the values whose last reader it is; a value that nothing reads is listed for the step that
/// makes it.
fn last_uses(function: &Function, steps: &[Step]) -> Vec<Vec<usize>> {
    let mut last: Vec<Option<usize>> = vec![None; function.values.len()];
    for (number, step) in steps.iter().enumerate() {
        let mut read = |at: usize| last[at] = Some(number);
        match step {
            Step::One(at) | Step::Empty(at) => {
                read(*at);
                function.values[*at].operands.iter().for_each(|&operand| read(operand));
            }
            Step::Fused(members) => members.inputs.iter().chain(&members.outputs).for_each(|&at| read(at)),
        }
    }
    let mut of_steps = vec![Vec::new(); steps.len()];
    for (at, step) in last.into_iter().enumerate() {
        if let Some(step) = step.filter(|_| !function.outputs.contains(&at)) {
            of_steps[step].push(at);
        }
    }
    of_steps
}

/// Assigns values to steps. Groups that are not complete are open: each has another shape and dtype, and none reads a
/// value of another one.
struct Grouping<'a> {
    function: &'a Function<'static>,
    scalars: &'a [Option<Scalar>],
    /// Whether a value is computed again by each group that reads it: constants, and predicates that only groups read.
    copied: Vec<bool>,
    /// Whether a value may belong to a group.
    fits: Vec<bool>,
    /// Values that an output or an operation outside of groups reads.
    read_alone: Vec<bool>,
    /// The values that read each value, directly or through copied values.
    readers: Vec<Vec<usize>>,
    /// The members of the open groups; a closed group is empty, and its place is used again.
    open: Vec<Vec<usize>>,
    /// The number of the open group of each value.
    group: Vec<Option<usize>>,
    steps: Vec<Step>,
}

impl<'a> Grouping<'a> {
    fn new(function: &'a Function<'static>, scalars: &'a [Option<Scalar>]) -> Grouping<'a> {
        let values = &function.values;
        let mut made = Grouping {
            function,
            scalars,
            copied: vec![false; values.len()],
            fits: (0..values.len()).map(|at| fits(values, at)).collect(),
            read_alone: vec![false; values.len()],
            readers: vec![Vec::new(); values.len()],
            open: Vec::new(),
            group: vec![None; values.len()],
            steps: Vec::new(),
        };
        function.outputs.iter().for_each(|&output| made.read_alone[output] = true);
        for (at, value) in values.iter().enumerate().rev() {
            // Predicates cross no border of a group: a group has float results.
            made.copied[at] = match value.op {
                Op::Leaf => false,
                Op::Full => !made.read_alone[at] && value.ty.elements() > 0,
                _ => made.fits[at] && value.ty.dtype == DType::Pred && !made.read_alone[at],
            };
            made.fits[at] &= value.ty.dtype != DType::Pred;
            // A copied predicate reads no copied predicate: in a chain of predicates, each would compute all before it.
            let reads_alone = !made.copied[at] && !made.fits[at];
            for &operand in &value.operands {
                let is_predicate = made.copied[at] && values[operand].ty.dtype == DType::Pred;
                made.read_alone[operand] |= reads_alone || is_predicate;
            }
        }
        for at in (0..values.len()).filter(|&at| !made.copied[at]) {
            made.read(at).into_iter().for_each(|read| made.readers[read].push(at));
        }
        made
    }

    /// The values that are not copied, in an order in which each follows what it reads: an order with few groups, unless
    /// it keeps more memory in use than the order of the program.
    fn order(&self) -> Vec<usize> {
        let of_program: Vec<usize> = (0..self.copied.len()).filter(|&at| !self.copied[at]).collect();
        let together = self.order_together();
        if self.most_bytes(&together) <= self.most_bytes(&of_program) + MORE_BYTES { together } else { of_program }
    }

    /// The most bytes of values of which a later value in the order, or an output, reads one.
    fn most_bytes(&self, order: &[usize]) -> usize {
        let values = &self.function.values;
        let mut place = vec![0; values.len()];
        order.iter().enumerate().for_each(|(place_of, &at)| place[at] = place_of);
        let mut freed = vec![0; order.len()];
        for &at in order.iter().filter(|at| !self.function.outputs.contains(at)) {
            let last = self.readers[at].iter().map(|&reader| place[reader]).max().unwrap_or(place[at]);
            freed[last] += values[at].ty.size_bytes();
        }
        let (mut now, mut most) = (0_usize, 0);
        for (&at, freed) in order.iter().zip(freed) {
            now = now.saturating_add(values[at].ty.size_bytes());
            most = most.max(now);
            now = now.saturating_sub(freed);
        }
        most
    }

    /// An order in which values that fit come as early as possible and the others when there are none left, so that few
    /// groups have many members: a sum, which nothing but an output reads, does not part the operations before it from
    /// those after it. Parameters keep their order.
    fn order_together(&self) -> Vec<usize> {
        let values = &self.function.values;
        let mut missing: Vec<usize> = vec![0; values.len()];
        self.readers.iter().flatten().for_each(|&reader| missing[reader] += 1);
        let mut order = Vec::with_capacity(values.len());
        let mut ready = [BinaryHeap::new(), BinaryHeap::new()];
        let is_leaf = |at: usize| values[at].op == Op::Leaf;
        for at in (0..values.len()).filter(|&at| !self.copied[at] && missing[at] == 0 && !is_leaf(at)) {
            ready[usize::from(self.fits[at])].push(Reverse(at));
        }
        let mut leaves = (0..values.len()).filter(|&at| is_leaf(at));
        // Draining the values that do not fit, or taking one that does.
        let mut drains = false;
        loop {
            let next = match leaves.next() {
                Some(leaf) => leaf,
                None => {
                    drains = (drains && !ready[0].is_empty()) || ready[1].is_empty();
                    let Some(Reverse(at)) = ready[usize::from(!drains)].pop() else { return order };
                    at
                }
            };
            order.push(next);
            for &reader in &self.readers[next] {
                missing[reader] -= 1;
                if missing[reader] == 0 {
                    ready[usize::from(self.fits[reader])].push(Reverse(reader));
                }
            }
        }
    }

    fn steps(mut self) -> Vec<Step> {
        let function = self.function;
        for at in self.order() {
            let value = &function.values[at];
            let read = self.read(at);
            let own = if self.fits[at] { self.open_group(value) } else { None };
            let others: Vec<usize> = read.iter().filter_map(|&read| self.group[read]).collect();
            others.into_iter().filter(|&other| Some(other) != own).for_each(|other| self.close(other));
            if !self.fits[at] {
                self.steps.push(Step::One(at));
                continue;
            }
            let own = own.or_else(|| self.open.iter().position(Vec::is_empty)).unwrap_or_else(|| {
                self.open.push(Vec::new());
                self.open.len() - 1
            });
            self.open[own].push(at);
            self.group[at] = Some(own);
        }
        (0..self.open.len()).for_each(|group| self.close(group));
        self.steps
    }

    /// The values that a value reads, directly or through copied values.
    fn read(&self, at: usize) -> Vec<usize> {
        let (mut read, mut left) = (Vec::new(), self.function.values[at].operands.to_vec());
        while let Some(operand) = left.pop() {
            match self.copied[operand] {
                true => left.extend(self.function.values[operand].operands.iter()),
                false => read.push(operand),
            }
        }
        read
    }

    /// The open group of values of this shape and dtype.
    fn open_group(&self, value: &Instruction) -> Option<usize> {
        let is_of = |group: &Vec<usize>| group.first().is_some_and(|&at| self.function.values[at].ty == value.ty);
        self.open.iter().position(is_of)
    }

    /// Adds the step of an open group, or a step for each of its values if no function computes them.
    fn close(&mut self, group: usize) {
        let mut members = std::mem::take(&mut self.open[group]);
        members.sort_unstable();
        members.iter().for_each(|&at| self.group[at] = None);
        match self.fused(&members) {
            Some(fused) => self.steps.push(Step::Fused(Box::new(fused))),
            None => self.alone(&members),
        }
    }

    /// Adds a step for each member, and for each copied value that a member reads.
    fn alone(&mut self, members: &[usize]) {
        let mut all = members.to_vec();
        let mut left = all.clone();
        while let Some(at) = left.pop() {
            for &operand in self.function.values[at].operands.iter().filter(|&&operand| self.copied[operand]) {
                if !all.contains(&operand) {
                    all.push(operand);
                    left.push(operand);
                }
            }
        }
        all.sort_unstable();
        self.steps.extend(all.into_iter().map(Step::One));
    }

    /// The members as one function; None if there are fewer than two, or a function cannot compute one of them.
    fn fused(&self, members: &[usize]) -> Option<Members> {
        if members.len() < 2 {
            return None;
        }
        let values = &self.function.values;
        let mut program = Sub { of: self, values: Vec::new(), scalars: Vec::new(), places: FxHashMap::default() };
        let read = members.iter().flat_map(|&at| self.read(at));
        let mut inputs: Vec<usize> = read.filter(|read| members.binary_search(read).is_err()).collect();
        inputs.sort_unstable();
        inputs.dedup();
        let single = |at: &usize| values[*at].ty.elements() == 1 && values[members[0]].ty.elements() != 1;
        let parameters: Vec<Parameter> = inputs.iter().map(|at| (values[*at].ty.dtype, single(at))).collect();
        inputs.iter().for_each(|&at| program.add_leaf(at));
        members.iter().for_each(|&at| program.add(at));
        let is_read_outside = |at: &&usize| {
            self.read_alone[**at] || self.readers[**at].iter().any(|reader| members.binary_search(reader).is_err())
        };
        let outputs: Vec<usize> = members.iter().filter(is_read_outside).copied().collect();
        if outputs.is_empty() {
            return None;
        }
        let places: Vec<usize> = outputs.iter().map(|at| program.places[at]).collect();
        let group = Group::new(&program.values, &program.scalars, &places, &parameters)?;
        let types = outputs.iter().map(|&at| values[at].ty.clone()).collect();
        Some(Members { group, inputs, outputs, types })
    }
}

/// The program of a group, under construction.
struct Sub<'a> {
    of: &'a Grouping<'a>,
    values: Vec<Instruction>,
    scalars: Vec<Scalar>,
    /// The positions in it of values of the whole program.
    places: FxHashMap<usize, usize>,
}

impl Sub<'_> {
    fn add_leaf(&mut self, at: usize) {
        let ty = self.of.function.values[at].ty.clone();
        let (words, bodies, operands) = (Default::default(), Vec::new(), Default::default());
        self.push(at, Instruction { op: Op::Leaf, ty, operands, words, bodies, label: Default::default() });
    }

    /// Adds a value, after the copied values that it reads.
    fn add(&mut self, at: usize) {
        let value = &self.of.function.values[at];
        for &operand in &value.operands {
            if self.of.copied[operand] && !self.places.contains_key(&operand) {
                self.add(operand);
            }
        }
        let operands = value.operands.iter().map(|operand| self.places[operand]).collect();
        self.scalars.extend(self.of.scalars[at]);
        self.push(at, Instruction { operands, ..value.clone() });
    }

    fn push(&mut self, at: usize, value: Instruction) {
        self.places.insert(at, self.values.len());
        self.values.push(value);
    }
}

/// Whether a value can belong to a group by itself: an elementwise operation on floats and predicates of its shape, and
/// on single floats, with a float or a predicate as its result.
fn fits(values: &[Instruction], at: usize) -> bool {
    let value = &values[at];
    let is_float = |ty: &TensorType| matches!(ty.dtype, DType::F32 | DType::F64);
    let is_elementwise = match value.op {
        Op::Leaf | Op::Full => return false,
        Op::BroadcastTo | Op::Reshape => true,
        op => ops::definition(op).is_elementwise(),
    };
    let width = |ty: &TensorType| if is_float(ty) { Some(ty.dtype) } else { None };
    let takes = |operand: usize| {
        let ty = &values[operand].ty;
        let is_same = ty.dims == value.ty.dims;
        let is_single = ty.elements() == 1 && is_float(ty);
        // One function has floats of one width.
        let has_width = width(ty).is_none() || width(&value.ty).is_none_or(|own| Some(own) == width(ty));
        has_width && (is_same || is_single) && (is_float(ty) || ty.dtype.kind() == Kind::Pred)
    };
    let has_one_width = {
        let mut widths = value.operands.iter().filter_map(|&operand| width(&values[operand].ty));
        let first = widths.next();
        widths.all(|width| Some(width) == first)
    };
    is_elementwise
        && (is_float(&value.ty) || value.ty.dtype == DType::Pred)
        && (1..=MOST_ELEMENTS).contains(&value.ty.elements())
        && has_one_width
        && value.operands.iter().all(|&operand| takes(operand))
}

#[cfg(test)]
mod tests {
    use super::super::run;
    use super::*;
    use base::types::ScalarValue;
    use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace, UnaryFunction, UnaryOp, Workspace};
    use native::testing::array;
    use ops::{creation, elementwise, reduction, shape};

    /// A linear congruential generator with Knuth's constants.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % n
        }
    }

    /// A program that grows by random operations on values of one size, of single elements and of predicates.
    struct Grown {
        trace: Trace,
        random: Random,
        dims: Vec<i64>,
        dtype: DType,
        arrays: Vec<NodeId>,
        singles: Vec<NodeId>,
        preds: Vec<NodeId>,
    }

    impl Grown {
        fn any(&mut self, of: fn(&Grown) -> &Vec<NodeId>) -> NodeId {
            let n = of(self).len();
            let at = self.random.below(n);
            of(self)[at]
        }

        fn one(&mut self) {
            let (x, y) = (self.any(|g| &g.arrays), self.any(|g| &g.arrays));
            let single = self.any(|g| &g.singles);
            let kind = self.random.below(12);
            let t = &mut self.trace;
            let binary = [BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Maximum][self.random.below(3)];
            match kind {
                0 | 1 => self.arrays.push(elementwise::binary(t, binary, x, y).unwrap()),
                2 => self.arrays.push(elementwise::binary(t, binary, x, single).unwrap()),
                3 => self.arrays.push(elementwise::unary(t, UnaryOp::Tanh, x).unwrap()),
                4 => self.arrays.push(elementwise::unary_function(t, UnaryFunction::Sinh, x).unwrap()),
                5 => {
                    let value = ScalarValue::Float(0.75);
                    self.arrays.push(elementwise::binary_scalar(t, binary, x, value, false).unwrap());
                }
                6 => self.preds.push(elementwise::compare(t, CompareOp::Lt, x, y).unwrap()),
                7 if !self.preds.is_empty() => {
                    let p = self.any(|g| &g.preds);
                    let t = &mut self.trace;
                    self.preds.push(elementwise::unary(t, UnaryOp::Not, p).unwrap());
                }
                8 if !self.preds.is_empty() => {
                    let p = self.any(|g| &g.preds);
                    self.arrays.push(elementwise::select(&mut self.trace, p, x, y).unwrap());
                }
                9 => {
                    let axes: Vec<i64> = (0..self.dims.len() as i64).collect();
                    let most = reduction::reduce(t, ReduceOp::Max, x, &axes, false).unwrap();
                    self.singles.push(most);
                }
                10 => {
                    let ty = TensorType::new(self.dtype, &self.dims);
                    self.arrays.push(creation::full(t, &ty, ScalarValue::Float(1.5)).unwrap());
                }
                _ => {
                    let halved =
                        elementwise::binary_scalar(t, BinaryOp::Multiply, single, ScalarValue::Float(0.5), false);
                    let halved = halved.unwrap();
                    self.singles.push(halved);
                    self.arrays.push(shape::broadcast_to(t, halved, &self.dims).unwrap());
                }
            }
        }
    }

    fn grown(seed: u64, dims: &[i64], dtype: DType) -> (Grown, Vec<NodeId>) {
        let mut trace = Trace::new();
        let arrays: Vec<NodeId> = (0..2).map(|_| trace.parameter(TensorType::new(dtype, dims))).collect();
        let singles = vec![trace.parameter(TensorType::new(dtype, &[]))];
        let parameters = [&arrays[..], &singles].concat();
        let (random, preds) = (Random(seed), Vec::new());
        let mut made = Grown { trace, random, dims: dims.to_vec(), dtype, arrays, singles, preds };
        (0..30).for_each(|_| made.one());
        (made, parameters)
    }

    fn numbers(ty: &TensorType, seed: u64) -> Array {
        let mut random = Random(seed);
        let values = (0..ty.elements()).map(|i| match i % 11 {
            10 => [f64::NAN, f64::INFINITY, -0.0][random.below(3)],
            _ => random.below(1000) as f64 / 100.0 - 5.0,
        });
        let values = array(&ty.dims, &values.collect::<Vec<f64>>());
        native::convert(&values, ty.dtype).unwrap()
    }

    fn bits(x: &Array) -> Vec<u64> {
        match x.ty().dtype {
            DType::F32 => x.elements().iter().map(|x: &f32| if x.is_nan() { 1 } else { x.to_bits().into() }).collect(),
            DType::F64 => x.elements().iter().map(|x: &f64| if x.is_nan() { 1 } else { x.to_bits() }).collect(),
            _ => x.bytes().iter().map(|&x| x.into()).collect(),
        }
    }

    /// The largest value, among `count` values, of 1 / (sum of squares of a scaled array of `elements`).
    fn parts(count: usize, elements: i64) -> Plan {
        let mut t = Trace::new();
        let x = t.parameter(TensorType::new(DType::F32, &[elements]));
        let mut most = None;
        for i in 0..count {
            let scale = ScalarValue::Float(1.0 + i as f64);
            let y = elementwise::binary_scalar(&mut t, BinaryOp::Multiply, x, scale, false).unwrap();
            let square = elementwise::binary(&mut t, BinaryOp::Multiply, y, y).unwrap();
            let sum = reduction::reduce(&mut t, ReduceOp::Sum, square, &[0], false).unwrap();
            let one = elementwise::unary(&mut t, UnaryOp::Rsqrt, sum).unwrap();
            most = Some(match most {
                None => one,
                Some(most) => elementwise::binary(&mut t, BinaryOp::Maximum, most, one).unwrap(),
            });
        }
        let segment = Workspace::default().linearize(&t, &[most.unwrap()]).segments(&t, usize::MAX).remove(0);
        Plan::new(&segment.program, &t.scalars_at(&segment.scalars)).unwrap()
    }

    #[test]
    fn large_parts_are_evaluated_one_after_the_other() {
        // The steps that make an array of a part, and their most values in use.
        let in_use = |plan: &Plan, elements: i64| {
            let is_large = |&at: &usize| plan.function.values[at].ty.elements() == elements as usize;
            let (mut now, mut most) = (0, 0);
            for (step, unused) in plan.steps.iter().zip(&plan.last_uses) {
                now += match step {
                    Step::One(at) | Step::Empty(at) => usize::from(is_large(at)),
                    Step::Fused(members) => members.outputs.iter().filter(|at| is_large(at)).count(),
                };
                most = most.max(now);
                now -= unused.iter().filter(|at| is_large(at)).count();
            }
            most
        };
        for elements in [MOST_ELEMENTS as i64, 4 * MOST_ELEMENTS as i64] {
            assert!(in_use(&parts(40, elements), elements) <= 4, "{elements}");
        }
        // Small ones are one function.
        let plan = parts(40, 16);
        let functions = plan.steps.iter().filter(|step| matches!(step, Step::Fused(_))).count();
        assert_eq!((functions, in_use(&plan, 16)), (2, 41));
    }

    #[test]
    fn random_programs_have_the_bits_of_their_operations() {
        let cases = if cfg!(miri) { 2 } else { 60 };
        let mut fused = 0;
        for seed in 0..cases {
            for (dims, dtype) in [
                (&[1][..], DType::F32),
                (&[], DType::F64),
                (&[7, 3], DType::F32),
                (&[2500], DType::F64),
                (&[0, 3], DType::F32),
                (&[33, 1000], DType::F32),
            ] {
                let (mut program, parameters) = grown(seed, dims, dtype);
                let mut roots: Vec<NodeId> = (0..3).map(|_| program.any(|g| &g.arrays)).collect();
                roots.extend(program.singles.last());
                roots.extend(program.preds.last());
                let trace = &program.trace;
                let segment = Workspace::default().linearize(trace, &roots).segments(trace, usize::MAX).remove(0);
                let scalars = trace.scalars_at(&segment.scalars);
                let place = |id: &NodeId| parameters.iter().position(|known| known == id).expect("a parameter") as u64;
                let input = |id: &NodeId| numbers(&trace.ty(*id), seed + 17 * place(id));
                let inputs: Vec<Array> = segment.parameters.iter().map(input).collect();
                let plan = Plan::new(&segment.program, &scalars).unwrap();
                fused += plan.steps.iter().filter(|step| matches!(step, Step::Fused(_))).count();
                let (got, want) = (plan.run(&inputs).unwrap(), run(&segment.program, &scalars, &inputs).unwrap());
                for (got, want) in got.iter().zip(&want) {
                    assert_eq!(got.ty(), want.ty());
                    assert_eq!(bits(got), bits(want), "program {seed} of {dtype} {dims:?}");
                }
                assert!(plan.run(&inputs[..inputs.len().saturating_sub(1)]).is_err() || inputs.is_empty());
            }
        }
        assert!(fused as u64 > 3 * cases, "{fused} functions");
    }
}
