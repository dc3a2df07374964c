//! The crate `xla` as a judge: XlaBuilder's shape inference against this library's, on random types, right and wrong
//! ones. Each operation that XlaBuilder has under the same meaning is recorded in a trace and in a builder with the
//! same operands. The two agree if both refuse, or both give the same type. Each difference must have a reason, which
//! docs/plugins.md lists; one without a reason fails the test.
//!
//! `LXLA_JUDGE_TYPES` is the number of types for each operation, `LXLA_JUDGE_SEED` the random seed,
//! `LXLA_JUDGE_ONLY` the operation that is judged alone.

mod both;
mod cases;
mod control;
mod draw;
mod einsum;
mod indexed;
mod reasons;

use both::Verdict;
use draw::Draw;
use std::collections::BTreeMap;

/// The number in an environment variable, or a default.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Findings about one operation.
#[derive(Default)]
struct Tally {
    /// Both gave the same type; both refused.
    alike: [u64; 2],
    /// Differences by reason: how many, and the first.
    differences: BTreeMap<(&'static str, &'static str), (u64, String)>,
}

#[test]
fn every_difference_of_shape_inference_has_a_reason() {
    let (count, seed) = (number("LXLA_JUDGE_TYPES", 2000), number("LXLA_JUDGE_SEED", 1));
    let only = std::env::var("LXLA_JUDGE_ONLY").ok();
    let mut unexplained = Vec::new();
    for (at, case) in cases::all().into_iter().enumerate() {
        if only.as_ref().is_some_and(|only| *only != case.name) {
            continue;
        }
        let mut tally = Tally::default();
        for trial in 0..count {
            let mut draw = Draw::new(seed << 40 ^ (at as u64) << 32 ^ trial);
            let both = (case.judge)(&mut draw);
            let (kind, is_same) = match both.verdict() {
                Verdict::Same => ("", Some(0)),
                Verdict::BothRefuse => ("", Some(1)),
                Verdict::OnlyOurs => ("XLA refuses", None),
                Verdict::OnlyTheirs => ("we refuse", None),
                Verdict::OtherTypes => ("another type", None),
            };
            if let Some(which) = is_same {
                tally.alike[which] += 1;
                continue;
            }
            let reason = reasons::reason(case.name, &both);
            if reason.is_none() {
                unexplained.push(format!("{}: {kind}: {both}", case.name));
            }
            let entry = tally.differences.entry((kind, reason.unwrap_or("NO REASON")));
            entry.or_insert_with(|| (0, both.to_string())).0 += 1;
        }
        println!("{}: {} same, {} refused by both", case.name, tally.alike[0], tally.alike[1]);
        for ((kind, reason), (count, first)) in &tally.differences {
            println!("    {count} {kind}: {reason}. First: {first}");
        }
    }
    unexplained.truncate(50);
    assert!(unexplained.is_empty(), "differences without a reason:\n{}", unexplained.join("\n"));
}
