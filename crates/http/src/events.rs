//! Events of a stream: server-sent events, or one line of JSON each. Any split of the bytes gives the same events.
//! Comments and unused fields are ignored. It knows no provider.

use super::lines::{LineEnding, LineFault, LineReader};

/// How a stream is cut into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFraming {
    /// Server-sent events.
    Events,
    /// Lines of JSON.
    Lines,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct StreamEvent {
    /// Its name. Empty if it has none.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl StreamEvent {
    /// An event without a name.
    pub fn from_text(text: &str) -> Self {
        Self { name: String::new(), text: text.to_owned() }
    }
}

/// The reader.
#[derive(Debug)]
pub struct EventReader {
    framing: StreamFraming,
    lines: LineReader,
    most: usize,
    open: StreamEvent,
    /// Whether the open event has any text, even an empty one.
    says: bool,
}

impl EventReader {
    /// A reader of texts of up to `most` bytes.
    #[must_use]
    pub fn new(framing: StreamFraming, most: usize) -> Self {
        let ending = match framing {
            StreamFraming::Events => LineEnding::Any,
            StreamFraming::Lines => LineEnding::LineFeed,
        };
        Self {
            framing,
            lines: LineReader::new(ending, most),
            most,
            open: StreamEvent::default(),
            says: false,
        }
    }

    /// Takes the next bytes. Read all events before feeding more.
    pub fn feed_bytes(&mut self, bytes: &[u8]) {
        self.lines.feed_bytes(bytes);
    }

    /// The next whole event.
    pub fn next_event(&mut self) -> Result<Option<StreamEvent>, LineFault> {
        while let Some(line) = self.lines.next()? {
            if let Some(event) = self.take_line(&line)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The text at the end of a complete body that is not closed like an event.
    pub fn take_left(&mut self) -> Result<Option<StreamEvent>, LineFault> {
        if let Some(line) = self.lines.take_left()?
            && let Some(event) = self.take_line(&line)?
        {
            return Ok(Some(event));
        }
        Ok(self.close_event())
    }

    fn take_line(&mut self, line: &str) -> Result<Option<StreamEvent>, LineFault> {
        if self.framing == StreamFraming::Lines {
            let text = line.trim();
            return Ok((!text.is_empty()).then(|| StreamEvent { name: String::new(), text: text.to_owned() }));
        }
        if line.is_empty() {
            return Ok(self.close_event());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.open.name),
            "data" => {
                if self.says {
                    self.open.text.push('\n');
                }
                self.says = true;
                self.open.text.push_str(value);
                if self.open.text.len() > self.most {
                    return Err(LineFault::TooLong);
                }
            }
            // A comment (whose field is empty), `id`, `retry`, and unknown fields.
            _ => {}
        }
        Ok(None)
    }

    /// An event without text is ignored.
    fn close_event(&mut self) -> Option<StreamEvent> {
        let event = std::mem::take(&mut self.open);
        std::mem::take(&mut self.says).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(framing: StreamFraming, pieces: [&[u8]; 2]) -> Vec<(String, String)> {
        let (mut events, mut found) = (EventReader::new(framing, 100), Vec::new());
        for piece in pieces {
            events.feed_bytes(piece);
            while let Some(event) = events.next_event().expect("short lines") {
                found.push((event.name, event.text));
            }
        }
        while let Some(event) = events.take_left().expect("short lines") {
            found.push((format!("left {}", event.name), event.text));
        }
        found
    }

    #[test]
    fn any_split_gives_the_same_events() {
        let text = ": hello\r\n\r\nevent: a\r\ndata: 1\r\ndata:2\r\ndata\r\n\r\nevent: b\r\n\r\nid: 7\r\n\
                    data:  é\r\r\ndata: c"
            .as_bytes();
        let whole = [("a", "1\n2\n"), ("", " é"), ("left ", "c")];
        let lines = b"{\"a\": 1}\r\n\n {\"b\":\r2} \n{";
        let whole_lines = [("", "{\"a\": 1}"), ("", "{\"b\":\r2}"), ("", "{")];
        for at in 0..=text.len() {
            let found = read(StreamFraming::Events, [&text[..at], &text[at..]]);
            assert!(
                found.iter().map(|(name, text)| (name.as_str(), text.as_str())).eq(whole),
                "{at}: {found:?}"
            );
        }
        for at in 0..=lines.len() {
            let found = read(StreamFraming::Lines, [&lines[..at], &lines[at..]]);
            let found = found.iter().map(|(name, text)| (name.trim_start_matches("left "), text.as_str()));
            assert!(found.eq(whole_lines), "{at}");
        }
    }

    #[test]
    fn an_event_of_many_lines_has_the_limit_of_one() {
        let mut events = EventReader::new(StreamFraming::Events, 10);
        events.feed_bytes(b"data: 12345\ndata: 12345\n\n");
        assert_eq!(events.next_event(), Err(LineFault::TooLong));
    }
}
