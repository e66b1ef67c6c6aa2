package peer

import (
	"context"
	"io"
	"os/exec"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func serveMCPGo(in io.ReadCloser, out io.WriteCloser, text string, tool func()) error {
	s := server.NewMCPServer("server", "1")
	s.AddTool(mcp.NewTool("text"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tool()
		return mcp.NewToolResultText(text), nil
	})
	return server.NewStdioServer(s).Listen(context.Background(), in, out)
}

type mcpGoSession struct{ *client.Client }

func dialMCPGo(cmd *exec.Cmd) (Session, error) {
	ctx := context.Background()
	use := func(context.Context, string, []string, []string) (*exec.Cmd, error) { return cmd, nil }
	t := transport.NewStdioWithOptions(cmd.Path, nil, nil, transport.WithCommandFunc(use))
	// Without this option Ping returns at once and sends nothing.
	c := client.NewClient(t, client.WithLegacyProtocolOnly())
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	_, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: protocol, ClientInfo: mcp.Implementation{Name: "client", Version: "1"},
	}})
	return mcpGoSession{c}, err
}

func (s mcpGoSession) Ping() error { return s.Client.Ping(context.Background()) }

func (s mcpGoSession) Tool() (any, error) {
	r, err := s.CallTool(context.Background(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "text"}})
	if err != nil {
		return nil, err
	}
	return r.Content[0].(mcp.TextContent).Text, nil
}
