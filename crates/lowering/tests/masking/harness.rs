//! Runs a program masked and as it is, with garbage in the padding, and compares. Programs are built by closures for
//! given sizes; a small fitter makes a template from programs at several sizes.

use base::error::Result;
use base::types::{DType, Kind, Scalar, ScalarValue, TensorType, element_count};
use ir::sizes::{Axes, Form, Scope, SizedValue, Template};
use ir::{Body, Instruction, NodeId, Program, Trace, take_program};
use lowering::interpret;
use lowering::transform::{Masked, Refusal, ScalarSource, mask};
use native::Array;
use std::sync::Arc;

/// Records a program for sizes. Returns its parameters and its results.
pub type Build<'b> = &'b dyn Fn(&mut Trace, &[i64]) -> Result<(Vec<NodeId>, Vec<NodeId>)>;

/// A program with the values of its scalars, then those of the bodies.
pub struct Exact {
    pub program: Program,
    /// Number of scalars of the program itself.
    own: usize,
    scalars: Vec<Scalar>,
}

/// Records a program; None if these sizes are not legal.
pub fn exact(build: Build, sizes: &[i64]) -> Option<Exact> {
    let mut trace = Trace::new();
    let (parameters, results) = build(&mut trace, sizes).ok()?;
    let (program, slots) = take_program(&trace, &parameters, &results).unwrap();
    let mut scalars: Vec<Scalar> = slots.iter().map(|&slot| trace.scalar(trace.node(slot)).unwrap()).collect();
    let own = scalars.len();
    program.decode().0.iter().for_each(|value| scalars_of_bodies(value, &mut scalars));
    Some(Exact { program, own, scalars })
}

fn scalars_of_bodies(value: &Instruction, all: &mut Vec<Scalar>) {
    for body in &value.bodies {
        all.extend(body.scalars());
        body.decode().0.iter().for_each(|value| scalars_of_bodies(value, all));
    }
}

/// A template from programs at a grid of sizes.
pub fn template(build: Build, variables: usize) -> Template {
    try_template(build, variables).expect("programs that differ in sizes only")
}

/// Like [`template`]; None if the programs are not legal at all sizes of the grid, or differ in more than sizes.
pub fn try_template(build: Build, variables: usize) -> Option<Template> {
    let rows: Vec<Vec<i64>> = [[3, 5, 8], [4, 6, 7]][..variables].iter().map(|row| row.to_vec()).collect();
    let points = grid(&rows);
    let programs: Vec<Exact> = points.iter().map(|sizes| exact(build, sizes)).collect::<Option<_>>()?;
    let decoded: Vec<Decoded> = programs
        .iter()
        .map(|exact| {
            let (values, outputs) = exact.program.decode();
            Decoded { values, outputs, scalars: exact.scalars[..exact.own].to_vec(), body: None }
        })
        .collect();
    let mut fitter = Fitter { points, variables, scalars: 0 };
    Some(Template { variables, main: fitter.scope(&decoded, false)? })
}

/// All combinations of one element of each row.
pub fn grid(rows: &[Vec<i64>]) -> Vec<Vec<i64>> {
    rows.iter().fold(vec![Vec::new()], |all, row| {
        all.iter().flat_map(|start| row.iter().map(move |&last| [&start[..], &[last]].concat())).collect()
    })
}

struct Decoded {
    values: Vec<Instruction>,
    outputs: Vec<usize>,
    scalars: Vec<Scalar>,
    body: Option<Arc<Body>>,
}

struct Fitter {
    points: Vec<Vec<i64>>,
    variables: usize,
    scalars: usize,
}

impl Fitter {
    fn scope(&mut self, programs: &[Decoded], in_body: bool) -> Option<Scope> {
        let first = programs.last().unwrap();
        let is_like = |other: &Decoded| {
            let same = |(a, b): (&Instruction, &Instruction)| {
                a.op == b.op
                    && a.operands == b.operands
                    && a.ty.dtype == b.ty.dtype
                    && (a.ty.dims.len(), a.words.len()) == (b.ty.dims.len(), b.words.len())
            };
            other.outputs == first.outputs
                && other.values.len() == first.values.len()
                && other.values.iter().zip(&first.values).all(same)
        };
        if !programs.iter().all(is_like) {
            return None;
        }
        let start = self.scalars;
        self.scalars += first.scalars.len();
        let mut taken = 0;
        let mut values = Vec::new();
        for (position, instruction) in first.values.iter().enumerate() {
            let all: Vec<&Instruction> = programs.iter().map(|program| &program.values[position]).collect();
            let fitted = |get: &dyn Fn(&Instruction) -> i64| {
                self.form(&all.iter().map(|value| get(value)).collect::<Vec<i64>>())
            };
            let dims = (0..instruction.ty.dims.len())
                .map(|axis| fitted(&|value| value.ty.dims[axis]))
                .collect::<Option<_>>()?;
            let words =
                (0..instruction.words.len()).map(|word| fitted(&|value| value.words[word])).collect::<Option<_>>()?;
            let (mut scalar, mut constant) = (None, None);
            if instruction.op.has_scalar() {
                let same = programs.iter().all(|program| program.scalars[taken] == first.scalars[taken]);
                scalar = Some(start + taken);
                constant = (in_body && same).then(|| first.scalars[taken]);
                taken += 1;
            }
            let instruction = instruction.clone();
            values.push(SizedValue { instruction, dims, words, scalar, constant, bodies: Vec::new() });
        }
        for (position, value) in values.iter_mut().enumerate() {
            for number in 0..value.instruction.bodies.len() {
                let bodies: Vec<Decoded> = programs
                    .iter()
                    .map(|program| {
                        let body = program.values[position].bodies[number].clone();
                        let (values, outputs) = body.decode();
                        Decoded { values, outputs, scalars: body.scalars().to_vec(), body: Some(body) }
                    })
                    .collect();
                value.bodies.push(self.scope(&bodies, true)?);
            }
        }
        let is_constant = |forms: &[Form]| forms.iter().all(|form| form.as_constant().is_some());
        let changes = values.iter().any(|value| {
            !is_constant(&value.dims)
                || !is_constant(&value.words)
                || in_body && value.scalar.is_some() && value.constant.is_none()
                || value.bodies.iter().any(|body| body.changes)
        });
        Some(Scope { values, outputs: first.outputs.clone(), body: first.body.clone(), changes })
    }

    /// The simplest polynomial of the sizes with these values.
    fn form(&self, values: &[i64]) -> Option<Form> {
        let mut products: Vec<Vec<usize>> = vec![vec![]];
        for degree in 0..4 {
            match degree {
                1 => products.extend((0..self.variables).map(|variable| vec![variable])),
                2 if self.variables > 1 => products.push(vec![0, 1]),
                3 => products.extend((0..self.variables).map(|variable| vec![variable; 2])),
                _ => {}
            }
            if let Some(form) = self.with(&products, values) {
                return Some(form);
            }
        }
        None
    }

    /// The polynomial with these products, if it fits.
    fn with(&self, products: &[Vec<usize>], values: &[i64]) -> Option<Form> {
        let term = |point: &[i64], product: &[usize]| product.iter().map(|&i| point[i] as f64).product::<f64>();
        let mut rows: Vec<Vec<f64>> = self
            .points
            .iter()
            .zip(values)
            .map(|(point, &value)| products.iter().map(|p| term(point, p)).chain([value as f64]).collect())
            .collect();
        let count = products.len();
        for column in 0..count {
            let pivot =
                (column..rows.len()).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
            rows.swap(column, pivot);
            let by = rows[column].clone();
            for (_, row) in rows.iter_mut().enumerate().filter(|(number, _)| *number != column) {
                let factor = row[column] / by[column];
                row.iter_mut().zip(&by).for_each(|(a, b)| *a -= factor * b);
            }
        }
        let mut form = Form::constant(0);
        for (column, product) in products.iter().enumerate() {
            let factor = (rows[column][count] / rows[column][column]).round() as i64;
            let mut variables = product.iter().map(|&variable| Form::variable(variable));
            let term = variables.try_fold(Form::constant(factor), |all, one| all.times(&one))?;
            form = form.plus(&term)?;
        }
        self.points.iter().zip(values).all(|(point, &value)| form.at(point) == Some(value)).then_some(form)
    }
}

/// Whether a program is what a template gives for the sizes.
pub fn fits(scope: &Scope, (values, outputs): &(Vec<Instruction>, Vec<usize>), sizes: &[i64]) -> bool {
    let equal = |forms: &[Form], given: &[i64]| {
        forms.len() == given.len() && forms.iter().zip(given).all(|(form, &given)| form.at(sizes) == Some(given))
    };
    scope.outputs == *outputs
        && scope.values.len() == values.len()
        && scope.values.iter().zip(values).all(|(sized, value)| {
            let seen = &sized.instruction;
            seen.op == value.op
                && seen.operands == value.operands
                && seen.ty.dtype == value.ty.dtype
                && equal(&sized.dims, &value.ty.dims)
                && equal(&sized.words, &value.words)
                && sized.bodies.iter().zip(&value.bodies).all(|(scope, body)| fits(scope, &body.decode(), sizes))
        })
}

/// Deterministic random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) ^ (self.0 >> 17 & 0xFFFF)
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// Elements of parameters: integers from -4 to 11, whole floats or floats with fractions.
    pub fn array(&mut self, ty: &TensorType, whole: bool) -> Array {
        let mut value = || match ty.dtype.kind() {
            Kind::Pred => ScalarValue::Signed((self.next() % 2) as i64),
            Kind::Unsigned => ScalarValue::Signed((self.next() % 12) as i64),
            Kind::Signed => ScalarValue::Signed((self.next() % 16) as i64 - 4),
            _ if whole => ScalarValue::Float((self.next() % 9) as f64 - 4.0),
            _ => ScalarValue::Float((self.next() % 4001) as f64 / 1000.0 - 2.0),
        };
        let elements: Vec<Scalar> = (0..ty.elements()).map(|_| Scalar::new(ty.dtype, value()).unwrap()).collect();
        Array::from_bytes(ty, &bytes(&elements)).unwrap()
    }

    /// Garbage: NaN, infinities, extreme and small numbers.
    pub fn garbage(&mut self, dtype: DType) -> Scalar {
        let number = self.next();
        let size = dtype.size_bytes();
        let all = [number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes(), number.to_le_bytes()].concat();
        match dtype.kind() {
            Kind::Pred => Scalar::new(dtype, ScalarValue::Signed((number % 2) as i64)).unwrap(),
            Kind::Signed | Kind::Unsigned if number.is_multiple_of(3) => {
                Scalar::new(dtype, ScalarValue::Signed((number % 7) as i64)).unwrap()
            }
            Kind::Signed | Kind::Unsigned => Scalar::from_bytes(dtype, &all[..size]),
            _ => {
                let values = [f64::NAN, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 3e4, -0.5];
                Scalar::new(dtype, ScalarValue::Float(values[number as usize % values.len()])).unwrap()
            }
        }
    }
}

fn bytes(elements: &[Scalar]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.bits().to_le_bytes()[..element.dtype().size_bytes()].to_vec()).collect()
}

/// Positions of the valid elements of each axis.
fn valid_positions(axes: &Axes, sizes: &[i64]) -> Vec<Vec<usize>> {
    let of_axis = |factors: &smallvec::SmallVec<[ir::sizes::Factor; 1]>| {
        let bound: i64 = factors.iter().map(|factor| factor.bound).product();
        let is_valid = |&position: &i64| {
            let mut rest = position;
            factors.iter().rev().all(|factor| {
                let digit = rest % factor.bound;
                rest /= factor.bound;
                digit < factor.size.at(sizes).unwrap()
            })
        };
        (0..bound).filter(is_valid).map(|position| position as usize).collect()
    };
    axes.iter().map(of_axis).collect()
}

/// Offsets in a padded array of the valid elements, in order.
fn offsets(axes: &Axes, sizes: &[i64]) -> Vec<usize> {
    let mut all = vec![0];
    for (factors, valid) in axes.iter().zip(valid_positions(axes, sizes)) {
        let bound: i64 = factors.iter().map(|factor| factor.bound).product();
        all = all.iter().flat_map(|start| valid.iter().map(move |at| start * bound as usize + at)).collect();
    }
    all
}

/// An array with garbage in its padding.
fn pad(x: &Array, axes: &Axes, sizes: &[i64], random: &mut Random) -> Array {
    let dims: Vec<i64> = axes.iter().map(|factors| factors.iter().map(|factor| factor.bound).product()).collect();
    let ty = TensorType::new(x.ty().dtype, &dims);
    let garbage: Vec<Scalar> = (0..element_count(&dims).unwrap()).map(|_| random.garbage(ty.dtype)).collect();
    let (mut all, size) = (bytes(&garbage), ty.dtype.size_bytes());
    let offsets = offsets(axes, sizes);
    assert_eq!(offsets.len(), x.ty().elements(), "{:?} for {}", axes, x.ty());
    for (number, offset) in offsets.into_iter().enumerate() {
        all[offset * size..][..size].copy_from_slice(&x.bytes()[number * size..][..size]);
    }
    Array::from_bytes(&ty, &all).unwrap()
}

/// The valid elements of a padded array.
fn cut(x: &Array, ty: &TensorType, axes: &Axes, sizes: &[i64]) -> Array {
    let size = ty.dtype.size_bytes();
    let all: Vec<u8> =
        offsets(axes, sizes).into_iter().flat_map(|at| x.bytes()[at * size..][..size].to_vec()).collect();
    assert_eq!(all.len(), size * ty.elements(), "{axes:?} for {ty}");
    Array::from_bytes(ty, &all).unwrap()
}

/// Numbers of an array, a complex one as two.
fn numbers(x: &Array) -> Vec<f64> {
    let parts = match x.ty().dtype.kind() {
        Kind::Complex => {
            let part = TensorType { dtype: x.ty().dtype.real(), dims: x.ty().dims.clone() };
            vec![native::real(&part, x).unwrap(), native::imag(&part, x).unwrap()]
        }
        _ => vec![x.clone()],
    };
    parts.iter().flat_map(|part| native::convert(part, DType::F64).unwrap().elements::<f64>().to_vec()).collect()
}

fn close(a: &Array, b: &Array, tolerance: f64) -> bool {
    if !a.ty().dtype.is_float() && a.ty().dtype.kind() != Kind::Complex {
        return a.bytes() == b.bytes();
    }
    let near = |(a, b): (f64, f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * (1.0 + b.abs());
    numbers(a).into_iter().zip(numbers(b)).all(near)
}

/// How a program is compared.
pub struct Check<'c> {
    pub name: &'c str,
    pub bounds: &'c [i64],
    pub tolerance: f64,
    /// Whether parameters of floats are whole numbers.
    pub whole: bool,
    /// Least number of sizes that are compared.
    pub least: usize,
}

impl Check<'_> {
    /// Masks the program at the bounds and compares it at many sizes.
    pub fn run(&self, build: Build) {
        let template = template(build, self.bounds.len());
        let masked = mask(&template, self.bounds).unwrap_or_else(|refusal| panic!("{}: {refusal:?}", self.name));
        let rows: Vec<Vec<i64>> = self.bounds.iter().map(|&bound| sizes_up_to(bound)).collect();
        let compared = self.run_at(build, &template, &masked, &grid(&rows));
        assert!(compared >= self.least, "{}: only {compared} sizes were compared", self.name);
    }

    /// Compares a masked program at sizes, and returns at how many of them. A program that is not what the template
    /// gives is not compared.
    pub fn run_at(&self, build: Build, template: &Template, masked: &Masked, points: &[Vec<i64>]) -> usize {
        let mut compared = 0;
        for sizes in points {
            let Some(exact) = exact(build, sizes) else { continue };
            if fits(&template.main, &exact.program.decode(), sizes) {
                self.compare(masked, &exact, sizes);
                compared += 1;
            }
        }
        compared
    }

    fn compare(&self, masked: &Masked, exact: &Exact, sizes: &[i64]) {
        let mut random = Random(sizes.iter().fold(self.name.len() as u64, |seed, &size| seed * 31 + size as u64));
        let (values, outputs) = exact.program.decode();
        let leaves = values.iter().filter(|value| value.op == ir::Op::Leaf);
        let inputs: Vec<Array> = leaves.map(|leaf| random.array(&leaf.ty, self.whole)).collect();
        let wanted = interpret::run(&exact.program, &exact.scalars[..exact.own], &inputs);
        let padded: Vec<Array> =
            inputs.iter().zip(&masked.parameters).map(|(x, axes)| pad(x, axes, sizes, &mut random)).collect();
        let scalars: Vec<Scalar> = masked.scalars.iter().map(|source| scalar(source, exact, sizes)).collect();
        let made = interpret::run(&masked.program, &scalars, &padded);
        let (made, wanted) = match (made, wanted) {
            (Ok(made), Ok(wanted)) => (made, wanted),
            (made, wanted) => panic!("{} at {sizes:?}: {:?}, {:?}", self.name, made.err(), wanted.err()),
        };
        for (number, (made, wanted)) in made.iter().zip(&wanted).enumerate() {
            let ty = &values[outputs[number]].ty;
            let made = cut(made, ty, &masked.outputs[number], sizes);
            assert!(
                close(&made, wanted, self.tolerance),
                "{} at {sizes:?}, output {number}, {ty}:\n{:?}\nin place of\n{:?}",
                self.name,
                numbers(&made),
                numbers(wanted)
            );
        }
    }
}

/// Sizes at which a program is compared.
fn sizes_up_to(bound: i64) -> Vec<i64> {
    let mut sizes = vec![0, 1, 2, bound / 2, bound - 1, bound];
    sizes.retain(|size| (0..=bound).contains(size));
    sizes.sort();
    sizes.dedup();
    sizes
}

fn scalar(source: &ScalarSource, exact: &Exact, sizes: &[i64]) -> Scalar {
    match source {
        ScalarSource::Given(number) => exact.scalars[*number],
        ScalarSource::Size(form) => Scalar::new(DType::S32, ScalarValue::Signed(form.at(sizes).unwrap())).unwrap(),
        ScalarSource::Constant(scalar) => *scalar,
    }
}

/// Compares whole numbers, which must be equal.
pub fn check(name: &str, bounds: &[i64], build: Build) {
    Check { name, bounds, tolerance: 0.0, whole: true, least: 3 }.run(build);
}

/// Compares floats up to rounding.
pub fn check_near(name: &str, bounds: &[i64], build: Build) {
    Check { name, bounds, tolerance: 1e-4, whole: false, least: 3 }.run(build);
}

/// Returns why a program is not masked.
pub fn refusal(bounds: &[i64], build: Build) -> Refusal {
    mask(&template(build, bounds.len()), bounds).expect_err("a refusal")
}

/// A parameter of the program.
pub fn input(trace: &mut Trace, dtype: DType, dims: &[i64]) -> NodeId {
    trace.parameter(TensorType::new(dtype, dims))
}
