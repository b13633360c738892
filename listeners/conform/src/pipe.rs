//! The pump's end of a program's pipes. It writes exact bytes and reads documents without judging them.
//!
//! In: bytes to write. Out: frames as the program wrote them. It reads what the program says at a pace of the check's
//! choice, and never waits for the program to read before it reads itself.

use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use systole_carriers::{JudgedPipes, JudgedProgram};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::limits;

/// How fast the output of a program is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReadPace {
    /// Whether stdout is read slowly.
    pub slow_output: bool,
    /// Whether stderr is read slowly.
    pub slow_errors: bool,
}

/// What a program wrote on stderr, its end.
pub(crate) type ErrorWords = Arc<Mutex<Vec<u8>>>;

/// The end of a text that a program wrote on stderr.
pub(crate) fn read_words(words: &ErrorWords) -> String {
    let kept = words.lock().unwrap_or_else(PoisonError::into_inner);
    let start = kept.len().saturating_sub(limits::LAST_WORDS);
    String::from_utf8_lossy(kept.get(start..).unwrap_or_default()).trim().to_owned()
}

/// A program, reached over its pipes.
pub(crate) struct PipeLink {
    program: JudgedProgram,
    input: Option<ChildStdin>,
    frames: mpsc::Receiver<(Instant, Vec<u8>)>,
    words: ErrorWords,
    // The readers end with this value.
    _readers: JoinSet<()>,
}

impl PipeLink {
    /// Takes over the pipes of a program.
    pub(crate) fn new(
        program: JudgedProgram,
        (input, output, errors): JudgedPipes,
        by_length: bool,
        pace: ReadPace,
    ) -> PipeLink {
        // Enough for every document of a check.
        let (frame, frames) = mpsc::channel(limits::WAITING_FRAMES);
        let words = ErrorWords::default();
        let mut readers = JoinSet::new();
        readers.spawn(read_frames(output, by_length, pace.slow_output, frame));
        readers.spawn(read_errors(errors, pace.slow_errors, words.clone()));
        PipeLink { program, input: Some(input), frames, words, _readers: readers }
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// If the program takes no more.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Some(input) = &mut self.input else { return Err("its stdin is closed".to_owned()) };
        let writing = async {
            input.write_all(bytes).await?;
            input.flush().await
        };
        match tokio::time::timeout(limits::WRITE, writing).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("it reads nothing more: {error}")),
            Err(_) => Err(format!("it read nothing for {} s", limits::WRITE.as_secs())),
        }
    }

    /// Closes its stdin.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// The next frame; `None` at the end of its output, or at that time.
    pub(crate) async fn next_frame(&mut self, until: Instant) -> Option<(Instant, Vec<u8>)> {
        tokio::time::timeout_at(until, self.frames.recv()).await.ok().flatten()
    }

    /// Whether its output has ended and was read.
    pub(crate) fn has_ended(&self) -> bool {
        self.frames.is_closed() && self.frames.is_empty()
    }

    /// The program.
    pub(crate) fn program(&mut self) -> &mut JudgedProgram {
        &mut self.program
    }

    /// What it wrote on stderr last.
    pub(crate) fn last_words(&self) -> String {
        read_words(&self.words)
    }
}

/// Waits for the end of a program, at most that long.
pub(crate) async fn wait_for_end(program: &mut JudgedProgram, within: Duration) -> Option<ExitStatus> {
    tokio::time::timeout(within, program.wait_for_exit()).await.ok().flatten()
}

/// Reads a pipe in portions, quickly or slowly.
async fn read_portion(pipe: &mut (impl AsyncRead + Unpin), slow: Option<usize>, buffer: &mut [u8]) -> usize {
    if slow.is_some() {
        tokio::time::sleep(limits::SLOW_PAUSE).await;
    }
    let room = slow.unwrap_or(buffer.len()).min(buffer.len());
    let part = buffer.get_mut(..room).unwrap_or_default();
    pipe.read(part).await.unwrap_or(0)
}

pub(crate) async fn read_errors(mut pipe: impl AsyncRead + Unpin, slow: bool, words: ErrorWords) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = read_portion(&mut pipe, slow.then_some(4 * limits::SLOW_STEP), &mut buffer).await;
        if read == 0 {
            return;
        }
        let mut kept = words.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let start = kept.len().saturating_sub(4 * limits::LAST_WORDS);
        kept.drain(..start);
    }
}

async fn read_frames(
    mut pipe: impl AsyncRead + Unpin,
    by_length: bool,
    slow: bool,
    frames: mpsc::Sender<(Instant, Vec<u8>)>,
) {
    let (mut buffer, mut held, mut sum) = (vec![0; 1 << 16], Vec::new(), 0);
    loop {
        let read = read_portion(&mut pipe, slow.then_some(limits::SLOW_STEP), &mut buffer).await;
        sum += read;
        held.extend_from_slice(buffer.get(..read).unwrap_or_default());
        while let Some(frame) = cut_frame(&mut held, by_length) {
            if frames.send((Instant::now(), frame)).await.is_err() {
                return;
            }
        }
        if read == 0 || held.len() > limits::FRAME_BYTES || sum > limits::HEARD_BYTES {
            // A last line may lack its line break.
            if !held.is_empty() {
                let _nothing_listens = frames.send((Instant::now(), held)).await;
            }
            return;
        }
    }
}

/// Takes the first whole frame out of what was read: a line, or a length with as many bytes. A line that is no length,
/// where one should be, is a frame by itself.
fn cut_frame(held: &mut Vec<u8>, by_length: bool) -> Option<Vec<u8>> {
    let end = held.iter().position(|byte| *byte == b'\n')?;
    let line = held.get(..end)?;
    let digits = std::str::from_utf8(line).ok().filter(|_| by_length);
    if let Some(length) = digits.and_then(|text| text.parse::<usize>().ok()) {
        let whole = end + 1 + length;
        if held.len() < whole && length <= limits::FRAME_BYTES {
            return None;
        }
        let frame = held.get(end + 1..whole)?.to_vec();
        held.drain(..whole);
        return Some(frame);
    }
    let frame = line.to_vec();
    held.drain(..=end);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_frames_are_cut_as_they_were_written() {
        let cut = |bytes: &[u8], by_length| {
            let mut held = bytes.to_vec();
            let mut frames = Vec::new();
            while let Some(frame) = cut_frame(&mut held, by_length) {
                frames.push(String::from_utf8(frame).unwrap());
            }
            (frames, String::from_utf8(held).unwrap())
        };
        assert_eq!(cut(b"<a/>\n\n<b", false), (vec!["<a/>".to_owned(), String::new()], "<b".to_owned()));
        let (frames, left) = cut(b"hello\n4\n<a/>2\n\n\n9\n<b", true);
        assert_eq!(
            (frames, left.as_str()),
            (vec!["hello".to_owned(), "<a/>".to_owned(), "\n\n".to_owned()], "9\n<b")
        );
    }
}
