//! The stream that holds deliveries which are out: made by us, or found and held against what we would make. It says in
//! its metadata whose it is. A stream that does not is somebody else's, and nothing of it is changed, whatever its name.

use std::time::Duration;

use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, PersistenceMode, RetentionPolicy, StorageType,
};
use async_nats::jetstream::{self, ErrorCode};
use serde_json::json;

use super::subjects::Subjects;
use super::unusable::{Unusable, line};
use super::wire::Wire;
use systole_core::types::ids::Name;

/// The number of what stands in the stream and how; whoever reads it looks here first.
const FORMAT: u32 = 1;

const ORGANISM_KEY: &str = "systole.organism";
const FORMAT_KEY: &str = "systole.format";

/// Whose a stream is.
enum Owner {
    /// This organism's, with the format number as it says it.
    Ours(String),
    /// Somebody else's, and how that shows.
    Other(String),
}

/// Whose a stream says that it is.
fn owner(config: &Config, organism: &Name) -> Owner {
    match (config.metadata.get(ORGANISM_KEY), config.metadata.get(FORMAT_KEY)) {
        (Some(name), Some(format)) if name == organism.as_str() => Owner::Ours(format.clone()),
        (Some(name), _) if name != organism.as_str() => {
            Owner::Other(line(&format!("it belongs to the organism {name:?}")))
        }
        _ => Owner::Other("it was not made by systole".to_owned()),
    }
}

/// The stream as this organism makes it.
fn ours(organism: &Name, subjects: &Subjects, copies: usize) -> Config {
    Config {
        name: subjects.bus_stream(),
        subjects: vec![subjects.deliveries()],
        description: Some(format!("deliveries that are out, of the organism {}", organism.as_str())),
        storage: StorageType::File,
        retention: RetentionPolicy::WorkQueue,
        // A full stream refuses what is new: what was taken is never dropped for it.
        discard: DiscardPolicy::New,
        num_replicas: copies,
        ..Config::default()
    }
}

/// Finds the stream of deliveries, or makes it; gives the most bytes that a message of it may have, where it says so.
pub(super) async fn find_or_make(
    wire: &Wire,
    organism: &Name,
    subjects: &Subjects,
    copies: usize,
) -> Result<Option<usize>, Unusable> {
    let wanted = ours(organism, subjects, copies);
    let found = found_or_made(wire, organism, &wanted).await?;
    judge(wire, organism, &wanted, &found.config, &DELIVERIES)?;
    enough_copies(wire, &found.config, copies).await?;
    Ok(largest(&found.config))
}

/// Most bytes of a message, where the stream says so.
pub(super) fn largest(config: &Config) -> Option<usize> {
    usize::try_from(config.max_message_size).ok().filter(|bytes| *bytes > 0)
}

/// What a stream says of itself; it is made where there is none.
pub(super) async fn found_or_made(wire: &Wire, organism: &Name, wanted: &Config) -> Result<Info, Unusable> {
    let wanted = Config { metadata: metadata(organism), ..wanted.clone() };
    let stream = &wanted.name;
    let what = format!("the stream {stream} was looked for");
    match wire.ask::<Info>(&what, &format!("STREAM.INFO.{stream}"), &json!({})).await? {
        Response::Ok(info) => Ok(info),
        Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {
            make(wire, &wanted).await
        }
        Response::Err { error } => Err(wire.refused(&what, &error.to_string())),
    }
}

fn metadata(organism: &Name) -> std::collections::HashMap<String, String> {
    [(ORGANISM_KEY, organism.to_string()), (FORMAT_KEY, FORMAT.to_string())]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
}

/// Makes a stream. Where it stands already, as we would make it, it is found.
async fn make(wire: &Wire, wanted: &Config) -> Result<Info, Unusable> {
    let (stream, address) = (wanted.name.clone(), wire.address.clone());
    let what = format!("the stream {stream} was made");
    match wire.ask::<Info>(&what, &format!("STREAM.CREATE.{stream}"), wanted).await? {
        Response::Ok(info) => Ok(info),
        Response::Err { error } => match error.error_code() {
            ErrorCode::STREAM_SUBJECT_OVERLAP => {
                let why = format!("another stream takes {}", wanted.subjects.join(", "));
                Err(Unusable::Foreign { address, stream, why })
            }
            ErrorCode::STREAM_NAME_EXIST => {
                let why = "somebody made it just now, and not as this version does".to_owned();
                Err(Unusable::Foreign { address, stream, why })
            }
            _ => Err(unmade(wire, &what, &error, wanted)),
        },
    }
}

/// Has a stream of ours kept in so many copies, where it is kept in fewer. More are an operator's choice.
pub(super) async fn enough_copies(wire: &Wire, found: &Config, copies: usize) -> Result<(), Unusable> {
    if found.num_replicas >= copies {
        return Ok(());
    }
    let (wanted, stream) = (Config { num_replicas: copies, ..found.clone() }, &found.name);
    let what = format!("the stream {stream} was to be kept in {copies} copies");
    match wire.ask::<Info>(&what, &format!("STREAM.UPDATE.{stream}"), &wanted).await? {
        Response::Ok(_) => Ok(()),
        Response::Err { error } => Err(unmade(wire, &what, &error, &wanted)),
    }
}

/// Why a stream was not made.
fn unmade(wire: &Wire, what: &str, error: &jetstream::Error, wanted: &Config) -> Unusable {
    match error.error_code() {
        ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED
        | ErrorCode::CLUSTER_NO_PEERS
        | ErrorCode::INSUFFICIENT_RESOURCES => Unusable::Copies {
            address: wire.address.clone(),
            stream: wanted.name.clone(),
            copies: wanted.num_replicas,
            why: line(&error.to_string()),
        },
        _ => wire.refused(what, &error.to_string()),
    }
}

/// What one stream is held to that another is not, and the words for it.
pub(super) struct Held {
    /// Where its retention is another.
    pub(super) retention: &'static str,
    /// Whose the messages of one subject are.
    pub(super) share: &'static str,
    /// Whether deleting from it is allowed, or forbidden, as it may not be.
    pub(super) deleting: fn(&Config) -> bool,
    /// Where that is so.
    pub(super) deleted: &'static str,
    /// What to do about a stream that somebody altered.
    pub(super) mend: &'static str,
}

/// The stream of deliveries.
const DELIVERIES: Held = Held {
    retention: "its retention is no work queue",
    share: "for each listener",
    deleting: |found| found.sealed || found.deny_delete || found.deny_purge,
    deleted: "nothing can be deleted from it",
    mend: "while the organism is stopped: it is made again, and the log sends again what was out",
};

/// Holds a stream that is there against what we would make.
pub(super) fn judge(
    wire: &Wire,
    organism: &Name,
    wanted: &Config,
    found: &Config,
    held: &Held,
) -> Result<(), Unusable> {
    let (stream, address) = (wanted.name.clone(), wire.address.clone());
    match owner(found, organism) {
        Owner::Other(why) => Err(Unusable::Foreign { address, stream, why }),
        Owner::Ours(format) => match format.parse::<u32>() {
            Ok(FORMAT) => match altered(wanted, found, held) {
                changes if changes.is_empty() => Ok(()),
                changes => Err(Unusable::Altered {
                    address,
                    stream,
                    why: line(&changes.join(", ")),
                    mend: held.mend,
                }),
            },
            _ => Err(Unusable::Newer { address, stream, found: line(&format), known: FORMAT }),
        },
    }
}

/// What of a stream would lose what is in it, or send it elsewhere. What an operator may choose is not looked at: copies,
/// placement, compression, and room, because a full stream refuses.
fn altered(wanted: &Config, found: &Config, held: &Held) -> Vec<String> {
    let subjects =
        || format!("it takes {} in place of {}", found.subjects.join(", "), wanted.subjects.join(", "));
    let said: [(bool, &dyn Fn() -> String); 10] = [
        (found.subjects != wanted.subjects, &subjects),
        (found.retention != wanted.retention, &|| held.retention.to_owned()),
        (found.storage != wanted.storage, &|| "its storage is no file".to_owned()),
        (found.discard != wanted.discard, &|| "it drops old messages for new ones".to_owned()),
        (found.max_age > Duration::ZERO, &|| {
            format!("it drops messages after {} s", found.max_age.as_secs_f64())
        }),
        (found.max_messages_per_subject > 0, &|| {
            format!("it keeps {} messages {}", found.max_messages_per_subject, held.share)
        }),
        (found.no_ack, &|| "it does not say what it stored".to_owned()),
        (found.persist_mode == Some(PersistenceMode::Async), &|| "it says `stored` before it is".to_owned()),
        ((held.deleting)(found), &|| held.deleted.to_owned()),
        (found.mirror.is_some() || found.sources.is_some() || found.subject_transform.is_some(), &|| {
            "it takes messages from other streams, or writes subjects anew".to_owned()
        }),
    ];
    said.iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words()).collect()
}
