//! The listener: a request comes in, work goes to a thread of its own, and an answer goes out.
//!
//! A request that cannot be served is answered with the reason. A failure is reported only if the folder is gone or
//! the work itself broke.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use systole_kit::Payload;
use systole_kit::reply::{Item, ReplyContent};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::extract::extract_code;
use crate::limits::{REQUESTS, TIME};
use crate::pattern::find_pattern;
use crate::request::CodeRequest;
use crate::search::search;
use systole_folder::{DenyFault, DenyList, FolderRoot, WorkBound};

/// What a listener of code is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSpec {
    /// The only folder that it reads.
    pub root: PathBuf,
    /// Files that it does not show, as ignore rules, in addition to keys and credentials.
    pub deny: Vec<String>,
}

/// A listener of code.
#[derive(Debug)]
pub struct CodeListener {
    root: PathBuf,
    deny: DenyList,
    at_once: Arc<Semaphore>,
}

/// Ends the work when its answer is no longer wanted.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl CodeListener {
    /// Makes the listener. It opens nothing yet.
    ///
    /// # Errors
    /// If a deny pattern cannot be used.
    pub fn new(spec: &CodeSpec) -> Result<CodeListener, DenyFault> {
        let deny = DenyList::new(&spec.deny)?;
        Ok(CodeListener { root: spec.root.clone(), deny, at_once: Arc::new(Semaphore::new(REQUESTS)) })
    }

    /// Answers a request.
    pub async fn answer_to(self: Arc<Self>, payload: Payload) -> ReplyContent {
        let Ok(permit) = self.at_once.clone().acquire_owned().await else {
            return build_failure("code.failed", true, "the listener is closed");
        };
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let _cancel = CancelOnDrop(is_cancelled.clone());
        let own = self.clone();
        let work = tokio::task::spawn_blocking(move || {
            let said = own.reply_with(&payload, &is_cancelled);
            drop(permit);
            said
        });
        work.await.unwrap_or_else(|error| {
            build_failure("code.failed", false, &format!("the search broke: {error}"))
        })
    }

    fn reply_with(&self, payload: &Payload, is_cancelled: &AtomicBool) -> ReplyContent {
        let Some(request) = CodeRequest::from_payload(payload) else {
            return build_failure("code.failed", false, &format!("{} is no request of code", payload.name()));
        };
        let root = match FolderRoot::open_root(&self.root, &self.deny) {
            Ok(root) => root,
            Err(error) => {
                let words = format!("the folder {} cannot be opened: {error}", self.root.display());
                return build_failure("code.no-root", false, &words);
            }
        };
        let bound = WorkBound { deadline: Instant::now() + TIME, is_cancelled };
        let answer = match &request {
            CodeRequest::Search(request) => search(&root, request, bound).map(|answer| answer.to_payload()),
            CodeRequest::Extract(request) => {
                extract_code(&root, request, bound).map(|answer| answer.to_payload())
            }
            CodeRequest::Query(request) => {
                find_pattern(&root, request, bound).map(|answer| answer.to_payload())
            }
        };
        let answer = answer.unwrap_or_else(|fault| fault.to_payload(request.element()));
        match answer {
            Some(answer) => ReplyContent::Items(vec![Item::plain(answer)]),
            None => build_failure("code.failed", false, "its answer cannot be written"),
        }
    }
}

fn build_failure(code: &str, retry: bool, words: &str) -> ReplyContent {
    ReplyContent::new_failure(code, retry, words)
}
