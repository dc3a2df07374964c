//! A program that is imported from the text that was lowered from it.

use super::exact::values::equal;
use ir::Body;
use lowering::interpret;
use mesh::MeshAxes;
use native::Array;
use programs::import::{self, Wanted};
use std::sync::Arc;

/// An imported program, with its text for messages.
pub struct Imported {
    text: String,
    body: Arc<Body>,
    constants: Vec<Array>,
}

impl Imported {
    /// Imports a text, for a mesh with these axes or for one device. Panics if it is refused.
    pub fn new(text: &str, axes: Option<&MeshAxes>) -> Imported {
        let read = import::read(Arc::new(text.as_bytes().to_vec()));
        let wanted = Wanted { mesh: axes.cloned(), ..Wanted::default() };
        let made = read.and_then(|program| import::import(&program.module, &wanted));
        let made = made.unwrap_or_else(|e| panic!("the import fails: {e}\n{text}"));
        Imported { text: text.to_string(), body: made.body, constants: made.constants }
    }

    /// Evaluates it on the arguments of its program.
    pub fn run(&self, arguments: &[Array]) -> Vec<Array> {
        let inputs = [arguments, &self.constants].concat();
        let made = interpret::run(self.body.program(), self.body.scalars(), &inputs);
        made.unwrap_or_else(|e| panic!("the imported program fails: {e}\n{}", self.text))
    }

    /// Panics unless the values are those of its program in every bit; but for signs of zeros, since the convolution of
    /// complex numbers is read as those of its parts.
    pub fn check(&self, got: &[Array], wanted: &[Array]) {
        assert_eq!(got.len(), wanted.len(), "results of\n{}", self.text);
        for (i, (got, want)) in got.iter().zip(wanted).enumerate() {
            assert_eq!(got.ty(), want.ty(), "type of result {i} of\n{}", self.text);
            let is_equal = equal(want.ty().dtype, got.bytes(), want.bytes(), false);
            assert!(is_equal, "result {i}: {:?} imported, {:?} natively\n{}", got.bytes(), want.bytes(), self.text);
        }
    }
}
