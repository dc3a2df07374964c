//! Operators that PyTorch has under several names.

/// Pairs of another name and the name in the table, sorted.
const ALIASES: &[(&str, &str)] = &[
    ("absolute", "abs"),
    ("arccos", "acos"),
    ("arccosh", "acosh"),
    ("arcsin", "asin"),
    ("arcsinh", "asinh"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arctanh", "atanh"),
    ("clip", "clamp"),
    ("concat", "cat"),
    ("concatenate", "cat"),
    ("divide", "div"),
    ("fix", "trunc"),
    ("greater", "gt"),
    ("greater_equal", "ge"),
    ("less", "lt"),
    ("less_equal", "le"),
    ("linalg_matmul", "matmul"),
    ("moveaxis", "movedim"),
    ("multiply", "mul"),
    ("negative", "neg"),
    ("not_equal", "ne"),
    ("pinverse", "linalg_pinv"),
    ("row_stack", "vstack"),
    ("special_digamma", "digamma"),
    ("special_erf", "erf"),
    ("special_erfc", "erfc"),
    ("special_erfinv", "erfinv"),
    ("special_exp2", "exp2"),
    ("special_expit", "sigmoid"),
    ("special_expm1", "expm1"),
    ("special_gammainc", "igamma"),
    ("special_gammaincc", "igammac"),
    ("special_gammaln", "lgamma"),
    ("special_i0", "i0"),
    ("special_log1p", "log1p"),
    ("special_log_softmax", "log_softmax"),
    ("special_logit", "logit"),
    ("special_logsumexp", "logsumexp"),
    ("special_multigammaln", "mvlgamma"),
    ("special_polygamma", "polygamma"),
    ("special_psi", "digamma"),
    ("special_round", "round"),
    ("special_sinc", "sinc"),
    ("special_softmax", "softmax"),
    ("special_xlogy", "xlogy"),
    ("subtract", "sub"),
    ("swapaxes", "transpose"),
    ("swapdims", "transpose"),
    ("trapz", "trapezoid"),
    ("true_divide", "div"),
    ("unsafe_chunk", "chunk"),
    ("unsafe_split", "split"),
    ("unsafe_split_with_sizes", "split_with_sizes"),
];

/// Returns the name that the table has for an operator.
pub fn canonical(base: &str) -> &str {
    ALIASES.binary_search_by_key(&base, |(alias, _)| alias).map_or(base, |at| ALIASES[at].1)
}

#[cfg(test)]
mod tests {
    use super::ALIASES;

    #[test]
    fn aliases_are_sorted() {
        assert!(ALIASES.is_sorted());
    }
}
