//! `include/lazyxla/members.hpp`: the functions of the C++ wrapper that are named after constants.

use lazyxla::testing::capi::{Constant, Family};

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
inline Tensor NAME(const Tensor &x, const Dims &axes, bool keep = false) {
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
    "ADD",
    "SUBTRACT",
    "MULTIPLY",
    "DIVIDE",
    "REMAINDER",
    "AND",
    "OR",
    "XOR",
    "SHIFT_LEFT",
    "SHIFT_RIGHT_ARITHMETIC",
    "SHIFT_RIGHT_LOGICAL",
];

/// Returns the text of the file.
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
