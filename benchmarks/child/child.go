// Package child turns the program that imports it into the child process of a
// benchmark: the other end of a real pipe, started from the same binary.
package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"example.com/mcp/framing/benchmarks/traffic"
)

// variable holds the role and its arguments in a child's environment.
const variable = "FRAMING_BENCHMARK_CHILD"

// roles are what a child can be.
var roles = map[string]func(args []string) error{
	"write": write,
}

// Register adds a role. Call it from an init function.
func Register(role string, run func(args []string) error) { roles[role] = run }

// Main does not return in a child process. Call it first in main or TestMain.
func Main() {
	args := strings.Fields(os.Getenv(variable))
	if len(args) == 0 {
		return
	}
	run, ok := roles[args[0]]
	if !ok {
		fmt.Fprintf(os.Stderr, "child: no role %q\n", args[0])
		os.Exit(2)
	}
	if err := run(args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "child: %s: %v\n", args[0], err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command returns this program as a child with a role, a registered one or
//
//	write N   writes at least N small messages to stdout
func Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+strings.Join(args, " "))
	cmd.Stderr = os.Stderr
	return cmd
}

// Behind returns cmd started by the command line of prefix, as programs like
// mcptap take it: PREFIX… COMMAND ARGS….
func Behind(cmd *exec.Cmd, prefix ...string) *exec.Cmd {
	behind := exec.Command(prefix[0], append(prefix[1:len(prefix):len(prefix)], cmd.Args...)...)
	behind.Env, behind.Stderr = cmd.Env, cmd.Stderr
	return behind
}

// write writes the same 8,000 or so messages over and over, in writes of 64 KB,
// so that the pipe is always full and the reader alone is measured.
func write(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	data := traffic.Generate(traffic.Small, traffic.IDLast, mb)
	lines := strings.Count(string(data), "\n")
	for ; n > 0; n -= lines {
		for rest := data; len(rest) > 0; {
			size := min(len(rest), 64<<10)
			if _, err := os.Stdout.Write(rest[:size]); err != nil {
				return err
			}
			rest = rest[size:]
		}
	}
	return nil
}

const mb = 1 << 20
