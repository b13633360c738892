//! The list of threads: each with its state, since when, and what it waits for or how it last ended.
//!
//! It reads a fold and a few records of each thread, never a whole chain. A log comes in; one entry per thread goes
//! out, newest first.

use serde_json::{Value, json};

use super::first_cause::FirstCause;
use super::log_state::LogState;
use super::pauses::ThreadPause;
use super::posts::DueCalls;
use super::runs::{self, RunStep, StepProgress, WorkflowRuns};
use super::thread_end::{ThreadEnd, ThreadStatus, is_in_state};
use super::why::{ThreadWaits, draw_reason};
use crate::limits;
use systole_core::pump::state::{Thread, ThreadState, used_under};
use systole_core::types::budget::UsedAmounts;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::RecordKind;
use systole_core::types::time::{Millis, spell_duration};
use systole_show::columns::{self, cut_counted};
use systole_show::layout::{self, TextTone, paint};

/// One thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadEntry {
    /// The thread.
    pub thread: ThreadId,
    /// Its state.
    pub status: ThreadStatus,
    /// Whether it works, rests or has ended.
    pub life: ThreadState,
    /// Why its last top call failed, if it did and nothing is open.
    pub failed: Option<FirstCause>,
    /// The pause that holds it, if it is paused.
    pub paused: Option<ThreadPause>,
    /// Since when: a working thread since its oldest leaf waits, any other since its last record.
    pub since: Millis,
    /// What it waits for, or how it last ended.
    pub words: String,
    /// Whether it continues only while an organism runs.
    pub is_unfinished: bool,
    /// The budget use of its messages in progress, including everything below.
    pub used: UsedAmounts,
    /// How many of its newest records are refusals.
    pub refusals: usize,
    /// Whether it has older records, among which there may be more of them.
    pub has_older_records: bool,
    /// Its goal in a workflow.
    pub goal: Option<RunStep>,
    /// The current steps of a workflow in it.
    pub steps: Vec<StepProgress>,
}

/// Lists the newest roots, or with `children` the newest threads of any kind.
pub fn call(
    reader: &dyn LogReader,
    whole: &LogState,
    now: Millis,
    most: usize,
    children: bool,
) -> Result<Vec<ThreadEntry>, LogFault> {
    let posts = DueCalls::at(whole, now);
    let looked_at = if children { most } else { most.max(limits::ROOTS_LOOKED_AT) };
    let newest = reader.list_threads(looked_at)?;
    let mut roll = Vec::new();
    for id in newest.iter().filter(|id| children || id.parent().is_none()).take(most) {
        let Some(thread) = whole.thread(reader, id)? else { continue };
        roll.push(entry(reader, whole, &posts, &thread, now)?);
    }
    Ok(roll)
}

/// The entry of one thread; `None` if it has no record.
pub fn one(
    reader: &dyn LogReader,
    whole: &LogState,
    now: Millis,
    id: &ThreadId,
) -> Result<Option<ThreadEntry>, LogFault> {
    let Some(thread) = whole.thread(reader, id)? else { return Ok(None) };
    Ok(Some(entry(reader, whole, &DueCalls::at(whole, now), &thread, now)?))
}

/// Which threads a page of the list has.
pub struct RollPage<'a> {
    /// The thread after which the page begins; without one, the newest thread.
    pub after: Option<&'a ThreadId>,
    /// Whether child threads are listed.
    pub children: bool,
    /// The only state that is listed, if one is wanted.
    pub state: Option<&'a str>,
    /// Entries at most.
    pub limit: usize,
}

/// A page of the list, newest first, and the thread after which the next page begins, if there may be one.
///
/// A page ends early when it has looked at very many threads, so that a rare state does not read the whole log at once.
pub fn page(
    reader: &dyn LogReader,
    whole: &LogState,
    now: Millis,
    wanted: &RollPage<'_>,
) -> Result<(Vec<ThreadEntry>, Option<ThreadId>), LogFault> {
    let posts = DueCalls::at(whole, now);
    let newest = reader.list_threads(usize::MAX)?;
    let begin =
        wanted.after.map_or(Some(0), |after| newest.iter().position(|id| id == after).map(|at| at + 1));
    let Some(begin) = begin else { return Ok((Vec::new(), None)) };
    let mut entries = Vec::new();
    let listed = |id: &&ThreadId| wanted.children || id.parent().is_none();
    let mut left = newest.iter().skip(begin).filter(listed).peekable();
    let (mut seen, mut last) = (0, None);
    while let Some(id) = left.next_if(|_| entries.len() < wanted.limit && seen < limits::ROOTS_LOOKED_AT) {
        (seen, last) = (seen + 1, Some(id.clone()));
        let Some(thread) = whole.thread(reader, id)? else { continue };
        let entry = entry(reader, whole, &posts, &thread, now)?;
        if wanted.state.is_none_or(|state| is_in_state(state, entry.status, entry.life)) {
            entries.push(entry);
        }
    }
    Ok((entries, last.filter(|_| left.peek().is_some())))
}

/// The entry of one thread.
pub fn entry(
    reader: &dyn LogReader,
    whole: &LogState,
    posts: &DueCalls,
    thread: &Thread,
    now: Millis,
) -> Result<ThreadEntry, LogFault> {
    let life = thread.life();
    let oldest = thread.seq.saturating_sub(limits::OUTCOME_RECORDS as u64);
    let newest = reader.of_thread(&thread.id, oldest + 1, limits::OUTCOME_RECORDS)?;
    let paused = whole.find_pause(reader, &thread.id)?;
    let mut failed = None;
    let (status, since, words) = if life == ThreadState::Working {
        let standing = ThreadWaits::of(reader, whole, posts, thread)?;
        let leaves = standing.leaves();
        let status = standing.status();
        let oldest = leaves.iter().min_by_key(|leaf| leaf.since);
        match oldest {
            None => (status, thread.touched, String::new()),
            Some(leaf) => {
                let mut words =
                    format!("{}: {}", paint(TextTone::Name, leaf.listener.as_str()), draw_reason(leaf, now));
                if leaves.len() > 1 {
                    words.extend([" (and ", &(leaves.len() - 1).to_string(), " more)"]);
                }
                (status, leaf.since, words)
            }
        }
    } else {
        let end = ThreadEnd::of_thread(reader, &thread.id, thread.seq)?;
        let mut status = ThreadStatus::of_end(end.as_ref().map(|end| end.end));
        let (cause, mut words) = end.map_or_else(Default::default, |end| (end.cause, end.words));
        failed = cause;
        if let Some((id, timer)) = thread.timers.iter().min_by_key(|(_, timer)| timer.due) {
            let due = layout::moment(timer.due, now);
            status = ThreadStatus::Waiting;
            words =
                format!("timer {} at {due}{}{words}", id.as_str(), if words.is_empty() { "" } else { "; " });
        }
        (status, thread.touched, words)
    };
    let at_work = |id: &ThreadId| whole.at_work(id);
    let budget_uses = thread
        .budget_uses
        .keys()
        .filter(|budget_use| thread.calls.values().any(|c| c.budget_use == **budget_use));
    let used = budget_uses.fold(UsedAmounts::default(), |sum, budget_use| {
        sum.sum_with(used_under(&at_work, thread, *budget_use))
    });
    let status = if paused.is_some() { ThreadStatus::Paused } else { status };
    let is_unfinished = life == ThreadState::Working || !thread.timers.is_empty();
    let refusals = newest.iter().filter(|(_, one)| one.header.kind == RecordKind::Refusal).count();
    let (goal, steps) = (None, Vec::new());
    Ok(ThreadEntry {
        thread: thread.id.clone(),
        status,
        life,
        failed,
        paused,
        since,
        words,
        is_unfinished,
        used,
        refusals,
        has_older_records: oldest > 0,
        goal,
        steps,
    })
}

/// Adds the workflow facts to each entry.
pub fn name_goals(
    entries: &mut [ThreadEntry],
    whole: &LogState,
    runs: &WorkflowRuns<'_>,
) -> Result<(), LogFault> {
    for entry in entries {
        entry.goal = runs.of_thread(&entry.thread)?;
        let Some(thread) = whole.at_work(&entry.thread) else { continue };
        for path in thread.calls.keys().filter(|path| path.depth() == 0) {
            entry.steps.append(&mut runs.steps(&entry.thread, path)?);
        }
    }
    Ok(())
}

impl ThreadEntry {
    /// The entry as one line, or as two on a narrow screen; `children` says whether the list contains ids of
    /// children.
    pub fn line(&self, now: Millis, children: bool) -> String {
        let id_columns = if children { limits::CHILD_COLUMNS } else { limits::ROOT_COLUMNS };
        let id = columns::thread(&self.thread, id_columns);
        let since = self.paused.as_ref().map_or(self.since, |pause| pause.since);
        let since = spell_duration(now.count_since(since));
        let state = self.state();
        let state = self.status.tone().map_or_else(|| state.to_owned(), |tone| paint(tone, state));
        let pad = |text: &str, columns: usize| {
            let blanks = columns.saturating_sub(columns::width(text));
            format!("{text}{}", " ".repeat(blanks))
        };
        let head =
            [pad(&id, id_columns), pad(&state, limits::STATE_COLUMNS), pad(&since, limits::SINCE_COLUMNS)]
                .join("  ");
        let (room, run, words) = (layout::columns(), self.run(), self.describe_entry());
        let told = [run.as_str(), &words].into_iter().filter(|part| !part.is_empty());
        // A person came to read what a thread waits for, so it gets its own line instead of a cut.
        let waits = self.paused.is_some() || self.life == ThreadState::Working;
        let told = told.collect::<Vec<_>>().join(if self.steps.is_empty() { ": " } else { "; " });
        let needs =
            if waits { columns::width(&told) + 2 } else { limits::WORDS_COLUMNS + columns::width(&run) };
        if told.is_empty() || room >= columns::width(&head) + needs {
            return cut_counted(format!("{head}  {told}").trim_end(), room);
        }
        let is_long = columns::width(&told) > room.saturating_sub(4);
        let parts = if waits && is_long { vec![run, words] } else { vec![told] };
        let parts = parts.iter().filter(|part| !part.is_empty());
        let line = |part: &String| format!("\n    {}", cut_counted(part, room.saturating_sub(4)));
        format!("{}{}", head.trim_end(), parts.map(line).collect::<String>())
    }

    /// The state in one word, as it is listed.
    pub fn state(&self) -> &'static str {
        self.status.as_str()
    }

    /// What an order to it depends on: whether it works, rests, is paused or has ended.
    pub fn order_state(&self) -> &'static str {
        if self.paused.is_some() { "paused" } else { self.life.as_str() }
    }

    /// What it waits for, after what holds it.
    pub fn describe_entry(&self) -> String {
        match &self.paused {
            Some(pause) if self.words.is_empty() => pause.brief(&self.thread),
            Some(pause) => format!("{}; {}", pause.brief(&self.thread), self.words),
            None => self.words.clone(),
        }
    }

    /// Its workflow facts: its goal, and its current steps.
    pub fn run(&self) -> String {
        let goal = self.goal.as_ref().map(RunStep::label);
        let steps = (!self.steps.is_empty()).then(|| runs::describe_steps(&self.steps));
        goal.into_iter().chain(steps).collect::<Vec<_>>().join(": ")
    }

    /// The entry for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "thread": self.thread.as_str(),
            "state": self.state(),
            "life": self.life.as_str(),
            "failed": self.failed.as_ref().map(FirstCause::as_json),
            "paused": self.paused.as_ref().map(ThreadPause::as_json),
            "since": self.since.to_string(),
            "words": self.words,
            "goal": self.goal.as_ref().map(RunStep::as_json),
            "steps": self.steps.iter().map(StepProgress::as_json).collect::<Vec<_>>(),
            "refusals": self.refusals,
            "more_refusals": self.has_older_records,
            "used": {
                "messages": self.used.messages,
                "children": self.used.children,
                "tokens": self.used.tokens,
                "money": self.used.spent.money().map(|money| money.to_string()),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_whatever_stands_in_it() {
        let thread = format!("sess-0123456789ab{}", ".a-label-of-thirty-two-letters-32".repeat(16));
        let entry = ThreadEntry {
            thread: ThreadId::parse(&thread).unwrap(),
            status: ThreadStatus::Working,
            life: ThreadState::Working,
            failed: None,
            paused: None,
            since: Millis(0),
            words: "日本語のとても長いテキスト".repeat(20),
            is_unfinished: true,
            used: UsedAmounts::default(),
            refusals: 0,
            has_older_records: false,
            goal: None,
            steps: Vec::new(),
        };
        for children in [true, false] {
            let line = entry.line(Millis(u64::MAX), children);
            assert!(line.lines().all(|line| columns::width(line) <= systole_show::limits::COLUMNS), "{line}");
            assert!(line.contains("日本語"), "there is room for words: {line}");
        }
    }
}
