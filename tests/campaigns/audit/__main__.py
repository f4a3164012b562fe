"""`make campaign-audit`: kills the hub again and again in the middle of audited calls, and holds it to its record.

After every kill the whole trail must verify, every call that was answered must have both its rows, once, every effect
must have had its intent, and no spool may be left behind.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom

from limen.db.sqlite import connect_readonly
from tests.campaigns.audit.hubs import HttpHub, Hub, StdioHub
from tests.campaigns.audit.toolset import EFFECTS
from tests.environment import ROOT, child_environment, find_program

READY_S = 20.0
NO_TRAIL = 8
LINE_UPS = (("stdio",), ("serve",), ("stdio", "stdio"), ("stdio", "serve"))
ENTRY_POINT = "[limen.toolsets]\ncampaign = tests.campaigns.audit.toolset:build\n"


@dataclass(slots=True)
class Campaign:
    """The state of a run: one home, one trail, and what was found wrong with it."""

    limen: Path
    home: Path
    rng: Random
    env: Mapping[str, str]
    tally: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])
    seen_seq: int = 0
    seen_ids: set[str] = field(default_factory=set[str])
    seen_effects: int = 0

    @property
    def effects(self) -> Path:
        """Where the tool `change` leaves its marks."""
        return self.home / "effects"

    async def round(self) -> None:
        """Start hubs on one trail, keep them busy, kill each at a moment of its own, and check."""
        hubs = [await self._start(kind) for kind in self.rng.choice(LINE_UPS)]
        async with asyncio.TaskGroup() as group:
            for hub in hubs:
                group.create_task(hub.drive())
                group.create_task(self._kill(hub))
        for hub in hubs:
            self.tally["kills"] += 1
            self.tally["acknowledged"] += len(hub.acknowledged)
            self.wrong += [f"refused: {reply}" for reply in hub.refused]
        await self._verify()
        self._compare({call_id for hub in hubs for call_id in hub.acknowledged})

    async def _start(self, kind: str) -> Hub:
        starter = StdioHub if kind == "stdio" else HttpHub
        return await starter.start(self.limen, self.env, Random(self.rng.random()))

    async def _kill(self, hub: Hub) -> None:
        if self.rng.random() < 0.1:
            await asyncio.sleep(self.rng.uniform(0, 0.5))
        else:
            try:
                await asyncio.wait_for(hub.busy.wait(), READY_S)
            except TimeoutError:
                self.wrong.append("a hub answered nothing")
            await asyncio.sleep(self.rng.uniform(0, 0.2))
        with suppress(ProcessLookupError):
            hub.process.kill()

    async def _verify(self) -> None:
        command = (self.limen, "audit", "verify", "--json")
        verify = await asyncio.create_subprocess_exec(
            *command, env=self.env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        told, complaint = await verify.communicate()
        if verify.returncode == NO_TRAIL and not self._has_trail():
            return
        if verify.returncode != 0:
            self.tally["unverified"] += 1
            self.wrong.append(f"verify: {complaint.decode()}")
            return
        self.tally["rows"] = json.loads(told)["rows"]

    def _compare(self, acknowledged: set[str]) -> None:
        phases = self._new_phases()
        lost = [call_id for call_id in acknowledged if phases.get(call_id) != ["intent", "outcome"]]
        done = self._new_effects()
        unforetold = [call_id for call_id in done if phases.get(call_id, [])[:1] != ["intent"]]
        self.tally["effects"] += len(done)
        self.tally["lost"] += len(lost)
        self.tally["unforetold"] += len(unforetold)
        twice = [call_id for call_id, rows in phases.items() if call_id in self.seen_ids or len(set(rows)) != len(rows)]
        self.seen_ids |= phases.keys()
        self.tally["twice"] += len(twice)
        self.wrong += [f"acknowledged, but recorded as {phases.get(call_id)}: {call_id}" for call_id in lost]
        self.wrong += [f"had an effect and no intent: {call_id}" for call_id in unforetold]
        self.wrong += [f"recorded more than once: {call_id}" for call_id in twice]
        self.wrong += [f"left behind: {spool.name}" for spool in self._trail.parent.glob("*.spool")]

    @property
    def _trail(self) -> Path:
        return self.home / "state" / "hub.db"

    def _has_trail(self) -> bool:
        # The very first hub may be killed before it has made its database, or the tables in it.
        if not self._trail.exists():
            return False
        with closing(connect_readonly(self._trail)) as db:
            return db.execute("pragma user_version").fetchone() != (0,)

    def _new_phases(self) -> dict[str, list[str]]:
        phases: dict[str, list[str]] = {}
        if not self._has_trail():
            return phases
        with closing(connect_readonly(self._trail)) as db:
            for seq, call_id, phase in db.execute(
                "select seq, id, phase from audit_rows where seq > ? order by seq", (self.seen_seq,)
            ):
                phases.setdefault(call_id, []).append(phase)
                self.seen_seq = seq
        return phases

    def _new_effects(self) -> list[str]:
        ids = self.effects.read_text().split() if self.effects.exists() else []
        new = ids[self.seen_effects :]
        self.seen_effects = len(ids)
        return new


def prepare(folder: Path, limen: Path, rng: Random) -> Campaign:
    """A home for the hubs, and the campaign's tools as a package that is installed in it."""
    package = folder / "plugins" / "campaign_tools-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: campaign-tools\nVersion: 1\n")
    (package / "entry_points.txt").write_text(ENTRY_POINT)
    home = folder / "home"
    home.mkdir()
    env = {
        **child_environment(home),
        "PYTHONPATH": f"{package.parent}:{ROOT}",
        EFFECTS: str(home / "effects"),
    }
    return Campaign(limen, home, rng, env)


async def run(campaign: Campaign, kills: int) -> None:
    """Kill so many hubs, or stop at the first thing that is wrong."""
    told = 0
    while campaign.tally["kills"] < kills and not campaign.wrong:
        await campaign.round()
        if campaign.tally["kills"] >= told + 10:
            told = campaign.tally["kills"]
            print(f"{told} kills: {json.dumps(dict(campaign.tally))}", flush=True)


def main() -> int:
    """Run the campaign and end with one line of JSON."""
    options = argparse.ArgumentParser(prog="python -m tests.campaigns.audit", description=__doc__)
    options.add_argument("--kills", type=int, default=200, help="how many hubs are killed")
    options.add_argument("--seed", type=int, default=None, help="repeat the choices of an earlier run")
    chosen = options.parse_args()
    limen = find_program("limen")
    if limen is None:
        print("NOT RUN: there is no `limen` beside this Python; run `make test` once, which installs it")
        return 1
    seed = chosen.seed if chosen.seed is not None else SystemRandom().randrange(2**32)
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="limen-audit-") as folder:
        campaign = prepare(Path(folder), limen, Random(seed))
        asyncio.run(run(campaign, chosen.kills))
    for line in campaign.wrong[:20]:
        print(f"WRONG {line}")
    summary = {"kills": 0, "acknowledged": 0, "effects": 0, "rows": 0, "lost": 0, "unforetold": 0}
    summary |= {"twice": 0, "unverified": 0}
    summary |= campaign.tally
    ok = not campaign.wrong
    print(json.dumps({"campaign": "audit", "ok": ok, "seed": seed, **summary, "s": round(time.monotonic() - started)}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
