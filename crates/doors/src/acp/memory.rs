//! What the door remembers of a session in one editor: the question that it was shown, the runs whose rest it was promised,
//! and the prompt that it has open. Nothing depends on it but comfort: after a restart a question is shown once more.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits;
use systole_core::types::ids::{Key, Name};

/// A session in an editor.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SessionPlace {
    pub(super) client: Name,
    pub(super) editor: String,
    pub(super) session: String,
}

#[derive(Default)]
struct SessionMemory {
    question: Option<String>,
    untold: BTreeSet<u64>,
    /// The open prompt, and how many connections follow it: one that is posted again may come before its first has gone.
    open: Option<(Key, usize)>,
}

/// The memory of all editors.
#[derive(Default)]
pub(super) struct EditorMemory(Mutex<HashMap<SessionPlace, SessionMemory>>);

impl EditorMemory {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionPlace, SessionMemory>> {
        // Every change is complete before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, place: &SessionPlace, change: impl FnOnce(&mut SessionMemory) -> T) -> T {
        let mut all = self.lock();
        if all.len() >= limits::EDITOR_SESSIONS {
            all.retain(|_, one| one.open.is_some());
        }
        change(all.entry(place.clone()).or_default())
    }

    /// Notes the question that the editor is shown.
    pub(super) fn note_question(&self, place: &SessionPlace, name: String) {
        self.change(place, |one| one.question = Some(name));
    }

    /// Whether the editor was shown that question last.
    pub(super) fn has_shown(&self, place: &SessionPlace, name: &str) -> bool {
        self.lock().get(place).is_some_and(|one| one.question.as_deref() == Some(name))
    }

    /// Notes a run that the next prompt goes on with.
    pub(super) fn note_untold(&self, place: &SessionPlace, run: u64) {
        self.change(place, |one| one.untold.insert(run));
    }

    /// Notes that a prompt goes on with a run.
    pub(super) fn note_told(&self, place: &SessionPlace, run: u64) {
        self.change(place, |one| one.untold.remove(&run));
    }

    /// The runs that the next prompt goes on with.
    pub(super) fn take_untold(&self, place: &SessionPlace) -> BTreeSet<u64> {
        self.lock().get_mut(place).map(|one| std::mem::take(&mut one.untold)).unwrap_or_default()
    }

    /// Opens a prompt. `None` if another one is open.
    pub(super) fn open_prompt(self: &Arc<Self>, place: &SessionPlace, key: &Key) -> Option<OpenPrompt> {
        let is_opened = self.change(place, |one| match &mut one.open {
            Some((open, count)) if open == key => {
                *count += 1;
                true
            }
            Some(_) => false,
            None => {
                one.open = Some((key.clone(), 1));
                true
            }
        });
        is_opened.then(|| OpenPrompt { memory: self.clone(), place: place.clone() })
    }
}

/// A prompt that is open until this is dropped.
pub(super) struct OpenPrompt {
    memory: Arc<EditorMemory>,
    place: SessionPlace,
}

impl Drop for OpenPrompt {
    fn drop(&mut self) {
        if let Some(one) = self.memory.lock().get_mut(&self.place) {
            one.open = one.open.take().and_then(|(key, count)| (count > 1).then(|| (key, count - 1)));
        }
    }
}
