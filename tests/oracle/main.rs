//! The strongest test of the sync layer (behaviour E6): random programs over all operations and dtypes, run eagerly on
//! native tensors and lazily. Programs of whole numbers and bits must agree in every value and every error, both on an
//! engine that interprets programs and poisons donated buffers, and on the real plugin. Programs of real numbers must
//! stay within an error bound of a reference in f64, on the plugin.
//!
//! Each program runs twice, the second time on other values (see `program.rs`).
//!
//! `LXLA_ORACLE_PROGRAMS` and `LXLA_ORACLE_PLUGIN_PROGRAMS` (for each test on the plugin) set the number of programs,
//! `LXLA_ORACLE_SEED` the random seed. A failing program is shrunk and printed, each action with its operands.
//! `LXLA_ORACLE_LAST` names a file to which each program is written before it runs, for programs that crash the
//! process.

mod approximate;
mod engine;
mod exact;
mod program;
mod record;
mod scratch;

use approximate::{Approximate, Deed, Tally};
use engine::{OracleEngine, Witness};
use exact::{Kind, Twin};
use lazyxla::testing::env::{Environment, EnvironmentOptions};
use lazyxla::testing::metrics::Counter;
use program::{Coverage, Programs, number, run};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A temporary folder of one test, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("lxla_oracle_{}_{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An environment of which only the native device is used.
fn native_environment(number: u64) -> Environment {
    let engine = Arc::new(OracleEngine { witness: Arc::default() });
    Environment::with_engine(u64::MAX - number, engine, EnvironmentOptions::default()).expect("native needs nothing")
}

#[test]
fn e6_native_and_lazy_agree_on_an_engine_that_poisons_what_it_consumes() {
    let witness = Arc::new(Witness::default());
    let engine = Arc::new(OracleEngine { witness: witness.clone() });
    let options = EnvironmentOptions { named: vec![("max_program_ops", "12".to_string())], ..Default::default() };
    let lazy = Environment::with_engine(u64::MAX, engine, options).unwrap();
    let (native, folder, coverage) = (native_environment(1), Folder::new("oracle"), Coverage::default());
    let count = number("LXLA_ORACLE_PROGRAMS", 3000);
    let programs = Programs { count, length: 60, stream: 0 };
    let violations = || witness.violations.swap(0, Ordering::SeqCst);
    run(programs, exact::action(), &lazy, violations, || Twin::new(&native, &lazy, &folder.0, &coverage));
    coverage.check(count, Kind::is_seen);
    assert!(witness.consumed.load(Ordering::SeqCst) > 0, "nothing was ever donated: the test proves little");
}

#[test]
fn e6_native_and_lazy_agree_on_the_plugin() {
    let options = EnvironmentOptions { device_count: 2, ..Default::default() };
    let lazy = Environment::new(u64::MAX - 2, options).unwrap();
    let (native, folder, coverage) = (native_environment(3), Folder::new("plugin"), Coverage::default());
    let count = number("LXLA_ORACLE_PLUGIN_PROGRAMS", 150);
    let programs = Programs { count, length: 25, stream: 0 };
    run(programs, exact::action(), &lazy, || 0, || Twin::new(&native, &lazy, &folder.0, &coverage));
    coverage.check(count, Kind::is_seen);
    let donated = lazy.counter(Counter::DonatedBuffers.name()).unwrap();
    assert!(donated > 0, "nothing was ever donated: the test proves little");
}

/// Half of the programs run with max_program_ops = 5, which splits them into small executables.
#[test]
fn e6_longer_float_programs_stay_within_an_error_bound() {
    let native = native_environment(4);
    let (tally, coverage) = (Tally::default(), Coverage::default());
    let count = number("LXLA_ORACLE_PLUGIN_PROGRAMS", 120);
    for (i, cut) in ["1024", "5"].into_iter().enumerate() {
        let options = EnvironmentOptions { named: vec![("max_program_ops", cut.to_string())], ..Default::default() };
        let lazy = Environment::new(u64::MAX - 5 - i as u64, options).unwrap();
        let programs = Programs { count: count / 2, length: 30, stream: i as u8 };
        run(programs, approximate::action(), &lazy, || 0, || Approximate::new(&native, &lazy, &tally, &coverage));
    }
    coverage.check(count, Deed::is_seen);
    let (compared, close) = (tally.compared.get(), tally.close.get());
    println!(
        "{compared} elements compared: {close} with bounds below a thousandth, {} different, the most {} of its bound",
        tally.different.get(),
        tally.most.get()
    );
    assert!(
        2 * close > compared,
        "{close} of {compared} elements have bounds below a thousandth: the test proves little"
    );
    assert!(tally.different.get() > 0, "XLA rounded all as native did: that is not to be believed");
}
