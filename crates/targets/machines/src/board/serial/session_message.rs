//! Messages of the session on a console, other than its greeting.

use super::error::Broken;

/// A parsed line of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionMessage {
    /// Its script was damaged.
    Garbled,
    /// The board is cleaned up.
    Tidied,
    /// A meter ended after the host's good-bye.
    Served,
    /// A file was received.
    Stored,
    /// A file was not received.
    Broken(Broken),
    Other(String),
}

impl SessionMessage {
    pub fn parse(words: &str) -> Self {
        match words.split_once(' ').unwrap_or((words, "")) {
            ("garbled", "") => Self::Garbled,
            ("tidied", "") => Self::Tidied,
            ("served", "") => Self::Served,
            ("stored", _) => Self::Stored,
            ("broken", "no-room") => Self::Broken(Broken::NoRoom),
            ("broken", "not-whole") => Self::Broken(Broken::NotWhole),
            ("broken", why) => Self::Broken(Broken::Other(why.to_owned())),
            _ => Self::Other(words.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_word_of_the_script() {
        const SCRIPT: &str = include_str!("session.sh");
        for (words, expected) in [
            ("broken no-room", SessionMessage::Broken(Broken::NoRoom)),
            ("broken not-whole", SessionMessage::Broken(Broken::NotWhole)),
            ("served", SessionMessage::Served),
        ] {
            assert!(SCRIPT.contains(&format!("say {words}")), "{words}");
            assert_eq!(SessionMessage::parse(words), expected);
        }
        assert_eq!(SessionMessage::parse("stored meter-1"), SessionMessage::Stored);
        assert_eq!(SessionMessage::parse("tidied"), SessionMessage::Tidied);
        assert_eq!(SessionMessage::parse("place /tmp"), SessionMessage::Other("place /tmp".into()));
    }
}
