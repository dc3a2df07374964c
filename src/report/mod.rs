//! The report of an environment: one HTML file that shows what steps consist of, where time goes, why programs were
//! compiled, and what holds memory. It needs no network.
//!
//! The page (`assets/report/page.html`) is built by `tools/report/build.sh`; its data is one JSON document, which is
//! collected here: `programs` has the programs with their graphs, `live` the tensors.

mod graphs;
mod live;
mod programs;

use crate::env::Environment;
use base::error::Result;
use base::io::write_durably;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The page with a place for the data.
const PAGE: &str = include_str!("../../assets/report/page.html");

/// The text of the page that is replaced by the data.
const PLACE: &str = "{\"lazyxla\":\"report\"}";

/// Number of the form of the document, which the page checks.
const FORM: u32 = 1;

/// Writes the report of an environment to a file, whole or not at all.
pub fn write(environment: &Environment, path: &Path) -> Result<()> {
    write_durably(path, page(&document(environment)).as_bytes())
}

/// The page with a document.
fn page(document: &Value) -> String {
    PAGE.replacen(PLACE, &embedded(&document.to_string()), 1)
}

/// JSON that can stand in a script element: no text in it ends the element or begins a comment, and none is a line
/// break for JavaScript.
fn embedded(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text.push_str(&format!("\\u{:04x}", c as u32)),
            c => text.push(c),
        }
    }
    text
}

/// Collects the document of an environment, of which other threads may make steps meanwhile.
fn document(environment: &Environment) -> Value {
    let written = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (programs, graphs) = programs::collect(environment);
    json!({
        "form": FORM,
        "written": written.as_secs(),
        "metrics": environment.metrics(),
        "compiles": environment.compile_log(),
        "steps": programs::steps(environment),
        "programs": programs,
        "graphs": graphs,
        "tensors": live::collect(environment),
        "events": environment.kept_events(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_one_place_for_the_data() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
        // The name of a namespace, which is not loaded.
        let texts = PAGE.replace("http://www.w3.org/2000/svg", "");
        assert!(!texts.contains("http:") && !texts.contains("https:"), "the page must need no network");
    }

    #[test]
    fn texts_cannot_end_the_script() {
        let hostile = "</script><!--<script>alert(1)\u{2028}&amp;\"\\";
        let text = embedded(&json!({ "label": hostile }).to_string());
        assert!(!text.contains(['<', '>', '&', '\u{2028}']));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["label"], hostile);
        assert!(page(&json!({ "label": PLACE })).contains(r#"\"lazyxla\":"#));
    }
}
