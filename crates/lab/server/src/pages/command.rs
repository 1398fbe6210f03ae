//! A command to copy.

use maud::{Markup, html};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_are_escaped() {
        let page = command("tardy run --out <b>").into_string();
        assert!(page.contains("<bdi>--out</bdi> <bdi>&lt;b&gt;</bdi>"), "{page}");
    }
}
