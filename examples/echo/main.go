// Echo is a complete MCP server over stdio with two tools: echo returns its text, slow takes its time, tells its progress and
// can be cancelled.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"slices"
	"time"

	"example.com/mcp/framing/stdio"
)

type object = map[string]any

// The MCP revisions, newest first. All but 2026-07-28, which names itself in every request, begin with initialize.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

var (
	info  = object{"name": "echo", "version": "1.0.0"}
	can   = object{"tools": object{}}
	tools = json.RawMessage(`[{"name":"echo","description":"Returns the text as it came.",
		"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
		{"name":"slow","description":"Takes its time, in steps of step_ms, and tells its progress.",
		"inputSchema":{"type":"object","properties":{"steps":{"type":"integer"},"step_ms":{"type":"integer"}}}}]`)
)

type params struct {
	ProtocolVersion, Name string
	Arguments             struct {
		Text   json.RawMessage // raw, so that what Go's strings cannot hold, like half an emoji, comes back too
		Steps  int
		StepMS int `json:"step_ms"`
	}
	Meta struct {
		Version       string `json:"io.modelcontextprotocol/protocolVersion"`
		ProgressToken json.RawMessage
	} `json:"_meta"`
}

func main() {
	if err := stdio.Serve(context.Background(), serve, nil); err != nil {
		log.Fatal(err) // on stderr: stdout belongs to the protocol
	}
}

func serve(ctx context.Context, req *stdio.Request) (any, error) {
	var p params
	if err := req.Bind(&p); err != nil {
		return nil, err // answered -32602
	}
	if v := p.Meta.Version; v != "" && v != versions[0] {
		return nil, &stdio.Error{Code: -32022, Message: "Unsupported protocol version", Data: object{"supported": versions, "requested": v}}
	}
	switch req.Method {
	case "initialize":
		if !slices.Contains(versions[1:], p.ProtocolVersion) {
			p.ProtocolVersion = versions[1] // ours, which the client may take or leave
		}
		return object{"protocolVersion": p.ProtocolVersion, "capabilities": can, "serverInfo": info}, nil
	case "server/discover":
		return object{"supportedVersions": versions, "capabilities": can, "_meta": object{"io.modelcontextprotocol/serverInfo": info},
			"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}, nil
	case "ping":
		return nil, nil // answered {}
	case "tools/list":
		return object{"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}, nil
	case "tools/call":
		switch p.Name {
		case "echo":
			return echo(p.Arguments.Text)
		case "slow":
			return slow(ctx, req.Conn, &p)
		}
		return nil, fmt.Errorf("%w: unknown tool: %s", stdio.ErrInvalidParams, p.Name)
	}
	return nil, stdio.ErrMethodNotFound
}

func echo(s json.RawMessage) (any, error) {
	if !bytes.HasPrefix(s, []byte(`"`)) {
		return nil, fmt.Errorf("%w: text must be a string", stdio.ErrInvalidParams)
	}
	return text(s), nil
}

func slow(ctx context.Context, client *stdio.Conn, p *params) (any, error) {
	for i := range p.Arguments.Steps {
		select {
		case <-ctx.Done(): // cancelled: nothing is sent, whatever this returns
			return nil, ctx.Err()
		case <-time.After(time.Duration(p.Arguments.StepMS) * time.Millisecond):
		}
		if token := p.Meta.ProgressToken; token != nil {
			client.Notify(ctx, "notifications/progress", object{"progressToken": token, "progress": i + 1, "total": p.Arguments.Steps})
		}
	}
	return text("done"), nil
}

func text(s any) object {
	return object{"content": []object{{"type": "text", "text": s}}, "resultType": "complete"}
}
