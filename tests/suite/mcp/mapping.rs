//! Generated schemas of tools: their XSD compiles in the judge, and both directions agree with the tool's own schema
//! except for what is remarked. `SYSTOLE_CASES` sets how many schemas are generated.

use std::cell::RefCell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;
use systole_judge::{CompiledSchemaId, LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::schema::SchemaModel;
use systole_mcp::schema::{
    AnswerFault, ArgumentFault, MappingRemark, RemarkKind, SchemaBreach, ToolDefinition, ToolSide,
    ToolVocabulary, VocabularyOptions,
};

use super::grammar;
use super::samples::{self, XsdElement};
use crate::tape::Tape;

/// How many schemas are generated. Three of four must need no JSON as text.
fn schemas() -> u32 {
    std::env::var("SYSTOLE_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(200)
}

/// How many documents and values are tried for each.
const TRIED: usize = 20;

/// What was seen over all schemas.
#[derive(Debug, Default)]
struct Seen {
    schemas: usize,
    typed: usize,
    documents: usize,
    values: usize,
    excused: usize,
}

/// A generated tool, with everything that reads and judges it.
struct MappedTool {
    schema: Value,
    vocabulary: ToolVocabulary,
    xsd: XsdElement,
    model: SchemaModel,
    judge: LibxmlJudge,
    id: CompiledSchemaId,
    validator: jsonschema::Validator,
}

impl MappedTool {
    fn of(schema: Value) -> MappedTool {
        let tool = ToolDefinition {
            output_schema: Some(schema.clone()),
            ..ToolDefinition::new("t", schema.clone())
        };
        let vocabulary = ToolVocabulary::from_tools("s", &[tool], &VocabularyOptions::default()).unwrap();
        assert_eq!(vocabulary.refused, [], "{schema:#}");
        let source = SchemaSource { name: "s".to_owned(), xsd: vocabulary.xsd.clone().into_bytes() };
        let judge = LibxmlJudge::compile_sources(&[source])
            .unwrap_or_else(|refused| panic!("{refused}\n{schema:#}\n{}", vocabulary.xsd));
        let id = judge.find_schema("s").unwrap();
        let model = judge.find_model(id).unwrap().clone();
        let validator = jsonschema::options().should_validate_formats(false).build(&schema).unwrap();
        let xsd = XsdElement::read(&vocabulary.xsd);
        MappedTool { schema, vocabulary, xsd, model, judge, id, validator }
    }

    fn judged(&mut self, payload: &[u8]) -> bool {
        self.judge.judge_payload(self.id, payload) == SchemaVerdict::Valid
    }

    fn remarks(&self, side: ToolSide) -> impl Iterator<Item = &MappingRemark> {
        self.vocabulary.remarks.iter().filter(move |remark| remark.side == side)
    }

    fn is_typed(&self) -> bool {
        !self.vocabulary.remarks.iter().any(|remark| remark.kind == RemarkKind::JsonText)
    }

    /// Whether a remark says that only the tool's own schema checks this rule.
    fn is_remarked(&self, breach: &SchemaBreach) -> bool {
        let rule = merged(&breach.rule);
        // The breach of a branch is that of the whole keyword, and its branch may be a reference.
        let is_branched = ["anyOf", "oneOf"].contains(&breach.keyword.as_str());
        self.remarks(ToolSide::Arguments).any(|remark| {
            if is_branched && remark.place.starts_with("/$defs/") && remark.kind != RemarkKind::Narrowed {
                return true;
            }
            let part = remark.place.rsplit_once('/').map_or("", |(part, _)| part);
            match remark.kind {
                RemarkKind::Dropped => rule.ends_with(&remark.place) || remark.place.starts_with(&rule),
                // What the text holds is anything.
                RemarkKind::JsonText => rule.contains(part) || remark.place.starts_with(&rule),
                RemarkKind::Narrowed => false,
            }
        })
    }

    /// A document: whether it is valid, and whether its JSON is excused from being so.
    fn document(&mut self, text: &str, seen: &mut Seen) {
        if !self.judged(text.as_bytes()) {
            return;
        }
        seen.documents += 1;
        match self.vocabulary.read_arguments(text.as_bytes()) {
            Ok(call) => {
                let arguments = Value::Object(call.arguments);
                assert!(self.validator.is_valid(&arguments), "{arguments}\n{text}\n{:#}", self.schema);
            }
            Err(fault) => {
                let is_excused = match &fault {
                    ArgumentFault::Breach(breach) => self.is_remarked(breach),
                    ArgumentFault::NoJson(finding) => {
                        finding.message.contains("comes twice") || !self.is_typed()
                    }
                    ArgumentFault::NoTool(_) => false,
                };
                let Self { vocabulary, schema, .. } = self;
                let remarks = &vocabulary.remarks;
                assert!(is_excused, "{fault:?}\n{text}\n{schema:#}\n{}\n{remarks:#?}", vocabulary.xsd);
                seen.excused += 1;
            }
        }
    }

    /// A value that the tool's schema admits becomes a valid payload, and the same value again.
    fn value(&mut self, value: &Value, seen: &mut Seen) {
        if !self.validator.is_valid(value) {
            return;
        }
        seen.values += 1;
        let answer = match self.vocabulary.write_answer("t", value) {
            Ok(answer) => answer,
            Err(fault) => {
                let is_excused = matches!(fault, AnswerFault::NoPayload(_))
                    && self.remarks(ToolSide::Answer).any(|remark| remark.kind != RemarkKind::Dropped);
                assert!(is_excused, "{fault:?}\n{value}\n{:#}\n{}", self.schema, self.vocabulary.xsd);
                seen.excused += 1;
                return;
            }
        };
        let text = String::from_utf8_lossy(&answer.payload).into_owned();
        assert!(self.judged(&answer.payload), "{text}\n{value}\n{:#}\n{}", self.schema, self.vocabulary.xsd);
        let again = self.model.to_json(&answer.payload).unwrap();
        if answer.left_out.is_empty() {
            let same = [Some(&again), again.get("result")].into_iter().flatten();
            let mut same = same.map(comparable);
            let value = comparable(value);
            assert!(same.any(|again| again == value), "{value}\n{again}\n{text}\n{:#}", self.schema);
        } else {
            let excused = self.remarks(ToolSide::Answer).any(|remark| remark.kind == RemarkKind::Narrowed);
            assert!(excused, "{:?}\n{value}\n{:#}", answer.left_out, self.schema);
        }
    }
}

/// The place of a rule in the schema that all parts of an `allOf` make together.
fn merged(rule: &str) -> String {
    let mut steps = rule.split('/').peekable();
    let mut kept = Vec::new();
    while let Some(step) = steps.next() {
        match step {
            "allOf" if steps.peek().is_some_and(|next| next.parse::<u8>().is_ok()) => drop(steps.next()),
            step => kept.push(step),
        }
    }
    kept.join("/")
}

/// A value without the differences that mean nothing: `1.0` is 1, and a property that is `null` is missing.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(comparable).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), comparable(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn a8_200_tool_schemas_agree_in_both_directions() {
    let config =
        Config { cases: schemas(), failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let tapes = (vec(any::<u8>(), 40..300), vec(any::<u8>(), 3000));
    let seen = RefCell::new(Seen::default());
    let outcome = runner.run(&tapes, |(of_schema, of_values)| {
        let mut tape = Tape { numbers: of_schema, at: 0 };
        let mut tool = MappedTool::of(grammar::tool(&mut tape));
        let mut seen = seen.borrow_mut();
        seen.schemas += 1;
        seen.typed += usize::from(tool.is_typed());
        let mut tape = Tape { numbers: of_values, at: 0 };
        for _ in 0..TRIED {
            let text = samples::document(&tool.xsd, "t", &mut tape);
            tool.document(&text, &mut seen);
        }
        for _ in 0..TRIED {
            let value = grammar::value(&tool.schema, &tool.schema, &mut tape, 0);
            tool.value(&value, &mut seen);
        }
        Ok(())
    });
    let seen = seen.into_inner();
    println!("{seen:?}");
    outcome.unwrap();
    assert!(seen.typed * 4 >= seen.schemas * 3, "{seen:?}");
    assert!(seen.typed < seen.schemas, "no schema needs JSON as text, so that way is not tested: {seen:?}");
    // Each schema has several valid documents and values, and excuses are rare, or the test would show little.
    let all = seen.documents + seen.values;
    let enough = seen.schemas * 8;
    assert!(seen.documents >= enough && seen.values >= enough && seen.excused * 10 < all, "{seen:?}");
}

#[test]
fn a8_a_form_of_any_tool_schema_fills_and_gives_back_the_payload() {
    let cases = schemas();
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let tapes = (vec(any::<u8>(), 40..300), vec(any::<u8>(), 3000));
    let filled = RefCell::new(0_usize);
    let outcome = runner.run(&tapes, |(of_schema, of_values)| {
        let mut tool = MappedTool::of(grammar::tool(&mut Tape { numbers: of_schema, at: 0 }));
        let mut tape = Tape { numbers: of_values, at: 0 };
        for _ in 0..TRIED {
            let text = samples::document(&tool.xsd, "t", &mut tape);
            if !tool.judged(text.as_bytes()) {
                continue;
            }
            let values = tool.model.form_values(text.as_bytes());
            let values = values.unwrap_or_else(|mistake| panic!("{mistake:?}\n{text}"));
            let back = tool.model.from_form("t", &values).unwrap();
            let back = back.unwrap_or_else(|mistakes| panic!("{mistakes:?}\n{text}\n{values:#?}"));
            assert!(tool.judged(&back), "{text}\n{}", String::from_utf8_lossy(&back));
            assert_eq!(tool.model.form_values(&back), Ok(values), "{text}");
            *filled.borrow_mut() += 1;
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(filled.into_inner() >= usize::try_from(cases).unwrap() * 8);
}

#[test]
fn a8_the_xsd_of_39_real_tools_compiles_in_the_judge() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/listeners/mcp/tests/suite/golden");
    let mut compiled = 0;
    for server in ["everything", "filesystem", "memory", "thinking", "time"] {
        let xsd = std::fs::read(format!("{folder}/{server}.xsd")).unwrap();
        let mut judge =
            LibxmlJudge::compile_sources(&[SchemaSource { name: server.to_owned(), xsd }]).unwrap();
        let id = judge.find_schema(server).unwrap();
        let model = judge.find_model(id).unwrap().clone();
        for element in model.elements() {
            let example = model.build_example(element).unwrap();
            assert_eq!(judge.judge_payload(id, &example), SchemaVerdict::Valid, "{element}");
            compiled += usize::from(model.find_tool(element).is_some());
        }
    }
    assert_eq!(compiled, 39);
}
