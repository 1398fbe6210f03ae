//! Errors with their causes: a library often says that something failed, and only the cause says why.

use std::error::Error;

/// An error in words, with each cause behind it.
pub fn with_causes(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt;
    use std::io;

    #[derive(Debug)]
    struct Failed(io::Error);

    impl fmt::Display for Failed {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("failed to connect")
        }
    }

    impl Error for Failed {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn every_cause_is_shown_once() {
        let failed = Failed(io::Error::other("the certificate is of another host"));
        assert_eq!(with_causes(&failed), "failed to connect: the certificate is of another host");
        assert_eq!(with_causes(&failed.0), "the certificate is of another host");
    }
}
