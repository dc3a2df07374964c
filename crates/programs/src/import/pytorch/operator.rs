//! An entry of the table of operators.

use super::arguments::Value;
use super::call::Call;
use base::error::Result;

/// Records an operator; returns its result, or a list of its results.
pub type Record = for<'c, 'r, 'p> fn(&'c mut Call<'r, 'p>) -> Result<Value<'p>>;

/// An entry of the table.
pub struct Operator {
    /// Overloads, as `add.Tensor`.
    pub names: &'static [&'static str],
    /// Arguments with their defaults, in the order of the schema.
    pub arguments: &'static str,
    /// Records it.
    pub record: Record,
}

/// An entry of the table.
pub const fn operator(names: &'static [&'static str], arguments: &'static str, record: Record) -> Operator {
    Operator { names, arguments, record }
}
