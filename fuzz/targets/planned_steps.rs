//! A plan of known keys with valid, damaged or any values, and options of a variant: each is settings of runs, or
//! problems with their lines.
#![no_main]

use libfuzzer_sys::{arbitrary, fuzz_target};
use runner::plan::options::Place;
use tardy::fuzzing::{checked_plan, keys, variant};
use tardy_fuzz::within_budget;

const WORDS: [&str; 32] = [
    "1ms",
    "100us",
    "10min",
    "0",
    "1",
    "99",
    "1000000",
    "18446744073709551615",
    "-1",
    "1e400",
    "0-3",
    "0,2-65535",
    "fifo",
    "rr",
    "deadline",
    "other",
    "auto",
    "off",
    "flip",
    "freeze",
    "semaphore:kind=sysv,partner=other",
    "timer",
    "map:threads=16",
    "function",
    "function_graph",
    "timerlat",
    "osnoise",
    "ext4_*",
    "migrate:work=1000000",
    "hwlat",
    "\u{202e}",
    "'",
];
/// The options of `tardy run` that a variant may hold.
const OPTIONS: [&str; 20] = [
    "--method",
    "--duration",
    "--cycles",
    "--interval",
    "--seed",
    "--settle",
    "--cpus",
    "--policy",
    "--priority",
    "--no-counters",
    "--degrade",
    "--worst-kept",
    "--trace",
    "--trace-threshold",
    "--buffer-kb",
    "--load",
    "--load-cmd",
    "--set",
    "--limit",
    "--target",
];

#[derive(Debug, arbitrary::Arbitrary)]
enum Value<'a> {
    Word(u8),
    Number(i64),
    Flag(bool),
    Any(&'a str),
    List(Vec<u8>),
}

#[derive(Debug, arbitrary::Arbitrary)]
enum Line<'a> {
    Measurement(u8, Value<'a>),
    Trace(u8, Value<'a>),
    Set(&'a str, Value<'a>),
    Limit(Value<'a>, Option<Value<'a>>),
    Variant(&'a str, u8, Value<'a>),
    Loads(Vec<Value<'a>>),
    Repeat(Value<'a>),
}

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Plan(Vec<Line<'a>>),
    Variant(Vec<(u8, Option<Value<'a>>)>),
    AnyVariant(&'a str),
}

fn word(which: u8) -> &'static str {
    WORDS[usize::from(which) % WORDS.len()]
}

/// A TOML string.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

impl Value<'_> {
    fn toml(&self) -> String {
        match self {
            Self::Word(which) => quoted(word(*which)),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Any(text) => quoted(text),
            Self::List(words) => {
                format!("[{}]", words.iter().map(|which| quoted(word(*which))).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn shell(&self) -> String {
        match self {
            Self::Word(which) => format!("'{}'", word(*which)),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Any(text) => (*text).to_owned(),
            Self::List(words) => words.iter().map(|which| word(*which)).collect::<Vec<_>>().join(","),
        }
    }
}

fn key(place: Place, which: u8) -> &'static str {
    let keys: Vec<&'static str> =
        keys().known.iter().filter(|key| key.place == place).map(|key| key.name).collect();
    keys[usize::from(which) % keys.len()]
}

/// The lines as a plan. Each section is written once, with its keys in the order in which they came.
fn plan(lines: &[Line]) -> String {
    let mut sections = [String::new(), "[measurement]\n".into(), "[trace]\n".into(), "[set]\n".into(), String::new()];
    for line in lines {
        let (section, text) = match line {
            Line::Loads(loads) => {
                (0, format!("loads = [{}]\n", loads.iter().map(Value::toml).collect::<Vec<_>>().join(", ")))
            }
            Line::Repeat(value) => (0, format!("repetitions = {}\n", value.toml())),
            Line::Measurement(which, value) => (1, format!("{} = {}\n", key(Place::Measurement, *which), value.toml())),
            Line::Trace(which, value) => (2, format!("{} = {}\n", key(Place::Trace, *which), value.toml())),
            Line::Set(name, value) => (3, format!("{} = {}\n", quoted(name), value.toml())),
            Line::Limit(limit, allow) => {
                let allow = allow.as_ref().map_or_else(String::new, |allow| format!("allow = {}\n", allow.toml()));
                (4, format!("[[limits]]\nlimit = {}\n{allow}", limit.toml()))
            }
            Line::Variant(name, which, value) => {
                let text = format!(
                    "[[variants]]\nname = {}\n[variants.measurement]\n{} = {}\n",
                    quoted(name),
                    key(Place::Measurement, *which),
                    value.toml()
                );
                (4, text)
            }
        };
        sections[section] += &text;
    }
    sections.concat()
}

fn try_variant(options: &str) {
    within_budget(options.len(), || {
        if let Err(why) = variant(options) {
            assert!(!why.is_empty());
        }
    });
}

fuzz_target!(|input: Input| {
    match input {
        Input::Plan(lines) => {
            let text = plan(&lines);
            within_budget(text.len(), || {
                let count = text.lines().count();
                if let Err(problems) = checked_plan(&text) {
                    assert!(!problems.is_empty(), "a plan that is refused has a reason");
                    let inside = |line: &Option<usize>| line.is_none_or(|line| line <= count + 1);
                    assert!(problems.iter().all(|(line, why)| inside(line) && !why.is_empty()), "{problems:?}");
                }
            });
        }
        Input::Variant(words) => {
            let option = |(which, value): &(u8, Option<Value>)| {
                let option = OPTIONS[usize::from(*which) % OPTIONS.len()];
                value.as_ref().map_or_else(|| option.to_owned(), |value| format!("{option} {}", value.shell()))
            };
            try_variant(&words.iter().map(option).collect::<Vec<_>>().join(" "));
        }
        Input::AnyVariant(text) => try_variant(text),
    }
});
