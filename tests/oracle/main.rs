//! The strongest test of the sync layer (behaviour E6): random programs over all operations and dtypes, run eagerly on
//! native tensors and lazily. Programs of whole numbers and bits must agree in every value and every error, both on an
//! engine that interprets programs and poisons donated buffers, and on the real plugin. Programs of real numbers must
//! stay within an error bound of a reference in f64, on the plugin. Both hold on one device, and on meshes of 2, 4 and
//! 8 devices: there, new tensors are split at random, random sharding constraints are recorded, also on intermediate
//! results (see `place.rs`), and some programs have NaN and infinities.
//!
//! Each program runs twice, the second time on other values (see `program.rs`).
//!
//! The number of programs is set by `LXLA_ORACLE_PROGRAMS` (first engine), `LXLA_ORACLE_PLUGIN_PROGRAMS` (for each test
//! on one device of the plugin) and `LXLA_ORACLE_MESH_PROGRAMS` (for both tests on meshes of the plugin together; a
//! sixth of it for NaN and infinities), the random seed by `LXLA_ORACLE_SEED`. A failing program is shrunk and printed,
//! each action with its operands. `LXLA_ORACLE_LAST` names a file to which each program is written before it runs, for
//! programs that crash the process.
//!
//! `judge` compares two engines with each other. Its tests run only when they are asked for.
//!
//! `crates/xla-rs` builds these tests, too, and links its engine, which `LXLA_ENGINE` chooses.

// Only what is used is linked, and the engine registers itself.
#[cfg(engine_xla_rs)]
use lazyxla_xla_rs as _;

mod approximate;
mod engine;
mod exact;
mod imported;
mod judge;
mod place;
mod program;
mod record;
mod scratch;

use approximate::{Approximate, Deed, Tally};
use base::metrics::Counter;
use base::types::{DType, TensorType};
use engine::{OracleEngine, Witness};
use exact::{Kind, Twin};
use ir::UnaryOp;
use lazyxla::device;
use lazyxla::env::{Environment, EnvironmentOptions};
use lazyxla::sync;
use place::{DEVICES, Place, Places};
use program::{Coverage, Programs, RESIZED, number, run, run_rounds, run_with_changes};
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

/// Number of devices to ask for: one on the engine xla-rs, which has no more.
fn devices(count: usize) -> usize {
    if is_xla_rs() { 1 } else { count }
}

/// Whether the environment variable `LXLA_ENGINE` chooses the engine xla-rs. It has no meshes.
fn is_xla_rs() -> bool {
    std::env::var("LXLA_ENGINE").is_ok_and(|name| name == "xla-rs")
}

/// An environment of which only the native device is used.
fn native_environment(number: u64) -> Environment {
    let engine = Arc::new(OracleEngine::new(1, Arc::default()));
    Environment::with_engine(u64::MAX - number, engine, EnvironmentOptions::default()).expect("native needs nothing")
}

#[test]
fn e6_native_and_lazy_agree_on_an_engine_that_poisons_what_it_consumes() {
    let witness = Arc::new(Witness::default());
    let engine = Arc::new(OracleEngine::new(2, witness.clone()));
    let options = EnvironmentOptions { named: vec![("max_program_ops", "12".to_string())], ..Default::default() };
    let lazy = Environment::with_engine(u64::MAX, engine, options).unwrap();
    let (native, folder, coverage) = (native_environment(1), Folder::new("oracle"), Coverage::default());
    let count = number("LXLA_ORACLE_PROGRAMS", 3000);
    let programs = Programs { count, length: 60, stream: 0 };
    let places = Places::on_devices(&lazy);
    let violations = || witness.violations.swap(0, Ordering::SeqCst);
    let begin = || Twin::new(&native, &lazy, &places, &folder.0, &coverage);
    run(programs, exact::action(false), &lazy, violations, begin);
    coverage.check(count, Kind::is_seen);
    assert!(witness.consumed.load(Ordering::SeqCst) > 0, "nothing was ever donated: the test proves little");
}

/// Imports the text of each step, and compares its values with those of the step: in every bit, but for signs of zeros.
#[test]
fn e6_the_text_of_a_step_is_imported_to_the_same_values() {
    let witness = Arc::new(Witness::default());
    let engine = Arc::new(OracleEngine { imports: true, ..OracleEngine::new(2, witness.clone()) });
    let lazy = Environment::with_engine(u64::MAX - 18, engine, EnvironmentOptions::default()).unwrap();
    let (native, folder, coverage) = (native_environment(19), Folder::new("imported"), Coverage::default());
    let count = number("LXLA_ORACLE_PROGRAMS", 3000) / 5;
    let programs = Programs { count, length: 40, stream: 5 };
    let places = Places::on_devices(&lazy);
    let violations = || witness.violations.swap(0, Ordering::SeqCst);
    let begin = || Twin::new(&native, &lazy, &places, &folder.0, &coverage);
    run(programs, exact::action(false), &lazy, violations, begin);
    coverage.check(count, Kind::is_seen);
}

/// Reads, syncs and saves at random places, and steps: whatever they leave pending shares no work with what they computed,
/// so that each operation is computed once, as by one step at the end.
#[test]
fn e6_reads_at_random_places_repeat_nothing() {
    let witness = Arc::new(Witness::default());
    let engine = Arc::new(OracleEngine::new(2, witness.clone()));
    let options = EnvironmentOptions { named: vec![("max_left_pending", "9".to_string())], ..Default::default() };
    let lazy = Environment::with_engine(u64::MAX - 20, engine, options).unwrap();
    let (native, folder, coverage) = (native_environment(21), Folder::new("reads"), Coverage::default());
    let count = number("LXLA_ORACLE_PROGRAMS", 3000) / 3;
    let programs = Programs { count, length: 60, stream: 6 };
    let places = Places::on_devices(&lazy);
    let violations = || {
        let repeated = lazy.counter(Counter::RecomputedOps.name()).unwrap();
        witness.violations.swap(0, Ordering::SeqCst) + repeated
    };
    let begin = || Twin::new(&native, &lazy, &places, &folder.0, &coverage);
    run(programs, exact::action_that_repeats_nothing(), &lazy, violations, begin);
    let repeated = lazy.counter(Counter::RepeatedStep.name()).unwrap();
    assert!(repeated > 0, "no read or step was planned from memory: the test proves little");
}

/// A fiftieth of `LXLA_ORACLE_PROGRAMS`, each of which runs with two changes at every position.
#[test]
fn e6_steps_that_almost_repeat_are_told_apart() {
    let witness = Arc::new(Witness::default());
    let engine = Arc::new(OracleEngine::new(2, witness.clone()));
    let lazy = Environment::with_engine(u64::MAX - 16, engine, EnvironmentOptions::default()).unwrap();
    let (native, folder, coverage) = (native_environment(17), Folder::new("repeats"), Coverage::default());
    let programs = Programs { count: number("LXLA_ORACLE_PROGRAMS", 3000) / 50, length: 40, stream: 0 };
    let places = Places::on_devices(&lazy);
    let violations = || witness.violations.swap(0, Ordering::SeqCst);
    let begin = || Twin::new(&native, &lazy, &places, &folder.0, &coverage);
    run_with_changes(programs, exact::action(false), &lazy, violations, begin);
    let [steps, repeated] =
        [Counter::MarkStep, Counter::RepeatedStep].map(|counter| lazy.counter(counter.name()).unwrap());
    println!("{repeated} of {steps} steps were repeated");
    assert!(repeated > 0 && repeated < steps, "{repeated} of {steps} steps were repeated: the test proves little");
}

/// Counters of programs for bounds: how many were made, how many runs they served, how many programs were refused.
fn dynamic_counts(lazy: &Environment) -> [u64; 3] {
    let counts = [Counter::DynamicCompile, Counter::DynamicRun, Counter::DynamicRefused];
    counts.map(|counter| lazy.counter(counter.name()).unwrap())
}

/// Each program runs in several rounds, whose sizes differ, by programs for bounds.
#[test]
fn e6_programs_whose_sizes_change_agree() {
    let witness = Arc::new(Witness::default());
    let engine = Arc::new(OracleEngine::new(2, witness.clone()));
    let named = [("dynamic_sizes", "3,7,12"), ("dynamic_exact", "false"), ("max_program_ops", "30")];
    let named = named.map(|(name, value)| (name, value.to_string())).to_vec();
    let lazy =
        Environment::with_engine(u64::MAX - 22, engine, EnvironmentOptions { named, ..Default::default() }).unwrap();
    let (native, folder, coverage) = (native_environment(23), Folder::new("sizes"), Coverage::default());
    let count = number("LXLA_ORACLE_PROGRAMS", 3000) / 3;
    let programs = Programs { count, length: 30, stream: 7 };
    let places = Places::on_devices(&lazy).resizing();
    let violations = || witness.violations.swap(0, Ordering::SeqCst);
    let begin = || Twin::new(&native, &lazy, &places, &folder.0, &coverage);
    run_rounds(RESIZED.len() as u64, programs, exact::action(false), &lazy, violations, begin);
    coverage.check(count, Kind::is_seen);
    let [made, served, refused] = dynamic_counts(&lazy);
    println!("{made} programs for bounds, {served} runs by them, {refused} programs refused");
    assert!(served > count, "few runs were served by programs for bounds: the test proves little");
}

#[test]
fn e6_programs_whose_sizes_change_agree_on_the_plugin() {
    let named = [("dynamic_sizes", "3,7,12"), ("dynamic_exact", "false"), ("max_program_ops", "30")];
    let named = named.map(|(name, value)| (name, value.to_string())).to_vec();
    let lazy = Environment::new(u64::MAX - 24, EnvironmentOptions { named, ..Default::default() }).unwrap();
    let (native, tally, coverage) = (native_environment(25), Tally::default(), Coverage::default());
    let programs = Programs { count: number("LXLA_ORACLE_PLUGIN_PROGRAMS", 120) / 3, length: 20, stream: 8 };
    let home = Places::on_devices(&lazy).resizing().home;
    let begin = || Approximate::new(&native, &home, &tally, &coverage);
    run_rounds(RESIZED.len() as u64, programs, approximate::action(false), &lazy, || 0, begin);
    let [made, served, refused] = dynamic_counts(&lazy);
    println!("{made} programs for bounds, {served} runs by them, {refused} programs refused");
    assert!(served > 0, "no run was served by programs for bounds: the test proves nothing");
}

#[test]
fn e6_native_and_lazy_agree_on_the_plugin() {
    let options = EnvironmentOptions { device_count: devices(2), ..Default::default() };
    let lazy = Environment::new(u64::MAX - 2, options).unwrap();
    let (native, folder, coverage) = (native_environment(3), Folder::new("plugin"), Coverage::default());
    let count = number("LXLA_ORACLE_PLUGIN_PROGRAMS", 150);
    let programs = Programs { count, length: 25, stream: 0 };
    let places = Places::on_devices(&lazy);
    let begin = || Twin::new(&native, &lazy, &places, &folder.0, &coverage);
    run(programs, exact::action(false), &lazy, || 0, begin);
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
        let home = Place::one_device(&lazy, 0);
        let begin = || Approximate::new(&native, &home, &tally, &coverage);
        run(programs, approximate::action(false), &lazy, || 0, begin);
    }
    coverage.check(count, Deed::is_seen);
    tally.check();
}

/// Number of programs of each of the two larger tests on meshes.
fn count_on_meshes() -> u64 {
    number("LXLA_ORACLE_MESH_PROGRAMS", 60) / 2
}

/// Part `i` of `count` programs in `parts`. The streams from `stream` on are those of the parts.
fn part(count: u64, i: usize, parts: usize, stream: u8) -> Programs {
    let until = |i: usize| count * i as u64 / parts as u64;
    Programs { count: until(i + 1) - until(i), length: 25, stream: stream + i as u8 }
}

/// A third of `LXLA_ORACLE_PROGRAMS`.
#[test]
fn e6_meshes_agree_on_an_engine_that_poisons_what_it_consumes() {
    let witness = Arc::new(Witness::default());
    let engine = Arc::new(OracleEngine::new(DEVICES, witness.clone()));
    let options = EnvironmentOptions { named: vec![("max_program_ops", "12".to_string())], ..Default::default() };
    let lazy = Environment::with_engine(u64::MAX - 12, engine, options).unwrap();
    let (native, folder, coverage) = (native_environment(13), Folder::new("oracle_meshes"), Coverage::default());
    let meshes = Places::on_meshes(&lazy);
    let count = number("LXLA_ORACLE_PROGRAMS", 3000) / 3;
    for (i, places) in meshes.iter().enumerate() {
        let programs = Programs { length: 60, ..part(count, i, meshes.len(), 48) };
        let violations = || witness.violations.swap(0, Ordering::SeqCst);
        let begin = || Twin::new(&native, &lazy, places, &folder.0, &coverage);
        run(programs, exact::action(true), &lazy, violations, begin);
    }
    coverage.check(count, Kind::is_seen);
    assert!(witness.consumed.load(Ordering::SeqCst) > 0, "nothing was ever donated: the test proves little");
}

#[test]
fn e6_meshes_agree_exactly() {
    if is_xla_rs() {
        return;
    }
    let options = EnvironmentOptions { device_count: DEVICES, ..Default::default() };
    let lazy = Environment::new(u64::MAX - 7, options).unwrap();
    let (native, folder, coverage) = (native_environment(8), Folder::new("meshes"), Coverage::default());
    let meshes = Places::on_meshes(&lazy);
    let count = count_on_meshes();
    for (i, places) in meshes.iter().enumerate() {
        let begin = || Twin::new(&native, &lazy, places, &folder.0, &coverage);
        run(part(count, i, meshes.len(), 16), exact::action(true), &lazy, || 0, begin);
    }
    coverage.check(count, Kind::is_seen);
    let donated = lazy.counter(Counter::DonatedBuffers.name()).unwrap();
    assert!(donated > 0 || count < 1000, "nothing was ever donated: the test proves little");
}

/// A third as many programs as in each of the other tests.
#[test]
fn e6_meshes_agree_on_nan_and_infinities() {
    let options = EnvironmentOptions { device_count: DEVICES, ..Default::default() };
    let lazy = Environment::new(u64::MAX - 16, options).unwrap();
    let (native, folder, coverage) = (native_environment(17), Folder::new("specials"), Coverage::default());
    let meshes = Places::on_meshes(&lazy);
    let count = count_on_meshes() / 3;
    for (i, places) in meshes.iter().enumerate() {
        let begin = || Twin::new(&native, &lazy, places, &folder.0, &coverage).with_specials();
        run(part(count, i, meshes.len(), 64), exact::action_on_specials(), &lazy, || 0, begin);
    }
    coverage.check(count, Kind::is_seen);
}

/// Half of the programs run with max_program_ops = 5, which splits them into small executables.
#[test]
fn e6_meshes_stay_within_bounds() {
    if is_xla_rs() {
        return;
    }
    let native = native_environment(9);
    let (tally, coverage) = (Tally::default(), Coverage::default());
    let count = count_on_meshes();
    for (half, cut) in ["1024", "5"].into_iter().enumerate() {
        let named = vec![("max_program_ops", cut.to_string())];
        let options = EnvironmentOptions { device_count: DEVICES, named, ..Default::default() };
        let lazy = Environment::new(u64::MAX - 10 - half as u64, options).unwrap();
        let meshes = Places::on_meshes(&lazy);
        for (i, places) in meshes.iter().enumerate() {
            let programs = part(count, half * meshes.len() + i, 2 * meshes.len(), 32);
            let begin = || Approximate::new(&native, &places.home, &tally, &coverage);
            run(programs, approximate::action(true), &lazy, || 0, begin);
        }
    }
    coverage.check(count, Deed::is_seen);
    tally.check();
}

/// The engine divides each result as no sharding says, so that programs are compiled twice. Another environment loads
/// the second form from disk, and compiles nothing.
#[test]
fn k8_a_program_that_is_compiled_twice_is_on_disk_in_its_final_form() {
    let engine = OracleEngine { odd: 1, kept: Some(Arc::default()), ..OracleEngine::new(DEVICES, Arc::default()) };
    let (engine, folder) = (Arc::new(engine), Folder::new("disk"));
    let cache_dir = Some(folder.0.join("programs"));
    let counts = [14, 15].map(|number| {
        let options = EnvironmentOptions { cache_dir: cache_dir.clone(), ..Default::default() };
        let lazy = Environment::with_engine(u64::MAX - number, engine.clone(), options).unwrap();
        let home = Places::on_meshes(&lazy).swap_remove(0).home;
        let (ty, mut bytes) = (TensorType::new(DType::S32, &[8]), 7i32.to_le_bytes().repeat(8));
        let x = home.upload(&ty, &bytes, None).unwrap();
        let y = record::unary(UnaryOp::Negate, x).unwrap();
        sync::read(y, &mut bytes).unwrap();
        assert_eq!(bytes, (-7i32).to_le_bytes().repeat(8));
        for tensor in [x, y] {
            device::release(tensor).unwrap();
        }
        [Counter::UncachedCompile, Counter::PersistentCacheMiss, Counter::PersistentCacheHit]
            .map(|counter| lazy.counter(counter.name()).unwrap())
    });
    assert_eq!(counts, [[2, 1, 0], [0, 0, 1]]);
}
