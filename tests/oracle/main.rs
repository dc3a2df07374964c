//! E6 of the behaviours, and the strongest test of the sync layer: random programs, run at once on native tensors and
//! lazily, have to agree in every value and every error. Lazily twice: on an engine that interprets programs, and poisons
//! what it is told to consume; and on the real plugin.
//!
//! `LXLA_ORACLE_PROGRAMS` and `LXLA_ORACLE_PLUGIN_PROGRAMS` say how many programs, `LXLA_ORACLE_SEED` which ones. A failing
//! program is shrunk and printed.

mod action;
mod applied;
mod engine;
mod twin;

use action::{Action, action};
use engine::{OracleEngine, Witness};
use lazyxla::env::{Environment, EnvironmentOptions};
use lazyxla::metrics::Counter;
use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use twin::Twin;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("lxla_oracle_{}_{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

/// Runs random programs of up to `length` actions in this environment. Each leaves as many bytes alive as it found, and no
/// violation.
fn run(name: &str, programs: u64, length: usize, lazy: &Environment, violations: impl Fn() -> u64) {
    let seed = number("LXLA_ORACLE_SEED", 1);
    println!("{programs} programs, seed {seed}");
    let native = Environment::new(u64::MAX, EnvironmentOptions::default()).expect("native needs nothing");
    let folder = folder(name);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: programs as u32,
        failure_persistence: None,
        max_shrink_iters: number("LXLA_ORACLE_SHRINKS", 20_000) as u32,
        ..Config::default()
    };
    // A program that failed in the midst leaves something behind; what is shrunk after it is not blamed for that.
    let failed = Cell::new(false);
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let outcome = runner.run(&vec(action(), 1..length), |program: Vec<Action>| {
        let live = || lazy.counter("LiveBytes").expect("a counter");
        let before = live();
        let mut twin = Twin::new(&native, lazy, &folder);
        let acted = program
            .iter()
            .enumerate()
            .try_for_each(|(i, action)| twin.act(action).map_err(|e| format!("action {i}, {action:?}: {e}")));
        let outcome = match acted {
            Ok(()) => twin.finish().and_then(|()| match (violations(), live()) {
                (0, after) if after == before || failed.get() => Ok(()),
                (found, after) => {
                    Err(format!("{found} reads of consumed buffers; {before} bytes alive before, {after} after"))
                }
            }),
            Err(error) => {
                twin.abandon();
                Err(error)
            }
        };
        failed.set(failed.get() || outcome.is_err());
        outcome.map_err(TestCaseError::fail)
    });
    let _ = std::fs::remove_dir_all(&folder);
    outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
}

#[test]
fn e6_native_and_lazy_agree_on_an_engine_that_poisons_what_it_consumes() {
    let witness = Arc::new(Witness::default());
    let engine = Arc::new(OracleEngine { witness: witness.clone() });
    let options = EnvironmentOptions { named: vec![("max_program_ops", "12".to_string())], ..Default::default() };
    let lazy = Environment::with_engine(u64::MAX - 1, engine, options).unwrap();
    run("oracle", number("LXLA_ORACLE_PROGRAMS", 3000), 60, &lazy, || witness.violations.swap(0, Ordering::SeqCst));
    assert!(witness.consumed.load(Ordering::SeqCst) > 0, "nothing was ever donated: the test proves little");
}

#[test]
fn e6_native_and_lazy_agree_on_the_plugin() {
    let options = EnvironmentOptions { device_count: 2, ..Default::default() };
    let lazy = Environment::new(u64::MAX - 2, options).unwrap();
    run("plugin", number("LXLA_ORACLE_PLUGIN_PROGRAMS", 150), 25, &lazy, || 0);
    let donated = lazy.counter(Counter::DonatedBuffers.name()).unwrap();
    assert!(donated > 0, "nothing was ever donated: the test proves little");
}
