//! How a host runs: until a signal to stop, and with another plan after a hangup.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use systole_kit::nats::{WorkerEvent, WorkerFault};
use tokio::sync::watch;

use super::exit::CommandExit;
use super::screen::Screen;
use super::signals::{SignalledWish, Signals};
use systole_core::types::ids::Name;
use systole_doors::reloading::RELOAD_DRAIN;
use systole_organism::hosting::{self, HostEvent, HostFault, HostPlan, HostReporter};
use systole_organism::reloading::programs::try_programs;

/// A host that runs, and how its file is read again.
pub(super) struct HostRun<'a> {
    pub(super) screen: Screen,
    pub(super) read_plan: &'a (dyn Fn() -> Result<HostPlan, CommandExit> + Sync),
}

impl HostRun<'_> {
    /// Hosts until a signal to stop; the second one ends at once. A hangup without a terminal takes the file again.
    pub(super) async fn host_until_signal(&self, plan: HostPlan, signals: &mut Signals) -> CommandExit {
        let (mut plan, mut before) = (plan, None);
        loop {
            say_started(self.screen, &plan);
            match self.host_plan(&plan, signals).await {
                HostEnd::Over(exit) => return exit,
                HostEnd::Reload(next) => before = Some(std::mem::replace(&mut plan, *next)),
                HostEnd::Unfit => {}
                HostEnd::Ended { fault, is_connected } => match before.take().filter(|_| !is_connected) {
                    Some(old) => {
                        report_end(self.screen, fault);
                        self.screen.say("the reload failed, and the configuration before goes on");
                        plan = old;
                    }
                    None => return report_end(self.screen, fault),
                },
            }
        }
    }

    async fn host_plan(&self, plan: &HostPlan, signals: &mut Signals) -> HostEnd {
        let (connected, (stop, stopping)) = (Connected::default(), watch::channel(None));
        let mut hosted = std::pin::pin!(hosting::host_listeners(connected.watch(plan), stopping));
        let mut next = loop {
            tokio::select! {
                ended = &mut hosted => return match ended {
                    Ok(()) => HostEnd::Over(CommandExit::Done),
                    Err(fault) => HostEnd::Ended { fault, is_connected: connected.has_all(plan) },
                },
                wish = signals.next_wish() => match wish {
                    SignalledWish::Stop(exit) => {
                        stop.send_replace(Some(hosting::HOST_GRACE));
                        return HostEnd::Over(self.await_end(exit, hosted, signals).await);
                    }
                    SignalledWish::Reload => if let Some(next) = self.read_again() { break next },
                },
            }
        };
        let time = RELOAD_DRAIN.as_secs();
        self.screen
            .say(format!("reloads: takes no more work, and waits up to {time} s for running deliveries"));
        stop.send_replace(Some(RELOAD_DRAIN));
        loop {
            tokio::select! {
                ended = &mut hosted => match ended {
                    Ok(()) => break,
                    Err(fault) => return HostEnd::Over(report_end(self.screen, fault)),
                },
                wish = signals.next_wish() => match wish {
                    SignalledWish::Stop(exit) => {
                        stop.send_replace(Some(hosting::HOST_GRACE));
                        return HostEnd::Over(self.await_end(exit, hosted, signals).await);
                    }
                    // The newest order counts.
                    SignalledWish::Reload => next = self.read_again().unwrap_or(next),
                },
            }
        }
        match try_programs(&next.composition, &plan.composition, &next.surroundings).await {
            Ok(()) => HostEnd::Reload(Box::new(next)),
            Err(words) => {
                self.screen.say(format!("the reload failed, and the configuration before goes on: {words}"));
                HostEnd::Unfit
            }
        }
    }

    /// Reads the file for a reload. What is wrong with it is printed, and changes nothing.
    fn read_again(&self) -> Option<HostPlan> {
        let read = tokio::task::block_in_place(self.read_plan);
        if read.is_err() {
            self.screen.say("not reloaded");
        }
        read.ok()
    }

    /// Waits for the end after a signal; the second signal ends at once.
    async fn await_end(
        &self,
        exit: CommandExit,
        hosted: Pin<&mut impl Future<Output = Result<(), HostFault>>>,
        signals: &mut Signals,
    ) -> CommandExit {
        self.screen.say(
            "stopping: takes no more work, and running deliveries get 5 s; a second signal stops at once",
        );
        tokio::select! {
            ended = hosted => match ended {
                Ok(()) => {
                    self.screen.say("stopped");
                    exit
                }
                Err(fault) => report_end(self.screen, fault),
            },
            _ = signals.next() => {
                self.screen.say("stopped at once; running deliveries are lost, and retried as the file says");
                CommandExit::Stopped
            }
        }
    }
}

/// How the hosting of a plan ended.
enum HostEnd {
    Over(CommandExit),
    /// It ended by itself; whether each of its listeners was connected before.
    Ended {
        fault: HostFault,
        is_connected: bool,
    },
    /// For another plan.
    Reload(Box<HostPlan>),
    /// For another plan with a program that does not start.
    Unfit,
}

/// The listeners that were connected.
#[derive(Default)]
struct Connected(Arc<Mutex<BTreeSet<Name>>>);

impl Connected {
    /// The same plan; it notes who is connected.
    fn watch(&self, plan: &HostPlan) -> HostPlan {
        let (seen, tell) = (self.0.clone(), plan.tell.clone());
        let tell: HostReporter = Arc::new(move |name: &Name, happened: &HostEvent| {
            if matches!(happened, HostEvent::AtBroker(WorkerEvent::Connected)) {
                seen.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
            }
            tell(name, happened);
        });
        HostPlan { tell, ..plan.clone() }
    }

    fn has_all(&self, plan: &HostPlan) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plan.composition.listeners.keys().all(|name| seen.contains(name))
    }
}

fn report_end(screen: Screen, unhosted: HostFault) -> CommandExit {
    let exit = match unhosted {
        HostFault::Listener(_) => CommandExit::Configuration,
        HostFault::Worker { .. } | HostFault::Late(_) => CommandExit::Unavailable,
    };
    screen.fail(exit, &unhosted);
    if let HostFault::Worker { why: WorkerFault::Forbidden { .. }, .. } = unhosted {
        screen.say(
            "  try: --keys with the folder of the keys that this broker's configuration was written with",
        );
    }
    exit
}

/// Reports what runs here, for people or as data.
fn say_started(screen: Screen, hosting: &HostPlan) {
    let names: Vec<&str> = hosting.composition.listeners.keys().map(Name::as_str).collect();
    let (organism, pid) = (hosting.composition.organism.as_str(), std::process::id());
    if screen.json {
        return screen.show_value(&json!({"organism": organism, "role": "listeners", "pid": pid,
            "listeners": names, "broker": hosting.url}));
    }
    let pid = pid.to_string();
    screen.say(format!("{organism} hosts {} over {}, as process {pid}", names.join(", "), hosting.url));
}
