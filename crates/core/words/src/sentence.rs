//! Clauses as sentences of their own.

/// The clause with a capital letter and a full stop.
pub fn sentence(clause: &str) -> String {
    let end = if clause.ends_with('.') { "" } else { "." };
    if clause.is_empty() { String::new() } else { format!("{}{end}", capital(clause)) }
}

/// The same text with a capital letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_gets_a_capital_letter_and_one_full_stop() {
        assert_eq!(sentence("élan lost"), "Élan lost.");
        assert_eq!(sentence("Done."), "Done.");
        assert_eq!(sentence("") + &capital(""), "");
    }
}
