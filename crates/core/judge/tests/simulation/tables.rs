//! Tables of the document about the reliability of the claims: the simulations write them, or check them against the
//! document.

use fixtures::repository::repository_path;
use std::fs;

/// If set, the tables are written.
const UPDATE: &str = "UPDATE_TABLES";

pub struct Table {
    lines: Vec<String>,
}

impl Table {
    pub fn new(first: &str, others: &[String]) -> Self {
        let line = format!("| {first} | {} |", others.join(" | "));
        Self { lines: vec![line, format!("|---|{}", "---|".repeat(others.len()))] }
    }

    pub fn row(&mut self, name: &str, cells: Vec<String>) {
        self.lines.push(format!("| {name} | {} |", cells.join(" | ")));
    }
}

/// Prints a table, and writes it to its place in the document or compares it with the text there.
pub fn publish(name: &str, table: &Table) {
    let text = table.lines.join("\n");
    println!("{name}\n{text}");
    let path = repository_path("docs/explanation/judging.md");
    let document = fs::read_to_string(&path).expect("the document is there");
    let (begin, end) = (format!("<!-- table {name} -->\n"), format!("\n<!-- end {name} -->"));
    // Some tables are not in the document.
    let Some(place) = document.find(&begin) else { return };
    let from = place + begin.len();
    let to = from + document[from..].find(&end).expect("the place of the table ends");
    if std::env::var_os(UPDATE).is_some() {
        let new = format!("{}{text}{}", &document[..from], &document[to..]);
        fs::write(path, new).expect("the document can be written");
    } else {
        assert_eq!(&document[from..to], text, "the table is another; {UPDATE}=1 make simulate-judge writes it");
    }
}
