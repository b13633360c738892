//! The commands, one file each. They read arguments and print; what they do stands in the rooms below.
//! Data goes to stdout, talk to stderr, and how a command ended is one of the exits of `exit`.

mod approve;
mod as_of;
mod ask;
mod awaited;
mod cancel;
mod cast;
mod check;
mod completions;
mod copy;
mod cost;

mod demo;
mod detach;
mod doctor;
mod end;
mod examples;
mod exit;
mod explain;
mod forms;
mod fresh;
mod graph;
mod here;
mod hindered;
mod hosting;
mod init;
mod listener;
mod live;
mod log;
mod looking;
mod made;
mod pause;
mod permissions;
mod place;
mod prompted;
mod ps;
mod refused;
mod run;
mod schema;
mod screen;
mod send;
pub mod soak;
mod steer;
mod stop;
mod test;
mod thread_name;
mod todo;
mod trail;
mod tree;
mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use systole_kit::writer::visible;

use exit::Exit;
use screen::Screen;

use crate::edges::descriptors;
use crate::edges::managed::warden;
use crate::edges::schemas::{trial, tried};

/// The groups of the help page, in its order, with their commands.
const GROUPS: &[(&str, &[&str])] = &[
    ("start", &["demo", "init", "check", "run", "stop", "ask", "send"]),
    ("look", &["ps", "why", "tree", "todo", "log", "context", "trail", "cost"]),
    ("steer", &["approve", "reject", "amend", "steer", "cancel", "pause", "resume", "end"]),
    ("prove", &["test", "copy", "soak"]),
    ("build", &["schema", "graph", "explain", "listener", "permissions", "doctor", "completions"]),
];

#[derive(Parser, Debug)]
#[command(name = "systole", version, about = "Runs an organism of listeners, and proves what they said")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Watch agents at work: a refusal, a kill, an approval
    Demo(demo::Demo),
    /// Write an organism that runs and answers
    Init(init::Init),
    /// Say everything that is wrong with the organism's file
    Check(check::Check),
    /// Run the organism until it is stopped
    Run(run::Run),
    /// Stop the organism of this folder
    Stop(stop::Stop),
    /// Ask the organism a question
    Ask(ask::Ask),
    /// Send a payload and wait for its answer
    Send(send::Send),
    /// List the newest threads
    Ps(ps::Ps),
    /// Say what a thread waits for
    Why(why::Why),
    /// Draw what came of a message
    Tree(tree::Tree),
    /// Show a thread's todo lists, now or as they once stood
    Todo(todo::Todo),
    /// Print the records of a thread or of the log
    Log(log::Log),
    /// Print the prompt that an agent's model was sent
    Context(prompted::Prompted),
    /// Say why a record is there, back to the door
    Trail(trail::Trail),
    /// Say what models were asked for, and what it came to
    Cost(cost::Cost),
    /// Approve payloads that wait for a person, or list them
    Approve(approve::Approve),
    /// Turn down what waits for a person
    Reject(approve::Reject),
    /// Put another payload in place of what waits
    Amend(approve::Amend),
    /// Say something to the work that goes on in a thread
    Steer(steer::Steer),
    /// Halt a thread, or everything
    Pause(pause::Pause),
    /// Let what was paused go on
    Resume(pause::Resume),
    /// End a thread and everything below it
    Cancel(cancel::Cancel),
    /// End a thread at rest
    End(end::End),
    /// Run the tests of an organism, with time skipped
    Test(test::Test),
    /// Bring the copy of a log in NATS up to date, or make it again
    Copy(copy::Copy),
    /// Kill an organism again and again, and prove that nothing was lost
    Soak(soak::Soak),
    /// Say what a code means, and what to do about it
    Explain(explain::Explain),
    /// Show what judges a payload, with an example and its prompt
    Schema(schema::Schema),
    /// Examine the machine, the organism's file and its log
    Doctor(doctor::Doctor),
    /// Draw who may address whom, with what
    Graph(graph::Graph),
    /// Write a listener, or try one alone
    #[command(subcommand)]
    Listener(listener::Listener),
    /// Say who may do what at the broker, or write its configuration
    Permissions(permissions::Permissions),
    /// Print the script by which a shell completes commands
    Completions(completions::Completions),
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == trial::WORD => {
            return tried::run(arguments.filter_map(|argument| argument.into_string().ok()));
        }
        Some(first) if first == warden::WORD => return warden::run(arguments),
        _ => {}
    }
    descriptors::raise();
    let mut typed: Vec<OsString> = std::env::args_os().collect();
    if typed.get(1).is_some_and(|first| first == detach::WORD) {
        typed.remove(1);
        detach::leave_the_terminal();
    }
    let matches = grouped(Arguments::command()).try_get_matches_from(typed);
    match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => screen::ended(arguments.command.run()).into(),
        Err(error) => unread(&error),
    }
}

/// Says what is wrong with the command line. What was typed is repeated in it, and may be anything.
fn unread(error: &clap::Error) -> ExitCode {
    let words = error.to_string();
    if !error.use_stderr() || *visible(&words) == *words {
        error.exit();
    }
    Screen::of_process(false).say(words.trim_end());
    Exit::Usage.into()
}

impl Command {
    fn run(self) -> Exit {
        match self {
            Command::Demo(demo) => demo.run(),
            Command::Init(init) => init.run(),
            Command::Check(check) => check.run(),
            Command::Run(run) => run.run(),
            Command::Stop(stop) => stop.run(),
            Command::Ask(ask) => ask.run(),
            Command::Send(send) => send.run(),
            Command::Ps(ps) => ps.run(),
            Command::Why(why) => why.run(),
            Command::Tree(tree) => tree.run(),
            Command::Todo(todo) => todo.run(),
            Command::Log(log) => log.run(),
            Command::Context(context) => context.run(),
            Command::Trail(trail) => trail.run(),
            Command::Cost(cost) => cost.run(),
            Command::Approve(approve) => approve.run(),
            Command::Reject(reject) => reject.run(),
            Command::Amend(amend) => amend.run(),
            Command::Steer(steer) => steer.run(),
            Command::Pause(pause) => pause.run(),
            Command::Resume(resume) => resume.run(),
            Command::Cancel(cancel) => cancel.run(),
            Command::End(end) => end.run(),
            Command::Test(test) => test.run(),
            Command::Copy(copy) => copy.run(),
            Command::Soak(soak) => soak.run(),
            Command::Explain(explain) => explain.run(),
            Command::Schema(schema) => schema.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Graph(graph) => graph.run(),
            Command::Listener(listener) => listener.run(),
            Command::Permissions(permissions) => permissions.run(),
            Command::Completions(completions) => completions.run(grouped(Arguments::command())),
        }
    }
}

/// The help page with its commands in groups, made from what the commands say of themselves.
fn grouped(command: clap::Command) -> clap::Command {
    let mut page = String::from("{about}\n\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        page.push_str(&["\n", group, ":\n"].concat());
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            page.push_str(
                &["  ", name, &" ".repeat(13_usize.saturating_sub(name.len())), &about, "\n"].concat(),
            );
        }
    }
    page.push_str("\nOptions:\n{options}\n\n`systole COMMAND --help` says more of each.\n");
    command.help_template(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_page_lists_every_command_once_and_no_other() {
        let command = grouped(Arguments::command());
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
        command.debug_assert();
    }

    #[test]
    fn help_fits_eighty_columns() {
        let mut command = grouped(Arguments::command()).term_width(80);
        command.build();
        let mut pages = vec![command.render_long_help().to_string()];
        pages.extend(command.get_subcommands_mut().map(|c| c.render_long_help().to_string()));
        for line in pages.iter().flat_map(|page| page.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
