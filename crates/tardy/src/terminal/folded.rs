//! Finished text, folded between words where a terminal would break it in the middle of one.

use crate::terminal::screen;
use std::io::IsTerminal;

/// Start of a usage line of clap.
const USAGE: &str = "Usage: ";

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

/// Help or the version for standard output: clap folds the texts of options, but not usage lines.
pub fn help_for_stdout(help: &clap::Error) -> String {
    let rendered = help.render();
    let colour = super::page::may_colour(&std::io::stdout());
    let text = if colour { rendered.ansi().to_string() } else { rendered.to_string() };
    screen::width().map_or_else(|| text.clone(), |columns| folded(&text, columns))
}

/// The text with every line that is wider than `columns` broken at spaces; the further lines are indented like the first,
/// or below the first word of a usage line. An alternative in brackets is not broken if it fits on a line.
pub fn folded(text: &str, columns: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| line_folded(line, columns)).collect();
    lines.join("\n")
}

fn line_folded(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let first_indent = line.len() - line.trim_start_matches(' ').len();
    let is_usage = without_colours(line).starts_with(USAGE);
    let indent = " ".repeat(if is_usage { USAGE.len() } else { first_indent });
    let mut folded = " ".repeat(first_indent);
    let mut used = first_indent;
    let mut first = true;
    for word in words(&line[first_indent..], if is_usage { columns.saturating_sub(USAGE.len()) } else { 0 }) {
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

/// The words between spaces. Those inside of brackets stay together up to `together_max` columns.
fn words(text: &str, together_max: usize) -> Vec<&str> {
    let depth_after = |depth: usize, letter| match letter {
        '<' | '[' => depth + 1,
        '>' | ']' => depth.saturating_sub(1),
        _ => depth,
    };
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        let mut depth = 0;
        let mut shown = letters(rest);
        let end = shown.find_map(|(at, letter)| {
            depth = depth_after(depth, letter);
            (letter == ' ' && depth == 0).then_some(at)
        });
        let whole = end.unwrap_or(rest.len());
        let end = if width(&rest[..whole]) > together_max { rest.find(' ').unwrap_or(rest.len()) } else { whole };
        words.push(&rest[..end]);
        match rest.get(end + 1..) {
            Some(further) => rest = further,
            None => return words,
        }
    }
}

/// Columns of a text.
fn width(text: &str) -> usize {
    letters(text).count()
}

fn without_colours(text: &str) -> String {
    letters(text).map(|(_, letter)| letter).collect()
}

/// The letters that a terminal shows, with their places: without the escape sequences of colours.
fn letters(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut escape = false;
    text.char_indices().filter(move |(_, letter)| match letter {
        '\x1b' => {
            escape = true;
            false
        }
        letter if escape => {
            escape = !letter.is_ascii_alphabetic();
            false
        }
        _ => true,
    })
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
    fn usage_lines_break_between_arguments() {
        let text = "\x1b[1mUsage:\x1b[0m tardy watch [OPTIONS] <--pid <N>|--comm <NAME>|COMMAND>";
        let broken = "\x1b[1mUsage:\x1b[0m tardy watch [OPTIONS]\n       <--pid <N>|--comm <NAME>|COMMAND>";
        assert_eq!(folded(text, 50), broken);
        assert_eq!(
            folded(text, 30),
            "\x1b[1mUsage:\x1b[0m tardy watch [OPTIONS]\n       <--pid <N>|--comm\n       <NAME>|COMMAND>"
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
