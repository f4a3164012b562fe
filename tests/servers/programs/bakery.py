"""A command-line program on argparse, with subcommands of subcommands; it prints what it was given."""

import argparse
import json
import sys


def build() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(prog="bakery", description="Bread, day after day.")
    commands = parser.add_subparsers(dest="command", required=True)
    bake = commands.add_parser("bake", help="into the oven", description="Bake something.")
    bake.add_argument("flour", help="what is baked")
    bake.add_argument("extra", nargs="*")
    bake.add_argument("--oven", required=True, help="which oven")
    bake.add_argument("--heat", choices=["low", "high"], default="low", help="how hot")
    bake.add_argument("--salt", action=argparse.BooleanOptionalAction, help="with salt")
    bake.add_argument("--seed", action="append", help="can be given multiple times")
    shop = commands.add_parser("shop", help="behind the counter").add_subparsers(dest="inner", required=True)
    till = shop.add_parser("till", help="the money").add_subparsers(dest="innermost", required=True)
    till.add_parser("count", help="count it").add_argument("--coins", type=int, metavar="N")
    return parser


def main() -> None:
    """Print the arguments as they arrived."""
    parsed = vars(build().parse_args())
    sys.stdout.write(json.dumps({key: value for key, value in parsed.items() if value is not None}) + "\n")


if __name__ == "__main__":
    main()
