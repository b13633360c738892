//! The pace of an answer, its pieces, and its cut: the steps of a body, in order. Pure: it waits for nothing
//! itself.

use std::iter::Peekable;
use std::time::Duration;

use axum::body::Bytes;

use crate::reply::Reply;
use crate::script::{Chunk, Cut};
use crate::turn::{Frame, Frames};

/// The next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Wait for this time.
    Wait(Duration),
    /// Wait until held text is released.
    Hold,
    /// Write these bytes. The flag marks the last ones.
    Write(Bytes, bool),
    /// Close the connection.
    Cut,
    /// Send nothing more, and no end.
    Hang,
}

/// The pace of an answer.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Pace {
    first: Duration,
    between: Duration,
    /// Bytes per write. `None` for a whole frame.
    bytes: Option<usize>,
    pub(crate) cut: Option<Cut>,
    pub(crate) hangs: bool,
    /// The text that is held, with everything after it.
    pub(crate) hold: Option<String>,
}

impl Pace {
    /// The pace of a reply.
    pub(crate) fn of(reply: &Reply) -> Pace {
        let between = reply.drip.map(|rate| rate.0).or(reply.delay.map(|pause| pause.0));
        let bytes = match (reply.drip, reply.chunk) {
            (Some(_), _) => Some(1),
            (None, Some(Chunk::Bytes(bytes))) => Some(bytes),
            _ => None,
        };
        Pace {
            first: reply.first.map(|pause| pause.0).unwrap_or_default(),
            between: between.unwrap_or_default(),
            bytes,
            cut: reply.cut.clone(),
            hangs: reply.hang,
            hold: reply.hold.clone(),
        }
    }
}

/// The steps of an answer.
pub(crate) struct Steps {
    frames: Peekable<Frames>,
    pace: Pace,
    /// The rest of the current frame.
    rest: Bytes,
    /// Bytes already sent.
    sent: u64,
    began: bool,
    /// Whether `rest` waits for its release.
    holds: bool,
    /// Whether the connection is closed after `rest`.
    cuts: bool,
    /// A write that waits for its pause.
    waiting: Option<Step>,
}

impl Steps {
    pub(crate) fn new(frames: Frames, pace: Pace) -> Steps {
        let frames = frames.peekable();
        Steps {
            frames,
            pace,
            rest: Bytes::new(),
            sent: 0,
            began: false,
            holds: false,
            cuts: false,
            waiting: None,
        }
    }

    /// Loads the next frame, as far as it may be sent. False if there is none.
    fn load(&mut self) -> bool {
        // A frame without bytes would end the body on the wire.
        while self.rest.is_empty() && !self.cuts {
            if self.pace.cut == Some(Cut::After(self.sent)) {
                self.cuts = true;
                break;
            }
            let Some(Frame { bytes, is_end }) = self.frames.next() else {
                // The cut position was never reached, so only the end itself is cut off.
                self.cuts = self.pace.cut.is_some();
                break;
            };
            self.rest = Bytes::from(bytes);
            let holds = |text: &mut String| position(&self.rest, text.as_bytes()).is_some();
            self.holds |= self.pace.hold.take_if(holds).is_some();
            let keep = match &self.pace.cut {
                Some(Cut::BeforeEnd) if is_end => Some(0),
                Some(Cut::After(all)) => usize::try_from(all.saturating_sub(self.sent)).ok(),
                Some(Cut::Inside(text)) => position(&self.rest, text.as_bytes()).map(|at| at + 1),
                _ => None,
            };
            if let Some(keep) = keep.filter(|keep| *keep < self.rest.len()) {
                self.rest.truncate(keep);
                self.cuts = true;
            }
        }
        !self.rest.is_empty()
    }

    fn pause(&mut self) -> Duration {
        if std::mem::replace(&mut self.began, true) { self.pace.between } else { self.pace.first }
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if let Some(step) = self.waiting.take() {
            return Some(step);
        }
        if self.pace.hangs {
            return Some(Step::Hang);
        }
        if !self.load() {
            return self.cuts.then_some(Step::Cut);
        }
        if std::mem::take(&mut self.holds) {
            return Some(Step::Hold);
        }
        let size = self.pace.bytes.unwrap_or(usize::MAX).min(self.rest.len());
        let piece = self.rest.split_to(size);
        self.sent += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        let is_last = self.rest.is_empty() && self.pace.cut.is_none() && self.frames.peek().is_none();
        let pause = self.pause();
        let write = Step::Write(piece, is_last);
        if pause.is_zero() {
            return Some(write);
        }
        self.waiting = Some(write);
        Some(Step::Wait(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(pace: Pace) -> Vec<Step> {
        let frames = vec![Frame::body("abé"), Frame::body(""), Frame::body("cd"), Frame::end("e")];
        let steps = Steps::new(Box::new(frames.into_iter()), pace);
        let mut taken = Vec::new();
        // After a cut or a hang, nothing else comes.
        for step in steps {
            let is_last = matches!(step, Step::Cut | Step::Hang);
            taken.push(step);
            if is_last {
                break;
            }
        }
        taken
    }

    fn write(bytes: &'static [u8], last: bool) -> Step {
        Step::Write(Bytes::from_static(bytes), last)
    }

    #[test]
    fn stretches_go_out_as_they_are_and_the_last_is_said_to_be() {
        let all = [write("abé".as_bytes(), false), write(b"cd", false), write(b"e", true)];
        assert_eq!(steps(Pace::default()), all);
    }

    #[test]
    fn a_cut_is_made_at_its_byte_before_the_end_or_inside_of_a_text() {
        let cut = |cut| steps(Pace { cut: Some(cut), ..Pace::default() });
        assert_eq!(cut(Cut::BeforeEnd), [write("abé".as_bytes(), false), write(b"cd", false), Step::Cut]);
        assert_eq!(cut(Cut::After(3)), [write(b"ab\xc3", false), Step::Cut]);
        assert_eq!(cut(Cut::After(4)), [write("abé".as_bytes(), false), Step::Cut]);
        assert_eq!(cut(Cut::After(0)), [Step::Cut]);
        assert_eq!(cut(Cut::Inside("é".to_owned())), [write(b"ab\xc3", false), Step::Cut]);
        // A position that is not reached cuts off the end.
        let all = [write("abé".as_bytes(), false), write(b"cd", false), write(b"e", false), Step::Cut];
        assert_eq!(cut(Cut::After(99)), all);
        assert_eq!(cut(Cut::Inside("x".to_owned())), all);
    }

    #[test]
    fn the_piece_with_the_text_and_all_behind_it_is_held_once() {
        let hold = |text: &str| steps(Pace { hold: Some(text.to_owned()), ..Pace::default() });
        let [ab, cd, e] = [write("abé".as_bytes(), false), write(b"cd", false), write(b"e", true)];
        assert_eq!(hold("c"), [ab.clone(), Step::Hold, cd.clone(), e.clone()]);
        assert_eq!(hold("é"), [Step::Hold, ab, cd, e]);
        let bytes = Pace { hold: Some("d".to_owned()), bytes: Some(1), ..Pace::default() };
        assert_eq!(
            steps(bytes).iter().position(|step| *step == Step::Hold),
            Some(4),
            "before all of its stretch"
        );
    }

    #[test]
    fn pauses_stand_before_each_piece() {
        let ms = Duration::from_millis;
        let pace = Pace { first: ms(9), between: ms(2), bytes: Some(3), ..Pace::default() };
        let pieces = [write(b"ab\xc3", false), write(b"\xa9", false), write(b"cd", false), write(b"e", true)];
        let paced: Vec<Step> = pieces.into_iter().flat_map(|piece| [Step::Wait(ms(2)), piece]).collect();
        assert_eq!(steps(pace.clone()).get(1..), paced.get(1..));
        assert_eq!(steps(pace).first(), Some(&Step::Wait(ms(9))));
        assert_eq!(steps(Pace { hangs: true, ..Pace::default() }).first(), Some(&Step::Hang));
    }
}
