//! The clock of the pump is an hour before or behind that of its broker, also from one life of the pump to the next. The
//! pump really has another clock, and the broker is a real one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::broker::NatsServer;
use crate::over_nats::{HandWorker, folder_at, told};
use crate::over_nats_restart::posts;
use crate::program::Running;

const HOUR: i64 = 3_600;
/// A library that shifts the time of day of a program that loads it.
const SHIFTS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    int (*own)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = own(clock, time);
    char *shift = getenv("SYSTOLE_TEST_SHIFT");
    if (!failed && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += atol(shift);
    return failed;
}
"#;

/// An organism of one listener whose pump may have another clock.
struct Elsewhen {
    server: NatsServer,
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl Elsewhen {
    fn with(more: &str) -> Elsewhen {
        let server = NatsServer::start();
        let folder = folder_at(&server.url(), more);
        let (source, library) = (folder.path().join("shifts.c"), folder.path().join("shifts.so"));
        std::fs::write(&source, SHIFTS).unwrap();
        let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
        assert!(made.unwrap().success());
        Elsewhen { server, folder, library }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Starts the pump with its clock this many seconds before the broker's.
    fn runs(&self, shift: i64) -> Running {
        let shift = shift.to_string();
        let library = self.library.to_str().unwrap();
        let mut running =
            Running::organism_with(self.path(), &[("LD_PRELOAD", library), ("SYSTOLE_TEST_SHIFT", &shift)]);
        running.shows("echo is ready");
        running
    }
}

fn dies(pump: Running) {
    pump.signal(Signal::KILL);
    drop(pump.end());
}

#[tokio::test(flavor = "multi_thread")]
async fn b21_a_clock_that_is_an_hour_off_makes_nothing_too_old() {
    for [first, next] in [[HOUR, HOUR], [-HOUR, -HOUR], [HOUR, -HOUR], [-HOUR, HOUR]] {
        let at = Elsewhen::with(", in_flight: 2, timeout: 60s, on_unknown: fail");
        let running = at.runs(first);
        let worker = HandWorker::of(&at.server).await;
        posts(at.path(), "answered at once");
        assert!(worker.says(&worker.pulls().await, "done").await.ends_with("/>"));
        assert_eq!(told(at.path()), ["message/request", "attempt/", "message/final"]);
        posts(at.path(), "at work");
        let held = worker.pulls().await;
        dies(running);
        let _running = at.runs(next);
        assert!(worker.says(&held, "done").await.ends_with("/>"), "{first} {next}");
        assert_eq!(told(at.path()), ["message/request", "attempt/", "message/final"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b21_a_clock_that_is_an_hour_off_changes_no_timeout() {
    for [first, next] in [[0, HOUR], [0, -HOUR], [HOUR, 0]] {
        let at = Elsewhen::with(", in_flight: 2, timeout: 4s, retry: {backoff: 1ms..1ms}");
        let running = at.runs(first);
        let worker = HandWorker::of(&at.server).await;
        posts(at.path(), "hi");
        let begun = Instant::now();
        let held = worker.pulls().await;
        dies(running);
        let _running = at.runs(next);
        let again = worker.pulls().await;
        let took = begun.elapsed();
        assert_ne!(again.token, held.token);
        assert!(took >= Duration::from_millis(3_900), "{took:?} {first} {next}");
        assert!(worker.says(&again, "done").await.ends_with("/>"));
        assert_eq!(told(at.path()), ["message/request", "attempt/listener.timeout", "message/final"]);
    }
}
