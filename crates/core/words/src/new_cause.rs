//! How likely the next late wake-up has a cause that was not seen yet.

use crate::amounts::percent;
use crate::figures::{count, counted};
use archive::causes::{NewCause, OCCASION_S};
use archive::method::SampleWord;

/// The chance as a clause. A chance that the occasions do not bound is not given: it would be credible to nobody.
pub fn clause(word: SampleWord, seen: &NewCause, confidence: f64) -> String {
    let NewCause { attributed, seen_once, unexplained, .. } = *seen;
    let occasions = format!("{} within {} min of each other counted once", word.many, OCCASION_S / 60);
    let unexplained = match unexplained {
        0 => String::new(),
        number => format!(" and {} not explained", count(number.into())),
    };
    let next = format!("the next {} {} has a cause not seen yet", word.late, word.one);
    match seen.bounds(confidence).filter(|(_, high)| *high < 1.0) {
        Some((chance, high)) => format!(
            "{next} with a probability of about {}, at most {} ({} confidence): {} of {} the only one of its cause{unexplained}, \
             {occasions}",
            share(chance),
            share(high),
            percent(confidence),
            count(seen_once.into()),
            counted(attributed.into(), "occasion")
        ),
        None => format!(
            "too few occasions to bound the probability that {next}: {}{unexplained}, {occasions}",
            counted(attributed.into(), "occasion")
        ),
    }
}

/// A probability as a percentage; rounding never makes it 0 or certain.
pub fn share(probability: f64) -> String {
    match probability * 100.0 {
        p if p > 99.95 && p < 100.0 => "over 99.9 %".into(),
        p if p > 0.0 && p < 0.05 => "under 0.1 %".into(),
        p if (10.0..99.0).contains(&p) => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_is_given_where_occasions_bound_it() {
        let few = NewCause::of(&[3, 1], 2).unwrap();
        assert_eq!(
            clause(SampleWord::WAKE_UP, &few, 0.95),
            "too few occasions to bound the probability that the next late wake-up has a cause not seen yet: 4 occasions and 2 not \
             explained, wake-ups within 10 min of each other counted once"
        );
        let many = NewCause::of(&[700, 299, 1], 0).unwrap();
        assert_eq!(
            clause(SampleWord::WAKE_UP, &many, 0.95),
            "the next late wake-up has a cause not seen yet with a probability of about 0.1 %, at most 29 % (95 % confidence): 1 of \
             1 000 occasions the only one of its cause, wake-ups within 10 min of each other counted once"
        );
    }
}
