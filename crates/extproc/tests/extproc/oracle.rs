//! Our messages against those that are generated from Envoy's own definitions.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use prost::Message as _;
use suimon_extproc::codec::Message;
use suimon_extproc::message::{ProcessingRequest, ProcessingResponse};

use crate::theirs::{self, ours};

fn written(message: &impl Message) -> Bytes {
    let mut out = BytesMut::new();
    message.encode(&mut out);
    assert_eq!(message.encoded_len(), out.len());
    out.freeze()
}

proptest! {
    #[test]
    fn requests_are_read_as_generated_code_wrote_them(request in ours::request()) {
        let bytes = Bytes::from(theirs::request(&request).encode_to_vec());
        prop_assert_eq!(<ProcessingRequest as Message>::decode(&bytes).unwrap(), request);
    }

    #[test]
    fn generated_code_reads_requests_as_we_wrote_them(request in ours::request()) {
        let read = theirs::Request::decode(written(&request)).unwrap();
        prop_assert_eq!(read, theirs::request(&request));
    }

    #[test]
    fn responses_are_read_as_generated_code_wrote_them(response in ours::response()) {
        let bytes = Bytes::from(theirs::response(&response).encode_to_vec());
        prop_assert_eq!(<ProcessingResponse as Message>::decode(&bytes).unwrap(), response);
    }

    #[test]
    fn generated_code_reads_responses_as_we_wrote_them(response in ours::response()) {
        let read = theirs::Response::decode(written(&response)).unwrap();
        prop_assert_eq!(theirs::normal(read), theirs::normal(theirs::response(&response)));
    }

    #[test]
    fn garbage_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let bytes = Bytes::from(bytes);
        let _ = <ProcessingRequest as Message>::decode(&bytes);
        let _ = <ProcessingResponse as Message>::decode(&bytes);
    }

    #[test]
    fn a_bit_that_flips_is_read_or_refused(request in ours::request(), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let mut bytes = written(&request).to_vec();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        let bytes = Bytes::from(bytes);
        // What is taken is also written so that it is taken again.
        if let Ok(read) = <ProcessingRequest as Message>::decode(&bytes) {
            let again = <ProcessingRequest as Message>::decode(&written(&read)).unwrap();
            prop_assert_eq!(format!("{again:?}"), format!("{read:?}"));
        }
    }
}

#[test]
fn deep_values_are_refused_before_the_stack_ends() {
    let mut value = Vec::new();
    for _ in 0..20_000 {
        // A list with one value: field 6 of a value, field 1 of the list.
        let mut list = vec![0x0a];
        prost::encoding::encode_varint(value.len() as u64, &mut list);
        list.append(&mut value);
        value = vec![0x32];
        prost::encoding::encode_varint(list.len() as u64, &mut value);
        value.append(&mut list);
    }
    let wrap = |tag: u8, inner: Vec<u8>| {
        let mut out = vec![tag];
        prost::encoding::encode_varint(inner.len() as u64, &mut out);
        out.extend(inner);
        out
    };
    // dynamic_metadata { fields { value } }
    let bytes = wrap(0x42, wrap(0x0a, wrap(0x12, value)));
    let read = <ProcessingResponse as Message>::decode(&Bytes::from(bytes));
    assert_eq!(read, Err(suimon_extproc::DecodeError::TooDeep));
}

#[test]
fn a_value_without_raw_value_is_read() {
    let mut request = theirs::request(&ProcessingRequest::default());
    let header = theirs::HeaderValue {
        key: ":path".to_owned(),
        value: "/v1/models".to_owned(),
        raw_value: Vec::new(),
    };
    request.request = Some(theirs::part_of_headers(vec![header]));
    let bytes = Bytes::from(request.encode_to_vec());
    let read = <ProcessingRequest as Message>::decode(&bytes).unwrap();
    let Some(suimon_extproc::message::Part::RequestHeaders(head)) = read.part else {
        panic!("no headers")
    };
    assert_eq!(head.get(":path").unwrap(), "/v1/models");
}
