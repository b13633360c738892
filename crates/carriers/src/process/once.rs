//! A program that is started once for each message. It gets the document on its stdin, then the end of stdin;
//! it writes payload elements to its stdout; its exit code says whether that was the answer.
//!
//! This file never judges an element: what the program wrote goes into a `<reply>` as it is. Nothing of the
//! program outlives it: when it exits, what it left running is killed. In: the mailbox of
//! the listener. Out: one report for every delivery.

use std::convert::Infallible;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use systole_kit::elements::{ElementReader, StreamPiece, StreamRest};
use systole_kit::namespaces;
use systole_kit::writer::XmlWriter;
use systole_sandbox::SandboxLevel;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};

use super::ProgramPlace;
use super::files;
use super::frames;
use super::last_words::{LastWords, describe_end};
use super::pipe::ProgramPipe;
use super::program::{self, EndLadder, ProgramGroup, ProgramStartFault, StartedProgram};
use super::sandbox_command::level_of;
use crate::mailbox::MailboxItem;
use crate::post::{Post, UNSENT, called_back};
use systole_core::types::codes::Code;
use systole_core::types::ports::{ArrivedDocument, CallBack, Delivery, LeaseToken};
use systole_core::types::time::spell_duration;
use systole_system::tasks::{self, PanicMessage, TaskKind};

/// Starts a program for each delivery until the carrier is stopped.
pub(super) async fn serve_mailbox(post: Post, place: Arc<ProgramPlace>) {
    // Nothing is ever sent on this channel. It closes when the last delivery that holds an end of it is over.
    let (running, mut all_over) = mpsc::channel::<Infallible>(1);
    // Whether it was reported that the machine has no room to start the program.
    let short = Arc::new(AtomicBool::new(false));
    let mut missing = program::find_missing(&place.program, &place.badge, &place.around);
    let mut files = Vec::new();
    match &missing {
        None => {
            files = files::list_files(&place).await;
            post.joined_with(level_of(&place.program), files.clone()).await;
        }
        Some(words) => post.report_left(words).await,
    }
    let mut look_again = tokio::time::interval(Duration::from_millis(post.pace.longest_pause_ms));
    look_again.reset();
    loop {
        tokio::select! {
            item = post.mailbox.next(), if missing.is_none() => {
                // The delivery's own task already knows of a cancel. Nothing here ever asks for an answer: a
                // question of the program is part of its reply, and is refused there.
                if let MailboxItem::Deliver(delivery) = item {
                    begin_run(&post, &place, delivery, &running, &short);
                }
            }
            (token, why) = post.mailbox.take_unsent() => post.report_gone(token, called_back(why), UNSENT.to_owned()).await,
            () = post.wait_for_stop() => break,
            () = post.mailbox.anything_waits(), if missing.is_some() => {
                post.has_no_program(missing.as_deref().unwrap_or_default()).await;
            }
            // A program can be installed, changed or removed while the organism runs.
            _ = look_again.tick() => {
                let was_missing = missing.is_some();
                missing = program::find_missing(&place.program, &place.badge, &place.around);
                match &missing {
                    None => {
                        let now = files::list_files(&place).await;
                        if was_missing || now != files {
                            files.clone_from(&now);
                            post.joined_with(level_of(&place.program), now).await;
                        }
                    }
                    Some(words) if !was_missing => post.report_left(words).await,
                    Some(_) => {}
                }
            }
        }
    }
    drop(running);
    let _closed = all_over.recv().await;
    post.close_post(Code::ListenerDown, "stopped with the organism").await;
}

fn begin_run(
    post: &Post,
    place: &Arc<ProgramPlace>,
    delivery: Delivery,
    running: &mpsc::Sender<Infallible>,
    short: &Arc<AtomicBool>,
) {
    let token = delivery.lease.token.clone();
    let fallen = {
        let (post, token) = (post.clone(), token.clone());
        async move |panicked: PanicMessage| {
            let words = format!("the carrier panicked: {}", panicked.0);
            settle_run(&post, token, RunOutcome::Gone(Code::ListenerLost, words)).await;
        }
    };
    let kind = TaskKind::Delivery(post.listener.clone());
    let (post, place, running, short) = (post.clone(), place.clone(), running.clone(), short.clone());
    let whole = async move {
        let outcome = carry_delivery(&delivery, &post, &place, &short).await;
        settle_run(&post, token, outcome).await;
        drop(running);
    };
    // `running` is used to wait for its end.
    let _counted = tasks::start_task(kind, whole, fallen);
}

/// The result of a delivery.
enum RunOutcome {
    Said(Vec<u8>),
    Gone(Code, String),
    Away(String),
    NotNow(String),
}

async fn settle_run(post: &Post, token: LeaseToken, outcome: RunOutcome) {
    if post.mailbox.settle_delivery(&token.0) {
        match outcome {
            RunOutcome::Said(document) => post.report_document(ArrivedDocument::Bytes(document)).await,
            RunOutcome::Gone(code, words) => post.report_gone(token, code, words).await,
            RunOutcome::Away(words) => post.report_away(token, words).await,
            RunOutcome::NotNow(words) => post.not_now(token, words).await,
        }
    }
}

/// Why a program is over, or must end.
enum RunCause {
    Exited(Option<ExitStatus>),
    Broke(String),
    Recalled(CallBack),
    Stop,
}

async fn carry_delivery(
    delivery: &Delivery,
    post: &Post,
    place: &Arc<ProgramPlace>,
    short: &AtomicBool,
) -> RunOutcome {
    let document = match frames::frame_delivery(delivery, place.program.by_length) {
        Ok(document) => document,
        Err((code, words)) => return RunOutcome::Gone(code, words),
    };
    let StartedProgram { stdin, stdout, stderr, mut group, sandbox } =
        match program::start_program(&place.program, &place.badge, &place.around, &place.spare).await {
            Ok(started) => started,
            Err(ProgramStartFault::Never(words)) => return RunOutcome::Away(words),
            Err(ProgramStartFault::NotNow(words)) => {
                if !short.swap(true, Ordering::Relaxed) {
                    post.report_left(&words).await;
                }
                return RunOutcome::NotNow(words);
            }
        };
    if short.swap(false, Ordering::Relaxed) {
        post.joined_with(sandbox.map(SandboxLevel::as_str), files::list_files(place).await).await;
    }
    let words = LastWords::heard_by(post.ear.clone());
    let (over, is_over) = watch::channel(false);
    let (broke, breaking) = oneshot::channel();
    let token = &delivery.lease.token;
    let watching = async {
        let cause = wait_for_cause(stdin, &document, &mut group, post, token, breaking).await;
        let ladder = match cause {
            RunCause::Exited(_) => None,
            RunCause::Broke(_) => Some(EndLadder::new_kill()),
            RunCause::Recalled(_) => Some(EndLadder::new_term(&post.pace)),
            RunCause::Stop => Some(EndLadder::new_drain(&post.pace)),
        };
        let status = match ladder {
            Some(ladder) => group.end_group(ladder).await,
            None => None,
        };
        over.send_replace(true);
        match cause {
            // It was asked to end only by the end of its stdin, so it may still have answered in time.
            RunCause::Stop if !group.was_signalled() => RunCause::Exited(status),
            cause => cause,
        }
    };
    let pipe = ProgramPipe::new(stdout, is_over.clone(), post.pace.rest_ms);
    let hearing = async {
        let mut reply = CollectedReply::default();
        if let Err(why) = reply.read_output(pipe, place.output_bytes, &words).await {
            // Nothing listens any more if the program has ended by itself.
            let _ended_already = broke.send(why.clone());
            return Err(why);
        }
        Ok(reply)
    };
    let (cause, reply, ()) =
        tokio::join!(watching, hearing, words.read_stderr(stderr, is_over, post.pace.rest_ms));
    if let RunCause::Exited(status) = &cause {
        post.ear.note_end(&describe_end(*status, group.age_ms(), false), group.was_signalled());
    }
    judge_end(cause, reply, &group, &words, token)
}

async fn wait_for_cause(
    mut stdin: ChildStdin,
    document: &[u8],
    group: &mut ProgramGroup,
    post: &Post,
    token: &LeaseToken,
    breaking: oneshot::Receiver<String>,
) -> RunCause {
    let mut bringing = pin!(async move {
        // A program may answer without reading its request.
        if stdin.write_all(document).await.is_ok() {
            post.note_brought();
        }
    });
    let mut breaking = pin!(breaking);
    let (mut brought, mut heard) = (false, false);
    loop {
        tokio::select! {
            status = group.wait_for_exit() => return RunCause::Exited(status),
            () = &mut bringing, if !brought => brought = true,
            broke = &mut breaking, if !heard => match broke {
                Ok(words) => return RunCause::Broke(words),
                Err(_) => heard = true,
            },
            why = post.mailbox.recall_of(token) => return RunCause::Recalled(why),
            () = post.wait_for_stop() => return RunCause::Stop,
        }
    }
}

fn judge_end(
    cause: RunCause,
    reply: Result<CollectedReply, String>,
    group: &ProgramGroup,
    words: &LastWords,
    token: &LeaseToken,
) -> RunOutcome {
    let age = group.age_ms();
    let stopped = |because: &str| format!("stopped after {} because {because}", spell_duration(age));
    let (code, sentence) = match (cause, reply) {
        (RunCause::Exited(Some(status)), Ok(reply)) if status.success() => {
            return RunOutcome::Said(reply.into_document(token));
        }
        (RunCause::Broke(why), _) | (RunCause::Exited(_), Err(why)) => (Code::ListenerFailed, stopped(&why)),
        (RunCause::Exited(status), Ok(_)) => {
            let exited = status.is_some_and(|status| status.code().is_some());
            let code = if exited { Code::ListenerFailed } else { Code::ListenerLost };
            (code, describe_end(status, age, false))
        }
        (RunCause::Recalled(why), _) => (called_back(why), stopped("it was called back")),
        (RunCause::Stop, _) => (Code::ListenerLost, stopped("the organism stops")),
    };
    RunOutcome::Gone(code, words.append_to(&sentence))
}

/// The reply made from a program's output.
#[derive(Default)]
struct CollectedReply {
    elements: Vec<u8>,
}

impl CollectedReply {
    /// Reads a program's output to its end; text outside its elements goes to its last words.
    async fn read_output(
        &mut self,
        mut pipe: ProgramPipe<ChildStdout>,
        cap: usize,
        words: &LastWords,
    ) -> Result<(), String> {
        let mut reader = ElementReader::new(cap);
        let mut pieces = Vec::new();
        loop {
            let chunk = pipe.read_chunk().await;
            let ended = chunk.is_empty();
            let fed = reader.feed_chunk(chunk, &mut pieces);
            for piece in pieces.drain(..) {
                match piece {
                    StreamPiece::Element(element) => self.elements.extend(element),
                    StreamPiece::Stray(stray) => words.note_output(&stray),
                }
            }
            if let Err(fault) = fed {
                return Err(format!("its output cannot be read: {}", fault.message));
            }
            if self.elements.len() > cap {
                return Err(format!("its output has more than {cap} bytes"));
            }
            if ended {
                break;
            }
        }
        match reader.finish() {
            StreamRest::Nothing => {}
            StreamRest::Stray(stray) => words.hear_line(&stray),
            // An incomplete element is part of what the program said; the judge tells the program so.
            StreamRest::Open(open) => self.elements.extend(open),
        }
        Ok(())
    }

    /// The document. It contains the elements byte for byte. They are not judged yet, so the writer makes only
    /// the tags around them.
    fn into_document(self, token: &LeaseToken) -> Vec<u8> {
        let mut writer = XmlWriter::with_capacity(self.elements.len() + 256);
        // The prefix is unique, so an element that forgot its own namespace does not get this one.
        writer
            .open("systole-once:reply")
            .attr("xmlns:systole-once", namespaces::LISTENER)
            .attr("delivery", &token.0)
            .content(|_| ());
        let mut document = writer.finish();
        let end = document.len().saturating_sub(REPLY_END.len());
        document.splice(end..end, self.elements);
        document
    }
}

const REPLY_END: &str = "</systole-once:reply>";
