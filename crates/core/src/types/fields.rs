//! Length-prefixed fields: the decimal length, a colon, the bytes, a line break. Hashed data and bundles use them,
//! because no byte inside a field can end it. Writing copies nothing. Reading checks every length against the
//! available bytes, since the bytes may come from an untrusted source.

use std::fmt::Display;

/// Most digits of a length.
const LENGTH_DIGITS: usize = 20;

/// The decimal digits of a number, at the end of a buffer that has room for the longest.
fn write_digits(buffer: &mut [u8; LENGTH_DIGITS], number: u64) -> &[u8] {
    let (mut at, mut left) = (buffer.len(), number);
    loop {
        at -= 1;
        if let Some(place) = buffer.get_mut(at) {
            *place = b'0' + u8::try_from(left % 10).unwrap_or(0);
        }
        left /= 10;
        if left == 0 {
            return buffer.get(at..).unwrap_or_default();
        }
    }
}

/// Writes a field.
pub fn write_field(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(write_digits(&mut [0; LENGTH_DIGITS], value.len() as u64));
    out.push(b':');
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// Writes a number as a field; an absent one is empty.
pub fn number_field(out: &mut Vec<u8>, number: Option<u64>) {
    let mut buffer = [0; LENGTH_DIGITS];
    write_field(out, number.map_or(&[], |n| write_digits(&mut buffer, n)));
}

/// Reads fields in order.
pub struct FieldReader<'b> {
    rest: &'b [u8],
    /// Bytes already read, for error messages.
    read: usize,
}

impl<'b> FieldReader<'b> {
    /// Starts at the first byte.
    pub fn new(bytes: &'b [u8]) -> FieldReader<'b> {
        FieldReader { rest: bytes, read: 0 }
    }

    fn refuse_field<T>(&self, why: &str) -> Result<T, String> {
        Err(format!("at byte {}: {why}", self.read))
    }

    /// The bytes of the next field.
    pub fn take_field(&mut self) -> Result<&'b [u8], String> {
        let colon = self.rest.iter().take(LENGTH_DIGITS + 1).position(|byte| *byte == b':');
        let Some((length, rest)) =
            colon.and_then(|at| Some((self.rest.get(..at)?, self.rest.get(at + 1..)?)))
        else {
            return self.refuse_field("there is no length");
        };
        // Each length has one spelling, so that equal fields are equal bytes.
        let is_plain = length == b"0" || length.first().is_some_and(|digit| (b'1'..=b'9').contains(digit));
        let number = std::str::from_utf8(length).ok().filter(|_| is_plain).and_then(|text| text.parse().ok());
        let Some(number) = number.filter(|number: &usize| *number < rest.len()) else {
            return self.refuse_field("the length is not a number, or more than there is");
        };
        let (Some(value), Some((b'\n', behind))) =
            (rest.get(..number), rest.get(number..).and_then(<[u8]>::split_first))
        else {
            return self.refuse_field("the field does not end where it says");
        };
        self.read += length.len() + number + 2;
        self.rest = behind;
        Ok(value)
    }

    /// A field of exactly `N` bytes.
    pub fn take_exact<const N: usize>(&mut self, what: &str) -> Result<[u8; N], String> {
        let value = self.take_field()?;
        value.try_into().or_else(|_| self.refuse_field(&format!("{what}: {} bytes, not {N}", value.len())))
    }

    /// A text field. `None` if it is empty.
    fn take_text(&mut self, what: &str) -> Result<Option<&'b str>, String> {
        match std::str::from_utf8(self.take_field()?) {
            Ok("") => Ok(None),
            Ok(text) => Ok(Some(text)),
            Err(_) => self.refuse_field(&format!("{what}: no text")),
        }
    }

    /// A field that may be empty.
    pub fn take_optional<T, E: Display>(
        &mut self,
        what: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, String> {
        match self.take_text(what)?.map(parse).transpose() {
            Ok(value) => Ok(value),
            Err(error) => self.refuse_field(&format!("{what}: {error}")),
        }
    }

    /// A field that must have a value.
    pub fn take_parsed<T, E: Display>(
        &mut self,
        what: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        match self.take_optional(what, parse)? {
            Some(value) => Ok(value),
            None => self.refuse_field(&format!("{what}: is missing")),
        }
    }

    /// A field whose value must be known to this version.
    pub fn take_known<T>(&mut self, what: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        self.take_parsed(what, |text| parse(text).ok_or("not known to this version"))
    }

    /// A number.
    pub fn take_number(&mut self, what: &str) -> Result<u64, String> {
        self.take_parsed(what, str::parse)
    }

    /// How many bytes the fields that were read have.
    pub fn position(&self) -> usize {
        self.read
    }

    /// Whether another field follows.
    pub fn has_more(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Checks that nothing follows the last field.
    pub fn check_end(self) -> Result<(), String> {
        if self.rest.is_empty() { Ok(()) } else { self.refuse_field("there is more after the last field") }
    }
}
