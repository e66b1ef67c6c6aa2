// Package stdio is a JSON-RPC 2.0 peer over two streams: the serve loop of an MCP server, the calls of an MCP client,
// and the child process between them (MCP 2026-07-28 stdio transport). It knows JSON-RPC and the few MCP rules that belong
// to the transport, and nothing of tools, prompts or schemas.
//
// A server is a [Handler], mostly a [Methods] table, given to [Serve]. A client starts a server with [Start] and uses
// [Conn.Call]. Both are a [Conn], and either side may call the other.
//
// # Rules
//
// Every request that is read is answered exactly once, under the id it came with, byte for byte; notifications and responses
// never are. A line that is no message costs that line alone: it is answered (-32700 or -32600) and reported to
// [Options.OnBadLine], and the loop goes on. Who shouts errors for ever is not shouted back at: after 100 bad lines in a row
// the answers to bad lines stop until a good one comes.
//
// A slow request does not hold up a fast one: handlers run concurrently, and answers go out as they are ready. Requests start
// in the order in which they came. A notification, and initialize, is a fence: what stands behind it starts when it is done.
// Responses and cancellations pass everything. notifications/cancelled and $/cancelRequest end the context of the request
// that they name, whose answer is then not sent; they do not reach the Handler.
//
// # Limits
//
//   - a line: [Options.MaxLine], 64 MiB. An over-long request is told so under its own id.
//   - handlers at once: [Options.MaxInFlight], 64.
//   - requests and notifications waiting: [Options.MaxQueued], 256, and together at most four lines of the greatest length
//     (256 MiB). What does not fit is answered -32000, a notification is dropped, and both are counted.
//   - bytes waiting to be written: 1 MiB, then handlers and callers wait; at 8 MiB of them the reading waits too. Both count
//     before the last frame, which is taken whole.
//   - requests in hand at the end of the stream: [Options.DrainTimeout], 5 s.
//
// # Concurrency
//
// A [Conn] and a [Client] may be used by any number of goroutines. Under testing/synctest all of it works; a handler that
// waits for a later request has to do so in a durably blocking way, on a channel for example, and the reading may then be
// 50 µs late by the bubble's clock.
//
// # Errors
//
// What a Handler returns is answered as it is if it is an [*Error], as -32601 for [ErrMethodNotFound], as -32602 for
// [ErrInvalidParams], and as -32603 otherwise. What [Conn.Call] returns is an *Error if the other side answered with one,
// the context's error, or wraps [ErrClosed].
//
// # Not included
//
// Timeouts of calls (give Call a context with one), sessions, protocol versions, HTTP.
package stdio

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"example.com/mcp/framing"
)

// A Handler answers one request or takes one notification. Handlers run concurrently; each may take as long as it likes and
// use req.Conn to call the other side. A goroutine runs many of them, one after another, and may be the one that reads: who
// locks it to its thread has to unlock it ([runtime.LockOSThread]).
//
// A nil result, a nil map or pointer among them, is sent as {}, because the result of an MCP request is an object;
// json.RawMessage("null") sends null. The result of a notification is ignored. An error is answered as the package doc says,
// and so is a panic, in a method of what was returned too. ctx ends when the request is cancelled by the other side, when
// the connection ends, and when the Handler has returned.
type Handler func(ctx context.Context, req *Request) (result any, err error)

// Request is a request or a notification as a Handler gets it. ID and Params are slices of the line that was read; they
// belong to the Handler. A Request may be read by any number of goroutines, and kept.
type Request struct {
	ID     json.RawMessage // as it came; nil: a notification
	Method string
	Params json.RawMessage // nil if absent or null
	Conn   *Conn           // where it came from
}

// Bind parses the params into v, as [json.Unmarshal] does. Absent params leave v as it is. The error wraps
// [ErrInvalidParams], so returning it from the Handler answers -32602 with the reason.
func (r *Request) Bind(v any) error {
	if r.Params == nil {
		return nil
	}
	if err := json.Unmarshal(r.Params, v); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidParams, err)
	}
	return nil
}

// Methods is a table of handlers by method name. It must not change while it serves.
type Methods map[string]Handler

// Handle passes req to the handler of its method. It is a [Handler]; a method that is not in the table is
// [ErrMethodNotFound].
func (m Methods) Handle(ctx context.Context, req *Request) (any, error) {
	h := m[req.Method]
	if h == nil {
		return nil, ErrMethodNotFound
	}
	return h(ctx, req)
}

// Options are the settings of a connection. The zero value, and a nil pointer, is the default everywhere. They are read once,
// when the connection is made.
type Options struct {
	MaxLine      int                   // longest line accepted, in bytes; 0: framing.DefaultMaxLine (64 MiB), <0: no limit
	MaxInFlight  int                   // handlers running at once; 0: 64
	MaxQueued    int                   // requests and notifications waiting for one; 0: 256, <0: none
	Batches      bool                  // accept JSON-RPC batches (MCP 2025-03-26 only)
	Quiet        bool                  // do not answer bad lines (a Client never does)
	DrainTimeout time.Duration         // at EOF, for the requests in hand; 0: 5 s, <0: none
	Grace        time.Duration         // each step of Client.Close; 0: 2 s
	OnBadLine    func(framing.Message) // each Malformed, Invalid or unmatched message, whatever is answered; the reading waits for it
	Stderr       io.Writer             // a Client's server's stderr; nil: its last lines are kept for error texts only
	Logger       *slog.Logger          // nil: none. Never stdout
}

// withDefaults returns o with every default filled in.
func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.MaxInFlight <= 0 {
		d.MaxInFlight = 64
	}
	if d.MaxQueued == 0 {
		d.MaxQueued = 256
	}
	if d.DrainTimeout == 0 {
		d.DrainTimeout = 5 * time.Second
	}
	if d.Grace <= 0 {
		d.Grace = 2 * time.Second
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}
