package mcpgo_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/server"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/mcpgo"
)

// A server that hears of its client's bad lines, and answers what was asked before the end of its input.
func Example() {
	stdin := strings.NewReader("hello?\n" + `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`)
	onBadLine := func(m framing.Message) { fmt.Println(m.Err) }
	stream := mcpgo.Wrap(stdin, os.Stdout, mcpgo.Options{OnBadLine: onBadLine})

	s := server.NewMCPServer("none", "1")
	if err := server.NewStdioServer(s).Listen(context.Background(), stream, stream); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// framing: not a JSON text: byte 0: text, not JSON: "hello?"; a log line?
	// {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"framing: not a JSON text: byte 0: text, not JSON: \"hello?\"; a log line?"}}
	// {"jsonrpc":"2.0","id":9007199254740993,"result":{}}
}
