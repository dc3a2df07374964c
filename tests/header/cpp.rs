//! Two files of the C++ wrapper: `include/lazyxla/members.hpp` with the functions that are named after constants, and
//! `include/lazyxla/constants.hpp` with a type for each family of constants.

use lazyxla::capi::constants::{Constant, Family};

/// Functions of each member of a family, by its prefix, with `NAME` and `CODE` in place of the member's. The
/// documentation of the constant is that of the first one.
const FAMILIES: [(&str, &[&str]); 6] = [
    ("LXLA_UNARY_", &["inline Tensor NAME(const Tensor &x) { return unary(CODE, x); }"]),
    ("LXLA_BINARY_", &[BINARY]),
    ("LXLA_COMPARE_", &[COMPARE]),
    ("LXLA_SPECIAL_", &["inline Tensor NAME(const Tensor &x) { return special(CODE, x); }"]),
    ("LXLA_ACTIVATION_", &["inline Tensor NAME(const Tensor &x) { return activation(CODE, x); }"]),
    ("LXLA_REDUCE_", &["inline Tensor NAME(const Tensor &x) { return reduce(CODE, x); }", REDUCE_AXES]),
];

const BINARY: &str = "template <class L, class R> detail::Result<L, R> NAME(const L &lhs, const R &rhs) {
  return binary(CODE, lhs, rhs);
}";

const COMPARE: &str = "template <class L, class R> detail::Result<L, R> NAME(const L &lhs, const R &rhs) {
  return compare(CODE, lhs, rhs);
}";

const REDUCE_AXES: &str = "/// The same over the listed axes.
inline Tensor NAME(const Tensor &x, const Dims &axes, Flag keep = false) {
  return reduce(CODE, x, axes, keep);
}";

/// Names in C++ that are not those of the constants in lower case: those of <cmath>, and words that C++ reserves.
const NAMES: [(&str, &str); 7] = [
    ("UNARY_EXPONENTIAL", "exp"),
    ("UNARY_EXPONENTIAL_MINUS_ONE", "expm1"),
    ("UNARY_LOG_PLUS_ONE", "log1p"),
    ("UNARY_SINE", "sin"),
    ("UNARY_COSINE", "cos"),
    ("UNARY_NOT", "bitwise_not"),
    ("BINARY_NEXT_AFTER", "nextafter"),
];

/// Members that have an operator alone: elementwise.hpp.
const OPERATORS: [&str; 11] = [
    "ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "REMAINDER", "AND", "OR", "XOR", "SHIFT_LEFT", "SHIFT_RIGHT_ARITHMETIC",
    "SHIFT_RIGHT_LOGICAL",
];

/// Types of the constants of a family, by its prefix. Statuses keep the type `lxla_status`: the wrapper takes none, and
/// programs mix them with statuses that functions return. Switches are bools in the wrapper.
const TYPES: [(&str, &str); 18] = [
    ("LXLA_DTYPE_", "Dtype"),
    ("LXLA_KIND_", "DtypeKind"),
    ("LXLA_MIXED_", "MixedDevicePolicy"),
    ("LXLA_DEVICE_", "DeviceKind"),
    ("LXLA_STATE_", "State"),
    ("LXLA_UNARY_", "UnaryOp"),
    ("LXLA_BINARY_", "BinaryOp"),
    ("LXLA_COMPARE_", "CompareOp"),
    ("LXLA_SPECIAL_", "SpecialOp"),
    ("LXLA_SCATTER_", "ScatterOp"),
    ("LXLA_REDUCE_", "ReduceOp"),
    ("LXLA_TRANSPOSE_", "Transposition"),
    ("LXLA_FFT_", "FftOp"),
    ("LXLA_ACTIVATION_", "ActivationOp"),
    ("LXLA_RNG_", "RngAlgorithm"),
    ("LXLA_CUSTOM_CALL_", "CustomCallVersion"),
    ("LXLA_CHECKPOINT_", "CheckpointPolicy"),
    ("LXLA_EXPORT_", "ExportFormat"),
];

const CONSTANTS_HEAD: &str = "\
// Types of the constants of lazyxla.h. Written by `make header`; do not edit.
// Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0
//
// With lazyxla.hpp, a constant such as LXLA_DTYPE_F32 has the type of its family. It converts to int32_t, as functions
// of lazyxla.h take it, and the functions of the wrapper take it in its own place only.
#ifndef LAZYXLA_CONSTANTS_HPP
#define LAZYXLA_CONSTANTS_HPP

#include \"../lazyxla.h\"

namespace lazyxla {

";

/// Returns the text of constants.hpp. The macros keep their names, so that programs have one name for a constant.
pub fn constants(families: &[Family]) -> String {
    let typed = |family: &Family| {
        let name = match TYPES.iter().find(|(prefix, _)| *prefix == family.prefix) {
            Some((_, name)) => name,
            None if family.prefix == "LXLA_" => return None,
            None => panic!("TYPES of tests/header/cpp.rs lacks a row for {}", family.prefix),
        };
        let members: String = family.constants.iter().map(|of| enumerator(family.prefix, of)).collect();
        Some(format!("/// {}\nenum {name} : int32_t {{\n{members}}};\n", family.title))
    };
    let types: Vec<String> = families.iter().filter_map(typed).collect();
    let is_typed = |family: &&Family| family.prefix != "LXLA_";
    let macros: String = families.iter().filter(is_typed).map(macros).collect();
    format!(
        "{CONSTANTS_HEAD}{}\n}}  // namespace lazyxla\n\n{macros}\n#endif  // LAZYXLA_CONSTANTS_HPP\n",
        types.join("\n")
    )
}

/// Returns the line of an enumerator: its name is that of the constant without `LXLA_`.
fn enumerator(prefix: &str, of: &Constant) -> String {
    let short = prefix.strip_prefix("LXLA_").unwrap();
    format!("  {short}{} = {},  ///< {}\n", of.name, of.number, of.about.trim())
}

/// Returns the macros of a family: the constants by their names in C, with their types.
fn macros(family: &Family) -> String {
    let line = |of: &Constant| {
        let (prefix, name) = (family.prefix.strip_prefix("LXLA_").unwrap(), &of.name);
        format!("#undef LXLA_{prefix}{name}\n#define LXLA_{prefix}{name} ::lazyxla::{prefix}{name}\n")
    };
    family.constants.iter().map(line).collect()
}

/// Returns the text of members.hpp.
pub fn members(families: &[Family]) -> String {
    let of_family = |&(prefix, forms): &(&str, &[&str])| {
        let family = families.iter().find(|family| family.prefix == prefix).unwrap();
        let members = family.constants.iter().filter(|of| prefix != "LXLA_BINARY_" || !OPERATORS.contains(&&*of.name));
        let texts: Vec<String> = members.map(|of| functions(prefix, of, forms)).collect();
        format!("// {}\n\n{}", family.title, texts.join("\n"))
    };
    let parts: Vec<String> = FAMILIES.iter().map(of_family).collect();
    format!(
        "// Functions named after the constants of lazyxla.h. Written by `make header`; do not edit.\n\
         // Part of lazyxla.hpp. SPDX-License-Identifier: MIT OR Apache-2.0\n\
         #ifndef LAZYXLA_MEMBERS_HPP\n#define LAZYXLA_MEMBERS_HPP\n\n\
         #include \"elementwise.hpp\"\n#include \"nn.hpp\"\n#include \"reduction.hpp\"\n\n\
         namespace lazyxla {{\n\n{}\n\n}}  // namespace lazyxla\n\n#endif  // LAZYXLA_MEMBERS_HPP\n",
        parts.join("\n\n")
    )
}

/// Returns the functions of one member.
fn functions(prefix: &str, of: &Constant, forms: &[&str]) -> String {
    let code = format!("{prefix}{}", of.name);
    let own = NAMES.iter().find(|(constant, _)| code.strip_prefix("LXLA_") == Some(constant));
    let name = own.map_or_else(|| of.name.to_lowercase(), |(_, name)| name.to_string());
    format!("/// {}\n{}", of.about.trim(), forms.join("\n").replace("NAME", &name).replace("CODE", &code))
}
