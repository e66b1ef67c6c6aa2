package gosdk_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/gosdk"
)

// A client whose server prints on its stdout. The server is this test binary, on a gosdk.StdioTransport.
func Example() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GOSDK_TEST_SERVER=noisy")
	transport := &gosdk.CommandTransport{Command: cmd}
	transport.OnBadLine = func(m framing.Message) { fmt.Println(m.Err) }

	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output:
	// framing: not a JSON text: byte 0: text, not JSON: "Listening on stdio ..."; a log line?
	// hello
}
