// Echo is a complete MCP server over stdio with two tools: echo returns its text, slow takes its time, tells its progress and
// can be cancelled.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"slices"
	"time"

	"example.com/mcp/framing/stdio"
)

type object = map[string]any

// The MCP revisions that begin with initialize, newest first. 2026-07-28 has server/discover instead.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

var (
	info  = object{"name": "echo", "version": "1.0.0"}
	can   = object{"tools": object{}}
	tools = json.RawMessage(`[{"name":"echo","description":"Returns the text as it came.",
		"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},
		{"name":"slow","description":"Takes its time, in steps of step_ms, and tells its progress.",
		"inputSchema":{"type":"object","properties":{"steps":{"type":"integer"},"step_ms":{"type":"integer"}}}}]`)
)

func main() {
	server := stdio.Methods{"initialize": initialize, "tools/call": call}
	server["ping"] = fixed(object{})
	server["tools/list"] = fixed(object{"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
	server["server/discover"] = fixed(object{"supportedVersions": append([]string{"2026-07-28"}, versions...), "capabilities": can,
		"_meta": object{"io.modelcontextprotocol/serverInfo": info}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
	if err := stdio.Serve(context.Background(), server.Handle, nil); err != nil {
		log.Fatal(err) // on stderr: stdout belongs to the protocol
	}
}

func fixed(result object) stdio.Handler {
	return func(context.Context, *stdio.Request) (any, error) { return result, nil }
}

func initialize(_ context.Context, req *stdio.Request) (any, error) {
	var p struct{ ProtocolVersion string }
	if err := req.Bind(&p); err != nil {
		return nil, err
	}
	if !slices.Contains(versions, p.ProtocolVersion) {
		p.ProtocolVersion = versions[0] // ours, which the client may take or leave
	}
	return object{"protocolVersion": p.ProtocolVersion, "capabilities": can, "serverInfo": info}, nil
}

func call(ctx context.Context, req *stdio.Request) (any, error) {
	var p struct {
		Name      string
		Arguments struct {
			Text   json.RawMessage // raw, so that what Go's strings cannot hold, like half an emoji, comes back too
			Steps  int
			StepMS int `json:"step_ms"`
		}
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	if err := req.Bind(&p); err != nil {
		return nil, err
	}
	switch p.Name {
	case "echo":
		if !bytes.HasPrefix(p.Arguments.Text, []byte(`"`)) {
			return nil, &stdio.Error{Code: stdio.CodeInvalidParams, Message: "echo: text must be a string"}
		}
		return text(p.Arguments.Text), nil
	case "slow":
		return slow(ctx, req.Conn, p.Arguments.Steps, time.Duration(p.Arguments.StepMS)*time.Millisecond, p.Meta.ProgressToken)
	}
	return nil, &stdio.Error{Code: stdio.CodeInvalidParams, Message: "unknown tool: " + p.Name}
}

func slow(ctx context.Context, client *stdio.Conn, steps int, step time.Duration, token json.RawMessage) (any, error) {
	for i := range steps {
		select {
		case <-ctx.Done(): // cancelled: nothing is sent, whatever this returns
			return nil, ctx.Err()
		case <-time.After(step):
		}
		if token != nil {
			client.Notify(ctx, "notifications/progress", object{"progressToken": token, "progress": i + 1, "total": steps})
		}
	}
	return text("done"), nil
}

func text(s any) object {
	return object{"content": []object{{"type": "text", "text": s}}, "resultType": "complete"}
}
