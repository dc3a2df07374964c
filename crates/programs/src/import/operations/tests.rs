//! Programs in StableHLO text, imported and evaluated on arrays.

use super::super::functions::name_of;
use crate::import::{Wanted, import};
use base::error::{Code, Error, Result};
use base::types::Kind;
use ir::{BinaryOp, Instruction, Op, SpecialOp, UnaryFunction, UnaryOp};
use lowering::interpret;
use mlir::{Module, bytecode, text};
use native::Array;
use std::sync::Arc;

/// Imports a function of a module and evaluates it.
fn run(module: &Module, function: &str) -> Result<Vec<Array>> {
    let wanted = Wanted { function: Some(function.to_string()), ..Wanted::default() };
    let imported = import(module, &wanted)?;
    interpret::run(imported.body.program(), imported.body.scalars(), &imported.constants)
}

/// The error of a program that is the body of a function without parameters.
fn refused(body: &str) -> Error {
    let module = text::read(&format!("func.func @main() {{\n{body}\nreturn\n}}")).unwrap();
    run(&module, "main").unwrap_err()
}

#[test]
fn values_are_those_that_the_programs_say() {
    let module = text::read(include_str!("programs.mlir")).unwrap();
    let names: Vec<&str> = module.operations.iter().filter_map(name_of).collect();
    let functions =
        names.into_iter().filter(|name| !["one", "wrong", "greater", "first_greater", "factorized"].contains(name));
    for name in functions {
        let results = run(&module, name).unwrap_or_else(|e| panic!("@{name}: {e}"));
        for (i, pair) in results.chunks(2).enumerate() {
            assert_eq!(pair[0].ty(), pair[1].ty(), "@{name}: pair {i}");
            assert_eq!(pair[0].bytes(), pair[1].bytes(), "@{name}: pair {i}, of {}", pair[0].ty());
        }
    }
}

#[test]
fn sizes_beyond_a_bound_are_refused() {
    let imported = |inner: &str, size: i64| {
        let program = format!(
            "func.func @main(%x: tensor<?x2xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x2xf32, {inner}> {{
               %r = func.call @f(%x) : (tensor<?x2xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x2xf32, {inner}>
               return %r : tensor<?x2xf32, {inner}>
             }}
             func.func private @f(%x: tensor<?x2xf32, {inner}>) -> tensor<?x2xf32, {inner}> {{
               %r = stablehlo.sine %x : tensor<?x2xf32, {inner}>
               return %r : tensor<?x2xf32, {inner}>
             }}"
        );
        let shapes = Some(vec![[size, 2].into_iter().collect()]);
        import(&text::read(&program).unwrap(), &Wanted { shapes, ..Wanted::default() }).map(|imported| imported.body)
    };
    let same = "#stablehlo.bounds<8, ?>";
    assert_eq!(*imported(same, 8).unwrap().results()[0].dims, [8, 2]);
    let Err(e) = imported(same, 9) else { panic!() };
    assert_eq!(e.code, Code::InvalidArgument);
    let message = e.to_string();
    let reason = "parameter 0: dims: [9, 2] given; the module has tensor<?x2xf32, #stablehlo.bounds<8, ?>>, want at \
                  most 8 along axis 0";
    assert!(message.contains(reason), "{message}");
    let Err(e) = imported("#stablehlo.bounds<4, ?>", 8) else { panic!() };
    assert!(e.to_string().contains("tensor<?x2xf32, #stablehlo.bounds<4, ?>> for a value of type f32[8,2]"), "{e}");
}

#[test]
fn the_formula_of_the_logistic_function_is_recognized() {
    let formula = |numerator: &str| {
        let program = format!(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
             %one = stablehlo.constant dense<1.0> : tensor<4xf32>
             %n = stablehlo.constant dense<{numerator}> : tensor<4xf32>
             %0 = stablehlo.negate %x : tensor<4xf32>
             %1 = stablehlo.exponential %0 : tensor<4xf32>
             %2 = stablehlo.add %1, %one : tensor<4xf32>
             %r = stablehlo.divide %n, %2 : tensor<4xf32>
             return %r : tensor<4xf32>
             }}"
        );
        operations_of(&program, &[4])
    };
    assert_eq!(formula("1.0"), [Op::Leaf, Op::Unary(UnaryOp::Logistic)]);
    assert!(!formula("2.0").contains(&Op::Unary(UnaryOp::Logistic)));
}

#[test]
fn formulas_of_special_functions_are_recognized() {
    let file = include_bytes!("../../../../../tests/data/mlir/formulas.mlirbc");
    let module = bytecode::read(Arc::new(file)).unwrap();
    let operations = import(&module, &Wanted::default()).unwrap().body.decode().0;
    let functions = [
        Op::Special(SpecialOp::Erfc),
        Op::UnaryFunction(UnaryFunction::ErfInv),
        Op::UnaryFunction(UnaryFunction::Lgamma),
        Op::UnaryFunction(UnaryFunction::Digamma),
        Op::UnaryFunction(UnaryFunction::BesselI0e),
        Op::UnaryFunction(UnaryFunction::BesselI1e),
    ];
    for function in functions {
        let count = operations.iter().filter(|value| value.op == function).count();
        assert_eq!(count, 2, "{function:?}");
    }
}

#[test]
fn formulas_of_complex_functions_are_recognized() {
    let file = include_bytes!("../../../../../tests/data/mlir/complex_formulas.mlirbc");
    let module = bytecode::read(Arc::new(file)).unwrap();
    let operations = import(&module, &Wanted::default()).unwrap().body.decode().0;
    use UnaryOp::{Cosine, Exponential, Log, LogPlusOne, Sine, Sqrt};
    let functions = [Sqrt, Log, LogPlusOne, Exponential, Sine, Cosine].map(Op::Unary);
    for function in functions.into_iter().chain([Op::UnaryFunction(UnaryFunction::Atan)]) {
        let is_of_complex = |value: &&Instruction| value.op == function && value.ty.dtype.kind() == Kind::Complex;
        let count = operations.iter().filter(is_of_complex).count();
        assert_eq!(count, 2, "{function:?}");
    }
}

#[test]
fn functions_of_jax_named_relu_are_activations() {
    let program = |name: &str, bound: &str| {
        let program = format!(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
               %0 = func.call @{name}(%x) : (tensor<4xf32>) -> tensor<4xf32>
               return %0 : tensor<4xf32>
             }}
             func.func private @{name}(%x: tensor<4xf32>) -> tensor<4xf32> {{
               %c = stablehlo.constant dense<{bound}> : tensor<f32>
               %zero = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4xf32>
               %r = stablehlo.maximum %x, %zero : tensor<4xf32>
               return %r : tensor<4xf32>
             }}"
        );
        let operations = operations_of(&program, &[4]);
        let count = |wanted: Op| operations.iter().filter(|op| **op == wanted).count();
        (count(Op::Select), count(Op::Binary(BinaryOp::Maximum)), count(Op::Call))
    };
    assert_eq!(program("relu", "0.0"), (1, 0, 0));
    assert_eq!(program("relu_12", "0.0"), (1, 0, 0));
    assert_eq!(program("relu_of_x", "0.0"), (0, 0, 1));
    assert_eq!(program("leaky_relu", "0.0"), (0, 0, 1));
    // Functions of these names that compute something else.
    assert_eq!(program("relu", "0.5"), (0, 1, 0));
    assert_eq!(program("relu6", "0.0"), (0, 1, 0));
    let relu6 = |limit: &str| {
        let six = format!("%six = stablehlo.constant dense<{limit}> : tensor<4xf32>");
        let program = format!(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
               %0 = func.call @relu6_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
               return %0 : tensor<4xf32>
             }}
             func.func private @relu6_0(%x: tensor<4xf32>) -> tensor<4xf32> {{
               %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
               {six}
               %1 = stablehlo.maximum %x, %zero : tensor<4xf32>
               %2 = stablehlo.minimum %1, %six : tensor<4xf32>
               return %2 : tensor<4xf32>
             }}"
        );
        operations_of(&program, &[4]).iter().filter(|op| **op == Op::Select).count()
    };
    assert_eq!((relu6("6.0"), relu6("5.0")), (2, 0));
}

#[test]
fn a_logarithm_that_log_ndtr_does_not_select_is_that_of_1() {
    let formula = |negated: &str| {
        let program = format!(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
               %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
               %p = stablehlo.compare GT, %x, %zero, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
               %n = stablehlo.exponential %x : tensor<4xf32>
               %0 = stablehlo.negate {negated} : tensor<4xf32>
               %1 = stablehlo.log %n : tensor<4xf32>
               %2 = func.call @_where(%p, %1, %x) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
               %3 = func.call @_where(%p, %0, %2) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
               return %3 : tensor<4xf32>
             }}
             func.func private @_where(%p: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {{
               %r = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>
               return %r : tensor<4xf32>
             }}"
        );
        let operations = operations_of(&program, &[4]);
        let count = |wanted: Op| operations.iter().filter(|op| **op == wanted).count();
        (count(Op::Select), count(Op::Call), count(Op::Full))
    };
    assert_eq!(formula("%n"), (3, 0, 2));
    assert_eq!(formula("%x"), (0, 2, 1));
}

#[test]
fn known_regions_become_the_librarys_own() {
    let module = text::read(
        "func.func @main(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2x3xf32>) {
           %zero = stablehlo.constant dense<0.0> : tensor<f32>
           %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
           %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
             : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
           %sorted = \"stablehlo.sort\"(%x) <{dimension = 1 : i64, is_stable = true}> ({
           ^bb0(%a: tensor<f32>, %b: tensor<f32>):
             %1 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
             %2 = stablehlo.select %1, %zero, %a : tensor<i1>, tensor<f32>
             %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
             %4 = stablehlo.select %3, %nan, %2 : tensor<i1>, tensor<f32>
             %5 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
             %6 = stablehlo.select %5, %zero, %b : tensor<i1>, tensor<f32>
             %7 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
             %8 = stablehlo.select %7, %nan, %6 : tensor<i1>, tensor<f32>
             %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
             stablehlo.return %9 : tensor<i1>
           }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
           return %sum, %sorted : tensor<2xf32>, tensor<2x3xf32>
         }",
    )
    .unwrap();
    let imported = import(&module, &Wanted::default()).unwrap();
    let (values, _) = imported.body.decode();
    let operations: Vec<Op> = values.iter().map(|value| value.op).filter(|op| *op != Op::Leaf).collect();
    assert!(matches!(operations[..], [Op::Reduce(_), Op::Sort, Op::Result]), "{operations:?}");
    let sort = values.iter().find(|value| value.op == Op::Sort).unwrap();
    let order = ops::control::bodies::known_order(&sort.bodies[0]).unwrap();
    assert_eq!((order.key, order.descending), (0, false));
}

#[test]
fn what_is_not_supported_is_unimplemented_with_the_reason() {
    let x = "%x = stablehlo.constant dense<1.0> : tensor<2xf32>\n";
    for (operation, reason) in [
        ("%r = stablehlo.custom_call @mine(%x) : (tensor<2xf32>) -> tensor<2xf32>", "target \"mine\""),
        ("%r = stablehlo.custom_call @lapack_sgehrd_ffi(%x) : (tensor<2xf32>) -> tensor<2xf32>", "no Hessenberg forms"),
        (
            "%r = stablehlo.custom_call @lapack_sgghd3_ffi(%x) : (tensor<2xf32>) -> tensor<2xf32>",
            "\"lapack_sgghd3_ffi\"",
        ),
        ("%r = stablehlo.create_token : !stablehlo.token", "tokens"),
        ("%r = stablehlo.constant dense<1.0> : tensor<2xf6E2M3FN>", "elements of type f6E2M3FN are not supported"),
        ("%r = stablehlo.composite \"mine.f\" %x : (tensor<2xf32>) -> tensor<2xf32>", "\"mine.f\""),
        ("%r = \"mine.f\"(%x) : (tensor<2xf32>) -> tensor<2xf32>", "mine.f: this operation is not supported"),
    ] {
        let e = refused(&format!("{x}{operation}"));
        assert_eq!(e.code, Code::Unimplemented, "{operation}: {e}");
        assert!(e.message.contains(reason), "{operation}: {e}");
    }
}

#[test]
fn types_that_the_library_would_promote_or_broadcast_are_refused() {
    let operands = "%x = stablehlo.constant dense<1.0> : tensor<2xf32>
        %y = stablehlo.constant dense<1.0> : tensor<1xf32>
        %z = stablehlo.constant dense<1> : tensor<2xi32>\n";
    for (operation, message) in [
        ("\"stablehlo.add\"(%x, %y) : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>", "f32[2] and f32[1]"),
        ("\"stablehlo.add\"(%x, %z) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>", "f32[2] and s32[2]"),
        ("\"stablehlo.negate\"(%x) : (tensor<2xf32>) -> tensor<2xi32>", "tensor<2xi32> for a value of type f32[2]"),
        ("\"stablehlo.reshape\"(%x) : (tensor<2xf32>) -> tensor<3xf32>", "cannot be reshaped"),
        (
            "\"stablehlo.concatenate\"(%x, %z) <{dimension = 0 : i64}>
              : (tensor<2xf32>, tensor<2xi32>) -> tensor<4xf32>",
            "one element type",
        ),
        (
            "\"stablehlo.slice\"(%x) <{start_indices = array<i64>, limit_indices = array<i64>, strides = array<i64>}>
              : (tensor<2xf32>) -> tensor<2xf32>",
            "attribute start_indices: 0 integers; want 1",
        ),
    ] {
        let e = refused(&format!("{operands}%r = {operation}"));
        assert_eq!(e.code, Code::InvalidArgument, "{operation}: {e}");
        assert!(e.message.contains(message), "{operation}: {e}");
    }
}

#[test]
fn a_false_assertion_on_shapes_fails_with_its_message() {
    let e = refused(
        "%holds = stablehlo.constant dense<false> : tensor<i1>
         %a = stablehlo.constant dense<3> : tensor<i32>
         %b = stablehlo.constant dense<[4, 5]> : tensor<2xi32>
         stablehlo.custom_call @shape_assertion(%holds, %a, %b)
           {error_message = \"a is {0}, b is {1}\", has_side_effect = true}
           : (tensor<i1>, tensor<i32>, tensor<2xi32>) -> ()",
    );
    assert_eq!(e.code, Code::InvalidArgument);
    assert!(e.message.ends_with("a is 3, b is 4, 5"), "{e}");
}

#[test]
fn sizes_that_a_function_computes_are_evaluated() {
    let module = text::read(
        "func.func private @half(%n: tensor<i32>) -> tensor<i32> {
           %c = stablehlo.constant dense<2> : tensor<i32>
           %r = stablehlo.divide %n, %c : tensor<i32>
           return %r : tensor<i32>
         }
         func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
           %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
           %h = func.call @half(%n) : (tensor<i32>) -> tensor<i32>
           %s = stablehlo.reshape %h : (tensor<i32>) -> tensor<1xi32>
           %r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
           return %r : tensor<?xf32>
         }",
    )
    .unwrap();
    let shapes = Some(vec![[9].as_slice().into()]);
    let imported = import(&module, &Wanted { shapes, ..Wanted::default() }).unwrap();
    assert_eq!(imported.body.results()[0].to_string(), "f32[4]");
    let operations: Vec<Op> = imported.body.decode().0.iter().map(|value| value.op).collect();
    assert!(!operations.contains(&Op::Call), "{operations:?}");
}

#[test]
fn a_function_for_exponentially_many_sizes_is_refused() {
    let mut program =
        String::from("func.func private @f0(%n: tensor<i32>) -> tensor<i32> { return %n : tensor<i32> }\n");
    for level in 1..60 {
        program += &format!(
            "func.func private @f{level}(%n: tensor<i32> {{jax.global_constant = \"n\"}}) -> tensor<i32> {{
               %c = stablehlo.constant dense<1> : tensor<i32>
               %d = stablehlo.add %n, %n : tensor<i32>
               %e = stablehlo.add %d, %c : tensor<i32>
               %x = func.call @f{0}(%d) : (tensor<i32>) -> tensor<i32>
               %y = func.call @f{0}(%e) : (tensor<i32>) -> tensor<i32>
               return %x : tensor<i32>
             }}\n",
            level - 1
        );
    }
    program += "func.func @main() -> tensor<i32> { %n = stablehlo.constant dense<1> : tensor<i32>
        %r = func.call @f40(%n) : (tensor<i32>) -> tensor<i32> return %r : tensor<i32> }";
    let e = run(&text::read(&program).unwrap(), "main").unwrap_err();
    assert_eq!(e.code, Code::Unimplemented, "{e}");
    assert!(e.message.contains("too many operations"), "{e}");
}

#[test]
fn conditions_and_indices_of_wrong_types_are_refused() {
    for (operation, message) in [
        ("%i = stablehlo.constant dense<> : tensor<0xi32>", "its index is s32[0]"),
        ("%i = stablehlo.constant dense<1.0> : tensor<f32>", "its index is f32[]"),
    ] {
        let e = refused(&format!("{operation}\n\"stablehlo.case\"(%i) ({{ stablehlo.return }}) : ({}) -> ()", {
            operation.rsplit(": ").next().unwrap()
        }));
        assert!(e.code == Code::InvalidArgument && e.message.contains(message), "{e}");
    }
}

#[test]
fn a_description_looks_into_loops_without_operands() {
    let chain: String = (0..30).map(|i| format!("%v{} = stablehlo.add %v{i}, %v{i} : tensor<i32>\n", i + 1)).collect();
    let program = format!(
        "func.func @main() {{
           \"stablehlo.while\"() ({{
             %t = stablehlo.constant dense<true> : tensor<i1>
             stablehlo.return %t : tensor<i1>
           }}, {{
             %v0 = stablehlo.constant dense<1> : tensor<i32>
             {chain}
             \"stablehlo.while\"() ({{
               %u = stablehlo.constant dense<true> : tensor<i1>
               stablehlo.return %u : tensor<i1>
             }}, {{
               %y = stablehlo.add %v30, %v30 : tensor<i32>
               stablehlo.return
             }}) : () -> ()
             stablehlo.return
           }}) : () -> ()
           return
         }}"
    );
    let program = crate::import::read(std::sync::Arc::new(program.into_bytes())).unwrap();
    assert!(crate::import::describe(&program).unwrap().contains("\"unsupported\":[]"));
}

/// The operations of the body of a function of one parameter, which is imported for a shape.
fn operations_of(program: &str, shape: &[i64]) -> Vec<Op> {
    let wanted = Wanted { shapes: Some(vec![shape.into()]), ..Wanted::default() };
    let imported = import(&text::read(program).unwrap(), &wanted).unwrap();
    imported.body.decode().0.iter().map(|value| value.op).collect()
}

#[test]
fn a_loop_that_counts_between_constants_is_a_scan() {
    let program = |start: &str, compare: &str, step: &str| {
        format!(
            "func.func @main(%x: tensor<f32>) -> tensor<f32> {{
               %n = stablehlo.constant dense<5> : tensor<i32>
               %i = stablehlo.constant dense<2> : tensor<i32>
               %c = stablehlo.convert %x : (tensor<f32>) -> tensor<i32>
               %r:3 = stablehlo.while(%j = {start}, %a = %x, %b = %x) : tensor<i32>, tensor<f32>, tensor<f32>
               cond {{
                 %t = stablehlo.compare {compare}, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %t : tensor<i1>
               }} do {{
                 %s = stablehlo.constant dense<{step}> : tensor<i32>
                 %k = stablehlo.add %j, %s : tensor<i32>
                 %d = stablehlo.multiply %a, %b : tensor<f32>
                 stablehlo.return %k, %d, %b : tensor<i32>, tensor<f32>, tensor<f32>
               }}
               return %r#1 : tensor<f32>
             }}"
        )
    };
    let is_scan = |start, compare, step| {
        let operations = operations_of(&program(start, compare, step), &[]);
        assert_ne!(operations.contains(&Op::Scan), operations.contains(&Op::While), "{operations:?}");
        operations.contains(&Op::Scan)
    };
    assert!(is_scan("%i", "LT", "1"));
    assert!(!is_scan("%i", "LE", "1") && !is_scan("%i", "LT", "2") && !is_scan("%c", "LT", "1"));
    // No iteration.
    let none = program("%n", "LT", "1");
    assert_eq!(operations_of(&none, &[]).iter().filter(|op| matches!(op, Op::Scan | Op::While)).count(), 0);
}

#[test]
fn the_function_that_jax_checks_shapes_for_is_recorded_in_place() {
    let program = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
           %r = func.call @_wrapped_jax_export_main(%x) : (tensor<?xf32>) -> tensor<?xf32>
           return %r : tensor<?xf32>
         }
         func.func private @_wrapped_jax_export_main(%x: tensor<?xf32>) -> tensor<?xf32> {
           %r = stablehlo.sine %x : tensor<?xf32>
           return %r : tensor<?xf32>
         }";
    let operations = operations_of(program, &[3]);
    assert!(!operations.contains(&Op::Call), "{operations:?}");
}

#[test]
fn a_slice_of_known_sizes_may_start_at_a_computed_place() {
    let program = "func.func @main(%x: tensor<?xi32>) -> tensor<?xi32> {
           %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xi32>) -> tensor<i32>
           %two = stablehlo.constant dense<2> : tensor<i32>
           %half = stablehlo.divide %n, %two : tensor<i32>
           %size = stablehlo.reshape %half : (tensor<i32>) -> tensor<1xi32>
           %zero = stablehlo.constant dense<0> : tensor<i32>
           %start = \"stablehlo.reduce\"(%x, %zero) <{dimensions = array<i64: 0>}> ({
           ^bb0(%a: tensor<i32>, %b: tensor<i32>):
             %s = stablehlo.add %a, %b : tensor<i32>
             stablehlo.return %s : tensor<i32>
           }) : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
           %starts = stablehlo.reshape %start : (tensor<i32>) -> tensor<1xi32>
           // The place a second time, as older exports have it.
           %again = stablehlo.reshape %start : (tensor<i32>) -> tensor<1xi32>
           %limits = stablehlo.add %again, %size : tensor<1xi32>
           %ones = stablehlo.constant dense<1> : tensor<1xi32>
           %r = stablehlo.real_dynamic_slice %x, %starts, %limits, %ones
             : (tensor<?xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
           return %r : tensor<?xi32>
         }";
    let wanted = Wanted { shapes: Some(vec![[6].as_slice().into()]), ..Wanted::default() };
    let imported = import(&text::read(program).unwrap(), &wanted).unwrap();
    assert_eq!(imported.body.results()[0].to_string(), "s32[3]");
    let x = Array::from_bytes(
        &base::types::TensorType::new(base::types::DType::S32, &[6]),
        bytemuck::cast_slice(&[0, 1, 0, 1, 0, 0i32]),
    )
    .unwrap();
    let made = interpret::run(imported.body.program(), imported.body.scalars(), &[x]).unwrap();
    assert_eq!(made[0].bytes(), bytemuck::cast_slice::<i32, u8>(&[0, 1, 0]));
}

#[test]
fn tuples_that_are_malformed_are_refused() {
    let refused = |body: &str, reason: &str| {
        let e = refused(body);
        assert!(e.code == Code::InvalidArgument && e.to_string().contains(reason), "{e}");
    };
    let made = "%x = stablehlo.constant dense<1.0> : tensor<f32>
                %t = \"stablehlo.tuple\"(%x) : (tensor<f32>) -> tuple<tensor<f32>>\n";
    let element = |index: i64, ty: &str| {
        format!(
            "{made} %r = \"stablehlo.get_tuple_element\"(%t) {{index = {index} : i32}} : (tuple<tensor<f32>>) -> {ty}"
        )
    };
    refused(&element(1, "tensor<f32>"), "element 1 of a tuple of 1 elements");
    refused(&element(-1, "tensor<f32>"), "element -1 of a tuple of 1 elements");
    refused(&element(0, "tensor<i32>"), "a tuple's elements have other types than the tuple");
    let short = "%x = stablehlo.constant dense<1.0> : tensor<f32>
                 %t = \"stablehlo.tuple\"(%x) : (tensor<f32>) -> tuple<tensor<f32>, tensor<f32>>";
    refused(short, "a tuple's elements have other types than the tuple");
    let wide = ["tensor<i1>"; 5000].join(", ");
    let program = format!(
        "func.func @main() {{ %t = \"stablehlo.custom_call\"() {{call_target_name = \"x\"}} : () -> tuple<{wide}>
         return }}"
    );
    let e = run(&text::read(&program).unwrap(), "main").unwrap_err();
    assert!(e.code == Code::Unimplemented && e.to_string().contains("a tuple of more than 4096 elements"), "{e}");
    assert!(e.to_string().contains("stablehlo.custom_call"), "{e}");
    // An operation that uses a wide tuple many times has more operands than the file has bytes.
    let (types, uses) = (["tensor<i1>"; 4000].join(", "), 2000);
    let program = format!(
        "!t = tuple<{types}>
         func.func @main() {{ %t = \"stablehlo.custom_call\"() {{call_target_name = \"x\"}} : () -> !t
         \"stablehlo.custom_call\"({}) {{call_target_name = \"y\"}} : ({}) -> ()
         return }}",
        vec!["%t"; uses].join(", "),
        vec!["!t"; uses].join(", "),
    );
    let e = run(&text::read(&program).unwrap(), "main").unwrap_err();
    assert!(e.code == Code::Unimplemented && e.to_string().contains("too many elements"), "{e}");
}

#[test]
fn functions_without_a_body_may_stand_beside_tuples() {
    let program = "func.func private @elsewhere(tensor<f32>) -> tensor<f32>
        func.func @main() -> (tensor<f32>, tensor<f32>) {
          %x = stablehlo.constant dense<1.0> : tensor<f32>
          %t = \"stablehlo.tuple\"(%x) : (tensor<f32>) -> tuple<tensor<f32>>
          %y = \"stablehlo.get_tuple_element\"(%t) {index = 0 : i32} : (tuple<tensor<f32>>) -> tensor<f32>
          return %x, %y : tensor<f32>, tensor<f32>
        }";
    let results = run(&text::read(program).unwrap(), "main").unwrap();
    assert_eq!(results[0].bytes(), results[1].bytes());
}
