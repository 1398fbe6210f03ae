//! Every documented problem code can be emitted by a program.

use super::sorted;
use crate::repository::{assert_none, files_ending, text};
use std::sync::LazyLock;

/// The programs' sources without comments and tests, by name.
static SOURCES: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let programs = files_ending(&[".rs"]).filter(|name| name.starts_with("crates/") && name.contains("/src/"));
    let programs = programs.filter(|name| !name.ends_with("/tests.rs") && !name.contains("/tests/"));
    programs.map(|name| (name, without_tests(&text(name)))).collect()
});

fn without_tests(source: &str) -> String {
    let program = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = program.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

/// A place where a code is assigned to a variant of an enum, or used directly.
#[derive(Debug, PartialEq)]
enum Use<'a> {
    Variant { kind: &'a str, variant: &'a str },
    Itself,
}

/// The uses of a code in a source, except its definition.
fn uses<'a>(source: &'a str, code: &str) -> Vec<Use<'a>> {
    let literal = format!("\"{code}\"");
    let mut found = Vec::new();
    for (at, _) in source.match_indices(&literal) {
        let before = source[..at].trim_end();
        if let Some(before) = before.strip_suffix("code:") {
            // A constant that an error answers with, beside its declaration and the list of definitions.
            let named = before.trim_end().strip_suffix(": Definition = Definition {");
            let name = named.and_then(|before| before.rsplit(' ').next());
            if name.is_some_and(|name| source.matches(name).count() > 2) {
                found.push(Use::Itself);
            }
            continue;
        }
        if before.strip_suffix("code =").is_some_and(|before| before.trim_end().ends_with("#[problem(")) {
            found.extend(declared(source, at));
            continue;
        }
        let before = before.strip_suffix("Code::new(").unwrap_or(before).trim_end();
        let before = before.strip_suffix('{').unwrap_or(before).trim_end();
        let Some(pattern) = before.strip_suffix("=>") else {
            found.push(Use::Itself);
            continue;
        };
        // A pattern begins after the previous arm or head.
        let ends = [",\n", ";\n", "{\n", ":\n"];
        let begin = ends.iter().filter_map(|end| Some(pattern.rfind(end)? + end.len())).max().unwrap_or(0);
        let kind = kind_before(pattern);
        let before = found.len();
        let pattern = pattern[begin..].split(" if ").next().unwrap_or_default();
        let paths = pattern.split(|letter: char| !letter.is_alphanumeric() && letter != ':' && letter != '_');
        for path in paths.filter(|path| path.chars().any(char::is_uppercase)) {
            match path.rsplit_once("::") {
                Some(("Self", variant)) => found.push(Use::Variant { kind, variant }),
                Some((path, variant)) => {
                    let kind = path.rsplit("::").next().unwrap_or(path);
                    found.push(Use::Variant { kind, variant });
                }
                None if kind != path && path != "Some" && path != "None" => {
                    found.push(Use::Variant { kind, variant: path })
                }
                None => {}
            }
        }
        if found.len() == before {
            // An arm without a variant, such as one for every other error.
            found.push(Use::Itself);
        }
    }
    found
}

/// The variants of a declaration whose code is here: its own, and those that share it.
fn declared(source: &str, at: usize) -> Vec<Use<'_>> {
    let item = |from: usize| {
        let lines = source[from..].lines().skip_while(|line| !line.ends_with(")]")).skip(1);
        let item = lines.map(str::trim).find(|line| line.starts_with(|letter: char| letter.is_alphabetic()));
        item.map_or("", first_word)
    };
    let kind = source[..at].rfind("enum ").map_or("", |begin| first_word(&source[begin + 5..]));
    let variant = item(at);
    if variant == "pub" {
        // A struct: a program that names it makes it.
        return vec![Use::Itself];
    }
    let shares = format!("#[problem(same_as = {variant})]");
    let shared = source.match_indices(&shares).map(|(at, _)| Use::Variant { kind, variant: item(at) });
    std::iter::once(Use::Variant { kind, variant }).chain(shared).collect()
}

fn first_word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default()
}

/// The enum whose `impl` or list of codes contains the end of this text.
fn kind_before(text: &str) -> &str {
    let heads = ["\nimpl ProblemKind for ", "\nimpl archive::problem::ProblemKind for ", "\nimpl "];
    let begin = heads.iter().filter_map(|head| Some(text.rfind(head)? + head.len())).max().unwrap_or(0);
    text[begin..].split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default()
}

/// Whether a program constructs this variant: its name occurs outside a pattern, or `?` converts into it.
fn is_made(kind: &str, variant: &str) -> bool {
    SOURCES.iter().any(|(_, source)| {
        let own = source.contains(&format!("enum {kind} "));
        let paths = [format!("{kind}::{variant}"), format!("Self::{variant}")];
        let paths = if own { &paths[..] } else { &paths[..1] };
        paths.iter().any(|path| source.match_indices(path).any(|(at, _)| is_expression(&source[at + path.len()..])))
            || own && source.contains(&format!(" {variant}(#[from]"))
    })
}

/// Whether a path followed by this text is an expression: a pattern is followed by `=>`, `=`, `|` or `if`.
fn is_expression(rest: &str) -> bool {
    if rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':') {
        return false;
    }
    let behind = rest.trim_start();
    let behind = match behind.chars().next() {
        Some(open @ ('(' | '{')) => {
            let close = if open == '(' { ')' } else { '}' };
            let mut depth = 0;
            let end = behind.char_indices().find(|(_, letter)| {
                depth += i32::from(*letter == open) - i32::from(*letter == close);
                depth == 0
            });
            end.map_or("", |(end, _)| &behind[end + 1..])
        }
        _ => behind,
    };
    // Also after a pattern in a tuple or an option.
    let behind = behind.trim_start_matches([')', ',', ' ', '\n', '_']);
    !["=>", "= ", "| ", "if "].iter().any(|sign| behind.starts_with(sign))
}

#[test]
fn every_code_of_the_document_can_be_emitted() {
    let never = |code: &&str| {
        let mut places = SOURCES.iter().flat_map(|(_, source)| uses(source, code));
        !places.any(|place| match place {
            Use::Itself => true,
            Use::Variant { kind, variant } => is_made(kind, variant),
        })
    };
    let silent: Vec<String> = sorted().into_keys().filter(never).map(str::to_owned).collect();
    assert_none("these codes are documented, and no program emits them", silent);
}

#[test]
fn patterns_are_no_expressions() {
    assert!(
        is_expression("(error)?;") && is_expression(" { line: 1 });") && is_expression(".into()") && is_expression(";")
    );
    assert!(
        !is_expression(" { .. } => 1,") && !is_expression("(_) | Self::B => 2") && !is_expression("(line) = x else {")
    );
    assert!(!is_expression("(_)), _) => 3") && !is_expression("Other(1)") && !is_expression("(n) if n > 1 => 4"));
    let source = "\nimpl ProblemKind for Trouble {\n match self {\n Self::A { .. } | Self::B => Code::new(\"x.one\"),\n \
                  Other::C => \"x.two\",\n }\n}\nconst D: Code = Code::new(\"x.three\");\n code: \"x.one\",\n";
    let of = |kind, variant| Use::Variant { kind, variant };
    assert_eq!(uses(source, "x.one"), [of("Trouble", "A"), of("Trouble", "B")]);
    assert_eq!((uses(source, "x.two"), uses(source, "x.three")), (vec![of("Other", "C")], vec![Use::Itself]));
    let source = "pub enum Trouble {\n    #[problem(code = \"x.four\", fix = \"\")]\n    E { it: u8 },\n    #[problem(\n        \
                  code = \"x.five\",\n        fix = \"\"\n    )]\n    F,\n    #[problem(same_as = F)]\n    G(u8),\n}";
    assert_eq!(uses(source, "x.four"), [of("Trouble", "E")]);
    assert_eq!(uses(source, "x.five"), [of("Trouble", "F"), of("Trouble", "G")]);
}
