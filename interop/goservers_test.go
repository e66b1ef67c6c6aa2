package interop_test

import (
	"context"
	"fmt"
	"testing"

	mcpgosdk "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing/interop/internal/rough"
	"example.com/mcp/framing/stdio"
)

const pageSize = 2

// goServers serve stdin and stdout on the Go SDKs' own transports, with more tools than go on a page. Their echo is that of
// server-everything, their ask asks the client.
var goServers = map[string]func() error{"go-sdk": runGoSDK, "mcp-go": runMCPGo}

var fillers = []string{"a", "b", "c"}

type message struct {
	Message string `json:"message"`
}

func runGoSDK() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ServerOptions{PageSize: pageSize})
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
		return text("Echo: " + in.Message), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
		r, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1,
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Message}}}})
		if err != nil {
			return nil, nil, err
		}
		return text(r.Content.(*mcp.TextContent).Text), nil, nil
	})
	for _, name := range fillers {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text(name), nil, nil
		})
	}
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func runMCPGo() error {
	s := server.NewMCPServer("mcp-go", "1", server.WithPaginationLimit(pageSize))
	s.EnableSampling()
	argument := mcpgosdk.WithString("message")
	s.AddTool(mcpgosdk.NewTool("echo", argument), func(_ context.Context, r mcpgosdk.CallToolRequest) (*mcpgosdk.CallToolResult, error) {
		return mcpgosdk.NewToolResultText("Echo: " + r.GetString("message", "no message")), nil
	})
	s.AddTool(mcpgosdk.NewTool("ask", argument), func(ctx context.Context, r mcpgosdk.CallToolRequest) (*mcpgosdk.CallToolResult, error) {
		var ask mcpgosdk.CreateMessageRequest
		ask.MaxTokens = 1
		ask.Messages = []mcpgosdk.SamplingMessage{{Role: "user", Content: mcpgosdk.NewTextContent(r.GetString("message", ""))}}
		answer, err := s.RequestSampling(ctx, ask)
		if err != nil {
			return nil, err
		}
		return mcpgosdk.NewToolResultText(answer.Content.(mcpgosdk.TextContent).Text), nil
	})
	for _, name := range fillers {
		s.AddTool(mcpgosdk.NewTool(name), func(context.Context, mcpgosdk.CallToolRequest) (*mcpgosdk.CallToolResult, error) {
			return mcpgosdk.NewToolResultText(name), nil
		})
	}
	return server.ServeStdio(s)
}

// TestServersOnGoSDKs has our client start them.
func TestServersOnGoSDKs(t *testing.T) {
	for name := range goServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, itself("INTEROP_SERVER", name), `{"sampling":{}}`, stdio.Methods{
				"sampling/createMessage": func(_ context.Context, req *stdio.Request) (any, error) {
					var p struct {
						Messages []struct{ Content struct{ Text string } }
					}
					if err := req.Bind(&p); err != nil {
						return nil, err
					}
					content := map[string]any{"type": "text", "text": fmt.Sprint("asked ", p.Messages[0].Content.Text)}
					return map[string]any{"role": "assistant", "model": "none", "content": content}, nil
				},
			})
			if tools := s.tools(); len(tools) != len(fillers)+2 || s.pages != (len(tools)+pageSize-1)/pageSize {
				t.Errorf("%d pages of tools: %v, want pages of %d", s.pages, tools, pageSize)
			}
			for what, text := range rough.Texts {
				equal(t, what, unquote(t, s.text("echo", message{text})), "Echo: "+text)
				equal(t, what+" asked", unquote(t, s.text("ask", message{text})), "asked "+text)
			}
			s.inFlight(t, 200)
			s.end(false)
		})
	}
}
