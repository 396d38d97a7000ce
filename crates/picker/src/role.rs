//! What plugins can be. One trait a file.

pub mod detector;
pub mod discovery;
pub mod extractor;
pub mod filter;
pub mod parser;
pub mod picker;
pub mod pre_request;
pub mod producer;
pub mod profile_handler;
pub mod scorer;
pub mod source;

pub use detector::SaturationDetector;
pub use discovery::{Discovering, Discovery, Found as FoundEndpoints};
pub use extractor::{Extract, Extractor, Found};
pub use filter::Filter;
pub use parser::Parser;
pub use picker::Picker;
pub use pre_request::PreRequest;
pub use producer::Producer;
pub use profile_handler::ProfileHandler;
pub use scorer::Scorer;
pub use source::{Source, Watching};
