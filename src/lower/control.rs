//! Applications of traced computations. Each is a function of the module; loops and branches call it from their regions.
//! What a loop reads and does not change is carried along unchanged: XLA then knows that it need not copy it.

use super::function::Emitter;
use super::text::mlir;
use crate::ir::{Body, Instruction};
use crate::types::{DType, TensorType};
use std::fmt::Write;

impl Emitter<'_> {
    pub(super) fn call(&mut self, name: &str, value: &Instruction) {
        let (names, _) = self.listed(&value.operands);
        self.apply(name, &value.bodies[0], &names);
    }

    /// `name:count = call @body(arguments)`; the names of the results.
    fn apply(&mut self, name: &str, body: &Body, arguments: &[String]) -> Vec<String> {
        let parameters = body.parameters().iter().chain(body.captures());
        let parameters: Vec<String> = parameters.map(mlir).collect();
        let results: Vec<String> = body.results().iter().map(mlir).collect();
        emit!(
            self,
            "    {name}:{} = func.call @{}({}) : ({}) -> ({})",
            results.len(),
            body.name(),
            arguments.join(", "),
            parameters.join(", "),
            results.join(", ")
        );
        (0..results.len()).map(|i| format!("{name}#{i}")).collect()
    }

    pub(super) fn while_loop(&mut self, position: usize, value: &Instruction) {
        let (condition, body) = (&value.bodies[0], &value.bodies[1]);
        let (carried, captured) = (value.attributes[0] as usize, value.attributes[1] as usize);
        let (starts, types) = self.listed(&value.operands);
        let inside = self.open_loop(position, &starts, &types);
        let (values, captures) = inside.split_at(carried);

        let go_on = format!("%go_on{position}");
        let arguments = [values, &captures[..captured]].concat();
        let more = self.apply(&go_on, condition, &arguments);
        emit!(self, "    stablehlo.return {} : tensor<i1>\n    }} do {{", more[0]);

        let arguments = [values, &captures[captured..]].concat();
        let next = self.apply(&format!("%next{position}"), body, &arguments);
        self.close_loop(&[&next, captures].concat(), &types);
    }

    /// `%v:n = while(...) : types cond {`; the names of the values inside.
    fn open_loop(&mut self, position: usize, starts: &[String], types: &[String]) -> Vec<String> {
        let inside: Vec<String> = (0..starts.len()).map(|i| format!("%in{position}_{i}")).collect();
        let bound: Vec<String> = inside.iter().zip(starts).map(|(name, start)| format!("{name} = {start}")).collect();
        emit!(
            self,
            "    %v{position}:{} = stablehlo.while({}) : {}\n    cond {{",
            starts.len(),
            bound.join(", "),
            types.join(", ")
        );
        inside
    }

    fn close_loop(&mut self, next: &[String], types: &[String]) {
        emit!(self, "    stablehlo.return {} : {}\n    }}", next.join(", "), types.join(", "));
    }

    pub(super) fn branch(&mut self, name: &str, value: &Instruction) {
        let (on_true, on_false) = (&value.bodies[0], &value.bodies[1]);
        let (given, captured) = (value.attributes[0] as usize, value.attributes[1] as usize);
        let (names, _) = self.listed(&value.operands);
        let (pred, rest) = names.split_first().expect("a branch has a predicate");
        let (arguments, captures) = rest.split_at(given);
        let results: Vec<String> = on_true.results().iter().map(mlir).collect();
        let inside = name.replace("%v", "%branch");
        emit!(self, "    {name}:{} = \"stablehlo.if\"({pred}) ({{", results.len());
        for (body, captures) in [(on_true, &captures[..captured]), (on_false, &captures[captured..])] {
            let values = self.apply(&inside, body, &[arguments, captures].concat());
            emit!(self, "    stablehlo.return {} : {}", values.join(", "), results.join(", "));
            if std::ptr::eq(body, on_true) {
                emit!(self, "    }}, {{");
            }
        }
        emit!(self, "    }}) : (tensor<i1>) -> ({})", results.join(", "));
    }

    /// A loop over a counter, what is carried, the stacks under way, the arrays and the captures.
    pub(super) fn scan(&mut self, position: usize, value: &Instruction) {
        let body = &value.bodies[0];
        let (carried, arrays, length) =
            (value.attributes[0] as usize, value.attributes[1] as usize, value.attributes[2]);
        let counter = TensorType::new(if length <= i64::from(i32::MAX) { DType::S32 } else { DType::S64 }, &[]);
        let stack_of = |slice: &TensorType| {
            let dims: Vec<i64> = std::iter::once(length).chain(slice.dims.iter().copied()).collect();
            TensorType::new(slice.dtype, &dims)
        };
        let stacks: Vec<TensorType> = body.results()[carried..].iter().map(stack_of).collect();

        let (given, given_types) = self.listed(&value.operands);
        let mut starts = vec![self.constant(&counter, 0)];
        let mut types = vec![mlir(&counter)];
        starts.extend_from_slice(&given[..carried]);
        types.extend_from_slice(&given_types[..carried]);
        for stack in &stacks {
            starts.push(self.constant(stack, 0));
            types.push(mlir(stack));
        }
        starts.extend_from_slice(&given[carried..]);
        types.extend_from_slice(&given_types[carried..]);

        let inside = self.open_loop(position, &starts, &types);
        let more = self.temporary();
        let end = self.constant(&counter, length as u128);
        let count = mlir(&counter);
        emit!(
            self,
            "    {more} = stablehlo.compare LT, {}, {end}, SIGNED : ({count}, {count}) -> tensor<i1>",
            inside[0]
        );
        emit!(self, "    stablehlo.return {more} : tensor<i1>\n    }} do {{");

        let (stack_start, array_start) = (1 + carried, 1 + carried + stacks.len());
        let place = self.place(&inside[0], &counter, length, value.attributes[3] == 1);
        let mut arguments = inside[1..stack_start].to_vec();
        for i in 0..arrays {
            let slice = &body.parameters()[carried + i];
            arguments.push(self.slice_at(&inside[array_start + i], &stack_of(slice), slice, &place, &counter));
        }
        arguments.extend_from_slice(&inside[array_start + arrays..]);
        let results = self.apply(&format!("%next{position}"), body, &arguments);

        let (one, next) = (self.constant(&counter, 1), self.temporary());
        emit!(self, "    {next} = stablehlo.add {}, {one} : {count}", inside[0]);
        let mut all = vec![next];
        all.extend_from_slice(&results[..carried]);
        for (i, stack) in stacks.iter().enumerate() {
            let slice = &body.results()[carried + i];
            let written =
                self.write_at(&inside[stack_start + i], stack, &results[carried + i], slice, &place, &counter);
            all.push(written);
        }
        all.extend_from_slice(&inside[array_start..]);
        self.close_loop(&all, &types);
    }

    /// Where the iteration reads and writes: at its number, or as far from the end.
    fn place(&mut self, number: &str, counter: &TensorType, length: i64, reverse: bool) -> String {
        if !reverse {
            return number.to_string();
        }
        let (last, place) = (self.constant(counter, length as u128 - 1), self.temporary());
        emit!(self, "    {place} = stablehlo.subtract {last}, {number} : {}", mlir(counter));
        place
    }

    /// One slice and the start of all its axes, as a stack has it: with an axis of size 1 before them.
    fn within_stack(&mut self, slice: &TensorType, place: &str, counter: &TensorType) -> (TensorType, String, String) {
        let dims: Vec<i64> = std::iter::once(1).chain(slice.dims.iter().copied()).collect();
        let rank = dims.len();
        let zero = self.constant(counter, 0);
        let starts: Vec<&str> = std::iter::once(place).chain(std::iter::repeat_n(zero.as_str(), rank - 1)).collect();
        let types = vec![mlir(counter); rank];
        (TensorType::new(slice.dtype, &dims), starts.join(", "), types.join(", "))
    }

    fn slice_at(
        &mut self,
        stack: &str,
        ty: &TensorType,
        slice: &TensorType,
        place: &str,
        counter: &TensorType,
    ) -> String {
        let (one, starts, start_types) = self.within_stack(slice, place, counter);
        let (cut, result) = (self.temporary(), self.temporary());
        let (stack_text, one_text) = (mlir(ty), mlir(&one));
        let sizes = &one.dims[..];
        emit!(
            self,
            "    {cut} = stablehlo.dynamic_slice {stack}, {starts}, sizes = {sizes:?} : ({stack_text}, {start_types}) -> {one_text}"
        );
        emit!(self, "    {result} = stablehlo.reshape {cut} : ({one_text}) -> {}", mlir(slice));
        result
    }

    fn write_at(
        &mut self,
        stack: &str,
        ty: &TensorType,
        value: &str,
        slice: &TensorType,
        place: &str,
        counter: &TensorType,
    ) -> String {
        let (one, starts, start_types) = self.within_stack(slice, place, counter);
        let (shaped, result) = (self.temporary(), self.temporary());
        let (stack_text, one_text) = (mlir(ty), mlir(&one));
        emit!(self, "    {shaped} = stablehlo.reshape {value} : ({}) -> {one_text}", mlir(slice));
        emit!(
            self,
            "    {result} = stablehlo.dynamic_update_slice {stack}, {shaped}, {starts} : ({stack_text}, {one_text}, {start_types}) -> {stack_text}"
        );
        result
    }
}
