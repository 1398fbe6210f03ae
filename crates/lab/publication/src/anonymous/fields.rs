//! Applies the rules to any value of the archive's types while it is serialised: fields are known by type and name, and
//! serde distinguishes a text from the name of a variant.

use crate::rules::{Action, Rule, rule_of, rule_of_type};
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
        Ok(self.anonymiser.value(self.rule, text).map_or(Value::Null, Value::from))
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

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<Value, Error> {
        let rule = self.rule.or_else(|| rule_of_type(name));
        value.serialize(Fields { rule, ..self })
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
        let value = match self.by_neighbour(rule, value)? {
            Some(decided) => decided,
            None => value.serialize(Fields { anonymiser: self.anonymiser, rule })?,
        };
        self.values.insert(key.to_owned(), value);
        Ok(())
    }

    /// The value, if a field before it decides: the code of a problem, the number of a thread.
    fn by_neighbour(
        &mut self,
        rule: Option<&'static Rule>,
        value: &(impl Serialize + ?Sized),
    ) -> Result<Option<Value>, Error> {
        Ok(match rule.map(|rule| rule.action) {
            Some(Action::Code) => self.values.get("code").cloned(),
            Some(Action::Task) => {
                let Some(tid) = self.values.get("tid").and_then(Value::as_i64) else { return Ok(None) };
                let name = serde_json::to_value(value)?;
                name.as_str().map(|name| self.anonymiser.task_of(name, i32::try_from(tid).ok()).into())
            }
            _ => None,
        })
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
        let key = key.serialize(Fields { anonymiser: self.anonymiser, rule: self.rule })?;
        self.key = Some(key.as_str().ok_or_else(|| Error::custom("the key of a map is not a text"))?.to_owned());
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
