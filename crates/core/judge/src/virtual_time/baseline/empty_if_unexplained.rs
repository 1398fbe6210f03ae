//! A culprit as text, which is empty if there is none.

use archive::culprit::Culprit;
use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(culprit: &Option<Culprit>, into: S) -> Result<S::Ok, S::Error> {
    into.serialize_str(culprit.as_ref().map_or("", Culprit::id))
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Culprit>, D::Error> {
    let id = String::deserialize(from)?;
    Ok(if id.is_empty() { None } else { Some(id.into()) })
}
