//! The values of random programs on two engines and natively, each pair against each other: two builds of XLA have
//! other kernels and other faults.
//!
//! Two engines do not share a process: the engine xla-rs links its XLA into the process, where a plugin that is loaded
//! later could find its symbols. So one process runs the programs natively and on its engine and writes the values to
//! files (see `results.rs`) in the folder `LXLA_JUDGE_WRITE`. Another one runs the same programs natively and on its
//! own engine, and compares with the files in `LXLA_JUDGE_READ`; that may also be another plugin.
//! `tools/test_xla_rs.sh` runs both.
//!
//! `LXLA_JUDGE_PROGRAMS` is the number of programs of each test, `LXLA_ORACLE_SEED` the random seed. No program stops
//! the test: all disagreements are counted, and the first of each pair are printed.

mod results;

use crate::approximate::{self, Approximate, Deed, Tally, decode};
use crate::exact::{self, Kind, Twin, equal};
use crate::place::{Place, Places};
use crate::program::{Coverage, Programs, Record, Run, Seen, number, run_all, seed};
use crate::{Folder, native_environment};
use lazyxla::env::{Environment, EnvironmentOptions};
use results::{Header, Kept, Reader, Writer, digest};
use std::path::PathBuf;

/// Number of disagreements of a pair that are printed.
const MOST_REPORTS: usize = 10;

/// Statistics of the comparison of two sides, such as an engine and native evaluation.
struct Pair {
    names: String,
    values: u64,
    /// Number of values that are equal in every bit.
    identical: u64,
    disagreements: u64,
    /// The first disagreements.
    reports: Vec<String>,
}

impl Pair {
    fn new(names: String) -> Pair {
        Pair { names, values: 0, identical: 0, disagreements: 0, reports: Vec::new() }
    }

    fn add(&mut self, is_identical: bool) {
        self.values += 1;
        self.identical += u64::from(is_identical);
    }

    fn disagree(&mut self, report: String) {
        self.disagreements += 1;
        if self.reports.len() < MOST_REPORTS {
            self.reports.push(report);
        }
    }

    /// Prints the numbers. Returns the disagreements in words.
    fn finish(self) -> Vec<String> {
        let Pair { names, values, identical, disagreements, reports } = self;
        println!("{names}: {values} values, {identical} equal in every bit, {disagreements} disagreements");
        reports.into_iter().map(|report| format!("{names}: {report}")).collect()
    }
}

/// The comparison with the engine whose values are in a file.
struct Comparison {
    reader: Reader,
    /// Name of the engine that wrote the file.
    other: String,
    /// Values of this engine and of the one that wrote the file.
    engines: Pair,
    /// Native results in both processes, which differ if the processes did not run the same programs.
    natives: Pair,
    /// Number of runs that the file lacks.
    missing: u64,
}

impl Comparison {
    fn take(&mut self, run: &Run, values: &[Seen]) {
        let Some(kept) = self.reader.next_run().expect("a file of values that can be read") else {
            self.missing += 1;
            return;
        };
        let given = (run.program, run.round, digest(run.text.as_bytes()));
        assert_eq!((kept.program, kept.round, kept.text), given, "the file has the values of the same programs");
        // A program ends at its first disagreement with native results: then there may be fewer values, but not more.
        let (here, there) = ((values.len(), run.outcome.is_ok()), (kept.values.len(), kept.agreed));
        let lacks = |(count, is_whole): (usize, bool), other: (usize, bool)| is_whole && other.0 > count;
        if lacks(here, there) || lacks(there, here) {
            let what = format!("{} values here, {} in the file", here.0, there.0);
            self.natives.disagree(format!("{}: {what}\n{}", named(run), run.text));
        }
        self.compare(run, values, &kept);
    }

    fn compare(&mut self, run: &Run, values: &[Seen], kept: &Kept) {
        for (at, (seen, known)) in values.iter().zip(&kept.values).enumerate() {
            let told = |what: String| format!("{}, value {at}, a {}: {what}\n{}", named(run), seen.ty, run.text);
            if known.ty != seen.ty.to_string() || known.lazy.len() != seen.lazy.len() {
                self.natives.disagree(told(format!("a {} of {} bytes in the file", known.ty, known.lazy.len())));
                return;
            }
            let is_same = known.native == digest(&seen.native);
            self.natives.add(is_same);
            if !is_same {
                self.natives.disagree(told(format!("{:?} here, other bytes in the file", seen.native)));
            }
            self.engines.add(seen.lazy == known.lazy);
            if let Some(difference) = difference(seen, &known.lazy) {
                self.engines.disagree(told(difference));
            }
        }
    }
}

/// Describes how the values of two engines disagree; None if they agree. Exact values must be equal, as native and lazy
/// ones must (see [`equal`]). Real numbers may differ by twice the bound on their error: each is within one bound of
/// the same reference.
fn difference(seen: &Seen, other: &[u8]) -> Option<String> {
    let Some(errors) = &seen.errors else {
        let is_equal = equal(seen.ty.dtype, &seen.lazy, other, false);
        return (!is_equal).then(|| format!("{:?} here, {other:?} in the file", seen.lazy));
    };
    let [here, there] = [&seen.lazy[..], other].map(|bytes| decode(seen.ty.dtype, bytes));
    let parts = here.len() / errors.len().max(1);
    here.iter().zip(&there).enumerate().find_map(|(i, (a, b))| {
        let most = 2.0 * errors[i / parts];
        // NaN is within no bound.
        let is_within = (a - b).abs() <= most;
        (!is_within).then(|| format!("{a:e} at {i} here, {b:e} in the file; they may differ by {most:e}"))
    })
}

fn named(run: &Run) -> String {
    format!("program {} in round {}", run.program, run.round)
}

/// Whether this process writes the values of its engine or compares them with those of another process.
enum Side {
    Writes(Writer),
    Compares(Box<Comparison>),
}

/// The values of this process's engine, against native results and those of another engine.
struct Judge {
    side: Side,
    native: Pair,
}

impl Judge {
    /// A judge of `programs` programs, whose values are in a file of this name.
    fn new(name: &str, programs: u64) -> Judge {
        let engine = std::env::var("LXLA_ENGINE").ok().filter(|engine| !engine.is_empty());
        let engine = engine.unwrap_or_else(|| "pjrt".to_string());
        let native = Pair::new(format!("{name} programs, {engine} and native results"));
        let folder = |variable: &str| std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let side = match (folder("LXLA_JUDGE_WRITE"), folder("LXLA_JUDGE_READ")) {
            (Some(folder), None) => {
                let header = Header { seed: seed(), programs, engine };
                Side::Writes(Writer::create(&folder.join(name), &header).expect("a file that can be written"))
            }
            (None, Some(folder)) => {
                let (reader, header) = Reader::open(&folder.join(name)).expect("a file that LXLA_JUDGE_WRITE made");
                assert_eq!((header.seed, header.programs), (seed(), programs), "seed and number of programs");
                let engines = Pair::new(format!("{name} programs, {engine} and {}", header.engine));
                let natives = Pair::new(format!("{name} programs, native results of both processes"));
                Side::Compares(Box::new(Comparison { reader, other: header.engine, engines, natives, missing: 0 }))
            }
            _ => panic!("want one of LXLA_JUDGE_WRITE and LXLA_JUDGE_READ, a folder"),
        };
        Judge { side, native }
    }

    /// Takes a run, and the values that it compared.
    fn take(&mut self, run: &Run, values: &[Seen]) {
        values.iter().for_each(|seen| self.native.add(seen.native == seen.lazy));
        if let Err(error) = &run.outcome {
            self.native.disagree(format!("{}: {error}", named(run)));
        }
        match &mut self.side {
            Side::Writes(writer) => writer.write(run, values).expect("a file that can be written"),
            Side::Compares(comparison) => comparison.take(run, values),
        }
    }

    /// Prints what was found. Fails if any pair disagreed.
    fn finish(self) {
        let mut faults = self.native.finish();
        if let Side::Compares(comparison) = self.side {
            let Comparison { other, engines, natives, missing, .. } = *comparison;
            faults.extend(engines.finish());
            faults.extend(natives.finish());
            if missing > 0 {
                faults.push(format!(
                    "the file of {other} lacks the last {missing} runs: the process that wrote it ended"
                ));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

fn environment(number: u64, max_program_ops: &str) -> Environment {
    let named = vec![("max_program_ops", max_program_ops.to_string())];
    Environment::new(u64::MAX - number, EnvironmentOptions { device_count: 1, named, ..Default::default() }).unwrap()
}

#[test]
#[ignore = "run by tools/test_xla_rs.sh, once for each engine: LXLA_JUDGE_WRITE, then LXLA_JUDGE_READ"]
fn exact_programs_agree_on_two_engines() {
    let (native, lazy) = (native_environment(21), environment(20, "1024"));
    let (folder, coverage, record) = (Folder::new("two_engines"), Coverage::default(), Record::default());
    let programs = Programs { count: number("LXLA_JUDGE_PROGRAMS", 300), length: 25, stream: 80 };
    let (places, mut judge) = (Places::on_devices(&lazy), Judge::new("exact", programs.count));
    let begin = || Twin::new(&native, &lazy, &places, &folder.0, &coverage).with_record(&record);
    run_all(&programs, exact::action(false), &lazy, begin, |run| judge.take(&run, &record.take()));
    judge.finish();
    coverage.check(programs.count, Kind::is_seen);
}

/// Half of the programs run with max_program_ops = 5, which splits them into small executables.
#[test]
#[ignore = "run by tools/test_xla_rs.sh, once for each engine: LXLA_JUDGE_WRITE, then LXLA_JUDGE_READ"]
fn programs_of_real_numbers_agree_on_two_engines() {
    let native = native_environment(22);
    let (tally, coverage, record) = (Tally::default(), Coverage::default(), Record::default());
    let count = number("LXLA_JUDGE_PROGRAMS", 60);
    let mut judge = Judge::new("approximate", count);
    for (i, cut) in ["1024", "5"].into_iter().enumerate() {
        let lazy = environment(23 + i as u64, cut);
        let programs = Programs { count: (count + i as u64) / 2, length: 30, stream: 96 + i as u8 };
        let home = Place::one_device(&lazy, 0);
        let begin = || Approximate::new(&native, &home, &tally, &coverage).with_record(&record);
        run_all(&programs, approximate::action(false), &lazy, begin, |run| judge.take(&run, &record.take()));
    }
    judge.finish();
    coverage.check(count, Deed::is_seen);
    tally.check();
}

#[test]
fn engines_may_differ_by_both_errors() {
    use base::types::{DType, TensorType};

    let bytes = |numbers: [f32; 2]| numbers.map(f32::to_le_bytes).concat();
    let seen = |errors| Seen {
        ty: TensorType::new(DType::F32, &[2]),
        native: bytes([1.0, 0.0]),
        lazy: bytes([1.0, 0.0]),
        errors,
    };
    let real = seen(Some(vec![0.25, 0.0]));
    assert!(difference(&real, &bytes([1.5, 0.0])).is_none());
    assert!(difference(&real, &bytes([1.625, 0.0])).is_some_and(|words| words.starts_with("1e0 at 0 here, 1.625e0")));
    assert!(difference(&real, &bytes([1.0, 0.125])).is_some());
    assert!(difference(&real, &bytes([f32::NAN, 0.0])).is_some());
    assert!(difference(&seen(None), &bytes([1.0, -0.0])).is_none());
    assert!(difference(&seen(None), &bytes([1.0000001, 0.0])).is_some());
}
