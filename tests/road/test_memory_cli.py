"""`limen remember|search|recall|ingest|brain`, as somebody at a terminal or a script uses them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.environment import Home, lack
from tests.requirements import requirement
from tests.road.shell import Shell
from tests.unit.brain.ingest.samples import pdf

pytestmark = [pytest.mark.timeout(60)]

BIG = "# Big\n\n" + "".join(f"Paragraph {number} is about nothing.\n\n" for number in range(70_000)) + "The needle.\n"


@pytest.fixture
def shell(limen_bin: Path, home: Home) -> Shell:
    config = home.path / "limen.yaml"
    config.write_text("memory: {embedder: none}\n", encoding="utf-8")
    return Shell(limen_bin, Home(home.path, {**home.env, "LIMEN_CONFIG": str(config)}))


@requirement("cli.memory")
def test_what_is_remembered_is_found_and_recalled(shell: Shell) -> None:
    kept = shell.run("remember", "The deploy key", "rotates on Mondays", "--tag", "ops", "--tag", "keys", "--json")
    assert (kept.code, kept.err) == (0, "")
    assert kept.data["title"] == "The deploy key rotates on Mondays"
    assert kept.data["metadata"]["tags"] == "ops,keys"
    piped = shell.run("remember", "--path", "wiki/räume.md", stdin="# Räume\n\nDer Schlüssel liegt im Flur.\n")
    assert piped.code == 0, piped.err
    found = shell.run("search", "deploy", "key")
    assert [hit["path"] for hit in found.data["hits"]] == [kept.data["path"]]
    from_stdin = shell.run("search", "-", stdin="Schlüssel\n")
    assert from_stdin.data["hits"][0]["path"] == "wiki/räume.md"
    recalled = shell.run("recall", "deploy key", "--session", "ses_1", "--json")
    assert recalled.data["chunks"][0]["document_id"] == kept.data["id"]
    filtered = shell.run("search", "key", "--tag", "nothing", "--since", "2020-01-01", "--until", "2999-01-01")
    assert (filtered.code, filtered.data["hits"]) == (0, []), filtered.err
    assert shell.run("search", "deploy", "--since", "2020-01-01", "--tag", "ops").data["hits"]


@requirement("cli.memory")
def test_a_terminal_gets_words_and_not_json(shell: Shell) -> None:
    kept = shell.show("remember", "Herons nest \x1b[31min reeds", "--title", "Herons")
    assert kept.code == 0, kept.err
    assert "Remembered" in kept.out
    found = shell.show("search", "herons", "--explain")
    assert found.code == 0, found.err
    assert "memory/global/herons.md" in found.out
    assert "How it was found" in found.out
    assert "\x1b[31min" not in found.out
    nothing = shell.show("search", "zzyzx")
    assert (nothing.code, "Nothing found" in nothing.out + nothing.err) == (0, True)


@pytest.mark.parametrize(
    ("words", "stdin", "code", "exit_code"),
    [
        (["remember"], "", "invalid_arguments", 2),
        (["remember"], " \n", "invalid_arguments", 2),
        (["remember", "x", "--path", "../x"], "", "invalid_path", 2),
        (["remember", "x", "--title", "t" * 513], "", "invalid_arguments", 2),
        (["remember", "x", "--brain", "nowhere"], "", "no_brain", 8),
        (["search", "x"], "", "no_brain", 8),
        (["search"], "", "invalid_arguments", 2),
        (["recall", "x", "--brain", "nowhere"], "", "no_brain", 8),
        (["ingest", "missing.md"], "", "unreadable", 2),
        (["brain", "jobs", "job_x"], "", "no_brain", 8),
        (["brain", "history", "--at", "abc"], "", "invalid_arguments", 2),
        (["brain", "delete", "nowhere"], "", "no_brain", 8),
    ],
)
@requirement("cli.memory")
def test_a_failure_has_a_code_and_an_exit_code(
    shell: Shell, words: list[str], stdin: str, code: str, exit_code: int
) -> None:
    failed = shell.run(*words, "--json", stdin=stdin)
    assert (failed.code, failed.out) == (exit_code, "")
    assert failed.error["code"] == code if words[0] != "ingest" else code in failed.err


@requirement("cli.memory")
def test_what_a_search_cannot_take_names_the_option(shell: Shell) -> None:
    shell.run("remember", "x")
    for words in (["--top-k", "0"], ["--top-k", "101"], ["--scope", "mars"], ["--mode", "x"], ["--since", "Mars"]):
        failed = shell.run("search", "x", *words, "--json")
        assert (failed.code, failed.error["code"]) == (2, "invalid_arguments"), words
    latin = subprocess.run(
        [shell.limen, "remember", "--json"], env=shell.home.env, input=b"gr\xfc\xdfe", capture_output=True, check=False
    )
    assert (latin.returncode, b"UTF-8" in latin.stderr) == (2, True)


@requirement("cli.memory")
def test_a_folder_is_taken_in_and_bad_files_are_told(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "no.md").write_text("hidden")
    (folder / "a.md").write_text("# A\n\nalphaword")
    (folder / "deep" / "b.pdf").write_bytes(pdf("betaword"))
    (folder / "linked.md").symlink_to(folder / "a.md")
    (folder / "binary.md").write_bytes(bytes(range(256)) * 10)
    (folder / "empty.txt").touch()
    os.mkfifo(folder / "pipe.md")
    taken = shell.run("ingest", str(folder))
    assert taken.code == 1
    assert [row["path"] for row in taken.rows] == ["raw/documents/docs/a.md", "raw/documents/docs/deep/b.pdf.md"]
    assert "binary.md" in taken.err
    assert "empty.txt" in taken.err
    assert "2 taken in (2 passages), 0 already here, 2 skipped" in taken.err
    again = shell.run("ingest", str(folder / "a.md"), str(folder / "deep"))
    assert (again.code, [row["reused"] for row in again.rows]) == (0, [True, True])
    assert shell.run("search", "betaword").data["hits"][0]["trust"] == "untrusted"
    nothing = shell.run("ingest", str(folder / "binary.md"), str(folder / "pipe.md"))
    assert nothing.code == 2


@requirement("cli.memory")
def test_files_of_one_name_named_together_are_all_kept(shell: Shell, tmp_path: Path) -> None:
    files: list[str] = []
    for number in range(5):
        file = tmp_path / str(number) / "notes.md"
        file.parent.mkdir()
        file.write_text(f"# Notes\n\nword{number}")
        files.append(str(file))
    os.link(files[0], tmp_path / "second-name.md")
    taken = shell.run("ingest", *files)
    assert (taken.code, len({row["path"] for row in taken.rows}), len({row["document_id"] for row in taken.rows})) == (
        0,
        5,
        5,
    )


@pytest.mark.slow
@requirement("cli.memory")
def test_a_big_file_is_waited_for_and_its_job_is_told(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "big.md").write_text(BIG, encoding="utf-8")
    taken = shell.run("ingest", str(tmp_path / "big.md"))
    assert taken.code == 0, taken.err
    (row,) = taken.rows
    assert (row["status"], row["chunk_count"] > 100) == ("completed", True)
    jobs = shell.run("brain", "jobs")
    assert [(job["id"], job["state"]) for job in jobs.data] == [(row["job_id"], "done")]
    shown = shell.show("brain", "jobs", row["job_id"], columns=120)
    assert (shown.code, "done" in shown.out, "raw/documents/big.md" in shown.out) == (0, True, True)
    assert shell.run("brain", "jobs", "job_x", "--json").error["code"] == "not_found"
    assert shell.run("search", "needle").data["hits"][0]["document_id"] == row["document_id"]


@pytest.mark.parametrize("command", ["remember", "search", "recall", "ingest", "brain", "brain jobs", "brain history"])
@requirement("cli.memory")
def test_help_has_a_summary_and_examples(shell: Shell, command: str) -> None:
    told = shell.run(*command.split(), "--help")
    assert (told.code, told.err) == (0, "")
    assert f"limen {command}" in told.out
    assert command == "brain" or "Example" in told.out


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can mount a folder read-only")
@requirement("cli.memory")
def test_a_brain_on_a_read_only_disk_is_a_clear_error_and_works_again_later(shell: Shell) -> None:
    kept = shell.run("remember", "# Tides\n\nThe spring tide.", "--path", "wiki/tides.md", "--json")
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "true"], check=False, capture_output=True).returncode:
        lack("unshare -m", "run the tests where folders can be mounted, as root outside a locked container")
    (journal,) = shell.home.path.rglob("journal.db")
    brain = str(journal.parent.parent)
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [unshare, "-m", "sh", "-c", script, "sh", brain, str(shell.limen), *words, "--json"]
        return subprocess.run(command, env=shell.home.env, capture_output=True, text=True, check=False)

    refused = run("remember", "# New\n\nwords", "--path", "wiki/new.md")
    assert refused.returncode == 1, refused.stderr
    assert '"code":"store_unavailable"' in refused.stderr.replace(" ", ""), refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (journal.parent.parent / "wiki" / "new.md").exists()
    later = shell.run("remember", "# New\n\nlater", "--path", "wiki/new.md", "--json")
    assert later.code == 0, later.err
    assert later.data["id"] != kept.data["id"]
    assert shell.run("search", "tide").data["hits"][0]["path"] == "wiki/tides.md"
