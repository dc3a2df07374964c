//! Parses the header of a safetensors file. serde parses the JSON, and the safetensors crate validates offsets and
//! shapes; the contents are used only after that.

use crate::allocation::probe;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Name reserved by the format for metadata of the whole file.
pub const METADATA_NAME: &str = "__metadata__";

/// Upper bound on the memory that a parsed header takes per byte: the two bytes `0,` of a list become eight in a vector
/// that may be reallocated at twice its size. A tensor's entry has 50 bytes and takes 400.
const MEMORY_PER_BYTE: usize = 16;

/// Metadata of the whole file: text under keys.
pub type About = BTreeMap<String, String>;

/// A list of tensors with unique names, and the metadata of the file.
struct Tensors(Vec<(String, TensorInfo)>, About);

/// Parses a header. Returns its content, or a message for an invalid header. Fails with RESOURCE_EXHAUSTED if there is
/// not enough memory.
pub fn parse(json: &[u8]) -> crate::error::Result<Result<(Metadata, About), String>> {
    // serde aborts the process if an allocation fails. So the largest amount of memory that it may need is allocated
    // here as a test, and freed.
    probe(json.len().saturating_mul(MEMORY_PER_BYTE), "the header of a file")?;
    let parsed: Result<Tensors, _> = serde_json::from_slice(json);
    Ok(parsed.map_err(|e| e.to_string()).and_then(|Tensors(mut tensors, about)| {
        tensors.sort_by_key(|(_, info)| info.data_offsets);
        Metadata::new(None, tensors).map(|metadata| (metadata, about)).map_err(|e| e.to_string())
    }))
}

/// Returns the header of tensors, given in the order of their offsets, and of the metadata of the file, which comes
/// first and is sorted by its keys. The crate's own metadata has no order.
pub fn written(tensors: Vec<(String, TensorInfo)>, about: &About) -> Result<Vec<u8>, String> {
    let is_empty = tensors.is_empty();
    let metadata = Metadata::new(None, tensors).map_err(|e| e.to_string())?;
    let tensors = serde_json::to_vec(&metadata).map_err(|e| e.to_string())?;
    let about = serde_json::to_vec(about).map_err(|e| e.to_string())?;
    let between: &[u8] = if is_empty { b"" } else { b"," };
    Ok([format!("{{{METADATA_NAME:?}:").as_bytes(), &about, between, &tensors[1..]].concat())
}

impl<'de> Deserialize<'de> for Tensors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tensors, D::Error> {
        deserializer.deserialize_map(TensorsVisitor)
    }
}

struct TensorsVisitor;

impl<'de> Visitor<'de> for TensorsVisitor {
    type Value = Tensors;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tensors, A::Error> {
        let mut tensors = Vec::new();
        let mut about: Option<About> = None;
        while let Some(name) = map.next_key::<String>()? {
            if name != METADATA_NAME {
                tensors.push((name, map.next_value()?));
            } else if about.is_some() {
                return Err(A::Error::custom(format_args!("{METADATA_NAME:?} is there twice")));
            } else {
                about = Some(map.next_value::<Option<About>>()?.unwrap_or_default());
            }
        }
        let mut names = HashSet::with_capacity(tensors.len());
        match tensors.iter().find(|(name, _)| !names.insert(name)) {
            Some((name, _)) => {
                Err(A::Error::custom(format_args!("tensor {} is there twice", crate::error::quoted(name))))
            }
            None => Ok(Tensors(tensors, about.unwrap_or_default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(json: &str) -> Result<Vec<String>, String> {
        parse(json.as_bytes()).unwrap().map(|(metadata, _)| metadata.offset_keys())
    }

    #[test]
    fn good_headers_are_taken_and_bad_ones_are_not() {
        let tensor =
            |from: u64, to: u64| format!(r#"{{"dtype":"U8","shape":[{}],"data_offsets":[{from},{to}]}}"#, to - from);
        let (first, second, empty) = (tensor(0, 3), tensor(3, 5), tensor(3, 3));
        assert_eq!(names(&format!(r#"{{"b":{second},"a":{first}}}  "#)).unwrap(), ["a", "b"]);
        assert_eq!(names(&format!(r#"{{"__metadata__":{{"x":"y"}},"a":{first}}}"#)).unwrap(), ["a"]);
        assert_eq!(names("{}").unwrap().len(), 0);
        for bad in [
            format!(r#"{{"a":{first},"e":{empty},"e":{empty}}}"#),
            format!(r#"{{"a":{first},"a":{first}}}"#),
            format!(r#"{{"a":{first},"b":{first}}}"#),
            format!(r#"{{"b":{second}}}"#),
            format!(r#"{{"a":{first}}}x"#),
            format!(r#"{{"__metadata__":{{}},"__metadata__":{{}},"a":{first}}}"#),
            format!(r#"{{"__metadata__":null,"__metadata__":{{}},"a":{first}}}"#),
            r#"{"__metadata__":{"x":1}}"#.to_string(),
            r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}}"#.to_string(),
            r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}}"#.to_string(),
            r#"{"a":{"dtype":"F64","shape":[4611686018427387904,2],"data_offsets":[0,0]}}"#.to_string(),
            r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,2]}}"#.to_string(),
            r#"[]"#.to_string(),
        ] {
            assert!(names(&bad).is_err(), "{bad}");
        }
    }
    #[test]
    fn metadata_is_written_in_the_order_of_its_keys_and_read() {
        let about: About = [("z", "\u{e9}\"\\\n\u{1}"), ("", ""), ("a", "{}")]
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .into();
        let info = TensorInfo { dtype: safetensors::Dtype::U8, shape: vec![3], data_offsets: (0, 3) };
        for tensors in [vec![], vec![("t".to_string(), info)]] {
            let names: Vec<String> = tensors.iter().map(|(name, _)| name.clone()).collect();
            let json = written(tensors, &about).unwrap();
            assert!(json.starts_with(br#"{"__metadata__":{"":"","a":"{}","z":"#));
            let (metadata, read) = parse(&json).unwrap().unwrap();
            assert_eq!((metadata.offset_keys(), &read), (names, &about));
        }
        assert_eq!(parse(br#"{"__metadata__":null}"#).unwrap().unwrap().1.len(), 0);
        assert_eq!(parse(br#"{"__metadata__":{"a":"1","a":"2"}}"#).unwrap().unwrap().1["a"], "2");
    }
}
