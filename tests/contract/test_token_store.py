"""Credentials are kept, found, replaced and forgotten alike in every store, and no process loses another's."""

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import keyring.errors
import pytest
from keyring.compat import properties

from limen.errors import StoreUnavailable
from limen.gateway.oauth.oskeyring import SERVICE, KeyringStore
from limen.gateway.oauth.stores import ChosenStore
from limen.gateway.oauth.tokens import Credential, Registration, Tokens, TokenStore
from limen.gateway.oauth.vault import FileVault
from tests.contract.processes import run_together
from tests.requirements import requirement

SERVER, OTHER = "https://a.example/mcp", "https://b.example/mcp"
CANARY = "a-token-nobody-may-read"


class DictKeyring(keyring.backend.KeyringBackend):
    """A keyring of the real package that lives as long as the test."""

    @properties.classproperty
    def priority(self) -> float:
        """As good as any."""
        return 5

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        """The item, None when there is none."""
        if self.is_locked:
            raise keyring.errors.KeyringLocked("the person said no")
        return self.items.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep an item."""
        self.items[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        """Drop an item."""
        del self.items[service, username]


@pytest.fixture
def ring() -> Iterator[DictKeyring]:
    before, ring = keyring.get_keyring(), DictKeyring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


def vault(folder: Path) -> TokenStore:
    return FileVault(folder)


def in_keyring(folder: Path) -> TokenStore:
    return KeyringStore(folder)


def chosen(folder: Path) -> TokenStore:
    return ChosenStore(folder)


Open = Callable[[Path], TokenStore]
every_store = pytest.mark.parametrize("opened", [vault, in_keyring, chosen])


def credential(server: str = SERVER, issuer: str = "https://id.example", token: str = "one") -> Credential:
    return Credential(
        server=server,
        issuer=issuer,
        tokens=Tokens(access_token=token, refresh_token="again", expires_at_ms=5, scope="a b"),
        registration=Registration(client_id="me", client_secret="hush", redirect_uri="http://127.0.0.1:8085/callback"),
        token_endpoint=f"{issuer}/token",
        resource=server,
    )


@every_store
def test_what_is_put_is_found(opened: Open, ring: DictKeyring, tmp_path: Path) -> None:
    store = opened(tmp_path)
    assert store.find(SERVER) is None
    store.put(credential())
    assert store.find(SERVER) == credential()
    assert store.find(OTHER) is None
    assert opened(tmp_path).find(SERVER) == credential()


@every_store
def test_a_credential_takes_the_place_of_its_elder(opened: Open, ring: DictKeyring, tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(credential(token="one"))
    store.put(credential(OTHER))
    store.put(credential(token="two"))
    assert store.find(SERVER) == credential(token="two")
    assert store.find(OTHER) == credential(OTHER)


@every_store
def test_each_issuer_has_its_own_and_the_last_saved_is_meant(opened: Open, ring: DictKeyring, tmp_path: Path) -> None:
    store, old, new = (
        opened(tmp_path),
        credential(issuer="https://old.example"),
        credential(issuer="https://new.example"),
    )
    store.put(new)
    store.put(old)
    assert store.find(SERVER) == old
    assert store.find(SERVER, "https://new.example") == new
    store.put(new)
    assert store.find(SERVER) == new
    assert store.find(SERVER, "https://third.example") is None


@every_store
def test_forgetting_a_server_leaves_nothing_of_it(opened: Open, ring: DictKeyring, tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(credential())
    store.put(credential(issuer=""))
    store.put(credential(OTHER))
    assert store.forget(SERVER)
    assert not store.forget(SERVER)
    assert store.find(SERVER) is None
    assert store.find(OTHER) == credential(OTHER)


@every_store
def test_two_openings_of_one_store_agree(opened: Open, ring: DictKeyring, tmp_path: Path) -> None:
    one, two = opened(tmp_path), opened(tmp_path)
    one.put(credential(token="one"))
    two.put(credential(token="two"))
    assert one.find(SERVER) == credential(token="two")
    two.forget(SERVER)
    assert one.find(SERVER) is None


@requirement("oauth.secrets")
def test_the_files_are_for_their_owner_alone_and_show_no_token(tmp_path: Path) -> None:
    folder = tmp_path / "oauth"
    FileVault(folder).put(credential(token=CANARY))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = [path for path in folder.iterdir() if path.is_file()]
    assert {path.name for path in files} == {"tokens", "tokens.key", "tokens.lock"}
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
        assert CANARY.encode() not in path.read_bytes()
        assert SERVER.encode() not in path.read_bytes()


def test_a_key_that_others_could_read_is_taken_from_them(tmp_path: Path) -> None:
    FileVault(tmp_path).put(credential())
    key = tmp_path / "tokens.key"
    key.chmod(0o644)
    assert FileVault(tmp_path).find(SERVER) == credential()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("name", ["tokens", "tokens.key"])
@pytest.mark.parametrize("damage", [flip, cut, empty])
def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    store = FileVault(tmp_path)
    store.put(credential())
    damage(tmp_path / name)
    damaged = (tmp_path / "tokens").read_bytes()
    with pytest.raises(StoreUnavailable, match="sign in again"):
        store.find(SERVER)
    with pytest.raises(StoreUnavailable):
        store.put(credential(OTHER))
    assert (tmp_path / "tokens").read_bytes() == damaged


def test_a_lost_key_is_said_and_not_replaced(tmp_path: Path) -> None:
    store = FileVault(tmp_path)
    store.put(credential())
    (tmp_path / "tokens.key").unlink()
    with pytest.raises(StoreUnavailable, match="key is gone"):
        store.put(credential(OTHER))
    assert not (tmp_path / "tokens.key").exists()


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_writers_in_several_processes_lose_nothing(tmp_path: Path) -> None:
    names, each = ["ann", "bea", "cy", "dee"], 15
    told = run_together("tests.contract.oauth_driver", [["put", str(tmp_path), name, str(each)] for name in names])
    assert [one["saved"] for one in told] == [each] * len(names)
    store = FileVault(tmp_path)
    for name in names:
        for number in range(each):
            found = store.find(f"https://{name}.example/{number}")
            assert found is not None
            assert found.tokens == Tokens(access_token=f"{name}-{number}")


def test_a_keyring_item_shows_neither_in_our_folder(ring: DictKeyring, tmp_path: Path) -> None:
    ChosenStore(tmp_path).put(credential(token=CANARY))
    assert CANARY in ring.items[SERVICE, SERVER]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and CANARY in path.read_text("latin-1")]


def test_a_locked_keyring_is_said(ring: DictKeyring, tmp_path: Path) -> None:
    store = KeyringStore(tmp_path)
    ring.is_locked = True
    with pytest.raises(StoreUnavailable, match="unlock"):
        store.find(SERVER)
    with pytest.raises(StoreUnavailable, match="unlock"):
        store.put(credential())


def test_somebody_elses_item_is_refused(ring: DictKeyring, tmp_path: Path) -> None:
    ring.items[SERVICE, SERVER] = "not ours"
    with pytest.raises(StoreUnavailable, match="sign in again"):
        KeyringStore(tmp_path).find(SERVER)


def test_without_a_keyring_the_file_is_taken_and_stays(ring: DictKeyring, tmp_path: Path) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    ChosenStore(tmp_path).put(credential())
    assert (tmp_path / "tokens").exists()
    keyring.set_keyring(ring)
    assert ChosenStore(tmp_path).find(SERVER) == credential()
    ChosenStore(tmp_path).put(credential(OTHER))
    assert not ring.items


def test_a_process_without_the_keyring_that_others_use_says_so(ring: DictKeyring, tmp_path: Path) -> None:
    ChosenStore(tmp_path).put(credential())
    keyring.set_keyring(keyring.backends.fail.Keyring())
    with pytest.raises(StoreUnavailable, match="keyring"):
        ChosenStore(tmp_path).find(SERVER)


def test_looking_for_tokens_where_there_never_were_any_touches_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "oauth"
    assert ChosenStore(folder).find(SERVER) is None
    assert not ChosenStore(folder).forget(SERVER)
    assert not folder.exists()
