//! The address of an object store: bucket and prefix from the command line, the rest from the variables that every S3 client reads.

use crate::error::StoreError;
use std::fmt;

/// Signed into every request where `AWS_REGION` is not set; servers other than Amazon's take any.
const REGION: &str = "us-east-1";

/// Where the archives of a lab are, and the key to it.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectsAddress {
    pub bucket: String,
    /// Before the name of every object; may be empty.
    pub prefix: String,
    /// `http://HOST:PORT` or `https://HOST:PORT`.
    pub endpoint: String,
    pub region: String,
    pub key_id: String,
    pub secret_key: String,
    pub session_token: Option<String>,
}

impl ObjectsAddress {
    /// Reads `s3://BUCKET/PREFIX`. `variable` is the environment of the process.
    ///
    /// # Errors
    /// [`StoreError::ObjectsAddress`] for another address, [`StoreError::ObjectsAccess`] where endpoint or keys are missing.
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, StoreError> {
        let wrong = |expected| StoreError::ObjectsAddress { text: text.to_owned(), expected };
        let lacking = |because: String| StoreError::ObjectsAccess { store: text.to_owned(), because };
        let rest = text.strip_prefix("s3://").ok_or_else(|| wrong("expected s3://BUCKET or s3://BUCKET/PREFIX"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        if bucket.is_empty() || !bucket.chars().all(is_name) {
            return Err(wrong("expected a bucket of letters, digits, '-', '_' and '.'"));
        }
        let prefix = prefix.trim_matches('/');
        if !prefix.is_empty() && !prefix.split('/').all(|part| !part.is_empty() && part.chars().all(is_name)) {
            return Err(wrong("expected a prefix of letters, digits, '-', '_', '.' and single '/'"));
        }
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let set = |name: &str| variable(name).ok_or_else(|| lacking(format!("set {name}")));
        let endpoint = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        let example = "like http://localhost:9000 or https://s3.eu-central-1.amazonaws.com";
        let endpoint = endpoint.ok_or_else(|| lacking(format!("set AWS_ENDPOINT_URL, {example}")))?;
        if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
            return Err(lacking(format!("AWS_ENDPOINT_URL is {endpoint}; write an address {example}")));
        }
        Ok(Self {
            bucket: bucket.into(),
            prefix: prefix.into(),
            endpoint: endpoint.trim_end_matches('/').into(),
            region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")).unwrap_or_else(|| REGION.into()),
            key_id: set("AWS_ACCESS_KEY_ID")?,
            secret_key: set("AWS_SECRET_ACCESS_KEY")?,
            session_token: variable("AWS_SESSION_TOKEN"),
        })
    }
}

/// As the user wrote it.
impl fmt::Display for ObjectsAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "s3://{}/{} at {}", self.bucket, self.prefix, self.endpoint)
    }
}

/// Without the secret: errors and logs print it.
impl fmt::Debug for ObjectsAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "ObjectsAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, without: &str, endpoint: &str) -> Result<ObjectsAddress, String> {
        let variable = |name: &str| match name {
            _ if name == without => None,
            "AWS_ENDPOINT_URL" => Some(endpoint.to_owned()),
            "AWS_ACCESS_KEY_ID" => Some("key".to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some("hush".to_owned()),
            _ => None,
        };
        ObjectsAddress::parse(text, variable).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_is_a_bucket_a_prefix_and_the_usual_variables() {
        let at = parse("s3://lab/pi/runs/", "", "http://localhost:9000/").unwrap();
        assert_eq!((at.bucket.as_str(), at.prefix.as_str(), at.region.as_str()), ("lab", "pi/runs", "us-east-1"));
        assert_eq!(at.endpoint, "http://localhost:9000");
        assert_eq!(parse("s3://lab", "", "http://h").unwrap().prefix, "");
        assert!(!format!("{at:?} {at}").contains("hush"), "the secret is in no message");
    }

    #[test]
    fn a_missing_part_is_named_with_its_fix() {
        for (text, without, endpoint, fix) in [
            ("gs://lab", "", "http://h", "`gs://lab` is not the address of an object store: expected s3://BUCKET"),
            ("s3:///x", "", "http://h", "expected a bucket of"),
            ("s3://lab/a//b", "", "http://h", "expected a prefix of"),
            ("s3://lab/../b c", "", "http://h", "expected a prefix of"),
            ("s3://lab", "AWS_ENDPOINT_URL", "", "set AWS_ENDPOINT_URL"),
            ("s3://lab", "", "ftp://h", "write an address like"),
            ("s3://lab", "AWS_ACCESS_KEY_ID", "http://h", "set AWS_ACCESS_KEY_ID"),
            ("s3://lab", "AWS_SECRET_ACCESS_KEY", "http://h", "set AWS_SECRET_ACCESS_KEY"),
        ] {
            let error = parse(text, without, endpoint).unwrap_err();
            assert!(error.contains(fix), "{error}");
        }
    }
}
