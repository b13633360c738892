//! The text of an answer on its way, as a client has it. Words on their way and answers on record come in; what is sent
//! next goes out: a text continues what the client has, or all of it is taken back first.
//!
//! Of what a client got in an earlier connection only the hash is known. A repeated attempt may say other words, and then
//! the hash does not fit.

/// What is sent of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TextStep {
    /// What the client has of the text does not count.
    Retract,
    /// The text goes on.
    Text(String),
}

/// FNV-1a over a text, which goes on from its value alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TextHash(pub(super) u32);

impl TextHash {
    /// The hash of no text.
    pub(super) const EMPTY: TextHash = TextHash(0x811c_9dc5);

    fn add(self, text: &str) -> TextHash {
        let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        TextHash(text.bytes().fold(self.0, step))
    }
}

/// What a client has of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SentText {
    pub(super) hash: TextHash,
    /// Its bytes, if they are known.
    pub(super) bytes: Option<u64>,
}

impl SentText {
    /// Nothing.
    pub(super) const NOTHING: SentText = SentText { hash: TextHash::EMPTY, bytes: Some(0) };

    fn is_nothing(self) -> bool {
        self.hash == TextHash::EMPTY
    }

    /// The rest of a text that begins with it. `None` if the text does not.
    fn find_rest(self, text: &str) -> Option<&str> {
        if let Some(bytes) = self.bytes {
            let (begin, rest) = text.split_at_checked(usize::try_from(bytes).ok()?)?;
            return (TextHash::EMPTY.add(begin) == self.hash).then_some(rest);
        }
        let mut hash = TextHash::EMPTY;
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let mut from = 0;
        for end in ends {
            hash = hash.add(text.get(from..end)?);
            if hash == self.hash {
                return text.get(end..);
            }
            from = end;
        }
        None
    }

    fn add(&mut self, text: &str) {
        self.hash = self.hash.add(text);
        self.bytes = self.bytes.map(|bytes| bytes.saturating_add(count_bytes(text)));
    }
}

fn count_bytes(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// The words of the newest attempt that speaks.
#[derive(Clone, Debug)]
struct HeardWords {
    /// The turn and the attempt.
    of: (u32, u32),
    text: String,
    /// Whether none are missing.
    is_whole: bool,
    /// Whether the client has them all.
    is_sent: bool,
}

/// The open text of one client.
#[derive(Clone, Debug)]
pub(super) struct OpenText {
    sent: SentText,
    heard: Option<HeardWords>,
}

impl OpenText {
    /// A text of which the client has this.
    pub(super) fn from_sent(sent: SentText) -> OpenText {
        OpenText { sent, heard: None }
    }

    /// What the client has.
    pub(super) fn client_text(&self) -> SentText {
        self.sent
    }

    /// Takes words that an attempt said after so many bytes. Words of an attempt that is over say nothing, and where some
    /// are missing, the record will have them.
    pub(super) fn take_words(&mut self, of: (u32, u32), at: u64, words: &str) -> Vec<TextStep> {
        if self.heard.as_ref().is_none_or(|heard| heard.of < of) {
            self.heard = Some(HeardWords { of, text: String::new(), is_whole: true, is_sent: false });
        }
        let Some(heard) = self.heard.as_mut().filter(|heard| heard.of == of && heard.is_whole) else {
            return Vec::new();
        };
        let Some(known) = count_bytes(&heard.text).checked_sub(at) else {
            heard.is_whole = false;
            return Vec::new();
        };
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        let new = words.get(known..).unwrap_or_default();
        heard.text.push_str(new);
        let bytes = count_bytes(&heard.text);
        if heard.is_sent {
            return self.send(new);
        }
        let has_less = self.sent.bytes.is_none_or(|sent| bytes < sent);
        let (text, rest) = (heard.text.clone(), self.sent.find_rest(&heard.text).map(str::to_owned));
        if rest.is_none() && has_less {
            return Vec::new();
        }
        heard.is_sent = true;
        let steps = match rest {
            Some(rest) => self.send(&rest),
            None => self.send_anew(&text),
        };
        self.sent.bytes = Some(bytes);
        steps
    }

    /// The answer is on record. The text is closed with it.
    pub(super) fn settle(&mut self, answer: &str) -> Vec<TextStep> {
        let steps = match self.sent.find_rest(answer) {
            Some(rest) => self.send(rest),
            None => self.send_anew(answer),
        };
        self.close();
        steps
    }

    /// No answer came of the text.
    pub(super) fn take_back(&mut self) -> Option<TextStep> {
        let is_open = !self.sent.is_nothing();
        self.close();
        is_open.then_some(TextStep::Retract)
    }

    fn close(&mut self) {
        self.sent = SentText::NOTHING;
        // Late words of the same attempt say nothing.
        if let Some(heard) = &mut self.heard {
            (heard.is_whole, heard.text) = (false, String::new());
        }
    }

    fn send(&mut self, text: &str) -> Vec<TextStep> {
        self.sent.add(text);
        if text.is_empty() { Vec::new() } else { vec![TextStep::Text(text.to_owned())] }
    }

    fn send_anew(&mut self, text: &str) -> Vec<TextStep> {
        self.sent = SentText::NOTHING;
        [vec![TextStep::Retract], self.send(text)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client shows after these steps.
    fn show(shown: &mut String, steps: Vec<TextStep>) {
        for step in steps {
            match step {
                TextStep::Retract => shown.clear(),
                TextStep::Text(text) => shown.push_str(&text),
            }
        }
    }

    fn begin() -> OpenText {
        OpenText::from_sent(SentText::NOTHING)
    }

    #[test]
    fn b18_words_and_their_record_are_one_text() {
        let (mut text, mut shown) = (begin(), String::new());
        show(&mut shown, text.take_words((1, 1), 0, "grü"));
        show(&mut shown, text.take_words((1, 1), 4, "n"));
        assert_eq!(text.take_words((1, 1), 4, "n"), [], "the same words again");
        assert_eq!(text.settle("grün und blau"), [TextStep::Text(" und blau".to_owned())]);
        assert_eq!(text.take_words((1, 1), 5, "late"), []);
        assert_eq!(text.settle(""), []);
        assert_eq!(shown, "grün");
    }

    #[test]
    fn b18_where_words_are_missing_the_record_has_the_rest() {
        let mut text = begin();
        assert_eq!(text.take_words((1, 1), 0, "one"), [TextStep::Text("one".to_owned())]);
        assert_eq!(text.take_words((1, 1), 9, "four"), []);
        assert_eq!(text.take_words((1, 1), 3, " two"), [], "it is silent from then on");
        assert_eq!(text.settle("one two four"), [TextStep::Text(" two four".to_owned())]);
    }

    #[test]
    fn b18_other_words_take_back_what_was_sent() {
        let mut text = begin();
        text.take_words((1, 1), 0, "first words");
        // A repeated attempt: as long as it has said less, it may come to say the same.
        assert_eq!(text.take_words((1, 2), 0, "second"), []);
        assert_eq!(text.take_words((1, 1), 11, " late"), []);
        let anew = vec![TextStep::Retract, TextStep::Text("second try, longer".to_owned())];
        assert_eq!(text.take_words((1, 2), 6, " try, longer"), anew);
        assert_eq!(text.settle("second"), [TextStep::Retract, TextStep::Text("second".to_owned())]);
        text.take_words((2, 1), 0, "a thought");
        assert_eq!((text.take_back(), text.take_back()), (Some(TextStep::Retract), None));
    }

    #[test]
    fn b18_a_client_that_comes_again_gets_the_rest_or_everything_anew() {
        let answer = "one grün two";
        for (at, _) in answer.char_indices() {
            let (begin, rest) = answer.split_at(at);
            let hash = TextHash::EMPTY.add(begin);
            for bytes in [None, Some(at as u64)] {
                let sent = SentText { hash, bytes };
                let wanted = [TextStep::Text(rest.to_owned())];
                assert_eq!(OpenText::from_sent(sent).settle(answer), wanted);
                let mut text = OpenText::from_sent(sent);
                let mut shown = begin.to_owned();
                for (at, one) in answer.char_indices() {
                    show(&mut shown, text.take_words((1, 1), at as u64, &one.to_string()));
                }
                assert_eq!((shown.as_str(), text.settle(answer)), (answer, vec![]), "{bytes:?} {at}");
                let mut other = OpenText::from_sent(sent);
                let mut shown = begin.to_owned();
                show(&mut shown, other.settle("something else"));
                assert_eq!(shown, "something else");
            }
        }
    }
}
