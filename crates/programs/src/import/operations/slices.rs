//! Slices that a counted loop reads and writes, one in each iteration: the arrays of a scan.

use super::super::importer::Importer;
use base::error::Result;
use base::types::{DType, Kind};
use ir::{BinaryOp, CompareOp, NodeId, Op, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// A loop whose body is recorded, from node `first` on.
pub struct Loop {
    /// The first node of the body.
    pub first: usize,
    /// Parameter of the counter.
    pub counter: NodeId,
    /// First value of the counter, which rises by 1.
    pub start: i64,
    /// Number of iterations.
    pub iterations: i64,
}

/// An array from outside of the loop, of which each iteration reads the next slice.
pub struct Read {
    /// The array.
    pub array: NodeId,
    /// Node of the slice, without the first axis.
    pub slice: NodeId,
}

/// A carried array, of which each iteration writes the next slice, and which is not read.
pub struct Write {
    /// Number of the array among the carried values.
    pub value: usize,
    /// Node of what is written, without the first axis.
    pub piece: NodeId,
}

/// Slices that are read and written in the order of the iterations.
#[derive(Default)]
pub struct Slices {
    /// Slices that are read.
    pub reads: Vec<Read>,
    /// Slices that are written.
    pub writes: Vec<Write>,
    /// Whether the first iteration takes the last slices.
    pub reverse: bool,
}

/// An integer that changes evenly: `slope * i + offset` in iteration i. It is exact: no step of its computation overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    slope: i64,
    offset: i64,
}

/// Maximum number of operations between the counter and an index.
const MOST_STEPS: usize = 16;

/// Lines that were found, by their nodes: an operand of several operations is followed once.
type Lines = FxHashMap<NodeId, Option<Line>>;

impl Loop {
    /// Finds the slices of the loop. `values` are the parameter and the next value of what it carries.
    pub fn slices(&self, importer: &mut Importer, values: &[(NodeId, NodeId)]) -> Result<Slices> {
        let results: Vec<NodeId> = values.iter().map(|&(_, next)| next).collect();
        let users = self.users(&importer.trace, &results);
        let (mut direction, mut lines) = (None, Lines::default());
        let mut found = Slices::default();
        let inside = users.keys().copied().filter(|id| id.0 as usize >= self.first);
        let mut slices: Vec<NodeId> = inside.filter(|&id| is(importer, id, Op::DynamicSlice)).collect();
        slices.sort_by_key(|id| id.0);
        for slice in slices {
            let array = importer.trace.operands(importer.trace.node(slice))[0];
            let piece = importer.trace.ty(array).dims.get(1..).unwrap_or_default().to_vec();
            let reshaped = |user: &User| match *user {
                User::Node(user) => is(importer, user, Op::Reshape) && *importer.trace.ty(user).dims == piece[..],
                User::Result => false,
            };
            if array.0 as usize >= self.first || !users[&slice].iter().all(reshaped) {
                continue;
            }
            if self.takes(importer, &mut lines, [slice, array, slice], 1, &mut direction) {
                found.reads.extend(users[&slice].iter().filter_map(|user| match *user {
                    User::Node(slice) => Some(Read { array, slice }),
                    User::Result => None,
                }));
            }
        }
        for (value, &(parameter, next)) in values.iter().enumerate() {
            let alone = |id: NodeId, user: User| users.get(&id).is_some_and(|users| users[..] == [user]);
            if !is(importer, next, Op::DynamicUpdateSlice)
                || importer.trace.operands(importer.trace.node(next))[0] != parameter
                || !alone(parameter, User::Node(next))
                || !alone(next, User::Result)
            {
                continue;
            }
            let written = importer.trace.operands(importer.trace.node(next))[1];
            if self.takes(importer, &mut lines, [next, parameter, written], 2, &mut direction) {
                found.writes.push(Write { value, piece: without_first_axis(&mut importer.trace, written)? });
            }
        }
        found.reverse = direction == Some(true);
        Ok(found)
    }

    /// Whether an operation takes the next slice of an array, as thick as 1 along the first axis and whole along the
    /// others, in the direction of the others before. Its start indices follow `others` operands.
    fn takes(
        &self,
        importer: &mut Importer,
        lines: &mut Lines,
        [operation, array, slice]: [NodeId; 3],
        others: usize,
        direction: &mut Option<bool>,
    ) -> bool {
        let (whole, part) = (importer.trace.ty(array).dims, importer.trace.ty(slice).dims);
        if whole.first() != Some(&self.iterations) || part.first() != Some(&1) || whole[1..] != part[1..] {
            return false;
        }
        // Indices along the other axes are clamped to 0, since the slice has their size.
        let index = importer.trace.operands(importer.trace.node(operation))[others];
        let reverse = match self.line(importer, lines, index, MOST_STEPS) {
            Some(Line { slope: 1, offset: 0 }) => false,
            Some(Line { slope: -1, offset }) if offset == self.iterations - 1 => true,
            _ => return false,
        };
        *direction.get_or_insert(reverse) == reverse
    }

    /// Returns how an integer scalar changes with the iterations; None if it is not known.
    fn line(&self, importer: &mut Importer, lines: &mut Lines, id: NodeId, steps: usize) -> Option<Line> {
        if let Some(&known) = lines.get(&id) {
            return known;
        }
        let ty = importer.trace.ty(id);
        let line = if !ty.dtype.is_integer() || ty.elements() != 1 || steps == 0 {
            None
        } else if id == self.counter {
            Some(Line { slope: 1, offset: self.start })
        } else if let Ok(known) = importer.known.integers(&importer.trace, id) {
            // Integers of u64 beyond s64 are read as negative ones, which are not exact below.
            Some(Line { slope: 0, offset: known[0] })
        } else {
            self.computed(importer, lines, id, steps - 1)
        };
        let line = line.filter(|&line| self.is_exact(line, ty.dtype));
        lines.insert(id, line);
        line
    }

    fn computed(&self, importer: &mut Importer, lines: &mut Lines, id: NodeId, steps: usize) -> Option<Line> {
        let node = importer.trace.node(id);
        let (op, operands) = (node.op, importer.trace.operands(node).to_vec());
        let mut line = |importer: &mut Importer, of: NodeId| self.line(importer, lines, of, steps);
        match op {
            Op::Convert | Op::Reshape | Op::BroadcastTo => line(importer, operands[0]),
            Op::Binary(BinaryOp::Add | BinaryOp::Subtract) => {
                let with = if op == Op::Binary(BinaryOp::Add) { i64::checked_add } else { i64::checked_sub };
                let (x, y) = (line(importer, operands[0])?, line(importer, operands[1])?);
                Some(Line { slope: with(x.slope, y.slope)?, offset: with(x.offset, y.offset)? })
            }
            Op::Select => {
                let holds = self.holds(importer, lines, operands[0], steps)?;
                self.line(importer, lines, if holds { operands[1] } else { operands[2] }, steps)
            }
            _ => None,
        }
    }

    /// Whether a comparison of integers holds in every iteration, or in none; None if it changes, or is not known.
    fn holds(&self, importer: &mut Importer, lines: &mut Lines, id: NodeId, steps: usize) -> Option<bool> {
        let node = importer.trace.node(id);
        let Op::Compare(op) = node.op else { return None };
        let &[x, y] = importer.trace.operands(node) else { return None };
        let (x, y) = (self.line(importer, lines, x, steps)?, self.line(importer, lines, y, steps)?);
        let difference = Line { slope: x.slope.checked_sub(y.slope)?, offset: x.offset.checked_sub(y.offset)? };
        let (least, most) = self.range(difference)?;
        match op {
            CompareOp::Lt if most < 0 => Some(true),
            CompareOp::Lt if least >= 0 => Some(false),
            CompareOp::Ge if least >= 0 => Some(true),
            CompareOp::Ge if most < 0 => Some(false),
            _ => None,
        }
    }

    /// Returns the smallest and the largest value in the iterations.
    fn range(&self, line: Line) -> Option<(i64, i64)> {
        let last = line.slope.checked_mul(self.iterations - 1)?.checked_add(line.offset)?;
        Some((last.min(line.offset), last.max(line.offset)))
    }

    /// Whether an integer dtype represents the values of all iterations.
    fn is_exact(&self, line: Line, dtype: DType) -> bool {
        let Some((least, most)) = self.range(line) else { return false };
        let bits = 8 * dtype.size_bytes() as u32;
        match dtype.kind() == Kind::Signed {
            true => bits == 64 || (least >= -(1 << (bits - 1)) && most < 1 << (bits - 1)),
            false => least >= 0 && (bits >= 63 || most < 1 << bits),
        }
    }

    /// Returns the users of each node of the body that its results need.
    fn users(&self, trace: &Trace, results: &[NodeId]) -> FxHashMap<NodeId, Vec<User>> {
        let mut users: FxHashMap<NodeId, Vec<User>> = FxHashMap::default();
        let mut open = results.to_vec();
        let mut seen = FxHashSet::default();
        results.iter().for_each(|&result| users.entry(result).or_default().push(User::Result));
        while let Some(id) = open.pop() {
            if (id.0 as usize) < self.first || !seen.insert(id) {
                continue;
            }
            for &operand in trace.operands(trace.node(id)) {
                users.entry(operand).or_default().push(User::Node(id));
                open.push(operand);
            }
        }
        users
    }
}

/// A use of a node of the body of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    Node(NodeId),
    Result,
}

/// Whether nodes depend on a parameter, other than by nodes that are given.
pub fn is_needed(trace: &Trace, parameter: NodeId, results: &[NodeId], given: &[NodeId]) -> bool {
    let mut open = results.to_vec();
    let mut seen: FxHashSet<NodeId> = given.iter().copied().collect();
    while let Some(id) = open.pop() {
        if id == parameter {
            return true;
        }
        // Operands precede their users.
        if id.0 > parameter.0 && seen.insert(id) {
            open.extend_from_slice(trace.operands(trace.node(id)));
        }
    }
    false
}

/// Returns a slice without its first axis, of size 1.
fn without_first_axis(trace: &mut Trace, slice: NodeId) -> Result<NodeId> {
    let dims = trace.ty(slice).dims[1..].to_vec();
    let node = trace.node(slice);
    if let (Op::Reshape, &[x]) = (node.op, trace.operands(node))
        && *trace.ty(x).dims == dims[..]
    {
        return Ok(x);
    }
    ops::shape::reshape(trace, slice, &dims)
}

fn is(importer: &Importer, id: NodeId, op: Op) -> bool {
    importer.trace.node(id).op == op
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Wanted, import};
    use base::types::{Dims, TensorType};
    use lowering::interpret;
    use mlir::text;
    use native::Array;
    use ops::control::ScanAttributes;

    /// A loop of 4 iterations over the rows of x, which adds the row at `index` to c, and writes c to the row at `index`
    /// of y. `more` is recorded before c is returned as %d.
    fn program(index: &str, more: &str) -> String {
        format!(
            "func.func @main(%x: tensor<4x3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<4x3xf32>) {{
               %zero = stablehlo.constant dense<0> : tensor<i32>
               %four = stablehlo.constant dense<4> : tensor<i32>
               %c0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
               %y0 = stablehlo.constant dense<7.0> : tensor<4x3xf32>
               %r:4 = stablehlo.while(%i = %zero, %z = %x, %c = %c0, %y = %y0)
                   : tensor<i32>, tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>
               cond {{
                 %t = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %t : tensor<i1>
               }} do {{
                 %one = stablehlo.constant dense<1> : tensor<i32>
                 %three = stablehlo.constant dense<3> : tensor<i32>
                 {index}
                 %row = func.call @row(%z, %at) : (tensor<4x3xf32>, tensor<i32>) -> tensor<3xf32>
                 %e = func.call @sum(%c, %row) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
                 {more}
                 %s = stablehlo.reshape %d : (tensor<3xf32>) -> tensor<1x3xf32>
                 %w = stablehlo.dynamic_update_slice %y, %s, %at, %zero
                     : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
                 %k = stablehlo.add %i, %one : tensor<i32>
                 stablehlo.return %k, %z, %d, %w : tensor<i32>, tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>
               }}
               return %r#0, %r#2, %r#3 : tensor<i32>, tensor<3xf32>, tensor<4x3xf32>
             }}
             func.func private @row(%x: tensor<4x3xf32>, %i: tensor<i32>) -> tensor<3xf32> {{
               %zero = stablehlo.constant dense<0> : tensor<i32>
               %s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 3]
                   : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
               %r = stablehlo.reshape %s : (tensor<1x3xf32>) -> tensor<3xf32>
               return %r : tensor<3xf32>
             }}
             func.func private @sum(%c: tensor<3xf32>, %row: tensor<3xf32>) -> tensor<3xf32> {{
               %r = stablehlo.add %c, %row : tensor<3xf32>
               return %r : tensor<3xf32>
             }}"
        )
    }

    const COPY: &str = "%d = stablehlo.reshape %e : (tensor<3xf32>) -> tensor<3xf32>";

    /// Imports a program, and compares its values with those of a loop over `rows`; returns what the scan carries.
    fn checked(program: &str, rows: [usize; 4], double: bool) -> ScanAttributes {
        let imported = import(&text::read(program).unwrap(), &Wanted::default()).unwrap();
        let x: Vec<f32> = (0..12).map(|i| (i * i) as f32).collect();
        let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
        let array =
            Array::from_bytes(&TensorType { dtype: DType::F32, dims: Dims::from_slice(&[4, 3]) }, &bytes).unwrap();
        let inputs = [&[array][..], &imported.constants].concat();
        let got = interpret::run(imported.body.program(), imported.body.scalars(), &inputs).unwrap();
        let (mut c, mut y) = ([1.0f32, 2.0, 3.0], [7.0f32; 12]);
        for row in rows {
            for j in 0..3 {
                c[j] = (c[j] + x[3 * row + j]) * if double { y[j] } else { 1.0 };
            }
            y[3 * row..3 * row + 3].copy_from_slice(&c);
        }
        assert_eq!(got[0].elements::<i32>(), [4]);
        assert_eq!(got[1].elements::<f32>(), c, "{program}");
        assert_eq!(got[2].elements::<f32>(), y, "{program}");
        let (values, _) = imported.body.decode();
        let scan = values.iter().find(|value| value.op == Op::Scan).expect("a scan");
        scan.attributes()
    }

    #[test]
    fn slices_in_the_order_of_iterations_are_arrays_of_the_scan() {
        let same = "%at = stablehlo.add %i, %zero : tensor<i32>";
        let wrapped = "%less = stablehlo.compare LT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
                       %more = stablehlo.add %i, %four : tensor<i32>
                       %at = stablehlo.select %less, %more, %i : tensor<i1>, tensor<i32>";
        for index in [same, wrapped] {
            let scan = checked(&program(index, COPY), [0, 1, 2, 3], false);
            assert_eq!((scan.carried, scan.arrays, scan.length, scan.reverse), (1, 1, 4, false), "{index}");
        }
        let scan = checked(&program("%at = stablehlo.subtract %three, %i : tensor<i32>", COPY), [3, 2, 1, 0], false);
        assert_eq!((scan.carried, scan.arrays, scan.reverse), (1, 1, true));
    }

    #[test]
    fn an_index_of_many_selections_is_followed_once() {
        use std::fmt::Write;
        let mut index =
            "%a0 = stablehlo.add %i, %zero : tensor<i32>\n%b0 = stablehlo.add %i, %one : tensor<i32>".to_string();
        for k in 0..40 {
            let next = k + 1;
            write!(
                index,
                "\n%p{k} = stablehlo.compare LT, %a{k}, %b{k}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 %a{next} = stablehlo.select %p{k}, %a{k}, %b{k} : tensor<i1>, tensor<i32>
                 %b{next} = stablehlo.select %p{k}, %b{k}, %a{k} : tensor<i1>, tensor<i32>"
            )
            .unwrap();
        }
        index += "\n%at = stablehlo.add %a40, %zero : tensor<i32>";
        checked(&program(&index, COPY), [0, 1, 2, 3], false);
    }

    #[test]
    fn other_slices_are_read_and_written_in_the_body() {
        // Clamped to the last row.
        let scan = checked(&program("%at = stablehlo.add %i, %one : tensor<i32>", COPY), [1, 2, 3, 3], false);
        assert_eq!((scan.carried, scan.arrays), (3, 0));
        // An array that is read and written.
        let read = "%first = func.call @row(%y, %zero) : (tensor<4x3xf32>, tensor<i32>) -> tensor<3xf32>
                    %d = stablehlo.multiply %e, %first : tensor<3xf32>";
        let scan = checked(&program("%at = stablehlo.add %i, %zero : tensor<i32>", read), [0, 1, 2, 3], true);
        assert_eq!((scan.carried, scan.arrays), (3, 1));
        // The counter overflows s8 in no iteration, but the sum does.
        let narrow = "%n = stablehlo.convert %i : (tensor<i32>) -> tensor<i8>
                      %big = stablehlo.constant dense<126> : tensor<i8>
                      %sum = stablehlo.add %n, %big : tensor<i8>
                      %back = stablehlo.subtract %sum, %big : tensor<i8>
                      %at = stablehlo.convert %back : (tensor<i8>) -> tensor<i32>";
        let scan = checked(&program(narrow, COPY), [0, 1, 2, 3], false);
        assert_eq!((scan.carried, scan.arrays), (3, 0));
    }
}
