//! Names of tardy's own threads and of the processes of its loads.

use crate::figure::is_digits;
use archive::load::BUILTIN_LOADS;

const WORD_LENGTH_MAX: usize = 10;
/// The suffix of a process behind the name of its load.
const ENDS: [&str; 3] = ["", "-recv", "-send"];

/// `tardy-cpu1`, `load-messaging`, `messaging-recv`. Other names after `tardy` are tardy's own where the run lists the thread as such.
pub fn is_own(name: &str, listed: bool) -> bool {
    name == "tardy" || is_measuring(name) || listed && is_listed(name) || is_load(name)
}

fn is_measuring(name: &str) -> bool {
    name.strip_prefix("tardy-cpu").is_some_and(is_digits)
}

/// `tardy-meter`, `tardy:capture`, `tardy-stim2`.
fn is_listed(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("tardy").and_then(|rest| rest.strip_prefix(['-', ':'])) else { return false };
    let word = rest.trim_end_matches(|letter: char| letter.is_ascii_digit());
    word.len() <= WORD_LENGTH_MAX && word.bytes().all(|letter| letter.is_ascii_lowercase())
}

fn is_load(name: &str) -> bool {
    let of_load = name.strip_prefix("load-").unwrap_or(name);
    BUILTIN_LOADS.iter().any(|load| of_load.strip_prefix(load.name).is_some_and(|end| ENDS.contains(&end)))
}
