package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	"example.com/mcp/framing"
	"example.com/mcp/framing/stdio"
)

// The whole of a server. What it prints on stdout, by fmt for example, goes to stderr while it serves.
func ExampleServe() {
	server := stdio.Methods{
		"ping": func(context.Context, *stdio.Request) (any, error) { return nil, nil },
		"add": func(_ context.Context, req *stdio.Request) (any, error) {
			var p struct{ A, B int }
			if err := req.Bind(&p); err != nil {
				return nil, err
			}
			return map[string]int{"sum": p.A + p.B}, nil
		},
	}
	if err := stdio.Serve(context.Background(), server.Handle, nil); err != nil {
		log.Fatal(err)
	}
}

// A bad line costs itself, and everything else is answered.
func ExampleNewConn() {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"add","params":{"a":1,"b":2}}` + "\n" +
		"a line of text\n" +
		`{"jsonrpc":"2.0","id":"8","method":"subtract"}` + "\n")
	add := func(_ context.Context, req *stdio.Request) (any, error) {
		var p struct{ A, B int }
		if err := req.Bind(&p); err != nil {
			return nil, err
		}
		return map[string]int{"sum": p.A + p.B}, nil
	}
	conn := stdio.NewConn(in, os.Stdout, stdio.Methods{"add": add}.Handle, &stdio.Options{MaxInFlight: 1})
	if err := conn.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(conn.Stats().Answered, "answers")
	// Output:
	// {"jsonrpc":"2.0","id":7,"result":{"sum":3}}
	// {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: byte 0: text, not JSON: \"a line of text\"; a log line?"}}
	// {"jsonrpc":"2.0","id":"8","error":{"code":-32601,"message":"Method not found: subtract"}}
	// 3 answers
}

// Either side may call the other, from a handler too.
func ExampleConn_Call() {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	server := stdio.NewConn(serverIn, serverOut, func(ctx context.Context, req *stdio.Request) (any, error) {
		var name string
		err := req.Conn.Call(ctx, "your/name", nil, &name)
		return "Hello, " + name, err
	}, nil)
	client := stdio.NewConn(clientIn, clientOut, func(context.Context, *stdio.Request) (any, error) {
		return "Client", nil
	}, nil)
	go server.Run(context.Background())
	go client.Run(context.Background())

	var greeting string
	err := client.Call(context.Background(), "greet", nil, &greeting)
	fmt.Println(greeting, err)
	// Output: Hello, Client <nil>
}

func ExampleConn_Notify() {
	conn := stdio.NewConn(strings.NewReader(""), os.Stdout, nil, nil)
	progress := map[string]any{"progressToken": "t", "progress": 0.5}
	if err := conn.Notify(context.Background(), "notifications/progress", progress); err != nil {
		fmt.Println(err)
	}
	// Output: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.5,"progressToken":"t"}}
}

func ExampleError() {
	divide := func(context.Context, *stdio.Request) (any, error) {
		return nil, &stdio.Error{Code: -5, Message: "division by zero", Data: map[string]int{"b": 0}}
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"divide"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"multiply"}` + "\n")
	conn := stdio.NewConn(in, os.Stdout, stdio.Methods{"divide": divide}.Handle, &stdio.Options{MaxInFlight: 1})
	conn.Run(context.Background())
	// Output:
	// {"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"division by zero","data":{"b":0}}}
	// {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found: multiply"}}
}

// A client that starts its server, and sees what it prints where it should not.
func ExampleStart() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	server, err := stdio.Start(ctx, exec.Command("my-mcp-server", "--verbose"), nil, &stdio.Options{
		Stderr:    os.Stderr,
		OnBadLine: func(m framing.Message) { log.Printf("not a message: %s", m.Line) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	// Here an MCP client says initialize, as in examples/call.
	var result struct{ Tools []struct{ Name string } }
	switch err := server.Call(ctx, "tools/list", nil, &result); {
	case errors.Is(err, stdio.ErrMethodNotFound):
		log.Print("it has no tools")
	case errors.Is(err, stdio.ErrClosed):
		log.Print(err) // with its exit status and last words
	}
}
