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
use systole_organism::hosting::{self, HostEvent, HostFault, HostPlan, HostReporter, HostStop};
use systole_organism::reloading::programs::try_programs;

/// A host that runs, and how its file is read again.
pub(super) struct HostRun<'a> {
    pub(super) screen: Screen,
    pub(super) read_plan: &'a (dyn Fn() -> Result<HostPlan, CommandExit> + Sync),
}

impl HostRun<'_> {
    /// Hosts until a signal to stop; the second one ends at once. A hangup without a terminal takes the file again.
    pub(super) async fn host_until_signal(&self, plan: HostPlan, signals: &mut Signals) -> CommandExit {
        // The plan before, as long as this one has not connected.
        let (mut plan, mut before) = (plan, None);
        loop {
            say_started(self.screen, &plan);
            let connected = ConnectedListeners::default();
            let ended = self.host_plan(&plan, &connected, signals).await;
            if connected.has_all(&plan) {
                before = None;
            }
            match ended {
                HostEnd::Over(exit) => return exit,
                HostEnd::Unfit => {}
                HostEnd::Reload(next) => {
                    let old = std::mem::replace(&mut plan, *next);
                    before = before.or(Some(old));
                }
                HostEnd::Fault(fault) => {
                    let exit = report_end(self.screen, fault);
                    let Some(old) = before.take() else { return exit };
                    self.screen.say("the reload failed, and the configuration before goes on");
                    plan = old;
                }
            }
        }
    }

    async fn host_plan(
        &self,
        plan: &HostPlan,
        connected: &ConnectedListeners,
        signals: &mut Signals,
    ) -> HostEnd {
        let (stop, stopping) = watch::channel(None);
        let mut hosted = std::pin::pin!(hosting::host_listeners(connected.watch(plan), stopping));
        let mut next: Option<HostPlan> = None;
        loop {
            tokio::select! {
                ended = &mut hosted => match (ended, next) {
                    (Err(fault), _) => return HostEnd::Fault(fault),
                    (Ok(()), None) => return HostEnd::Over(CommandExit::Done),
                    (Ok(()), Some(next)) => return self.try_plan(plan, next, signals).await,
                },
                wish = signals.next_wish() => match wish {
                    SignalledWish::Stop(exit) => {
                        stop.send_replace(Some(HostStop::default()));
                        return HostEnd::Over(self.await_end(exit, hosted, signals).await);
                    }
                    // The newest order counts.
                    SignalledWish::Reload => if let Some(read) = self.read_again(next.is_some()) {
                        if next.replace(read).is_none() {
                            let time = RELOAD_DRAIN.as_secs();
                            self.screen.say(format!("reloads: takes no more work; running deliveries get {time} s"));
                        }
                        // What is done waits for a pump that is away.
                        stop.send_replace(Some(HostStop { grace: RELOAD_DRAIN, is_bounded: false }));
                    },
                },
            }
        }
    }

    /// Tries the programs of another plan, now that nothing runs.
    async fn try_plan(&self, plan: &HostPlan, next: HostPlan, signals: &mut Signals) -> HostEnd {
        let trial = try_programs(&next.composition, &plan.composition, &next.surroundings);
        let tried = tokio::select! {
            tried = trial => tried,
            exit = signals.next() => return HostEnd::Over(exit),
        };
        match tried {
            Ok(()) => HostEnd::Reload(Box::new(next)),
            Err(words) => {
                self.screen.say(format!("the reload failed, and the configuration before goes on: {words}"));
                HostEnd::Unfit
            }
        }
    }

    /// Reads the file for a reload. What is wrong with it is printed, and changes nothing.
    fn read_again(&self, is_under_way: bool) -> Option<HostPlan> {
        let read = tokio::task::block_in_place(self.read_plan);
        if read.is_err() {
            self.screen.say(match is_under_way {
                true => "this file is not taken; the reload goes on with the file as it was read before",
                false => "not reloaded",
            });
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
    /// A listener cannot be hosted.
    Fault(HostFault),
    /// For another plan.
    Reload(Box<HostPlan>),
    /// For another plan with a program that does not start.
    Unfit,
}

/// The listeners that were connected.
#[derive(Default)]
struct ConnectedListeners(Arc<Mutex<BTreeSet<Name>>>);

impl ConnectedListeners {
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
