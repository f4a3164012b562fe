"""Help texts in the manner of the parsers people use, in words of our own."""

COBRA = """\
Keep a cellar of bottles.

Usage:
  cellar [command]

Available Commands:
  completion  Generate the autocompletion script for the specified shell
  drink       Open a bottle
  help        Help about any command
  shelf       Look after shelves

Flags:
      --cellar string      where the bottles lie (default "/srv/cellar")
      --guests stringArray   who is invited
  -h, --help               help for cellar
  -n, --most int           open at most so many (default 3)
      --warm               serve it warm (default true)
      --weight float64     in kilograms

Use "cellar [command] --help" for more information about a command.
"""

COBRA_THAT_RUNS = """\
Build the site.

Usage:
  site [flags]
  site [command]

Available Commands:
  serve       Show it in a browser
"""

KUBECTL = """\
Show one or many ships.

Examples:
  # All of them, at length
  harbour get ships -o wide

Options:
    -A, --all-harbours=false:
\tLook into every harbour, whatever --harbour says.

    --at-once=500:
\tAsk for so many at a time.

    -f, --filename=[]:
\tFiles that name the ships.

    --harbour='':
\tThe harbour to look into.

    --tidy=true:
\tPut them in order.

Usage:
  harbour get TYPE [options]
"""

GH = """\
Work with parcels from the command line.

USAGE
  post <command> <subcommand> [flags]

CORE COMMANDS
  auth:          Show who you are
  parcel:        Send and receive parcels

ADDITIONAL COMMANDS
  help:          About all this

FLAGS
  --state string   Filter by state: {open|closed|all} (default "open")
  --version        Show the version

LEARN MORE
  Use `post <command> --help` for more.
"""

CLAP = """\
Counts sheep

Usage: sheep [OPTIONS] --field <FIELD> <DOG>... [COMMAND]

Commands:
  count, c  Count them
  shear     Cut their wool
  help      Print this message or the help of the given subcommand(s)

Arguments:
  <DOG>...  Who helps

Options:
  -f, --field <FIELD>    Where they are
  -v, --verbose...       More words
      --colour <WHEN>    Use colours [default: auto] [possible values: auto, always, never]
      --breed [<BREED>]  Only these
  -h, --help             Print help (see more with '--help')
  -V, --version          Print version
"""

CLAP_LONG = """\
Usage: sheep shear [OPTIONS]

Options:
      --how <HOW>
          The way it is done

          Possible values:
          - gently: takes its time
          - fast:   leaves tufts

  -h, --help
          Print help
"""

CLICK = """\
Usage: garden [OPTIONS] COMMAND [ARGS]...

  Plan a garden.

Options:
  --beds INTEGER                  How many beds.  [default: 4; required]
  --soil [clay|sand|loam]         What it grows in.
  --shade / --no-shade            Whether there is any.
  -p, --plant TEXT                What to plant; can be
                                  given multiple times --even twice.
  --depth FLOAT                   In metres.
  --help                          Show this message and exit.

Commands:
  plant  Put something into
         the ground.
  water  Pour.
"""

TYPER = """\

 Usage: garden [OPTIONS] COMMAND [ARGS]...

 Plan a garden, in colour.

╭─ Options ──────────────────────────────────────────────────────╮
│ *  --name   -n      TEXT           Whose it is. [required]     │
│    --beds           INTEGER        How many. [default: 4]      │
│    --soil           [clay|sand]    What it grows in.           │
│    --shade                         There is shade.             │
│    --help                          Show this message and exit. │
╰────────────────────────────────────────────────────────────────╯
╭─ Commands ─────────────────────────────────────────────────────╮
│ plant   Put something in.                                      │
│ water   Pour.                                                  │
╰────────────────────────────────────────────────────────────────╯
"""

ARGPARSE = """\
usage: bakery [-h] --oven OVEN [--heat {low,high}] [--loaves LOAVES]
              [--salt | --no-salt]
              {knead,bake} ...

Bread, day after day.

positional arguments:
  {knead,bake}
    knead               work the dough
    bake                into the oven

options:
  -h, --help            show this help message and exit
  --oven OVEN           which oven
  --heat {low,high}     how hot (default: low)
  --loaves LOAVES, -l LOAVES
                        how many loaves
  --salt, --no-salt     with salt
"""

ARGPARSE_LEAF = """\
usage: bakery bake [-h] [--to TO] flour [water ...]

positional arguments:
  flour       what is baked
  water       what it is mixed with

options:
  -h, --help  show this help message and exit
  --to TO     where it goes
"""

GNU = """\
Usage: stack [OPTION]... SOURCE... DEST
Put things on top of each other.

Mandatory arguments to long options are mandatory for short options too.
  -a, --all                  do not leave out anything
      --block-size=SIZE      with -l, scale sizes by SIZE
  -c                         with -lt: sort by change
      --colour[=WHEN]        colour the output; WHEN can be 'always' (default
                               if omitted), 'auto', or 'never'
  -w, --width=COLS           set output width to COLS
  -n, --lines=NUM            print NUM lines
      --no-preserve          forget where they came from
      --help     display this help and exit
      --version  output version information and exit

The SIZE argument is an integer and optional unit.
"""

GIT = """\
usage: twig [-v | --version] [-C <path>] [-c <name>=<value>]
            [-p | --paginate | -P | --no-pager] [--bare]
            <command> [<args>]

These are common twig commands used in various situations:

start a working area (see also: twig help tutorial)
   clone     Copy a tree
   init      Plant a tree

collaborate (see also: twig help workflows)
   pull      Take from another tree

'twig help -a' lists available subcommands.
"""

GO = """\
Usage of pump:
  -addr string
    \taddress to pump to (default ":8080")
  -n int
    \thow often (default 3)
  -v\tsay more
  -wait duration
    \thow long to wait
"""

OPENSSL = """\
help:

Standard commands
asn1              ca                ciphers
cms               help              crl2pkcs7
x509

Digest commands (see the `dgst' command for more details)
blake2            md5               sha1
"""

NPM = """\
jar <command>

Usage:

jar install        install all the things
jar run <foo>      run the script named <foo>

All commands:

    access, adduser, audit, bugs, cache, ci,
    completion, config, help,
    whoami

More: jar help
"""

APT = """\
larder 2.6.1 (amd64)
Usage: larder [options] command

larder keeps what is eaten.

Most used commands:
  list - list what there is
  full-upgrade - buy everything anew
"""

SYSTEMD = """\
lampctl [OPTIONS...] COMMAND ...

Tend to the lamps.

Lamp Commands:
  list-lamps [PATTERN...]             List lamps that burn
  set-light LAMP LIGHT=VALUE...       Make it brighter
  help PATTERN...                     Show manual

Options:
  -h --help           Show this help
  -H --host=[USER@]HOST
                      Tend to those of another house
  -t --type=TYPE      Only lamps of this type
"""

SSH = """\
unknown option -- -
usage: dial [-46Aa] [-b bind_address] [-D [bind_address:]port]
            [-l login_name] destination [command [argument ...]]
"""

MAN = """\
TWIG-LOG(1)                  Twig Manual                  TWIG-LOG(1)

N\bNA\bAM\bME\bE
       twig-log - Show what grew

S\bSY\bYN\bNO\bOP\bPS\bSI\bIS\bS
       t\btw\bwi\big\bg log [<options>] [<range>] [[--] <path>...]

D\bDE\bES\bSC\bCR\bRI\bIP\bPT\bTI\bIO\bON\bN
       Shows it, the youngest first.

O\bOP\bPT\bTI\bIO\bON\bNS\bS
       --follow
           Go on beyond renames.

           --not-an-option is only spoken of here.

       -<number>, -n <number>, --max-count=<_\bn_\bu_\bm_\bb_\be_\br>
           No more than so many.

       --no-decorate, --decorate[=short|full]
           Print the names.

       --[no-]mailmap
           Use the map of names.
"""

GERMAN = """\
Aufruf: speicher [OPTION]... DATEI
Zeigt, was gespeichert ist.

Befehle:
  zeigen    Zeigt alles

Optionen:
  -a, --alle       alles zeigen
      --breite=N   höchstens N Zeichen, größer nie
"""

EVERY = {name: text for name, text in dict(globals()).items() if name.isupper() and isinstance(text, str)}
