"""Who is let in, whose settings are in force, when the broker gives way."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.reception import HOLD, Reception, Settings
from flask_pi_taskbar.broker.wire import Hello, Refused, Welcome

VERSION = "1.2.3"


def settings(executable: str = "pi", timeout: int = 600, **environment: str) -> Settings:
    encoded = {name.encode(): value.encode() for name, value in environment.items()}
    return Settings(executable=executable, task_timeout=timeout, environment=encoded)


def desk() -> Reception:
    return Reception(identity="1000:/p", token="secret", version=VERSION, pid=7)


def hello(
    instance: str = "server",
    asked: Settings | None = None,
    *,
    role: str = wire.ROLE_APP,
    version: str = VERSION,
    **more: object,
) -> Hello:
    fields = {"generation": wire.GENERATION, "identity": "1000:/p", "token": "secret"} | more
    digest = (asked or settings()).digest
    return Hello(role=role, version=version, instance=instance, digest=digest, **fields)  # type: ignore[arg-type]


def comes(desk: Reception, instance: str, asked: Settings, *, idle: bool = True) -> bool:
    """A server connects as the real client does; True when it was asked for its settings."""
    greeting = hello(instance, asked)
    reply = desk.greet(greeting, idle=idle)
    assert isinstance(reply, Welcome)
    if reply.configure:
        desk.configure(greeting, asked)
    return reply.configure


class TestIdentity:
    @pytest.mark.parametrize("wrong", [{"token": "guess"}, {"identity": "1000:/other"}, {"token": ""}])
    def test_who_does_not_know_us_is_turned_away(self, wrong: dict[str, str]) -> None:
        reply = desk().greet(hello(**wrong), idle=True)
        assert isinstance(reply, Refused)
        assert reply.code == wire.WRONG_IDENTITY

    def test_who_does_not_know_us_cannot_make_us_leave(self) -> None:
        reception = desk()
        reception.greet(hello(token="guess", version="99.0"), idle=True)
        reception.greet(hello(token="guess", generation=99), idle=True)
        assert not reception.leaves_when_idle

    def test_the_welcome_proves_who_we_are(self) -> None:
        reply = desk().greet(hello(), idle=True)
        assert reply == Welcome(
            generation=wire.GENERATION, identity="1000:/p", token="secret", version=VERSION, pid=7, configure=True
        )

    @pytest.mark.parametrize(("generation", "leaves"), [(wire.GENERATION + 1, True), (wire.GENERATION - 1, False)])
    def test_another_generation_is_told_so_and_an_older_broker_gives_way(self, generation: int, leaves: bool) -> None:
        reception = desk()
        reply = reception.greet(hello(generation=generation), idle=False)
        assert reply == Refused(code=wire.INCOMPATIBLE_GENERATION, generation=wire.GENERATION, version=VERSION, pid=7)
        assert reception.leaves_when_idle is leaves


class TestSettings:
    def test_the_first_client_brings_them(self) -> None:
        reception = desk()
        assert reception.configure(hello(), settings()) is True
        assert reception.settings == settings()

    def test_a_client_without_settings_is_not_asked(self) -> None:
        reply = desk().greet(Hello(1, "1000:/p", "secret", wire.ROLE_CLI, VERSION), idle=True)
        assert isinstance(reply, Welcome)
        assert not reply.configure

    def test_a_known_server_is_not_asked_again(self) -> None:
        reception = desk()
        assert comes(reception, "server", settings())
        assert not comes(reception, "server", settings())

    def test_a_command_with_settings_changes_nothing_that_is_in_force(self) -> None:
        reception = desk()
        comes(reception, "server", settings())
        reply = reception.greet(hello("command", settings("other"), role=wire.ROLE_CLI), idle=True)
        assert isinstance(reply, Welcome)
        assert not reply.configure

    def test_a_server_that_starts_later_decides(self) -> None:
        reception = desk()
        comes(reception, "first", settings("pi"))
        comes(reception, "second", settings("other"))
        assert reception.change(100.0, idle=True) == settings("other")
        assert reception.settings == settings("other")
        assert reception.change(200.0, idle=True) is None

    def test_a_changed_time_limit_counts_as_other_settings(self) -> None:
        reception = desk()
        comes(reception, "first", settings(timeout=60))
        comes(reception, "second", settings(timeout=61))
        assert reception.change(100.0, idle=True) == settings(timeout=61)

    def test_work_goes_on_under_the_settings_it_began_with(self) -> None:
        reception = desk()
        comes(reception, "first", settings("pi"))
        comes(reception, "second", settings("other"), idle=False)
        assert reception.change(100.0, idle=False) is None
        assert reception.settings == settings("pi")
        assert reception.change(101.0, idle=True) == settings("other")

    def test_two_servers_that_run_side_by_side_do_not_take_turns(self) -> None:
        reception = desk()
        comes(reception, "first", settings("pi"))
        comes(reception, "second", settings("other"))
        changes = 0
        for now in range(1_000):
            assert not comes(reception, "first", settings("pi"))
            assert not comes(reception, "second", settings("other"))
            changes += reception.change(float(now), idle=True) is not None
        assert changes == 1

    def test_a_server_that_restarts_all_the_time_changes_them_at_most_once_in_the_hold(self) -> None:
        reception = desk()
        comes(reception, "first", settings("pi"))
        changes = 0
        for now in range(100):
            comes(reception, f"restarted {now}", settings("pi" if now % 2 else "other"))
            changes += reception.change(float(now), idle=True) is not None
        assert 1 <= changes <= 100 / HOLD + 1

    def test_a_held_change_has_a_deadline(self) -> None:
        reception = desk()
        comes(reception, "first", settings("pi"))
        comes(reception, "second", settings("other"))
        reception.change(50.0, idle=True)
        assert reception.deadline() is None
        comes(reception, "third", settings("pi"))
        assert reception.change(51.0, idle=True) is None
        assert reception.deadline() == 50.0 + HOLD
        assert reception.change(50.0 + HOLD, idle=True) == settings("pi")

    def test_who_starts_last_with_the_settings_in_force_takes_back_an_older_wish(self) -> None:
        reception = desk()
        comes(reception, "first", settings("pi"))
        comes(reception, "second", settings("other"), idle=False)
        comes(reception, "third", settings("pi"), idle=False)
        assert reception.change(100.0, idle=True) is None

    def test_a_new_environment_alone_is_kept_for_the_next_start_and_changes_nothing(self) -> None:
        reception = desk()
        comes(reception, "first", settings(KEY="old"))
        comes(reception, "second", settings(KEY="new"))
        assert reception.change(100.0, idle=True) is None
        assert reception.settings == settings(KEY="new")


class TestVersions:
    @pytest.mark.parametrize("newer", ["1.2.4", "1.3", "1.10.0", "2.0.0.dev1", "1.2.3.1"])
    def test_an_idle_broker_gives_way_to_a_newer_version(self, newer: str) -> None:
        reception = desk()
        reply = reception.greet(hello(version=newer), idle=True)
        assert isinstance(reply, Refused)
        assert reply.code == wire.HANDING_OVER
        assert reception.leaves_when_idle

    def test_a_busy_broker_serves_it_and_leaves_afterwards(self) -> None:
        reception = desk()
        assert isinstance(reception.greet(hello(version="2.0"), idle=False), Welcome)
        assert reception.leaves_when_idle
        assert isinstance(reception.greet(hello("another"), idle=False), Welcome)
        assert isinstance(reception.greet(hello("another"), idle=True), Refused)

    @pytest.mark.parametrize("older", ["1.2.3", "1.2.2", "1.2", "0.9", "1.2.3rc1", "1.2.3.dev4", "", "nonsense"])
    def test_the_same_or_an_older_version_is_served(self, older: str) -> None:
        reception = desk()
        assert isinstance(reception.greet(hello(version=older), idle=True), Welcome)
        assert not reception.leaves_when_idle

    def test_a_release_is_newer_than_its_candidate(self) -> None:
        reception = Reception(identity="1000:/p", token="secret", version="1.3rc1", pid=7)
        assert isinstance(reception.greet(hello(version="1.3"), idle=True), Refused)


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ({"KEY": "a"}, False),
        ({"KEY": "b"}, True),
        ({}, True),
        ({"KEY": "a", "MORE": ""}, True),
        ({"KEY": "a", "_": "/bin/flask", "SHLVL": "2", "PWD": "/p", "OLDPWD": "/q"}, False),
    ],
)
def test_what_only_a_shell_notes_for_itself_is_no_other_environment(other: dict[str, str], differs: bool) -> None:
    assert settings(KEY="a").differs_for_pi(settings(**other)) is differs
