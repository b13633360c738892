//! Reads one tag byte by byte, for any chunk boundaries: the name, then everything up to the `>` outside of quotes.
//!
//! It never judges attributes: the gate does. No tag contains a `<`, quoted or not, so a `<` means that the text
//! before it was not a tag. Bytes come in; where the name and the tag end goes out.

use super::stream_buffer::HeldText;

/// The result of reading a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagScan {
    /// The chunk ended first.
    More,
    /// The name has ended. Reported once.
    Named,
    /// The tag has ended before this offset.
    Whole(usize),
    /// It is not a tag. The text after it begins at this offset.
    Broken(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TagState {
    Name,
    Inside,
    Quoted(u8),
}

/// A tag that is being read.
#[derive(Debug, Clone)]
pub(super) struct TagReading {
    /// Where its `<` is.
    pub(super) at: usize,
    /// Whether it is an end tag.
    pub(super) closes: bool,
    /// Where its name ends, once it has ended.
    pub(super) name_end: usize,
    /// Whether it ends with `/>`.
    pub(super) empty: bool,
    /// Whether an attribute has begun.
    pub(super) has_value: bool,
    /// Whether it must end on its line, like markup in prose.
    pub(super) one_line: bool,
    state: TagState,
    /// Whether the last byte that is not whitespace was an `=`. Only then a quote opens a value.
    equals: bool,
    pos: usize,
}

impl TagReading {
    /// The tag that begins at `at`, if there may be one. `Err` if the chunk ended too early to tell.
    pub(super) fn begin_at(held: &HeldText, at: usize) -> Result<Option<Self>, ()> {
        let first = held.get(at + 1).ok_or(())?;
        let closes = first == b'/';
        let letter = if closes { held.get(at + 2).ok_or(())? } else { first };
        let state = TagState::Name;
        let pos = at + 1 + usize::from(closes);
        Ok(can_begin_name(letter).then_some(Self {
            at,
            closes,
            name_end: pos,
            empty: false,
            has_value: false,
            one_line: false,
            state,
            equals: false,
            pos,
        }))
    }

    /// Its name as written, with the prefix.
    pub(super) fn name<'h>(&self, held: &'h HeldText) -> &'h [u8] {
        held.slice(self.at + 1 + usize::from(self.closes), self.name_end)
    }

    /// The same, as a part of a text that is read from its start.
    pub(super) fn name_in<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.at + 1 + usize::from(self.closes)..self.name_end).unwrap_or_default()
    }

    /// Reads on.
    pub(super) fn read_on(&mut self, held: &HeldText) -> TagScan {
        if self.state == TagState::Name {
            let length =
                held.slice_from(self.pos).iter().take_while(|byte| can_continue_name(**byte)).count();
            self.pos += length;
            let most = self.at + 1 + crate::limits::TAG_NAME_BYTES;
            if self.pos > most {
                return TagScan::Broken(most);
            }
            let Some(byte) = held.get(self.pos) else { return TagScan::More };
            (self.name_end, self.state) = (self.pos, TagState::Inside);
            return if byte == b'>' || byte == b'/' || byte.is_ascii_whitespace() {
                TagScan::Named
            } else {
                TagScan::Broken(self.pos)
            };
        }
        for byte in held.slice_from(self.pos).iter().copied() {
            match self.state {
                _ if byte == b'<' || (self.one_line && byte == b'\n') => return TagScan::Broken(self.pos),
                TagState::Inside => {
                    if byte == b'>' {
                        return TagScan::Whole(self.pos + 1);
                    }
                    if self.one_line && byte == b'`' {
                        return TagScan::Broken(self.pos);
                    }
                    self.read_inside(byte);
                }
                TagState::Quoted(quote) if byte == quote => self.state = TagState::Inside,
                TagState::Name | TagState::Quoted(_) => {}
            }
            self.pos += 1;
        }
        TagScan::More
    }

    fn read_inside(&mut self, byte: u8) {
        match byte {
            b'"' | b'\'' if self.equals => self.state = TagState::Quoted(byte),
            b'=' => (self.equals, self.has_value) = (true, true),
            b'/' => (self.empty, self.equals) = (true, false),
            _ if byte.is_ascii_whitespace() => {}
            _ => (self.empty, self.equals) = (false, false),
        }
        if matches!(self.state, TagState::Quoted(_)) {
            (self.equals, self.empty) = (false, false);
        }
    }
}

/// Whether an element's name may begin with this byte. Beyond ASCII, the gate decides.
pub(super) fn can_begin_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// Whether an element's name, with its prefix, may continue with this byte.
pub(super) fn can_continue_name(byte: u8) -> bool {
    can_begin_name(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b':')
}

/// The local part of a name as written.
pub(super) fn find_local(name: &[u8]) -> &[u8] {
    match name.iter().position(|byte| *byte == b':') {
        Some(colon) => name.get(colon + 1..).unwrap_or_default(),
        None => name,
    }
}

/// A hash of a name: equal names have equal hashes.
pub(super) fn hash_name(name: impl IntoIterator<Item = u8>) -> u64 {
    name.into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |mark, byte| (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
