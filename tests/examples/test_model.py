"""The scripted model speaks the API that Pi expects and plays the scene that a prompt names; the demo does its job."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from examples.model_demo import HELP, TEMPLATE, wanted_heading
from examples.model_scenes import CONTEXT_MARKER, SCENES, Pause, Say, directive, read_request
from examples.model_server import MODEL, ModelServer, models_json
from tests.support.waiting import until

PAGE = '{% extends "base.html" %}\n<section>\n  <h1 class="big">Welcome &amp; hello</h1>\n</section>\n'


def post(server: ModelServer, messages: list[dict[str, Any]], *, stream: bool = True) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    try:
        body = json.dumps({"model": MODEL, "messages": messages, "stream": stream})
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def ask(prompt: str, *since: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "system", "content": "You are Pi."}, {"role": "user", "content": prompt}, *since]


def round_of(answer: dict[str, Any], result: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What Pi sends after it has run the tool call in `answer`."""
    return (
        {"role": "assistant", "tool_calls": [{"function": {"name": answer["tool"], "arguments": answer["arguments"]}}]},
        {"role": "tool", "content": result},
    )


def read_stream(text: str) -> dict[str, Any]:
    """The whole answer out of a stream of chunks."""
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    calls = [call["function"] for choice in choices for call in choice["delta"].get("tool_calls", [])]
    return {
        "text": "".join(choice["delta"].get("content") or "" for choice in choices),
        "thoughts": "".join(choice["delta"].get("reasoning_content", "") for choice in choices),
        "tool": next((call["name"] for call in calls if "name" in call), None),
        "arguments": "".join(call["arguments"] for call in calls),
        "reason": next(choice["finish_reason"] for choice in reversed(choices) if choice["finish_reason"]),
        "ended": text.rstrip().endswith("data: [DONE]"),
    }


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Hello", {"text": "Hello from the scripted model. This is a plain streamed reply.", "reason": "stop"}),
        ('SCENE:text reply="two words"', {"text": "two words"}),
        ("SCENE:think", {"thoughts": "Let me think about this, step by step."}),
        ("Say it. SCENE:echo", {"text": "You said: Say it."}),
        ("SCENE:bash cmd='ls -l'", {"tool": "bash", "arguments": '{"command": "ls -l"}', "reason": "tool_calls"}),
        ("SCENE:tool", {"tool": "bash", "arguments": '{"command": '}),
        ("SCENE:cut finish=content_filter", {"reason": "content_filter"}),
        ("SCENE:nothing", {"text": "There is no scene called nothing."}),
        (f"SCENE:text reply=mine\n{CONTEXT_MARKER}\nSCENE:text reply=theirs", {"text": "mine"}),
    ],
)
def test_a_prompt_chooses_the_scene(model: ModelServer, prompt: str, expected: dict[str, Any]) -> None:
    status, body = post(model, ask(prompt))
    answer = read_stream(body)
    assert status == 200
    assert answer["ended"]
    assert {key: answer[key] for key in expected} == expected


def test_a_tool_scene_closes_once_the_result_is_there(model: ModelServer) -> None:
    first = read_stream(post(model, ask("SCENE:bash"))[1])
    second = read_stream(post(model, ask("SCENE:bash", *round_of(first, "hello")))[1])
    assert (second["text"], second["tool"]) == ("Done: the command ran.", None)


def test_an_error_is_told_as_often_as_asked_for(model: ModelServer) -> None:
    prompt = ask("SCENE:error status=503 times=2")
    assert [post(model, prompt)[0] for _ in range(3)] == [503, 503, 200]
    assert [post(model, ask("SCENE:error status=401 times=-1"))[0] for _ in range(3)] == [401, 401, 401]


def test_a_long_answer_has_the_size_asked_for_and_its_end() -> None:
    request = read_request(ask(""), None)
    request.options = {"kb": "96"}
    text = "".join(step.text for step in SCENES["long"](request) if isinstance(step, Say))
    assert 96 * 1024 <= len(text.encode()) < 98 * 1024
    assert text.endswith("END-OF-LONG")


def test_a_summary_never_plays_the_prompt_that_it_quotes(model: ModelServer) -> None:
    system = {"role": "system", "content": "You are a context summarization assistant."}
    answer = read_stream(post(model, [system, {"role": "user", "content": "SCENE:bash"}])[1])
    assert answer["tool"] is None
    assert "summary" in answer["text"]


def test_a_client_that_goes_away_ends_the_answer(model: ModelServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", model.server_address[1], timeout=10)
    connection.request("POST", "/v1/chat/completions", json.dumps({"messages": ask("SCENE:forever"), "stream": True}))
    response = connection.getresponse()
    assert b"tick" in response.read(2000)
    response.close()
    connection.close()
    until(lambda: model.requests[0].outcome == "gone", "the server notices")


@pytest.mark.parametrize("body", ["", "[]", '{"messages": 3}', "{"])
def test_a_bad_request_is_refused(model: ModelServer, body: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", model.server_address[1], timeout=10)
    try:
        connection.request("POST", "/v1/chat/completions", body)
        assert connection.getresponse().status == 400
    finally:
        connection.close()


def test_an_answer_without_a_stream_is_whole(model: ModelServer) -> None:
    _, body = post(model, ask("SCENE:text reply=whole"), stream=False)
    assert json.loads(body)["choices"][0]["message"]["content"] == "whole"


def test_options_may_hold_quotes_and_line_breaks() -> None:
    name, options = directive('Do it. SCENE:write path=a.txt content="one\\ntwo"')
    request = read_request(ask(""), None)
    request.options = options
    assert (name, request.option("content", "")) == ("write", "one\ntwo")


def test_pauses_never_wait_in_the_script() -> None:
    request = read_request(ask(""), None)
    steps = SCENES["slow"](request)
    assert sum(step.seconds for step in steps if isinstance(step, Pause)) == pytest.approx(10)


def test_the_models_file_names_this_server() -> None:
    with ModelServer() as server:
        assert models_json(server.url)["providers"]["demo"]["baseUrl"] == server.url  # type: ignore[index]


# ---- the demo -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instruction", "wanted"),
    [
        ("Change the heading to “Fresh from the kiln”", "Fresh from the kiln"),
        ('Make it say "Hello you"', "Hello you"),
        ("The title should be 'Pots & pans', please", "Pots & pans"),
        ("Don't change the title", ""),
        ("Give the page a friendlier headline", ""),
        ("Change it to “{{ config }} now”", "config now"),
        ("What does this page do?", None),
        ("Don't worry, it's fine", None),
    ],
)
def test_the_demo_understands_wishes_about_the_heading(instruction: str, wanted: str | None) -> None:
    assert wanted_heading(instruction) == wanted


def test_the_demo_reads_the_template_changes_one_line_and_says_what_it_did() -> None:
    prompt = "Change the heading to “Pots < pans”"
    with ModelServer(default_scene="demo") as server:
        first = read_stream(post(server, ask(prompt))[1])
        assert (first["tool"], json.loads(first["arguments"])) == ("read", {"path": TEMPLATE})
        since = round_of(first, PAGE)
        second = read_stream(post(server, ask(prompt, *since))[1])
        edit = json.loads(second["arguments"])
        (change,) = edit["edits"]
        assert (second["tool"], edit["path"]) == ("edit", TEMPLATE)
        assert PAGE.count(change["oldText"]) == 1
        assert '<h1 class="big">Pots &lt; pans</h1>' in PAGE.replace(change["oldText"], change["newText"])
        third = read_stream(post(server, ask(prompt, *since, *round_of(second, "ok")))[1])
    assert third["tool"] is None
    assert "Pots < pans" in third["text"]


@pytest.mark.parametrize(
    ("prompt", "template", "words"),
    [
        ("Make the heading “Welcome & hello”", PAGE, "already says"),
        ("Change the heading", "<p>none</p>", "found no heading"),
    ],
)
def test_the_demo_changes_nothing_without_need(prompt: str, template: str, words: str) -> None:
    with ModelServer(default_scene="demo") as server:
        first = read_stream(post(server, ask(prompt))[1])
        answer = read_stream(post(server, ask(prompt, *round_of(first, template)))[1])
    assert answer["tool"] is None
    assert words in answer["text"]


def test_the_demo_says_what_it_cannot_do() -> None:
    with ModelServer(default_scene="demo") as server:
        assert read_stream(post(server, ask("Add a login page"))[1])["text"] == HELP
