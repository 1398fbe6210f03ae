//! The log whose lines are counted.

use crate::exit::UsageError;
use archive::watched::WatchSettings;
use archive::watched::log::LogSource;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// Where the program writes its lines.
#[derive(Debug, Args)]
pub struct LogArguments {
    /// Look for the TEXT of --count in FILE on the machine under test
    #[arg(long, value_name = "FILE", value_parser = NonEmptyStringValueParser::new(), help_heading = "Measurement", hide_short_help = true)]
    log: Option<String>,
    /// Look for the TEXT of --count in the journal of UNIT
    #[arg(long, value_name = "UNIT", conflicts_with = "log", value_parser = NonEmptyStringValueParser::new(), help_heading = "Measurement", hide_short_help = true)]
    journal: Option<String>,
}

impl LogArguments {
    pub fn source(&self) -> Option<LogSource> {
        let file = self.log.clone().map(|path| LogSource::File { path });
        file.or(self.journal.clone().map(|unit| LogSource::Journal { unit }))
    }

    /// Checks that there is a text for the log, and lines for the texts.
    ///
    /// # Errors
    /// [`UsageError`].
    pub fn check(&self, texts: &[String], request: &WatchSettings) -> Result<(), UsageError> {
        let has_log = self.source().is_some();
        if has_log && texts.is_empty() {
            return Err(UsageError("the log has no text to count; add --count TEXT, like --count XRun".into()));
        }
        if !has_log && !texts.is_empty() && request.command.is_empty() {
            let text = "--count cannot read the output of a program that already runs; name its log with --log FILE or --journal UNIT";
            return Err(UsageError(text.into()));
        }
        Ok(())
    }
}
