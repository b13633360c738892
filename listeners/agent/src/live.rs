//! An answer while it comes in, for whoever watches: its first words at once, then as many as make a line.
//!
//! What is shown here is never acted upon, and a piece for which there is no room is left out.

use std::pin::pin;

use systole_kit::line::{Line, NotTaken};
use tokio::sync::mpsc;

use crate::model::{Answer, Ask, Ledger, Models, NoAnswer, Piece};

/// Pieces that may wait while one is being told.
const WAITING: usize = 256;
/// Bytes that are told at once.
const PORTION: usize = 64;

/// Asks, and tells what comes in on the way.
pub(crate) async fn shown<L: Ledger>(
    models: &Models,
    name: &str,
    asked: &Ask,
    books: &mut L,
    line: &(dyn Line + '_),
) -> Result<Result<Answer, NoAnswer<L::Halt>>, NotTaken> {
    let (tell, mut pieces) = mpsc::channel(WAITING);
    // A watcher that falls behind sees less; the answer itself comes whole.
    let watcher = Box::new(move |piece| drop(tell.try_send(piece)));
    let mut asking = pin!(models.ask(name, asked, books, watcher));
    let mut portion = Portion::default();
    loop {
        tokio::select! {
            biased;
            answered = &mut asking => return Ok(answered),
            Some(piece) = pieces.recv() => {
                if let Some(words) = portion.take(&piece) {
                    line.progress(&words).await?;
                }
            }
        }
    }
}

/// Words that are not told yet.
#[derive(Default)]
struct Portion {
    words: String,
    begun: bool,
}

impl Portion {
    /// Takes a piece, and gives what is to be told now.
    fn take(&mut self, piece: &Piece) -> Option<String> {
        let (Piece::Text(text) | Piece::Reasoning(text)) = piece;
        self.words.push_str(text);
        let is_full = self.words.len() >= PORTION || self.words.contains('\n');
        if self.words.trim().is_empty() || (self.begun && !is_full) {
            return None;
        }
        self.begun = true;
        Some(std::mem::take(&mut self.words))
    }
}
