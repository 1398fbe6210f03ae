//! A method with its options, as a run asks for it and as archives store it.

use super::busy_thread::BusyThread;
use super::definition::Stimulus;
use super::role::Role;
use super::sample_word::SampleWord;
use super::{Method, MethodOptions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A method with its options, as a run asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredMethod", into = "StoredMethod")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(as = "StoredMethod"))]
pub struct MethodRequest {
    pub options: MethodOptions,
    /// Options of another version of this program, or with values that this one does not accept, as the archive has them. No
    /// measurement starts with any.
    pub unknown: BTreeMap<String, String>,
}

/// A request in an archive.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename = "MethodRequest", default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
/// A method with its options, as a run asks for it.
struct StoredMethod {
    #[cfg_attr(feature = "typescript", ts(as = "Method"))]
    #[cfg_attr(feature = "schema", schemars(with = "Method"))]
    name: StoredName,
    /// Values by key; one that is a flag has an empty value.
    options: BTreeMap<String, String>,
    /// The threads of `map` that the host read from the file of its option `file`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<BusyThread>>"))]
    threads: Vec<BusyThread>,
}

/// The name of a method. One that this version has is stored as the variant that it is, not as a text of unknown origin.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum StoredName {
    Known(Method),
    Other(String),
}

impl Default for StoredName {
    fn default() -> Self {
        Self::Known(Method::default())
    }
}

impl From<StoredMethod> for MethodRequest {
    fn from(stored: StoredMethod) -> Self {
        let mut options = match stored.name {
            StoredName::Known(method) => method.options(),
            StoredName::Other(name) => MethodOptions::Other(name),
        };
        if let MethodOptions::Map(map) = &mut options {
            map.described = stored.threads;
        }
        let unknown = stored.options.into_iter().filter(|(key, text)| !options.set(key, text)).collect();
        Self { options, unknown }
    }
}

impl From<MethodRequest> for StoredMethod {
    fn from(request: MethodRequest) -> Self {
        let options = request.texts();
        let threads = request.threads().to_vec();
        let name = match request.options {
            MethodOptions::Other(name) => StoredName::Other(name),
            known => known.method().map_or_else(StoredName::default, StoredName::Known),
        };
        Self { name, options, threads }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for MethodRequest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        StoredMethod::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        StoredMethod::json_schema(generator)
    }
}

impl Default for MethodRequest {
    fn default() -> Self {
        Method::default().into()
    }
}

impl From<Method> for MethodRequest {
    fn from(method: Method) -> Self {
        method.options().into()
    }
}

impl From<MethodOptions> for MethodRequest {
    fn from(options: MethodOptions) -> Self {
        Self { options, unknown: BTreeMap::new() }
    }
}

impl MethodRequest {
    /// Whether it is what a run measures without being asked.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// `None`: one of another version.
    pub fn method(&self) -> Option<Method> {
        self.options.method()
    }

    pub fn name(&self) -> &str {
        match &self.options {
            MethodOptions::Other(name) => name,
            known => known.method().map_or("", Method::name),
        }
    }

    /// The threads of `map` that the host read from a file.
    pub fn threads(&self) -> &[BusyThread] {
        match &self.options {
            MethodOptions::Map(map) => &map.described,
            _ => &[],
        }
    }

    /// The value of `--method`, and the threads that it names by a file.
    pub fn words(&self) -> String {
        let threads = self.threads().iter().map(|thread| format!("; {thread}"));
        self.text() + &threads.collect::<String>()
    }

    /// The options that were given, by key.
    pub(super) fn texts(&self) -> BTreeMap<String, String> {
        let given = self.options.given().into_iter().map(|(key, text)| (key.to_owned(), text));
        given.chain(self.unknown.clone()).collect()
    }

    /// The start of the stretch that a sample of this request measures.
    pub fn stimulus(&self) -> Stimulus {
        self.options.stimulus()
    }

    /// Words for a sample of this request.
    pub fn sample(&self) -> SampleWord {
        self.options.sample()
    }

    /// The instants at which a sample of this request starts and ends.
    pub fn path(&self) -> (&'static str, &'static str) {
        self.options.path()
    }

    /// The end of the wire that the machine has; `None`: the method has no wire.
    pub fn end(&self) -> Option<Role> {
        self.options.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::semaphore::{Kind, Semaphore};
    use serde_json::json;

    fn read(stored: serde_json::Value) -> MethodRequest {
        serde_json::from_value(stored).unwrap()
    }

    #[test]
    fn a_stored_request_is_read_and_written_alike() {
        for stored in [
            json!({ "name": "timer", "options": {} }),
            json!({ "name": "semaphore", "options": { "kind": "posix", "partner": "other" } }),
            json!({ "name": "message-queue", "options": { "caches": "warm" } }),
            json!({ "name": "gpio", "options": { "in": "3", "out": "0" } }),
            json!({ "name": "storage", "options": { "block": "512", "overwrite": "" } }),
            json!({
                "name": "map",
                "options": { "file": "a.toml" },
                "threads": [{ "name": "a", "cpu": 1, "policy": "fifo", "priority": 9 }]
            }),
        ] {
            let request = read(stored.clone());
            assert!(request.unknown.is_empty(), "{request:?}");
            assert_eq!(serde_json::to_value(&request).unwrap(), stored);
        }
        assert_eq!(read(json!({})), MethodRequest::default());
    }

    #[test]
    fn a_method_of_another_version_keeps_its_name_and_options() {
        let stored = json!({ "name": "teleport", "options": { "far": "mars" } });
        let request = read(stored.clone());
        assert_eq!(
            (request.method(), request.name(), request.text().as_str()),
            (None, "teleport", "teleport:far=mars")
        );
        assert_eq!((request.stimulus(), request.sample().one), (Stimulus::Unknown, "sample"));
        assert_eq!(serde_json::to_value(&request).unwrap(), stored);
    }

    #[test]
    fn an_option_of_another_version_is_kept_beside_those_that_are_known() {
        let stored = json!({ "name": "semaphore", "options": { "colour": "red", "kind": "sysv", "partner": "third" } });
        let request = read(stored.clone());
        let sysv = Semaphore { kind: Some(Kind::Sysv), ..Semaphore::default() };
        assert_eq!(request.options, MethodOptions::Semaphore(sysv));
        assert_eq!(request.text(), "semaphore:colour=red,kind=sysv,partner=third");
        assert_eq!(serde_json::to_value(&request).unwrap(), stored);
    }
}
