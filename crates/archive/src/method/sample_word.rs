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
}

impl SampleWord {
    const fn late(one: &'static str, many: &'static str) -> Self {
        Self { one, many, late: "late", later: "later", latest: "latest" }
    }

    const fn long(one: &'static str, many: &'static str) -> Self {
        Self { one, many, late: "long", later: "longer", latest: "longest" }
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
            Method::Timer => SampleWord::late("wake-up", "wake-ups"),
            Method::Semaphore | Method::Mutex | Method::Signal | Method::MessageQueue => {
                SampleWord::late("hand-over", "hand-overs")
            }
            Method::Inversion => SampleWord::long("inversion", "inversions"),
            Method::Migrate => SampleWord::late("start", "starts"),
            Method::Deadline => SampleWord::late("period", "periods"),
            Method::Audio if self.value("sample") == Some("loop") => SampleWord::long("round trip", "round trips"),
            Method::Audio => SampleWord::late("period", "periods"),
            Method::Noise | Method::Hardware | Method::Map => SampleWord::long("gap", "gaps"),
            Method::Rtc | Method::Hpet | Method::Uio => SampleWord::late("interrupt", "interrupts"),
            Method::Udp | Method::Serial | Method::Ethernet | Method::Gpio | Method::Parallel => {
                SampleWord::late("answer", "answers")
            }
            Method::Storage => SampleWord::long("request", "requests"),
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
        }
        let looped = MethodRequest::parse("audio:sample=loop").unwrap().sample();
        assert_eq!((looped.for_count(1), looped.for_count(2)), ("round trip", "round trips"));
        assert_eq!((SampleWord::default().capital().as_str(), looped.are_later()), ("Wake-ups", "are longer"));
    }
}
