//! Options that a caller passes to a plugin's client: a JSON object of named values.

use base::error;
use base::error::{Error, Result, quoted, shortened};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;

/// Option of CPU plugins, whose default is four devices or one.
pub const DEVICE_COUNT: &str = "cpu_device_count";
/// Number of this process, for plugins whose clients run in several processes.
pub const NODE_ID: &str = "node_id";
/// Number of processes, likewise.
pub const NUM_NODES: &str = "num_nodes";

/// Expected form of the text, for error messages.
const WANTED: &str = "want a JSON object of options";
/// Expected form of a value, for error messages.
const WANTED_VALUE: &str = "want a string, an integer, a float, true, false or a list of integers";

/// Maximum number of bytes of a value in a message.
const MOST_BYTES_OF_A_VALUE: usize = 64;

/// Value of an option, of one of the types of PJRT's named values.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// UTF-8 text (PJRT: kString).
    Text(String),
    /// An int64.
    Integer(i64),
    /// A list of int64.
    Integers(Vec<i64>),
    /// Number of 32 bits (PJRT: kFloat).
    Float(f32),
    /// Truth value (PJRT: kBool).
    Flag(bool),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Text(text) => f.write_str(&quoted(text)),
            OptionValue::Integer(number) => write!(f, "{number}"),
            OptionValue::Integers(numbers) => f.write_str(&shortened(&format!("{numbers:?}"), MOST_BYTES_OF_A_VALUE)),
            OptionValue::Float(number) => write!(f, "{number:?}"),
            OptionValue::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

/// Options of a client, in the caller's order. Names are distinct.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginOptions {
    named: Vec<(String, OptionValue)>,
}

impl PluginOptions {
    /// Parses a JSON object. Errors say at which byte the text is wrong. Options that the library knows are checked: a
    /// plugin may end the process if one of them has a wrong type.
    pub fn parse(text: &str) -> Result<PluginOptions> {
        let rest = text.trim_start_matches([' ', '\t', '\n', '\r']);
        if !rest.starts_with('{') {
            let given = rest.chars().next().map_or("the end of the text".to_string(), |c| format!("{c:?}"));
            return Err(error!(InvalidArgument, "byte {}: it is {given}; {WANTED}", text.len() - rest.len()));
        }
        let Pairs(pairs): Pairs = serde_json::from_str(text).map_err(|e| syntax(text, &e))?;
        let mut options = PluginOptions::default();
        let mut names = HashSet::new();
        for (name, raw) in pairs {
            // The value was borrowed from the text.
            let byte = raw.get().as_ptr().addr() - text.as_ptr().addr();
            let wrong = |reason: String| error!(InvalidArgument, "byte {byte}: {} {reason}", quoted(&name));
            let value = value_of(raw.get()).map_err(wrong)?;
            if !names.insert(name.clone()) {
                return Err(wrong("is given twice".to_string()));
            }
            check_known(&name, &value).map_err(wrong)?;
            options.named.push((name, value));
        }
        Ok(options)
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.named.iter().map(|(name, value)| (name.as_str(), value))
    }

    fn get(&self, name: &str) -> Option<&OptionValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Number of devices of a CPU plugin, if it is given.
    pub fn device_count(&self) -> Option<usize> {
        match self.get(DEVICE_COUNT) {
            Some(&OptionValue::Integer(number)) => usize::try_from(number).ok(),
            _ => None,
        }
    }

    /// Returns an error if an option is given that the library itself sets: the number of devices if `device_count` is
    /// not 0, and, if several processes run the program, the options that describe them.
    pub fn check_against(&self, device_count: usize, has_processes: bool) -> Result<()> {
        let set = [
            (DEVICE_COUNT, "device_count", device_count != 0),
            (NODE_ID, "process_id", has_processes),
            (NUM_NODES, "process_count", has_processes),
        ];
        match set.into_iter().find(|&(name, _, is_set)| is_set && self.get(name).is_some()) {
            None => Ok(()),
            Some((name, field, _)) => Err(error!(
                InvalidArgument,
                "options.plugin_options: {name:?} is given, and options.{field} as well; want one of the two"
            )),
        }
    }

    /// Bytes that differ whenever the options do. They do not depend on the order. Empty if there are no options.
    pub fn fingerprint(&self) -> Vec<u8> {
        if self.named.is_empty() {
            return Vec::new();
        }
        let mut named: Vec<&(String, OptionValue)> = self.named.iter().collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        format!("{named:?}").into_bytes()
    }
}

/// Names and JSON texts of the members of an object, also of names that are there twice.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Pairs<'de>, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of options")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Pairs<'de>, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry::<String, &'de RawValue>()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

/// Error of a text that is not JSON, with the offset of the first wrong byte.
fn syntax(text: &str, error: &serde_json::Error) -> Error {
    let lines: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let byte = if error.is_eof() { text.len() } else { (lines + error.column()).saturating_sub(1) };
    let words = error.to_string();
    let reason = words.rsplit_once(" at line ").map_or(words.as_str(), |(reason, _)| reason);
    error!(InvalidArgument, "byte {byte}: {reason}; {WANTED}")
}

/// Converts the JSON text of one value, or returns what is wrong with it.
fn value_of(raw: &str) -> std::result::Result<OptionValue, String> {
    let shown = shortened(raw, MOST_BYTES_OF_A_VALUE);
    match raw.bytes().next() {
        Some(b'"') => {
            serde_json::from_str(raw).map(OptionValue::Text).map_err(|e| format!("is not a valid string: {e}"))
        }
        Some(b't' | b'f') => Ok(OptionValue::Flag(raw == "true")),
        Some(b'[') => integers_of(raw).map(OptionValue::Integers),
        Some(b'{') => Err(format!("is an object; {WANTED_VALUE}")),
        Some(b'-' | b'0'..=b'9') if raw.contains(['.', 'e', 'E']) => match raw.parse::<f32>() {
            Ok(number) if number.is_finite() => Ok(OptionValue::Float(number)),
            _ => Err(format!("is {shown}; want a number that a float of 32 bits can represent")),
        },
        Some(b'-' | b'0'..=b'9') => {
            raw.parse::<i64>().map(OptionValue::Integer).map_err(|_| format!("is {shown}; want an integer of 64 bits"))
        }
        _ => Err(format!("is {shown}; {WANTED_VALUE}")),
    }
}

fn integers_of(raw: &str) -> std::result::Result<Vec<i64>, String> {
    let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(|e| format!("is not a valid list: {e}"))?;
    let integer = |(index, item): (usize, &&RawValue)| {
        let shown = shortened(item.get(), MOST_BYTES_OF_A_VALUE);
        item.get().parse::<i64>().map_err(|_| format!("has {shown} at index {index}; want integers of 64 bits"))
    };
    items.iter().enumerate().map(integer).collect()
}

/// Checks an option that the library itself sets in other cases. CPU plugins end the process if the number of devices
/// is of another type or negative.
fn check_known(name: &str, value: &OptionValue) -> std::result::Result<(), String> {
    let least = match name {
        DEVICE_COUNT | NUM_NODES => 1,
        NODE_ID => 0,
        _ => return Ok(()),
    };
    match value {
        OptionValue::Integer(number) if *number >= least => Ok(()),
        other => Err(format!("is {other}; want an integer, {least} or more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        PluginOptions::parse(text).unwrap_err().message.to_string()
    }

    #[test]
    fn values_have_the_types_of_the_json() {
        let text =
            r#" {"a": "x\n", "b": -7, "c": [1, -2], "d": 0.5, "e": true, "f": false, "g": [], "h": 1e3, "": ""}"#;
        let options = PluginOptions::parse(text).unwrap();
        let values: Vec<(&str, OptionValue)> = options.iter().map(|(name, value)| (name, value.clone())).collect();
        let wanted = [
            ("a", OptionValue::Text("x\n".to_string())),
            ("b", OptionValue::Integer(-7)),
            ("c", OptionValue::Integers(vec![1, -2])),
            ("d", OptionValue::Float(0.5)),
            ("e", OptionValue::Flag(true)),
            ("f", OptionValue::Flag(false)),
            ("g", OptionValue::Integers(vec![])),
            ("h", OptionValue::Float(1000.0)),
            ("", OptionValue::Text(String::new())),
        ];
        assert_eq!(values, wanted);
        assert_eq!(PluginOptions::parse("{}").unwrap(), PluginOptions::default());
        let most = PluginOptions::parse(r#"{"n": 9223372036854775807}"#).unwrap();
        assert_eq!(most.get("n"), Some(&OptionValue::Integer(i64::MAX)));
    }

    #[test]
    fn text_that_is_no_json_is_refused_at_its_byte() {
        let wanted = |byte: usize, reason: &str| format!("byte {byte}: {reason}; {WANTED}");
        assert_eq!(refused(""), wanted(0, "it is the end of the text"));
        assert_eq!(refused("  [1]"), wanted(2, "it is '['"));
        assert_eq!(refused("ü"), wanted(0, "it is 'ü'"));
        assert_eq!(refused(r#"{"a": 1,}"#), wanted(8, "trailing comma"));
        assert_eq!(refused("{\"a\": 1,\n\n \"b\" 2}"), wanted(15, "expected `:`"));
        assert_eq!(refused(r#"{"ü" 1}"#), wanted(6, "expected `:`"));
        assert_eq!(refused("{a: 1}"), wanted(1, "key must be a string"));
        assert_eq!(refused(r#"{"a": 1"#), wanted(7, "EOF while parsing an object"));
        assert_eq!(refused(r#"{"a": 1} x"#), wanted(9, "trailing characters"));
        assert!(refused(r#"{"a": tru}"#).starts_with("byte "));
        assert!(refused(r#"{"a": 01}"#).starts_with("byte "));
    }

    #[test]
    fn values_that_no_option_has_are_refused_by_name() {
        assert_eq!(refused(r#"{"a": 1, "b": {"c": 2}}"#), format!("byte 14: \"b\" is an object; {WANTED_VALUE}"));
        assert_eq!(refused(r#"{"a": null}"#), format!("byte 6: \"a\" is null; {WANTED_VALUE}"));
        assert_eq!(refused(r#"{"a": [1, 2.0]}"#), "byte 6: \"a\" has 2.0 at index 1; want integers of 64 bits");
        assert_eq!(refused(r#"{"a": [[1]]}"#), "byte 6: \"a\" has [1] at index 0; want integers of 64 bits");
        assert_eq!(
            refused(r#"{"a": 9223372036854775808}"#),
            "byte 6: \"a\" is 9223372036854775808; want an integer of 64 bits"
        );
        assert_eq!(
            refused(r#"{"a": 1e39}"#),
            "byte 6: \"a\" is 1e39; want a number that a float of 32 bits can represent"
        );
        assert!(refused(r#"{"a": "\ud800"}"#).starts_with("byte 6: \"a\" is not a valid string: "));
        assert_eq!(refused(r#"{"a": 1, "b": 2, "a": 3}"#), "byte 22: \"a\" is given twice");
        let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(refused(&deep).starts_with("byte 6: \"a\" has [["));
    }

    #[test]
    fn options_that_the_library_sets_are_checked() {
        for (text, wanted) in [
            (r#"{"cpu_device_count": "2"}"#, "byte 21: \"cpu_device_count\" is \"2\"; want an integer, 1 or more"),
            (r#"{"cpu_device_count": 0}"#, "byte 21: \"cpu_device_count\" is 0; want an integer, 1 or more"),
            (r#"{"cpu_device_count": 2.0}"#, "byte 21: \"cpu_device_count\" is 2.0; want an integer, 1 or more"),
            (r#"{"cpu_device_count": [2]}"#, "byte 21: \"cpu_device_count\" is [2]; want an integer, 1 or more"),
            (r#"{"node_id": -1}"#, "byte 12: \"node_id\" is -1; want an integer, 0 or more"),
            (r#"{"num_nodes": true}"#, "byte 14: \"num_nodes\" is true; want an integer, 1 or more"),
        ] {
            assert_eq!(refused(text), wanted);
        }
        let options = PluginOptions::parse(r#"{"cpu_device_count": 3, "node_id": 0}"#).unwrap();
        assert_eq!(options.device_count(), Some(3));
        assert!(options.check_against(0, false).is_ok());
        let twice = options.check_against(2, false).unwrap_err().message.clone();
        assert!(twice.contains("\"cpu_device_count\" is given, and options.device_count as well"), "{twice}");
        let twice = options.check_against(0, true).unwrap_err().message.clone();
        assert!(twice.contains("\"node_id\" is given, and options.process_id as well"), "{twice}");
    }

    #[test]
    fn fingerprints_tell_options_apart_but_not_their_order() {
        let of = |text: &str| PluginOptions::parse(text).unwrap().fingerprint();
        assert!(of("{}").is_empty());
        assert_eq!(of(r#"{"a": 1, "b": 2}"#), of(r#"{"b": 2, "a": 1}"#));
        assert_ne!(of(r#"{"a": 1}"#), of(r#"{"a": 1.0}"#));
        assert_ne!(of(r#"{"a": 1}"#), of(r#"{"a": "1"}"#));
    }
}
