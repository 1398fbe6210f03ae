//! Any text, and any combination of known words, as the method of a run.
#![no_main]

use archive::method::{METHODS, MethodRequest};
use libfuzzer_sys::{arbitrary, fuzz_target};
use tardy_fuzz::within_budget;

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Any(&'a str),
    Options { method: u8, options: Vec<(u8, Option<&'a str>)> },
}

impl Input<'_> {
    fn text(self) -> String {
        match self {
            Self::Any(text) => text.into(),
            Self::Options { method, options } => {
                let definition = &METHODS[usize::from(method) % METHODS.len()];
                let word = |(which, value): (u8, Option<&str>)| {
                    let key = match definition.entry.options {
                        [] => "kind",
                        known => known[usize::from(which) % known.len()].key,
                    };
                    value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"))
                };
                let words: Vec<String> = options.into_iter().map(word).collect();
                format!("{}:{}", definition.name, words.join(","))
            }
        }
    }
}

fuzz_target!(|input: Input| {
    let text = input.text();
    within_budget(text.len(), || match MethodRequest::parse(&text) {
        Ok(request) => {
            assert_eq!(MethodRequest::parse(&request.text()).as_ref(), Ok(&request), "a method is what its text says");
            let stored = serde_json::to_value(&request).unwrap();
            assert_eq!(serde_json::from_value::<MethodRequest>(stored).unwrap(), request, "it is stored as it is");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    });
});
