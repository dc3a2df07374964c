//! Reasons of differences between this library's inference and XLA's. docs/plugins.md lists them.

use crate::both::{Both, Verdict};

/// Words of a refusal, and why the other side accepts.
type Known = (&'static str, &'static str);

const PROMOTED: &str = "dtypes are promoted here, by the lattice of the array API standard";
const BROADCAST: &str = "shapes are broadcast as by NumPy; XLA broadcasts scalars, and axes of size 1 of equal ranks";
const MORE: &str = "this library takes the dtypes that NumPy's function takes";
const NEGATIVE: &str = "negative axes count from the end here";
const SPACES: &str = "spaces between the letters of an equation are skipped here, as by NumPy";

/// Where only XLA refuses: words of XLA's message.
const XLA_REFUSES: &[Known] = &[
    ("element types", PROMOTED),
    ("Operands to select must be the same shape", PROMOTED),
    ("equal rank", BROADCAST),
    ("implicit broadcast", BROADCAST),
    ("Expected element type in shape to be", MORE),
    ("Transpose dimensions", NEGATIVE),
    ("reverse dimensions", NEGATIVE),
    ("dimension number is out of range", NEGATIVE),
    ("Unexpected character in einsum config", SPACES),
];

const MIXED: &str = "XLA takes two float dtypes, and any two in products, and gives the wider one; here 8-bit floats promote \
                     with nothing, and integers not to floats";
const FEWER: &str = "this library refuses dtypes for which the operation has no meaning, such as an order of complex numbers, \
                     arithmetic of preds, extremes of preds, logic of integers in reductions";
const AXIS: &str = "XlaBuilder does not check the axis of iota; XLA's verifier does";
const STARTS: &str = "XLA takes the start indices of one axis as a vector, too";
const STATE: &str = "XlaBuilder does not check the size of a random generator's state";
const EMPTY_SLICE: &str = "XLA takes a slice of size 0 on an axis that the result has not";
const NO_ZERO: &str = "f8e8m0fnu has no zero";
const SCALAR: &str = "XLA takes the largest 0 elements of a scalar";

/// Where only this library refuses: words of its message.
const WE_REFUSE: &[Known] = &[
    ("do not promote", MIXED),
    ("wants its dtype and a part", MIXED),
    ("updates[0] is", MIXED),
    ("not pred", FEWER),
    ("takes numbers", FEWER),
    ("have no order", FEWER),
    ("takes integers and floats, not", FEWER),
    ("takes pred, integers and floats, not", FEWER),
    ("takes floats, not", FEWER),
    ("takes pred, not", FEWER),
    ("takes all other dtypes", FEWER),
    ("cannot be represented in f8e8m0fnu", NO_ZERO),
    ("value: it is", MIXED),
    ("want an integer scalar", STARTS),
    ("state: it is", STATE),
    ("want 1 on a collapsed or batching axis", EMPTY_SLICE),
];

const SIZES: &str =
    "XLA sums an axis whose size differs from that of its index, and takes the diagonal of axes of two sizes";
const TWICE: &str = "XLA gives a diagonal matrix where an index occurs twice in the result; NumPy refuses";
const COVERED: &str = "XLA sums over the axes of an ellipsis that is missing in the result; NumPy refuses";
const UNNAMED: &str = "XLA takes an axis of size 1 without an index for one that only the result has";

/// The same for equations.
const WE_REFUSE_OF_EQUATIONS: &[Known] = &[
    ("in tensors[", SIZES),
    ("occurs twice after '->'", TWICE),
    ("is missing after '->'", COVERED),
    ("its indices are '", UNNAMED),
];

/// Where both accept, and give other types.
const WIDER: &str = "XLA gives the wider of two dtypes or the first, here f16 and bf16 are f32, and s8 and u8 are s16";
const COUNTED: &str = "sums and products of preds count in s64 here, as in NumPy";

/// Returns why this library and XLA differ about an operation, if it is known. They must not differ about loops and
/// branches.
pub fn reason(name: &str, both: &Both) -> Option<&'static str> {
    if matches!(name, "while" | "conditional") {
        return None;
    }
    let is_equation = matches!(name, "einsum1" | "einsum2");
    let find = |known: &[Known], text: &str| known.iter().find(|(words, _)| text.contains(words)).map(|known| known.1);
    let is_mixed = both.operands.iter().any(|ty| ty.dtype != both.operands[0].dtype);
    match both.verdict() {
        // Equations have no axes.
        Verdict::OnlyOurs => find(XLA_REFUSES, both.their_error()).filter(|&reason| !is_equation || reason != NEGATIVE),
        Verdict::OnlyTheirs => match name {
            "iota" if both.our_error().contains("out of range") => Some(AXIS),
            "top_k" if both.our_error().contains("out of range") => Some(SCALAR),
            _ if is_equation => {
                find(WE_REFUSE_OF_EQUATIONS, both.our_error()).or_else(|| find(WE_REFUSE, both.our_error()))
            }
            _ => find(WE_REFUSE, both.our_error()),
        },
        Verdict::OtherTypes if matches!(name, "reduce_add" | "reduce_multiply") => Some(COUNTED),
        Verdict::OtherTypes if is_mixed => Some(WIDER),
        _ => None,
    }
}
