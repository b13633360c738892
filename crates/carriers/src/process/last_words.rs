//! The last words of a program, and the sentences that report its end.
//!
//! It never interprets what a program said. In: bytes from stderr and stray text from stdout. Out:
//! the end of these bytes, bounded, and the words of a failure as an operator and an agent read them.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::process::ChildStderr;
use tokio::sync::watch;

use super::pipe::ProgramPipe;
use crate::ear::ProgramEar;
use systole_core::types::limits::LAST_WORDS_BYTES;
use systole_core::types::time::spell_duration;

/// The last `LAST_WORDS_BYTES` bytes that one process said aside.
pub(super) struct LastWords {
    kept: Mutex<VecDeque<u8>>,
    ear: Arc<dyn ProgramEar>,
}

impl LastWords {
    /// None yet. `ear` hears them as they come.
    pub(super) fn heard_by(ear: Arc<dyn ProgramEar>) -> LastWords {
        LastWords { kept: Mutex::default(), ear }
    }

    /// Adds what was said, and forgets the beginning if it gets too long.
    pub(super) fn note_output(&self, said: &[u8]) {
        self.ear.note_stderr(said);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = said.get(said.len().saturating_sub(LAST_WORDS_BYTES)..).unwrap_or(said);
        kept.extend(tail);
        let surplus = kept.len().saturating_sub(LAST_WORDS_BYTES);
        kept.drain(..surplus);
    }

    /// Adds a line of stray text.
    pub(super) fn hear_line(&self, said: &[u8]) {
        if !said.trim_ascii().is_empty() {
            self.note_output(&[said, b"\n"].concat());
        }
    }

    /// Listens to a pipe until it ends, or until a moment after the program is over. It reads
    /// everything that waits, so a program never blocks on its stderr.
    pub(super) async fn read_stderr(&self, pipe: ChildStderr, over: watch::Receiver<bool>, rest_ms: u64) {
        let mut pipe = ProgramPipe::new(pipe, over, rest_ms);
        loop {
            match pipe.read_chunk().await {
                [] => return,
                said => self.note_output(said),
            }
        }
    }

    /// A sentence with the last words at its end.
    pub(super) fn append_to(&self, sentence: &str) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        // The cut may be inside a character, whose rest means nothing.
        let whole = bytes.iter().position(|b| b & 0xC0 != 0x80).unwrap_or(0);
        let text = String::from_utf8_lossy(bytes.get(whole..).unwrap_or_default());
        match text.trim() {
            "" => format!("{sentence}; no words on stderr"),
            words => format!("{sentence}; last words on stderr: {words}"),
        }
    }
}

/// How a program ended: `exited 1 after 0.2 s`, `killed by signal 9 (KILL) after 3.1 s`. If it `owes`
/// an answer but exited with 0, the text says that too.
pub(super) fn describe_end(status: Option<ExitStatus>, age_ms: u64, owes: bool) -> String {
    let how = match status {
        None => "ended in a way that the system does not report".to_owned(),
        Some(status) if owes && status.success() => "exited 0 without answering".to_owned(),
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exited {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}{}", signal_name(signal)),
            (None, None) => status.to_string(),
        },
    };
    format!("{how} after {}", spell_duration(age_ms))
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (HUP)",
        2 => " (INT)",
        3 => " (QUIT)",
        4 => " (ILL)",
        6 => " (ABRT)",
        7 => " (BUS)",
        8 => " (FPE)",
        9 => " (KILL)",
        11 => " (SEGV)",
        13 => " (PIPE)",
        15 => " (TERM)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoEar;

    #[test]
    fn only_the_end_is_kept_and_no_half_character() {
        let words = LastWords::heard_by(Arc::new(NoEar));
        words.note_output(&"é".repeat(LAST_WORDS_BYTES).into_bytes());
        words.note_output(b"x");
        let told = words.append_to("exited 1");
        assert!(told.starts_with("exited 1; last words on stderr: éé"), "{told}");
        assert!(told.ends_with("éx") && told.len() < LAST_WORDS_BYTES + 40, "{}", told.len());
    }

    #[test]
    fn silence_is_said() {
        let words = LastWords::heard_by(Arc::new(NoEar));
        words.hear_line(b"  ");
        assert_eq!(words.append_to("exited 1"), "exited 1; no words on stderr");
    }
}
