//! Which reload counts more than the organism's file, as the fold of the log's own thread has it.

use serde::{Deserialize, Serialize};

use crate::rules::core_payload;
use crate::rules::reload_payload::{self, Reload, ReloadNews};
use crate::rules::shutdown_payload::{self, RunEnding};
use crate::types::ids::Digest;

/// The last reload, as long as its configuration runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LastReload {
    /// The reload.
    pub reload: Reload,
    /// Whether the organism was stopped in order since then.
    pub is_stopped: bool,
}

impl LastReload {
    /// Whether an organism that is started from a file with this configuration starts with that of the reload. It does
    /// after a crash. After a stop in order it does only if the reload turned away from just this file.
    pub fn is_in_force(&self, file: Digest) -> bool {
        self.reload.config != file && (!self.is_stopped || self.reload.before == file)
    }
}

/// What a record of the log's own thread makes of the last reload.
pub(crate) fn fold_record(last: &mut Option<Box<LastReload>>, body: &[u8]) {
    if let Some(ReloadNews::Done(reload)) = reload_payload::read_news(body) {
        *last = Some(Box::new(LastReload { reload, is_stopped: false }));
    } else if last.is_none() {
        // Nothing else begins one, so most records are not parsed.
    } else if let Some((config, _)) = core_payload::read_boot(body) {
        // Another configuration was started on purpose, or is about to be recorded as a reload.
        *last = last.take().filter(|last| last.reload.config == config);
        if let Some(last) = last {
            last.is_stopped = false;
        }
    } else if let Some(shutdown) = shutdown_payload::read_shutdown(body)
        && shutdown.ending == RunEnding::Stop
    {
        *last = last.take().filter(|last| last.reload.is_back);
        if let Some(last) = last {
            last.is_stopped = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::reload_payload::write_news;
    use crate::types::ids::Name;
    use crate::types::time::Millis;

    #[test]
    fn d9_after_a_crash_the_reload_counts_and_after_a_stop_only_if_it_turned_away_from_the_file() {
        let [file, other, third] = [1, 2, 3].map(|byte| Digest([byte; 32]));
        let boot = |config| core_payload::write_boot("hello", config, Millis(0), &[], None);
        let reloaded = |config, before, is_back| {
            let by = Name::new_operator();
            write_news(&ReloadNews::Done(Reload { config, before, by, is_back }))
        };
        let stop = || shutdown_payload::write_shutdown(true, 0, RunEnding::Stop);
        let reload = || shutdown_payload::write_shutdown(true, 0, RunEnding::Reload);
        let command = || shutdown_payload::write_shutdown(true, 0, RunEnding::Command);
        let fold = |bodies: &[_]| {
            let mut last = None;
            bodies.iter().for_each(|body: &std::sync::Arc<[u8]>| fold_record(&mut last, body));
            move |config| last.as_ref().is_some_and(|last| last.is_in_force(config))
        };
        let to_other = [boot(file), reload(), boot(other), reloaded(other, file, false)];
        let after = |more: &[_]| fold(&[&to_other[..], more].concat());
        // (what followed, in force for `file`, for `other`, for `third`)
        for (more, wanted) in [
            (vec![], [true, false, true]),
            (vec![boot(other)], [true, false, true]),
            (vec![reload()], [true, false, true]),
            (vec![boot(other), command(), boot(other)], [true, false, true]),
            (vec![stop()], [false, false, false]),
            (vec![boot(file)], [false, false, false]),
            (vec![reload(), boot(file), reloaded(file, other, true)], [false, true, true]),
            (vec![reload(), boot(file), reloaded(file, other, true), stop()], [false, true, false]),
            (
                vec![reload(), boot(file), reloaded(file, other, true), stop(), boot(file)],
                [false, true, true],
            ),
            (vec![reload(), boot(file), reloaded(file, other, true), stop(), boot(third)], [false; 3]),
        ] {
            let is_in_force = after(&more);
            assert_eq!([file, other, third].map(is_in_force), wanted, "{more:?}");
        }
    }
}
