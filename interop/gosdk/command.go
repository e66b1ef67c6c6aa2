package gosdk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// CommandTransport is a client's transport to a server that it starts as a child process. It never answers a bad line: a
// server's log on its stdout is a nuisance, not a message.
type CommandTransport struct {
	// Command is the server's. If it has no WaitDelay it gets TerminateDuration: a process of the server's that lives on
	// and holds its stderr must not hold up Close.
	Command *exec.Cmd
	// TerminateDuration is how long each step of Close waits: stdin closed, SIGTERM, SIGKILL. 0 or less: 5 s.
	TerminateDuration time.Duration
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
	p := &process{cmd: t.Command, grace: t.TerminateDuration}
	if p.grace <= 0 {
		p.grace = 5 * time.Second
	}
	if p.cmd.WaitDelay == 0 {
		p.cmd.WaitDelay = p.grace
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
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
	// The second kill is for the delay in Wait after the first.
	for _, sig := range []os.Signal{nil, syscall.SIGTERM, os.Kill, os.Kill} {
		if sig != nil {
			err := p.cmd.Process.Signal(sig)
			if errors.Is(err, os.ErrProcessDone) {
				return <-exit // within WaitDelay
			}
			if err != nil { // Windows has no SIGTERM
				continue
			}
		}
		select {
		case err := <-exit:
			return err
		case <-time.After(p.grace):
		}
	}
	return fmt.Errorf("gosdk: process %d outlives SIGKILL", p.cmd.Process.Pid)
}
