//! Plans: programs that are decoded once and run many times. Elementwise operations of floats of one shape are one
//! function over blocks, which writes only the values that other operations read. Results have the bits of an evaluation
//! operation by operation.

use super::grouping::{Step, steps};
use super::kept::Whole;
use super::places::is_left_out;
use super::program::{Function, Results, next_input, on_enough_stack};
use base::error::Result;
use base::types::{Scalar, TensorType};
use ir::{Op, Program};
use native::Array;
use smallvec::SmallVec;

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

impl Plan {
    /// Decodes a program. `scalars` fill its scalar slots in order.
    pub fn new(program: &Program, scalars: &[Scalar]) -> Result<Plan> {
        let function = Function::new(program, scalars.to_vec())?;
        let whole = function.one_shape().and_then(|ty| function.whole(ty));
        let mut left = function.scalars.iter().copied();
        let of_values = function.values.iter().map(|value| if value.op.has_scalar() { left.next() } else { None });
        let scalars: Vec<Option<Scalar>> = of_values.collect();
        let mut steps = steps(&function, &scalars);
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

#[cfg(test)]
mod tests {
    use super::super::grouping::MOST_ELEMENTS;
    use super::super::run;
    use super::*;
    use base::types::{DType, ScalarValue};
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
