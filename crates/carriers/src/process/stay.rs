//! A program that stays: it is started once, gets documents one after another, and is started again when it dies.
//!
//! This file never judges what the program says and never hands over a delivery twice. Deliveries that the program
//! may have seen when it died are reported gone, and the pump decides whether to try again. In: the mailbox of the
//! listener. Out: its documents, and one report for every delivery that will not be answered.

use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use systole_kit::pump_documents;
use systole_sandbox::SandboxLevel;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{oneshot, watch};

use super::ProgramPlace;
use super::files;
use super::frames::{self, FrameSplitter};
use super::hearing::{AnsweredFlag, read_documents};
use super::last_words::{LastWords, describe_end};
use super::pipe::ProgramPipe;
use super::program::{self, EndLadder, ProgramGroup, ProgramStartFault, StartedProgram};
use crate::mailbox::MailboxItem;
use crate::post::{Post, UNSENT, called_back};
use systole_core::types::codes::Code;
use systole_core::types::ports::ProgramFile;
use systole_core::types::time::spell_duration;

/// Tends the program until the carrier is stopped.
pub(super) async fn serve_mailbox(post: Post, place: Arc<ProgramPlace>) {
    let mut deaths = 0;
    let mut down = false;
    // The files of the program that left a cancel unanswered.
    let mut left_cancel = None;
    loop {
        let started = match begin_life(&post, &place).await {
            std::ops::ControlFlow::Continue(started) => started,
            std::ops::ControlFlow::Break(words) => return post.close_post(Code::ListenerDown, &words).await,
        };
        let end = match started {
            Ok(started) => live_once(started, &post, &place, down, left_cancel.as_deref()).await,
            Err(words) => LifeEnd {
                words,
                answered: false,
                joined: false,
                hopeless: true,
                stopped: false,
                left_cancel: None,
            },
        };
        left_cancel = end.left_cancel.or(left_cancel);
        if end.stopped {
            return post.close_post(Code::ListenerLost, &end.words).await;
        }
        deaths = if end.answered { 1 } else { deaths + 1 };
        if end.hopeless {
            deaths = deaths.max(post.pace.deaths);
        }
        // A try that ends before the listener counted as up again changes nothing for the pump.
        let silent = down && !end.joined;
        down = deaths >= post.pace.deaths;
        if silent {
            // Without its words: a program's words may hold secrets, and belong in the thread.
            tracing::debug!(listener = %post.listener, "a program ended again before it was ready");
        } else {
            post.report_left(&end.words).await;
        }
        let refuses = down.then_some(end.hopeless);
        if pause_after_death(&post, deaths, refuses, &end.words).await.is_break() {
            return post.close_post(Code::ListenerDown, &end.words).await;
        }
    }
}

/// Starts the program, or says why that is impossible. If the machine has no room for it just now, that is no death:
/// deliveries are put off, and the start is tried again until there is room or the carrier is stopped.
async fn begin_life(
    post: &Post,
    place: &ProgramPlace,
) -> std::ops::ControlFlow<String, Result<StartedProgram, String>> {
    let mut tries = 0;
    loop {
        let words =
            match program::start_program(&place.program, &place.badge, &place.around, &place.spare).await {
                Ok(started) => return std::ops::ControlFlow::Continue(Ok(started)),
                Err(ProgramStartFault::Never(words)) => return std::ops::ControlFlow::Continue(Err(words)),
                Err(ProgramStartFault::NotNow(words)) => words,
            };
        if tries == 0 {
            post.report_left(&words).await;
        }
        tries = crate::limits::STAY_TRIES.min(tries + 1);
        let mut over = pin!(tokio::time::sleep(Duration::from_millis(post.pace.pause_ms(tries))));
        loop {
            tokio::select! {
                () = &mut over => break,
                () = post.wait_for_stop() => return std::ops::ControlFlow::Break(words),
                () = post.mailbox.anything_waits() => post.put_off_waiting(&words).await,
                (token, why) = post.mailbox.take_unsent() => post.report_gone(token, called_back(why), UNSENT.to_owned()).await,
            }
        }
    }
}

/// Waits before the next start. While the listener is down, deliveries are refused at once; `is_absent` says then whether
/// its program could not be started at all.
async fn pause_after_death(
    post: &Post,
    deaths: u32,
    is_absent: Option<bool>,
    words: &str,
) -> std::ops::ControlFlow<()> {
    let mut over = pin!(tokio::time::sleep(Duration::from_millis(post.pace.pause_ms(deaths))));
    loop {
        tokio::select! {
            () = &mut over => return std::ops::ControlFlow::Continue(()),
            () = post.wait_for_stop() => return std::ops::ControlFlow::Break(()),
            () = post.mailbox.anything_waits(), if is_absent == Some(true) => post.has_no_program(words).await,
            () = post.mailbox.anything_waits(), if is_absent == Some(false) => post.refuse_waiting(words).await,
            (token, why) = post.mailbox.take_unsent() => post.report_gone(token, called_back(why), UNSENT.to_owned()).await,
        }
    }
}

/// How one life of the program ended.
struct LifeEnd {
    words: String,
    /// Whether it answered a delivery.
    answered: bool,
    /// Whether it was reported as up.
    joined: bool,
    /// Whether it could not be started at all.
    hopeless: bool,
    /// Whether we ended it because the carrier was stopped.
    stopped: bool,
    /// Its files, if it left a cancel unanswered.
    left_cancel: Option<Vec<ProgramFile>>,
}

/// What is known of a program when it begins.
struct LifeStart {
    sandbox: Option<&'static str>,
    files: Vec<ProgramFile>,
    /// Whether it may still answer a delivery that was called back: not if it once left a cancel unanswered.
    has_grace: bool,
}

/// Why a life must end, or has ended.
enum EndCause {
    Exited(Option<ExitStatus>),
    Unplugged,
    Broke(String),
    Overdue {
        /// Whether it had time to answer.
        had_grace: bool,
    },
    Stop,
}

async fn live_once(
    started: StartedProgram,
    post: &Post,
    place: &Arc<ProgramPlace>,
    was_down: bool,
    left_cancel: Option<&[ProgramFile]>,
) -> LifeEnd {
    let StartedProgram { stdin, stdout, stderr, mut group, sandbox } = started;
    let files = files::list_files(place).await;
    let has_grace = left_cancel != Some(files.as_slice());
    let up = LifeStart { sandbox: sandbox.map(SandboxLevel::as_str), files, has_grace };
    let words = LastWords::heard_by(post.ear.clone());
    let answered = AnsweredFlag::default();
    let (over, is_over) = watch::channel(false);
    let (broke, breaking) = oneshot::channel();
    let mut joined = !was_down;
    if joined {
        post.joined_with(up.sandbox, up.files.clone()).await;
    }
    let watching = async {
        let cause =
            wait_for_cause(stdin, &mut group, post, place, &answered, breaking, (&mut joined, &up)).await;
        let is_overdue = matches!(cause, EndCause::Overdue { .. });
        let fate = finish_life(cause, &mut group, post).await;
        over.send_replace(true);
        (fate, is_overdue)
    };
    let pipe = ProgramPipe::new(stdout, is_over.clone(), post.pace.rest_ms);
    let hearing = async {
        let frames = FrameSplitter::new(place.program.by_length, place.output_bytes);
        let heard = read_documents(pipe, frames, post, &words, &answered).await;
        // Nothing listens any more if the program has ended by itself.
        let _ended_already = broke.send(heard);
    };
    // All three run in this task, so that the program's output is read to its end before what it owes is counted.
    let ((fate, is_overdue), (), ()) =
        tokio::join!(watching, hearing, words.read_stderr(stderr, is_over, post.pace.rest_ms));
    post.ear.note_end(&fate.describe_any_end(group.age_ms()), group.was_signalled());
    let owed = post.mailbox.settle_all();
    let words = words.append_to(&fate.describe_end(group.age_ms(), !owed.is_empty()));
    for (token, recall) in owed {
        let code = recall.map_or(Code::ListenerLost, called_back);
        post.report_gone(token, code, words.clone()).await;
    }
    let stopped = matches!(fate, ProgramFate::Stopped(_));
    let left_cancel = is_overdue.then_some(up.files);
    LifeEnd { words, answered: answered.so_far(), joined, hopeless: false, stopped, left_cancel }
}

/// Brings the program what is on the mailbox until there is a reason to stop; then its stdin is closed.
async fn wait_for_cause(
    stdin: ChildStdin,
    group: &mut ProgramGroup,
    post: &Post,
    place: &ProgramPlace,
    answered: &AnsweredFlag,
    mut breaking: oneshot::Receiver<Result<(), String>>,
    (joined, up): (&mut bool, &LifeStart),
) -> EndCause {
    let grace = if up.has_grace { Duration::from_millis(post.pace.called_back_ms) } else { Duration::ZERO };
    let mut bringing = pin!(bring_deliveries(stdin, post, place));
    let mut proof = pin!(tokio::time::sleep(Duration::from_millis(post.pace.proof_ms)));
    loop {
        let proven = tokio::select! {
            status = group.wait_for_exit() => return EndCause::Exited(status),
            () = &mut bringing => return EndCause::Unplugged,
            heard = &mut breaking => return match heard {
                Ok(Err(words)) => EndCause::Broke(words),
                _ => EndCause::Unplugged,
            },
            () = post.mailbox.wait_until_overdue(grace) => return EndCause::Overdue { had_grace: up.has_grace },
            () = post.wait_for_stop() => return EndCause::Stop,
            (token, why) = post.mailbox.take_unsent() => {
                post.report_gone(token, called_back(why), UNSENT.to_owned()).await;
                false
            }
            () = answered.wait_for_first(), if !*joined => true,
            () = &mut proof, if !*joined => true,
        };
        if proven {
            *joined = true;
            post.joined_with(up.sandbox, up.files.clone()).await;
        }
    }
}

/// Writes items to the program; returns when the program takes no more.
async fn bring_deliveries(mut stdin: ChildStdin, post: &Post, place: &ProgramPlace) {
    loop {
        let by_length = place.program.by_length;
        let item = post.mailbox.next().await;
        let delivers = matches!(item, MailboxItem::Deliver(_));
        let framed = match item {
            MailboxItem::Cancel(token) => {
                frames::frame_document(&pump_documents::write_cancel(&token.0), by_length)
            }
            MailboxItem::Answer(answer) => frames::frame_document(&answer.to_document(), by_length),
            MailboxItem::Deliver(delivery) => match frames::frame_delivery(&delivery, by_length) {
                Ok(document) => Ok(document),
                Err((code, words)) => {
                    let token = &delivery.lease.token;
                    if post.mailbox.settle_delivery(&token.0) {
                        post.report_gone(token.clone(), code, words).await;
                    }
                    continue;
                }
            },
        };
        let Ok(document) = framed else { continue };
        if stdin.write_all(&document).await.is_err() {
            return;
        }
        if delivers {
            post.note_brought();
        }
    }
}

/// Ends the program as the cause requires.
async fn finish_life(cause: EndCause, group: &mut ProgramGroup, post: &Post) -> ProgramFate {
    let (ladder, because) = match cause {
        EndCause::Exited(status) => return ProgramFate::Ended(status),
        EndCause::Unplugged => {
            (EndLadder::new_rest(&post.pace), "it closed its stdin or stdout and kept running".to_owned())
        }
        EndCause::Broke(words) => (EndLadder::new_kill(), words),
        EndCause::Overdue { had_grace: true } => {
            (EndLadder::new_kill(), "it kept a delivery that was called back".to_owned())
        }
        EndCause::Overdue { had_grace: false } => {
            let words = "a delivery was called back, and it left an earlier cancel unanswered";
            (EndLadder::new_kill(), words.to_owned())
        }
        EndCause::Stop => {
            return ProgramFate::Stopped(group.end_group(EndLadder::new_drain(&post.pace)).await);
        }
    };
    let status = group.end_group(ladder).await;
    if group.was_signalled() { ProgramFate::Killed(because) } else { ProgramFate::Ended(status) }
}

/// How a life ended.
enum ProgramFate {
    /// By itself, or killed by someone else.
    Ended(Option<ExitStatus>),
    /// Killed by us, for this reason.
    Killed(String),
    /// With the carrier.
    Stopped(Option<ExitStatus>),
}

impl ProgramFate {
    /// How it ended, regardless of what it owed.
    fn describe_any_end(&self, age_ms: u64) -> String {
        match self {
            ProgramFate::Ended(status) | ProgramFate::Stopped(status) => describe_end(*status, age_ms, false),
            ProgramFate::Killed(_) => self.describe_end(age_ms, false),
        }
    }

    fn describe_end(&self, age_ms: u64, owes: bool) -> String {
        let after = spell_duration(age_ms);
        match self {
            ProgramFate::Ended(status) => describe_end(*status, age_ms, owes),
            ProgramFate::Killed(because) => format!("stopped after {after} because {because}"),
            ProgramFate::Stopped(_) => format!("stopped with the organism after {after}"),
        }
    }
}
