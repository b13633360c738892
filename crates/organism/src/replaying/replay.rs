//! One replay of one tree, from the log to the comparison.

use systole_core::rules::core_payload::VERSION;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;
use systole_core::types::refusal::Refusal;
use tokio::runtime::Builder;

use super::comparison::{ComparedRun, ComparisonRules, RunComparison, compare_runs};
use super::configurations::{CannotReplay, LiveFault, LiveFaultKind, ReplayConfigurations};
use super::driver::ReplayDriver;
use super::history::TreeHistory;
use super::inputs::list_inputs;
use super::ports::ReplayPorts;
use super::real_parts::RealParts;
use super::recorded_answers;
use super::tree_records::{RecordedTree, SystemEvents};
use super::unanswered_delivery::UnansweredDelivery;
use systole_kit::file_reference;
use systole_log::memory::MemoryLog;
use systole_queries::record_files::{self, KeptFile};
use systole_system::system;

/// A replay that went through.
pub struct ReplayedTree {
    /// How it compares with the record.
    pub comparison: RunComparison,
    /// Deliveries for which the log has no answer.
    pub unanswered: Vec<UnansweredDelivery>,
    /// Messages from outside that are refused now.
    pub refused: Vec<Refusal>,
    /// Records that count refusals. They are not replayed.
    pub not_replayed: usize,
    /// The version that wrote the first record, if it is another one than this.
    pub version: Option<String>,
    /// Why it ended early. What follows is not compared.
    pub ended: Option<LiveFault>,
    /// The log of the replay.
    pub log: MemoryLog,
}

/// Whether something of a record is erased, or a file that it refers to.
fn is_partly_erased(reader: &dyn LogReader, record: &Record) -> Result<bool, LogFault> {
    let mut is_erased = record.parts.has_erased();
    for file in file_reference::list_files(&record.body) {
        is_erased |= record_files::read_file(reader, &file)? == KeptFile::Erased;
    }
    Ok(is_erased)
}

/// Replays a tree and compares the result with the record. `real` is what really works in it.
///
/// # Errors
/// If the tree cannot be replayed. That says nothing about whether it would be equal.
pub fn replay_tree(
    reader: &dyn LogReader,
    tree: &RecordedTree,
    system: &SystemEvents,
    configs: &mut ReplayConfigurations,
    real: &mut RealParts,
) -> Result<ReplayedTree, CannotReplay> {
    let Some((first, record)) = tree.records.first() else {
        return Err(CannotReplay::BrokeOff("the thread has no records".to_owned()));
    };
    for (_, record) in &tree.records {
        if is_partly_erased(reader, record)? {
            let (thread, seq) = (record.header.thread.clone(), record.header.seq);
            return Err(CannotReplay::Erased { thread, seq });
        }
    }
    let history = TreeHistory::from_tree(tree);
    let ports = ReplayPorts::new(record.header.time, recorded_answers::read_marks(reader, tree)?);
    // Agents make timers, which need a runtime although they never fire.
    let runtime = Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| CannotReplay::BrokeOff(system::describe_error(&error)))?;
    let _entered = runtime.enter();
    let is_replaced = configs.is_replaced();
    let mut driver = ReplayDriver::new(reader, (configs, real), (tree, &history), ports);
    let ended = match driver.play_inputs(record.header.config, list_inputs(tree, &history, system)) {
        Err(CannotReplay::Live(fault)) if fault.kind == LiveFaultKind::Ended => Some((driver.at, fault)),
        played => {
            played?;
            None
        }
    };
    let (log, made_at) = (driver.log.clone(), std::mem::take(&mut driver.made_at));
    let (unanswered, refused) = (std::mem::take(&mut driver.unanswered), std::mem::take(&mut driver.refused));
    let made: Vec<(Position, Record)> = log.read_after(Position(0), usize::MAX)?;
    let roots = made.iter().map(|(_, record)| &record.header.thread);
    let root: Option<ThreadId> = roots.filter(|thread| !thread.is_sys()).map(ThreadId::root_of).next();
    let root = root.unwrap_or_else(|| tree.root.clone());
    let version = system.version_at(*first).filter(|version| *version != VERSION).map(str::to_owned);
    let one = ComparedRun {
        root: &tree.root,
        records: tree.records.iter().map(|(position, record)| (*position, record)).collect(),
        reader,
    };
    let other = ComparedRun {
        root: &root,
        records: made.iter().map(|(position, record)| (*position, record)).collect(),
        reader: &log,
    };
    let reached = |position: Position| {
        let index = usize::try_from(position.0).ok().and_then(|position| position.checked_sub(1));
        index.and_then(|index| made_at.get(index)).copied().unwrap_or_default()
    };
    // A version that is not recorded is an older one.
    let is_older = system.version_at(*first).is_none();
    let rules = ComparisonRules {
        has_keys: true,
        is_across_versions: !is_replaced && (is_older || version.is_some()),
    };
    let mut comparison = compare_runs(&one, &other, &reached, rules)?;
    if let Some((at, fault)) = &ended {
        comparison.differences.retain(|found| found.at <= *at);
        if comparison.differences.is_empty() {
            return Err(fault.clone().into());
        }
    }
    let (not_replayed, ended) = (history.counted, ended.map(|(_, fault)| fault));
    drop((one, other));
    Ok(ReplayedTree { comparison, unanswered, refused, not_replayed, version, ended, log })
}
