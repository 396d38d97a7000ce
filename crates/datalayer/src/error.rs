//! Errors of this crate.

use std::path::PathBuf;

/// A metric selector that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "metric selector `{spec}`: {problem}; accepted are `name` and `name{{label=value,...}}`, values quoted or not"
)]
pub struct SpecError {
    /// The selector.
    pub spec: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// An extractor that cannot be built from its parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// A selector of an engine cannot be read.
    #[error("engine `{engine}`: {field}: {source}")]
    Spec {
        /// Name of the engine.
        engine: String,
        /// Field of the engine's configuration.
        field: &'static str,
        /// What is wrong.
        source: SpecError,
    },
    /// An engine has a name that it cannot have.
    #[error(
        "engine configuration {index}: name `{name}` is not accepted: give the value of the engine label, other than `default`"
    )]
    Name {
        /// Place in `engineConfigs`, from 0.
        index: usize,
        /// The name.
        name: String,
    },
    /// Two configurations have one name.
    #[error(
        "engine configuration {index}: name `{name}` is taken by an earlier one; each engine is configured once"
    )]
    Twice {
        /// Place in `engineConfigs`, from 0.
        index: usize,
        /// The name.
        name: String,
    },
    /// The default engine is not known.
    #[error("default engine `{name}` is not known; known are {known}")]
    Default {
        /// The name.
        name: String,
        /// Names of the engines, comma separated.
        known: String,
    },
}

/// A source of metrics pages that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The interval is no duration.
    #[error("interval `{0}` is no duration; accepted are Go durations such as `100ms` or `1s`")]
    Interval(String),
    /// The path is no path.
    #[error("path `{0}` is no absolute URL path; accepted is for example `/metrics`")]
    Path(String),
    /// The port is zero.
    #[error("port 0 is no port; accepted are 1 to 65535")]
    Port,
    /// A certificate without its key or the other way round.
    #[error("`{given}` is set without `{missing}`; a client certificate needs both")]
    ClientPair {
        /// The field that is set.
        given: &'static str,
        /// The field that is not.
        missing: &'static str,
    },
    /// A PEM file cannot be read.
    #[error("{field} `{}`: {problem}", .path.display())]
    Pem {
        /// The field that names the file.
        field: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// No system certificates, and none given.
    #[error(
        "no authorities to verify metrics servers by were found on this system; set `caCertPath` or `insecureSkipVerify: true`"
    )]
    NoRoots,
    /// TLS refuses the settings.
    #[error("tls settings of the metrics source: {0}")]
    Tls(#[from] rustls::Error),
    /// The scrape thread cannot be started.
    #[error("scrape thread: {0}")]
    Thread(#[source] std::io::Error),
}

/// One failed scrape.
#[derive(Debug, thiserror::Error)]
pub enum ScrapeError {
    /// No connection.
    #[error("connect: {0}")]
    Connect(#[source] std::io::Error),
    /// TLS handshake failed.
    #[error("tls handshake: {0}")]
    Handshake(#[source] std::io::Error),
    /// HTTP failed.
    #[error("http: {0}")]
    Http(#[from] hyper::Error),
    /// Another status than 200.
    #[error("status {0}")]
    Status(u16),
    /// The reply is compressed, which was not asked for.
    #[error("reply has a content encoding, which was not asked for")]
    Encoded,
    /// The page is too large.
    #[error("page is larger than {0} bytes")]
    TooLarge(usize),
    /// No answer in time.
    #[error("no complete answer within {0:?}")]
    Deadline(std::time::Duration),
    /// The page has none of the series that tell the load.
    #[error("page has no series of a known engine that tells waiting or running requests")]
    NoLoad,
}

/// A discovery file that cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The file cannot be read.
    #[error("endpoint file `{}`: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is too large.
    #[error("endpoint file has more than {0} bytes, the most that is accepted")]
    TooLarge(u64),
    /// Neither YAML nor JSON, or of another shape.
    #[error("endpoint file is not readable: {0}; accepted is YAML or JSON with a list `endpoints`")]
    Format(String),
    /// Entries, and all of them bad.
    #[error("endpoint file has no usable entry: {0}")]
    NoUsableEntry(String),
    /// The file cannot be watched.
    #[error("watch endpoint file: {0}")]
    Watch(#[from] notify::Error),
    /// The watching thread cannot be started.
    #[error("thread that watches the endpoint file: {0}")]
    Thread(#[source] std::io::Error),
}

/// One entry of a discovery file that was left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("endpoints[{index}].{field}: {problem}; accepted: {accepted}")]
pub struct EntryError {
    /// Place in the list, from 0.
    pub index: usize,
    /// Field of the entry.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub accepted: &'static str,
}
