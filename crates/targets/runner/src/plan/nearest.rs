//! Suggests the known word that the user may have meant.

/// The nearest of the known words, if it is near enough to be a typo.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let near = |other: &&str| distance(&word, other);
    let found = known.into_iter().map(|other| (near(&other), other)).min_by_key(|(far, _)| *far)?;
    // A third of the letters may be wrong; in short words one, but never all.
    let letters = word.chars().count();
    (found.0 <= (letters / 3).max(1) && found.0 < letters).then_some(found.1)
}

/// Number of insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, against) in other.iter().enumerate() {
            let mut least = (last[column] + usize::from(letter != against)).min(last[column + 1] + 1);
            least = least.min(next[column] + 1);
            let swapped = row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *against;
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        assert_eq!(distance("interval", "interval"), 0);
        assert_eq!(distance("intervall", "interval"), 1);
        assert_eq!(distance("itnerval", "interval"), 1);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn only_what_is_near_is_meant() {
        let known = ["interval", "duration", "cpus", "policy"];
        assert_eq!(nearest("intervall", known), Some("interval"));
        assert_eq!(nearest("Duratoin", known), Some("duration"));
        assert_eq!(nearest("cpu", known), Some("cpus"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("", []), None);
    }
}
