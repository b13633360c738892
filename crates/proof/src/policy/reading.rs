//! Reading the file of a policy, line by line.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::{PolicyMember, PolicyParty, QuorumRule, TrustPolicy, WitnessGroup};
use crate::key::{NoteKeyFault, SECRET_PREFIX, SignatureKind, VerifierKey};
use crate::limits;

/// Why a policy is refused. Names that are not UTF-8 are shown with replacement characters.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyFileFault {
    /// The file is too long.
    #[error("the policy has {0} bytes: {most} at most", most = limits::POLICY_BYTES)]
    TooLong(usize),
    /// A line is refused.
    #[error("line {line}: {fault}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        fault: PolicyLineFault,
    },
    /// The line that says which witnesses are required is missing.
    #[error("the policy has no quorum line; add one, for example: quorum none")]
    NoQuorum,
}

/// What is wrong with a line of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyLineFault {
    /// The file has more lines than are read.
    #[error("too many lines: {most} at most", most = limits::POLICY_LINES)]
    TooManyLines,
    /// A list is full.
    #[error("too many {0} lines: {most} at most", most = limits::POLICY_ENTRIES)]
    TooMany(&'static str),
    /// A byte that is not allowed.
    #[error("a control character; only tabs and line breaks are allowed")]
    Control,
    /// The first word is unknown.
    #[error("unknown keyword {0:?}; use log, witness, group or quorum")]
    Keyword(String),
    /// Words are missing or too many.
    #[error("the line has the form: {0}")]
    Form(&'static str),
    /// The key is refused.
    #[error(transparent)]
    Key(#[from] NoteKeyFault),
    /// The key is of the other kind.
    #[error("{0}")]
    Kind(&'static str),
    /// The key is used before.
    #[error("the same public key is on line {0}; each log and each witness has its own")]
    KeyTwice(usize),
    /// The address is not UTF-8.
    #[error("the address is not UTF-8")]
    Url,
    /// The name is used before, or is the predefined one.
    #[error("the name {0:?} is used before; choose another one (none is predefined)")]
    NameTwice(String),
    /// The name is not defined above.
    #[error("{0:?} is no witness and no group of an earlier line")]
    UnknownName(String),
    /// The name is a member of a group above.
    #[error("{0:?} is a member already; each witness and each group can be in one group, once")]
    MemberTwice(String),
    /// The number of a group is not from 1 to the number of members.
    #[error("the threshold {said:?} of a group of {members} is not all, any or a number from 1 to {members}")]
    Threshold {
        /// The word.
        said: String,
        /// The number of members.
        members: usize,
    },
    /// A second quorum line.
    #[error("a second quorum line; keep one")]
    QuorumTwice,
}

impl TrustPolicy {
    /// Reads a policy.
    ///
    /// # Errors
    /// If a line is wrong or the quorum is missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, PolicyFileFault> {
        if bytes.len() > limits::POLICY_BYTES {
            return Err(PolicyFileFault::TooLong(bytes.len()));
        }
        let mut reader = PolicyReader::default();
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            reader.take_line(number, line).map_err(|fault| PolicyFileFault::Line { line: number, fault })?;
        }
        let PolicyReader { logs, witnesses, groups, quorum, .. } = reader;
        Ok(Self { logs, witnesses, groups, quorum: quorum.ok_or(PolicyFileFault::NoQuorum)? })
    }
}

type PublicBytes = [u8; 32];

#[derive(Default)]
struct PolicyReader {
    logs: Vec<PolicyParty>,
    witnesses: Vec<PolicyParty>,
    groups: Vec<WitnessGroup>,
    quorum: Option<QuorumRule>,
    /// Names are bytes; the format does not say that they are UTF-8.
    names: BTreeMap<Vec<u8>, PolicyMember>,
    /// Names that are members of a group.
    members: BTreeSet<Vec<u8>>,
    log_keys: BTreeMap<PublicBytes, usize>,
    witness_keys: BTreeMap<PublicBytes, usize>,
}

impl PolicyReader {
    fn take_line(&mut self, number: usize, line: &[u8]) -> Result<(), PolicyLineFault> {
        // The piece after the last line break is no line.
        if number > limits::POLICY_LINES && !line.is_empty() {
            return Err(PolicyLineFault::TooManyLines);
        }
        if line.iter().any(|byte| *byte != b'\t' && (*byte < b' ' || *byte == 0x7f)) {
            return Err(PolicyLineFault::Control);
        }
        let words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        let words: Vec<&[u8]> = words.collect();
        match words.as_slice() {
            [] => Ok(()),
            [first, ..] if first.starts_with(b"#") => Ok(()),
            [b"log", rest @ ..] => self.read_log(number, rest),
            [b"witness", rest @ ..] => self.read_witness(number, rest),
            [b"group", rest @ ..] => self.read_group(rest),
            [b"quorum", rest @ ..] => self.read_quorum(rest),
            [other, ..] => Err(PolicyLineFault::Keyword(show_word(other))),
        }
    }

    fn read_log(&mut self, number: usize, words: &[&[u8]]) -> Result<(), PolicyLineFault> {
        let (key, url) = match words {
            [key] => (key, None),
            [key, url] => (key, Some(*url)),
            _ => return Err(PolicyLineFault::Form("log VERIFIER_KEY [URL]")),
        };
        let key = parse_key(key)?;
        if key.kind() != SignatureKind::Plain {
            return Err(PolicyLineFault::Kind("a log needs a key of type 0x01; this one makes cosignatures"));
        }
        check_room(self.logs.len(), "log")?;
        check_key(&mut self.log_keys, &key, number)?;
        self.logs.push(PolicyParty { name: key.name().to_owned(), key, url: parse_url(url)? });
        Ok(())
    }

    fn read_witness(&mut self, number: usize, words: &[&[u8]]) -> Result<(), PolicyLineFault> {
        let (name, key, url) = match words {
            [name, key] => (*name, key, None),
            [name, key, url] => (*name, key, Some(*url)),
            _ => return Err(PolicyLineFault::Form("witness NAME VERIFIER_KEY [URL]")),
        };
        let key = parse_key(key)?;
        if key.kind() != SignatureKind::Cosignature {
            return Err(PolicyLineFault::Kind(
                "a witness needs a key of type 0x04; this one signs for a log",
            ));
        }
        check_room(self.witnesses.len(), "witness")?;
        check_key(&mut self.witness_keys, &key, number)?;
        self.add_member(name, PolicyMember::Witness(self.witnesses.len()))?;
        self.witnesses.push(PolicyParty { name: show_word(name), key, url: parse_url(url)? });
        Ok(())
    }

    fn read_group(&mut self, words: &[&[u8]]) -> Result<(), PolicyLineFault> {
        let [name, threshold, names @ ..] = words else {
            return Err(PolicyLineFault::Form("group NAME all|any|NUMBER MEMBER.."));
        };
        if names.is_empty() {
            return Err(PolicyLineFault::Form("group NAME all|any|NUMBER MEMBER.."));
        }
        check_room(self.groups.len(), "group")?;
        let mut members = Vec::new();
        for name in names {
            members.push(self.find_member(name)?);
            if !self.members.insert(name.to_vec()) {
                return Err(PolicyLineFault::MemberTwice(show_word(name)));
            }
        }
        let threshold = parse_threshold(threshold, members.len())?;
        self.add_member(name, PolicyMember::Group(self.groups.len()))?;
        self.groups.push(WitnessGroup { threshold, members });
        Ok(())
    }

    fn read_quorum(&mut self, words: &[&[u8]]) -> Result<(), PolicyLineFault> {
        let [name] = words else { return Err(PolicyLineFault::Form("quorum NAME")) };
        if self.quorum.is_some() {
            return Err(PolicyLineFault::QuorumTwice);
        }
        self.quorum = Some(match *name {
            b"none" => QuorumRule::NoWitness,
            name => QuorumRule::Member(self.find_member(name)?),
        });
        Ok(())
    }

    fn find_member(&self, name: &[u8]) -> Result<PolicyMember, PolicyLineFault> {
        self.names.get(name).copied().ok_or_else(|| PolicyLineFault::UnknownName(show_word(name)))
    }

    fn add_member(&mut self, name: &[u8], member: PolicyMember) -> Result<(), PolicyLineFault> {
        if name == b"none" || self.names.insert(name.to_vec(), member).is_some() {
            return Err(PolicyLineFault::NameTwice(show_word(name)));
        }
        Ok(())
    }
}

fn check_room(count: usize, keyword: &'static str) -> Result<(), PolicyLineFault> {
    if count < limits::POLICY_ENTRIES { Ok(()) } else { Err(PolicyLineFault::TooMany(keyword)) }
}

fn check_key(
    known: &mut BTreeMap<PublicBytes, usize>,
    key: &VerifierKey,
    number: usize,
) -> Result<(), PolicyLineFault> {
    match known.insert(*key.public_bytes(), number) {
        Some(earlier) => Err(PolicyLineFault::KeyTwice(earlier)),
        None => Ok(()),
    }
}

fn parse_key(word: &[u8]) -> Result<VerifierKey, PolicyLineFault> {
    // What is not UTF-8 becomes a text with another name, whose ID is wrong.
    Ok(VerifierKey::parse(&String::from_utf8_lossy(word))?)
}

fn parse_url(word: Option<&[u8]>) -> Result<Option<String>, PolicyLineFault> {
    let text = word.map(|word| String::from_utf8(word.to_vec()));
    text.transpose().map_err(|_| PolicyLineFault::Url)
}

fn parse_threshold(word: &[u8], members: usize) -> Result<usize, PolicyLineFault> {
    let threshold = match word {
        b"all" => Some(members),
        b"any" => Some(1),
        digits => str::from_utf8(digits)
            .ok()
            .and_then(crate::encoding::parse_number)
            .and_then(|n| n.try_into().ok()),
    };
    let threshold = threshold.filter(|threshold| (1..=members).contains(threshold));
    threshold.ok_or_else(|| PolicyLineFault::Threshold { said: show_word(word), members })
}

/// A word of the file, for a name or a message. A secret key may stand anywhere by mistake, and is not repeated.
fn show_word(word: &[u8]) -> String {
    let word = String::from_utf8_lossy(word);
    if word.contains(SECRET_PREFIX) { "(a secret key)".to_owned() } else { word.into_owned() }
}
