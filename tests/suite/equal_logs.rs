//! Two logs of one organism, compared by their events: records by (thread, call, turn, ordinal, kind). Everything
//! counts except what always differs between two runs. Each of those exceptions is one function here, with its
//! reason. The comparison takes logs at rest and reports how many records it compared and where they differ. It runs
//! nothing, and it never skips a record because it does not fit.
//!
//! Not compared: message ids, times, positions in the log and in a thread, salts, leaves and heads, and the thread
//! `sys`, which records starts and stops. If a record refers to another by its id or its leaf, the reference is
//! replaced by the place of the other record, so that a cause is compared as a cause.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use systole_core::types::fields::FieldReader;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::{JournalEffect, MessageRole, Record, RecordCode, RecordKind, TimerEffect};
use systole_kit::prompt_link::{self, ParsedLink};
use systole_log::sqlite::{self, SqliteReader};
use systole_queries::prompts;

/// A log that was read whole.
#[derive(Clone)]
pub(crate) struct FinishedLog {
    pub(crate) records: Vec<Record>,
    reader: SqliteReader,
    /// The part of each field of a configuration's source that is compared.
    configured: fn(&str) -> String,
    /// Whether the comparison includes the places of mistakes in what was said.
    has_places: bool,
    /// Whether the comparison includes the numbers of journal entries.
    has_numbers: bool,
}

/// The place of a record: thread, call, turn, ordinal, kind, and its number among the records that share all of
/// these, in the order of the log.
type Place = (String, String, Option<u32>, Option<u32>, &'static str, usize);

/// The compared parts of a record.
type Parts = Vec<(&'static str, String)>;

impl FinishedLog {
    /// Reads a log. `configured` removes from the configuration what the two runs differ in on purpose, and nothing
    /// else.
    pub(crate) fn read(path: &Path, configured: fn(&str) -> String) -> FinishedLog {
        let reader = sqlite::open_reading(path).unwrap();
        let all = reader.read_after(Position(0), usize::MAX).unwrap();
        FinishedLog {
            records: all.into_iter().map(|(_, record)| record).collect(),
            reader,
            configured,
            has_places: true,
            has_numbers: true,
        }
    }

    /// The same without the places of mistakes. An agent that works next to the pump writes no document, so its
    /// places are within the payload; over NATS they are within the document of the whole reply.
    pub(crate) fn without_places(self) -> FinishedLog {
        FinishedLog { has_places: false, ..self }
    }

    /// The same with the entries of each attempt counted from 1. A listener counts its entries and questions in one
    /// sequence. An agent over NATS asks for its view again if the delivery of a turn comes before the receipt of its
    /// last reply, so the number of its questions depends on time.
    pub(crate) fn without_numbers(self) -> FinishedLog {
        FinishedLog { has_numbers: false, ..self }
    }

    /// The differences between two logs, one on each line, and how many records were compared.
    pub(crate) fn against(&self, other: &FinishedLog) -> (usize, Vec<String>) {
        let (one, other) = (self.lines(), other.lines());
        let mut differences = Vec::new();
        for (place, parts) in &one {
            let Some(others) = other.get(place) else {
                differences.push(format!("{}: only the first log has it: {}", named(place), shown(parts)));
                continue;
            };
            let unequal = parts.iter().zip(others).filter(|(one, other)| one != other);
            differences.extend(
                unequal.map(|((part, one), (_, other))| {
                    format!("{}: {part}: {}", named(place), apart(one, other))
                }),
            );
        }
        let only = other.iter().filter(|(place, _)| !one.contains_key(*place));
        differences.extend(
            only.map(|(place, parts)| {
                format!("{}: only the second log has it: {}", named(place), shown(parts))
            }),
        );
        (one.len().max(other.len()), differences)
    }

    /// Every record except those of `sys`, by its place.
    fn lines(&self) -> BTreeMap<Place, Parts> {
        let told: Vec<&Record> = self.records.iter().filter(|r| !r.header.thread.is_sys()).collect();
        let mut met = HashMap::new();
        let places: Vec<Place> = told.iter().map(|record| place(record, &mut met)).collect();
        let of = |is: &dyn Fn(&Record) -> bool| {
            let at = told.iter().position(|record| is(record));
            // A missing record is a difference, and no reason to stop.
            at.map_or("a record that is not in the log".to_owned(), |at| named(&places[at]))
        };
        let mut configurations = HashMap::new();
        let parts = |record: &&Record| {
            let h = &record.header;
            let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
            let configuration =
                configurations.entry(h.config).or_insert_with(|| self.configuration(h.config)).clone();
            vec![
                ("code", text(h.code.map(|code| code.as_str()))),
                ("from", h.from.to_string()),
                ("to", text(h.to.as_ref().map(|to| to.as_str()))),
                ("key", text(h.key.as_ref().map(|key| key.as_str()))),
                ("cause", h.cause.map(|cause| of(&|record| record.header.id == cause)).unwrap_or_default()),
                ("origin", h.origin.map(|leaf| of(&|record| record.leaf == leaf)).unwrap_or_default()),
                ("configuration", configuration),
                ("body", self.body(record)),
            ]
        };
        let parts: Vec<Parts> = told.iter().map(parts).collect();
        places.into_iter().zip(parts).collect()
    }

    /// The configuration, without what `configured` removes.
    fn configuration(&self, hash: Digest) -> String {
        let source = self.reader.read_document(hash).unwrap().expect("the log holds its configurations");
        let mut fields = FieldReader::new(&source);
        let mut text = String::new();
        while let Ok(field) = fields.take_field() {
            text += &(self.configured)(std::str::from_utf8(field).unwrap());
        }
        fields.check_end().unwrap();
        text
    }

    /// The body, without what differs in each run.
    fn body(&self, record: &Record) -> String {
        let body = String::from_utf8_lossy(&record.body).into_owned();
        let body = if self.has_places { body } else { blanked(&blanked(&body, " line=\""), " column=\"") };
        let h = &record.header;
        let body = match h.kind {
            RecordKind::Journal if !self.has_numbers => self.counted(record, body),
            _ => body,
        };
        match (h.kind, h.code) {
            (RecordKind::Attempt, _) => without_times(&body),
            (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Wall))) => without_stretches(&body),
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Answer | MessageRole::Inbox))) => {
                without_hashes(&without_times(&body))
            }
            (RecordKind::Journal, Some(RecordCode::Journaling(JournalEffect::Started))) => {
                self.prompted(&body)
            }
            _ => body,
        }
    }

    /// A journal entry, with its number and the number of its start counted within its attempt. The order of the
    /// numbers stays, and which start a result names.
    fn counted(&self, record: &Record, body: String) -> String {
        let attempt = |record: &Record| {
            let (h, body) = (&record.header, String::from_utf8_lossy(&record.body));
            let attempt = value(&body, " attempt=\"").map(str::to_owned);
            (h.kind, h.thread.to_string(), h.call.clone(), h.turn, attempt)
        };
        let number = |body: &str, part: &str| value(body, part).and_then(|text| text.parse::<u64>().ok());
        let own = attempt(record);
        let same = self.records.iter().filter(|other| attempt(other) == own);
        let mut numbers: Vec<u64> =
            same.filter_map(|other| number(&String::from_utf8_lossy(&other.body), " id=\"")).collect();
        numbers.sort_unstable();
        [" id=\"", " of=\""].into_iter().fold(body, |body, part| {
            let place = number(&body, part).and_then(|number| numbers.binary_search(&number).ok());
            match (number(&body, part), place) {
                (Some(number), Some(place)) => {
                    body.replacen(&format!("{part}{number}\""), &format!("{part}{}\"", place + 1), 1)
                }
                _ => body,
            }
        })
    }

    /// A record of a model call, with the prompt in place of its hash. The prompt contains the marks of its
    /// deliveries, so its hash differs in each run, but its text must not.
    fn prompted(&self, body: &str) -> String {
        let Some(hash) = value(body, " prompt=\"") else { return body.to_owned() };
        let links = match prompts::links(&self.reader, hash) {
            Ok(links) => links,
            Err(why) => return format!("{body} whose prompt cannot be shown: {why}"),
        };
        let texts = links.iter().map(|text| match prompt_link::read_link(text) {
            Some(ParsedLink::Segment { messages, .. }) => messages.to_owned(),
            Some(ParsedLink::Prompt { header, .. }) => header.to_owned(),
            Some(ParsedLink::Base { system, tools }) => [system, tools].concat(),
            None => panic!("it is no link: {text}"),
        });
        let texts: String = texts.map(|text| without_marks(&text) + "\n").collect();
        format!("{}\n{texts}", body.replace(hash, "the following: "))
    }
}

/// The due time of an attempt or a timer depends on the clock.
fn without_times(body: &str) -> String {
    blanked(body, " due=\"")
}

/// The time that an outside message has used depends on the clock.
fn without_stretches(body: &str) -> String {
    blanked(body, " used=\"")
}

/// A notice about another thread names the head of its chain, and cleared items are named by a digest of leaves. Both
/// are made of ids, times and salts.
fn without_hashes(body: &str) -> String {
    blanked(&blanked(body, " head=\""), " digest=\"")
}

/// An agent's prompt is wrapped in tags with unguessable names: they derive from the secret of the log.
fn without_marks(text: &str) -> String {
    let mut parts = text.split("core-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str("core-");
        out.push_str(if digits == 8 { &part[8..] } else { part });
    }
    out
}

/// The text with an empty value in that attribute, everywhere.
fn blanked(text: &str, begin: &str) -> String {
    let mut parts = text.split(begin);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(begin);
        out.push_str(part.find('"').map_or(part, |at| &part[at..]));
    }
    out
}

fn value<'t>(text: &'t str, begin: &str) -> Option<&'t str> {
    text.split_once(begin)?.1.split_once('"').map(|(value, _)| value)
}

fn place(record: &Record, met: &mut HashMap<Place, usize>) -> Place {
    let h = &record.header;
    let call = h.call.as_ref().map_or("", |call| call.as_str()).to_owned();
    let mut place = (h.thread.to_string(), call, h.turn, h.ordinal, h.kind.as_str(), 0);
    let before = met.entry(place.clone()).or_default();
    *before += 1;
    place.5 = *before;
    place
}

/// A place as text: `sess-1f0c9a2b77d1 1/2.0 turn 1 item 0 message`.
fn named((thread, call, turn, ordinal, kind, nth): &Place) -> String {
    let number =
        |word: &str, number: &Option<u32>| number.map(|n| format!(" {word} {n}")).unwrap_or_default();
    let nth = if *nth == 1 { String::new() } else { format!(", number {nth}") };
    format!("{thread} {call}{}{} {kind}{nth}", number("turn", turn), number("item", ordinal))
}

fn shown(parts: &Parts) -> String {
    let of = |name: &str| parts.iter().find(|(part, _)| *part == name).map_or("", |(_, text)| text);
    format!("{} {}", of("code"), of("body")).chars().take(160).collect()
}

/// The point where two texts begin to differ, with some of both from there.
fn apart(one: &str, other: &str) -> String {
    let same = one.char_indices().zip(other.chars()).find(|((_, one), other)| one != other);
    let at = same.map_or(one.len().min(other.len()), |((at, _), _)| at);
    let from = |text: &str| text[at..].chars().take(60).collect::<String>();
    format!("from byte {at} on: {:?} and {:?}", from(one), from(other))
}
