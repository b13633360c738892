//! The stream for deliveries that are out: made by us, or found and compared with what we would make. Its metadata
//! says which organism it belongs to. A stream without that belongs to someone else, and nothing in it is changed,
//! even if it has our stream's name.

use std::time::Duration;

use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, PersistenceMode, RetentionPolicy, StorageType,
};
use async_nats::jetstream::{self, ErrorCode};
use serde_json::json;

use super::subjects::BrokerSubjects;
use super::unusable::{BrokerFault, make_line};
use super::wire::BrokerWire;
use systole_core::types::ids::Name;

const ORGANISM_KEY: &str = "systole.organism";
const FORMAT_KEY: &str = "systole.format";

/// The owner of a stream.
enum StreamOwner {
    /// This organism, with the format number in the metadata.
    Ours(String),
    /// Someone else, with the evidence.
    Other(String),
}

/// The owner that a stream's metadata names.
fn find_owner(config: &Config, organism: &Name) -> StreamOwner {
    match (config.metadata.get(ORGANISM_KEY), config.metadata.get(FORMAT_KEY)) {
        (Some(name), Some(format)) if name == organism.as_str() => StreamOwner::Ours(format.clone()),
        (Some(name), _) if name != organism.as_str() => {
            StreamOwner::Other(make_line(&format!("it belongs to the organism {name:?}")))
        }
        _ => StreamOwner::Other("it was not made by systole".to_owned()),
    }
}

/// The stream as this organism makes it.
fn make_config(organism: &Name, subjects: &BrokerSubjects, copies: usize) -> Config {
    Config {
        name: subjects.bus_stream(),
        subjects: vec![subjects.deliveries()],
        description: Some(format!("deliveries that are out, of the organism {}", organism.as_str())),
        storage: StorageType::File,
        retention: RetentionPolicy::WorkQueue,
        // A full stream refuses new messages; stored messages are never dropped.
        discard: DiscardPolicy::New,
        num_replicas: copies,
        duplicate_window: crate::limits::REMEMBERS,
        ..Config::default()
    }
}

/// Finds the stream of deliveries, or makes it. Returns the most bytes that a message may have, if the stream limits
/// that.
pub(super) async fn find_or_make(
    wire: &BrokerWire,
    organism: &Name,
    subjects: &BrokerSubjects,
    copies: usize,
) -> Result<Option<usize>, BrokerFault> {
    let wanted = make_config(organism, subjects, copies);
    let found = find_or_make_stream(wire, organism, &wanted, DELIVERIES.format).await?;
    judge_config(wire, organism, &wanted, &found.config, &DELIVERIES)?;
    bring_up(wire, &found.config, &wanted, DELIVERIES.format).await?;
    Ok(find_largest(&found.config))
}

/// The most bytes of a message, if the stream limits that.
pub(super) fn find_largest(config: &Config) -> Option<usize> {
    usize::try_from(config.max_message_size).ok().filter(|bytes| *bytes > 0)
}

/// The stream's description; the stream is made if there is none.
pub(super) async fn find_or_make_stream(
    wire: &BrokerWire,
    organism: &Name,
    wanted: &Config,
    format: u32,
) -> Result<Info, BrokerFault> {
    let wanted = Config { metadata: make_metadata(organism, format), ..wanted.clone() };
    let stream = &wanted.name;
    let what = format!("the stream {stream} was looked for");
    match wire.ask_api::<Info>(&what, &format!("STREAM.INFO.{stream}"), &json!({})).await? {
        Response::Ok(info) => Ok(info),
        Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {
            make_stream(wire, &wanted).await
        }
        Response::Err { error } => Err(wire.report_refused(&what, &error.to_string())),
    }
}

fn make_metadata(organism: &Name, format: u32) -> std::collections::HashMap<String, String> {
    [(ORGANISM_KEY, organism.to_string()), (FORMAT_KEY, format.to_string())]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
}

/// Makes a stream. If the stream already exists as we would make it, that one is used.
async fn make_stream(wire: &BrokerWire, wanted: &Config) -> Result<Info, BrokerFault> {
    let (stream, address) = (wanted.name.clone(), wire.address.clone());
    let what = format!("the stream {stream} was made");
    match wire.ask_api::<Info>(&what, &format!("STREAM.CREATE.{stream}"), wanted).await? {
        Response::Ok(info) => Ok(info),
        Response::Err { error } => match error.error_code() {
            ErrorCode::STREAM_SUBJECT_OVERLAP => {
                let why = format!("another stream takes {}", wanted.subjects.join(", "));
                Err(BrokerFault::Foreign { address, stream, why })
            }
            ErrorCode::STREAM_NAME_EXIST => {
                let why = "another program made it just now, and not as this version does".to_owned();
                Err(BrokerFault::Foreign { address, stream, why })
            }
            _ => Err(explain_unmade(wire, &what, &error, wanted)),
        },
    }
}

/// Brings our stream up to what this version wants: the number of its format, so that older versions refuse it, at
/// least as many copies, and at least as long a memory of what it had. More is an operator's choice.
pub(super) async fn bring_up(
    wire: &BrokerWire,
    found: &Config,
    wanted: &Config,
    format: u32,
) -> Result<(), BrokerFault> {
    let copies = found.num_replicas.max(wanted.num_replicas);
    let duplicate_window = found.duplicate_window.max(wanted.duplicate_window);
    let mut metadata = found.metadata.clone();
    metadata.insert(FORMAT_KEY.to_owned(), format.to_string());
    let is_up = found.num_replicas == copies && found.duplicate_window == duplicate_window;
    if is_up && found.metadata == metadata {
        return Ok(());
    }
    let wanted = Config { num_replicas: copies, duplicate_window, metadata, ..found.clone() };
    let stream = &found.name;
    let what = format!("the stream {stream} was to be kept in {copies} copies");
    match wire.ask_api::<Info>(&what, &format!("STREAM.UPDATE.{stream}"), &wanted).await? {
        Response::Ok(_) => Ok(()),
        Response::Err { error } => Err(explain_unmade(wire, &what, &error, &wanted)),
    }
}

/// Why a stream was not made.
fn explain_unmade(wire: &BrokerWire, what: &str, error: &jetstream::Error, wanted: &Config) -> BrokerFault {
    match error.error_code() {
        ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED
        | ErrorCode::CLUSTER_NO_PEERS
        | ErrorCode::INSUFFICIENT_RESOURCES => BrokerFault::Copies {
            address: wire.address.clone(),
            stream: wanted.name.clone(),
            copies: wanted.num_replicas,
            why: make_line(&error.to_string()),
        },
        _ => wire.report_refused(what, &error.to_string()),
    }
}

/// The checks that differ between the streams of deliveries and of the log, with the text for each.
pub(super) struct HeldMessages {
    /// The number of the stream's format; a reader checks it first.
    pub(super) format: u32,
    /// The text for a different retention.
    pub(super) retention: &'static str,
    /// What the messages of one subject belong to, in words.
    pub(super) share: &'static str,
    /// Whether the stream has the wrong rule about deletes: one stream must allow them, and another must forbid them.
    pub(super) deleting: fn(&Config) -> bool,
    /// The text for a wrong rule about deletes.
    pub(super) deleted: &'static str,
    /// What to do about a stream that someone changed.
    pub(super) fix: &'static str,
}

/// The stream of deliveries.
const DELIVERIES: HeldMessages = HeldMessages {
    format: 1,
    retention: "its retention is not a work queue",
    share: "for each listener",
    deleting: |found| found.sealed || found.deny_delete || found.deny_purge,
    deleted: "nothing can be deleted from it",
    fix: "while the organism is stopped: it is made again, and the log sends again what was out",
};

/// Compares an existing stream with what we would make.
pub(super) fn judge_config(
    wire: &BrokerWire,
    organism: &Name,
    wanted: &Config,
    found: &Config,
    held: &HeldMessages,
) -> Result<(), BrokerFault> {
    is_ours(wire, organism, found, held.format)?;
    let changes = list_altered(wanted, found, held);
    if changes.is_empty() {
        return Ok(());
    }
    let (stream, address) = (wanted.name.clone(), wire.address.clone());
    Err(BrokerFault::Altered { address, stream, why: make_line(&changes.join(", ")), fix: held.fix })
}

/// Whether an existing stream is this organism's, and of a format that this version knows.
pub(super) fn is_ours(
    wire: &BrokerWire,
    organism: &Name,
    found: &Config,
    known: u32,
) -> Result<(), BrokerFault> {
    let (stream, address) = (found.name.clone(), wire.address.clone());
    match find_owner(found, organism) {
        StreamOwner::Other(why) => Err(BrokerFault::Foreign { address, stream, why }),
        StreamOwner::Ours(format) if format.parse::<u32>().is_ok_and(|number| number <= known) => Ok(()),
        StreamOwner::Ours(format) => {
            Err(BrokerFault::Newer { address, stream, found: make_line(&format), known })
        }
    }
}

/// Settings of a stream that would lose its messages or send them elsewhere. Settings that an operator may choose are
/// not checked: copies, placement, compression, and room, because a full stream refuses.
fn list_altered(wanted: &Config, found: &Config, held: &HeldMessages) -> Vec<String> {
    let subjects =
        || format!("it takes {} in place of {}", found.subjects.join(", "), wanted.subjects.join(", "));
    let said: [(bool, &dyn Fn() -> String); 10] = [
        (found.subjects != wanted.subjects, &subjects),
        (found.retention != wanted.retention, &|| held.retention.to_owned()),
        (found.storage != wanted.storage, &|| "its storage is not a file".to_owned()),
        (found.discard != wanted.discard, &|| "it drops old messages for new ones".to_owned()),
        (found.max_age > Duration::ZERO, &|| {
            format!("it drops messages after {} s", found.max_age.as_secs_f64())
        }),
        (found.max_messages_per_subject > 0, &|| {
            format!("it keeps {} messages {}", found.max_messages_per_subject, held.share)
        }),
        (found.no_ack, &|| "it does not say what it stored".to_owned()),
        (found.persist_mode == Some(PersistenceMode::Async), &|| {
            "it confirms messages before they are stored".to_owned()
        }),
        ((held.deleting)(found), &|| held.deleted.to_owned()),
        (found.mirror.is_some() || found.sources.is_some() || found.subject_transform.is_some(), &|| {
            "it takes messages from other streams, or writes subjects anew".to_owned()
        }),
    ];
    said.iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words()).collect()
}
