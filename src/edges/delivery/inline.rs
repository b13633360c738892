//! Placeholder.
use std::sync::Arc;
use super::post::Post;
use crate::edges::tasks::Task;
use crate::edges::tasks::{self, Kind};
/// x
pub trait Answering: Send + Sync {}
/// y
pub fn answering() {}
pub(super) fn tend(post: &Post, _a: Arc<dyn Answering>) -> Task {
    tasks::start(Kind::Listener(post.listener.clone()), async {}, async |_| ())
}
