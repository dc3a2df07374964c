//! Text of attributes of Shardy. Its encodings in bytecode are newer than many readers; all read its text.

use crate::{Attribute, Dictionary, Record};
use base::error;
use base::error::Result;
use std::fmt::Write;

/// Returns the text of an attribute.
pub fn record(record: &Record) -> Result<String> {
    let fields = &record.fields;
    let text = match &*record.name {
        "sdy.mesh" => mesh(fields).map(|mesh| format!("#sdy.mesh{mesh}")),
        "sdy.sharding" => sharding(fields).map(|sharding| format!("#sdy.sharding{sharding}")),
        "sdy.sharding_per_value" => {
            listed(fields.get("shardings"), sharding).map(|all| format!("#sdy.sharding_per_value<[{all}]>"))
        }
        "sdy.manual_axes" => names(fields.get("value")).map(|names| format!("#sdy<manual_axes{{{names}}}>")),
        _ => None,
    };
    text.ok_or_else(|| error!(Unimplemented, "MLIR bytecode: the attribute #{}<...> is not written", record.name))
}

/// Returns `<["x"=2, "y"=4], device_ids=[0, 1]>`.
fn mesh(fields: &Dictionary) -> Option<String> {
    let axis = |axis: &Dictionary| Some(format!("{}={}", name(axis.get("name")?)?, integer(axis.get("size")?)?));
    let mut text = format!("<[{}]", listed(fields.get("axes"), axis)?);
    if let Some(Attribute::Integers(devices)) = fields.get("device_ids")
        && !devices.is_empty()
    {
        let devices: Vec<String> = devices.iter().map(i64::to_string).collect();
        write!(text, ", device_ids=[{}]", devices.join(", ")).ok()?;
    }
    Some(text + ">")
}

/// Returns `<@mesh, [{"x"}, {?}], replicated={"y"}>`.
fn sharding(fields: &Dictionary) -> Option<String> {
    let mesh = match fields.get("mesh_or_ref")? {
        Attribute::Symbol(parts) => format!("@{}", symbol(parts.first()?)),
        Attribute::Record(record) => format!("mesh{}", mesh(&record.fields)?),
        _ => return None,
    };
    let mut text = format!("<{mesh}, [{}]", listed(fields.get("dim_shardings"), dim_sharding)?);
    for (field, keyword) in [("replicated_axes", "replicated"), ("unreduced_axes", "unreduced")] {
        let axes = listed(fields.get(field), axis)?;
        if !axes.is_empty() {
            write!(text, ", {keyword}={{{axes}}}").ok()?;
        }
    }
    match fields.get("reduction_op").map(integer) {
        None | Some(Some(0)) => Some(text + ">"),
        _ => None,
    }
}

/// Returns `{"x", "y":(1)2, ?}p1`.
fn dim_sharding(fields: &Dictionary) -> Option<String> {
    let axes = listed(fields.get("axes"), axis)?;
    let open = match fields.get("is_closed")? {
        Attribute::Bool(true) => "",
        _ if axes.is_empty() => "?",
        _ => ", ?",
    };
    let priority = fields.get("priority").map(|priority| integer(priority).map(|priority| format!("p{priority}")));
    Some(format!("{{{axes}{open}}}{}", priority.unwrap_or_else(|| Some(String::new()))?))
}

/// Returns `"x"` or `"x":(1)2`.
fn axis(fields: &Dictionary) -> Option<String> {
    let name = name(fields.get("name")?)?;
    let Some(part) = fields.get("sub_axis_info") else { return Some(name) };
    let Attribute::Record(part) = part else { return None };
    let (before, size) = (integer(part.fields.get("pre_size")?)?, integer(part.fields.get("size")?)?);
    Some(format!("{name}:({before}){size}"))
}

/// Returns a list of records, with commas between them; empty for an absent one.
fn listed(list: Option<&Attribute>, text: impl Fn(&Dictionary) -> Option<String>) -> Option<String> {
    let Some(Attribute::Array(list)) = list else { return list.is_none().then(String::new) };
    let texts = list.iter().map(|item| match item {
        Attribute::Record(record) => text(&record.fields),
        _ => None,
    });
    Some(texts.collect::<Option<Vec<_>>>()?.join(", "))
}

fn names(list: Option<&Attribute>) -> Option<String> {
    let Some(Attribute::Array(list)) = list else { return None };
    Some(list.iter().map(name).collect::<Option<Vec<_>>>()?.join(", "))
}

fn integer(value: &Attribute) -> Option<i64> {
    if let Attribute::Integer(value, _) = value { Some(*value) } else { None }
}

/// Returns a name in quotes. Other characters than printable ones of ASCII are hexadecimal.
fn name(name: &Attribute) -> Option<String> {
    let Attribute::String(bytes) = name else { return None };
    Some(quoted(bytes))
}

fn quoted(bytes: &[u8]) -> String {
    let escaped = bytes.iter().map(|&byte| match byte {
        b' '..=b'~' if byte != b'"' && byte != b'\\' => char::from(byte).to_string(),
        _ => format!("\\{byte:02X}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Returns the name of a mesh, in quotes if it is not an identifier.
fn symbol(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.');
    match name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_plain) {
        true => name.to_string(),
        false => quoted(name.as_bytes()),
    }
}
