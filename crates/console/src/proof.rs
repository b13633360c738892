//! What proves the log: the checkpoints beside it, and on request a walk through all of its records.
//!
//! The log's file comes in; a verdict, the answers to an auditor's questions and the commands for others go out.

use std::collections::BTreeSet;
use std::path::Path;

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};
use systole_proof::policy::TrustPolicy;

use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use crate::limits::{self, VERIFIED};
use systole_core::types::codes::Code;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_export::verdict::{
    AuditAnswer, CheckpointFinding, CheckpointKeeper, CheckpointSource, GatheredLog, LogExamination,
    LogVerdict, ProofStanding,
};
use systole_hall::log_view::LogMoment;
use systole_hall::reading::{ReadRefusal, ReadResult, whole_log_only};
use systole_hall::request_refusals::describe_unfit_address;
use systole_log::checkpoint_file;
use systole_organism::prompt_view;
use systole_organism::proving::find_notes;
use systole_organism::resting_verdict::RestingVerdict;
use systole_show::columns::plain;
use systole_system::system::FileFault;

/// A checkpoint beside the log.
struct CheckpointRow {
    size: u64,
    origin: String,
    place: String,
    signatures: usize,
}

/// What a walk through the log showed.
struct VerifiedLog {
    verdict: String,
    is_good: bool,
    facts: Vec<(&'static str, String)>,
    checkpoints: Vec<String>,
    answers: Vec<AuditAnswer>,
    /// The parts that an export leaves out.
    holes: Vec<String>,
    /// What was not checked of an export.
    not_checked: Vec<String>,
}

/// Everything on the page.
struct ProofView {
    log: String,
    last: u64,
    checkpoints: Vec<CheckpointRow>,
    count: usize,
    unread: Vec<String>,
    verified: Option<VerifiedLog>,
    /// How far a log is proved; `None` for an export.
    standing: Option<ProofStanding>,
    now: Millis,
}

#[derive(Template)]
#[template(path = "proof.html")]
struct ProofPage {
    frame: Frame,
    view: ProofView,
    can_verify: bool,
}

/// Shows the page.
pub(super) async fn answer_page(asked: &PageRequest) -> Result<Response, Refusal> {
    let verifies = asked.one_of("verify", &["now"])?.is_some();
    if verifies && asked.at.is_some() {
        return Err(describe_unfit_address("verify= and at=: a log is verified as it is, to its end"));
    }
    let view = asked
        .look(&["verify"], move |moment, _| {
            whole_log_only(moment, "the proof covers all threads and is")?;
            let Some(log) = moment.front.log_file() else {
                if let Some(shown) = moment.front.at_rest() {
                    return view_of_export(moment, shown);
                }
                let refusal = Refusal::new(Code::IngressUnavailable, "a log in memory has no proof");
                return Err(
                    ReadRefusal::from(refusal.fixed_by("`log: {path: …}` in the organism's file")).into()
                );
            };
            read(moment, log, verifies)
        })
        .await?;
    if !asked.is_html {
        return Ok(asked.json(&view.as_json()));
    }
    let frame = asked.frame(PageTab::Proof, "Proof").with_command("systole verify");
    let can_verify = asked.at.is_none() && view.last <= VERIFIED && view.standing.is_some();
    Ok(render_page(&ProofPage { frame, view, can_verify }))
}

/// Reports to the operator why the checkpoints are not shown.
fn unread(fault: &FileFault) {
    tracing::error!(
        why = fault.words,
        fix = fault.fix,
        "the checkpoints beside the log cannot be read for a client"
    );
}

/// How far the log is proved by the newest checkpoint beside it.
pub(super) fn standing(moment: &LogMoment, log: &Path) -> Result<ProofStanding, LogFault> {
    let reader = &*moment.reader;
    let beside = find_notes(log);
    let found = checkpoint_file::read_newest(&beside).unwrap_or_else(|fault| {
        unread(&fault);
        Vec::new()
    });
    ProofStanding::find_standing(found, moment.front.policy(), reader.read_last()?, |size| {
        let page = reader.read_after(Position(size.saturating_sub(1)), 1)?;
        Ok(page.first().map(|(_, record)| record.header.time))
    })
}

/// What was found when an export was opened: its file is verified as a whole.
fn view_of_export(moment: &LogMoment, shown: &RestingVerdict) -> ReadResult<ProofView> {
    let verified = shown.exported.clone().map(|found| VerifiedLog {
        verdict: found.verdict,
        is_good: shown.is_sound,
        facts: found.facts,
        checkpoints: found.checkpoints,
        answers: found.answers,
        holes: found.holes,
        not_checked: found.not_checked,
    });
    Ok(ProofView {
        log: file_name(&shown.file),
        last: moment.reader.read_last()?.0,
        checkpoints: Vec::new(),
        count: 0,
        unread: Vec::new(),
        verified,
        standing: None,
        now: moment.now,
    })
}

fn file_name(file: &Path) -> String {
    file.file_name().map(|name| plain(&name.to_string_lossy())).unwrap_or_default()
}

fn read(moment: &LogMoment, log: &Path, verifies: bool) -> ReadResult<ProofView> {
    let beside = find_notes(log);
    let found = checkpoint_file::read_notes(&beside).map_err(|fault| {
        unread(&fault);
        let refusal = Refusal::new(Code::IngressUnavailable, "the checkpoints beside the log cannot be read");
        ReadRefusal::from(refusal.fixed_by("systole verify, where the log is"))
    })?;
    let name = file_name(log);
    let last = moment.reader.read_last()?.0;
    let (mut sources, mut unread) = (Vec::new(), Vec::new());
    for (line, read) in found {
        let place = format!("{name}.notes:{line}");
        match read {
            Ok(signed) => {
                sources.push(CheckpointSource { place, keeper: CheckpointKeeper::Supplier, signed })
            }
            Err(why) => unread.push(format!("{place}: {}", plain(&why.to_string()))),
        }
    }
    sources.retain(|source| moment.at.is_none_or(|at| source.signed.checkpoint().size() <= at.0));
    let rows = sources.iter().rev().take(limits::NEWEST).map(|source| CheckpointRow {
        size: source.signed.checkpoint().size(),
        origin: plain(source.signed.checkpoint().origin()),
        place: source.place.clone(),
        signatures: source.signed.note().signatures().len(),
    });
    let checkpoints = rows.collect();
    let count = sources.len();
    let standing = Some(standing(moment, log)?);
    let policy = moment.front.policy();
    let verified = match verifies {
        true if last > VERIFIED => {
            let words = format!("the log has {last} records, and a page verifies {VERIFIED} at most");
            return Err(ReadRefusal::from(describe_unfit_address(words).fixed_by("systole verify")).into());
        }
        true => Some(verify(log, &sources, policy)?),
        false => None,
    };
    Ok(ProofView { log: name, last, checkpoints, count, unread, verified, standing, now: moment.now })
}

fn verify(log: &Path, sources: &[CheckpointSource], policy: Option<&TrustPolicy>) -> ReadResult<VerifiedLog> {
    let sizes: BTreeSet<u64> = sources.iter().map(|source| source.signed.checkpoint().size()).collect();
    let (summary, gathered) = match GatheredLog::with_end(log, &sizes, &[], prompt_view::READING) {
        Ok(found) => found,
        Err(LogFault::Damaged { position, why, .. }) => {
            let verdict = match position.0 {
                0 => "damaged".to_owned(),
                at => format!("damaged at #{at}"),
            };
            return Ok(VerifiedLog::from_damage(verdict, &why));
        }
        Err(LogFault::Lost { gone, why, .. }) => {
            return Ok(VerifiedLog::from_damage(format!("damaged: it lost #{gone}"), &why));
        }
        Err(fault) => return Err(fault.into()),
    };
    let found = LogExamination::new(summary.records, gathered, Vec::new(), sources, policy);
    let verdict = found.verdict();
    let facts = vec![
        ("records", summary.records.to_string()),
        ("threads", summary.threads.to_string()),
        ("documents", summary.documents.to_string()),
        ("root of all records", Digest(found.log.root).to_string()),
        ("erased", format!("{} records, {} documents", found.log.erased.len(), found.log.erased_documents)),
    ];
    let words = |one: &CheckpointFinding| plain(&one.words());
    Ok(VerifiedLog {
        verdict: plain(&verdict.words()),
        is_good: !matches!(verdict, LogVerdict::Contradicted { .. }),
        facts,
        checkpoints: found.checkpoints.iter().rev().take(limits::NEWEST).map(words).collect(),
        answers: found.answers(),
        holes: Vec::new(),
        not_checked: Vec::new(),
    })
}

impl VerifiedLog {
    fn from_damage(verdict: String, why: &str) -> VerifiedLog {
        let facts = vec![("what is wrong", plain(why)), ("next", "systole doctor".to_owned())];
        VerifiedLog {
            verdict,
            is_good: false,
            facts,
            checkpoints: Vec::new(),
            answers: Vec::new(),
            holes: Vec::new(),
            not_checked: Vec::new(),
        }
    }
}

impl ProofView {
    fn as_json(&self) -> Value {
        let checkpoints = self.checkpoints.iter().map(|row| {
            json!({"size": row.size, "origin": row.origin, "place": row.place, "signatures": row.signatures})
        });
        let verified = self.verified.as_ref().map(|verified| {
            let answers = verified.answers.iter().map(|answer| {
                json!({"question": answer.question, "standing": answer.standing.as_str(), "words": answer.words})
            });
            let facts = verified.facts.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.clone())));
            json!({
                "verdict": verified.verdict,
                "facts": serde_json::Map::from_iter(facts),
                "checkpoints": verified.checkpoints,
                "answers": answers.collect::<Vec<_>>(),
                "left_out": verified.holes,
                "not_checked": verified.not_checked,
            })
        });
        json!({
            "log": self.log,
            "last": self.last,
            "count": self.count,
            "checkpoints": checkpoints.collect::<Vec<_>>(),
            "unread": self.unread,
            "verified": verified,
            "standing": self.standing.as_ref().map(ProofStanding::as_json),
        })
    }
}
