//! Text for a POSIX shell.

/// A word that the shell takes literally.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_arrives_as_it_is() {
        for word in ["", "plain", "a b", "it's", "$(touch x)`y`\\", "''"] {
            let line = format!("printf %s {}", quoted(word));
            let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap().stdout;
            assert_eq!(String::from_utf8(output).unwrap(), word);
        }
    }
}
