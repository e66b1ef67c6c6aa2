package gosdk

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// CommandTransport is a client's transport to a server that it starts as a child process. It never answers a bad line: a
// server's log on its stdout is a nuisance, not a message.
type CommandTransport struct {
	Command           *exec.Cmd
	TerminateDuration time.Duration // each step of Close waits so long: stdin closed, SIGTERM, SIGKILL; 0: 5 s
	Options
}

// Connect implements mcp.Transport. It starts the command.
func (t *CommandTransport) Connect(context.Context) (mcp.Connection, error) {
	stdout, err := t.Command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stdin, err := t.Command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := t.Command.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: t.Command, grace: t.TerminateDuration}
	if p.grace <= 0 {
		p.grace = 5 * time.Second
	}
	opts := t.Options
	opts.Quiet = true
	return newConn(stdout, stdin, p.stop, opts), nil
}

// process is a running server.
type process struct {
	cmd   *exec.Cmd
	grace time.Duration
}

// stop ends the process, whose stdin is closed already, in the steps of MCP 2026-07-28, stdio transport, shutdown. It returns
// the error of its exit.
func (p *process) stop() error {
	exit := make(chan error, 1)
	go func() { exit <- p.cmd.Wait() }()
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Kill} {
		select {
		case err := <-exit:
			return err
		case <-time.After(p.grace):
			p.cmd.Process.Signal(sig) // on Windows SIGTERM is an error, and the next step kills
		}
	}
	return <-exit
}
