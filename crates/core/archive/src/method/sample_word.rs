//! What one sample of a method is called.

use super::{Method, MethodRequest};

/// The word for a sample, and how the one with the largest latency differs from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleWord {
    pub one: &'static str,
    pub many: &'static str,
    /// `late`, where the sample is an event; `long`, where it is a stretch of time.
    pub late: &'static str,
    pub later: &'static str,
    pub latest: &'static str,
    /// What happens at the instant from which its latency counts, as a clause.
    pub begun: &'static str,
}

impl SampleWord {
    const fn late(one: &'static str, many: &'static str, begun: &'static str) -> Self {
        Self { one, many, late: "late", later: "later", latest: "latest", begun }
    }

    const fn long(one: &'static str, many: &'static str, begun: &'static str) -> Self {
        Self { one, many, late: "long", later: "longer", latest: "longest", begun }
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
        MethodRequest::default().sample()
    }
}

impl MethodRequest {
    /// What a sample of this request is called.
    pub fn sample(&self) -> SampleWord {
        match self.name {
            Method::Timer => SampleWord::late("wake-up", "wake-ups", "the wake-up was due"),
            Method::Semaphore | Method::Mutex | Method::Signal | Method::MessageQueue => {
                SampleWord::late("hand-over", "hand-overs", "the hand-over began")
            }
            Method::Inversion => SampleWord::long("inversion", "inversions", "the inversion began"),
            Method::Migrate => SampleWord::late("start", "starts", "the start was due"),
            Method::Deadline => SampleWord::late("period", "periods", "the period began"),
            Method::Audio if self.value("sample") == Some("loop") => {
                SampleWord::long("round trip", "round trips", "the round trip began")
            }
            Method::Audio => SampleWord::late("period", "periods", "the period was due"),
            Method::Noise | Method::Hardware | Method::Map => SampleWord::long("gap", "gaps", "the gap began"),
            Method::Rtc if self.value("sample") == Some("interrupt") => {
                SampleWord::late("interrupt", "interrupts", "the interrupt came")
            }
            Method::Rtc | Method::Hpet => SampleWord::late("interrupt", "interrupts", "the interrupt was due"),
            Method::Uio => SampleWord::late("interrupt", "interrupts", "the interrupt came"),
            Method::Udp | Method::Serial | Method::Ethernet | Method::Gpio | Method::Parallel => {
                let begun =
                    if self.value("role") == Some("answer") { "the stimulus came" } else { "the stimulus was given" };
                SampleWord::late("answer", "answers", begun)
            }
            Method::Storage => SampleWord::long("request", "requests", "the request began"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::METHODS;

    #[test]
    fn only_a_timer_has_wake_ups() {
        for definition in &METHODS {
            let word = MethodRequest::from(definition.method).sample();
            assert_eq!(word.one == "wake-up", definition.method == Method::Timer, "{}", definition.name);
            assert!(word.many.starts_with(word.one), "{word:?}");
            assert_eq!(word.begun == "the wake-up was due", definition.method == Method::Timer, "{}", definition.name);
        }
        let began = |text: &str| MethodRequest::parse(text).unwrap().sample().begun;
        assert_eq!(began("serial:port=/dev/ttyS0,role=answer"), "the stimulus came");
        assert_eq!(began("serial:port=/dev/ttyS0,role=stimulus"), "the stimulus was given");
        assert_eq!((began("rtc"), began("rtc:sample=interrupt")), ("the interrupt was due", "the interrupt came"));
        let looped = MethodRequest::parse("audio:sample=loop").unwrap().sample();
        assert_eq!((looped.for_count(1), looped.for_count(2)), ("round trip", "round trips"));
        assert_eq!((SampleWord::default().capital().as_str(), looped.are_later()), ("Wake-ups", "are longer"));
    }
}
