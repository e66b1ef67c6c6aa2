package peer

import (
	"context"
	"errors"
	"io"
	"os/exec"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
)

func serveJRPC2(in io.ReadCloser, out io.WriteCloser, text string, tool func()) error {
	result := newResult(text)
	methods := handler.Map{
		"ping": func(context.Context, *jrpc2.Request) (any, error) { return struct{}{}, nil },
		"tools/call": func(context.Context, *jrpc2.Request) (any, error) {
			tool()
			return result, nil
		},
	}
	return jrpc2.NewServer(methods, &jrpc2.ServerOptions{Concurrency: 64}).Start(channel.Line(in, out)).Wait()
}

type jrpc2Session struct {
	*jrpc2.Client
	cmd *exec.Cmd
}

func dialJRPC2(cmd *exec.Cmd) (Session, error) {
	in, out, err := start(cmd)
	if err != nil {
		return nil, err
	}
	return jrpc2Session{jrpc2.NewClient(channel.Line(out, in), nil), cmd}, nil
}

func (s jrpc2Session) Ping() error {
	_, err := s.Call(context.Background(), "ping", nil)
	return err
}

func (s jrpc2Session) Tool() (any, error) {
	var r toolResult
	params := map[string]any{"name": "text", "arguments": struct{}{}}
	if err := s.CallResult(context.Background(), "tools/call", params, &r); err != nil {
		return nil, err
	}
	return r.Content[0].Text, nil
}

func (s jrpc2Session) Close() error { return errors.Join(s.Client.Close(), s.cmd.Wait()) }
