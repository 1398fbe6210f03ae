//! The paths of a source that begin at `crate`, `super` or `self`, without comments, literals and tests.

/// A path as segments; the last one is `*` for a glob.
pub type Path = Vec<String>;

/// Names, and single characters of punctuation. Comments and literals are left out.
pub fn tokens(source: &str) -> Vec<String> {
    let letters: Vec<char> = source.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let rest = &letters[at..];
        at += match rest {
            ['/', '/', ..] => length(rest, |letter| letter != '\n'),
            ['"', ..] => quoted(rest),
            ['r', '"', ..] | ['r', '#', '"' | '#', ..] => raw(rest),
            ['\'', '\\', ..] => 2 + length(&rest[2..], |letter| letter != '\'').max(1) + 1,
            ['\'', _, '\'', ..] => 3,
            [first, ..] if is_name(*first) => {
                let length = length(rest, is_name);
                found.push(rest[..length].iter().collect());
                length
            }
            [first, ..] => {
                found.extend((!first.is_whitespace()).then(|| first.to_string()));
                1
            }
            [] => break,
        };
    }
    without_tests(found)
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn length(letters: &[char], inside: impl Fn(char) -> bool) -> usize {
    letters.iter().take_while(|letter| inside(**letter)).count()
}

fn quoted(letters: &[char]) -> usize {
    let mut at = 1;
    while at < letters.len() && letters[at] != '"' {
        at += if letters[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn raw(letters: &[char]) -> usize {
    let hashes = length(&letters[1..], |letter| letter == '#');
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let begin = 2 + hashes;
    let inside = letters[begin..].windows(end.len()).position(|window| window == end);
    inside.map_or(letters.len(), |inside| begin + inside + end.len())
}

/// Leaves out every item behind `#[cfg(test)]`.
fn without_tests(tokens: Vec<String>) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].iter().take(MARK.len()).eq(MARK.iter()) {
            at = behind_item(&tokens, at + MARK.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// The position behind an item: behind its semicolon, or behind its body.
fn behind_item(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" if depth == 1 => {
                return at + usize::from(tokens.get(at).is_some_and(|token| token == ";"));
            }
            "}" | ")" | "]" => depth -= 1,
            ";" if depth == 0 => return at,
            _ => {}
        }
    }
    at
}

/// Modules that a source declares only for tests: their files are tests, too.
pub fn test_modules(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let declared = lines.windows(2).filter(|two| two[0].trim() == "#[cfg(test)]").filter_map(|two| {
        let line = two[1].trim().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    declared.map(str::to_owned).collect()
}

/// Every path that begins at `crate`, `super` or `self`.
pub fn paths(tokens: &[String]) -> Vec<Path> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let begins = ["crate", "super", "self"].contains(&tokens[at].as_str());
        let continues = at >= 2 && tokens[at - 1] == ":" && tokens[at - 2] == ":";
        if begins && !continues && is_separator(tokens, at + 1) {
            tree(tokens, at, Vec::new(), &mut found);
        }
    }
    found
}

/// The paths that `pub use` and its like export, with the name under which they do.
pub fn exports(tokens: &[String]) -> Vec<(Path, String)> {
    let mut found = Vec::new();
    for at in 1..tokens.len() {
        let public = tokens[at - 1] == "pub" || tokens[at - 1] == ")";
        if tokens[at] == "use" && public {
            let mut paths = Vec::new();
            tree(tokens, at + 1, Vec::new(), &mut paths);
            found.extend(paths.into_iter().filter_map(|path| {
                let name = path.last()?.clone();
                Some((path, name))
            }));
        }
    }
    found
}

fn is_separator(tokens: &[String], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token == ":") && tokens.get(at + 1).is_some_and(|token| token == ":")
}

/// Collects the paths of a tree such as `a::{b, c::d}` and returns the position behind it.
fn tree(tokens: &[String], mut at: usize, mut path: Path, found: &mut Vec<Path>) -> usize {
    while let Some(token) = tokens.get(at) {
        if token == "{" {
            at += 1;
            while tokens.get(at).is_some_and(|token| token != "}") {
                let before = at;
                at = tree(tokens, at, path.clone(), found);
                at += usize::from(tokens.get(at).is_some_and(|token| token == ","));
                if at == before {
                    break;
                }
            }
            return at + 1;
        }
        if token != "*" && !token.chars().all(is_name) {
            break;
        }
        // `a::{self}` is `a`.
        if token != "self" || path.is_empty() {
            path.push(token.clone());
        }
        at += 1;
        if !is_separator(tokens, at) {
            break;
        }
        at += 2;
    }
    if tokens.get(at).is_some_and(|token| token == "as") {
        at += 2;
    }
    if !path.is_empty() {
        found.push(path);
    }
    at
}
