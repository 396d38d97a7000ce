"""Uses a gateway as an application does: by the official client. Prints one JSON object."""

import json
import sys

import openai

base_url, model, kind = sys.argv[1:4]
client = openai.OpenAI(base_url=base_url, api_key="unused", max_retries=0, timeout=30)
messages = [{"role": "user", "content": "Hello"}]


def failure(call):
    """Class, status and body of the error that a call ends with."""
    try:
        call()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.body, error.request_id]
    return None


def chat(**more):
    return client.chat.completions.create(model=model, messages=messages, max_tokens=8, **more)


if kind == "shed":
    shed = {"x-llm-d-inference-objective": "batch"}
    print(json.dumps({"shed": failure(lambda: chat(extra_headers=shed)), "pass": chat().model}))
    sys.exit()

answer = chat()
stream = list(chat(stream=True, stream_options={"include_usage": True}))
completion = client.completions.create(model=model, prompt="Once upon a time", max_tokens=8)
embeddings = client.embeddings.create(model=model, input=["a", "b"])
print(
    json.dumps(
        {
            "chat": [answer.model, answer.choices[0].message.content, answer.usage.completion_tokens],
            "stream": {
                "models": sorted({chunk.model for chunk in stream}),
                "text": "".join(c.choices[0].delta.content or "" for c in stream if c.choices),
                "completion_tokens": stream[-1].usage.completion_tokens,
            },
            "completion": [completion.model, completion.choices[0].text],
            "models": [one.id for one in client.models.list()],
            "embeddings": [len(one.embedding) for one in embeddings.data],
            "unknown": failure(
                lambda: client.chat.completions.create(model="gpt-7", messages=messages)
            ),
            "no_route": failure(lambda: client.get("/../nowhere", cast_to=object)),
        }
    )
)
