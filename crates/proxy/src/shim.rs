//! Stand-ins for interfaces that are not merged yet.

pub(crate) mod llm {
    use bytes::{Bytes, BytesMut};
    use std::ops::Range;
    use suimon_llm::{ApiKind, Fields};

    #[derive(Debug)]
    pub(crate) struct ScanError;

    pub(crate) enum ModelField<'a> {
        Missing,
        NotAString,
        Name { name: &'a str, range: Range<usize> },
    }

    pub(crate) trait FieldsExt: Sized {
        fn scan(bytes: Bytes) -> Result<Self, ScanError>;
        fn model(&self) -> ModelField<'_>;
    }

    impl FieldsExt for Fields {
        fn scan(bytes: Bytes) -> Result<Self, ScanError> {
            serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).map_err(|_| ScanError)?;
            Ok(Self { bytes })
        }

        fn model(&self) -> ModelField<'_> {
            let key = b"\"model\"";
            let Some(at) = memchr::memmem::find(&self.bytes, key) else {
                return ModelField::Missing;
            };
            let mut at = at + key.len();
            while matches!(self.bytes.get(at), Some(b' ' | b':')) {
                at += 1;
            }
            if self.bytes.get(at) != Some(&b'"') {
                return ModelField::NotAString;
            }
            let rest = self.bytes.get(at + 1..).unwrap_or_default();
            let end = memchr::memchr(b'"', rest).unwrap_or(0);
            let name = std::str::from_utf8(rest.get(..end).unwrap_or_default()).unwrap_or("");
            ModelField::Name {
                name,
                range: at..at + end + 2,
            }
        }
    }

    pub(crate) fn splice(body: &Bytes, range: &Range<usize>, model: &str) -> Bytes {
        let mut out = BytesMut::new();
        out.extend_from_slice(body.get(..range.start).unwrap_or_default());
        out.extend_from_slice(format!("\"{model}\"").as_bytes());
        out.extend_from_slice(body.get(range.end..).unwrap_or_default());
        out.freeze()
    }

    #[derive(Debug, Clone)]
    pub(crate) struct Restore {
        pub(crate) target: std::sync::Arc<str>,
        pub(crate) incoming: std::sync::Arc<str>,
    }

    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Usage {
        pub(crate) prompt: u64,
        pub(crate) completion: u64,
        pub(crate) cached: Option<u64>,
    }

    #[derive(Debug)]
    pub(crate) struct ResponseReader {
        restore: Option<Restore>,
    }

    impl ResponseReader {
        pub(crate) fn new(_api: ApiKind, _sse: bool, restore: Option<Restore>) -> Self {
            Self { restore }
        }
        pub(crate) fn push(&mut self, bytes: Bytes) -> Bytes {
            let Some(restore) = &self.restore else {
                return bytes;
            };
            let text = String::from_utf8_lossy(&bytes);
            Bytes::from(text.replace(
                &format!("\"model\":\"{}\"", restore.target),
                &format!("\"model\":\"{}\"", restore.incoming),
            ))
        }
        pub(crate) fn finish(&mut self) -> Bytes {
            Bytes::new()
        }
        pub(crate) fn usage(&self) -> Option<Usage> {
            None
        }
        pub(crate) fn events(&self) -> u64 {
            0
        }
    }
}

pub(crate) mod routing {
    use http::{HeaderMap, Method};
    use std::borrow::Cow;
    use std::sync::Arc;
    use suimon_routing::table::{
        Bind, Hostname, Listener, PathMatch, Rule, ValueMatch, WeightedBackend,
    };

    pub(crate) struct Head<'a> {
        pub(crate) method: &'a Method,
        pub(crate) host: &'a str,
        pub(crate) path: &'a str,
        pub(crate) query: Option<&'a str>,
        pub(crate) headers: &'a HeaderMap,
    }
    #[derive(Clone, Copy)]
    pub(crate) enum Model<'a> {
        Unread,
        Read(Option<&'a str>),
    }
    pub(crate) struct Matched<'a> {
        pub(crate) rule: &'a Arc<Rule>,
        pub(crate) listener: &'a Listener,
        pub(crate) prefix: Option<&'a str>,
    }
    pub(crate) enum Outcome<'a> {
        Matched(Matched<'a>),
        NeedsModel,
        NotFound,
        Misdirected,
    }
    pub(crate) trait Route {
        fn route(&self, head: &Head<'_>, sni: Option<&str>, model: Model<'_>) -> Outcome<'_>;
    }
    impl Route for Bind {
        fn route(&self, head: &Head<'_>, _sni: Option<&str>, model: Model<'_>) -> Outcome<'_> {
            let Some(listener) = self.listeners.iter().find(|l| fits(&l.hostname, head.host))
            else {
                return Outcome::NotFound;
            };
            for m in &listener.matches {
                let path = match &m.path {
                    PathMatch::Exact(p) => **p == *head.path,
                    PathMatch::Prefix(p) => head
                        .path
                        .strip_prefix(&**p)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
                    PathMatch::Regex(r) => r.is_match(head.path),
                };
                if !path || !fits(&m.hostname, head.host) {
                    continue;
                }
                let mut ok = true;
                for h in &m.headers {
                    let ValueMatch::Exact(want) = &h.value else {
                        continue;
                    };
                    if h.name == "x-gateway-model-name" {
                        match model {
                            Model::Unread => return Outcome::NeedsModel,
                            Model::Read(name) => ok &= name == Some(&**want),
                        }
                    } else {
                        ok &= head
                            .headers
                            .get(&h.name)
                            .is_some_and(|v| v.as_bytes() == want.as_bytes());
                    }
                }
                if ok {
                    let prefix = match &m.path {
                        PathMatch::Prefix(p) => Some(&**p),
                        _ => None,
                    };
                    return Outcome::Matched(Matched {
                        rule: &m.rule,
                        listener,
                        prefix,
                    });
                }
            }
            Outcome::NotFound
        }
    }
    fn fits(hostname: &Hostname, host: &str) -> bool {
        match hostname {
            Hostname::Any => true,
            Hostname::Suffix(s) => host.ends_with(&**s),
            Hostname::Exact(s) => host == &**s,
        }
    }
    pub(crate) fn choose(rule: &Rule, random: u64) -> Option<&WeightedBackend> {
        let total: u64 = rule.backends.iter().map(|b| u64::from(b.weight)).sum();
        if total == 0 {
            return None;
        }
        let mut at = random % total;
        rule.backends.iter().find(|b| {
            let w = u64::from(b.weight);
            if at < w {
                return true;
            }
            at -= w;
            false
        })
    }
    #[derive(Debug)]
    pub(crate) struct PathError;
    pub(crate) fn normalize(path: &str) -> Result<Cow<'_, str>, PathError> {
        if path.contains("/..") {
            return Err(PathError);
        }
        Ok(Cow::Borrowed(path))
    }
}
