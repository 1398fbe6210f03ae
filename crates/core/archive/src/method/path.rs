//! From where to where a sample measures, by the options of its method.

use super::MethodRequest;

/// The stretch that a sample measures with other options than the default ones.
#[derive(Debug, Clone, Copy)]
pub struct OtherPath {
    /// Keys and values that choose it.
    pub options: &'static [(&'static str, &'static str)],
    pub from: &'static str,
    pub to: &'static str,
}

impl MethodRequest {
    /// The instants at which a sample of this request starts and ends.
    pub fn path(&self) -> (&'static str, &'static str) {
        let definition = self.name.definition();
        let asked = |path: &&OtherPath| path.options.iter().all(|(key, value)| self.value(key) == Some(value));
        definition.others.iter().find(asked).map_or((definition.from, definition.to), |path| (path.from, path.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{METHODS, Values};

    #[test]
    fn the_path_follows_the_options_and_their_defaults() {
        let from = |text: &str| MethodRequest::parse(text).unwrap().path().0;
        assert_eq!(from("timer"), "instant at which a timer is due");
        assert_eq!(from("audio:sample=loop"), "a thread is about to write an impulse");
        assert_eq!(from("audio:direction=capture"), "instant at which a period of a sound card should be over");
        assert_eq!(from("gpio:in=1,out=2"), "the kernel sees an edge on a line");
        assert_eq!(from("gpio:in=1,out=2,role=stimulus"), "a thread is about to change a line");
        assert_eq!(from("gpio:in=1,out=2,role=stimulus,sample=arrival"), "the kernel sees the edge that answers");
    }

    #[test]
    fn every_path_is_chosen_by_values_of_its_options() {
        for definition in &METHODS {
            for (key, value) in definition.others.iter().flat_map(|path| path.options) {
                let option = definition.options.iter().find(|option| option.key == *key).unwrap();
                assert!(matches!(option.values, Values::OneOf(values) if values.contains(value)), "{key}={value}");
            }
        }
    }
}
