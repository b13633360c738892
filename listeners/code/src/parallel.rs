//! The same work on many things, on a few threads.
//!
//! A list comes in; the results go out in its order.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits;

/// Does the work on each thing.
pub(crate) fn map_in_parallel<T: Sync, R: Send>(things: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(limits::THREADS);
    if threads < 2 || things.len() < limits::FEW {
        return things.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = things.get(at) else { return done };
            done.push((at, work(thing)));
        }
    };
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut all = take();
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                // The caller hears of the panic as of one of its own.
                Err(panicked) => std::panic::resume_unwind(panicked),
            }
        }
        all
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}
