//! Commands as people type them.

/// The words of a command as one line for a shell. One word alone may be a whole line that another program recorded, and stays as it is.
pub fn line(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        // A word with a zero byte was never in a command.
        words => shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_spaces_are_quoted_and_a_recorded_line_is_not() {
        let line = |words: &[&str]| line(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(line(&["sh", "-c", "sleep 1; exit 7"]), "sh -c 'sleep 1; exit 7'");
        assert_eq!(line(&["cyclictest -m -D 5"]), "cyclictest -m -D 5");
        assert_eq!(line(&["./arm", "--config", "arm.toml"]), "./arm --config arm.toml");
        assert_eq!(line(&["odd\0", "word"]), "odd\0 word");
        assert_eq!(line(&[]), "");
    }
}
