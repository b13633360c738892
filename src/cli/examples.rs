//! The organisms inside this program, from `config/`: the templates of `init`, and the organism of the demo.

/// An organism, file by file.
#[derive(Debug)]
pub(super) struct Example {
    /// Its name, which is also its folder in `config/`.
    pub(super) name: &'static str,
    /// What it shows.
    pub(super) about: &'static str,
    /// Whether it is meant to build on, and so takes the name of its new folder.
    pub(super) is_to_build_on: bool,
    /// Whether it works on the folder around its own, and so never writes into the current one.
    pub(super) is_beside: bool,
    /// Relative paths, and the content of each file.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// A command that shows it at work, in its folder.
    pub(super) next: &'static str,
}

/// The default template of `init`.
pub(super) const FIRST: &Example = &Example {
    name: "hello",
    about: "one shell script that answers a question",
    is_to_build_on: true,
    is_beside: false,
    files: &[
        ("organism.yaml", include_str!("../../config/hello/organism.yaml")),
        ("listeners/greeter.sh", include_str!("../../config/hello/listeners/greeter.sh")),
        ("hello.test.yaml", include_str!("../../config/hello/hello.test.yaml")),
        ("README.md", include_str!("../../config/hello/README.md")),
    ],
    next: "systole ask \"Who is there?\"",
};

/// An agent with a tool.
pub(super) const AGENT: &Example = &Example {
    name: "agent",
    about: "an agent with a tool in Python",
    is_to_build_on: true,
    is_beside: false,
    files: &[
        ("organism.yaml", include_str!("../../config/agent/organism.yaml")),
        ("replies.yaml", include_str!("../../config/agent/replies.yaml")),
        ("listeners/letters.py", include_str!("../../config/agent/listeners/letters.py")),
        ("agent.test.yaml", include_str!("../../config/agent/agent.test.yaml")),
    ],
    next: "systole ask \"How many r are in strawberry?\"",
};

/// A team: three agents, a search and a board.
pub(super) const TEAM: &Example = &Example {
    name: "team",
    about: "three agents, a search and a board: a plan, a refusal that is read, a thread",
    is_to_build_on: false,
    is_beside: false,
    files: &[
        ("organism.yaml", include_str!("../../config/team/organism.yaml")),
        ("replies.yaml", include_str!("../../config/team/replies.yaml")),
        ("listeners/search.py", include_str!("../../config/team/listeners/search.py")),
        ("listeners/board.py", include_str!("../../config/team/listeners/board.py")),
        ("team.test.yaml", include_str!("../../config/team/team.test.yaml")),
    ],
    next: "systole ask \"What makes a heart beat?\"",
};

/// The templates of `init` to build on. Each except the first has an option with its name.
pub(super) const TEMPLATES: &[&Example] = &[FIRST, AGENT, TEAM];

/// The examples of `init --example`, to read and try.
pub(super) const EXAMPLES: &[&Example] = &[
    &Example {
        name: "desk",
        about: "a support desk: an agent pays money back up to a limit, and above it a person approves",
        is_to_build_on: true,
        is_beside: false,
        files: &[
            ("organism.yaml", include_str!("../../config/desk/organism.yaml")),
            ("replies.yaml", include_str!("../../config/desk/replies.yaml")),
            ("listeners/orders.py", include_str!("../../config/desk/listeners/orders.py")),
            ("desk.test.yaml", include_str!("../../config/desk/desk.test.yaml")),
        ],
        next: "systole ask \"Order 1007 arrived broken.\"",
    },
    &Example {
        name: "research",
        about: "an agent with two MCP servers: it searches a library of texts, and keeps each fact with its source",
        is_to_build_on: true,
        is_beside: false,
        files: &[
            ("organism.yaml", include_str!("../../config/research/organism.yaml")),
            ("replies.yaml", include_str!("../../config/research/replies.yaml")),
            ("servers/library.py", include_str!("../../config/research/servers/library.py")),
            ("servers/notes.py", include_str!("../../config/research/servers/notes.py")),
            (
                "schemas/mcp/library.pin.json",
                include_str!("../../config/research/schemas/mcp/library.pin.json"),
            ),
            ("schemas/mcp/notes.pin.json", include_str!("../../config/research/schemas/mcp/notes.pin.json")),
            ("library/harrison.md", include_str!("../../config/research/library/harrison.md")),
            ("library/longitude.md", include_str!("../../config/research/library/longitude.md")),
            ("library/lunar-distances.md", include_str!("../../config/research/library/lunar-distances.md")),
            ("research.test.yaml", include_str!("../../config/research/research.test.yaml")),
        ],
        next: "systole ask \"How did sailors find their longitude?\"",
    },
    &Example {
        name: "coder",
        about: "an agent that fixes a failing test, and asks before it runs a command",
        is_to_build_on: true,
        is_beside: false,
        files: &[
            ("organism.yaml", include_str!("../../config/coder/organism.yaml")),
            ("replies.yaml", include_str!("../../config/coder/replies.yaml")),
            ("coder.test.yaml", include_str!("../../config/coder/coder.test.yaml")),
            ("project/prices.py", include_str!("../../config/coder/project/prices.py")),
            ("project/test_prices.py", include_str!("../../config/coder/project/test_prices.py")),
        ],
        next: "systole ask \"The tests fail. Fix them.\"",
    },
];

/// Examples and workflows that `init` no longer writes, and what took the place of each.
pub(super) const REPLACED: &[(&str, &str)] = &[
    (
        "decision",
        "`systole init NAME --workflow review` has two agents look at each file, and docs/workflows.md has the two views to copy",
    ),
    (
        "first-listeners",
        "`systole init NAME` writes a listener, and `systole listener new` adds one in another language",
    ),
    (
        "beat",
        "`systole init NAME --example desk` has calls, a refusal that the sender fixes, and an approval",
    ),
];

/// The workflows of `init --workflow`: goals for agents.
pub(super) const WORKFLOWS: &[&Example] = &[
    &Example {
        name: "review",
        about: "a review of the folder around it: of a file, a folder or the last change; each finding is looked up again",
        is_to_build_on: true,
        is_beside: true,
        files: &[
            ("organism.yaml", include_str!("../../config/review/organism.yaml")),
            ("replies.yaml", include_str!("../../config/review/replies.yaml")),
            ("listeners/checkout.py", include_str!("../../config/review/listeners/checkout.py")),
            ("review.test.yaml", include_str!("../../config/review/review.test.yaml")),
        ],
        next: "systole ask \"Review the last change.\"",
    },
    &Example {
        name: "release",
        about: "a plan, a person who lets it go or sends it back, a tool, and a look ten minutes later",
        is_to_build_on: true,
        is_beside: false,
        files: &[
            ("organism.yaml", include_str!("../../config/release/organism.yaml")),
            ("replies.yaml", include_str!("../../config/release/replies.yaml")),
            ("listeners/cluster.py", include_str!("../../config/release/listeners/cluster.py")),
            ("release.test.yaml", include_str!("../../config/release/release.test.yaml")),
        ],
        next: "systole test",
    },
];
