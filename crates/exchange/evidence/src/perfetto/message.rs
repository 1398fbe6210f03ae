//! Fields of a protobuf message.

use archive::leb128::take;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    Number(u64),
    /// A text, a message, or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub fn number(self) -> Option<u64> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    pub fn bytes(self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

/// The fields of a message, with their numbers, up to where it is damaged.
#[derive(Debug, Clone)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The first field of a number.
    pub fn find(mut self, wanted: u32) -> Option<Value<'a>> {
        self.find_map(|(number, value)| (number == wanted).then_some(value))
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn little(&mut self, bytes: usize) -> Option<Value<'a>> {
        let taken = self.take(bytes)?;
        Some(Value::Number(taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = take(&mut self.0)?;
        let value = match key & 7 {
            0 => Value::Number(take(&mut self.0)?),
            1 => self.little(8)?,
            2 => {
                let bytes = take(&mut self.0)?;
                Value::Bytes(self.take(usize::try_from(bytes).ok()?)?)
            }
            5 => self.little(4)?,
            _ => return None,
        };
        Some((u32::try_from(key >> 3).ok()?, value))
    }
}

/// Numbers of a packed field.
pub fn packed(mut bytes: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || take(&mut bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_each_kind_are_read_up_to_the_damage() {
        let message = b"\x08\x96\x01\x12\x02hi\x19\x01\0\0\0\0\0\0\0\x25\x02\0\0\0\x2b";
        let read: Vec<_> = Fields(message).collect();
        let expected =
            [(1, Value::Number(150)), (2, Value::Bytes(b"hi")), (3, Value::Number(1)), (4, Value::Number(2))];
        assert_eq!(read, expected);
        assert_eq!(Fields(message).find(2).and_then(Value::bytes), Some(&b"hi"[..]));
        assert_eq!(Fields(&message[..6]).count(), 1);
        assert_eq!(packed(b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80").collect::<Vec<_>>(), [1, u64::MAX]);
        assert_eq!(packed(&[0x80; 11]).count(), 0);
    }
}
