// Mcptap shows what is on the wire between an MCP client and its server, and
// which of the two broke it.
//
//	mcptap [flags] < FILE           show a file of messages
//	mcptap [flags] FILE...          the same; -log and -capture files too
//	mcptap [flags] -- COMMAND ...   run a server and watch its traffic
//
// Reading files it prints a row for each message and a summary, and exits
// with status 1 if a line was bad. Running a server it passes every byte on
// unchanged and at once, prints a summary with findings to stderr when the
// server ends (on Unix also on SIGUSR1), and exits with the server's status.
// Wrong use is status 2; a command that cannot be started 126 or 127.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"example.com/mcp/framing"
)

const usage = `mcptap shows the messages between an MCP client and its server, and what is
wrong with them and on which side.

  mcptap [flags] -- COMMAND ARGS...  run a server, pass everything through
  mcptap [flags] FILE...             show a -log file, a -capture folder, ndjson
  mcptap [flags] < FILE              show stdin; exit status 1: it has bad lines

  -log FILE       append a JSON record for each line   -v     print rows, live
  -capture DIR    keep the raw bytes, and the reads    -json  print for machines
  -redact         mask the values in both; names, kinds, ids and sizes stay
  -clean          send the server's lines that are no messages to stderr instead
  -grace 2s       how long the server may take to end, for each step
  -max-line N     longest line in bytes (default 64 MiB, -1: no limit)

The summary comes on stderr when the server ends, and at any time on SIGUSR1,
with the requests in flight. The exit status is the server's.

Examples:
  mcptap -- npx -y @modelcontextprotocol/server-everything
  mcptap session.ndjson
  In the host's configuration, with mcptap put in before the server's command:
  {"mcpServers": {"files": {"command": "mcptap", "args":
    ["-log", "/tmp/files.log", "--", "npx", "-y", "my-server", "/home/me"]}}}
`

// config is what the command line asks for.
type config struct {
	json, verbose, redact, clean bool
	log, capture                 string
	grace                        time.Duration
	maxLine                      int
	command, files               []string
}

// streams are those of the process.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// Exit statuses of mcptap itself.
const (
	exitBadLines = 1
	exitUsage    = 2
)

func run(args []string, std streams) int {
	c, err := parseArgs(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(std.out, usage)
		return 0
	case err == nil && c.command == nil && len(c.files) == 0 && isTerminal(std.in):
		err = errors.New("nothing to read: give it a file, or a command after --")
	}
	if err != nil {
		return fail(std, err)
	}
	if c.command != nil {
		return live(c, std)
	}
	return read(c, std)
}

// fail prints err on one line, as wrong use.
func fail(std streams, err error) int {
	fmt.Fprintf(std.err, "mcptap: %v (mcptap -h shows how)\n", err)
	return exitUsage
}

func parseArgs(args []string) (config, error) {
	var c config
	fs := flag.NewFlagSet("mcptap", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&c.json, "json", false, "")
	fs.BoolVar(&c.verbose, "v", false, "")
	fs.BoolVar(&c.redact, "redact", false, "")
	fs.BoolVar(&c.clean, "clean", false, "")
	fs.StringVar(&c.log, "log", "", "")
	fs.StringVar(&c.capture, "capture", "", "")
	c.grace = 2 * time.Second
	fs.Func("grace", "", func(s string) (err error) {
		if c.grace, err = time.ParseDuration(s); err != nil || c.grace <= 0 {
			err = errors.New("want a time with its unit, as in 5s")
		}
		return err
	})
	fs.IntVar(&c.maxLine, "max-line", framing.DefaultMaxLine, "")
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	rest := fs.Args()
	if parsed := len(args) - len(rest); parsed > 0 && args[parsed-1] == "--" {
		c.command = rest
		if len(rest) == 0 {
			return c, errors.New("no command after --")
		}
	} else {
		c.files = rest
	}
	return c, c.check()
}

// check refuses what makes no sense together.
func (c *config) check() error {
	for _, f := range []struct{ name, value string }{{"-log", c.log}, {"-capture", c.capture}} {
		if strings.HasPrefix(f.value, "-") { // forgotten: what follows was taken for it
			return fmt.Errorf("%s needs a name, which %q is not", f.name, f.value)
		}
	}
	if c.command != nil {
		return nil
	}
	for name, set := range map[string]bool{"-log": c.log != "", "-capture": c.capture != "", "-clean": c.clean} {
		if set {
			return fmt.Errorf("%s goes with a command after --", name)
		}
	}
	return nil
}

// isTerminal reports whether f is one; only *os.File can be.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// wantsColour reports whether w shows colours and the user wants them
// (no-color.org).
func wantsColour(w any) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
