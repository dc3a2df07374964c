//! Checks that docs/operations.md matches the sources it is generated from: the tables of operations, type inference
//! for the dtypes, and the tables of c_tests/operations/ops_test.py for the accuracy.
//!
//! `make header` writes it: it runs this test with LXLA_WRITE_HEADER=1.

#[path = "operations/imported.rs"]
mod imported;

use base::error::Result;
use base::types::{DType, Kind, TensorType};
use ir::{BinaryFunction, BinaryOp, CompareOp, NodeId, Op, ReduceOp, SpecialOp, Trace, UnaryFunction, UnaryOp};
use ops::nn::{self, ActivationOp};
use ops::{self, elementwise, reduction};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Operations of the StableHLO specification, version 1.20.
const SPECIFICATION: &str = "\
    abs add after_all all_gather all_reduce all_to_all and async_done async_start atan2 batch_norm_grad \
    batch_norm_inference batch_norm_training bitcast_convert broadcast_in_dim case cbrt ceil cholesky \
    clamp collective_broadcast collective_permute collective_reduce compare complex composite \
    concatenate constant convert convolution cosine count_leading_zeros custom_call divide \
    dot_general dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota dynamic_pad \
    dynamic_reshape dynamic_slice dynamic_update_slice exponential exponential_minus_one fft floor \
    gather get_dimension_size get_tuple_element if imag infeed iota is_finite log log_plus_one logistic \
    map maximum minimum multiply negate not optimization_barrier or outfeed pad partition_id popcnt \
    power real recv reduce reduce_precision reduce_scatter reduce_window remainder replica_id reshape \
    reverse rng rng_bit_generator round_nearest_afz round_nearest_even rsqrt scatter select \
    select_and_scatter send shift_left shift_right_arithmetic shift_right_logical sign sine slice sort \
    sqrt subtract tan tanh transpose triangular_solve tuple uniform_dequantize uniform_quantize while \
    xor \
";

/// Operations that the library does not have, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("uniform_dequantize uniform_quantize", "quantized types, which the library does not have"),
    ("after_all infeed outfeed recv send", "tokens, and input and output while a program runs"),
    ("get_tuple_element tuple", "several results are values of their own"),
    (
        "dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota dynamic_pad dynamic_reshape get_dimension_size",
        "shapes that are known only when a program runs",
    ),
    ("collective_broadcast collective_reduce", "special cases of the collectives that are here"),
    ("replica_id", "a program has one replica, of any number of partitions"),
    ("async_done async_start", "the library's runs are asynchronous as a whole"),
    ("map", "a computation of elements is recorded on whole tensors"),
    ("rng", "superseded by rng_bit_generator"),
    ("composite", "a name for what is made of others"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text_of(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// A row of a table in the document.
struct Row {
    name: String,
    function: String,
    stablehlo: String,
    dtypes: String,
    accuracy: String,
}

/// Accuracy from c_tests/operations/ops_test.py: units in the last place by name; complex numbers may have an entry of
/// their own.
struct Accuracy {
    units: BTreeMap<String, u32>,
    exact: BTreeSet<String>,
}

impl Accuracy {
    fn read() -> Accuracy {
        let text = text_of("c_tests/operations/ops_test.py");
        let part = |from: &str, to: &str| {
            let start = text.find(from).expect("ops_test.py has its tables") + from.len();
            text[start..].split(to).next().unwrap_or_default().to_string()
        };
        let entry = |line: &str| {
            let (name, units) = line.trim().trim_end_matches(',').split_once(": ")?;
            Some((name.trim_matches('"').to_string(), units.parse().ok()?))
        };
        Accuracy {
            units: part("\nULPS = {", "\n}").lines().filter_map(entry).collect(),
            exact: part("\nEXACT = \"\"\"", "\"\"\"").split_whitespace().map(str::to_string).collect(),
        }
    }

    /// Formats the accuracy of an operation, followed by the variants with an entry of their own.
    fn of(&self, name: &str) -> String {
        let mut words = match self.units.get(name) {
            Some(units) => units.to_string(),
            None if self.exact.contains(name) => "exact".to_string(),
            None => panic!("the tables of c_tests/operations/ops_test.py have no {name}"),
        };
        for (key, units) in &self.units {
            let kind = match key.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')) {
                Some("complex") => "complex numbers",
                Some("scalar") => "by a scalar",
                Some(kind) => kind,
                None => continue,
            };
            let _ = write!(words, "; {kind} {units}");
        }
        words
    }
}

fn leaf(trace: &mut Trace, dtype: DType) -> NodeId {
    trace.parameter(TensorType::new(dtype, &[2]))
}

/// Dtypes that inference accepts.
fn taken(record: impl Fn(&mut Trace, NodeId) -> Result<NodeId>) -> String {
    let fits = |dtype: &DType| {
        let mut trace = Trace::new();
        let x = leaf(&mut trace, *dtype);
        record(&mut trace, x).and_then(|_| trace.check_subbyte()).is_ok()
    };
    in_words(&DType::ALL.into_iter().filter(fits).collect::<Vec<DType>>())
}

/// Formats a list of dtypes, with names for complete kinds.
fn in_words(dtypes: &[DType]) -> String {
    let of = |kinds: &[Kind]| -> Vec<DType> {
        DType::ALL.into_iter().filter(|dtype| kinds.contains(&dtype.kind())).collect()
    };
    let groups = [
        ("pred", of(&[Kind::Pred])),
        ("integers", of(&[Kind::Signed, Kind::Unsigned])),
        ("signed integers", of(&[Kind::Signed])),
        ("unsigned integers", of(&[Kind::Unsigned])),
        ("floats", of(&[Kind::Float])),
        ("8-bit floats", of(&[Kind::Float8])),
        ("complex numbers", of(&[Kind::Complex])),
        ("types of 2 and 4 bits", of(&[Kind::Subbyte])),
        ("integers of 2 and 4 bits", vec![DType::S4, DType::U4, DType::S2, DType::U2]),
    ];
    if dtypes.len() == DType::ALL.len() {
        return "all".to_string();
    }
    let mut left = dtypes.to_vec();
    let mut words = Vec::new();
    for (word, members) in groups {
        if members.iter().all(|member| left.contains(member)) {
            left.retain(|dtype| !members.contains(dtype));
            words.push(word.to_string());
        }
    }
    words.extend(left.iter().map(|dtype| dtype.name().to_string()));
    words.join(", ")
}

/// Formats the call of a member of a family, and checks that the header defines its constant.
fn call(function: &str, constants: &str, member: &str, number: i32) -> String {
    let constant = format!("LXLA_{constants}_{}", member.to_uppercase());
    let line = format!("#define {constant} {number} /**<");
    assert!(text_of("include/lazyxla.h").contains(&line), "the header has no {constant} with the number {number}");
    format!("{function}({constant})")
}

/// Rows of the families, one for each member.
fn families(accuracy: &Accuracy) -> Vec<Row> {
    let row = |name: &str, function: String, stablehlo: &str, dtypes: String, accuracy: String| Row {
        name: name.to_string(),
        function,
        stablehlo: stablehlo.to_string(),
        dtypes,
        accuracy,
    };
    let mut rows = Vec::new();
    for &op in UnaryOp::ALL {
        let (name, dtypes) = (op.name(), taken(|trace, x| elementwise::unary(trace, op, x)));
        rows.push(row(name, call("lxla_unary", "UNARY", name, op as i32), name, dtypes, accuracy.of(name)));
    }
    for &op in BinaryOp::ALL {
        let (name, dtypes) = (op.name(), taken(|trace, x| elementwise::binary(trace, op, x, x)));
        rows.push(row(name, call("lxla_binary", "BINARY", name, op as i32), name, dtypes, accuracy.of(name)));
    }
    for &op in CompareOp::ALL {
        let (name, dtypes) = (op.name(), taken(|trace, x| elementwise::compare(trace, op, x, x)));
        let function = call("lxla_compare", "COMPARE", name, op as i32);
        rows.push(row(&format!("compare {name}"), function, "compare", dtypes, accuracy.of("compare")));
    }
    for &op in ReduceOp::ALL {
        let name = format!("{op:?}").to_lowercase();
        let dtypes = taken(|trace, x| reduction::reduce(trace, op, x, &[0], false));
        let function = call("lxla_reduce", "REDUCE", &name, op as i32);
        rows.push(row(&name, function, "reduce", dtypes, accuracy.of(&name)));
    }
    rows
}

fn composed_families(accuracy: &Accuracy) -> Vec<Row> {
    let activation = |&op: &ActivationOp| Row {
        name: op.name().to_string(),
        function: call("lxla_activation", "ACTIVATION", op.name(), op as i32),
        stablehlo: String::new(),
        dtypes: taken(|trace, x| nn::activation(trace, op, x)),
        accuracy: accuracy.of(op.name()),
    };
    let special = |&op: &SpecialOp| Row {
        name: op.name().to_string(),
        function: call("lxla_special", "SPECIAL", op.name(), op as i32),
        stablehlo: String::new(),
        dtypes: taken(|trace, x| elementwise::special(trace, op, x)),
        accuracy: accuracy.of(op.name()),
    };
    let of_one = |&function: &UnaryFunction| Row {
        name: function.name().to_string(),
        function: call("lxla_unary", "UNARY", function.name(), function as i32),
        stablehlo: String::new(),
        dtypes: taken(|trace, x| elementwise::unary_function(trace, function, x)),
        accuracy: accuracy.of(function.name()),
    };
    let of_two = |&function: &BinaryFunction| Row {
        name: function.name().to_string(),
        function: call("lxla_binary", "BINARY", function.name(), function as i32),
        stablehlo: String::new(),
        dtypes: taken(|trace, x| elementwise::binary_function(trace, function, x, x)),
        accuracy: accuracy.of(function.name()),
    };
    let functions = UnaryFunction::ALL.iter().map(of_one).chain(BinaryFunction::ALL.iter().map(of_two));
    functions.chain(ActivationOp::ALL.iter().map(activation)).chain(SpecialOp::ALL.iter().map(special)).collect()
}

/// Whether an operation has its row among the families, or shares that of another member.
fn is_family(op: &Op) -> bool {
    if let Op::AllReduce(member) | Op::ReduceScatter(member) = op {
        return *member != ReduceOp::Sum;
    }
    matches!(
        op,
        Op::Unary(_)
            | Op::Binary(_)
            | Op::BinaryScalar(_)
            | Op::ScalarBinary(_)
            | Op::Compare(_)
            | Op::Reduce(_)
            | Op::UnaryFunction(_)
            | Op::BinaryFunction(_)
            | Op::Special(_)
    )
}

/// Rows of the single operations. The accuracy of those that apply computations is that of the computations.
fn single(accuracy: &Accuracy) -> Vec<Row> {
    let row = |op: Op| {
        let definition = ops::definition(op);
        Row {
            name: definition.name.to_string(),
            function: definition.function.to_string(),
            stablehlo: definition.stablehlo.to_string(),
            dtypes: definition.dtypes.to_string(),
            accuracy: match op {
                Op::CustomCall => "its target's".to_string(),
                Op::AllReduce(_) | Op::ReduceScatter(_) => "a rounding for each device".to_string(),
                _ if op.body_count(&[1]) > 0 => "its computations'".to_string(),
                _ => accuracy.of(definition.name),
            },
        }
    };
    let all = Op::all().into_iter().filter(|op| !is_family(op) && !ops::definition(*op).name.is_empty());
    let mut rows: Vec<Row> = all.map(row).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

fn composed(accuracy: &Accuracy) -> Vec<Row> {
    let named = ops::COMPOSED.iter().copied().flatten().filter(|composed| !composed.dtypes.is_empty());
    let row = |composed: &ops::Composed| Row {
        name: composed.name.to_string(),
        function: composed.function.to_string(),
        stablehlo: String::new(),
        dtypes: composed.dtypes.to_string(),
        accuracy: accuracy.of(composed.name),
    };
    composed_families(accuracy).into_iter().chain(named.map(row)).collect()
}

/// The subjects, in the order of the header's chapters: files of src/capi, whose first line has the title.
const SUBJECTS: [&str; 14] = [
    "creation", "elementwise", "shape", "indexing", "sorting", "reduction", "linalg", "factorization", "nn", "random",
    "control", "kernels", "transform", "mesh",
];

/// Writes a chapter for each subject: the operations whose C function is in the subject's file. Composed operations,
/// which have no operation of StableHLO, come last.
fn chapters(out: &mut String, rows: &[Row]) {
    let mut written = 0;
    for subject in SUBJECTS {
        let source = text_of(&format!("src/capi/{subject}.rs"));
        let title = source.lines().next().unwrap().trim_start_matches("//! Chapter ").trim_end_matches('.');
        let _ = writeln!(
            out,
            "## {title}\n\n| Operation | C function | StableHLO | Dtypes | Accuracy |\n|---|---|---|---|---|"
        );
        let is_here = |row: &&Row| {
            let name = row.function.split('(').next().unwrap();
            source.contains(&format!("extern \"C\" fn {name}("))
        };
        for row in rows.iter().filter(is_here) {
            let stablehlo = if row.stablehlo.is_empty() { "composed" } else { &row.stablehlo };
            let _ = writeln!(
                out,
                "| {} | `{}` | {stablehlo} | {} | {} |",
                row.name, row.function, row.dtypes, row.accuracy
            );
            written += 1;
        }
        let _ = writeln!(out);
    }
    assert_eq!(written, rows.len(), "an operation has no chapter, or two");
}

/// Writes how much of the specification is covered, and why the rest is not.
fn coverage(out: &mut String, names: &[&str]) {
    let all: BTreeSet<&str> = SPECIFICATION.split_whitespace().collect();
    let covered: BTreeSet<&str> = names.iter().copied().filter(|name| all.contains(name)).collect();
    let left_out: BTreeSet<&str> = LEFT_OUT.iter().flat_map(|(names, _)| names.split_whitespace()).collect();
    assert!(left_out.is_subset(&all), "{:?} are not operations of the specification", left_out.difference(&all));
    let missing: Vec<&str> =
        all.iter().copied().filter(|name| !covered.contains(name) && !left_out.contains(name)).collect();
    let told = format!("| StableHLO | {} of the {} operations", covered.len(), all.len());
    assert!(text_of("docs/concepts.md").contains(&told), "docs/concepts.md does not say: {told}");
    let _ = writeln!(out, "## StableHLO\n");
    let _ = writeln!(
        out,
        "Of the {} operations of the specification, {} are here. Left out are:\n",
        all.len(),
        covered.len()
    );
    let _ = writeln!(out, "| Operations | Why |\n|---|---|");
    for (names, why) in LEFT_OUT {
        let names: Vec<&str> = names.split_whitespace().filter(|name| !covered.contains(name)).collect();
        if !names.is_empty() {
            let _ = writeln!(out, "| {} | {why} |", names.join(", "));
        }
    }
    if !missing.is_empty() {
        let _ = writeln!(out, "| {} | not yet |", missing.join(", "));
    }
}

const INTRODUCTION: &str = "\
# Operations

Written by `make header` from the library's tables of operations and from `c_tests/operations/ops_test.py`; do not edit.

Every operation works on lazy tensors, in programs that XLA compiles, and on native tensors, where it runs immediately.
Operations without a counterpart in StableHLO are *composed*: recorded as several others. Operations of two operands
also take a scalar for one of them (`lxla_binary_scalar`, `lxla_binary_with_scalar`, `lxla_binary_with_varying_scalar`,
`lxla_compare_scalar`, `lxla_compare_with_scalar`) and work in place (`lxla_binary_inplace`,
`lxla_binary_scalar_inplace`, `lxla_binary_with_scalar_inplace`).

## Accuracy

The column Accuracy has the largest error in units in the last place (ULPs) of the result's dtype, measured against
NumPy in higher precision by `c_tests/operations/ops_test.py` and, for functions of one number, by
`c_tests/operations/accuracy_sweep.py` (`make sweep`). The arguments are all numbers of 8 and 16 bits, f32 and f64 of
all exponents, and complex numbers including those near poles, zeros, branch cuts, the unit circle and overflow.

- The bounds hold for lazy tensors on the [tested CPU plugins](plugins.md), which differ little, and for native tensors,
  which are usually more accurate.
- *Exact* means correctly rounded. Results of integer dtypes and of pred are always exact.
- Errors are relative to the larger part for complex numbers; to the largest element for Fourier transforms; to the sum
  of the magnitudes of the terms for sums, products and means, operations composed of them, and gamma and zeta functions
  of negative numbers; to at least x times the derivative by x for incomplete gamma functions; to at least
  `sqrt(J^2 + Y^2)` for `bessel_j0` beyond 1, `bessel_j1` beyond 2 and `bessel_y0` and `bessel_y1` beyond 1/2, likewise
  of Ai and Bi for the Airy functions of negative numbers, times `|x|^1.5 / 1500` if that is more than 1; to at least 1
  for Gumbel numbers; for truncated normal numbers, errors of the probability are divided by its density; for gamma and
  beta numbers, to the sizes of the logarithms of their factors, which rejection may magnify; to the larger operand for
  logaddexp; to the power times `|exponent log(base)|`, where that is more than 1, for powers of c128.
- For Cholesky factors and triangular solutions, 1 is the largest error that a change of one ULP in every element of the
  matrix can cause.
- XLA flushes denormal numbers to 0; native tensors keep them.
- On CPU plugins, operations that move 8-bit floats may change NaN payloads.

Some bounds are large because of a small range of arguments:

| Operation | Error | Where | Elsewhere |
|---|---|---|---|
| exponential | 5 in f32 (not on `lammps-jax-pjrt-cpu`) | arguments within 1 of overflow | 2 |
| tanh | 7 in f64 | arguments between 19 and 20 | less |
| gelu_tanh | up to 1700 | results below 1e-4 of the argument, whose rounding the formula magnifies | 10 |

## Dtypes

Two dtypes promote as in the Python array API standard; f16 with bf16 gives f32. Functions, sums, matrix products and
composed operations compute f16 and bf16 in f32 and round once; every operation does so for 8-bit floats.
Types of 2 and 4 bits are computed in s8, u8 or f32 and converted afterwards; operations that do not list them refuse
them, unless they only move elements.

Some operations that StableHLO allows on complex numbers are INVALID_ARGUMENT here: cbrt, which XLA refuses; remainder,
on which XLA ends the process; maximum, minimum and clamp, where XLA compares the real parts only and the specification
compares pairs; and atan2, which no array library defines.

Powers, products and quotients of infinite complex numbers depend on the device. Functions of infinite complex numbers
have the values of C (annex G) and the array API standard on every device, where these define one. Powers of c64 are
computed in c128. A complex number converts to pred as in NumPy: true if either part is not 0. (StableHLO's `convert`
looks at the real part only.)

`lxla_topk` and the sorts order as NumPy: NaN of either sign is larger than every number, and -0 equals 0.
`lxla_topk_total_order` uses the total order of floats, as `chlo.top_k`: NaN with a sign bit is the smallest, and -0 is
smaller than 0.

[xla-workarounds.md](xla-workarounds.md) lists operations whose lowering avoids a fault of XLA.
";

fn document() -> String {
    let accuracy = Accuracy::read();
    let (families, single, composed) = (families(&accuracy), single(&accuracy), composed(&accuracy));
    let mut out = INTRODUCTION.to_string();
    out.push('\n');
    let names = families.iter().chain(&single).map(|row| row.stablehlo.clone());
    let names: Vec<String> = names.chain(composed.iter().map(|row| row.name.clone())).collect();
    let rows: Vec<Row> = families.into_iter().chain(single).chain(composed).collect();
    chapters(&mut out, &rows);
    coverage(&mut out, &names.iter().map(String::as_str).collect::<Vec<&str>>());
    out
}

#[test]
fn the_document_is_not_stale() {
    let (path, wanted) = (root().join("docs/operations.md"), document());
    if std::env::var_os("LXLA_WRITE_HEADER").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).unwrap();
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(text_of("docs/operations.md") == wanted, "docs/operations.md is stale; run `make header` and commit it");
}

#[test]
fn every_function_that_is_named_is_exported() {
    let exported = text_of("include/lazyxla.symbols");
    let exported: BTreeSet<&str> = exported.lines().collect();
    let definitions = Op::all().into_iter().map(|op| ops::definition(op).function);
    let composed = ops::COMPOSED.iter().copied().flatten().map(|composed| composed.function);
    for function in definitions.chain(composed) {
        assert!(function.is_empty() || exported.contains(function), "{function}");
    }
}
