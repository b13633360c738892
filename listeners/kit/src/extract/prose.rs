//! Reads the text outside of blocks: finds the tags that begin a block, and passes over code, comments and markup
//! that is only mentioned.
//!
//! It treats everything in code as text. The extractor with its held text comes in. It leaves at the next block or at
//! the end of the text that has come.

use super::events::{ExtractEvent, ProblemSlug, StreamEnd, TextProblem};
use super::lines::{self, ListIndents, OpenFence, count_before_fence};
use super::names::{ElementRole, NameMeaning, VOID, WRAPPERS};
use super::runs::{ClosingRun, RunsAhead};
use super::span::TextSpan;
use super::tag::{TagReading, TagScan, find_local, hash_name};
use super::{Extractor, ReadingFlow, ReadingMode, SkippedMarkup};
use crate::Place;
use crate::limits::{LEVELS, MEANINGS, PLAIN_BYTES};

/// The state of the prose at this point.
#[derive(Debug)]
pub(super) struct ProseState {
    /// Where the line begins. `None` if a block is on the line, or if its beginning is too far back.
    pub(super) line: Option<usize>,
    /// Whether the line holds only whitespace so far.
    pub(super) is_blank: bool,
    /// Whether only white space has come since thinking ended.
    pub(super) is_behind_thinking: bool,
    /// Whether this line does not continue a paragraph.
    pub(super) ends_paragraph: bool,
    /// The first character of this run of prose that is not whitespace.
    pub(super) first: Option<Place>,
    /// Where its last such character ends.
    pub(super) last: usize,
    pub(super) lists: ListIndents,
    runs: RunsAhead,
    /// The tag that is being read.
    tag: Option<TagReading>,
    /// Up to where the end of a run was searched, and the end of the text after a run on its line.
    probe: usize,
    tail: usize,
}

impl ProseState {
    pub(super) fn new() -> Self {
        Self {
            line: Some(0),
            is_blank: true,
            is_behind_thinking: false,
            ends_paragraph: true,
            first: None,
            last: 0,
            lists: ListIndents::default(),
            runs: RunsAhead::default(),
            tag: None,
            probe: 0,
            tail: 0,
        }
    }
}

/// An element in prose that matches no known name.
#[derive(Debug)]
pub(super) struct OpenProse {
    pub(super) mark: u64,
    pub(super) name: String,
    pub(super) place: Place,
    /// Whether it begins a line, so that it may have been meant as an action.
    pub(super) begins: bool,
    /// Whether it was meant as an action even if no element is in it.
    pub(super) is_meant: bool,
    /// Whether an element has ended in it.
    pub(super) has_child: bool,
    /// How many events waited when it began, and what prose there was.
    pub(super) waiting: usize,
    pub(super) prose: (Option<Place>, usize),
}

/// Whether this is white space inside a line.
fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

impl Extractor {
    /// Reads prose.
    pub(super) fn read_prose(&mut self) -> ReadingFlow {
        loop {
            if self.prose.is_blank {
                self.pos = self.held.find(self.pos, |byte| !is_gap(byte)).unwrap_or(self.held.end());
                if let Some((fence, line)) = self.shown_line() {
                    return self.begin_shown(fence, line, self.pos);
                }
            }
            let is_special = |byte| matches!(byte, b'<' | b'`' | b'\n' | b'~');
            let end = match self.held.get(self.pos) {
                Some(0xef) if self.pos == 0 => 0,
                _ => self.held.find(self.pos, is_special).unwrap_or(self.held.end()),
            };
            let text = self.held.slice(self.pos, end);
            let ends = (text.iter().position(|it| !is_gap(*it)), text.iter().rposition(|it| !is_gap(*it)));
            if let (Some(first), Some(last)) = ends {
                self.prose.is_blank = false;
                self.note_text(self.pos + first, self.pos + last + 1);
            }
            self.pos = end;
            let flow = match self.held.get(end) {
                None => return ReadingFlow::More,
                Some(b'\n') => self.read_line_end(),
                Some(b'<') => self.read_angle(),
                Some(0xef) => self.skip_byte_order_mark(),
                Some(sign) => self.read_signs(sign),
            };
            if flow != ReadingFlow::On {
                return flow;
            }
        }
    }

    /// Whether the next byte, the first on its line that is not blank, begins a line that is only shown. Returns
    /// the kind of such lines and where the line begins.
    fn shown_line(&self) -> Option<(OpenFence, usize)> {
        let byte = self.held.get(self.pos).filter(|byte| *byte != b'\n')?;
        let line = self.prose.line?;
        let lead = self.held.slice(line, self.pos);
        let fence = lines::find_quoted_fence(lead, byte, &self.prose.lists, self.prose.ends_paragraph)?;
        Some((fence, line))
    }

    /// Notes text that is not whitespace.
    pub(super) fn note_text(&mut self, from: usize, to: usize) {
        if self.prose.first.is_none() {
            // A fence that might have been the action is an example if the answer holds more than the fence.
            self.report_quoted_fence();
            if self.prose.first.is_none() {
                self.prose.first = Some(self.held.place(from));
            }
        }
        self.prose.last = self.prose.last.max(to);
        self.prose.is_behind_thinking = false;
        self.is_only_fence = false;
    }

    /// Passes over text on a line.
    fn pass_text(&mut self, to: usize) {
        self.note_text(self.pos, to);
        self.prose.is_blank = false;
        self.pos = to;
    }

    fn read_line_end(&mut self) -> ReadingFlow {
        self.prose.ends_paragraph = self.prose.is_blank;
        if let Some(line) = self.prose.line.filter(|_| !self.prose.is_blank) {
            let end = self.pos.min(line + PLAIN_BYTES);
            let text = self.held.slice(line, end);
            self.prose.ends_paragraph = lines::is_heading(text);
            self.prose.lists.read_line(text);
        }
        self.pos += 1;
        self.prose.line = Some(self.pos);
        self.prose.is_blank = true;
        ReadingFlow::On
    }

    fn skip_byte_order_mark(&mut self) -> ReadingFlow {
        let ahead = self.held.slice(0, 3);
        if ahead == b"\xef\xbb\xbf" {
            (self.pos, self.prose.line) = (3, Some(3));
        } else if ahead.len() < 3 && self.stop.is_none() {
            return ReadingFlow::More;
        } else {
            self.pass_text(1);
        }
        ReadingFlow::On
    }

    /// Backticks or tildes: a fence, code in a line, or text.
    fn read_signs(&mut self, sign: u8) -> ReadingFlow {
        let at_end = self.stop.is_some();
        let from = self.prose.probe.max(self.pos);
        let found = self.held.find(from, |byte| byte != sign);
        let Some(end) = found.or_else(|| at_end.then(|| self.held.end())) else {
            self.prose.probe = self.held.end();
            return ReadingFlow::More;
        };
        self.prose.probe = end;
        let length = end - self.pos;
        let quotes = self.prose.line.filter(|line| self.pos - line <= PLAIN_BYTES && length >= 3);
        let quotes =
            quotes.and_then(|line| count_before_fence(self.held.slice(line, self.pos), &self.prose.lists));
        if let Some(quotes) = quotes {
            // A fence of backticks has no backtick in the rest of its line.
            let rest = self.held.find(end.max(self.prose.tail), |byte| byte == b'\n' || byte == sign);
            match rest.map(|at| self.held.get(at)) {
                None if !at_end && sign == b'`' => {
                    self.prose.tail = self.held.end();
                    return ReadingFlow::More;
                }
                Some(Some(b'`')) if sign == b'`' => {}
                _ => return self.begin_fence(OpenFence { sign, length, quotes }, end),
            }
        }
        if sign == b'~' {
            self.pass_text(end);
            return ReadingFlow::On;
        }
        self.read_code(length, end)
    }

    /// Code in a line, if its backticks have a closing run.
    fn read_code(&mut self, length: usize, end: usize) -> ReadingFlow {
        let at_end = self.stop.is_some();
        match self.prose.runs.find_closing(&self.held, length, end, &self.prose.lists, at_end) {
            ClosingRun::More => ReadingFlow::More,
            // The cut-off part may have held the closing run.
            ClosingRun::None if self.is_cut() && !self.has_paragraph_break() => {
                self.pass_text(self.held.end());
                ReadingFlow::On
            }
            ClosingRun::None => {
                self.pass_text(end);
                ReadingFlow::On
            }
            ClosingRun::Half(close) => {
                let code = self.held.slice(end, close - length);
                let had_lines = code.iter().rposition(|byte| *byte == b'\n').map(|at| end + at + 1);
                self.pass_text(close);
                self.prose.line = had_lines.or(self.prose.line);
                self.report_quoted(end, close - length, "code");
                ReadingFlow::On
            }
        }
    }

    /// Whether the stream was cut off.
    pub(super) fn is_cut(&self) -> bool {
        self.stop.is_some_and(|stop| stop != StreamEnd::End)
    }

    /// Whether the paragraph has ended and a whole line follows it.
    fn has_paragraph_break(&self) -> bool {
        let over = self.prose.runs.paragraph_end();
        over.is_some_and(|over| self.held.find_byte(over, b'\n').is_some())
    }

    /// A `<`.
    fn read_angle(&mut self) -> ReadingFlow {
        let mut tag = match self.prose.tag.take() {
            Some(tag) => tag,
            None => {
                if let Some((line, at)) = self.in_quotation() {
                    return self.begin_shown(OpenFence::from_sign(b'>'), line, at);
                }
                if self.held.get(self.pos + 1) == Some(b'!') {
                    return self.read_declaration();
                }
                match TagReading::begin_at(&self.held, self.pos) {
                    Ok(Some(tag)) => tag,
                    Err(()) if self.stop.is_none() => return ReadingFlow::More,
                    Ok(None) | Err(()) => {
                        self.pass_text(self.pos + 1);
                        return ReadingFlow::On;
                    }
                }
            }
        };
        loop {
            match tag.read_on(&self.held) {
                TagScan::More if self.stop.is_none() => {
                    self.prose.tag = Some(tag);
                    return ReadingFlow::More;
                }
                TagScan::More => {
                    self.report_unended_tag(&tag);
                    return ReadingFlow::On;
                }
                TagScan::Named => tag.one_line = self.find_meaning(&tag) == NameMeaning::Unknown,
                TagScan::Broken(at) => {
                    self.report_broken_tag(&tag);
                    // There is no `<` in between, so nothing is read a third time.
                    self.pass_text(tag.name_end.clamp(self.pos + 1, at.max(self.pos + 1)));
                    return ReadingFlow::On;
                }
                TagScan::Whole(end) if tag.closes => return self.end_tag(&tag, end),
                TagScan::Whole(end) => return self.start_tag(&tag, end),
            }
        }
    }

    /// Whether this is inside a quotation in a list. Returns where its line and the quotation begin.
    fn in_quotation(&self) -> Option<(usize, usize)> {
        let line = self.prose.line.filter(|line| self.pos - line <= PLAIN_BYTES && !self.prose.is_blank)?;
        Some((line, line + lines::find_quotation(self.held.slice(line, self.pos))?))
    }

    /// The meaning of a tag's name. A tag that is part of a word, as in `Vec<Search>`, counts only with its exact
    /// name.
    fn find_meaning(&mut self, tag: &TagReading) -> NameMeaning {
        // That was found when the name ended.
        if tag.one_line {
            return NameMeaning::Unknown;
        }
        let name = find_local(tag.name(&self.held));
        let meant = match self.meanings.get(name) {
            Some(meant) => meant.clone(),
            None => {
                let meant = std::str::from_utf8(name)
                    .map_or(NameMeaning::Unknown, |name| self.names.find_meaning(name));
                if self.meanings.len() >= MEANINGS {
                    self.meanings.clear();
                }
                self.meanings.insert(name.to_vec(), meant.clone());
                meant
            }
        };
        let before = tag.at.checked_sub(1).and_then(|at| self.held.get(at));
        let in_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match meant {
            NameMeaning::Group { misspelt: false, .. } => meant,
            _ if in_word => NameMeaning::Unknown,
            _ => meant,
        }
    }

    fn read_declaration(&mut self) -> ReadingFlow {
        let ahead = self.held.slice(self.pos, self.pos + 9);
        let (ending, begin): (&'static [u8], usize) = if ahead == b"<![CDATA[" {
            (b"]]>", 9)
        } else if ahead.starts_with(b"<!--") {
            (b"-->", 4)
        } else if self.stop.is_none() && (b"<![CDATA[".starts_with(ahead) || b"<!--".starts_with(ahead)) {
            return ReadingFlow::More;
        } else {
            self.pass_text(self.pos + 1);
            return ReadingFlow::On;
        };
        let start = self.held.place(self.pos);
        self.note_text(self.pos, self.pos + begin);
        self.prose.is_blank = false;
        self.pos += begin;
        self.mode = ReadingMode::Aside(Box::new(SkippedMarkup { ending, seen: 0, start }));
        ReadingFlow::Turn
    }

    /// The stream stopped in a tag.
    fn report_unended_tag(&mut self, tag: &TagReading) {
        let is_name_whole = tag.name_end > tag.at + 1 + usize::from(tag.closes);
        let is_known = is_name_whole && self.find_meaning(tag) != NameMeaning::Unknown && !tag.closes;
        let place = self.held.place(tag.at);
        if is_known {
            let name = String::from_utf8_lossy(tag.name(&self.held)).into_owned();
            let slug = if self.is_cut() { ProblemSlug::TruncatedStructure } else { ProblemSlug::Malformed };
            let problem = TextProblem::new(slug, place, format!("the start tag of <{name}> does not end"));
            self.leave_prose();
            self.emit(
                problem.with_element(&name).with_fix("write the whole element, up to its end tag").into(),
            );
            self.left = Some((name, place));
            self.pos = self.held.end();
        } else if self.is_cut() {
            // It may have been the beginning of a block, so it counts as left open and not as prose.
            let begun = String::from_utf8_lossy(self.held.slice_from(tag.at + 1)).into_owned();
            self.left = Some((begun, place));
            self.pos = self.held.end();
        } else {
            self.pass_text(self.held.end());
        }
    }

    /// Something that looked like a tag is not one.
    fn report_broken_tag(&mut self, tag: &TagReading) {
        let NameMeaning::Group { .. } = self.find_meaning(tag) else { return };
        if tag.closes || !(self.prose.is_blank || tag.has_value) {
            return;
        }
        let name = String::from_utf8_lossy(tag.name(&self.held)).into_owned();
        let place = self.held.place(tag.at);
        let message = format!("the start tag of <{name}> is broken off by a <");
        let problem = TextProblem::new(ProblemSlug::Malformed, place, message).with_element(&name);
        self.note_text(tag.at, tag.at + 1);
        self.emit(problem.with_fix("end the tag with >, and write &lt; for < in a value").into());
    }

    fn start_tag(&mut self, tag: &TagReading, end: usize) -> ReadingFlow {
        match self.find_meaning(tag) {
            NameMeaning::Unknown => {
                self.report_unknown_start(tag, end);
                ReadingFlow::On
            }
            NameMeaning::Wrapper => self.begin_block(tag, end, None),
            NameMeaning::Group { local, .. } => {
                let role = self.names.find_role(&local);
                self.begin_block(tag, end, role)
            }
        }
    }

    fn report_unknown_start(&mut self, tag: &TagReading, end: usize) {
        let name = tag.name(&self.held);
        let is_void = VOID.iter().any(|void| void.eq_ignore_ascii_case(name));
        let is_meant = self.prose.is_behind_thinking && !is_void && self.names.is_meant_behind_thinking(name);
        let (mark, begins) = (hash_name(name.iter().copied()), self.prose.is_blank || is_meant);
        if tag.empty && is_meant {
            let (name, place) = (String::from_utf8_lossy(name).into_owned(), self.held.place(tag.at));
            let prose = (self.prose.first, self.prose.last);
            self.pass_text(end);
            return self.report_unknown(&name, place, prose);
        }
        if tag.empty {
            if let Some(open) = self.open.last_mut() {
                open.has_child = true;
            }
        } else if !is_void && (begins || !self.open.is_empty()) {
            let name = String::from_utf8_lossy(name).into_owned();
            let place = self.held.place(tag.at);
            let prose = (self.prose.first, self.prose.last);
            let waiting = self.waiting.len();
            self.open.push(OpenProse {
                mark,
                name,
                place,
                begins,
                is_meant,
                has_child: false,
                waiting,
                prose,
            });
        }
        self.pass_text(end);
    }

    fn end_tag(&mut self, tag: &TagReading, end: usize) -> ReadingFlow {
        let mark = hash_name(tag.name(&self.held).iter().copied());
        let reach = self.open.len().saturating_sub(LEVELS);
        let found = self.open.iter().enumerate().skip(reach).rev().find(|(_, open)| open.mark == mark);
        let Some((depth, _)) = found else {
            self.report_stray_end(tag, end);
            return ReadingFlow::On;
        };
        self.open.truncate(depth + 1);
        let Some(closed) = self.open.pop() else { return ReadingFlow::On };
        if let Some(around) = self.open.last_mut() {
            around.has_child = true;
        }
        self.pass_text(end);
        if closed.begins && (closed.has_child || closed.is_meant) {
            self.waiting.truncate(closed.waiting);
            self.report_unknown(&closed.name, closed.place, closed.prose);
        }
        if self.open.is_empty() {
            let events = if self.sealed.is_empty() { &mut self.events } else { &mut self.late };
            events.append(&mut self.waiting);
        }
        ReadingFlow::On
    }

    /// Reports an element that was meant as an action; it is no part of the prose before it.
    fn report_unknown(&mut self, name: &str, place: Place, before: (Option<Place>, usize)) {
        (self.prose.first, self.prose.last) = before;
        self.end_prose();
        let problem = super::problem_messages::describe_unknown_action(&self.names, name, place);
        self.emit(problem.into());
    }

    /// An end tag without its start tag.
    fn report_stray_end(&mut self, tag: &TagReading, end: usize) {
        let is_known = matches!(self.find_meaning(tag), NameMeaning::Group { misspelt: false, .. });
        self.pass_text(end);
        let name = String::from_utf8_lossy(tag.name(&self.held)).into_owned();
        if is_known && self.is_end_of_reasoning(&name) {
            let start = self.prose.first.take().unwrap_or_else(|| self.held.place(tag.at));
            self.prose.last = 0;
            self.is_only_fence |= !self.tally.prose;
            self.prose.is_behind_thinking = true;
            return self.emit(ExtractEvent::Thinking(TextSpan { start, end: tag.at }));
        }
        if is_known && !WRAPPERS.contains(&name.as_str()) {
            let place = self.held.place(tag.at);
            let problem = TextProblem::new(
                ProblemSlug::Malformed,
                place,
                format!("</{name}> closes nothing that is open"),
            );
            self.emit(
                problem.with_element(&name).with_fix("leave it out, or write the whole element").into(),
            );
        }
    }

    /// Whether an end tag ends reasoning that began before the answer: the template of a chat may open it.
    fn is_end_of_reasoning(&self, name: &str) -> bool {
        let is_thinking = self.names.find_role(name) == Some(ElementRole::Thinking);
        let tally = &self.tally;
        let is_first = !tally.thinking && !tally.taken && !tally.problem && self.sealed.is_empty();
        is_thinking && is_first && self.open.is_empty()
    }

    /// A block or something else that is not prose begins here.
    pub(super) fn leave_prose(&mut self) {
        self.report_quoted_fence();
        self.end_prose();
    }

    /// Ends the prose and turns it into an event.
    pub(super) fn end_prose(&mut self) {
        if let Some(start) = self.prose.first.take() {
            self.emit(ExtractEvent::Prose(TextSpan { start, end: self.prose.last }));
        }
        self.prose.last = 0;
    }

    /// Thinking and thoughts may accompany a fence that is taken for the action. Nothing else may.
    pub(super) fn begin_role(&mut self, role: Option<ElementRole>) {
        if matches!(role, Some(ElementRole::Thinking | ElementRole::Thought)) {
            self.end_prose();
        } else {
            self.is_only_fence = false;
            self.leave_prose();
        }
    }

    /// After a block the text goes on in the middle of a line.
    pub(super) fn end_block(&mut self, end: usize) {
        self.pos = end;
        self.prose.line = None;
        self.prose.is_blank = false;
        self.prose.probe = 0;
        self.mode = ReadingMode::Prose;
    }
}
