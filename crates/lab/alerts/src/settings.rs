//! The file that says which changes go where.

use crate::channel::{Channel, Program, error::ChannelError, forge::Forge, mail::Mail, webhook::Webhook};
use crate::rule::{Direction, Rule};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::changes::ChangeReport;
use store::{Store, StoreError};
use thiserror::Error;
use tls::Roots;

/// A file of settings is short; a larger one is another file.
const BYTES_MAX: u64 = 1 << 20;
const NAME_LETTERS_MAX: usize = 60;

/// Where messages go, and which.
#[derive(Debug)]
pub struct Settings {
    /// Address of the server of the lab, for links; without a slash at its end.
    pub link: Option<String>,
    pub rules: Vec<Rule>,
    pub destinations: Vec<Destination>,
}

/// A place that gets messages, by the name under which the index knows it.
#[derive(Debug)]
pub struct Destination {
    pub name: String,
    pub channel: Channel,
    /// It gets changes that were found before it was known as well, unless they were reported anywhere.
    pub from_the_start: bool,
}

/// An error in the file of settings.
#[derive(Debug, Error)]
pub enum SettingsError {
    #[error("failed to read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is too long for settings of alerts")]
    TooLong { path: PathBuf },
    #[error("{path}: line {line}: {because}")]
    Toml { path: PathBuf, line: usize, because: String },
    #[error("{path}: destination {name}: {source}")]
    Destination { path: PathBuf, name: String, source: ChannelError },
    #[error("{path}: a rule names the destination {name}, which does not exist")]
    NoDestination { path: PathBuf, name: String },
    #[error("{path}: no rule, so nothing would ever be sent; write [[rule]] with `to = [\"NAME\"]`")]
    NoRule { path: PathBuf },
    #[error("{path}: {because}")]
    Link { path: PathBuf, because: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    link: Option<String>,
    /// Certificates of authorities, instead of those of the system.
    ca_file: Option<PathBuf>,
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
    #[serde(default, rename = "destination")]
    destinations: BTreeMap<String, DestinationFile>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum DestinationFile {
    Webhook(Webhook),
    Mail(Mail),
    Github(Forge),
    Gitlab(Forge),
}

impl Settings {
    /// Reads the file, and the secrets that it names.
    ///
    /// # Errors
    /// An error in the file.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let failed = |source| SettingsError::Read { path: path.to_owned(), source };
        if std::fs::metadata(path).map_err(failed)?.len() > BYTES_MAX {
            return Err(SettingsError::TooLong { path: path.to_owned() });
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Self::parse(&text, path)
    }

    /// The settings in a text; `path` is where it is from, and relative paths in it start in its folder.
    ///
    /// # Errors
    /// An error in the text.
    pub fn parse(text: &str, path: &Path) -> Result<Self, SettingsError> {
        let wrong = |error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            SettingsError::Toml { path: path.to_owned(), line, because: error.message().to_owned() }
        };
        let file: File = toml::from_str(text).map_err(wrong)?;
        if file.rules.is_empty() {
            return Err(SettingsError::NoRule { path: path.to_owned() });
        }
        let link = file.link.map(|link| checked_link(link, path)).transpose()?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let roots = Roots::from(file.ca_file.map(|ca_file| folder.join(ca_file)));
        let mut destinations = Vec::new();
        for (name, described) in file.destinations {
            let wrong = |source| SettingsError::Destination { path: path.to_owned(), name: name.clone(), source };
            if !is_name(&name) {
                return Err(wrong(ChannelError::Name { letters_max: NAME_LETTERS_MAX }));
            }
            let channel = match described {
                DestinationFile::Webhook(webhook) => webhook.channel(folder, &roots),
                DestinationFile::Mail(mail) => mail.channel(folder, &roots),
                DestinationFile::Github(forge) => forge.github(folder, &roots),
                DestinationFile::Gitlab(forge) => forge.gitlab(folder, &roots),
            };
            destinations.push(Destination { channel: channel.map_err(wrong)?, name, from_the_start: false });
        }
        let named = file.rules.iter().flat_map(|rule| &rule.to);
        for name in named {
            if !destinations.iter().any(|destination| destination.name == *name) {
                return Err(SettingsError::NoDestination { path: path.to_owned(), name: name.clone() });
            }
        }
        Ok(Self { link, rules: file.rules, destinations })
    }

    /// Every change that was never reported to a program of the caller, and nothing else.
    pub fn of_program(name: &str, program: Program) -> Self {
        let (channel, name) = (Channel::Program(program), name.to_owned());
        let rule = Rule { direction: Direction::Both, ..Rule::everything_to(&name) };
        Self { link: None, rules: vec![rule], destinations: vec![Destination { name, channel, from_the_start: true }] }
    }

    /// Makes the destinations known to the index: they get changes that are found from now on.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn announce(&self, store: &Store, now_unix_ns: i64) -> Result<(), StoreError> {
        for Destination { name, from_the_start, .. } in &self.destinations {
            store.add_destination(name, if *from_the_start { i64::MIN } else { now_unix_ns }).await?;
        }
        Ok(())
    }

    /// Whether a destination gets a message about a change.
    pub fn wants(&self, destination: &str, report: &ChangeReport) -> bool {
        self.rules.iter().any(|rule| rule.to.iter().any(|to| to == destination) && rule.matches(report))
    }
}

fn checked_link(link: String, path: &Path) -> Result<String, SettingsError> {
    let is_address = ["http://", "https://"].iter().any(|scheme| link.starts_with(scheme));
    if !is_address
        || link.contains(|letter: char| letter.is_whitespace() || letter.is_control() || "<>\"'`()".contains(letter))
    {
        let because = "link is the address of `tardy lab serve`, like https://lab.example".to_owned();
        return Err(SettingsError::Link { path: path.to_owned(), because });
    }
    Ok(link.trim_end_matches('/').to_owned())
}

fn is_name(name: &str) -> bool {
    (1..=NAME_LETTERS_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::SecretError;
    use fixtures::repository::repository_path;

    fn refused(text: &str) -> SettingsError {
        Settings::parse(text, Path::new("lab/alerts.toml")).unwrap_err()
    }

    #[test]
    fn mistakes_are_distinguished() {
        let rule = "[[rule]]\nto = [\"a\"]\n";
        assert!(matches!(refused(""), SettingsError::NoRule { .. }));
        assert!(matches!(refused(rule), SettingsError::NoDestination { name, .. } if name == "a"));
        assert!(matches!(refused("[[rule]]\nto = []\npercent = 5\n"), SettingsError::Toml { line: 3, .. }));
        assert!(matches!(refused(&format!("link = \"lab\"\n{rule}")), SettingsError::Link { .. }));
        let unknown = format!("{rule}[destination.a]\nkind = \"pager\"\n");
        assert!(matches!(refused(&unknown), SettingsError::Toml { .. }));
    }

    #[test]
    fn mistakes_are_named_with_their_destination() {
        let of = |destination: &str, lines: &str| {
            let text = format!("[[rule]]\nto = [\"a\"]\n[destination.{destination}]\n{lines}\n");
            match refused(&text) {
                SettingsError::Destination { name, source, .. } => {
                    assert_eq!(name, destination.trim_matches('"'));
                    source
                }
                other => panic!("{other}"),
            }
        };
        let hook = "kind = \"webhook\"\nurl = \"https://x\"";
        assert!(matches!(of("\"a b\"", hook), ChannelError::Name { .. }));
        assert!(matches!(of("a", "kind = \"webhook\"\nurl = \"ftp://x\""), ChannelError::Address(_)));
        let unread = of("a", &format!("{hook}\nsecret = {{ file = \"none\" }}"));
        assert!(
            matches!(unread, ChannelError::Secret(SecretError::Read { path, .. }) if path == Path::new("lab/none"))
        );
        let open = "kind = \"github\"\nproject = \"o/r\"\napi = \"http://forge.example\"\ntoken = { env = \"PATH\" }";
        assert!(matches!(of("a", open), ChannelError::TokenInClear));
        let mail = "kind = \"mail\"\nserver = \"mail\"\nfrom = \"x\"\nto = [\"y@z\"]";
        assert!(matches!(of("a", mail), ChannelError::Mailbox { text, .. } if text == "x"));
    }

    #[test]
    fn the_example_of_the_documents_can_be_read() {
        let page = repository_path("docs/how-to/alerts.md");
        let page = std::fs::read_to_string(page).unwrap();
        let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for secret in ["smtp-password", "hook-secret", "github-token", "gitlab-token"] {
            std::fs::write(folder.path().join(secret), "x").unwrap();
        }
        let settings = Settings::parse(example, &folder.path().join("alerts.toml")).unwrap();
        assert_eq!((settings.destinations.len(), settings.rules.len()), (4, 2));
    }
}
