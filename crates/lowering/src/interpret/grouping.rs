//! The steps of a plan: elementwise operations of one shape are grouped, and each group is one function.

use super::fused::{Group, Parameter};
use super::program::Function;
use base::types::{DType, Kind, Scalar, TensorType};
use ir::{Instruction, Op};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Largest number of elements of the arrays of a group: operations on larger ones are evaluated one by one, by several
/// threads.
pub(super) const MOST_ELEMENTS: usize = 1 << 15;

/// Bytes by which the values in use may grow for larger groups: they stay in the caches of a processor.
const MORE_BYTES: usize = 1 << 18;

/// A step of a plan, with the positions of the values that it makes.
pub(super) enum Step {
    /// Takes a parameter, or evaluates one operation.
    One(usize),
    /// An iota without elements, for operations that count themselves.
    Empty(usize),
    /// Evaluates one function.
    Fused(Box<Members>),
}

/// Values that one function computes.
pub(super) struct Members {
    pub group: Group,
    /// Values that it reads.
    pub inputs: Vec<usize>,
    /// Values that it writes, and their types.
    pub outputs: Vec<usize>,
    pub types: Vec<TensorType>,
}

/// Returns the steps of a program. `scalars` are the scalars of the values that have one.
pub(super) fn steps(function: &Function<'static>, scalars: &[Option<Scalar>]) -> Vec<Step> {
    Grouping::new(function, scalars).steps()
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
