//! Verifies the file of one proved record: what the record says, where it was recorded, and who confirms it. It needs no
//! log. The file may come from a stranger.

use std::path::Path;

use serde_json::json;
use systole_proof::limits::PROOF_FILE_BYTES;
use systole_proof::policy::{PolicyVerdict, TrustPolicy};
use systole_proof::proof_file::EntryProof;
use systole_proof::tree::verify_inclusion;

use super::exit::CommandExit;
use super::screen::Screen;
use super::system_faults;
use systole_core::types::ids::Name;
use systole_core::types::record::Header;
use systole_export::verdict::{CheckpointSigner, ProvedEntry};
use systole_show::columns::{plain, wrapped};
use systole_show::layout::{TextTone, paint};
use systole_system::system;

/// How such a file begins.
const FIRST_LINE: &[u8] = b"c2sp.org/tlog-proof@v1\n";

/// Whether a file is the proof of a record.
pub(super) fn is_proof(path: &Path) -> bool {
    use std::io::Read as _;
    let mut first = [0; FIRST_LINE.len()];
    path.is_file()
        && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
        && first == FIRST_LINE
}

/// What a proof shows.
enum ProofVerdict {
    /// The record is in the log that signed.
    Proved(Box<PolicyVerdict>),
    /// The record is in the tree of the checkpoint; nothing says whose key signed that.
    Unsigned(String),
    /// It is not there.
    Refuted(String),
}

impl ProofVerdict {
    fn words(&self) -> String {
        match self {
            ProofVerdict::Proved(by) if by.cosigned.is_empty() => "proved".to_owned(),
            ProofVerdict::Proved(by) => {
                format!("proved, witnessed by {} of {}", by.cosigned.len(), by.witnesses)
            }
            ProofVerdict::Unsigned(_) => "not proved: no known key signed it".to_owned(),
            ProofVerdict::Refuted(_) => "contradicted".to_owned(),
        }
    }
}

/// Verifies a proof.
pub(super) fn verify_proof(
    screen: Screen,
    path: &Path,
    policy: Option<&TrustPolicy>,
) -> Result<CommandExit, CommandExit> {
    let bytes = system::read_bounded(path, PROOF_FILE_BYTES)
        .map_err(|error| system_faults::report_unread(screen, CommandExit::Usage, path, "a proof", &error))?;
    let refused = |why: String| {
        screen.refuse(format!("{}: {why}", path.display()), "the file that systole prove wrote, unchanged")
    };
    let proof = EntryProof::parse(&bytes).map_err(|fault| refused(fault.to_string()))?;
    let extra = proof.extra().ok_or_else(|| refused("it has no entry, so it shows nothing".to_owned()))?;
    let entry = ProvedEntry::read_entry(extra).map_err(|why| refused(format!("line 2: {why}")))?;
    let verdict = judge_proof(&proof, &entry, policy);
    let shown = path.display().to_string();
    if screen.json {
        screen.show_value(&as_json(&shown, &proof, &entry, &verdict));
    } else {
        list_lines(&shown, &proof, &entry, &verdict).iter().for_each(|line| screen.show_drawn(line));
    }
    Ok(choose_exit(screen, &verdict, policy.is_some()))
}

fn judge_proof(proof: &EntryProof, entry: &ProvedEntry, policy: Option<&TrustPolicy>) -> ProofVerdict {
    let leaf = entry.leaf();
    let checkpoint = proof.checkpoint().checkpoint();
    let is_in = verify_inclusion(&leaf, proof.index(), checkpoint.size(), proof.hashes(), checkpoint.root());
    if let Err(fault) = is_in {
        return ProofVerdict::Refuted(format!("the record is not in the tree of the checkpoint: {fault}"));
    }
    let Some(policy) = policy else {
        return ProofVerdict::Unsigned("whose key signed the checkpoint was not checked".to_owned());
    };
    match CheckpointSigner::find_signer(policy, proof.checkpoint()) {
        CheckpointSigner::Known(verdict) => ProofVerdict::Proved(verdict),
        CheckpointSigner::Unknown(why) => ProofVerdict::Unsigned(why),
        CheckpointSigner::KeptApart | CheckpointSigner::ReadBack => {
            ProofVerdict::Unsigned("no key is known".to_owned())
        }
    }
}

fn choose_exit(screen: Screen, verdict: &ProofVerdict, has_policy: bool) -> CommandExit {
    match verdict {
        ProofVerdict::Proved(by) if by.is_quorum => CommandExit::Done,
        ProofVerdict::Proved(by) => {
            let (cosigned, all) = (by.cosigned.len(), by.witnesses);
            let words = format!("cosigned by {cosigned} of {all} witnesses: too few for the policy");
            let fix = "a proof by a later checkpoint, which more witnesses cosigned";
            screen.fail_with(CommandExit::Failed, words, fix)
        }
        ProofVerdict::Unsigned(why) => {
            let fix =
                if has_policy { "the key of this log" } else { "--key or --policy with the key of this log" };
            screen.fail_with(CommandExit::Failed, why, format!("{fix}, as its owner published it"))
        }
        ProofVerdict::Refuted(why) => screen.fail(CommandExit::Log, why),
    }
}

fn list_lines(shown: &str, proof: &EntryProof, entry: &ProvedEntry, verdict: &ProofVerdict) -> Vec<String> {
    let checkpoint = proof.checkpoint().checkpoint();
    let mut lines =
        vec![format!("{}: record #{} of {}", plain(shown), proof.index() + 1, plain(checkpoint.origin()))];
    match entry.read_header() {
        Ok((header, _)) => {
            for (name, value) in describe_header(&header) {
                lines.extend(wrapped(&format!("  {name:<8}"), 10, &plain(&value)));
            }
        }
        Err(why) => lines.push(format!("  its header is of another version: {}", plain(&why))),
    }
    match entry.body() {
        Some(body) => lines.extend(wrapped("  body    ", 10, &plain(&String::from_utf8_lossy(body)))),
        None => lines.push("  body    not in this file; the record commits to it".to_owned()),
    }
    lines.push(format!("  by the checkpoint at #{}", checkpoint.size()));
    let (tone, by) = match verdict {
        ProofVerdict::Proved(by) => (TextTone::Good, Some(by)),
        ProofVerdict::Unsigned(_) => (TextTone::Held, None),
        ProofVerdict::Refuted(_) => (TextTone::Bad, None),
    };
    if let Some(by) = by {
        lines.extend(wrapped("  ", 4, &format!("signed by {}", by.log)));
        for one in &by.cosigned {
            let at = i64::try_from(one.seconds).ok().and_then(|at| jiff::Timestamp::from_second(at).ok());
            let at = at.map_or_else(|| one.seconds.to_string(), |at| at.to_string());
            lines.push(format!("  cosigned by {} at {at}", plain(&one.witness)));
        }
    }
    lines.push(format!("verdict: {}", paint(tone, &verdict.words())));
    lines
}

/// The parts of a header that say something to a person.
fn describe_header(header: &Header) -> Vec<(&'static str, String)> {
    let to = header.to.as_ref().map(|to| to.as_str().to_owned());
    let time = String::from_utf8_lossy(&header.time.to_text()).into_owned();
    let all = [
        ("thread", Some(format!("{}, record {}", header.thread, header.seq))),
        ("kind", Some(header.kind.as_str().to_owned())),
        ("code", header.code.map(|code| code.as_str().to_owned())),
        ("from", Some(header.from.as_str().to_owned())),
        ("to", to),
        ("time", Some(format!("{time}, says the organism"))),
        ("config", Some(header.config.to_string())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn as_json(
    shown: &str,
    proof: &EntryProof,
    entry: &ProvedEntry,
    verdict: &ProofVerdict,
) -> serde_json::Value {
    let checkpoint = proof.checkpoint().checkpoint();
    let header = entry.read_header().ok().map(|(header, length)| {
        json!({
            "thread": header.thread.to_string(), "seq": header.seq, "kind": header.kind.as_str(),
            "code": header.code.map(|code| code.as_str()), "from": header.from.as_str(),
            "to": header.to.as_ref().map(Name::as_str),
            "time": String::from_utf8_lossy(&header.time.to_text()), "config": header.config.to_string(),
            "body_bytes": length,
        })
    });
    let (by, why) = match verdict {
        ProofVerdict::Proved(by) => (Some(by), None),
        ProofVerdict::Unsigned(why) | ProofVerdict::Refuted(why) => (None, Some(why)),
    };
    let cosigned = by.map(|by| {
        let each = by.cosigned.iter();
        each.map(|one| json!({"witness": one.witness, "seconds": one.seconds})).collect::<Vec<_>>()
    });
    json!({
        "file": shown, "position": proof.index() + 1, "origin": checkpoint.origin(), "size": checkpoint.size(),
        "verdict": verdict.words(), "why": why, "key": by.map(|by| by.log.to_string()), "cosigned": cosigned,
        "quorum": by.map(|by| by.is_quorum), "record": header,
        "body": entry.body().map(|body| String::from_utf8_lossy(body)),
    })
}
