//! The text of messages of a view, in parts. Parts are counted in characters, so no character is ever
//! split, and their sizes are known before a body is read. A view and a wish come in; a part, or the
//! reason why there is none, goes out.

use super::{View, ViewMessage};
use crate::types::codes::Code;
use crate::types::limits;
use crate::types::primitive::Recall;
use crate::types::refusal::Refusal;

/// A part of the text of some messages, before it is read.
pub(super) struct ViewCut<'v> {
    /// The number of characters of all those messages.
    pub(super) total: u64,
    /// The number of characters before the next part; `None` if this is the last part.
    pub(super) next: Option<u64>,
    /// The pieces it consists of.
    pub(super) pieces: Vec<ViewPiece<'v>>,
}

/// A piece of the text of one message.
pub(super) struct ViewPiece<'v> {
    pub(super) number: u64,
    pub(super) message: &'v ViewMessage,
    /// How many characters are skipped.
    pub(super) skip: u64,
    /// How many characters are taken after those.
    pub(super) take: u64,
}

impl ViewPiece<'_> {
    /// The piece of that text.
    pub(super) fn cut_from(&self, text: &str) -> String {
        let count = |characters: u64| usize::try_from(characters).unwrap_or(usize::MAX);
        text.chars().skip(count(self.skip)).take(count(self.take)).collect()
    }
}

/// The part that answers a `<recall>`.
pub(super) fn cut_view<'v>(view: &'v View, wanted: &Recall) -> Result<ViewCut<'v>, Refusal> {
    check_range(view, wanted)?;
    let total = view.list_range(wanted.from, wanted.to).map(|(_, message)| message.characters).sum();
    if wanted.offset >= total {
        let words = format!(
            "offset: {} is past the end of these messages, which have {total} characters",
            wanted.offset
        );
        return Err(no_part(words, "offset")
            .with_expected(format!("0 to less than {total}"))
            .fixed_by("offset=\"0\", or leave it out"));
    }
    let most = wanted.length.unwrap_or(u64::MAX).min(limits::RECALL_CHARACTERS);
    let end = wanted.offset.saturating_add(most).min(total);
    let mut pieces = Vec::new();
    let mut before = 0;
    for (number, message) in view.list_range(wanted.from, wanted.to) {
        let after = before + message.characters;
        let (start, stop) = (wanted.offset.max(before), end.min(after));
        if start < stop {
            pieces.push(ViewPiece { number, message, skip: start - before, take: stop - start });
        }
        before = after;
    }
    Ok(ViewCut { total, next: (end < total).then_some(end), pieces })
}

fn check_range(view: &View, wanted: &Recall) -> Result<(), Refusal> {
    let (from, to, last) = (wanted.from.to_string(), wanted.to.to_string(), view.count().to_string());
    let (words, attribute) = if wanted.from == 0 || wanted.to == 0 {
        (format!("from_seq and to_seq count from 1; {from} to {to} is no range"), "from_seq")
    } else if wanted.from > wanted.to {
        (format!("from_seq: {from} is after to_seq, {to}"), "from_seq")
    } else if wanted.to > view.count() {
        (format!("to_seq: {to} is past {last}, the last message of this view"), "to_seq")
    } else {
        return Ok(());
    };
    let fix = format!("from_seq=\"1\" to_seq=\"{last}\", or any range in it");
    Err(no_part(words, attribute)
        .with_expected(format!("1 to {last}"))
        .with_received(format!("{} to {to}", from.as_str()))
        .fixed_by(fix))
}

fn no_part(words: String, attribute: &str) -> Refusal {
    let mut refusal = Refusal::new(Code::Invalid, words).of_element("recall");
    refusal.path = Some(format!("/recall/@{attribute}"));
    refusal
}
