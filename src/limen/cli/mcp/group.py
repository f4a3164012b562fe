"""`limen mcp`: the commands about other servers, by name."""

from limen.cli.mcp.calls import call, get_prompt, read_resource
from limen.cli.mcp.changing import add, remove, update
from limen.cli.mcp.compiling import compile_resource
from limen.cli.mcp.doctor import doctor
from limen.cli.mcp.listing import discover, servers
from limen.cli.mcp.marketplace import app as marketplace
from limen.cli.mcp.signing import login, logout
from limen.cli.mcp.tokens import tokens
from limen.cli.parameters import example, new_app

__all__ = ["app"]

app = new_app(summary="Use, look after and bring in other MCP servers.")

app.command(epilog=example("limen mcp servers", "limen mcp servers --connect --json"))(servers)
app.command(epilog=example("limen mcp discover sample"))(discover)
app.command(epilog=example("limen mcp call sample echo text=hello"))(call)
app.command("read-resource", epilog=example("limen mcp read-resource docs docs://guide"))(read_resource)
app.command("get-prompt", epilog=example("limen mcp get-prompt docs summary topic=deploys"))(get_prompt)
app.command(epilog=example("limen mcp doctor", "limen mcp doctor sample --json"))(doctor)
app.command(
    epilog=example(
        "limen mcp add files -- npx -y @modelcontextprotocol/server-filesystem@2025.8.21 /srv/files",
        "limen mcp add docs --url https://mcp.example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'",
        "limen mcp add git --cli -- git",
    )
)(add)
app.command(epilog=example("limen mcp update sample --enable", "limen mcp update docs --timeout 90s --dry-run"))(update)
app.command(epilog=example("limen mcp remove sample --dry-run"))(remove)
app.command(epilog=example("limen mcp tokens"))(tokens)
app.command("compile-resource", epilog=example("limen mcp compile-resource docs docs://guide --brain work"))(
    compile_resource
)
app.command(epilog=example("limen mcp login docs"))(login)
app.command(epilog=example("limen mcp logout docs"))(logout)
app.add_typer(marketplace, name="marketplace")
