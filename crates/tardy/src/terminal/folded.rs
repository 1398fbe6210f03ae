//! Finished text, folded between words where a terminal would break it in the middle of one.

use crate::terminal::screen;
use std::io::IsTerminal;

/// The text for standard error: as it is, unless that is a terminal.
pub fn for_stderr(text: &str) -> String {
    match screen::size_of_stderr() {
        Some(size) => folded(text, size.columns),
        None => text.to_owned(),
    }
}

/// An error of the command line, with its colours if standard error may have them.
pub fn refusal_for_stderr(refusal: &clap::Error) -> String {
    let stderr = std::io::stderr();
    let rendered = refusal.render();
    let colour = stderr.is_terminal() && super::page::may_colour(&stderr);
    for_stderr(&if colour { rendered.ansi().to_string() } else { rendered.to_string() })
}

/// The text with every line that is wider than `columns` broken at spaces; the further lines are indented like the first.
pub fn folded(text: &str, columns: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| line_folded(line, columns)).collect();
    lines.join("\n")
}

fn line_folded(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let indent: String = line.chars().take_while(|letter| *letter == ' ').collect();
    let mut folded = indent.clone();
    let mut used = indent.len();
    let mut first = true;
    for word in line[indent.len()..].split(' ') {
        let wide = width(word);
        if !first && used + 1 + wide > columns {
            folded.push('\n');
            folded.push_str(&indent);
            used = indent.len();
        } else if !first {
            folded.push(' ');
            used += 1;
        }
        folded.push_str(word);
        used += wide;
        first = false;
    }
    folded
}

/// Columns of a text; the escape sequences of colours have none.
fn width(text: &str) -> usize {
    let mut columns = 0;
    let mut escape = false;
    for letter in text.chars() {
        match letter {
            '\x1b' => escape = true,
            letter if escape => escape = !letter.is_ascii_alphabetic(),
            _ => columns += 1,
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_words_below_their_start() {
        let text = "  tip: a similar argument exists\nshort\n\na-word-that-is-longer-than-the-line follows";
        assert_eq!(
            folded(text, 20),
            "  tip: a similar\n  argument exists\nshort\n\na-word-that-is-longer-than-the-line\nfollows"
        );
        assert_eq!(folded(text, 80), text);
    }

    #[test]
    fn colours_take_no_room() {
        let text = "\x1b[1m\x1b[31merror:\x1b[0m no such run";
        assert_eq!(folded(text, 18), text);
        assert_eq!(folded(text, 17), "\x1b[1m\x1b[31merror:\x1b[0m no such\nrun");
    }
}
