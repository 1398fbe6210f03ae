//! Words for the samples of a method.

/// The word for a sample, and how the one with the largest latency differs from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleWord {
    pub one: &'static str,
    pub many: &'static str,
    /// `late`, where the sample is an event; `long`, where it is a stretch of time.
    pub late: &'static str,
    pub later: &'static str,
    pub worst: &'static str,
    /// The event from which its latency counts, as a clause.
    pub begun: &'static str,
}

impl SampleWord {
    pub const WAKE_UP: Self = Self::late("wake-up", "wake-ups", "the wake-up was due");
    pub const GAP: Self = Self::long("gap", "gaps", "the gap began");
    /// Of a method that this version of the program lacks.
    pub const OF_ANOTHER_VERSION: Self = Self::late("sample", "samples", "the sample began");

    pub const fn late(one: &'static str, many: &'static str, begun: &'static str) -> Self {
        Self { one, many, late: "late", later: "later", worst: "worst", begun }
    }

    pub const fn long(one: &'static str, many: &'static str, begun: &'static str) -> Self {
        Self { one, many, late: "long", later: "longer", worst: "longest", begun }
    }

    /// Whether a sample is a wake-up by a timer of the measuring thread; other threads wait for something else.
    pub fn is_wake_up(self) -> bool {
        self == Self::default()
    }

    /// The instant from which the latency counts, in a word: `due` is the instant of a timer.
    pub fn start(self) -> &'static str {
        if self.is_wake_up() { "due" } else { "start" }
    }

    /// The predicate of samples above a limit; `than` follows.
    pub fn are_later(self) -> &'static str {
        if self.later == "longer" { "are longer" } else { "come later" }
    }

    /// The word for this number of samples.
    pub fn for_count(self, count: u64) -> &'static str {
        if count == 1 { self.one } else { self.many }
    }

    /// The word at the start of a sentence.
    pub fn capital(self) -> String {
        let mut letters = self.many.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    }
}

impl Default for SampleWord {
    fn default() -> Self {
        Self::WAKE_UP
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{METHODS, Method, MethodRequest};
    use fixtures::assert_sentence;

    #[test]
    fn only_a_timer_has_wake_ups() {
        for definition in &METHODS {
            let word = MethodRequest::from(definition.method).sample();
            assert_eq!(word.one == "wake-up", definition.method == Method::Timer, "{}", definition.name);
            assert!(word.many.starts_with(word.one), "{word:?}");
            assert_eq!(
                word.begun == SampleWord::WAKE_UP.begun,
                definition.method == Method::Timer,
                "{}",
                definition.name
            );
        }
        let began = |text: &str| MethodRequest::parse(text).unwrap().sample().begun;
        let requests = [
            "serial:port=/dev/ttyS0,role=answer",
            "serial:port=/dev/ttyS0,role=stimulus",
            "rtc",
            "rtc:sample=interrupt",
        ];
        let lines = requests.map(|request| format!("{request}: {}", began(request)));
        assert_sentence!("samples-begun", lines.join("\n"));
        let looped = MethodRequest::parse("audio:sample=loop").unwrap().sample();
        assert_eq!((looped.for_count(1), looped.for_count(2)), ("round trip", "round trips"));
        assert_eq!((SampleWord::default().capital().as_str(), looped.are_later()), ("Wake-ups", "are longer"));
    }
}
