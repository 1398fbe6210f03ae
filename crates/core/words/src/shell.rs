//! Commands that a reader copies into a shell.

/// A word that the shell takes literally, in quotes only where it needs them.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:,@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_a_shell() {
        assert_eq!(quoted("runs/2026-11-21T21-30-05-pi"), "runs/2026-11-21T21-30-05-pi");
        assert_eq!(quoted("my runs/it's"), "'my runs/it'\\''s'");
    }
}
