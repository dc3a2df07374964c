//! Random programs: made, run, and shrunk where they fail.

use lazyxla::env::Environment;
use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// A program that is run in two worlds.
pub trait Twofold {
    type Action: Debug;

    /// What came of it; in words, where the worlds differ.
    fn act(&mut self, action: &Self::Action) -> Result<(), String>;

    /// Reads everything, then lets go of it.
    fn finish(&mut self) -> Result<(), String>;

    /// Lets go of everything after a failure; gives what was done, line by line.
    fn abandon(&mut self) -> String;
}

thread_local! {
    static ROUND: Cell<u64> = const { Cell::new(0) };
}

/// Each program runs twice. The second round has other values in tensors of the same types, so that the same executables
/// run on other values at addresses that were used before: whatever a plugin remembers by address shows.
const ROUNDS: u64 = 2;

/// State of the generator of a tensor's values, for a seed and the round that is under way.
pub fn random_state(seed: u16) -> u64 {
    (u64::from(seed) | 1 << 40) ^ (ROUND.get() << 20)
}

/// How many programs there are, and of how many actions at most.
pub struct Programs {
    pub count: u64,
    pub length: usize,
    /// Which ones, of a seed.
    pub stream: u8,
}

/// How often actions of each kind were tried, and how often they did something.
pub struct Coverage<K>(RefCell<BTreeMap<K, [u64; 2]>>);

impl<K> Default for Coverage<K> {
    fn default() -> Self {
        Coverage(RefCell::default())
    }
}

impl<K: Ord + Copy + Debug> Coverage<K> {
    pub fn add(&self, kind: K, is_done: bool) {
        let mut counts = self.0.borrow_mut();
        let [tried, done] = counts.entry(kind).or_default();
        (*tried, *done) = (*tried + 1, *done + u64::from(is_done));
    }

    /// Prints it. An error if something never did anything, of what can be seen, in so many programs that it is no chance.
    pub fn check(&self, programs: u64, is_seen: impl Fn(K) -> bool) {
        let counts = self.0.borrow();
        counts.iter().for_each(|(kind, [tried, done])| println!("{kind:?}: {done} of {tried}"));
        let missed: Vec<K> =
            counts.iter().filter(|(kind, [_, done])| *done == 0 && is_seen(**kind)).map(|(kind, _)| *kind).collect();
        assert!(missed.is_empty() || programs < 1000, "the test proves nothing of what never happened: {missed:?}");
    }
}

pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// Runs random programs. Each leaves as many bytes and tensors alive as it found in the lazy environment, and no violation.
pub fn run<S: Strategy, T: Twofold<Action = S::Value>>(
    programs: Programs,
    actions: S,
    lazy: &Environment,
    violations: impl Fn() -> u64,
    begin: impl Fn() -> T,
) where
    S::Value: Clone + Debug,
{
    let seed = number("LXLA_ORACLE_SEED", 1);
    println!("{} programs, seed {seed}", programs.count);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8] = programs.stream;
    let config = Config {
        cases: programs.count as u32,
        failure_persistence: None,
        max_shrink_iters: number("LXLA_ORACLE_SHRINKS", 20_000) as u32,
        ..Config::default()
    };
    let found = Cell::new(false);
    let agreed = Cell::new(0u64);
    let last = std::env::var_os("LXLA_ORACLE_LAST");
    let attempt_once = |program: &[S::Value]| {
        let live = || {
            let [bytes, made, gone] =
                ["LiveBytes", "CreateTensor", "DestroyTensor"].map(|name| lazy.counter(name).expect("a counter"));
            (bytes, made - gone)
        };
        // Where one ends the process, it is the last that was written.
        if let Some(path) = &last {
            std::fs::write(path, format!("{program:#?}")).expect("a file that can be written");
        }
        // What a program before it did is not its own.
        let (before, _) = (live(), violations());
        let mut twofold = begin();
        let mut outcome = program
            .iter()
            .enumerate()
            .try_for_each(|(i, action)| twofold.act(action).map_err(|e| format!("action {i}: {e}")))
            .and_then(|()| twofold.finish());
        if outcome.is_ok() {
            outcome = match (violations(), live()) {
                (0, after) if after == before => Ok(()),
                (violations, after) => Err(format!(
                    "{violations} reads of consumed buffers; {before:?} bytes and tensors before, {after:?} after"
                )),
            };
        }
        outcome.map_err(|error| format!("{error}{}", twofold.abandon()))
    };
    let attempt = |program: &[S::Value]| {
        (0..ROUNDS).try_for_each(|round| {
            ROUND.set(round);
            attempt_once(program).map_err(|error| format!("round {round}: {error}"))
        })
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let outcome = runner.run(&vec(actions, 1..programs.length), |program| {
        let outcome = attempt(&program);
        found.set(found.get() || outcome.is_err());
        agreed.set(agreed.get() + u64::from(!found.get()));
        outcome.map_err(TestCaseError::fail)
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(first, program)) => {
            let (program, error) = shortened(program, first.message().to_string(), attempt);
            let agreed = agreed.get();
            panic!("seed {seed}, after {agreed} programs that agreed: {error}\n{program:#?}");
        }
        Err(other) => panic!("seed {seed}: {other}"),
    }
}

/// A program that fails, without all that it fails without; and how it does.
fn shortened<A: Clone>(
    mut program: Vec<A>,
    mut error: String,
    attempt: impl Fn(&[A]) -> Result<(), String>,
) -> (Vec<A>, String) {
    loop {
        let length = program.len();
        for i in (0..length).rev() {
            let mut shorter = program.clone();
            shorter.remove(i);
            if let Err(of_shorter) = attempt(&shorter) {
                (program, error) = (shorter, of_shorter);
            }
        }
        if program.len() == length {
            return (program, error);
        }
    }
}
