//! Names that are stored once, however often a document repeats them.
//!
//! A document of a megabyte may have a hundred thousand elements of one name, and each would cost its own
//! allocations. Text comes in, a shared word goes out. It judges nothing.

use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// A part of a name, shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InternedWord(Rc<str>);

impl InternedWord {
    pub(crate) fn from_text(text: &str) -> Self {
        Self(Rc::from(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for InternedWord {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InternedWord {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl PartialEq<str> for InternedWord {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for InternedWord {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

/// The words that a document used most recently.
#[derive(Default)]
pub(crate) struct WordTable {
    recent: Vec<InternedWord>,
    next: usize,
}

impl WordTable {
    pub(crate) fn intern_word(&mut self, text: &str) -> InternedWord {
        if let Some(known) = self.recent.iter().find(|known| *known.0 == *text) {
            return known.clone();
        }
        let word = InternedWord::from_text(text);
        match self.recent.get_mut(self.next) {
            Some(oldest) => *oldest = word.clone(),
            None => self.recent.push(word.clone()),
        }
        self.next = self.next.saturating_add(1) % crate::limits::RECENT_WORDS;
        word
    }
}
