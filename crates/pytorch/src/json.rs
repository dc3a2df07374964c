//! JSON as PyTorch writes it: infinities and NaN of PyTorch 2.4 to 2.6 stand bare, where JSON has no such numbers.

use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// Reads JSON.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let malformed = |e: serde_json::Error| Error::invalid(format!("it is not JSON of a program: {e}"));
    // Only old files have bare words, and to look for them takes as long as to read the rest.
    serde_json::from_slice(bytes).or_else(|_| serde_json::from_slice(&with_texts(bytes))).map_err(malformed)
}

/// Puts bare `Infinity`, `-Infinity` and `NaN` into quotes, as newer versions write them.
fn with_texts(bytes: &[u8]) -> Cow<'_, [u8]> {
    const BARE: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    let (mut made, mut copied, mut at) = (Vec::new(), 0, 0);
    let mut in_text = false;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            b'-' | b'I' | b'N' if !in_text => {
                if let Some(word) = BARE.iter().find(|word| bytes[at..].starts_with(word)) {
                    made.extend_from_slice(&bytes[copied..at]);
                    made.push(b'"');
                    made.extend_from_slice(word);
                    made.push(b'"');
                    at += word.len();
                    copied = at;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(bytes);
    }
    made.extend_from_slice(&bytes[copied..]);
    Cow::Owned(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn bare_infinities_become_texts() {
        let read = |text: &str| read::<Value>(text.as_bytes());
        let given = r#"{"a": -Infinity, "b": [NaN, Infinity, -1], "c\"NaN": "Infinity, NaN \\"}"#;
        let wanted = json!({"a": "-Infinity", "b": ["NaN", "Infinity", -1], "c\"NaN": "Infinity, NaN \\"});
        assert_eq!(read(given).unwrap(), wanted);
        assert_eq!(read(r#"[1, "x"]"#).unwrap(), json!([1, "x"]));
        for damaged in ["", "{", "\"\\", "[-]", "[Inf]", "{\"a\": NaN"] {
            assert!(read(damaged).is_err(), "{damaged}");
        }
    }
}
