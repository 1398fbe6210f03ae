//! Steps of a search for the first bad candidate.

use crate::amounts::percent;

/// Why the result of an experiment does not show a candidate to be good: both factors by which B is worse than A.
pub fn may_still_be_worse(sentence: &str, at_most: f64, bad_end_at_least: f64) -> String {
    format!(
        "{sentence} It may still be worse by {}, and the bad end is by {} at least: more --rounds separate them.",
        percent(at_most - 1.0),
        percent(bad_end_at_least - 1.0)
    )
}
