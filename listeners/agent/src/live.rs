//! An answer while it comes in, for observers: the first words at once, then portions of about a line. A smaller
//! portion is sent after a moment. Each portion is of one part: text, what the model thinks, or a native call.
//!
//! Text shown here is never executed. A piece for which there is no room is left out, and from then on no text is called
//! the beginning of the answer.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use systole_kit::line::{Line, NotTaken};
use systole_kit::reply::AnswerPart;
use tokio::sync::mpsc;

use crate::limits;
use crate::model::{AnswerPiece, EstimatedRequest, ModelAnswer, Models, NoAnswer, RequestLedger};

/// Asks the model, and sends the incoming text to observers. `is_answer`: the text of a model's answer is the agent's.
pub(crate) async fn ask_and_show<L: RequestLedger>(
    models: &Models,
    (name, is_answer): (&str, bool),
    asked: &EstimatedRequest,
    books: &mut L,
    line: &(dyn Line + '_),
) -> Result<Result<ModelAnswer, NoAnswer<L::Halt>>, NotTaken> {
    let (tell, mut pieces) = mpsc::channel(limits::LIVE_PIECES);
    let is_cut = Arc::new(AtomicBool::new(false));
    let cut = Arc::clone(&is_cut);
    // A slow observer sees less. The answer itself is complete.
    let watcher = Box::new(move |piece| {
        if tell.try_send(piece).is_err() {
            cut.store(true, Ordering::Relaxed);
        }
    });
    let mut asking = pin!(models.ask_model(name, asked, books, watcher));
    let (mut unsent, mut moment) =
        (UnsentWords::new(is_answer), pin!(tokio::time::sleep(limits::LIVE_PAUSE)));
    loop {
        let portions = tokio::select! {
            biased;
            answered = &mut asking => return Ok(answered),
            Some(piece) = pieces.recv() => {
                if !unsent.has_words() {
                    moment.set(tokio::time::sleep(limits::LIVE_PAUSE));
                }
                if is_cut.load(Ordering::Relaxed) {
                    unsent.is_answer = false;
                }
                unsent.add_piece(&piece)
            }
            () = &mut moment, if unsent.has_words() => unsent.take_words().into_iter().collect(),
        };
        for (part, words) in portions {
            line.show_answer(part, words).await?;
        }
    }
}

/// The kind of a piece.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum PieceKind {
    #[default]
    Text,
    Reasoning,
    /// A native call: its number and the tool.
    Call(usize, String),
}

impl PieceKind {
    /// The element that separates it from text.
    fn element(&self) -> Option<&str> {
        match self {
            PieceKind::Text => None,
            PieceKind::Reasoning => Some("thinking"),
            PieceKind::Call(_, name) => Some(name),
        }
    }
}

/// Words of one part, or tags between parts.
type Portion = (Option<AnswerPart>, String);

/// Words that are not sent yet. Tags, of no part, stand around reasoning and native calls, as models write them.
#[derive(Default)]
struct UnsentWords {
    words: String,
    begun: bool,
    kind: PieceKind,
    /// Whether further text is the agent's answer, next to what was sent of it.
    is_answer: bool,
    /// Whether a beginning of the answer was sent.
    has_sent: bool,
}

impl UnsentWords {
    fn new(is_answer: bool) -> UnsentWords {
        UnsentWords { is_answer, ..UnsentWords::default() }
    }

    /// Whether there are words to send.
    fn has_words(&self) -> bool {
        !self.words.trim().is_empty()
    }

    /// Takes a piece, and returns what is to send now.
    fn add_piece(&mut self, piece: &AnswerPiece) -> Vec<Portion> {
        let (kind, text) = match piece {
            // What was sent belongs to a request that failed.
            AnswerPiece::Begun => {
                self.is_answer &= !self.has_sent;
                if self.kind == PieceKind::Text {
                    self.words.clear();
                }
                return Vec::new();
            }
            AnswerPiece::Text(text) => (PieceKind::Text, text),
            AnswerPiece::Reasoning(text) => (PieceKind::Reasoning, text),
            AnswerPiece::Call { number, name, arguments } => {
                (PieceKind::Call(*number, name.clone()), arguments)
            }
        };
        let mut portions = Vec::new();
        if kind != self.kind {
            portions.extend(self.take_words());
            let before = std::mem::replace(&mut self.kind, kind);
            self.is_answer &= !matches!(before, PieceKind::Call(..));
            let mut tags = std::mem::take(&mut self.words);
            tags.extend(before.element().map(|name| format!("</{name}>")));
            tags.extend(self.kind.element().map(|name| format!("<{name}>")));
            portions.push((None, tags));
        }
        match self.kind {
            PieceKind::Text => self.words.push_str(text),
            // They stand in an element.
            PieceKind::Reasoning | PieceKind::Call(..) => {
                self.words.push_str(&text.replace('&', "&amp;").replace('<', "&lt;"));
            }
        }
        let is_full = self.words.len() >= limits::LIVE_BYTES || self.words.contains('\n');
        if self.has_words() && (!self.begun || is_full) {
            portions.extend(self.take_words());
        }
        portions
    }

    /// Takes what can be sent now. Blanks at an end of an answer may be no part of it, so they wait for what follows.
    fn take_words(&mut self) -> Option<Portion> {
        if !self.has_words() {
            return None;
        }
        self.begun = true;
        let part = match self.kind {
            PieceKind::Reasoning => Some(AnswerPart::Thinking),
            PieceKind::Call(..) => Some(AnswerPart::Call),
            PieceKind::Text => {
                // Text that begins with a tag is not sent on as it is: thoughts of a model stand in one.
                self.is_answer &= self.has_sent || !self.words.trim_start().starts_with('<');
                self.is_answer.then_some(AnswerPart::Answer)
            }
        };
        if part != Some(AnswerPart::Answer) {
            return Some((part, std::mem::take(&mut self.words)));
        }
        let blanks = self.words.split_off(self.words.trim_end().len());
        let words = std::mem::replace(&mut self.words, blanks);
        let words = if self.has_sent { words } else { words.trim_start().to_owned() };
        self.has_sent = true;
        Some((part, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: usize, arguments: &str) -> AnswerPiece {
        AnswerPiece::Call { number, name: "search".to_owned(), arguments: arguments.to_owned() }
    }

    fn text(words: &str) -> AnswerPiece {
        AnswerPiece::Text(words.to_owned())
    }

    fn reasoning(words: &str) -> AnswerPiece {
        AnswerPiece::Reasoning(words.to_owned())
    }

    /// All that is sent, and the words of one part.
    fn show(pieces: &[AnswerPiece], part: AnswerPart) -> (String, String) {
        let mut unsent = UnsentWords::new(true);
        let mut sent: Vec<Portion> = pieces.iter().flat_map(|piece| unsent.add_piece(piece)).collect();
        sent.extend(unsent.take_words());
        let own = sent.iter().filter(|portion| portion.0 == Some(part)).map(|portion| &*portion.1);
        (sent.iter().map(|portion| &*portion.1).collect(), own.collect())
    }

    #[test]
    fn reasoning_and_calls_stand_in_elements_of_what_is_told() {
        let pieces = [
            reasoning("is a < b"),
            reasoning("?"),
            text("I look."),
            call(1, "{\"query\":"),
            call(1, "\"a\"}"),
            call(2, "{}"),
        ];
        let whole = concat!(
            "<thinking>is a &lt; b?</thinking>I look.",
            "<search>{\"query\":\"a\"}</search><search>{}"
        );
        assert_eq!(show(&pieces, AnswerPart::Thinking), (whole.to_owned(), "is a &lt; b?".to_owned()));
        assert_eq!(show(&pieces, AnswerPart::Call).1, "{\"query\":\"a\"}{}");
        assert_eq!(show(&pieces, AnswerPart::Answer).1, "I look.");
    }

    #[test]
    fn b18_words_of_an_answer_are_its_beginning_or_are_not_called_so() {
        let answer = |pieces: &[AnswerPiece]| show(pieces, AnswerPart::Answer).1;
        assert_eq!(
            answer(&[text("\n One"), text(" line.\n"), text("\n"), text("Two. \n")]),
            "One line.\n\nTwo."
        );
        assert_eq!(answer(&[AnswerPiece::Begun, text("One"), AnswerPiece::Begun, text("One again")]), "One");
        assert_eq!(answer(&[text(" "), AnswerPiece::Begun, text("One")]), "One", "nothing was sent before");
        let broken = [reasoning("hm"), text("Part"), AnswerPiece::Begun, text("One")];
        assert_eq!(answer(&broken), "One", "what was not sent of the request that failed is dropped");
        assert_eq!(answer(&[text("<think>hm</think>"), text("One")]), "");
        assert_eq!(answer(&[text("One "), call(1, "{}"), text("two")]), "One");
        let mut other = UnsentWords::new(false);
        assert_eq!(other.add_piece(&text("One")), [(None, "One".to_owned())]);
    }
}
