package mcpgo_test

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"example.com/mcp/framing/interop/internal/rough"
	"example.com/mcp/framing/interop/mcpgo"
)

func newEchoServer() *server.StdioServer {
	s := server.NewMCPServer("echo", "1")
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "no text")), nil
	})
	return server.NewStdioServer(s)
}

// callEcho has c echo each of the texts n times, all at once.
func callEcho(t *testing.T, c *client.Client, n int) {
	t.Helper()
	rough.CheckEcho(t, n, func(text string) (string, error) {
		var call mcp.CallToolRequest
		call.Params.Name, call.Params.Arguments = "echo", map[string]any{"text": text}
		r, err := c.CallTool(t.Context(), call)
		if err != nil {
			return "", err
		}
		return r.Content[0].(mcp.TextContent).Text, nil
	})
}

// TestNoiseBothWays has mcp-go's client and server, with noise before each line of either.
func TestNoiseBothWays(t *testing.T) {
	clientIn, clientOut, serverIn, serverOut := rough.NoisyPipes()

	const rounds = 3
	var atClient, atServer rough.BadLines
	served := make(chan error, 1)
	go func() {
		stream := mcpgo.Wrap(serverIn, serverOut, mcpgo.Options{OnBadLine: atServer.Add})
		served <- newEchoServer().Listen(context.Background(), stream, stream)
		stream.Close()
	}()
	stream := mcpgo.Wrap(clientIn, clientOut, mcpgo.Options{Quiet: true, OnBadLine: atClient.Add})
	c := client.NewClient(transport.NewIO(stream, stream, nil))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	callEcho(t, c, rounds)
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("the server's Listen = %v", err)
	}
	atClient.Check(t, rounds*len(rough.Texts), rough.Noise...)
	atServer.Check(t, rounds*len(rough.Texts), rough.Noise...)
}
