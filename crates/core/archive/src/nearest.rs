//! The known word that a mistyped one was meant to be.

/// The known word that differs least from the typed one, if it is near enough to be a typo.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let slips = |name: &str| strsim::osa_distance(&typed, name);
    let (least, found) = known.into_iter().map(|name| (slips(name), name)).min_by_key(|(slips, _)| *slips)?;
    // A third of the letters may be wrong; in short words one, but never all.
    let letters = typed.chars().count();
    (least <= (letters / 3).max(1) && least < letters).then_some(found)
}

/// The question whether the nearest word was meant, or `otherwise` if none is near.
pub fn nearest_or<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    nearest(typed, known).map_or_else(|| otherwise.to_owned(), |name| format!("did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_another_word_finds_none() {
        let known = ["interval", "duration", "cpus", "policy"];
        assert_eq!(nearest("intervall", known), Some("interval"));
        assert_eq!(nearest("Duratoin", known), Some("duration"), "two letters changed places");
        assert_eq!(nearest("cpu", known), Some("cpus"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("", []), None);
        assert_eq!(nearest_or("banana", known, "choose one"), "choose one");
        assert_eq!(nearest_or("polcy", known, "choose one"), "did you mean `policy`?");
    }
}
