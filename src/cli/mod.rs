//! The commands, one file each. They read arguments and print; the modules below do the work. Data
//! goes to stdout, messages to stderr, and every command ends with one of the exits of `exit`.

mod acp;
mod approve;
mod ask;
mod backup;
mod blame;
mod blob;
mod cancel;
mod check;
mod checkpoint;
mod complete_words;
mod completions;
mod config;
mod console;
mod copy;
mod demo;
mod detach;
mod diff;
mod doctor;
mod end;
mod erase;
mod examples;
mod exit;
mod explain;
mod export;
mod find;
mod first_process;
mod follow;
mod followers;
mod fork;
mod forms;
mod fresh;
mod graph;
mod help;
mod host_run;
mod hosting;
mod init;
mod keygen;
mod listen_as;
mod listener;
mod live;
mod live_order;
mod local_organism;
mod log;
mod looking;
mod mcp;
mod moments;
mod open;
mod operator_log;
mod option_order;
mod pause;
mod payload_from_fields;
mod permissions;
mod pipe;
mod place;
mod prove;
mod proved_record;
mod ps;
mod questions;
mod refusal_text;
mod reload;
mod reloading;
mod remote_organism;
mod replay;
mod retry;
mod run;
mod run_difference;
mod running;
mod schedules;
mod schema;
mod screen;
mod sdk;
mod send;
mod signals;
mod steer;
mod stop;
mod system_faults;
mod test;
mod thread_name;
mod trail;
mod trust_policy;
mod typed_lines;
mod unfound;
mod unread;
mod verified_prompts;
mod verify;
mod witness;
mod workflow;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use exit::CommandExit;
use screen::Screen;

use systole_bus::managed::warden;
use systole_carriers::{ADAPTER_WORD, WARDEN_WORD, guard_program};
use systole_judge::{trial, trial_process, xpath_filter, xpath_process};
use systole_system::descriptors;
use systole_system::pager::Pager;
use systole_system::system::describe_error;

#[derive(Parser, Debug)]
#[command(name = "systole", version, about = "Runs an organism of listeners, and proves what they said")]
struct Arguments {
    /// Run as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true, display_order = 500)]
    directory: Option<PathBuf>,
    /// Show times in UTC instead of local time
    #[arg(long, global = true, display_order = 500)]
    utc: bool,
    /// Print long output without a pager
    #[arg(long, global = true, display_order = 500)]
    no_pager: bool,
    #[command(subcommand)]
    command: Command,
}

// In the order of the help page. A documentation comment here would become the text of the program's help.
#[derive(Subcommand, Debug)]
enum Command {
    /// Watch agents at work: a refusal, a kill, an approval
    Demo(demo::DemoCommand),
    /// Write an organism that runs and answers
    Init(init::InitCommand),
    /// Say everything that is wrong with the organism's file
    Check(check::CheckCommand),
    /// Run the organism until it is stopped
    Run(run::RunCommand),
    /// Stop the organism of this folder
    Stop(stop::StopCommand),
    /// Let the running organism go on with its changed file
    Reload(reload::ReloadCommand),
    /// List the configurations that ran, show one, or compare two
    Config(config::ConfigGroup),
    /// Open the pages of the running organism in a browser
    Console(console::OpenConsole),
    /// Show a log or an export in a browser, without an organism
    Open(open::OpenLog),
    /// Ask the organism a question
    Ask(ask::AskCommand),
    /// Send a payload and wait for its answer
    Send(send::SendPayload),
    /// List the newest threads
    Ps(ps::Ps),
    /// Print the records of a thread or of the log
    Log(log::Log),
    /// Find messages by words, names, kind and time
    Find(find::FindMessages),
    /// Say why a record is there, back to the door
    Trail(trail::Trail),
    /// Say who wrote a line of a workspace's file
    Blame(blame::BlameLine),
    /// Print bytes that the log keeps under their hash
    Blob(blob::KeptBlob),
    #[command(flatten)]
    Question(questions::AskedQuestion),
    /// Approve payloads that wait for a person, or list what waits
    Approve(approve::ApproveCommand),
    /// Turn down what waits for a person
    Reject(approve::RejectCommand),
    /// Put another payload in place of what waits
    Amend(approve::AmendCommand),
    /// Answer a question that waits for a person
    Choose(approve::ChooseCommand),
    /// Say something to the work that goes on in a thread
    Steer(steer::SteerCommand),
    /// End a thread and everything below it, or calls that wait
    Cancel(cancel::CancelCommand),
    /// Halt a thread, or everything
    Pause(pause::PauseCommand),
    /// Let paused threads go on
    Resume(pause::ResumeCommand),
    /// Let threads that failed go on
    Retry(retry::RetryCommand),
    /// End a thread at rest
    End(end::EndCommand),
    /// Run the tests of an organism, with time skipped
    Test(test::TestCommand),
    /// Make a key that signs checkpoints
    Keygen(keygen::KeygenCommand),
    /// Sign how many records the log has, and their root
    Checkpoint(checkpoint::SignCheckpoint),
    /// Write one record with the proof that it is in the log
    Prove(prove::ProveCommand),
    /// Verify a log, and compare it with what others kept of it
    Verify(verify::VerifyCommand),
    /// Run recorded threads again, without models, and compare
    Replay(replay::ReplayCommand),
    /// Compare two threads record by record
    Diff(diff::Diff),
    /// Copy a thread up to a turn into a log of its own
    Fork(fork::ForkCommand),
    /// Take threads along, with everything that verifies them
    Export(export::ExportCommand),
    /// Write a verified copy of the log, also while it is in use
    Backup(backup::BackupCommand),
    /// Cosign the checkpoints of the logs of others
    #[command(subcommand)]
    Witness(witness::WitnessCommand),
    /// Take sensitive values, or whole bodies, out of a log for good
    Erase(erase::EraseCommand),
    /// Bring the copy of a log in NATS up to date, or make it again
    Copy(copy::CopyCommand),
    /// List who gets the events of the log, or say where one goes on
    Follow(followers::FollowCommand),
    /// Show what judges a payload, with an example and its prompt
    Schema(schema::SchemaCommand),
    /// Draw who may address whom, with what
    Graph(graph::Graph),
    /// Say what a code means, and what to do about it
    Explain(explain::Explain),
    /// Write a listener, or try one alone
    #[command(subcommand)]
    Listener(listener::ListenerCommand),
    /// Write an SDK and the types of the payloads beside the organism
    Sdk(sdk::SdkCommand),
    /// Explain a workflow, or make one from an Agentfile
    #[command(subcommand)]
    Workflow(workflow::WorkflowCommand),
    /// Serve the organism over MCP, or pin MCP servers
    Mcp(mcp::McpGroup),
    /// Serve the organism to an editor, over ACP
    Acp(acp::AcpCommand),
    /// Say who may do what at the broker, or write its configuration
    Permissions(permissions::PermissionsCommand),
    /// Examine the machine, the organism's file and its log
    Doctor(doctor::DoctorCommand),
    /// Print the script by which a shell completes commands and ids
    Completions(completions::CompletionsCommand),
    /// Print the completions for a command
    #[command(hide = true)]
    CompleteWords(complete_words::WordsCommand),
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == trial::WORD => {
            return trial_process::run(arguments.filter_map(|argument| argument.into_string().ok()));
        }
        Some(first) if first == xpath_filter::WORD => {
            return xpath_process::run(arguments.filter_map(|argument| argument.into_string().ok()));
        }
        Some(first) if first == warden::WORD => return warden::run(arguments),
        Some(first) if first == WARDEN_WORD => return guard_program(),
        Some(first) if first == ADAPTER_WORD => return listen_as::run_listener(arguments),
        // Before anything makes a thread.
        Some(first) if first == systole_sandbox::WORD => return systole_sandbox::enter_sandbox(arguments),
        _ => {}
    }
    if let Some(exit) = first_process::stand_in() {
        return exit;
    }
    operator_log::install_subscriber();
    descriptors::raise_limit();
    let mut typed: Vec<OsString> = std::env::args_os().collect();
    if typed.get(1).is_some_and(|first| first == detach::WORD) {
        typed.remove(1);
        detach::leave_the_terminal();
    }
    let command = help::add_help(Arguments::command());
    let typed = option_order::move_options(&command, typed.into_iter());
    let matches = command.try_get_matches_from(typed);
    if let Ok(matches) = &matches
        && let Some(name) = matches.subcommand_name().filter(|name| !remote_organism::can_take_address(name))
        && has_value(matches, &["url", "token_env"])
    {
        return remote_organism::refuse_address(Screen::new(false), name).into();
    }
    let read = matches.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, is_json(&matches))));
    match read {
        Ok((arguments, json)) => screen::check_output(arguments.run(json)).into(),
        Err(error) => unread::report_error(&Arguments::command(), &error).into(),
    }
}

/// Whether the selected command was given one of these options with a value.
fn has_value(matches: &ArgMatches, options: &[&str]) -> bool {
    match matches.subcommand() {
        Some((_, below)) => has_value(below, options),
        None => {
            let has = |option: &&str| matches.try_get_one::<String>(option).ok().flatten().is_some();
            options.iter().any(has)
        }
    }
}

/// Whether the selected command prints data as JSON.
fn is_json(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, below)) => is_json(below),
        None => matches.try_get_one("json").ok().flatten().copied().unwrap_or(false),
    }
}

impl Arguments {
    fn run(self, json: bool) -> CommandExit {
        if let Some(folder) = &self.directory
            && let Err(error) = std::env::set_current_dir(folder)
        {
            let screen = Screen::new(false);
            let words = format!("-C {}: {}", folder.display(), describe_error(&error));
            return screen.refuse(words, "-C with the path of a folder that you can enter");
        }
        screen::lay_out(json, self.utc);
        let _pager = (!json && !self.no_pager && self.command.is_paged()).then(Pager::start);
        self.command.run().unwrap_or_else(|exit| exit)
    }
}

impl Command {
    /// Whether its output may be long and is read from its beginning.
    fn is_paged(&self) -> bool {
        match self {
            Command::Log(log) => log.is_paged(),
            Command::Ps(_) => true,
            Command::Trail(_)
            | Command::Find(_)
            | Command::Question(_)
            | Command::Explain(_)
            | Command::Graph(_)
            | Command::Verify(_)
            | Command::Replay(_)
            | Command::Diff(_) => true,
            Command::Workflow(workflow) => workflow.is_paged(),
            _ => false,
        }
    }

    fn run(self) -> Result<CommandExit, CommandExit> {
        match self {
            Command::Demo(demo) => Ok(demo.run()),
            Command::Init(init) => init.run(),
            Command::Check(check) => Ok(check.run()),
            Command::Run(run) => run.run(),
            Command::Stop(stop) => stop.run(),
            Command::Reload(reload) => reload.run(),
            Command::Config(config) => config.run(),
            Command::Console(console) => console.run(),
            Command::Open(open) => open.run(),
            Command::Ask(ask) => ask.run(),
            Command::Send(send) => send.run(),
            Command::Ps(ps) => ps.run(),
            Command::Log(log) => log.run(),
            Command::Find(find) => find.run(),
            Command::Trail(trail) => trail.run(),
            Command::Blame(blame) => blame.run(),
            Command::Blob(blob) => blob.run(),
            Command::Question(question) => question.run(),
            Command::Approve(approve) => approve.run(),
            Command::Reject(reject) => reject.run(),
            Command::Amend(amend) => amend.run(),
            Command::Choose(choose) => choose.run(),
            Command::Steer(steer) => steer.run(),
            Command::Pause(pause) => pause.run(),
            Command::Resume(resume) => resume.run(),
            Command::Retry(retry) => retry.run(),
            Command::Cancel(cancel) => cancel.run(),
            Command::End(end) => end.run(),
            Command::Test(test) => test.run(),
            Command::Keygen(keygen) => keygen.run(),
            Command::Checkpoint(checkpoint) => checkpoint.run(),
            Command::Prove(prove) => prove.run(),
            Command::Erase(erase) => erase.run(),
            Command::Verify(verify) => verify.run(),
            Command::Export(export) => export.run(),
            Command::Replay(replay) => replay.run(),
            Command::Diff(diff) => diff.run(),
            Command::Fork(fork) => fork.run(),
            Command::Backup(backup) => backup.run(),
            Command::Witness(witness) => witness.run(),
            Command::Copy(copy) => copy.run(),
            Command::Follow(follow) => follow.run(),
            Command::Explain(explain) => Ok(explain.run(&Arguments::command())),
            Command::Schema(schema) => schema.run(),
            Command::Doctor(doctor) => Ok(doctor.run()),
            Command::Graph(graph) => graph.run(),
            Command::Listener(listener) => listener.run(),
            Command::Sdk(sdk) => sdk.run(),
            Command::Workflow(workflow) => workflow.run(),
            Command::Mcp(mcp) => mcp.run(),
            Command::Acp(acp) => acp.run(),
            Command::Permissions(permissions) => permissions.run(),
            Command::CompleteWords(words) => words.run(),
            Command::Completions(completions) => Ok(completions.run(help::add_help(Arguments::command()))),
        }
    }
}
