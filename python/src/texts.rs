//! Translates the library's messages to Python's names of functions, arguments and dtypes, and finds out whether a
//! message is about a dtype or an axis, which decides the class of the exception.

use crate::dtype::{kind, library_name, name};
use crate::sys::*;

/// Functions of the library, and the functions of the package that call them. Messages of other functions lose the
/// name: operators, and functions that are called on the way.
const FUNCTIONS: &[(&str, &str)] = &[
    ("arange_with_scalars", "arange"),
    ("argmax", "argmax"),
    ("argmin", "argmin"),
    ("argsort", "argsort"),
    ("attention", "nn.attention"),
    ("batch_norm_inference", "nn.batch_norm_inference"),
    ("batch_norm_training", "nn.batch_norm"),
    ("broadcast_to", "broadcast_to"),
    ("cholesky", "linalg.cholesky"),
    ("clamp", "clip"),
    ("computation_import", "from_torch"),
    ("computation_import_file", "import_program"),
    ("concatenate", "concat"),
    ("cond", "cond"),
    ("convert", "astype"),
    ("convolution", "nn.conv"),
    ("determinant", "linalg.det"),
    ("device_parse", "device"),
    ("dot_general", "tensordot"),
    ("eigh", "linalg.eigh"),
    ("schur", "linalg.schur"),
    ("einsum", "einsum"),
    ("expand_dims", "expand_dims"),
    ("eye", "eye"),
    ("file_names", "load"),
    ("flip", "flip"),
    ("inverse", "linalg.inv"),
    ("layer_norm", "nn.layer_norm"),
    ("linspace_with_scalars", "linspace"),
    ("log_softmax", "nn.log_softmax"),
    ("logsumexp", "nn.logsumexp"),
    ("lstsq", "linalg.lstsq"),
    ("matmul", "matmul"),
    ("matrix_exponential", "linalg.expm"),
    ("matrix_power", "linalg.matrix_power"),
    ("matrix_rank", "linalg.matrix_rank"),
    ("mean", "mean"),
    ("mesh_create", "Mesh"),
    ("norm", "linalg.vector_norm"),
    ("one_hot", "nn.one_hot"),
    ("pad_with_scalar", "pad"),
    ("pinv", "linalg.pinv"),
    ("qr", "linalg.qr"),
    ("random_bernoulli", "random.bernoulli"),
    ("random_beta", "random.beta"),
    ("random_bits", "random.bits"),
    ("random_categorical", "random.categorical"),
    ("random_choice", "random.choice"),
    ("random_exponential", "random.exponential"),
    ("random_gamma", "random.gamma"),
    ("random_gumbel", "random.gumbel"),
    ("random_integers", "random.integers"),
    ("random_laplace", "random.laplace"),
    ("random_normal", "random.normal"),
    ("random_poisson", "random.poisson"),
    ("random_split", "random.split"),
    ("random_truncated_normal", "random.truncated_normal"),
    ("random_uniform", "random.uniform"),
    ("repeat", "repeat"),
    ("reshape", "reshape"),
    ("rms_norm", "nn.rms_norm"),
    ("roll", "roll"),
    ("rotary_embedding", "nn.rotary_embedding"),
    ("save_async_with_options", "save_async"),
    ("save_with_options", "save"),
    ("scan", "scan"),
    ("searchsorted", "searchsorted"),
    ("select", "where"),
    ("singular_values", "linalg.svdvals"),
    ("slogdet", "linalg.slogdet"),
    ("softmax", "nn.softmax"),
    ("solve", "linalg.solve"),
    ("sort_along", "sort"),
    ("squeeze", "squeeze"),
    ("stack", "stack"),
    ("standard_deviation", "std"),
    ("svd", "linalg.svd"),
    ("take", "take"),
    ("take_along_axis", "take_along_axis"),
    ("tensor_to_device", "to_device"),
    ("tile", "tile"),
    ("transpose", "permute_dims"),
    ("triangular_solve", "linalg.solve_triangular"),
    ("tril", "tril"),
    ("triu", "triu"),
    ("variance", "var"),
    ("while", "while_loop"),
];

/// Replacements for parts of messages that concern programs in C.
const HINTS: &[(&str, &str)] = &[
    ("move one of them with lxla_tensor_to_device", "move one of them by x.to_device(device)"),
    ("lxla_computation_with_vjp or lxla_computation_with_jvp", "lx.custom_vjp or lx.custom_jvp"),
    ("lxla_computation_with_vjp", "lx.custom_vjp"),
    (" (lxla_computation_with_vmap)", ""),
    ("call lxla_mark_step", "call lx.step()"),
    ("take a snapshot before the run to keep the value", "take x.copy() before the run to keep the value"),
    (
        "while this thread traces a computation: call lxla_tracing_end or lxla_tracing_abandon first, or do it outside of \
         the function that is traced",
        "in a function that is traced (by jit, grad, vmap, scan, ...): do it outside, after the call",
    ),
    ("lxla_stop_gradient", "lx.stop_gradient"),
    ("lxla_shard_map", "lx.shard_map"),
    ("lxla_scan", "lx.scan"),
    ("lxla_while_bounded", "lx.while_loop(max_iterations=)"),
    (
        "f: a computation with a custom derivative has none by its captured values; make them parameters \
         (lxla_computation_lift)",
        "a function with a derivative of its own has none by arrays from outside; pass them as arguments",
    ),
    ("lxla_solve", "lx.linalg.solve"),
    ("lxla_tridiagonal_solve", "lx.linalg.solve_tridiagonal"),
    ("in place (lhs is dst): ", "in place: "),
    ("text: \"", "\""),
    ("ranks, dims: ", "shapes: "),
    ("a tensor", "an array"),
    ("axes: axis ", "axis "),
    ("axis: axis ", "axis "),
    ("perm: axis ", "axes: axis "),
    ("options.scale: ", "scale: "),
    ("padding_low, padding_high", "padding"),
    ("] is -1, and result", "] is None, and result"),
];

/// Returns a message in the terms of Python.
pub fn in_python(message: &str) -> String {
    let (function, rest) = parts(message);
    let mut rest = rest.to_string();
    if let Some(at) = rest.find("; mixed_device_policy") {
        rest.truncate(at);
    }
    for (given, wanted) in HINTS {
        rest = rest.replace(given, wanted);
    }
    if function == "reduce_window" {
        rest = rest.replace("low, high: ", "padding: ");
    }
    // Types in programs that are imported are those of MLIR.
    let rest = if function.starts_with("computation_import") { rest } else { renamed(&rest, function) };
    match FUNCTIONS.iter().find(|row| row.0 == function) {
        Some((_, name)) => {
            format!("{name}(): {}", rest.replace(&format!("{function} takes"), &format!("{name} takes")))
        }
        None => rest,
    }
}

/// Returns the function that a message begins with, without its prefix, and the rest.
pub fn parts(message: &str) -> (&str, &str) {
    let split = message.strip_prefix("lxla_").and_then(|text| text.split_once(": "));
    split.filter(|(name, _)| name.chars().all(is_word)).unwrap_or(("", message))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Words outside of double quotes, as pairs of the text before them and the word.
fn words(text: &str) -> Vec<(&str, &str)> {
    let (mut found, mut rest, mut is_quoted) = (Vec::new(), text, false);
    while !rest.is_empty() {
        let start = rest.find(|c| c == '"' || (!is_quoted && is_word(c))).unwrap_or(rest.len());
        if rest[start..].starts_with('"') {
            is_quoted = !is_quoted;
            found.push((&rest[..=start], ""));
            rest = &rest[start + 1..];
            continue;
        }
        let end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |length| start + length);
        found.push((&rest[..start], &rest[start..end]));
        rest = &rest[end..];
    }
    found
}

/// Returns a text with Python's names of dtypes and arguments.
fn renamed(text: &str, function: &str) -> String {
    let found = words(text);
    let (mut result, mut last) = (String::new(), "");
    for (i, (before, word)) in found.iter().enumerate() {
        let after = found.get(i + 1).map_or("", |(between, _)| between);
        result.push_str(before);
        let is_part = before.ends_with(['/', '.', '-', '%']) || (before.is_empty() && i > 0);
        result.push_str(if is_part { word } else { name_of(word, last, after, function) });
        last = word;
    }
    result
}

fn name_of<'a>(word: &'a str, last: &str, after: &str, function: &str) -> &'a str {
    let is_dtype = after.starts_with('[') || matches!(last, "takes" | "not" | "and" | "want" | "or" | "to" | "dtype");
    match (word, function) {
        ("pred", _) if is_dtype => "bool",
        ("pred", "select") => "condition",
        ("on_true", "cond") => "true_fun",
        ("on_false", "cond") => "false_fun",
        (_, "convolution") if argument_of_conv(word).is_some() => argument_of_conv(word).unwrap_or(word),
        ("values", "searchsorted") => "x2",
        // An adjective is not the argument: "one sorted row".
        ("sorted", "searchsorted") if after.starts_with(':') || last == "and" => "x1",
        ("on_true", "select") | ("lhs" | "dst", _) => "x1",
        ("on_false", "select") | ("rhs", _) => "x2",
        ("tensors", _) => "arrays",
        ("tensor", _) if !after.starts_with('<') => "array",
        ("dims", _) => "shape",
        ("low", "random_uniform") if last != "want" => "minval",
        ("high", "random_uniform") if after.starts_with(':') => "maxval",
        ("depth", "one_hot") => "num_classes",
        ("n", "random_split") => "num",
        ("probabilities", "random_choice") => "p",
        ("pred", _) => word,
        _ => library_name(word).map_or(word, |code| name(code)),
    }
}

/// Returns the argument of `nn.conv` that a name of the library's options stands for.
fn argument_of_conv(word: &str) -> Option<&'static str> {
    Some(match word {
        "lhs" => "x",
        "rhs" => "kernel",
        "window_strides" => "strides",
        "lhs_dilation" => "input_dilation",
        "rhs_dilation" => "kernel_dilation",
        "padding_low" | "padding_high" => "padding",
        "feature_group_count" => "groups",
        _ => return None,
    })
}

/// Returns whether a message is about an axis that the array does not have.
pub fn is_about_axis(message: &str) -> bool {
    message.contains("is out of range for rank")
}

/// Whether a message is about a dtype: another one is wanted, or two do not fit together.
pub fn is_about_dtype(message: &str) -> bool {
    let (_, rest) = parts(message);
    // "takes numbers": bools are given.
    let parts_of_dtypes = [
        "do not promote", "does not promote", "dtypes that promote", "have no order", "have no common dtype",
        "takes numbers",
    ];
    if parts_of_dtypes.iter().any(|part| rest.contains(part)) {
        return true;
    }
    if let Some((given, wanted)) = rest.rsplit_once(", and wants ") {
        // "scale: it is f64[2]; x is f32[3,2], and wants f32[2]"
        let wanted = dtypes_in(wanted);
        return dtypes_in(given).first().is_some_and(|dtype| !wanted.is_empty() && !wanted.contains(dtype));
    }
    if rest.contains("does not fit in place") || rest.contains("one dtype") || rest.contains("its dtype") {
        let found = dtypes_in(rest);
        return found.iter().any(|dtype| *dtype != found[0]);
    }
    let (head, wanted) = match (rest.rsplit_once("; want "), rest.split_once(" takes ")) {
        (Some(pair), _) => pair,
        (None, Some((_, tail))) => match tail.rsplit_once(", not ") {
            Some((wanted, given)) => (given, wanted),
            None => return false,
        },
        _ => return false,
    };
    // `pred` is also the name of an argument.
    match dtypes_in(head.strip_prefix("pred: ").unwrap_or(head)).first() {
        Some(&given) => !accepts(wanted, given).unwrap_or(true),
        None => false,
    }
}

fn dtypes_in(text: &str) -> Vec<i32> {
    words(text).iter().filter_map(|(_, word)| library_name(word)).collect()
}

/// Returns whether a list of kinds and dtypes, as in a message, contains a dtype; None if it names no kind or dtype.
fn accepts(wanted: &str, dtype: i32) -> Option<bool> {
    let (mut names_any, mut has, mut last) = (false, false, "");
    for (_, word) in words(wanted) {
        let kind = kind(dtype);
        let found = match word {
            "floats" | "float" => Some(kind == LXLA_KIND_FLOAT && (dtype < LXLA_DTYPE_F8E5M2 || last == "bit")),
            "integers" | "integer" => Some(match last {
                "signed" => kind == LXLA_KIND_SIGNED,
                "unsigned" => kind == LXLA_KIND_UNSIGNED,
                _ => matches!(kind, LXLA_KIND_SIGNED | LXLA_KIND_UNSIGNED),
            }),
            "complex" => Some(kind == LXLA_KIND_COMPLEX),
            _ => library_name(word).map(|code| code == dtype),
        };
        if let Some(is_one) = found {
            names_any = true;
            has |= is_one;
        }
        last = word;
    }
    names_any.then_some(has)
}
