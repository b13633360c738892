//! An organism that dies again and again before it writes a checkpoint: the next organism must not
//! have to fold more and more.

use systole_core::types::limits;
use systole_core::types::ports::{LogReader as _, LogWriter as _};
use systole_log::memory::MemoryLog;

use crate::log_records::{Author, batch, root};
use crate::organism::{ask, echo, say};
use crate::stalled;

#[tokio::test]
async fn what_was_folded_at_the_start_counts_towards_the_next_checkpoint() {
    let (mut log, mut author) = (MemoryLog::new(), Author::default());
    // As many lives as needed, each with fewer records than trigger a checkpoint.
    let lives = limits::RECORDS_TO_FOLD / 1_000 + 1;
    for _ in 0..lives {
        log.commit_batch(&batch((0..1_000).map(|n| author.note(&root(n), 10))));
    }
    assert_eq!(log.read_opening().unwrap().records.len(), lives * 1_000, "nothing was folded out yet");
    let folder = echo();
    let organism = stalled::start(folder.path(), &log).await;
    ask(&organism, "k1", &say("hello"), None).await.unwrap();
    // As far as the log can tell, the organism dies here: nothing more is written.
    let left = log.read_opening().unwrap().records.len();
    assert!(left < 1_000, "{left} records are folded again at the next start");
    drop(organism);
}
