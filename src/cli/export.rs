//! `systole export`: threads of a log as one zip file that a stranger can verify without Systole.

mod redacting;

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::key::{SignatureKind, SignerKey};
use systole_proof::policy::TrustPolicy;
use systole_proof::tree::TreeHash;

use super::exit::CommandExit;
use super::looking::Looking;
use super::place::Place;
use super::system_faults;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::Position;
use systole_export::archive::ArchiveWriter;
use systole_export::document_use::DocumentUse;
use systole_export::documents::NamedDocuments;
use systole_export::proof::ExportProof;
use systole_export::record_line::ExportedRecord;
use systole_export::starts::ExportedStart;
use systole_export::statement::{self, ExportPredicate, FORM, WITHOUT_DOCUMENTS, WITHOUT_PROMPTS};
use systole_export::verdict::check_end;
use systole_export::{ExportFault, ExportScope, page, thread_xml};
use systole_log::checkpoint_file;
use systole_organism::prompt_view;
use systole_organism::replaying::SystemEvents;
use systole_show::columns::{counted, plain, wrapped};
use systole_system::signing_key;

const README: &str = include_str!("export/README.txt");
const VERIFIER: &str = include_str!("export/verify.py");

/// Takes threads along as evidence, with a verifier.
///
/// The zip file has the records with their proofs, the documents that they name, pages for people, and
/// verify.py, which needs nothing but Python. An organism may run on the log.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole export @last -o case-7.zip
  systole export 1f0c 77b0 --key proof.key
  systole export @last --redact sensitive --redact //customer
  systole export @last --html -o case-7.html")]
pub(super) struct ExportCommand {
    #[command(flatten)]
    place: Place,
    /// The threads, with their children: ids, beginnings, @last or @NAME
    #[arg(required = true, value_name = "THREAD")]
    threads: Vec<String>,
    /// The file to write (the first thread's id with .zip)
    #[arg(short = 'o', long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Sign the statement about the files with this key
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Add this policy for the reader
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Leave out the checkpoint and the proof, which takes a whole walk
    #[arg(long)]
    no_proof: bool,
    /// Leave out `sensitive` values, or all that XPATH selects
    #[arg(long, value_name = "WHAT")]
    redact: Vec<String>,
    /// Write only the page for people
    #[arg(long, conflicts_with_all = ["key", "policy", "no_proof"])]
    html: bool,
}

/// Why an export came to nothing.
enum ExportEnd {
    Fault(ExportFault),
    /// It was reported.
    Told(CommandExit),
}

impl<T: Into<ExportFault>> From<T> for ExportEnd {
    fn from(fault: T) -> ExportEnd {
        ExportEnd::Fault(fault.into())
    }
}

/// What was written.
#[derive(Default)]
struct WrittenExport {
    records: u64,
    documents: u64,
    missing: u64,
    /// Parts of bodies that were left out.
    holes: u64,
    checkpoint: Option<SignedCheckpoint>,
    /// Records that the checkpoint is about.
    proved: u64,
}

/// What was read before anything is written.
struct ExportExtras {
    key: Option<SignerKey>,
    policy: Option<Vec<u8>>,
    checkpoint: Option<SignedCheckpoint>,
}

impl ExportCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open(&self.place)?;
        check_end(&looking.log).map_err(|fault| looking.fault(&fault))?;
        let mut chosen: Vec<ThreadId> = Vec::new();
        for typed in &self.threads {
            chosen.push(looking.find(typed)?);
        }
        let extras = self.read_extras(&looking)?;
        let mut scope =
            ExportScope::find_threads(&*looking.reader, &chosen).map_err(|fault| looking.fault(&fault))?;
        let lost = scope.explain_losses(&*looking.reader, prompt_view::READING);
        let lost = lost.map_err(|fault| redacting::report_fault(&looking, &fault))?;
        let scope = redacting::redact_scope(&looking, scope, &chosen, &self.redact)?;
        let ending = if self.html { "html" } else { "zip" };
        let named = || PathBuf::from(format!("{}.{ending}", chosen.first().map_or("", ThreadId::as_str)));
        let out = self.out.clone().unwrap_or_else(named);
        let what = if self.html { "the page" } else { "the export" };
        let unwritten =
            |error: &io::Error| system_faults::report_unwritten(looking.screen, &out, what, error);
        let written = if self.html {
            let file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&out);
            let file = file.map_err(|error| unwritten(&error))?;
            write_page_alone(&looking, &scope, file)
        } else {
            let archive = ArchiveWriter::create(&out).map_err(|error| unwritten(&error))?;
            let lacks_prompts = lost.elsewhere > 0;
            let files = Vec::new();
            ExportArchive { looking: &looking, scope: &scope, chosen: &chosen, lacks_prompts, archive, files }
                .write_all(&extras)
        };
        let written = written.map_err(|end| {
            // Half an export would pass for a damaged one. If it cannot be removed, the message names it.
            let _removed = std::fs::remove_file(&out);
            match end {
                ExportEnd::Told(exit) => exit,
                ExportEnd::Fault(ExportFault::Write(error)) => {
                    system_faults::report_unwritten(looking.screen, &out, what, &error)
                }
                ExportEnd::Fault(fault) => redacting::report_fault(&looking, &fault),
            }
        })?;
        self.report_export(&looking, &scope, &out, &written, extras.key.is_some());
        Ok(CommandExit::Done)
    }

    /// The key, the policy and the checkpoint.
    fn read_extras(&self, looking: &Looking) -> Result<ExportExtras, CommandExit> {
        let screen = looking.screen;
        let key = self.key.as_deref().map(signing_key::read_key).transpose();
        let key = key.map_err(|fault| system_faults::report_fault(screen, CommandExit::Usage, &fault))?;
        if key.as_ref().is_some_and(|key| key.verifier().kind() != SignatureKind::Plain) {
            let fix = "the key that signs checkpoints of the log";
            return Err(screen.refuse("--key: it is the key of a witness", fix));
        }
        let policy = match &self.policy {
            None => None,
            Some(path) => {
                let bytes = std::fs::read(path).map_err(|error| {
                    system_faults::report_unread(screen, CommandExit::Usage, path, "a policy", &error)
                })?;
                TrustPolicy::parse(&bytes).map_err(|fault| {
                    let words = format!("{}: {fault}", path.display());
                    screen.fail_with(CommandExit::Configuration, words, "a policy that systole verify takes")
                })?;
                Some(bytes)
            }
        };
        let checkpoint = if self.no_proof || self.html { None } else { find_newest_checkpoint(looking)? };
        Ok(ExportExtras { key, policy, checkpoint })
    }

    fn report_export(
        &self,
        looking: &Looking,
        scope: &ExportScope,
        out: &Path,
        written: &WrittenExport,
        is_signed: bool,
    ) {
        let (screen, file) = (looking.screen, out.display().to_string());
        let WrittenExport { records, documents, missing, holes, checkpoint, proved } = written;
        if *missing > 0 {
            screen.say(format!(
                "note: {missing} documents that the records name are not in the log: they were erased, or a program \
                 keeps its prompts elsewhere"
            ));
        }
        if screen.json {
            let checkpoint = checkpoint.as_ref().map(|signed| {
                let checkpoint = signed.checkpoint();
                json!({"origin": checkpoint.origin(), "size": checkpoint.size(), "records": proved})
            });
            return screen.show_value(&json!({
                "file": file, "threads": scope.threads.iter().map(ThreadId::as_str).collect::<Vec<_>>(),
                "records": records, "documents": documents, "missing": missing, "holes": holes,
                "checkpoint": checkpoint.unwrap_or(Value::Null), "signed": is_signed,
            }));
        }
        screen.show(&format!(
            "{file}: {} in {}, {}",
            counted(*records, "record"),
            counted(scope.threads.len(), "thread"),
            counted(*documents, "document")
        ));
        if *holes > 0 {
            screen.show(&format!("  {holes} parts of bodies are left out"));
        }
        if self.html {
            return;
        }
        let words = match checkpoint {
            Some(signed) if proved == records => {
                let checkpoint = signed.checkpoint();
                format!(
                    "all are proved by the checkpoint of {} at #{}",
                    checkpoint.origin(),
                    checkpoint.size()
                )
            }
            Some(signed) => {
                let checkpoint = signed.checkpoint();
                let (origin, size) = (checkpoint.origin(), checkpoint.size());
                format!(
                    "{proved} are proved by the checkpoint of {origin} at #{size}; for the others, sign one with \
                     systole checkpoint and export again"
                )
            }
            None => "no checkpoint proves them; sign one with systole checkpoint and export again".to_owned(),
        };
        wrapped("  ", 2, &plain(&words)).iter().for_each(|line| screen.show_drawn(line));
        screen.show("  to verify: systole verify FILE, or python3 verify.py where it is unpacked");
    }
}

/// The checkpoint beside the log that is about most records; of several, the one with most signatures.
fn find_newest_checkpoint(looking: &Looking) -> Result<Option<SignedCheckpoint>, CommandExit> {
    // The notes are beside the file itself, not beside a link to it.
    let real = std::fs::canonicalize(&looking.log);
    let beside = checkpoint_file::to_path(real.as_deref().unwrap_or(&looking.log));
    let found = checkpoint_file::read_notes(&beside)
        .map_err(|fault| system_faults::report_fault(looking.screen, CommandExit::Unavailable, &fault))?;
    let readable = found.into_iter().filter_map(|(_, read)| read.ok());
    Ok(readable.max_by_key(|signed| (signed.checkpoint().size(), signed.note().signatures().len())))
}

fn write_page_alone(
    looking: &Looking,
    scope: &ExportScope,
    file: std::fs::File,
) -> Result<WrittenExport, ExportEnd> {
    let mut out = io::BufWriter::new(file);
    let mut written = WrittenExport::default();
    let mut named = NamedDocuments::default();
    scope.visit_records(&*looking.reader, |_, record| {
        written.records += 1;
        if scope.redaction.is_none() {
            named.take_record(record);
        }
        Ok(())
    })?;
    scope.each_hole(&*looking.reader, |_| {
        written.holes += 1;
        Ok(())
    })?;
    (written.documents, written.missing) =
        named.write_documents(&*looking.reader, &scope.erased_links, &mut io::sink())?;
    page::write_page(scope, &*looking.reader, &named, &mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(written)
}

/// A zip file that is being filled.
struct ExportArchive<'a> {
    looking: &'a Looking,
    scope: &'a ExportScope,
    chosen: &'a [ThreadId],
    /// Whether the log does not have prompts that programs journal.
    lacks_prompts: bool,
    archive: ArchiveWriter,
    files: Vec<(&'static str, Digest)>,
}

impl ExportArchive<'_> {
    fn write_all(mut self, extras: &ExportExtras) -> Result<WrittenExport, ExportEnd> {
        let ExportArchive { looking, scope, .. } = self;
        let reader = &*looking.reader;
        let mut written = WrittenExport::default();
        let mut named = NamedDocuments::default();
        let mut leaves: Vec<(u64, TreeHash)> = Vec::new();
        let mut has_holes = false;
        self.write_file("records.jsonl", |out| {
            scope.visit_records(reader, |position, record| {
                serde_json::to_writer(&mut *out, &ExportedRecord::from_record(position, record))
                    .map_err(io::Error::from)?;
                out.write_all(b"\n")?;
                leaves.push((position.0, record.leaf.0));
                has_holes |= record.parts.has_erased();
                if scope.redaction.is_none() {
                    named.take_record(record);
                }
                Ok(())
            })
        })?;
        if has_holes {
            written.holes = self.write_holes()?;
        }
        self.write_erasures()?;
        if scope.redaction.is_none() {
            self.write_starts(&leaves, &mut named)?;
        }
        written.records = leaves.len() as u64;
        leaves.sort_unstable();
        let mut counts = (0, 0);
        self.write_file("documents.jsonl", |out| {
            counts = named.write_documents(reader, &scope.erased_links, out)?;
            Ok(())
        })?;
        (written.documents, written.missing) = counts;
        if let Some(signed) = &extras.checkpoint {
            written.proved = self.write_proof(signed, &leaves)?;
            written.checkpoint = Some(signed.clone());
        }
        if let Some(policy) = &extras.policy {
            self.write_file("policy.txt", |out| Ok(out.write_all(policy)?))?;
        }
        self.write_file("thread.xml", |out| thread_xml::write_threads(scope, reader, out))?;
        self.write_file("index.html", |out| page::write_page(scope, reader, &named, out))?;
        self.write_file("README.txt", |out| Ok(out.write_all(README.as_bytes())?))?;
        self.write_file("verify.py", |out| Ok(out.write_all(VERIFIER.as_bytes())?))?;
        let without = match scope.redaction {
            Some(_) => vec![WITHOUT_DOCUMENTS.to_owned()],
            None if self.lacks_prompts => vec![WITHOUT_PROMPTS.to_owned()],
            None => Vec::new(),
        };
        let predicate = ExportPredicate {
            form: FORM.to_owned(),
            threads: self.chosen.iter().map(ToString::to_string).collect(),
            last: scope.last.0,
            without,
        };
        let text = statement::write_statement(&self.files, &predicate, extras.key.as_ref());
        let text = text.ok_or_else(|| io::Error::other("the key cannot sign a statement"))?;
        self.write_file("statement.json", |out| Ok(out.write_all(text.as_bytes())?))?;
        self.archive.finish()?;
        Ok(written)
    }

    /// Writes an entry, and remembers its hash.
    fn write_file(
        &mut self,
        name: &'static str,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), ExportFault>,
    ) -> Result<(), ExportFault> {
        let mut entry = self.archive.begin_entry(name, name == "verify.py")?;
        fill(&mut entry)?;
        self.files.push((name, entry.finish_entry()?));
        Ok(())
    }

    /// Writes when the organism started while the threads lived: a replay needs it.
    fn write_starts(
        &mut self,
        leaves: &[(u64, TreeHash)],
        named: &mut NamedDocuments,
    ) -> Result<(), ExportEnd> {
        let at = |found: Option<&u64>| Position(found.copied().unwrap_or_default());
        let positions: Vec<u64> = leaves.iter().map(|(position, _)| *position).collect();
        let events = SystemEvents::read_events(&*self.looking.reader)?;
        let starts = events.list_exported(at(positions.iter().min()), at(positions.iter().max()));
        for start in &starts {
            if let ExportedStart::Start { config, .. } = start {
                let config = Digest::parse(config).ok();
                config.into_iter().for_each(|config| named.add_name(config, DocumentUse::Configuration));
            }
        }
        Ok(self.write_file("starts.jsonl", |out| {
            starts.iter().try_for_each(|start| {
                serde_json::to_writer(&mut *out, start).map_err(io::Error::from)?;
                Ok(out.write_all(b"\n")?)
            })
        })?)
    }

    /// Writes what is left out, and returns how many parts that are.
    fn write_holes(&mut self) -> Result<u64, ExportFault> {
        let ExportArchive { looking, scope, .. } = *self;
        let mut count = 0;
        self.write_file("holes.jsonl", |out| {
            scope.each_hole(&*looking.reader, |hole| {
                count += 1;
                serde_json::to_writer(&mut *out, &hole).map_err(io::Error::from)?;
                Ok(out.write_all(b"\n")?)
            })
        })?;
        Ok(count)
    }

    /// Writes the records that say what was erased, if anything was.
    fn write_erasures(&mut self) -> Result<(), ExportFault> {
        let ExportArchive { scope, .. } = *self;
        if scope.erasures.is_empty() {
            return Ok(());
        }
        self.write_file("erased.jsonl", |out| {
            scope.erasures.iter().try_for_each(|(position, record)| {
                serde_json::to_writer(&mut *out, &ExportedRecord::from_record(*position, record))
                    .map_err(io::Error::from)?;
                Ok(out.write_all(b"\n")?)
            })
        })
    }

    /// Writes the checkpoint and the proof for it, and returns how many records it proves.
    fn write_proof(
        &mut self,
        signed: &SignedCheckpoint,
        leaves: &[(u64, TreeHash)],
    ) -> Result<u64, ExportEnd> {
        let (screen, checkpoint) = (self.looking.screen, signed.checkpoint());
        let contradicted = |why: String| {
            let fix = "systole verify, which says what differs; or --no-proof";
            ExportEnd::Told(screen.fail_with(CommandExit::Log, why, fix))
        };
        let (origin, size) = (plain(checkpoint.origin()), checkpoint.size());
        if size > self.scope.last.0 {
            return Err(contradicted(format!(
                "the checkpoint of {origin} beside the log is about {size} records, and the log has {}",
                self.scope.last.0
            )));
        }
        let erasures = self.scope.erasures.iter().map(|(position, record)| (position.0, record.leaf.0));
        let mut all: Vec<(u64, TreeHash)> = leaves.iter().copied().chain(erasures).collect();
        all.sort_unstable();
        let (proof, root) = ExportProof::build_proof(&*self.looking.reader, &all, size)?;
        if root != *checkpoint.root() {
            return Err(contradicted(format!(
                "the log is not the one that the checkpoint of {origin} at #{size} beside it is about"
            )));
        }
        self.write_file("checkpoint.txt", |out| Ok(write!(out, "{signed}")?))?;
        self.write_file("proof.json", |out| {
            serde_json::to_writer(&mut *out, &proof).map_err(io::Error::from)?;
            Ok(out.write_all(b"\n")?)
        })?;
        Ok(leaves.iter().filter(|(position, _)| *position <= size).count() as u64)
    }
}
