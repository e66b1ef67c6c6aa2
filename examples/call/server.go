package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"example.com/mcp/framing"
	"example.com/mcp/framing/stdio"
)

// stateless is the MCP revision without initialize: every request names its version and its client.
const stateless = "2026-07-28"

// versions are those with initialize, newest first.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

var self = object{"name": "call", "version": "1.0.0"}

// server is a server that has told who it is.
type server struct {
	*stdio.Client
	meta object // for every request
}

// identity is what a server says of itself, in its result or in the _meta of that.
type identity struct{ Name, Version string }

// connect starts a server and makes its acquaintance. Servers with initialize are far more, so that is tried first; one that
// refuses it may be stateless.
func connect(ctx context.Context, cmd *exec.Cmd, errs io.Writer) (*server, error) {
	c, err := stdio.Start(ctx, cmd, handler(errs).Handle, &stdio.Options{
		Stderr:    errs,
		OnBadLine: func(m framing.Message) { fmt.Fprintln(errs, "not a message:", clean(fmt.Sprintf("%.200s", m.Line))) },
	})
	if err != nil {
		return nil, err
	}
	s := &server{Client: c, meta: object{}}
	id, err := s.initialize(ctx)
	if refused := (*stdio.Error)(nil); errors.As(err, &refused) {
		var again error
		if id, again = s.discover(ctx); again == nil {
			err = nil
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	fmt.Fprintln(errs, strings.TrimSpace(fmt.Sprintf("server: %s %s", clean(id.Name), clean(id.Version))))
	return s, nil
}

func (s *server) initialize(ctx context.Context) (identity, error) {
	var hello struct {
		ProtocolVersion string
		ServerInfo      identity
	}
	params := object{"protocolVersion": versions[0], "capabilities": object{}, "clientInfo": self}
	if err := s.Call(ctx, "initialize", params, &hello); err != nil {
		return identity{}, err
	}
	if !slices.Contains(versions, hello.ProtocolVersion) {
		return identity{}, fmt.Errorf("the server speaks MCP %q, and this client %q", hello.ProtocolVersion, versions)
	}
	return hello.ServerInfo, s.Notify(ctx, "notifications/initialized", nil)
}

func (s *server) discover(ctx context.Context) (identity, error) {
	s.meta = object{"io.modelcontextprotocol/protocolVersion": stateless, "io.modelcontextprotocol/clientInfo": self,
		"io.modelcontextprotocol/clientCapabilities": object{}}
	var hello struct {
		Meta struct {
			Server identity `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
		SupportedVersions []string
	}
	err := s.request(ctx, "server/discover", object{}, &hello)
	if err == nil && !slices.Contains(hello.SupportedVersions, stateless) {
		err = fmt.Errorf("the server speaks MCP %q, and this client %s", hello.SupportedVersions, stateless)
	}
	return hello.Meta.Server, err
}

// request calls the server's method with params and the _meta of its revision.
func (s *server) request(ctx context.Context, method string, params object, result any) error {
	meta := object{"progressToken": 1} // one call at a time
	for key, value := range s.meta {
		meta[key] = value
	}
	params["_meta"] = meta
	return s.Call(ctx, method, params, result)
}

// handler answers what a server may ask any client, and shows what it tells.
func handler(errs io.Writer) stdio.Methods {
	return stdio.Methods{
		"ping": func(context.Context, *stdio.Request) (any, error) { return nil, nil },
		"notifications/progress": func(_ context.Context, req *stdio.Request) (any, error) {
			var p struct {
				Progress, Total json.Number
				Message         string
			}
			if err := req.Bind(&p); err != nil {
				return nil, err
			}
			if p.Total != "" {
				p.Progress += " of " + p.Total
			}
			fmt.Fprintln(errs, strings.TrimSpace(fmt.Sprintf("progress: %s %s", p.Progress, clean(p.Message))))
			return nil, nil
		},
	}
}
