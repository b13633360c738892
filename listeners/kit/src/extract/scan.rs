//! Finds where a block ends. The block is an element whose content may be anything that a model writes.
//!
//! Tags are matched by name, comments and CDATA sections are passed over, and the end tag of the block itself does
//! not count inside code. It never judges: markup that is not well-formed has an end too, and the gate reports its
//! faults. Bytes come in, each once; the end of the block goes out.

use super::events::StreamEnd;
use super::ground::ContentGround;
use super::names::KnownNames;
use super::shield::CodeShield;
use super::stream_buffer::HeldText;
use super::tag::{TagReading, TagScan, hash_name};

#[derive(Debug, Clone)]
enum ScanState {
    Text,
    Tag(TagReading),
    /// In a comment or a CDATA section, with the number of bytes of its ending seen so far.
    Passing(&'static [u8], usize),
    /// After an end tag of the block itself that follows an unpaired run of backticks. The tag counts if the rest of
    /// the line does not close the run.
    Doubt {
        at: usize,
        end: usize,
        run: usize,
    },
}

/// The search for the end of one block.
#[derive(Debug, Clone)]
pub(super) struct BlockScanner {
    pos: usize,
    state: ScanState,
    /// The open elements, the block itself first: the mark of each name and what is known about each content.
    open: Vec<(u64, ContentGround)>,
    shield: CodeShield,
    /// Where the first end tag is that did not count because it is in code.
    quoted: Option<usize>,
    /// Whether the content is text in which only the block's own tags and CDATA sections count.
    plain: bool,
}

impl BlockScanner {
    /// A search that begins after the start tag of an element with that name.
    pub(super) fn new(name: &[u8], from: usize, plain: bool, ground: ContentGround) -> Self {
        let open = vec![(name_mark(name, plain), ground)];
        Self { pos: from, state: ScanState::Text, open, shield: CodeShield::new(), quoted: None, plain }
    }

    /// Passes over plain text that directly follows the text already read.
    pub(super) fn pass_plain(&mut self, from: usize, to: usize) -> bool {
        let follows = self.pos == from && matches!(self.state, ScanState::Text) && self.shield.is_calm();
        self.pos = if follows { to } else { self.pos };
        follows
    }

    /// The content before this offset is settled and can be shown.
    pub(super) fn settled_end(&self) -> usize {
        match &self.state {
            ScanState::Tag(tag) => tag.at,
            ScanState::Doubt { at, .. } => *at,
            ScanState::Text | ScanState::Passing(..) => self.pos,
        }
    }

    /// What is known about the content of the block.
    pub(super) fn ground(&self) -> &ContentGround {
        self.open.first().map_or(&ContentGround::Unknown, |(_, ground)| ground)
    }

    /// Where the block's own end tag first occurs in code.
    pub(super) fn quoted_end(&self) -> Option<usize> {
        self.quoted
    }

    /// Whether a fence is open at this point.
    pub(super) fn is_fenced(&self) -> bool {
        self.shield.is_fenced()
    }

    /// Reads on, and returns where the block has ended. If `stop` is set, no more text comes.
    pub(super) fn read_on(
        &mut self,
        held: &HeldText,
        stop: Option<StreamEnd>,
        names: &KnownNames,
    ) -> Option<usize> {
        loop {
            if matches!(self.state, ScanState::Text) && !self.read_text(held) {
                return None;
            }
            match std::mem::replace(&mut self.state, ScanState::Text) {
                ScanState::Text => {}
                ScanState::Tag(tag) => {
                    if let Some(end) = self.read_tag(tag, held, names)? {
                        return Some(end);
                    }
                }
                ScanState::Passing(ending, seen) => self.find_ending(ending, seen, held)?,
                ScanState::Doubt { at, end, run } => {
                    if self.settle_doubt(at, end, run, held, stop)? {
                        return Some(end);
                    }
                }
            }
        }
    }

    /// Reads text up to something that may be markup. `false` if the chunk ends first.
    fn read_text(&mut self, held: &HeldText) -> bool {
        let depth = self.open.len();
        loop {
            let is_calm = self.shield.is_calm();
            if is_calm {
                self.pos = held.find_sign(self.pos).unwrap_or(held.end());
            }
            let Some(byte) = held.get(self.pos) else { return false };
            if byte == b'<' {
                return self.read_less(held);
            }
            if is_calm {
                self.shield.skip_to(self.pos.checked_sub(1).and_then(|before| held.get(before)));
            }
            self.shield.feed(byte, depth);
            self.pos += 1;
        }
    }

    /// Handles a `<`.
    fn read_less(&mut self, held: &HeldText) -> bool {
        if let Some(b'!') = held.get(self.pos + 1) {
            let ahead = held.slice(self.pos, self.pos + 9);
            if ahead == b"<![CDATA[" {
                self.pass_to(b"]]>", 9);
            } else if ahead.starts_with(b"<!--") && !self.is_text() {
                self.pass_to(b"-->", 4);
            } else if b"<![CDATA[".starts_with(ahead) || (b"<!--".starts_with(ahead) && !self.is_text()) {
                return false;
            } else {
                self.end_literal();
            }
            return true;
        }
        match TagReading::begin_at(held, self.pos) {
            Err(()) => return false,
            Ok(None) => self.end_literal(),
            Ok(Some(tag)) => self.state = ScanState::Tag(tag),
        }
        true
    }

    /// The `<` was text.
    fn end_literal(&mut self) {
        self.shield.feed(b'<', self.open.len());
        self.pos += 1;
    }

    fn pass_to(&mut self, ending: &'static [u8], length: usize) {
        self.shield.begin_tag();
        self.pos += length;
        self.state = ScanState::Passing(ending, 0);
    }

    fn find_ending(&mut self, ending: &'static [u8], mut seen: usize, held: &HeldText) -> Option<()> {
        for byte in held.slice_from(self.pos) {
            self.pos += 1;
            // Both endings are a doubled character and a `>`: a third one in a row still leaves two.
            seen = match (seen, ending.get(seen) == Some(byte)) {
                (_, true) => seen + 1,
                (2, false) if ending.first() == Some(byte) => 2,
                _ => usize::from(ending.first() == Some(byte)),
            };
            if seen == ending.len() {
                self.shield.continue_line();
                return Some(());
            }
        }
        self.state = ScanState::Passing(ending, seen);
        None
    }

    /// Reads a tag. `None` if the chunk ends first; the end of the block if this tag ends it.
    fn read_tag(
        &mut self,
        mut tag: TagReading,
        held: &HeldText,
        names: &KnownNames,
    ) -> Option<Option<usize>> {
        loop {
            match tag.read_on(held) {
                TagScan::More => {
                    self.state = ScanState::Tag(tag);
                    return None;
                }
                TagScan::Named if self.plain && self.mark_of(&tag, held) != self.own_name() => {
                    return self.return_to_text(&tag, tag.name_end, held);
                }
                TagScan::Named => {}
                TagScan::Broken(at) => return self.return_to_text(&tag, at, held),
                TagScan::Whole(end) => return self.take_tag(&tag, end, held, names),
            }
        }
    }

    /// The bytes from the tag's `<` up to `to` are text.
    fn return_to_text(&mut self, tag: &TagReading, to: usize, held: &HeldText) -> Option<Option<usize>> {
        let depth = self.open.len();
        for byte in held.slice(tag.at, to) {
            self.shield.feed(*byte, depth);
        }
        self.pos = to;
        Some(None)
    }

    fn own_name(&self) -> Option<u64> {
        self.open.first().map(|(mark, _)| *mark)
    }

    fn mark_of(&self, tag: &TagReading, held: &HeldText) -> Option<u64> {
        Some(name_mark(tag.name(held), self.plain))
    }

    fn take_tag(
        &mut self,
        tag: &TagReading,
        end: usize,
        held: &HeldText,
        names: &KnownNames,
    ) -> Option<Option<usize>> {
        let name = self.mark_of(tag, held);
        let was_at_edge = self.shield.is_at_edge();
        self.shield.begin_tag();
        self.pos = end;
        if tag.closes {
            match self.find_open_element(name) {
                Some(0) if self.shield.is_fenced() => {
                    self.note_shown_end(tag.at);
                    return Some(None);
                }
                Some(0) if self.shield.ticks() > 0 => {
                    self.state = ScanState::Doubt { at: tag.at, end, run: 0 };
                    return Some(None);
                }
                Some(0) => return Some(Some(end)),
                Some(depth) => self.open.truncate(depth),
                None => {}
            }
        } else if !tag.empty && (!self.plain || was_at_edge) {
            // In plain text, only a tag at the beginning of a line opens another element. Elsewhere a tag is only
            // mentioned.
            self.open_element(tag, end, held, names);
        }
        self.shield.end_tag(self.open.len());
        Some(None)
    }

    /// An element begins. Inside an element that holds only text, a tag is text unless its name is that of an open
    /// element.
    fn open_element(&mut self, tag: &TagReading, end: usize, held: &HeldText, names: &KnownNames) {
        let Some(mark) = self.mark_of(tag, held) else { return };
        let ground = match self.open.last() {
            Some((_, around)) if around.is_text() => {
                if self.find_open_element(Some(mark)).is_none() {
                    return;
                }
                around.clone()
            }
            Some((_, around)) => {
                around.enter(names, std::str::from_utf8(held.slice(tag.at, end)).unwrap_or_default())
            }
            None => ContentGround::Unknown,
        };
        self.open.push((mark, ground));
    }

    /// Whether the innermost open element holds only text. Then a comment is text as well.
    fn is_text(&self) -> bool {
        self.plain || self.open.last().is_some_and(|(_, ground)| ground.is_text())
    }

    /// The open element that an end tag closes.
    fn find_open_element(&self, name: Option<u64>) -> Option<usize> {
        let reach = self.open.len().saturating_sub(crate::limits::LEVELS);
        let near = self.open.iter().enumerate().skip(reach).rev().find(|(_, (open, _))| Some(*open) == name);
        near.map(|(depth, _)| depth).or_else(|| (self.own_name() == name).then_some(0))
    }

    /// Looks for the run that closes the backticks, in the rest of the line. `true` if there is none, so the block
    /// has ended.
    fn settle_doubt(
        &mut self,
        at: usize,
        end: usize,
        mut run: usize,
        held: &HeldText,
        stop: Option<StreamEnd>,
    ) -> Option<bool> {
        for byte in held.slice_from(self.pos) {
            if *byte == b'`' {
                run += 1;
            } else if run == self.shield.ticks() {
                return Some(self.note_shown_end(at));
            } else if matches!(byte, b'\n' | b'<') {
                return Some(true);
            } else {
                run = 0;
            }
            self.pos += 1;
        }
        match stop {
            Some(_) if run == self.shield.ticks() => Some(self.note_shown_end(at)),
            // The cut-off part might have held the closing run.
            Some(StreamEnd::End) => Some(true),
            _ => {
                self.state = ScanState::Doubt { at, end, run };
                None
            }
        }
    }

    /// An end tag of the block is in code, so it does not end the block.
    fn note_shown_end(&mut self, at: usize) -> bool {
        self.quoted = self.quoted.or(Some(at));
        self.shield.close_ticks();
        self.shield.continue_line();
        false
    }
}

/// The mark of a name. In plain text, case makes no difference.
fn name_mark(name: &[u8], plain: bool) -> u64 {
    hash_name(name.iter().map(|byte| if plain { byte.to_ascii_lowercase() } else { *byte }))
}
