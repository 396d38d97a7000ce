//! Header edits: `set`, then `add`, then `remove` (Gateway API HTTPHeaderFilter).

use http::{HeaderMap, HeaderValue};
use suimon_routing::table::{Filter, HeaderEdit};

/// Applies one edit.
pub(crate) fn edit(headers: &mut HeaderMap, change: &HeaderEdit) {
    for (name, value) in &change.set {
        headers.insert(name, value.clone());
    }
    for (name, value) in &change.add {
        let joined = headers.get(name).and_then(|first| join(first, value));
        match joined {
            Some(joined) => {
                // Only the first line is joined: further ones stay as they are, which means the same.
                if let Some(first) = headers.get_mut(name) {
                    *first = joined;
                }
            }
            None => {
                headers.append(name, value.clone());
            }
        }
    }
    for name in &change.remove {
        headers.remove(name);
    }
}

/// Applies the edits of responses among `filters`.
pub(crate) fn edit_response(headers: &mut HeaderMap, filters: &[Filter]) {
    for filter in filters {
        if let Filter::ResponseHeaders(change) = filter {
            edit(headers, change);
        }
    }
}

fn join(first: &HeaderValue, added: &HeaderValue) -> Option<HeaderValue> {
    let joined = [first.as_bytes(), b",", added.as_bytes()].concat();
    HeaderValue::from_bytes(&joined).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    #[test]
    fn set_add_remove_in_this_order() {
        let name = HeaderName::from_static;
        let value = HeaderValue::from_static;
        let mut headers = HeaderMap::new();
        headers.append("x-set", value("old"));
        headers.append("x-set", value("old2"));
        headers.append("x-add", value("first"));
        headers.append("x-gone", value("1"));
        edit(
            &mut headers,
            &HeaderEdit {
                set: vec![(name("x-set"), value("new"))],
                add: vec![
                    (name("x-add"), value("second")),
                    (name("x-new"), value("1")),
                ],
                remove: vec![name("x-gone")],
            },
        );
        let all = |n: &str| {
            headers
                .get_all(n)
                .iter()
                .map(|v| v.to_str().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(all("x-set"), ["new"]);
        assert_eq!(all("x-add"), ["first,second"]);
        assert_eq!(all("x-new"), ["1"]);
        assert!(all("x-gone").is_empty());
    }
}
