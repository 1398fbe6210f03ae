//! Which changes a destination gets. What a change is, `judge` decided: a rule chooses series and directions, and has no threshold of its
//! own for a figure.

use serde::Deserialize;
use store::changes::ChangeReport;

/// Changes of these series go to these destinations. What is left out matches everything.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Patterns: `*` is any text, `?` any letter.
    #[serde(default = "anything")]
    pub board: String,
    #[serde(default = "anything")]
    pub load: String,
    #[serde(default = "anything")]
    pub method: String,
    #[serde(default = "anything")]
    pub kernel_line: String,
    #[serde(default = "anything")]
    pub figure: String,
    #[serde(default)]
    pub direction: Direction,
    /// Drifts as well as steps.
    #[serde(default = "yes")]
    pub drifts: bool,
    /// Only changes that chance explains at most this rarely.
    pub p_value_max: Option<f64>,
    /// Names of destinations.
    pub to: Vec<String>,
}

/// Every figure that `judge` follows is worse when it is larger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    #[default]
    Worse,
    Better,
    Both,
}

fn anything() -> String {
    "*".into()
}

fn yes() -> bool {
    true
}

impl Rule {
    /// Every change to the worse to one destination.
    pub fn everything_to(name: &str) -> Self {
        Self {
            board: anything(),
            load: anything(),
            method: anything(),
            kernel_line: anything(),
            figure: anything(),
            direction: Direction::Worse,
            drifts: true,
            p_value_max: None,
            to: vec![name.to_owned()],
        }
    }

    pub fn matches(&self, report: &ChangeReport) -> bool {
        let (change, run) = (&report.change, &report.first);
        let texts = [
            (&self.board, &run.board),
            (&self.load, &run.load),
            (&self.method, &run.method),
            (&self.kernel_line, &run.kernel_line),
            (&self.figure, &change.figure),
        ];
        let is_worse = change.level_after > change.level_before;
        texts.iter().all(|(pattern, text)| fits(pattern, text))
            && match self.direction {
                Direction::Worse => is_worse,
                Direction::Better => !is_worse,
                Direction::Both => true,
            }
            && (self.drifts || change.until_digest.is_none())
            && self.p_value_max.is_none_or(|most| change.p_value <= most)
    }
}

/// Whether a text fits a pattern. Takes time in proportion to the product of their lengths, whatever they are.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut of) = (0, 0);
    // Where the last star is, and how much of the text it takes.
    let mut star: Option<(usize, usize)> = None;
    while of < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, of));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == text[of] => (at, of) = (at + 1, of + 1),
            _ => match star {
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    (at, of) = (place + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text) in
            [("*", ""), ("*", "pi"), ("pi*", "pi-4"), ("*-4", "pi-4"), ("p?-4", "pi-4"), ("a*b*c", "axxbxbc")]
        {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "pi"), ("pi", "pi-4"), ("?", ""), ("a*b", "axc"), ("p99", "p99.9"), ("PI", "pi")] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }
}
