package contend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	mcpgo "github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp/framing"
)

// SDKs lists the readers of other implementations, each through its public API.
// All of them end at a bad line, or pass over it without a word.
var SDKs = []Reader{
	{Name: "go-sdk IOTransport", Role: SDK, Read: readGoSDK},
	{Name: "mcp-go client transport", Role: SDK, Read: readMCPGo, check: checkMCPGo},
	{Name: "jrpc2 channel.Line + ParseRequests", Role: SDK, Read: readJRPC2, Blind: true},
}

// nowhere is the stream that a transport writes to.
type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

func readGoSDK(r io.Reader, each func(*framing.Message)) error {
	ctx := context.Background()
	transport := &gosdk.IOTransport{Reader: io.NopCloser(r), Writer: nowhere{io.Discard}, MaxLineLength: framing.DefaultMaxLine}
	conn, err := transport.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		in, err := conn.Read(ctx)
		if err != nil {
			return ignoreEOF(err)
		}
		var m framing.Message
		if err := fromGoSDK(in, &m); err != nil {
			return err
		}
		each(&m)
	}
}

func fromGoSDK(in jsonrpc.Message, m *framing.Message) (err error) {
	switch in := in.(type) {
	case *jsonrpc.Request:
		*m = framing.Message{Kind: framing.Notification, Method: in.Method, Params: in.Params}
		if in.ID.IsValid() {
			m.Kind = framing.Request
			m.ID = rawID(in.ID.Raw())
		}
	case *jsonrpc.Response:
		*m = framing.Message{Kind: framing.Response, ID: rawID(in.ID.Raw()), Result: in.Result}
		if in.Error != nil {
			m.ErrorObject, err = json.Marshal(in.Error)
		}
	}
	return err
}

func rawID(id any) json.RawMessage {
	if n, ok := id.(int64); ok {
		return strconv.AppendInt(nil, n, 10)
	}
	raw, _ := json.Marshal(id)
	return raw
}

// readMCPGo has each notification given. Requests go to a goroutine each, as
// the transport does it; they are counted only, since nothing tells when the
// last of them is done. Responses are read, and dropped because nobody waits
// for them. checkMCPGo sees that all of them are there.
func readMCPGo(r io.Reader, each func(*framing.Message)) error {
	end := &endOfStream{Reader: r, seen: make(chan struct{})}
	transport := mcpgo.NewIO(end, nowhere{io.Discard}, nil)
	var m framing.Message
	transport.SetNotificationHandler(func(n mcpgotypes.JSONRPCNotification) {
		m = framing.Message{Kind: framing.Notification, Method: n.Method}
		each(&m)
	})
	var requests atomic.Int64
	transport.SetRequestHandler(func(context.Context, mcpgo.JSONRPCRequest) (*mcpgo.JSONRPCResponse, error) {
		requests.Add(1)
		return nil, nil
	})
	if err := transport.Start(context.Background()); err != nil {
		return err
	}
	<-end.seen
	return nil
}

// endOfStream tells when the stream has been read to its end.
type endOfStream struct {
	io.Reader
	seen chan struct{}
}

func (e *endOfStream) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err == io.EOF {
		close(e.seen)
	}
	return n, err
}

func readJRPC2(r io.Reader, each func(*framing.Message)) error {
	in := channel.Line(r, nowhere{io.Discard})
	for {
		line, err := in.Recv()
		if err != nil {
			return ignoreEOF(err)
		}
		parsed, err := jrpc2.ParseRequests(line)
		if err != nil {
			return err
		}
		for _, p := range parsed {
			m := framing.Message{Kind: framing.Response, Method: p.Method, Params: p.Params}
			if p.ID != "" {
				m.ID = json.RawMessage(p.ID)
			}
			switch {
			case p.Method != "" && m.ID == nil:
				m.Kind = framing.Notification
			case p.Method != "":
				m.Kind = framing.Request
			}
			each(&m)
		}
	}
}

// checkMCPGo sees that mcp-go's transport hands out all messages of data:
// requests and notifications to the handlers, responses to callers who wait
// for them under their ids.
func checkMCPGo(data []byte) error {
	want, err := collect(Readers[0], data)
	if err != nil {
		return err
	}
	c := &mcpGoCheck{want: map[string]*framing.Message{}, release: make(chan struct{})}
	for i, m := range want {
		if m.Kind == framing.Notification {
			c.notifications++
			continue
		}
		c.want[string(m.ID)] = &want[i]
	}
	return c.run(data)
}

// A mcpGoCheck holds the stream back until all callers wait.
type mcpGoCheck struct {
	want          map[string]*framing.Message // by id
	notifications int64
	calls         int64
	release       chan struct{} // closed once all calls are written
	data          io.Reader
	got           sync.WaitGroup
	mu            sync.Mutex
	errs          []error
}

func (c *mcpGoCheck) Read(p []byte) (int, error) {
	<-c.release
	n, err := c.data.Read(p)
	if err == io.EOF {
		c.got.Wait() // the end of the stream would fail the calls
	}
	return n, err
}

// Write sees the transport's calls; the stream starts with the last of them.
func (c *mcpGoCheck) Write(p []byte) (int, error) {
	if atomic.AddInt64(&c.calls, -1) == 0 {
		close(c.release)
	}
	return len(p), nil
}

func (c *mcpGoCheck) run(data []byte) error {
	c.data = Chunks(data, ReadSize)
	transport := mcpgo.NewIO(c, nowhere{c}, nil)
	var notified atomic.Int64
	transport.SetNotificationHandler(func(mcpgotypes.JSONRPCNotification) { notified.Add(1) })
	transport.SetRequestHandler(func(_ context.Context, r mcpgo.JSONRPCRequest) (*mcpgo.JSONRPCResponse, error) {
		params, err := json.Marshal(r.Params)
		c.compare(r.ID, "params", params, err)
		return nil, nil
	})
	for _, m := range c.want {
		c.got.Add(1)
		if m.Kind == framing.Response {
			c.calls++
		}
	}
	if c.calls == 0 {
		close(c.release)
	}
	for id, m := range c.want {
		if m.Kind == framing.Response {
			go c.call(transport, id)
		}
	}
	if err := transport.Start(context.Background()); err != nil {
		return err
	}
	c.got.Wait()
	if n := notified.Load(); n != c.notifications {
		c.errs = append(c.errs, fmt.Errorf("%d notifications, want %d", n, c.notifications))
	}
	return errors.Join(c.errs...)
}

func (c *mcpGoCheck) call(transport *mcpgo.Stdio, id string) {
	n, _ := strconv.ParseInt(id, 10, 64)
	request := mcpgo.JSONRPCRequest{JSONRPC: "2.0", ID: mcpgotypes.NewRequestId(n), Method: "m"}
	r, err := transport.SendRequest(context.Background(), request)
	switch {
	case err != nil:
		c.compare(request.ID, "response", nil, err)
	case r.Error != nil:
		object, err := json.Marshal(r.Error)
		c.compare(request.ID, "error", object, err)
	default:
		c.compare(request.ID, "result", r.Result, nil)
	}
}

// compare sees that raw is what the message with that id has as its member.
func (c *mcpGoCheck) compare(id mcpgotypes.RequestId, member string, raw json.RawMessage, err error) {
	defer c.got.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	key, _ := json.Marshal(id)
	m := c.want[string(key)]
	if err == nil && m == nil {
		err = errors.New("no such id")
	}
	if err == nil {
		want := map[string]json.RawMessage{"params": m.Params, "result": m.Result, "error": m.ErrorObject}[member]
		var a, b any
		if err = errors.Join(json.Unmarshal(raw, &a), json.Unmarshal(want, &b)); err == nil && !reflect.DeepEqual(a, b) {
			err = fmt.Errorf("%s %.80s, want %.80s", member, raw, want)
		}
	}
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("mcp-go, message %s: %w", key, err))
	}
}
