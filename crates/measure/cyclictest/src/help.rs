//! `--help` and the manual page, generated from the table of options.

use super::options::{OPTIONS, OptionRow, Origin, Takes};
use std::fmt::Write;

const WIDTH: usize = 62;

/// The text of `--help`.
pub fn help() -> String {
    let mut text = String::from(
        "usage: cyclictest [options]\n\nHow late does a task wake up? Latencies are in us unless -N is given.\n\n",
    );
    for (title, origin) in SECTIONS {
        if !title.is_empty() {
            let _ = writeln!(text, "\n{title}:");
        }
        for row in of(origin) {
            let mut column = format!("  {:<26}", spelling(row, false));
            for word in row.help.split(' ') {
                if column.chars().rev().take_while(|c| *c != '\n').count() + word.len() > 28 + WIDTH {
                    let _ = write!(column, "\n{:28}", "");
                }
                let _ = write!(column, " {word}");
            }
            let _ = writeln!(text, "{column}");
        }
    }
    text.push_str(EXIT);
    text
}

/// The manual page in roff.
pub fn man() -> String {
    let mut text = format!(
        ".TH CYCLICTEST 8 \"\" \"tardy {}\"\n.SH NAME\ncyclictest \\- measure how late a task wakes up\n.SH SYNOPSIS\n.B \
         cyclictest\n[\\fIoptions\\fR]\n.br\n.B tardy\\-meter cyclictest\n[\\fIoptions\\fR]\n.SH DESCRIPTION\nOptions and \
         output follow cyclictest of rt\\-tests.\n.SH OPTIONS\n",
        env!("CARGO_PKG_VERSION")
    );
    for (title, origin) in SECTIONS {
        if !title.is_empty() {
            let _ = writeln!(text, ".SS {title}");
        }
        for row in of(origin) {
            let _ = writeln!(text, ".TP\n.B {}\n{}", roff(&spelling(row, true)), roff(row.help));
        }
    }
    let _ = write!(text, ".SH EXIT STATUS\n{}", roff(EXIT.trim_start()));
    text
}

const EXIT: &str = "\nExit status: 0 measured, 1 the limit of -b was exceeded, 2 wrong usage, 3 could not measure.\n";

const SECTIONS: [(&str, Origin); 3] =
    [("", Origin::RtTests), ("Only here", Origin::Own), ("Old spellings that are still understood", Origin::Retired)];

fn of(origin: Origin) -> impl Iterator<Item = &'static OptionRow> {
    let also = if origin == Origin::RtTests { Origin::RtTests210 } else { origin };
    OPTIONS.iter().filter(move |row| row.origin == origin || row.origin == also)
}

fn spelling(row: &OptionRow, always_long: bool) -> String {
    let mut text = String::new();
    match row.short {
        Some(letter) => text.push_str(&format!("-{}", letter as char)),
        None if !always_long => text.push_str("  "),
        None => {}
    }
    if !row.long.is_empty() {
        text.push_str(if row.short.is_some() {
            ", --"
        } else if always_long {
            "--"
        } else {
            "  --"
        });
        text.push_str(row.long);
    }
    let equals = if row.long.is_empty() { " " } else { "=" };
    match row.takes {
        Takes::Nothing => {}
        Takes::Value => text.push_str(&format!("{equals}{}", row.argument)),
        _ => text.push_str(&format!("[{equals}{}]", row.argument)),
    }
    text
}

fn roff(text: &str) -> String {
    text.replace('\\', "\\\\").replace('-', "\\-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_both() {
        let (help, man) = (help(), man());
        for row in OPTIONS {
            let name = if row.long.is_empty() {
                format!("-{} ", row.short.unwrap() as char)
            } else {
                format!("--{}", row.long)
            };
            assert!(help.contains(&name), "{name} is not in the help");
            assert!(man.contains(roff(&name).trim_end()), "{name} is not in the manual page");
        }
        assert!(help.lines().all(|line| line.len() <= 100), "{help}");
    }
}
