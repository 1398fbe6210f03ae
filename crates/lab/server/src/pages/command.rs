//! A command to copy.

use maud::{Markup, html};
use std::path::Path;
use words::printable::printable;
use words::shell::quoted;

/// A narrow page breaks it between words only: browsers would break `--board` after its first hyphen.
pub fn command(text: &str) -> Markup {
    html! {
        pre.command tabindex="0" {
            code {
                @for (at, word) in text.split(' ').enumerate() {
                    @if at > 0 { " " }
                    bdi { (word) }
                }
            }
        }
    }
}

/// A command that uses the index of this lab. `index`: the options that name it.
pub fn command_of_index(text: &str, index: &str) -> Markup {
    command(&format!("{text} {index}"))
}

/// The option by which a command stores an archive or a series under this name in the directory of this lab.
pub fn out(directory: &Path, name: &str) -> String {
    format!("--out {}", quoted(&printable(&directory.join(name).display().to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_are_escaped() {
        let page = command("tardy run --out <b>").into_string();
        assert!(page.contains("<bdi>--out</bdi> <bdi>&lt;b&gt;</bdi>"), "{page}");
    }

    #[test]
    fn a_command_names_the_index_and_the_directory_of_the_lab() {
        let page = command_of_index("tardy lab queue list", "--store lab").into_string();
        assert!(page.contains("<bdi>list</bdi> <bdi>--store</bdi> <bdi>lab</bdi>"), "{page}");
        assert_eq!(out(Path::new("lab"), "now"), "--out lab/now");
        assert_eq!(out(Path::new("my lab"), "now"), "--out 'my lab/now'");
    }
}
