"""A command-line program on click, or as `garden.py framed` on typer with its frames; prints what it was given."""

import json
import sys
from typing import Annotated

import click
import typer


@click.group(name="garden")
def plain() -> None:
    """Plan a garden."""


@plain.command(name="plant")
@click.argument("what")
@click.option("--beds", type=int, default=4, show_default=True, help="How many beds.")
@click.option("--soil", type=click.Choice(["clay", "sand"]), required=True, help="What it grows in.")
@click.option("--shade/--no-shade", default=True, help="Whether there is any.")
def plant_plainly(what: str, beds: int, soil: str, shade: bool) -> None:
    """Put something in."""
    click.echo(json.dumps({"what": what, "beds": beds, "soil": soil, "shade": shade}))


@plain.command(name="water")
def water_plainly() -> None:
    """Pour."""


framed = typer.Typer(name="garden", help="Plan a garden.", rich_markup_mode="rich")


@framed.command(name="plant")
def plant_in_frames(
    what: str,
    soil: Annotated[str, typer.Option("--soil", "-s", help="What it grows in.")],
    beds: Annotated[int, typer.Option(help="How many beds.")] = 4,
    shade: Annotated[bool, typer.Option(help="Whether there is any.")] = True,
) -> None:
    """Put something in."""
    typer.echo(json.dumps({"what": what, "beds": beds, "soil": soil, "shade": shade}))


@framed.command(name="water")
def water_in_frames() -> None:
    """Pour."""


if __name__ == "__main__":
    if sys.argv[1:2] == ["framed"]:
        del sys.argv[1]
        framed()
    else:
        plain()
