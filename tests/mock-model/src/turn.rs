//! One turn of the model, before a provider's form is applied: the thoughts, the text and the calls, the stop
//! reason, and the usage. Texts come in pieces, so that an endless one needs no memory.

use serde_json::Value;

use crate::instance;
use crate::json::{self, Json};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::script::{Arguments, Chunk, Stop};

/// The default number of characters per event.
const CHARACTERS: usize = 16;

/// The filler text: two tokens.
const FILLER: &str = "lub dub ";

/// One turn of the model.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// The number of the request. Ids and times are made from it.
    pub(crate) number: u64,
    pub(crate) model: String,
    pub(crate) thinking: Option<String>,
    /// `None` if there is no text, which differs from an empty text.
    pub(crate) words: Option<Words>,
    pub(crate) calls: Vec<Called>,
    pub(crate) stop: Stop,
    pub(crate) usage: Usage,
    /// Characters per event.
    pub(crate) characters: usize,
    /// An error inside an answer that began well.
    pub(crate) error: Option<Refusal>,
    /// Whether the client wants the usage at the end of the stream.
    pub(crate) tells_usage: bool,
}

/// The text of a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Words {
    say: String,
    /// Tokens of filler after it. `None` if it never ends.
    fill: Option<u64>,
}

/// A call, with its arguments in wire form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Called {
    pub(crate) name: String,
    /// The id from the script.
    pub(crate) id: Option<String>,
    /// JSON, or the script's replacement for it.
    pub(crate) arguments: String,
    pub(crate) is_json: bool,
}

/// Tokens of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Usage {
    /// All tokens read, including cached ones.
    pub(crate) input: u64,
    /// All tokens written, including thoughts.
    pub(crate) output: u64,
    pub(crate) cached: u64,
    pub(crate) thought: u64,
}

/// A part of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    /// Whether it marks the end of the answer.
    pub(crate) is_end: bool,
}

/// The written answer, part by part.
pub(crate) type Frames = Box<dyn Iterator<Item = Frame> + Send>;

impl Frame {
    /// A part inside the answer.
    pub(crate) fn body(text: impl Into<Vec<u8>>) -> Frame {
        Frame { bytes: text.into(), is_end: false }
    }

    /// A part that marks the end of the answer.
    pub(crate) fn end(text: impl Into<Vec<u8>>) -> Frame {
        Frame { bytes: text.into(), is_end: true }
    }
}

/// A quarter of the characters, rounded up: the only token count here.
pub(crate) fn tokens(characters: usize) -> u64 {
    u64::try_from(characters).unwrap_or(u64::MAX).div_ceil(4)
}

impl Turn {
    /// The meaning of a script's reply for one request.
    pub(crate) fn of(
        reply: &Reply,
        number: u64,
        model: String,
        input: u64,
        tells_usage: bool,
        schema: Option<&Value>,
    ) -> Turn {
        let words = Words::of(reply, schema);
        let calls: Vec<Called> = reply.call.0.iter().map(Called::of).collect();
        let count = |text: &str| text.chars().count();
        let thought = reply.thinking.as_deref().map_or(0, count);
        let called: usize = calls.iter().map(|call| count(&call.name) + count(&call.arguments)).sum();
        let said = words.as_ref().map_or(0, |words| count(&words.say));
        let filled = words.as_ref().and_then(|words| words.fill).unwrap_or(0);
        let usage = Usage {
            input: reply.usage.input.unwrap_or(input),
            output: reply.usage.output.unwrap_or(tokens(thought + called + said) + filled),
            cached: reply.usage.cached,
            thought: tokens(thought),
        };
        let stop = if calls.is_empty() { Stop::End } else { Stop::Tool };
        let characters = match reply.chunk {
            Some(Chunk::Characters(characters)) => characters,
            Some(Chunk::Bytes(_)) | None => CHARACTERS,
        };
        Turn {
            number,
            model,
            thinking: reply.thinking.clone(),
            words,
            calls,
            stop: reply.stop.unwrap_or(stop),
            usage,
            characters,
            error: reply.ok_error.then(Refusal::broken),
            tells_usage,
        }
    }

    /// A text in pieces of the turn's size.
    pub(crate) fn pieces_of(&self, text: &str) -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        characters.chunks(self.characters).map(|piece| piece.iter().collect()).collect()
    }

    /// The text in pieces. An empty text is one empty piece; no text is no piece.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = String> + Send + use<> {
        let words = self.words.clone();
        let empty = words.as_ref().is_some_and(|words| words.say.is_empty() && words.fill == Some(0));
        let mut characters: Box<dyn Iterator<Item = char> + Send> = match words {
            None => Box::new(std::iter::empty()),
            Some(words) => {
                let say: Vec<char> = words.say.chars().collect();
                let fill =
                    words.fill.map_or(usize::MAX, |tokens| usize::try_from(tokens * 4).unwrap_or(usize::MAX));
                Box::new(say.into_iter().chain(FILLER.chars().cycle().take(fill)))
            }
        };
        let size = self.characters;
        let mut first = empty.then(String::new);
        std::iter::from_fn(move || {
            let piece: String = characters.by_ref().take(size).collect();
            if piece.is_empty() { first.take() } else { Some(piece) }
        })
    }

    /// A whole answer: the parts around the text, and the text piece by piece, so that a long text is not held
    /// in memory.
    pub(crate) fn whole(&self, value: &Json, behind: &str) -> Frames {
        let (before, after) = json::around(value);
        let pieces = self.pieces().map(|piece| Frame::body(json::escaped(&piece)));
        // Without a text the answer has no position for one, so the end is empty. Split the answer in the
        // middle.
        if after.is_empty() {
            let middle = before.floor_char_boundary(before.len() / 2);
            let (before, after) = before.split_at(middle);
            return Box::new([Frame::body(before), Frame::end(format!("{after}{behind}"))].into_iter());
        }
        let first = std::iter::once(Frame::body(before));
        Box::new(first.chain(pieces).chain(std::iter::once(Frame::end(format!("{after}{behind}")))))
    }

    /// The id of a call on the wire.
    pub(crate) fn call_id(&self, prefix: &str, place: usize, call: &Called) -> String {
        call.id.clone().unwrap_or_else(|| format!("{prefix}{:06}{place:02}", self.number))
    }
}

impl Words {
    fn of(reply: &Reply, schema: Option<&Value>) -> Option<Words> {
        let fill = if reply.endless { None } else { Some(reply.fill.unwrap_or(0)) };
        let there = reply.say.is_some() || reply.fill.is_some() || reply.endless;
        let fitting = reply
            .fits
            .as_ref()
            .zip(schema)
            .map(|(fits, schema)| fits.replace("{}", &instance::instance(schema)));
        there.then(|| Words { say: fitting.or_else(|| reply.say.clone()).unwrap_or_default(), fill })
    }
}

impl Called {
    fn of(call: &crate::script::Call) -> Called {
        let (arguments, is_json) = match &call.arguments {
            Arguments::Json(value) => (value.to_string(), true),
            Arguments::Raw(raw) => (raw.clone(), false),
        };
        Called { name: call.name.clone(), id: call.id.clone(), arguments, is_json }
    }

    /// The arguments for a wire format that needs a value: text that is not JSON becomes a string.
    pub(crate) fn value(&self) -> Json {
        if self.is_json { Json::Raw(self.arguments.clone()) } else { Json::from(self.arguments.clone()) }
    }
}
