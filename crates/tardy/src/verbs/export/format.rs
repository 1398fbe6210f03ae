//! Formats and their options on the command line, from the list of `interchange`.

use crate::exit::UsageError;
use crate::options::choice::{Entry, entry_of};
use anyhow::Context;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use interchange::exports::{ExportFormat, ExportOption, FORMATS, FileText, OptionValue, Options, options};
use std::fs;

/// Parses `--format`; the help describes each.
pub fn parser() -> impl TypedValueParser<Value = &'static dyn ExportFormat> {
    let choice =
        |format: &&'static dyn ExportFormat| Entry { value: *format, name: format.name(), about: format.about() };
    entry_of(FORMATS.iter().map(choice).collect())
}

/// Options of single formats as typed.
#[derive(Debug, Clone, Default)]
pub struct FormatOptions {
    flags: Vec<&'static ExportOption>,
    values: Vec<(&'static ExportOption, String)>,
}

impl FormatOptions {
    /// The values for a format. Reads files that it names.
    ///
    /// # Errors
    /// [`UsageError`] if an option does not belong to the format.
    pub fn of(&self, format: &dyn ExportFormat) -> anyhow::Result<Options> {
        let mut given = Options::default();
        for option in &self.flags {
            require(format, option)?;
            given.set(option);
        }
        for (option, value) in &self.values {
            require(format, option)?;
            match option.value {
                OptionValue::File { .. } => {
                    let text = fs::read_to_string(value).with_context(|| format!("failed to read {value}"))?;
                    given.set_file(option, FileText { path: value.into(), text });
                }
                _ => given.set_text(option, value.clone()),
            }
        }
        Ok(given)
    }
}

fn require(format: &dyn ExportFormat, option: &ExportOption) -> Result<(), UsageError> {
    if format.options().iter().any(|of| of.name == option.name) {
        return Ok(());
    }
    let formats = FORMATS.iter().filter(|format| format.options().iter().any(|of| of.name == option.name));
    let formats: Vec<&str> = formats.map(|format| format.name()).collect();
    Err(UsageError(format!("--{} is for the format {}", option.name, formats.join(" and "))))
}

impl Args for FormatOptions {
    fn augment_args(command: Command) -> Command {
        options().into_iter().fold(command, |command, (option, formats)| {
            let help = format!("For {}: {}", formats.join(" and "), option.about);
            let argument = Arg::new(option.name).long(option.name).help(help);
            command.arg(match option.value {
                OptionValue::Flag => argument.action(ArgAction::SetTrue),
                OptionValue::Text { placeholder, default, check } => {
                    let check = move |text: &str| check(text).map(|()| text.to_owned());
                    argument.value_name(placeholder).value_parser(check).default_values(default)
                }
                OptionValue::File { placeholder } => argument.value_name(placeholder),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FormatOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut typed = Self::default();
        typed.update_from_arg_matches(matches)?;
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for (option, _) in options() {
            if matches.value_source(option.name) != Some(clap::parser::ValueSource::CommandLine) {
                continue;
            }
            match option.value {
                OptionValue::Flag => self.flags.push(option),
                OptionValue::Text { .. } | OptionValue::File { .. } => {
                    let value = matches.get_one::<String>(option.name).cloned();
                    let value = value.ok_or_else(|| Error::raw(ErrorKind::InvalidValue, option.name))?;
                    self.values.push((option, value));
                }
            }
        }
        Ok(())
    }
}
