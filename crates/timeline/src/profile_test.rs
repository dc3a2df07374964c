//! Profiles that are written as events: of JAX, made by hand, and malformed.

use super::profile::{Clock, Written, convert};
use base::protobuf::{bytes, number};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CLOCK: Clock = Clock { unix: 1_700_000_000_000_000_000, timeline: 5_000_000 };

/// The events of a profile as values of JSON, and what was noted.
fn converted(space: &[u8], most: usize) -> (Vec<Value>, Written) {
    let mut text = String::new();
    let written = convert(space, CLOCK, most, &mut |lines| text.push_str(lines));
    assert!(text.is_empty() || text.ends_with(",\n"));
    assert!(text.len() <= most);
    let events = text.lines().map(|line| serde_json::from_str(line.strip_suffix(',').unwrap()).unwrap()).collect();
    (events, written)
}

/// An event: row (its process and its own name), name, begin and duration in nanoseconds, arguments.
type Row = (String, String, u64, u64, Value);

/// The events with times.
fn timed(events: &[Value]) -> Vec<Row> {
    let mut names = BTreeMap::new();
    let mut found = Vec::new();
    for event in events {
        let (pid, tid) = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let text = |value: &Value| value.as_str().unwrap().to_string();
        if event["ph"] == "M" {
            let key = if event["name"] == "process_name" { (pid, 0) } else { (pid, tid) };
            assert!(names.insert(key, text(&event["args"]["name"])).is_none(), "{event}");
            continue;
        }
        assert_eq!((&event["ph"], &event["cat"]), (&json!("X"), &json!("plugin")));
        let nanoseconds = |value: &Value| (value.as_f64().unwrap() * 1000.0).round() as u64;
        let row = format!("{}: {}", names[&(pid, 0)], names[&(pid, tid)]);
        let (start, duration) = (nanoseconds(&event["ts"]), nanoseconds(&event["dur"]));
        found.push((row, text(&event["name"]), start, duration, event["args"].clone()));
    }
    found
}

fn text(field: u64, text: &str) -> Vec<u8> {
    bytes(field, text.as_bytes())
}

/// Entry of a table: an id and the fields of its message.
fn entry(table: u64, id: u64, message: Vec<u8>) -> Vec<u8> {
    bytes(table, &[number(1, id), bytes(2, &[number(1, id), message].concat())].concat())
}

fn event(metadata: u64, offset: u64, duration: u64, statistics: &[Vec<u8>]) -> Vec<u8> {
    let statistics: Vec<u8> = statistics.iter().flat_map(|statistic| bytes(4, statistic)).collect();
    bytes(4, &[number(1, metadata), number(2, offset), number(3, duration), statistics].concat())
}

/// A plane of a device with one line, which begins at a time, with these events.
fn device(start: u64, events: Vec<u8>) -> Vec<u8> {
    let line = [number(1, 7), text(2, "Stream #7"), number(3, start), events].concat();
    // The tables come after the lines that use them, as plugins write them.
    let names = [
        entry(4, 1, [text(2, "%fusion.3 = f32[8] fusion(...)"), text(4, "fusion.3")].concat()),
        entry(4, 2, [text(2, "copy"), bytes(5, &[number(1, 11), number(7, 13)].concat())].concat()),
        entry(4, 3, text(4, "shown")),
        entry(5, 10, text(2, "flops")),
        entry(5, 11, text(2, "hlo_module")),
        entry(5, 12, text(2, "_r")),
        entry(5, 13, text(2, "jit_step")),
    ];
    bytes(1, &[number(1, 1), text(2, "/device:GPU:0"), bytes(3, &line), names.concat()].concat())
}

#[test]
fn a_profile_of_jax_has_the_events_that_jax_reads() {
    let space = include_bytes!("../../../tests/data/xspace/jax_cpu.xplane.pb");
    let wanted: Vec<Value> = serde_json::from_str(include_str!("../../../tests/data/xspace/jax_cpu.json")).unwrap();
    let (events, written) = converted(space, usize::MAX);
    assert!(written.failure.is_none() && written.left_out == 0, "{:?}", written.failure);
    let mut found: Vec<Row> = timed(&events);
    let mut wanted: Vec<_> = wanted
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            let time = |key: &str| row[key].as_f64().unwrap();
            let row_name = format!("plugin {}: {}", text("plane"), text("line"));
            let (start, end) = (time("start_ns").floor(), (time("start_ns") + time("duration_ns")).floor());
            let begin = CLOCK.timeline + start as u64;
            (row_name, text("name").to_string(), begin, (end - start) as u64, row["stats"].clone())
        })
        .collect();
    assert_eq!(wanted.len(), 21);
    // In the order of their begin; JAX's file has that of their end.
    let key = |row: &Row| (row.0.clone(), row.2, u64::MAX - row.3, row.1.clone());
    wanted.sort_by_key(key);
    // Events that overlap have further rows: "python (2)".
    found.iter_mut().for_each(|row| row.0 = row.0.split(" (").next().unwrap().to_string());
    found.sort_by_key(key);
    assert_eq!(found, wanted);
}

#[test]
fn names_times_and_statistics_are_those_of_the_tables() {
    let flops = |value: Vec<u8>| [number(1, 10), value].concat();
    let events = [
        event(1, 2_000_000, 1_500_999, &[flops(number(3, u64::MAX)), [number(1, 12), number(3, 5)].concat()]),
        event(2, 1_000_000, 500_000, &[flops(number(4, -3i64 as u64))]),
        event(9, 4_000_500, 0, &[flops([&[0x11][..], &1.5f64.to_le_bytes()].concat())]),
        // Stands for several events, and has no time.
        bytes(4, &[number(1, 1), number(5, 100), number(3, 7)].concat()),
        event(1, 6_000_000, 1000, &[flops(text(5, "a \"b\"\n")), [number(1, 11), bytes(6, &[1, 2])].concat()]),
    ];
    let row = "plugin /device:GPU:0: Stream #7".to_string();
    let long = "%fusion.3 = f32[8] fusion(...)";
    let wanted = |base: u64| {
        vec![
            (row.clone(), "copy".to_string(), base + 1000, 500, json!({"flops": -3, "hlo_module": "jit_step"})),
            (row.clone(), "fusion.3".to_string(), base + 2000, 1500, json!({"flops": u64::MAX, "long_name": long})),
            (row.clone(), "event".to_string(), base + 4000, 0, json!({"flops": 1.5})),
            (
                row.clone(),
                "fusion.3".to_string(),
                base + 6000,
                1,
                json!({"flops": "a \"b\"\n", "hlo_module": "2 bytes", "long_name": long}),
            ),
        ]
    };
    // Times since 1970; since the begin of the profile; a line before the timeline was made.
    let unix = CLOCK.unix as u64;
    let (shown, written) = converted(&device(unix + 300, events.concat()), usize::MAX);
    assert_eq!(timed(&shown), wanted(CLOCK.timeline + 300));
    assert_eq!((written.events, written.left_out), (4, 0));
    let (shown, _) = converted(&device(300, events.concat()), usize::MAX);
    assert_eq!(timed(&shown), wanted(CLOCK.timeline + 300));
    let (shown, written) = converted(&device(unix - CLOCK.timeline - 2500, events.concat()), usize::MAX);
    let found: Vec<_> = timed(&shown).iter().map(|event| (event.2, event.3)).collect();
    assert_eq!(found, [(0, 1000), (1500, 0), (3500, 1)], "the second is cut, and the first left out");
    assert_eq!((written.events, written.left_out), (3, 1));
}

#[test]
fn a_name_for_display_is_the_only_name_where_the_other_is_missing() {
    let events = [event(3, 0, 1000, &[]), event(3, 2000, 1000, &[[number(1, 10), number(3, 5)].concat()])].concat();
    let (shown, _) = converted(&device(0, events), usize::MAX);
    let found: Vec<_> = timed(&shown).into_iter().map(|event| (event.1, event.4)).collect();
    assert_eq!(found, [("shown".to_string(), json!({})), ("shown".to_string(), json!({"flops": 5}))]);
}

#[test]
fn events_that_overlap_are_in_rows_of_their_own() {
    // The second begins within the first and ends after it; the third is within the first; the fourth follows.
    let times = [(0, 10_000), (5_000, 10_000), (6_000, 2_000), (20_000, 1_000)];
    let events: Vec<u8> = times.iter().flat_map(|&(offset, duration)| event(2, offset, duration, &[])).collect();
    let (shown, _) = converted(&device(0, events), usize::MAX);
    let found: Vec<_> = timed(&shown).iter().map(|event| (event.0.clone(), event.2 - CLOCK.timeline)).collect();
    let [first, second] = ["plugin /device:GPU:0: Stream #7", "plugin /device:GPU:0: Stream #7 (2)"].map(String::from);
    assert_eq!(found, [(first.clone(), 0), (second, 5), (first.clone(), 6), (first, 20)]);
    // A hundred that overlap each other: there are 32 rows.
    let events: Vec<u8> = (0..100).flat_map(|i| event(2, i * 1000, 1_000_000, &[])).collect();
    let (shown, written) = converted(&device(0, events), usize::MAX);
    assert_eq!((timed(&shown).len(), written.events, written.left_out), (32, 32, 68));
}

#[test]
fn a_profile_that_is_too_long_is_cut_after_whole_events() {
    let events: Vec<u8> = (0..1000).flat_map(|i| event(1, i * 1000, 10, &[])).collect();
    let space = [device(0, events), text(2, "an error"), text(3, &"w".repeat(5000))].concat();
    let (all, written) = converted(&space, usize::MAX);
    assert_eq!((written.events, written.left_out, all.len()), (1000, 0, 1002));
    assert_eq!(written.messages, ["an error".to_string(), format!("{}...", "w".repeat(400))]);
    let (cut, written) = converted(&space, 20_000);
    assert_eq!(written.events + written.left_out, 1000);
    assert_eq!(cut.len() as u64, written.events + 2);
    assert!((50..200).contains(&written.events), "{}", written.events);
    assert_eq!(timed(&cut)[..], timed(&all)[..cut.len() - 2]);
    // Not even the names of the rows have room.
    let (none, written) = converted(&space, 30);
    assert!(none.is_empty() && written.left_out == 1000);
    let long = [text(2, "plane"), bytes(3, &[text(2, &"ä".repeat(900)), event(1, 0, 0, &[])].concat())].concat();
    let (named, _) = converted(&bytes(1, &long), usize::MAX);
    assert_eq!(timed(&named)[0].0, format!("plugin plane: {}...", "ä".repeat(200)));
}

#[test]
fn what_is_malformed_is_an_error_and_nothing_panics() {
    let good = include_bytes!("../../../tests/data/xspace/jax_cpu.xplane.pb");
    let hand = device(0, (0..20).flat_map(|i| event(i % 3, i * 1000, 10, &[number(1, 10)])).collect());
    let mut failed = 0;
    for space in [&good[..], &hand] {
        for end in 0..space.len() {
            failed += usize::from(converted(&space[..end], 1 << 20).1.failure.is_some());
        }
        let mut random = 1u64;
        for _ in 0..5000 {
            let mut bad = space.to_vec();
            for _ in 0..3 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (random >> 33) as usize % bad.len();
                bad[at] = (random >> 24) as u8;
            }
            failed += usize::from(converted(&bad, 1 << 20).1.failure.is_some());
        }
    }
    assert!(failed > 2000, "{failed}");
    // A length of 2^63 in an event, a number without an end in a line, times beyond all clocks, in turn.
    let huge: Vec<u8> = [&[0x22, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1][..], &[1]].concat();
    assert!(converted(&device(0, bytes(4, &huge)), usize::MAX).1.failure.is_some());
    let endless = [event(1, 0, 1, &[]), vec![0x48, 0xFF]].concat();
    let (shown, written) = converted(&device(0, endless), usize::MAX);
    assert_eq!(timed(&shown).len(), 1, "the events before remain");
    assert!(written.failure.unwrap().message.contains("does not end"));
    let extreme = [i64::MAX, i64::MIN, -1].map(|time| event(1, time as u64, i64::MAX as u64, &[])).concat();
    for start in [0, u64::MAX, i64::MAX as u64, i64::MIN as u64] {
        converted(&device(start, extreme.clone()), usize::MAX);
    }
}
