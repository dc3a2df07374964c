//! Programs of one kind in which sizes change: a [`Template`] states the dimensions and the integers of the attributes
//! as [`Form`]s of a few variables. A template is a guess from the programs that were seen; it serves a program only if
//! every number of that program is what its forms give.

mod fit;
mod form;
mod spread;
mod template;

pub use fit::{Guess, Pattern, Seen};
pub use form::Form;
pub use spread::Spread;
pub use template::{Axes, Factor, Scope, SizedValue, Template};
