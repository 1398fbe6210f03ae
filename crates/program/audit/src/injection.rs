//! Rules that delay calls of an intercepted program or make them fail: `write: delay 2ms, 1 in 1000, seed 7`.

use crate::system_calls;
use call_ring::header::{Effect, Injection};
use std::str::FromStr;
use thiserror::Error;

/// The errors that a rule can name, as on x86-64 and arm64.
const ERRORS: [(&str, u32); 16] = [
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EINTR", 4),
    ("EIO", 5),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EBUSY", 16),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("ENOSPC", 28),
    ("EPIPE", 32),
    ("ENOSYS", 38),
    ("ETIMEDOUT", 110),
];
/// Calls that start or end threads and processes: the library cannot stand in for them.
const REFUSED: [&str; 8] = ["clone", "clone3", "fork", "vfork", "execve", "exit", "exit_group", "rt_sigreturn"];
/// Longest delay.
const DELAY_NS_MAX: u64 = 60_000_000_000;
const NUMBERS: i64 = 512;

/// An error in a rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InjectionError {
    #[error("a rule is CALL: EFFECT, such as 'write: delay 2ms, 1 in 1000, seed 7' or 'read: EINTR'")]
    NoColon,
    #[error("there is no system call {0:?}; `man 2 syscalls` lists them")]
    NoCall(String),
    #[error("{0} cannot be delayed or refused, because it starts or ends a thread; name another call")]
    Refused(String),
    #[error("{0:?} is not an effect; write `delay 2ms`, or an error, one of {names}", names = error_names())]
    NoEffect(String),
    #[error("{0:?} is not a delay; write a number with a unit, such as 200us, 2ms or 1s, at most 60s")]
    NoDelay(String),
    #[error("{0:?} is not a condition; write `1 in 1000` or `seed 7`")]
    NoCondition(String),
}

fn error_names() -> String {
    ERRORS.map(|(name, _)| name).join(", ")
}

/// A rule for this machine, as uname(2) names it.
///
/// # Errors
/// [`InjectionError`], which states how to write it.
pub fn parse(text: &str, machine: &str) -> Result<Injection, InjectionError> {
    let (call, rest) = text.split_once(':').ok_or(InjectionError::NoColon)?;
    let call = call.trim();
    let named = |number: &i64| system_calls::name(machine, *number) == Some(call);
    let number = (0..NUMBERS).find(named).ok_or_else(|| InjectionError::NoCall(call.to_owned()))?;
    if REFUSED.contains(&call) {
        return Err(InjectionError::Refused(call.to_owned()));
    }
    let mut parts = rest.split(',').map(str::trim);
    let effect = effect(parts.next().unwrap_or_default())?;
    let number = u32::try_from(number).unwrap_or_default();
    let mut rule = Injection { number, effect, one_in: 1, seed: 0 };
    for part in parts {
        let words: Vec<&str> = part.split_whitespace().collect();
        let value = |text: &str| u64::from_str(text).ok();
        match words.as_slice() {
            ["1", "in", count] if value(count).is_some_and(|count| count > 0) => {
                rule.one_in = value(count).unwrap_or(1);
            }
            ["seed", seed] if value(seed).is_some() => rule.seed = value(seed).unwrap_or(0),
            _ => return Err(InjectionError::NoCondition(part.to_owned())),
        }
    }
    Ok(rule)
}

fn effect(text: &str) -> Result<Effect, InjectionError> {
    if let Some((_, number)) = ERRORS.iter().find(|(name, _)| *name == text) {
        return Ok(Effect::Error(*number));
    }
    let delay = text.strip_prefix("delay ").ok_or_else(|| InjectionError::NoEffect(text.to_owned()))?.trim();
    let none = || InjectionError::NoDelay(delay.to_owned());
    let digits = delay.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = delay.split_at(digits);
    let unit_ns: u64 = match unit.trim() {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(none()),
    };
    let ns = u64::from_str(number).ok().and_then(|number| number.checked_mul(unit_ns)).ok_or_else(none)?;
    if ns > DELAY_NS_MAX { Err(none()) } else { Ok(Effect::DelayNs(ns)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<Injection, InjectionError> {
        parse(text, "x86_64")
    }

    #[test]
    fn rules_of_the_manual_are_understood() {
        let delay = Injection { number: 1, effect: Effect::DelayNs(2_000_000), one_in: 1000, seed: 7 };
        assert_eq!(parsed("write: delay 2ms, 1 in 1000, seed 7"), Ok(delay));
        let error = Injection { number: 0, effect: Effect::Error(4), one_in: 1, seed: 0 };
        assert_eq!(parsed("read: EINTR"), Ok(error));
        assert_eq!(parse("read: EINTR", "aarch64").map(|rule| rule.number), Ok(63));
    }

    #[test]
    fn errors_say_how_to_write_it() {
        let words = |text: &str| parsed(text).unwrap_err().to_string();
        assert!(words("write delay 2ms").contains("'read: EINTR'"));
        assert!(words("wriet: EINTR").contains("man 2 syscalls"));
        assert!(words("exit_group: EINTR").contains("another call"));
        assert!(words("write: EWHAT").contains("ENOSPC"));
        for delay in ["2", "ms", "2 hours", "61s", "99999999999999999999s", "-1ms"] {
            assert!(words(&format!("write: delay {delay}")).contains("2ms"), "{delay}");
        }
        for condition in ["2 in 3", "1 in 0", "seed", "often"] {
            assert!(words(&format!("write: EIO, {condition}")).contains("1 in 1000"), "{condition}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_rule_or_an_error(text in "\\PC*") {
            let _ = parsed(&text);
        }

        #[test]
        fn a_written_rule_is_read_back(ms in 0_u64..60_000, one_in in 1_u64.., seed: u64) {
            let rule = parsed(&format!("write: delay {ms}ms, 1 in {one_in}, seed {seed}"));
            let expected = Injection { number: 1, effect: Effect::DelayNs(ms * 1_000_000), one_in, seed };
            prop_assert_eq!(rule, Ok(expected));
        }
    }
}
