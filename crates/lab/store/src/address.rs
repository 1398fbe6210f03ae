//! Where an index and its archives are.

use crate::error::StoreError;
use crate::objects::ObjectsAddress;
use std::path::{Path, PathBuf};
use words::printable::printable;
use words::shell::quoted;

/// Name of the index beside the archives.
const INDEX_FILE: &str = "index.sqlite";

/// An index, and the directory of the archives that it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub archives: PathBuf,
    /// The object store that has the archives, if there is one: the directory has copies then.
    pub objects: Option<ObjectsAddress>,
    index: Index,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Index {
    /// A file among the archives.
    File,
    /// The URL of a PostgreSQL database.
    Server(String),
}

impl Address {
    /// Reads an address: `postgres://...`, or a directory with the index as `index.sqlite` in it. `archives` is the
    /// directory of archives of a PostgreSQL index; an index in a directory has them there.
    ///
    /// # Errors
    /// [`StoreError::Address`] for a URL of another kind.
    pub fn parse(text: &str, archives: &Path) -> Result<Self, StoreError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self { index: Index::Server(text.to_owned()), archives: archives.to_owned(), objects: None });
        }
        if text.contains("://") || text.is_empty() {
            return Err(StoreError::Address(text.to_owned()));
        }
        Ok(Self::directory(Path::new(text)))
    }

    /// The index in a directory of archives.
    pub fn directory(archives: &Path) -> Self {
        Self { index: Index::File, archives: archives.to_owned(), objects: None }
    }

    /// Whether the index can be there: a file is, a server is asked when it is opened.
    pub fn is_there(&self) -> bool {
        match &self.index {
            Index::File => self.archives.join(INDEX_FILE).is_file(),
            Index::Server(_) => true,
        }
    }

    /// The options by which a command line on this machine names the index and its archives; no password is among them.
    pub fn options(&self) -> String {
        let directory = self.archives.display().to_string();
        let (store, archives) = match &self.index {
            Index::File => (directory.as_str(), None),
            Index::Server(url) => (url.as_str(), Some(directory.as_str())),
        };
        let objects = self.objects.as_ref().map(|of| format!("s3://{}/{}", of.bucket, of.prefix));
        index_options(Some(store), archives, objects.as_deref())
    }

    /// The URL of the index, if `root` is the absolute path of the directory of archives, without `..`.
    pub fn url(&self, root: &Path) -> String {
        match &self.index {
            Index::File => sqlite_url(&root.join(INDEX_FILE)),
            Index::Server(url) => url.clone(),
        }
    }
}

/// The options of a command line that names an index, with their values; no password is among them.
pub fn index_options(store: Option<&str>, archives: Option<&str>, artefacts: Option<&str>) -> String {
    let store = store.map(without_password);
    let given = [("--store", store.as_deref()), ("--archives", archives), ("--artefacts", artefacts)];
    let named = given.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", quoted(&printable(value?)))));
    named.collect::<Vec<_>>().join(" ")
}

/// A directory as it is, and a URL without the password that it can have before its host or among its parameters.
fn without_password(store: &str) -> String {
    let Some((scheme, rest)) = store.split_once("://") else { return store.to_owned() };
    let (place, parameters) =
        rest.split_once('?').map_or((rest, None), |(place, parameters)| (place, Some(parameters)));
    let place = match place.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => place.to_owned(),
    };
    let open = parameters.filter(|parameters| !parameters.contains("password"));
    let parameters = open.map_or(String::new(), |parameters| format!("?{parameters}"));
    format!("{scheme}://{place}{parameters}")
}

/// A path may have letters with a meaning in a URL, and a URL is shortened where it has `..`.
fn sqlite_url(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut url = String::from("sqlite://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => url.push(char::from(*byte)),
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url.push_str("?mode=rwc");
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_its_index_in_it_and_a_url_does_not() {
        let runs = Address::parse("../runs", Path::new("other")).unwrap();
        assert_eq!(runs.archives, Path::new("../runs"));
        assert_eq!(runs.url(Path::new("/a b?c#d%")), "sqlite:///a%20b%3Fc%23d%25/index.sqlite?mode=rwc");
        let lab = Address::parse("postgres://lab@db/tardy", Path::new("archives")).unwrap();
        assert_eq!(
            (lab.url(Path::new("/x")).as_str(), lab.archives.as_path()),
            ("postgres://lab@db/tardy", Path::new("archives"))
        );
        assert_eq!(
            (runs.options().as_str(), lab.options().as_str()),
            ("--store ../runs", "--store postgres://lab@db/tardy --archives archives")
        );
        let secret = Address::parse("postgres://lab:hush@db/tardy?password=hush", Path::new("a")).unwrap();
        assert_eq!(secret.options(), "--store postgres://lab@db/tardy --archives a");
        assert!(matches!(Address::parse("mysql://x", Path::new("")), Err(StoreError::Address(_))));
    }
}
