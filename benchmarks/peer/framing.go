package peer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"

	"example.com/mcp/framing"
	"example.com/mcp/framing/stdio"
)

func serveFraming(in io.ReadCloser, out io.WriteCloser, text string, tool func()) error {
	return serveStdio(in, out, tool, newResult(text))
}

func serveFramingRaw(in io.ReadCloser, out io.WriteCloser, text string, tool func()) error {
	raw, err := framing.Encode(newResult(text))
	if err != nil {
		return err
	}
	return serveStdio(in, out, tool, json.RawMessage(raw[:len(raw)-1]))
}

func serveStdio(in io.Reader, out io.Writer, tool func(), result any) error {
	methods := stdio.Methods{
		"ping": func(context.Context, *stdio.Request) (any, error) { return nil, nil },
		"tools/call": func(context.Context, *stdio.Request) (any, error) {
			tool()
			return result, nil
		},
	}
	return stdio.NewConn(in, out, methods.Handle, &stdio.Options{MaxQueued: Waiting}).Run(context.Background())
}

// stdioSession is a client of this module; raw says that it does not parse the
// tool's result.
type stdioSession struct {
	*stdio.Conn
	cmd *exec.Cmd
	in  io.Closer
	end chan error // gets what Run returned
	raw bool
}

func dialFraming(cmd *exec.Cmd) (Session, error) { return dialStdio(cmd, false) }

func dialFramingRaw(cmd *exec.Cmd) (Session, error) { return dialStdio(cmd, true) }

func dialStdio(cmd *exec.Cmd, raw bool) (Session, error) {
	in, out, err := start(cmd)
	if err != nil {
		return nil, err
	}
	s := &stdioSession{stdio.NewConn(out, in, nil, nil), cmd, in, make(chan error, 1), raw}
	go func() { s.end <- s.Run(context.Background()) }()
	return s, nil
}

func (s *stdioSession) Ping() error {
	return s.Call(context.Background(), "ping", nil, nil)
}

func (s *stdioSession) Tool() (any, error) {
	params := map[string]any{"name": "text", "arguments": struct{}{}}
	if s.raw {
		var raw json.RawMessage
		err := s.Call(context.Background(), "tools/call", params, &raw)
		return raw, err
	}
	var r toolResult
	if err := s.Call(context.Background(), "tools/call", params, &r); err != nil {
		return nil, err
	}
	return r.Content[0].Text, nil
}

func (s *stdioSession) Close() error {
	return errors.Join(s.in.Close(), <-s.end, s.cmd.Wait())
}

// start starts cmd with pipes at its stdin and stdout.
func start(cmd *exec.Cmd) (in io.WriteCloser, out io.Reader, err error) {
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	return in, out, cmd.Start()
}
