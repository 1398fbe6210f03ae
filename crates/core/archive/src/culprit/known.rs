//! Reads values of which a newer version may know more kinds: an unknown one is left out.

use serde::de::{Deserialize, Deserializer, IgnoredAny};

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Maybe<T> {
    Known(T),
    Unknown(IgnoredAny),
}

impl<T> Maybe<T> {
    fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }
}

pub fn if_known<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Maybe<T>>::deserialize(from)?.and_then(Maybe::known))
}

pub fn all_known<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(Vec::<Maybe<T>>::deserialize(from)?.into_iter().filter_map(Maybe::known).collect())
}
