//! The one table of keys: every key of an organism's file with its default. The loader and the reference both
//! use this table. A key that is not in it is rejected.

use super::key::{ConfigKey, KeyForm, MeasureBounds, key};
use super::rehearsal::TEST_KEYS;
use systole_agent::spec::Provider;
use systole_core::types::limits;

/// The path of a step of a workflow in the table of keys.
pub(super) const STEP_TABLE: &str = "workflows.NAME.goals.NAME";

/// Deepest nesting of calls and spawns.
const DEEPEST: u32 = 16;
const _: () = assert!(DEEPEST as usize == limits::DEPTH);

const MAP: KeyForm = KeyForm::Map;
const SET: KeyForm = KeyForm::Set;
const TEXT: KeyForm = KeyForm::Text { empty: false };
const SECOND: (&str, u64) = ("1s", 1_000);
const DAY: (&str, u64) = ("1d", 86_400_000);
/// How long one attempt of a listener may take.
const ATTEMPT: KeyForm = KeyForm::Duration(MeasureBounds { least: ("1ms", 1), most: DAY });
/// A wait within one message.
const WAIT: KeyForm = KeyForm::Duration(MeasureBounds { least: SECOND, most: DAY });
/// A wait for a person, or within a run of a workflow.
const LONG_WAIT: KeyForm = KeyForm::Duration(MeasureBounds { least: SECOND, most: ("365d", 31_536_000_000) });
/// Tokens of one model request.
const REQUEST_TOKENS: KeyForm =
    KeyForm::Tokens(MeasureBounds { least: ("1", 1), most: ("1000M", 1_000_000_000) });
/// Tokens of a budget.
const BUDGET_TOKENS: KeyForm =
    KeyForm::Tokens(MeasureBounds { least: ("1", 1), most: ("1000000M", limits::BUDGET_TOKENS) });
/// The largest number of repetitions under `loops`.
pub(super) const MOST_ROUNDS: u32 = 1_000;
/// The largest number of passes of a loop in a workflow.
pub(super) const MOST_PASSES: u32 = 1_000;
const AMOUNT: KeyForm = KeyForm::Amount(r"^[0-9]+(\.[0-9]{1,6})?$");
const BACKOFF: KeyForm = KeyForm::Pattern(r"^[0-9]+(ms|s|m|h|d)\.\.[0-9]+(ms|s|m|h|d)$");
const MONEY: KeyForm = KeyForm::Pattern(r"^[0-9]+(\.[0-9]{1,6})? [A-Z]{3}$");
/// The name of an organism.
const DOTLESS: KeyForm = KeyForm::Name("^[a-z][a-z0-9-]{0,62}$");
/// The name of a party.
const PARTY: &str = r"^[a-z][a-z0-9-]{0,62}(\.[a-z][a-z0-9-]{0,62})*$";

const fn later(path: &'static str, meaning: &'static str) -> ConfigKey {
    ConfigKey { path, default: "not built yet", meaning, built: false, form: KeyForm::Later }
}

/// Every key, parents before children.
pub const KEYS: &[ConfigKey] = &[
    key("organism", "required", "the organism itself").of(MAP),
    key("organism.name", "required", "its name, without dots").of(DOTLESS),
    key(
        "organism.entry",
        "the only open workflow, else the only open agent, or none",
        "the agent, workflow or listener that gets messages without an addressee, and the questions of `ask`",
    ).of(KeyForm::Name(PARTY)),
    key("organism.description", "none", "its purpose, in words for people").of(TEXT),
    key("organism.preamble", "none", "text before every agent's prompt").of(TEXT),
    key("listeners", "none", "the listeners by name; a file has one here, or an agent under `agents`").of(KeyForm::Names(PARTY)),
    key("listeners.NAME", "required", "one listener").of(MAP),
    key(
        "listeners.NAME.run",
        "required",
        "the program and its arguments, as a list; a listener that a Rust program brings itself, over NATS, or with `code`, `workspace` or `mcp`, has none",
    ).of(KeyForm::List),
    key(
        "listeners.NAME.mcp",
        "none",
        "the program of an MCP server and its arguments, as a list, or its address, as text, in place of `run`; a package after `npx` or `uvx` is installed by `systole mcp pin`; it accepts the tools that this command has pinned",
    ).of(KeyForm::Lines),
    key(
        "listeners.NAME.key_env",
        "none",
        "with `mcp` at an address: the environment variable that holds the key, which is sent as a bearer token; the key itself is in no file",
    ).of(KeyForm::Name("^[A-Za-z_][A-Za-z0-9_]*$")),
    key("listeners.NAME.tools", "all", "with `mcp`: the tools that are used, by their names at the server, or `all`").of(KeyForm::Lines),
    key("listeners.NAME.safe", "[]", "with `mcp`: tools that need no person; a person approves every call of any other").of(SET),
    key(
        "listeners.NAME.trust",
        "none",
        "with `mcp`: `hints`, so that a tool whose server says that it only reads needs no person",
    ).of(KeyForm::Words(&["none", "hints"])),
    key(
        "listeners.NAME.code",
        "none",
        "the folder whose source code the listener searches, instead of a program; a path from this file's folder",
    ).of(TEXT),
    key(
        "listeners.NAME.deny",
        "[]",
        "with `code` or `workspace`: files of that folder that it neither shows nor edits, in addition to keys and credentials, as lines of a `.gitignore`",
    ).of(SET),
    key(
        "listeners.NAME.workspace",
        "none",
        "the folder whose files the listener edits, and in which it runs commands, instead of a program; a path from this file's folder",
    ).of(TEXT),
    key("listeners.NAME.ask", "[]", "with `workspace`: files whose edits need a person, as lines of a `.gitignore`").of(SET),
    key(
        "listeners.NAME.shell",
        "[]",
        "with `workspace`: commands that need no person, word by word; a last word `*` stands for any further words",
    ).of(SET),
    key(
        "listeners.NAME.schema",
        "none",
        "an XSD that declares its payloads, searched before `payloads` and `schemas`; a path from this file's folder",
    ).of(TEXT),
    key("listeners.NAME.accepts", "required", "payloads that it takes as requests, by local name; left out with `code`, `workspace` and `mcp`, which have their own").of(SET),
    key("listeners.NAME.returns", "[]", "payloads that answer a call to it, by local name").of(SET),
    key("listeners.NAME.peers", "[]", "listeners it may address").of(SET),
    key("listeners.NAME.turns", "1, 4 with `workspace`, or 10 with `mcp`", "turns that a call to it may take, 1 to 1000000; with 1 it makes no calls").of(KeyForm::Count(1, limits::TURNS)),
    key(
        "listeners.NAME.share",
        "50%",
        "largest share of the remaining message budget that a child thread that begins with it may use, 1% to 100%",
    ).of(KeyForm::Pattern("^[0-9]+%$")),
    key("listeners.NAME.env", "{}", "environment variables that are set for its program").of(KeyForm::Names("^[A-Za-z_][A-Za-z0-9_]*$")),
    key("listeners.NAME.env.NAME", "none", "the value of one variable").of(KeyForm::Text { empty: true }),
    key("listeners.NAME.pass", "[]", "environment variables that are passed on to its program").of(SET),
    key("listeners.NAME.mode", "stay", "`stay`: one process for many messages; `once`: one process for each").of(KeyForm::Words(&["stay", "once"])),
    key(
        "listeners.NAME.framing",
        "lines",
        "`lines`: a document is one line; `length`: its length comes before it",
    ).of(KeyForm::Words(&["lines", "length"])),
    key(
        "listeners.NAME.sandbox",
        "none, or {} with `mcp`, `code` and `workspace`",
        "the sandbox of its program, or of the commands of a workspace: a map, which may be `{}`, or `none`; in a sandbox there is no network but `net`, only the system's folders, the program itself and `read` can be read, and only `write`, HOME and TMPDIR written",
    ).of(KeyForm::TextOrMap),
    key("listeners.NAME.sandbox.read", "[]", "files and folders that it may read, paths from this file's folder").of(SET),
    key("listeners.NAME.sandbox.write", "[]", "folders in which it may also write, paths from this file's folder").of(SET),
    key(
        "listeners.NAME.sandbox.net",
        "[]",
        "addresses of the network that it may reach, as `host:port`, through a proxy that HTTPS_PROXY names; needs level full",
    ).of(SET),
    key("listeners.NAME.sandbox.processes", "64", "most processes at once, 1 to 4096; if there are more, all are ended").of(KeyForm::Count(1, 4096)),
    key("listeners.NAME.sandbox.memory", "4GiB", "most memory that it and all that it starts hold together, 16MiB to 1024GiB; if they hold more, all are ended").of(KeyForm::Size(MeasureBounds { least: ("16MiB", 16 << 20), most: ("1024GiB", 1 << 40) })),
    key("listeners.NAME.sandbox.output", "1GiB", "size of the largest file that it may write, 1KiB to 1024GiB").of(KeyForm::Size(MeasureBounds { least: ("1KiB", 1 << 10), most: ("1024GiB", 1 << 40) })),
    key("listeners.NAME.timeout", "30s, 60s with `mcp`, or 10m with `workspace`", "the hard end of an attempt, 1ms to 1d; a command of a workspace has nine tenths of it").of(ATTEMPT),
    key("listeners.NAME.idle", "none, or 30s over NATS", "the longest silence within an attempt, at most `timeout`").of(ATTEMPT),
    key("listeners.NAME.in_flight", "1, or 16 with `mcp`, `code` and `workspace`", "deliveries to it that may be open at once, 1 to 1024").of(KeyForm::Count(1, 1024)),
    key("listeners.NAME.retry", "as its keys", "how failed deliveries are repeated").of(MAP),
    key(
        "listeners.NAME.retry.attempts",
        "3",
        "attempts at one turn, the first included, 1 to 100; attempts that die with the organism count separately, and only if their number was on record: the fifth of them is the last, or a later one if `attempts` is more",
    ).of(KeyForm::Count(1, 100)),
    key(
        "listeners.NAME.retry.backoff",
        "1s..30s",
        "the first pause and the longest; each is twice the one before",
    ).of(BACKOFF),
    key(
        "listeners.NAME.on_unknown",
        "retry, or fail with `mcp` and `workspace`",
        "after an attempt with an unknown outcome: `retry`, `fail`, or `ask`, which holds the call for a person",
    ).of(KeyForm::Words(&["retry", "fail", "ask"])),
    key("listeners.NAME.approval", "as its keys", "when a person must approve what goes to it").of(MAP),
    key(
        "listeners.NAME.approval.when",
        "dangerous",
        "`dangerous`: what its schema or its sender marks as dangerous; `always`: everything",
    ).of(KeyForm::Words(&["dangerous", "always"])),
    key(
        "listeners.NAME.approval.expires",
        "7d",
        "how long to wait for a person, 1s to 365d; also when `on_unknown` asks one",
    ).of(LONG_WAIT),
    key(
        "listeners.NAME.approval.tell",
        "[]",
        "listeners that get every `<approval-requested>` of a payload for it and every `<person-asked>` of its own; their answers go nowhere",
    ).of(SET),
    key("listeners.NAME.timers", "as its keys", "what happens to the timers that it sets").of(MAP),
    key(
        "listeners.NAME.timers.tell",
        "[]",
        "listeners that get a `<timer-finished>` when a call that one of its timers opened is over, whether it succeeded or failed; their answers go nowhere",
    ).of(SET),
    key("listeners.NAME.entry", "false", "whether it takes messages from outside").of(KeyForm::Flag),
    key(
        "listeners.NAME.describe",
        "peers",
        "whose payloads it can ask about: `none`, `peers` or `all`",
    ).of(KeyForm::Words(&["none", "peers", "all"])),
    key("listeners.NAME.nats", "false", "whether it is a worker at the broker that `bus` or `log` names, instead of a program").of(KeyForm::Flag),
    later("listeners.NAME.rate", "most messages to it in a second"),
    later("listeners.NAME.dead", "what happens to dead letters"),
    key("limits", "as its keys", "limits of the whole organism").of(MAP),
    key("limits.message", "1MiB", "the largest message from any sender, 1KiB to 1MiB").of(KeyForm::Size(MeasureBounds { least: ("1KiB", 1 << 10), most: ("1MiB", limits::MESSAGE_BYTES as u64) })),
    key("limits.outage", "3d", "how long a call waits for a broker, worker, program or model that is away, 0s to 365d; with 0s it fails at once, or over NATS at its `timeout`").of(KeyForm::Duration(MeasureBounds { least: ("0s", 0), most: ("365d", limits::OUTAGE_MOST_MS) })),
    key("log", "as its keys", "where the log is kept").of(MAP),
    key("log.path", "./organism.db", "the log's file, or the copy of a log in NATS; a path from this file's folder").of(TEXT),
    key("log.nats", "none", "the NATS server whose JetStream keeps the log, `nats://HOST:PORT`, without credentials, or a list of those of a cluster; `bus` is left out beside it").of(KeyForm::Lines),
    key("log.key_env", "none", "as `bus.key_env`").of(KeyForm::Name("^[A-Za-z_][A-Za-z0-9_]*$")),
    key("log.durability", "always", "`always`: every commit is on the broker's disk, which `log.monitor` shows; `relaxed`: the broker may lose commits when its machine loses power").of(KeyForm::Words(&["always", "relaxed"])),
    key("log.monitor", "none", "the broker's monitoring page, `http://HOST:PORT`; of a cluster the list of all").of(KeyForm::Lines),
    key("log.replicas", "1", "copies of the log in a NATS cluster, 1 to 5").of(KeyForm::Count(1, 5)),
    key("proof", "none", "signs checkpoints of the log while the organism runs, and sends them to witnesses").of(MAP),
    key("proof.key", "required", "the file of the secret key, from `systole keygen`; a path from this file's folder").of(TEXT),
    key("proof.origin", "required", "the name of the log, which is the name of the key").of(TEXT),
    key("proof.every", "1h", "how often a checkpoint is signed if the log has grown, 1s to 365d; also at each start and each clean stop").of(LONG_WAIT),
    key("proof.to", "[]", "witnesses by their addresses, `http://` or `https://`, and folders that keep the checkpoint and the tiles of the log, paths from this file's folder").of(SET),
    key("proof.policy", "none", "the file with the keys of the witnesses, in the form of `tlog-policy`; required beside an address in `to`").of(TEXT),
    key("console", "as its keys", "the HTTP door").of(MAP),
    key(
        "console.listen",
        "127.0.0.1:7474, or a free port if that is in use",
        "the address and port it listens on; if another program uses it, `run` fails",
    ).of(KeyForm::Pattern(r"^(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]+$")),
    key("clients", "none", "clients that may connect from outside, in addition to the operator, by name").of(KeyForm::Names(PARTY)),
    key("clients.NAME", "required", "one client; its name is the sender of what it sends").of(MAP),
    key(
        "clients.NAME.token_env",
        "required",
        "the environment variable that holds its token at the HTTP door, 16 characters or more; read when the door is opened; optional with `nats: true`",
    ).of(KeyForm::Name("^[A-Za-z_][A-Za-z0-9_]*$")),
    key("clients.NAME.nats", "false", "whether it may connect over the broker that `bus` or `log` names, with its own key there").of(KeyForm::Flag),
    key("clients.NAME.may", "all with `entry: true`", "listeners it may address, of those with `entry: true`").of(SET),
    key(
        "clients.NAME.roles",
        "[]",
        "`read`: read the threads of others; `operate`: continue, cancel and pause them; `approve`: decide requests that wait for a person, and read the conversations that led to them",
    ).of(KeyForm::SetOf(&["read", "operate", "approve"])),
    key("payloads", "none", "payloads in the compact form, by name").of(KeyForm::Names("")),
    key("payloads.NAME", "required", "one payload: a map of its fields, a type, or a list").of(KeyForm::Compact),
    key("schemas", "[]", "XSDs whose elements every listener may name, paths from this file's folder").of(SET),
    key("models", "none", "models by name").of(KeyForm::Names(PARTY)),
    key("models.NAME", "required", "one model").of(MAP),
    key("models.NAME.provider", "required", Provider::MEANING).of(KeyForm::Words(Provider::WORDS)),
    key("models.NAME.model", "none", "its name at the provider; only a script needs none").of(TEXT),
    key("models.NAME.url", "the provider's own", "its address, `http://` or `https://`, optionally with a query, without a name, password or key").of(KeyForm::Pattern("^[Hh][Tt][Tt][Pp][Ss]?://")),
    key("models.NAME.key_env", "none", "the environment variable that holds the key; the key itself is in no file").of(KeyForm::Name("^[A-Za-z_][A-Za-z0-9_]*$")),
    key("models.NAME.headers_env", "none", "further headers of each request by name, each with the environment variable that holds its value").of(KeyForm::Names("^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")),
    key("models.NAME.headers_env.NAME", "none", "the environment variable that holds the value of this header; the value itself is in no file").of(KeyForm::Name("^[A-Za-z_][A-Za-z0-9_]*$")),
    key("models.NAME.file", "replies.yaml", "the file of answers if `provider` is `script`, a path from this file's folder").of(TEXT),
    key("models.NAME.window", "128k", "most tokens of a request and its answer together").of(REQUEST_TOKENS),
    key("models.NAME.max_output", "4k", "most tokens of an answer, fewer than `window`").of(REQUEST_TOKENS),
    key("models.NAME.stream", "true", "whether its answers are streamed; `false` for providers that only answer in one piece").of(KeyForm::Flag),
    key("models.NAME.timeout", "as its keys", "how long to wait for it").of(MAP),
    key("models.NAME.timeout.first", "300s", "from the request to the first content, 1s to 1d; without `stream` to the whole answer").of(WAIT),
    key("models.NAME.timeout.between", "120s", "between two pieces of content, 1s to 1d").of(WAIT),
    key("models.NAME.params", "{}", "further parameters, sent to the provider as they are").of(KeyForm::Names("")),
    key("models.NAME.params.NAME", "none", "one parameter: a value, a list or a map").of(KeyForm::Anything),
    key("models.NAME.price", "none", "what its tokens cost").of(MAP),
    key("models.NAME.price.in", "required", "tokens that it reads, with at most six decimals").of(AMOUNT),
    key("models.NAME.price.out", "required", "tokens that it writes").of(AMOUNT),
    key("models.NAME.price.cached", "as `in`", "tokens that it reads from the provider's cache").of(AMOUNT),
    key("models.NAME.price.per", "1M", "for how many tokens these are").of(REQUEST_TOKENS),
    key("models.NAME.price.currency", "required", "the currency, three capital letters").of(KeyForm::Pattern("^[A-Z]{3}$")),
    key("models.NAME.at_once", "4", "requests to it that may be open at once, 1 to 1024").of(KeyForm::Count(1, 1024)),
    key("models.NAME.retry", "as its keys", "how failed requests are repeated").of(MAP),
    key("models.NAME.retry.attempts", "4", "requests for one answer, the first included, 1 to 100").of(KeyForm::Count(1, 100)),
    key("models.NAME.retry.backoff", "1s..60s", "the first pause and the longest; each is twice the one before").of(BACKOFF),
    key("models.NAME.fallback", "[]", "models to ask if this one cannot answer, in order").of(SET),
    key("agents", "none", "the agents by name: listeners that think").of(KeyForm::Names(PARTY)),
    key("agents.NAME", "required", "one agent").of(MAP),
    key("agents.NAME.model", "required", "its model, by the name under `models`").of(KeyForm::Name(PARTY)),
    key("agents.NAME.dialect", "xml", "how it acts: `xml`: in its text; `native`: by the provider's tool calls; `xml-final`: by tool calls, with the final in its text; `plain`: its whole answer is the result").of(KeyForm::Words(&["xml", "native", "xml-final", "plain"])),
    key("agents.NAME.thinking", "`required`", "whether it reasons before every action: `required` or `free`").of(KeyForm::Words(&["required", "free"])),
    key("agents.NAME.actions", "one; many with native calls", "how many actions a turn may hold: `one` or `many`; with native calls `many`").of(KeyForm::Words(&["one", "many"])),
    key("agents.NAME.stop_early", "false", "whether to cut its answer after the first action instead of reading it to the end; with `xml` and one action a turn").of(KeyForm::Flag),
    key("agents.NAME.attempts", "3", "it ends after this many unusable answers in a row, 1 to 100").of(KeyForm::Count(1, 100)),
    key("agents.NAME.turns", "10", "turns that a call to it may take, 1 to 1000; with 1 it makes no calls").of(KeyForm::Count(1, limits::AGENT_TURNS)),
    key("agents.NAME.sees", "call", "what it sees: `call`: its own call; `thread`: also the messages of others in the thread").of(KeyForm::Words(&["call", "thread"])),
    key("agents.NAME.tool_choice", "none", "the tool choice in a request with native calls: `auto`, `required`, `none`, or the name of a tool").of(TEXT),
    key("agents.NAME.tool_output_max", "4KiB", "how much of an answer it sees, 256B to 1MiB; the log keeps all of it").of(KeyForm::Size(MeasureBounds { least: ("256B", 256), most: ("1MiB", 1 << 20) })),
    key("agents.NAME.output", "as its keys", "the form of its final; with `native` and `xml-final`").of(MAP),
    key("agents.NAME.output.format", "text", "`json`, `markdown` or `text`").of(KeyForm::Words(&["json", "markdown", "text"])),
    key("agents.NAME.output.schema", "none", "a JSON Schema that a final in `json` must follow, a path from this file's folder").of(TEXT),
    key("agents.NAME.prompt", "none", "the sections of its prompt by name, in this order: `identity`, `capabilities`, `rules`, or any other").of(KeyForm::Names("^[a-z][a-z0-9_-]{0,62}$")),
    key("agents.NAME.prompt.NAME", "none", "a section: a text, a list of texts, or a file").of(KeyForm::LinesOrMap),
    key("agents.NAME.prompt.NAME.file", "required", "a file with the text in UTF-8, a path from this file's folder; its text is part of the configuration").of(TEXT),
    key("agents.NAME.schema", "none", "an XSD that declares its payloads, as for a listener").of(TEXT),
    key("agents.NAME.accepts", "[ask] of talk", "payloads that it takes as requests, by local name").of(SET),
    key("agents.NAME.returns", "[answer] of talk", "payloads that answer a call to it, by local name").of(SET),
    key("agents.NAME.peers", "[]", "listeners and agents it may address").of(SET),
    key("agents.NAME.share", "50%", "largest share of the remaining message budget that a child thread that begins with it may use, 1% to 100%").of(KeyForm::Pattern("^[0-9]+%$")),
    key("agents.NAME.timeout", "10m", "the hard end of an attempt, 1ms to 1d").of(ATTEMPT),
    key("agents.NAME.idle", "none, or 30s over NATS", "the longest silence within an attempt, at most `timeout`").of(ATTEMPT),
    key("agents.NAME.in_flight", "16", "deliveries to it that may be open at once, 1 to 1024").of(KeyForm::Count(1, 1024)),
    key("agents.NAME.retry", "as its keys", "how failed deliveries are repeated; requests to its model are repeated by `models.NAME.retry`").of(MAP),
    key("agents.NAME.retry.attempts", "3", "attempts at one turn, as for a listener, 1 to 100").of(KeyForm::Count(1, 100)),
    key("agents.NAME.retry.backoff", "1s..30s", "the first pause and the longest; each is twice the one before").of(BACKOFF),
    key("agents.NAME.on_unknown", "retry", "after an attempt with an unknown outcome: `retry`, which may pay for a request twice, `fail`, or `ask`, which holds the call for a person").of(KeyForm::Words(&["retry", "fail", "ask"])),
    key("agents.NAME.approval", "as its keys", "when a person must approve what goes to it").of(MAP),
    key("agents.NAME.approval.when", "dangerous", "as for a listener: `dangerous` or `always`").of(KeyForm::Words(&["dangerous", "always"])),
    key("agents.NAME.approval.expires", "7d", "how long to wait for a person, 1s to 365d; also when `on_unknown` asks one").of(LONG_WAIT),
    key("agents.NAME.approval.tell", "[]", "as for a listener").of(SET),
    key("agents.NAME.timers", "as its keys", "what happens to the timers that it sets").of(MAP),
    key("agents.NAME.timers.tell", "[]", "listeners that get a `<timer-finished>`, as for a listener").of(SET),
    key("agents.NAME.entry", "true", "whether it takes messages from outside").of(KeyForm::Flag),
    key("agents.NAME.describe", "peers", "whose payloads it can ask about: `none`, `peers` or `all`").of(KeyForm::Words(&["none", "peers", "all"])),
    key("workflows", "none", "the workflows by name: listeners that follow goals; docs/reference/workflows.md describes them").of(KeyForm::Names(PARTY)),
    key("workflows.NAME", "required", "one workflow").of(MAP),
    key("workflows.NAME.accepts", "[ask] of talk", "payloads that it takes as requests, by local name").of(SET),
    key("workflows.NAME.returns", "[answer] of talk", "the one payload that its last step gives").of(SET),
    key("workflows.NAME.by", "none", "the agent of goals that name none").of(KeyForm::Name(PARTY)),
    key("workflows.NAME.supervise", "none", "the agent that supervises its goals, or `person`").of(KeyForm::Name(PARTY)),
    key("workflows.NAME.tasks", "none", "lets the agent of a goal give tasks, which run in child threads").of(MAP),
    key("workflows.NAME.tasks.by", "required", "the agent that takes the tasks").of(KeyForm::Name(PARTY)),
    key("workflows.NAME.tasks.at_most", "8", "tasks of one goal and agent, 1 to 32").of(KeyForm::Count(1, 32)),
    key("workflows.NAME.budget", "none", "what each child of its steps may use, unless the step says otherwise").of(MAP),
    key("workflows.NAME.budget.messages", "none", "calls and spawns, 1 to 1000000").of(KeyForm::Count(1, limits::BUDGET_MESSAGES)),
    key("workflows.NAME.budget.tokens", "none", "tokens of models: a whole number, `200k` or `1M`").of(BUDGET_TOKENS),
    key("workflows.NAME.budget.money", "none", "what models may cost, as `0.50 USD`").of(MONEY),
    key("workflows.NAME.entry", "true", "whether it takes messages from outside").of(KeyForm::Flag),
    key("workflows.NAME.description", "none", "its purpose, in words for people").of(TEXT),
    key("workflows.NAME.goals", "required", "its steps, in the order in which they are done").of(KeyForm::Steps),
    key("workflows.NAME.goals.NAME", "required", "one step by its id: the words of a goal, or a map").of(KeyForm::TextOrMap),
    key("workflows.NAME.goals.NAME.do", "none", "a goal: what agents should do, in words").of(TEXT),
    key("workflows.NAME.goals.NAME.by", "`by` of the workflow", "the agent that pursues the goal, or a list of agents that each pursue it").of(KeyForm::Texts),
    key("workflows.NAME.goals.NAME.gives", "text", "the payload that a goal gives, by local name").of(TEXT),
    key("workflows.NAME.goals.NAME.sees", "everything done before it", "what the goal sees: ids and paths; `[]` hides the request too").of(SET),
    key("workflows.NAME.goals.NAME.tasks", "`tasks` of the workflow", "lets the agent of a goal give tasks, which run in child threads").of(MAP),
    key("workflows.NAME.goals.NAME.tasks.by", "required", "the agent that takes the tasks").of(KeyForm::Name(PARTY)),
    key("workflows.NAME.goals.NAME.tasks.at_most", "8", "tasks of one goal and agent, 1 to 32").of(KeyForm::Count(1, 32)),
    key("workflows.NAME.goals.NAME.call", "none", "the element that is sent to a listener").of(TEXT),
    key("workflows.NAME.goals.NAME.to", "none", "the listener that is called; required beside `call`").of(KeyForm::Name(PARTY)),
    key("workflows.NAME.goals.NAME.with", "none", "the content of the payload: the id of a goal, whose fields of the same names are copied, or a map of fields").of(KeyForm::TextOrNames),
    key("workflows.NAME.goals.NAME.with.NAME", "none", "one field: a path, or a map; `.` is the own text of the element").of(KeyForm::TextOrMap),
    key("workflows.NAME.goals.NAME.with.NAME.text", "required", "a text that is sent as it is").of(KeyForm::Text { empty: true }),
    key("workflows.NAME.goals.NAME.ask", "none", "a question to a person").of(TEXT),
    key("workflows.NAME.goals.NAME.choices", "[]", "the choices; without choices the answer is a note").of(SET),
    key("workflows.NAME.goals.NAME.shows", "[]", "goals whose outputs are printed with the question").of(SET),
    key("workflows.NAME.goals.NAME.expires", "1d", "how long to wait for a person, 1s to 365d").of(LONG_WAIT),
    key("workflows.NAME.goals.NAME.otherwise", "none", "the choice that counts when it expires; without it the step fails").of(TEXT),
    key("workflows.NAME.goals.NAME.goals", "none", "steps inside it, one after another").of(KeyForm::Steps),
    key("workflows.NAME.goals.NAME.parallel", "none", "steps inside it, in parallel").of(KeyForm::Steps),
    key("workflows.NAME.goals.NAME.wait", "none", "how long to wait, 1s to 365d").of(LONG_WAIT),
    key("workflows.NAME.goals.NAME.each", "none", "a path to a list: the step is done once for each item").of(TEXT),
    key("workflows.NAME.goals.NAME.at_once", "4", "items or steps that run at once, 1 to 32").of(KeyForm::Count(1, 32)),
    key("workflows.NAME.goals.NAME.repeat", "none", "repeats the steps under `goals`").of(MAP),
    key("workflows.NAME.goals.NAME.repeat.until", "required", "when to stop: `converged`, or conditions as under `when`").of(KeyForm::WordOrNames("converged")),
    key("workflows.NAME.goals.NAME.repeat.until.NAME", "none", "the value at this path: a value, a list of values, or a range").of(KeyForm::Texts),
    key("workflows.NAME.goals.NAME.repeat.at_most", "required", "most passes, 1 to 1000").of(KeyForm::Count(1, MOST_PASSES)),
    key("workflows.NAME.goals.NAME.when", "none", "conditions by path, all of which must hold; otherwise the step is skipped").of(KeyForm::Names("")),
    key("workflows.NAME.goals.NAME.when.NAME", "none", "the value at this path: a value, a list of values, or a range").of(KeyForm::Texts),
    key("workflows.NAME.goals.NAME.failed", "stop", "if it fails: `stop` ends the run, `keep` goes on").of(KeyForm::Words(&["stop", "keep"])),
    key("workflows.NAME.goals.NAME.supervise", "as the step around it", "the agent that supervises the goal, or the goals inside; or `person`").of(KeyForm::Name(PARTY)),
    key("workflows.NAME.goals.NAME.timeout", "none", "how long it may take, 1s to 365d").of(LONG_WAIT),
    key("workflows.NAME.goals.NAME.retry", "as its keys", "how a step that failed is repeated").of(MAP),
    key("workflows.NAME.goals.NAME.retry.attempts", "1", "attempts in all, the first included, 1 to 100").of(KeyForm::Count(1, 100)),
    key("workflows.NAME.goals.NAME.retry.backoff", "1s..30s", "the first pause and the longest; each is twice the one before").of(BACKOFF),
    key("workflows.NAME.goals.NAME.budget", "as the step around it", "what each child of this step may use, and of the steps inside it").of(MAP),
    key("workflows.NAME.goals.NAME.budget.messages", "none", "calls and spawns, 1 to 1000000").of(KeyForm::Count(1, limits::BUDGET_MESSAGES)),
    key("workflows.NAME.goals.NAME.budget.tokens", "none", "tokens of models: a whole number, `200k` or `1M`").of(BUDGET_TOKENS),
    key("workflows.NAME.goals.NAME.budget.money", "none", "what models may cost, as `0.50 USD`").of(MONEY),
    key("budgets", "as its keys", "what one message from outside may use, with everything it causes").of(MAP),
    key("budgets.messages", "500", "calls and spawns, 1 to 1000000").of(KeyForm::Count(1, limits::BUDGET_MESSAGES)),
    key("budgets.depth", "6", "how deep calls and spawns nest, counted from the first call on, 1 to 16").of(KeyForm::Count(1, DEEPEST)),
    key("budgets.children", "32", "child threads in all, at all depths together, 1 to 10000; at most 1000 of a call are open at once").of(KeyForm::Count(1, limits::BUDGET_CHILDREN)),
    key(
        "budgets.wall",
        "none",
        "how long the work on it may take, 1s to 1d; not counted while it waits only for persons and timers",
    ).of(WAIT),
    key("budgets.tokens", "none", "tokens of models: a whole number, `200k` or `1M`").of(BUDGET_TOKENS),
    key(
        "budgets.money",
        "none",
        "what models may cost: an amount with at most six decimals, and its currency: `2 USD`",
    ).of(MONEY),
    later("threads", "when an idle thread ends"),
    key("loops", "as its keys", "when a repeated call gets a warning, and when it is refused").of(MAP),
    key(
        "loops.repeated",
        "3..5",
        "of the same calls to the same listener, which one gets a warning and which one is refused, 1 to 1000",
    ).of(KeyForm::Pattern(r"^[0-9]+\.\.[0-9]+$")),
    key("loops.ping_pong", "6", "turns that may call one listener while nothing new is called or answered, 1 to 1000").of(KeyForm::Count(1, MOST_ROUNDS)),
    key("broadcast", "none", "elements that go to every peer of the sender that takes them, by name").of(KeyForm::Names("")),
    key(
        "broadcast.NAME",
        "required",
        "whose answers its sender waits for: `all`, or `first`, the first that is not a failure",
    ).of(KeyForm::Words(&["all", "first"])),
    key("bus", "none", "the broker for listeners with `nats: true`").of(MAP),
    key("bus.nats", "required", "the address of a NATS server, `nats://HOST:PORT`, without credentials, or a list of those of a cluster; or `managed`, and the organism starts one of its own").of(KeyForm::Lines),
    key("bus.key_env", "none", "the environment variable that holds the seed of the pump's nkey; the seed itself is in no file").of(KeyForm::Name("^[A-Za-z_][A-Za-z0-9_]*$")),
];

/// A key that people look for and that will never exist.
pub(super) struct Never {
    /// Its path.
    pub(super) path: &'static str,
    /// The reason.
    pub(super) why: &'static str,
    /// The alternative.
    pub(super) fix: &'static str,
}

const PROGRAM: &str = "an agent is not a program";
const NO_PROGRAM: &str = "leave it out; a program belongs under `listeners`";
const SECRET: &str = "a key belongs in no file";
const BY_NAME: &str = "key_env: VARIABLE, the environment variable that holds it";

const fn never(path: &'static str, why: &'static str, fix: &'static str) -> Never {
    Never { path, why, fix }
}

/// Keys that people expect in places where they cannot be.
const NEVER: &[Never] = &[
    never("agents.NAME.run", PROGRAM, NO_PROGRAM),
    never("agents.NAME.env", PROGRAM, NO_PROGRAM),
    never("agents.NAME.pass", PROGRAM, NO_PROGRAM),
    never("agents.NAME.mode", PROGRAM, NO_PROGRAM),
    never("agents.NAME.framing", PROGRAM, NO_PROGRAM),
    never(
        "agents.NAME.nats",
        "an agent has no program of its own",
        "leave it out; systole run --role pump reaches every agent over NATS",
    ),
    never("models.NAME.key", SECRET, BY_NAME),
    never("models.NAME.api_key", SECRET, BY_NAME),
    never("models.NAME.token", SECRET, BY_NAME),
    never("proof.secret", "the secret key belongs in a file of its own", "key: FILE, from systole keygen"),
    never("log.key", SECRET, BY_NAME),
    never("log.password", SECRET, BY_NAME),
    never("bus.key", SECRET, BY_NAME),
    never("bus.seed", SECRET, BY_NAME),
    never("bus.token", SECRET, BY_NAME),
    never("bus.password", SECRET, BY_NAME),
];

/// Why a key of this name can never be in the map at `path`, if that is known.
pub(super) fn never_under(path: &str, name: &str) -> Option<&'static Never> {
    NEVER
        .iter()
        .find(|never| never.path.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')) == Some(name))
}

/// The keys that may be in the map at `path`. The empty path is the top of the file.
pub(super) fn under(path: &str) -> impl Iterator<Item = (&'static str, &'static ConfigKey)> {
    KEYS.iter().chain(TEST_KEYS).filter_map(move |key| {
        let name = match path {
            "" => key.path,
            _ => key.path.strip_prefix(path)?.strip_prefix('.')?,
        };
        (!name.contains('.')).then_some((name, key))
    })
}

/// The form of a key in the map at `path`.
pub(super) fn form(path: &str, name: &str) -> Option<KeyForm> {
    under(path).find(|(known, _)| *known == name).map(|(_, key)| key.form)
}

/// Whether the key at this path is required.
pub(super) fn is_required(path: &str) -> bool {
    let parts = |path: &'static str| path.split('.');
    let fits = |key: &&ConfigKey| {
        parts(key.path).count() == path.split('.').count()
            && parts(key.path).zip(path.split('.')).all(|(known, part)| known == part || known == "NAME")
    };
    KEYS.iter().find(fits).is_some_and(|key| key.default == "required")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_is_built_says_what_stands_there() {
        for key in KEYS {
            assert_eq!(key.built, key.form != KeyForm::Later, "{}", key.path);
        }
    }

    #[test]
    fn every_key_has_its_parent_before_it_and_none_stands_twice() {
        for (at, key) in KEYS.iter().enumerate() {
            assert!(KEYS[..at].iter().all(|k| k.path != key.path), "{}", key.path);
            if let Some((parent, _)) = key.path.rsplit_once('.') {
                assert!(KEYS[..at].iter().any(|k| k.path == parent && k.built), "{}", key.path);
            }
        }
    }

    #[test]
    fn every_bound_is_in_the_words_of_its_key() {
        for key in KEYS.iter().chain(TEST_KEYS) {
            let bounds = match key.form {
                KeyForm::Count(least, most) => format!("{least} to {most}"),
                KeyForm::Duration(bounds) | KeyForm::Size(bounds) => {
                    format!("{} to {}", bounds.least.0, bounds.most.0)
                }
                _ => continue,
            };
            // `idle` is bounded by another key.
            let is_said = key.meaning.contains(&bounds) || key.meaning.contains("at most `timeout`");
            assert!(is_said, "{}: {bounds}", key.path);
        }
    }
}
