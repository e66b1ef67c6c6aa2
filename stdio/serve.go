package stdio

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

var serving atomic.Bool // the process has one stdin

// Serve serves this process's stdin and stdout until stdin ends, as [Conn.Run] does. It is the main of an MCP server.
//
// As long as it runs, stdout belongs to it: what the program, a library or a child process prints there goes to stderr,
// because one line of text between the frames would be one too much for many clients (MCP 2026-07-28 stdio transport: a
// server must not write anything to stdout that is not a message). Reading stdin gives them end of file. On Unix this is
// done by descriptor, so that it also holds for C code and for children; elsewhere by the variables os.Stdin and os.Stdout.
// SIGPIPE is caught meanwhile: a client that has gone is an error from Serve. All of it is put back when Serve returns, but
// SIGPIPE stays caught where the client has gone, since handlers may still be running, and print.
//
// A second Serve at the same time is an error. If ctx ends while stdin is a terminal or a file, one goroutine stays in
// Read there, as Run says; a pipe or a socket is let go of.
func Serve(ctx context.Context, h Handler, opts *Options) (err error) {
	if !serving.CompareAndSwap(false, true) {
		return errors.New("stdio: Serve is already running in this process")
	}
	defer serving.Store(false)
	s, err := claim()
	if err != nil {
		return fmt.Errorf("stdio: claiming stdin and stdout: %w", err)
	}
	defer func() { s.restore(err) }()
	return NewConn(s.in, s.out, h, opts).Run(ctx)
}
