//! The data plane: accept, TLS, HTTP/1 and 2, filters, upstream pools, streaming.
