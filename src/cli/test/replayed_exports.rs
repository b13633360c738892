//! Exports in test files: one is replayed under the organism of the test, and the result is compared exactly, or has to
//! be valid, or has to satisfy XPath expressions.

use super::super::exit::CommandExit;
use super::super::replay::{self, ReplayVerdict};
use super::super::run_difference;
use super::super::screen::Screen;
use super::super::verify::verify_export;
use systole_api::ending::find_ending;
use systole_api::refusal_page::write_refusal;
use systole_api::types::{ApiReceipt, ApiRecord};
use systole_config::FilePlace;
use systole_config::rehearsal::{ExpectedReplay, Rehearsal};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_export::{ExportScope, thread_xml};
use systole_judge::xpath;
use systole_organism::replaying::comparison::RecordDifference;
use systole_organism::replaying::{
    CannotReplay, RealParts, RecordedTree, ReplayConfigurations, ReplayedTree, replay_tree,
};
use systole_queries::narrate::narrate;
use systole_rehearsal::failed_test::{FailedTest, TestFailure};

/// Replays the export of a test, and judges the result.
pub(super) fn judge_export(screen: Screen, test: &Rehearsal) -> Result<(), Box<FailedTest>> {
    let Some(expected) = &test.export else { return Ok(()) };
    let place = &expected.place;
    let cannot = |why: CannotReplay| FailedTest::new_unrunnable(place, format!("cannot be replayed: {why}"));
    let mut configs = ReplayConfigurations::new(test.directory.clone(), None);
    configs.replace_all(test.organism.clone()).map_err(cannot)?;
    // What is wrong with the file was printed.
    let history = verify_export::open_history(screen, &expected.file).map_err(|exit| {
        let kind = match exit {
            CommandExit::Unavailable => TestFailure::Unrunnable,
            CommandExit::Log => TestFailure::Damaged,
            _ => TestFailure::Failed,
        };
        Box::new(FailedTest { kind, ..*FailedTest::new(place, "the export cannot be used") })
    })?;
    if let Some(lacks) = history.lacks {
        return Err(cannot(lacks));
    }
    for root in history.log.list_roots() {
        let tree = RecordedTree::read_tree(&history.log, &root).map_err(|fault| cannot(fault.into()))?;
        let Some(tree) = tree else { continue };
        let replayed =
            replay_tree(&history.log, &tree, &history.system, &mut configs, &mut RealParts::default())
                .map_err(cannot)?;
        let made = JudgedReplay::from_trees(&tree, &replayed).map_err(cannot)?;
        made.judge_replay(expected).map_err(|mut failed| {
            if failed.tree.is_empty() {
                failed.tree = made.list_lines();
            }
            failed
        })?;
    }
    Ok(())
}

/// A replay beside the record.
struct JudgedReplay<'a> {
    recorded: &'a RecordedTree,
    replayed: &'a ReplayedTree,
    records: Vec<(Position, Record)>,
    /// The root in the replay. `None` if nothing was accepted.
    root: Option<ThreadId>,
}

impl<'a> JudgedReplay<'a> {
    fn from_trees(
        recorded: &'a RecordedTree,
        replayed: &'a ReplayedTree,
    ) -> Result<JudgedReplay<'a>, CannotReplay> {
        let records = replayed.log.read_after(Position(0), usize::MAX)?;
        let threads = records.iter().map(|(_, record)| &record.header.thread);
        let root = threads.filter(|thread| !thread.is_sys()).map(ThreadId::root_of).next();
        Ok(JudgedReplay { recorded, replayed, records, root })
    }

    fn judge_replay(&self, expected: &ExpectedReplay) -> Result<(), Box<FailedTest>> {
        match expected.is_exact {
            true => self.is_equal(&expected.place)?,
            false => self.is_valid(&expected.place)?,
        }
        let thread = self.read_document(&expected.place)?;
        expected.xpath.iter().try_for_each(|one| match xpath::is_true(&thread, &one.text) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let words = format!("the expression does not hold in the replay of {}", self.recorded.root);
                Err(FailedTest::new(&one.place, words).with_expected(one.text.clone()))
            }
            Err(words) => Err(FailedTest::new(&one.place, format!("`{}`: {words}", one.text))),
        })
    }

    fn is_equal(&self, place: &FilePlace) -> Result<(), Box<FailedTest>> {
        let root = &self.recorded.root;
        let words = match ReplayVerdict::from_tree(self.replayed) {
            ReplayVerdict::Equal => return Ok(()),
            ReplayVerdict::Differs => format!("the replay of {root} differs"),
            ReplayVerdict::Refused => format!("the replay of {root} is refused by the new schema"),
        };
        let tree = replay::list_lines(root.as_str(), self.replayed);
        Err(Box::new(FailedTest { tree, ..*FailedTest::new(place, words) }))
    }

    /// Whether the replay has no refusal that the export does not have, and ends every call from outside as the export
    /// does.
    fn is_valid(&self, place: &FilePlace) -> Result<(), Box<FailedTest>> {
        let is_new = |found: &&RecordDifference| {
            let is_refusal = found.place.kind == RecordKind::Refusal.as_str();
            found.refused.is_some() || (is_refusal && found.one.is_none())
        };
        if let Some(found) = self.replayed.comparison.differences.iter().find(is_new) {
            let words = format!("a message is refused now: {}", run_difference::describe_difference(found));
            let came = found.other.as_ref().map(|side| side.text.clone()).unwrap_or_default();
            return Err(FailedTest::new(place, words).with_actual(came));
        }
        let requests = self.recorded.records.iter().filter(|(_, record)| {
            record.header.code == Some(RecordCode::Role(MessageRole::Request)) && record.header.key.is_some()
        });
        for (position, request) in requests {
            self.ends_alike(place, &ApiRecord::from_record(*position, request))?;
        }
        Ok(())
    }

    /// Whether a call from outside that ended in the export ends in the replay in the same way.
    fn ends_alike(&self, place: &FilePlace, request: &ApiRecord) -> Result<(), Box<FailedTest>> {
        let Some((wanted, wanted_record)) = end_of(&self.recorded.records, request) else { return Ok(()) };
        let call = format!("call {} of {}", request.call.as_deref().unwrap_or_default(), request.thread);
        let again = self.records.iter().find(|(_, record)| {
            record.header.code == Some(RecordCode::Role(MessageRole::Request))
                && record.header.key.as_ref().map(|key| key.as_str()) == request.key.as_deref()
                && record.header.from.as_str() == request.from
        });
        let Some((position, again)) = again else {
            let failed = FailedTest::new(place, format!("{call} is refused now"));
            let refusal = self.replayed.refused.first().map(|refusal| write_refusal(&refusal.into()));
            return Err(refusal.into_iter().fold(failed, FailedTest::with_actual));
        };
        match end_of(&self.records, &ApiRecord::from_record(*position, again)) {
            Some((came, _)) if came == wanted => Ok(()),
            Some((came, record)) => Err(FailedTest::new(place, format!("{call} ends in another way"))
                .with_expected(describe_end(wanted, &wanted_record))
                .with_actual(format!("{}: {}", describe_end(came, &record), record.body))),
            None => Err(self.report_open(place, &call).with_expected(describe_end(wanted, &wanted_record))),
        }
    }

    /// A call that ended in the export and is open at the end of the replay.
    fn report_open(&self, place: &FilePlace, call: &str) -> Box<FailedTest> {
        match self.replayed.unanswered.first() {
            Some(one) => {
                let (listener, at, why) = (&one.listener, &one.place, &one.why);
                let fix = "write a test with steps, or export a thread of the organism of today";
                let words = format!("the replay stops: no answer of {listener} at {at} is recorded: {why}");
                FailedTest::new_unrunnable(place, format!("{words}. To fix it, {fix}"))
            }
            None => FailedTest::new(place, format!("{call} does not end")),
        }
    }

    /// The thread with its children, in the form of `thread.xml` in an export.
    fn read_document(&self, place: &FilePlace) -> Result<String, Box<FailedTest>> {
        let log = &self.replayed.log;
        let roots: Vec<ThreadId> = self.root.iter().cloned().collect();
        let mut bytes = Vec::new();
        let scope = ExportScope::find_threads(log, &roots).map_err(Into::into);
        let written = scope.and_then(|scope| thread_xml::write_threads(&scope, log, &mut bytes));
        written.map_err(|fault| {
            FailedTest::new_unrunnable(place, format!("the replay cannot be read: {fault}"))
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The replay as `systole log` prints it.
    fn list_lines(&self) -> Vec<String> {
        let of_thread =
            self.records.iter().filter(|(_, record)| Some(record.header.thread.root_of()) == self.root);
        of_thread.flat_map(|(_, record)| narrate(record, self.root.as_ref())).collect()
    }
}

/// How the call of a request ended, with the body of the record that says so.
fn end_of(records: &[(Position, Record)], request: &ApiRecord) -> Option<(CallJudgement, ApiRecord)> {
    let receipt = ApiReceipt {
        id: request.id.clone(),
        thread: request.thread.clone(),
        seq: request.seq,
        position: request.position,
        call: request.call.clone().unwrap_or_default(),
        sender: request.from.clone(),
        claimed: None,
        key: request.key.clone().unwrap_or_default(),
        repeated: false,
    };
    records.iter().find_map(|(position, record)| {
        let record = ApiRecord::from_record(*position, record);
        find_ending(&receipt, &record).map(|ended| (ended, record))
    })
}

fn describe_end(ended: CallJudgement, record: &ApiRecord) -> String {
    match ended {
        CallJudgement::Answered => "an answer".to_owned(),
        CallJudgement::Partial => "a partial answer".to_owned(),
        CallJudgement::Reported => "a report in place of an answer".to_owned(),
        CallJudgement::Handled => "no answer".to_owned(),
        CallJudgement::Failed | CallJudgement::Cancelled => format!("the failure {}", record.code_text()),
    }
}
