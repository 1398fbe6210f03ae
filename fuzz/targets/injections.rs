//! Any text, and any combination of known words, as a rule of `tardy audit --inject`.
#![no_main]

use audit::injection::parse;
use call_ring::header::{Effect, Injection};
use libfuzzer_sys::{arbitrary, fuzz_target};
use tardy_fuzz::within_budget;

const MACHINES: [&str; 3] = ["x86_64", "aarch64", "nonsense"];
const CALLS: [&str; 6] = ["write", "read", "futex", "exit_group", "wriet", ""];

#[derive(Debug, arbitrary::Arbitrary)]
enum Effects<'a> {
    Delay(u64, &'a str),
    Error(&'a str),
}

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Any(&'a str),
    Words { call: u8, effect: Effects<'a>, one_in: Option<u64>, seed: Option<u64>, rest: &'a str },
}

impl Input<'_> {
    fn text(self) -> String {
        let Self::Words { call, effect, one_in, seed, rest } = self else {
            let Self::Any(text) = self else { return String::new() };
            return text.into();
        };
        let effect = match effect {
            Effects::Delay(number, unit) => format!("delay {number}{unit}"),
            Effects::Error(name) => name.to_owned(),
        };
        let one_in = one_in.map_or(String::new(), |count| format!(", 1 in {count}"));
        let seed = seed.map_or(String::new(), |seed| format!(", seed {seed}"));
        format!("{}: {effect}{one_in}{seed}{rest}", CALLS[usize::from(call) % CALLS.len()])
    }
}

fuzz_target!(|input: (Input, u8)| {
    let (input, machine) = input;
    let text = input.text();
    within_budget(text.len(), || match parse(&text, MACHINES[usize::from(machine) % MACHINES.len()]) {
        Ok(rule) => {
            assert!(rule.one_in > 0, "a rule that never strikes");
            assert!(!matches!(rule.effect, Effect::DelayNs(60_000_000_001..)), "a delay of more than a minute");
            assert_eq!(Injection::read(&rule.bytes()), Some(rule), "the library reads what was parsed");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    });
});
