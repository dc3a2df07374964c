//! Pretty forms of operations: what follows the name of an operation, part by part.

use Kind::*;
use Part::*;

/// A part of a pretty form.
#[derive(Clone, Copy)]
pub enum Part {
    /// An operand.
    Operand,
    /// Any number of operands with commas between them.
    Operands,
    /// Any number of operands, each with a comma after it.
    OperandsBefore,
    /// A keyword.
    Word(&'static str),
    /// Punctuation.
    Sign(char),
    /// An attribute by its name.
    Attribute(&'static str, Kind),
    /// A keyword, `=` and an attribute by its name.
    Named(&'static str, &'static str, Kind),
    /// Parts that are left out unless the first one is there, which is punctuation or a keyword.
    Optional(&'static [Part]),
    /// `{a = 1}`, or nothing.
    Attributes,
    /// `({ ... }, { ... })`, or nothing.
    Regions,
    /// `(%a: A) { ... }`, a region.
    Body,
    /// `: types`.
    Types(Types),
    /// A part that no other operation has.
    Own(Own),
}

/// What stands for an attribute.
#[derive(Clone, Copy)]
pub enum Kind {
    /// An integer of type i64.
    Integer,
    /// An integer of type i32.
    Integer32,
    /// `[1, 2]`
    Integers,
    /// A case of an enumeration.
    Case,
    /// An attribute.
    Any,
    /// A string, without a type after it.
    Text,
    /// `@name`, kept as a string.
    Symbol,
    /// `<@mesh, [{"x"}, {}]>`
    Sharding,
    /// `[<@mesh, [{"x"}, {}]>, ...]`
    Shardings,
}

/// How types are written.
#[derive(Clone, Copy)]
pub enum Types {
    /// `(A, B) -> C`.
    Function,
    /// One type for all operands and the result, or as a function.
    Same,
    /// Types of the results.
    Results,
    /// Types of the operands.
    Operands,
    /// `A, B -> C`.
    Arrow,
    /// A tuple of the types of the operands.
    Tuple,
    /// Type of a predicate, and one of all else; or as a function.
    Select,
    /// A complex type, whose real type the operands have; or as a function.
    Complex,
}

/// Parts that only one kind of operations has.
#[derive(Clone, Copy)]
pub enum Own {
    /// Operands and their types.
    Return,
    /// The elements of a constant.
    Constant,
    /// `[0:2, 0:4:2]` of a slice.
    Ranges,
    /// Precision and algorithm of a product.
    Precision,
    /// Dimensions of `dot_general`.
    Contraction,
    /// Axes of a convolution.
    ConvolutionAxes,
    /// Windows of a convolution.
    Window,
    /// `e8m7`.
    Format,
    /// Operands of an optimization barrier.
    Barrier,
    /// All of a reduction.
    Reduce,
    /// All of a scan.
    Scan,
    /// All of a loop.
    While,
    /// All of a function.
    Function,
    /// All of a module.
    Module,
    /// A mesh.
    Mesh,
    /// `in_shardings=..., out_shardings=..., manual_axes=...`.
    Manual,
}

const FUNCTION: Part = Types(Types::Function);
const ELEMENTWISE: &[Part] = &[Operands, Attributes, Types(Types::Same)];
const OPERANDS: &[Part] = &[Operands, Attributes, FUNCTION];
const RESULTS: &[Part] = &[Attributes, Types(Types::Results)];
const COMMA: Part = Sign(',');
const EQUAL: Part = Sign('=');

/// Returns the pretty form of an operation; None if it has none, or it is not known.
pub fn format(name: &str) -> Option<&'static [Part]> {
    match name.split_once('.')? {
        ("stablehlo", name) => elementwise(name).or_else(|| shaped(name)).or_else(|| structured(name)),
        ("chlo", name) => Some(chlo(name)),
        ("vhlo", "func_v1") => Some(&[Own(Own::Function), Attributes]),
        ("func" | "builtin", name) => function(name),
        ("sdy", name) => sdy(name),
        _ => None,
    }
}

fn elementwise(name: &str) -> Option<&'static [Part]> {
    Some(match name {
        "abs"
        | "cbrt"
        | "ceil"
        | "convert"
        | "count_leading_zeros"
        | "cosine"
        | "exponential"
        | "exponential_minus_one"
        | "floor"
        | "imag"
        | "log"
        | "log_plus_one"
        | "logistic"
        | "not"
        | "negate"
        | "popcnt"
        | "real"
        | "round_nearest_afz"
        | "round_nearest_even"
        | "rsqrt"
        | "sign"
        | "sine"
        | "sqrt"
        | "tan"
        | "tanh"
        | "uniform_quantize"
        | "uniform_dequantize"
        | "add"
        | "and"
        | "atan2"
        | "divide"
        | "maximum"
        | "minimum"
        | "multiply"
        | "or"
        | "power"
        | "remainder"
        | "shift_left"
        | "shift_right_arithmetic"
        | "shift_right_logical"
        | "subtract"
        | "xor"
        | "clamp"
        | "after_all" => ELEMENTWISE,
        "is_finite" => OPERANDS,
        "complex" => &[Operands, Attributes, Types(Types::Complex)],
        "select" => &[Operands, Attributes, Types(Types::Select)],
        "compare" => &[
            Attribute("comparison_direction", Case),
            COMMA,
            Operand,
            COMMA,
            Operand,
            Optional(&[COMMA, Attribute("compare_type", Case)]),
            Attributes,
            FUNCTION,
        ],
        "reduce_precision" => {
            &[Operand, COMMA, Word("format"), EQUAL, Own(Own::Format), Attributes, Types(Types::Same)]
        }
        _ => return None,
    })
}

/// Forms of operations that move elements, or depend on sizes.
fn shaped(name: &str) -> Option<&'static [Part]> {
    Some(match name {
        "constant" => &[Own(Own::Constant)],
        "iota" => &[Named("dim", "iota_dimension", Integer), Attributes, Types(Types::Results)],
        "dynamic_iota" => &[Operand, COMMA, Named("dim", "iota_dimension", Integer), Attributes, FUNCTION],
        "reshape"
        | "dynamic_reshape"
        | "bitcast_convert"
        | "dynamic_update_slice"
        | "real_dynamic_slice"
        | "dynamic_pad" => OPERANDS,
        "slice" => &[Operand, Own(Own::Ranges), Attributes, FUNCTION],
        "dynamic_slice" => {
            &[Operand, COMMA, OperandsBefore, Named("sizes", "slice_sizes", Integers), Attributes, FUNCTION]
        }
        "broadcast" => &[Operand, COMMA, Named("sizes", "broadcast_sizes", Integers), Attributes, FUNCTION],
        "broadcast_in_dim" => &[Operand, COMMA, Named("dims", "broadcast_dimensions", Integers), Attributes, FUNCTION],
        "dynamic_broadcast_in_dim" => {
            &[Operand, COMMA, Operand, COMMA, Named("dims", "broadcast_dimensions", Integers), Attributes, FUNCTION]
        }
        "concatenate" => &[OperandsBefore, Named("dim", "dimension", Integer), Attributes, FUNCTION],
        "transpose" => &[Operand, COMMA, Named("dims", "permutation", Integers), Attributes, FUNCTION],
        "reverse" => &[Operand, COMMA, Named("dims", "dimensions", Integers), Attributes, Types(Types::Same)],
        "pad" => &[
            Operand,
            COMMA,
            Operand,
            COMMA,
            Named("low", "edge_padding_low", Integers),
            COMMA,
            Named("high", "edge_padding_high", Integers),
            COMMA,
            Named("interior", "interior_padding", Integers),
            Attributes,
            FUNCTION,
        ],
        "get_dimension_size" => &[Operand, COMMA, Named("dim", "dimension", Integer), Attributes, FUNCTION],
        "set_dimension_size" => {
            &[Operand, COMMA, Operand, COMMA, Named("dim", "dimension", Integer), Attributes, FUNCTION]
        }
        _ => return None,
    })
}

/// Forms of all other operations of StableHLO.
fn structured(name: &str) -> Option<&'static [Part]> {
    Some(match name {
        "return" => &[Own(Own::Return)],
        "reduce" => &[Own(Own::Reduce)],
        "while" => &[Own(Own::While)],
        "optimization_barrier" => &[Attributes, Own(Own::Barrier)],
        "create_token" | "replica_id" | "partition_id" => RESULTS,
        "tuple" => &[Operands, Attributes, Types(Types::Tuple)],
        "get_tuple_element" => &[Operand, Sign('['), Attribute("index", Integer32), Sign(']'), Attributes, FUNCTION],
        "custom_call" => &[Attribute("call_target_name", Symbol), Sign('('), Operands, Sign(')'), Attributes, FUNCTION],
        "composite" => &[Attribute("name", Text), Operands, Regions, Attributes, FUNCTION],
        "cholesky" => &[Operand, Optional(&[COMMA, Named("lower", "lower", Any)]), Attributes, Types(Types::Same)],
        "dot" => &[Operand, COMMA, Operand, Own(Own::Precision), Attributes, FUNCTION],
        "dot_general" => {
            &[Operand, COMMA, Operand, COMMA, Own(Own::Contraction), Own(Own::Precision), Attributes, FUNCTION]
        }
        "convolution" => &[
            Sign('('),
            Operands,
            Sign(')'),
            Word("dim_numbers"),
            EQUAL,
            Own(Own::ConvolutionAxes),
            Word("window"),
            EQUAL,
            Own(Own::Window),
            Attributes,
            FUNCTION,
        ],
        "einsum" => &[Operand, COMMA, Operand, COMMA, Named("config", "einsum_config", Text), Attributes, FUNCTION],
        "unary_einsum" => &[Operand, COMMA, Named("config", "einsum_config", Text), Attributes, FUNCTION],
        "fft" => &[
            Operand,
            COMMA,
            Named("type", "fft_type", Case),
            COMMA,
            Named("length", "fft_length", Integers),
            Attributes,
            FUNCTION,
        ],
        "rng" => &[
            Operand,
            COMMA,
            Operand,
            COMMA,
            Operand,
            COMMA,
            Named("distribution", "rng_distribution", Case),
            Attributes,
            FUNCTION,
        ],
        "rng_bit_generator" => &[Operand, COMMA, Named("algorithm", "rng_algorithm", Case), Attributes, FUNCTION],
        _ => return None,
    })
}

fn chlo(name: &str) -> &'static [Part] {
    match name {
        "constant" => &[Own(Own::Constant)],
        "scan" => &[Own(Own::Scan)],
        "top_k" => &[
            Sign('('),
            Operand,
            COMMA,
            Named("k", "k", Integer),
            Optional(&[COMMA, Named("is_stable", "is_stable", Any)]),
            Sign(')'),
            Attributes,
            Types(Types::Arrow),
        ],
        _ if name.starts_with("broadcast_") => OPERANDS,
        _ => &[Operands, Attributes, Types(Types::Arrow)],
    }
}

fn function(name: &str) -> Option<&'static [Part]> {
    Some(match name {
        "module" => &[Own(Own::Module)],
        "func" => &[Own(Own::Function)],
        "return" => &[Own(Own::Return)],
        "call" => &[Attribute("callee", Any), Sign('('), Operands, Sign(')'), Attributes, FUNCTION],
        _ => return None,
    })
}

/// Forms of the operations of Shardy that programs hold before they are partitioned.
fn sdy(name: &str) -> Option<&'static [Part]> {
    Some(match name {
        "mesh" => &[Own(Own::Mesh), Attributes],
        "return" => &[Own(Own::Return)],
        "constant" => &[Own(Own::Constant)],
        "sharding_constraint" | "reshard" => {
            &[Operand, Attribute("sharding", Sharding), Attributes, Types(Types::Same)]
        }
        "sharding_group" => &[Operand, Named("group_id", "group_id", Integer), Attributes, Types(Types::Operands)],
        "propagation_barrier" => {
            &[Operand, Named("allowed_direction", "allowed_direction", Case), Attributes, Types(Types::Same)]
        }
        "manual_computation" => &[Sign('('), Operands, Sign(')'), Own(Own::Manual), Body, Attributes, FUNCTION],
        "named_computation" => &[
            Sign('<'),
            Attribute("name", Text),
            Sign('>'),
            Sign('('),
            Operands,
            Sign(')'),
            Optional(&[Named("in_shardings", "in_shardings", Shardings)]),
            Optional(&[Named("out_shardings", "out_shardings", Shardings)]),
            Body,
            Attributes,
            FUNCTION,
        ],
        _ => return None,
    })
}
