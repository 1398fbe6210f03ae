//! The table of intended differences in docs/reference/cyclictest.md.

use fixtures::repository::repository_path;

/// One row: which lines (or exit statuses) differ, for which options.
#[derive(Debug, Clone)]
pub struct Difference {
    pub name: String,
    /// Words of command lines to which it applies; empty for all.
    pub options: Vec<String>,
    /// stdout, stderr, json or status.
    pub place: String,
    /// Pattern with `*`; empty if only ours has the line.
    pub theirs: String,
    /// The same; empty if only theirs has it.
    pub ours: String,
}

impl Difference {
    pub fn applies(&self, place: &str, line: &str) -> bool {
        let given = |option: &String| {
            line.split_whitespace().any(|word| word == option || word.starts_with(&format!("{option}=")))
        };
        self.place == place && (self.options.is_empty() || self.options.iter().any(given))
    }
}

/// Parses the table.
pub fn differences() -> Vec<Difference> {
    let path = repository_path("docs/reference/cyclictest.md");
    let text = std::fs::read_to_string(path).expect("docs/reference/cyclictest.md");
    let rows = text.lines().skip_while(|line| !line.starts_with("| Name | Options |")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<String> = line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
            assert_eq!(cells.len(), 8, "a row has six cells: {line}");
            assert!(!cells[6].is_empty(), "a difference needs a reason: {line}");
            let options = cells[2].split(", ").map(|option| option.trim_matches('`').to_owned());
            Difference {
                name: cells[1].clone(),
                options: options.filter(|option| option != "any").collect(),
                place: cells[3].clone(),
                theirs: cells[4].clone(),
                ours: cells[5].clone(),
            }
        })
        .collect()
}

/// Whether a text matches a pattern in which `*` is any text.
pub fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|text| {
            (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| fits(rest, &text[at..]))
        }),
    }
}

#[test]
fn patterns_fit_what_they_say() {
    assert!(fits("a*c", "abc") && fits("a*", "a") && fits("*", "") && !fits("a*c", "abd") && !fits("", "a"));
}

#[test]
fn the_table_is_read() {
    let all = differences();
    assert!(all.len() >= 5);
    assert!(
        all.iter().all(|difference| ["stdout", "stderr", "json", "status"].contains(&difference.place.as_str())),
        "{all:?}"
    );
}
