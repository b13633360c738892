//! An answer while it comes in: its parts in order, its size, and its observer. It keeps every accepted byte of text
//! as received, up to a limit. It knows no provider.

use serde_json::{Value, json};

use super::complaint::cut_excerpt;
use super::halves::{HalvedText, PendingHalf, repair_json};
use super::{
    AnswerPiece, AnswerReader, AnswerWatcher, MessagePart, ModelAnswer, ModelFault, ModelFaultKind,
    NativeCall, ServedBy, StopReason, TokenUsage, reasoning,
};

/// A part that may still grow.
enum GrowingPart {
    Text(String),
    /// With the unpaired half of a character at the end of its arguments.
    Call(NativeCall, PendingHalf),
    /// Reasoning that comes as text: the provider, the field name, and the text.
    Thought {
        provider: &'static str,
        field: &'static str,
        text: String,
    },
    Kept(MessagePart),
}

/// The position of a call among the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallSlot(usize);

/// An answer that is not complete yet.
pub(super) struct PartialAnswer {
    parts: Vec<GrowingPart>,
    bytes: usize,
    most: usize,
    /// Whether the next text begins a new part.
    apart: bool,
    /// The unpaired half of a character at the end of the last part, in text or reasoning.
    half: PendingHalf,
    /// The number of the next call that needs a generated id.
    drawn: usize,
    watcher: AnswerWatcher,
    /// Decides when enough was read. `None` if the answer is read to its end.
    listening: Option<AnswerReader>,
    /// The number of parts once enough was read. Later parts are dropped.
    enough: Option<usize>,
    /// The usage, as far as reported.
    pub(super) usage: TokenUsage,
    /// What the provider says of itself.
    pub(super) served: ServedBy,
    /// The stop reason, once reported.
    pub(super) stop: Option<StopReason>,
    /// Whether the provider gave an empty stop reason. Together with its end sign, that is enough.
    unsaid: bool,
    /// The stop reason in the provider's words, with the details that it adds.
    pub(super) reason: String,
    /// Whether the answer ended because the window is full.
    pub(super) is_window_full: bool,
}

impl PartialAnswer {
    /// An empty answer that accepts `most` bytes. Generated ids count on from `calls`.
    pub(super) fn new(
        most: usize,
        calls: usize,
        watcher: AnswerWatcher,
        listening: Option<AnswerReader>,
    ) -> Self {
        let (parts, usage) = (Vec::new(), TokenUsage::default());
        let (bytes, apart, half, drawn) = (0, false, PendingHalf::default(), calls);
        let (enough, stop, unsaid, reason, is_window_full) = (None, None, false, String::new(), false);
        Self {
            parts,
            bytes,
            most,
            apart,
            half,
            drawn,
            watcher,
            listening,
            enough,
            usage,
            served: ServedBy::default(),
            stop,
            unsaid,
            reason,
            is_window_full,
        }
    }

    /// Whether enough was read, so that reading stops.
    pub(super) fn is_enough(&self) -> bool {
        self.enough.is_some()
    }

    /// Cuts the answer here. Providers report the output tokens at the end, so the number is unknown. Numbers that
    /// some of them report earlier are too low.
    pub(super) fn cut_here(&mut self) {
        self.stop = Some(StopReason::Cut);
        self.usage.tokens_out = None;
    }

    /// The provider gives a stop reason. An empty one decides nothing yet.
    pub(super) fn set_stop<E>(
        &mut self,
        reason: &str,
        stop: impl FnOnce(&Self) -> Result<StopReason, E>,
    ) -> Result<(), E> {
        if reason.is_empty() {
            self.unsaid = true;
        } else {
            self.stop = Some(stop(self)?);
            reason.clone_into(&mut self.reason);
        }
        Ok(())
    }

    /// The end sign came.
    pub(super) fn mark_ended(&mut self) {
        if self.stop.is_none() && self.unsaid {
            self.stop = Some(if self.has_calls() { StopReason::Tool } else { StopReason::End });
        }
    }

    /// Whether anything of an answer came.
    pub(super) fn has_content(&self) -> bool {
        !self.parts.is_empty() || self.stop.is_some()
    }

    /// Whether anything came that a provider may charge for: a part of the answer, or tokens that it reports.
    pub(super) fn may_be_paid(&self) -> bool {
        let counted = [self.usage.tokens_in, self.usage.tokens_out];
        self.has_content() || counted.iter().flatten().any(|tokens| *tokens > 0)
    }

    /// What it has used so far. Without a report of the tokens that it wrote, or with a lower one, the length of what
    /// came counts.
    pub(super) fn estimate_use(&self) -> TokenUsage {
        let came = crate::tokens::estimate_bytes(self.bytes);
        TokenUsage { tokens_out: Some(self.usage.tokens_out.unwrap_or(0).max(came)), ..self.usage }
    }

    /// The fault of a provider that ended its answer and will not continue it.
    pub(super) fn build_refusal(&self, kind: ModelFaultKind, words: &str) -> ModelFault {
        let words = format!("{words} ({})", cut_excerpt(&self.reason));
        ModelFault { used: Some(self.estimate_use()), ..self.build_fault(kind, words) }
    }

    /// Whether it holds a call.
    pub(super) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, GrowingPart::Call(..)))
    }

    /// More text of the answer.
    pub(super) fn add_text(&mut self, more: &HalvedText) -> Result<(), ModelFault> {
        if more.is_empty() || self.is_enough() {
            return Ok(());
        }
        if self.apart || !matches!(self.parts.last(), Some(GrowingPart::Text(_))) {
            self.close_part()?;
            self.parts.push(GrowingPart::Text(String::new()));
            self.apart = false;
        }
        let text = self.half.join_next(more);
        self.push_text(&text)
    }

    /// Adds to the last part, which is text.
    fn push_text(&mut self, text: &str) -> Result<(), ModelFault> {
        if text.is_empty() || self.is_enough() {
            return Ok(());
        }
        let heard = self.listening.as_mut().and_then(|listening| listening(text));
        let wanted = heard.and_then(|bytes| text.get(..bytes));
        let (fits, beyond) = self.fit_text(wanted.unwrap_or(text));
        if let Some(GrowingPart::Text(before)) = self.parts.last_mut() {
            before.push_str(fits);
        }
        self.enough = wanted.filter(|_| !beyond).map(|_| self.parts.len());
        self.show_piece(fits, AnswerPiece::Text);
        self.check_room(beyond)
    }

    /// The last part is over. An unpaired half at its end stays unpaired.
    fn close_part(&mut self) -> Result<(), ModelFault> {
        match (self.half.end_text(), self.parts.last()) {
            ("", _) => Ok(()),
            (lone, Some(GrowingPart::Text(_))) => self.push_text(lone),
            (lone, _) => self.push_thought(lone),
        }
    }

    /// The answer is over.
    pub(super) fn end_answer(&mut self) -> Result<(), ModelFault> {
        self.close_part()?;
        for part in &mut self.parts {
            if let GrowingPart::Call(call, half) = part {
                call.arguments.push_str(half.end_text());
            }
        }
        // If a provider reports 0 although a prompt was read or an answer came, it has not counted.
        let known = |count: Option<u64>| count.filter(|tokens| *tokens > 0);
        self.usage.tokens_in = known(self.usage.tokens_in);
        if !self.parts.is_empty() {
            self.usage.tokens_out = known(self.usage.tokens_out);
        }
        Ok(())
    }

    /// The next text is a new part, even after text.
    pub(super) fn end_part(&mut self) -> Result<(), ModelFault> {
        self.apart = true;
        self.close_part()
    }

    /// More reasoning, kept as a part of the answer under the provider's name for it.
    pub(super) fn add_thought(
        &mut self,
        provider: &'static str,
        field: &'static str,
        more: &HalvedText,
    ) -> Result<(), ModelFault> {
        if more.is_empty() {
            return Ok(());
        }
        if !matches!(self.parts.last(), Some(GrowingPart::Thought { field: before, .. }) if *before == field)
        {
            self.close_part()?;
            self.parts.push(GrowingPart::Thought { provider, field, text: String::new() });
        }
        let words = self.half.join_next(more);
        self.push_thought(&words)
    }

    /// Adds to the last part, which is reasoning.
    fn push_thought(&mut self, words: &str) -> Result<(), ModelFault> {
        let (fits, beyond) = self.fit_text(words);
        if let Some(GrowingPart::Thought { text, .. }) = self.parts.last_mut() {
            text.push_str(fits);
        }
        self.show_piece(fits, AnswerPiece::Reasoning);
        self.check_room(beyond)
    }

    /// Reasoning that is only shown, because its block is kept as a whole.
    pub(super) fn show_reasoning(&mut self, words: &str) -> Result<(), ModelFault> {
        if words.is_empty() {
            return Ok(());
        }
        let (fits, beyond) = self.fit_text(words);
        self.show_piece(fits, AnswerPiece::Reasoning);
        self.check_room(beyond)
    }

    /// A block of reasoning in the provider's own form. `further` bytes of it were not counted yet.
    pub(super) fn add_block(
        &mut self,
        provider: &str,
        block: Value,
        further: usize,
    ) -> Result<(), ModelFault> {
        self.close_part()?;
        self.parts.push(GrowingPart::Kept(reasoning::keep_block(provider, block)));
        self.count_bytes(further)
    }

    /// A call begins. If the provider gives no id, it gets a generated one.
    pub(super) fn begin_call(&mut self, id: Option<&str>, name: &str) -> Result<CallSlot, ModelFault> {
        let id = id.filter(|id| !id.is_empty()).map_or_else(
            || {
                self.drawn += 1;
                draw_id(self.drawn)
            },
            str::to_owned,
        );
        let bytes = id.len() + name.len() + 1;
        self.close_part()?;
        let call = NativeCall { id, name: name.to_owned(), arguments: String::new() };
        self.parts.push(GrowingPart::Call(call, PendingHalf::default()));
        self.count_bytes(bytes)?;
        Ok(CallSlot(self.parts.len() - 1))
    }

    /// The call at that position.
    pub(super) fn find_call(&self, slot: CallSlot) -> Option<&NativeCall> {
        match self.parts.get(slot.0) {
            Some(GrowingPart::Call(call, _)) => Some(call),
            _ => None,
        }
    }

    /// More of the called tool's name.
    pub(super) fn add_name(&mut self, slot: CallSlot, text: &str) -> Result<(), ModelFault> {
        let (fits, beyond) = self.fit_text(text);
        if let Some(GrowingPart::Call(call, _)) = self.parts.get_mut(slot.0) {
            call.name.push_str(fits);
        }
        self.check_room(beyond)
    }

    /// More of its arguments.
    pub(super) fn add_arguments(&mut self, slot: CallSlot, more: &HalvedText) -> Result<(), ModelFault> {
        let Some(GrowingPart::Call(_, half)) = self.parts.get_mut(slot.0) else { return Ok(()) };
        let text = half.join_next(more);
        let (fits, beyond) = self.fit_text(&text);
        if let Some(GrowingPart::Call(call, _)) = self.parts.get_mut(slot.0) {
            call.arguments.push_str(fits);
            let (number, name, arguments) = (slot.0, call.name.clone(), fits.to_owned());
            (self.watcher)(AnswerPiece::Call { number, name, arguments });
        }
        self.check_room(beyond)
    }

    /// A fault with the partial answer. The request may be charged once the provider has begun to answer.
    pub(super) fn build_fault(&self, kind: ModelFaultKind, words: impl Into<String>) -> ModelFault {
        ModelFault {
            kind,
            words: words.into(),
            status: Some(200),
            retry_after_ms: None,
            partial: self.as_text(),
            may_be_paid: true,
            used: None,
        }
    }

    /// The complete answer, given by `by`.
    pub(super) fn finish(self, by: String, stop: StopReason) -> ModelAnswer {
        let most = self.enough.unwrap_or(self.parts.len());
        let parts = self.parts.into_iter().take(most).map(|part| match part {
            GrowingPart::Text(text) => MessagePart::Text(text),
            // JSON in arguments may hold lone halves, which no parser accepts.
            GrowingPart::Call(call, _) => {
                let arguments = repair_json(&call.arguments).into_owned();
                MessagePart::Call(NativeCall { arguments, ..call })
            }
            GrowingPart::Thought { provider, field, text } => {
                reasoning::keep_block(provider, json!({ field: text }))
            }
            GrowingPart::Kept(part) => part,
        });
        ModelAnswer { parts: parts.collect(), stop, usage: self.usage, by, served: self.served }
    }

    /// Text as received; each call on a separate line, with its name and its arguments as far as they came.
    fn as_text(&self) -> String {
        let mut partial = String::new();
        for part in &self.parts {
            match part {
                GrowingPart::Text(text) => partial.push_str(text),
                GrowingPart::Call(call, _) => {
                    let line = if partial.is_empty() || partial.ends_with('\n') { "" } else { "\n" };
                    partial.push_str(&format!("{line}{} {}\n", call.name, call.arguments));
                }
                GrowingPart::Thought { .. } | GrowingPart::Kept(_) => {}
            }
        }
        partial
    }

    /// As much of a text as fits, in whole characters, and whether there was more.
    fn fit_text<'t>(&mut self, text: &'t str) -> (&'t str, bool) {
        let room = self.most.saturating_sub(self.bytes);
        let fits = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
        self.bytes += fits.len();
        (fits, fits.len() < text.len())
    }

    fn show_piece(&mut self, words: &str, piece: fn(String) -> AnswerPiece) {
        if !words.is_empty() {
            (self.watcher)(piece(words.to_owned()));
        }
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), ModelFault> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.check_room(self.bytes > self.most)
    }

    fn check_room(&self, beyond: bool) -> Result<(), ModelFault> {
        if beyond { Err(self.too_large()) } else { Ok(()) }
    }

    /// The most bytes that it accepts.
    pub(super) fn most_bytes(&self) -> usize {
        self.most
    }

    /// The fault of an answer that is too large.
    pub(super) fn too_large(&self) -> ModelFault {
        let words = format!(
            "gave an answer of more than {} bytes, the most allowed; what came before is kept, and never \
             carried out",
            self.most
        );
        self.build_fault(ModelFaultKind::TooLarge, words)
    }
}

/// The prefix of generated call ids.
const DRAWN: &str = "drawn-";

fn draw_id(number: usize) -> String {
    format!("{DRAWN}{number}")
}

/// Whether a call id is generated, so that no provider knows it.
pub(super) fn is_drawn(id: &str) -> bool {
    id.strip_prefix(DRAWN).is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}
