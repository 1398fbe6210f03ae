//! Names that verbs had in an earlier release: they still work in this one.

use crate::verb::Entry;
use crate::verbs::VERBS;
use std::ffi::OsString;

/// A former name and the words that replace it.
#[derive(Debug, PartialEq, Eq)]
pub struct Renamed {
    pub former: &'static str,
    pub now: String,
}

/// Replaces a former name at the beginning of a command line, also behind `help`.
pub fn rename(words: &mut Vec<OsString>) -> Option<Renamed> {
    let at = if words.get(1).is_some_and(|word| word == "help") { 2 } else { 1 };
    let typed = words.get(at..)?;
    let begins = |name: &str| {
        let name: Vec<&str> = name.split(' ').collect();
        typed.len() >= name.len() && name.iter().zip(typed).all(|(word, typed)| typed == word)
    };
    let (former, verb) = names().filter(|(name, _)| begins(name)).max_by_key(|(name, _)| name.len())?;
    let now = verb.path();
    words.splice(at..at + former.split(' ').count(), now.split(' ').map(OsString::from));
    Some(Renamed { former, now })
}

fn names() -> impl Iterator<Item = (&'static str, &'static Entry)> {
    VERBS.iter().flat_map(|verb| verb.former_names.iter().map(move |name| (*name, verb)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::definition;

    fn renamed(line: &str) -> (String, Option<Renamed>) {
        let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let renamed = rename(&mut words);
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
        (words.join(" "), renamed)
    }

    #[test]
    fn former_names_are_replaced_where_verbs_stand() {
        for (typed, meant) in [
            ("tardy collect latest", "tardy target collect latest"),
            ("tardy help collect", "tardy help target collect"),
            ("tardy load list tlb", "tardy list loads tlb"),
            ("tardy load", "tardy list loads"),
            ("tardy virtual verify exact --runs 3", "tardy virtual repeat exact --runs 3"),
        ] {
            let (words, renamed) = renamed(typed);
            assert_eq!(words, meant);
            assert!(renamed.is_some_and(|renamed| meant.contains(&renamed.now)), "{typed}");
        }
        for line in ["tardy", "tardy --help", "tardy target collect latest", "tardy report collect", "tardy virtual"] {
            assert_eq!(renamed(line), (line.to_owned(), None));
        }
    }

    #[test]
    fn no_former_name_hides_a_verb() {
        for (name, _) in names() {
            let mut verb = Some(definition());
            for word in name.split(' ') {
                verb = verb.and_then(|verb| verb.find_subcommand(word).cloned());
            }
            assert!(verb.is_none(), "tardy {name} is a verb");
        }
    }
}
