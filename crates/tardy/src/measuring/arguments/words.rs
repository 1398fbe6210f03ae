//! Options of `tardy run` that the user typed elsewhere: the options of an experiment's variant.

use crate::measuring::arguments::RunArguments;
use clap::{Command, CommandFactory, FromArgMatches, Parser};
use std::error::Error;
use std::sync::LazyLock;

#[derive(Debug, Parser)]
#[command(name = "tardy run", disable_help_flag = true)]
struct Line {
    #[command(flatten)]
    run: RunArguments,
}

/// Every option of `tardy run`.
pub(super) fn definition() -> &'static Command {
    static DEFINITION: LazyLock<Command> = LazyLock::new(|| {
        let mut definition = Line::command();
        definition.build();
        definition
    });
    &DEFINITION
}

impl RunArguments {
    /// Parses words as the options of `tardy run`.
    ///
    /// # Errors
    /// As on the command line; [`reason`] gives the message without its layout.
    pub fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, clap::Error> {
        let matches = definition().clone().try_get_matches_from(std::iter::once("run").chain(words))?;
        Line::from_arg_matches(&matches).map(|line| line.run)
    }
}

/// The reason, in one sentence.
pub fn reason(error: &clap::Error) -> String {
    if let Some(source) = error.source() {
        return source.to_string();
    }
    let text = error.render().to_string();
    text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::assert_sentence;

    fn refused(words: &[&str]) -> String {
        reason(&RunArguments::of_words(words.iter().copied()).unwrap_err())
    }

    #[test]
    fn reasons_are_sentences() {
        assert_sentence!("unknown-value", refused(&["--trace=flyp"]));
        let text = refused(&["--interval=100"]);
        assert!(text.contains("no unit") && !text.contains("error"), "{text}");
        assert!(refused(&["--functions=x"]).contains("--tracer"));
    }
}
