//! An archive with a secret in every field that can hold any text, made from the documented schemas: a new field is covered.

use archive::frame::Encoder;
use archive::message::Message;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// `audit` makes a run an audit, which is refused; `published` is of publications.
const LEFT_OUT: [&str; 2] = ["audit", "published"];
const DEPTH_MAX: usize = 30;

/// Writes the archive. Returns each secret with the place where it is.
pub fn archive(folder: &Path) -> BTreeMap<String, String> {
    let mut planter = Planter::default();
    let manifest = planter.document("manifest");
    let explanations = planter.document("explanations");
    let recorded = planter.document("recorded");
    let mut encoder = Encoder::default();
    let mut stream = Vec::new();
    for message in planter.variants("message") {
        let message: Message =
            serde_json::from_value(message.clone()).unwrap_or_else(|error| panic!("{error}: {message}"));
        stream.extend(encoder.message(&message));
    }
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    fs::write(folder.join("explanations.json"), explanations.to_string()).unwrap();
    fs::write(folder.join("recorded.json"), recorded.to_string()).unwrap();
    fs::write(folder.join("stream.tardy"), stream).unwrap();
    for name in [
        "spikes/0001/flight.bin",
        "tracer/0001.txt",
        "storage/0.pages",
        "storage/description.json",
        "storage/fio.json",
        "console.log",
        "report.html",
        "pins.json",
    ] {
        let secret = planter.secret(name);
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, secret).unwrap();
    }
    planter.secrets
}

/// Everything that the files of an archive hold.
pub fn bytes_of(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        bytes.extend(if path.is_dir() { bytes_of(&path) } else { fs::read(path).unwrap() });
    }
    bytes
}

#[derive(Default)]
struct Planter {
    secrets: BTreeMap<String, String>,
    definitions: Value,
}

impl Planter {
    fn schema(&mut self, name: &str) -> Value {
        let path = super::repository_path(format!("docs/reference/schemas/{name}.schema.json"));
        let schema: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        self.definitions = schema["$defs"].clone();
        schema
    }

    fn document(&mut self, name: &str) -> Value {
        let schema = self.schema(name);
        self.value(&schema, name, 0)
    }

    /// A value of each variant of a document.
    fn variants(&mut self, name: &str) -> Vec<Value> {
        let schema = self.schema(name);
        schema["oneOf"].as_array().unwrap().iter().map(|variant| self.value(variant, name, 0)).collect()
    }

    /// A text that has a secret, in one of the forms in which targets write them.
    fn secret(&mut self, place: &str) -> String {
        let number = self.secrets.len();
        let (secret, text) = match number % 10 {
            0 => (format!("zq{number}alice"), format!("zq{number}alice")),
            1 => (format!("10.{}.{}.77", 100 + number / 200, 1 + number % 200), String::new()),
            2 => (format!("zq{number}robot"), format!("task zq{number}robot-41 held the CPU")),
            3 => (format!("srv/zq{number}/motor"), format!("/srv/zq{number}/motor")),
            4 => (format!("02:42:ac:{:02x}:{:02x}:99", number / 200, number % 200), String::new()),
            // A module that Linux does not have, and threads that a user called like those of the kernel.
            5 => (
                format!("zq{number}_isr"),
                format!("masked in zq{number}_isr.isra.0+0x1c/0x40, called by do_writepages"),
            ),
            6 => (format!("zq{number}drv"), format!("handle_irq_event [zq{number}drv]")),
            7 => (format!("zq{number}work"), format!("kworker/u8:2-zq{number}work")),
            8 => (format!("zq{number}axis"), format!("irq/45-zq{number}axis-88")),
            _ => (format!("zq{number}\u{fc}ber"), format!("(zq{number}\u{fc}ber): late")),
        };
        let text = if text.is_empty() { secret.clone() } else { text };
        assert!(self.secrets.insert(format!("{place} #{number}"), secret).is_none());
        text
    }

    fn value(&mut self, schema: &Value, place: &str, depth: usize) -> Value {
        assert!(depth < DEPTH_MAX, "{place} contains itself");
        if let Some(name) = schema["$ref"].as_str() {
            let definition = self.definitions[name.rsplit('/').next().unwrap()].clone();
            return self.value(&definition, place, depth + 1);
        }
        if let Some(fixed) = schema.get("const").or_else(|| schema["enum"].as_array().and_then(|of| of.first())) {
            return fixed.clone();
        }
        if let Some(of) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
            let of = of.as_array().unwrap();
            return self.value(of.iter().find(|one| one["type"] != "null").unwrap(), place, depth + 1);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").unwrap().clone(),
            kind => kind.clone(),
        };
        match kind.as_str().unwrap_or_else(|| panic!("{place}: {schema}")) {
            "string" => self.secret(place).into(),
            "boolean" => false.into(),
            "integer" => 1.into(),
            "number" => json!(1.5),
            "array" => self.array(schema, place, depth),
            "object" => self.object(schema, place, depth),
            other => panic!("{place}: {other}"),
        }
    }

    /// One element, or one of each variant.
    fn array(&mut self, schema: &Value, place: &str, depth: usize) -> Value {
        if let Some(items) = schema["prefixItems"].as_array() {
            return items.iter().map(|item| self.value(item, place, depth + 1)).collect();
        }
        let items = &schema["items"];
        let name = items["$ref"].as_str().and_then(|name| name.rsplit('/').next());
        let definition = name.map_or(items.clone(), |name| self.definitions[name].clone());
        match definition["oneOf"].as_array() {
            Some(variants) => variants.iter().map(|variant| self.value(variant, place, depth + 1)).collect(),
            None => vec![self.value(items, place, depth + 1)].into(),
        }
    }

    fn object(&mut self, schema: &Value, place: &str, depth: usize) -> Value {
        let mut members = Map::new();
        for (name, of) in schema["properties"].as_object().into_iter().flatten() {
            if !LEFT_OUT.contains(&name.as_str()) {
                members.insert(name.clone(), self.value(of, &format!("{place}.{name}"), depth + 1));
            }
        }
        if let Some(of) = schema.get("additionalProperties").filter(|of| of.is_object()) {
            let name = self.secret(place);
            members.insert(name, self.value(of, place, depth + 1));
        }
        // Of the methods, only `map` keeps threads.
        if members.contains_key("threads") && members.contains_key("options") {
            members.insert("name".to_owned(), "map".into());
        }
        Value::Object(members)
    }
}
