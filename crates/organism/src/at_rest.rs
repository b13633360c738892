//! A log that is shown without an organism: the handle with which the doors read it. One client can read all of it, and
//! every message and every order meets an organism that has stopped.
//!
//! A reader and the verdict on the log come in; a handle goes out.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use tokio::sync::mpsc;

use super::front::{OrganismHandle, OrganismPlaces};
use super::live_messages::LiveVoice;
use super::resting_verdict::RestingVerdict;
use super::tail::LogTail;
use systole_config as config;
use systole_core::types::client::{Client, Role};
use systole_core::types::composition::Composition;
use systole_core::types::door_settings::DoorSettings;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::limits::{QUEUE_CALLS, STUCK_MS};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_log::alarms::LogAlarms;
use systole_queries::log_reads::PastLog;

/// The name of the client that reads a log at rest.
const READER: &str = "reader";

/// The client that reads a log at rest.
pub fn name_client() -> Result<Name, LogFault> {
    let unnamed = |why: &dyn ToString| LogFault::Io { path: READER.to_owned(), why: why.to_string() };
    Name::parse(READER).map_err(|why| unnamed(&why))
}

/// A handle that only reads, for a log that was verified. A damaged one is shown up to the damage.
pub fn open_handle(reader: Arc<dyn LogReader>, verdict: RestingVerdict) -> Result<OrganismHandle, LogFault> {
    let reader: Arc<dyn LogReader> = match verdict.readable {
        Some(end) => Arc::new(PastLog::new(reader, end)),
        None => reader,
    };
    let last = reader.read_last()?;
    let directory: Arc<Path> = verdict.file.parent().unwrap_or(Path::new("")).into();
    let composition = Arc::new(read_composition(&*reader, last, &verdict.file)?);
    let log = (!verdict.is_export()).then(|| Arc::from(verdict.file.as_path()));
    let (followed, _) = LogTail::open_tail(reader.clone(), last);
    let alarms = LogAlarms::of_file(&verdict.file);
    Ok(OrganismHandle {
        composition,
        places: OrganismPlaces::from_log(directory, log),
        reader,
        room: Arc::default(),
        began: last,
        voice: LiveVoice::from_tail(followed.end()),
        followed,
        ways: Weak::new(),
        // Its other end is gone, so no reader keeps the log open.
        seats: mpsc::channel(1).0.downgrade(),
        broker: None,
        alarms,
        at_rest: Some(Arc::new(verdict)),
    })
}

/// The configuration of the newest record, with the one client that reads. If it cannot be read, one without
/// listeners, with the name of the file.
fn read_composition(reader: &dyn LogReader, last: Position, file: &Path) -> Result<Composition, LogFault> {
    let directory = file.parent().unwrap_or(Path::new(""));
    // What is damaged is shown on the pages that need it.
    let newest = reader.read_after(Position(last.0.saturating_sub(1)), 1).unwrap_or_default().pop();
    let source = newest.and_then(|(_, record)| reader.intact_document(record.header.config).ok().flatten());
    let read = source.and_then(|source| config::read_source(&source, directory).ok());
    let name = name_client()?;
    let stem = file.file_stem().and_then(|stem| Name::parse(stem.to_str()?).ok());
    let mut composition = read.unwrap_or_else(|| Composition {
        organism: stem.unwrap_or_else(|| name.clone()),
        hash: Digest([0; 32]),
        source: Arc::default(),
        entry: None,
        listeners: BTreeMap::new(),
        schemas: Vec::new(),
        message_bytes: 0,
        outage_ms: 0,
        stuck_ms: STUCK_MS,
        queue_calls: QUEUE_CALLS,
        budgets: None,
        loops: None,
        broadcasts: Vec::new(),
        clients: BTreeMap::new(),
        doors: DoorSettings::default(),
        sections: BTreeMap::new(),
    });
    let client =
        Client { may: Some(Vec::new()), roles: vec![Role::Read], over_nats: false, doors: None, rate: None };
    composition.clients = BTreeMap::from([(name, client)]);
    Ok(composition)
}
