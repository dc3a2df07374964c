//! Timelines that are turned on and off, and the runs of devices.

use super::event::{Event, Flow, Row};
use super::events::MOST_KEPT;
use super::recorder::{Timeline, close_all};
use super::threads::thread_id;
use base::label::Label;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn the_last_events_are_kept_and_nothing_while_it_is_off() {
    let timeline = Arc::new(Timeline::default());
    drop(timeline.span("step", "step"));
    assert!(timeline.kept().is_empty() && !timeline.is_on());
    timeline.keep(true);
    for _ in 0..MOST_KEPT + 7 {
        let mut span = timeline.span("transfer", "to device");
        span.number("bytes", 12);
        span.program(3, Label::NONE);
    }
    let kept = timeline.kept();
    assert_eq!(kept.len(), MOST_KEPT);
    let last = &kept[MOST_KEPT - 1];
    assert_eq!((&last["name"], &last["cat"], &last["ph"]), (&"to device".into(), &"transfer".into(), &"X".into()));
    assert_eq!(last["args"], serde_json::json!({"bytes": 12, "program": 3}));
    assert_eq!((&last["pid"], &last["tid"]), (&std::process::id().into(), &thread_id().into()));
    assert!(last["ts"].as_f64().unwrap() > 0.0 && last["dur"].as_f64().unwrap() >= 0.0);
    timeline.keep(false);
    assert!(timeline.kept().is_empty() && !timeline.is_on());
}

#[test]
fn a_trace_that_the_end_of_the_process_closed_can_be_stopped() {
    let path = std::env::temp_dir().join(format!("lxla_closed_trace_{}", std::process::id()));
    let timeline = Arc::new(Timeline::default());
    timeline.start(&path).unwrap();
    drop(timeline.span("step", "step"));
    close_all();
    drop(timeline.span("step", "late"));
    timeline.stop(|_| ()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let events: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let names: Vec<_> = events.iter().filter(|event| event["ph"] == "X").map(|event| &event["name"]).collect();
    assert_eq!(names, ["step"]);
}

#[test]
fn nothing_is_begun_while_it_is_off() {
    let timeline = Arc::new(Timeline::default());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    timeline.recorded();
                }
            });
        }
        for _ in 0..1_000 {
            timeline.keep(true);
            std::thread::yield_now();
            timeline.keep(false);
            std::thread::yield_now();
            let begun = timeline.events.lock().threads.all().count();
            if begun > 0 {
                is_done.store(true, Ordering::Relaxed);
                panic!("{begun} threads have begun something");
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn runs_of_a_device_follow_each_other_and_arrows_have_two_ends() {
    let timeline = Arc::new(Timeline::default());
    timeline.keep(true);
    let mut span = timeline.span("execute", "execute");
    let first = timeline.run_on(2, &mut span);
    drop(span);
    let mut span = timeline.span("execute", "execute");
    let second = timeline.run_on(2, &mut span);
    drop(first);
    drop(second);
    drop(span);
    let events: Vec<Event> = timeline.events.lock().kept.iter().cloned().collect();
    let runs: Vec<&Event> = events.iter().filter(|event| event.row == Row::Device(2)).collect();
    assert_eq!(runs.len(), 2);
    assert!(runs[0].start + runs[0].duration <= runs[1].start);
    let flows: Vec<Flow> = events.iter().filter_map(|event| event.flow).collect();
    assert_eq!(flows, [Flow::Start(1), Flow::End(1), Flow::End(2), Flow::Start(2)]);
}
