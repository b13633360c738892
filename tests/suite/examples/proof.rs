//! The message of an organism whose witness is away.

use systole_core::types::codes::Code;
use systole_core::types::record::RecordCode;

use super::outside::records;
use super::{ExampleBook, replaced, words};
use crate::log_evidence::house;
use crate::program::{Running, systole};
use crate::proof_witnesses::{log_key, with_proof};

pub(super) async fn show(book: &mut ExampleBook) {
    let folder = house().await;
    let at = folder.path();
    let log = log_key(at);
    let made = systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]);
    std::fs::write(at.join("p"), format!("log {log}\nwitness w {}quorum w\n", made.stdout)).unwrap();
    with_proof(at, ", to: [\"http://127.0.0.1:1/witness\"], policy: p");
    let mut running = Running::organism(at);
    running.shows("proof.missing");
    running.interrupt();
    let all = records(at);
    let is_meant = |record: &&systole_core::types::record::Record| {
        record.header.code == Some(RecordCode::Code(Code::ProofMissing))
    };
    let body = String::from_utf8(all.iter().rev().find(is_meant).unwrap().body.to_vec()).unwrap();
    // Whether the first records of this run are in it is a matter of luck.
    let body = replaced(&body, "the checkpoint at #", " ", "64");
    let done = "systole run, and no witness listens at the address of `proof.to`";
    book.write(Code::ProofMissing, done, &words(Code::ProofMissing, body.as_bytes()));
}
