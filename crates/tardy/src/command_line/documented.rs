//! Checks the documents against the command line: it must accept every `tardy ...` that they print.

use super::definition;
use clap::error::ErrorKind;
use fixtures::repository::repository_path;
use std::fs;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "tardy";

/// A command as a document prints it.
struct Printed {
    place: String,
    words: Vec<String>,
    /// Alone on its line in a code block, and so meant to be typed verbatim; otherwise it may be a mention.
    whole: bool,
}

/// The documents of the repository, the skills of agents, and the plans, whose comments say how to run them.
fn documents() -> Vec<PathBuf> {
    let root = repository_path("");
    let mut folders = vec![root.join("docs"), root.join("plans"), root.join("skills")];
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.extension().and_then(|ending| ending.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("md" | "toml") => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// The commands of a document: lines of code blocks and of comments, and code spans. A block of `text` shows output alone.
fn printed_in(path: &Path) -> Vec<Printed> {
    let text = fs::read_to_string(path).unwrap().replace("\\\n", " ");
    let plan = path.extension().is_some_and(|ending| ending == "toml");
    let mut found = Vec::new();
    let (mut in_block, mut is_output) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let place = format!("{}:{}: {line}", path.file_name().unwrap().display(), number + 1);
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            is_output = line.trim() == "```text";
        } else if is_output {
            continue;
        } else if in_block || (plan && !line.contains('`')) {
            found.extend(commands_of(line).into_iter().map(|words| Printed {
                place: place.clone(),
                words,
                whole: true,
            }));
        } else {
            // A span that continues on the next line is skipped.
            let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("tardy "));
            let words = spans.flat_map(commands_of);
            found.extend(words.map(|words| Printed { place: place.clone(), words, whole: false }));
        }
    }
    found
}

/// The commands of a line of shell, also inside YAML, Groovy, Python or after a prompt.
fn commands_of(line: &str) -> Vec<Vec<String>> {
    let begins = line.match_indices("tardy ").filter_map(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + PROGRAM.len() + 1..].chars().next()?;
        let is_command = before.is_none_or(|letter| " '\"`($".contains(letter));
        let word = line[at + PROGRAM.len() + 1..].split_whitespace().next().unwrap_or_default();
        let is_verb = (after.is_ascii_lowercase() && !word.contains('=')) || after == '-';
        // In a sentence the name is not a command.
        (is_command && is_verb && !is_prose(&line[..at])).then_some((before, &line[at..]))
    });
    begins.map(|(before, rest)| words(rest, before.filter(|letter| "'\"".contains(*letter)))).collect()
}

/// Whether the text before it on the line is part of a sentence.
fn is_prose(before: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default();
    let shell = ["$", "-", "do", "then", "||", "&&", "|", ";", "sh", "sudo", "#", "-c", "time", "run"];
    let ends = before.trim_end().ends_with([':', ';', '(', '\'', '"', '|', '&', '$', '=', '`']);
    !(last.is_empty() || ends || shell.contains(&last) || last.contains('='))
}

/// The words of one command up to its end; `outer` is the quote that encloses the command.
fn words(text: &str, outer: Option<char>) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if Some(letter) == outer || "|;&><`)".contains(letter) => break,
            None if letter == '#' && word.is_none() => break,
            None if letter == '\'' || letter == '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Whether a word is a placeholder that the reader fills in.
fn is_placeholder(word: &str) -> bool {
    let value = word.rsplit('=').next().unwrap_or(word).trim_matches(['[', ']', '.', ',']);
    let capitals = value.chars().all(|letter| letter.is_ascii_uppercase() || "_-@:/".contains(letter));
    word.contains(['$', '{']) || word.contains("...") || word.contains('<') || (capitals && !value.is_empty())
}

/// Why a command is rejected, unless the rejection is expected.
fn refusal(printed: &Printed) -> Option<String> {
    // Brackets enclose optional parts.
    let typed = printed.words.iter().filter(|word| !matches!(word.as_str(), "[" | "]" | "..."));
    let typed = typed.map(|word| word.trim_start_matches('[').trim_end_matches(']').to_owned());
    let Err(error) = definition().try_get_matches_from(typed) else { return None };
    let filled_in = printed.words.iter().any(|word| is_placeholder(word));
    let [_, rest @ ..] = printed.words.as_slice() else { return None };
    if matches!(rest, [help, code] if help == "help" && is_placeholder(code)) {
        return None;
    }
    let expected = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => !printed.whole,
        ErrorKind::MissingRequiredArgument => !printed.whole,
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => filled_in || !printed.whole,
        _ => false,
    };
    let said = error.to_string();
    (!expected).then(|| format!("{}\n    {}", printed.place, said.lines().next().unwrap_or_default()))
}

#[test]
fn every_command_of_the_documents_is_understood() {
    let printed: Vec<Printed> = documents().iter().flat_map(|path| printed_in(path)).collect();
    assert!(printed.len() > 100, "only {} commands were found", printed.len());
    let refused: Vec<String> = printed.iter().filter_map(refusal).collect();
    assert!(refused.is_empty(), "these are not understood:\n  {}", refused.join("\n  "));
}

#[test]
fn every_example_of_the_help_is_understood() {
    let mut examples = Vec::new();
    let mut verbs = vec![definition()];
    while let Some(verb) = verbs.pop() {
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines().filter(|line| line.starts_with("  tardy ")) {
            let place = format!("help of {}: {line}", verb.get_name());
            examples.extend(commands_of(line).into_iter().map(|words| Printed {
                place: place.clone(),
                words,
                whole: true,
            }));
        }
        verbs.extend(verb.get_subcommands().cloned());
    }
    assert!(examples.len() > 20, "only {} examples were found", examples.len());
    let refused: Vec<String> = examples.iter().filter_map(refusal).collect();
    assert!(refused.is_empty(), "these are not understood:\n  {}", refused.join("\n  "));
}

/// The sources of the programs, without the tests at their ends.
fn sources() -> Vec<(PathBuf, String)> {
    let mut folders = vec![repository_path("crates")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match path.extension().and_then(|ending| ending.to_str()) {
                _ if path.is_dir() && !["tests", "target", "benches"].contains(&name.as_str()) => folders.push(path),
                Some("rs") if !name.contains("test") && name != "documented.rs" => {
                    let text = fs::read_to_string(&path).unwrap();
                    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
                    found.push((path, continued(product)));
                }
                _ => {}
            }
        }
    }
    found
}

/// String literals that continue on the next line, on one line.
fn continued(source: &str) -> String {
    let mut joined = String::new();
    for part in source.split_inclusive("\\\n") {
        match part.strip_suffix("\\\n") {
            Some(begun) => joined.push_str(begun),
            None => joined.push_str(part),
        }
    }
    let lines: Vec<String> = joined
        .lines()
        .map(|line| line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
        .collect();
    lines.join("\n")
}

/// The commands in code spans of messages, and those that messages consist of.
fn printed_by(path: &Path, source: &str) -> Vec<Printed> {
    let messages = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    messages
        .flat_map(|line| {
            let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("tardy "));
            let alone = line.split('"').skip(1).step_by(2).filter(|literal| begins_with_a_verb(literal));
            // Options that name the index follow a command, or nothing does.
            let filled = |text: &str| text.replace("{index}", "").replace("{}", "X").replace("\\\"", "\"");
            let place = format!("{}: {line}", path.display());
            let spans: Vec<Printed> = spans
                .chain(alone)
                .flat_map(|text| commands_of(&filled(text)))
                .map(|words| Printed { place: place.clone(), words, whole: false })
                .collect();
            spans
        })
        .collect()
}

/// Whether a message begins as a command does.
fn begins_with_a_verb(literal: &str) -> bool {
    let verb = literal.strip_prefix("tardy ").and_then(|rest| rest.split(' ').next());
    verb.is_some_and(|verb| definition().find_subcommand(verb).is_some())
}

#[test]
fn every_command_of_a_message_is_understood() {
    let printed: Vec<Printed> = sources().iter().flat_map(|(path, text)| printed_by(path, text)).collect();
    assert!(printed.len() > 100, "only {} commands were found", printed.len());
    let refused: Vec<String> = printed.iter().filter_map(refusal).collect();
    assert!(refused.is_empty(), "these are not understood:\n  {}", refused.join("\n  "));
}

/// A reader who has the program alone does not have the documents.
#[test]
fn no_message_names_a_document_of_the_repository() {
    let named: Vec<String> = sources()
        .iter()
        .flat_map(|(path, text)| {
            let messages = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let documents = |line: &&str| {
                line.contains("docs/")
                    && line.contains(".md")
                    && !line.contains("include_str!")
                    && !line.contains("repository_path(")
                    && !line.contains("\"../")
            };
            messages.filter(documents).map(|line| format!("{}: {line}", path.display())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(named, Vec::<String>::new());
}

#[test]
fn commands_are_found_in_what_surrounds_them() {
    let found = |line: &str| commands_of(line).into_iter().map(|words| words.join(" ")).collect::<Vec<_>>();
    assert_eq!(found("$ tardy run --out 'a b' # why"), ["tardy run --out a b"]);
    assert_eq!(found("- run: tardy export run -o - >> \"$X\""), ["tardy export run -o -"]);
    assert_eq!(found("sh 'tardy report run && tardy judge run'"), ["tardy report run", "tardy judge run"]);
    assert_eq!(found("git bisect run sh -c 'make && tardy run --limit 1us'"), ["tardy run --limit 1us"]);
    assert_eq!(
        found("for p in a b; do tardy export r --format $p -o $p.json; done"),
        ["tardy export r --format $p -o $p.json"]
    );
    assert!(found("what tardy does is described in docs").is_empty() && found("/usr/bin/tardy-meter run").is_empty());
    let wrong = Printed { place: String::new(), words: words("tardy run --no-such", None), whole: true };
    assert!(refusal(&wrong).is_some());
    let wrong = Printed { place: String::new(), words: words("tardy run --duration 5parsecs", None), whole: true };
    assert!(refusal(&wrong).is_some());
}
