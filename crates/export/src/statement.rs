//! What an export says about its files: an in-toto statement with the SHA-256 of each, in a DSSE envelope. It is signed
//! only if a key is given.

use serde::{Deserialize, Serialize};
use serde_json::json;
use systole_proof::key::{SignerKey, VerifierKey};
use systole_proof::statement::{decode_payload, encode_payload, make_key_id, sign_payload, verify_payload};

use crate::document_use::DocumentUse;
use systole_core::types::ids::Digest;

/// The type of the payload.
const PAYLOAD: &str = "application/vnd.in-toto+json";
/// The type of the statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// The type of what it says.
const PREDICATE: &str = "https://xml-pipeline.org/ns/export/v1";
/// How every form of an export begins.
const FORMS: &str = "systole export v";
/// The form of an export.
pub const FORM: &str = "systole export v1";
/// The word of an export without documents.
pub const WITHOUT_DOCUMENTS: &str = "documents";
/// The word of an export without documents that only journals name: a program keeps its prompts elsewhere.
pub const WITHOUT_PROMPTS: &str = "prompts";

/// What an export says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ExportPredicate {
    /// The form of the export.
    pub form: String,
    /// The threads that were asked for.
    pub threads: Vec<String>,
    /// The last position of the log that was looked at.
    pub last: u64,
    /// What was left out: `documents` or `prompts`.
    pub without: Vec<String>,
}

impl ExportPredicate {
    /// Whether the export may lack a document of that use.
    pub fn may_lack(&self, what: DocumentUse) -> bool {
        let is_without = |word: &str| self.without.iter().any(|left| left == word);
        is_without(WITHOUT_DOCUMENTS) || (what.is_of_journal() && is_without(WITHOUT_PROMPTS))
    }
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    #[serde(rename = "payloadType")]
    payload_type: String,
    payload: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Serialize, Deserialize)]
struct EnvelopeSignature {
    keyid: String,
    sig: String,
}

#[derive(Deserialize)]
struct Statement {
    subject: Vec<Subject>,
    predicate: ExportPredicate,
}

#[derive(Deserialize)]
struct Subject {
    name: String,
    digest: SubjectDigest,
}

#[derive(Deserialize)]
struct SubjectDigest {
    sha256: String,
}

/// Who signed a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StatementSigner {
    /// A key that the reader trusts.
    Known(String),
    /// Another key.
    Unknown(String),
}

/// A statement that was read.
pub struct ExportStatement {
    /// The files, with their hashes.
    pub files: Vec<(String, String)>,
    /// What the export says about itself.
    pub predicate: ExportPredicate,
    /// Who signed.
    pub signers: Vec<StatementSigner>,
}

/// Writes the statement over these files. `None` if the key makes cosignatures.
pub fn write_statement(
    files: &[(&str, Digest)],
    predicate: &ExportPredicate,
    key: Option<&SignerKey>,
) -> Option<String> {
    let subject =
        files.iter().map(|(name, hash)| json!({"name": name, "digest": {"sha256": hash.to_string()}}));
    let statement = json!({
        "_type": STATEMENT, "subject": subject.collect::<Vec<_>>(), "predicateType": PREDICATE,
        "predicate": predicate,
    });
    let payload = statement.to_string().into_bytes();
    let mut signatures = Vec::new();
    if let Some(key) = key {
        let sig = sign_payload(key, PAYLOAD, &payload)?;
        signatures.push(EnvelopeSignature { keyid: make_key_id(key.verifier()), sig });
    }
    let payload = encode_payload(&payload);
    let envelope = Envelope { payload_type: PAYLOAD.to_owned(), payload, signatures };
    serde_json::to_string(&envelope).ok().map(|text| text + "\n")
}

/// The form of an export that a newer version wrote; `None` if it has ours, or none that can be read.
pub fn find_newer_form(bytes: &[u8]) -> Option<String> {
    let envelope: Envelope = serde_json::from_slice(bytes).ok()?;
    let statement: Statement = serde_json::from_slice(&decode_payload(&envelope.payload)?).ok()?;
    let form = statement.predicate.form;
    (form != FORM && form.starts_with(FORMS)).then_some(form)
}

/// Reads a statement. A wrong signature of a known key is an error.
pub fn read_statement(bytes: &[u8], known: &[&VerifierKey]) -> Result<ExportStatement, String> {
    let form = || "statement.json has another form".to_owned();
    let envelope: Envelope = serde_json::from_slice(bytes).map_err(|_| form())?;
    let payload = decode_payload(&envelope.payload).ok_or_else(form)?;
    let statement: Statement = serde_json::from_slice(&payload).map_err(|_| form())?;
    if envelope.payload_type != PAYLOAD || statement.predicate.form != FORM {
        return Err("statement.json is of a kind that this version does not know".to_owned());
    }
    let mut signers = Vec::new();
    for EnvelopeSignature { keyid, sig } in envelope.signatures {
        match known.iter().find(|key| make_key_id(key) == keyid) {
            Some(key) if verify_payload(key, PAYLOAD, &payload, &sig) => {
                signers.push(StatementSigner::Known(keyid))
            }
            Some(_) => return Err(format!("statement.json: the signature of {keyid} is wrong")),
            None => signers.push(StatementSigner::Unknown(keyid)),
        }
    }
    let files = statement.subject.into_iter().map(|subject| (subject.name, subject.digest.sha256));
    Ok(ExportStatement { files: files.collect(), predicate: statement.predicate, signers })
}
