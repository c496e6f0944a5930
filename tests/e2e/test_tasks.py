"""A task from HTTP request to result, through a real server, the broker and both lines of the real Pi."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from examples.client import Refused
from flask_pi_taskbar.contract import texts
from tests.e2e.world import Server, World
from tests.support.waiting import until

pytestmark = pytest.mark.pi


def test_a_task_runs_tools_edits_a_file_and_the_page_shows_it(world: World) -> None:
    server = world.flask()
    assert "<h1>Welcome to our shop</h1>" in server.taskbar.page()
    task = server.do("SCENE:edit path=templates/index.html old='Welcome to our shop' new='New and fired'")
    assert (task["status"], task["error"]) == ("completed", None)
    assert task["output"] == "I will change the file.\n\nDone: the file is changed."
    assert task["activity"] == texts.TASK_COMPLETED
    assert "<h1>New and fired</h1>" in server.taskbar.page()
    assert len(world.pi_starts()) == 1


def test_each_turn_of_a_task_is_a_paragraph_of_its_output(world: World) -> None:
    task = world.flask().do("SCENE:tools steps=3 cmd=true")
    assert task["output"] == "Step 1.\n\nStep 2.\n\nStep 3.\n\nDone: 3 steps."


def test_pi_sees_the_instruction_and_the_fenced_page(world: World) -> None:
    server = world.flask()
    server.do("Look here. SCENE:text")
    asked = world.model.requests[-1].ask
    assert asked.instruction == "Look here. SCENE:text"
    assert '"path":"/"' in asked.prompt.partition("--- BEGIN UNTRUSTED BROWSER CONTEXT ---")[2]


def test_a_refused_key_ends_as_failed_and_the_next_task_runs(world: World) -> None:
    server = world.flask()
    task = server.do("SCENE:error status=401 times=-1")
    assert (task["status"], task["error"]) == ("failed", texts.PROVIDER_ERROR)
    assert "Incorrect API key" not in str(server.taskbar.state())
    assert server.do("SCENE:text")["status"] == "completed"
    assert len(world.pi_starts()) == 1


def test_an_error_that_a_retry_repairs_is_no_failure(world: World) -> None:
    task = world.flask().do("SCENE:error status=500 times=1")
    assert (task["status"], task["error"]) == ("completed", None)
    assert "Recovered" in task["output"]


def test_three_stops_in_a_row_keep_the_session_and_its_pi(world: World) -> None:
    server = world.flask()
    session = server.ready()["session"]["id"]
    for number in range(3):
        task_id = server.start(f"SCENE:forever delay=0.05 run={number}")
        server.saying("tick5")
        assert server.taskbar.cancel(task_id)["task"]["status"] in ("cancelling", "cancelled")
        task = server.finish(task_id, 15)
        assert (task["status"], task["error"]) == ("cancelled", None)
    after = server.ready()["session"]
    assert after["id"] == session
    assert world.pi_starts() == world.pis()
    assert len(world.pis()) == 1
    assert server.do("SCENE:text")["status"] == "completed"


def test_a_stop_ends_the_command_that_pi_runs(world: World) -> None:
    server = world.flask()
    task_id = server.start("SCENE:bash cmd='echo $$ > running; exec sleep 300'")
    command = int(until(lambda: world.content("running").strip(), "the command runs"))
    server.taskbar.cancel(task_id)
    assert server.finish(task_id)["status"] == "cancelled"
    until(lambda: not psutil.pid_exists(command), "the command has ended")


def test_a_task_whose_final_record_is_huge_completes(world: World) -> None:
    world.file("big.txt").write_text("".join(f"{number:06d} {'x' * 40}\n" for number in range(1040)))
    task = world.flask().do("SCENE:read path=big.txt times=30 each=6")
    assert (task["status"], task["error"]) == ("completed", None)
    assert task["output"].endswith("Done: the file is read.")
    assert sum(len(result) for result in world.model.requests[-1].ask.results) > 1_400_000


def test_the_output_keeps_the_newest_32_kib_of_whole_characters(world: World) -> None:
    task = world.flask().do("SCENE:long kb=200")
    kept = task["output"].encode()
    assert (task["status"], task["output_truncated"]) == ("completed", True)
    assert task["output"].endswith("END-OF-LONG")
    assert 32768 - 3 <= len(kept) <= 32768
    assert "\ufffd" not in task["output"]


def test_a_new_conversation_forgets_the_old_one_and_keeps_pi(world: World) -> None:
    server = world.flask()
    server.do("Remember the number 4711. SCENE:text")
    before = server.taskbar.state()["session"]["id"]
    snapshot = server.taskbar.reset()
    assert (snapshot["session"]["status"], snapshot["task"]) == ("ready", None)
    assert snapshot["session"]["id"] != before
    server.do("SCENE:text")
    assert "4711" not in str(world.model.requests[-1].ask)
    assert len(world.pi_starts()) == 1


def test_a_new_conversation_waits_until_the_task_is_over(world: World) -> None:
    server = world.flask()
    task_id = server.start("SCENE:forever")
    for call, code in ((server.taskbar.reset, "reset_while_busy"), (lambda: server.taskbar.submit("more"), "busy")):
        with pytest.raises(Refused) as refused:
            call()
        assert (refused.value.status, refused.value.code) == (409, code)
        assert refused.value.body["snapshot"]["task"]["id"] == task_id
    server.taskbar.cancel(task_id)
    server.finish(task_id)


def test_a_killed_pi_fails_its_task_and_a_new_one_takes_the_next(world: World) -> None:
    server = world.flask()
    task_id = server.start("SCENE:forever delay=0.05")
    server.saying("tick3")
    os.kill(world.pis()[0], signal.SIGKILL)
    task = server.finish(task_id, 20)
    assert (task["status"], task["error"]) == ("failed", texts.STOPPED_UNEXPECTEDLY)
    assert "tick3" in task["output"]
    assert server.do("SCENE:text")["status"] == "completed"
    assert (len(world.pi_starts()), len(world.pis())) == (2, 1)


def test_a_killed_broker_tells_what_became_of_the_task_and_never_sends_it_again(world: World) -> None:
    server = world.flask()
    task_id = server.start("Keep my words. SCENE:forever delay=0.05")
    server.saying("tick3")
    broker = world.broker()
    (old_pi,) = world.pis()
    os.kill(broker, signal.SIGKILL)
    task = server.finish(task_id, 30)
    assert (task["status"], task["error"]) == ("failed", texts.INTERRUPTED)
    assert task["prompt"] == "Keep my words. SCENE:forever delay=0.05"
    until(lambda: old_pi not in world.pis(), "the old Pi has ended")
    server.ready()
    assert world.brokers() != [broker]
    assert len(world.brokers()) == len(world.pis()) == 1
    asked = [seen.ask.instruction for seen in world.model.requests]
    assert asked.count("Keep my words. SCENE:forever delay=0.05") == 1
    assert server.do("SCENE:text")["status"] == "completed"


def test_a_killed_broker_leaves_no_command_of_pi_behind(world: World) -> None:
    server = world.flask()
    task_id = server.start("SCENE:bash cmd='echo $$ > running; exec sleep 300'")
    command = int(until(lambda: world.content("running").strip(), "the command runs"))
    os.kill(world.broker(), signal.SIGKILL)
    assert server.finish(task_id, 30)["status"] == "failed"
    until(lambda: not psutil.pid_exists(command), "the command has ended")


def test_the_reloader_may_restart_the_server_in_the_middle_of_a_task(world: World) -> None:
    server = world.flask()
    old = '@app.get("/")'
    new = '@app.get("/new")\\ndef new() -> str:\\n    return "from the new code"\\n\\n\\n@app.get("/")'
    task_id = server.start(f"SCENE:edit path=app.py old='{old}' new='{new}' chunks=20 delay=0.1")
    task = server.finish(task_id, 60)
    assert (task["status"], task["error"]) == ("completed", None)
    assert task["output"] == "I will change the file.\n\nDone: the file is changed."
    assert "from the new code" in until(lambda: _page(server, "/new"), "the new code serves")
    assert "Restarting with" in server.log.read_text()
    assert len(world.brokers()) == len(world.pi_starts()) == 1


def test_an_app_that_pi_breaks_for_a_moment_is_no_end_of_the_task(world: World) -> None:
    server = world.flask()
    task = server.do(
        "SCENE:bash cmd='cp app.py kept; echo \"(\" >> app.py; sleep 3; cp kept app.py' chunks=10 delay=0.1"
    )
    assert (task["status"], task["output"]) == ("completed", "I will run a command.\n\nDone: the command ran.")
    assert "SyntaxError" in server.log.read_text()
    until(lambda: "Kiln" in (_page(server, "/") or ""), "the app serves again")
    assert len(world.brokers()) == len(world.pi_starts()) == 1


def test_a_server_that_pi_starts_does_not_take_itself_for_ours(world: World) -> None:
    world.flask().do("SCENE:bash cmd=env")
    seen = {line.partition("=")[0] for line in world.model.requests[-1].ask.results[0].splitlines()}
    assert {"HOME", "PATH"} <= seen
    assert not {"WERKZEUG_SERVER_FD", "WERKZEUG_RUN_MAIN", "FLASK_RUN_FROM_CLI"} & seen


def test_a_pi_without_a_model_says_what_to_do(world: World) -> None:
    nothing = world.root / "nothing"
    nothing.mkdir()
    server = world.flask(PI_CODING_AGENT_DIR=str(nothing))
    server.wait(lambda snapshot: snapshot["session"]["error"] == texts.NO_MODEL, "no model")
    assert server.taskbar.state()["session"]["model"] is None


def test_a_pi_that_is_installed_later_is_found_by_a_new_conversation(world: World) -> None:
    later = world.root / "later"
    server = world.flask(PI_BROWSER_TASKBAR_EXECUTABLE=str(later))
    server.wait(lambda snapshot: snapshot["session"]["status"] == "unavailable", "no Pi yet")
    later.symlink_to(world.root / "pi")
    assert server.taskbar.reset()["session"]["status"] == "ready"
    assert server.do("SCENE:text")["status"] == "completed"


def _page(server: Server, path: str) -> str | None:
    try:
        return str(server.taskbar.page(path))
    except OSError:
        return None
