// Package gosdk has transports for github.com/modelcontextprotocol/go-sdk that read and write through framing. Each stands in
// for the SDK's own of the same name:
//
//	server.Run(ctx, &gosdk.StdioTransport{})
//	client.Connect(ctx, &gosdk.CommandTransport{Command: exec.Command("server")}, nil)
//
// With the SDK's own transports the first line that is not JSON, or not JSON-RPC, ends the session. With these it is skipped,
// reported to OnBadLine, and by a server answered. A server's answer has its request's id byte for byte, and the requests read
// before the end of the input are answered before the SDK sees that end.
//
// Two things differ besides: MaxLine (64 MiB) takes the place of MaxLineLength (16 MiB), and a batch is a bad line in every
// session, as in MCP since 2025-06-18; the SDK's own transports take batches where an older revision was negotiated.
package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/internal/link"
)

// Options are common to all transports:
//
//	MaxLine      int                   // longest line accepted, in bytes; 0: 64 MiB; less: no limit
//	OnBadLine    func(framing.Message) // called for each line that the SDK does not get to see; must not wait for the SDK
//	Quiet        bool                  // a client's: do not answer bad lines, and tell the end of the input at once
//	DrainTimeout time.Duration         // how long the end of the input is held back for answers; 0: 5 s
//
// The Message of a batch, of a request whose id is still in hand, and of an error response under id null has no Err.
type Options = link.Options

// StdioTransport is a server's transport over its stdin and stdout. Close leaves both open, and with them the goroutine that
// waits for stdin, as with the SDK's.
type StdioTransport struct{ Options }

// Connect implements mcp.Transport.
func (t *StdioTransport) Connect(context.Context) (mcp.Connection, error) {
	stdout := struct{ io.Writer }{os.Stdout} // stays open, as with the SDK's
	return newConn(os.Stdin, stdout, nil, t.Options), nil
}

// IOTransport is a transport over any two streams, which Close closes. A client's needs Options.Quiet.
type IOTransport struct {
	Reader io.ReadCloser
	Writer io.WriteCloser
	Options
}

// Connect implements mcp.Transport.
func (t *IOTransport) Connect(context.Context) (mcp.Connection, error) {
	return newConn(t.Reader, t.Writer, t.Reader.Close, t.Options), nil
}

// conn is an mcp.Connection on a Link.
type conn struct {
	link   *link.Link
	end    func() error         // closes what the Link does not
	in     chan framing.Message // from readLoop; closed when that has ended
	inErr  error                // why in was closed; set before
	closed chan struct{}
}

// newConn starts reading in at once: Read must return when its context ends or the connection is closed, and a blocked read
// of stdin cannot be interrupted.
func newConn(in io.Reader, out io.Writer, end func() error, opts Options) *conn {
	c := &conn{link: link.New(in, out, opts), in: make(chan framing.Message), closed: make(chan struct{})}
	c.end = sync.OnceValue(func() error {
		close(c.closed)
		err := c.link.Close()
		if end != nil {
			err = errors.Join(err, end())
		}
		return err
	})
	go c.readLoop()
	return c
}

func (c *conn) readLoop() {
	defer close(c.in)
	for {
		m, err := c.link.Next()
		if err != nil {
			c.inErr = err
			return
		}
		select {
		case c.in <- m:
		case <-c.closed:
			c.inErr = io.EOF
			return
		}
	}
}

// Read implements mcp.Connection. After Close it returns io.EOF, whatever closing did to the stream.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	if err := c.ended(ctx); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
	case <-c.closed:
	case m, ok := <-c.in:
		if ok {
			return decode(m)
		}
	}
	if err := c.ended(ctx); err != nil {
		return nil, err
	}
	return nil, c.inErr
}

// ended returns why no more is read, if it is for ctx or Close.
func (c *conn) ended(ctx context.Context) error {
	select {
	case <-c.closed:
		return io.EOF
	default:
		return ctx.Err()
	}
}

// decode returns m as the SDK's type. Its own DecodeMessage would parse the line again, and end the session on a message
// nested deeper than 1,000.
func decode(m framing.Message) (jsonrpc.Message, error) {
	var v any
	if m.ID != nil {
		if err := json.Unmarshal(m.ID, &v); err != nil {
			return nil, err
		}
	}
	id, err := jsonrpc.MakeID(v)
	if err != nil {
		return nil, err
	}
	if m.Kind != framing.Response {
		return &jsonrpc.Request{ID: id, Method: m.Method, Params: m.Params}, nil
	}
	response := &jsonrpc.Response{ID: id, Result: m.Result}
	if m.ErrorObject != nil {
		wire := new(jsonrpc.Error)
		if err := json.Unmarshal(m.ErrorObject, wire); err != nil { // a code beyond int64
			wire = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("peer's error unreadable: %v", err)}
		}
		response.Error = wire
	}
	return response, nil
}

// Write implements mcp.Connection.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	_, err = c.link.Write(append(line, '\n'))
	return err
}

// Close implements mcp.Connection.
func (c *conn) Close() error { return c.end() }

// SessionID implements mcp.Connection.
func (c *conn) SessionID() string { return "" }
