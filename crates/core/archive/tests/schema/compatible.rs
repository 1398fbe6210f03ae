//! Whether a program that reads documents of an old schema can read those of a new one, and the other way about for what an
//! archive of the old version holds.
//!
//! New fields and new variants are no break: readers ignore fields that they do not know.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Breaks of the new schema, a line each, with the path from the root.
pub fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let mut comparison = Comparison { old, new, compared: BTreeSet::new(), breaks: Vec::new() };
    comparison.compare("", old, new);
    comparison.breaks
}

struct Comparison<'a> {
    old: &'a Value,
    new: &'a Value,
    /// Pairs of definitions: types may contain themselves.
    compared: BTreeSet<(String, String)>,
    breaks: Vec<String>,
}

/// Target of the reference, or the schema itself.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
    name.and_then(|path| root.pointer(path)).unwrap_or(schema)
}

fn reference(schema: &Value) -> String {
    schema.get("$ref").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The types that a schema allows; empty if it does not restrict them.
fn types(schema: &Value) -> BTreeSet<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => BTreeSet::from([one.as_str()]),
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

fn variants(schema: &Value) -> Vec<&Value> {
    let lists = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
    lists.flatten().collect()
}

/// The fixed values that a schema allows.
fn constants(schema: &Value) -> BTreeSet<String> {
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    listed.chain(schema.get("const")).map(Value::to_string).collect()
}

fn properties(schema: &Value) -> Map<String, Value> {
    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn required(schema: &Value) -> BTreeSet<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

impl Comparison<'_> {
    fn compare(&mut self, path: &str, old: &Value, new: &Value) {
        let names = (reference(old), reference(new));
        if names != (String::new(), String::new()) && !self.compared.insert(names) {
            return;
        }
        let (old, new) = (resolved(self.old, old).clone(), resolved(self.new, new).clone());
        let (old_types, new_types) = (types(&old), types(&new));
        if !old_types.is_empty() && (new_types.is_empty() || !new_types.is_subset(&old_types)) {
            self.breaks.push(format!("{path}: {old_types:?} became {new_types:?}"));
        }
        self.compare_fields(path, &old, &new);
        for key in ["items", "additionalProperties"] {
            match (old.get(key), new.get(key)) {
                (Some(old @ Value::Object(_)), Some(new)) => self.compare(&format!("{path}/*"), old, new),
                (Some(Value::Object(_)), None) => self.breaks.push(format!("{path}/*: no longer described")),
                _ => {}
            }
        }
        self.compare_tuple(path, &old, &new);
        self.compare_variants(path, &old, &new);
    }

    fn compare_fields(&mut self, path: &str, old: &Value, new: &Value) {
        let fields = properties(new);
        for (name, field) in properties(old) {
            let inner = format!("{path}/{name}");
            match fields.get(&name) {
                None => self.breaks.push(format!("{inner}: removed")),
                Some(kept) => {
                    if required(old).contains(name.as_str()) && !required(new).contains(name.as_str()) {
                        self.breaks.push(format!("{inner}: was always there, and may now be absent"));
                    }
                    self.compare(&inner, &field, kept);
                }
            }
        }
    }

    fn compare_tuple(&mut self, path: &str, old: &Value, new: &Value) {
        let parts = |schema: &Value| schema.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
        let (before, after) = (parts(old), parts(new));
        if before.len() != after.len() {
            self.breaks.push(format!("{path}: {} parts became {}", before.len(), after.len()));
        }
        for (number, (old, new)) in before.iter().zip(&after).enumerate() {
            self.compare(&format!("{path}/{number}"), old, new);
        }
    }

    /// Archives with the variant exist, so none may disappear. A variant has no name of its own: it is kept if one of the new
    /// ones breaks nothing of it.
    fn compare_variants(&mut self, path: &str, old: &Value, new: &Value) {
        let offered = variants(new);
        let fixed: BTreeSet<String> =
            offered.iter().flat_map(|variant| constants(variant)).chain(constants(new)).collect();
        for gone in constants(old).difference(&fixed) {
            self.breaks.push(format!("{path}: the value {gone} is gone"));
        }
        for variant in variants(old) {
            let constants = constants(variant);
            if !constants.is_empty() {
                for gone in constants.difference(&fixed) {
                    self.breaks.push(format!("{path}: the value {gone} is gone"));
                }
                continue;
            }
            let least = offered.iter().map(|candidate| self.attempt(path, variant, candidate)).min_by_key(Vec::len);
            match least {
                Some(found) if found.is_empty() => {}
                Some(found) => self.breaks.extend(found),
                None => self.breaks.push(format!("{path}: a variant is gone")),
            }
        }
    }

    fn attempt(&self, path: &str, old: &Value, new: &Value) -> Vec<String> {
        let compared = self.compared.clone();
        let mut comparison = Comparison { old: self.old, new: self.new, compared, breaks: Vec::new() };
        comparison.compare(path, old, new);
        comparison.breaks
    }
}

mod tests {
    use super::breaks;
    use serde_json::{Value, json};

    fn run() -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": { "type": "string" },
                "ended": { "type": ["integer", "null"] },
                "state": { "$ref": "#/$defs/State" },
                "cpus": { "type": "array", "items": { "$ref": "#/$defs/Cpu" } }
            },
            "required": ["id", "cpus"],
            "$defs": {
                "State": { "oneOf": [
                    { "type": "string", "enum": ["complete", "failed"] },
                    { "type": "object", "properties": { "stopped": { "type": "integer" } }, "required": ["stopped"] }
                ] },
                "Cpu": { "type": "object", "properties": { "max": { "type": "integer" }, "with": { "$ref": "#/$defs/Cpu" } } }
            }
        })
    }

    /// Replaces the value at the pointer; `None` removes it.
    fn changed(pointer: &str, value: Option<Value>) -> Vec<String> {
        let mut new = run();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = new.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match value {
            Some(value) => parent.insert(key.into(), value),
            None => parent.remove(key),
        };
        breaks(&run(), &new)
    }

    #[test]
    fn an_unchanged_document_and_additions_break_nothing() {
        assert!(breaks(&run(), &run()).is_empty());
        assert!(changed("/properties/new", Some(json!({ "type": "string" }))).is_empty());
        assert!(changed("/required", Some(json!(["id", "cpus", "ended"]))).is_empty());
        let variants =
            json!([run()["$defs"]["State"]["oneOf"][0], run()["$defs"]["State"]["oneOf"][1], { "type": "null" }]);
        assert!(changed("/$defs/State/oneOf", Some(variants)).is_empty());
        assert!(changed("/properties/ended", Some(json!({ "type": "integer" }))).is_empty(), "never null is allowed");
    }

    #[test]
    fn what_a_reader_relies_on_cannot_change() {
        for (pointer, value, complaint) in [
            ("/properties/id", None, "/id: removed"),
            ("/properties/id", Some(json!({ "type": "integer" })), "/id: "),
            ("/properties/id", Some(json!({ "type": ["string", "null"] })), "/id: "),
            ("/properties/id", Some(json!({})), "/id: "),
            ("/required", Some(json!(["cpus"])), "/id: was always there"),
            ("/$defs/Cpu/properties/max", None, "/cpus/*/max: removed"),
            ("/$defs/Cpu/properties/max", Some(json!({ "type": "string" })), "/cpus/*/max: "),
            ("/properties/cpus", Some(json!({ "type": "array" })), "/cpus/*: no longer described"),
            ("/$defs/State/oneOf/0/enum", Some(json!(["complete"])), "the value \"failed\" is gone"),
            ("/$defs/State/oneOf/1/properties/stopped", None, "/state/stopped: removed"),
        ] {
            let found = if let Some(rest) = pointer.strip_prefix("/$defs/State/oneOf/") {
                let (number, rest) = rest.split_once('/').unwrap();
                let mut variants = run()["$defs"]["State"]["oneOf"].clone();
                let variant = variants.get_mut(number.parse::<usize>().unwrap()).unwrap();
                let (parent, key) = rest.rsplit_once('/').map_or(("", rest), |(parent, key)| (parent, key));
                let parent = if parent.is_empty() { variant } else { variant.get_mut(parent).unwrap() };
                match value {
                    Some(value) => parent[key] = value,
                    None => drop(parent.as_object_mut().unwrap().remove(key)),
                }
                changed("/$defs/State/oneOf", Some(variants))
            } else {
                changed(pointer, value)
            };
            assert!(found.iter().any(|line| line.contains(complaint)), "{pointer}: {found:?} lacks {complaint}");
        }
    }
}
