//! Finds the forms of the sizes of programs that differ in sizes only.

use super::super::op::Op;
use super::super::program::{Body, Instruction, Program};
use super::form::Form;
use super::spread::Spread;
use super::template::{Scope, SizedValue, Template};
use base::types::{Kind, Scalar};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Least word of attributes that one program alone shows to be a size.
const LEAST_STATED: i64 = 4;

/// Maximum number of variables of a pattern.
const MOST_VARIABLES: usize = 8;

/// How sizes of parameters are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    /// Sizes of parameters that differ are variables of their own, except for sums with 1 or 2.
    Apart,
    /// A size that is a multiple, a product or a shift of others is taken as that.
    Related,
    /// The axes of parameters that the caller names are variables, and nothing else is. One program is enough.
    Stated,
}

/// A program with free sizes: what programs that differ in sizes only have in common.
#[derive(Debug)]
pub struct Pattern {
    /// The program, whose dimensions and attributes are forms.
    pub template: Template,
    /// For each slot of the program's scalars, whether its value changed.
    changing_slots: Vec<bool>,
    skeleton: Vec<u32>,
    numbers: Vec<Number>,
    /// Scalars of bodies that never changed; None for the others.
    inner: Vec<Option<Scalar>>,
    /// For each variable, the number that states it.
    stated: Vec<usize>,
}

/// A number of a pattern. The common cases are compared without evaluating a form.
#[derive(Debug)]
enum Number {
    Constant(i64),
    Variable(usize),
    Form(Form),
}

/// A program that was seen, with the values of its scalar slots.
pub struct Seen<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its structure and its sizes.
    pub spread: &'a Spread,
    /// Values of its slots.
    pub scalars: &'a [Scalar],
}

impl Pattern {
    /// The simplest pattern of programs with one skeleton, of which the last one lends its labels. None if there is
    /// none. `stated` names parameters with their axes for [`Guess::Stated`].
    pub fn fit(seen: &[Seen], guess: Guess, stated: &[(usize, usize)]) -> Option<Pattern> {
        let last = seen.last()?;
        if seen.iter().any(|program| program.spread.skeleton != last.spread.skeleton) {
            return None;
        }
        // One program does not show which scalars change: all of its floats may be means' factors.
        let is_one = guess == Guess::Stated;
        let may_change =
            |scalar: &Scalar| is_one && (scalar.dtype().is_float() || scalar.dtype().kind() == Kind::Complex);
        let inner = (0..last.spread.inner.len()).map(|i| {
            let scalar = last.spread.inner[i];
            let is_same = seen.iter().all(|program| program.spread.inner[i] == scalar);
            (is_same && !may_change(&scalar)).then_some(scalar)
        });
        let inner: Vec<Option<Scalar>> = inner.collect();
        let slots = last.scalars.len();
        let differs = |slot: usize| {
            may_change(&last.scalars[slot]) || seen.iter().any(|program| program.scalars[slot] != last.scalars[slot])
        };
        let mut fitter = Fitter {
            spreads: seen.iter().map(|program| program.spread).collect(),
            inner: &inner,
            guess,
            stated,
            variables: Vec::new(),
            of_parameters: FxHashMap::default(),
            is_search: true,
            known: FxHashMap::default(),
            forms: Vec::with_capacity(last.spread.numbers.len()),
            slots,
            next_inner: 0,
        };
        fitter.declare(last.program)?;
        // Sizes that operands explain say what the others are, wherever they come.
        fitter.scope(last.program, None)?;
        (fitter.is_search, fitter.next_inner) = (false, 0);
        fitter.forms.clear();
        let main = fitter.scope(last.program, None)?;
        let Fitter { variables, forms, .. } = fitter;
        if variables.is_empty() {
            return None;
        }
        let number = |form: &Form| match form.as_constant() {
            Some(number) => Number::Constant(number),
            None => match (0..variables.len()).find(|&variable| *form == Form::variable(variable)) {
                Some(variable) => Number::Variable(variable),
                None => Number::Form(form.clone()),
            },
        };
        Some(Pattern {
            changing_slots: (0..slots).map(differs).collect(),
            skeleton: last.spread.skeleton.clone(),
            numbers: forms.iter().map(number).collect(),
            stated: variables.iter().map(|variable| variable.stated).collect(),
            template: Template { variables: variables.len(), main },
            inner,
        })
    }

    /// The variable that an axis of a parameter is; None if it is not one.
    pub fn variable(&self, parameter: usize, axis: usize) -> Option<usize> {
        let mut parameters = self.template.main.values.iter().filter(|value| value.instruction.op == Op::Leaf);
        let form = parameters.nth(parameter)?.dims.get(axis)?;
        (0..self.template.variables).find(|&variable| *form == Form::variable(variable))
    }

    /// Sizes at which the pattern is this program; None if it is another one.
    pub fn sizes(&self, spread: &Spread) -> Option<Vec<i64>> {
        if spread.skeleton != self.skeleton {
            return None;
        }
        let sizes: Vec<i64> = self.stated.iter().map(|&number| spread.numbers[number]).collect();
        let is_as_stated = |(number, &value): (&Number, &i64)| match number {
            Number::Constant(constant) => *constant == value,
            Number::Variable(variable) => sizes[*variable] == value,
            Number::Form(form) => form.at(&sizes) == Some(value),
        };
        let is_it = self.numbers.iter().zip(&spread.numbers).all(is_as_stated)
            && self.inner.iter().zip(&spread.inner).all(|(known, scalar)| known.is_none_or(|known| known == *scalar));
        is_it.then_some(sizes)
    }
}

impl Pattern {
    /// Scalars of a program of the pattern: the values of its slots, then the scalars of its bodies. Scalars that changed
    /// between programs vary.
    pub fn given(&self, spread: &Spread, slots: &[Scalar]) -> Vec<Scalar> {
        let of = |(scalar, changes): (&Scalar, bool)| if changes { scalar.varying() } else { *scalar };
        let inner = spread.inner.iter().zip(self.inner.iter().map(Option::is_none));
        slots.iter().zip(self.changing_slots.iter().copied()).chain(inner).map(of).collect()
    }
}

/// A number that changes from program to program.
struct Variable {
    /// Its values in the programs that were seen.
    values: Vec<i64>,
    /// The number that states it.
    stated: usize,
}

struct Fitter<'a> {
    spreads: Vec<&'a Spread>,
    inner: &'a [Option<Scalar>],
    guess: Guess,
    stated: &'a [(usize, usize)],
    variables: Vec<Variable>,
    /// Forms of the sizes of the program's parameters, by number.
    of_parameters: FxHashMap<usize, Form>,
    /// Whether the forms that operands explain are looked for. Other numbers count as constants meanwhile.
    is_search: bool,
    /// Forms that operands explain, by their values.
    known: FxHashMap<Vec<i64>, Form>,
    /// Forms of the numbers so far.
    forms: Vec<Form>,
    /// Number of scalar slots of the program.
    slots: usize,
    next_inner: usize,
}

impl Fitter<'_> {
    /// Values of a number in the programs that were seen.
    fn values(&self, number: usize) -> Vec<i64> {
        self.spreads.iter().map(|spread| spread.numbers[number]).collect()
    }

    /// Declares the sizes of the program's parameters that are variables.
    fn declare(&mut self, program: &Program) -> Option<()> {
        let (values, _) = program.decode();
        let (mut number, mut parameter) = (0, 0);
        for value in &values {
            if value.op == Op::Leaf {
                for axis in 0..value.ty.dims.len() {
                    let values = self.values(number + axis);
                    let form = match self.of_parameter(&values, self.stated.contains(&(parameter, axis))) {
                        Some(form) => form,
                        None => self.variable(values, number + axis)?,
                    };
                    self.of_parameters.insert(number + axis, form);
                }
                parameter += 1;
            }
            number += numbers_of(value);
        }
        Some(())
    }

    /// Adds a variable, and returns its form. None if there are too many.
    fn variable(&mut self, values: Vec<i64>, stated: usize) -> Option<Form> {
        self.variables.push(Variable { values, stated });
        (self.variables.len() <= MOST_VARIABLES).then(|| Form::variable(self.variables.len() - 1))
    }

    /// Form of a size of a parameter by the variables so far.
    fn of_parameter(&self, values: &[i64], is_stated: bool) -> Option<Form> {
        match self.guess {
            Guess::Stated if is_stated => self.same(values),
            Guess::Stated => self.constant(values),
            Guess::Apart => self.constant(values).or_else(|| self.same(values)).or_else(|| self.shifted(values, 2)),
            Guess::Related => self.constant(values).or_else(|| self.same(values)).or_else(|| self.derived(values)),
        }
    }

    fn scope(&mut self, program: &Program, body: Option<&Arc<Body>>) -> Option<Scope> {
        let (instructions, outputs) = program.decode();
        let mut next_scalar = 0;
        let is_main = body.is_none();
        if let Some(body) = body {
            next_scalar = self.slots + self.next_inner;
            self.next_inner += body.scalars().len();
        }
        let mut values: Vec<SizedValue> = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            let hints = hints(&instruction, &values);
            let mut dims = SmallVec::new();
            for axis in 0..instruction.ty.dims.len() {
                let own = joined(&instruction, &values, axis);
                let all: Vec<Form> = own.into_iter().chain(hints.iter().cloned()).collect();
                dims.push(self.dim(&all)?);
            }
            let mut known = dims.to_vec();
            known.extend(hints);
            let mut words = SmallVec::new();
            for _ in 0..instruction.words.len() {
                words.push(self.word(&known)?);
            }
            let mut bodies = Vec::with_capacity(instruction.bodies.len());
            for body in &instruction.bodies {
                bodies.push(self.scope(body.program(), Some(body))?);
            }
            let scalar = instruction.op.has_scalar().then(|| {
                next_scalar += 1;
                next_scalar - 1
            });
            let constant = scalar.filter(|_| !is_main).and_then(|scalar| self.inner[scalar - self.slots]);
            values.push(SizedValue { instruction, dims, words, scalar, constant, bodies });
        }
        let changes = values.iter().any(|value| {
            value.dims.iter().chain(&value.words).any(|form| form.as_constant().is_none())
                || value.scalar.is_some() && value.constant.is_none()
                || value.bodies.iter().any(|body| body.changes)
        });
        Some(Scope { values, outputs, body: body.cloned(), changes })
    }

    /// Form of the next number, a dimension: a variable of its own if nothing explains it.
    fn dim(&mut self, hints: &[Form]) -> Option<Form> {
        let number = self.forms.len();
        let form = match self.of_parameters.get(&number) {
            Some(form) => form.clone(),
            None => {
                let values = self.values(number);
                match self.explained(&values, hints) {
                    Some(form) => form,
                    None if self.is_search => Form::constant(values[0]),
                    None => self.variable(values, number)?,
                }
            }
        };
        self.forms.push(form.clone());
        Some(form)
    }

    /// Form of the next number, a word of attributes.
    fn word(&mut self, hints: &[Form]) -> Option<Form> {
        let values = self.values(self.forms.len());
        // Small numbers of one program are rather axes and flags than sizes.
        let is_small = self.guess == Guess::Stated && values[0] < LEAST_STATED;
        let form = if is_small { self.constant(&values) } else { self.explained(&values, hints) };
        let form = if self.is_search { form.unwrap_or(Form::constant(values[0])) } else { form? };
        self.forms.push(form.clone());
        Some(form)
    }

    fn explained(&mut self, values: &[i64], hints: &[Form]) -> Option<Form> {
        if self.guess != Guess::Stated
            && let Some(constant) = self.constant(values)
        {
            return Some(constant);
        }
        if let Some(hint) = hints.iter().find(|hint| self.is(hint, values)) {
            self.known.entry(values.to_vec()).or_insert_with(|| hint.clone());
            return Some(hint.clone());
        }
        let simple = self.same(values).or_else(|| self.known.get(values).cloned());
        match self.guess {
            Guess::Stated => simple.or_else(|| self.constant(values)),
            _ if self.is_search => simple,
            _ => simple.or_else(|| self.derived(values)),
        }
    }

    /// Whether a form has these values. Its variables are known.
    fn is(&self, form: &Form, values: &[i64]) -> bool {
        let at = |sighting: usize| {
            let sizes: Vec<i64> = self.variables.iter().map(|variable| variable.values[sighting]).collect();
            form.at(&sizes)
        };
        (0..values.len()).all(|sighting| at(sighting) == Some(values[sighting]))
    }

    fn constant(&self, values: &[i64]) -> Option<Form> {
        values.iter().all(|value| *value == values[0]).then(|| Form::constant(values[0]))
    }

    fn same(&self, values: &[i64]) -> Option<Form> {
        (0..self.variables.len()).find(|&variable| self.variables[variable].values == values).map(Form::variable)
    }

    /// The form of a variable and a small number.
    fn shifted(&self, values: &[i64], most: i64) -> Option<Form> {
        let shift = |variable: &Variable| {
            let shift = values[0] - variable.values[0];
            let is_shift = values.iter().zip(&variable.values).all(|(value, size)| value - size == shift);
            (is_shift && shift.abs() <= most).then_some(shift)
        };
        let found = self.variables.iter().enumerate().filter_map(|(i, variable)| Some((shift(variable)?, i)));
        let (shift, variable) = found.min_by_key(|(shift, _)| shift.abs())?;
        Form::variable(variable).plus(&Form::constant(shift))
    }

    /// The simplest form that has these values: of one variable, then of two.
    fn derived(&self, values: &[i64]) -> Option<Form> {
        let bases = self.bases();
        self.shifted(values, i64::MAX)
            .or_else(|| self.scaled(values, &bases[..self.variables.len()], false))
            .or_else(|| self.scaled(values, &bases, false))
            .or_else(|| self.scaled(values, &bases, true))
            .or_else(|| self.sum(values))
    }

    /// The variables, then the products of two and of three of them.
    fn bases(&self) -> Vec<Form> {
        let count = self.variables.len();
        let mut bases: Vec<Form> = (0..count).map(Form::variable).collect();
        for factors in 1..3 {
            let first = bases.len();
            let start = if factors == 1 { 0 } else { count };
            for shorter in start..first {
                // A product is made once: of a factor that is not less than the last one of the shorter product.
                for variable in 0..count {
                    if let Some(product) = bases[shorter].times(&Form::variable(variable))
                        && !bases.contains(&product)
                    {
                        bases.push(product);
                    }
                }
            }
            if count > 4 {
                break;
            }
        }
        bases
    }

    /// A multiple of a base, plus a number if `is_shifted`.
    fn scaled(&self, values: &[i64], bases: &[Form], is_shifted: bool) -> Option<Form> {
        let at = |base: &Form, sighting: usize| {
            let sizes: Vec<i64> = self.variables.iter().map(|variable| variable.values[sighting]).collect();
            base.at(&sizes)
        };
        let multiple = |base: &Form| {
            // Two programs in which the base differs give the factor.
            let other = (1..values.len()).find(|&i| at(base, i) != at(base, 0))?;
            let (from, to) = (at(base, 0)?, at(base, other)?);
            let (step, by) = (values[other].checked_sub(values[0])?, to.checked_sub(from)?);
            if step % by != 0 {
                return None;
            }
            let factor = step / by;
            let shift = values[0].checked_sub(factor.checked_mul(from)?)?;
            let form = base.times(&Form::constant(factor))?.plus(&Form::constant(shift))?;
            (factor != 0 && (is_shifted || shift == 0) && self.is(&form, values)).then_some((factor.abs(), form))
        };
        bases.iter().filter_map(multiple).min_by_key(|(factor, _)| *factor).map(|(_, form)| form)
    }

    /// The sum or the difference of two variables, plus a number.
    fn sum(&self, values: &[i64]) -> Option<Form> {
        let count = self.variables.len();
        let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b);
        for (a, b) in pairs {
            let (x, y) = (Form::variable(a), Form::variable(b));
            for sum in [x.plus(&y)?, x.minus(&y)?] {
                let sizes: Vec<i64> = self.variables.iter().map(|variable| variable.values[0]).collect();
                let form = sum.plus(&Form::constant(values[0] - sum.at(&sizes)?))?;
                if self.is(&form, values) {
                    return Some(form);
                }
            }
        }
        None
    }
}

/// Returns how many numbers a value has in a [`Spread`], including the numbers of its bodies.
fn numbers_of(value: &Instruction) -> usize {
    let of_body = |body: &Arc<Body>| body.decode().0.iter().map(numbers_of).sum::<usize>();
    value.ty.dims.len() + value.words.len() + value.bodies.iter().map(of_body).sum::<usize>()
}

/// Returns the form of an axis of a concatenation: the sum of the operands' dimensions along the axis that is joined. Other
/// forms may have the same values by chance.
fn joined(instruction: &Instruction, values: &[SizedValue], axis: usize) -> Option<Form> {
    if instruction.op != Op::Concatenate {
        return None;
    }
    let mut dims = instruction.operands.iter().map(|&operand| values[operand].dims[axis].clone());
    match instruction.words[..] {
        [joined] if joined == axis as i64 => dims.map(Some).reduce(|a, b| a?.plus(&b?))?,
        _ => dims.next(),
    }
}

/// Returns forms that dimensions of a value are likely to have: the dimensions of its operands; for a reshape also
/// products of adjacent dimensions, for a concatenation their sums, for a slice and a pad the shifted dimensions.
fn hints(instruction: &Instruction, values: &[SizedValue]) -> Vec<Form> {
    let mut hints: Vec<Form> = Vec::new();
    let mut add = |form: Form| {
        if form.as_constant().is_none() && !hints.contains(&form) {
            hints.push(form);
        }
    };
    for &operand in &instruction.operands {
        values[operand].dims.iter().cloned().for_each(&mut add);
    }
    match instruction.op {
        Op::Reshape => {
            let dims = &values[instruction.operands[0]].dims;
            for first in 0..dims.len() {
                let mut product = dims[first].clone();
                for next in &dims[first + 1..] {
                    let Some(longer) = product.times(next) else { break };
                    product = longer;
                    add(product.clone());
                }
            }
        }
        Op::Concatenate => {
            let rank = instruction.ty.dims.len();
            for axis in 0..rank {
                let dims = instruction.operands.iter().map(|&operand| values[operand].dims[axis].clone());
                if let Some(Some(sum)) = dims.map(Some).reduce(|a, b| a?.plus(&b?)) {
                    add(sum);
                }
            }
        }
        Op::Slice | Op::Pad => {
            // The words are three lists with one number for each axis, each after its length.
            let operand = &values[instruction.operands[0]];
            let rank = operand.dims.len();
            for (axis, dim) in operand.dims.iter().enumerate() {
                let word = |list: usize| instruction.words[list * (rank + 1) + 1 + axis];
                let by = match instruction.op {
                    Op::Pad => word(0).saturating_add(word(1)),
                    _ if word(1) == operand.instruction.ty.dims[axis] => word(0).saturating_neg(),
                    _ => continue,
                };
                if let Some(shifted) = dim.plus(&Form::constant(by)) {
                    add(shifted);
                }
            }
        }
        _ => {}
    }
    hints
}
