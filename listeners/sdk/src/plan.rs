//! What `systole listener new` will write: the files of a listener in each language, and its lines for the
//! organism file. Names come in; texts go out. It writes nothing.

use systole_schema::types;

use crate::new_file::NewFile;

/// Where Python finds the SDK and the types of the payloads, from the organism's folder.
const PYTHON_PATH: &str = "sdk/python";

/// The texts to write.
pub struct ListenerPlan {
    /// Its files.
    pub files: Vec<NewFile>,
    /// How it is reached, as written in the organism file.
    reach: String,
    once: bool,
    /// Where Python looks for the SDK.
    path: Option<&'static str>,
    /// The command that builds it, if it must be built.
    build: Option<String>,
    test: String,
    /// The command that starts it, if the organism does not.
    start: Option<String>,
}

impl ListenerPlan {
    /// The commands to run next.
    pub fn next_commands(&self) -> Vec<String> {
        self.build.iter().chain([&self.test]).chain(&self.start).cloned().collect()
    }
}

/// Where a listener is to work.
#[derive(Clone, Debug, Default)]
pub struct ListenerSite {
    /// The name of the organism.
    pub organism: String,
    /// The broker's address, for a listener over NATS.
    pub broker: Option<String>,
    /// Whether the organism's file has to name the broker.
    pub names_broker: bool,
    /// The folder of the keys, quoted for a shell; `None` if the broker requires none.
    pub keys: Option<String>,
}

/// The values for the templates.
pub struct TemplateWords {
    name: String,
    ask: String,
    answer: String,
    namespace: String,
    krate: String,
    /// The module with the types of its payloads, and their classes.
    module: String,
    classes: [String; 2],
    organism: String,
    /// The broker's address, for a listener over NATS.
    broker: Option<String>,
    names_broker: bool,
    /// The folder of the keys, quoted for a shell; `None` if the broker requires none.
    keys: Option<String>,
}

impl TemplateWords {
    /// The words for a listener of this name.
    pub fn from_site(name: &str, site: ListenerSite) -> TemplateWords {
        let dashed = name.replace('.', "-");
        let ListenerSite { organism, broker, names_broker, keys } = site;
        TemplateWords {
            answer: format!("{dashed}-answer"),
            namespace: format!("https://xml-pipeline.org/ns/{organism}/v1"),
            krate: dashed.clone(),
            module: types::name_module(&organism),
            classes: [types::name_class(&dashed), types::name_class(&format!("{dashed}-answer"))],
            ask: dashed,
            organism,
            broker,
            names_broker,
            keys,
            name: name.to_owned(),
        }
    }

    /// The namespace of its payloads.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The elements that it takes and answers with.
    pub fn elements(&self) -> [&str; 2] {
        [&self.ask, &self.answer]
    }

    /// Takes the names that the payloads have in the generated types.
    #[must_use]
    pub fn with_classes(mut self, module: String, classes: [String; 2]) -> TemplateWords {
        (self.module, self.classes) = (module, classes);
        self
    }

    fn fill_template(&self, template: &str) -> String {
        let holes = [
            ("@NAME@", &self.name),
            ("@ASK@", &self.ask),
            ("@ANSWER@", &self.answer),
            ("@NS@", &self.namespace),
            ("@CRATE@", &self.krate),
            ("@MODULE@", &self.module),
        ];
        let [ask, answer] = &self.classes;
        let holes = holes.iter().copied().chain([("@ASK-CLASS@", ask), ("@ANSWER-CLASS@", answer)]);
        holes.fold(template.to_owned(), |text, (hole, word)| text.replace(hole, word))
    }

    fn file_name(&self, end: &str) -> String {
        format!("listeners/{}{end}", self.name)
    }

    fn new_file(&self, end: &str, template: &str) -> NewFile {
        NewFile::new(self.file_name(end), self.fill_template(template))
    }

    /// How a program with this command is reached.
    fn write_reach(&self, program: &[&str]) -> String {
        match self.broker {
            Some(_) => "nats: true".to_owned(),
            None => format!("run: [{}]", program.join(", ")),
        }
    }

    /// The command that starts it, if the organism does not.
    fn start_command(&self, program: &str) -> Option<String> {
        let broker = self.broker.as_ref()?;
        let key = match &self.keys {
            Some(keys) => format!(" SYSTOLE_KEY_FILE={keys}/{}.nk", self.name),
            None => String::new(),
        };
        let own = format!("SYSTOLE_ORGANISM={} SYSTOLE_LISTENER={}", self.organism, self.name);
        Some(format!("SYSTOLE_NATS={broker} {own}{key} {program}"))
    }

    /// The entries under `payloads`.
    pub fn write_payloads(&self) -> Vec<String> {
        let about = "{text: text -- what is asked}";
        let answered = "{text: text -- what is said to it}";
        vec![format!("{}: {about}", self.ask), format!("{}: {answered}", self.answer)]
    }

    /// The entry under `bus`, if the file has none and needs one.
    pub fn write_bus(&self) -> Option<String> {
        let broker = self.broker.as_ref().filter(|_| self.names_broker)?;
        Some(format!("nats: \"{broker}\""))
    }

    /// The entry under `listeners`.
    pub fn write_listener(&self, plan: &ListenerPlan) -> Vec<String> {
        let mut lines = vec![
            format!("{}:", self.name),
            format!("  {}", plan.reach),
            format!("  accepts: [{}]", self.ask),
            format!("  returns: [{}]", self.answer),
            "  entry: true".to_owned(),
        ];
        if let (Some(path), None) = (plan.path, &self.broker) {
            lines.insert(2, format!("  env: {{PYTHONPATH: {path}}}"));
        }
        if plan.once {
            lines.insert(2, "  mode: once".to_owned());
        }
        lines
    }
}

/// A shell script, started once for each request.
pub fn plan_shell(words: &TemplateWords) -> ListenerPlan {
    ListenerPlan {
        files: vec![
            words.new_file(".sh", include_str!("templates/shell.sh")),
            words.new_file(".test.yaml", include_str!("templates/test.yaml")),
        ],
        reach: words.write_reach(&["sh", &words.file_name(".sh")]),
        once: true,
        path: None,
        build: None,
        test: format!("systole test {}", words.file_name(".test.yaml")),
        start: None,
    }
}

/// A Python program that needs no SDK.
pub fn plan_plain_python(words: &TemplateWords) -> ListenerPlan {
    ListenerPlan {
        files: vec![
            words.new_file(".py", include_str!("templates/plain.py")),
            words.new_file(".test.yaml", include_str!("templates/test.yaml")),
        ],
        reach: words.write_reach(&["python3", &words.file_name(".py")]),
        once: false,
        path: None,
        build: None,
        test: format!("systole test {}", words.file_name(".test.yaml")),
        start: None,
    }
}

/// A Python program on the SDK.
pub fn plan_python(words: &TemplateWords) -> ListenerPlan {
    let run = format!("PYTHONPATH={PYTHON_PATH} python3");
    let test = (include_str!("templates/test.py"), format!("{run} {}", words.file_name(".test.py")));
    let start = words.start_command(&format!("python3 {}", words.file_name(".py")));
    ListenerPlan {
        path: Some(PYTHON_PATH),
        start: start.map(|start| format!("PYTHONPATH={PYTHON_PATH} {start}")),
        ..plan_on_sdk(words, "python3", ".py", include_str!("templates/python.py"), test)
    }
}

/// A TypeScript program on the SDK, which Node runs as it is.
pub fn plan_typescript(words: &TemplateWords) -> ListenerPlan {
    let test = (include_str!("templates/test.mts"), format!("node {}", words.file_name(".test.mts")));
    plan_on_sdk(words, "node", ".mts", include_str!("templates/typescript.mts"), test)
}

/// Over NATS the test is in the language of the listener, because a test of the organism has no broker.
fn plan_on_sdk(
    words: &TemplateWords,
    runs: &str,
    end: &str,
    program: &str,
    (test, tests): (&str, String),
) -> ListenerPlan {
    let (test, tests) = match words.broker {
        Some(_) => (words.new_file(&format!(".test{end}"), test), tests),
        None => {
            let file = words.new_file(".test.yaml", include_str!("templates/test.yaml"));
            (file, format!("systole test {}", words.file_name(".test.yaml")))
        }
    };
    ListenerPlan {
        files: vec![words.new_file(end, program), test],
        reach: words.write_reach(&[runs, &words.file_name(end)]),
        once: false,
        path: None,
        build: None,
        test: tests,
        start: words.start_command(&format!("{runs} {}", words.file_name(end))),
    }
}

/// A Rust program on the kit. `kit` is the kit's folder, as written in a manifest.
pub fn plan_rust(words: &TemplateWords, kit: &str) -> ListenerPlan {
    let cargo = |verb: &str| format!("cargo {verb} --manifest-path {}", words.file_name("/Cargo.toml"));
    let (program, features) = match words.broker {
        Some(_) => (include_str!("templates/nats.rs.txt"), ", features = [\"nats\"]"),
        None => (include_str!("templates/main.rs.txt"), ""),
    };
    let manifest = words.fill_template(include_str!("templates/Cargo.toml.txt"));
    let manifest = manifest.replace("@FEATURES@", features).replace("@KIT@", kit);
    let built = format!("{}{}", words.file_name("/target/release/"), words.krate);
    ListenerPlan {
        files: vec![
            NewFile::new(words.file_name("/Cargo.toml"), manifest),
            words.new_file("/src/main.rs", program),
            NewFile::new(words.file_name("/.gitignore"), "/target\n".to_owned()),
        ],
        reach: words.write_reach(&[&built]),
        once: false,
        path: None,
        build: Some(cargo("build --release")),
        test: cargo("test"),
        start: words.start_command(&built),
    }
}
