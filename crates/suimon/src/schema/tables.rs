//! Tables of errors, metrics and flags, and the schema of Kubernetes documents.

use std::fmt::Write as _;

use clap::CommandFactory as _;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::json;
use suimon_api::gateway::Gateway;
use suimon_api::http_route::HttpRoute;
use suimon_api::inference_objective::InferenceObjective;
use suimon_api::inference_pool::InferencePool;
use suimon_api::model_rewrite::InferenceModelRewrite;
use suimon_api::reference_grant::ReferenceGrant;
use suimon_telemetry::metrics::{BbrMetrics, Series};
use suimon_telemetry::{Metrics, Reason};

use super::picker::pretty;
use crate::cli::Cli;

/// Every reason with what a client sees.
pub(super) fn errors() -> String {
    let mut text = "# Errors\n\nWhen no endpoint's answer can be passed on, the body is JSON in the form of \
         OpenAI's API:\n\n\
         ```json\n{\"error\": {\"message\": \"…\", \"type\": \"…\", \"code\": \"…\", \"param\": null, \
         \"request_id\": \"…\"}}\n```\n\n\
         `code` is also the outcome in the access log and in the metrics. Who has to act: the client, the \
         gateway or its configuration, the endpoint, the picker. Whether to send the same request again: \
         never, later, or elsewhere, which the gateway has then done itself where it could.\n\n\
         | code | status | type | what happened | who has to act | again |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for reason in Reason::ALL {
        let row = reason.row();
        let (source, retry) = (format!("{:?}", row.source), format!("{:?}", row.retry));
        let _ = writeln!(
            text,
            "| `{}` | {} | `{}` | {} | {} | {} |",
            row.label,
            row.status.as_u16(),
            row.kind,
            reason.summary(),
            source.to_lowercase(),
            retry.to_lowercase()
        );
    }
    text
}

/// Every series.
pub(super) fn metrics() -> String {
    let mut text = "# Metrics\n\nOn the admin port at `/metrics`, in the OpenMetrics text format. Names that \
         begin with `llm_d_epp_` are those of the llm-d endpoint picker, so that its dashboards work. A \
         histogram has `_bucket`, `_sum` and `_count`.\n\n\
         "
        .to_owned();
    rows(&mut text, Metrics::catalogue(env!("CARGO_PKG_VERSION")));
    text.push_str(
        "\n## suimon bbr\n\nOn `--metrics-port`. Names that begin with `bbr_` are those of the peer's \
         body-based routing.\n\n",
    );
    rows(&mut text, BbrMetrics::catalogue(env!("CARGO_PKG_VERSION")));
    text
}

fn rows(text: &mut String, catalogue: Vec<Series>) {
    text.push_str("| name | kind | labels | meaning |\n|---|---|---|---|\n");
    for series in catalogue {
        let labels: Vec<String> = series
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            series.name,
            series.kind,
            labels.join(" "),
            series.help
        );
    }
}

/// The help texts of all commands.
pub(super) fn cli() -> String {
    let mut text = "# Commands\n".to_owned();
    let mut command = Cli::command().term_width(100);
    command.build();
    let _ = writeln!(
        text,
        "\n```text\n{}\n```",
        command.render_long_help().to_string().trim_end()
    );
    for sub in command
        .get_subcommands_mut()
        .filter(|sub| !sub.is_hide_set())
    {
        if sub.get_name() == "help" {
            continue;
        }
        let help = sub.render_long_help().to_string();
        let _ = writeln!(
            text,
            "\n## suimon {}\n\n```text\n{}\n```",
            sub.get_name(),
            help.trim_end()
        );
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n"))
}

/// JSON Schema of one document whose kind is read strictly; other kinds pass.
pub(super) fn gateway_schema() -> String {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let kinds = [
        ("Gateway", generator.subschema_for::<Gateway>()),
        ("HTTPRoute", generator.subschema_for::<HttpRoute>()),
        (
            "ReferenceGrant",
            generator.subschema_for::<ReferenceGrant>(),
        ),
        ("InferencePool", generator.subschema_for::<InferencePool>()),
        (
            "InferenceObjective",
            generator.subschema_for::<InferenceObjective>(),
        ),
        (
            "InferenceModelRewrite",
            generator.subschema_for::<InferenceModelRewrite>(),
        ),
    ];
    let of_kind = |(kind, schema): (&str, Schema)| {
        json!({
            "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
            "then": schema,
        })
    };
    pretty(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Kubernetes documents of suimon",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "allOf": kinds.into_iter().map(of_kind).collect::<Vec<_>>(),
        "$defs": generator.take_definitions(true),
    }))
}
