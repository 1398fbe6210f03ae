//! Applies the rules to any value of the archive's types while it is serialised: fields are known by type and name, and
//! serde distinguishes a text from the name of a variant.

use crate::rules::{Action, Rule, rule_of};
use crate::text::Anonymiser;
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Error, Map, Value};

/// A value as JSON, anonymous.
///
/// # Errors
/// If JSON has no place for it, such as a map whose keys are no texts.
pub fn anonymous(value: &impl Serialize, anonymiser: &mut Anonymiser<'_>) -> Result<Value, Error> {
    value.serialize(Fields { anonymiser, rule: None })
}

struct Fields<'a, 'b> {
    anonymiser: &'a mut Anonymiser<'b>,
    rule: Option<&'static Rule>,
}

/// Elements in order, or fields by name, that are being collected.
struct Elements<'a, 'b> {
    anonymiser: &'a mut Anonymiser<'b>,
    rule: Option<&'static Rule>,
    values: Vec<Value>,
    variant: Option<&'static str>,
}

struct Members<'a, 'b> {
    anonymiser: &'a mut Anonymiser<'b>,
    /// The container that the fields are named after; `None` for a map.
    container: Option<&'static str>,
    rule: Option<&'static Rule>,
    values: Map<String, Value>,
    key: Option<String>,
    variant: Option<&'static str>,
}

fn within(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(variant) => Value::Object(Map::from_iter([(variant.to_owned(), value)])),
        None => value,
    }
}

impl<'a, 'b> Fields<'a, 'b> {
    fn elements(self, variant: Option<&'static str>) -> Elements<'a, 'b> {
        Elements { anonymiser: self.anonymiser, rule: self.rule, values: Vec::new(), variant }
    }

    fn members(self, container: Option<&'static str>, variant: Option<&'static str>) -> Members<'a, 'b> {
        Members { anonymiser: self.anonymiser, container, rule: self.rule, values: Map::new(), key: None, variant }
    }
}

macro_rules! numbers {
    ($($method:ident: $kind:ty),*) => {
        $(fn $method(self, value: $kind) -> Result<Value, Error> {
            Ok(value.into())
        })*
    };
}

impl<'a, 'b> Serializer for Fields<'a, 'b> {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = Elements<'a, 'b>;
    type SerializeTuple = Elements<'a, 'b>;
    type SerializeTupleStruct = Elements<'a, 'b>;
    type SerializeTupleVariant = Elements<'a, 'b>;
    type SerializeMap = Members<'a, 'b>;
    type SerializeStruct = Members<'a, 'b>;
    type SerializeStructVariant = Members<'a, 'b>;

    numbers!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32, serialize_f64: f64
    );

    fn serialize_char(self, value: char) -> Result<Value, Error> {
        self.serialize_str(&value.to_string())
    }

    fn serialize_str(self, text: &str) -> Result<Value, Error> {
        Ok(value_of(self.rule, text, self.anonymiser))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Value, Error> {
        Err(Error::custom("an archive has no bytes in a message"))
    }

    fn serialize_none(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value, Error> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        Ok(within(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        Ok(self.elements(None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        Ok(self.elements(None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Error> {
        Ok(self.elements(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Ok(self.elements(Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Error> {
        Ok(self.members(None, None))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Self::SerializeStruct, Error> {
        Ok(self.members(Some(name), None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Ok(self.members(Some(variant), Some(variant)))
    }
}

impl Elements<'_, '_> {
    fn add(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        let value = value.serialize(Fields { anonymiser: self.anonymiser, rule: self.rule })?;
        self.values.push(value);
        Ok(())
    }

    fn collected(self) -> Value {
        let emptied = self.rule.is_some_and(|rule| rule.action == Action::Empty);
        within(self.variant, Value::Array(if emptied { Vec::new() } else { self.values }))
    }
}

impl Members<'_, '_> {
    fn add(&mut self, key: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        let rule = self.container.and_then(|container| rule_of(container, key)).or(self.rule);
        let value = value.serialize(Fields { anonymiser: self.anonymiser, rule })?;
        self.values.insert(key.to_owned(), value);
        Ok(())
    }

    fn collected(self) -> Value {
        within(self.variant, Value::Object(self.values))
    }
}

macro_rules! collects_elements {
    ($($kind:ident.$method:ident),*) => {
        $(impl $kind for Elements<'_, '_> {
            type Ok = Value;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.add(value)
            }

            fn end(self) -> Result<Value, Error> {
                Ok(self.collected())
            }
        })*
    };
}

collects_elements!(
    SerializeSeq.serialize_element,
    SerializeTuple.serialize_element,
    SerializeTupleStruct.serialize_field,
    SerializeTupleVariant.serialize_field
);

macro_rules! collects_members {
    ($($kind:ident),*) => {
        $(impl $kind for Members<'_, '_> {
            type Ok = Value;
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.add(key, value)
            }

            fn end(self) -> Result<Value, Error> {
                Ok(self.collected())
            }
        })*
    };
}

collects_members!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Members<'_, '_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        // The keys of a map are texts of the archive, as its values are.
        let key = key.serialize(Fields { anonymiser: self.anonymiser, rule: None })?;
        self.key = Some(key.as_str().ok_or_else(|| Error::custom("the key of a map is no text"))?.to_owned());
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let value = value.serialize(Fields { anonymiser: self.anonymiser, rule: self.rule })?;
        self.values.extend(self.key.take().map(|key| (key, value)));
        Ok(())
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.collected())
    }
}

/// A text by its rule.
fn value_of(rule: Option<&'static Rule>, text: &str, anonymiser: &mut Anonymiser<'_>) -> Value {
    let Some(rule) = rule else { return anonymiser.text(text).into() };
    match rule.action {
        Action::Text => anonymiser.text(text).into(),
        Action::Name(prefix) => anonymiser.pseudonym(prefix, rule.kind, text).into(),
        Action::Task => anonymiser.task(text).into(),
        Action::Load => load(text, rule.kind, anonymiser).into(),
        Action::Target if is_own_target(text) => text.into(),
        Action::Target => anonymiser.pseudonym("board", rule.kind, text).into(),
        Action::Release => anonymiser.release(text).into(),
        Action::Empty => {
            anonymiser.changes.removed(rule.kind, u64::from(!text.is_empty()));
            String::new().into()
        }
        Action::Absent => {
            anonymiser.changes.removed(rule.kind, 1);
            Value::Null
        }
    }
}

fn is_own_target(text: &str) -> bool {
    matches!(text, "local" | "vm (emulated)" | "vm (virtual)" | "vm (virtual time)")
}

/// A load whose first word is one of tardy's, or a command.
fn load(text: &str, kind: &'static str, anonymiser: &mut Anonymiser<'_>) -> String {
    let name = text
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_')
        .next()
        .unwrap_or("");
    let known = archive::load::builtin(name).is_some() || archive::load::program(name).is_some() || name == "none";
    if known { anonymiser.text(text) } else { anonymiser.pseudonym("load", kind, text) }
}
