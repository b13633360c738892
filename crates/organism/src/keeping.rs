//! Opens the log of an organism: in a file, in memory, or in a stream of a broker.
//!
//! All three implement the log's ports, so callers do not depend on the place. It starts no listener.

use std::sync::Arc;

use super::plan::{LogPlace, RunPlan, StandbyReporter, StartFault};
use systole_bus::{Broker, LogStream, PATIENCE};
use systole_config::Durability;
use systole_core::pump::wake;
use systole_core::types::ids::Name;
use systole_core::types::ports::{LogFault, LogReader, LogWriter, LostRange};
use systole_log::alarms::LogAlarms;
use systole_log::nats::{self, LogOwnership, NatsLogFault, TakeOverMode};
use systole_log::sqlite::{self, HeldLog, OpenSqliteLog};
use systole_system::system;

impl From<NatsLogFault> for StartFault {
    fn from(unopened: NatsLogFault) -> StartFault {
        match unopened {
            NatsLogFault::Log(fault) => StartFault::Log(fault),
            NatsLogFault::Broker(unusable) => StartFault::Broker(unusable),
            NatsLogFault::Led { stream, address, by } => StartFault::Led { stream, address, by },
        }
    }
}

/// The broker, if the log is stored there or a listener or client uses it.
pub(super) async fn connect_broker(plan: &RunPlan, still: bool) -> Result<Option<Arc<Broker>>, StartFault> {
    let composition = &plan.composition;
    let is_used = matches!(plan.log, LogPlace::Stream { .. }) || (!still && composition.uses_broker());
    let Some(bus) = plan.bus.as_ref().filter(|_| is_used) else { return Ok(None) };
    let (organism, credentials) = (&composition.organism, bus.credentials.as_ref());
    // Deliveries of a listener survive a server failure as the log does, so they get the same number of replicas.
    let copies = match &plan.log {
        LogPlace::Stream { kept, .. } => kept.replicas,
        LogPlace::File(_) | LogPlace::Memory(_) => 1,
    };
    let broker = Broker::connect_to_cluster(organism, &bus.url, credentials, copies, PATIENCE).await?;
    Ok(Some(Arc::new(broker)))
}

/// A log that only this process may write.
pub(super) struct OwnedLog {
    pub(super) reader: Arc<dyn LogReader>,
    /// Whether this process may still write it, if that can change.
    pub(super) lead: Option<LogOwnership>,
    writing: LogWriting,
}

enum LogWriting {
    Open(WritableLog),
    /// A log of an older format stays as it is until everything else has started.
    Held(HeldLog),
}

/// The writing side of an open log.
pub(super) struct WritableLog {
    pub(super) writer: Box<dyn LogWriter>,
    pub(super) secret: [u8; 32],
    /// What keeps it from being written as it should.
    pub(super) alarms: LogAlarms,
    /// Notes for a person about the state of the log when it was opened.
    pub(super) notes: Vec<String>,
}

impl OwnedLog {
    /// Opens the writing side, which converts a log of an older format.
    pub(super) fn into_writable(self) -> Result<WritableLog, LogFault> {
        match self.writing {
            LogWriting::Open(log) => Ok(log),
            LogWriting::Held(held) => held.open_held().map(WritableLog::from),
        }
    }
}

impl From<OpenSqliteLog> for WritableLog {
    fn from(opened: OpenSqliteLog) -> WritableLog {
        let OpenSqliteLog { writer, secret, notes, .. } = opened;
        let alarms = writer.alarms();
        WritableLog { writer: Box::new(writer), secret: secret.0, alarms, notes }
    }
}

/// Opens the log for its only writer.
pub(super) async fn open(
    place: LogPlace,
    broker: Option<&Arc<Broker>>,
    organism: &Name,
    (stands_by, given_up): (Option<StandbyReporter>, Option<LostRange>),
) -> Result<OwnedLog, StartFault> {
    match place {
        LogPlace::File(path) => {
            let held = sqlite::hold_log(&path, given_up)?;
            let reader = Arc::new(held.make_reader());
            // What is left of a log that lost records is put in order before it is read.
            let writing = match held.is_older() && given_up.is_none() {
                true => LogWriting::Held(held),
                false => LogWriting::Open(held.open_held()?.into()),
            };
            Ok(OwnedLog { reader, lead: None, writing })
        }
        LogPlace::Stream { copy, kept } => {
            let unnamed = || StartFault::Machine("the log is in NATS, and no broker is named".to_owned());
            let broker = broker.ok_or_else(unnamed)?;
            if let Durability::Always(pages) = &kept.durability {
                broker.check_syncs(pages).await?;
            }
            // A new stream in place of a lost one would only block the restore from a backup.
            if sqlite::read_followed(&copy)?.is_some()
                && let (false, path) = LogStream::is_there(broker).await?
            {
                let copy = copy.display().to_string();
                let why = format!("it is not there any more, and the copy {copy} is not empty");
                return Err(LogFault::Apart { path, why }.into());
            }
            let stream = LogStream::find_or_make(broker.clone(), organism, kept.replicas);
            let stream = Box::pin(stream).await?;
            let name = format!("the log {} at {}", stream.name(), stream.address());
            let manner = stands_by.map_or(TakeOverMode::AtOnce, TakeOverMode::StandBy);
            let opened =
                Box::pin(nats::open_log(stream, copy, manner, Box::new(wake::make_checkpoint))).await?;
            let writing = WritableLog {
                writer: Box::new(opened.writer),
                secret: opened.secret.0,
                alarms: LogAlarms::of_name(&name, true),
                notes: Vec::new(),
            };
            Ok(OwnedLog {
                reader: Arc::new(opened.reader),
                lead: Some(opened.lead),
                writing: LogWriting::Open(writing),
            })
        }
        LogPlace::Memory(memory) => {
            let secret = systole_system::clock::draw_random_bytes()
                .map_err(|e| StartFault::Machine(system::describe_error(&e)))?;
            let writing = WritableLog {
                writer: Box::new(memory.clone()),
                secret,
                alarms: LogAlarms::of_name("the log in memory", false),
                notes: Vec::new(),
            };
            Ok(OwnedLog { reader: Arc::new(memory), lead: None, writing: LogWriting::Open(writing) })
        }
    }
}
