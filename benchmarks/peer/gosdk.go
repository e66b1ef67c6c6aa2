package peer

import (
	"context"
	"io"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// protocol is the last version that has ping; a client of a later one would not
// send it.
const protocol = "2025-11-25"

func serveGoSDK(in io.ReadCloser, out io.WriteCloser, text string, called func()) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	tool := &mcp.Tool{Name: "text", InputSchema: map[string]any{"type": "object"}}
	s.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		called()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	return s.Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: out})
}

type goSDKSession struct{ *mcp.ClientSession }

func dialGoSDK(cmd *exec.Cmd) (Session, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	s, err := c.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	return goSDKSession{s}, err
}

func (s goSDKSession) Ping() error { return s.ClientSession.Ping(context.Background(), nil) }

func (s goSDKSession) Tool() (any, error) {
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "text"})
	if err != nil {
		return nil, err
	}
	return r.Content[0].(*mcp.TextContent).Text, nil
}
