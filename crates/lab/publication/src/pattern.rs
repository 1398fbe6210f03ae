//! Patterns of names: `*` is any text, `?` any letter.

/// Whether the whole text matches.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Where to continue if a letter differs: after the last star, with one more letter for it.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == text[from] => (at, from) = (at + 1, from + 1),
            _ => {
                let Some((after, begin)) = star else { return false };
                star = Some((after, begin + 1));
                (at, from) = (after, begin + 1);
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_a_letter() {
        for (pattern, text) in [("nvme*", "nvme0q1"), ("*", ""), ("a?c", "abc"), ("a*b*c", "axxbxxbc"), ("x", "x")] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("nvme", "nvme0q1"), ("a?c", "ac"), ("a*b", "abc"), ("", "x")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
