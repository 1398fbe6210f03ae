//! Words that a native engineer would not use, banned from every text that a user reads, from names and from comments.

mod grammar;
mod passages;

use crate::repository::{assert_none, files, text};
use passages::{
    Passage, names_and_comments, page_text, plan_comments, prose, rust_text, script_text, target_descriptions,
};

/// Banned words, several spellings separated by `|`, and what to write instead. Matched by whole words.
const BANNED: &[(&str, &str)] = &[
    ("tell|tells|told|telling", "report, show, say, print, return; distinguish for `tell apart`"),
    ("mend|mends|mended|mending", "fix"),
    ("somebody|someone", "another program, another user, a task"),
    ("whoever|whomever|whosoever", "the user, the task, the program that"),
    ("anew", "again"),
    ("is none|are none|was none", "there is no ..., does not exist; spurious for `that is none`"),
    ("so many|so much of", "the number, N"),
    ("so long after|so long before", "the time: every TIME, TIME after"),
    ("again and again", "repeatedly, every TIME"),
    ("belong into|belongs into", "set ... in, belongs in"),
    ("way of the data|way of data", "data flow"),
    ("by lot", "at random"),
    ("the begin|a begin|at begin|its begin|their begin", "the start"),
    ("shall|shalt", "must, should, will"),
    ("set wrong", "misconfigured"),
    ("otherwise than", "differently from"),
    ("some hundred|some thousand|some ten", "a few hundred, a few thousand, tens of"),
    ("hitherto|henceforth|thereof|whence|forthwith|lest|wherein|therein|heretofore", "a plain word"),
    ("in vain", "without success"),
    ("held the timer interrupt back|hold back the timer interrupt", "delayed the timer interrupt"),
];

/// Allowed in names and comments: `None` is a value of Rust, and `begin` a variable.
const IN_CODE: [&str; 4] = ["is none", "are none", "was none", "at begin"];

/// Where a banned word is allowed: `path: word: reason`, one per line.
const ALLOWED: &str = include_str!("words/allowed.txt");

/// Finds the passages of one kind of file.
type Reader = fn(&str) -> Vec<Passage>;

/// How a file is read, if it contains text for users.
fn reader(name: &str) -> Option<Reader> {
    match name {
        "Makefile" => Some(target_descriptions),
        _ if name.ends_with(".md") => Some(prose),
        _ if is_program(name) => Some(rust_text),
        _ if name.starts_with("plans/") || name.ends_with("template.toml") => Some(plan_comments),
        _ if name.starts_with("ui/") && name.ends_with(".html") => Some(page_text),
        _ if name.starts_with("ui/src/") && name.ends_with(".ts") => Some(script_text),
        _ => None,
    }
}

/// Every text for users, and every source, as passages of files.
fn passages() -> Vec<(&'static str, Vec<Passage>)> {
    let readers = |name: &'static String| [reader(name), is_source(name).then_some(names_and_comments as Reader)];
    let read = files().iter().flat_map(|name| readers(name).into_iter().flatten().map(move |reader| (name, reader)));
    read.map(|(name, reader)| (name.as_str(), reader(&text(name)))).collect()
}

/// Whether this is code of the project; this list of words is not.
fn is_source(name: &str) -> bool {
    let of_words = name.contains("/architecture/words");
    [".rs", ".c", ".h", ".py"].iter().any(|ending| name.ends_with(ending)) && !of_words
}

/// Whether this is a source of the programs, not of their tests.
fn is_program(name: &str) -> bool {
    let is_test = name.ends_with("/tests.rs")
        || name.contains("/tests/")
        || ["crates/proof/prerequisites/", "crates/proof/synthetic-run/"].iter().any(|tests| name.starts_with(tests));
    name.ends_with(".rs") && name.starts_with("crates/") && name.contains("/src/") && !is_test
}

/// The banned words of a passage, each with its line and what to write instead.
fn banned_in(passage: &Passage) -> Vec<(usize, &'static str, &'static str)> {
    let words = passage.words();
    let mut found = Vec::new();
    for (spellings, instead) in BANNED {
        for spelling in spellings.split('|') {
            if passage.is_code() && IN_CODE.contains(&spelling) {
                continue;
            }
            let sought: Vec<&str> = spelling.split(' ').collect();
            let hits = words.windows(sought.len()).filter(|window| {
                let same = window.iter().zip(&sought).all(|(word, sought)| word.text == *sought);
                same && window.iter().skip(1).all(|word| word.joined)
            });
            found.extend(hits.map(|window| (window[0].line, spelling, *instead)));
        }
    }
    found.sort_unstable_by_key(|(line, ..)| *line);
    found
}

fn allowed() -> Vec<(&'static str, &'static str)> {
    let lines = ALLOWED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parts = lines.map(|line| line.splitn(3, ": ").collect::<Vec<_>>());
    parts
        .map(|parts| match parts[..] {
            [path, word, reason] if !reason.is_empty() => (path, word),
            _ => panic!("words/allowed.txt: `path: word: reason`, not {parts:?}"),
        })
        .collect()
}

#[test]
fn no_text_uses_a_banned_word() {
    let allowed = allowed();
    let mut used = vec![false; allowed.len()];
    let mut offences = Vec::new();
    let passages = passages();
    assert!(passages.len() > 500, "only {} files were read", passages.len());
    for (name, passages) in passages {
        for (line, word, instead) in passages.iter().flat_map(banned_in) {
            match allowed.iter().position(|(path, exception)| *path == name && *exception == word) {
                Some(exception) => used[exception] = true,
                None => offences.push(format!("{name}:{line}: \"{word}\": write {instead}")),
            }
        }
    }
    // A text for users is part of its source.
    offences.sort();
    offences.dedup();
    assert_none("these words are banned from texts, names and comments (CONTRIBUTING.md, Words)", offences);
    let unused = allowed.iter().zip(used).filter(|(_, used)| !used).map(|((path, word), _)| format!("{path}: {word}"));
    assert_none("words/allowed.txt lists exceptions that nothing needs", unused.collect());
}

#[test]
fn words_are_found_where_they_stand() {
    let found = |passages: Vec<Passage>| -> Vec<(usize, &str)> {
        passages.iter().flat_map(banned_in).map(|(line, word, _)| (line, word)).collect()
    };
    let document = "# Told\n\nIt works `told` so\nmany times. So. Many\n\n```\ntold\n```\nMended: it\n";
    assert_eq!(found(prose(document)), [(1, "told"), (3, "so many"), (9, "mended")]);
    let source = concat!(
        "//! told\n/// It tells\n/// so much\n#[derive(clap::Args)]\nstruct Told<'a>(&'a str, char);\n",
        "const A: &str = \"a \\\n  shall {told} \\\"anew\\\"\"; // told\nconst B: char = '\"';\n",
        "const C: &str = r#\"\"told\n somebody\"#;\n#[cfg(test)]\nmod tests {\n const D: &str = \"told\";\n}\n"
    );
    assert_eq!(found(rust_text(source)), [(2, "tells"), (7, "anew"), (7, "shall"), (9, "told"), (10, "somebody")]);
    let script = "// told\nconst a = 'tells' + `${told} mend`; /* told */ const b = \"it's anew\";\n";
    assert_eq!(found(script_text(script)), [(2, "tells"), (2, "mend"), (2, "anew")]);
    let code = "fn who_told() { so_many(); } // anew {told}\nstruct TellTale; // None is none\nlet untold = retells;\n";
    let anywhere = [(1, "anew"), (1, "so many"), (1, "told"), (1, "told"), (2, "tell")];
    let mut in_code = found(names_and_comments(code));
    in_code.sort_unstable();
    assert_eq!(in_code, anywhere);
    assert_eq!(found(page_text("<p class=\"told\">We told <!-- told --></p>")), [(1, "told")]);
    assert_eq!(found(target_descriptions("x: y ## tell all\n\techo told\n")), [(1, "tell")]);
    assert_eq!(found(plan_comments("told = 1 # shall\n# told\n")), [(1, "shall"), (2, "told")]);
}
