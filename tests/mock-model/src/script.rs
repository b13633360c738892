//! The script: the mock's answers, in order. One list for every model, or a list for each.
//!
//! It decides which reply is next, and never how a reply is written on the wire. In: YAML, then requests. Out:
//! replies.

mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

pub(crate) use values::{
    Arguments, Call, Calls, Chunk, Cut, ErrorType, Fault, MediaType, Need, Pause, Rate, Stop, Times, UsageSet,
};

use crate::reply::Reply;

/// Every key that a reply of a script may have, and what it is. The table of `docs/reference/mock-model.md` is made of
/// them.
pub const KEYS: &[(&str, &str)] = &[
    ("say", "the text that the model says; without it, and without `fill` and `endless`, it says none"),
    (
        "fits",
        "said in place of `say` if the request has a JSON Schema for the answer; `{}` in it is replaced by a \
         JSON value that follows the schema: only what is required, the first choice, the largest number",
    ),
    ("if", "used only where the last message of the request contains this text"),
    (
        "need",
        "a list of regular expressions; each has to match in the body of the request as it was sent, or in \
         its texts, unescaped, a line each",
    ),
    (
        "chunk",
        "`3`: characters of text, of thoughts and of arguments in one event, 16 without it; `3 bytes`: so \
         many bytes of the wire at once, whatever they hold",
    ),
    ("delay", "the pause between two pieces: `50ms`, `2s`, `1m`, `1h`"),
    ("first", "the pause before the first piece; the head of the answer is sent at once"),
    (
        "stop",
        "why the model stops: `end`, `length`, `tool`, `filter`, or `none`: the stream ends well, but nothing \
         in it says that the answer is over. Without it `tool` where there are calls, else `end`",
    ),
    (
        "cut",
        "closes the connection without an end: `true` behind the text, before what says that the answer is \
         over; `120` after so many bytes of the body; `{in: é}` behind the first byte of that text on the \
         wire. A place that does not come cuts off the end alone",
    ),
    ("hang", "`true`: the head of the answer, then nothing"),
    (
        "hold",
        "a text of `say` or `thinking`: the piece of the wire in which it stands, and all behind it, waits \
         until what is held is let go; a text that `chunk` cuts through holds nothing",
    ),
    (
        "usage",
        "`{in: 12, out: 3, cached: 8}`; what is left out is counted. `in` is all that was read, what was \
         cached among it; Anthropic shows the two apart",
    ),
    (
        "call",
        "`{search: {query: x}}`, several in one map or in a list. `{search: {raw: '{\"quer'}}` has arguments \
         that need not be JSON; `id: same` beside the name sets the id, for two calls with one",
    ),
    (
        "thinking",
        "thoughts before the text: Anthropic's with a signature, which has to come back as it was, elsewhere \
         `reasoning_content`, `thinking`, or a part with `thought`",
    ),
    (
        "error",
        "`{status: 429, retry_after: 2s, body: TEXT, type: json}`. `status` is needed, 300 to 599; \
         `retry_after` a time, rounded up to seconds, or a date of HTTP; `body` the words; `type` `json` (the \
         provider's shape), `html` (a page), `none` (no body)",
    ),
    ("html", "`true`: a page with status 500"),
    (
        "ok_error",
        "`true`: an error in the provider's shape with status 200; in a stream behind what is said, in place \
         of the end",
    ),
    ("garbage", "`true`: status 200 and bytes that are neither text nor JSON"),
    ("content_type", "what the answer is called, in place of what it is"),
    ("drip", "`5/s`: five bytes of the wire a second"),
    ("fill", "so many tokens of filler behind the text"),
    ("endless", "`true`: filler without an end, until the client leaves"),
    ("times", "how often the reply serves: a number, or `always`; once without it"),
];

/// A script that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{words}", self.place())]
pub struct MockScriptError {
    /// The file, if there was one.
    pub file: Option<PathBuf>,
    /// The line of the mistake, from 1. 0 if there is none, as for a missing file.
    pub line: u64,
    /// Its column, from 1.
    pub column: u64,
    /// The mistake.
    pub words: String,
}

impl MockScriptError {
    fn place(&self) -> String {
        let file = self.file.as_ref().map(|file| format!("{}:", file.display())).unwrap_or_default();
        if self.line == 0 { format!("{file} ") } else { format!("{file}{}:{}: ", self.line, self.column) }
    }
}

/// The mock's answers, in order.
#[derive(Clone, Debug)]
pub struct MockScript(Lists);

#[derive(Clone, Debug)]
enum Lists {
    One(Vec<Slot>),
    PerModel(BTreeMap<String, Vec<Slot>>),
}

/// A reply, and how often it may still be used.
#[derive(Clone, Debug)]
struct Slot {
    reply: Arc<Reply>,
    line: u64,
    column: u64,
    /// `None` if it is never used up.
    left: Option<u64>,
}

/// Why there is no reply for a request.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum NoReply {
    /// Every reply is used.
    #[error("the script has run out: its {0} replies for {1} are used")]
    RanOut(usize, String),
    /// The remaining replies wait for other words.
    #[error(
        "the script has no reply for this: {0} are left for {1}, and the last message has none of their `if`"
    )]
    NoneFits(usize, String),
    /// The request lacks a text that the next reply needs.
    #[error("the script needs {need} (line {line}), which is nowhere in the request")]
    Unmet {
        /// The expression.
        need: String,
        /// The line of the reply in the script.
        line: u64,
    },
}

impl MockScript {
    /// Reads a script.
    pub fn parse(yaml: &str) -> Result<MockScript, MockScriptError> {
        let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
        let lists: Lists = serde_saphyr::from_str_with_options(yaml, options).map_err(|error| {
            let place = error.location();
            let words = error.without_snippet().to_string();
            MockScriptError {
                file: None,
                line: place.map_or(1, |place| place.line()),
                column: place.map_or(1, |place| place.column()),
                words: without_place(&words),
            }
        })?;
        for slot in lists.all() {
            let bad = |words| MockScriptError { file: None, line: slot.line, column: slot.column, words };
            slot.reply.check().map_err(bad)?;
        }
        Ok(MockScript(lists))
    }

    /// Reads a script from a file.
    pub fn read(path: &Path) -> Result<MockScript, MockScriptError> {
        let yaml = std::fs::read_to_string(path).map_err(|error| MockScriptError {
            file: Some(path.to_owned()),
            line: 0,
            column: 0,
            words: error.to_string().to_lowercase(),
        })?;
        MockScript::parse(&yaml).map_err(|bad| MockScriptError { file: Some(path.to_owned()), ..bad })
    }

    /// The models of the script. `None` if it has one list for all.
    pub(crate) fn models(&self) -> Option<Vec<&str>> {
        match &self.0 {
            Lists::One(_) => None,
            Lists::PerModel(lists) => Some(lists.keys().map(String::as_str).collect()),
        }
    }

    /// How many replies are left.
    pub(crate) fn left(&self) -> usize {
        self.0.all().filter(|slot| slot.left != Some(0)).count()
    }

    /// The next reply for a request. It counts as used.
    ///
    /// A reply whose `if` is not in the last message is skipped and stays. A `need` is searched in `texts`.
    pub(crate) fn next(&mut self, model: &str, last: &str, texts: &[&str]) -> Result<Arc<Reply>, NoReply> {
        let mut none = Vec::new();
        let slots = match &mut self.0 {
            Lists::One(slots) => slots,
            Lists::PerModel(lists) => lists.get_mut(model).unwrap_or(&mut none),
        };
        let all = slots.len();
        let left = slots.iter().filter(|slot| slot.left != Some(0)).count();
        let fits = |slot: &&mut Slot| {
            slot.left != Some(0) && slot.reply.when.as_ref().is_none_or(|when| last.contains(when.as_str()))
        };
        let Some(slot) = slots.iter_mut().find(fits) else {
            return Err(match left {
                0 => NoReply::RanOut(all, model.to_owned()),
                _ => NoReply::NoneFits(left, model.to_owned()),
            });
        };
        if let Some(need) =
            slot.reply.need.iter().find(|need| !texts.iter().any(|text| need.0.is_match(text)))
        {
            return Err(NoReply::Unmet { need: need.0.to_string(), line: slot.line });
        }
        slot.left = slot.left.map(|left| left.saturating_sub(1));
        Ok(slot.reply.clone())
    }
}

impl Lists {
    fn all(&self) -> impl Iterator<Item = &Slot> {
        let lists: Vec<&Vec<Slot>> = match self {
            Lists::One(slots) => vec![slots],
            Lists::PerModel(lists) => lists.values().collect(),
        };
        lists.into_iter().flatten()
    }
}

/// Removes the place at the end of the parser's message: it comes first here.
fn without_place(words: &str) -> String {
    let end = words.rfind(" at line ").unwrap_or(words.len());
    words.get(..end).unwrap_or(words).to_owned()
}

impl Slot {
    fn of(spanned: Spanned<Reply>) -> Slot {
        let (line, column) = (spanned.referenced.line(), spanned.referenced.column());
        let left = spanned.value.times.0;
        Slot { reply: Arc::new(spanned.value), line, column, left }
    }
}

impl<'de> Deserialize<'de> for Lists {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lists, D::Error> {
        struct Shape;
        impl<'de> Visitor<'de> for Shape {
            type Value = Lists;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of replies, or models with a list each")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Lists, A::Error> {
                let mut slots = Vec::new();
                while let Some(reply) = list.next_element::<Spanned<Reply>>()? {
                    slots.push(Slot::of(reply));
                }
                Ok(Lists::One(slots))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lists, A::Error> {
                let mut lists = BTreeMap::new();
                while let Some((model, replies)) = map.next_entry::<String, Vec<Spanned<Reply>>>()? {
                    lists.insert(model, replies.into_iter().map(Slot::of).collect());
                }
                Ok(Lists::PerModel(lists))
            }
        }
        deserializer.deserialize_any(Shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(yaml: &str) -> String {
        MockScript::parse(yaml).unwrap_err().to_string()
    }

    #[test]
    fn the_keys_of_a_reply_are_those_that_are_listed() {
        let words = bad("- {nonsense: 1}");
        let mut keys: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
        let told: Vec<&str> = words.split_once("expected").unwrap().1.split(['`', '\'', ',', ' ']).collect();
        let mut told: Vec<&str> =
            told.into_iter().filter(|word| keys.contains(word) || word.contains('_')).collect();
        keys.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, keys, "{words}");
    }

    #[test]
    fn a_mistake_is_reported_with_its_line_and_its_fix() {
        for (yaml, line, wanted) in [
            ("- say: a\n- sya: b\n", 2, "sya"),
            ("- say: a\n  delay: 50\n", 2, "50ms"),
            ("- say: a\n  delay: 50 parsecs\n", 2, "50 parsecs"),
            ("- need: ['(']\n  say: a\n", 1, "("),
            ("- say: a\n\n- {}\n", 3, "say"),
            ("- {say: a, error: {status: 500}}\n", 1, "error"),
            ("- error: {retry_after: 2s}\n", 1, "status"),
            ("- error: {status: 42}\n", 1, "300 to 599"),
            ("- {say: a, stop: nowhere}\n", 1, "nowhere"),
            ("- {say: a, cut: false}\n", 1, "cut"),
            ("- {say: a, chunk: 0}\n", 1, "1"),
            ("- {say: a, chunk: 3 miles}\n", 1, "3 bytes"),
            ("- {say: a, drip: 5}\n", 1, "5/s"),
            ("- {call: {search: [1]}}\n", 1, "search"),
            ("- {call: 3}\n", 1, "a call"),
            ("- {say: a, times: often}\n", 1, "always"),
            ("- {say: a, drip: 1/s, delay: 3s}\n", 1, "drip"),
            ("- {say: a, content_type: \"a\\nb\"}\n", 1, "content_type"),
            ("- {say: a, hang: yes}\n", 1, "true/false"),
            ("- {say: a, hang: true}\n", 1, "`hang` answers alone"),
            ("- {say: a, hold: b}\n", 1, "`hold` is a part of what is said"),
            ("- {hang: true, hold: b}\n", 1, "`hold` is a part of what is said"),
            ("m:\n- say: a\n- saay: b\n", 3, "saay"),
            ("nothing", 1, "a list of replies"),
        ] {
            let told = MockScript::parse(yaml).unwrap_err();
            assert_eq!(told.line, line, "{yaml}: {told}");
            assert!(told.words.contains(wanted), "{yaml}: wanted {wanted}: {told}");
        }
    }

    #[test]
    fn replies_are_used_in_order_and_those_that_do_not_fit_wait() {
        let mut script =
            MockScript::parse("- {if: one, say: a}\n- say: b\n- {if: two, say: c}\n- {say: d, times: 2}\n")
                .unwrap();
        let mut next = |last: &str| script.next("m", last, &[]).map(|reply| reply.say.clone().unwrap());
        assert_eq!(next("two").unwrap(), "b");
        assert_eq!(next("one").unwrap(), "a");
        assert_eq!(next("none").unwrap(), "d");
        assert_eq!(next("two").unwrap(), "c");
        assert_eq!(next("none").unwrap(), "d");
        assert_eq!(next("none"), Err(NoReply::RanOut(4, "m".to_owned())));
        let mut script = MockScript::parse("- {if: one, say: a}").unwrap();
        assert_eq!(script.next("m", "two", &[]), Err(NoReply::NoneFits(1, "m".to_owned())));
        assert_eq!(script.left(), 1);
    }

    #[test]
    fn a_need_that_is_not_met_keeps_the_reply() {
        let mut script = MockScript::parse("- {need: ['a+b', ^c], say: x}").unwrap();
        let unmet = script.next("m", "", &["aab", "xc"]);
        assert_eq!(unmet, Err(NoReply::Unmet { need: "^c".to_owned(), line: 1 }));
        assert!(script.next("m", "", &["aab", "c"]).is_ok());
    }

    #[test]
    fn each_model_has_its_own_list_and_a_reply_may_serve_for_ever() {
        let mut script = MockScript::parse("one: [{say: a}]\ntwo: [{say: b, times: always}]\n").unwrap();
        assert_eq!(script.models(), Some(vec!["one", "two"]));
        assert!(script.next("one", "", &[]).is_ok() && script.next("one", "", &[]).is_err());
        assert!((0..100).all(|_| script.next("two", "", &[]).is_ok()));
        assert_eq!(script.left(), 1);
    }
}
