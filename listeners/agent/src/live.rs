//! An answer while it comes in, for observers: the first words at once, then portions of about a line. A smaller
//! portion is sent after a moment.
//!
//! Text shown here is never executed. A piece for which there is no room is left out.

use std::pin::pin;

use systole_kit::line::{Line, NotTaken};
use tokio::sync::mpsc;

use crate::limits;
use crate::model::{AnswerPiece, EstimatedRequest, ModelAnswer, Models, NoAnswer, RequestLedger};

/// Asks the model, and sends the incoming text to observers.
pub(crate) async fn ask_and_show<L: RequestLedger>(
    models: &Models,
    name: &str,
    asked: &EstimatedRequest,
    books: &mut L,
    line: &(dyn Line + '_),
) -> Result<Result<ModelAnswer, NoAnswer<L::Halt>>, NotTaken> {
    let (tell, mut pieces) = mpsc::channel(limits::LIVE_PIECES);
    // A slow observer sees less. The answer itself is complete.
    let watcher = Box::new(move |piece| drop(tell.try_send(piece)));
    let mut asking = pin!(models.ask_model(name, asked, books, watcher));
    let (mut portion, mut moment) = (UnsentWords::default(), pin!(tokio::time::sleep(limits::LIVE_PAUSE)));
    loop {
        tokio::select! {
            biased;
            answered = &mut asking => return Ok(answered),
            Some(piece) = pieces.recv() => {
                if portion.words.is_empty() {
                    moment.set(tokio::time::sleep(limits::LIVE_PAUSE));
                }
                if let Some(words) = portion.add_piece(&piece) {
                    line.progress(&words).await?;
                }
            }
            () = &mut moment, if portion.has_words() => {
                line.progress(&std::mem::take(&mut portion.words)).await?;
            }
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
    fn from_piece(piece: &AnswerPiece) -> PieceKind {
        match piece {
            AnswerPiece::Text(_) => PieceKind::Text,
            AnswerPiece::Reasoning(_) => PieceKind::Reasoning,
            AnswerPiece::Call { number, name, .. } => PieceKind::Call(*number, name.clone()),
        }
    }

    /// The element that separates it from text.
    fn element(&self) -> Option<&str> {
        match self {
            PieceKind::Text => None,
            PieceKind::Reasoning => Some("thinking"),
            PieceKind::Call(_, name) => Some(name),
        }
    }
}

/// Words that are not sent yet. Reasoning and native calls are wrapped in elements, as models write them.
#[derive(Default)]
struct UnsentWords {
    words: String,
    begun: bool,
    part: PieceKind,
}

impl UnsentWords {
    /// Whether there are words to send.
    fn has_words(&self) -> bool {
        !self.words.trim().is_empty()
    }

    /// Takes a piece, and returns the text to send now.
    fn add_piece(&mut self, piece: &AnswerPiece) -> Option<String> {
        let part = PieceKind::from_piece(piece);
        if part != self.part {
            let before = std::mem::replace(&mut self.part, part);
            self.words.extend(before.element().map(|name| format!("</{name}>")));
            self.words.extend(self.part.element().map(|name| format!("<{name}>")));
        }
        match piece {
            AnswerPiece::Text(text) => self.words.push_str(text),
            AnswerPiece::Reasoning(text) | AnswerPiece::Call { arguments: text, .. } => {
                self.words.push_str(&text.replace('&', "&amp;").replace('<', "&lt;"));
            }
        }
        let is_full = self.words.len() >= limits::LIVE_BYTES || self.words.contains('\n');
        if !self.has_words() || (self.begun && !is_full) {
            return None;
        }
        self.begun = true;
        Some(std::mem::take(&mut self.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_and_calls_stand_in_elements_of_what_is_told() {
        let call = |number: usize, arguments: &str| AnswerPiece::Call {
            number,
            name: "search".to_owned(),
            arguments: arguments.to_owned(),
        };
        let pieces = [
            AnswerPiece::Reasoning("is a < b".to_owned()),
            AnswerPiece::Reasoning("?".to_owned()),
            AnswerPiece::Text("I look.".to_owned()),
            call(1, "{\"query\":"),
            call(1, "\"a\"}"),
            call(2, "{}"),
        ];
        let mut portion = UnsentWords::default();
        let mut told = String::new();
        pieces.iter().for_each(|piece| told.extend(portion.add_piece(piece)));
        let wanted = concat!(
            "<thinking>is a &lt; b?</thinking>I look.",
            "<search>{\"query\":\"a\"}</search><search>{}"
        );
        assert_eq!(told + &portion.words, wanted);
    }
}
