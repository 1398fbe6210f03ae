//! Parses the kernel's command line as the kernel does.

/// One word of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// With underscores, because the kernel treats a dash like an underscore.
    pub name: String,
    pub value: Option<String>,
    /// As written.
    pub written: String,
}

/// The words before `--`, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine(pub Vec<Parameter>);

impl CommandLine {
    /// Parses any text. Spaces inside double quotes do not separate words.
    pub fn parse(text: &str) -> Self {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for letter in text.chars() {
            match letter {
                '"' => quoted = !quoted,
                letter if letter.is_whitespace() && !quoted => words.push(String::new()),
                _ => {}
            }
            if !letter.is_whitespace() || quoted {
                words.last_mut().expect("there is one from the start").push(letter);
            }
        }
        let words = words.into_iter().filter(|word| !word.is_empty());
        Self(words.take_while(|word| word != "--").map(Parameter::of).collect())
    }

    /// The value of the last parameter of this name that has one; for most parameters the kernel uses the last.
    pub fn value(&self, name: &str) -> Option<&str> {
        let named = self.0.iter().rev().filter(|parameter| parameter.name == name);
        named.filter_map(|parameter| parameter.value.as_deref()).next()
    }

    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Parameter> {
        self.0.iter().filter(move |parameter| parameter.name == name)
    }
}

impl Parameter {
    fn of(written: String) -> Self {
        let (name, value) =
            written.split_once('=').map_or((written.as_str(), None), |(name, value)| (name, Some(value)));
        let plain = |text: &str| text.replace('"', "");
        Self { name: plain(name).replace('-', "_"), value: value.map(plain), written }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_dashes_and_the_end_are_heeded() {
        let line = CommandLine::parse(
            "quiet  isolcpus=1 isolcpus=domain,2 dyndbg=\"file a +p\" transparent-hugepage=never -- x=1",
        );
        assert_eq!(line.value("isolcpus"), Some("domain,2"));
        assert_eq!(line.value("dyndbg"), Some("file a +p"));
        assert_eq!(line.value("transparent_hugepage"), Some("never"));
        assert!(line.has("quiet") && line.value("quiet").is_none() && !line.has("x"));
        assert_eq!(line.all("isolcpus").count(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_a_command_line(text in ".{0,200}") {
            let line = CommandLine::parse(&text);
            prop_assert!(line.0.iter().all(|parameter| !parameter.written.is_empty()));
        }
    }
}
