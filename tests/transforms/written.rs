//! The text of a computation is imported, and the values are compared but for rounding: some functions and products are
//! evaluated natively by other formulas than the text has. The oracle (`tests/oracle/imported.rs`) compares exact
//! programs in every bit, but for signs of zeros.

use super::{arrays, gradient, run};
use crate::common::{Random, number};
use ir::Body;
use lowering::lower::lower_body;
use lowering::transform::{self, Checkpoint, Transformer};
use native::Array;
use programs::import::{self, Wanted};
use std::sync::Arc;

/// The computation that the text of a body is imported to, and its constants.
fn imported(text: &str) -> (Arc<Body>, Vec<Array>) {
    let program = import::read(Arc::new(text.as_bytes().to_vec())).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let made = import::import(&program.module, &Wanted::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    (made.body, made.constants)
}

fn check(what: &str, body: &Arc<Body>, random: &mut Random) {
    let text = lower_body(body).unwrap();
    let (again, constants) = imported(&text);
    let own = arrays(random, body.parameters());
    let (got, want) = (run(&again, &[&own[..], &constants].concat()), run(body, &own));
    super::check(what, &got, &want, 1e-12);
    // Operations that are written as several come back as these. Regions come back without a further level.
    let (third, further) = imported(&lower_body(&again).unwrap());
    super::check(what, &run(&third, &[&own[..], &constants, &further].concat()), &got, 1e-12);
    assert_eq!(third.depth(), again.depth(), "{what}: it reads back with other levels\n{text}");
}

#[test]
fn the_text_of_random_programs_is_imported_to_the_same_values() {
    super::each(number("LXLA_TRANSFORM_PROGRAMS", 250) / 2, 7, |body, random| {
        let backward = gradient(body, Checkpoint::SaveAll);
        let axes = vec![0; backward.parameters().len()];
        let out = vec![0; backward.results().len()];
        let batched = transform::batched(&Transformer::default(), &backward, &axes, &out, 2).unwrap();
        for (what, made) in [("the program", body), ("its gradient", &backward), ("their batch", &batched)] {
            check(what, made, random);
        }
    });
}
