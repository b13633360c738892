//! What readings of the log share: the newest value for each view of the log, so that pages that refresh at one event,
//! and the next page that a person opens, do not fold the same records again.
//!
//! A view and the least position come in; a value that is at least that new goes out. Few are kept, those used last. It
//! is a cache: nothing is lost with it, and a value is never older than what was asked for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use systole_core::types::ids::Name;
use systole_core::types::ports::{LogFault, Position};

use crate::limits;

/// A view of the log: of one client, if it does not see all; at a position, if it is not the end.
pub type LogViewKey = (Option<Name>, Option<Position>);

/// A value, and the position up to which it has seen the log.
type KeptValue<T> = Option<(Position, Arc<T>)>;
/// The place of a view. Readings that need the same value wait for each other here.
type ViewSlot<T> = Arc<Mutex<KeptValue<T>>>;

/// The newest value of each view, or of each part of a view that the key names.
pub struct KeptViews<T, K = LogViewKey> {
    slots: Mutex<VecDeque<(K, ViewSlot<T>)>>,
}

impl<T, K> Default for KeptViews<T, K> {
    fn default() -> KeptViews<T, K> {
        KeptViews { slots: Mutex::default() }
    }
}

impl<T, K: PartialEq> KeptViews<T, K> {
    /// The value of a view, at least as new as `wanted`. The first reading that needs a newer one makes it from the one
    /// before, and the others wait for it.
    pub fn at_least(
        &self,
        view: K,
        wanted: Position,
        make: impl FnOnce(Option<Arc<T>>) -> Result<(Position, Arc<T>), LogFault>,
    ) -> Result<Arc<T>, LogFault> {
        let slot = self.find_slot(view);
        let mut kept = lock_value(&slot);
        if let Some((_, value)) = kept.as_ref().filter(|(end, _)| *end >= wanted) {
            return Ok(value.clone());
        }
        let (end, value) = make(kept.take().map(|(_, value)| value))?;
        *kept = Some((end, value.clone()));
        Ok(value)
    }

    fn find_slot(&self, view: K) -> ViewSlot<T> {
        let mut slots = lock_value(&self.slots);
        let found = slots.iter().position(|(known, _)| *known == view).and_then(|at| slots.remove(at));
        let (view, slot) = found.unwrap_or_else(|| (view, Arc::default()));
        slots.push_front((view, slot.clone()));
        slots.truncate(limits::KEPT_VIEWS);
        slot
    }
}

/// The value behind a lock. It is replaced as a whole, or counts each record once, so it is valid even if the lock is
/// poisoned.
pub fn lock_value<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn h4_refreshes_at_one_event_fold_the_log_once_and_a_later_one_goes_on_from_there() {
        let (views, folds) = (KeptViews::<u64>::default(), AtomicUsize::new(0));
        let fold = |wanted: u64| {
            let made = views.at_least((None, None), Position(wanted), |before| {
                folds.fetch_add(1, Ordering::Relaxed);
                Ok((Position(wanted), Arc::new(before.map_or(0, |before| *before) + 1)))
            });
            *made.unwrap()
        };
        std::thread::scope(|scope| {
            let pages: Vec<_> = (0..64).map(|_| scope.spawn(|| fold(7))).collect();
            assert!(pages.into_iter().all(|page| page.join().unwrap() == 1), "all see the same state");
        });
        assert_eq!(folds.load(Ordering::Relaxed), 1);
        assert_eq!(fold(6), 1, "an older event is served by a newer state");
        assert_eq!(fold(8), 2, "after a change the state is a newer one, made from the one before");
        assert_eq!(folds.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn h4_the_views_of_clients_are_apart_and_few_are_kept() {
        let views = KeptViews::<String>::default();
        let of = |view: LogViewKey| {
            let words = format!("{view:?}");
            let made = views.at_least(view, Position(1), |_| Ok((Position(1), Arc::new(words))));
            made.unwrap().to_string()
        };
        let name = |text: &str| Some(Name::parse(text).unwrap());
        for view in
            [(None, None), (name("alice"), None), (name("bob"), None), (name("bob"), Some(Position(3)))]
        {
            assert_eq!(of(view.clone()), format!("{view:?}"));
        }
        for at in 1..100 {
            of((None, Some(Position(at))));
        }
        assert_eq!(lock_value(&views.slots).len(), limits::KEPT_VIEWS);
    }

    #[test]
    fn h4_a_fault_keeps_nothing() {
        let views = KeptViews::<u64>::default();
        let fault = || LogFault::Io { path: "log".to_owned(), why: "gone".to_owned() };
        assert_eq!(views.at_least((None, None), Position(1), |_| Err(fault())).map(|_| ()), Err(fault()));
        let made = views.at_least((None, None), Position(1), |before| {
            assert!(before.is_none(), "nothing is left of it");
            Ok((Position(1), Arc::new(5)))
        });
        assert_eq!(*made.unwrap(), 5);
    }
}
